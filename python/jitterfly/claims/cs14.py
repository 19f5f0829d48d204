"""Claims of CS14 about overhead (completion - noiseless completion) and its recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..analysis import measures
from ..analysis.measures import Estimate
from ..analysis.results import CONVENTIONAL, REDUNDANT
from ..analysis.show import show, show_ranks
from ..units import show_seconds
from .finding import Finding

if TYPE_CHECKING:
    from ..analysis.results import Panel, Place, Results

_LARGEST = 2**23  # ranks: the right end of CS14's Fig. 8, and its Fig. 9
_STRONG = 10.0  # "grows strongly": at least this factor over the ranks shown
_MUCH = 0.25  # "much of it": at least a quarter
_BAND = (0.3, 0.5)  # "about 0.4"
_LITTLE = 2.0  # "a little more": up to this factor of a later cycle
_STRAIGHT = 0.05  # "linear": the line misses no mean by more than this share of the last one


def fig8(results: Results) -> list[Finding]:
    """C1: growth of the overhead with ranks, and the recovered share at the largest size."""
    return [found for panel in results.panels for found in (_growth(panel), _recovered(panel))]


def _at(place: Place) -> str:
    """The size that a finding is about, and whether CS14 goes further."""
    ranks = f"{show_ranks(place.ranks)} ranks"
    beyond = f" (CS14: {show_ranks(_LARGEST)}, --full)" if place.ranks < _LARGEST else ""
    return ranks + beyond


def _growth(panel: Panel) -> Finding:
    """From the smallest number of ranks whose overhead can be told from 0."""
    means = [measures.mean(place.overhead[CONVENTIONAL][:, -1]) for place in panel.places]
    seen = [i for i, mean in enumerate(means) if mean.low > 0]
    if len(seen) < 2:
        return Finding(panel.label, None, "overhead above 0 at fewer than two numbers of ranks")
    first, last = seen[0], len(means) - 1
    growth = measures.of_independent(means[last], means[first])
    return Finding(
        panel.label,
        True if growth.low > _STRONG else False if growth.high < _STRONG else None,
        f"overhead {show_seconds(means[first].value, 3)} at "
        f"{show_ranks(panel.places[first].ranks)} -> {show_seconds(means[last].value, 3)} at "
        f"{_at(panel.places[last])}: {growth:.4g} times ({_STRONG:g} counts as strong)",
    )


def _recovered(panel: Panel) -> Finding:
    last = panel.places[-1]
    share = last.recovery()
    return Finding(
        panel.label,
        True if share.low > _MUCH else False if share.high < _MUCH else None,
        f"recovered at {_at(last)}: {share:.2f} ({_MUCH:g} counts as much)",
    )


def fig9(results: Results) -> list[Finding]:
    """C2: a straight line through the mean overhead after cycles 2, 3, ..., and the first cycle."""
    return [
        found
        for panel in results.panels
        for name in (CONVENTIONAL, REDUNDANT)
        for found in _line(panel, name)
    ]


def _line(panel: Panel, name: str) -> list[Finding]:
    place = panel.places[-1]
    samples = place.overhead[name]
    means = samples.mean(axis=0)
    cycles = np.arange(1, len(means) + 1, dtype=float)
    slope, _, away = measures.line_fit(cycles[1:], means[1:])
    share = away / means[-1]
    who = f"{name}, {_at(place)}"
    later = (samples[:, -1] - samples[:, 0]) / (len(means) - 1)
    first = measures.ratio(samples[:, 0], later)
    return [
        Finding(
            panel.label,
            bool(share < _STRAIGHT),
            f"{who}: {show_seconds(slope, 3)} per cycle; the line through cycles 2 ... "
            f"{len(means)} misses no mean by more than {100 * share:.1f} % of the last "
            f"({100 * _STRAIGHT:g} % counts as linear)",
        ),
        Finding(
            panel.label,
            _a_little_more(first),
            f"{who}: first cycle {first:.2f} times a later one (up to {_LITTLE:g} counts as a "
            "little more)",
        ),
    ]


def _a_little_more(first: Estimate) -> bool | None:
    if first.low > 1 and first.high <= _LITTLE:
        return True
    return False if first.high <= 1 or first.low > _LITTLE else None


def recovery(results: Results) -> list[Finding]:
    """C3: recovery at the largest size of each setting, and its range over ranks or cycles."""
    found = []
    for panel in results.panels:
        last = panel.places[-1]
        share = last.recovery()
        low, high = _BAND
        inside = share.low >= low and share.high <= high
        outside = share.high < low or share.low > high
        if len(panel.places) > 1:
            shares = [(show_ranks(place.ranks), place.recovery()) for place in panel.places]
        else:
            count = last.overhead[CONVENTIONAL].shape[1]
            shares = [(f"cycle {c + 1}", last.recovery(c)) for c in range(count)]
        known = [(at, e.value) for at, e in shares if np.isfinite(e.low)]
        ends = [pick(known, key=lambda pair: pair[1]) for pick in (min, max)] if known else []
        span = (
            " to ".join(f"{show(value, '.2f')} ({at})" for at, value in ends) or "nowhere resolved"
        )
        found.append(
            Finding(
                panel.label,
                True if inside else False if outside else None,
                f"recovery at {_at(last)}: {share:.2f} ({low:g} ... {high:g} counts as about 0.4); "
                f"over all {'ranks' if len(panel.places) > 1 else 'cycles'}: {span}",
            )
        )
    return found
