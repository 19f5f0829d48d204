"""What the analysis of a store says where signs, missing data or early stops could mislead it."""

from dataclasses import replace

import pytest
from small_study import STUDY

from jitterfly import stats
from jitterfly.analysis.compare import Side, compare
from jitterfly.analysis.results import Results
from jitterfly.observables import Overhead
from jitterfly.store import Store
from jitterfly.studies import parse_study
from jitterfly.sweep import run


@pytest.mark.parametrize("swapped", [False, True])
def test_the_faster_of_two_overheads_below_zero_is_the_lower_one(tmp_path, swapped):
    sides = []
    for T in (1, 8):
        study = replace(
            parse_study(
                STUDY.replace("max = 40", "max = 2000")
                .replace("[2, 4]", "[8, 8]")
                .replace("100us", "1ms")
            ),
            claims=(),
            figure="",
            observables={"saved": Overhead(T=T, over={"T": 0})},
        )
        sides.append(Side(run(study, tmp_path / str(T)), "", "saved"))
    if swapped:
        sides.reverse()
    (verdict,) = compare(*sides)
    assert verdict.a.value < 0
    assert verdict.b.value < 0
    lower = "A" if verdict.a.value < verdict.b.value else "B"
    assert verdict.faster == lower == ("A" if swapped else "B")


TARGETED = STUDY.replace(
    "realizations = { max = 40 }",
    'targets = ["mean of gain ± 20 %"]\nrealizations = { min = 64, max = 100_000 }',
)


def test_a_target_that_was_never_looked_at_is_not_met(tmp_path):
    store = run(parse_study(TARGETED), tmp_path)
    assert not any(spot.unmet for spot in Results(store).spots)
    for file in (tmp_path / "records").iterdir():
        file.unlink()
    results = Results(Store.open(tmp_path))
    assert [spot.unmet for spot in results.spots] == [("gain",)] * 3
    assert "0 of 3 cells met the target" in results.state


def test_a_ratio_has_the_interval_that_allows_for_early_looks(tmp_path):
    store = run(parse_study(TARGETED), tmp_path)
    for spot in Results(store).spots:
        measure = spot.observed("gain").measure
        found = spot.ratio(measure.numerator, measure.denominator)
        assert spot.decision.share < 1
        wanted = spot.estimate("gain")
        assert (found.low, found.high) == (wanted.low, wanted.high)
        ticks = store.ticks(spot.place, spot.realizations)
        plain = stats.ratio(measure.numerator(ticks), measure.denominator(ticks))
        assert found.high - found.low > plain.high - plain.low
