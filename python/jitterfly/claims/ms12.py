"""Claims of MS12 about the redundant scheme's gain: mean(conventional) / mean(redundant)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..analysis import measures
from ..analysis.measures import Estimate
from ..analysis.results import CONVENTIONAL, REDUNDANT
from ..analysis.show import show_ranks
from .finding import Finding

if TYPE_CHECKING:
    from ..analysis.results import Panel, Place, Results

_LOW, _HIGH = 2**7, 2**14
_FAR = 2.0  # "far better": MS12 gives no number; we take at least twice as fast
_ABOUT = 2.0  # "about 10 times": within this factor of 10
_STEEP = 4.0  # "rises steeply above 2^14": by at least this factor up to the largest ranks


def fig12(results: Results) -> list[Finding]:
    """M4, part by part, for each reading of the figure's parameters."""
    found = []
    for panel in results.panels:
        best = max(panel.places, key=lambda place: place.gain.value)
        about = _between(best.gain, 10 / _ABOUT, 10 * _ABOUT)
        found += [
            _range_gain(panel, '"far better for 2^7 ... 2^14"', _FAR),
            _rise(panel, '"rises steeply above 2^14"'),
            Finding(panel.label, about, f'"up to about 10 times faster": at most {_at(best)}'),
        ]
    return found


def fig21(results: Results) -> list[Finding]:
    """M6: Fig. 12's shape in two parts, and a largest gain above 1 and below Fig. 12's 10."""
    found = []
    for panel in results.panels:
        best = max(panel.places, key=lambda place: place.gain.value)
        weaker = f'"weaker" than Fig. 12\'s factor of about 10: at most {_at(best)}'
        found += [
            _range_gain(panel, '"as Fig. 12, weaker", the part better for 2^7 ... 2^14', 1.0),
            _rise(panel, '"as Fig. 12", the part rises steeply above 2^14'),
            Finding(panel.label, _between(best.gain, 1.0, 10.0), weaker),
        ]
    return found


def _range_gain(panel: Panel, part: str, least: float) -> Finding:
    places = [place for place in panel.places if _LOW <= place.ranks <= _HIGH]
    if not places:
        return Finding(panel.label, None, f"{part}: no cell there")
    worst = min(places, key=lambda place: place.gain.value)
    best = max(places, key=lambda place: place.gain.value)
    verdicts = [_above(place.gain, least) for place in places]
    over = sum(verdict is True for verdict in verdicts)
    return Finding(
        panel.label,
        False if False in verdicts else None if None in verdicts else True,
        f"{part}: gain from {_at(worst)} to {_at(best)}; above {least:g} at {over} of "
        f"{len(places)} sizes",
    )


def _rise(panel: Panel, part: str) -> Finding:
    """The redundant scheme's mean slowdown from 2^14 ranks on; and where it does rise most."""
    start = next((place for place in panel.places if place.ranks == _HIGH), None)
    end = panel.places[-1]
    if start is None or end.ranks <= start.ranks:
        return Finding(panel.label, None, f"{part}: no cells on both sides. {_steepest(panel)}")
    means = [measures.mean(place.slowdown[REDUNDANT]) for place in (start, end)]
    plain = [measures.mean(place.slowdown[CONVENTIONAL]).value for place in (start, end)]
    rise = measures.of_independent(means[1], means[0])
    return Finding(
        panel.label,
        _above(rise, _STEEP),
        f"{part}: mean slowdown {means[0].value:.3g} -> {means[1].value:.3g} from "
        f"{show_ranks(start.ranks)} to {show_ranks(end.ranks)}, {rise:.3g} times (a factor of "
        f"{_STEEP:g} counts as steep; conventional: {plain[1] / plain[0]:.3g}). {_steepest(panel)}",
    )


def _steepest(panel: Panel) -> str:
    """Where mean and median of the redundant scheme rise most from one size to the next."""
    if len(panel.places) < 2:
        return "One number of ranks only"
    samples = [place.slowdown[REDUNDANT] for place in panel.places]
    told = []
    for name, values in (
        ("mean", [measures.mean(one).value for one in samples]),
        ("median", [measures.quantiles(one)[1] for one in samples]),
    ):
        steps = [after / before for before, after in itertools.pairwise(values)]
        at = max(range(len(steps)), key=steps.__getitem__)
        ends = " to ".join(show_ranks(place.ranks) for place in panel.places[at : at + 2])
        told.append(
            f"{name} from {ends}, {steps[at]:.3g} times ({values[at]:.3g} -> {values[at + 1]:.3g})"
        )
    return f"Steepest between neighbours: {'; '.join(told)}"


def _at(place: Place) -> str:
    return f"{place.gain:.3g} at {show_ranks(place.ranks)}"


def _above(found: Estimate, limit: float) -> bool | None:
    return True if found.low > limit else False if found.high <= limit else None


def _between(found: Estimate, low: float, high: float) -> bool | None:
    if found.low >= low and found.high <= high:
        return True
    return False if found.high < low or found.low > high else None
