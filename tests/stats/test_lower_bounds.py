"""Intervals of means respect the noise-free time as a lower bound, wherever they are shown.

Noise only adds to a time, so that no interval of one reaches below the time without noise. Each of
these would without the bound: `reached` says so.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.scale import at_most, full_scale

import jitterfly as jf
from jitterfly import stats
from jitterfly.advice.question import Statistic
from jitterfly.observables import Completion, Overhead, Slowdown
from jitterfly.results import Results
from jitterfly.studies import RealizationBudget, Study

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
CHANCES = (1e-3, 0.03, 0.1, 0.3)
COUNT = 40
SEEDS = range(6)


def rare(chance, ranks=8):
    """Noise that a realization meets with about this probability."""
    return jf.StepNoise("200us", chance / (ranks * math.log2(ranks)))


def case_of(chance, ranks=8):
    return jf.Case(ranks, network=NETWORK, noise=[rare(chance)])


def reached(samples, bound):
    """Whether an interval that knows of no bound would reach below it."""
    return -math.inf < stats.mean(samples).low < bound


@pytest.mark.parametrize("chance", CHANCES)
def test_slowdown(chance):
    below = 0
    for seed in SEEDS:
        (row,) = jf.slowdown(rare(chance), 8, realizations=COUNT, seed=seed, network=NETWORK).rows
        samples = jf.simulate(case_of(chance), COUNT, seed=seed).samples[:, 0]
        below += reached(samples, row.noise_free)
        if row.mean.too_small:
            assert (samples == row.noise_free).all()
            assert math.isinf(row.slowdown.low)
            continue
        assert row.noise_free <= row.mean.low <= row.mean.value <= row.mean.high
        assert 1 <= row.slowdown.low <= row.slowdown.value <= row.slowdown.high
    assert below or chance not in (0.03, 0.1)


def test_slowdown_where_noise_can_be_faster():
    """No bound: ranks that are faster by a draw end before the time without noise."""
    noise = jf.SpeedNoise(jf.Empirical([0.5, 1.0]), shared="machine")
    found = jf.slowdown(noise, 8, realizations=COUNT, network=NETWORK, compute_time="1ms")
    assert found.rows[0].slowdown.high < 1
    copied = jf.Butterfly(copy_levels="all")
    case = replace(case_of(0.1), algorithm=copied)
    assert not case.noise_only_delays()
    found = jf.slowdown(rare(0.1), 8, realizations=COUNT, network=NETWORK, algorithm=copied)
    samples = jf.simulate(case, COUNT).samples[:, 0]
    assert found.rows[0].mean.low == stats.mean(samples).low < found.rows[0].noise_free


def test_table_of_a_notebook():
    result = jf.simulate(case_of(0.03), COUNT, seed=1)
    assert reached(result.samples[:, 0], result.noise_free[0])
    quiet = jf.units.show_seconds(float(result.noise_free[0]))
    assert f"<td>{quiet} to " in result._repr_html_()


@pytest.mark.parametrize("chance", [full_scale(1e-3), 0.03, 0.1, full_scale(0.3)])
def test_advice(chance):
    below = 0
    for seed in SEEDS:
        found = jf.advise(8, network=NETWORK, noise=[rare(chance)], realizations=COUNT, seed=seed)
        statistic = Statistic.named("mean")
        for one in found.cells[0].ranking:
            if not math.isfinite(one.value.low):
                continue
            case = replace(case_of(chance), algorithm=_algorithm(one.name))
            if not case.noise_only_delays():
                continue
            assert one.noise_free <= one.value.low <= one.value.value
            assert 1 <= one.slowdown.low <= one.slowdown.value
            samples = jf.simulate(case, one.realizations, seed=seed).samples[:, -1]
            whole = statistic.estimate(samples, found.question.error())
            below += whole.low < one.noise_free
    assert below or chance not in (0.03, 0.1)


def _algorithm(name):
    from jitterfly.advice import known

    return known("allreduce")[name].make(8, NETWORK, 8)


def test_advice_under_speeds_that_are_drawn():
    """None is left out for its time without noise, which it may not take."""
    noise = [jf.SpeedNoise(0.5), rare(0.1)]
    found = jf.advise(8, network=NETWORK, noise=noise, compute_time="100us", realizations=COUNT)
    assert not any(one.is_bound for one in found.cells[0].ranking)
    first = found.cells[0].ranking[0]
    assert first.value.value < first.noise_free


def test_causes_of_a_delay():
    below = 0
    for seed in SEEDS:
        noise = [rare(0.1), jf.SpeedNoise(jf.Empirical([0.5, 1.0, 1.5]))]
        case = jf.Case(8, network=NETWORK, noise=noise, compute_time="100us")
        found = jf.explain(case, COUNT, seed)
        rows = {row.cause: row.mean for row in found.rows()}
        one = rows["noise.0 (step)"]
        assert one.too_small or 0 <= one.low <= one.value
        below += reached(found.ticks[:, 0] * 1e-12, 0)
        # What may be negative has no bound: a drawn speed, the path, and what it is made of.
        for cause, ticks in zip(found.causes[1:], found.ticks.T[1:], strict=True):
            assert rows[cause].low == stats.mean(jf.units.from_ticks(ticks)).low
    assert below


@pytest.mark.parametrize("order", ["noise-free", "arrival"])
def test_schedules(order, tmp_path):
    """In the order without noise; in that of arrival noise may bring a better order about."""
    path = tmp_path / "app.goal"
    path.write_text("num_ranks 2\nrank 0 {\na: calc 5000\nb: send 8b to 1\nb requires a\n}\n"
                    "rank 1 {\nrecv 8b from 0\n}\n")  # fmt: skip
    marks = tmp_path / "marks"
    marks.write_text("one 0 a\ntwo 0 b\n")
    below = 0
    for seed in SEEDS:
        found = jf.simulate_schedule(
            path, NETWORK, [jf.StepNoise("500us", 0.02)], realizations=COUNT, seed=seed,
            order=order, marks=marks,
        )  # fmt: skip
        below += reached(found.samples, 0 if order == "arrival" else found.noise_free)
        if found.mean().too_small:
            continue
        bound = found.noise_free if order == "noise-free" else 0
        assert bound <= found.mean().low <= found.mean().value
        if order == "noise-free":
            assert found.slowdown().low >= 1
            for row in found.mark_rows():
                assert row.mean.too_small or row.noise_free <= row.mean.low
        else:
            assert found.mean().low == max(stats.mean(found.samples).low, 0)
    assert below


@pytest.mark.parametrize("chance", [0.05, 0.3])
def test_studies(chance, tmp_path):
    observables = {"late": Completion(), "slow": Slowdown(), "over": Overhead()}
    below = 0
    for seed in SEEDS:
        study = Study("s", case=case_of(chance), observables=observables, seed=seed,
                      budget=RealizationBudget(max=COUNT))  # fmt: skip
        store = study.run(tmp_path / str(seed))
        (cell,) = Results(store).cells
        quiet = float(jf.simulate(case_of(chance), 1).noise_free[0])
        for name, bound in (("late", quiet), ("slow", 1.0), ("over", 0.0)):
            for mean in (cell.summaries[name].mean, cell.estimate(name)):
                assert mean.too_small or bound <= mean.low <= mean.value
            below += reached(cell.observed(name).samples, bound)
            (row,) = jf.compare(store, store, name).rows
            for mean in (row.mean_a, row.mean_b):
                assert mean.too_small or bound <= mean.low <= mean.value
    assert below or chance > 0.1


def test_measured_beside_simulated():
    """Both sides: a measured time is above 0, a simulated one above that without noise."""
    case = case_of(0.03)
    measured = jf.simulate(case, COUNT, seed=4).samples[:, 0]
    found = jf.compare_measured(measured, case, realizations=COUNT, seed=1)
    (mean,) = (row for row in found.rows if row.what == "mean")
    quiet = float(jf.simulate(case, 1).noise_free[0])
    assert 0 <= mean.measured.low < quiet
    assert quiet <= mean.simulated.low
    assert reached(jf.simulate(case, COUNT, seed=1).samples[:, 0], quiet)


def test_a_bound_of_an_order_of_a_schedule_holds(tmp_path):
    """Of random schedules under random noise, none is earlier than in the same order without."""
    import random

    from support.schedule_cases import OPTIONS, Case

    bounded = 0
    for kind, options in OPTIONS.items():
        for number in range(at_most(40, 12)):
            folder = tmp_path / f"{kind}{number}"
            folder.mkdir()
            case = Case(random.Random(f"bound {kind} {number}"), folder, **options)
            quiet = case.quiet()
            if quiet is None or any(one.hastens for one in case.written):
                continue
            compiled = case.compiled()
            raw = jf._core.simulate_schedule(*compiled, case.seed, 0, 32)
            assert (raw[:, 0] >= quiet.last).all()
            bounded += 1
            assert np.isfinite(raw).all()
    assert bounded > at_most(80, 24)
