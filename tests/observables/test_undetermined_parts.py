"""A gain, overhead or recovery has an interval only where each of its parts has one.

A part that no realization of some thousands met is 1 with an upper end that nobody knows; what is
divided by it, or taken from it, is no better known.
"""

import math

import pytest

import jitterfly as jf

NETWORK = jf.LogGOPS(L="1us", o="200ns")
OFTEN = jf.StepNoise("100us", 1e-3)
RARE = jf.StepNoise("100us", 1e-12)
ALWAYS = jf.StepNoise("100us", 1 - 1e-12)  # each realization is the same, and each was met
DERIVED = {
    "gain": {"kind": "gain", "of": "other", "over": "often"},
    "back": {"kind": "gain", "of": "often", "over": "other"},
    "overhead": {"kind": "overhead", "variant": "often", "over": "other"},
    "recovery": {"kind": "recovery", "conventional": "often", "redundant": "other",
                 "noiseless": "none"},
    "of two": {"kind": "recovery", "conventional": "often", "redundant": "none",
               "noiseless": "other"},
}  # fmt: skip


def run(other, **more):
    study = jf.Study(
        "parts",
        case={"ranks": 16, "network": NETWORK, **more},
        variants={"often": {"noise": [OFTEN]}, "other": {"noise": other}, "none": {"noise": []}},
        observables={"part": {"kind": "slowdown", "variant": "other"}, **DERIVED},
        budget=jf.RealizationBudget(max=500),
    )
    return study.run()


def is_known(store, name):
    estimate = store.estimate(store.cells[0], name, "mean")
    ends = math.isfinite(estimate.low), math.isfinite(estimate.high)
    assert ends in ((True, True), (False, False)) or name == "part"
    return all(ends)


@pytest.mark.parametrize("cycles", [1, 3])
@pytest.mark.parametrize(("other", "known"), [
    ([RARE], False),  # no realization tells
    ([jf.StepNoise("90us", 1e-3)], True),
    ([jf.StepNoise("100us")], True),  # which is certain
    ([ALWAYS], True),  # all are the same, and all were met
    ([ALWAYS, RARE], False),  # of two sources that does not tell that both met them
])  # fmt: skip
def test_what_is_derived_is_as_known_as_its_parts(other, known, cycles):
    store = run(other, cycles=cycles)
    assert is_known(store, "part") == known
    derived = {name: is_known(store, name) for name in DERIVED}
    assert set(derived.values()) == {known}, derived


def test_a_comparison_has_no_winner_over_what_nobody_met():
    store = run([RARE])
    (row,) = jf.compare((store, "other"), (store, "often")).rows
    assert math.isinf(row.mean_a.high)
    assert (row.winner, row.ratio.high, row.ratio.low) == ("", math.inf, -math.inf)
    (row,) = jf.compare((store, "none"), (store, "often")).rows
    assert (row.mean_a.low, row.mean_a.high) == (row.mean_a.value, row.mean_a.value)
    assert row.winner == "A"
    store = run([ALWAYS])
    (row,) = jf.compare((store, "other"), (store, "often")).rows
    assert math.isfinite(row.mean_a.high)
    assert row.winner == "B"


def test_a_target_waits_for_the_part():
    study = jf.Study(
        "waits",
        case={"ranks": 16, "network": NETWORK},
        variants={"often": {"noise": [OFTEN]}, "other": {"noise": [RARE]}},
        observables={"gain": DERIVED["gain"]},
        budget=jf.RealizationBudget(min=100, max=400),
        targets=["mean of gain ± 90 %"],
    )
    store = study.run()
    decision = store.decision(store.cells[0])
    assert (decision.realizations, decision.met) == (400, False)
    assert "too few realizations for an interval of mean" in decision.states[0].why
