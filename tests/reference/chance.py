"""Statistical tests of a fixed false-alarm rate: KS-type (DKW), means (Hoeffding), chi-square.

FALSE_ALARM is the probability that a correct program would fail one check, had its seed been
chosen blindly. The seeds are fixed, so a check that passes once passes always.
"""

from math import log, sqrt

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6
ONE_SIDED = float(stats.norm.isf(FALSE_ALARM))  # in standard errors: 4.75
TWO_SIDED = float(stats.norm.isf(FALSE_ALARM / 2))


def check_distribution(samples, cdf, grain=0.0):
    """Dvoretzky-Kiefer-Wolfowitz: P(sup |F_n - F| > e) <= 2 exp(-2 n e^2), exact for all n.

    `cdf` may jump. `grain`: how far the rounding of times to ticks may move it.
    """
    values, counts = np.unique(samples, return_counts=True)
    n = counts.sum()
    upto = np.cumsum(counts) / n
    above = np.abs(upto - cdf(values)).max()
    before = np.abs(upto - counts / n - cdf(np.nextafter(values, -np.inf))).max()
    assert max(above, before) < sqrt(log(2 / FALSE_ALARM) / (2 * n)) + grain


def check_mean(samples, expected, low, high):
    """Hoeffding's inequality for samples in [low, high]: no normality assumed."""
    limit = (high - low) * sqrt(log(2 / FALSE_ALARM) / (2 * len(samples)))
    assert abs(samples.mean() - expected) < limit


def check_counts(counts, probabilities):
    """Chi-square over the bins that expect 20 or more; all others together are one bin."""
    expected = np.asarray(probabilities) * counts.sum()
    large = expected >= 20
    rest = expected[~large].sum()
    observed, expected = counts[large], expected[large]
    if rest >= 5:
        observed = np.append(observed, counts[~large].sum())
        expected = np.append(expected, rest)
    else:  # too few for chi-square
        assert stats.poisson.sf(counts[~large].sum() - 1, rest) > FALSE_ALARM
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, len(observed) - 1) > FALSE_ALARM
