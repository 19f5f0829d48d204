"""Derived axes: a ratio of two times (such as D / P) that is solved for one field."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..algorithms import Algorithm
from ..case import Case
from ..fields import Component, check_choice, check_keys, shorten
from ..network import MOST_BYTES, Network
from ..noise import Noise
from ..schedule.case import KEYS
from ..syntax import read_size
from ..units import LONGEST_TICKS, TICKS_PER_SECOND, exact, parse_seconds, show_seconds
from .case_fields import get_path, put

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
        size = read_size(table.get("message_bytes", 8), "message_bytes", 0, MOST_BYTES)
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


def reads(rule: str, by: Sequence[str], path: str) -> bool:
    """Return whether the ratio depends on the field at `path`, beside those that are solved for."""
    return path not in by and any(TIMES[name].reads(path) for name in split_rule(rule))


def apply(table: dict[str, Any], rule: str, by: Sequence[str], value: float, where: str) -> None:
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
