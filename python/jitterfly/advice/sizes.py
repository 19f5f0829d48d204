"""Ranks, sizes, shares and lists of them, as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..fields import check_integer, shorten, show_number
from ..units import BYTES

_SIZE = re.compile(r"\s*(?:2\^([0-9]{1,2})|([0-9]{1,19}))\s*([A-Za-z]{0,3})\s*")
_MOST = 10_000  # values in a list


def read_ranks(value: Any, name: str) -> list[int]:
    """Numbers of ranks: ``"64,1000,6000"``, ``"2^4..2^12"``, ``"2^4..2^12/2"``, or a list.

    A range has both of its ends, also where a step of more than one exponent would miss the last.

    Examples
    --------
    >>> read_ranks("6, 2^4..2^8/2", "ranks"), read_ranks("8..64/2", "ranks")
    ([6, 16, 64, 256], [8, 32, 64])
    """
    return _listed(value, name, lambda text: _one(text, name, False))


def read_bytes(value: Any, name: str) -> list[int]:
    """Sizes: as `read_ranks`, with units (`units.BYTES`); kB is 1000 bytes, KiB 1024.

    Examples
    --------
    >>> read_bytes("8,1KiB,1MB", "bytes")
    [8, 1024, 1000000]
    >>> read_bytes(["1KiB..4KiB", 7], "bytes")
    [1024, 2048, 4096, 7]
    """
    return _listed(value, name, lambda text: _one(text, name, True))


def read_share(
    value: Any, name: str, low: float, high: float, example: str = "0.01 or 1%"
) -> float:
    """A share: 0.01, or ``"1%"``.

    Examples
    --------
    >>> read_share("1%", "within", 0, 1), read_share("0.05", "within", 0, 1)
    (0.01, 0.05)
    """
    text = value.strip() if isinstance(value, str) else value
    try:
        if isinstance(text, str) and text.endswith("%"):
            found = float(Fraction(text[:-1].strip()) / 100)
        elif isinstance(text, str):
            found = float(Fraction(text))
        elif isinstance(text, (int, float, np.number)) and not isinstance(text, bool):
            found = float(text)
        else:
            found = -1.0
    except (ValueError, ZeroDivisionError, OverflowError):
        found = -1.0
    if not low <= found < high:
        raise ValueError(
            f"{name} must be a share from {show_number(low)} to below {show_number(high)} "
            f"such as {example}, got {shorten(value)}"
        )
    return found


def _listed(value: Any, name: str, read: Callable[[str], int]) -> list[int]:
    parts = [value] if isinstance(value, (str, int, np.integer)) else value
    if not isinstance(parts, (list, tuple, range, np.ndarray)):
        raise ValueError(f"{name} must be a number, text or a list of them, got {shorten(value)}")
    found: list[int] = []
    for part in parts:
        if isinstance(part, str):
            for piece in part.split(","):
                found += _range(piece, name, read)
        else:
            found.append(check_integer(part, name, 0, 2**62))
    if not found or len(found) > _MOST:
        raise ValueError(f"{name} must hold from 1 to {_MOST} values, got {len(found)}")
    twice = sorted({one for one in found if found.count(one) > 1})
    if twice:
        raise ValueError(f"{name} has the value {twice[0]} twice")
    return found


def _range(text: str, name: str, read: Callable[[str], int]) -> list[int]:
    first, dots, rest = text.partition("..")
    if not dots:
        return [read(text)]
    last, slash, step = rest.partition("/")
    if not first.strip() or not last.strip():
        raise ValueError(f"{name}: a range must have two ends, such as 8..64, got {shorten(text)}")
    low, high = read(first), read(last)
    powers = all(end > 0 and end & (end - 1) == 0 for end in (low, high))
    if not powers or high < low:
        raise ValueError(
            f"{name}: a range must ascend from a power of two to another, got {shorten(text)}"
        )
    if slash and not (re.fullmatch(r"[0-9]{1,2}", step.strip()) and int(step)):
        raise ValueError(f"{name}: a range must have a step from 1 to 99 after /, got "
                         f"{shorten(text)}")  # fmt: skip
    exponents = range(low.bit_length() - 1, high.bit_length() - 1, int(step or 1))
    return [1 << k for k in exponents] + [high]


def _one(text: str, name: str, units: bool) -> int:
    match = _SIZE.fullmatch(text)
    unit = match[3] if match else ""
    if match is None or (unit and (not units or unit not in BYTES)):
        more = f", with a unit ({', '.join(BYTES)})" if units else ""
        raise ValueError(
            f"{name} must be whole numbers such as 64 or 2^12, or ranges such as 2^4..2^12{more}; "
            f"got {shorten(text)}"
        )
    count = 1 << int(match[1]) if match[1] else int(match[2])
    return count * BYTES[unit or "B"]
