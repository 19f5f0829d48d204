"""HM18's 24 nodes: what the model can say about a number of ranks that is no power of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results.figures import named
from ..stats import Estimate
from ..units import show_seconds
from .finding import Finding, between
from .hm18_model import probability, root, step_and_delay

if TYPE_CHECKING:
    from ..results.results import Results, Spot

_CLOCK = 1.4e9
_NODES = 24
_CYCLES = {"min": 19_670, "mean": 29_621, "max": 2_474_458}  # of 100,000 barriers


def fig3(results: Results) -> list[Finding]:
    """H3: what the model can say about 24 nodes, which are no power of two: 16 and 32 bound it."""
    seen = {name: cycles / _CLOCK for name, cycles in _CYCLES.items()}
    name = named(results.study, "completion")[0]
    sizes = {
        ranks: [s for s in results.spots if s.ranks == ranks and name in s.facts]
        for ranks in (16, 32)
    }
    if not all(sizes.values()):
        return [Finding("", None, "24 nodes lie between 16 and 32 ranks: no cells there")]
    step, delay = max((step_and_delay(spot) for spot in sizes[32]), key=lambda pair: pair[1])
    return [
        _least(seen["min"], step),
        _mean(seen["mean"], name, sizes),
        _most(seen["max"], step, delay),
    ]


def _least(seen: float, step: float) -> Finding:
    low, high = 4 * step, 5 * step
    holds = False if seen < low else None
    return Finding(
        "",
        holds,
        f"min {_CYCLES['min']:,} cycles = {show_seconds(seen, 4)}: without noise 16 ranks take "
        f"K L = {show_seconds(low, 4)}, 32 take {show_seconds(high, 4)}; {_NODES} are between, and "
        "how many steps they took is not known here",
    )


def _mean(seen: float, name: str, sizes: dict[int, list[Spot]]) -> Finding:
    ranges = []
    for ranks, spots in sizes.items():
        p = root(sorted((s for s in spots if probability(s) > 0), key=probability), name,
                  "value", seen)  # fmt: skip
        ranges.append(f"p = {p:.2g} for {ranks}" if p else f"no p of this run for {ranks}")
    return Finding(
        "",
        None,
        f"mean {_CYCLES['mean']:,} cycles = {show_seconds(seen, 4)}: {name}: {', '.join(ranges)} "
        "ranks; one mean does not test a model whose p is free",
    )


def _most(seen: float, step: float, delay: float) -> Finding:
    most = 5 * (step + delay)
    value = Estimate(seen, seen, seen, 0.95, 1)
    return Finding(
        "",
        between(value, 0.0, most),
        f"max {_CYCLES['max']:,} cycles = {show_seconds(seen, 4)} of 100,000 barriers: with every "
        f"step of 32 ranks hit the model takes {show_seconds(most, 4)}; no p reaches the maximum, "
        f"it takes detours of some {show_seconds(seen - most, 2)} or more, once at least",
    )
