"""Claims of MS12 about the redundant scheme's gain: mean(conventional) / mean(redundant)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..studies import measures
from ..studies.measures import Estimate
from ..studies.results import CONVENTIONAL, REDUNDANT
from .finding import Finding, show_ranks

if TYPE_CHECKING:
    from ..studies.results import Panel, Place, Results

_LOW, _HIGH = 2**7, 2**14
_FAR = 2.0  # "far better": MS12 gives no number; we take at least twice as fast
_ABOUT = 2.0  # "about 10 times": within this factor of 10
_STEEP = 2.0  # "rises steeply": at least this factor from one number of ranks to the next
_STEEP_BEYOND = 4.0  # the same over the doublings above 2^14 that are shown
_SUFFERS = 2.0  # a mean slowdown above this counts as suffering


def fig12(results: Results) -> list[Finding]:
    """M4, for each reading of the figure's parameters."""
    checks = (_range_gain, _jump, _rise_beyond, _largest_gain)
    return [check(panel) for panel in results.panels for check in checks]


def fig21(results: Results) -> list[Finding]:
    """M6: the same shape, with a largest gain above 1 and below Fig. 12's 10."""
    found = []
    for panel in results.panels:
        best = max(panel.places, key=lambda place: place.gain.value)
        text = f"weaker than Fig. 12's factor of about 10: largest gain {_at(best)}"
        weaker = Finding(panel.label, _between(best.gain, 1.0, 10.0), text)
        found += [_range_gain(panel, 1.0), _jump(panel), _rise_beyond(panel), weaker]
    return found


def _range_gain(panel: Panel, least: float = _FAR) -> Finding:
    places = [place for place in panel.places if _LOW <= place.ranks <= _HIGH]
    span = f"gain for {show_ranks(_LOW)} ... {show_ranks(_HIGH)} ranks"
    if not places:
        return Finding(panel.label, None, f"{span}: no cell there")
    worst = min(places, key=lambda place: place.gain.value)
    best = max(places, key=lambda place: place.gain.value)
    verdicts = [_above(place.gain, least) for place in places]
    over = sum(verdict is True for verdict in verdicts)
    return Finding(
        panel.label,
        False if False in verdicts else None if None in verdicts else True,
        f"{span}: from {_at(worst)} to {_at(best)}; above {least:g} at {over} of {len(places)}",
    )


def _jump(panel: Panel) -> Finding:
    """Where the redundant scheme's typical (median) slowdown rises most between two sizes."""
    if len(panel.places) < 2:
        return Finding(panel.label, None, "redundant scheme's rise: only one number of ranks")
    medians = [measures.quantiles(place.slowdown[REDUNDANT])[1] for place in panel.places]
    steps = [after / before for before, after in itertools.pairwise(medians)]
    at = max(range(len(steps)), key=steps.__getitem__)
    first, last = panel.places[at].ranks, panel.places[at + 1].ranks
    near = first <= 2 * _HIGH and last >= _HIGH
    means = [measures.mean(place.slowdown[REDUNDANT]) for place in panel.places]
    late = [p for p, m in zip(panel.places, means, strict=True) if m.low > _SUFFERS]
    since = f"its mean is above {_SUFFERS:g} from {show_ranks(late[0].ranks)} on" if late else (
        f"its mean is nowhere above {_SUFFERS:g}"
    )  # fmt: skip
    return Finding(
        panel.label,
        near and steps[at] > _STEEP,
        f"near 2^14, redundant scheme's steepest rise: median slowdown {medians[at]:.3g} -> "
        f"{medians[at + 1]:.3g} from {show_ranks(first)} to {show_ranks(last)} ranks (a factor of "
        f"{_STEEP:g} counts as steep); {since}",
    )


def _rise_beyond(panel: Panel) -> Finding:
    """The claim to the letter: from 2^14 ranks on."""
    start = next((place for place in panel.places if place.ranks == _HIGH), None)
    end = panel.places[-1]
    what = f"to the letter, redundant scheme's mean slowdown above {show_ranks(_HIGH)} ranks"
    if start is None or end.ranks <= start.ranks:
        return Finding(panel.label, None, f"{what}: no cells on both sides")
    means = [measures.mean(place.slowdown[REDUNDANT]) for place in (start, end)]
    rise = measures.of_independent(means[1], means[0])
    plain = [measures.mean(place.slowdown[CONVENTIONAL]).value for place in (start, end)]
    return Finding(
        panel.label,
        _above(rise, _STEEP_BEYOND),
        f"{what}: {means[0].value:.3g} -> {means[1].value:.3g} at {show_ranks(end.ranks)}, "
        f"{rise:.3g} times (a factor of {_STEEP_BEYOND:g} counts as steep; conventional: "
        f"{plain[1] / plain[0]:.3g} times)",
    )


def _largest_gain(panel: Panel) -> Finding:
    best = max(panel.places, key=lambda place: place.gain.value)
    holds = _between(best.gain, 10 / _ABOUT, 10 * _ABOUT)
    return Finding(panel.label, holds, f"largest gain (claim: about 10): {_at(best)}")


def _at(place: Place) -> str:
    return f"{place.gain:.3g} at {show_ranks(place.ranks)}"


def _above(found: Estimate, limit: float) -> bool | None:
    return True if found.low > limit else False if found.high <= limit else None


def _between(found: Estimate, low: float, high: float) -> bool | None:
    if found.low >= low and found.high <= high:
        return True
    return False if found.high < low or found.low > high else None
