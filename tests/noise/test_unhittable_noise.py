"""Warnings and errors of noise that can hit nothing in a case."""

import warnings

import numpy as np
import pytest
from support.commands import last_error

import jitterfly as jf
from jitterfly import noise_limit
from jitterfly.cli import main

NOISE = jf.PeriodicNoise("1ms", "10us", start="stationary")
SILENT = {  # network, algorithm, what would give the CPU work
    "nothing is combined in time": (jf.Hockney("1us", 0), jf.Butterfly(), "network.gamma"),
    "nothing is combined": (
        jf.Hockney("1us", 0, gamma="1ns"),
        jf.DisseminationBarrier(),
        "a LogGOPS network",
    ),
    "no overhead": (jf.LogGOPS("1us", 0), jf.Butterfly(), "network.o"),
    "no overhead of a barrier": (jf.LogGOPS("1us", 0), jf.TreeBarrier(), "network.o"),
}


def silent(name, **options):
    network, algorithm, remedy = SILENT[name]
    options = {"noise": [NOISE]} | options
    return jf.Case(8, network=network, algorithm=algorithm, **options), remedy


def told(call):
    """What `call` returns, and its warnings about noise."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = call()
    ours = [w for w in seen if w.category is jf.IneffectiveNoiseWarning]
    assert len(ours) == len(seen)
    assert all(w.filename == __file__ for w in ours)
    return found, [str(w.message) for w in ours]


@pytest.mark.parametrize("name", SILENT)
def test_simulate_warns(name):
    """And its times are those without noise, which is why."""
    case, remedy = silent(name)
    result, seen = told(lambda: jf.simulate(case, 20))
    assert np.array_equal(result.samples, np.broadcast_to(result.noise_free, (20, 1)))
    assert len(seen) == 1
    assert seen[0].startswith(
        f"noise.0 (periodic) can hit nothing, so it is without effect: the CPU does no work; give "
        f"{remedy}"
    )
    assert told(lambda: jf.ready_times(case))[1] == seen


def test_each_source_is_named():
    case, _ = silent("no overhead", noise=[jf.NetworkJitter("1us", "1us"), NOISE])
    result, seen = told(lambda: jf.simulate(case, 20))
    assert result.samples.max() > result.noise_free.max()  # the other one hits
    assert [text[:18] for text in seen] == ["noise.1 (periodic)"]


@pytest.mark.parametrize(
    ("ranks", "options"),
    [
        (8, {}),
        (8, {"compute_time": "1us", "network": jf.Hockney("1us", 0)}),
        (8, {"noise": [jf.PeriodicNoise("1ms", 0)], "network": jf.Hockney("1us", 0)}),  # as told
        (8, {"noise": [jf.StepNoise("1us")], "network": jf.Hockney("1us", 0)}),
        (8, {"noise": [], "network": jf.Hockney("1us", 0)}),
        (1, {}),  # takes no time, under noise or not
    ],
)
def test_silence_where_nobody_is_misled(ranks, options):
    case = jf.Case(ranks, **({"network": jf.LogGOPS("1us", "1ns"), "noise": [NOISE]} | options))
    assert told(lambda: jf.simulate(case, 2))[1] == []


@pytest.mark.parametrize("name", SILENT)
def test_advise_refuses(name):
    network, _, remedy = SILENT[name]
    kind = "barrier" if "barrier" in name or name == "nothing is combined" else "allreduce"
    with pytest.raises(ValueError, match="can hit nothing in any cell: the CPU does") as error:
        jf.advise("1,8", network=network, noise=[NOISE], collective=kind, realizations=500)
    assert remedy in str(error.value)


def test_forwards_after_the_result_are_nothing_to_hit(capsys):
    """They cost CPU time, but no rank is late with the result that they bring."""
    network = jf.Hockney("1us", "1ns")
    with pytest.raises(ValueError, match="can hit nothing in any cell: the CPU does no work"):
        jf.advise(16, network=network, noise=[NOISE], realizations=500)
    line = ["--ranks=16", "--noise=period=1ms,duration=10us", "--network=L=1us,o=0,G=1ns"]
    assert "can hit nothing in any cell" in last_error(capsys, "advise", *line)
    forwards = jf.Butterfly(exchanges_after="all", forward_cost="1us")
    case = jf.Case(8, network=network, algorithm=forwards, noise=[NOISE])
    result, seen = told(lambda: jf.simulate(case, 20))
    assert len(seen) == 1
    assert np.array_equal(result.samples, np.broadcast_to(result.noise_free, (20, 4)))
    late = jf.Case(8, network=network, algorithm=forwards, cycles=2, noise=[NOISE])
    assert told(lambda: jf.simulate(late, 20))[1] == []
    jitter = jf.NetworkJitter("1us", "1us")
    both = jf.Case(8, network=network, algorithm=forwards, noise=[jitter, NOISE])
    assert told(lambda: jf.simulate(both, 20))[1] == []
    with pytest.raises(ValueError, match=r"^noise.1 \(periodic\) can hit nothing"):
        jf.advise(8, network=network, noise=[jitter, NOISE], realizations=500)


def test_advise_goes_on_where_noise_hits_some_cell():
    """One rank exchanges nothing; the others do."""
    network = jf.LogGOPS("1us", "1ns")
    names = ["butterfly", "ring"]
    found = jf.advise("1,4", network=network, noise=[NOISE], candidates=names, realizations=500)
    assert found.cell(4, 8).ranking[0].realizations > 0


def test_advise_refuses_a_source_beside_one_that_hits():
    jitter = jf.NetworkJitter("1us", "1us")
    with pytest.raises(ValueError, match=r"^noise.1 \(periodic\) can hit nothing in any cell"):
        jf.advise(8, network=jf.LogGOPS("1us", 0), noise=[jitter, NOISE], realizations=500)


def test_commands(tmp_path, capsys):
    line = ["--noise", "period=1ms,duration=10us", "--network"]
    error = last_error(capsys, "advise", "--ranks", 8, *line, "L=1us,o=0")
    assert error.startswith("noise.0 (periodic) can hit nothing in any cell: ")
    pytest.importorskip("matplotlib")
    trace = ["trace", "--copy-levels", "none", "--out", str(tmp_path / "trace.png"), *line]
    with pytest.warns(
        jf.IneffectiveNoiseWarning, match=r"^noise.0 \(periodic\) can hit nothing"
    ) as w:
        assert main([*trace, "L=1us,o=0"]) == 0
    assert len(w) == 1


def test_studies_with_such_cells_are_silent(tmp_path):
    """An axis over gamma from 0 on: the study was asked as a whole."""
    case = jf.Case(4, network=jf.Hockney("1us", 0), noise=[NOISE])
    axes = [jf.Axis("gamma", [0, "1ns"], path="network.gamma")]
    study = jf.Study("x", case=case, axes=axes, budget=jf.RealizationBudget(max=10))
    _, seen = told(lambda: jf.run_study(study, tmp_path / "out"))
    assert seen == []
    with pytest.raises(ValueError, match="can hit nothing in any cell"):
        jf.Study("x", case=case, budget=jf.RealizationBudget(max=10))


def test_help_shows_noise_that_hits():
    """The example of `jf.Case` is copied by its readers."""
    lines = jf.Case.__doc__.splitlines()
    code = [line.strip()[4:] for line in lines if line.strip().startswith((">>>", "..."))]
    scope = {}
    exec("\n".join(code[:-1]), scope)
    assert any(isinstance(v, jf.Case) and v.noise for v in scope.values())
    for case in (v for v in scope.values() if isinstance(v, jf.Case)):
        assert told(lambda c=case: jf.simulate(c, 2))[1] == []
        collective = jf.Case(case.ranks, network=case.network, noise=[NOISE])
        assert told(lambda c=collective: jf.simulate(c, 2))[1] == []


def test_gamma_that_nothing_combines():
    """A barrier of no other cost would take no time: it says so, in each entry."""
    network = jf.Hockney(0.0, 0.0, gamma="3us")
    noise = [jf.StepNoise(delay="14us", probability=0.5)]
    case = jf.Case(24, algorithm=jf.DisseminationBarrier(), network=network, noise=noise)
    words = "gamma = 3e-06 s counts nowhere, so the collective takes no time: dissemination_barrier"
    for entry in (
        lambda: jf.simulate(case, 5),
        lambda: jf.ready_times(case),
        lambda: jf.slowdown(noise, [8, 24], network=network, algorithm=case.algorithm),
        lambda: noise_limit(
            "period=1ms,duration=max", 24, at_most=2, network=network, algorithm=case.algorithm,
            compute_time="1us", realizations=50,
        ),
        lambda: jf.Study("x", case=case, budget=jf.RealizationBudget(max=5)).cells(),
    ):  # fmt: skip
        with pytest.warns(jf.UnusedCostWarning, match=words):
            entry()
    quiet = [
        jf.Case(24, algorithm=jf.DisseminationBarrier(), network=jf.Hockney("1us", 0.0, "3us")),
        jf.Case(32, algorithm=jf.Butterfly(), network=network),
        jf.Case(1, algorithm=jf.DisseminationBarrier(), network=network),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for silent in quiet:
            jf.simulate(silent, 2)


def test_noise_that_begins_when_all_is_over_is_told_everywhere():
    """More realizations would not meet it either."""
    late = [jf.PeriodicNoise("1ms", "25us", begin="5ms", start="stationary")]
    machine = jf.LogGOPS(L="1us", o="200ns")
    case = jf.Case(64, network=machine, noise=late)
    words = "on 64 ranks all is over when the noise begins, so that it can hit nothing: give an ea"
    for call in (
        lambda: jf.simulate(case, 4),
        lambda: jf.Study("late", case=case, budget=jf.RealizationBudget(max=4)),
        lambda: jf.explain(case, 10),
        lambda: jf.advise(64, network=machine, noise=late, realizations=40,
                          candidates=["butterfly", "butterfly_after_1"]),
    ):  # fmt: skip
        assert [text[: len(words)] for text in told(call)[1]] == [words]
    early = [*late, jf.PeriodicNoise("1ms", "25us", start="stationary")]
    assert told(lambda: jf.simulate(jf.Case(64, network=machine, noise=early), 4))[1] == []


@pytest.mark.parametrize(
    ("name", "network"), [("G_factor", "L=1us,o=200ns"), ("L_factor", "L=0,o=1us")]
)
def test_factors_on_a_cost_of_0_are_told(name, network):
    case = jf.Case(8, network=network, **{name: jf.imbalance.SlowRanks(4, ranks=[1])})
    with pytest.warns(jf.UnusedCostWarning, match=f"{name} acts on nothing.*{name[0]} is 0"):
        jf.simulate(case, 1)


def test_noise_that_begins_before_the_last_rank_is_done_is_not_late():
    """Also where the mean over the ranks is observed, which is done before."""
    noise = [jf.PeriodicNoise("1us", "100ns", begin="5.9us", start="stationary")]
    case = jf.Case(64, algorithm=jf.BinomialBroadcast(), network="L=1us,o=200ns", noise=noise,
                   observe="spread")  # fmt: skip
    assert case.noise_free_observations()[-1] < 5.9e6 < case.noise_free_ticks().max()
    _, seen = told(lambda: jf.simulate(case, 10))
    assert seen == []


def test_a_schedule_that_is_over_when_its_noise_begins_is_told(tmp_path):
    builder = jf.ScheduleBuilder(2)
    builder.calc("1ms")
    late = [jf.PeriodicNoise("1ms", "25us", begin="1s", start="stationary")]
    builder.write(tmp_path / "app.goal")
    case = jf.ScheduleCase(tmp_path / "app.goal", network="L=1us,o=200ns", noise=late)
    with pytest.warns(jf.IneffectiveNoiseWarning, match="all is over when the noise begins"):
        jf.Study("late", case=case, budget=jf.RealizationBudget(max=2))
