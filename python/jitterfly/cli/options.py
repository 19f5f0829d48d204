"""Options as text: numbers, and tables such as `period=10us,duration=3us`."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

from ..fields import check_integer, shorten
from ..units import BYTES


def value(text: str) -> Any:
    """An integer where it looks like one; times stay text, with their units."""
    try:
        return int(text)
    except ValueError:
        return text


def integer(text: str | None, name: str, low: int, high: int) -> int | None:
    """The number after the option `--name`; None where it is not given."""
    return None if text is None else check_integer(value(text), f"--{name}", low, high)


def size(text: str, name: str) -> int:
    """The bytes after the option `--name`, such as 8 or 1KiB."""
    match = re.fullmatch(r"\s*([0-9]{1,19})\s*([A-Za-z]{0,3})\s*", text)
    if match is None or (match[2] and match[2] not in BYTES):
        units = ", ".join(BYTES)
        raise ValueError(f"--{name} must be a whole number, with a unit ({units}) or without; "
                         f"got {shorten(text)}")  # fmt: skip
    return int(match[1]) * BYTES[match[2] or "B"]


def pairs(text: str, name: str) -> dict[str, Any]:
    """A table from `key=value,key=value`."""
    table: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, entry = (piece.strip() for piece in part.partition("="))
        if not key or not equals or not entry:
            raise ValueError(f"--{name} must look like key=value,key=value; got {shorten(text)}")
        if key in table:
            raise ValueError(f"--{name} has the key {key!r} twice; got {shorten(text)}")
        table[key] = value(entry)
    return table


def tell_of_wait(rounds: float) -> None:
    """Say that more ranks than the shipped tables have take a simulation first."""
    from ..inference.table import is_shipped

    if not is_shipped(math.ceil(rounds)):
        told = f"no table for 2^{math.ceil(rounds)} ranks is shipped: making it may take minutes"
        print(told, file=sys.stderr, flush=True)


def number(text: str, name: str) -> float:
    """The finite number after the option `--name`."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"--{name} must be a number, got {shorten(text)}")
    return found
