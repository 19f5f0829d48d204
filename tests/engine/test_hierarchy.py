"""`Hierarchy`: machines of nodes and racks, placement, text, errors.

Exactness: test_collectives.py.
"""

import random
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from reference.collectives import GOALS, plain_table, random_pair
from support.grouped import parametrize_in_groups
from support.scale import crossed, scaled

import jitterfly as jf
from jitterfly.goal_export import goal_schedule
from jitterfly.slowdown import given_in_words
from jitterfly.studies import parse_study
from jitterfly.theory import collective_completion, noise_free_completion

NODE = jf.LogGOPS(L="300ns", o="100ns", G="0.05ns", gamma="0.1ns")
FAR = jf.LogGOPS(L="1us", o="200ns", g="300ns", G="0.1ns", gamma="0.1ns")
NOISE = [
    jf.PeriodicNoise(period="100us", duration="7us"),
    jf.NetworkJitter(period="20us", duration="3us"),
    jf.StepNoise(jf.Exponential("1us")),
]


BETWEEN_RANKS = [kind for kind in jf.Algorithm.kinds() if not kind.startswith("in_network")]
"""The others have messages to switches (test_in_network.py)."""


@parametrize_in_groups("kind, ranks", crossed(BETWEEN_RANKS, [1, 7, 16, 37]))
def test_equal_levels_are_a_flat_machine(kind, ranks):
    """Also for the butterfly, whose exchanges become messages."""
    network = replace(FAR, g=0) if kind == "butterfly" else FAR
    algorithm = jf.Algorithm.from_dict(plain_table(kind))
    flat = jf.Case(ranks, algorithm=algorithm, network=network, noise=NOISE, message_bytes=64,
                   cycles=2, compute_time="5us", observe="spread")  # fmt: skip
    machine = jf.Hierarchy([(3, network), (2, network), network], placement="cyclic")
    result = [jf.simulate(case, 5, seed=3, backend="cpu")
              for case in (flat, replace(flat, network=machine))]  # fmt: skip
    np.testing.assert_array_equal(result[0].ticks, result[1].ticks)
    np.testing.assert_array_equal(result[0].noise_free, result[1].noise_free)


@pytest.mark.parametrize(
    ("kind", "ranks"),
    crossed(["recursive_doubling", "ring", "rabenseifner", "reduce_broadcast"], [8, 13, 64]),
)
@pytest.mark.parametrize("forward_cost", [0, "2us"])
def test_redundant_exchanges_on_equal_levels_are_those_of_a_flat_machine(kind, ranks, forward_cost):
    network = replace(FAR, g=0)
    machine = jf.Hierarchy([(3, network), (2, network), network], placement="cyclic")
    algorithm = jf.Algorithm.from_dict(
        {"kind": f"{kind}_allreduce", "exchanges_after": "all", "forward_cost": forward_cost}
    )
    flat = jf.Case(ranks, algorithm=algorithm, network=network, noise=NOISE, cycles=3)
    results = [
        jf.simulate(case, 9, seed=2, backend="cpu")
        for case in (flat, replace(flat, network=machine))
    ]
    np.testing.assert_array_equal(results[0].ticks, results[1].ticks)
    np.testing.assert_array_equal(results[0].noise_free, results[1].noise_free)


def test_the_butterfly_is_recursive_doubling_without_gaps():
    levels = [(4, replace(NODE, G=0)), replace(FAR, g=0, G=0)]
    cases = [
        jf.Case(48, algorithm=algorithm, network=jf.Hierarchy(levels), noise=NOISE, cycles=3)
        for algorithm in (jf.Butterfly(), jf.RecursiveDoublingAllreduce())
    ]
    first, second = (jf.simulate(case, 9, seed=1, backend="cpu").ticks for case in cases)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("placement", ["block", "cyclic"])
def test_one_message_costs_what_its_level_costs(placement):
    """A broadcast between two ranks, in one node and in two."""
    machine = jf.Hierarchy([(2, NODE), FAR], placement=placement)
    case = jf.Case(4, algorithm=jf.BinomialBroadcast(), network=machine, message_bytes=1)
    times = jf.ready_times(case)[-1] * 1e9
    near, far = 2 * 100 + 300, 2 * 200 + 1000
    # 0 sends to 2, then 0 to 1 and 2 to 3: a rank is done when it has sent. In blocks the second
    # send of 0 waits for the gap of the first, 300; cyclic, 0 and 2 are a node.
    expected = {
        "block": [300 + 100, 300 + near, far + 100, far + near],
        "cyclic": [100 + 200, 100 + far, near + 200, near + far],
    }
    np.testing.assert_allclose(times, expected[placement])


def test_hierarchical_allreduce_is_quicker_where_the_way_out_is_slow():
    """Eight ranks a node that all talk to other nodes wait for their links; one leader does not."""
    slow = jf.LogGOPS(L="20us", o="200ns", gamma="0.1ns")
    machine = jf.Hierarchy([(8, NODE), slow])
    times = [
        jf.simulate(jf.Case(60, algorithm=algorithm, network=machine), 1).noise_free[0]
        for algorithm in (jf.HierarchicalAllreduce(8), jf.RingAllreduce())
    ]
    assert times[0] < times[1]


def test_as_text_and_as_a_table():
    text = "8: L=300ns,o=100ns; 16: alpha=1us,beta=1ns; L=2us,o=200ns"
    case = jf.Case(300, network=text)
    machine = jf.Hierarchy(
        [
            (8, jf.LogGOPS(L="300ns", o="100ns")),
            (16, jf.Hockney(alpha="1us", beta="1ns")),
            "L=2us,o=200ns",
        ]
    )
    assert case.network == machine
    assert jf.Case.from_dict(case.to_dict()) == case
    given = replace(machine, placement=range(300))
    assert jf.Network.from_dict(given.to_dict()) == given
    assert machine.spans == [8, 128]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([], "levels must be from 1 to 8, got 0"),
        ([NODE] * 9, "levels must be from 1 to 8, got 9"),
        (5, "levels must be a list of"),
        (NODE, "levels must be a list of"),
        ([NODE, FAR], r"levels\[0\] must have a size"),
        ([(8, NODE), (4, FAR)], r"levels\[1\] must have no size"),
        ([(0, NODE), FAR], r"levels\[0\]: size must be an integer from 1"),
        ([(8.5, NODE), FAR], r"levels\[0\]: size must be an integer from 1"),
        ([(8, NODE, "a", 1), FAR], r"levels\[0\] must be \(size, network\)"),
        ([(8, "L=1us"), FAR], r"levels\[0\]: network: key 'o' is missing"),
        ([(8, 7), FAR], r"levels\[0\]: network must be a Network"),
        ([(8, jf.Hierarchy([NODE])), FAR], r"levels\[0\] must be a network of one level"),
        ([(2**20, NODE), (2**20, NODE), FAR], "levels must hold at most 2\\^30 ranks"),
    ],
)
def test_levels_that_are_refused(levels, words):
    with pytest.raises(ValueError, match=words):
        jf.Hierarchy(levels)


@pytest.mark.parametrize("placement", ["random", 3, [0, 0], [-1, 2], [0.5], None])
def test_placements_that_are_refused(placement):
    with pytest.raises(ValueError, match="placement must be"):
        jf.Hierarchy([(2, NODE), FAR], placement=placement)


def test_a_placement_is_for_its_ranks():
    machine = jf.Hierarchy([(2, NODE), FAR], placement=[0, 2, 4])
    jf.Case(3, network=machine, algorithm=jf.BinomialReduce())
    with pytest.raises(ValueError, match="one slot for each of the 4 ranks, got 3"):
        jf.Case(4, network=machine, algorithm=jf.BinomialReduce())


@pytest.mark.parametrize(
    "algorithm",
    [
        jf.Butterfly(exchanges_after=1),
        jf.Butterfly(copy_levels=[1]),
        jf.Butterfly(on_demand=[1]),
    ],
)
def test_a_butterfly_with_more_than_its_exchanges_needs_one_level(algorithm):
    network = jf.Hierarchy([(2, NODE), replace(FAR, g=0)])
    with pytest.raises(ValueError, match="redundant exchanges can follow all other allreduces"):
        jf.Case(8, algorithm=algorithm, network=network)


def test_what_knows_one_level_only_says_so():
    network = jf.Hierarchy([(2, NODE), replace(FAR, g=0)])
    for algorithm, closed_form in (
        (jf.Butterfly(), noise_free_completion),
        (jf.RingAllreduce(), collective_completion),
    ):
        with pytest.raises(ValueError, match="network must have one level"):
            closed_form(jf.Case(8, algorithm=algorithm, network=network))
    with pytest.raises(ValueError, match="GOAL"):
        goal_schedule(jf.Case(8, algorithm=jf.RingAllreduce(), network=network))


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        ({"node_ranks": 0}, "node_ranks must be an integer from 1"),
        ({"node_ranks": 4, "leaders": 5}, "leaders must be an integer from 1 to 4"),
        ({"intra_node": "tre"}, "intra_node must be one of 'tree', 'ring', got 'tre'"),
        ({"intra_node": "ring", "leaders": 2}, "leaders must be 1 with intra_node = 'ring'"),
        ({"inter_node": "rings"}, "inter_node: kind must be one of"),
        ({"inter_node": {"kind": "ring_allreduce", "radix": 3}}, "inter_node: unknown key 'radix'"),
        ({"inter_node": "ring"}, "inter_node: kind must be one of .* mean 'ring_allreduce'"),
        ({"inter_node": "ring_allgather"}, "inter_node: kind must be one of 'recursive_doubling"),
        ({"inter_node": jf.Butterfly()}, "inter_node must be an allreduce of messages such as"),
        ({"inter_node": 3}, "inter_node must be an allreduce of messages such as RingAllreduce, g"),
        ({"inter_node": jf.RingAllreduce(exchanges_after=1)}, "exchanges_after must be 0 between"),
    ],
)
def test_hierarchical_allreduces_that_are_refused(algorithm, words):
    with pytest.raises(ValueError, match=words):
        jf.HierarchicalAllreduce(**algorithm)


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        ({"leaders": 3}, "leaders must be from 1 to 2, the ranks of the smallest"),
        (
            {"intra_node": "ring"},
            "ranks must be a multiple of node_ranks where intra_node is 'ring'",
        ),
        (
            {"inter_node": jf.HierarchicalAllreduce(2, intra_node="ring")},
            "inter_node, whose ranks are the 3 nodes: ranks must be a multiple of node_ranks",
        ),
    ],
)
def test_hierarchical_allreduces_that_do_not_fit_the_ranks(algorithm, words):
    with pytest.raises(ValueError, match=words):
        jf.Case(10, algorithm=jf.HierarchicalAllreduce(4, **algorithm), network=FAR)


def test_an_allreduce_between_nodes_is_written_in_any_way():
    """As an algorithm, a table or a kind; and records of before the choice are still found."""
    ring = jf.HierarchicalAllreduce(4, inter_node=jf.RingAllreduce())
    for between in ("ring_allreduce", {"kind": "ring_allreduce"}):
        assert jf.HierarchicalAllreduce(4, inter_node=between) == ring
    assert jf.Algorithm.from_dict(ring.to_dict()) == ring
    assert ring.identity()["inter_node"] == jf.RingAllreduce().to_dict()
    before = {"kind": "hierarchical_allreduce", "node_ranks": 8, "leaders": 1}
    assert jf.HierarchicalAllreduce().identity() == before
    assert jf.HierarchicalAllreduce(inter_node="recursive_doubling_allreduce").identity() == before


def test_axes_reach_the_fields_of_an_allreduce_between_nodes_that_is_text():
    study = parse_study("""
name = "text"
realizations = { max = 10 }
[case]
ranks = 16
network = "4: L=1us,o=100ns; L=3us,o=200ns"
noise = "period=1ms,duration=10us"
[case.algorithm]
kind = "hierarchical_allreduce"
node_ranks = 4
inter_node = "segmented_ring_allreduce"
[axes.segments]
path = "algorithm.inter_node.segment_bytes"
values = [1024, 4096]
""")
    found = [cell.variants[0].case.algorithm.inter_node for cell in study.cells()]
    assert found == [jf.SegmentedRingAllreduce(segment_bytes=size) for size in (1024, 4096)]


def test_an_own_allreduce_between_nodes_is_checked_as_any_other(monkeypatch):
    monkeypatch.setattr(jf.Algorithm, "_kinds", dict(jf.Algorithm._kinds))

    @dataclass(frozen=True)
    class NoSteps(jf.Algorithm, kind="no_steps_of_its_own"):
        def steps(self, ranks, message_bytes):
            return None

    with pytest.raises(
        ValueError, match=r"inter_node, whose ranks are the 2 nodes: NoSteps\.steps"
    ):
        jf.Case(8, network=FAR, algorithm=jf.HierarchicalAllreduce(4, inter_node=NoSteps()))


def test_rings_of_nodes_are_those_of_one_ring_without_nodes():
    """With one rank in a node, or all in one, it is the allreduce itself."""
    for algorithm in (
        jf.HierarchicalAllreduce(1, intra_node="ring", inter_node="ring_allreduce"),
        jf.HierarchicalAllreduce(12, intra_node="ring"),
    ):
        cases = [
            jf.Case(12, algorithm=one, network=FAR, noise=NOISE, message_bytes=5000)
            for one in (algorithm, jf.RingAllreduce())
        ]
        first, second = (jf.simulate(case, 9, seed=1, backend="cpu").ticks for case in cases)
        np.testing.assert_array_equal(first, second)


def test_more_ranks_than_fit_are_refused_at_once():
    """Before anything is listed: 2^30 ranks would take hundreds of gigabytes."""
    with pytest.raises(ValueError, match=r"ranks must be from 1 to 2\^24 on a Hierarchy"):
        jf.Case(2**30, network=jf.Hierarchy([(8, NODE), FAR]))
    with pytest.raises(ValueError, match="ranks must be from 1 to 4194304 for Hierarchical"):
        jf.Case(2**30, network=FAR, algorithm=jf.HierarchicalAllreduce())


RACKS = jf.Hierarchy([(4, jf.LogGOPS(L="300ns", o="100ns")), (2, jf.LogGOPS(L="1us", o="150ns")),
                      jf.LogGOPS(L="3us", o="200ns", gamma="1ns")])  # fmt: skip


THREES = jf.Hierarchy([(6, RACKS.networks[0], "socket"), (3, RACKS.networks[1], "cabinet"),
                       RACKS.networks[2]])  # fmt: skip


def every_source(shared):
    """One of each kind that has a scope."""
    return [
        jf.PeriodicNoise("100us", "7us", shared=shared),
        jf.RenewalNoise("90us", "9us", shared=shared),
        jf.TraceNoise(starts=[1e-6, 3e-5], durations=[2e-6, 3e-6], length=8e-5, shared=shared),
        jf.StepNoise(jf.Exponential("1us"), shared=shared),
        jf.MessageNoise(jf.Exponential("1us"), shared=shared),
        jf.NetworkJitter("10us", "3us", shared=shared),
        jf.LateArrival(jf.Exponential("5us"), shared=shared),
        jf.SpeedNoise(jf.Lognormal(1, 0.3), shared=shared),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("named", "ranks", "meant"),
    [("node", 40, 4), ("level 1", 40, 4), ("rack", 40, 8), ("level2", 40, 8),
     ("rack", 8, "machine"), ("rack", 6, "machine"), ("node", 3, "machine"),
     ("socket", 40, 6), ("cabinet", 40, 18), ("cabinet", 17, "machine")],
)  # fmt: skip
def test_noise_is_shared_by_a_level(named, ranks, meant):
    """The same times as with the number of its ranks, for every kind of source."""
    network = THREES if named in ("socket", "cabinet") else RACKS
    for one, other in zip(every_source(named), every_source(meant), strict=True):
        case = jf.Case(ranks, algorithm=jf.RecursiveDoublingAllreduce(), network=network,
                       noise=[one], compute_time="20us")  # fmt: skip
        given = replace(case, noise=[other])
        np.testing.assert_array_equal(jf.simulate(case, 5).ticks, jf.simulate(given, 5).ticks)
        assert case.noise[0].shared == named
        assert case.identity() == given.identity()
        assert jf.Case.from_dict(case.to_dict()) == case


def test_fewer_ranks_than_a_node_has_are_one_node():
    """As nodes of 48 ranks are where `shared` names their level."""
    nodes = jf.Hierarchy([(48, RACKS.networks[0]), RACKS.networks[2]])
    sources = [every_source(shared) for shared in (48, 2**30, "node", "machine")]
    for same in zip(*sources, strict=True):
        cases = [jf.Case(16, network=nodes, noise=[one], compute_time="20us") for one in same]
        first, *others = [jf.simulate(case, 20).ticks for case in cases]
        for found in others:
            np.testing.assert_array_equal(found, first)
    study = jf.Study("sizes", case=cases[0], axes=[jf.Axis("ranks", log2=(4, 7))],
                     budget=jf.RealizationBudget(max=10))  # fmt: skip
    assert len(study.cells()) == 4


def test_a_level_follows_the_network():
    case = jf.Case(64, network=RACKS, noise=[jf.LateArrival(jf.Exponential("5us"), shared="node")])
    wider = jf.Hierarchy([(16, RACKS.networks[0]), RACKS.networks[2]])
    odd = jf.Hierarchy([(24, RACKS.networks[0]), RACKS.networks[2]])
    for network, width in ((RACKS, 4), (wider, 16), (odd, 24)):
        starts = jf.ready_times(replace(case, network=network))[0]
        nodes = np.arange(64) // width
        np.testing.assert_array_equal(starts, starts[nodes * width])
        assert len(set(starts)) == nodes[-1] + 1


@pytest.mark.parametrize(
    ("network", "shared", "words"),
    [
        (jf.LogGOPS(L="1us", o="100ns"), "node", "noise.0.: shared = 'node' is a level of a Hier"),
        (RACKS, "level 3", "shared names level 3, the network has 2 below the machine"),
        (replace(RACKS, placement="cyclic"), "node", "that needs placement 'block'"),
    ],
)  # fmt: skip
def test_levels_that_noise_can_not_share(network, shared, words):
    with pytest.raises(ValueError, match=words):
        jf.Case(32, network=network, noise=[jf.StepNoise("1us", shared=shared)])


SOCKETS = jf.Hierarchy([(4, RACKS.networks[0], "socket"), (2, RACKS.networks[1], "node"),
                        (2, RACKS.networks[1]), RACKS.networks[2]])  # fmt: skip


@pytest.mark.parametrize(
    ("named", "meant"),
    [("socket", 4), ("level 1", 4), ("node", 8), ("level 2", 8), ("rack", None), ("level 3", 16)],
)
def test_names_of_one_s_own(named, meant):
    """They come before the usual ones, which name no level where another has the name."""
    assert SOCKETS.level_names == ["socket", "node", "level 3"]
    case = jf.Case(64, network=SOCKETS, noise=[jf.LateArrival(jf.Exponential("5us"))])
    if meant is None:
        with pytest.raises(ValueError, match=r"noise\[0\]: shared must be one of 'socket', 'node', "
                           "'level 3', 'machine' on this network"):  # fmt: skip
            replace(case, noise=[jf.StepNoise("1us", shared=named)])
        return
    own, given = (
        replace(case, noise=[replace(case.noise[0], shared=shared)]) for shared in (named, meant)
    )
    np.testing.assert_array_equal(jf.ready_times(own), jf.ready_times(given))
    # Names decide no result.
    sizes = [level[:2] if level.size else level.network for level in SOCKETS.levels]
    nameless = replace(given, network=jf.Hierarchy(sizes))
    assert nameless.network.level_names == ["node", "rack", "level 3"]
    assert own.identity() == nameless.identity()
    assert jf.Case.from_dict(own.to_dict()) == own


def test_names_as_text_and_as_tables():
    text = "socket=4: L=300ns,o=100ns; cabinet = 2: L=1us,o=150ns; L=3us,o=200ns,gamma=1ns"
    case = jf.Case(64, network=text, noise="period=1ms,duration=25us,shared=cabinet")
    assert case.network.level_names == ["socket", "cabinet"]
    assert case.placed_noise[0].shared == 8
    assert case.network.to_dict()["levels"][1]["name"] == "cabinet"
    assert jf.Case.from_dict(case.to_dict()) == case
    with pytest.raises(ValueError, match=r"'machine' on this network, .* \(did you mean 'cabinet'"):
        replace(case, noise=[jf.StepNoise("1us", shared="cabinets")])


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([(4, NODE, "a"), (2, NODE, "a"), FAR], "names of their own, got 'a' twice"),
        ([(4, NODE, "machine"), FAR], "and not 'machine', which is the outermost level"),
        ([(4, NODE, "level 2"), FAR], r"levels\[0\]: name must be a letter and then"),
        ([(4, NODE, 7), FAR], "name must be a letter and then letters, digits"),
        ([(4, NODE, "a", "b"), FAR], r"must be \(size, network\) or \(size, network, name\)"),
        ([(4, NODE), {"name": "a", "kind": "loggops", "L": "1us", "o": 0}],
         r"levels\[1\] must have no name: the outermost level is the 'machine'"),
    ],
)  # fmt: skip
def test_names_that_are_none(levels, words):
    with pytest.raises(ValueError, match=words):
        jf.Hierarchy(levels)


def test_levels_in_text():
    """As a study and the command line have them."""
    network = "4: L=300ns,o=100ns; L=1us,o=200ns"
    case = jf.Case(8, network=network, noise="period=1ms,duration=25us,shared=node")
    assert case.noise[0].shared == "node"
    assert case.placed_noise[0].shared == 4
    table = case.to_dict() | {"noise": [{"kind": "periodic", "period": "1ms", "duration": "25us",
                                         "shared": "level 1"}]}  # fmt: skip
    assert jf.Case.from_dict(table).identity() == case.identity()


# --- a network card that the ranks of a node share

CARD = jf.Hierarchy([(8, NODE), FAR], shared_card=True)


def ticks(algorithm, network, ranks=64, message_bytes=4096):
    case = jf.Case(ranks, algorithm=algorithm, network=network, noise=NOISE, cycles=2,
                   message_bytes=message_bytes)  # fmt: skip
    return jf.simulate(case, 5, seed=4, backend="cpu").ticks


@pytest.mark.parametrize(
    ("algorithm", "placement", "sharers"),
    [
        (jf.RecursiveDoublingAllreduce(), "block", 8),
        (jf.RecursiveDoublingAllreduce(exchanges_after="all"), "block", 8),
        (jf.RabenseifnerAllreduce(), "block", 8),
        (jf.RingAllreduce(), "block", 1),
        (jf.RingAllreduce(), "cyclic", 8),
        (jf.HierarchicalAllreduce(8), "block", 1),
    ],
)
def test_ranks_of_a_node_share_its_card(algorithm, placement, sharers):
    """All 8 ranks of a node talk to other nodes at once, or one does."""
    far = replace(FAR, g=0)
    shared = replace(CARD, levels=[(8, NODE), far], placement=placement)
    slower = replace(shared, shared_card=False, levels=[(8, NODE), replace(far, G=sharers * far.G)])
    np.testing.assert_array_equal(ticks(algorithm, shared), ticks(algorithm, slower))


def test_the_butterfly_shares_a_card_too():
    far = replace(FAR, g=0)
    shared = replace(CARD, levels=[(8, NODE), far])
    slower = replace(shared, shared_card=False, levels=[(8, NODE), replace(far, G=8 * far.G)])
    np.testing.assert_array_equal(ticks(jf.Butterfly(), shared), ticks(jf.Butterfly(), slower))


@parametrize_in_groups(
    "kind, ranks", [(kind, ranks) for ranks in (13, 24) for kind in BETWEEN_RANKS]
)
def test_messages_at_a_card_are_those_of_one_step(kind, ranks):
    """Out of the sender's node or into the receiver's, counted rank by rank."""
    slots = np.random.default_rng(ranks).permutation(30)[:ranks]
    inner = jf.LogGOPS(L="1us", o=0, G="1ns")
    machine = jf.Hierarchy([(3, inner), (2, inner), "L=2us,o=0,G=1ns"], placement=slots.tolist(),
                           shared_card=True)  # fmt: skip
    algorithm = jf.Algorithm.from_dict(plain_table(kind))
    compiled = jf.Case(
        ranks, algorithm=algorithm, network=machine, message_bytes=1000
    ).compiled_steps
    seen = 0
    for number, step in enumerate(compiled.steps):
        if not len(compiled.table.of_step[number]):
            continue
        sizes = {a: size for (a, _), size in zip(
            step.partners.pairs(ranks), step.sizes(ranks).tolist(), strict=True)}  # fmt: skip
        messages = compiled.listed_messages(number)
        nodes = [(slots[sender] // 3, slots[receiver] // 3) for sender, receiver, _ in messages]
        for (out, into), (sender, _, entry) in zip(nodes, messages, strict=True):
            far = [(a, b) for a, b in nodes if a != b]
            left, entered = sum(a == out for a, _ in far), sum(b == into for _, b in far)
            sharers = max(left, entered) if out != into else 1
            latency = 1_000_000 if out // 2 == into // 2 else 2_000_000
            more = (max(sizes[sender], 1) - 1) * 1000 * sharers
            assert compiled.table.entries[entry].transit == latency + more
            seen += sharers > 1
    few = ("binary_tree_broadcast", "binary_tree_reduce", "chain_broadcast", "chain_reduce",
           "double_ring_barrier", "linear_barrier", "linear_gather", "linear_scan", "linear_exscan",
           "linear_scatter", "recursive_multiplying_allreduce", "linear_gatherv",
           "linear_scatterv")  # fmt: skip
    assert seen or kind in few


def test_a_shared_card_is_written_where_there_is_one(tmp_path):
    text = "8: L=300ns,o=100ns; L=2us,o=200ns,G=50GB/s"
    shared, alone = (jf.Case(16, network=text + more) for more in (",shared_card=true", ""))
    assert shared.network == replace(alone.network, shared_card=True)
    assert jf.Case(16, network=text + ",shared_card=false") == alone
    assert "shared_card" not in alone.to_dict()["network"]  # as in the records of earlier versions
    assert jf.Case.from_dict(shared.to_dict()) == shared
    assert shared.identity() != alone.identity()
    with pytest.raises(ValueError, match="shared_card must be true or false, got 1"):
        jf.Hierarchy([(8, NODE), FAR], shared_card=1)
    with pytest.raises(ValueError, match="without nodes"):
        jf.Hierarchy([FAR], shared_card=True)
    with pytest.raises(ValueError, match="where a byte between nodes takes no time"):
        jf.Hierarchy([(8, NODE), "L=1us,o=200ns"], shared_card=True)
    words = [" ".join(given_in_words(case)) for case in (shared, alone)]
    assert words[0] == f"{words[1]}; ranks of a node share its network card"
    builder = jf.ScheduleBuilder(16)
    builder.write(tmp_path / "a.goal")
    for schedule, simulate in [(builder.build(), jf.simulate_schedule),
                               (tmp_path / "a.goal", jf.ScheduleCase)]:  # fmt: skip
        with pytest.raises(ValueError, match="shared_card must be left out for a schedule"):
            simulate(schedule, network=shared.network)


def test_a_shared_card_warns_of_nothing(recwarn):
    """A byte that takes long had a unit when it was given."""
    slow = jf.Hierarchy([(2, NODE), "L=1us,o=200ns,G=0.5ms"], shared_card=True)
    case = jf.Case(8, algorithm=jf.RabenseifnerAllreduce(), network=slow, message_bytes=64)
    assert jf.simulate(case, 1).noise_free[0] > 32 * 1e-3
    assert not recwarn.list


def shortest(neighbours, start):
    """The fewest hops from a host to each other one, by breadth-first search."""
    hops, edge = {start: 0}, [start]
    while edge:
        edge = [other for here in edge for other in neighbours(here)
                if other not in hops and not hops.update({other: hops[here] + 1})]  # fmt: skip
    return hops


def torus_extra(sizes, hop):
    """The latency between two hosts beyond that of neighbours, on a graph of hosts."""
    places = list(np.ndindex(*sizes))

    def neighbours(place):
        for d, size in enumerate(sizes):
            for by in (1, -1):
                yield (*place[:d], (place[d] + by) % size, *place[d + 1 :])

    hops = {place: shortest(neighbours, place) for place in places}
    return lambda a, b: (hops[places[a]][places[b]] - 1) * hop


def dragonfly_extra(groups, routers, hosts, local, far):
    """The same of the minimal route: links of routers, and those between groups one by one."""
    free = {group: [r for r in range(routers) for _ in range(-(-(groups - 1) // routers))]
            for group in range(groups)}  # fmt: skip
    link = {
        (g, other): free[g].pop(0) for g in range(groups) for other in range(groups) if g != other
    }

    def extra(a, b):
        (g, r), (h, s) = (divmod(host // hosts, routers) for host in (a, b))
        if g == h:
            return local * (r != s)
        return local * (r != link[g, h]) + far + local * (s != link[h, g])

    return extra


def test_hops_on_a_torus_are_those_of_its_graph():
    for sizes in [(1,), (2,), (7,), (4, 3), (2, 5, 3), (1, 4)]:
        torus, extra = jf.Torus(sizes, hop=1e-9), torus_extra(sizes, 1)
        hosts = int(np.prod(sizes))
        assert torus.hosts == hosts
        a, b = np.divmod(np.arange(hosts**2), hosts)
        found = np.array(torus.latencies)[torus.classes(a, b)] * 1e9
        assert np.rint(found).tolist() == [max(extra(*pair), 0) for pair in zip(a, b, strict=True)]


def test_routes_on_a_dragonfly_are_minimal():
    for sizes in [(1, 1, 1), (2, 1, 3), (5, 2, 2), (4, 3, 1), (9, 2, 1), (3, 5, 2)]:
        fly, extra = jf.Dragonfly(*sizes, 1e-9, 100e-9), dragonfly_extra(*sizes, 1, 100)
        hosts = int(np.prod(sizes))
        a, b = np.divmod(np.arange(hosts**2), hosts)
        found = np.array(fly.latencies)[fly.classes(a, b)] * 1e9
        assert np.rint(found).tolist() == [extra(*pair) for pair in zip(a, b, strict=True)]


@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@pytest.mark.parametrize("number", range(scaled(120)))
def test_farther_hosts_are_later_in_the_reference(number):
    """Tick for tick, with any noise, placement and levels below: each message by its distance."""
    rng = random.Random(f"distances {number}")
    kind = rng.choice([kind for kind in GOALS if kind != "butterfly"])
    case, run, (seed, realization) = random_pair(rng, jf, kind, levels=True)
    span = case.network.spans[-1] if case.network.spans else 1
    hosts, hop = max(run.network.slots) // span + 1, rng.choice([1, 1000, 123_456])
    if rng.random() < 0.5:
        sizes = rng.choice([(hosts,), (hosts // 2 + 1, 2), (3, hosts // 9 + 1, 3)])
        distances, farther = jf.Torus(sizes, f"{hop}ps"), torus_extra(sizes, hop)
    else:
        sizes = hosts // 4 + 1, 2, 2
        distances = jf.Dragonfly(*sizes, f"{hop}ps", "7ns")
        farther = dragonfly_extra(*sizes, hop, 7000)
    try:
        case = replace(case, network=replace(case.network, distances=distances))
    except ValueError as error:  # the longer way has more than 1000 periods of a jitter
        if "1/1000 of the time" not in str(error):
            raise
        return
    run.network = replace(run.network, farther=farther)
    expected = np.array(run.execute(), dtype=np.int64)
    times = jf.ready_times(case, seed=seed, realization=realization)
    np.testing.assert_array_equal(np.rint(times * 1e12).astype(np.int64), expected)


@pytest.mark.parametrize("K", [1, 2, 3, 6, 10])
def test_swing_goes_fewer_hops_around_a_torus_than_halving(K):
    """Distances of De Sensi et al. 2024: (1 - (-2)^(s + 1)) / 3 in step s, against 2^s."""
    ranks, hop = 2**K, 1e-7
    network = jf.Hierarchy([jf.Hockney("1us", 0, gamma="1ps")], distances=jf.Torus([ranks], hop))
    swing = [abs(1 - (-2) ** (s + 1)) // 3 for s in range(K)]
    for algorithm, hops in (
        (jf.SwingAllreduce(), [min(d, ranks - d) for d in swing]),
        (jf.RabenseifnerAllreduce(), [2**s for s in range(K)]),
        (jf.RingAllreduce(), [1] * (ranks - 1)),
    ):
        case = jf.Case(ranks, algorithm=algorithm, network=network, message_bytes=0)
        expected = 2 * sum(1e-6 + (one - 1) * hop for one in hops)  # there and back again
        assert case.noise_free_ticks()[0] == pytest.approx(expected * 1e12, rel=1e-9)
    assert sum(swing) <= sum(2**s for s in range(K))
    if K == 10:
        assert sum(swing) / (ranks - 1) == pytest.approx(2 / 3, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "other", "most"),
    [
        ("bine_broadcast", "binomial_broadcast", 0.85),
        ("bine_reduce", "binomial_reduce", 0.85),
        ("bine_allgather", "recursive_doubling_allgather", 0.18),
        ("bine_reduce_scatter", "recursive_halving_reduce_scatter", 0.18),
        ("bine_allreduce", "recursive_doubling_allreduce", 0.94),
        ("swing_allreduce", "rabenseifner_allreduce", 0.84),
    ],
)
def test_bine_sends_less_over_global_links_of_a_dragonfly(kind, other, most):
    """Of 256 ranks on groups of ten hosts, as De Sensi et al. 2025 say it; not on aligned ones."""
    fly = jf.Dragonfly(26, routers=5, router_hosts=2, local_hop=0, global_hop="1us")

    def over_global_links(kind):
        total = 0
        for step in jf.Algorithm.from_dict({"kind": kind}).steps(256, 256 * 8):
            if step.partners is not None:
                ends = step.partners.pair_array(256)
                total += step.repeat * step.bytes * int((fly.classes(*ends.T) > 1).sum())
        return total

    assert over_global_links(kind) < most * over_global_links(other)


def test_distances_in_text_and_in_tables():
    text = "4: L=300ns,o=100ns; L=1us,o=200ns,G=0.1ns,distances=torus(sizes=8x2,hop=100ns)"
    nodes = jf.Case(64, network=text).network
    assert nodes.distances == jf.Torus([8, 2], "100ns")
    assert jf.Hierarchy.from_dict(nodes.to_dict()) == nodes
    assert len(nodes.networks) == 2 + 4  # the farthest of five hops
    assert pytest.approx(1.4e-6) == nodes.networks[-1].L
    assert nodes.costs(8) == jf.LogGOPS(L="1us", o="200ns", G="0.1ns").costs(8)
    fly = "dragonfly(groups=5,routers=2,router_hosts=2,local_hop=50ns,global_hop=300ns)"
    flat = jf.Case(20, network=f"L=1us,o=200ns,distances={fly}").network
    assert (flat.spans, flat.distances.hosts) == ([], 20)
    assert "distances: torus, sizes = [8, 2], hop = 100 ns" in given_in_words(
        jf.Case(64, network=nodes))[0]  # fmt: skip
    plain = replace(nodes, distances=None)
    assert "distances" not in plain.to_dict()
    assert plain.identity() != nodes.identity()


@pytest.mark.parametrize(
    ("distances", "words"),
    [
        ("torus(sizes=4x4,hop=100ns)", "distances: torus has 16 hosts, 64 ranks are on 64"),
        ("torus(sizes=0x4,hop=100ns)", "sizes must be 1 to 8 whole numbers of at least 1"),
        ("torus(sizes=2x8192,hop=100ns)", "further apart than 4,096 hops, got '2x8192'"),
        ("torus(sizes=2^4,hop=100ns)", "sizes must be 1 to 8 whole numbers of at least 1"),
        ("torus(sizes=4x4)", "'hop' is missing"),
        ("ring(sizes=4x4)", "distances: kind must be"),
        ("4x4", "or text such as 'torus(sizes=4x4,hop=100ns)', got '4x4'"),
        ("torus(4x4)", "or text such as 'torus(sizes=8x8,hop=100ns)', got 'torus(4x4)'"),
        (7, "distances must be a Torus or a Dragonfly, or text such as 'torus"),
        ("dragonfly(groups=0,routers=2,router_hosts=2,local_hop=0,global_hop=0)", "groups must be"),
        ("dragonfly(groups=99999,routers=999,router_hosts=9,local_hop=0,global_hop=0)", "2^24 hos"),
    ],
)
def test_distances_that_are_refused(distances, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        jf.Case(64, network=jf.Hierarchy([FAR], distances=distances), algorithm=jf.RingAllreduce())


@pytest.mark.parametrize("sizes", [[1, [2, 3]], [[2], [3, 4]], None, [None]])
def test_sizes_that_are_no_list_of_numbers(sizes):
    with pytest.raises(ValueError, match=r"^sizes must be 1 to 8 whole numbers of at least 1"):
        jf.Torus(sizes, hop="1ns")


def test_schedules_have_no_distances(tmp_path):
    (tmp_path / "a.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 5\n}\n")
    network = jf.Hierarchy([replace(FAR, gamma=0)], distances=jf.Torus([4], "1ns"))
    with pytest.raises(ValueError, match="a schedule can not have distances; only collectives can"):
        jf.ScheduleCase(tmp_path / "a.goal", network=network)
