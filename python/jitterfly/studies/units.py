"""Units of the values of a study's axes, and values with their units."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

from ..case import Case
from ..network import Network
from ..noise.optional import OptionalSeconds
from ..units import Seconds, parse_seconds, show_seconds, show_size
from .place import Place
from .study import Study

_PER_BYTE = ("beta", "gamma", "G", "O")  # of networks: a time for each byte


def axis_unit(study: Study, name: str) -> str:
    """The unit of an axis's values: "s" of times, "s/B", "B" of sizes of messages, else ""."""
    owner, declared, field = _field(study, name)
    if isinstance(declared, (Seconds, OptionalSeconds)):
        return "s/B" if issubclass(owner, Network) and field in _PER_BYTE else "s"
    return "B" if (owner, field) == (Case, "message_bytes") else ""


@lru_cache(maxsize=64)
def _field(study: Study, name: str) -> tuple[type, Any, str]:
    """The class and the declaration of the field that an axis sets, and its name; "": no one."""
    path = next((axis.path for axis in study.axes if axis.name == name), "")
    places = study.places() if path else []
    *parts, field = path.split(".")
    for cell in places[0].cells if places else ():
        owner: Any = cell.case
        for part in parts:
            listed = part.isdigit() and isinstance(owner, (list, tuple)) and int(part) < len(owner)
            owner = owner[int(part)] if listed else getattr(owner, part, None)
        declared = inspect.getattr_static(type(owner), field, None)
        if declared is not None or hasattr(owner, field):
            return type(owner), declared, field
    return object, None, ""


def value_text(value: Any, unit: str) -> str:
    """A value of an axis, a time or a size with its unit: `10 µs`, `4 KiB`, `0.01`, `ring`.

    Examples
    --------
    >>> value_text(1e-5, "s"), value_text(1e-9, "s/B"), value_text(4096, "B"), value_text(0.01, "")
    ('10 µs', '1 ns/B', '4 KiB', '0.01')
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if unit in ("s", "s/B") and (number or isinstance(value, str)):
        try:
            return show_seconds(parse_seconds(value)) + unit[1:]
        except ValueError:  # a text that is no time
            return str(value)
    if unit == "B" and isinstance(value, int):
        return show_size(value)
    return f"{value:.4g}" if number else str(value)


def shown_labels(study: Study, place: Place) -> tuple[str, ...]:
    """Where a place is on each axis, for people: values with their units, others by their names."""
    both = zip(place.labels.items(), place.coordinates.values(), strict=True)
    return tuple(
        value_text(value, unit) if (unit := axis_unit(study, name)) else label
        for (name, label), value in both
    )
