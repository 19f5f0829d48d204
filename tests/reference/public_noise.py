"""Random noise in the public API, each source with its meaning in ticks."""

from fractions import Fraction

import numpy as np

from . import delays
from .noise import (
    Jitter,
    MessageDelay,
    PeriodicNoise,
    RenewalNoise,
    Stationary,
    StepDelay,
    TraceNoise,
    poisson_survival,
)
from .public_delays import Opaque, random_distribution, random_thinned, seconds
from .random_noise import ROLES, random_nodes, share

LONGEST = 2_000_000  # ticks, of most delays; messages take as long at most


def random_public_hosts(rng, jf, ranks):
    """Hosts of every kind, and whether a source acts on each rank."""
    width = rng.choice([1, 2, 3])
    count = -(-ranks // width)
    match rng.choice(["ranks", "nodes", "every", "share"]):
        case "ranks":
            some = rng.sample(range(ranks), rng.randint(1, ranks))
            return jf.imbalance.OnRanks(some), tuple(rank in some for rank in range(ranks))
        case "nodes":
            some = rng.sample(range(count), rng.randint(1, count))
            meant = tuple(rank // width in some for rank in range(ranks))
            return jf.imbalance.OnNodes(some, node_ranks=width), meant
        case "every":
            first, every = rng.randrange(count), rng.randint(1, 4)
            numbers = [rank // width - first for rank in range(ranks)]
            meant = tuple(number >= 0 and number % every == 0 for number in numbers)
            return jf.imbalance.OnNodes(first, node_ranks=width, every=every), meant
    meant = ()
    while not any(meant):  # a source that acts nowhere gives a warning
        share, seed = rng.random(), rng.randint(0, 100)
        drawn = np.random.RandomState(seed).random_sample(count)
        meant = tuple(bool(drawn[rank // width] < share) for rank in range(ranks))
    return jf.imbalance.OnShare(share, node_ranks=width, seed=seed), meant


def random_common(rng, jf, ranks, phases=True):
    """Scope, window and phase as keywords, as written and as they are meant."""
    written, meant = {}, {}
    match rng.choice(["rank", "rank", "machine", "node"]):
        case "machine":
            written["shared"], meant["node_ranks"] = "machine", ranks
        case "node":
            meant["node_ranks"] = written["shared"] = random_nodes(rng, ranks)
    begin = rng.choice([0, 0, rng.randint(1, 10**7)])
    if begin:
        meant["begin"], written["begin"] = begin, seconds(begin)
    if rng.random() < 0.3:
        meant["end"] = begin + rng.randint(1, 2 * 10**7)
        written["end"] = seconds(meant["end"])
    if rng.random() < 0.25:
        written["hosts"], meant["hosts"] = random_public_hosts(rng, jf, ranks)
    if phases:
        during = rng.choice(["all", "all", "compute", "communication"])
        written["during"] = during
        meant["in_compute"] = during != "communication"
        meant["in_communication"] = during != "compute"
    return written, meant


def random_periodic(rng, jf, ranks):
    written, meant = random_common(rng, jf, ranks)
    period = rng.choice([50_000, 10**6, 10**7, 987_654_321])
    duration = rng.choice([period // 100, period // 3, period - 1, rng.randint(1, period - 1)])
    if LONGEST // (period - duration) > 1000:
        duration = period // 2  # or what takes LONGEST is walked through in too many intervals
    start = rng.choice(["fresh", "stationary"])
    if "shared" not in written and rng.random() < 0.3:
        phases = tuple(rng.randrange(period) for _ in range(ranks))
        written["phases"] = np.array([seconds(phase) for phase in phases])
        meant["phases"] = phases
    source = jf.PeriodicNoise(seconds(period), seconds(duration), start=start, **written)
    return source, PeriodicNoise(period, duration, start == "stationary", **meant)


def random_renewal(rng, jf, ranks):
    written, meant = random_common(rng, jf, ranks)
    start = rng.choice(["fresh", "stationary"])
    if rng.random() < 0.3:  # a quarter of the time, all of it by hand
        busy = rng.randint(1000, LONGEST)
        uniform = [delays.Pieces(edges=(0,), top=(t,), drop=(t,)) for t in (busy, 3 * busy)]
        fixed = delays.Constant(ticks=3 * busy), delays.Constant(ticks=busy)
        source = jf.RenewalNoise(jf.Constant(seconds(3 * busy)), seconds(busy), start, **written)
        found = Stationary(2**62, *uniform) if start == "stationary" else None
        return source, RenewalNoise(*fixed, found, **meant)
    gap = None
    while gap is None or (isinstance(gap, jf.Distribution) and not gap.expected()):
        gap, gap_delay = random_distribution(rng, jf, 8 * LONGEST)
    duration, duration_delay = random_distribution(rng, jf, LONGEST // 4)
    if isinstance(gap, float):  # a time alone is the mean of Poisson arrivals
        gap_delay = Opaque(table=jf.Exponential(gap).table())
    source = jf.RenewalNoise(gap, duration, start, **written)
    found = None
    if start == "stationary":
        threshold, busy, idle = source.stationary()
        found = Stationary(threshold, Opaque(table=busy), Opaque(table=idle))
    return source, RenewalNoise(gap_delay, duration_delay, found, **meant)


def random_trace(rng, jf, ranks):
    written, meant = random_common(rng, jf, ranks)
    length = rng.randint(10**6, 3 * 10**7)
    bounds = sorted(rng.sample(range(length + 1), 2 * rng.randint(1, 6)))
    pieces = tuple(zip(bounds[0::2], bounds[1::2], strict=True))
    if "shared" not in written and rng.random() < 0.5:
        offsets = tuple(rng.randrange(length) for _ in range(ranks))
        if rng.random() < 0.5:
            offsets = offsets[:1] * ranks
            written["offset"] = seconds(offsets[0])
        else:
            written["offset"] = np.array([seconds(offset) for offset in offsets])
        meant["offsets"] = offsets
    source = jf.TraceNoise(starts=[seconds(begin) for begin, _ in pieces],
                           durations=[seconds(end - begin) for begin, end in pieces],
                           length=seconds(length), **written)  # fmt: skip
    return source, TraceNoise(pieces, length, **meant)


def random_step(rng, jf, ranks):
    written, meant = random_common(rng, jf, ranks)
    delayed, delay = random_thinned(rng, jf, LONGEST)
    at = rng.choice(["receive", "send"])
    return jf.StepNoise(at=at, **delayed, **written), StepDelay(delay, at == "send", **meant)


def random_message(rng, jf, ranks):
    written, meant = random_common(rng, jf, ranks, phases=False)
    delayed, delay = random_thinned(rng, jf, LONGEST)
    return jf.MessageNoise(**delayed, **written), MessageDelay(delay, **meant)


def random_jitter(rng, jf, ranks, transit):
    written, meant = random_common(rng, jf, ranks, phases=False)
    period = rng.choice([transit * 100, transit * 2, max(1, transit // 3)])
    duration = rng.choice([1, 1_000, 10**6])
    during = rng.choice(["all", "communication"])
    source = jf.NetworkJitter(seconds(period), seconds(duration), during=during, **written)
    return source, Jitter(
        duration, poisson_survival(Fraction(transit, period)), period=period, **meant
    )


def walk_is_long(sources):
    """Whether 10,000 periods of a source fit into a single detour of another."""
    periodic = [source for source in sources if isinstance(source, PeriodicNoise)]
    shortest = min((source.period for source in periodic), default=1)
    return max((source.duration for source in periodic), default=0) >= 10_000 * shortest


def random_sources(rng, jf, ranks, transit):
    """Sources as written and as meant: often 0 to 2 of each role, in random order."""
    roles = [role for role in ROLES for _ in range(rng.choice([0, 0, 1, 2]))]
    roles = rng.choice([roles, roles, ["periodic", "jitter"], ["periodic"]])
    rng.shuffle(roles)
    make = {"periodic": random_periodic, "renewal": random_renewal, "trace": random_trace,
            "step": random_step, "message": random_message}  # fmt: skip
    pairs, taken = [], 0
    for role in roles:
        if role != "jitter":
            pair = make[role](rng, jf, ranks)
        elif transit:
            pair = random_jitter(rng, jf, ranks, transit)
        else:
            continue
        if taken and taken + share(pair[1]) >= 0.8:  # of the CPU
            continue
        if walk_is_long([*(meant for _, meant in pairs), pair[1]]):
            continue
        pairs.append(pair)
        taken += share(pair[1])
    return [written for written, _ in pairs], tuple(meant for _, meant in pairs)
