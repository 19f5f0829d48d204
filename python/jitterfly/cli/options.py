"""Options as text: numbers, and tables such as `period=10us,duration=3us`."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Iterable
from typing import Any

from ..fields import Component, check_integer, shorten
from ..noise import Distribution, Noise
from ..units import BYTES, show_seconds, warn_of_long

_PLAIN = ("probability", "ratio")  # fields that are no times


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


def check_units(chosen: Any, names: Iterable[str]) -> None:
    """Warn of times after the options `--name` that are 1 s and more for want of a unit."""
    for name in names:
        if (text := getattr(chosen, name)) is not None:
            warn_of_long(text, f"--{name}")


def tell_understood(network: Component, noise: Iterable[Noise]) -> None:
    """Say on standard error what the options were read as, every time with its unit."""
    for kind, one in [("network", network), *(("noise", one) for one in noise)]:
        print(f"{kind}: {one.kind}, {_fields(one)}", file=sys.stderr, flush=True)


def _fields(component: Component) -> str:
    """The fields that differ from their defaults, such as `L = 1 s, o = 200 ms`."""
    words = []
    for field in dataclasses.fields(component):  # type: ignore[arg-type]
        found, default = getattr(component, field.name), field.default
        if isinstance(found, float) and default == found:
            continue
        if isinstance(found, Distribution):
            words.append(f"{field.name} = {found.name}")
        elif isinstance(found, float) and field.name not in _PLAIN:
            words.append(f"{field.name} = {show_seconds(found)}")
        elif isinstance(found, (str, int, float)) and found != default:
            words.append(f"{field.name} = {found}")
    return ", ".join(words)
