"""Whether what was measured stays below a multiple of something else in the same run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def limit(
    ours: Sequence[dict[str, Any]],
    judged: bool,
    *,
    key: str,
    most: float,
    named: Callable[[dict[str, Any]], str],
    what: str,
) -> dict[str, Any]:
    """Which rows have a median of `key` above `most`; worst first.

    Parameters
    ----------
    ours : list of dict
        Rows with `key`, a spread.
    judged : bool
        Whether the machine was quiet enough, and enough measured.
    named : function of a row
        What it is called.
    what : str
        Of what it is a multiple, such as "the cost of periodic noise on the CPU".
    """
    rows = sorted(ours, key=lambda row: -row[key]["median"])
    over = [row for row in rows if row[key]["median"] > most]
    met = not over if judged and rows else None
    names = [f"{named(row)}: {row[key]['median']:.2f}" for row in over or rows[:1]]
    words = {True: "met", False: "not met", None: "not judged here" if rows else "not measured"}
    text = f"limit: {most:g} times {what}: {words[met]}"
    if rows:
        text += "; above it:" if over else "; the most is"
    return {
        key: most,
        "exceeded": names if over else [],
        "met": met,
        "text": "\n  ".join([text, *names]),
    }


def table_head(name: str) -> str:
    """What a contestant's rows are measured in, for the first line of its table."""
    time = "CPU time of one thread" if name.endswith("cpu") else "time"
    return f"{name}: {time}"
