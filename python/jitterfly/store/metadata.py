"""`store.json`: format, seed, versions of a run; which edited studies can be resumed.

What is done with one that can not: `run_directory`.

The hash by which a case's records are found is another one: `hash_case` of `studies.grid`.
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..fields import MOST_SEED, counted, is_real_number, shorten
from ..files import read_text, read_whole, write_whole
from ..find_noise_files import COPIES, STORED_STUDY, copy_name, files_from, files_of
from ..observables import Target
from ..studies import (
    STREAM_VERSION,
    BaseReplaced,
    RealizationBudget,
    Study,
    field_unit,
    parse_study,
)
from ..studies.case_fields import get_path, leaves
from ..studies.toml import read_toml
from ..version import __version__
from ..workload import Workload

FORMAT = 2
SHARED_FORMAT = 3  # cells share files of records, which programs that know format 2 do not find
_FORMATS = (FORMAT, SHARED_FORMAT)
META = "store.json"
_TYPES = {
    "format": int,
    "stream": int,
    "study": str,
    "seed": int,
    "full": bool,
    "budget": dict,
    "targets": list,
    "cells": list,
    "versions": dict,
    "backend": list,
}


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {
        "jitterfly": __version__,
        "stream": str(STREAM_VERSION),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def describe(study: Study) -> dict[str, Any]:
    """Return what store.json says of a study before anything has run."""
    return {
        "format": FORMAT,
        "stream": STREAM_VERSION,
        "study": study.name,
        "seed": study.seed,
        "full": study.full,
        "budget": study.budget.to_dict(),
        "targets": [str(target) for target in study.targets],
        "cells": sorted(situations(study)),
        "versions": versions(),
        "backend": [],
    }


def situations(study: Study) -> set[str]:
    """Hashes of the cases of a study's cells, whatever is observed of them."""
    return {variant.situation for cell in study.cells() for variant in cell.variants}


def read_meta(path: Path, way_out: str = "") -> dict[str, Any]:
    """store.json of the directory `path`, with the types that are relied on.

    `way_out` ends the error about another version.

    Raises
    ------
    ValueError
        It is damaged, or of another version.
    """
    file = path / META
    try:
        meta = json.loads(read_whole(file))
        version = meta["format"]
        good = type(version) is int
        if version in _FORMATS:
            good = good and all(type(meta[k]) is kind for k, kind in _TYPES.items())
            good = good and 0 <= meta["seed"] <= MOST_SEED
    except (KeyError, TypeError, ValueError, RecursionError):  # ValueError: JSON and UTF-8 as well
        good = False
    if not good:
        raise ValueError(
            f"{file} is damaged; delete it and run the same study again: the records are kept, "
            "and the run goes on from them"
        )
    for key, ours in (("format", _FORMATS), ("stream", (STREAM_VERSION,))):
        if meta[key] not in ours:
            written = meta.get("versions")
            version = written.get("jitterfly") if isinstance(written, dict) else None
            raise ValueError(
                f"{path} was written by another version of jitterfly ({key} {meta[key]}, "
                f"here it is {' or '.join(map(str, ours))}); "
                f"{f'jitterfly {version}' if version else 'that version'} can read it{way_out}"
            )
    return dict(meta)


def write_meta(path: Path, meta: Mapping[str, Any]) -> list[Path]:
    """Bring store.json up to date. Returns what is still to be synchronized."""
    return _write(path / META, (json.dumps(meta, indent=1) + "\n").encode())


def write_study(path: Path, study: Study) -> list[Path]:
    """Put the study beside its records, as it is run, with copies of the files it names.

    Returns what is still to be synchronized.
    """
    named: dict[str, Path] = {}
    for cell in study.cells():
        for variant in cell.variants:
            named |= files_of(variant.case)
    new = []
    for file, source in named.items():
        copy, content = path / COPIES / copy_name(file), read_whole(source)
        if not copy.exists() or read_whole(copy) != content:
            copy.parent.mkdir(exist_ok=True)
            new += _write(copy, content)
    return new + _write(path / STORED_STUDY, study.text.encode())


def _write(path: Path, content: bytes) -> list[Path]:
    """Write a file, and wait for the disk if it replaces one: else a power cut harms nothing."""
    there = path.exists()
    write_whole(path, content, sync=there)
    return [] if there else [path]


def read_study(path: Path, meta: Mapping[str, Any]) -> Study:
    """study.toml of the directory `path`, with the seed, budget and targets of the run."""
    file = path / STORED_STUDY
    text = read_text(file)
    full = meta["full"] and _has_full(text)
    with files_from(path.absolute(), path.absolute() / COPIES), warnings.catch_warnings():
        warnings.simplefilter("ignore", BaseReplaced)  # it was said when the study was run
        try:
            study = parse_study(text, full=full, where=str(file))
        except ValueError as error:
            if "kind must be one of" not in str(error):
                raise
            raise ValueError(
                f"{error}; a class of your own is known after its module is imported: in Python, "
                "import it and call Store.open"
            ) from None
    try:
        study = replace(
            study,
            seed=meta["seed"],
            budget=RealizationBudget(**meta["budget"]),
            targets=tuple(Target.parse(target) for target in meta["targets"]),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} and {META} do not fit ({error}); run the study again") from None
    if not situations(study) <= set(meta["cells"]):
        own = f", or {what}" if (what := _own_classes(study)) else ""
        raise ValueError(f"{file} is not what was run last{own}; run it again")
    return study


def _own_classes(study: Study) -> str:
    """Say that the user's own classes in a study may have changed since it was run; else ""."""
    cases = [variant.case for cell in study.cells() for variant in cell.variants]
    names = sorted({type(one).__name__ for case in cases for one in case.own_parts()})
    return f"{' or '.join(names)}, of your own, does something else than then" if names else ""


def _has_full(text: str) -> bool:
    """Return whether [full] is still a table of a study: 0.1 wrote the text as it was read."""
    try:
        return "full" in read_toml(text)
    except ValueError:
        return False  # which is said when the study is read


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List why the run that `old` describes can not be gone on with as `new`; empty if it can."""
    reasons = [
        f"{key} {old[key]}, not {new[key]}" for key in ("study", "seed") if old[key] != new[key]
    ]
    before, now = set(old["cells"]), set(new["cells"])
    if not (before <= now or now <= before):
        reasons.append(f"{counted(len(before - now), 'stored case')} that this study does not have")
    return reasons


_PAIRS = 64  # of cells, that are compared


def changed_fields(path: Path, old: Mapping[str, Any], study: Study) -> str:
    """Say which fields of the run in `path` and of a study differ, how, and in which cells.

    Cells at the same values of the axes are compared; "" where none are, or no field differs.
    """
    try:
        before = read_study(path, old)
    except (OSError, ValueError):
        return f"perhaps {own}" if (own := _own_classes(study)) else ""
    there = {(cell.name, one.label): one for cell in before.cells() for one in cell.variants}
    both = [
        (cell.name, there[cell.name, one.label].case, one.case)
        for cell in study.cells()
        for one in cell.variants
        if (cell.name, one.label) in there
    ][:_PAIRS]
    if not both:
        return _cells_left_out(before, old, study)
    tables = [[_leaves(case.to_dict()) for case in pair] for _, *pair in both]
    where, parts = "in all cells ", []
    for name in dict.fromkeys(key for pair in tables for one in pair for key in one):
        if all(pair[0].get(name) != pair[1].get(name) for pair in tables):
            parts.append(_change(name, tables[0], both[0][1:]))
    if not parts:  # such as a schedule on an axis, of which one file has changed
        where = ""
        for (cell, *cases), pair in zip(both, tables, strict=True):
            for name in dict.fromkeys([*pair[0], *pair[1]]):
                if pair[0].get(name) != pair[1].get(name):
                    parts.append(f"{_change(name, pair, cases)} [at {cell}]")
        parts = list(dict.fromkeys(parts))  # variants of a cell have changed alike
    more = f", and {len(parts) - _MOST_FIELDS} more fields" if len(parts) > _MOST_FIELDS else ""
    if not parts:
        return _cells_left_out(before, old, study)
    return where + ", ".join(parts[:_MOST_FIELDS]) + more


def _cells_left_out(before: Study, old: Mapping[str, Any], study: Study) -> str:
    """Say why a study that lacks a stored case, and has others, is refused; else ""."""
    stored, now = set(old["cells"]), situations(study)
    if stored <= now or now <= stored:
        return ""
    gone = [
        ", ".join(filter(None, [cell.name, one.label]))
        for cell in before.cells()
        for one in cell.variants
        if one.situation not in now
    ]
    such = f"such as {gone[0]}; " if gone else ""
    return f"{such}a study may have more cases than are stored, or fewer, not both"


_MOST_FIELDS = 4


def _change(name: str, pair: Sequence[Mapping[str, Any]], cases: Sequence[Workload]) -> str:
    """`noise.0.period was 0.001 s, is 0.002 s`."""
    values = [one.get(name) for one in pair]
    unit = next(filter(None, (field_unit(case, name) for case in cases)), "")
    was, is_now = (shorten(x) + f" {unit}" * (unit != "" and is_real_number(x)) for x in values)
    return f"{name} was {was}, is {is_now}"


def _leaves(table: Any) -> dict[str, Any]:
    return {path: get_path(table, path) for path in leaves(table)}


def joined(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """`new`, with the cells and backends of `old` kept."""
    together = {key: sorted({*old[key], *new[key]}) for key in ("cells", "backend")}
    return {**new, **together}
