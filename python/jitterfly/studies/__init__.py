"""Studies (parameter sweeps): TOML files, axes, grid of cells, observables, targets.

`toml` reads one and `validation` checks it, `axes` and `derived` are its axes, and `grid` makes the
cells of them.
"""

from .axes import Axis
from .grid import STREAM_VERSION, Cell, VariantCase
from .realization_budget import RealizationBudget
from .study import BaseReplaced, Study, axis_unit, field_unit, shown_labels, value_text
from .toml import holds_study, load_case, load_study, parse_study

__all__ = [
    "STREAM_VERSION",
    "Axis",
    "BaseReplaced",
    "Cell",
    "RealizationBudget",
    "Study",
    "VariantCase",
    "axis_unit",
    "field_unit",
    "holds_study",
    "load_case",
    "load_study",
    "parse_study",
    "shown_labels",
    "value_text",
]
