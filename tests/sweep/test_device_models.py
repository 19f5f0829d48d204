"""Forecasts for a card that is not here (`--device-model`): stored rates, and what they rest on."""

import json
import re

import pytest
from bench.collectives import SHAPES
from support import sweep_cases
from support.commands import error_of
from support.paths import TESTS
from support.small_store import STUDY

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.schedule import ScheduleCase
from jitterfly.sweep import forecast as sweep_forecast
from jitterfly.sweep.device_models import DEVICE_MODELS, RANKS, REALIZATIONS, calls, estimate
from jitterfly.sweep.forecast import _Trial, forecast

H200 = DEVICE_MODELS["h200"]
MODELS = pytest.mark.parametrize("model", DEVICE_MODELS.values(), ids=list(DEVICE_MODELS))
PERIODIC = jf.PeriodicNoise(period="1ms", duration="10us")
JITTER = jf.NetworkJitter(period="1ms", duration="10us")
RENEWAL = jf.RenewalNoise(gap="990us", duration="10us")
STEP = jf.StepNoise("14us", during="communication")
HOCKNEY = jf.Hockney("1us", "1ns", "0.1ns")
LOGGOPS_OF_SCHEDULES = jf.LogGOPS(L="1us", o="200ns")
LOGGOPS = jf.LogGOPS(L="1us", o="1ns", G="1ns", gamma="0.1ns")


def case(ranks=2**13, noise=(PERIODIC,), exchanges_after=0, **fields):
    fields.setdefault("algorithm", jf.Butterfly(exchanges_after=exchanges_after))
    return jf.Case(ranks, **{"network": HOCKNEY, "noise": list(noise), **fields})


def results(model):
    return (TESTS.parent / model.table).read_text(encoding="utf-8")


@MODELS
def test_rates_of_butterflies_are_those_of_the_results_file(model):
    """And each case takes the time that its realizations took there."""
    row = r"^jitterfly, cuda +(butterfly|MS12, all T) +(periodic|\+ jitter) +2\^(\d+) +- +\S+ +(\S+) +\S+ +(\S+)"  # noqa: E501
    rows = re.findall(row, results(model), re.MULTILINE)
    assert len(rows) == 12
    for program, noise, power, rate, realizations in rows:
        stored = (model.butterfly if program == "butterfly" else model.forwards)[noise]
        ranks = 2 ** int(power)
        assert stored[RANKS.index(ranks)] == float(rate)
        sources = [PERIODIC] if noise == "periodic" else [PERIODIC, JITTER]
        found = estimate(model, case(ranks, sources, 0 if program == "butterfly" else "all"), 1000)
        assert found.seconds == pytest.approx(1000 / float(realizations), rel=0.01)
        assert (found.rates_of, found.commit) == ("", model.commits["butterfly"])


@MODELS
def test_rates_of_messages_are_those_of_the_results_file(model):
    text = results(model)
    head = "After what this showed" if "After what this showed" in text else "At ed0ba28a"
    table = text.split(head)[1].split("```")[1]
    rows = dict(re.findall(r"^(\S.*?) +\d+ realizations: cuda (\S+) ns", table, re.MULTILINE))
    assert rows.pop("butterfly")
    assert {SHAPES[name].kind: float(rate) for name, rate in rows.items()} == model.message
    for name, rate in rows.items():
        found = estimate(model, case(2**12, algorithm=SHAPES[name], network=LOGGOPS), 100)
        work = case(2**12, algorithm=SHAPES[name], network=LOGGOPS).rank_rounds()
        assert found.seconds == pytest.approx(100 * work * float(rate) * 1e-9)
        assert (found.rates_of, found.commit) == ("", model.commits["message"])


@MODELS
def test_rates_of_schedules_and_the_rest_are_those_of_the_results_file(model):
    text = results(model)
    row = (
        r"^schedule, (\w+) noise, (\d+) realizations, per operation and realization: cuda (\S+) ns"
    )
    found: dict[str, dict[int, float]] = {}
    for noise, count, rate in re.findall(row, text, re.MULTILINE):
        found.setdefault(noise, {})[int(count)] = float(rate)
    assert {noise: tuple(rates[n] for n in REALIZATIONS) for noise, rates in found.items()} == (
        model.schedule
    )
    assert f"Card: {model.card} (" in text
    assert f"driver {model.driver}," in text
    assert model.table.endswith(f"-{model.measured}.md")
    assert all(f"{commit} " in text for commit in model.commits.values())
    assert f"{1000 * model.call:g} ms" in text


def test_between_the_ranks_that_were_measured():
    assert estimate(H200, case(2**18), 1).seconds == pytest.approx(18 * 2**18 / 1.455e12, rel=1e-3)
    assert estimate(H200, case(2**28), 1).seconds == pytest.approx(28 * 2**28 / 1.46e12)
    # The fewest take as long a realization as 2^8: the way of the results to the host.
    small = [estimate(H200, case(ranks), 1000).seconds for ranks in (2, 16, 2**8)]
    assert small == pytest.approx([1000 * 8 * 2**8 / 3.9e11] * 3)


def test_a_schedule_of_few_realizations_takes_as_long_as_one_of_256(tmp_path):
    path = tmp_path / "app.goal"
    path.write_text("num_ranks 1\nrank 0 {\nl1: calc 100\n}\n")

    def schedule(*noise, **order):
        return ScheduleCase(path, network=LOGGOPS_OF_SCHEDULES, noise=noise, **order)

    times = [estimate(H200, schedule(PERIODIC), n).seconds for n in (1, 256)]
    assert times == pytest.approx([256 * 4.32e-9] * 2)
    many = estimate(H200, schedule(RENEWAL), 2**20)
    assert (many.seconds, many.rates_of) == (pytest.approx(2**20 * 0.062e-9), "")
    other = estimate(H200, schedule(STEP, PERIODIC), 2**16)
    assert (other.what, other.rates_of) == (
        "schedule, periodic + step noise", "schedule, renewal noise",
    )  # fmt: skip
    arriving = schedule(PERIODIC, order="arrival")
    with pytest.raises(ValueError, match="order must be 'noise-free' with backend 'cuda'"):
        estimate(H200, arriving, 1)


@pytest.mark.parametrize(
    ("fields", "what", "rates_of"),
    [
        ({"noise": [JITTER]}, "butterfly, jitter noise", "butterfly, jitter + periodic noise"),
        ({"noise": []}, "butterfly, no noise", "butterfly, periodic noise"),
        ({"noise": [PERIODIC, PERIODIC]}, "butterfly, 2 periodic noise",
         "butterfly, jitter + periodic noise"),
        ({"noise": [RENEWAL]}, "butterfly, renewal noise", "butterfly, jitter + periodic noise"),
        ({"noise": [jf.PeriodicNoise("1ms", "10us", shared=8)]},
         "butterfly, periodic (shared, or at times) noise", "butterfly, jitter + periodic noise"),
        ({"noise": [jf.PeriodicNoise("1ms", "10us", end="1s")]},
         "butterfly, periodic (shared, or at times) noise", "butterfly, jitter + periodic noise"),
        ({"cycles": 3, "compute_time": "1us"},
         "butterfly, periodic noise, 3 cycles, compute phases", "butterfly, periodic noise"),
        ({"observe": "spread"}, "butterfly, periodic noise, observe = 'spread'",
         "butterfly, periodic noise"),
        ({"ranks": 3000}, "butterfly, periodic noise",
         "recursive doubling allreduce, periodic noise, 4,096 ranks"),
        ({"algorithm": jf.Butterfly(exchanges_after=2, forward_cost="1us")},
         "butterfly with exchanges after it, periodic noise, forwards that take CPU time",
         "butterfly with exchanges after it, periodic noise"),
        ({"algorithm": jf.RingAllreduce(), "ranks": 64},
         "ring allreduce, periodic noise, ranks far from 4,096",
         "ring allreduce, periodic noise, 4,096 ranks"),
        ({"algorithm": jf.RingAllreduce(), "ranks": 4096, "noise": [RENEWAL]},
         "ring allreduce, renewal noise", "ring allreduce, periodic noise, 4,096 ranks"),
        ({"algorithm": jf.PairwiseAlltoall(), "ranks": 4096}, "pairwise alltoall, periodic noise",
         "recursive doubling allreduce, periodic noise, 4,096 ranks"),
        ({"algorithm": jf.LinearScatter(), "ranks": 4096}, "linear scatter, periodic noise",
         "binomial broadcast, periodic noise, 4,096 ranks"),
    ],
)  # fmt: skip
def test_the_nearest_stands_for_what_was_not_measured(fields, what, rates_of):
    found = estimate(H200, case(**fields), 1000)
    assert (found.what, found.rates_of) == (what, rates_of)
    assert found.seconds > 0


@pytest.mark.parametrize(
    ("algorithm", "noise", "what"),
    [
        (jf.Butterfly(copy_levels="all"), [PERIODIC], "copies inside a butterfly, periodic noise"),
        (jf.Butterfly(on_demand="all", patience="1us"), [], "copies inside a butterfly, no noise"),
        (jf.Butterfly(), [jf.Congestion(jf.congestion.FatTree.of(144))], "congestion"),
    ],
)
def test_where_nothing_is_near_there_is_no_number(algorithm, noise, what):
    found = estimate(H200, case(64, noise, algorithm=algorithm), 1000)
    assert (found.seconds, found.commit) == (None, "")
    assert found.what.startswith(what)


def test_calls_are_those_of_each_loop():
    assert calls(case()) == 1
    assert calls(case(16, exchanges_after="all", cycles=2)) == len(
        case(16, exchanges_after="all", cycles=2).loops
    )


def test_a_forecast_adds_the_host_to_the_card(monkeypatch):
    """Here a look takes 1 s, and a realization 1 ms."""
    monkeypatch.setattr(
        sweep_forecast,
        "_run_trial",
        lambda _, cell, *__: _Trial(float(cell.work), 1.0, 0.0, 1e-3, 0.0, 8.0),
    )
    study = sweep_cases.study(sweep_cases.PLAIN)
    found = forecast(study, backend="cuda", device_model="h200")
    cells = study.cells()
    card = sum(
        H200.call + estimate(H200, cell.variants[0].case, cell.limit).seconds for cell in cells
    )
    host = sum(1 + 1e-3 * cell.limit for cell in cells)
    assert found.device.seconds.high == pytest.approx(card)
    assert found.seconds.high == pytest.approx(card + host)
    assert found.device.hours.high == pytest.approx((card + host) / 3600)
    assert found.device.with_host
    assert sum(part.work for part in found.device.rests_on) == pytest.approx(found.work.high)
    assert sum(part.share for part in found.device.rests_on) == pytest.approx(1)
    # A Python user may write "gpu", as for `run`.
    assert forecast(study, backend="gpu", device_model="h200").device == found.device


def test_without_a_cell_small_enough_to_be_tried_the_card_is_known(monkeypatch):
    monkeypatch.setattr(sweep_forecast, "_MAX_WORK", 1)
    found = forecast(sweep_cases.study(sweep_cases.PLAIN), backend="cuda", device_model="h100")
    assert not found.device.with_host
    assert found.seconds.high == pytest.approx(found.device.seconds.high)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(STUDY)
    (tmp_path / "app.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 100\n}\n")
    return tmp_path


WORDS = ["run", "-q", "small.toml", "--dry-run", "--backend", "gpu", "--device-model"]


def test_the_text_says_what_it_rests_on(folder, capsys):
    assert main([*WORDS, "h200"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"^ +\S.* of it on one NVIDIA H200; the rest is the host's", told, re.M)
    assert re.search(r"^GPU-hours +under 0.001$", told, re.M)
    assert "rests on      tests/gpu/h200-2026-11-27.md\n" in told
    assert "one NVIDIA H200, 2026-11-27, driver 580.159.04\n" in told
    assert re.search(r"^(measured|rough) +100 % of the work \(commit fd9aa11a\)", told, re.M)
    assert not (folder / "results").exists()


COPIES = """
name = "copies"
realizations = { max = 100 }
[case]
ranks = 64
network = { kind = "loggops", L = "1us", o = "200ns" }
noise = [{ kind = "periodic", period = "1ms", duration = "10us" }]
[variants.plain]
[variants.copies]
"algorithm.copy_levels" = "all"
[observables.gain]
kind = "gain"
over = { variant = "plain" }
of = { variant = "copies" }
"""


def test_what_was_not_measured_has_no_number(folder, capsys):
    (folder / "small.toml").write_text(COPIES)
    assert main([*WORDS, "h100", "--json"]) == 0
    costs = json.loads(capsys.readouterr().out)["forecast"]
    assert (costs["seconds"], costs["device"]["seconds"], costs["device"]["hours"]) == (None,) * 3
    assert costs["disk"]["high"] > 0
    assert any(part["what"].startswith("copies") for part in costs["device"]["rests_on"])
    assert main([*WORDS, "h100"]) == 0
    told = capsys.readouterr().out
    assert "time          not known: a part of the work was not measured on an NVIDIA H100" in told
    assert re.search(r"^not measured  \d+ % of the work, nor anything near it$", told, re.M)
    assert "GPU-hours" not in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("small.toml --dry-run --backend cuda --device-model a100",
         "--device-model must be one of 'h100', 'h200', got 'a100'"),
        ("small.toml --dry-run --device-model h200",
         "--device-model is for --backend cuda, and --backend is auto: add it"),
        ("small.toml --backend cuda --device-model h200",
         "--device-model is for --dry-run: a run takes the GPU that is there"),
        ("small.toml --dry-run --backend cuda --threads 2 --device-model h200",
         "--threads is for the CPU backend"),
        ("app.goal --device-model h200", "--device-model is for a study"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(folder, capsys, words, message):
    assert message in error_of(capsys, "run", *words.split())


def test_without_a_gpu_the_error_names_the_option(folder, capsys, monkeypatch):
    monkeypatch.setattr("jitterfly.backends.gpu_problem", lambda: "no usable GPU")
    monkeypatch.setattr("jitterfly.backends.gpu_present", lambda: False)
    words = ["run", "small.toml", "--dry-run", "--backend", "cuda"]
    assert error_of(capsys, *words) == (
        "--backend 'cuda' can not be used here: no usable GPU; for a GPU elsewhere: "
        "--device-model h100 or h200"
    )
    monkeypatch.setattr("jitterfly.backends.gpu_present", lambda: True)  # what mends that is said
    assert "--device-model" not in error_of(capsys, *words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device_model": "v100", "backend": "cuda"}, "device_model must be one of 'h100', 'h200'"),
        ({"device_model": "h200"}, "device_model is for backend 'cuda', got 'auto'"),
        ({"device_model": "h200", "backend": "cuda", "threads": 2}, "leave out `threads`"),
        ({"backend": "tpu"}, "backend must be one of 'auto', 'cpu', 'cuda', got 'tpu'"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        forecast(sweep_cases.study(sweep_cases.PLAIN), **options)
