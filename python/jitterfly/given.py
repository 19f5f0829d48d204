"""Fields that take more types than they hold: type checkers know both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = Sequence[float] | npt.NDArray[Any]
"""What is taken where an array of numbers is asked for."""
Integers = Sequence[int] | npt.NDArray[Any]
Taken = TypeVar("Taken")
Held = TypeVar("Held")
_REQUIRED: Any = object()


class Given(Generic[Taken, Held]):
    """A field of a dataclass that takes a `Taken`, which its class makes a `Held` of.

    Parameters
    ----------
    shown : str
        What may be passed, for help().
    default : optional
        Without it the field is required: a subclass then stands for it in a class, see
        `fields.frozen_dataclass`.
    """

    def __init__(self, shown: str, default: Held = _REQUIRED) -> None:
        self._shown = shown
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        owner.__annotations__[name] = self._shown
        self.__doc__ = self._shown

    def __get__(self, instance: object | None, owner: type | None = None) -> Held:
        if instance is not None:
            value: Held = instance.__dict__[self._name]
            return value
        if self._default is _REQUIRED:  # this is how dataclass asks whether there is a default
            raise AttributeError(self._name)
        return self._default

    def __set__(self, instance: object, value: Taken) -> None:
        instance.__dict__[self._name] = value


class IntegerArray(Given[Integers, npt.NDArray[np.int64]]):
    """A required array of integers."""

    def __init__(self) -> None:
        super().__init__("array of int")


class FloatArray(Given[Floats, Array]):
    """A required array of numbers."""

    def __init__(self) -> None:
        super().__init__("array of float")
