"""Random distributions in the public API, each with its meaning in ticks.

Tables of continuous distributions are taken as they are: what they hold is tested elsewhere.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from . import delays


def seconds(ticks):
    """A time of whole ticks as the float nearest to it."""
    return float(Fraction(ticks, 10**12))


@dataclass(frozen=True)
class Opaque(delays.Delay):
    """A delay that always happens, of a table that is only known to the engine (`_core.Delay`).

    Where one happens with a probability only, its table is asked at all 64 bits, which `apply` does
    not do.
    """

    table: Any = None

    def value(self, v):
        return int(self.table.apply(np.array([v], dtype=np.uint64))[0])


def random_distribution(rng, jf, largest):
    """A distribution, or a time that stands for one, and the delay that it must mean."""
    ticks = rng.randint(1, largest)
    match rng.choice(["time", "fixed", "bernoulli", "samples", "histogram", "continuous"]):
        case "time":
            return seconds(ticks), delays.Constant(ticks=ticks)
        case "fixed":
            return jf.Constant(seconds(ticks)), delays.Constant(ticks=ticks)
        case "bernoulli":
            chance = rng.choice([1.0, 0.5, 0.125, 2.0**-7])
            last = delays.last_of(Fraction(chance))
            return jf.Bernoulli(chance, seconds(ticks)), delays.Constant(last, ticks)
        case "samples":
            values = [rng.choice([0, ticks, rng.randint(0, largest)]) for _ in range(5)]
            falling = tuple(sorted(values, reverse=True))
            samples = [seconds(value) for value in values]
            return jf.Empirical(samples=samples), delays.Samples(values=falling)
        case "histogram":
            return random_histogram(rng, jf, largest)
    mean = seconds(max(ticks // 10, 1))
    continuous = rng.choice([
        jf.Exponential(mean), jf.Pareto(mean, 3, longest=100 * mean),
        jf.Gamma(shape=2.5, scale=mean), jf.Lognormal(mean, 0.7, longest=50 * mean),
    ])  # fmt: skip
    (words,) = continuous.make_table().arrays
    return continuous, delays.Smooth(words=tuple(map(int, words)))


def random_histogram(rng, jf, largest):
    """Four bins with counts that are eighths of all, so that the edges of the table are exact."""
    bounds = sorted(rng.sample(range(largest), 8))
    low, high, counts = bounds[0::2], bounds[1::2], rng.choice([(5, 1, 1, 1), (1, 4, 1, 2)])
    text = [[seconds(tick) for tick in side] for side in (low, high)]
    above = [sum(counts[i + 1 :]) for i in (3, 2, 1, 0)]
    pieces = delays.Pieces(
        edges=tuple(delays.TWO_64 // 8 * events for events in above),
        top=tuple(high[::-1]),
        drop=tuple(top - bottom for top, bottom in zip(high[::-1], low[::-1], strict=True)),
    )
    return jf.Empirical(low=text[0], high=text[1], count=list(counts)), pieces


def random_thinned(rng, jf, largest):
    """Keywords for a delay that is there with a probability only, and what it means."""
    written, delay = random_distribution(rng, jf, largest)
    options = {"delay": written}
    if rng.random() < 0.5:
        chance = rng.choice([0.25, 2.0**-5])
        part = Fraction(delay.last + 1, delays.TWO_64) * Fraction(chance)
        options["probability"] = chance
        delay = delay.with_last(delays.last_of(part))
    return options, delay
