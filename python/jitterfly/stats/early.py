"""Grams and columns of samples that are made before anybody asks for them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .cross_moments import Gram

Integers = npt.NDArray[np.int64]


class Early(NamedTuple):
    """Of one array: the Gram of all columns, and each in one piece, shape (columns, rows)."""

    gram: Gram
    columns: Integers  # to gather one from rows touches the memory of all


_begun: dict[int, tuple[Any, Future[Early]]] = {}  # by the array's id, while it lives


def begin(values: Integers, submit: Callable[..., Future[Early]]) -> None:
    """Have it computed, by a thread; nobody may write into `values`."""
    key = id(values)
    gone = weakref.ref(values, lambda _: _begun.pop(key, None))
    _begun[key] = gone, submit(_of, values)


def begun(values: Integers) -> Early | None:
    """What was begun, when it is done; None where nothing was."""
    found = _begun.get(id(values))
    return found[1].result() if found is not None and found[0]() is values else None


def _of(values: Integers) -> Early:
    return Early(Gram.of(values), values.T.copy())  # a view would keep `values` for ever
