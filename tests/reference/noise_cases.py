"""Random cases under lists of noise sources of every role."""

from dataclasses import fields, replace
from itertools import pairwise

from . import delays
from .cases import instant_case, random_case, redundant_case
from .event_driven import Costs
from .noise import (
    Intervals,
    MessageDelay,
    PeriodicNoise,
    RenewalNoise,
    StepDelay,
    TraceNoise,
    TracesNoise,
    Weather,
)
from .random_noise import (
    KINDS,
    ROLES,
    ends,
    in_bursts,
    on_hosts,
    random_delay,
    random_nodes,
    random_source,
)


def span_of(case):
    """About the ticks of a run without noise."""
    costs = case.costs
    one = costs.send + costs.receive + costs.transit + costs.combine
    rounds = case.log2_ranks * one + case.after * (costs.transit + costs.forward)
    return 1 + case.cycles * (costs.work + rounds)


def with_sources(rng, case, largest, roles=ROLES, most=3):
    """The case with 0 to `most` more sources of each of some roles, in random order."""
    sources = list(case.others)
    for role in roles:
        for _ in range(rng.choice([0, 1, 1, rng.randint(0, most)])):
            source = random_source(rng, role, case.ranks, largest, span_of(case))
            periodic = (case.periodic,) if case.periodic else ()
            if ends([*sources, source, *periodic]):
                sources.append(source)
    rng.shuffle(sources)
    return replace(case, others=tuple(sources))


def any_case(rng, roles=ROLES):
    case = random_case(rng, 6)
    if not (case.periodic and ends([case.periodic])):
        case = replace(case, periodic=None)
    largest = max(1, min(200, max(case.costs.transit, case.costs.work)))
    return with_sources(rng, case, rng.choice([2, largest]), roles)


def tie_case(rng, roles=ROLES):
    """Costs of 0 and 1 tick, noise of a few: many events of one instant."""
    case = random_case(rng, 6)
    costs = Costs(*(rng.randint(0, 1) for _ in range(6)))
    levels = tuple(level for level in range(1, case.log2_ranks) if rng.random() < 0.7)
    case = replace(case, costs=costs, within=levels, periodic=None, jitter=None)
    return with_sources(rng, case, rng.randint(1, 3), roles)


def copy_case(rng, roles=ROLES):
    """Cheap messages and rare long noise of several kinds: copies are adopted, levels skipped."""
    case = redundant_case(rng, 6)
    long = case.periodic.duration
    rare = delays.Samples(values=(long, long // 3, 1)).with_last(2**64 // rng.choice([5, 30, 100]))
    gap = delays.Samples(values=(9 * long, 4 * long, long))
    always = delays.Samples(values=(3, 2, 1, 0))  # shows which draw a step has
    sources = [
        StepDelay(rare, rng.random() < 0.5),
        StepDelay(always),
        StepDelay(always, at_send=True),
        MessageDelay(rare.with_last(rare.last // 2)),
        RenewalNoise(gap, delays.Samples(values=(long // 2, 1))),
    ]
    sources = [source for source in sources if rng.random() < 0.7]
    keep = rng.random() < 0.4 or not sources
    periodic = case.periodic if keep else None
    case = replace(case, others=tuple(sources), periodic=periodic)
    return with_sources(rng, case, 5, rng.sample(roles, 2), most=1)


def zero_transit_case(rng, roles=ROLES):
    """Messages that take no time, some of them delayed: whole chains of events in one instant."""
    case = instant_case(rng)
    if rng.random() < 0.5 or not ends([case.periodic]):
        case = replace(case, periodic=None)
    return with_sources(rng, case, rng.randint(1, 3), roles)


# Whose sources `dense_case` and `long_work_case` list: those of other kinds are in other families.
LISTED = ("periodic", "renewal", "trace", "step", "message")


def dense_case(rng):
    """Noise that leaves little of the CPU, or for a time nothing at all."""
    case = replace(random_case(rng, 4), jitter=None)
    largest = rng.choice([5, 50])
    costs = {field.name: min(getattr(case.costs, field.name), 30) for field in fields(Costs)}
    case = replace(case, costs=Costs(**costs), periodic=None)
    period = rng.randint(2, 4 * largest)
    gap = rng.choice([delays.Samples(values=(2, 1, 0, 0, 0)), delays.Constant(ticks=1),
                      delays.Constant(delays.MOST // 30, ticks=3)])  # fmt: skip
    length = rng.randint(3, 4 * largest)
    hole = rng.randrange(length)
    pieces = tuple(piece for piece in ((0, hole), (hole + 1, length)) if piece[0] < piece[1])
    densest = [
        PeriodicNoise(period, period - 1, rng.random() < 0.5),
        RenewalNoise(gap, delays.Samples(values=(largest, 5, 1, 0))),
        TraceNoise(pieces, length),
    ]
    sources = [rng.choice(densest)]
    begin = rng.randint(0, span_of(case))
    window = {"begin": begin, "end": begin + rng.randint(1, 300)}
    sources += [replace(source, **window) for source in densest if rng.random() < 0.5]
    if rng.random() < 0.3:
        del sources[0]
    case = replace(case, others=tuple(sources))
    return with_sources(rng, case, largest, ("step", "message"), most=2)


def long_work_case(rng):
    """Compute phases of many periods, in which other sources act now and then."""
    case = replace(random_case(rng, 3), jitter=None, periodic=None)
    case = replace(case, costs=replace(case.costs, work=rng.randint(500, 5000)))
    sources = []
    for _ in range(rng.choice([1, 1, 2])):
        period = rng.randint(5, 60)
        sources.append(PeriodicNoise(period, rng.randint(1, period // 3), rng.random() < 0.5))
    gap = delays.Samples(
        values=tuple(sorted((rng.randint(50, 2000) for _ in range(4)), reverse=True))
    )
    others = [
        RenewalNoise(gap, delays.Samples(values=(40, 5, 1))),
        TraceNoise(((100, 130), (700, 701)), rng.randint(900, 3000)),
    ]
    sources += [source for source in others if rng.random() < 0.4]
    return with_windows(rng, case, sources, 3000)


def with_windows(rng, case, sources, longest, scale=1):
    """The case under the sources, some of them in a window or in computation alone."""
    for k, source in enumerate(sources):
        if rng.random() < 0.3 or not ends(sources):
            begin = rng.randint(0, scale * rng.choice([60, 2000]))
            window = {"begin": begin, "end": begin + rng.randint(1, longest)}
            sources[k] = replace(source, **window)
        if rng.random() < 0.2:
            sources[k] = replace(sources[k], in_communication=False)
    rng.shuffle(sources)
    case = replace(case, others=tuple(sources))
    return with_sources(rng, case, 5, ("step", "message"), most=1)


def random_recording(rng, scale):
    """Busy pieces and a length: detours that touch or crowd, and little or much idle time."""
    length = rng.randint(40, 3000)
    room = length if rng.random() < 0.7 else max(30, length // 20)
    cuts = sorted(rng.sample(range(room + 1), rng.choice([2, 3, 6, 30])))
    share = rng.choice([0.1, 0.5, 1.0])
    pieces = [piece for piece in pairwise(cuts) if rng.random() < share] or [(0, room // 2)]
    if pieces[0][0] == 0 and pieces[-1][1] == length and share == 1.0:
        pieces.pop()  # never busy all the time
    shift = rng.randrange(scale)  # so that not all times are multiples of the scale
    moved = tuple((begin * scale + shift, end * scale + shift) for begin, end in pieces)
    return moved, length * scale + shift


def recorded_work_case(rng):
    """Compute phases of many detours of recordings, or of whole ones; windows, other sources."""
    scale = rng.choice([1, 1, 7, 2**20, 2**40])
    case = replace(random_case(rng, 5), jitter=None, periodic=None, cycles=3)
    case = replace(
        case,
        costs=replace(
            case.costs, work=scale * rng.choice([rng.randint(1, 300), rng.randint(1, 8000)])
        ),
    )
    sources = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        recordings = [random_recording(rng, scale) for _ in range(3)]
        if rng.random() < 0.6:
            sources.append(TraceNoise(*recordings[0]))
            continue
        recordings.append(((), scale * rng.randint(1, 500)))  # without detours
        of_ranks = tuple(rng.randrange(4) for _ in range(case.ranks))
        sources.append(TracesNoise(tuple(recordings), of_ranks, rng.choice([1, case.ranks])))
    if rng.random() < 0.3:
        period = scale * rng.randint(100, 2000)
        sources.append(PeriodicNoise(period, rng.randint(1, period // 5), rng.random() < 0.5))
    if rng.random() < 0.35:
        gap = delays.Samples(values=(2000 * scale, 300 * scale, 50 * scale))
        sources.append(RenewalNoise(gap, delays.Samples(values=(40 * scale, 5, 1))))
    return with_windows(rng, case, sources, 4000 * scale, scale)


def delay_case(rng, roles=ROLES):
    """No busy intervals: delays of steps and messages alone."""
    case = rng.choice([any_case, copy_case])(rng, roles)
    others = tuple(source for source in case.others if not isinstance(source, Intervals))
    case = replace(case, periodic=None, jitter=None, others=others)
    return with_sources(rng, case, rng.choice([1, 10]), ("step", "message"))


def with_nodes(rng, case):
    """The same case, whose sources are shared by nodes of any number of ranks."""

    def shared(source):
        if source is None or getattr(source, "phases", None) or getattr(source, "offsets", None):
            return source
        return replace(source, node_ranks=random_nodes(rng, case.ranks))

    return replace(case, periodic=shared(case.periodic), jitter=shared(case.jitter),
                   others=tuple(shared(source) for source in case.others))  # fmt: skip


def node_case(rng):
    """Any of these in such nodes."""
    families = [any_case, any_case, tie_case, copy_case, zero_transit_case, delay_case]
    return with_nodes(rng, rng.choice(families)(rng))


def host_case(rng):
    """Any of these, most of whose sources act on some ranks alone."""
    families = [any_case, tie_case, copy_case, zero_transit_case, delay_case, recorded_work_case]
    case = rng.choice(families)(rng)
    [others, periodic, jitter] = (
        on_hosts(rng, sources, case.ranks)
        for sources in (
            case.others,
            [one for one in (case.periodic,) if one],
            [one for one in (case.jitter,) if one],
        )
    )
    return replace(case, periodic=next(iter(periodic), None), jitter=next(iter(jitter), None),
                   others=others)  # fmt: skip


def weather_case(rng):
    """Any of these under weather of the network: by a delay, or by a part of the way."""
    families = [any_case, tie_case, copy_case, zero_transit_case, delay_case]
    case = rng.choice(families)(rng)
    weathers = []
    for _ in range(rng.randint(1, 3)):
        shared = {"node_ranks": rng.choice([case.ranks, random_nodes(rng, case.ranks)]),
                  "holds": rng.choice([0, 0, 2**13, 10**5])}  # fmt: skip
        if case.costs.transit and rng.random() < 0.5:
            parts = random_delay(rng, 3 * 10**12)
            weathers.append(Weather(parts, way=case.costs.transit, **shared))
        else:
            weathers.append(Weather(random_delay(rng, rng.choice([3, 300])), **shared))
    for _ in range(rng.randint(0, 2)):
        links = rng.choice([1, 2**62, 2**63, 2**64 - 1])
        delay = random_delay(rng, rng.choice([3, 300]), KINDS[:-1])
        holds = rng.choice([0, 2**13, 10**5])
        nodes = random_nodes(rng, case.ranks)
        weathers.append(MessageDelay(delay, node_ranks=nodes, links=links, holds=holds))
    return replace(case, others=(*case.others, *on_hosts(rng, weathers, case.ranks)))


def burst_case(rng):
    """Any of these, most of whose sources of intervals are on and off by turns."""
    families = [any_case, any_case, tie_case, copy_case, dense_case, long_work_case]
    case = rng.choice([*families, recorded_work_case])(rng)
    sources = [*case.others, *(one for one in (case.periodic,) if one)]
    longest = max(2, span_of(case) // rng.choice([1, 3, 10]))
    sources = in_bursts(rng, on_hosts(rng, sources, case.ranks), case.ranks, longest)
    return replace(case, periodic=None, others=sources)
