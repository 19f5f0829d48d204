"""How many rare events a mean is made of."""

from __future__ import annotations

from ..stats.skewness import effective_events
from .measure import Form, Measure
from .summary import PlaceData

LEAST_RAW = 1024
"""Raw realizations from which the events of a ratio are estimated where there are more."""


def events_of(measure: Measure, data: PlaceData, ratio: float) -> float:
    """The `effective_events` of a place's realizations, for the mean of a measure.

    Of a ratio of means, those of ``numerator - ratio * denominator``, which its interval depends
    on. Beyond the raw realizations they are read off the histogram of single realizations; where
    those have no value (recovery), enough raw ones stand for all, else nothing is known: 0.
    """
    raw = 0 if data.ticks is None else len(data.ticks)
    known = raw == data.count or (not measure.distribution and raw >= LEAST_RAW)
    if isinstance(measure.denominator, Form) and data.ticks is not None and known:
        top, bottom = measure.numerator(data.ticks), measure.denominator(data.ticks)
        rest = top - ratio * bottom
        # Two sides that never differed: as sure as what they share.
        found = effective_events(rest if rest.any() else bottom.astype(float))
        return found * data.count / raw
    samples = data.samples(measure) if data.exact else None
    if samples is not None:
        return effective_events(samples)
    if not measure.distribution:
        return 0.0
    histogram = data.histogram(measure)
    return effective_events(histogram.middles(), histogram.counts)
