"""Whether a sample is large enough for the mean's interval to be believed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def effective_events(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64] | None = None
) -> float:
    """How many equally large rare events would make the mean as skewed as it is.

    Student's interval of a mean needs a sum that is near normal. Of a rare event that k of n
    realizations had, the skewness of the mean is 1 / sqrt(k); so this is n over the squared
    skewness of the samples, n at most. W. G. Cochran (*Sampling techniques*, 1977, 2.15) asks for
    more than 25.

    Parameters
    ----------
    values : float64 array
    counts : int64 array, optional
        How often each value was found; once without it.

    Returns
    -------
    float
        0 where all values are the same: nothing has happened yet.

    Examples
    --------
    >>> samples = np.zeros(1000)
    >>> samples[:10] = 5.0
    >>> round(effective_events(samples), 1)
    10.3
    """
    total = len(values) if counts is None else int(counts.sum())
    if total < 2:
        return 0.0
    mean = np.average(values, weights=counts)
    away = values - mean
    if not away.any() or np.ptp(values) == 0:
        return 0.0
    away /= np.abs(away).max()  # no overflow, no underflow
    squares = away * away
    second = np.average(squares, weights=counts)
    third = np.average(squares * away, weights=counts)
    if third**2 <= second**3:
        return float(total)
    return float(total * second**3 / third**2)
