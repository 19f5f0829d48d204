"""Reading of studies and cases from TOML; the studies that are shipped with the package.

A key that nothing reads is an error.

Some studies come with the package: those of the papers, and examples with their data.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..case import Case
from ..fields import check_keys, did_you_mean, parameter, shorten
from ..files import COPIES, STORED_STUDY, files_from, read_text
from .axes import Axis
from .grid import RealizationBudget
from .study import BaseReplaced, Study

STUDY = "the study"
"""Where the top of the file is."""
_REQUIRED = object()
_NAMES = {str: "a string", int: "an integer", dict: "a table", list: "a list"}


class Table:
    """One TOML table under its name in the file (`where`), for errors that name the field."""

    def __init__(self, data: Mapping[str, Any], where: str):
        if not isinstance(data, Mapping):
            raise ValueError(f"{where} must be a table, got {shorten(data)}")
        self.data = dict(data)
        self.where = where
        self.asked: set[str] = set()

    def take(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        """The value of `key`, which must be of type `kind` (a bool is no integer here)."""
        self.asked.add(key)
        if key not in self.data:
            if default is _REQUIRED:
                raise ValueError(f"{self.where} lacks the key {key!r}")
            return default
        value = self.data[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            name = key if self.where == STUDY else f"{self.where}.{key}"
            raise ValueError(f"{name} must be {_NAMES[kind]}, got {shorten(value)}")
        return value

    def finish(self) -> None:
        """Raise if the table holds a key that was never asked for."""
        check_keys(self.data, sorted(self.asked), self.where)


def merge(base: Mapping[str, Any], over: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Merge `base` with the values of `over` in place of its own, table by table.

    A key that `base` lacks is an error: an override that overrides nothing is a misspelling.
    """
    check_keys(over, list(base), where)
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(base[key], Mapping)
        merged[key] = merge(base[key], value, f"{where}.{key}") if both else value
    return merged


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_toml(text: str) -> dict[str, Any]:
    """Read a TOML text; ValueError if it is not valid TOML."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # tomllib's own, and an integer of thousands of digits
        raise ValueError(_something_else(text) or f"not valid TOML: {error}") from None
    except RecursionError:
        raise ValueError("not valid TOML: nested too deeply") from None


def _something_else(text: str) -> str:
    """Say what a text is that is not TOML, if it is a file of ours or a schedule; else ""."""
    from ..measured.formats import HEAD_BYTES, known_for

    if text.startswith("# jitterfly noise"):
        return (
            f"this is a noise file, no study or case: {parameter('noise')} takes it, and "
            "`jitterfly noise show` says what is in it"
        )
    if re.match(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*num_ranks\b", text, re.DOTALL):
        return (
            "this is a schedule of an application (GOAL), which must be a file, as it is read "
            "twice; write what comes out of the pipe to a file first"
        )
    what, instead = known_for(text[:HEAD_BYTES], "FILE")
    if what:
        return f"this is {what}, no study, case or schedule (GOAL): {instead}"
    if text.lstrip()[:1] == "{":
        return "this is JSON, no study or case (TOML) and no schedule (GOAL)"
    return ""


Choices = Mapping[str, Sequence[str]]
"""Points of axes by the axes' names."""


def read_study(text: str, full: bool, choose: Choices | None = None) -> dict[str, Any]:
    """The arguments of `Study` that a TOML text holds."""
    choices = dict(choose or {})
    data = read_toml(text)
    if not data:
        raise ValueError("nothing is in it: a study has a name, a case and realizations")
    override = data.pop("full", None)
    if full and override is None:
        raise ValueError(
            f"this study has no [full] table, so {parameter('full')} would change nothing"
        )
    if override is not None:
        merged = merge(data, Table(override, "full").data, "full")
        data = merged if full else data
    table = Table(data, STUDY)
    values = {
        "name": table.take("name", str),
        "title": table.take("title", str, ""),
        "source": table.take("source", str, ""),
        "figure": table.take("figure", str, ""),
        "claims": table.take("claims", list, []),
        "seed": table.take("seed", int, 0),
        "case": table.take("case", dict),
        "axes": [
            read_axis(name, axis, choices.pop(name, None))
            for name, axis in table.take("axes", dict, {}).items()
        ],
        "variants": table.take("variants", dict, {}),
        "observables": table.take("observables", dict, {}),
        "targets": table.take("targets", list, []),
        "budget": _read_budget(table.take("realizations", dict, None)),
    }
    table.finish()
    if choices:
        axes = ", ".join(axis.name for axis in values["axes"]) or "none"
        raise ValueError(f"choose: there is no axis {shorten(next(iter(choices)))}; axes: {axes}")
    return values


def _read_budget(data: Any) -> RealizationBudget | None:
    if data is None:
        return None  # the study says what it means that there is none
    table = Table(data, "realizations")
    table.asked.update(("min", "max", "rank_rounds", "raw_bytes"))
    table.finish()
    return RealizationBudget(**data)


_OF_STUDIES = ("name", "axes", "variants", "observables")


def parse_study(
    text: str,
    *,
    full: bool = False,
    where: str = "study",
    choose: Choices | None = None,
) -> Study:
    """The study that a TOML text describes.

    Parameters
    ----------
    text : str
    full : bool
        Apply the table ``[full]``, which holds the sizes meant for a large machine.
    where : str
        The name of the file, for errors.
    choose : mapping of str to list of str, optional
        Points of axes, by the axes' names, instead of those that the text chooses.

    Raises
    ------
    ValueError
        TOML syntax (with line), unknown or missing keys, and what `Study` refuses.
    """
    try:
        with warnings.catch_warnings():
            if choose:  # the points that are left may all set what the base case says
                warnings.simplefilter("ignore", BaseReplaced)
            study = Study(**read_study(text, full, choose))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    except RecursionError:
        raise ValueError(f"{where}: nested too deeply") from None
    if choose:  # the text describes another study, with more points
        return study.with_origin("", False, where)
    return study.with_origin(text, full, where)


def load_case(path: str | Path) -> Case:
    """The case in a TOML file: its fields, or a table ``[case]`` of them and nothing else.

    Raises
    ------
    ValueError
        TOML syntax, other tables beside ``[case]`` (a study is more than one case), and what `Case`
        refuses; the message begins with the name of the file.
    OSError
        The file can not be read.
    """
    text = read_text(path)  # whose errors begin with the name, too
    try:
        table = read_toml(text)
        if "case" in table:
            check_keys(table, ["case"], "a file with a table [case]")
            table = table["case"]
        if "schedule" in table:
            raise ValueError(
                "it is the case of a schedule: `jitterfly run APP.goal` and `jitterfly explain "
                "APP.goal` take the schedule itself, with network and noise as options"
            )
        with files_from(Path(path).absolute().parent):
            return Case.from_dict(table)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {str(error) or 'nested too deeply'}") from None


def holds_study(path: str | Path) -> bool:
    """Return whether a TOML file is meant as a study, not as one case, whatever its errors."""
    try:
        table = read_toml(read_text(path))
    except (ValueError, RecursionError):
        return False
    return "case" in table and any(key in table for key in _OF_STUDIES)


def load_study(path: str | Path, *, full: bool = False, choose: Choices | None = None) -> Study:
    """The study in a TOML file.

    Parameters
    ----------
    path : path
        The file, or a pipe; or the name of a study that comes with jitterfly: ``"ms12_fig12"``.
    full : bool
        Apply the table ``[full]``, which holds the sizes meant for a large machine.
    choose : mapping of str to list of str, optional
        Points of axes, by the axes' names, instead of those that the file chooses.

    Returns
    -------
    Study

    Raises
    ------
    ValueError
        TOML syntax (with line), unknown or missing keys, and what `Study` refuses; the message
        begins with the name of the file. Or no study has this name.
    OSError
        The file can not be read.
    """
    path = find_study(path)
    text = read_text(path, pipe=True)
    folder = Path(path).absolute().parent
    # Copies are those of a store's own study; another one in that directory has files of its own.
    copies = folder / COPIES if Path(path).name == STORED_STUDY else None
    with files_from(folder, copies):
        return parse_study(text, full=full, where=str(path), choose=choose)


def read_axis(name: str, data: Any, choose: Sequence[str] | None) -> Axis:
    """The axis `name` of a study's TOML; `choose`: its points, if not None."""
    table = Table(data, f"axes.{name}")
    chosen = table.take("choose", list, None)
    axis = _read_axis(name, table)
    chosen = chosen if choose is None else choose
    return axis if chosen is None else axis.choose(chosen)


def _read_axis(name: str, table: Table) -> Axis:
    """Return an axis from its table: values, points, a range, columns or a rule."""
    keys = ("path", "log2", "values", "zip", "points", "derived", "by")
    given = {key: table.data[key] for key in keys if key in table.data}
    table.asked.update(keys)
    table.finish()
    if "derived" not in given and "by" not in given:
        return Axis(name, **given)
    missing = [key for key in ("derived", "by", "values") if key not in given]
    unfit = sorted(set(given) - {"derived", "by", "values"})
    if missing or unfit:
        problem = f"lacks {missing[0]!r}" if missing else f"has {unfit[0]!r}, too"
        raise ValueError(f"axes.{name} must have derived, by and values; it {problem}")
    return Axis.derived(given["derived"], given["by"], given["values"], name)


EXAMPLES = "examples"
_PACKAGE = Path(__file__).parents[1]


class Shipped(NamedTuple):
    """A study that comes with the package: its file, and what it shows."""

    path: Path
    title: str


def shipped_folder() -> Path:
    """The folder of the studies: in the package, or in the checkout that the package is used from.

    Raises
    ------
    FileNotFoundError
        In neither.
    """
    places = _PACKAGE / "sweeps", _PACKAGE.parents[1] / "sweeps"
    for place in places:
        if any(place.glob("*.toml")):
            return place
    raise FileNotFoundError(f"no studies in {' or '.join(map(str, places))}; install jitterfly")


def shipped() -> dict[str, Shipped]:
    """All studies by name: the examples first."""
    place = shipped_folder()
    paths = [*sorted((place / EXAMPLES).glob("*.toml")), *sorted(place.glob("*.toml"))]
    return {
        path.stem: Shipped(path, str(read_toml(read_text(path)).get("title", "")))
        for path in paths
        if holds_study(path)  # and not a question for `advise`
    }


def find_study(name: str | Path) -> Path:
    """The file of a study: a file, also without its ending .toml; else one that is shipped.

    Raises
    ------
    ValueError
        Neither there is; the message has the names of those that are shipped.
    """
    path = Path(name)
    is_name = len(path.parts) == 1 and path.suffix in ("", ".toml")
    if not is_name or (path.exists() and not path.is_dir()):
        return path  # who reads it says what is wrong with it
    local = path.with_suffix(".toml")
    if local.is_file():
        return local
    there = shipped()
    if path.stem in there:
        return there[path.stem].path
    if path.is_dir():
        return path
    raise ValueError(
        f"{path}: No such file, and no study of that name comes with jitterfly"
        f"{did_you_mean(path.stem, list(there))}; those that do are {', '.join(there)}"
    )
