"""What is counted of single realizations: in which bucket a value falls, which side is larger."""

from __future__ import annotations

import numpy as np

from ..stats.histogram import Histogram
from .measure import Form, Measure
from .ticks import Integers, Ticks

RATIO_ONE = 2**30
"""Histograms hold quotients of two forms as whole multiples of 1 / RATIO_ONE."""

Wins = tuple[int, int, int]
"""In how many realizations the numerator was smaller, equal, larger than the denominator."""


def histogram_of(measure: Measure, ticks: Ticks) -> Histogram:
    """Of the numerator in ticks, or of the quotient in multiples of 1 / RATIO_ONE."""
    return Histogram.of(histogram_values(measure, ticks))


def histogram_values(measure: Measure, ticks: Ticks) -> Integers:
    """What `histogram_of` counts."""
    if not measure.is_ratio:
        return measure.numerator(ticks)
    # An int64 at most: whatever is beyond 2^33 times as long counts as that.
    limit = float(2**63 - 1024)
    values: Integers = np.clip(np.rint(measure(ticks) * RATIO_ONE), -limit, limit).astype(np.int64)
    return values


def histogram_scale(measure: Measure) -> int:
    """What the values in the measure's histogram are to be divided by."""
    return RATIO_ONE if isinstance(measure.denominator, Form) else measure.denominator


def wins_of(measure: Measure, ticks: Ticks) -> Wins:
    """How often the numerator was smaller, equal, larger."""
    if not isinstance(measure.denominator, Form):
        raise ValueError(f"{measure.name} has no denominator to be compared with")
    top, bottom = measure.numerator(ticks), measure.denominator(ticks)
    less, larger = int(np.count_nonzero(top < bottom)), int(np.count_nonzero(top > bottom))
    return less, len(ticks) - less - larger, larger


def add_wins(one: Wins, other: Wins) -> Wins:
    """Of two sets of realizations."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]
