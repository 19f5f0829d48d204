"""Options `--json`, `-q` and `-v` of all commands."""

import csv
import itertools
import json
import math
import re

import numpy as np
import pytest
from support.paths import NOISE_SAMPLES
from support.quick_pictures import quick_pictures
from support.small_study import STUDY

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.cli.output import plain
from jitterfly.cli.parser import _parser, leaves
from jitterfly.store import Store

OSU = (
    "mpirun -np 8 ./osu_allreduce -i 100\n# OSU MPI Allreduce Latency Test v7.2\n"
    "# Size  Avg Latency(us)\n4  9.1\n1048576  4512.5\n"
)
TARGETS = STUDY.replace("max = 40 }", "max = 40 }\ntargets = ['mean of slowdown ± 1 %']")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run with a target that it does not meet, a curve, a noise file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(TARGETS)
    (tmp_path / "curve.csv").write_text(
        "ranks,latency_us\n2,3.9\n4,8.1\n8,12.2\n16,16.0\n32,20.1\n"
    )
    detours = jf.measured.Detours(np.array([10**6, 10**8]), np.array([10**5, 10**6]), length=10**12)
    jf.measured.noisefile.write(jf.measured.Measured((detours,), "test", {}, ()), "x.noise")
    return tmp_path


def refuse(word):
    raise AssertionError(f"{word} is no JSON")


def output_of(capsys, *arguments):
    """The one object on standard output, which nothing else is on."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["jitterfly"] == jf.__version__
    return found


@quick_pictures
def test_a_run_and_what_is_asked_of_it(folder, capsys):
    found = output_of(capsys, "run", "small.toml", "--out", "out")
    assert (found["command"], found["study"], found["path"]) == ("run", "small", "out")
    with (folder / "out" / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(found["rows"]) == len(rows)
    for row, one in zip(rows, found["rows"], strict=True):
        assert one["cell"] == {"ranks": int(row["ranks"])}
        assert (one["observable"], one["statistic"]) == (row["observable"], row["statistic"])
        for key in ("value", "low", "high"):
            number = float(row[key] or "nan")
            assert one[key] == (number if math.isfinite(number) else None)
    assert "Every mean has its 95 % interval; medians and ranges have none." in found["notes"]
    (claim,) = found["claims"]
    assert claim["name"] == "M4"
    assert sum(claim["reproduced_by"].values()) == claim["counts"]["reproduced"]
    assert claim["reproduced_by"]["ours"] == sum(
        (part["verdict"], part["whose"]) == ("reproduced", "ours") for part in claim["parts"]
    )
    assert "out/summary.csv" in found["written"]

    again = output_of(capsys, "plot", "out")
    assert again["rows"] == found["rows"]
    assert again["written"] == ["out/small.png"]

    state = output_of(capsys, "status", "out")
    assert (state["finished"], state["cells"], state["realizations"]) == (3, 3, 120)
    assert [row["cell"] for row in state["rows"]] == [{"ranks": 4}, {"ranks": 8}, {"ranks": 16}]
    (target,) = state["rows"][0]["targets"]
    assert target["target"].startswith("mean of slowdown ± 1 %")
    assert target["met"] is False
    assert output_of(capsys, "status", "out", "--open")["rows"] == []

    sides = output_of(capsys, "compare", "out", "out")
    assert [row["winner"] for row in sides["rows"]] == [None, None, None]
    assert sides["rows"][0]["ratio"]["value"] == 1


def test_what_a_run_is_written_to(folder, blank_pictures, capsys):
    """init, merge and export say which files there are."""
    found = output_of(capsys, "init", "mine.toml", "--ranks", "4,8")
    assert (found["command"], found["study"]) == ("init", "mine")
    assert found["answers"]["ranks"] == [4, 8]
    assert found["answers"]["noise"] == [
        {"period": "1ms", "duration": "25us", "start": "stationary", "kind": "periodic"}
    ]
    assert found["written"] == ["mine.toml"]
    assert main(["run", "mine.toml", "--realizations", "20", "--shard", "1/2", "--out", "p"]) == 0
    capsys.readouterr()
    assert main(["merge", "p", "--json"]) == 1  # the other half is missing
    found = json.loads(capsys.readouterr().out)
    assert (found["finished"], found["cells"], found["missing"]) == (1, 2, ["shard-2-of-2"])
    assert main(["run", "mine.toml", "--realizations", "20", "--shard", "2/2", "--out", "p"]) == 0
    found = output_of(capsys, "merge", "p")
    assert (found["command"], found["study"], found["path"]) == ("merge", "mine", "p")
    assert (found["finished"], found["cells"], found["missing"]) == (2, 2, [])
    names = ["records", "store.json", "study.toml", "summary.csv"]
    assert sorted(found["written"]) == [f"p/{name}" for name in names]
    assert all((folder / name).exists() for name in found["written"])
    found = output_of(capsys, "export", "p", "mine.csv")
    assert (found["command"], found["path"], found["written"]) == ("export", "p", ["mine.csv"])
    assert (folder / "mine.csv").is_file()


@quick_pictures
def test_info_network_and_noise(folder, capsys):
    assert output_of(capsys, "info")["processors"] >= 1
    found = output_of(capsys, "network", "info", "--tree", "144", "--realizations", "10")
    assert found["hosts"] == 144
    assert 0 < found["bisection_bandwidth"]["low"] < found["bisection_bandwidth"]["high"] <= 1
    found = output_of(capsys, "network", "run", "--tree", "144", "--realizations", "10")
    assert found["slowdown_percent"]["value"] > 100
    pytest.importorskip("matplotlib")
    found = output_of(capsys, "noise", "show", "x.noise")
    assert found["parts"][0]["count"] == 2
    assert found["written"] == ["x.png"]


def test_what_is_not_to_be_trusted_is_in_the_object(folder, capsys, monkeypatch):
    monkeypatch.setattr("jitterfly.plots.noise.draw_measured", lambda *_: None)
    assert output_of(capsys, "noise", "show", "x.noise")["untrusted"] is None
    measured = jf.measured.load("x.noise")
    bad = jf.measured.Measured(measured.parts, "test", {"untrusted": "its buffer was full"}, ())
    jf.measured.noisefile.write(bad, "bad.noise")
    assert output_of(capsys, "noise", "show", "bad.noise")["untrusted"] == "its buffer was full"
    main(["noise", "show", "bad.noise", "--json"])
    assert capsys.readouterr().err == "not to be trusted: its buffer was full\n"


def test_measured_noise(folder, capsys):
    shown = output_of(capsys, "noise", "import", "x.noise", "--out", "y.noise")
    assert shown["untrusted"] is None
    assert shown["parts"][0]["count"] == 2
    assert shown["written"] == ["y.noise"]
    again = output_of(capsys, "noise", "import", "x.noise", "--out", "y.noise")
    assert again == shown  # it is there already, and the same
    other = jf.measured.Detours(np.array([10**7]), np.array([10**6]), length=10**12)
    jf.measured.noisefile.write(jf.measured.Measured((other,), "test", {}, ()), "w.noise")
    found = output_of(capsys, "noise", "merge", "all.noise", "x.noise", "w.noise")
    assert (len(found["parts"]), found["written"]) == (2, ["all.noise"])
    # A busy machine is measured, but not trusted.
    code = main(["noise", "record", "--seconds", "0.05", "--out", "z.noise", "--json"])
    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert code == (found["untrusted"] is not None)
    assert (found["command"], found["written"]) == ("noise record", ["z.noise"])


def test_a_table_is_not_written_as_noise(folder, capsys):
    found = output_of(capsys, "noise", "import", str(NOISE_SAMPLES / "osu_allreduce.txt"))
    assert found["written"] == []
    assert found["parts"]


def test_network_parameters(folder, capsys):
    rows = "\n".join(f"{n} {1.4 + 0.25e-3 * (n - 1):.6f}" for n in (1, 4, 64, 1024, 2**20))
    (folder / "osu.txt").write_text(f"# OSU MPI Latency Test v5.6.2\n# Size Latency (us)\n{rows}\n")
    found = output_of(capsys, "network", "parameters", "osu.txt")
    assert found["o"] is None
    assert "o=?" in found["network"]
    assert pytest.approx(0.25e-9, rel=1e-3) == found["G"]
    assert found["notes"]
    found = output_of(capsys, "network", "parameters", "osu.txt", "--overhead", "0.2us")
    assert (found["o"], found["network"][:2]) == (2e-7, "L=")


def test_export_goal(folder, capsys):
    assert main(["init", "plain.toml", "--ranks", "4,8"]) == 0
    found = output_of(capsys, "export-goal", "plain.toml", "--at", "ranks=4")
    assert found["goal"].startswith("num_ranks 4")
    assert (found["cell"], found["written"]) == ("ranks=4", [])
    found = output_of(capsys, "export-goal", "plain.toml", "--out", "x.goal")
    assert (found["goal"], found["written"]) == (None, ["x.goal"])
    assert (folder / "x.goal").read_text().startswith("num_ranks")


@pytest.mark.full_scale
def test_pages(folder, capsys, monkeypatch):
    study = ["network", "study", "--quick", "--only", "N1", "--realizations", "5"]
    assert main([*study, "--json", "-q"]) == 0
    printed = capsys.readouterr()
    assert "N1" in json.loads(printed.out, parse_constant=refuse)["findings"]
    assert printed.err == ""
    monkeypatch.setattr(
        "jitterfly_papers.report.theory.write", lambda out, **_: out / "theory.html"
    )
    assert output_of(capsys, "theory")["written"] == ["results/theory.html"]


def test_lists_and_a_dry_run(folder, capsys):
    found = output_of(capsys, "run", "list")
    assert {"name", "title"} == set(found["studies"][0])
    found = output_of(capsys, "run", "small.toml", "--dry-run")
    assert (found["study"], found["forecast"]["cells"], found["written"]) == ("small", 3, [])
    assert found["forecast"]["realizations"]["high"] == 120
    assert not (folder / "results").exists()
    found = output_of(capsys, "advise", "--candidates", "list")
    ring = next(one for one in found["candidates"] if one["name"] == "ring")
    assert ring["called"]["NCCL"] == "Ring"
    assert ring["summary"]


def test_fit_budget_and_advise(folder, capsys):
    found = output_of(capsys, "fit", "curve.csv", "--step", "3.9us", "--delay", "1us")
    (one,) = found["fits"]
    assert one["parameters"]["step"] == {"value": 3.9e-6, "low": 3.9e-6, "high": 3.9e-6,
                                         "given": True}  # fmt: skip
    assert [point["ranks"] for point in one["points"]] == [2, 4, 8, 16, 32]
    assert one["points"][0]["error_s"] is None
    limits = ["--ranks", "64", "--latency", "30us", "--step", "3us"]
    found = output_of(capsys, "budget", *limits, "--delay", "14us")
    assert found["answer"]["delay_s"] == 14e-6
    assert 0 < found["answer"]["low"] < found["answer"]["high"] < 1
    assert len(found["over_delays"]) > 100
    machine = ["--network", "L=1us,o=0.1us", "--noise", "period=1ms,duration=10us"]
    found = output_of(capsys, "advise", "--ranks", "8", *machine, "--realizations", "100")
    assert found["command"] == "advise"
    assert found["written"] == []
    found = output_of(capsys, "slowdown", "--ranks", "4,8", *machine, "--realizations", "20")
    assert (found["command"], found["seed"], found["written"]) == ("slowdown", 0, [])
    assert [row["ranks"] for row in found["rows"]] == [4, 8]


JSON = {  # each command that has --json, and that a test here reads what it prints
    "run", "status", "plot", "compare", "info", "slowdown", "fit", "budget", "advise", "noise show",
    "network info", "network run", "network study", "theory", "noise import", "noise record",
    "noise merge", "network parameters", "export-goal", "init", "merge", "export",
    "trace",  # in test_examples.py
    "explain", "compare-measured",  # in test_explain.py
    "reproduce",  # in test_reproduce.py
    "bench",  # in test_bench_command.py
    "noise infer", "predict",  # in test_predict.py
    "report",  # in test_html_report.py
}  # fmt: skip


def test_every_command_with_json_is_here():
    """Those without print no result."""
    with_json = {words: "--json" in one._option_string_actions for words, one in leaves(_parser())}
    assert {words for words, has in with_json.items() if has} == JSON
    without = {words for words, has in with_json.items() if not has}
    assert without == {"help", "completion"}


def test_numbers_that_json_has_not():
    found = plain({"a": math.nan, "b": (math.inf, 1), "c": np.float64(2), "d": np.array([1, 2])})
    assert found == {"a": None, "b": [None, 1], "c": 2.0, "d": [1, 2]}


def test_quiet(folder, blank_pictures, capsys):
    assert main(["run", "small.toml", "--out", "a"]) == 0
    loud = capsys.readouterr()
    assert "3/3 cells" in loud.err
    assert main(["run", "small.toml", "--out", "b", "-q"]) == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    assert quiet.out == loud.out.replace("written to a:", "written to b:")
    assert main(["run", "small.toml", "--out", "b", "--realizations", "0", "--quiet"]) == 2
    assert capsys.readouterr().err.startswith("jitterfly: error: --realizations")
    assert main(["run", "small.toml", "--out", "a"]) == 0  # it was for that command alone
    assert "nothing to do" in capsys.readouterr().err


def test_verbose(folder, blank_pictures, capsys):
    assert main(["run", "small.toml", "--out", "a", "-v"]) == 0
    told = capsys.readouterr().err
    assert f"jitterfly: {jf.__version__}\n" in told
    assert "3/3 cells" in told
    assert told.splitlines()[-1].endswith(" MiB")
    assert main(["status", "nowhere", "-v"]) == 2
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.splitlines()[-1].startswith("jitterfly: error: nowhere holds no run")
    with pytest.raises(SystemExit):
        main(["info", "-q", "-v"])
    assert "not allowed with argument" in capsys.readouterr().err


def test_every_command_has_both_levels():
    found = dict(leaves(_parser()))
    assert len(found) > 18
    for words, parser in found.items():
        assert {"-q", "--quiet", "-v", "--verbose"} <= set(parser._option_string_actions), words


def test_export_says_which_cells_lost_their_records(folder, capsys, blank_pictures):
    (folder / "plain.toml").write_text(STUDY)
    assert main(["run", "plain.toml", "--out", "out", "-q"]) == 0
    whole = output_of(capsys, "export", "out", "whole.csv")
    assert whole["unfinished"] == {}
    (lost,) = (folder / "out" / "records").glob("ranks=8_*.jfr")
    (short,) = (folder / "out" / "records").glob("ranks=16_*.jfr")
    lost.unlink()
    short.write_bytes(short.read_bytes()[:-3])
    assert main(["export", "out", "x.csv"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "written: x.csv\n"
    left = Store.open("out")
    count = left.available(left.cells[2])
    assert printed.err.splitlines()[-1] == (
        "jitterfly: 2 of 3 cells are not finished, and the file has no rows of those without "
        f"realizations: ranks=8 (no realizations), ranks=16 ({count or 'no'} realizations); run "
        "the study again to finish them"
    )
    assert main(["export", "out", "x.csv", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["unfinished"] == {"ranks=8": 0, "ranks=16": count}
    assert main(["run", "plain.toml", "--out", "out", "-q"]) == 0
    assert output_of(capsys, "export", "out", "x.csv")["unfinished"] == {}
    assert (folder / "x.csv").read_bytes() == (folder / "whole.csv").read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        "slowdown --ranks 4,4096 --realizations 20",
        "slowdown --ranks 4,64 --realizations 20 --at-most 1.5",
        "advise --ranks 16 --bytes 8,4MiB --realizations 20",
        "advise --ranks 64 --realizations 20",
        "explain --ranks 64 --realizations 20",
        "compare-measured osu.txt --ranks 8 --realizations 20",
    ],
)
def test_times_of_a_table_are_numbers_in_the_unit_of_its_head(words, tmp_path, monkeypatch, capsys):
    """A cell of a column has no unit of its own, however far its times are apart."""
    (tmp_path / "osu.txt").write_text(OSU)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    noise = "period=1ms,duration=25us,start=stationary"
    noise = noise.replace("25us", "max") if "--at-most" in words else noise
    arguments = [*words.split(), "--network=L=1us,o=200ns,G=0.1ns", f"--noise={noise}", "-q"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    head = re.compile(r"[a-z0-9], (?:ns|µs|ms)(?:  |$)")
    heads = [at for at, line in enumerate(lines) if head.search(line)]
    assert heads
    for at in heads:
        rows = list(itertools.takewhile(str.strip, lines[at + 1 :]))
        assert rows
        assert not [row for row in rows if re.search(r"[0-9\]] (?:ps|ns|µs|ms|s)\b", row)], words
