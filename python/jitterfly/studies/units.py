"""Units of the values of a study's axes."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

from ..case import Case
from ..network import Network
from ..noise.optional import OptionalSeconds
from ..units import Seconds
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
