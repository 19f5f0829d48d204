"""Every collective algorithm against textbook messages and the event-driven reference."""

import inspect
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from reference import textbook
from reference.collective import labels_of
from reference.collectives import GOALS, IRREGULAR, random_options, random_pair
from reference.links import Network
from reference.programs import ProgramRun
from reference.random_noise import ROLES
from support.grouped import parametrize_in_groups
from support.scale import of_each_kind, scaled, some

import jitterfly as jf
from jitterfly.algorithms.shared_steps import circulant_blocks, circulant_skips
from jitterfly.program import row_labels
from jitterfly.steps import MESSAGE

KINDS = sorted(GOALS)
RANKS = [*range(1, 41)]


def test_every_algorithm_has_a_textbook():
    """Of steps, data and times; but for messages to switches, which have machines of their own."""
    at_switches = {kind for kind in jf.Algorithm.kinds() if kind.startswith("in_network")}
    assert {*GOALS, *IRREGULAR} | at_switches == set(jf.Algorithm.kinds())
    assert len(at_switches) == 3  # tests/engine/test_in_network.py


def sent_by_textbook(kind, ranks, n, options):
    """(number of draws, sender, receiver, bytes, whether it is combined) of every message."""
    sends, receives = Counter(), Counter()
    for rank in range(ranks):
        for _, ops in getattr(textbook, kind)(rank, ranks, n, **options):
            for op in ops:
                if isinstance(op, textbook.Send):
                    sends[op.number, rank, op.peer, op.bytes, op.occupies] += 1
                else:
                    receives[op.number, op.peer, rank, op.bytes, op.combines] += 1
    return sends, receives


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_the_textbook_s(kind):
    """Who sends how many bytes to whom, and what is combined, for every number of ranks."""
    rng = random.Random(f"steps {kind}")
    for ranks in [*some(RANKS, 5), *some([63, 64, 65, 100], 1)]:
        n = 1000
        options = rng.choice([{}, random_options(rng, kind, ranks, n)])
        algorithm = jf.Algorithm.from_dict({"kind": kind} | options)
        sends, receives = Counter(), Counter()
        for step in algorithm.steps(ranks, n):
            if step.kind != MESSAGE:
                continue
            for draw in range(step.round, step.round + step.repeat):
                for a, b in step.partners.pairs(ranks):
                    sends[draw, a, b, step.bytes, step.occupies] += step.sends
                    receives[draw, a, b, step.bytes, step.combine] += step.receives
            assert len(step.partners.pairs(ranks)) == step.partners.count(ranks)
        assert (sends, receives) == sent_by_textbook(kind, ranks, n, options)


CASES = [(kind, number) for kind in KINDS for number in of_each_kind(24)]
MET = {}  # ranks, roles of noise, and what the runs of these cases met: they are executed once


def executed(kind, number):
    """A case, its run with the times that it gives, and seed and realization."""
    case, run, at = random_pair(random.Random(f"{kind} {number}"), jf, kind)
    expected = run.execute()
    seen = Counter(run.noise.seen)
    seen["link"] += sum(a.waited + b.waited for a, b in run.links)
    MET[kind, number] = run.ranks, {source.role for source in run.sources}, seen
    return case, run, expected, at


@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@parametrize_in_groups("kind, number", CASES)
def test_engine_equals_reference(kind, number):
    case, run, expected, (seed, realization) = executed(kind, number)
    times = jf.ready_times(case, seed=seed, realization=realization)
    here = np.array([[t is not None for t in row] for row in expected])
    filled = np.array([[t or 0 for t in row] for row in expected], dtype=np.int64)
    np.testing.assert_array_equal(np.isnan(times), ~here)
    found = np.where(here, np.rint(np.nan_to_num(times) * 1e12), 0).astype(np.int64)
    np.testing.assert_array_equal(found, filled)
    assert row_labels(case) == labels_of(run)

    result = jf.simulate(case, 1, seed=seed, backend="cpu", first_realization=realization)
    ticks = dict(zip(result.observations, result.ticks[0].tolist(), strict=True))
    if case.observe == "completion":
        assert list(ticks.values()) == completions(run)
    elif case.observe == "rounds":
        for label, row in zip(labels_of(run), expected, strict=True):
            row = [t for t in row if t is not None]
            assert ticks[f"{label}: max"] == max(row)
            assert ticks[f"{label}: min"] == min(row)
            assert ticks[f"{label}: mean"] == (2 * sum(row) + len(row)) // (2 * len(row))


HIERARCHIES = [
    (kind, number) for kind in KINDS if kind != "butterfly" for number in of_each_kind(12)
]


@parametrize_in_groups("kind, number", HIERARCHIES)
def test_engine_equals_reference_on_several_levels(kind, number):
    """Nodes and racks of any size, ranks placed in any way: each message at its own price."""
    rng = random.Random(f"levels {kind} {number}")
    case, run, (seed, realization) = random_pair(rng, jf, kind, levels=True)
    expected = np.array(run.execute(), dtype=np.int64)
    times = jf.ready_times(case, seed=seed, realization=realization)
    np.testing.assert_array_equal(np.rint(times * 1e12).astype(np.int64), expected)
    result = jf.simulate(
        replace(case, observe="completion"), 1, seed=seed, backend="cpu",
        first_realization=realization)  # fmt: skip
    assert result.ticks[0].tolist() == completions(run)


def completions(run):
    """Of each cycle, the last rank's time with T = 0 ... after.

    With several cycles each T is a run of its own.
    """
    loops = dict.fromkeys(range(run.after + 1), run)
    for T in range(run.after if run.cycles > 1 else 0):
        loops[T] = run.with_forwards(T)
        loops[T].execute()
    times = []
    for cycle in range(run.cycles):
        for T, loop in loops.items():
            row = cycle * loop.rows_per_cycle + loop.final_row + T
            if not loop.final_row:  # nothing is sent: the cycle's end
                row = (cycle + 1) * loop.rows_per_cycle + T
            times.append(max(loop.rows[row]))
    return times


@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@pytest.mark.parametrize("kind", KINDS)
def test_noise_free_is_the_engine_without_noise(kind):
    """Symmetric schedules are evaluated by one rank, others by the engine: the same numbers."""
    rng = random.Random(f"quiet {kind}")
    for observe in some(("completion", "spread", "rounds", "rank 0") * scaled(4), 2):
        case, _, _ = random_pair(rng, jf, kind)
        quiet = replace(case, noise=(), observe=observe)
        result = jf.simulate(quiet, 2, backend="cpu")
        np.testing.assert_array_equal(result.samples, np.tile(result.noise_free, (2, 1)))


@pytest.mark.parametrize("ranks", [3, 6, 7, 8, 33])
def test_forwards_without_a_partner_cost_nothing(ranks):
    """On other numbers than powers of two the cost of forwards delays some ranks of a ring only."""
    algorithm = jf.RingAllreduce(exchanges_after="all", forward_cost="263ns")
    network = jf.LogGOPS(L="1us", o="400ns", G="0.1ns")
    result = jf.simulate(jf.Case(ranks, algorithm=algorithm, network=network, cycles=5), 2)
    np.testing.assert_array_equal(result.samples, np.tile(result.noise_free, (2, 1)))


@pytest.mark.full_scale
def test_the_cases_are_not_trivial():
    """Every kind of noise in many cases, which delays something; waits for links; many ranks."""
    seen, roles, ranks = Counter(), Counter(), Counter()
    for kind in KINDS:
        for number in of_each_kind(24):
            if (kind, number) not in MET:
                executed(kind, number)
            here, of_case, met = MET[kind, number]
            ranks[here] += 1
            roles += Counter(of_case)
            seen += met
    assert set(roles) == set(ROLES)
    assert min(roles.values()) > 100
    assert min(seen[what] for what in ("compute", "receive", "send", "message", "link")) > 300
    assert min(seen["interrupted"], seen["outside"]) > 300
    assert set(ranks) == set(RANKS)


def wrong_block(me, size, n):
    for step in range(size - 1):
        right, left = (me + 1) % size, (me - 1) % size
        send = textbook.Send(right, ((me - step - 1) % size,), n, step)
        yield f"step {step}", [send, textbook.Receive(left, n, step)]


def one_round_too_few(me, size, n):
    yield from list(textbook.dissemination_barrier(me, size, n))[:-1]


def partner_again(me, size, n):
    for r in range(2):
        yield f"round {r}", textbook.exchange(me ^ 1, [0], n, r, "combine")


def nobody_sends(me, size, n):
    yield "round", [textbook.Receive((me + 1) % size, n, 0)]


def part_of_the_sum_last(me, size, n):
    yield from textbook.binomial_reduce(me, size, n)
    yield "again", textbook.exchange(me ^ 1, [0], n, 5, "take")


@pytest.mark.parametrize(
    ("program", "goal", "message"),
    [
        (wrong_block, "allgather", "does not hold"),
        (one_round_too_few, "barrier", "does not give what it promises"),
        (partner_again, "allreduce", "combined twice"),
        (nobody_sends, "allreduce", "deadlock"),
        (part_of_the_sum_last, "reduce", "replaces data by less"),
    ],
)
def test_reference_notices_wrong_programs(program, goal, message, monkeypatch):
    monkeypatch.setattr(textbook, "wrong", program, raising=False)
    with pytest.raises(AssertionError, match=message):
        ProgramRun("wrong", 4, Network(o=3, L=10), 8, goal=goal).execute()


def test_blocks_of_a_circulant_graph_are_the_published_ones():
    """Of 17 ranks, as in Träff 2025 and in MPICH's src/mpi/coll/algorithms/circ_graph."""
    published = """
        . 0 -5 -4 -3 -5 -2 -5 -4 -3 -1 -5 -4 -3 -5 -2 -5
        . -4 1 -5 -4 -3 -3 -2 -5 -4 -3 -1 -5 -4 -3 -3 -2
        . -2 -2 2 0 -4 -4 -3 -2 -2 -4 -3 -1 -1 -4 -4 -3
        . -3 -3 -2 -2 3 0 1 2 -5 -2 -2 -2 -2 -1 -1 -1
        . -1 -1 -1 -1 -1 -1 -1 -1 4 0 1 2 0 3 0 1"""
    rows = [[int(word) for word in row.split()[1:]] for row in published.strip().splitlines()]
    assert circulant_skips(17) == [1, 2, 3, 5, 9, 17]
    assert circulant_blocks(17)[:, 1:].tolist() == rows
    for ranks in range(2, 80):
        skips, schedule = textbook.circulant_schedule(ranks)
        assert circulant_skips(ranks) == skips
        assert circulant_blocks(ranks)[:, 1:].T.tolist() == schedule[1:]


def bytes_between(kind, ranks, width):
    """Bytes that go between nodes of so many ranks, in blocks of 8 bytes."""
    total = 0
    for step in jf.Algorithm.from_dict({"kind": kind}).steps(ranks, 8 * ranks):
        if step.kind == MESSAGE:
            ends = step.partners.pair_array(ranks) // width
            total += step.repeat * step.bytes * int(np.sum(ends[:, 0] != ends[:, 1]))
    return total


@pytest.mark.parametrize(
    ("kind", "other", "of_tens", "of_sixteens"),
    [
        ("bine_broadcast", "binomial_broadcast", 0.85, 2.60),
        ("bine_reduce", "binomial_reduce", 0.85, 2.60),
        ("bine_allgather", "recursive_doubling_allgather", 0.18, 0.125),
        ("bine_allgather", "pat_allgather", 0.66, 0.64),
        ("bine_reduce_scatter", "recursive_halving_reduce_scatter", 0.18, 0.125),
        ("bine_reduce_scatter", "butterfly_reduce_scatter", 0.82, 1.88),
        ("bine_gather", "binomial_gather", 0.94, 1.06),
        ("bine_scatter", "binomial_scatter", 0.94, 1.06),
        ("bine_allreduce", "recursive_doubling_allreduce", 0.93, 1.06),
        ("swing_allreduce", "rabenseifner_allreduce", 0.83, 2.00),
    ],
)
def test_how_much_goes_between_nodes(kind, other, of_tens, of_sixteens):
    """As their docstrings and docs/collectives.md say it: of 256 ranks."""
    for width, ratio in ((10, of_tens), (16, of_sixteens)):
        found = bytes_between(kind, 256, width) / bytes_between(other, 256, width)
        assert found == pytest.approx(ratio, abs=0.005)


REDUNDANT = [kind for kind in KINDS if kind.endswith("_allreduce") and "hierarch" not in kind]
SEGMENTED = ("segmented_ring_allreduce", "double_binary_tree_allreduce")
OWN = dict.fromkeys(SEGMENTED, ", segment_bytes: 'int | str' = 8192") | {
    "rabenseifner_allreduce": ", radix: 'int' = 2",
    "recursive_multiplying_allreduce": ", radix: 'int' = 4",
    "nccl_tree_allreduce": ", chunk_bytes: 'int | str' = 524288, channels: 'int' = 2, "
    "node_ranks: 'int' = 1",
    "reduce_broadcast_allreduce": ", reduce: 'Algorithm | dict | str' = BinomialReduce(), "
    "broadcast: 'Algorithm | dict | str' = BinomialBroadcast()",
}


@pytest.mark.parametrize("kind", REDUNDANT)
def test_allreduces_share_their_parameters(kind):
    """Declared in one place; each class has them, says what they are, and names itself."""
    made = type(jf.Algorithm.from_dict({"kind": kind}))
    signature = inspect.signature(made)
    assert str(signature.replace(return_annotation=signature.empty)) == (
        "(exchanges_after: \"int | Literal['all']\" = 0, forward_cost: 'float | str' = 0.0"
        f"{OWN.get(kind, '')})"
    )
    about, heading, rest = made.__doc__.partition("\nParameters\n----------\n")
    assert "`message_bytes` is the vector" in about
    assert heading
    own = OWN.get(kind, "  exchanges_after:").split(":")[0][2:]
    assert rest.startswith((f"{own} :", f"{own}, "))
    assert rest.count("\nexchanges_after : int") == (kind in OWN)
    assert rest.index("\nRaises\n") < rest.index("\nNotes\n-----\nWithout noise")
    with pytest.raises(ValueError, match=rf"forward_cost must be a time .* \(in {made.__name__}\)"):
        made(1, "soon")
    with pytest.raises(ValueError, match="forward_cost must be 0 when exchanges_after is 0"):
        made(forward_cost="1us")
