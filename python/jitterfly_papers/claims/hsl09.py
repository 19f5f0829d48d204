"""Claims of paper HSL09: slowdown of collectives by network noise (congestion).

Only ranges of axes are published, no values of curves: a range is taken as the range of the values.
Intervals are 95 % each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from jitterfly.fields import grouped
from jitterfly.stats import Estimate
from jitterfly.stats.intervals import student_t

from ..hsl09_settings import HALF, FigurePoint
from .claim import AXIS, NUMBER, OURS, WORDS, Claim, Finding, above, between, every, exceeds

_STRAIGHT = 0.1  # of the rise from the smallest size to the largest
_SAMPLES = 128  # of each point of slide 8
_HIGH = 10.0  # percent
_TREES = "fat trees of our own in place of the machines"
_READING = {
    "orcs": "the longest path (slide 11)",
    "orcs1": "one chain of the tree",
    "ready": "the longest path (slide 11)",
    "level_sync": "the sum over levels (slide 10)",
    "sum_max_cong": "the sum over levels, of both patterns",
}
"""Which reading of the deck a rule is."""
_SLOWER = {
    "orcs": "the sum over levels (slide 10, rule level_sync) is larger",
    "ready": "the sum over levels (slide 10, rule level_sync) is larger",
    "d-mod-k": "routes at random are slower",
}
_FASTER = {
    "level_sync": "the longest path (slide 11, rule orcs) is shorter",
    "hash": "routing d-mod-k, which spreads the messages, is faster",
    "random": "routing d-mod-k, which spreads the messages, is faster",
}
"""Other readings beside a rule or a routing, by the side to which they move a slowdown."""
_SURE = 2.576  # normal, 99 %: with the five sizes together 95 %


def series(points: Sequence[FigurePoint]) -> dict[str, list[FigurePoint]]:
    """The points that differ in ratio or size only, in the order that they came in."""
    return grouped(points, lambda point: point.where)


def _against_ratio(points: Sequence[FigurePoint]) -> list[Finding]:
    findings = []
    for where, line in series(points).items():
        findings += [_inside(where, line, 100, 250), _growing(where, line, "ratio", _at_ratio)]
        findings.append(_variance(where, line))
    return findings


def _variance(where: str, line: Sequence[FigurePoint]) -> Finding:
    """The standard deviation over realizations, and what it makes of a mean of 128 of them."""
    level = 1 - 0.05 / len(line)  # of all points of the line together 95 %
    spreads = [(variation(point.perturbed.samples, level), point) for point in line]
    most, point = max(spreads, key=lambda pair: float(pair[0].value))
    width = 1.96 * float(most.value) / np.sqrt(_SAMPLES)
    found = (
        f"standard deviation up to {most:.0f} % of the mean, at {_at_ratio(point)}; so a mean "
        f"of {_SAMPLES} samples is known to about ± {width:.1f} %"
    )
    part = f"high variance at {_SAMPLES} samples"
    limit = f"a standard deviation above {_HIGH:g} % of the mean"
    return Finding(where, part, above(most, _HIGH), found, limit, OURS)


def variation(samples: npt.NDArray[np.float64], confidence: float = 0.95) -> Estimate:
    """The standard deviation in percent of the mean, and its interval from the fourth moment."""
    mean, count = samples.mean(), len(samples)
    away = (samples - mean) ** 2
    variance = away.mean()
    value = 100 * np.sqrt(variance) / mean
    error = np.sqrt(((away - variance) ** 2).mean() / count) / (2 * variance) if variance else 0.0
    reach = student_t(confidence, count - 1) * error * value if variance else np.inf
    return Estimate(value, value - reach, value + reach, confidence, count)


def _against_ranks(points: Sequence[FigurePoint]) -> list[Finding]:
    return [
        finding
        for where, line in series(points).items()
        for finding in (_inside(where, line, 110, 150), _growing(where, line, "z", _at_z))
    ]


def _systems(points: Sequence[FigurePoint]) -> list[Finding]:
    findings = [_inside(where, line, 150, 300) for where, line in series(points).items()]
    for how in dict.fromkeys(point.how for point in points):
        same = [point for point in points if point.how == how]
        halves = {p.case.ratio: p for p in same if p.setting.network == HALF}
        others = [p for p in same if p.setting.network != HALF and p.case.ratio in halves]
        worse = [exceeds(halves[point.case.ratio].slowdown, point.slowdown) for point in others]
        worst = {
            ratio: max((p for p in others if p.case.ratio == ratio), key=_slow, default=None)
            for ratio in halves
        }
        comparison = ", ".join(
            f"{halves[ratio].slowdown:.0f} % ({_at_z(halves[ratio])}) against "
            f"{point.slowdown:.0f} % ({_at_z(point)}) at ratio {ratio}"
            for ratio, point in worst.items()
            if point is not None
        )
        part = "worst on half bandwidth, against the worst of full bandwidth"
        where = f"all systems: {how}"
        limit = "above every other system"
        findings.append(Finding(where, part, every(worse), comparison, limit, WORDS))
    return findings


def _sizes(points: Sequence[FigurePoint]) -> list[Finding]:
    return [
        finding
        for where, line in series(points).items()
        for finding in (_inside(where, line, 150, 350), _logarithmic(where, line))
    ]


def _reduction(points: Sequence[FigurePoint]) -> list[Finding]:
    return [
        Finding(point.where, "factor 2", between(point.slowdown, 150, 250),
                f"{point.slowdown:.0f} % at z = {point.case.z}", "150–250 %", NUMBER)
        for point in points
    ]  # fmt: skip


def _claim(
    source: str, text: str, check: Callable[[Sequence[FigurePoint]], list[Finding]]
) -> Claim:
    return Claim(source, text, (), (), check, of_study=False)


HSL09 = {
    "N1": _claim(
        "HSL09 slides 7 and 8",
        "measured, ratio 0.2–0.8, Broadcast on 208 nodes, Reduce and Allreduce on 492 (slide 7: "
        "Allreduce on 32): slowdown 100–250 %, growing with the ratio; high variance at 128 "
        "samples",
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
        "150–350 %; the deck supports the longest path and a sum over levels",
        _sizes,
    ),
    "N5": _claim("HSL09 abstract", "factor 2 for a reduction on 246 nodes", _reduction),
}


def _inside(where: str, line: Sequence[FigurePoint], low: float, high: float) -> Finding:
    parts = [between(point.slowdown, low, high) for point in line]
    least, most = min(line, key=_slow), max(line, key=_slow)
    outside = sum(part is False for part in parts)
    ends = " to ".join(f"{point.slowdown:.0f} % at {_at_z(point)}" for point in (least, most))
    found = ends + (f", {outside} of {len(parts)} outside" if outside else "")
    holds = every(parts)
    why = _reading(line, low, high) if holds is False else ""
    limit = f"{low}–{high} %"
    if low <= 100:
        limit += ", of which the lower end, no slowdown, can not fail"
    return Finding(where, f"{low}–{high} %", holds, found, limit, AXIS, why)


def _reading(line: Sequence[FigurePoint], low: float, high: float) -> str:
    """Say why slowdowns may lie beyond the paper's axis: the rule, the networks, what else is read.

    Only what moves them towards the axis. Where both of its ends are missed, nothing does.
    """
    case = line[0].case
    too_low = any(point.slowdown.high < low for point in line)
    too_high = any(point.slowdown.low > high for point in line)
    towards: dict[str, str] = {}
    if too_low != too_high:
        towards = _SLOWER if too_low else _FASTER
    others = [towards[name] for name in (case.rule, case.network.routing_name) if name in towards]
    return "; ".join([f"our reading: {_READING[case.rule]}, on {_TREES}", *others])


def _growing(
    where: str, line: Sequence[FigurePoint], what: str, at: Callable[[FigurePoint], str]
) -> Finding:
    parts = [exceeds(b.slowdown, a.slowdown) for a, b in pairwise(line)]
    ends = f"{line[0].slowdown:.0f} % at {at(line[0])}"
    if len(line) > 1:
        ends += f", {line[-1].slowdown:.0f} % at {at(line[-1])}"
    found = f"{ends}; {parts.count(True)} of {len(parts)} steps rise"
    if False in parts:
        found += f", {parts.count(False)} falls"
    holds = every(parts)
    readings = {
        "ratio": f"our reading: the rule, on {_TREES}; where z crosses a power of two, a round of "
        "the collective is gone",
        "z": "our reading: neither the collective nor the rule is named",
    }
    why = readings[what] if holds is False else ""
    return Finding(where, f"grows with {what}", holds, found, "every step rises", WORDS, why)


def _logarithmic(where: str, line: Sequence[FigurePoint]) -> Finding:
    """Judge whether all sizes lie on one line in the logarithm of the size, to a tenth of its rise.

    A residual of the least-squares line is a sum of independent slowdowns with fixed weights.
    """
    if len(line) < 3:
        return Finding(where, "logarithmic in size", None, "at least 3 sizes are needed")
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
    falls = slope + doubtful <= 0
    if slope > doubtful and np.all(miss + doubt < limit):
        holds = True
    elif falls or np.any(miss - doubt > limit):
        holds = False
    share = 100 * miss.max() * _STRAIGHT / limit if limit else np.inf
    rise = f"{slope:.1f} [{slope - doubtful:.1f}, {slope + doubtful:.1f}] % more"
    ends = f"{_at_z(line[0])} to {line[-1].case.z}"
    found = f"{rise} with each doubling, {ends}; "
    found += f"the line misses by up to {share:.0f} % of the rise"
    if falls:
        return Finding(where, "logarithmic in size", False, found, "grows with the size", WORDS)
    allowed = "10 % of the rise are allowed"
    return Finding(where, "logarithmic in size", holds, found, allowed, OURS)


def _slow(point: FigurePoint) -> float:
    return float(point.slowdown.value)


def _at_ratio(point: FigurePoint) -> str:
    return f"ratio {point.case.ratio} (z = {point.case.z})"


def _at_z(point: FigurePoint) -> str:
    return f"z = {point.case.z}"
