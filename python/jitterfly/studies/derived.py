"""Derived axes: a ratio of two times of a case, reached by solving for one of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..fields import check_choice, shorten
from ..units import TICKS_PER_SECOND, exact, show_seconds
from .casetable import put
from .spelling import check_spelling
from .times import TIMES


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
    owners = [next((n for n in names if isinstance(p, str) and TIMES[n].owns(p)), None) for p in by]
    for path, owner in zip(by, owners, strict=True):
        if owner is None:
            raise ValueError(
                f"{where}.by must be a field that sets {names[0]} or {names[1]} (T_comm: "
                "message_bytes, D: noise.0.duration or delay, P: noise.0.period or gap, W: work), "
                f"got {shorten(path)}"
            )
    if len(set(owners)) > 1 or len(set(by)) < len(by):
        raise ValueError(f"{where}.by must be different fields of one time, got {shorten(by)}")


def sets(rule: str, by: str) -> bool:
    """Whether the field `by` sets the time above the line (else: the one below)."""
    return TIMES[split_rule(rule)[0]].owns(by)


def reads(rule: str, by: Sequence[str], path: str) -> bool:
    """Whether the ratio depends on the field at `path`, beside the ones that are solved for."""
    return path not in by and any(TIMES[name].reads(path) for name in split_rule(rule))


def apply(table: dict[str, Any], rule: str, by: Sequence[str], value: float, where: str) -> None:
    """Set the fields `by` such that the ratio `rule` is `value`.

    Raises:
        ValueError: no value of a field reaches it; the message names axis, value and range.
    """
    above, below = split_rule(rule)
    ratio = exact(value)
    for path in by:
        over = sets(rule, path)
        solved, other = (TIMES[above], TIMES[below]) if over else (TIMES[below], TIMES[above])
        try:
            known = other.read(table, path)
            wanted = known * ratio if over else known / ratio
            found, reach = solved.solve(table, path, wanted)
        except ValueError:
            check_spelling(table)
            raise
        if found is None:
            ends = [end / known if over else known / end for end in reach]
            told = " to ".join(f"{float(end):.4g}" for end in sorted(ends))
            here = above if not over else below
            raise ValueError(
                f"{where}: {rule} = {value} is out of reach: by {path} it goes from {told}, "
                f"where {here} is {show_seconds(float(known) / TICKS_PER_SECOND)}"
            )
        put(table, path, found)
