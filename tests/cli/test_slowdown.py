"""`slowdown`, the call and the command: table, picture, intervals, Ctrl-C, options."""

import csv
import json
import math
import re
import sys
from dataclasses import replace

import pytest
from support import scale
from support.paths import EXAMPLES
from support.quick_pictures import quick_pictures

import jitterfly as jf
from jitterfly.advice import COLLECTIVES, known
from jitterfly.answer import show
from jitterfly.cli import main
from jitterfly.fields import naming_options
from jitterfly.imbalance import OneLate, SlowRanks
from jitterfly.network import DEFAULT_NETWORK
from jitterfly.slowdown import part_in_words
from jitterfly.stats import Estimate
from jitterfly.units import show_seconds

slowdown_module = sys.modules["jitterfly.slowdown"]  # `jf.slowdown` is the function
FILE = EXAMPLES / "vm.noise"
NOISE = jf.PeriodicNoise("1ms", "25us", start="stationary")


def run(capsys, *arguments):
    code = main(["slowdown", *map(str, arguments)])
    return code, *capsys.readouterr()


def test_rows_are_what_simulate_gives():
    found = jf.slowdown(NOISE, [64, 8], seed=5, realizations=400, message_bytes=16)
    assert [row.ranks for row in found.rows] == [8, 64]
    for row in found.rows:
        case = jf.Case(row.ranks, network=DEFAULT_NETWORK, noise=[NOISE], message_bytes=16)
        result = jf.simulate(case, 400, seed=5)
        samples = result.column("completion")
        assert row.noise_free == result.noise_free[0]
        mean = jf.stats.mean(samples)
        assert (row.mean.value, row.mean.low, row.mean.high) == (mean.value, mean.low, mean.high)
        assert row.p50.value == jf.stats.quantiles(samples, 0.5).value
        assert row.p99.value == jf.stats.quantiles(samples, 0.99).value
        assert row.slowdown.value == pytest.approx(mean.value / row.noise_free, rel=1e-12)
        assert row.slowdown.low < row.slowdown.value < row.slowdown.high
    assert found.rows[1].slowdown.low > 1


def test_a_file_several_sources_and_other_cases():
    assert jf.slowdown(str(FILE), 16, realizations=50).case.noise == (jf.TraceNoise(str(FILE)),)
    assert jf.slowdown(FILE, 16, realizations=50).rows[0].ranks == 16
    ring = jf.slowdown(
        [NOISE, NOISE],
        "4..16",
        algorithm=jf.RingAllreduce(),
        cycles=2,
        compute_time="10us",
        network=jf.LogGOPS("1us", "1us"),
        realizations=20,
    )
    assert [row.ranks for row in ring.rows] == [4, 8, 16]
    assert ring.case.cycles == 2
    assert ring.rows[0].noise_free > 2e-5  # the end of the second cycle
    with pytest.raises(ValueError, match="noise must hold at least one source"):
        jf.slowdown([], 4)
    with pytest.raises(ValueError, match="realizations must be an integer from 2"):
        jf.slowdown(NOISE, 4, realizations=1)


@quick_pictures
def test_table_pandas_and_picture(tmp_path):
    found = jf.slowdown(NOISE, [4, 1000], realizations=100)
    header, first, second = found.lines()
    head = "ranks noise-free, µs mean, µs p50, µs p99, µs slowdown (mean)"
    assert " ".join(header.split()) == head
    assert first.split()[0] == "4"
    assert second.split()[0] == "1,000"
    assert max(len(line) for line in found.lines()) <= 80
    assert f"{found.rows[1].slowdown:.3g}" in second
    assert "too few realizations for an interval of p99: it takes 368" in found.notes()
    rows = list(csv.DictReader(found.to_csv().splitlines()))
    assert float(rows[1]["p99_s"]) == found.rows[1].p99.value
    assert repr(found).startswith("SlowdownTable(2 rows; ")
    assert "1,000" in found._repr_html_()
    assert found.summary().splitlines() == found.report()
    # p99.9 is a column where it has an interval.
    assert rows[1]["p999_s"] == ""
    assert found.to_dict()["rows"][1]["p999"] is None
    many = jf.slowdown(NOISE, 4, realizations=4000)
    assert "p99, µs p99.9, µs slowdown" in " ".join(many.shown_table().texts()[0])
    # Then headings are wrapped, no more than it takes, and no number has fewer digits.
    *heads, line = many.lines()
    assert max(map(len, [*heads, line])) <= 80
    assert len(heads) == 2
    assert " ".join(line.split()) == " ".join(many.shown_table().texts()[1])
    rare = many.rows[0].p999
    assert rare.low <= rare.value <= rare.high < math.inf
    (row,) = csv.DictReader(many.to_csv().splitlines())
    assert float(row["p999_s"]) == rare.value
    pytest.importorskip("matplotlib")
    figure = found.plot(tmp_path / "a.svg")
    assert len(figure.axes) == 2
    told = (tmp_path / "a.svg").read_text()
    assert "<svg" in told
    pandas = pytest.importorskip("pandas")
    assert isinstance(found.to_pandas(), pandas.DataFrame)
    assert list(found.to_pandas().mean_s) == [row.mean.value for row in found.rows]


@quick_pictures
def test_files_name_parameters_and_the_command_prints_options(capsys, tmp_path):
    asked = ("--noise", FILE, "--ranks", "4,8", "--realizations", 50)
    code, out, _ = run(capsys, *asked, "--out", tmp_path / "x")
    assert code == 0
    assert "; --resamples 20 simulates others" in out
    stored = json.loads((tmp_path / "x" / "slowdown.json").read_text())
    assert stored["notes"] == jf.slowdown(FILE, [4, 8], realizations=50).to_dict()["notes"]
    assert "; `resamples` = 20 simulates others" in " ".join(stored["notes"])
    assert "; --resamples 20 simulates others" in run(capsys, *asked, "--json")[1]


def test_pictures_name_parameters():
    found = jf.slowdown(NOISE, 64, realizations=10, message_bytes="1MiB", algorithm="butterfly")
    told = found.subtitle()
    assert any("for that give `algorithm` " in note for note in told)
    with naming_options(lambda name, here: f"--{name}"):  # as a command does
        assert any("for that give --algorithm " in note for note in found.cautions())
        assert found.subtitle() == told


@quick_pictures
def test_the_command_prints_one_table(capsys, tmp_path):
    code, out, err = run(
        capsys, "--noise", FILE, "--ranks", "4..16", "--realizations", 100, "--out", tmp_path / "x"
    )
    assert code == 0
    title = "allreduce as MPICH 5 runs it: butterfly, 8 B, under noise: trace, file = vm.noise\n"
    assert out.startswith(title)
    assert [line.split()[0] for line in out.splitlines()[3:6]] == ["4", "8", "16"]
    assert "network: loggops, L = 1 µs, o = 200 ns, G = 100 ps\n" in out
    assert "network: loggops, L = 1 µs, o = 200 ns, G = 100 ps (none was given with --net" in err
    found = jf.slowdown(FILE, "4..16", realizations=100)
    assert "\n".join(found.lines()) in out
    assert (tmp_path / "x" / "slowdown.csv").read_text() == found.to_csv(tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_text() == found.to_csv()
    assert (tmp_path / "x" / "slowdown.png").stat().st_size > 10_000


@quick_pictures
def test_the_command_takes_what_others_take(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    options = (
        f"--noise period=1ms,duration=25us,start=stationary --noise {FILE} --ranks 4,6 "
        "--network L=2us,o=0.5us --algorithm ring_allreduce --bytes 1KiB --cycles 2 "
        "--compute-time 1us --realizations 20 --seed 4 --threads 1 --picture"
    )
    picture = tmp_path / ("a.pdf" if scale.FULL else "a.png")
    code, out, err = run(capsys, *options.split(), picture)
    assert code == 0
    assert "ring_allreduce, 1 KiB, 2 cycles with 1 µs of compute time before each, under" in out
    assert "20 realizations for each number of ranks, seed 4" in out
    assert "none was given" not in err
    assert list(tmp_path.iterdir()) == [picture]


def test_parts_in_words():
    assert show(Estimate(3154.2, 3001.0, 3300.5, 0.95, 10)) == "3,154 [3,001, 3,300]"
    assert show(Estimate(1.0000002, 1.0, 1.5234567, 0.95, 10)) == "1 [1, 1.52]"
    assert show(Estimate(1.0041, 1.003, 1.006, 0.95, 10)) == "1.004 [1.003, 1.006]"
    assert show(Estimate(1.2901, 1.2898, 1.2904, 0.95, 10)) == "1.2901 [1.2898, 1.2904]"
    assert show(Estimate(1.29, 1.2900001, 1.2900002, 0.95, 10)) == "1.29 [1.2900001, 1.2900002]"
    assert show(Estimate(1.29, 1.29, 1.29, 0.95, 10)) == "1.29 [1.29, 1.29]"
    assert show(Estimate(1.00000012, 0.9, 1.1, 0.95, 10), digits=9) == "1.00000012 [0.9, 1.1]"
    assert show(Estimate(-0.0, -0.001, 0.001, 0.95, 10)) == "0 [-0.001, 0.001]"
    assert part_in_words(NOISE) == "periodic, period = 1 ms, duration = 25 µs, start = stationary"
    assert part_in_words(jf.TraceNoise(str(FILE))) == "trace, file = vm.noise"
    speed = jf.SpeedNoise(jf.Lognormal(median=1, sigma=0.05))  # a factor has no unit
    assert part_in_words(speed) == "speed, factor = lognormal, median 1, sigma 0.05"
    weather = jf.NetworkWeather(longer=jf.Lognormal(0.5, 1, longest=20))
    assert part_in_words(weather) == "weather, longer = lognormal, median 0.5, sigma 1, longest 20"
    step = jf.StepNoise("1us", begin="1ms", end="2ms")  # a time that may be left out, too
    assert part_in_words(step) == "step, delay = 1 µs, begin = 1 ms, end = 2 ms"
    assert part_in_words(jf.SpeedNoise(1.5)) == "speed, factor = 1.5"
    assert part_in_words(jf.Hockney("1us", 0)) == "hockney, alpha = 1 µs, beta = 0 s"


# --- few rare events


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_mean_whose_recording_tells_no_upper_end_rests_on_events():
    """A detour of 10 ms that every realization meets: all are delayed, and longer ones may come."""
    noise = jf.TraceNoise(starts=[1.0], durations=[0.01], length=2)
    found = jf.slowdown(noise, 4096, realizations=100)
    (row,) = found.rows
    assert row.noise_free < 1e-4 < row.mean.low
    assert row.mean.high == math.inf
    assert not any(note.code == "no_event" for note in found.notes())


def test_a_mean_that_rests_on_no_event_has_no_interval(capsys):
    """100 ms every 10,000 s: a million realizations find a slowdown of 1.5."""
    rare = jf.PeriodicNoise("10000s", "100ms", start="stationary")
    found = jf.slowdown(rare, 4, realizations=2000)
    (row,) = found.rows
    assert row.mean.value == pytest.approx(row.noise_free, rel=1e-12)
    assert (row.slowdown.low, row.slowdown.high) == (-math.inf, math.inf)
    assert "[?, ?]" in found.lines()[1]
    assert "1 [?, ?]" in found.lines()[1]
    (told,) = [note for note in found.notes() if "no realization was delayed" in note]
    assert told.startswith("on 4 ranks")
    assert next(csv.DictReader(found.to_csv().splitlines()))["rare_events"] == "0.0"
    pytest.importorskip("matplotlib")
    found.plot()


def test_noise_of_which_nothing_is_drawn():
    """More realizations would tell nothing new: they are all the same."""
    told = "no noise that acts here is drawn: all realizations are the same"
    for noise in (f"{FILE},offset=1s", jf.PeriodicNoise("10us", "1us", phases=[0] * 64)):
        found = jf.slowdown(noise, 64, realizations=20)
        (row,) = found.rows
        assert row.mean.low == row.mean.value == row.mean.high
        assert row.mean.value == pytest.approx(found.samples.max(), rel=1e-12)
        assert told in found.notes()
        assert not [note for note in found.notes() if "more realizations" in note or "p99" in note]
    assert told not in jf.slowdown(FILE, 64, realizations=20).notes()
    assert not jf.TraceNoise(FILE, offset="1s").random


def test_a_noise_file_with_an_equals_sign(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e=q.noise").write_bytes(FILE.read_bytes())
    for noise in ("e=q.noise", "file=e=q.noise,begin=0"):
        assert main(["slowdown", "--noise", noise, "--ranks", "4", "--realizations", "20"]) == 0
        assert "trace, file = e=q.noise" in capsys.readouterr().out


def test_keys_that_are_longer_than_a_name_of_a_file(capsys):
    noise = f"kind=periodic,period=1ms,duration={300 * '0'}10us"
    assert main(["slowdown", "--noise", noise, "--ranks", "4", "--realizations", "20"]) == 0
    assert "duration = 10 µs" in capsys.readouterr().out


def test_a_short_run_of_a_machine_that_has_been_running_says_so():
    """One cycle of 1 ms meets noise of 2 ms as a burst; so long a run as the note says does not."""

    def table(noise, **options):
        return jf.slowdown(noise, [2, 16], realizations=20, **{"compute_time": "1ms"} | options)

    long = jf.PeriodicNoise("100ms", "2ms", start="stationary")
    (told,) = [note for note in table(long).notes() if note.startswith("simulated: ")]
    words = (
        "1.01 ms of the machine's time (1 cycle), and noise that lasts 2 ms can be under way",
        "take `cycles` = 20 or more",
    )
    assert all(part in told for part in words)
    # As many as 5.6 µs, what 16 ranks take, fit into 20 ms; into 2 s fit more than a case may have.
    (told,) = [note for note in table(long, compute_time=0).notes() if "simulated: " in note]
    assert told.endswith("for that take `cycles` = 3570 or more")
    longer = jf.PeriodicNoise("1s", "200ms", start="stationary")
    (told,) = [note for note in table(longer, compute_time=0).notes() if "simulated: " in note]
    assert told.endswith("for that give the `compute_time` between collectives, and more cycles")
    longest = jf.PeriodicNoise("4000s", "900s", start="stationary")
    (told,) = [note for note in table(longest).notes() if "simulated: " in note]
    assert told.endswith("give a longer `compute_time` between collectives, and more cycles")
    silent = [
        table(long, cycles=20),
        table(long, compute_time=0, cycles=3570),
        table(jf.PeriodicNoise("100ms", "2ms")),
        table(jf.PeriodicNoise("10ms", "20us", start="stationary")),
    ]
    for found in silent:
        assert not any(note.startswith("simulated: ") for note in found.notes())


def test_of_drawn_durations_the_long_ones_are_under_way_more_often():
    """Detours of 2 µs, one in 1000 of 5 ms: those that are met last E[D^2] / E[D] in the mean."""
    durations = jf.Empirical(samples=[2e-6] * 999 + [5e-3])
    noise = jf.RenewalNoise("10ms", durations, start="stationary")
    notes = jf.slowdown(noise, 64, realizations=20).notes()
    (told,) = [note for note in notes if note.startswith("simulated: ")]
    mean = 999 * 2e-6 + 5e-3
    met = (999 * 2e-6**2 + 5e-3**2) / mean
    assert f"noise that lasts {show_seconds(met, 3)} can be under way" in told
    exponential = jf.RenewalNoise("10ms", jf.Exponential("10us"), start="stationary")
    assert exponential.duration_at_start() == pytest.approx(20e-6, rel=1e-3)
    constant = jf.RenewalNoise("10ms", "10us", start="stationary")
    assert constant.duration_at_start() == pytest.approx(10e-6, rel=1e-3)
    assert replace(constant, start="fresh").duration_at_start() == 0


def test_noise_that_begins_when_all_is_over_says_so():
    late = jf.PeriodicNoise("10s", "20ms", start="stationary", begin="5s")
    notes = jf.slowdown(late, [2, 64], realizations=20).notes()
    (told,) = [note for note in notes if "all is over when the noise begins" in note]
    assert told.startswith("on 2, 64 ranks")
    assert not any("simulated: " in note or "was delayed" in note for note in notes)
    # Beside noise that is there from the start nothing but that can be under way then.
    both = jf.slowdown([late, jf.PeriodicNoise("1ms", "1us")], 64, realizations=20).notes()
    assert not any("all is over" in note or "simulated: " in note for note in both)
    within = jf.slowdown(replace(late, begin="1us"), 64, realizations=20).notes()
    assert any(note.startswith("simulated: ") for note in within)


def test_the_answer_says_what_was_simulated():
    """In its title and, a column each, in its CSV."""
    found = jf.slowdown(NOISE, 4, realizations=20, cycles=3, compute_time="1ms")
    assert ", 8 B, 3 cycles with 1 ms of compute time before each, under noise" in found.title()
    (row,) = csv.DictReader(found.to_csv().splitlines())
    assert (row["algorithm"], row["message_bytes"], row["cycles"]) == ("butterfly", "8", "3")
    assert float(row["compute_time_s"]) == 1e-3
    assert row["network"] == "loggops, L = 1 µs, o = 200 ns, G = 100 ps"
    assert row["noise"].startswith("periodic, period = ")


@pytest.mark.parametrize(
    ("start", "compute_time", "told"),
    [("fresh", 0, True), ("stationary", 0, False), ("fresh", "1ms", False)],
)
def test_noise_that_is_not_under_way_at_the_start_says_so(start, compute_time, told):
    """The mean of rare long noise can be tenfold where it can be under way."""
    noise = jf.PeriodicNoise("1ms", "25us", start=start)
    found = jf.slowdown(noise, [4], realizations=20, compute_time=compute_time)
    assert any("start=stationary" in note for note in found.notes()) == told


def test_a_mean_that_rests_on_few_events_says_so():
    rare = jf.PeriodicNoise("1s", "1ms", start="stationary")
    found = jf.slowdown(rare, [2, 2**14], realizations=2000)
    first, second = found.rows
    assert 0 < first.mean.events < jf.stats.ENOUGH_EVENTS < second.mean.events
    (told,) = [note for note in found.notes() if "rare events" in note]
    assert told.startswith("on 2 ranks the mean rests on fewer than 30 rare events")
    rows = list(csv.DictReader(found.to_csv().splitlines()))
    assert float(rows[0]["rare_events"]) == first.mean.events


def test_what_is_the_same_in_each_realization_is_exact():
    """Noise that nothing can hit, or that hits all alike, is no want of events."""
    found = jf.slowdown(NOISE, [1, 8], realizations=50, network=DEFAULT_NETWORK)
    assert found.rows[0].mean.low == found.rows[0].mean.high == 0
    step = jf.StepNoise(jf.Constant("14us"))
    (row,) = jf.slowdown(step, 8, realizations=50).rows
    assert row.slowdown.low == row.slowdown.value == row.slowdown.high > 1


# --- what is written where


def test_text_is_read_as_everywhere():
    text = "period=1ms,duration=25us,start=stationary"
    found = jf.slowdown(text, "4,8", realizations="1e2", seed="2^4")
    same = jf.slowdown(NOISE, [4, 8], realizations=100, seed=16)
    assert found.to_csv() == same.to_csv()
    assert jf.slowdown([text, NOISE], 4, realizations=10).case.noise == (NOISE, NOISE)


QUESTION = ("--noise", "period=1ms,duration=25us,start=stationary", "--ranks")


def test_out_keeps_what_answers_another_question(capsys, tmp_path, blank_pictures):
    given = (*QUESTION, "4,8", "--out", tmp_path, "--realizations")
    assert run(capsys, *given, "50")[0] == 0
    before = (tmp_path / "slowdown.csv").read_bytes()
    told = json.loads((tmp_path / "slowdown.json").read_text())
    assert told["ranks"] == [row["ranks"] for row in told["rows"]] == [4, 8]
    for differs, ranks, *other in (
        ("ranks[1] is 8, here it is 16", "4,16"),
        ("network.L is 1e-06, here it is 2e-06", "4,8", "--network", "L=2us,o=1us"),
        ("noise is 1 value, here it is 2 values", "4,8", "--noise", FILE),
        ("ranks is [4, 8], here it is [4, 8, 16]", "4,8,16"),
    ):
        asked = (*QUESTION, ranks, "--out", tmp_path, "--realizations", "50", *other)
        code, out, err = run(capsys, *asked)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"{tmp_path} holds the answer to another question (its {differs}); " in err
    assert (tmp_path / "slowdown.csv").read_bytes() == before
    code, _, err = run(capsys, *given, "60")
    assert code == 0
    assert "holds an answer to the same question: it will be replaced" in err
    assert (tmp_path / "slowdown.csv").read_bytes() != before
    assert run(capsys, *given, "50", "--bytes", "16", "--force")[0] == 0
    assert json.loads((tmp_path / "slowdown.json").read_text())["message_bytes"] == 16
    (tmp_path / "slowdown.json").unlink()
    assert "does not say what was asked" in run(capsys, *given, "50")[2]
    assert "--force is for --out DIR" in run(capsys, *QUESTION, "4", "--force")[2]


@quick_pictures
def test_resampled_recordings(capsys, tmp_path):
    """The option, in the table, in the files, and over an answer that was made without it."""
    given = ("--noise", FILE, "--ranks", "4..16", "--realizations", "100", "--out", tmp_path)
    code, out, _ = run(capsys, *given)
    assert code == 0
    assert "--resamples 20 simulates others, made of its stretches" in out
    told = json.loads((tmp_path / "slowdown.json").read_text())
    assert told.pop("resamples") == 0
    (tmp_path / "slowdown.json").write_text(json.dumps(told))  # as of a version without the option
    code, out, err = run(capsys, *given, "--resamples", 5)
    assert code == 0, err
    assert "under 5 made of stretches of this one" in out
    found = jf.slowdown(FILE, "4..16", realizations=100, resamples=5)
    assert "\n".join(found.lines()) in out
    assert (tmp_path / "slowdown.csv").read_text() == found.to_csv()
    told = json.loads((tmp_path / "slowdown.json").read_text())
    assert told["resamples"] == 5
    assert told["resampled"] == found.resampled.tolist()
    for options, words in (
        ((*given, "--resamples", 3), "--resamples must be 0, or from 5 to 1000, got 3"),
        ((*QUESTION, "4", "--resamples", 20), "--resamples must be 0 without a recording"),
        (("--noise", "period=1ms,duration=max", "--ranks", 4, "--at-most", 2, "--resamples", 20),
         "--resamples is not for --at-most"),
    ):  # fmt: skip
        code, _, err = run(capsys, *options)
        assert code == 2
        assert words in err


def test_what_to_do_stands_in_the_text_and_the_json_and_in_no_picture(
    capsys, tmp_path, monkeypatch
):
    pytest.importorskip("matplotlib")
    told = []

    def keep(figure, _):
        texts = [text.get_text() for text in figure.texts[1:]]  # above the picture and below it
        told.append(" ".join(" ".join(texts).split()))

    monkeypatch.setattr("jitterfly.plots.draw.save", keep)
    given = ("--noise", FILE, "--realizations", 20, "--picture", tmp_path / "a.png")
    for ranks in ("4", "4..8"):
        code, out, _ = run(capsys, *given, "--ranks", ranks, "--json")
        assert code == 0
        assert any("--resamples 20 simulates others" in note for note in json.loads(out)["notes"])
        assert "20 realizations" in told[-1]
        assert "take" not in told[-1]
    file = tmp_path / "osu.txt"
    file.write_text("# OSU MPI Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n8  20.0\n")
    words = ["compare-measured", file, "--ranks=4", "--noise=period=1ms,duration=25us"]
    words += ["--realizations=50", "--picture", tmp_path / "a.png"]
    assert main([str(word) for word in words]) == 0
    assert "give --iterations" in capsys.readouterr().out
    assert "give" not in told[-1]


def interrupted(monkeypatch, after):
    """`slowdown` is stopped once so many numbers of ranks are done."""
    real, calls = slowdown_module.simulate_checked, []

    def simulate(*arguments):
        calls.append(arguments)
        if len(calls) > after:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(slowdown_module, "simulate_checked", simulate)


def test_ctrl_c_keeps_the_rows_that_are_finished(capsys, tmp_path, monkeypatch, blank_pictures):
    given = (*QUESTION, "4,8,16", "--realizations", "50", "--out")
    with monkeypatch.context() as patched:
        interrupted(patched, 2)
        code, out, _ = run(capsys, *given, tmp_path / "a")
    assert code == 130
    assert "stopped: more ranks were asked for" in out
    assert [line.split()[0] for line in out.splitlines()[3:5]] == ["4", "8"]
    rows = list(csv.DictReader((tmp_path / "a" / "slowdown.csv").read_text().splitlines()))
    assert [row["ranks"] for row in rows] == ["4", "8"]
    assert run(capsys, *given, tmp_path / "a")[0] == 0  # the rest, and again a part
    before = (tmp_path / "a" / "slowdown.csv").read_bytes()
    with monkeypatch.context() as patched:
        interrupted(patched, 1)
        code, _, err = run(capsys, *given, tmp_path / "a")
    assert code == 130
    assert "keeps its earlier answer, which has more ranks" in err
    assert (tmp_path / "a" / "slowdown.csv").read_bytes() == before
    interrupted(monkeypatch, 0)
    code, out, err = run(capsys, *given, tmp_path / "b")
    assert (code, out) == (130, "")
    assert "jitterfly: stopped" in err
    assert not list((tmp_path / "b").iterdir())


def test_progress_is_told_within_a_number_of_ranks(capsys, monkeypatch):
    told = []
    jf.slowdown(NOISE, [4, 8], realizations=50, progress=lambda *now: told.append(now))
    assert [now for now in told if now[0] % 1 == 0] == [(0, 2, 4), (1, 2, 4), (1, 2, 8), (2, 2, 8)]
    monkeypatch.setattr("jitterfly.progress.QUIET", 0)
    monkeypatch.setattr("jitterfly.progress.SOON", 0)
    assert "simulating 8 ranks" in run(capsys, *QUESTION, "4,8", "--realizations", "50")[2]


def test_the_time_left_is_that_of_all_messages(capsys, monkeypatch):
    """By the numbers of ranks that are done, or within one of them, it would rise with each."""
    for name in ("QUIET", "SOON", "EVERY_LINE"):
        monkeypatch.setattr(f"jitterfly.progress.{name}", 0)
    counts = (4, 512, 1024)
    messages = [0, 4 * 2, 512 * 9, 1024 * 10]
    question = slowdown_module.SlowdownQuestion(NOISE, counts)
    for numbers_done in range(4):
        share = sum(messages[: numbers_done + 1]) / sum(messages)
        assert question.messages_done(numbers_done) == pytest.approx(share)
    assert question.messages_done(1.5) == pytest.approx((8 + 512 * 9 / 2) / sum(messages))
    asked = ",".join(map(str, counts))
    told = run(capsys, *QUESTION, asked, "--realizations", "5000", "--threads", "1")[2]
    shares = re.findall(
        r"simulating ([0-9,]+) ranks \(([1-3]) of 3\): ([0-9]+) %, \S+ s left", told
    )
    assert "(3 of 3)" in told
    assert "(4 of 3)" not in told
    done = [int(share) for *_, share in shares]
    assert done == sorted(done)
    for ranks, place, share in shares:
        assert ranks == f"{counts[int(place) - 1]:,}"
        low, high = (100 * question.messages_done(int(place) - before) for before in (1, 0))
        assert math.floor(low) <= int(share) <= math.ceil(high)
    alone = run(capsys, *QUESTION, "8", "--realizations", "50")[2]
    assert "simulating 8 ranks" in alone
    assert " of 1)" not in alone


# --- algorithms by the names of `advise`


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_candidate_of_advise_is_an_algorithm(capsys, collective):
    """As `advise --candidates list` prints it; of a machine of nodes, those for nodes."""
    assert main(["advise", "--candidates", "list", "--collective", collective, "--json"]) == 0
    listed = [one["name"] for one in json.loads(capsys.readouterr().out)["candidates"]]
    assert listed == list(known(collective))
    for name in listed:
        network = "L=1us,o=200ns"
        if name.startswith(("hierarchical", "nvls")):
            switch = name == "nvls" and collective != "allreduce"  # one has all ranks
            network = f"{256 if switch else 8}: L=300ns,o=100ns; {network}"
        code, out, err = run(
            capsys, "--noise", "period=1ms,duration=25us", "--ranks", "64,256", "--network",
            network, "--collective", collective, "--algorithm", name, "--realizations", "2",
            "--json",
        )  # fmt: skip
        assert code == 0, err
        made = known(collective)[name].make(64, read_network_of(network), 8)
        assert json.loads(out)["algorithm"] == made.to_dict()
        if name != made.kind:
            assert f"algorithm: {name} is {part_in_words(made)}" in err


def read_network_of(text):
    return jf.Case(64, network=text).network


def test_what_advise_prints_is_taken(capsys):
    """The names of a ranking, with the options of the same question."""
    question = ["--ranks", "16", "--network", "L=1us,o=200ns", "--noise",
                "period=1ms,duration=25us"]  # fmt: skip
    for collective in (None, "barrier", "allgather"):
        which = [] if collective is None else ["--collective", collective]
        assert main(["advise", *question, *which, "--realizations", "64", "--json"]) == 0
        (cell,) = json.loads(capsys.readouterr().out)["cells"]
        names = [one["name"] for one in cell["ranking"]]
        assert len(names) > 1
        for name in names:
            code, _, err = run(
                capsys, *question, *which, "--algorithm", name, "--realizations", "2"
            )
            assert code == 0, err


@pytest.mark.parametrize(
    ("name", "kind"),
    [("ring", "ring_allreduce"), ("recursive_doubling", "recursive_doubling_allreduce"),
     ("tree_barrier", "tree_barrier"), ("ring_allgather", "ring_allgather")],
)  # fmt: skip
def test_without_a_collective_a_short_name_is_an_allreduce(capsys, name, kind):
    code, out, err = run(capsys, "--noise", "period=1ms,duration=25us", "--ranks", "4",
                         "--realizations", "2", "--algorithm", name)  # fmt: skip
    assert code == 0
    assert out.startswith(f"{kind}, 8 B, under noise")
    assert (f"algorithm: {name} is {kind}" in err) == (name != kind)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--algorithm", "binomial"],
         "--algorithm binomial is there for broadcast and for reduce and for gather and for "
         "scatter, not for allreduce, which "),
        (["--algorithm", "tree"],
         "swing, bine, double_binary_tree, nccl_tree, collnet_direct, collnet_chain, nvls, "
         "nvls_tree (did you mean 'nccl_tree' or 'nvls_tree' or "
         "'double_binary_tree'?); for it give --collective barrier"),
        (["--algorithm", "recursive_halving"],
         "--algorithm recursive_halving is there for reduce_scatter, not for allreduce, which "),
        (["--algorithm", "ring", "--collective", "barrier"],
         "--algorithm ring is there for allreduce and for allgather and for reduce_scatter, not "
         "for barrier, which has dissemination, recursive_doubling, tree"),
        (["--algorithm", "ring_allgather", "--collective", "barrier"],
         "--algorithm ring_allgather is not for barrier, which has dissemination_barrier, "),
        (["--algorithm", "ring", "--collective", "barier"],
         "--collective must be one of 'allreduce', "),
        (["--algorithm", "butterfly_after_4"],
         "--algorithm butterfly_after_4 does not fit: 4 ranks have 2 partners to forward to, not"),
        (["--algorithm", "rng"], "got 'rng' (did you mean 'ring'?)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["slowdown", "explain"])
def test_names_that_fit_no_algorithm(capsys, command, options, words):
    assert main([command, "--noise", "period=1ms,duration=25us", "--ranks", "4", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err


def test_candidates_by_their_kinds():
    """`advise` takes the names of `slowdown`, too."""
    found = jf.advise(
        8, network="L=1us,o=200ns", candidates=["ring_allreduce", "recursive_doubling"]
    )
    assert [one.name for one in found.question.chosen()] == ["ring", "recursive_doubling"]


def test_late_and_slow_ranks():
    """They are in both times: the slowdown is that by the noise alone."""
    noise = jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")
    late, slow = OneLate("1ms", rank=3), SlowRanks(1.5, ranks=[2])
    how = {"compute_time": "100us", "realizations": 50}
    plain = jf.slowdown(noise, 8, **how).rows[0]
    found = jf.slowdown(noise, 8, arrival=late, speed=slow, **how)
    case = jf.Case(8, network=found.case.network, noise=[noise], compute_time="100us",
                   algorithm=found.case.algorithm, arrival=late, speed=slow)  # fmt: skip
    assert found.rows[0].noise_free == jf.simulate(case, 2).noise_free[-1]
    assert found.rows[0].noise_free > plain.noise_free + 0.9e-3
    told = found.notes()
    assert any(text.startswith("arrival: one_late, ") for text in told)
    assert any(text.startswith("speed of the ranks: slow_ranks, ") for text in told)
    said = "the late ranks and slow ranks above are in the time without noise, too"
    assert any(text.startswith(said) for text in told)
    assert said not in " ".join(jf.slowdown(noise, 8, **how).notes())
    with pytest.raises(ValueError, match="rank must be from 0 to 1, got 3"):
        jf.slowdown(noise, "2..8", arrival=late, **how)
    with pytest.raises(ValueError, match=r"arrival must be an Arrival such as .*, got 3"):
        jf.slowdown(noise, 8, arrival=3)
