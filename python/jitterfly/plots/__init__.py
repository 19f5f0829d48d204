"""Figures (matplotlib) of studies and other results; matplotlib is imported on first use.

Most users need `Store.plot`, `Result.plot` and their like. ``plots.draw.figure(store, "tail")`` is
a study's figure of one kind as an object of matplotlib. matplotlib is imported only when one is
asked for.
"""

from importlib import import_module
from typing import Any

__all__ = [
    "advice",
    "bench",
    "causes",
    "compare_measured",
    "congestion",
    "curves",
    "distribution",
    "draw",
    "each_cycle",
    "family",
    "inference",
    "maps",
    "noise",
    "papers",
    "schedule",
    "schedule_path",
    "slowdown_tables",
    "theory",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
