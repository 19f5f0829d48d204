"""Stores of studies with classes of a user's: edited ones are refused, equal ones go on."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import jitterfly as jf
from jitterfly.algorithms.own import Algorithm, Listed, Shift, collective, message
from jitterfly.distributions.distribution import Distribution, smooth

NETWORK = jf.LogGOPS(L="1us", o="200ns")
NOISE = jf.PeriodicNoise("1ms", "25us")
REFUSED = "holds another run .*perhaps {}, of your own, does something else than then"


def halo(steps):
    """A class as a notebook's cell makes it, again and again."""

    @dataclass(frozen=True)
    class Halo(Algorithm, kind="halo_of_tests"):
        rounds: int = 2

        def steps(self, ranks, message_bytes):
            return collective(steps(self.rounds, message_bytes))

    return Halo


def shifts(rounds, size):
    return [message(Shift(1), i, size, f"round {i}") for i in range(rounds)]


def more_shifts(rounds, size):
    return shifts(3 * rounds, size)


def listed(*pairs):
    return lambda rounds, size: [message(Listed(np.array(pairs)), 0, size, "list")]


def uniform(width):
    @dataclass(frozen=True)
    class Even(Distribution, kind="even_of_tests"):
        low: float = 1e-6

        name = "even"

        def expected(self):
            return self.low + width / 2

        def survival(self, t):
            return np.clip((self.low + width - np.asarray(t, float)) / width, 0, 1)

        def quantile(self, q):
            return self.low + np.asarray(q, float) * width

        def make_table(self):
            low, wide = self.low * 1e12, width * 1e12
            return smooth(lambda p: low + wide - p * wide, lambda p: low + p * wide)

    return Even


def study_of(case, most=20):
    return jf.Study("own", case=case, axes=[jf.Axis("noise.0.duration", ["25us", "50us"])],
                    budget=jf.RealizationBudget(max=most))  # fmt: skip


def samples(found):
    return [found.observed(cell, "completion").samples for cell in found.study.cells()]


def case_of(algorithm):
    return jf.Case(16, algorithm=algorithm, network=NETWORK, noise=[NOISE])


@pytest.fixture(autouse=True)
def _no_kind_is_left(monkeypatch):
    for family in (jf.Algorithm, Distribution):
        monkeypatch.setattr(family, "_kinds", dict(family._kinds))


def test_the_same_class_made_anew_goes_on(tmp_path):
    first = samples(study_of(case_of(halo(shifts)())).run(tmp_path))
    again = samples(study_of(case_of(halo(shifts)()), most=40).run(tmp_path))
    for here, there in zip(again, first, strict=True):
        assert len(here) == 40
        np.testing.assert_array_equal(here[:20], there)


@pytest.mark.parametrize(
    ("old", "new"),
    [(shifts, more_shifts), (listed((0, 1), (1, 0)), listed((0, 1), (1, 2)))],
)
@pytest.mark.parametrize("within", [False, True])
def test_an_edited_algorithm_is_refused(tmp_path, old, new, within):
    def case(steps):
        made = halo(steps)()
        return case_of(jf.HierarchicalAllreduce(4, inter_node=made) if within else made)

    study_of(case(old)).run(tmp_path)
    edited = study_of(case(new), 40)
    with pytest.raises(ValueError, match=REFUSED.format("Halo")):
        edited.run(tmp_path)
    with pytest.raises(ValueError, match=r"is not what was run last, or Halo, of your own"):
        jf.Store.open(tmp_path)
    assert [len(one) for one in samples(edited.run(tmp_path, force=True))] == [40, 40]


@pytest.mark.parametrize("mixed", [False, True])
def test_an_edited_distribution_is_refused(tmp_path, mixed):
    def case(width):
        delay = uniform(width)()
        delay = jf.Mixture([0.5, 0.5], [delay, jf.Constant("1us")]) if mixed else delay
        return jf.Case(16, network=NETWORK, noise=[jf.StepNoise(delay)])

    def runs(width, most):
        jf.Study("own", case=case(width), budget=jf.RealizationBudget(max=most)).run(tmp_path)

    runs(1e-6, 20)
    runs(1e-6, 40)
    with pytest.raises(ValueError, match=REFUSED.format("Even")):
        runs(2e-6, 60)


def test_an_edited_distribution_of_a_schedule_is_refused(tmp_path):
    (tmp_path / "two.goal").write_text(
        "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 8b to 1\nb requires a\n}\n"
        "rank 1 {\na: recv 8b from 0\n}\n"
    )

    def runs(width, most):
        delay = uniform(width)()
        case = jf.ScheduleCase(tmp_path / "two.goal", network=NETWORK, noise=[jf.StepNoise(delay)])
        jf.Study("own", case=case, budget=jf.RealizationBudget(max=most)).run(tmp_path / "out")

    runs(1e-6, 20)
    runs(1e-6, 40)
    with pytest.raises(ValueError, match=REFUSED.format("Even")):
        runs(2e-6, 60)


def test_cases_without_own_classes_are_known_by_what_they_were():
    """So that all records on disk are found."""
    case = jf.Case(16, network=NETWORK, noise=[jf.StepNoise(jf.Exponential("1us"))])
    assert "own" not in case.identity()
    own = jf.Case(
        16, algorithm=halo(shifts)(), network=NETWORK, noise=[jf.StepNoise(uniform(1e-6)())]
    )
    assert len(own.identity()["own"]) == 2
    assert json.dumps(own.identity()) == json.dumps(own.identity())
