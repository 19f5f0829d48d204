"""What HSL09 claims about network noise, and what was found beside it.

Only ranges of axes are published, no values of curves: a range is taken as the range of the values.
Intervals are 95 % each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ..congestion.study import HALF, FigurePoint
from ..stats import Estimate
from .claim import Claim, Finding, between, every

_STRAIGHT = 0.1  # of the rise from the smallest size to the largest
_SURE = 2.576  # normal, 99 %: with the five sizes together 95 %


def series(points: Sequence[FigurePoint]) -> dict[str, list[FigurePoint]]:
    """Points that differ in ratio or size only, in the order that they came in."""
    lines: dict[str, list[FigurePoint]] = {}
    for point in points:
        lines.setdefault(point.where, []).append(point)
    return lines


def _against_ratio(points: Sequence[FigurePoint]) -> list[Finding]:
    findings = []
    for where, line in series(points).items():
        findings += [_inside(where, line, 100, 250), _growing(where, line, "ratio", _at_ratio)]
        share = [point.perturbed.samples.std() / point.perturbed.samples.mean() for point in line]
        spread = f"{100 * min(share):.0f}–{100 * max(share):.0f} %"
        text = f"high variance: standard deviation {spread} of the mean over realizations; "
        findings.append(Finding(where, None, f"{text}no value is published"))
    return findings


def _against_ranks(points: Sequence[FigurePoint]) -> list[Finding]:
    return [
        finding
        for where, line in series(points).items()
        for finding in (_inside(where, line, 110, 150), _growing(where, line, "z", _at_z))
    ]


def _systems(points: Sequence[FigurePoint]) -> list[Finding]:
    findings = [_inside(where, line, 150, 300) for where, line in series(points).items()]
    for rule in dict.fromkeys(point.case.rule for point in points):
        same = [point for point in points if point.case.rule == rule]
        halves = {p.case.ratio: p for p in same if p.setting.network == HALF}
        others = [p for p in same if p.setting.network != HALF and p.case.ratio in halves]
        worse = [_order(point.slowdown, halves[point.case.ratio].slowdown) for point in others]
        worst = {
            ratio: max((p for p in others if p.case.ratio == ratio), key=_slow, default=None)
            for ratio in halves
        }
        comparison = ", ".join(
            f"{_percent(halves[ratio].slowdown)} ({_at_z(halves[ratio])}) against "
            f"{_percent(point.slowdown)} ({_at_z(point)}) at ratio {ratio}"
            for ratio, point in worst.items()
            if point is not None
        )
        text = f"worst on half bandwidth, against the worst of full bandwidth: {comparison}"
        findings.append(Finding(f"all systems: {same[0].how}", every(worse), text))
    return findings


def _sizes(points: Sequence[FigurePoint]) -> list[Finding]:
    return [
        finding
        for where, line in series(points).items()
        for finding in (_inside(where, line, 150, 350), _logarithmic(where, line))
    ]


def _reduction(points: Sequence[FigurePoint]) -> list[Finding]:
    return [
        Finding(point.where, between(point.slowdown, 150, 250),
                f"factor 2, that is 150–250 %: {_percent(point.slowdown)} at z = {point.case.z}")
        for point in points
    ]  # fmt: skip


def _claim(
    source: str, text: str, check: Callable[[Sequence[FigurePoint]], list[Finding]]
) -> Claim:
    return Claim(source, text, (), (), check, of_study=False)


HSL09 = {
    "N1": _claim(
        "HSL09 slide 8",
        "measured, ratio 0.2–0.8 on 208–492 nodes: slowdown 100–250 %, growing with the ratio; "
        "high variance at 128 samples",
        _against_ratio,
    ),
    "N2": _claim(
        "HSL09 slide 9",
        "measured, ratio 0.5: 110–150 %, growing with the size of the communicator to 250",
        _against_ranks,
    ),
    "N3": _claim(
        "HSL09 slide 13",
        "simulated tree on five systems of 128–4391 nodes, ratio 0.3–0.7: 150–300 %, worst on the "
        "network of half bandwidth",
        _systems,
    ),
    "N4": _claim(
        "HSL09 slides 14–15",
        "simulated tree on fat trees of 144 … 20,736 nodes, ratio 0.5: logarithmic in size, axis "
        "150–350 %",
        _sizes,
    ),
    "N5": _claim("HSL09 abstract", "factor 2 for a reduction on 246 nodes", _reduction),
}


def _inside(where: str, line: Sequence[FigurePoint], low: float, high: float) -> Finding:
    parts = [between(point.slowdown, low, high) for point in line]
    least, most = min(line, key=_slow), max(line, key=_slow)
    outside = sum(part is False for part in parts)
    ends = " to ".join(f"{_percent(point.slowdown)} at {_at_z(point)}" for point in (least, most))
    text = f"{low}–{high} %: {ends}"
    return Finding(where, every(parts), text + (f", {outside} of {len(parts)} outside"
                                               if outside else ""))  # fmt: skip


def _growing(
    where: str, line: Sequence[FigurePoint], what: str, at: Callable[[FigurePoint], str]
) -> Finding:
    parts = [_order(a.slowdown, b.slowdown) for a, b in pairwise(line)]
    ends = f"{_percent(line[0].slowdown)} at {at(line[0])}"
    if len(line) > 1:
        ends += f", {_percent(line[-1].slowdown)} at {at(line[-1])}"
    text = f"grows with {what}: {ends}; {parts.count(True)} of {len(parts)} steps rise"
    if False in parts:
        text += f", {parts.count(False)} falls"
    return Finding(where, every(parts), text)


def _logarithmic(where: str, line: Sequence[FigurePoint]) -> Finding:
    """Whether all sizes lie on one line in the logarithm of the size, to a tenth of its rise.

    A residual of the least-squares line is a sum of independent slowdowns with fixed weights.
    """
    if len(line) < 3:
        return Finding(where, None, "logarithmic in size: at least 3 sizes are needed")
    x = np.log2([point.case.network.hosts for point in line])
    centred = x - x.mean()
    hat = 1 / len(x) + np.outer(centred, centred) / (centred @ centred)
    keep = np.eye(len(x)) - hat
    slowdowns = [point.slowdown for point in line]
    value = np.array([slowdown.value for slowdown in slowdowns])
    error = np.array([(slowdown.high - slowdown.low) / (2 * 1.96) for slowdown in slowdowns])
    miss, doubt = np.abs(keep @ value), _SURE * np.sqrt(keep**2 @ error**2)
    weight = centred / (centred @ centred)
    slope, doubtful = float(weight @ value), 1.96 * float(np.sqrt(weight**2 @ error**2))
    limit = _STRAIGHT * abs(slope) * float(np.ptp(x))
    holds = None
    if slope > 0 and np.all(miss + doubt < limit):
        holds = True
    elif slope <= 0 or np.any(miss - doubt > limit):
        holds = False
    share = 100 * miss.max() * _STRAIGHT / limit if limit else np.inf
    rise = f"{slope:.1f} [{slope - doubtful:.1f}, {slope + doubtful:.1f}] % more"
    ends = f"{_at_z(line[0])} to {line[-1].case.z}"
    text = f"logarithmic in size: {rise} with each doubling, {ends}; "
    text += f"the line misses by up to {share:.0f} % of the rise (10 % are allowed)"
    return Finding(where, holds, text)


def _order(smaller: Estimate, larger: Estimate) -> bool | None:
    if larger.low > smaller.high:
        return True
    return False if larger.high < smaller.low else None


def _slow(point: FigurePoint) -> float:
    return float(point.slowdown.value)


def _percent(estimate: Estimate) -> str:
    return f"{estimate.value:.0f} [{estimate.low:.0f}, {estimate.high:.0f}] %"


def _at_ratio(point: FigurePoint) -> str:
    return f"ratio {point.case.ratio} (z = {point.case.z})"


def _at_z(point: FigurePoint) -> str:
    return f"z = {point.case.z}"
