"""Each rank's own time since it left a barrier: the clock of benchmarks, to the last tick."""

import itertools
import random
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from reference import textbook
from reference.collectives import GOALS, random_pair
from reference.programs import ProgramRun
from support.grouped import parametrize_in_groups
from support.scale import of_each_kind

import jitterfly as jf
from jitterfly.program import row_labels, start_name
from jitterfly.steps import OWN_TIME, STARTS_CLOCK, digest_of_steps
from jitterfly.theory import collective_completion

KINDS = sorted(GOALS)
BARRIERS = [kind for kind in KINDS if GOALS[kind] == "barrier"]
NETWORK = jf.LogGOPS(L="1us", o="200ns", g="300ns", G="0.1ns", gamma="0.2ns")
NOISE = [jf.PeriodicNoise(period="50us", duration="7us", start="stationary"),
         jf.MessageNoise(jf.Exponential("2us"), probability=0.2)]  # fmt: skip


class BarrierRun(ProgramRun):
    """A collective behind a textbook barrier, whose messages carry a block of its own."""

    synchronizes = True

    def __init__(self, run, barrier, size):
        vars(self).update(vars(run))
        collective, options = run._textbook
        numbers = [op.number + 1 for rank in range(run.ranks)
                   for label, ops in collective(rank, run.ranks, run.message_bytes, **options)
                   if label != textbook.HYPERCUBE for op in ops]  # fmt: skip
        first = 64 * max(-(-max(numbers, default=0) // 64), 1)

        def rounds(rank, ranks, n, **options):
            for label, ops in getattr(textbook, barrier)(rank, ranks, size):
                mine = [replace(op, number=op.number + first) for op in ops]
                yield (
                    f"barrier {label}",
                    [
                        replace(op, blocks=("barrier",)) if isinstance(op, textbook.Send) else op
                        for op in mine
                    ],
                )
            yield "exit", []
            yield from collective(rank, ranks, n, **options)

        self._textbook = rounds, options

    @property
    def blocks(self):
        return {block for ops in self.programs for op in ops if isinstance(op, textbook.Send)
                for block in op.blocks if block != "barrier"} or {0}  # fmt: skip

    def inputs(self, rank):
        return super().inputs(rank) | ({"barrier": frozenset([rank])} if self.synchronizes else {})

    def promised(self, process):
        assert process.held.pop("barrier") == self.everyone, "a rank left the barrier too soon"
        self.synchronizes = False  # what is promised is of the collective alone
        kept = super().promised(process)
        self.synchronizes = True
        return kept


def pair(kind, number):
    """A case behind a barrier, its reference, and what is drawn."""
    rng = random.Random(f"own {kind} {number}")
    case, run, at = random_pair(rng, jf, kind)
    barrier = rng.choice(BARRIERS)
    case = replace(case, barrier=barrier, observe="own")
    return case, BarrierRun(run, barrier, case.network.smallest_message), at


@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@parametrize_in_groups(
    "kind, number", [(kind, number) for kind in KINDS for number in of_each_kind(12)]
)
def test_engine_equals_reference(kind, number):
    case, run, (seed, realization) = pair(kind, number)
    rows = run.execute()
    times = np.rint(np.nan_to_num(jf.ready_times(case, seed, realization), nan=-1) * 1e12)
    times = times.astype(np.int64)
    labels = row_labels(case)
    assert len(labels) == len(times) == len(set(labels))
    for cycle in range(run.cycles):
        prefix = f"cycle {cycle + 1}, " if run.cycles > 1 else ""
        left = np.array(rows[run.row(cycle, "exit")])
        for T in range(run.after + 1):
            done = np.array(rows[cycle * run.rows_per_cycle + run.final_row + T])
            own = f"{prefix}T={T}, own" if run.after else f"{prefix}own"
            np.testing.assert_array_equal(times[labels.index(own)], done - left)


@parametrize_in_groups(
    "kind, ranks, cycles",
    [(kind, ranks, cycles) for cycles in (1, 3) for ranks in (1, 2, 8, 13) for kind in KINDS],
)
def test_columns_are_of_the_ready_times_of_each_rank(kind, ranks, cycles):
    after = 2 if GOALS[kind] == "allreduce" and kind != "hierarchical_allreduce" else 0
    table = {"kind": kind} | ({"exchanges_after": after} if after and ranks > 3 else {})
    network = replace(NETWORK, g=0) if after else NETWORK
    case = jf.Case(ranks, network=network, algorithm=jf.Algorithm.from_dict(table), noise=NOISE,
                   barrier="dissemination_barrier", observe="own", cycles=cycles,
                   message_bytes=100, compute_time="3us")  # fmt: skip
    warns = pytest.warns(jf.IneffectiveNoiseWarning) if ranks == 1 else nullcontext()
    with warns:
        result = jf.simulate(case, 4, seed=5)
    for row in case.completions():
        loop = case
        if "exchanges_after" in table and cycles > 1:  # T exchanges in every cycle
            loop = replace(case, algorithm=replace(case.algorithm, exchanges_after=row.T))
        labels = row_labels(loop)
        parts = [f"cycle {row.cycle}"] if cycles > 1 else []
        several = sum(step.redundancy is not None for step in loop.cycle_steps()) > 1
        parts += [f"T={row.T}"] if several else []
        name = "own" if row.name == "completion" else f"{row.name}, own"
        for number, found in enumerate(result.ticks):
            ticks = dict(zip(result.observations, found.tolist(), strict=True))
            times = jf.ready_times(loop, 5, number)[labels.index(", ".join([*parts, "own"]))]
            own = np.rint(times * 1e12).astype(np.int64).tolist()
            expected = [max(own), min(own), (2 * sum(own) + ranks) // (2 * ranks)]
            assert [ticks[f"{name}: {what}"] for what in ("max", "min", "mean")] == expected
            means = [ticks[f"{one}: mean"] for one in (row.name, start_name(case, row))]
            assert abs(means[0] - means[1] - expected[2]) <= 1


@parametrize_in_groups("kind, ranks", [(kind, ranks) for kind in KINDS for ranks in (1, 8, 13)])
def test_noise_free_is_the_engine_without_noise(kind, ranks):
    case = jf.Case(ranks, network=NETWORK if kind != "butterfly" else replace(NETWORK, g=0),
                   algorithm=kind, barrier="tree_barrier" if ranks == 13 else BARRIERS[0],
                   cycles=2, observe="own", message_bytes=1000)  # fmt: skip
    result = jf.simulate(case, 2, backend="cpu")
    np.testing.assert_array_equal(result.samples, np.tile(result.noise_free, (2, 1)))


@pytest.mark.parametrize("kind", ["ring_allreduce", "recursive_doubling_allreduce", "butterfly",
                                  "bruck_allgather", "pairwise_alltoall"])  # fmt: skip
def test_without_noise_the_time_of_the_collective_alone(kind):
    """Ranks that are alike leave the barrier at once: then the closed form of the collective."""
    case = jf.Case(16, network=replace(NETWORK, g=0), algorithm=kind, message_bytes=640)
    timed = replace(case, barrier="dissemination_barrier", observe="own", cycles=3)
    result = jf.simulate(timed, 1)
    for cycle in (1, 2, 3):
        for what in ("max", "min", "mean"):
            own = result.column(f"cycle {cycle}, own: {what}")[0]
            assert own == pytest.approx(collective_completion(case), rel=1e-12)


def test_formula_on_two_ranks():
    """A message is late by D with probability p: B_i that of the barrier to rank i, C_i the next.

    Rank i leaves the barrier at L + D B_i, and its own time is L + D (C_i + B_j - B_i), j the other
    one: on average L + p D, and the longer of both by all sixteen outcomes.
    """
    L, D, p, n = 1e-6, 0.4e-6, 0.3, 40_000
    late = jf.MessageNoise(jf.Constant(D), probability=p)
    case = jf.Case(2, network=jf.Hockney(L, 0), algorithm="recursive_doubling_allreduce",
                   noise=[late], barrier="dissemination_barrier", observe="own")  # fmt: skip
    result = jf.simulate(case, n, seed=11)
    longest: dict[int, float] = {}
    for b0, b1, c0, c1 in itertools.product((0, 1), repeat=4):
        chance = np.prod([p if hit else 1 - p for hit in (b0, b1, c0, c1)])
        most = max(c0 + b1 - b0, c1 + b0 - b1)
        longest[most] = longest.get(most, 0.0) + chance
    own = np.rint((result.column("own: max") - L) / D).astype(int)
    assert set(own.tolist()) <= set(longest)
    for most, chance in longest.items():  # off by 5 standard deviations in 1 of 3 million tries
        assert abs((own == most).mean() - chance) < 5 * (chance * (1 - chance) / n) ** 0.5
    mean = (result.column("own: mean") - L) / D
    assert abs(mean.mean() - p) < 5 * mean.std() / n**0.5
    both = result.column("own: max") + result.column("own: min")
    np.testing.assert_allclose(both / 2, result.column("own: mean"), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_collective_meets_the_same_noise_with_a_barrier_and_without(kind):
    """The same steps with the same draws, and those of the barrier behind them."""
    case = jf.Case(13, network=NETWORK if kind != "butterfly" else replace(NETWORK, g=0),
                   algorithm=kind, message_bytes=1000)  # fmt: skip
    timed = replace(case, barrier="recursive_doubling_barrier")
    barrier = [step for step in timed.cycle_steps() if step.label.startswith("barrier")]
    rest = [step for step in timed.cycle_steps()
            if step not in barrier and step.flags not in (STARTS_CLOCK, OWN_TIME)]  # fmt: skip
    assert digest_of_steps(rest) == digest_of_steps(case.cycle_steps())
    assert len(barrier) == 5  # a fold of five ranks, and three rounds
    assert min(step.round for step in barrier) >= case.compiled_steps.numbers


def test_what_needs_a_barrier_says_so():
    with pytest.raises(ValueError, match="'own' is the time since a rank left the barrier"):
        jf.Case(4, network=NETWORK, observe="own")
    with pytest.raises(
        ValueError, match="barrier must be one, such as dissemination_barrier, got ring_allreduce"
    ):
        jf.Case(4, network=NETWORK, barrier=jf.RingAllreduce())
    with pytest.raises(ValueError, match="barrier must be one of"):
        jf.Case(4, network=NETWORK, barrier="ring_allreduce")
    with pytest.raises(ValueError, match="barrier must be one such as DisseminationBarrier"):
        jf.Case(4, network=NETWORK, barrier=3)
    case = jf.Case(4, network=NETWORK, barrier="tree_barrier")
    assert jf.Case.from_dict(case.to_dict()) == case
    assert case.identity() != replace(case, barrier=None).identity()
    assert "barrier" not in replace(case, barrier=None).to_dict()
    with pytest.raises(ValueError, match="barrier must be left out for this closed form"):
        collective_completion(case)
