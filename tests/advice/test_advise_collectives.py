"""`advise` against textbook cost formulas (Thakur 2005): crossovers of all algorithms.

Closed forms: R. Thakur, R. Rabenseifner, W. Gropp, *Optimization of collective communication
operations in MPICH*, IJHPCA 19, 2005. Times here are whole ticks, so that nothing is rounded.
"""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from reference.chance import FALSE_ALARM
from scipy import stats
from support.scale import at_most, crossed, scaled, some

import jitterfly as jf
from jitterfly.advice import COLLECTIVES, Question, algorithm_named, known
from jitterfly.advice.race import fitting_candidates, simulate_more
from jitterfly.algorithms import candidates
from jitterfly.slowdown import part_in_words

ALPHA, BETA, GAMMA = 1_000_000, 1_000, 100  # ticks: 1 us, 1 ns and 0.1 ns a byte
HOCKNEY = jf.Hockney("1us", "1ns", "0.1ns")
ALLREDUCES = ("recursive_doubling", "ring", "rabenseifner", "reduce_broadcast")
NOISE = [jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")]


def fold(ranks):
    """P, the largest power of two; K, its rounds; and whether ranks fold onto it."""
    power = 1 << (ranks.bit_length() - 1)
    return power, power.bit_length() - 1, int(ranks > power)


def closed_form(name, ranks, n):
    """Hockney's cost, ticks, of blocks that divide n."""
    power, rounds, extra = fold(ranks)
    folds = 2 * extra * (ALPHA + BETA * n) + extra * GAMMA * n
    if name == "recursive_doubling":
        return rounds * (ALPHA + (BETA + GAMMA) * n) + folds
    if name == "ring":
        part = Fraction(ranks - 1, ranks) * n
        return 2 * (ranks - 1) * ALPHA + 2 * part * BETA + part * GAMMA
    if name == "rabenseifner":
        part = Fraction(power - 1, power) * n
        return 2 * rounds * ALPHA + 2 * part * BETA + part * GAMMA + folds
    steps = math.ceil(math.log2(ranks))  # reduce + broadcast, no fold
    return 2 * steps * (ALPHA + BETA * n) + steps * GAMMA * n


def advise(ranks, sizes, **more):
    given = {"network": HOCKNEY, "message_bytes": sizes, "candidates": ALLREDUCES, "within": 0.0}
    return jf.advise(ranks, **(given | more))


# Of those that are no power of two: so many fold that the last one waits for the whole chain.
@pytest.mark.parametrize("ranks", some([4, 7, 8, 14, 16, 28, 64], 3))
def test_allreduce_is_the_cheapest_of_the_closed_forms(ranks):
    """Short to long: the winner has the smallest formula, and all cost what their formulas say."""
    power, _, folds = fold(ranks)
    block = math.lcm(ranks, power)
    # With a fold, long messages meet at a link, which the formulas do not know.
    sizes = sorted({block * max(round(2**k / block), 1) for k in range(3, 11 if folds else 15)})
    for cell in advise(ranks, sizes).cells:
        costs = {name: closed_form(name, ranks, cell.message_bytes) for name in ALLREDUCES}
        found = {one.name: round(one.noise_free * 1e12) for one in cell.ranking}
        for name in ("recursive_doubling", "ring", "rabenseifner"):
            assert found[name] == costs[name], name
        assert costs[cell.best] == min(costs.values())


@pytest.mark.parametrize("ranks", [4, 8, 64, 256])
def test_crossover_from_short_to_long(ranks):
    """Recursive doubling below the size at which both cost the same, Rabenseifner above.

    K (a + (b + c) n) = 2 K a + (P - 1) / P (2 b + c) n, so n* = K a / (K (b + c) - ...).
    """
    power, rounds, _ = fold(ranks)
    part = Fraction(power - 1, power)
    slope = rounds * (BETA + GAMMA) - part * (2 * BETA + GAMMA)
    crossing = Fraction(rounds * ALPHA) / slope
    below = int(crossing // power) * power
    below -= power * (below == crossing)
    cells = advise(ranks, [below, below + 2 * power]).cells
    assert [cell.best for cell in cells] == ["recursive_doubling", "rabenseifner"]
    assert [cell.outcome for cell in cells] == ["winner", "winner"]


@pytest.mark.parametrize("ranks", [7, 14, 28])
def test_crossover_to_the_ring(ranks):
    """The ring takes over from recursive doubling where both formulas cost the same."""
    names = ("recursive_doubling", "ring")
    block = math.lcm(ranks, fold(ranks)[0])
    start, end = (closed_form("ring", ranks, n) - closed_form("recursive_doubling", ranks, n)
                  for n in (0, block))  # fmt: skip
    blocks = start / (start - end)  # where the difference, which falls by the byte, is 0
    sizes = [block * (math.ceil(blocks) - 1), block * (math.floor(blocks) + 1)]
    cells = advise(ranks, sizes, candidates=names).cells
    assert [cell.best for cell in cells] == list(names)


@pytest.mark.parametrize(
    ("collective", "short", "long"),
    [
        ("broadcast", "binomial", "scatter_doubling"),  # of a power of two
        ("allgather", "recursive_doubling", None),
        ("barrier", "dissemination", None),
    ],
)
def test_textbook_winners(collective, short, long):
    network = jf.LogGOPS(L="1us", o="0.1us", g="0.1us", G="1ns", gamma="0.1ns")
    found = jf.advise(64, network=network, collective=collective, within=0.0,
                      message_bytes=[8, 2**20] if long else 8)  # fmt: skip
    assert short in found.cells[0].among
    if long:
        assert found.cells[1].best == long
        shown = {row.name: row.noise_free for row in found.cells[1].ranking}
        assert shown["scatter_allgather"] < shown["binomial"]  # the ring's, for any number


def test_alltoall_from_short_to_long():
    """Bruck for short blocks; those that wait for no message before the next, for long ones."""
    network = jf.LogGOPS(L="1us", o="0.1us", G="0.1ns")
    short, long = jf.advise(
        64, network=network, collective="alltoall", message_bytes="8,1MiB"
    ).cells
    assert short.best == "bruck"
    assert {"linear", "scattered"} <= set(long.among)
    few = {"candidates": ["bruck", "linear"]}  # 1100 ranks take long with all
    (cell,) = jf.advise(1100, network=network, collective="alltoall", **few).cells
    assert cell.left_out["linear"] == "a rank has at most 1,024 messages under way, not 1,099"


def test_recursive_multiplying_has_fewer_rounds():
    """It is considered where it is named."""
    network = jf.LogGOPS(L="1us", o="10ns")
    names = ["recursive_multiplying", "recursive_doubling"]
    assert jf.advise(64, network=network, candidates=names).cells[0].best == names[0]
    assert not known("allreduce")[names[0]].usual


def test_a_kind_and_its_candidate_are_the_same():
    """The tree's long and short names had segments of 8 KiB and of 512 KiB."""
    short, long = (
        algorithm_named(name, None, [8], jf.Hockney("1us", "1ns"), 2**20)
        for name in ("double_binary_tree", "double_binary_tree_allreduce")
    )
    assert short == long == jf.DoubleBinaryTreeAllreduce(segment_bytes="512KiB")
    assert jf.DoubleBinaryTreeAllreduce().segment_bytes == 2**13  # of a study, as it was
    question = Question(8, network="L=1us,o=0", candidates=["double_binary_tree_allreduce"])
    assert [one.name for one in question.chosen()] == ["double_binary_tree"]


def test_bruck_beyond_powers_of_two():
    """Short allgathers on 100 ranks: no fold, the fewest rounds."""
    network = jf.LogGOPS(L="1us", o="0.1us", G="0.01ns")
    assert jf.advise(100, network=network, collective="allgather").cells[0].best == "bruck"


@pytest.mark.parametrize(("collective", "ranks"), crossed(COLLECTIVES, [1, 2, 3, 7, 12]))
def test_every_candidate_runs(collective, ranks):
    """All of a collective on any number of ranks under noise; all that is left out says why."""
    network = jf.LogGOPS(L="1us", o="0.1us", G="1ns", gamma="0.1ns")
    found = jf.advise(ranks, network=network, noise=NOISE, collective=collective,
                      message_bytes="8,1000", realizations=64, seed=2)  # fmt: skip
    for cell in found.cells:
        assert len(cell.ranking) + len(cell.left_out) == sum(
            one.usual for one in known(collective).values()
        )
        assert all(cell.left_out.values())
    json.loads(found.to_json())


@pytest.mark.parametrize(
    ("collective", "ranks", "more"),
    [
        *((*pair, {}) for pair in crossed(COLLECTIVES, (5, 16, 23))),
        # Forwards and links of one collective delay the next.
        *itertools.product(["allreduce"], (13, 16), [{"cycles": 3, "compute_time": "2us"}]),
    ],
)
def test_noise_makes_nobody_earlier(collective, ranks, more):
    """What `never_early` says, which lets a race leave candidates unsimulated."""
    network = jf.LogGOPS(L="1us", o="0.3us", g="0.1us", G="1ns", gamma="0.1ns")
    noise = [*NOISE, jf.StepNoise(jf.Exponential("2us"), 0.2),
             jf.MessageNoise(jf.Exponential("3us"), 0.3)]  # fmt: skip
    question = Question(ranks, network=network, noise=noise, collective=collective,
                        message_bytes=1000, **more)  # fmt: skip
    found, _ = fitting_candidates(question, ranks, 1000)
    assert sum(one.never_early for one in found) >= (6 if more else 1)
    for one in found:
        one.find_noise_free()
        simulate_more([one], 300, 1)
        if one.never_early:
            assert one.samples.min() >= one.noise_free - 1e-15
        assert one.samples.max() > one.noise_free


def test_a_race_costs_a_part_of_what_all_realizations_of_all_would():
    """Nine cells, four allreduces: decided within 5 % of 10,000 realizations of each."""
    network = jf.LogGOPS(L="1us", o="0.2us", g="0.1us", G="0.1ns", gamma="0.05ns")
    found = jf.advise("16,100,256", network=network, noise=NOISE, candidates=ALLREDUCES,
                      message_bytes="8,4KiB,1MiB")  # fmt: skip
    assert found.ended == "decided"
    assert found.simulated < 0.05 * 9 * 4 * 10_000


def test_ranking_under_noise_survives_another_seed():
    """Ten seeds, 9 cells, all allreduces: winners agree with those of a longer run.

    With 95 % all winners of a run are right; `binom.isf(FALSE_ALARM)` of ten may be wrong.
    """
    network = jf.LogGOPS(L="1us", o="0.2us", g="0.1us", G="0.1ns", gamma="0.05ns")

    def ask(seed, realizations):
        found = jf.advise("16,100,256", network=network, noise=NOISE, seed=seed, within=0.0,
                          message_bytes="8,32KiB,1MiB", candidates=ALLREDUCES,
                          own={"copies": jf.Butterfly(copy_levels="all")},
                          realizations=realizations)  # fmt: skip
        return [cell.best for cell in found.cells]

    long = ask(99, at_most(8192, 2048))
    assert {"rabenseifner"} < set(long)
    wrong = named = 0
    seeds = scaled(10, least=2)
    for seed in range(seeds):
        winners = ask(seed, 512)
        pairs = list(zip(winners, long, strict=True))
        wrong += any(mine not in ("", other) for mine, other in pairs if other)
        named += sum(mine == other != "" for mine, other in pairs)
    assert wrong <= stats.binom.isf(FALSE_ALARM, seeds, 0.05)
    assert named > 0.5 * seeds * sum(map(bool, long))


NODES = jf.Hierarchy([(4, jf.LogGOPS(L="300ns", o="50ns", G="0.05ns")),
                      jf.LogGOPS(L="2us", o="100ns", G="1ns", gamma="0.1ns")])  # fmt: skip


def test_machines_of_nodes_have_hierarchical_candidates():
    """Considered by themselves there, and faster where few messages cross the machine."""
    found = jf.advise([4, 64, 66], network=NODES, noise=NOISE, message_bytes=[8, 2**18],
                      realizations=200)  # fmt: skip
    by_cell = {(cell.ranks, cell.message_bytes): cell for cell in found.cells}
    for cell in found.cells:
        names = {row.name for row in cell.ranking} | set(cell.left_out)
        assert {"hierarchical", "hierarchical_4_leaders", "hierarchical_all_leaders",
                "hierarchical_rings"} <= names  # fmt: skip
    inside = by_cell[4, 8]
    assert inside.left_out["hierarchical"] == "4 ranks are in one node, of 4"
    large = by_cell[64, 2**18]
    assert large.left_out["hierarchical_4_leaders"].startswith("a node has 4 ranks: all")
    assert "hierarchical" in {row.name for row in by_cell[66, 8].ranking}
    assert "each of the 4 ranks of a node sends to other nodes as if it were alone" in " ".join(
        found.notes()
    )
    for ranks, size, network in [(4, 2**18, NODES), (64, 8, NODES),
                                 (64, 2**18, replace(NODES, shared_card=True))]:  # fmt: skip
        other = jf.advise(ranks, network=network, message_bytes=size)
        assert "network card" not in " ".join(other.notes()).replace(part_in_words(network), "")
    # All ranks of a node share what crosses the machine: a quarter of the vector for each.
    times = large.noise_free
    assert times["hierarchical_all_leaders"] < times["hierarchical"]
    # A rank takes the bytes of its own block between nodes, and not those of each round.
    assert times["hierarchical_rings"] < times["hierarchical_all_leaders"]


@pytest.mark.parametrize(
    ("ranks", "leaders", "words"),
    [
        (10, "all", "the last node has 2 of 8 ranks: there are as many leaders in each node"),
        (10, 4, "the last node has 2 of 8 ranks, and there would be 4 leaders in each node"),
        (17, "all", "the last node has 1 rank, the others 8: there are as many leaders in each"),
        (17, 4, "the last node has 1 rank, the others 8, and there would be 4 leaders in each"),
        (16, 8, "a node has 8 ranks: all are leaders then"),
        (12, "rings", "the last node has 4 of 8 ranks: rings of all nodes are of one length"),
        (12, 4, ""),
        (16, "all", ""),
        (16, "rings", ""),
        (17, 1, ""),
    ],
)
def test_leaders_of_nodes_that_are_not_even(ranks, leaders, words):
    """All ranks of a node lead only where every node has as many; reasons name the last node."""
    machine = jf.Hierarchy([(8, "L=300ns,o=50ns"), "L=2us,o=100ns"])
    make = candidates._hierarchical(leaders)
    if words:
        with pytest.raises(ValueError, match=words):
            make(ranks, machine, 8)
        return
    algorithm = make(ranks, machine, 8)
    assert algorithm.leaders == {"all": 8, "rings": 1}.get(leaders, leaders)
    assert (algorithm.intra_node == "ring") == (leaders == "rings")
    jf.Case(ranks, network=machine, algorithm=algorithm)


def test_a_kind_that_is_named_has_the_nodes_of_the_machine():
    for name in ("hierarchical", "hierarchical_allreduce"):
        assert algorithm_named(name, None, [16], NODES, 8) == jf.HierarchicalAllreduce(4)
    found = algorithm_named("hierarchical_allreduce", None, [2, 16], NODES, 8)
    assert found == jf.HierarchicalAllreduce(4)  # also of ranks of which advise would not say it
    cyclic = jf.Hierarchy(NODES.levels, placement="cyclic")
    with pytest.raises(ValueError, match="placement must be 'block'"):
        algorithm_named("hierarchical_allreduce", None, [16], cyclic, 8)
    for flat in (jf.LogGOPS(L="1us", o="0.1us"), jf.Hierarchy([jf.LogGOPS(L="1us", o="0.1us")])):
        found = algorithm_named("hierarchical_allreduce", None, [16], flat, 8)
        assert found == jf.HierarchicalAllreduce()


@pytest.mark.parametrize(("name", "meant"), [
    ("nccl_tree", jf.NcclTreeAllreduce(node_ranks=4, channels=8)),
    ("nccl_tree_allreduce", jf.NcclTreeAllreduce(node_ranks=4, channels=8)),
    ("nvls", jf.InNetworkAllreduce(node_ranks=4)),
])  # fmt: skip
def test_trees_and_switches_of_a_machine_are_the_same_on_any_ranks(name, meant):
    """Also on fewer than a node has, where its ranks are the node."""
    assert algorithm_named(name, None, [2, 3, 8, 64], NODES, 2**20) == meant
    on_three = [jf.Case(3, network=NODES, algorithm=replace(meant, node_ranks=width))
                for width in (3, 4)]  # fmt: skip
    assert on_three[0].noise_free_ticks().tolist() == on_three[1].noise_free_ticks().tolist()
    flat = jf.LogGOPS(L="1us", o="0.1us")
    assert known("allreduce")["nccl_tree"].make(2, flat, 8) == jf.NcclTreeAllreduce()


def test_a_switch_between_nodes_takes_several():
    for ranks, words in ((1, "1 rank is in one node"), (3, "3 ranks are in one node")):
        for name, ending in (("nvls_tree", ": no switch between"), ("hierarchical", ", of 4")):
            with pytest.raises(ValueError, match=words + ending):
                known("allreduce")[name].make(ranks, NODES, 8)
    assert known("allreduce")["nvls"].make(1, NODES, 8) == jf.InNetworkAllreduce(node_ranks=4)
    with pytest.raises(ValueError, match="6 ranks are no multiple of a node's 4"):
        known("allreduce")["nvls"].make(6, NODES, 8)


def test_what_knows_no_levels_is_left_out_there_without_a_word():
    """Unless it is named."""
    one_level = {one.name for one in Question([8], network=jf.LogGOPS(L="1us", o="0.1us")).chosen()}
    levels = {one.name for one in Question([8], network=NODES).chosen()}
    assert one_level - levels == {
        "butterfly_after_1", "butterfly_after_4", "butterfly_after_all", "butterfly_within_all",
        "butterfly_on_demand",
    }  # fmt: skip
    named = ["recursive_doubling", "butterfly_after_1"]
    found = jf.advise([8], network=NODES, message_bytes=[8], candidates=named)
    assert "on a Hierarchy" in found.cells[0].left_out["butterfly_after_1"]


def test_elsewhere_hierarchical_candidates_are_only_named():
    """A flat machine has no nodes; ranks of a node must be consecutive."""
    flat = jf.LogGOPS(L="1us", o="0.1us")
    question = Question([8], network=flat)
    assert not [one for one in question.chosen() if one.name.startswith("hierarchical")]
    one_level = jf.Hierarchy([flat])
    assert Question([8], network=one_level).chosen() == question.chosen()
    named = ["recursive_doubling", "hierarchical"]
    found = jf.advise([8], network=flat, message_bytes=[8], candidates=named)
    assert "network must be a Hierarchy" in found.cells[0].left_out["hierarchical"]
    cyclic = jf.Hierarchy(NODES.levels, placement="cyclic")
    found = jf.advise([8], network=cyclic, message_bytes=[8], candidates=named)
    assert "placement must be 'block'" in found.cells[0].left_out["hierarchical"]
