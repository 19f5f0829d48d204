"""Grams that are begun before anybody asks for them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
import numpy.typing as npt

from .gram import Gram

_begun: dict[int, tuple[Any, Future[Gram]]] = {}  # by the array's id, while it lives


def begin(values: npt.NDArray[np.int64], submit: Callable[..., Future[Gram]]) -> None:
    """Have the Gram of all columns computed, by a thread; nobody may write into `values`."""
    key = id(values)
    gone = weakref.ref(values, lambda _: _begun.pop(key, None))
    _begun[key] = gone, submit(Gram.of, values)


def begun(values: npt.NDArray[np.int64]) -> bool:
    """Whether that was done."""
    found = _begun.get(id(values))
    return found is not None and found[0]() is values


def gram(values: npt.NDArray[np.int64]) -> Gram:
    """The Gram of all columns."""
    return _begun[id(values)][1].result() if begun(values) else Gram.of(values)
