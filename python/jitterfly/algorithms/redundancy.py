"""Redundant copies: forwards after any allreduce, and checks of those inside the butterfly."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Literal

from ..fields import check_integer, shorten
from ..units import ShortSeconds
from .algorithm import MOST_ROUNDS, Forwarding

MOST_MIRRORS = 8
Levels = tuple[int, ...] | Literal["all"] | None


_FORWARDS = """\
Parameters
----------
after : int or "all"
    Redundant exchanges of the result after it, as of `Butterfly`: with ``i xor 2^(m - 1)``
    among all ranks, 0 to ``log2(ranks)`` rounded up. "all" is the most there are.
forward_cost : float or str
    CPU time of each redundant exchange, seconds. Needs `after` above 0.

Raises
------
ValueError
    A parameter out of range; `after` beyond its range when the case is made.

"""


@dataclass(frozen=True)
class Forwarded(Forwarding):
    """Base of allreduces whose redundant copies are those after it alone: its two parameters.

    What they mean is said here for all (`_FORWARDS`); a class below gets it into its docstring,
    before the notes.
    """

    after: int | Literal["all"] = 0
    forward_cost: ShortSeconds = ShortSeconds(0.0)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        text = inspect.cleandoc(cls.__doc__ or "")
        about, heading, notes = text.partition("Notes\n-----\n")
        cls.__doc__ = f"{about}{_FORWARDS}{heading}{notes}"

    def __post_init__(self) -> None:
        self.check_forwards()


def check_levels(value: Any, name: str, highest: int) -> Levels:
    """Levels as a user gives them, ascending; the highest of all is K - 1, or K = `MOST_ROUNDS`."""
    most = "K" if highest == MOST_ROUNDS else "K - 1"
    if value is None or (isinstance(value, str) and value == "all"):
        return value  # type: ignore[return-value]
    words = f"a list of distinct levels from 1 to {most} (2^K ranks)"
    rule = f"{name} must be 'all', {words}, or left out"
    if isinstance(value, (str, bytes, dict)):
        raise ValueError(f"{rule}, got {shorten(value)}")
    try:
        levels = [check_integer(level, f"{name} levels", 1, highest) for level in value]
    except TypeError:  # nothing to go through
        raise ValueError(f"{rule}, got {shorten(value)}") from None
    if len(set(levels)) != len(levels):
        raise ValueError(f"{rule}, got {shorten(value)}")
    return tuple(sorted(levels)) or None


def levels_on(levels: Levels, name: str, highest: int, most: str, rounds: int) -> tuple[int, ...]:
    """The levels that are meant where `highest` is the highest there is, of `rounds` = K."""
    if levels == "all":
        return tuple(range(1, highest + 1))
    for level in levels or ():
        if level > highest:
            allowed = f"from 1 to {highest}" if highest > 0 else "left out"
            raise ValueError(
                f"{name} levels must be {allowed} (1 to {most} for 2^K ranks, K = {rounds}),"
                f" got {level}"
            )
    return tuple(levels or ())


def check_mirrors(value: Any) -> tuple[int, ...]:
    """Mirrors as a user gives them."""
    rule = f"mirrors must be a list of 1 to {MOST_MIRRORS} distinct integers from 1"
    if isinstance(value, (str, bytes, dict)):
        raise ValueError(f"{rule}, got {shorten(value)}")
    try:
        mirrors = tuple(check_integer(mask, "mirrors", 1, 2**MOST_ROUNDS - 1) for mask in value)
    except TypeError:  # nothing to go through
        raise ValueError(f"{rule}, got {shorten(value)}") from None
    if not 1 <= len(mirrors) <= MOST_MIRRORS or len(set(mirrors)) != len(mirrors):
        raise ValueError(f"{rule}, got {shorten(value)}")
    return mirrors


def check_reach(mirrors: tuple[int, ...], levels: tuple[int, ...]) -> None:
    """Raise ValueError if a mirror holds the data of none of these levels."""
    if levels and max(mirrors) >= 1 << max(levels):
        raise ValueError(
            f"mirrors must be below {1 << max(levels)} for copies up to level {max(levels)} (at "
            f"level l ranks i xor m hold the same data for m < 2^l), got {max(mirrors)}"
        )
