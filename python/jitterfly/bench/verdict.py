"""Whether what was measured stays below a multiple of something else in the same run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .near import CONFIDENCE

INTERVAL = f"({CONFIDENCE:.0%} interval of the median)"
"""What the numbers in brackets are."""


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

    It is met if the intervals of all medians lie below, not met if any median lies above, and left
    open ("met" is None) in between.

    Parameters
    ----------
    ours : list of dict
        Rows with `key`, of `near.ratios`.
    judged : bool
        Whether the machine was quiet enough, and enough measured.
    named : function of a row
        What it is called.
    what : str
        Of what it is a multiple, such as "the cost of periodic noise on the CPU".
    """
    rows = sorted(ours, key=lambda row: -row[key]["median"])
    over = [row for row in rows if row[key]["median"] > most]
    close = [row for row in rows if not _below(row[key], most)]
    if not (judged and rows):
        met, words = None, "not judged here" if rows else "not measured"
    elif over:
        met, words = False, "not met"
    else:
        met, words = (None, "too close to tell") if close else (True, "met")

    def texts(some: Sequence[dict[str, Any]]) -> list[str]:
        return [f"{named(row)}: {row[key]['median']:.2f}{interval(row[key])}" for row in some]

    text = f"limit: {most:g} times {what}: {words}"
    if rows:
        text += "; above it:" if over else "; the most is"
    return {
        key: most,
        "exceeded": texts(over),
        "met": met,
        "text": "\n  ".join([text, *texts(over or close or rows[:1])]),
    }


def _below(ratio: dict[str, Any], most: float) -> bool:
    """Whether all of the interval is; too few repeats for one are."""
    high = ratio.get("high")
    return high is None or high <= most


def interval(ratio: dict[str, Any]) -> str:
    """That of the median, for people; nothing where there were too few repeats."""
    if ratio.get("low") is None or ratio["high"] is None:
        return ""
    return f" ({ratio['low']:.2f} to {ratio['high']:.2f})"


def table_head(name: str) -> str:
    """What a contestant's rows are measured in, for the first line of its table."""
    time = "CPU time of one thread" if name.endswith("cpu") else "time"
    return f"{name}: {time}"
