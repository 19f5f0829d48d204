"""Statistics of samples: means, quantiles, paired comparisons; all with confidence intervals.

Intervals of means are Student's t; those of quantiles are pairs of order statistics, which hold
for any distribution. Nothing is resampled, so the same samples give the same numbers.
"""

from .distributions import realizations_needed
from .estimates import Estimate, mean, quantile, quantiles, standard_error, thirty_run_means
from .paired import SmallestT, difference, ratio, recovery, smallest_t

__all__ = [
    "Estimate",
    "SmallestT",
    "difference",
    "mean",
    "quantile",
    "quantiles",
    "ratio",
    "realizations_needed",
    "recovery",
    "smallest_t",
    "standard_error",
    "thirty_run_means",
]
