"""Random cases of all collectives as a user writes them, and their runs in the reference."""

import numpy as np

from . import textbook
from .links import Machine, Network
from .programs import ProgramRun
from .public_delays import seconds
from .public_noise import random_sources

COLLECTIVES = ("allreduce", "barrier", "broadcast", "allgather", "alltoall", "scatter",
               "reduce_scatter", "reduce", "gather", "scan", "exscan")  # fmt: skip
GOALS = {"butterfly": "allreduce"}
for _kind in vars(textbook):
    for _goal in COLLECTIVES:  # of two, such as the scatters, the last one
        if _kind.endswith(f"_{_goal}") and not _kind.startswith("_"):
            GOALS[_kind] = _goal
"""What the functions of textbook.py are to do, as their names say."""
IRREGULAR = {_kind: _goal for _kind in vars(textbook) for _goal in COLLECTIVES
             if _kind.endswith(f"_{_goal}v")}  # fmt: skip
"""The same of those with counts; of two, such as the scatters, the last one."""


def random_options(rng, kind, ranks, n):
    """Parameters of an algorithm of its own; redundant exchanges are not among them."""
    if kind in IRREGULAR:
        return random_counts(rng, kind, ranks)
    if kind == "hierarchical_allreduce":
        return random_hierarchy(rng, ranks, n)
    if kind.startswith("hierarchical"):
        width = rng.randint(1, ranks)
        nodes, goal = textbook.cut(ranks, width), GOALS[kind]
        each = width * n if goal in ("gather", "scatter", "allgather") else n
        parts = {"inter_node": (goal, nodes, each), "intra_node": (goal, width, n)}
        if goal == "allgather":
            del parts["intra_node"]
            parts |= {"gather": ("gather", width, n), "broadcast": ("broadcast", width, ranks * n)}
        if goal == "scan":
            parts["broadcast"] = ("broadcast", width, n)
        options = {"release": rng.choice(["broadcast", "barrier"])} if goal == "barrier" else {}
        return {"node_ranks": width} | options | {
            name: random_part(rng, *part) for name, part in parts.items() if rng.random() < 0.6
        }  # fmt: skip
    if kind == "nonoverlapping_reduce_scatter":
        return {one: random_part(rng, one, ranks, n) for one in ("reduce", "scatter")}
    if kind == "reduce_broadcast_allreduce":
        return {one: random_part(rng, one, ranks, n) for one in ("reduce", "broadcast")
                if rng.random() < 0.4}  # fmt: skip
    if kind == "linear_alltoall":
        return {"window": rng.choice([1, 2, 3, 8, rng.randint(1, 50)])}
    if kind == "gather_broadcast_allgather":
        parts = ("gather", n), ("broadcast", ranks * n)
        return {one: random_part(rng, one, ranks, each) for one, each in parts
                if rng.random() < 0.6}  # fmt: skip
    if kind in ("bruck_allgather", "bruck_alltoall", "dissemination_barrier",
                "rabenseifner_allreduce"):  # fmt: skip
        return {"radix": rng.choice([2, 2, 3, 4, rng.randint(2, 41)])}
    if kind.startswith(("knomial", "recursive_multiplying")):
        return {"radix": rng.choice([2, 3, 4, rng.randint(2, 41)])}
    if kind == "double_binary_tree_allreduce":
        return {"segment_bytes": -(-n // rng.randint(2, 12))}
    if kind == "nccl_tree_allreduce":
        channels = rng.randint(1, 5)
        return {
            "chunk_bytes": -(-textbook.cut(n, channels) // rng.randint(1, 4)),
            "channels": channels,
            "node_ranks": rng.choice([1, rng.randint(1, ranks)]),
        }
    if kind == "binary_tree_reduce":
        return {"segment_bytes": -(-n // rng.randint(1, 9)), "in_order": rng.random() < 0.5}
    if kind == "binary_tree_broadcast":
        numbering = rng.choice(["heap", "levels"])
        return {"segment_bytes": -(-n // rng.randint(1, 9)), "numbering": numbering}
    if kind.startswith(("chain", "circulant", "split_binary")):
        return {"segment_bytes": -(-n // rng.randint(1, 9))}
    if kind == "scatter_allgather_broadcast":
        return {"allgather": rng.choice(["ring", "recursive_doubling"])}
    if kind == "pairwise_alltoall":
        return {"partners": rng.choice(["shift", "xor"])}
    if kind == "segmented_ring_allreduce":
        return {"segment_bytes": -(-textbook.cut(n, ranks) // rng.randint(1, rng.choice([3, 9])))}
    return {}


def plain_table(kind):
    """The table of a kind with nothing but what it needs."""
    return {"kind": kind} | ({"counts": "lognormal(mean=20,sigma=1)"} if kind in IRREGULAR else {})


def random_counts(rng, kind, ranks):
    """Counts of which some, often most or all, are 0 or alike."""
    few = [rng.randint(0, rng.choice([3, 300])) for _ in range(rng.randint(1, 6))]
    few += [0] * rng.choice([0, 1, 9])

    def row():
        return [rng.choice(few) for _ in range(ranks)]

    counts = [row() for _ in range(ranks)] if IRREGULAR[kind] == "alltoall" else row()
    window = {"window": rng.randint(1, 50)} if kind == "linear_alltoallv" else {}
    return {"counts": counts} | window


def random_part(rng, goal, ranks, n):
    """Any algorithm of a collective, as a part of another one."""
    kind = rng.choice([kind for kind, one in GOALS.items() if one == goal])
    if kind == "circulant_allgather":  # segments of what several ranks have put in are not followed
        return {"kind": kind, "segment_bytes": n}
    return {"kind": kind} | random_options(rng, kind, ranks, n)


def random_hierarchy(rng, ranks, n):
    """Trees or rings in nodes, and any allreduce between them, which may be hierarchical itself."""
    width = rng.randint(1, ranks)
    leaders = rng.randint(1, ranks % width or width)
    options = {"node_ranks": width, "leaders": leaders}
    if rng.random() < 0.5:
        width = rng.choice([width for width in range(1, ranks + 1) if ranks % width == 0])
        options, leaders = {"node_ranks": width, "intra_node": "ring"}, width
    if rng.random() < 0.7:
        kind = rng.choice([kind for kind, goal in GOALS.items()
                           if goal == "allreduce" and kind != "butterfly"])  # fmt: skip
        nodes, part = textbook.cut(ranks, width), textbook.cut(n, leaders)
        options["inter_node"] = {"kind": kind} | random_options(rng, kind, nodes, part)
    return options


def random_pair(rng, jf, kind, *, levels=False):
    """A `jf.Case`, the `ProgramRun` it must mean, and its seed and realization.

    With `levels` on a machine of nodes, racks and so on, where there are no copies inside.
    """
    # Of few ranks more often: a ring of 40 takes 25 times the messages of one of 8.
    ranks = rng.randint(1, rng.choice([8, 16, 40]))
    n = rng.choice([1, 8, 1000, rng.randint(1, 5000)])
    network, exact = random_network(rng, jf, kind)
    if levels:
        network, machine = random_machine(rng, jf, kind, ranks, network, exact)
    parts = [exact, *(part for _, part in machine.levels)] if levels else [exact]
    gaps = any(part.g for part in parts)
    forwards = textbook.log2_up(ranks)
    options = random_options(rng, kind, ranks, n)
    algorithm, after, within, forward = {"kind": kind} | options, 0, (), 0
    goal = (GOALS | IRREGULAR)[kind]
    if goal == "allreduce" and kind != "hierarchical_allreduce" and rng.random() < 0.5:
        after = rng.choice([forwards, rng.randint(0, forwards)])
        # Beyond one forward the model does not wait for the gap between messages.
        forward = rng.choice([0, 1_000, 12_345]) if after and not gaps else 0
        if gaps:
            after = 0
        algorithm |= {"exchanges_after": after, "forward_cost": seconds(forward)}
    if kind == "butterfly" and not levels and rng.random() < 0.7:
        _, k = textbook.largest_power(ranks)
        within = tuple(level for level in range(1, k) if rng.random() < rng.choice([0.5, 1]))
        algorithm["copy_levels"] = list(within) or None
    cycles, work = rng.randint(1, 3), rng.choice([0, 1, 10**6, 7_000_123])
    most = n * max(np.sum(options.get("counts", 1)), 1)  # bytes of a message
    longest = max(part.transit(int(most)) for part in parts)
    noise, sources = random_sources(rng, jf, ranks, longest)
    case = jf.Case(ranks, algorithm=jf.Algorithm.from_dict(
        {key: value for key, value in algorithm.items() if value is not None}),
        network=network, noise=noise, message_bytes=n, cycles=cycles, compute_time=seconds(work),
        observe=rng.choice(["completion", "rounds"]))  # fmt: skip
    seed, realization = rng.getrandbits(64), rng.getrandbits(32)
    meant = machine if levels else exact
    run = ProgramRun(kind, ranks, meant, n, goal=goal, within=within, after=after,
                     cycles=cycles, work=work, forward=forward, sources=sources, seed=seed,
                     realization=realization, options=options)  # fmt: skip
    return case, run, (seed, realization)


def random_machine(rng, jf, kind, ranks, network, exact):
    """A machine as it is written and as it is meant, with this network outside."""
    sizes = [rng.randint(1, 6) for _ in range(rng.randint(0, 3))]
    inside = [random_network(rng, jf, kind) for _ in sizes]
    together, spans = 1, []
    for size in sizes:
        together *= size
        spans.append(together)
    placement, slots = random_placement(rng, ranks, sizes)
    levels = [(size, written) for size, (written, _) in zip(sizes, inside, strict=True)]
    machine = Machine(tuple(zip(spans, (meant for _, meant in inside), strict=True)), exact,
                      tuple(slots))  # fmt: skip
    return jf.Hierarchy([*levels, network], placement=placement), machine


def random_placement(rng, ranks, sizes):
    """As it is written, and the slot of each rank; `sizes`: of the levels but the outermost."""
    placement = rng.choice(["block", "cyclic", "given"])
    slots = list(range(ranks))
    if placement == "given":
        placement = slots = rng.sample(range(3 * ranks), ranks)
    elif placement == "cyclic" and sizes:  # a rank in each node in turn
        nodes = [range(first, first + sizes[0]) for first in range(0, ranks, sizes[0])]
        slots = [node[place] for place in range(sizes[0]) for node in nodes][:ranks]
    return placement, slots


def random_network(rng, jf, kind):
    """A network as it is written and as it is meant; its times are whole ticks."""
    latency, per_byte = rng.choice([(0, 0), (100_000, 1_000), (1_000_000, 100), (7, 3), (1, 0)])
    gamma = rng.choice([0, 1, 100])
    if rng.random() < 0.4:
        network = jf.Hockney(seconds(latency), seconds(per_byte), gamma=seconds(gamma))
        return network, Network(L=latency, G=per_byte, gamma=gamma, less=0)
    overhead, each = rng.choice([(0, 0), (1_000, 0), (50_000, 7)])
    gap = 0 if kind == "butterfly" else rng.choice([0, 0, 5, 60_000, 2_000_000])
    network = jf.LogGOPS(L=seconds(latency), o=seconds(overhead), g=seconds(gap),
                         G=seconds(per_byte), O=seconds(each), gamma=seconds(gamma))  # fmt: skip
    exact = Network(overhead, each, latency, per_byte, gap, gamma)
    return network, exact


def check_ready_times(times, rows):
    """Ready times in seconds are the reference's, in ticks, on those ranks that have one."""
    for found, row in zip(times, rows, strict=True):
        there = [rank for rank, t in enumerate(row) if t is not None]
        ticks = np.rint(found[there] * 1e12).astype(np.int64)
        np.testing.assert_array_equal(ticks, [row[rank] for rank in there])
