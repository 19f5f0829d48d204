"""Random cases with late ranks and different speeds, and their runs in the reference."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np

from .collectives import random_pair
from .noise import RankDelay, RankSpeed
from .public_delays import random_thinned, seconds
from .public_noise import random_public_hosts
from .random_noise import random_nodes

LONGEST = 3_000_000  # ticks


def random_uneven_pair(rng, jf, kind, *, levels=False):
    """As `random_pair`, with given or drawn arrivals and speeds, or some of these."""
    case, run, draw = random_pair(rng, jf, kind, levels=levels)
    changes, ranks = {}, case.ranks
    if rng.random() < 0.7:
        changes["arrival"], run.arrivals = random_arrival(rng, jf, ranks, case.cycles)
    copies = kind == "butterfly" and not levels and (run.within or run.after)
    if rng.random() < 0.7 and not copies:
        changes["speed"], run.factors = random_speed(rng, jf, ranks)
    added = []
    if rng.random() < 0.7:
        added.append(random_late(rng, jf, ranks))
    if not copies:
        added += [random_drawn_speed(rng, jf, ranks) for _ in range(rng.choice([0, 1, 1, 2]))]
    if added:
        changes["noise"] = [*case.noise, *(source for source, _ in added)]
        run.sources = [*run.sources, *(meaning for _, meaning in added)]
    return replace(case, **changes), run, draw


def random_arrival(rng, jf, ranks, cycles):
    """An arrival pattern as it is written, and how late each rank is in each row."""
    match rng.choice(["ramp", "one", "given"]):
        case "ramp":
            each = rng.randint(0, LONGEST // ranks)
            longest = each * max(ranks - 1, 1)
            return jf.imbalance.Ramp(seconds(longest)), [[each * rank for rank in range(ranks)]]
        case "one":
            rank, late = rng.randrange(ranks), rng.randint(0, LONGEST)
            row = [late if other == rank else 0 for other in range(ranks)]
            return jf.imbalance.OneLate(seconds(late), rank), [row]
        case "given":
            rows = rng.choice([1, cycles])
            times = [[rng.randint(0, LONGEST) for _ in range(ranks)] for _ in range(rows)]
            written = [[seconds(late) for late in row] for row in times]
            return jf.imbalance.GivenArrival(written), times


def random_speed(rng, jf, ranks):
    """Speeds as they are written, and the factor of each rank."""
    factor = rng.choice([1, 0.5, 1.25, 3, 1.0000001])
    match rng.choice(["ranks", "nodes", "given"]):
        case "ranks":
            slow = rng.sample(range(ranks), rng.randint(1, ranks))
            meant = [Fraction(str(factor)) if rank in slow else 1 for rank in range(ranks)]
            return jf.imbalance.SlowRanks(factor, slow), meant
        case "nodes":
            width = rng.randint(1, ranks)
            node = rng.randrange(-(-ranks // width))
            meant = [Fraction(str(factor)) if rank // width == node else 1 for rank in range(ranks)]
            return jf.imbalance.SlowNodes(factor, width, [node]), meant
        case "given":
            factors = [rng.choice([1, 1.5, 0.1, 7]) for _ in range(ranks)]
            return jf.imbalance.GivenSpeed(np.array(factors)), [Fraction(str(f)) for f in factors]


def random_late(rng, jf, ranks):
    """Drawn arrivals as they are written and as they are meant."""
    delayed, delay = random_thinned(rng, jf, LONGEST)
    shared, width = random_shared(rng, ranks)
    each = rng.choice(["cycle", "realization"])
    written, meant = random_some_hosts(rng, jf, ranks)
    late = jf.LateArrival(shared=shared, each=each, **delayed, **written)
    return late, RankDelay(delay, width, each == "realization", **meant)


def random_drawn_speed(rng, jf, ranks):
    """The same of speeds, with factors up to 3 and some more."""
    options = {"delay": 0}
    while not options["delay"] or (
        isinstance(options["delay"], jf.Distribution) and not options["delay"].longest_ticks()
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jf.LongTimeWarning)  # of a factor as a number
            options, factor = random_thinned(rng, jf, 3 * 10**12)
    shared, width = random_shared(rng, ranks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jf.SmallFactorWarning)
        written, meant = random_some_hosts(rng, jf, ranks)
        speed = jf.SpeedNoise(options.pop("delay"), shared=shared, **options, **written)
    return speed, RankSpeed(factor, width, **meant)


def random_some_hosts(rng, jf, ranks):
    """Hosts as keywords, as they are written and as they are meant; often none, which is all."""
    if rng.random() < 0.6:
        return {}, {}
    written, meant = random_public_hosts(rng, jf, ranks)
    return {"hosts": written}, {"hosts": meant}


def random_shared(rng, ranks):
    """Which ranks share draws, and how many these are."""
    shared = rng.choice([False, random_nodes(rng, ranks), "machine"])
    return shared, ranks if shared == "machine" else shared or 1
