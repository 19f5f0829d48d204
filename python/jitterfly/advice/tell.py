"""Advice as text for a terminal: a ranking for each cell, or a table over ranks and sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..stats import Estimate
from ..units import show_seconds, show_size
from .advice import DECIDED, REALIZATIONS, SECONDS, STOPPED, Advice
from .found import CLOSE, EQUAL, NOBODY, NOT_RUN, OPEN, PERHAPS, TOO_SLOW, WINNER, Cell, Ranked

_ENDS = {
    DECIDED: "all is decided",
    REALIZATIONS: "the budget of {realizations:,} realizations is spent before all is decided: "
    "raise --realizations, or call more of a difference equal with --within",
    SECONDS: "the budget of {seconds:g} s is spent before all is decided: raise --seconds",
    STOPPED: "stopped: this is what was known by then",
}
_DETAILED = 3  # cells up to which each has its ranking
_NAMED = 3  # candidates in a line


def lines(advice: Advice) -> list[str]:
    """All of it."""
    text = [advice.title(), ""]
    if len(advice.cells) <= _DETAILED:
        for cell in advice.cells:
            text += [*ranking(advice, cell), ""]
    else:
        text += [*table(advice), ""]
    left_out = reasons(advice.cells)
    if left_out:
        text += ["left out:", *left_out, ""]
    text += [advice.summary(), *sure(advice)]
    return text


def sure(advice: Advice) -> list[str]:
    """How sure it is, and why it ended."""
    question = advice.question
    budget = {"realizations": question.realizations, "seconds": question.seconds}
    ended = _ENDS[advice.ended].format(**budget)
    if not question.noise:
        return ["without noise: exact" + (f"; {ended}" if advice.ended != DECIDED else "")]
    share = f"{100 * question.confidence:.10g} %"
    parts = [
        _count(len(advice.cells), "cell"),
        _count(len(question.chosen()), "candidate"),
        f"at most {_count(len(question.looks()), 'look')}",
    ]
    return [
        f"{share} for all of it together (paired on the same noise; {', '.join(parts)})",
        f"{advice.simulated:,} realizations in {advice.elapsed:.3g} s; {ended}",
    ]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def ranking(advice: Advice, cell: Cell) -> list[str]:
    """The candidates of one cell, the best first."""
    where = f"{cell.ranks:,} ranks, {show_size(cell.message_bytes)}"
    if cell.outcome in (NOBODY, NOT_RUN):
        known = sorted(cell.noise_free.items(), key=lambda item: item[1])
        listed = [("", name, show_seconds(quiet, 4), "without noise") for name, quiet in known]
        return [f"{where}: {cell.outcome}", *(_aligned(listed) if listed else [])]
    rows = [("", "candidate", advice.question.statistic, "times the best", "longer than the best",
             "faster", "realizations")]  # fmt: skip
    for place, one in enumerate(cell.ranking, 1):
        rows.append((str(place), one.name, _time(one.value) if one.realizations or not
                     math.isnan(float(one.value.value)) else f"> {show_seconds(one.noise_free, 3)}",
                     _ratio(one), _time(one.difference), _how_often(one),
                     f"{one.realizations:,}"))  # fmt: skip
    return [f"{where}: {verdict(cell)}", *_aligned(rows)]


def verdict(cell: Cell) -> str:
    """Who is to be taken, in words."""
    if cell.outcome == WINNER:
        return cell.best
    if cell.outcome == EQUAL:
        others = [one.name for one in cell.ranking[1:] if one.state in (CLOSE, PERHAPS)]
        return f"{cell.best} (equal: {_named(others)})"
    if cell.outcome == OPEN:
        return f"no winner among {_named(cell.among)}"
    return cell.outcome


def _named(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more"


def table(advice: Advice) -> list[str]:
    """One line for each cell."""
    rows = [("ranks", "bytes", "best", advice.question.statistic, "runner-up", "times the best")]
    for cell in advice.cells:
        first = cell.ranking[0] if cell.ranking else None
        second = cell.runner_up
        rows.append((
            f"{cell.ranks:,}",
            show_size(cell.message_bytes),
            verdict(cell),
            show_seconds(float(first.value.value), 4) if first else "",
            second.name if second else "",
            _ratio(second) if second else "",
        ))  # fmt: skip
    return _aligned(rows)


def reasons(cells: Iterable[Cell]) -> list[str]:
    """Who was left out and why: once for each reason, with the number of cells."""
    found: dict[tuple[str, str], int] = {}
    count = 0
    for cell in cells:
        count += 1
        for name, why in cell.left_out.items():
            found[name, why] = found.get((name, why), 0) + 1
    text = []
    for (name, why), times in found.items():
        where = "" if times == count else f" ({times} of {count} cells)"
        text.append(f"  {name}{where}: {why}")
    return text


def _time(estimate: Estimate) -> str:
    value, low, high = (float(x) for x in (estimate.value, estimate.low, estimate.high))
    if math.isnan(value):
        return ""
    if low == high:
        return show_seconds(value, 4)
    return f"{show_seconds(value, 4)} [{_end(low)}, {_end(high)}]"


def _end(value: float) -> str:
    return show_seconds(value, 4) if math.isfinite(value) else "?"


def _ratio(one: Ranked) -> str:
    value, low, high = (float(x) for x in (one.ratio.value, one.ratio.low, one.ratio.high))
    if one.state == TOO_SLOW:
        return f"> {low:.4g}"
    if low == high:
        return f"{value:.4g}"
    return f"{value:.4g} [{low:.4g}, {f'{high:.4g}' if math.isfinite(high) else '?'}]"


def _how_often(one: Ranked) -> str:
    value = float(one.faster.value)
    return "" if math.isnan(value) else f"{100 * value:.3g} %"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(f"{text:<{w}}" for text, w in zip(row, widths, strict=True)).rstrip()
            for row in rows]  # fmt: skip
