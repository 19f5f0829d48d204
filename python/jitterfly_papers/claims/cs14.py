"""Claims of paper CS14: overhead of an allreduce under noise, and its recovery by redundancy.

The line through the means of several cycles is made of ratios of sums of observations with whole
weights. So its intervals are Fieller's, of the same realizations, whether samples are kept or only
their moments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitterfly.answer import SHARE, show
from jitterfly.observables import LinearForm
from jitterfly.results.figures import show_ranks
from jitterfly.stats import Estimate
from jitterfly.units import TICKS_PER_SECOND, show_seconds

from ..cell_values import CONVENTIONAL, REDUNDANT, last, named, ratio
from .claim import OURS, WORDS, Finding, above, between, every, of_independent, up_to

if TYPE_CHECKING:
    from jitterfly.results import CellResults, Panel, Results

_LARGEST = 2**23  # ranks: the right end of CS14's Fig. 8, and its Fig. 9
_STRONG = 10.0  # "grows strongly": at least this factor over the ranks shown
_MUCH = 0.25  # "much of it": at least a quarter
_BAND = (0.3, 0.5)  # "about 0.4"
_LITTLE = 2.0  # "a little more": up to this factor of a later cycle
_STRAIGHT = 0.05  # "linear": the line misses no mean by more than this share of the last one


def fig8(results: Results) -> list[Finding]:
    """Judge C1: growth of the overhead with ranks, and the recovered share at the largest size."""
    overhead = named(results.study, "overhead")[0]
    recovery = named(results.study, "recovery")[0]
    return [
        found
        for panel in results.panels("ranks")
        for found in (*_growth(panel, overhead), *_recovered(panel, recovery))
    ]


def _at(cell: CellResults) -> str:
    """The size that a finding is about, and whether CS14 goes further."""
    ranks = f"{show_ranks(cell.ranks)} ranks"
    beyond = f" (CS14: {show_ranks(_LARGEST)}, in the full study)" if cell.ranks < _LARGEST else ""
    return ranks + beyond


def _growth(panel: Panel, overhead: str) -> list[Finding]:
    """Judge the growth from the smallest number of ranks whose overhead can be told from 0."""
    part = '"grows strongly with ranks"'
    known = [(cell, summary.mean) for cell in panel.cells if (summary := last(cell, overhead))]
    seen = [(cell, mean) for cell, mean in known if mean.low > 0]
    if len(seen) < 2:
        found = "overhead above 0 at fewer than two numbers of ranks"
        return [Finding(panel.label, part, None, found)]
    (first, start), (largest, end) = seen[0], known[-1]
    growth = of_independent(end, start)
    found = (
        f"overhead {show_seconds(float(start.value), 3)} at {show_ranks(first.ranks)} -> "
        f"{show_seconds(float(end.value), 3)} at {_at(largest)}: {show(growth, digits=4)} times"
    )
    return [
        Finding(panel.label, f"{part}: grows", above(growth, 1.0), found, "above 1", WORDS),
        Finding(panel.label, f"{part}: strongly", above(growth, _STRONG), found,
                f"above {_STRONG:g}", OURS),
    ]  # fmt: skip


def _recovered(panel: Panel, recovery: str) -> list[Finding]:
    part = '"much of it is recovered"'
    known = [cell for cell in panel.cells if last(cell, recovery)]
    summary = last(known[-1], recovery) if known else None
    if summary is None:
        return [Finding(panel.label, part, None, "no data")]
    found = f"at {_at(known[-1])} {show(summary.mean)}"
    return [
        Finding(panel.label, f"{part}: recovered", above(summary.mean, 0.0), found, "above 0",
                WORDS),
        Finding(panel.label, f"{part}: much", above(summary.mean, _MUCH), found, f"above {_MUCH:g}",
                OURS),
    ]  # fmt: skip


def fig9(results: Results) -> list[Finding]:
    """Judge C2: a straight line through the mean overhead from cycle 2 on, and the first cycle."""
    overheads = dict(zip((CONVENTIONAL, REDUNDANT), named(results.study, "overhead"), strict=False))
    return [
        found
        for panel in results.panels("ranks")
        for who, name in overheads.items()
        for found in _line(panel, who, name)
    ]


def _line(panel: Panel, who: str, name: str) -> list[Finding]:
    cell = panel.cells[-1]
    cycles = cell.first_case.cycles
    if not cell.realizations:
        return [Finding(panel.label, '"linear"', None, f"{who}: no data")]
    forms = []
    for cycle in range(1, cycles + 1):
        form = cell.families[f"{name}, cycle {cycle}"].members[0].numerator
        forms.append(form)
    misses = [line_miss(cell, forms, cycle) for cycle in range(1, cycles)]
    worst = max(misses, key=lambda miss: abs(float(miss.value)))
    slope = line_slope(cell, forms)
    first = first_over_later(cell, forms)
    at = f"{who}, {_at(cell)}"
    once = f"{at}: {show(first)} times a later one"
    return [
        Finding(
            panel.label,
            f'"linear in the number of cycles", {who}',
            every([between(miss, -_STRAIGHT, _STRAIGHT) for miss in misses]),
            f"{at}: {show_seconds(slope, 3)} per cycle; of the last mean, the line through cycles "
            f"2 ... {cycles} misses at most {show(worst, SHARE)}",
            f"{100 * _STRAIGHT:g} % of the last mean",
            OURS,
        ),
        _first(panel.label, f'"first a little more", {who}', first, once),
    ]


def _first(where: str, part: str, first: Estimate, found: str) -> Finding:
    """More is the paper's word; how little a little is, ours."""
    more = above(first, 1.0)
    if more is False:
        return Finding(where, part, False, found, "above 1", WORDS)
    holds = every([more, up_to(first, _LITTLE)])
    return Finding(where, part, holds, found, f"above 1, up to {_LITTLE:g}", OURS)


def recovery(results: Results) -> list[Finding]:
    """Judge C3: recovery at the largest size of each setting, its range over ranks or cycles."""
    name = named(results.study, "recovery")[0]
    found = []
    for panel in results.panels("ranks"):
        known = [(cell, summary) for cell in panel.cells if (summary := last(cell, name))]
        if not known:
            found.append(Finding(panel.label, '"recovery about 0.4"', None, "no data"))
            continue
        largest, summary = known[-1]
        if len(known) > 1:
            shares = [(show_ranks(cell.ranks), summary.mean) for cell, summary in known]
        else:
            shares = [(at.rpartition(", ")[2], f.mean) for at, f in largest.summaries.items()
                      if at.startswith(f"{name}, cycle ")]  # fmt: skip
        told = [(at, float(e.value)) for at, e in shares if not e.too_small]
        ends = [pick(told, key=lambda pair: pair[1]) for pick in (min, max)] if told else []
        share = summary.mean
        at = f"at {_at(largest)}: {show(share)}"
        span = f"{at}; over all {'ranks' if len(known) > 1 else 'cycles'}: "
        span += " to ".join(f"{value:.3g} ({at})" for at, value in ends) or "not resolved"
        found.append(_about(panel.label, share, span))
    return found


def _about(where: str, share: Estimate, found: str) -> Finding:
    """Judge whether a recovery is about 0.4: within 0.1, which is ours."""
    part = '"recovery about 0.4"'
    low, high = _BAND
    return Finding(where, part, between(share, low, high), found, f"{low:g} to {high:g}", OURS)


_WEIGHT = 1000  # weights become integers by this


def line_miss(cell: CellResults, forms: list[LinearForm], cycle: int) -> Estimate:
    """The miss of one cycle by the least-squares line through all cycles but the first.

    A residual of the line is a sum of the means with fixed weights, so it has an interval too. As
    a share of the last mean.
    """
    x = np.arange(2.0, len(forms) + 1)
    centred = x - x.mean()
    hat = 1 / len(x) + np.outer(centred, centred) / (centred @ centred)
    weights = np.rint(_WEIGHT * (np.eye(len(x)) - hat)[cycle - 1]).astype(int)
    above_line = total([(int(w), form) for w, form in zip(weights, forms[1:], strict=True)])
    return ratio(cell, above_line, total([(_WEIGHT, forms[-1])]))


def first_over_later(cell: CellResults, forms: list[LinearForm]) -> Estimate:
    """The cost of the first cycle, over the mean cost of the others."""
    later = total([(1, forms[-1]), (-1, forms[0])])
    return ratio(cell, total([(len(forms) - 1, forms[0])]), later)


def line_slope(cell: CellResults, forms: list[LinearForm]) -> float:
    """The seconds per cycle, from the second cycle to the last."""
    rise = total([(1, forms[-1]), (-1, forms[1])])
    return float(ratio(cell, rise, TICKS_PER_SECOND).value) / (len(forms) - 2)


def total(parts: list[tuple[int, LinearForm]]) -> LinearForm:
    """A sum with whole weights."""
    terms = tuple((weight * c, column) for weight, form in parts for c, column in form.terms)
    return LinearForm(terms, sum(weight * form.constant for weight, form in parts))
