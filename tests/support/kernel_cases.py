"""Programs under every kind of noise, for tests of the kernels.

Costs and noise are such that a message is delayed now and then, copies are adopted and levels
skipped.
"""

import itertools
import random
from dataclasses import replace

from reference import (
    Costs,
    Jitter,
    MessageDelay,
    OnOff,
    PeriodicNoise,
    RenewalNoise,
    Stationary,
    StepDelay,
    TraceNoise,
    Weather,
    delays,
)
from reference.cases import EngineCase
from reference.noise import Intervals

COSTS = Costs(send=900, receive=1100, transit=1_000_000, combine=800, work=3_000_000)
PERIODIC = PeriodicNoise(period=10**7, duration=3 * 10**6)
JITTER = Jitter(duration=500_000, survival=(2**61, 2**58, 2**54))
ASKING = replace(COSTS, patience=1_100_000, ask=700, request=300_000)
SPARSE = (2, 3, 6, 10, 13)


def smooth(scale):
    """About an exponential distribution: log-linear in the distance from the longer end."""
    median = scale * 2 // 3
    octaves = [(63 * 64 - cell) * scale * 2 // 3 // 64 for cell in range(delays.CELLS + 1)]
    tail = [median + later - octaves[-1] for later in octaves]
    body = [median * cell // delays.CELLS for cell in range(delays.CELLS)]
    return delays.Smooth(words=(*tail, *body, median))


SMOOTH = smooth(400_000)
RARE = delays.Constant(2**60, ticks=2_000_000)
SAMPLES = delays.Samples(values=(9_000_000, 3_000_000, 500_000, 40, 0))
PIECES = delays.Pieces(
    edges=(0, 2**52, 2**60, 2**63, 3 * 2**62),
    top=(8_000_000, 2_000_000, 700_000, 300, 300),
    drop=(6_000_000, 1_200_000, 0, 0, 299),
)
GAPS = delays.Samples(values=(20_000_000, 9_000_000, 4_000_000, 30_000, 1))
RENEWAL = RenewalNoise(GAPS, SAMPLES)
# Longer than 2^32 ticks, and steeper: more than the engine's short words hold.
LONG = smooth(2**40)
STEEP = delays.Pieces(
    edges=(0, 2**62, 2**62 + 2**44), top=(9_000_000, 8_000_000, 300), drop=(900_000, 7_999_000, 9)
)
FOUND = RenewalNoise(smooth(6_000_000), PIECES, Stationary(2**62, SAMPLES, GAPS))
TRACE = TraceNoise(
    ((0, 400_000), (3_000_000, 5_500_000), (5_500_001, 5_600_000), (17_000_000, 19_000_000)),
    length=19_000_001,
)
# In the first cycle, and for a time between two steps.
EARLY = {"begin": 1_500_000, "end": 4_500_000}
LATE = {"begin": 4_000_000}


def explicit(ranks):
    rng = random.Random("phases")
    phases = tuple(rng.randrange(PERIODIC.period) for _ in range(ranks))
    return replace(PERIODIC, phases=phases)


def offsets(ranks):
    rng = random.Random("offsets")
    return replace(TRACE, offsets=tuple(rng.randrange(TRACE.length) for _ in range(ranks)))


def everything(ranks):
    """Two sources of each role, with scopes, windows and phases of the cycle of all kinds."""
    few, machine = {"node_ranks": min(4, ranks)}, {"node_ranks": ranks}
    compute, communication = {"in_communication": False}, {"in_compute": False}
    return (
        StepDelay(SMOOTH.with_last(2**61), **few),
        replace(PERIODIC, stationary=True, **machine, **LATE),
        replace(offsets(ranks), **communication),
        MessageDelay(PIECES.with_last(2**60), **few, **EARLY),
        replace(RENEWAL, **few, **EARLY),
        replace(JITTER, **machine),
        StepDelay(RARE, at_send=True, **LATE),
        replace(PERIODIC, period=9_999_999, duration=1_000_000, **compute),
        replace(FOUND, **compute),
        MessageDelay(SAMPLES.with_last(2**59)),
        replace(JITTER, duration=70_000, **LATE),
        replace(TRACE, **few, **EARLY),
    )


def in_nodes(sources, ranks, sizes):
    """The same sources, whose nodes have these sizes in turn; no offsets or phases are given."""
    sizes = itertools.cycle(sizes)
    plain = (replace(s, offsets=None) if getattr(s, "offsets", None) else s for s in sources)
    return tuple(replace(source, node_ranks=min(next(sizes), ranks)) for source in plain)


# One periodic source and one jitter have kernels of their own, all else shares the general ones.
QUICK_NOISES = {
    "none": lambda ranks: (),
    "fresh": lambda ranks: (PERIODIC,),
    "stationary": lambda ranks: (replace(PERIODIC, stationary=True),),
    "machine": lambda ranks: (replace(PERIODIC, node_ranks=ranks),),
    "nodes": lambda ranks: (replace(PERIODIC, node_ranks=min(8, ranks), stationary=True),),
    "phases": lambda ranks: (explicit(ranks),),
    "compute": lambda ranks: (replace(PERIODIC, in_communication=False),),
    "communication": lambda ranks: (replace(PERIODIC, in_compute=False),),
    "dense": lambda ranks: (replace(PERIODIC, period=1000, duration=999),),
    "jitter": lambda ranks: (JITTER,),
    "fresh, jitter": lambda ranks: (PERIODIC, JITTER),
}
GENERAL_NOISES = {
    "renewal": lambda ranks: (RENEWAL,),
    "renewal, stationary": lambda ranks: (replace(FOUND, node_ranks=min(8, ranks)),),
    "renewal, machine": lambda ranks: (replace(RENEWAL, node_ranks=ranks, **LATE),),
    "trace": lambda ranks: (TRACE,),
    "trace, nodes": lambda ranks: (replace(TRACE, node_ranks=min(4, ranks), in_compute=False),),
    "trace, offsets": lambda ranks: (offsets(ranks),),
    "window": lambda ranks: (replace(PERIODIC, **EARLY), replace(JITTER, **LATE)),
    "two periodic": lambda ranks: (PERIODIC, replace(PERIODIC, period=7_654_321)),
    "two jitters": lambda ranks: (JITTER, replace(JITTER, node_ranks=min(2, ranks))),
    "receive": lambda ranks: (StepDelay(RARE), StepDelay(SMOOTH, node_ranks=min(8, ranks))),
    "drawn": lambda ranks: (StepDelay(PIECES), StepDelay(LONG), StepDelay(STEEP)),
    "send": lambda ranks: (StepDelay(PIECES, at_send=True, **EARLY),),
    "steps of a phase": lambda ranks: (
        StepDelay(SAMPLES, in_communication=False),
        StepDelay(delays.Counts(ticks=300_000, survival=(2**63, 2**60)), in_compute=False),
    ),
    "message": lambda ranks: (MessageDelay(SMOOTH.with_last(2**62)),),
    "messages": lambda ranks: (
        MessageDelay(RARE, node_ranks=ranks, **LATE),
        MessageDelay(SAMPLES.with_last(2**60)),
        JITTER,
    ),
    "everything": everything,
}
NOISES = {**QUICK_NOISES, **GENERAL_NOISES}
# Nodes whose ranks are no power of two, so that the last one has fewer. A list of its own, as a new
# source needs one: test_pinned.py goes through NOISES in turn.
NODES = {
    "periodic, nodes of 3": lambda ranks: (replace(PERIODIC, node_ranks=min(3, ranks)),),
    "jitter, nodes of 5": lambda ranks: (replace(JITTER, node_ranks=min(5, ranks)),),
    "nodes of 48": lambda ranks: in_nodes(everything(ranks), ranks, [48, 3, 6, 12, 7]),
    "drawn, nodes of 6": lambda ranks: in_nodes(
        (StepDelay(PIECES), StepDelay(SMOOTH), StepDelay(SAMPLES)), ranks, [6, 48]
    ),
}


def in_hosts(sources, ranks):
    """The same sources, each on other ranks: every second, third, ... one, and the last one."""
    return tuple(
        replace(s, hosts=tuple(rank % n == 1 or rank == ranks - 1 for rank in range(ranks)))
        for n, s in enumerate(sources, 2)
    )


HOSTS = {
    "periodic, hosts": lambda ranks: in_hosts((PERIODIC,), ranks),
    "jitter, hosts": lambda ranks: in_hosts((JITTER,), ranks),
    "drawn, hosts": lambda ranks: in_hosts((StepDelay(PIECES), MessageDelay(SMOOTH)), ranks),
    "everything, hosts": lambda ranks: in_hosts(everything(ranks), ranks),
}
WEATHERS = {
    "weather": lambda ranks: (Weather(SMOOTH), JITTER),
    "weather, parts of the way": lambda ranks: (
        Weather(PIECES, node_ranks=min(3, ranks)),
        PERIODIC,
        MessageDelay(SAMPLES.with_last(2**59)),
        # Behind the other one: here it is added for each cost after all else.
        Weather(smooth(10**12), way=COSTS.transit, node_ranks=ranks),
    ),
    "weather that changes": lambda ranks: (
        Weather(SMOOTH, node_ranks=min(3, ranks), holds=3_000_000),
        Weather(smooth(10**12), way=COSTS.transit, node_ranks=ranks, holds=777_777),
        JITTER,
    ),
    "lossy links": lambda ranks: (
        MessageDelay(SMOOTH, links=2**62, holds=2_345_678),
        MessageDelay(PIECES.with_last(2**63), links=2**63, node_ranks=min(4, ranks)),
        MessageDelay(RARE),
    ),
}


def in_bursts(sources, ranks):
    """The same sources, on and off by turns: each node, all ranks, and each rank by itself."""
    sizes = itertools.cycle([min(4, ranks), ranks, 1])
    start = Stationary(2**62, SAMPLES, GAPS)
    return tuple(
        replace(s, bursts=OnOff(SAMPLES, smooth(6_000_000), start, next(sizes)))
        if isinstance(s, Intervals)
        else s
        for s in sources
    )


BURSTS = {
    "periodic, bursts": lambda ranks: in_bursts((PERIODIC,), ranks),
    "renewal, bursts": lambda ranks: in_bursts((RENEWAL, PERIODIC, FOUND), ranks),
    "everything, bursts": lambda ranks: in_bursts(everything(ranks), ranks),
}
# Renewal noise that the lean kernel takes.
GAP_NOISES = {
    "gaps": lambda ranks: (RenewalNoise(smooth(10**7), delays.Constant(ticks=3 * 10**6)),),
    "gaps, nodes": lambda ranks: (
        RenewalNoise(
            smooth(10**7),
            delays.Constant(ticks=3 * 10**6),
            Stationary(2**62, smooth(60_000), smooth(10**7)),
            node_ranks=min(3, ranks),
        ),
    ),
}
ALL_NOISES = {**NOISES, **NODES, **HOSTS, **WEATHERS, **BURSTS, **GAP_NOISES}

PROGRAMS = {
    "butterfly": {},
    "after": {"after": 99},
    "forward cost": {"after": 4, "cycles": 2, "costs": replace(COSTS, forward=2000)},
    "full set": {"within": range(1, 30)},
    "sparse set": {"within": SPARSE},
    "mirrors": {"within": range(1, 30), "mirrors": (1, 2)},
    "far mirrors": {"within": SPARSE, "mirrors": (6, 1, 3), "after": 2},
    "on demand": {"asked": range(1, 31), "after": 2, "cycles": 2, "costs": ASKING},
    "both": {"within": range(1, 30), "after": 3},
    "cycles": {"within": range(1, 30), "cycles": 3},
    "everything": {
        "within": SPARSE,
        "after": 2,
        "cycles": 2,
        "costs": replace(COSTS, forward=2000),
    },
}


def make(program, noise, log2_ranks, **changes):
    """The case of these names, as far as it goes on 2^log2_ranks ranks."""
    options = {"costs": COSTS, "seed": 2**63 + 5, **PROGRAMS[program], **changes}
    options["within"] = tuple(level for level in options.get("within", ()) if level < log2_ranks)
    options["asked"] = tuple(level for level in options.get("asked", ()) if level <= log2_ranks)
    options["after"] = min(options.get("after", 0), log2_ranks)
    return EngineCase(log2_ranks, others=ALL_NOISES[noise](1 << log2_ranks), **options)


def delays_messages(noise):
    """Whether messages of a noise can overtake each other."""
    return any(source.role in ("jitter", "message") for source in ALL_NOISES[noise](1))


def any_noise(rng, ranks):
    """Periods of a few steps to more than 32 bits of ticks; intervals of one tick to nearly all."""
    period = rng.choice([rng.randint(2, 5000), 10**6, 10**7, 10**9, 5 * 10**9])
    duration = rng.choice([1, period - 1, rng.randint(1, period - 1), max(1, period // 100)])
    kind = rng.randrange(4)
    return PeriodicNoise(
        period,
        duration,
        stationary=rng.random() < 0.5,
        node_ranks=min(ranks, rng.choice([1, 1, 1, 4, ranks])),
        phases=tuple(rng.randrange(period) for _ in range(ranks)) if kind == 0 else None,
        in_compute=kind != 1,
        in_communication=kind != 2,
    )
