"""Figures (matplotlib) of studies and other results; matplotlib is imported on first use.

Most users need `Store.plot`, `Result.plot` and their like. ``plots.draw.figure(store, "tail")`` is
a study's figure of one kind as an object of matplotlib. matplotlib is imported only when one is
asked for.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

_HELPERS = {"style"}

__all__ = sorted({module.name for module in iter_modules(__path__)} - _HELPERS)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
