"""The figures of studies and of other results: one module for each kind, found by its name.

Most users need `Store.plot`, `Result.plot` and their like. ``plots.draw.figure(store, "tail")`` is
a study's figure of one kind as an object of matplotlib. A module of a study's figure has
``draw(results, observable)``, those of other results ``draw(result)``. matplotlib is imported only
when one is asked for.
"""

from importlib import import_module
from typing import Any

__all__ = [
    "advice",
    "agreement",
    "budget",
    "causes",
    "congestion",
    "curves",
    "cycles",
    "distribution",
    "draw",
    "family",
    "few_runs",
    "fit",
    "histogram",
    "hm18_table",
    "maps",
    "noise",
    "overhead",
    "paper_maps",
    "samples",
    "scaling",
    "schedule",
    "slowdown",
    "tail",
    "times",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
