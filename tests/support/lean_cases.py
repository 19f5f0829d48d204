"""Random programs for the lean kernel, and those at the edges of what it may take."""

import random
from dataclasses import replace
from itertools import accumulate, pairwise

from reference import (
    Costs,
    Jitter,
    PeriodicNoise,
    RenewalNoise,
    Stationary,
    TraceNoise,
    TracesNoise,
    philox,
)
from reference.cases import EngineCase
from reference.delays import CELLS, MOST, Constant, Smooth
from reference.noise import MAX, MIN

from support.kernel_cases import smooth

LIMIT32, FEW = 2**31, 64  # cuda/gpu: kRelativeEnd, kMaxIntervals
LISTED = 4  # kMostListed
IN_TURN = 1024  # kMostInTurn
LIKELY, LONGEST_INTERVAL = 16, 2**40  # kLikelyIntervals; of gpu/lean_intervals.h
LONGEST = 2**61  # longer times are none of the engine's


def latest(case):
    """The bound of cuda/gpu/lean.h on all times of a case, worked out on its own."""
    noises, costs, jitter = periodic(case), case.costs, case.jitter
    transit = costs.transit + (jitter.duration * len(jitter.survival) if jitter else 0)

    def work(ticks, on):
        if not ticks or not noises or not on:
            return ticks
        if len(noises) == 1:
            free = noises[0].period - noises[0].duration
            return ticks + -(-ticks // free) * noises[0].duration
        # In the longest time that the work may take, some noise more would not fit.
        time = ticks
        while time < LONGEST:
            needed = ticks + sum(-(-time // noise.period) * noise.duration for noise in noises)
            if needed == time:
                break
            time = needed
        return time

    compute = bool(noises) and noises[0].in_compute
    communication = bool(noises) and noises[0].in_communication
    cycle = work(costs.work, compute) + case.after * transit
    cycle += case.log2_ranks * transit
    cycle += case.log2_ranks * work(costs.receive + costs.combine, communication)
    cycle += case.log2_ranks * work(costs.send, communication)
    start = max((noise.duration for noise in noises if noise.stationary), default=0)
    if is_lean_renewal(case):
        [noise] = case.sources
        start = noise.duration.ticks * (LIKELY + (noise.stationary is not None))
    if is_lean_recording(case):
        start = longest_interval(case.sources[0]) * (LIKELY + 1)
    return start + case.cycles * cycle


def periodic(case):
    """The sources of a case that are periodic, if they act always and everywhere."""
    return [source for source in case.sources if isinstance(source, PeriodicNoise)
            and (source.begin, source.end, source.hosts) == (MIN, MAX, None)]  # fmt: skip


def is_list(noises):
    """Whether they are as many as the kernel takes, and act in the same phases."""
    return len(noises) <= LISTED and len({(s.in_compute, s.in_communication) for s in noises}) == 1


def is_lean_renewal(case):
    """Whether the one source is renewal noise that the kernel takes."""
    if len(case.sources) != 1 or not isinstance(case.sources[0], RenewalNoise):
        return False
    [noise] = case.sources
    smooths, start = [noise.gap], noise.stationary
    if (noise.begin, noise.end, noise.hosts, noise.bursts) != (MIN, MAX, None, None):
        return False
    if not isinstance(noise.duration, Constant) or noise.duration.last != MOST:
        return False
    if start is not None:
        smooths += [start.busy, start.idle]
    if not all(isinstance(delay, Smooth) and delay.last == MOST for delay in smooths):
        return False
    if start is not None and max(start.busy.words) > noise.duration.ticks:
        return False
    return noise.duration.ticks <= LONGEST_INTERVAL


def is_lean_recording(case):
    """Whether the one source is recordings that the kernel takes."""
    if len(case.sources) != 1 or not isinstance(case.sources[0], TraceNoise | TracesNoise):
        return False
    [noise] = case.sources
    always = (noise.begin, noise.end, noise.hosts, noise.bursts) == (MIN, MAX, None, None)
    return always and longest_interval(noise) <= LONGEST_INTERVAL


def recordings(noise):
    """The pieces and the length of each recording that a rank replays."""
    if isinstance(noise, TraceNoise):
        return [(noise.pieces, noise.length)]
    return [noise.recordings[number] for number in set(noise.of_ranks)]


def longest_interval(noise):
    return max((end - begin for pieces, _ in recordings(noise) for begin, end in pieces), default=0)


def crowd(noise):
    """The shortest time without noise in which too many detours begin to go through in turn."""
    shortest = MAX
    for pieces, length in recordings(noise):
        if len(pieces) <= IN_TURN:
            continue
        gaps = [begin - end for (_, end), (begin, _) in pairwise(pieces)]
        before = list(accumulate([pieces[0][0], *gaps]))
        before += [time + idle_time(pieces, length) for time in before]
        shortest = min(shortest, *(before[i + IN_TURN] - before[i] for i in range(len(pieces))))
    return shortest


def idle_time(pieces, length):
    return length - sum(end - begin for begin, end in pieces)


def usual_distance(case):
    """From an interval to the next, of renewal noise or a recording; else None."""
    if is_lean_renewal(case):
        return case.sources[0].gap(2**63)
    if is_lean_recording(case):
        return min(idle_time(pieces, length) // max(1, len(pieces))
                   for pieces, length in recordings(case.sources[0]))  # fmt: skip
    return None


def kernel(case, most=2, bits=30):
    """The number, up to `most`, of the kernel for a case whose tiles have at most 2^bits ranks."""
    bits = min(bits, case.log2_ranks)
    if case.within or (case.after and case.costs.forward):
        return 0
    noises, distance = periodic(case), usual_distance(case)
    if (
        case.others
        and distance is None
        and (len(noises) < len(case.sources) or not is_list(noises))
    ):
        return 0
    if case.after and case.cycles > 1:
        return 0
    if distance is not None and latest(case) // FEW >= distance:
        return 0
    if is_lean_recording(case) and latest(case) > crowd(case.sources[0]):
        return 0
    if latest(case) >= LONGEST or sum(latest(case) // noise.period for noise in noises) >= FEW:
        return 0
    if most == 2 and latest(case) < LIMIT32 and bits >= 4:
        return 2
    return 1 if most > 0 and bits >= 3 else 0


def random_noise(rng, ranks, time):
    """From an interval in a hundred runs to dozens in one, and from none long to nearly no gap."""
    period = max(2, time // rng.choice([1, 2, 7, 30, 50]) * rng.choice([1, 1, 5, 100]))
    period += rng.randint(0, 3)
    duration = rng.choice([0, 1, rng.randint(0, period - 1), period // 2, period // 50, period - 1])
    phases, node_ranks = None, rng.choice([1, 1, 1, min(2, ranks), min(3, ranks), ranks])
    if rng.random() < 0.2:
        phases, node_ranks = tuple(rng.randrange(period) for _ in range(ranks)), 1
    during = rng.choice([(True, True), (True, True), (True, False), (False, True)])
    return PeriodicNoise(period, duration, rng.random() < 0.5, node_ranks, phases, *during)


def random_lean_jitter(rng, largest):
    """From an event in a thousand messages to nearly always several, and some that are none."""
    share = 2 ** rng.choice([54, 58, 61, 63, 64])
    survival = sorted((rng.randrange(share) for _ in range(rng.randint(1, 4))), reverse=True)
    return Jitter(rng.choice([0, 1, rng.randint(0, largest), 3 * largest]), tuple(survival))


def on_the_edge(rng, log2_ranks, events):
    """A butterfly in which one message meets exactly so many events, as the low half decides.

    Of the other messages some meet an event, few more than one.
    """
    case = EngineCase(log2_ranks, Costs(3, 5, 1000, 7, work=0, forward=0),
                      seed=rng.getrandbits(64), realization=rng.randrange(2**31))  # fmt: skip
    draws = sorted(philox.uniform64(case.seed, philox.JITTER_ORIGINAL, rank, case.realization, r)
                   for rank in range(case.ranks) for r in range(log2_ranks))  # fmt: skip
    edge = draws[len(draws) // 8]
    assert edge >> 32 != 2**32 - 1
    survival = {0: (edge,), 1: (edge + 1,), 2: (draws[len(draws) // 4], edge + 1)}[events]
    return replace(case, jitter=Jitter(10**6, survival))


def random_lean_case(rng, largest_log2=9):
    """Times of a few ticks, with many ties, to more than 32 bits."""
    log2_ranks = rng.choice([*range(3, largest_log2 + 1), 4, 5, 6])
    largest = rng.choice([2, 10, 1000, 10**6, 10**8, 10**9])

    def cost():
        return rng.choice([0, rng.randint(0, min(3, largest)), rng.randint(0, largest)])

    after = rng.choice([0, 0, rng.randint(0, log2_ranks)])
    case = EngineCase(
        log2_ranks,
        Costs(cost(), cost(), cost(), cost(), work=cost() * rng.choice([1, 10]), forward=0),
        after=after,
        cycles=1 if after else rng.randint(1, 3),
        seed=rng.getrandbits(64),
        realization=rng.randrange(2**32 - 8),
    )
    if case.seed % 2:
        jitter = random_lean_jitter(random.Random(case.seed), largest)
        case = replace(case, jitter=jitter)
    if rng.random() < 0.9:
        noise = random_noise(rng, case.ranks, max(1, latest(case)))
        case = replace(case, periodic=noise)
        if latest(case) >= LONGEST:
            case = replace(case, periodic=replace(noise, duration=noise.period // 2))
    if rng.random() < 0.5:
        hidden = frozenset(row for row in case.rows[:-1] if rng.random() < 0.7)
        case = replace(case, hidden=hidden)
    return case


def at_the_edge(rng, limit, over):
    """A case whose latest time is the last of 32 bits, or beyond it by `over` - 1 ticks.

    A rank with nearly that time is in it: every message meets a whole interval.
    """
    log2_ranks = rng.randint(4, 7)
    duration = limit // (log2_ranks + 1) - rng.randint(0, 1000)
    stationary = rng.random() < 0.5
    noise = PeriodicNoise(duration + rng.choice([1, 50, duration, 3 * limit]), duration, stationary)
    case = EngineCase(log2_ranks, Costs(0, 0, 1, 1, work=0, forward=0), periodic=noise,
                      seed=rng.getrandbits(64), realization=rng.randrange(2**31))  # fmt: skip
    missing = limit - 1 + over - latest(case)
    assert missing >= 0
    # The last cost has no noise on it.
    transit = 1 + missing // log2_ranks
    case = replace(case, costs=replace(case.costs, transit=transit))
    return replace(case, after=0), limit - 1 + over - latest(case)


def random_list_case(rng, largest_log2=9):
    """Two to four periodic sources, of times of 32 bits and more; at times one more or another."""
    case = replace(random_lean_case(rng, largest_log2), jitter=None, periodic=None)
    time, number = max(1, latest(case)), rng.choice([2, 2, 3, 4, 4, 4, 5])
    noises = [random_noise(rng, case.ranks, time) for _ in range(number)]
    if rng.random() < 0.9:
        during = {"in_compute": noises[0].in_compute,
                  "in_communication": noises[0].in_communication}  # fmt: skip
        noises = [replace(noise, **during) for noise in noises]
    if rng.random() < 0.3:  # intervals that begin together, or where others end
        period, phases = noises[0].period, noises[0].phases
        noises = [replace(noise, period=period, phases=phases,
                          duration=noise.duration % period) for noise in noises]  # fmt: skip
    # Sources that leave no time would never let a rank go on.
    noises = [replace(noise, duration=noise.duration // number) for noise in noises]
    return replace(case, others=tuple(noises))


def renewal_at_the_edge(over):
    """A case of which all ranks work until the last time of 32 bits, or `over` ticks longer."""
    hits = 19
    duration = LIMIT32 // 30
    gap = (LIMIT32 - hits * duration) // (hits + 1) + 1
    work = LIMIT32 - 1 + over - hits * duration
    assert hits * gap < work <= (hits + 1) * gap
    noise = RenewalNoise(level(gap), Constant(ticks=duration), in_communication=False)
    return EngineCase(4, Costs(0, 0, 1, 1, work=work, forward=0), others=(noise,))


def renewal_beyond_words():
    """A case in which noise delays ranks to times beyond 2^32, as half of the gaps are short."""
    duration, work = LIMIT32 * 3 // 128, LIMIT32 * 5 // 8 - 100
    usual = (work + LIKELY * duration) // FEW + 100
    words = [usual] * (CELLS + 1)
    gap = Smooth(words=(*words, *[1] * (CELLS - 16), *words[:17]))
    noise = RenewalNoise(gap, Constant(ticks=duration), in_communication=False)
    return EngineCase(4, Costs(0, 0, 1, 1, work=work, forward=0), others=(noise,))


def renewal_with_more_left():
    """A case in which more is left of each interval at time 0 than intervals last."""
    start = Stationary(MOST, level(2000), level(10**6))
    noise = RenewalNoise(level(10**6), Constant(ticks=1000), start)
    return EngineCase(4, Costs(0, 0, 1, 1, work=500, forward=0), others=(noise,))


def level(ticks, rise=0):
    """The delay of so many ticks; in the upper tail so much more for each cell."""
    first = CELLS - 64 * (63 - 52)  # cells below it are in the tail
    tail = [ticks + rise * max(first - cell, 0) for cell in range(CELLS + 1)]
    return Smooth(words=(*tail, *[ticks] * (CELLS + 1)))


def gap_in_the_tail(rng):
    """A case in which a rank meets an interval that it would not, without the low half of a draw.

    Its compute phase ends one tick after the interval begins.
    """
    gap = level(2 * 10**8, rise=2**22)
    seed, ranks = rng.getrandbits(64), 64
    for realization in range(rng.randrange(2**31), 2**32):
        for rank in range(ranks):
            u = philox.pair64(seed, philox.RENEWAL, rank, realization, 0)
            if 2**51 <= u < 2**52 and u % 2**32 > 2**31:
                noise = RenewalNoise(gap, Constant(ticks=10**6), in_communication=False)
                costs = Costs(0, 0, 1, 1, work=gap(u) + 1, forward=0)
                return EngineCase(6, costs, others=(noise,), seed=seed, realization=realization)
    raise AssertionError("no such draw")


def random_renewal_case(rng, largest_log2=9):
    """Renewal noise of constant durations, from hardly any to dense; at times another kind."""
    case = replace(random_lean_case(rng, largest_log2), jitter=None, periodic=None)
    time = max(1, latest(case))
    gap = smooth(max(2, time // rng.choice([1, 2, 7, 30, 50]) * rng.choice([1, 1, 5, 100])))
    most = rng.choice([0, 1, max(1, time // 50), rng.randint(1, 2 * time)])
    start = None
    if rng.random() < 0.5:
        start = Stationary(rng.choice([0, 2**60, 2**63, MOST]), smooth(max(1, most // 50)),
                           smooth(rng.randint(1, 2 * time)))  # fmt: skip
        most = max(most, max(start.busy.words) * (rng.random() < 0.9))
    duration = Constant(ticks=most) if rng.random() < 0.9 else smooth(max(1, most))
    during = rng.choice([(True, True), (True, True), (True, False), (False, True)])
    nodes = rng.choice([1, 1, 1, min(2, case.ranks), min(3, case.ranks), case.ranks])
    return replace(case, others=(RenewalNoise(gap, duration, start, nodes, *during),))


def random_recording(rng, distance):
    """One to dozens of detours so far apart, and how long they were recorded."""
    pieces, at = [], rng.choice([0, rng.randint(0, distance)])
    longest = max(1, rng.choice([1, distance // 50, distance // 2, 2 * distance]))
    for _ in range(rng.choice([1, 2, rng.randint(3, 60)])):
        pieces.append((at, at + rng.randint(1, longest)))
        at = pieces[-1][1] + rng.choice([0, 1, rng.randint(1, 2 * distance)])
    # Work goes on half of the time: where nearly none is left, it hardly ends. Where detours crowd,
    # others are far away: devices go through them one by one.
    busy = sum(end - begin for begin, end in pieces)
    return tuple(pieces), max(at - 1, pieces[-1][1], 2 * busy, len(pieces) * distance // 2)


def random_recording_case(rng, largest_log2=9):
    """Recordings, from hardly any detours to dense ones; at times in a window."""
    case = replace(random_lean_case(rng, largest_log2), jitter=None, periodic=None)
    distance = max(2, latest(case) // rng.choice([1, 2, 7, 30, 50]) * rng.choice([1, 1, 5, 100]))
    during = rng.choice([(True, True), (True, True), (True, False), (False, True)])
    window = (MIN, MAX) if rng.random() < 0.9 else (0, MAX)
    node_ranks = rng.choice([1, 1, min(2, case.ranks), min(3, case.ranks)])
    if rng.random() < 0.4:  # of each rank's own, some without a detour
        found = [random_recording(rng, distance) for _ in range(rng.randint(1, 4))]
        found.append(((), rng.randint(1, distance)))
        of_ranks = tuple(rng.randrange(len(found)) for _ in range(case.ranks))
        noise = TracesNoise(tuple(found), of_ranks, node_ranks, *during, *window)
        return replace(case, others=(noise,))
    pieces, length = random_recording(rng, distance)
    offsets = None
    if rng.random() < 0.3:
        bounds = [time for piece in pieces for time in piece if time < length]
        offsets = tuple(rng.choice([*bounds, rng.randrange(length)]) for _ in range(case.ranks))
        node_ranks = 1
    noise = TraceNoise(pieces, length, offsets, node_ranks, *during, *window)
    return replace(case, others=(noise,))


def longest_recorded(over):
    """A case under a recording with the longest detour that the kernel takes, or a tick longer."""
    noise = TraceNoise(((0, LONGEST_INTERVAL + over),), 2**46)
    return EngineCase(4, Costs(3, 5, 1000, 7, work=10**6, forward=0), others=(noise,))


def recording_at_the_edge(over):
    """A case of which all ranks work until the last time of 32 bits, or `over` ticks longer."""
    hits, duration = 19, LIMIT32 // 40
    gap = (LIMIT32 - hits * duration) // (hits + 1) + 1
    work = LIMIT32 - 1 + over - (hits + 1) * duration  # all times have the longest interval added
    assert hits * gap < work <= (hits + 1) * gap
    pieces = tuple((gap + k * (gap + duration), gap + k * (gap + duration) + duration)
                   for k in range(hits))  # fmt: skip
    noise = TraceNoise(pieces, 2 * LIMIT32, (0,) * 256, in_communication=False)
    return EngineCase(8, Costs(0, 0, 1, 1, work=work, forward=0), others=(noise,))
