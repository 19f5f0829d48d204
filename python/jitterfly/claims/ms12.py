"""Claims of MS12 about gain against ranks: mean(conventional) / mean(redundant)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..results.figures import named
from ..results.number_text import interval, show_ranks
from .cells import Block, blocks, largest, smallest
from .finding import Finding, above, between, every, of_independent

if TYPE_CHECKING:
    from ..results.results import Results

_LOW, _HIGH = 2**7, 2**14
_FAR = 2.0  # "far better": MS12 gives no number; we take at least twice as fast
_ABOUT = 2.0  # "about 10 times": within this factor of 10
_STEEP = 4.0  # "rises steeply above 2^14": by at least this factor up to the largest ranks


def fig12(results: Results) -> list[Finding]:
    """M4, part by part, for each reading of the figure's parameters."""
    found = []
    for block in blocks(results):
        about = f'"up to about 10 times faster" ({10 / _ABOUT:g} to {10 * _ABOUT:g} count)'
        found += [
            _range_gain(results, block, '"far better for 2^7 ... 2^14"', _FAR),
            _rise(results, block, '"rises steeply above 2^14"'),
            _largest_gain(results, block, about, 10 / _ABOUT, 10 * _ABOUT),
        ]
    return found


def fig21(results: Results) -> list[Finding]:
    """M6: Fig. 12's shape in two parts, and a largest gain above 1 and below Fig. 12's 10."""
    found = []
    for block in blocks(results):
        better = '"as Fig. 12, weaker", the part better for 2^7 ... 2^14'
        found += [
            _range_gain(results, block, better, 1.0),
            _rise(results, block, '"as Fig. 12", the part rises steeply above 2^14'),
            _largest_gain(results, block, '"weaker" than Fig. 12\'s factor of about 10', 1.0, 10.0),
        ]
    return found


def _range_gain(results: Results, block: Block, part: str, least: float) -> Finding:
    gain = named(results.study, "gain")[0]
    cells = block.cells(gain, lambda ranks, _: _LOW <= ranks <= _HIGH)
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
    cells = block.cells(named(results.study, "gain")[0])
    if not cells:
        return Finding(block.where, None, f"{part}: no cell has data")
    best = largest(cells)
    return Finding(block.where, between(best.found, low, high), f"{part}: at most {best.told('')}")


def _rise(results: Results, block: Block, part: str) -> Finding:
    """The redundant scheme's mean slowdown from 2^14 ranks on; and where it does rise most."""
    conventional, redundant = named(results.study, "slowdown")[:2]
    spots = sorted((s for s in block.spots if redundant in s.facts), key=lambda s: s.ranks)
    start = next((spot for spot in spots if spot.ranks == _HIGH), None)
    steepest = _steepest([(s.ranks, s.facts[redundant]) for s in spots])
    if start is None or spots[-1].ranks <= start.ranks:
        return Finding(block.where, None, f"{part}: no cells on both sides. {steepest}")
    end = spots[-1]
    means = [spot.facts[redundant].mean for spot in (start, end)]
    plain = [float(spot.facts[conventional].mean.value) for spot in (start, end)]
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
    told = []
    for name, values in (
        ("mean", [float(facts.mean.value) for _, facts in series]),
        ("median", [facts.quantiles[1] for _, facts in series]),
    ):
        steps = [after / before for before, after in itertools.pairwise(values)]
        at = max(range(len(steps)), key=steps.__getitem__)
        ends = " to ".join(show_ranks(ranks) for ranks, _ in series[at : at + 2])
        told.append(
            f"{name} from {ends}, {steps[at]:.3g} times ({values[at]:.3g} -> {values[at + 1]:.3g})"
        )
    return f"Steepest between neighbours: {'; '.join(told)}"
