"""What the engine is judged by."""

from __future__ import annotations

from typing import NamedTuple


class Goal(NamedTuple):
    """A bound; `least`: it is the least that will do, else the most."""

    what: str
    bound: float
    least: bool
    unit: str = ""
