"""What a shared network card carries at once: its bandwidth, or so many times it as steps overlap.

The times of messages are those of a second statement of the links, in plain Python, on ranks that
no noise delays; its end is compared with the engine's.
"""

from collections import defaultdict

import numpy as np
import pytest
from reference.collectives import plain_table
from support.scale import scaled

import jitterfly as jf

IN_STEP = {
    "binomial_broadcast", "binomial_scatter", "chain_broadcast", "linear_exscan",
    "linear_scan", "linear_scatter",
    "ring_allgather", "ring_allreduce", "ring_reduce_scatter", "scatter_allgather_broadcast",
    "segmented_ring_allreduce",
}  # fmt: skip
"""Those of which the documentation says that no card carries more than its bandwidth."""


def machine(rng, placement="block"):
    size, nodes = int(rng.integers(2, 9)), int(rng.integers(2, 7))
    inner = jf.LogGOPS(L=1e-7, o=0, G=int(rng.integers(1, 60)) * 1e-12)
    outer = jf.LogGOPS(L=float(rng.integers(1, 20)) * 1e-7, o=0, G=1e-10)
    return size * nodes, jf.Hierarchy([(size, inner), outer], placement=placement, shared_card=True)


def carried(case):
    """By node and direction: begin, end, share of the bandwidth and step of each message."""
    compiled, node = case.compiled_steps, case.network.slots(case.ranks) // case.network.spans[0]
    busy, free = np.zeros((2, case.ranks), np.int64)
    came = np.full(case.ranks, -(2**62))
    held, found, turn = {}, defaultdict(list), 0
    for number, step in enumerate(compiled.steps):
        if not len(compiled.table.of_step[number]):
            continue
        messages = compiled.listed_messages(number).tolist()
        far = [(node[a], node[b]) for a, b, _ in messages if node[a] != node[b]]
        for _ in range(step.repeat):
            turn += 1
            for a, b, entry in messages if step.sends else ():
                cost, begin = compiled.table.entries[entry], max(busy[a], free[a])
                busy[a], free[a] = begin + cost.send, begin + cost.gap
                held[a, b, step.place] = begin, busy[a], turn
            for a, b, entry in messages if step.receives else ():
                cost, (begin, left, sent) = (
                    compiled.table.entries[entry],
                    held.pop((a, b, step.place)),
                )
                came[b] = max(left + cost.transit, came[b] + cost.gap)
                busy[b] = max(busy[b], came[b]) + cost.receive
                if node[a] != node[b] and cost.gap:
                    leave, enter = (sum(x[i] == node[end] for x in far)
                                    for i, end in enumerate((a, b)))  # fmt: skip
                    share = 1 / max(leave, enter)
                    found[node[a], "out"].append((begin, begin + cost.gap, share, sent))
                    found[node[b], "in"].append((came[b] - cost.gap, came[b], share, sent))
    assert busy.max() == round(jf.simulate(case, 1).noise_free[-1] * 1e12)
    return found


def at_once(intervals):
    """At each time what the messages under way take of the bandwidth, and of how many steps."""
    events = [(begin, 1, share, step) for begin, _, share, step in intervals]
    events += [(end, -1, share, step) for _, end, share, step in intervals]
    under = defaultdict(int)
    taken = 0.0
    for _, sign, share, step in sorted(events, key=lambda event: event[:2]):
        taken += sign * share
        under[step] += sign
        yield taken, sum(count > 0 for count in under.values())


@pytest.mark.parametrize("placement", ["block", "cyclic"])
@pytest.mark.parametrize("kind", jf.Algorithm.kinds())
def test_a_card_carries_so_many_times_its_bandwidth_as_steps_overlap(kind, placement):
    rng = np.random.default_rng(sum(map(ord, kind)))
    for _ in range(scaled(20, least=2)):
        ranks, network = machine(rng, placement)
        try:
            algorithm = jf.Algorithm.from_dict(plain_table(kind))
            case = jf.Case(ranks, network=network, algorithm=algorithm, message_bytes=2**18)
        except ValueError:
            continue  # powers of two alone
        for intervals in carried(case).values():
            for taken, steps in at_once(intervals):
                assert taken < min(steps, network.spans[0]) + 1e-9
                assert taken < 1 + 1e-9 or placement != "block" or kind not in IN_STEP


@pytest.mark.parametrize(("kind", "size", "nodes", "most"), [
    ("ring_allreduce", 8, 4, 1.0),
    ("knomial_broadcast", 5, 3, 2.0),
    ("binomial_reduce", 5, 2, 3.0),  # its ranks send at once, each in a step of its own
    ("linear_gather", 8, 2, 8.0),
])  # fmt: skip
def test_on_quiet_ranks_a_card_may_carry_more(kind, size, nodes, most):
    """The figures of docs/model.md."""
    network = jf.Hierarchy([(size, "L=100ns,o=0,G=0.02ns"), "L=1us,o=0,G=0.1ns"], shared_card=True)
    case = jf.Case(size * nodes, network=network, algorithm=kind, message_bytes=2**18)
    found = max(taken for own in carried(case).values() for taken, _ in at_once(own))
    assert found == pytest.approx(most, abs=1e-9)
