"""Statistics of samples: means, quantiles, ratios, paired comparisons, with confidence intervals.

Intervals of means are Student's t, wider where few rare events decide the mean, and without ends
where no event was seen; those of quantiles are pairs of order statistics, which hold for any
distribution. Nothing is resampled, so the same samples give the same numbers.

Whether two samples are of one distribution (Kolmogorov-Smirnov) asks `compare_measured`.

Samples that are too many to keep become a `CrossMoments`, `ThirdMoments` and a `Histogram`, which
merge exactly.

`intervals` has means and quantiles, `paired` differences, ratios (Fieller) and wins; `sequential`
says when to look at the data.
"""

from .cross_moments import CrossMoments, Moments, ThirdMoments, mean_of
from .histogram import Histogram
from .intervals import (
    ENOUGH_EVENTS,
    Estimate,
    effective_events,
    mean,
    quantile,
    quantiles,
    realizations_needed,
    standard_error,
    thirty_run_means,
    with_input_uncertainty,
)
from .paired import (
    ConfidenceSet,
    FewestExchanges,
    PairedQuantiles,
    confidence_set,
    difference,
    fewest_exchanges,
    ratio,
    ratio_of,
    recovery,
    win_probability,
)

__all__ = [
    "ENOUGH_EVENTS",
    "ConfidenceSet",
    "CrossMoments",
    "Estimate",
    "FewestExchanges",
    "Histogram",
    "Moments",
    "PairedQuantiles",
    "ThirdMoments",
    "confidence_set",
    "difference",
    "effective_events",
    "fewest_exchanges",
    "mean",
    "mean_of",
    "quantile",
    "quantiles",
    "ratio",
    "ratio_of",
    "realizations_needed",
    "recovery",
    "standard_error",
    "thirty_run_means",
    "win_probability",
    "with_input_uncertainty",
]


def __dir__() -> list[str]:
    return sorted(__all__)
