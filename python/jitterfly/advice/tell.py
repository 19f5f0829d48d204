"""Advice as text for a terminal: a ranking for each cell, or a table over ranks and sizes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..fields import shorten
from ..stats import Estimate
from ..units import show_seconds, show_size
from .advice import DECIDED, REALIZATIONS, SECONDS, STOPPED, Advice
from .candidates import LIBRARIES, known
from .found import (
    BEST,
    CLOSE,
    EQUAL,
    NEAR,
    NOBODY,
    NOT_RUN,
    OPEN,
    PERHAPS,
    SLOWER,
    WINNER,
    Cell,
    Ranked,
)
from .question import Question

_ENDS = {
    DECIDED: "all is decided",
    REALIZATIONS: "the budget of {realizations:,} realizations is spent before all is decided: "
    "raise --realizations, or call more of a difference equal with --within",
    SECONDS: "the budget of {seconds:g} s is spent before all is decided: raise --seconds",
    STOPPED: "stopped: this is what was known by then",
}
_DETAILED = 3  # cells up to which each has its ranking
_NAMED = 3  # candidates in a line
_SPARE = ("faster", "longer by", "without noise", "slowdown", "runner-up", "times", "times it")
_SCALES = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9, "ps": 1e12}
_MPI_NAMES = {"broadcast": "bcast"}  # in the options of MPI libraries
_PLAIN = 1e4  # from which on four digits would need an exponent


def lines(advice: Advice, width: int | None = None) -> list[str]:
    """All of it; tables leave columns out that have no room in lines of `width` letters."""
    text = [advice.title(), ""]
    if len(advice.cells) <= _DETAILED:
        for cell in advice.cells:
            text += [*ranking(advice, cell, width), ""]
    else:
        text += [*table(advice, width), ""]
    left_out = reasons(advice.cells)
    if left_out:
        text += ["left out:", *left_out, ""]
    text += [advice.summary(), *sure(advice)]
    return text


def setting(question: Question) -> list[str]:
    """Network, noise and message program in words, without what has its usual value."""
    noise = "; ".join(map(_worded, question.noise)) or "none"
    parts = [f"network {_worded(question.network)}", f"noise {noise}"]
    if question.cycles > 1:
        parts.append(f"the last of {question.cycles:,} in a row")
    if question.work:
        parts.append(f"{show_seconds(question.work)} of work before each")
    return parts


def _worded(part: Any) -> str:
    """A network, a source of noise or a distribution: its kind, and what is not as usual."""
    found = []
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if field.name == "sha256" or (value is field.default or value == field.default):
            continue
        if dataclasses.is_dataclass(value):
            text = _worded(value)
        elif isinstance(value, float) and "float | str" in str(field.type):  # a time
            text = show_seconds(value)
        elif field.name == "file":
            text = Path(str(value)).name
        else:
            text = shorten(value) if not isinstance(value, (str, int, float)) else str(value)
        found.append(f"{field.name} {text}")
    kind = getattr(part, "kind", type(part).__name__)
    return f"{kind} ({', '.join(found)})" if found else str(kind)


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


def ranking(advice: Advice, cell: Cell, width: int | None = None) -> list[str]:
    """The candidates of one cell, the best first."""
    where = f"{cell.ranks:,} ranks, {show_size(cell.message_bytes)}"
    if cell.outcome in (NOBODY, NOT_RUN):
        known = sorted(cell.noise_free.items(), key=lambda item: item[1])
        listed = [("", name, show_seconds(quiet, 4), "without noise") for name, quiet in known]
        return [f"{where}: {cell.outcome}", *(_aligned(listed) if listed else [])]
    statistic, within = advice.question.statistic, advice.question.within
    places = {one.name: place for place, one in enumerate(cell.ranking, 1)}
    rows = [("", "candidate", statistic, "without noise", "slowdown", "times", "longer by",
             "faster", "state (realizations)")]  # fmt: skip
    for one in cell.ranking:
        rows.append((
            str(places[one.name]),
            one.name,
            f"> {show_seconds(one.noise_free, 4)}" if one.is_bound else _time(one.value),
            show_seconds(one.noise_free, 4),
            "" if one.is_bound else _times(one.slowdown),
            f"> {_above_one(float(one.ratio.low))}" if one.is_bound else _ratio(one),
            f"> {show_seconds(float(one.difference.low), 3)}" if one.is_bound else
            _time(one.difference) if one.versus else "",
            _how_often(one),
            state(one, places, within),
        ))  # fmt: skip
    text = [f"{where}: {verdict(cell)}", *_aligned(rows, width, _SPARE)]
    others = {places[one.versus] for one in cell.ranking if one.versus}
    named = ", ".join(name for name in ("times", "longer by", "faster") if name in text[1])
    if others and named:
        more = "" if others == {1} else ", or with the one that the state names"
        text.append(f"  {named}: compared with 1, {cell.ranking[0].name}{more}")
    if any(one.is_bound for one in cell.ranking):
        text.append("  bound: it takes longer without noise than the other one with it at most, so "
                    "that it was not simulated")  # fmt: skip
    return text


def state(one: Ranked, places: Mapping[str, int], within: float) -> str:
    """What is told of a candidate, against which one, and at how many realizations."""
    count = f" ({one.told_at:,})" if one.told_at else ""
    if one.state == BEST:
        return f"the best{count}"
    if one.state == CLOSE:
        return f"equal {share_of(within)}{count}"
    if one.state == PERHAPS:
        return f"may be the best{count}"
    other = f"slower than {places[one.versus]}{count}"
    return f"bound: {other}" if one.is_bound else other


def share_of(within: float) -> str:
    """The tolerance in words."""
    return f"within {100 * within:.10g} %" if within else "to the tick"


def verdict(cell: Cell) -> str:
    """Who is to be taken, in words."""
    if cell.outcome == WINNER:
        return cell.best
    if cell.outcome in (EQUAL, NEAR):
        told = (f"{word}: {_named(names)}" for word, names in _others(cell).items())
        return f"{cell.best} ({'; '.join(told)})"
    if cell.outcome == OPEN:
        least = "" if not math.isfinite(cell.at_most) else (
            f" ({cell.ranking[0].name} takes at most {_above_one(cell.at_most)} times the best)"
        )  # fmt: skip
        return f"no winner among {_named(cell.among)}{least}"
    return cell.outcome


def _others(cell: Cell) -> dict[str, list[str]]:
    """Candidates beside the best one that are not slower, by what is told of them."""
    words = {CLOSE: "equal", PERHAPS: "not told from it"}
    found = {
        word: [one.name for one in cell.ranking[1:] if one.state == state]
        for state, word in words.items()
    }
    return {word: names for word, names in found.items() if names}


def _named(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more"


def table(advice: Advice, width: int | None = None) -> list[str]:
    """One line for each cell."""
    rows = [("ranks", "bytes", "best", advice.question.statistic, "without noise", "slowdown",
             "runner-up", "times it")]  # fmt: skip
    for cell in advice.cells:
        first = cell.ranking[0] if cell.ranking else None
        second = cell.runner_up
        rows.append((
            f"{cell.ranks:,}",
            show_size(cell.message_bytes),
            _short_verdict(cell),
            show_seconds(float(first.value.value), 4) if first else "",
            show_seconds(first.noise_free, 4) if first else "",
            f"{float(first.slowdown.value):.3g}" if first else "",
            second.name if second else "",
            _runner_up(cell, second) if second else "",
        ))  # fmt: skip
    text = _aligned(rows, width, _SPARE)
    if any(cell.outcome == OPEN for cell in advice.cells):
        text.append("  ?: no winner; the first of these has the smallest "
                    f"{advice.question.statistic} so far")  # fmt: skip
    return text


def _runner_up(cell: Cell, second: Ranked) -> str:
    """How many times the first the second takes; or the one that it is compared with."""
    times = (
        f"> {_above_one(float(second.ratio.low))} (bound)" if second.is_bound else _ratio(second)
    )
    return times if second.versus == cell.ranking[0].name else f"{times} (to {second.versus})"


def _short_verdict(cell: Cell) -> str:
    if cell.outcome == OPEN:
        return f"? {_named(cell.among)}"
    if cell.outcome in (EQUAL, NEAR):
        return f"{cell.best} ({', '.join(f'{len(n)} {word}' for word, n in _others(cell).items())})"
    return verdict(cell)


def listed(collective: str, own: Sequence[str] = ()) -> list[str]:
    """The candidates of a collective, a line for each; `own` are names of the user's."""
    rows: list[tuple[str, ...]] = [("candidate", "what it does", *LIBRARIES)]
    for name, one in known(collective).items():
        mark = "" if one.usual else " (only if named)"
        called = [one.called.get(library, "") for library in LIBRARIES]
        rows.append((name, one.summary + mark, *called))
    rows += [(name, "own, of this file", *[""] * len(LIBRARIES)) for name in own]
    short = _MPI_NAMES.get(collective, collective)
    return [
        f"candidates for {collective}, and what libraries call them (blank: no such choice known)",
        *_aligned(rows),
        f"  Open MPI: coll_tuned_{short}_algorithm; MPICH: MPIR_CVAR_{short.upper()}"
        "_INTRA_ALGORITHM; NCCL: NCCL_ALGO",
        "  Libraries cut messages into segments and fold other numbers than powers of two in ways "
        "of their own.",
    ]


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
    text = show_seconds(value, 4)
    if low == high:
        return text
    number, unit = text.split()
    if not value:  # which has no unit of its own
        largest = max((abs(x) for x in (low, high) if math.isfinite(x)), default=0.0)
        unit = show_seconds(largest, 4).split()[1]
    return f"{number} [{_end(low, unit)}, {_end(high, unit)}] {unit}"


def _end(value: float, unit: str) -> str:
    """An end of an interval, in the unit of the estimate."""
    scaled = value * _SCALES[unit]
    if not math.isfinite(scaled):
        return "?"
    return f"{scaled:.4g}" if abs(scaled) < _PLAIN else f"{scaled:.0f}"


def _ratio(one: Ranked) -> str:
    if not one.versus:
        return ""
    value, low, high = (float(x) for x in (one.ratio.value, one.ratio.low, one.ratio.high))
    if low == high:
        return f"{value:.4g}"
    least = _above_one(low) if one.state == SLOWER else f"{low:.4g}" if low > 0 else "?"
    return f"{value:.4g} [{least}, {f'{high:.4g}' if math.isfinite(high) else '?'}]"


def _above_one(value: float) -> str:
    """A number above 1 with as many digits as show that it is."""
    return next((f"{value:.{d}g}" for d in range(4, 12) if float(f"{value:.{d}g}") > 1), "1")


def _times(estimate: Estimate) -> str:
    value, low, high = (float(x) for x in (estimate.value, estimate.low, estimate.high))
    if low == high:
        return f"{value:.3g}"
    ends = (f"{x:.3g}" if math.isfinite(x) else "?" for x in (low, high))
    return f"{value:.3g} [{', '.join(ends)}]"


def _how_often(one: Ranked) -> str:
    value = float(one.faster.value)
    return "" if math.isnan(value) else f"{100 * value:.3g} %"


def _aligned(
    rows: Sequence[tuple[str, ...]], width: int | None = None, spare: Sequence[str] = ()
) -> list[str]:
    """Columns; those named in `spare` are left out where there is no room, the first one first."""
    header, left_out = rows[0], list[str]()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    kept = list(range(len(header)))
    for name in spare if width is not None else ():
        if sum(widths[i] + 2 for i in kept) <= width:
            break
        if name in header:
            kept.remove(header.index(name))
            left_out.append(name)
    text = ["  " + "  ".join(f"{row[i]:<{widths[i]}}" for i in kept).rstrip() for row in rows]
    if left_out:
        text.append(f"  no room here for {', '.join(left_out)}: --out DIR and --json have all")
    return text
