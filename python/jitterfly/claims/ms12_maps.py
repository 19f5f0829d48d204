"""Claims of MS12 about its figures over two axes: ranks, and T_comm / D or D / P."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..results.figures import named
from . import pairs
from .cells import Block, Region, blocks, largest, smallest
from .finding import Finding, above, below, between, every

if TYPE_CHECKING:
    from ..results.results import Results

# MS12 gives no numbers for these words. A time is "small" up to, "large" from twice another one.
TWICE = 2.0
_ABOUT = 2.0  # "about 100 times": within this factor of 100
_MANY = 2**14  # "many ranks": above those where MS12 finds the largest gain
_RANGE = (2**7, 2**14)
_EDGE = 1 + 1e-9  # a ratio that is at a bound of a claim is neither above nor below it


def fig05(results: Results) -> list[Finding]:
    """M1: the slowdown of the butterfly on both sides of T_comm = D."""
    slowdown = named(results.study, "slowdown")[0]
    found = []
    for block in blocks(results):
        part = '"small while T_comm > D"'
        found.append(_all(block, slowdown, lambda _, r: r > _EDGE, part, TWICE, upto=True))
        cells = block.cells(slowdown, lambda _, r: r < 1 / _EDGE)
        part = '"large below"'
        if not cells:
            found.append(Finding(block.where, None, f"{part}: no cell there"))
            continue
        corner = max(cells, key=lambda cell: (-cell.ratio, cell.ranks))
        text = f"{part}: shortest message, most ranks: {corner.told(block.name)}"
        text += f" ({TWICE:g} counts as large){_crossing(block, slowdown, corner.ranks)}"
        found.append(Finding(block.where, above(corner.found, TWICE), text))
    return found


def _crossing(block: Block, slowdown: str, ranks: int) -> str:
    row = sorted(block.cells(slowdown, lambda r, _: r == ranks), key=lambda cell: cell.ratio)
    large = [cell for cell in row if above(cell.found, TWICE)]
    return f"; large up to {block.name} = {large[-1].ratio:g}" if large else ""


def fig06(results: Results) -> list[Finding]:
    """M2: whether slowdown and gain order the cells alike; T against ranks."""
    study = results.study
    slowdown, gain, best = (named(study, kind)[0] for kind in ("slowdown", "gain", "optimal_T"))
    found = []
    for block in blocks(results):
        means = [
            (spot.facts[slowdown].mean, spot.facts[gain].mean)
            for spot in block.spots
            if slowdown in spot.facts and gain in spot.facts
        ]
        couples = [(a[0], b[0], a[1], b[1]) for a, b in itertools.combinations(means, 2)]
        part = '"gain follows the slowdown"'
        found.append(
            pairs.ordered(block.where, f"{part}: pairs of cells", couples, "ordered alike")
        )
        found.append(
            pairs.rising(block, best, f'"optimal T grows with ranks" ({pairs.WITHIN})',
                      lambda cell: cell.ratio, lambda cell: cell.ranks, "more for more ranks")
        )  # fmt: skip
    return found


def fig08(results: Results) -> list[Finding]:
    """M3, part by part."""
    study = results.study
    slowdown, gain, best = (named(study, kind)[0] for kind in ("slowdown", "gain", "optimal_T"))
    found = []
    for block in blocks(results):
        cells = block.cells(slowdown)
        if not cells:
            found.append(Finding(block.where, None, "no cell has data"))
            continue
        peak = largest(cells)
        found += [
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
                pairs.rising(block, best,
                      f'"for equal ranks, shorter messages need fewer exchanges" ({pairs.WITHIN}), '
                      f"{where}", lambda cell: cell.ranks, lambda cell: cell.ratio,
                      "fewer for the shorter message", region)
                for where, region in (("all sizes", None), ("T_comm < D/10", _short))
            ),
        ]  # fmt: skip
    return found


_MANY_RANKS = "2^14 ranks or more"


def _short(_ranks: int, ratio: float) -> bool:
    """Where MS12 finds a large gain."""
    return ratio * _EDGE < 0.1


def fig13(results: Results) -> list[Finding]:
    """M5, part by part, for each period."""
    study = results.study
    slowdown, gain = (named(study, kind)[0] for kind in ("slowdown", "gain"))
    low, high = _RANGE
    found = []
    for block in blocks(results):
        found += [
            _all(block, slowdown, lambda _, r: r * _EDGE < 0.01,
                 '"slowdown small for D < P/100"', TWICE, upto=True),
            _all(block, slowdown, lambda n, r: r > 0.01 * _EDGE and n >= low,
                 '"large above", from 2^7 ranks on', TWICE),
            _all(block, gain, lambda n, r: r > 0.01 * _EDGE and low <= n <= high,
                 '"gain large there for 2^7 ... 2^14"', TWICE),
        ]  # fmt: skip
    return found


def _all(
    block: Block, name: str, region: Region, part: str, limit: float, *, upto: bool = False
) -> Finding:
    """Whether every cell of a region is above a limit (or below it)."""
    cells = block.cells(name, region)
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
    cells = block.cells(name)
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
    told = f"inside {best.told(block.name)}, outside {other.told(block.name)}"
    return Finding(block.where, holds, f"{part}: largest {told}")
