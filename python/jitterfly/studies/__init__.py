"""Studies (parameter sweeps): TOML files, axes, grid of cells, observables, targets.

`toml` reads one, `study` checks it, and `grid` makes the cells of its `axes`.
"""

from .axes import Axis
from .grid import STREAM_VERSION, Cell, RealizationBudget, VariantCase
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
