"""One case from a file: a case, or a cell of a study."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..fields import shorten

if TYPE_CHECKING:
    from ..case import Case
    from ..studies import Study


def add_case(parser: argparse.ArgumentParser, count: str | None = None) -> None:
    """Add the file, and `--at`, to argparse's; `count` as its `nargs`."""
    told: dict[str, Any] = {"nargs": count} if count else {}
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE.toml",
        help="a study; or the fields of a case, or nothing but a table [case] of them",
        **told,
    )
    parser.add_argument(
        "--at",
        action="append",
        metavar="AXIS=LABEL",
        help="cell of the study, e.g. ranks=16 or variant=redundant; once for each axis; "
        "an axis that is left out is at its first point",
    )


def read_case(path: Path, at: list[str]) -> tuple[Case, int, str]:
    """The case in a file; of a study also its seed, and which cell it is (else 0 and "").

    Raises
    ------
    ValueError
        As `load_case` and `load_study`; no such cell; or cells of what has one case alone.
    OSError
        The file can not be read.
    """
    from ..studies.toml import holds_study, load_case, load_study

    if holds_study(path):
        return _of_study(load_study(path), at)
    case = load_case(path)
    if at:
        raise ValueError(f"--at chooses a cell of a study: {path} holds one case")
    return case, 0, ""


def _of_study(study: Study, at: list[str]) -> tuple[Case, int, str]:
    labels = {axis.name: [point.label for point in axis.points] for axis in study.axes}
    if study.variants:
        labels["variant"] = [point.label for point in study.variants]
    wanted: dict[str, str] = {}
    for text in at:
        if not labels:
            raise ValueError(f"--at chooses a cell of a study: {study.name} has one cell alone")
        name, equals, label = text.partition("=")
        if not equals or name not in labels:
            names = ", ".join(labels)
            raise ValueError(f"--at must be AXIS=LABEL, AXIS one of {names}; got {shorten(text)}")
        if name in wanted:
            raise ValueError(f"--at gives {name} twice: {wanted[name]!r} and {shorten(label)}")
        matches = [known for known in labels[name] if known == label]
        matches = matches or [known for known in labels[name] if known.startswith(label)]
        if len(matches) != 1:
            known = ", ".join(labels[name])
            raise ValueError(f"--at {name} must be one of {known}; got {shorten(label)}")
        wanted[name] = matches[0]
    for place in study.places():
        if all(place.labels.get(name, label) == label for name, label in wanted.items()):
            cells = {cell.variant: cell.case for cell in place.cells}
            variant = wanted.get("variant", next(iter(cells)))
            where = [f"{name}={label}" for name, label in place.labels.items()]
            where += [f"variant={variant}"] if variant else []
            return cells[variant], study.seed, ", ".join(where)
    raise AssertionError("every combination of labels is a cell")
