"""How many rare events a mean is made of."""

from __future__ import annotations

from ..stats.skewness import effective_events
from .measure import Form, Measure
from .summary import PlaceData


def events_of(measure: Measure, data: PlaceData, ratio: float) -> float:
    """The `effective_events` of a place's realizations, for the mean of a measure.

    Of a ratio of means, those of ``numerator - ratio * denominator``, which its interval depends
    on. There the raw realizations stand for all.
    """
    if isinstance(measure.denominator, Form) and data.ticks is not None:
        top, bottom = measure.numerator(data.ticks), measure.denominator(data.ticks)
        rest = top - ratio * bottom
        # Two sides that never differed: as sure as what they share.
        found = effective_events(rest if rest.any() else bottom.astype(float))
        return found * data.count / len(data.ticks)
    samples = data.samples(measure) if data.exact else None
    if samples is not None:
        return effective_events(samples)
    if not measure.distribution:
        return float(data.count)
    histogram = data.histogram(measure)
    return effective_events(histogram.middles(), histogram.counts)
