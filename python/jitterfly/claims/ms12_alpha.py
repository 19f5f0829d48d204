"""MS12's claim about a network with a tenth of the latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results.figures import named
from ..results.number_text import interval, show_ranks
from ..stats import Estimate
from .finding import Finding, between, of_independent

if TYPE_CHECKING:
    from ..results.results import Results

_ABOUT = 2.0  # "about 10 times": within this factor of 10

Means = dict[int, Estimate]  # by ranks


def alpha(results: Results) -> list[Finding]:
    """M7: the slowdown at the smallest alpha over that at the largest, at the most ranks."""
    found = []
    for label, by_alpha in _means(results).items():
        before, after = by_alpha[max(by_alpha)], by_alpha[min(by_alpha)]
        both = sorted(set(before) & set(after))
        if len(by_alpha) < 2 or not both:
            found.append(Finding(label, None, "no cells at two values of alpha"))
            continue
        growth = of_independent(after[both[-1]], before[both[-1]])
        limits = f"{10 / _ABOUT:g} to {10 * _ABOUT:g} count as about 10"
        holds = between(growth, 10 / _ABOUT, 10 * _ABOUT)
        text = f'"grows about 10 times" ({limits}): {_told(before, after, both)}'
        found.append(Finding(label, holds, text))
    return found or [Finding("", None, "no cell has data")]


def _means(results: Results) -> dict[str, dict[float, Means]]:
    """Mean slowdowns by setting, alpha and ranks."""
    slowdown = named(results.study, "slowdown")[0]
    groups: dict[str, dict[float, Means]] = {}
    for spot in results.spots:
        if slowdown in spot.facts:
            label = results.label(spot, without=("alpha", "ranks"))
            value = float(spot.place.coordinates["alpha"])
            means = groups.setdefault(label, {}).setdefault(value, {})
            means[spot.ranks] = spot.facts[slowdown].mean
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
