"""Random noise sources of every role, with times of few ticks, so that ties are frequent."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from . import delays, wide_draws
from .noise import (
    MAX,
    MIN,
    Intervals,
    Jitter,
    MessageDelay,
    OnOff,
    PeriodicNoise,
    RenewalNoise,
    Stationary,
    StepDelay,
    TraceNoise,
    TracesNoise,
)

INTERVALS = ("periodic", "renewal", "trace")
ROLES = (*INTERVALS, "step", "jitter", "message")
KINDS = ("constant", "samples", "pieces", "smooth", "counts")
DENSEST = Fraction(19, 20)  # share of the CPU that noise without an end may take


def falling(rng, count, largest):
    return tuple(sorted((rng.randint(0, largest) for _ in range(count)), reverse=True))


def random_last(rng):
    """The largest uniform with a delay: any, nearly all, few."""
    most = delays.MOST
    return rng.choice([most, most, most - 1, most // 2, rng.getrandbits(64), rng.getrandbits(61)])


def random_pieces(rng, largest):
    edges = {0, *(rng.getrandbits(64) for _ in range(rng.randint(0, 4)))}
    if rng.random() < 0.2:
        edges |= {1, 2**63, 2**64 - 1}
    top = falling(rng, len(edges), largest)
    drop = [here - beyond for here, beyond in zip(top, (*top[1:], 0), strict=True)]
    drop = tuple(rng.choice([0, rng.randint(0, most), most]) for most in drop)
    return delays.Pieces(edges=tuple(sorted(edges)), top=top, drop=drop)


def random_smooth(rng, largest):
    """Nodes that differ where uniforms often fall: in the last octaves of each side."""
    median = rng.randint(0, largest)
    sides = []
    for other in (largest, 0):
        near = rng.choice([8, 64, 256, 1024])
        nodes = [rng.randint(*sorted((median, other))) for _ in range(near)]
        nodes += [other] * (delays.CELLS - near) + [median]
        sides += sorted(nodes, reverse=other > 0)
    return delays.Smooth(words=tuple(sides))


def random_delay(rng, largest, kinds=KINDS):
    """A table of any kind with values from 0 to `largest`."""
    match rng.choice(kinds):
        case "constant":
            delay = delays.Constant(ticks=rng.randint(0, largest))
        case "samples":
            delay = delays.Samples(values=falling(rng, rng.randint(1, 7), largest))
        case "pieces":
            delay = random_pieces(rng, largest)
        case "smooth":
            delay = random_smooth(rng, largest)
        case "counts":
            survival = falling(rng, rng.randint(1, 4), delays.MOST)
            delay = delays.Counts(ticks=rng.randint(0, 1 + largest // 2), survival=survival)
    return delay.with_last(random_last(rng))


EVENLY_SPREAD = np.array([(2 * i + 1) << 55 for i in range(256)], dtype=np.uint64)


def mean(delay):
    """About; of 256 evenly spread uniforms."""
    return Fraction(sum(wide_draws.apply(delay, EVENLY_SPREAD).tolist()), 256)


def share(source):
    """The share of the CPU's time that a source of intervals takes while its window is open."""
    match source:
        case PeriodicNoise():
            return Fraction(source.duration, source.period)
        case RenewalNoise():
            busy, idle = mean(source.duration), mean(source.gap)
            return busy / (busy + idle)
        case TraceNoise():
            return share_of_recording(source.pieces, source.length)
        case TracesNoise():
            return max(share_of_recording(*recording) for recording in source.recordings)
    return Fraction(0)


def share_of_recording(pieces, length):
    return Fraction(sum(end - begin for begin, end in pieces), length)


def random_nodes(rng, ranks):
    """How many ranks share draws: powers of two, and other numbers."""
    powers = [1 << bit for bit in range(ranks.bit_length())]
    others = [size for size in (3, 5, 6, 7, 12, 48, ranks - 1, ranks) if size <= ranks]
    return rng.choice([*powers, *(size for size in others if size > 0)])


def random_hosts(rng, ranks):
    """Whether a source acts on each rank: on few, many, nearly none, or nearly all of them."""
    share = rng.choice([0.1, 0.5, 0.9, 1 / ranks, 1 - 1 / ranks])
    return tuple(rng.random() < share for _ in range(ranks))


def common(rng, ranks, span, role):
    """Scope, window and phases of the cycle, as keywords."""
    options = {"node_ranks": 1 << rng.choice([0, 0, rng.randint(0, ranks.bit_length() - 1)])}
    begin = rng.choice([MIN, 0, rng.randint(0, span)])
    end = rng.choice([MAX, max(begin, 0) + rng.randint(1, 1 + span)])
    if rng.random() < 0.4:
        options |= {"begin": begin, "end": end}
    if role not in ("jitter", "message"):
        phases = rng.choice([(True, True), (True, True), (True, False), (False, True)])
        options |= dict(zip(("in_compute", "in_communication"), phases, strict=True))
    return options


def random_trace(rng, ranks, largest, options):
    """Pieces that may touch each other, and the trace's two ends."""
    cuts = sorted({rng.randint(0, 4 * largest) for _ in range(rng.randint(2, 8))} | {0})
    length = cuts[-1] + rng.choice([1, rng.randint(1, largest + 1)])
    bounds = [*cuts, length]
    pieces = [piece for piece in pairwise(bounds) if rng.random() < 0.4]
    if len(pieces) == len(cuts):  # busy all the time
        del pieces[0]
    offsets = None
    if rng.random() < 0.3:
        offsets = tuple(rng.randrange(length) for _ in range(ranks))
        options |= {"node_ranks": 1}
    return TraceNoise(tuple(pieces or [(0, 1)]), length, offsets, **options)


def random_source(rng, role, ranks, largest, span):
    """A source of a role, with delays up to `largest` and a window within about `span` ticks."""
    options = common(rng, ranks, span, role)
    match role:
        case "periodic":
            period = rng.randint(2, 20 * largest)
            duration = rng.randint(1, max(1, min(period - 1, 2 * largest)))
            if rng.random() < 0.2:
                options |= {"phases": tuple(rng.randrange(period) for _ in range(ranks))}
                options |= {"node_ranks": 1}
            return PeriodicNoise(period, duration, rng.random() < 0.5, **options)
        case "renewal":
            largest = max(largest, span // 100)  # or the walk is long
            busy, idle = random_delay(rng, largest), random_delay(rng, 10 * largest)
            start = Stationary(random_last(rng), busy, idle) if rng.random() < 0.5 else None
            gap = duration = None
            while not (gap and gap.largest and mean(gap) + mean(duration) >= Fraction(largest, 2)):
                gap = random_delay(rng, rng.choice([2, 10, 10]) * largest)
                duration = random_delay(rng, largest)
            return RenewalNoise(gap, duration, start, **options)
        case "trace":
            return random_trace(rng, ranks, largest, options)
        case "step":
            return StepDelay(random_delay(rng, largest), rng.random() < 0.5, **options)
        case "jitter":
            survival = falling(rng, rng.randint(1, 4), delays.MOST)
            return Jitter(rng.randint(1, largest), survival, **options)
        case "message":
            return MessageDelay(random_delay(rng, largest, KINDS[:-1]), **options)  # counts: jitter
        case _:
            raise ValueError(role)


def on_hosts(rng, sources, ranks):
    """The sources, most of them on some hosts alone. Their other draws stay as they are."""
    return tuple(
        replace(source, hosts=random_hosts(rng, ranks)) if rng.random() < 0.7 else source
        for source in sources
    )


def in_bursts(rng, sources, ranks, longest):
    """The sources, most of those of intervals on and off by turns, for up to `longest` ticks."""
    return tuple(
        replace(source, bursts=random_bursts(rng, ranks, longest))
        if isinstance(source, Intervals) and rng.random() < 0.8
        else source
        for source in sources
    )


def random_bursts(rng, ranks, longest):
    """Times on and off, of a mean that makes the walk through them short."""
    on = off = None
    while not (off and 10 * min(mean(on), mean(off)) >= longest):
        on, off = random_delay(rng, longest), random_delay(rng, longest)
    busy, idle = random_delay(rng, longest), random_delay(rng, longest)
    return OnOff(on, off, Stationary(random_last(rng), busy, idle),
                 rng.choice([1, ranks, random_nodes(rng, ranks)]))  # fmt: skip


def ends(sources):
    """Whether noise leaves enough of the CPU for work to go on, once all windows are shut."""
    return sum(share(s) for s in sources if isinstance(s, Intervals) and s.end == MAX) < DENSEST
