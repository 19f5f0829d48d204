"""A question from a TOML file; options of the command line take the place of its values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..fields import check_keys, shorten
from ..files import read_text
from ..network import Network
from ..noise import Noise
from ..noise.files import files_from
from ..studies.toml import tomllib
from ..syntax import read_noises
from .question import Question

KEYS = tuple(field.name for field in dataclasses.fields(Question) if field.name != "_")


def load_question(
    path: str | Path, over: Mapping[str, Any], seconds: float | None = None
) -> Question:
    """The question in a TOML file, with the values of `over` in place of its own.

    Raises
    ------
    ValueError
        TOML syntax (with line), unknown keys, and what `Question` refuses; begins with the file.
    OSError
        It can not be read.
    """
    table = _table(path)
    try:
        check_keys(table, KEYS, "the question")
        with files_from(Path(path).absolute().parent):
            if "network" not in over:
                table = _part(table, "network")
            if "noise" not in over:
                table = _part(table, "noise")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return read_question(table | dict(over), seconds)


def own_names(path: str | Path) -> tuple[str, list[str]]:
    """The collective of the question in a TOML file, and the names of its own candidates.

    Raises
    ------
    ValueError, OSError
        As `load_question`, of the syntax.
    """
    table = _table(path)
    own = table.get("own", {})
    if not isinstance(own, Mapping):
        raise ValueError(f"{path}: own must be a table of names and algorithms, got {shorten(own)}")
    return str(table.get("collective", "allreduce")), list(own)


def _table(path: str | Path) -> dict[str, Any]:
    text = read_text(path, pipe=True)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not valid TOML: {error}") from None


def read_question(table: Mapping[str, Any], seconds: float | None = None) -> Question:
    """The question of plain values; `seconds` is the budget where the table says nothing of one.

    Raises
    ------
    ValueError
        Unknown or missing keys, and what `Question` refuses.

    Examples
    --------
    >>> machine = {"kind": "loggops", "L": "1us", "o": "100ns"}
    >>> read_question({"ranks": "4,8", "network": machine, "within": "2%"}).within
    0.02
    """
    check_keys(table, KEYS, "the question")
    for key in ("ranks", "network"):
        if key not in table:
            raise ValueError(f"the question lacks the key {key!r}")
    if "seconds" not in table and "realizations" not in table:
        table = {**table, "seconds": seconds}
    return Question(**_part(_part(dict(table), "network"), "noise"))


def _part(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The table with its network, or its noise, as objects."""
    values = dict(table)
    if key == "network" and isinstance(values.get(key), Mapping):
        values[key] = Network.from_dict(values[key], "network")
    if key == "noise" and key in values:
        parts = read_noises(values[key])
        if not isinstance(parts, (list, tuple)):
            raise ValueError(f"noise must be a list of tables, got {shorten(parts)}")
        values[key] = [
            Noise.from_dict(part, f"noise[{i}]") if isinstance(part, Mapping) else part
            for i, part in enumerate(parts)
        ]
    return values
