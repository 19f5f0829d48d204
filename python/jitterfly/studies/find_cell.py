"""The search for cells by values on axes, as a study, a table or a user writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..fields import check_choice, is_real_number
from ..syntax import read_values
from ..units import parse_seconds
from .axes import label_of
from .grid import Cell, cell_name
from .study import Study, axis_unit


def find_cell(study: Study, values: Mapping[str, Any]) -> Cell:
    """The only cell at some values of axes; see `Store.cell`."""
    found = list(study.cells())
    axes = [axis.name for axis in study.axes]
    for axis, value in values.items():
        check_choice(axis, "axis", axes)
        labels = labels_of_value(study, axis, value)
        there = [cell for cell in found if cell.labels[axis] in labels]
        if not there:
            known = dict.fromkeys(cell.labels[axis] for cell in found)
            check_choice(label_of(value), axis, list(known))
        found = there
    if len(found) > 1:
        open_axes = [axis for axis in axes if len({cell.labels[axis] for cell in found}) > 1]
        where = f"at {cell_name(dict(values))}" if values else "in the study"
        raise ValueError(f"{len(found):,} cells are {where}: also give {', '.join(open_axes)}")
    return found[0]


def labels_of_value(study: Study, axis: str, value: Any) -> list[str]:
    """The labels on an axis of a value: as studies and tables write it (2^6, 8 MB), or a number.

    Times are in seconds where they are numbers.
    """
    coordinates = {cell.labels[axis]: cell.coordinates[axis] for cell in study.cells()}
    if label_of(value) in coordinates:
        return [label_of(value)]
    path = next((one.path for one in study.axes if one.name == axis), "")
    is_time = axis_unit(study, axis) == "s"

    def number(one: Any) -> Any:
        return parse_seconds(one) if is_time else one

    try:
        given = value
        if isinstance(value, str):
            (given,) = read_values(value, path, axis) if path else (value,)
        given = number(given)
    except ValueError:  # no number, where the axis has numbers; or several
        return []
    return [label for label, one in coordinates.items() if _is_same(number(one), given)]


def _is_same(one: Any, other: Any) -> bool:
    if is_real_number(one) and is_real_number(other):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)
