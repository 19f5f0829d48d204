"""Whether a sample is large enough for the mean's interval to be believed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

ENOUGH_EVENTS = 30
"""A mean that rests on fewer rare events is not believed: Cochran's 25, and a margin."""


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
    return float(events_of_columns(values, counts))


def events_of_columns(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64] | None = None
) -> Any:
    """The `effective_events` of each column of shape (realizations, ...); shape (...)."""
    total = len(values) if counts is None else int(counts.sum())
    if total < 2:
        return np.zeros(values.shape[1:])
    away = values - np.average(values, axis=0, weights=counts)
    largest = np.abs(away).max(axis=0)
    varies = (largest > 0) & (np.ptp(values, axis=0) > 0)
    away /= np.where(varies, largest, 1.0)  # no overflow, no underflow
    squares = away * away
    second = np.average(squares, axis=0, weights=counts)
    third = np.average(squares * away, axis=0, weights=counts)
    skewed = third**2 > second**3
    few = total * second**3 / np.where(skewed, third**2, 1.0)
    return np.where(varies, np.where(skewed, few, total), 0.0)
