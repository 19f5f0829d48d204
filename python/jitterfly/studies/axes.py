"""Axes of a study: values that are swept or zipped, a choice of them, fields that each sets.

The fields are those of a case as nested tables (TOML): `put` sets one by its path, such as
`noise.0.duration`.

A derived axis is a ratio of two times (such as D / P) that is solved for one field.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from ..algorithms import Algorithm
from ..case import Case
from ..fields import Component, Real, check_choice, check_keys, check_kinds, is_number, shorten
from ..network import MAX_BYTES, Network
from ..noise import Noise
from ..schedule.case import KEYS
from ..syntax import read_size, read_values
from ..units import LONGEST_TICKS, TICKS_PER_SECOND, exact, parse_seconds, show_seconds


@dataclass(frozen=True)
class Variant:
    """A label and the fields of a case that it sets, by path."""

    label: str
    settings: Mapping[str, Any]

    def apply(self, table: dict[str, Any]) -> None:
        """Set its fields in the table of a case."""
        for path, value in self.settings.items():
            put(table, path, value)


@dataclass(frozen=True)
class AxisValue(Variant):
    """One value of an axis, with the fields that it sets; `value`: the number of a derived axis."""

    value: float | None = None


def check_path(path: Any, where: str) -> str:
    """Check a path with dots between its parts, and return it."""
    if not isinstance(path, str) or not all(path.split(".")):
        raise ValueError(f"{where} must be a path such as 'noise.0.duration', got {shorten(path)}")
    return path


def read_settings(value: Any, where: str) -> Frozen:
    """Read fields by path; paths are written as quoted keys, so that nothing is split by TOML."""
    if not isinstance(value, Mapping):
        raise ValueError(f'{where} must be a table of "path" = value, got {shorten(value)}')
    for path in value:
        check_path(path, where)
    return Frozen({path: freeze(entry, f"{where}.{path}") for path, entry in value.items()})


def listed(values: Any, where: str) -> list[Any]:
    """The entries of a list, an array, a range; not of text or of a table."""
    if isinstance(values, (str, bytes, Mapping)):
        raise ValueError(f"{where} must be a list, got {shorten(values)}")
    try:
        return list(values)
    except TypeError:  # nothing to go through
        raise ValueError(f"{where} must be a list, got {shorten(values)}") from None


_MAX_DIGITS = 16  # with the dot: what is longer is a rounding error
_MAX_LISTED = 8  # numbers of a list, in a label


def label_of(value: Any) -> str:
    """The label of a value: a table's is its kind and fields."""
    if isinstance(value, Mapping):
        fields = " ".join(
            f"{key} {label_of(entry)}" for key, entry in value.items() if key != "kind"
        )
        return " ".join(str(part) for part in (value.get("kind", ""), fields) if part)
    if isinstance(value, tuple):
        if len(value) > _MAX_LISTED and all(map(is_number, value)):
            return f"{len(value)} numbers"
        return f"[{' '.join(map(label_of, value))}]"
    if isinstance(value, float) and len(repr(value)) > _MAX_DIGITS:
        return str(float(f"{value:.12g}"))  # 2e-05 of 1.9999999999999998e-05, as linspace has it
    return str(value)


def named_points(points: Any, where: str) -> list[AxisValue]:
    """Return values of an axis that have names, each with a table of settings."""
    if not isinstance(points, Mapping):
        raise ValueError(f"{where} must be a table of names, got {shorten(points)}")
    return [AxisValue(str(k), read_settings(v, f"{where}.{k}")) for k, v in points.items()]


def zip_points(columns: Any, where: str) -> list[AxisValue]:
    """Return values of an axis that set several fields together."""
    if not isinstance(columns, Mapping) or not columns:
        raise ValueError(f'{where} must be a table of "path" = list, got {shorten(columns)}')
    lists = {check_path(path, where): listed(v, f"{where}.{path}") for path, v in columns.items()}
    if len({len(column) for column in lists.values()}) != 1:
        lengths = ", ".join(f"{path}: {len(column)}" for path, column in lists.items())
        raise ValueError(f"{where} must hold lists of one length, got {lengths}")
    rows = [freeze(row, where, short=True) for row in zip(*lists.values(), strict=True)]
    labels = _distinct([", ".join(map(label_of, row)) for row in rows], rows)
    return [
        AxisValue(label, Frozen(zip(lists, row, strict=True)))
        for label, row in zip(labels, rows, strict=True)
    ]


def log2_values(bounds: Any, where: str) -> list[int]:
    """Return the powers of two between two exponents."""
    bounds = listed(bounds, f"{where}.log2")
    whole = [b for b in bounds if isinstance(b, (int, np.integer)) and not isinstance(b, bool)]
    if len(bounds) != 2 or len(whole) != 2 or not 0 <= whole[0] <= whole[1] <= 30:
        raise ValueError(
            f"{where}.log2 must be [first, last] with 0 <= first <= last <= 30 (every second "
            f'power: values = "16..4096/2"), got {shorten(bounds)}'
        )
    return [1 << int(exponent) for exponent in range(whole[0], whole[1] + 1)]


def _distinct(labels: list[str], values: Sequence[Any]) -> list[str]:
    """Return the labels of values, numbered where different values have the same label.

    Long lists of as many numbers have. Where a value is there twice, its labels stay the same.
    """
    if len(set(values)) < len(values):
        return labels
    places = {one: itertools.count(1) for one, count in Counter(labels).items() if count > 1}
    return [f"{one} #{next(places[one])}" if one in places else one for one in labels]


def _values_of(path: str, values: Sequence[Any]) -> list[AxisValue]:
    """Return the values of an axis that sets the field at `path`, with labels that differ."""
    labels = [label_of(value) for value in values]
    if len(set(labels)) < len(labels):  # numbers that differ in their last digits only
        labels = [str(v) if isinstance(v, float) else label_of(v) for v in values]
    both = zip(_distinct(labels, values), values, strict=True)
    return [AxisValue(label, Frozen({path: value})) for label, value in both]


_MARKS = ("=", ",", "\n")  # parts of the names of cells


@dataclass(frozen=True, init=False)
class Axis:
    """A named, ordered list of values; the cells of a study are the product of its axes.

    It is one of the `axes` of a `Study`: ``jf.Study("mine", case=case, axes=[jf.Axis(...)])``.

    Parameters
    ----------
    name : str
        Such as "ranks".
    values : list, optional
        Values of the field `path`; text such as ``"64..8192"`` is a range (`jitterfly.syntax`).
    path : str, optional
        Which field, such as "noise.0.duration"; the axis's name where it is left out.
    log2 : [first, last], optional
        Powers of two instead of `values`, by their first and last exponent.
    zip : table of path = list, optional
        Several fields that change together.
    points : table of name = {path = value, ...}, optional
        Named settings.

    Exactly one of values, log2, zip, points. A derived axis is made by `Axis.derived`.

    Raises
    ------
    ValueError
        An empty axis, a value given twice, lists of different lengths; names the axis.

    Examples
    --------
    >>> [value.label for value in Axis("ranks", log2=[2, 4]).values]
    ['4', '8', '16']
    >>> Axis("D", ["1us", "10us"], path="noise.0.duration").values[1].settings
    {'noise.0.duration': '10us'}
    """

    name: str
    values: tuple[AxisValue, ...]
    path: str
    rule: str
    by: tuple[str, ...]

    def __init__(
        self,
        name: str,
        values: Iterable[Any] | None = None,
        *,
        path: str | None = None,
        log2: Sequence[int] | None = None,
        zip: Mapping[str, Iterable[Any]] | None = None,
        points: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        where = check_axis_name(name)
        given = {"log2": log2, "values": values, "zip": zip, "points": points}
        kinds = [kind for kind, value in given.items() if value is not None]
        if len(kinds) != 1:
            given_kinds = " and ".join(kinds) or "none"
            raise ValueError(f"{where} must have one of {', '.join(given)}; got {given_kinds}")
        if path is not None and kinds[0] in ("zip", "points"):
            raise ValueError(f"{where}.path goes with values or log2, not with {kinds[0]}")
        if zip is not None:
            made = zip_points(zip, f"{where}.zip")
        elif points is not None:
            made = named_points(points, f"{where}.points")
        else:
            path = check_path(name if path is None else path, f"{where}.path")
            key = f"{where}.values"
            if log2 is not None:
                listed_values = log2_values(log2, where)
            else:
                listed_values = listed(read_values(values, path, where), key)
            listed_values = freeze(listed_values, key, short=True)
            made = _values_of(path, listed_values)
        self._put(name, made, path=path or "")

    @classmethod
    def derived(
        cls, rule: str, by: str | Sequence[str], values: Iterable[Real], name: str | None = None
    ) -> Axis:
        """An axis over a ratio of two times, reached by solving for a field.

        Parameters
        ----------
        rule : str
            Two of T_comm (one round without noise), D and P (duration and period of the noise), W
            (the compute phase), such as "T_comm / D" or "D / P".
        by : str or list of str
            The field that is solved for, which belongs to one of the two: message_bytes (the
            nearest whole number), noise.0.duration or .delay (D), noise.0.period or .gap (P), or
            compute_time (W).
            A list: all of them.
        values : list of float
            The ratios, above 0.
        name : str, optional
            The name of the axis; `rule` where it is left out.

        Examples
        --------
        >>> Axis.derived("T_comm / D", by="message_bytes", values=[0.01, 0.1]).name
        'T_comm / D'
        """
        name = rule if name is None else name
        where = check_axis_name(name)
        fields = (by,) if isinstance(by, str) else tuple(listed(by, f"{where}.by"))
        check_rule(rule, fields, where)
        made = []
        for value in freeze(listed(values, f"{where}.values"), f"{where}.values"):
            good = is_number(value)
            if not good or not value > 0 or not math.isfinite(value):
                raise ValueError(f"{where}.values must be numbers above 0, got {shorten(value)}")
            made.append(AxisValue(str(value), Frozen(), value))
        axis = cls.__new__(cls)  # without __init__, which would read the values again
        axis._put(name, made, rule=" ".join(rule.split()), by=fields)
        return axis

    def _put(
        self, name: str, values: Iterable[AxisValue], path: str = "", rule: str = "", by: Any = ()
    ) -> None:
        """Set the fields, once it is sure that values are there and none stands twice."""
        values = tuple(values)
        if not values:
            raise ValueError(f"axes.{name} is empty: give it at least one value")
        labels = [value.label for value in values]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"axes.{name} has the value {shorten(twice[0])} twice")
        for key, field in (("name", name), ("values", values), ("path", path)):
            object.__setattr__(self, key, field)
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "by", by)

    def apply(self, table: dict[str, Any], value: AxisValue) -> None:
        """Set what `value` stands for in the table of a case."""
        if value.value is not None:
            apply_rule(table, self.rule, self.by, value.value, f"axes.{self.name}")
        value.apply(table)

    def choose(self, names: Any) -> Axis:
        """Return the axis with some of its values, by their names or the beginning of one alone.

        Raises
        ------
        ValueError
            A name that none or several have; names the axis.
        """
        where = f"axes.{self.name}.choose"
        labels = [value.label for value in self.values]
        chosen = {label_named(name, labels, where) for name in listed(names, where)}
        axis = Axis.__new__(Axis)  # without __init__, which would read the values again
        values = [value for value in self.values if value.label in chosen]
        axis._put(self.name, values, self.path, self.rule, self.by)
        return axis

    def to_dict(self) -> dict[str, Any]:
        """The table of this axis in TOML."""
        if self.rule:
            by: Any = self.by[0] if len(self.by) == 1 else self.by
            values = [one.value for one in self.values]
            return {"derived": self.rule, "by": by, "values": values}
        if self.path:
            values = [one.settings[self.path] for one in self.values]
            return {"values": values} | ({} if self.path == self.name else {"path": self.path})
        return {"points": {one.label: one.settings for one in self.values}}


_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)? ?[^\W\d]{0,3}")


def label_named(name: Any, labels: Sequence[str], where: str) -> str:
    """The label that is meant: itself, or the beginning of one alone where they are not numbers.

    Labels that are all numbers, also with units, have to be given whole: 1 is not short for 16.

    Raises
    ------
    ValueError
        A name that none or several have; begins with `where`, and names all labels.
    """
    if str(name) in labels:
        return str(name)
    known = ", ".join(map(repr, labels))
    if all(map(_NUMBER.fullmatch, labels)):
        raise ValueError(f"{where}: {shorten(name)} is none of {known}")
    matches = [label for label in labels if label.startswith(str(name))]
    if len(matches) != 1:
        many = "several of" if matches else "none of"
        raise ValueError(f"{where}: {shorten(name)} is the beginning of {many} {known}")
    return matches[0]


def check_axis_name(name: Any) -> str:
    """Return `axes.NAME`, if that is a name."""
    if not isinstance(name, str) or not name.strip() or any(mark in name for mark in _MARKS):
        raise ValueError(
            f"the name of an axis must be text without '=' and ',', got {shorten(name)}"
        )
    return f"axes.{name}"


_NOISE = re.compile(r"noise\.[0-9]+\.(duration|delay|period|gap)")


class CaseTime(ABC):
    """A time of a case, as an exact fraction of ticks."""

    @abstractmethod
    def read(self, table: Mapping[str, Any], by: str) -> Fraction:
        """The value of this time; `by` is the field solved for, if that tells which noise it is."""

    @abstractmethod
    def is_set_by(self, path: str) -> bool:
        """Return whether the field at `path` can set this time."""

    def reads(self, path: str) -> bool:
        """Return whether the value of this time depends on the field at `path`."""
        return self.is_set_by(path)

    def solve(self, table: dict[str, Any], path: str, wanted: Fraction) -> tuple[Any, Any]:
        """The value of the field at `path` for which this time is `wanted`, and its range.

        Returns
        -------
        tuple[Any, Any]
            The value, and None; or None, and the (lowest, highest) time that can be reached.
        """
        if Fraction(1) <= wanted <= LONGEST_TICKS:
            return round(wanted) / TICKS_PER_SECOND, None
        return None, (Fraction(1), Fraction(LONGEST_TICKS))


class RoundTime(CaseTime):
    """T_comm: one round without noise, as `theory.round_time`; set by the size of the message."""

    def read(self, table: Mapping[str, Any], by: str) -> Fraction:
        size = read_size(table.get("message_bytes", 8), "message_bytes", 0, MAX_BYTES)
        return Fraction(sum(self._network(table).costs(size)))

    def is_set_by(self, path: str) -> bool:
        return path == "message_bytes"

    def reads(self, path: str) -> bool:
        return self.is_set_by(path) or path.split(".")[0] == "network"

    def solve(self, table: dict[str, Any], path: str, wanted: Fraction) -> tuple[Any, Any]:
        network = self._network(table)
        least, most = network.smallest_message, network.largest_message

        def time(size: int) -> int:
            return sum(network.costs(size))

        span = min(most - least, 10**6)
        step = Fraction(time(least + span) - time(least), max(span, 1))
        if step == 0:
            ends = (Fraction(time(least)),) * 2
            return (least, None) if wanted == ends[0] else (None, ends)
        size = least
        for _ in range(2):  # costs are whole ticks, so the first guess may be a little off
            size += round((wanted - time(size)) / step)
            if not least <= size <= most:
                return None, (Fraction(time(least)), time(least) + step * (most - least))
        return size, None

    def _network(self, table: Mapping[str, Any]) -> Network:
        if "network" not in table:
            raise ValueError("case: key 'network' is missing")
        return Network.from_dict(table["network"], "network")


class NoiseTime(CaseTime):
    """D or P: a field of the noise that is solved for, else of the periodic or only one."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    def read(self, table: Mapping[str, Any], by: str) -> Fraction:
        path = self._path(table, by)
        value = get_path(table, path)
        if value is None:
            raise ValueError(f"{path} is missing")
        if isinstance(value, Mapping) and value.get("kind") == "constant":
            value = value.get("value")
        return exact(parse_seconds(value, path, positive=True)) * TICKS_PER_SECOND

    def _path(self, table: Mapping[str, Any], by: str) -> str:
        """The path of the time: in the source of `by`, in the periodic one, or in the only one."""
        sources = table.get("noise", [])
        having = {
            i: next((field for field in self.fields if field in source), self.fields[0])
            for i, source in enumerate(sources)
            if isinstance(source, Mapping)
        }
        if _NOISE.fullmatch(by):
            i = int(by.split(".")[1])
            return f"noise.{i}.{having.get(i, self.fields[0])}"
        periodic = [i for i in having if sources[i].get("kind") == "periodic"]
        chosen = periodic or [i for i in having if having[i] in sources[i]]
        if len(chosen) > 1:
            candidates = " or ".join(f"noise.{i}.{having[i]}" for i in chosen)
            raise ValueError(
                f"which of the sources is meant, {candidates}? let by be one of its fields"
            )
        i = chosen[0] if chosen else 0
        return f"noise.{i}.{having.get(i, self.fields[0])}"

    def is_set_by(self, path: str) -> bool:
        return bool(_NOISE.fullmatch(path)) and path.split(".")[2] in self.fields


class ComputeTime(CaseTime):
    """W: the compute phase."""

    def read(self, table: Mapping[str, Any], by: str) -> Fraction:
        value = parse_seconds(table.get("compute_time", 0.0), "compute_time", positive=True)
        return exact(value) * TICKS_PER_SECOND

    def is_set_by(self, path: str) -> bool:
        return path == "compute_time"


TIMES: dict[str, CaseTime] = {
    "T_comm": RoundTime(),
    "D": NoiseTime("duration", "delay"),
    "P": NoiseTime("period", "gap"),
    "W": ComputeTime(),
}


def check_spelling(table: Mapping[str, Any]) -> None:
    """Raise ValueError for an unknown key, whatever else the table lacks."""
    of_collective = [field.name for field in dataclasses.fields(Case)]
    check_keys(table, KEYS if "schedule" in table else of_collective, "case")
    noise = table.get("noise")
    sources = enumerate(noise if isinstance(noise, (list, tuple)) else ())
    parts: list[tuple[type[Component], str, Any]] = [
        (Algorithm, "algorithm", table.get("algorithm")),
        (Network, "network", table.get("network")),
        *((Noise, f"noise[{i}]", source) for i, source in sources),
    ]
    for family, where, part in parts:
        kind = part.get("kind") if isinstance(part, Mapping) else None
        if isinstance(kind, str) and kind in family._kinds:
            names = [field.name for field in dataclasses.fields(family._kinds[kind])]
            check_keys(part, ["kind", *names], where)


def split_rule(rule: str) -> tuple[str, str]:
    """The names above and below the line."""
    above, _, below = (part.strip() for part in rule.partition("/"))
    return above, below


def check_rule(rule: Any, by: Sequence[Any], where: str) -> None:
    """Raise ValueError unless `rule` is a ratio of two times, one of which each field sets."""
    if not isinstance(rule, str) or rule.count("/") != 1:
        raise ValueError(
            f"{where}.derived must be a ratio such as 'T_comm / D', got {shorten(rule)}"
        )
    names = split_rule(rule)
    for name in names:
        check_choice(name, f"{where}.derived", list(TIMES))
    if names[0] == names[1]:
        raise ValueError(f"{where}.derived must be a ratio of two times, got {shorten(rule)}")
    if not by:
        raise ValueError(f"{where}.by is empty: say which field is solved for")
    owners = [
        next((n for n in names if isinstance(p, str) and TIMES[n].is_set_by(p)), None) for p in by
    ]
    for path, owner in zip(by, owners, strict=True):
        if owner is None:
            raise ValueError(
                f"{where}.by must be a field that sets {names[0]} or {names[1]} (T_comm: "
                "message_bytes, D: noise.0.duration or delay, P: noise.0.period or gap, "
                f"W: compute_time), got {shorten(path)}"
            )
    if len(set(owners)) > 1 or len(set(by)) < len(by):
        raise ValueError(f"{where}.by must be different fields of one time, got {shorten(by)}")


def sets_numerator(rule: str, by: str) -> bool:
    """Return whether the field `by` sets the ratio's first time (else: the second)."""
    return TIMES[split_rule(rule)[0]].is_set_by(by)


def rule_reads(rule: str, by: Sequence[str], path: str) -> bool:
    """Return whether the ratio depends on the field at `path`, beside those that are solved for."""
    return path not in by and any(TIMES[name].reads(path) for name in split_rule(rule))


def apply_rule(
    table: dict[str, Any], rule: str, by: Sequence[str], value: float, where: str
) -> None:
    """Set the fields `by` such that the ratio `rule` is `value`.

    Raises
    ------
    ValueError
        No value of a field reaches it; the message names axis, value and range.
    """
    above, below = split_rule(rule)
    for name in {above, below} & {"T_comm", "W"} if "schedule" in table else ():
        raise ValueError(
            f"{where}: {name} is a time of a collective's case; messages and calculations of a "
            "schedule have many"
        )
    ratio = exact(value)
    for path in by:
        over = sets_numerator(rule, path)
        solved, other = (TIMES[above], TIMES[below]) if over else (TIMES[below], TIMES[above])
        try:
            known = other.read(table, path)
            wanted = known * ratio if over else known / ratio
            solution, reach = solved.solve(table, path, wanted)
        except ValueError:
            check_spelling(table)
            raise
        if solution is None:
            ends = [end / known if over else known / end for end in reach]
            interval = " to ".join(f"{float(end):.4g}" for end in sorted(ends))
            here = above if not over else below
            raise ValueError(
                f"{where}: {rule} = {value} is out of reach: by {path} it goes from {interval}, "
                f"where {here} is {show_seconds(float(known) / TICKS_PER_SECOND)}"
            )
        put(table, path, solution)


class Frozen(dict):  # type: ignore[type-arg]
    """An immutable dict."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a study can not be changed: make another one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return Frozen, (dict(self),)


def freeze(value: Any, where: str, *, short: bool = False) -> Any:
    """An immutable copy of a value of TOML's types.

    Components become tables, where `short` without fields that have their defaults, numpy's numbers
    and arrays Python's, lists tuples.

    Raises
    ------
    ValueError
        What TOML has no word for, such as None; the message begins with `where`.
    """
    if isinstance(value, (bool, int, float, str)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Component):
        check_kinds(value, where)
        value = value.short_dict() if short else value.to_dict()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
        return freeze(value, where, short=short)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError(f"{where} must have names as keys, got {shorten(value)}")
        entries = value.items()
        return Frozen({key: freeze(one, f"{where}.{key}", short=short) for key, one in entries})
    if isinstance(value, (list, tuple, range)):
        return tuple(freeze(one, f"{where}.{i}", short=short) for i, one in enumerate(value))
    points = value is None and where.startswith("axes.")
    raise ValueError(
        f"{where} must be a number, text, true or false, a list or a table, got {shorten(value)}"
        + "; to leave a field as it is, give points= with an empty table" * points
    )


def thaw(value: Any) -> Any:
    """A copy that may be changed: dicts and lists."""
    if isinstance(value, Mapping):
        return {key: thaw(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(entry) for entry in value]
    return value


def put(table: dict[str, Any], path: str, value: Any) -> None:
    """Set the field at the dotted `path`; list entries go by their number.

    The last part of the path may be new in its table (a default is being replaced); whether such a
    field exists is for the case to say.

    Raises
    ------
    ValueError
        The path leads through a plain value, or to an entry that a list lacks.
    """
    parts = path.split(".")
    here: Any = table
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        if isinstance(here, list):
            if not (part.isdecimal() and part.isascii()) or int(part) >= len(here):
                where = ".".join(parts[:depth])
                raise ValueError(
                    f"path {shorten(path)}: {where} is a list of {len(here)}, "
                    f"no entry {shorten(part)}"
                )
            key: Any = int(part)
        elif isinstance(here, dict):
            key = part
            if not last:
                here.setdefault(key, {})
        else:
            where = ".".join(parts[:depth])
            raise ValueError(f"path {shorten(path)}: {where} is a plain value and has no fields")
        if last:
            here[key] = thaw(value)
        else:
            here = here[key]


def get_path(table: Any, path: str) -> Any:
    """The value at the dotted `path`; None where there is nothing."""
    for part in path.split("."):
        if isinstance(table, Mapping):
            table = table.get(part)
        elif isinstance(table, (list, tuple)) and part.isdecimal() and int(part) < len(table):
            table = table[int(part)]
        else:
            return None
    return table


def leaves(table: Any, path: str = "") -> Iterator[str]:
    """The paths of all plain values (and empty tables) in a table."""
    if isinstance(table, Mapping) and table:
        parts: Any = table.items()
    elif isinstance(table, (list, tuple)) and any(isinstance(entry, Mapping) for entry in table):
        parts = enumerate(table)
    else:
        yield path
        return
    for key, value in parts:
        yield from leaves(value, f"{path}.{key}" if path else str(key))


def without(table: Any, paths: set[str], path: str = "") -> Any:
    """A frozen copy without the fields at `paths`; what becomes empty goes, but no list entry."""
    if isinstance(table, Mapping):
        kept = {}
        for key, value in table.items():
            here = f"{path}.{key}" if path else str(key)
            if here not in paths:
                remaining = without(value, paths, here)
                if remaining != {} or value == {}:
                    kept[key] = remaining
        return Frozen(kept)
    if isinstance(table, (list, tuple)):
        return tuple(
            Frozen() if f"{path}.{i}" in paths else without(value, paths, f"{path}.{i}")
            for i, value in enumerate(table)
        )
    return table
