"""Reductions of samples over realizations, column by column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_FOLDED = 256  # rows


def extremes(values: Integers) -> tuple[Integers, Integers]:
    """The smallest and the largest of each column.

    Parameters
    ----------
    values : int64 array, shape (realizations, columns)
        At least one realization.

    Examples
    --------
    >>> low, high = extremes(np.array([[1, 9], [5, 6], [2, 7]]))
    >>> low.tolist(), high.tolist()
    ([1, 6], [5, 9])
    """
    return _reduced(np.minimum, values), _reduced(np.maximum, values)


def _reduced(what: np.ufunc, values: Integers) -> Integers:
    rows, columns = values.shape
    whole = rows - rows % _FOLDED
    if not whole or not values.flags.c_contiguous:
        return what.reduce(values, axis=0)
    # NumPy is slow at many short rows: so many of them are one long one.
    long = what.reduce(values[:whole].reshape(-1, _FOLDED * columns), axis=0)
    return what.reduce(np.concatenate([long.reshape(_FOLDED, columns), values[whole:]]), axis=0)
