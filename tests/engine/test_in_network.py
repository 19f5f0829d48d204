"""In-network reduction: switches that combine, against machines of ranks and switches."""

import random
from dataclasses import replace

import numpy as np
import pytest
from reference import textbook
from reference.collectives import random_network
from reference.links import Machine
from reference.programs import ProgramRun
from reference.public_noise import random_periodic, random_sources
from reference.realized import RealizedNoise
from support.scale import at_most, scaled

import jitterfly as jf
from jitterfly.advice import known
from jitterfly.goal_export import goal_schedule
from jitterfly.steps import MESSAGE, OBSERVE, Step, digest_of_steps

OF_STEPS = {"step", "message"}
NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
RING = "d9acab4ab71cc964"
"""Digest of a ring's steps before they had switches."""


class Tree:
    """The switches above a group of ranks: each is given what all of them have posted."""

    def __init__(self, members):
        self.members, self.posted = members, {}

    def post(self, rank, arrival, data):
        assert rank not in self.posted
        self.posted[rank] = arrival, data

    def result(self):
        """When the last message has come, and the union of what no two of them have."""
        assert self.posted.keys() == set(self.members)
        union = [rank for _, data in self.posted.values() for rank in data]
        assert len(union) == len(set(union))
        return max(arrival for arrival, _ in self.posted.values()), frozenset(union)


def groups(ranks, width, stage):
    """Of nodes, or of the ranks with the same number in their nodes."""
    if stage == "between":
        return [list(range(j, ranks, width)) for j in range(width)]
    return [list(range(first, first + width)) for first in range(0, ranks, width)]


def machine_of_switches(run, noise, ranks, width, n, chunk_bytes, ticks, levels):
    """When each rank ends each cycle; through NVSwitch in nodes and other switches between them.

    `run`: network within nodes and between them, compute phase, and number of cycles.
    """
    near, far, work, cycles = run
    part = textbook.cut(n, width)
    chunk = min(part, chunk_bytes)
    now, rows = [0] * ranks, []
    for cycle in range(cycles):
        now = [noise.compute(i, t + noise.late(i, cycle), work, cycle) for i, t in enumerate(now)]
        held = [{block: frozenset([i]) for block in range(width)} for i in range(ranks)]
        number = 0
        for stage, net, up, down, above in (  # in the end a rank is given the whole vector
            ("in", near, n, chunk, 1), ("between", far, part, chunk, levels),
            ("out", near, chunk, n, 1),
        ):  # fmt: skip
            turns = 0
            for members in groups(ranks, width, stage):
                size = len(members)
                if size == 1:
                    continue
                turns = textbook.log2_up(size)
                trees = {block: Tree(members) for block in range(width)}
                last = []
                for place, i in enumerate(members):
                    port = members[(place + 1) % size]  # whose draws its message has
                    left = noise.send(i, now[i], net.cpu(up), cycle, number)
                    way = net.transit(up) + above * ticks
                    late = noise.transit_delay(left, "original", port, cycle, number, transit=way)
                    last.append(left + way + late)
                    for block, tree in trees.items():
                        mine = held[i][block] if stage != "out" or block == place else frozenset()
                        tree.post(i, left + way + late, mine)
                for place, i in enumerate(members):
                    top, _ = trees[0].result()
                    way, draw = net.transit(down) + above * ticks, number + turns + 1
                    late = noise.transit_delay(top, "original", i, cycle, draw, transit=way)
                    now[i] = noise.receive(i, top + way + late, net.cpu(down), cycle, draw)
                    own = {"in": [place], "between": [i % width], "out": range(width)}[stage]
                    for block in own:
                        held[i][block] = trees[block].result()[1]
            number += turns + 2 if turns else 0
        everyone = frozenset(range(ranks))
        assert all(one == dict.fromkeys(range(width), everyone) for one in held)
        rows.append(now)
    return rows


@pytest.mark.parametrize("number", range(at_most(60, 6)))
@pytest.mark.filterwarnings("ignore:.*counts nowhere")
def test_engine_equals_machines_of_switches(number):
    rng = random.Random(f"switches {number}")
    width, nodes = rng.choice([1, 1, 2, 3, 8]), rng.randint(1, 9)
    ranks, n = width * nodes, rng.choice([1, 8, 1000, 5000])
    pairs = [random_network(rng, jf, "ring_allreduce") for _ in range(2)]
    (near, meant_near), (far, meant_far) = pairs
    longest = max(net.transit(n) for _, net in pairs) + 10**6
    written, meant = random_sources(rng, jf, ranks, longest)
    kept = [k for k, one in enumerate(meant) if one.role not in OF_STEPS]
    levels, ticks, chunk = rng.randint(1, 3), rng.choice([0, 90_000]), rng.choice([1, 300, 10**6])
    radix = next(r for r in range(2, 100) if r**levels >= nodes)
    levels = next(h for h in range(1, 9) if radix**h >= nodes)
    work, cycles = rng.choice([0, 7_000_123]), rng.randint(1, 3)
    algorithm = jf.InNetworkAllreduce(node_ranks=width, radix=radix, switch_time=f"{ticks}ps",
                                      chunk_bytes=chunk)  # fmt: skip
    network = jf.Hierarchy([(width, near), far]) if width > 1 else far
    case = jf.Case(ranks, algorithm=algorithm, network=network, message_bytes=n, cycles=cycles,
                   noise=[written[k] for k in kept], compute_time=f"{work}ps")  # fmt: skip
    seed, realization = rng.getrandbits(64), rng.getrandbits(32)
    noise = RealizedNoise([meant[k] for k in kept], seed, realization)
    run = meant_near, meant_far, work, cycles
    expected = machine_of_switches(run, noise, ranks, width, n, chunk, ticks, levels)
    result = jf.simulate(case, 1, seed=seed, backend="cpu", first_realization=realization)
    assert result.ticks[0].tolist() == [max(row) for row in expected]
    times = jf.ready_times(case, seed=seed, realization=realization)[-1]
    assert np.rint(times * 1e12).astype(np.int64).tolist() == expected[-1]
    quiet = machine_of_switches(run, RealizedNoise([], 0, 0), ranks, width, n, chunk, ticks, levels)
    assert np.rint(result.noise_free * 1e12).tolist() == [max(row) for row in quiet]


def in_nodes_and_trees(me, size, n, intra_node, node_ranks, chunk_bytes):
    """CollNet's stages within nodes, with NCCL's trees between them: no switch."""
    width, place = node_ranks, me % node_ranks
    first, part, nodes, number = me - place, textbook.cut(n, width), size // width, 0
    chunks = max(textbook.cut(textbook.cut(part, 2), chunk_bytes), 1) * 2 if nodes > 1 else 1

    def of_part(j):
        return tuple(range(j % width * chunks, (j % width + 1) * chunks))

    for name, way, how in (("reduce-scatter", -1, "combine"), ("allgather", 1, "take")):
        sends, receives = [], []
        for d in range(1, width):
            to, of, draw = (place + d) % width, (place - d) % width, number + d - 1
            if intra_node == "chain":
                to, of = (place + way) % width, (place - way) % width
                block = place + d if way < 0 else place - d + 1
            else:
                block = place + d if way < 0 else place
            sends.append(textbook.Send(first + to, of_part(block), part, draw))
            receives.append(textbook.Receive(first + of, part, draw, how))
        if intra_node == "chain":
            ops = [op for pair in zip(sends, receives, strict=True) for op in pair]
        else:
            ops = sends + receives
        yield name, ops
        number += width - 1
        if way < 0 and nodes > 1:
            whole = [next(textbook.nccl_tree_allreduce(node, nodes, part, chunk_bytes))[1]
                     for node in range(nodes)]  # fmt: skip
            used = sorted({op.number for ops in whole for op in ops})
            ops = []
            for op in whole[me // width]:
                where = {"peer": op.peer * width + place, "number": number + used.index(op.number)}
                if isinstance(op, textbook.Send):
                    where["blocks"] = (place * chunks + op.blocks[0],)
                ops.append(replace(op, **where))
            yield "between nodes", ops
            number += len(used)


@pytest.mark.parametrize("number", range(at_most(30, 4)))
def test_stages_without_switches_are_messages(number, monkeypatch):
    rng = random.Random(f"stages {number}")
    width, nodes, n = rng.randint(2, 6), rng.randint(1, 6), rng.choice([8, 1000])
    ranks, chunk = width * nodes, rng.choice([30, 2**17])
    (near, meant_near), (far, meant_far) = (random_network(rng, jf, "") for _ in range(2))
    noise, meant = random_periodic(rng, jf, ranks)
    options = {"intra_node": rng.choice(["direct", "chain"]), "node_ranks": width,
               "chunk_bytes": chunk}  # fmt: skip
    algorithm = jf.InNetworkAllreduce(inter_node="tree", **options)
    case = jf.Case(ranks, algorithm=algorithm, network=jf.Hierarchy([(width, near), far]),
                   noise=[noise], message_bytes=n, compute_time="1us")  # fmt: skip
    monkeypatch.setattr(textbook, "staged", in_nodes_and_trees, raising=False)
    machine = Machine(((width, meant_near),), meant_far, tuple(range(ranks)))
    run = ProgramRun("staged", ranks, machine, n, goal="allreduce", options=options, seed=number,
                     sources=(meant,), work=10**6)  # fmt: skip
    expected = np.array(run.execute(), dtype=np.int64)
    times = jf.ready_times(case, seed=number)
    np.testing.assert_array_equal(np.rint(times * 1e12).astype(np.int64), expected)


def one_switch(near, work, cycles, noise, ranks, up, down, ticks):
    """When each rank ends each cycle: all post to one switch, and get what all have posted."""
    now, rows = [0] * ranks, []
    last = textbook.log2_up(ranks) + 1
    for cycle in range(cycles):
        now = [noise.compute(i, t + noise.late(i, cycle), work, cycle) for i, t in enumerate(now)]
        tree = Tree(range(ranks))
        for i in range(ranks):
            left = noise.send(i, now[i], near.cpu(up), cycle, 0)
            way, port = near.transit(up) + ticks, (i + 1) % ranks
            late = noise.transit_delay(left, "original", port, cycle, 0, transit=way)
            tree.post(i, left + way + late, [i])
        top, everyone = tree.result()
        assert everyone == frozenset(range(ranks))
        for i in range(ranks):
            way = near.transit(down) + ticks
            late = noise.transit_delay(top, "original", i, cycle, last, transit=way)
            now[i] = noise.receive(i, top + way + late, near.cpu(down), cycle, last)
        rows.append(now)
    return rows


@pytest.mark.parametrize("made", [jf.InNetworkReduceScatter, jf.InNetworkAllgather])
@pytest.mark.parametrize("number", range(at_most(30, 4)))
@pytest.mark.filterwarnings("ignore:.*counts nowhere")
def test_halves_on_one_switch(made, number):
    """Tick for tick with any noise, and in closed form without: vectors up, or all blocks down."""
    rng = random.Random(f"{made.__name__} {number}")
    ranks, n = rng.randint(2, 17), rng.choice([1, 8, 1000, 5000])
    chunk = rng.choice([1, 300, 10**6])
    network, meant_network = random_network(rng, jf, "ring_allreduce")
    longest = meant_network.transit(n * ranks) + 10**6
    written, meant = random_sources(rng, jf, ranks, longest)
    kept = [k for k, one in enumerate(meant) if one.role not in OF_STEPS]
    ticks, work, cycles = rng.choice([0, 90_000]), rng.choice([0, 7_000_123]), rng.randint(1, 3)
    case = jf.Case(ranks, algorithm=made(f"{ticks}ps", chunk), network=network, message_bytes=n,
                   cycles=cycles, noise=[written[k] for k in kept],
                   compute_time=f"{work}ps")  # fmt: skip
    up, down = n, min(textbook.cut(n, ranks), chunk)
    if made is jf.InNetworkAllgather:
        up, down = min(n, chunk), ranks * n
    seed, realization = rng.getrandbits(64), rng.getrandbits(32)
    noise = RealizedNoise([meant[k] for k in kept], seed, realization)
    expected = one_switch(meant_network, work, cycles, noise, ranks, up, down, ticks)
    result = jf.simulate(case, 1, seed=seed, backend="cpu", first_realization=realization)
    assert result.ticks[0].tolist() == [max(row) for row in expected]
    quiet = replace(case, noise=(), cycles=1)
    form = round(jf.theory.collective_completion(quiet) * 1e12)
    assert form == quiet.noise_free_ticks()[0]


def test_both_halves_are_the_allreduce_on_one_node():
    near = jf.LogGOPS(L="1us", o="200ns", G="3ps")
    cases = [jf.Case(8, algorithm=algorithm, network=near, message_bytes=size)
             for algorithm, size in ((jf.InNetworkReduceScatter(chunk_bytes=1024), 2**20),
                                     (jf.InNetworkAllgather(chunk_bytes=1024), 2**17),
                                     (jf.InNetworkAllreduce(8, chunk_bytes=1024), 2**20))
             ]  # fmt: skip
    scatter, gather, both = (case.noise_free_ticks()[0] for case in cases)
    assert both == scatter + gather


def test_nvls_is_a_candidate_on_one_node():
    nodes = jf.Hierarchy([(8, NETWORK), NETWORK])
    for collective in ("allgather", "reduce_scatter"):
        make = known(collective)["nvls"].make
        assert make(8, nodes, 64).kind == f"in_network_{collective}"
        with pytest.raises(ValueError, match="16 ranks are not at one switch, which has the 8 of"):
            make(16, nodes, 64)
        with pytest.raises(ValueError, match="a node has one rank"):
            make(8, NETWORK, 64)


@pytest.mark.parametrize("kind", ["in_network_reduce_scatter", "in_network_allgather"])
def test_a_switch_of_a_node_has_only_its_ranks(kind):
    """By kind as by candidate: else ranks of other nodes would be as near as those of one."""

    def case(ranks, network, algorithm=kind):
        return jf.Case(ranks, algorithm=algorithm, network=network)

    nodes = jf.Hierarchy([(8, NETWORK), NETWORK])
    for ranks in (9, 64):
        with pytest.raises(ValueError, match=f"{ranks} ranks are not at one switch, which has"):
            case(ranks, nodes)
    with pytest.raises(ValueError, match=f"{kind} must have .* in one node: .* 'block'"):
        case(2, replace(nodes, placement=[0, 8]))
    assert case(8, nodes).noise_free_ticks() == case(8, NETWORK).noise_free_ticks()
    assert case(64, NETWORK).noise_free_ticks() > 0
    for width, words in ((3, "in one node: .* as node_ranks"), (16, "16 ranks are not at one")):
        both = jf.InNetworkAllreduce(node_ranks=width)
        with pytest.raises(ValueError, match=words):
            case(48, nodes, both)
        assert case(48, nodes, replace(both, intra_node="direct", inter_node="tree"))


def test_switches_between_nodes_are_at_no_distance():
    nodes = jf.Hierarchy([(8, NETWORK), NETWORK], distances=jf.Torus([4], "100ns"))
    flat = jf.Hierarchy([NETWORK], distances=jf.Torus([32], "100ns"))
    for network, algorithm in ((nodes, jf.InNetworkAllreduce(8)), (flat, jf.InNetworkAllreduce()),
                               (flat, jf.InNetworkAllgather())):  # fmt: skip
        with pytest.raises(ValueError, match=r"^network: distances must be left out with in_"):
            jf.Case(32, algorithm=algorithm, network=network)
    within = [jf.Case(ranks, algorithm=jf.InNetworkAllreduce(8, inter_node="tree"), network=nodes)
              for ranks in (8, 32)]  # fmt: skip
    assert within[0].noise_free_ticks() < within[1].noise_free_ticks()


@pytest.mark.parametrize("number", range(at_most(60, 12)))
@pytest.mark.filterwarnings("ignore:.*counts nowhere")
def test_closed_form_is_the_engine_s_time(number):
    """On networks of one level: a post, the way of all bytes, that of a chunk, and a receive."""
    rng = random.Random(f"form {number}")
    width, nodes = rng.choice([1, 1, 2, 3, 8]), rng.randint(1, 40)
    network, _ = random_network(rng, jf, "ring_allreduce")
    radix, chunk, ticks = rng.randint(2, 9), rng.randint(1, 900), rng.choice([0, 10**5])
    algorithm = jf.InNetworkAllreduce(width, radix=radix, switch_time=f"{ticks}ps",
                                      chunk_bytes=chunk)  # fmt: skip
    case = jf.Case(width * nodes, algorithm=algorithm, network=network, message_bytes=5000)
    found = round(jf.theory.collective_completion(case) * 1e12)
    assert found == jf.simulate(case, 1, backend="cpu").ticks[0, 0]
    for fields in ({"intra_node": "chain"}, {"inter_node": "tree"}):
        case = replace(case, ranks=16, algorithm=jf.InNetworkAllreduce(4, **fields))
        with pytest.raises(ValueError, match=r"must be (nvls|sharp) for this closed form"):
            jf.theory.collective_completion(case)


@pytest.mark.parametrize(("ranks", "levels"), [(2, 1), (1000, 2), (4096, 3)])
def test_time_without_noise(ranks, levels):
    """A rank sends, the data go up to the last byte, the last chunk comes down and is received."""
    n, chunk, switch = 100_000, 1000, 150_000
    algorithm = jf.InNetworkAllreduce(radix=32 if levels < 3 else 16, switch_time=f"{switch}ps",
                                      chunk_bytes=chunk)  # fmt: skip
    case = jf.Case(ranks, algorithm=algorithm, network=NETWORK, message_bytes=n)
    ticks = 2 * 200_000 + 2 * 10**6 + (n - 1 + chunk - 1) * 100 + 2 * levels * switch
    assert jf.simulate(case, 1).noise_free[0] == pytest.approx(ticks * 1e-12, rel=1e-12)


@pytest.mark.parametrize("nodes", [1, 4])
def test_nvls_sends_and_receives_the_whole_vector_within_a_node(nodes):
    """Each rank's n bytes go up to NVSwitch, and n bytes of the result come down to it."""
    n, chunk = 2**20, 2**10
    near, free = jf.LogGOPS(L="1us", o="200ns", G="3ps"), jf.Hockney("0s", "0s")
    algorithm = jf.InNetworkAllreduce(node_ranks=8, chunk_bytes=chunk)
    case = jf.Case(8 * nodes, algorithm=algorithm, network=jf.Hierarchy([(8, near), free]),
                   message_bytes=n)  # fmt: skip
    ticks = 4 * 200_000 + 4 * 10**6 + 2 * (n + chunk - 2) * 3
    assert case.noise_free_ticks().tolist() == [ticks]


def test_late_ranks_delay_it_by_the_latest():
    """A maximum of independent arrivals: ``mean H_N``, and P(at most x) = (1 - e^-x)^N.

    False alarms: 1 in 10^6 for each of the two.
    """
    ranks, count = 100, scaled(20_000, least=2000)
    case = jf.Case(ranks, algorithm=jf.InNetworkAllreduce(), network=NETWORK,
                   noise=["kind=arrival,delay=exponential(mean=10us)"])  # fmt: skip
    result = jf.simulate(case, count, seed=5)
    late = (result.samples[:, 0] - result.noise_free[0]) / 10e-6
    harmonic = sum(1 / k for k in range(1, ranks + 1))
    deviation = sum(1 / k**2 for k in range(1, ranks + 1)) ** 0.5
    assert abs(late.mean() - harmonic) < 4.9 * deviation / count**0.5
    uniform = np.sort((1 - np.exp(-late)) ** ranks)
    distance = np.abs(uniform - (np.arange(count) + 0.5) / count).max() + 0.5 / count
    assert 2 * np.exp(-2 * count * distance**2) > 1e-6  # Kolmogorov, Massart


def test_what_switches_do_is_no_step_of_a_rank():
    """Noise of each step or message would hit it; GOAL and congestion know no switches."""
    case = jf.Case(8, algorithm=jf.InNetworkAllreduce(), network=NETWORK)
    for noise in ("kind=step,delay=1us,probability=0.1", "kind=message,delay=1us,probability=0.1",
                  "kind=weather,delay=exponential(mean=1us)"):  # fmt: skip
        with pytest.raises(ValueError, match=r"noise\.0 .* left out with in_network_allreduce"):
            replace(case, noise=[noise])
    assert replace(case, noise=["kind=step,delay=1us,during=compute"], compute_time="1us")
    with pytest.raises(ValueError, match="has no switches that combine"):
        goal_schedule(case)
    with pytest.raises(ValueError, match="have no receivers, and so no levels"):
        case.algorithm.message_levels(8)
    with pytest.raises(ValueError, match=r"a multiple of node_ranks, .* got 9 ranks"):
        replace(case, ranks=9, algorithm=jf.InNetworkAllreduce(node_ranks=4))


def test_slow_links_and_shared_cards_are_those_of_one_rank():
    """A post has its sender's link, a result its receiver's; as many as post share a card."""
    algorithm = jf.InNetworkAllreduce(node_ranks=2, intra_node="direct")
    near, far = jf.Hockney("0s", "0s"), jf.Hockney("1us", "1ns")
    machine = jf.Hierarchy([(2, near), far], shared_card=True)
    case = jf.Case(4, algorithm=algorithm, network=machine, message_bytes=2000)
    assert jf.simulate(case, 1).noise_free[0] == pytest.approx(2e-6 + 2 * 2 * 1e-6)
    slow = replace(case, L_factor=jf.imbalance.SlowRanks(3, [2]))
    assert jf.simulate(slow, 1).noise_free[0] == pytest.approx((3 + 3) * 1e-6 + 4e-6)
    results = jf.ready_times(slow)[-1]  # its node has the part of rank 2 later
    assert results.tolist() == pytest.approx([8e-6, 8e-6, 10e-6, 10e-6])


def test_digests_of_other_steps_are_those_of_older_stores():
    steps = jf.RingAllreduce().steps(4, 8)
    assert digest_of_steps(steps) == RING
    posts = [step for step in jf.InNetworkAllreduce().steps(4, 8) if step.kind == MESSAGE]
    assert digest_of_steps(posts) != digest_of_steps([p._replace(switch=None) for p in posts])
    # What a label says is no field.
    labels = [Step(OBSERVE, label=text) for text in ("a, switch=None)", "a)")]
    assert digest_of_steps(labels[:1]) != digest_of_steps(labels[1:])
    assert Step(MESSAGE).switch is None
