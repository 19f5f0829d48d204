"""Claims of paper MS12: its published values and limits for slowdown, gain and optimal T.

MS12 gives a number for few of its words. Where it does, or where a word says an order ("better",
"larger"), that is the limit. Where a word asks for a number that the paper does not give ("far",
"small"), the number is ours, and beyond it nothing is called different from the paper. Its axes and
the levels at which its maps are clipped are limits of the paper, too.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitterfly.answer import show
from jitterfly.observables.summary import histogram_scale
from jitterfly.results.figures import show_ranks
from jitterfly.stats import Estimate
from jitterfly.units import show_seconds

from ..cell_values import named
from .cells import WITHIN, Block, JudgedCell, Region, blocks, largest, ordered, rising, smallest
from .claim import (
    AXIS,
    CLIP,
    NUMBER,
    OURS,
    REPRODUCED,
    WORDS,
    Finding,
    above,
    below,
    between,
    every,
    exceeds,
    of_independent,
    up_to,
)

if TYPE_CHECKING:
    from jitterfly.results import CellResults, Results

_LOW, _HIGH = 2**7, 2**14
_TWICE = 2.0  # ours, for "far", "large" and "suffers"; "small" is up to it
_ABOUT = 2.0  # ours: "about 10 times" within this factor of it
_DECADE = math.sqrt(10)  # beyond this factor, 10 is no longer the nearest power of ten
_KNOWN = 0.01
"""A ratio that the paper's maps surely have: Fig. 12 is the curve at T_comm / D = 1e-2, and
Fig. 21 that at D / P = 1e-2."""
_EDGE = 1 + 1e-9  # a ratio that is at a bound of a claim is neither above nor below it
_Z = 1.959963984540054  # normal, 95 % two-sided

AXIS_FIG8 = 120.0
"""End of the axis of slowdown in Fig. 8."""
CLIP_LEVELS = {1e-3: 3.0, 1e-2: 5.0}
"""Slowdown at which Figs. 14 (P = 1 ms) and 18 (P = 10 ms) are clipped."""
AXES_FIG13 = {1e-3: 12.0, 1e-2: 80.0}
"""Ends of the axes of slowdown in Figs. 13 (P = 1 ms) and 17 (P = 10 ms)."""


_RANGE = (
    "our reading: which sources of noise were run (network jitter alone, C, delays least), or the "
    "ends of the map, where slowdown is largest: the paper gives no list of its values"
)

_READINGS = ("reading", "jitter")  # axes whose points are readings of one sentence of the paper

Check = Callable[["Results"], list[Finding]]


def _of_readings(check: Check) -> Check:
    """A part that another reading of the paper reproduces says so, where it is not reproduced."""

    @functools.wraps(check)
    def checked(results: Results) -> list[Finding]:
        readings: dict[str, str] = {}  # by setting: what it shares with other readings of it
        for block in blocks(results):
            cell = block.cells[0]
            others = (text for axis, text in cell.labels.items()
                      if axis not in (*_READINGS, "ranks", block.axis))  # fmt: skip
            readings[block.where] = ", ".join(others)
        findings = check(results)
        better = {
            (readings.get(one.where), one.part): one.where
            for one in reversed(findings)
            if one.verdict == REPRODUCED
        }
        return [
            one._replace(why=f"our reading: it is reproduced with {better[key]}")
            if one.verdict != REPRODUCED
            and (key := (readings.get(one.where), one.part)) in better
            and better[key] != one.where
            else one
            for one in findings
        ]

    return checked


@_of_readings
def fig05(results: Results) -> list[Finding]:
    """Judge M1: the slowdown of the butterfly on both sides of T_comm = D."""
    slowdown = named(results.study, "slowdown")[0]
    findings = []
    for block in blocks(results):
        where = block.where
        part = '"small while T_comm > D"'
        findings.append(_all(block, slowdown, lambda _, r: r > _EDGE, part, _TWICE, OURS, "below"))
        cells = block.judged(slowdown, lambda _, r: abs(r - 1) > _EDGE - 1)
        short = [cell for cell in cells if cell.ratio < 1]
        if not short or len(short) == len(cells):
            findings.append(Finding(where, '"large below"', None, "no cell there"))
            continue
        corner = max(short, key=lambda cell: (-cell.ratio, cell.ranks))
        beyond = largest([cell for cell in cells if cell.ratio > 1])
        findings += [
            Finding(
                where,
                '"large below", larger than anywhere with T_comm > D',
                exceeds(corner.found, beyond.found),
                f"shortest message, most ranks: {corner.in_words(block.name)}; with T_comm > D "
                f"at most {beyond.in_words(block.name)}",
                "above every cell with T_comm > D",
                WORDS,
            ),
            Finding(
                where,
                '"large below"',
                above(corner.found, _TWICE),
                f"{corner.in_words(block.name)}{_crossing(block, slowdown, corner.ranks)}",
                f"above {_TWICE:g}",
                OURS,
            ),
        ]
    return findings


def _crossing(block: Block, slowdown: str, ranks: int) -> str:
    row = sorted(block.judged(slowdown, lambda r, _: r == ranks), key=lambda cell: cell.ratio)
    large = [cell for cell in row if above(cell.found, _TWICE)]
    return f"; above {_TWICE:g} up to {block.name} = {large[-1].ratio:g}" if large else ""


@_of_readings
def fig06(results: Results) -> list[Finding]:
    """Judge M2: whether slowdown and gain order the cells alike; T against ranks."""
    study = results.study
    slowdown, gain, best = (named(study, kind)[0] for kind in ("slowdown", "gain", "optimal_T"))
    findings = []
    for block in blocks(results):
        means = [
            (cell.summaries[slowdown].mean, cell.summaries[gain].mean)
            for cell in block.cells
            if slowdown in cell.summaries and gain in cell.summaries
        ]
        couples = [(a[0], b[0], a[1], b[1]) for a, b in itertools.combinations(means, 2)]
        findings.append(
            ordered(block.where, '"gain follows the slowdown"', couples, "ordered alike")
        )
        findings.append(
            rising(block, best, f'"optimal T grows with ranks" ({WITHIN})',
                      lambda cell: cell.ratio, lambda cell: cell.ranks, "more for more ranks")
        )  # fmt: skip
    return findings


@_of_readings
def fig08(results: Results) -> list[Finding]:
    """Judge M3, part by part."""
    study = results.study
    slowdown, gain, best = (named(study, kind)[0] for kind in ("slowdown", "gain", "optimal_T"))
    findings = []
    for block in blocks(results):
        cells = block.judged(slowdown)
        if not cells:
            findings.append(Finding(block.where, '"slowdown up to about 100"', None, "no data"))
            continue
        findings += [
            _axis(block, slowdown, AXIS_FIG8, "Fig. 8", toward=-1),
            _about(block, slowdown, '"slowdown up to about 100"', 100, reached=True),
            _corner(block, cells),
            *_gains(block, gain, lambda n, r: n > 2**8 and r * _EDGE < 0.1,
                    '"gain large for T_comm < D/10 and ranks > 2^8"'),
            _peak(block, gain, lambda n, r: 2**10 <= n <= 2**14 and r * _EDGE < 0.01,
                  '"gain largest for 2^10 ... 2^14 and T_comm < D/100"'),
            rising(block, best,
                   '"for messages shorter than the jitter, shorter ones tend to need fewer '
                   f'exchanges" ({WITHIN})', lambda cell: cell.ranks, lambda cell: cell.ratio,
                   "fewer for the shorter message", lambda _, r: r * _EDGE < 1),
        ]  # fmt: skip
    return findings


def _corner(block: Block, cells: Sequence[JudgedCell]) -> Finding:
    """Judge whether the slowdown is larger at the corner than at the other corners of the map."""
    part = '"at the short-message, many-rank corner"'
    ranks, ratios = {cell.ranks for cell in cells}, {cell.ratio for cell in cells}
    at = {(cell.ranks, cell.ratio): cell for cell in cells}
    corner = at.get((max(ranks), min(ratios)))
    ends = itertools.product((min(ranks), max(ranks)), (min(ratios), max(ratios)))
    others = [at[end] for end in ends if end in at and at[end] is not corner]
    if corner is None or len(others) < 3:
        return Finding(block.where, part, None, "the map lacks a corner")
    other = largest(others)
    return Finding(
        block.where,
        part,
        exceeds(corner.found, other.found),
        f"{corner.in_words(block.name)}; at the other corners at most {other.in_words(block.name)}",
        "above the other corners of the map",
        WORDS,
    )


@_of_readings
def fig13(results: Results) -> list[Finding]:
    """Judge M5, part by part, for each period, by the clip levels and axes of the figures."""
    study = results.study
    slowdown, gain = (named(study, kind)[0] for kind in ("slowdown", "gain"))
    findings = []
    for block in blocks(results):
        period = float(block.cells[0].first_case.noise[0].period)  # type: ignore[attr-defined]
        level = next((level for p, level in CLIP_LEVELS.items() if math.isclose(p, period)), None)
        end = next((end for p, end in AXES_FIG13.items() if math.isclose(p, period)), None)
        if level is None or end is None:
            findings.append(
                Finding(block.where, '"slowdown small for D < P/100"', None, "no such figure")
            )
            continue
        figures = ("Fig. 13", "Fig. 14") if level == 3 else ("Fig. 17", "Fig. 18")
        findings += [
            _clipped(block, slowdown, level, figures[1]),
            _most(block, slowdown, level, f'"large above", beyond the clip level of {figures[1]}'),
            _axis(block, slowdown, end, figures[0]),
            *_gains(block, gain, lambda n, r: r > 0.01 * _EDGE and _LOW <= n <= _HIGH,
                    '"gain large there for 2^7 ... 2^14"'),
        ]  # fmt: skip
    return findings


def _clipped(block: Block, slowdown: str, level: float, figure: str) -> Finding:
    """Judge whether the slowdown is below a clip level where D < P/100, and if not, up to where."""
    part = f'"slowdown small for D < P/100", below the clip level of {figure}'
    cells = block.judged(slowdown, lambda _, r: r * _EDGE < 0.01)
    found = _all(block, slowdown, lambda _, r: r * _EDGE < 0.01, part, level, CLIP, "below")
    over = [cell.ratio for cell in cells if not below(cell.found, level)]
    small = [cell.ratio for cell in cells if cell.ratio < min(over, default=0)]
    if found.holds is False and small:
        told = f"{block.name} = {max(small):g}"
        return found._replace(
            found=f"{found.found}; all are below up to {told}",
            why=f"the paper's wording: its border, P/100, is a round number; up to {told} it holds",
        )
    return found


def _most(block: Block, slowdown: str, level: float, part: str) -> Finding:
    cells = block.judged(slowdown, lambda _, r: r > 0.01 * _EDGE)
    if not cells:
        return Finding(block.where, part, None, "no cell there")
    peak = largest(cells)
    found = f"at most {peak.in_words(block.name)}"
    return Finding(block.where, part, above(peak.found, level), found, f"above {level:g}", CLIP)


@_of_readings
def fig12(results: Results) -> list[Finding]:
    """Judge M4 and M6, part by part, for each reading of the figure's parameters."""
    findings = []
    for block in blocks(results):
        findings += [
            *_gains(block, named(results.study, "gain")[0],
                    lambda ranks, _: _LOW <= ranks <= _HIGH, '"far better for 2^7 ... 2^14"'),
            *_rise(results, block),
        ]  # fmt: skip
    return findings


def _rise(results: Results, block: Block) -> list[Finding]:
    """Judge where the redundant scheme's time, and the share of realizations hit, rise most."""
    redundant = named(results.study, "slowdown")[1]
    cells = sorted((s for s in block.cells if redundant in s.summaries), key=lambda s: s.ranks)
    times = [(cell.ranks, _time(cell, redundant)) for cell in cells]
    shares = [(cell.ranks, share) for cell in cells if (share := hit_share(cell, redundant))]
    return [
        _steepest(block, '"rises steeply above 2^14", in time', times, show_seconds),
        _steepest(block, '"rises steeply above 2^14", in the share of realizations that are hit',
                  shares, lambda share, _: f"{100 * share:.0f} %"),
    ]  # fmt: skip


def _time(cell: CellResults, name: str) -> Estimate:
    """The mean completion behind a mean slowdown, seconds."""
    quiet, mean = quiet_time(cell, name), cell.summaries[name].mean
    value, low, high = (float(end) * quiet for end in mean)
    return Estimate(value, low, high, mean.confidence, mean.realizations)


def quiet_time(cell: CellResults, name: str) -> float:
    """The noise-free completion that a slowdown is over, seconds."""
    observed = cell.observed(name)
    if observed is None:
        raise ValueError(f"{name} has no data at {cell.name}")
    return float(observed.measure.denominator) * 1e-12  # type: ignore[arg-type]


def hit_share(cell: CellResults, name: str) -> Estimate | None:
    """The share of realizations that noise delays by half of its duration or more.

    Noise that hits delays by about its whole duration, and a redundant message by a few times the
    latency; where the latency is below a tenth of the duration any limit in between says the same.
    Agresti and Coull's interval. None where there are no data.

    Parameters
    ----------
    cell : CellResults
        Its first source of noise has a duration.
    name : str
        An observable of kind "slowdown".
    """
    observed = cell.observed(name)
    if observed is None or not observed.has_distribution:
        return None
    durations = [float(getattr(noise, "duration", 0.0)) for noise in cell.first_case.noise]
    limit = 1 + 0.5 * max(durations) / quiet_time(cell, name)
    samples, count = observed.samples, observed.realizations
    if samples is not None and len(samples) == count:
        hits = int(np.count_nonzero(samples > limit))
    else:
        histogram = observed.data.histogram(observed.measure)
        values = histogram.middles() / histogram_scale(observed.measure)
        hits = int(histogram.counts[values > limit].sum())
    middle = (hits + _Z**2 / 2) / (count + _Z**2)
    half = _Z * math.sqrt(middle * (1 - middle) / (count + _Z**2))
    return Estimate(hits / count, max(middle - half, 0.0), min(middle + half, 1.0), 0.95, count)


def _steepest(
    block: Block,
    part: str,
    series: Sequence[tuple[int, Estimate]],
    told: Callable[[float, int], str],
) -> Finding:
    """Judge whether the largest rise from one size to the next begins at 2^14 ranks or above."""
    steps = list(itertools.pairwise(series))
    early = [step for step in steps if step[0][0] < _HIGH]
    late = [step for step in steps if step[0][0] >= _HIGH]
    if not early or not late:
        return Finding(block.where, part, None, "no cells on both sides of 2^14")
    first, last = max(early, key=_climb), max(late, key=_climb)
    holds = None
    if all(_more(last, step) for step in early):
        holds = True
    elif all(_more(first, step) for step in late):
        holds = False
    texts = [
        f"{told(float(a.value), 3)} -> {told(float(b.value), 3)} "
        f"[{told(float(b.low), 3)}, {told(float(b.high), 3)}] from {show_ranks(n)} to "
        f"{show_ranks(m)}"
        for (n, a), (m, b) in (first, last)
    ]
    found = f"largest rise up to 2^14: {texts[0]}; above: {texts[1]}"
    limit = "the largest rise begins at 2^14 or above"
    return Finding(block.where, part, holds, found, limit, WORDS)


_Step = tuple[tuple[int, Estimate], tuple[int, Estimate]]


def _climb(step: _Step) -> float:
    return float(step[1][1].value) - float(step[0][1].value)


def _more(larger: _Step, smaller: _Step) -> bool:
    """Return whether a rise is larger than another, by 95 %; errors of sizes as if independent."""
    weights: dict[int, float] = {}
    halves: dict[int, float] = {}
    for (before, after), sign in ((larger, 1.0), (smaller, -1.0)):
        for (ranks, estimate), weight in ((after, sign), (before, -sign)):
            weights[ranks] = weights.get(ranks, 0.0) + weight
            halves[ranks] = float(estimate.high - estimate.low) / 2
    half = math.hypot(*(weights[ranks] * halves[ranks] for ranks in weights))
    return _climb(larger) - _climb(smaller) > half


def fig05_and_08(results: Results) -> list[Finding]:
    """Judge M7: the slowdown in the setting of Fig. 8 over that in the setting of Fig. 5."""
    slowdown = named(results.study, "slowdown")[0]
    axis = next(axis for axis in results.study.axes if axis.name == "figure")
    first, last = axis.values[0].label, axis.values[-1].label
    groups: dict[str, dict[str, dict[int, Estimate]]] = {}
    for cell in results.cells:
        means = groups.setdefault(results.label(cell, without=("figure", "ranks")), {})
        if slowdown in cell.summaries:
            mean = cell.summaries[slowdown].mean
            means.setdefault(cell.labels["figure"], {})[cell.ranks] = mean
    findings = []
    for where, by_figure in groups.items():
        before, after = by_figure.get(first, {}), by_figure.get(last, {})
        both = sorted(set(before) & set(after))
        if not both or first == last:
            findings.append(Finding(where, '"grows about 10 times"', None, "no cells of both"))
            continue
        top = both[-1]
        growth = {ranks: of_independent(after[ranks], before[ranks]) for ranks in both}
        low, high = (pick(both, key=lambda n: float(growth[n].value)) for pick in (min, max))
        told = (
            f"at {show_ranks(top)} ranks {show(before[top])} -> {show(after[top])}, "
            f"{show(growth[top])} times; over all ranks from {growth[low].value:.3g} "
            f"({show_ranks(low)}) to {growth[high].value:.3g} ({show_ranks(high)})"
        )
        findings += [
            Finding(where, '"grows", from Fig. 5 to Fig. 8', above(growth[top], 1.0), told,
                    "above 1", WORDS),
            _tenfold(where, growth, told),
        ]  # fmt: skip
    return findings


def _tenfold(where: str, growth: dict[int, Estimate], told: str) -> Finding:
    """Judge whether a growth is about 10 at all sizes: where the paper compares is not said."""
    low, high = 10 / _ABOUT, 10 * _ABOUT
    held = {ranks: between(one, low, high) for ranks, one in growth.items()}
    about, why = [ranks for ranks, holds in held.items() if holds], ""
    holds = every(list(held.values()))
    if about and not holds:
        sizes = " ... ".join(map(show_ranks, dict.fromkeys([about[0], about[-1]])))
        why = f"our reading: where the paper compares is not said; it is about 10 at {sizes} ranks"
        holds = None
    limit = f"{low:g} to {high:g} at all sizes"
    return Finding(where, '"about 10 times"', holds, told, limit, OURS, why)


@_of_readings
def all_conditions(results: Results) -> list[Finding]:
    """Judge M8: the largest gain of a study; along ranks, also where each scheme suffers first."""
    study = results.study
    gain, slowdowns = named(study, "gain")[0], named(study, "slowdown")
    findings = []
    for block in blocks(results):
        curve = not block.axis
        part = '"up to about 10 times faster, in all conditions"'
        findings.append(_about(block, gain, part, 10, reached=curve))
        if curve and len(slowdowns) > 1:
            findings += [
                _suffers(block, slowdowns[0], "conventional", 2**7),
                _suffers(block, slowdowns[1], "redundant", 2**15),
            ]
    return findings


def _suffers(block: Block, name: str, who: str, start: int) -> Finding:
    """Judge from how many ranks on a scheme is slower than a factor of ours."""
    part = f'"{who} suffers from {show_ranks(start)} on"'
    cells = sorted(block.judged(name), key=lambda cell: cell.ranks)
    at = [cell for cell in cells if cell.ranks >= start]
    before = [cell for cell in cells if cell.ranks < start]
    if not at or not before:
        return Finding(block.where, part, None, "no cells on both sides")
    holds = every([
        *(above(cell.found, _TWICE) for cell in at), below(before[-1].found, _TWICE)
    ])  # fmt: skip
    slow = next((cell for cell in cells if above(cell.found, _TWICE)), None)
    found = f"{before[-1].in_words('')}, {at[0].in_words('')}"
    found += f"; above {_TWICE:g} from {show_ranks(slow.ranks)} on" if slow else ""
    return Finding(block.where, part, holds, found, f"above {_TWICE:g} from there on", OURS)


def _about_limits(
    found: Estimate, number: float, *, reached: bool
) -> tuple[bool | None, str, str, str]:
    """Judge whether a value is about a number: holds, limit, whose, why.

    Within a factor of 2, which is ours, it is. Beyond half a decade another power of ten is
    nearer, and it is not. `reached`: not only at most about that.
    """
    low, high = (number / _ABOUT, number * _ABOUT) if reached else (-math.inf, number * _ABOUT)
    outer = (number / _DECADE if reached else -math.inf), number * _DECADE
    if between(found, *outer) is False:
        span = f"{outer[0]:.3g} to {outer[1]:.3g}" if reached else f"at most {outer[1]:.3g}"
        return False, f"{span}, where {number:g} is the nearest power of ten", NUMBER, ""
    ours = f"{low:g} to {high:g}" if reached else f"at most {high:g}"
    return between(found, low, high), ours, OURS, ""


def _about(block: Block, name: str, part: str, number: float, *, reached: bool) -> Finding:
    cells = block.judged(name)
    if not cells:
        return Finding(block.where, part, None, "no cell has data")
    peak = largest(cells)
    holds, limit, whose, why = _about_limits(peak.found, number, reached=reached)
    if holds is False and whose == NUMBER and not reached:
        why = (
            "the paper's wording: 10 is the gain in its curves against ranks; a corner of its "
            "maps, given without numbers, goes beyond it"
        )
    found = f"at most {peak.in_words(block.name)}"
    return Finding(block.where, part, holds, found, limit, whose, why)


def _axis(block: Block, name: str, end: float, figure: str, toward: int = 1) -> Finding:
    """Judge whether all values are on the axis of a figure.

    The paper does not list the values of a ratio. Only what is surely beyond the axis at `_KNOWN`,
    or where slowdowns are less, is called different: at other values, which are ours, nothing is
    decided. `toward` is 1 where large ratios slow down most, -1 where small ones do.
    """
    part = f"slowdown is on the axis of {figure}, which ends at {end:g}"
    cells = block.judged(name)
    if not cells:
        return Finding(block.where, part, None, "no cell has data")
    peak = largest(cells)
    holds = up_to(peak.found, end)
    over = [cell for cell in cells if cell.found.low > end]
    found, why = f"at most {peak.in_words(block.name)}", ""
    if over:
        ranks = show_ranks(min(cell.ranks for cell in over))
        to, back = ("up", "down") if toward > 0 else ("down", "up")
        least = min((cell.ratio for cell in over), key=lambda ratio: toward * ratio)
        found += f"; beyond it at {len(over)} of {len(cells)} cells, from {ranks} ranks on, "
        found += f"{back} to {block.name} = {least:g}"
        first = min(toward * cell.ratio for cell in cells if cell.found.high > end)
        inside = [toward * c.ratio for c in cells if toward * c.ratio < first]
        if inside:
            found += f"; all are on it {to} to {block.name} = {abs(max(inside)):g}"
        if toward * least > toward * _KNOWN * _EDGE**toward:
            holds, why = None, f"our range of {block.name}: the paper does not list its values"
        else:
            why = _RANGE
    return Finding(block.where, part, holds, found, f"at most {end:g}", AXIS, why)


def _gains(block: Block, name: str, region: Region, part: str) -> list[Finding]:
    """A large gain: above 1 in the paper's words, and above a factor of ours."""
    return [
        _all(block, name, region, f"{part}: better", 1.0, WORDS, "above"),
        _all(block, name, region, part, _TWICE, OURS, "above"),
    ]


def _all(
    block: Block, name: str, region: Region, part: str, limit: float, whose: str, side: str
) -> Finding:
    """Judge whether every cell of a region is "above" or "below" a limit."""
    cells = block.judged(name, region)
    if not cells:
        return Finding(block.where, part, None, "no cell there")
    test = below if side == "below" else above
    verdicts = [test(cell.found, limit) for cell in cells]
    ends = [smallest(cells), largest(cells)]
    first, second = ends if side == "above" else ends[::-1]
    names = ("smallest", "largest") if side == "above" else ("largest", "smallest")
    return Finding(
        block.where,
        part,
        every(verdicts),
        f"{side} {limit:g} at {verdicts.count(True)} of {len(cells)} cells; {names[0]} "
        f"{first.in_words(block.name)}; {names[1]} {second.in_words(block.name)}",
        f"every cell {side} {limit:g}",
        whose,
    )


def _peak(block: Block, name: str, region: Region, part: str) -> Finding:
    """Judge whether the largest value is in a region: above all cells outside, with intervals."""
    cells = block.judged(name)
    inside = [cell for cell in cells if region(cell.ranks, cell.ratio)]
    outside = [cell for cell in cells if not region(cell.ranks, cell.ratio)]
    if not inside or not outside:
        return Finding(block.where, part, None, "no cells on both sides")
    best, other = largest(inside), largest(outside)
    holds = exceeds(best.found, other.found)
    found = f"inside {best.in_words(block.name)}, outside {other.in_words(block.name)}"
    return Finding(block.where, part, holds, found, "the largest value lies inside", WORDS)
