"""Claims of MS12: gain against ranks, another latency, and its figures over two axes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..results.figures import named
from ..results.number_text import interval, show_ranks
from ..stats import Estimate
from .cells import WITHIN, Block, Region, blocks, largest, ordered, rising, smallest
from .claim import Finding, above, below, between, every, of_independent

if TYPE_CHECKING:
    from ..results import Results

_LOW, _HIGH = 2**7, 2**14
_FAR = 2.0  # "far better": MS12 gives no number; we take at least twice as fast
_ABOUT = 2.0  # "about 10 times" and "about 100 times": within this factor of it
_STEEP = 4.0  # "rises steeply above 2^14": by at least this factor up to the largest ranks


def fig12(results: Results) -> list[Finding]:
    """M4, part by part, for each reading of the figure's parameters."""
    findings = []
    for block in blocks(results):
        about = f'"up to about 10 times faster" ({10 / _ABOUT:g} to {10 * _ABOUT:g} count)'
        findings += [
            _range_gain(results, block, '"far better for 2^7 ... 2^14"', _FAR),
            _rise(results, block, '"rises steeply above 2^14"'),
            _largest_gain(results, block, about, 10 / _ABOUT, 10 * _ABOUT),
        ]
    return findings


def fig21(results: Results) -> list[Finding]:
    """M6: Fig. 12's shape in two parts, and a largest gain above 1 and below Fig. 12's 10."""
    findings = []
    for block in blocks(results):
        better = '"as Fig. 12, weaker", the part better for 2^7 ... 2^14'
        findings += [
            _range_gain(results, block, better, 1.0),
            _rise(results, block, '"as Fig. 12", the part rises steeply above 2^14'),
            _largest_gain(results, block, '"weaker" than Fig. 12\'s factor of about 10', 1.0, 10.0),
        ]
    return findings


def _range_gain(results: Results, block: Block, part: str, least: float) -> Finding:
    gain = named(results.study, "gain")[0]
    cells = block.judged(gain, lambda ranks, _: _LOW <= ranks <= _HIGH)
    if not cells:
        return Finding(block.where, None, f"{part}: no cell there")
    verdicts = [above(cell.found, least) for cell in cells]
    return Finding(
        block.where,
        every(verdicts),
        f"{part}: gain from {smallest(cells).told('')} to {largest(cells).told('')}; "
        f"above {least:g} at {verdicts.count(True)} of {len(cells)} sizes",
    )


def _largest_gain(results: Results, block: Block, part: str, low: float, high: float) -> Finding:
    cells = block.judged(named(results.study, "gain")[0])
    if not cells:
        return Finding(block.where, None, f"{part}: no cell has data")
    best = largest(cells)
    return Finding(block.where, between(best.found, low, high), f"{part}: at most {best.told('')}")


def _rise(results: Results, block: Block, part: str) -> Finding:
    """The redundant scheme's mean slowdown from 2^14 ranks on; and where it does rise most."""
    conventional, redundant = named(results.study, "slowdown")[:2]
    cells = sorted((s for s in block.cells if redundant in s.facts), key=lambda s: s.ranks)
    start = next((cell for cell in cells if cell.ranks == _HIGH), None)
    steepest = _steepest([(s.ranks, s.facts[redundant]) for s in cells])
    if start is None or cells[-1].ranks <= start.ranks:
        return Finding(block.where, None, f"{part}: no cells on both sides. {steepest}")
    end = cells[-1]
    means = [cell.facts[redundant].mean for cell in (start, end)]
    plain = [float(cell.facts[conventional].mean.value) for cell in (start, end)]
    rise = of_independent(means[1], means[0])
    return Finding(
        block.where,
        above(rise, _STEEP),
        f"{part}: mean slowdown {means[0].value:.3g} -> {means[1].value:.3g} from "
        f"{show_ranks(start.ranks)} to {show_ranks(end.ranks)}, {interval(rise)} times (a factor "
        f"of {_STEEP:g} counts as steep; conventional: {plain[1] / plain[0]:.3g}). {steepest}",
    )


def _steepest(series: list) -> str:
    """Where mean and median rise most from one size to the next."""
    if len(series) < 2:
        return "One number of ranks only"
    lines = []
    for name, values in (
        ("mean", [float(facts.mean.value) for _, facts in series]),
        ("median", [facts.quantiles[1] for _, facts in series]),
    ):
        steps = [after / before for before, after in itertools.pairwise(values)]
        at = max(range(len(steps)), key=steps.__getitem__)
        ends = " to ".join(show_ranks(ranks) for ranks, _ in series[at : at + 2])
        lines.append(
            f"{name} from {ends}, {steps[at]:.3g} times ({values[at]:.3g} -> {values[at + 1]:.3g})"
        )
    return f"Steepest between neighbours: {'; '.join(lines)}"


if TYPE_CHECKING:
    from ..results import Results


Means = dict[int, Estimate]  # by ranks


def alpha(results: Results) -> list[Finding]:
    """M7: the slowdown at the smallest alpha over that at the largest, at the most ranks."""
    findings = []
    for label, by_alpha in _means(results).items():
        before, after = by_alpha[max(by_alpha)], by_alpha[min(by_alpha)]
        both = sorted(set(before) & set(after))
        if len(by_alpha) < 2 or not both:
            findings.append(Finding(label, None, "no cells at two values of alpha"))
            continue
        growth = of_independent(after[both[-1]], before[both[-1]])
        limits = f"{10 / _ABOUT:g} to {10 * _ABOUT:g} count as about 10"
        holds = between(growth, 10 / _ABOUT, 10 * _ABOUT)
        text = f'"grows about 10 times" ({limits}): {_told(before, after, both)}'
        findings.append(Finding(label, holds, text))
    return findings or [Finding("", None, "no cell has data")]


def _means(results: Results) -> dict[str, dict[float, Means]]:
    """Mean slowdowns by setting, alpha and ranks."""
    slowdown = named(results.study, "slowdown")[0]
    groups: dict[str, dict[float, Means]] = {}
    for cell in results.cells:
        if slowdown in cell.facts:
            label = results.label(cell, without=("alpha", "ranks"))
            value = float(cell.coordinates["alpha"])
            means = groups.setdefault(label, {}).setdefault(value, {})
            means[cell.ranks] = cell.facts[slowdown].mean
    return groups


def _told(before: Means, after: Means, both: list[int]) -> str:
    growth = {ranks: of_independent(after[ranks], before[ranks]) for ranks in both}
    low, high = (pick(both, key=lambda n: float(growth[n].value)) for pick in (min, max))
    top = both[-1]
    return (
        f"at {show_ranks(top)} ranks {interval(before[top])} -> {interval(after[top])}, "
        f"{interval(growth[top])} times; over all ranks from {growth[low].value:.3g} "
        f"({show_ranks(low)}) to {growth[high].value:.3g} ({show_ranks(high)})"
    )


if TYPE_CHECKING:
    from ..results import Results

# MS12 gives no numbers for these words. A time is "small" up to, "large" from twice another one.
TWICE = 2.0
_MANY = 2**14  # "many ranks": above those where MS12 finds the largest gain
_RANGE = (2**7, 2**14)
_EDGE = 1 + 1e-9  # a ratio that is at a bound of a claim is neither above nor below it


def fig05(results: Results) -> list[Finding]:
    """M1: the slowdown of the butterfly on both sides of T_comm = D."""
    slowdown = named(results.study, "slowdown")[0]
    findings = []
    for block in blocks(results):
        part = '"small while T_comm > D"'
        findings.append(_all(block, slowdown, lambda _, r: r > _EDGE, part, TWICE, upto=True))
        cells = block.judged(slowdown, lambda _, r: r < 1 / _EDGE)
        part = '"large below"'
        if not cells:
            findings.append(Finding(block.where, None, f"{part}: no cell there"))
            continue
        corner = max(cells, key=lambda cell: (-cell.ratio, cell.ranks))
        text = f"{part}: shortest message, most ranks: {corner.told(block.name)}"
        text += f" ({TWICE:g} counts as large){_crossing(block, slowdown, corner.ranks)}"
        findings.append(Finding(block.where, above(corner.found, TWICE), text))
    return findings


def _crossing(block: Block, slowdown: str, ranks: int) -> str:
    row = sorted(block.judged(slowdown, lambda r, _: r == ranks), key=lambda cell: cell.ratio)
    large = [cell for cell in row if above(cell.found, TWICE)]
    return f"; large up to {block.name} = {large[-1].ratio:g}" if large else ""


def fig06(results: Results) -> list[Finding]:
    """M2: whether slowdown and gain order the cells alike; T against ranks."""
    study = results.study
    slowdown, gain, best = (named(study, kind)[0] for kind in ("slowdown", "gain", "optimal_T"))
    findings = []
    for block in blocks(results):
        means = [
            (cell.facts[slowdown].mean, cell.facts[gain].mean)
            for cell in block.cells
            if slowdown in cell.facts and gain in cell.facts
        ]
        couples = [(a[0], b[0], a[1], b[1]) for a, b in itertools.combinations(means, 2)]
        part = '"gain follows the slowdown"'
        findings.append(ordered(block.where, f"{part}: pairs of cells", couples, "ordered alike"))
        findings.append(
            rising(block, best, f'"optimal T grows with ranks" ({WITHIN})',
                      lambda cell: cell.ratio, lambda cell: cell.ranks, "more for more ranks")
        )  # fmt: skip
    return findings


def fig08(results: Results) -> list[Finding]:
    """M3, part by part."""
    study = results.study
    slowdown, gain, best = (named(study, kind)[0] for kind in ("slowdown", "gain", "optimal_T"))
    findings = []
    for block in blocks(results):
        cells = block.judged(slowdown)
        if not cells:
            findings.append(Finding(block.where, None, "no cell has data"))
            continue
        peak = largest(cells)
        findings += [
            Finding(
                block.where,
                between(peak.found, 100 / _ABOUT, 100 * _ABOUT),
                f'"slowdown up to about 100": at most {peak.told(block.name)} '
                f"({100 / _ABOUT:g} to {100 * _ABOUT:g} count as about 100)",
            ),
            _peak(block, slowdown, lambda n, r: n >= _MANY and r * _EDGE < 0.01,
                  f'"at the short-message, many-rank corner" ({_MANY_RANKS}, T_comm < D/100)'),
            _all(block, gain, lambda n, r: n > 2**8 and _short(n, r),
                 '"gain large for T_comm < D/10 and ranks > 2^8"', TWICE),
            _peak(block, gain, lambda n, r: 2**10 <= n <= 2**14 and r * _EDGE < 0.01,
                  '"gain largest for 2^10 ... 2^14 and T_comm < D/100"'),
            # From D/10 on there is little to gain, so little is needed there whatever the size.
            *(
                rising(block, best,
                      f'"for equal ranks, shorter messages need fewer exchanges" ({WITHIN}), '
                      f"{where}", lambda cell: cell.ranks, lambda cell: cell.ratio,
                      "fewer for the shorter message", region)
                for where, region in (("all sizes", None), ("T_comm < D/10", _short))
            ),
        ]  # fmt: skip
    return findings


_MANY_RANKS = "2^14 ranks or more"


def _short(_ranks: int, ratio: float) -> bool:
    """Where MS12 finds a large gain."""
    return ratio * _EDGE < 0.1


def fig13(results: Results) -> list[Finding]:
    """M5, part by part, for each period."""
    study = results.study
    slowdown, gain = (named(study, kind)[0] for kind in ("slowdown", "gain"))
    low, high = _RANGE
    findings = []
    for block in blocks(results):
        findings += [
            _all(block, slowdown, lambda _, r: r * _EDGE < 0.01,
                 '"slowdown small for D < P/100"', TWICE, upto=True),
            _all(block, slowdown, lambda n, r: r > 0.01 * _EDGE and n >= low,
                 '"large above", from 2^7 ranks on', TWICE),
            _all(block, gain, lambda n, r: r > 0.01 * _EDGE and low <= n <= high,
                 '"gain large there for 2^7 ... 2^14"', TWICE),
        ]  # fmt: skip
    return findings


def _all(
    block: Block, name: str, region: Region, part: str, limit: float, *, upto: bool = False
) -> Finding:
    """Whether every cell of a region is above a limit (or below it)."""
    cells = block.judged(name, region)
    if not cells:
        return Finding(block.where, None, f"{part}: no cell there")
    test = below if upto else above
    verdicts = [test(cell.found, limit) for cell in cells]
    extreme = largest(cells) if upto else smallest(cells)
    other = smallest(cells) if upto else largest(cells)
    word = "below" if upto else "above"
    return Finding(
        block.where,
        every(verdicts),
        f"{part}: {word} {limit:g} at {verdicts.count(True)} of {len(cells)} cells; "
        f"{'largest' if upto else 'smallest'} {extreme.told(block.name)}; "
        f"{'smallest' if upto else 'largest'} {other.told(block.name)}",
    )


def _peak(block: Block, name: str, region: Region, part: str) -> Finding:
    """Whether the largest value is in a region: above every cell outside, intervals included."""
    cells = block.judged(name)
    inside = [cell for cell in cells if region(cell.ranks, cell.ratio)]
    outside = [cell for cell in cells if not region(cell.ranks, cell.ratio)]
    if not inside or not outside:
        return Finding(block.where, None, f"{part}: no cells on both sides")
    best, other = largest(inside), largest(outside)
    holds = None
    if best.found.low > max(cell.found.high for cell in outside):
        holds = True
    elif other.found.low > max(cell.found.high for cell in inside):
        holds = False
    values = f"inside {best.told(block.name)}, outside {other.told(block.name)}"
    return Finding(block.where, holds, f"{part}: largest {values}")
