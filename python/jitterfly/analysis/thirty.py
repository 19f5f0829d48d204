"""Means of 30 runs, as published, next to the interval of all realizations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..stats import Estimate
from . import measures
from .figures import named
from .results import Results, Spot

LEAST_MEANS = 20  # so many separate 30-run means show a spread
MOST_CELLS = 6


@dataclass(frozen=True)
class Thirty:
    """One cell: all separate 30-run means there, and the mean of all realizations.

    `apart` is how far two of those means lie apart: the larger over the smaller.
    """

    cell: str
    observable: str
    unit: str
    realizations: int
    mean: Estimate
    means: npt.NDArray[np.float64]

    @property
    def apart(self) -> float:
        """Of two experiments that were lucky and unlucky, the ratio."""
        low = float(self.means.min())
        return float(self.means.max()) / low if low > 0 else np.inf

    @property
    def text(self) -> str:
        """For a table or a caption."""
        low, high = np.quantile(self.means, [0.05, 0.95])
        return (
            f"{len(self.means):,} means of {measures.RUNS} runs: {self.means.min():.3g} to "
            f"{self.means.max():.3g} ({self.apart:.2g} times; 5–95 %: {low:.3g} to {high:.3g}); "
            f"all {self.realizations:,}: {self.mean:.4g}"
        )


def thirty(results: Results, observable: str | None = None, most: int = MOST_CELLS) -> list[Thirty]:
    """The cells where 30-run means scatter most, in the study's order.

    Without `observable`: the conventional and the redundant scheme's slowdown (or the first two
    observables), half of the cells each. Cells with fewer than 600 kept samples are left out.
    """
    names = [observable] if observable else (named(results.study, "slowdown") or results.names)[:2]
    found = []
    for name in names:
        known = [
            (spot.facts[name].few, number)
            for number, spot in enumerate(results.spots)
            if name in spot.facts and spot.facts[name].few and _samples(spot, name)
        ]
        widest = sorted(
            ((float(few.high / few.low), number) for few, number in known if few.low > 0),
            reverse=True,
        )
        # One cell for each value on the main axis: others there look alike.
        at = {number: _position(results, number) for _, number in widest}
        first = {at[number]: number for _, number in reversed(widest)}
        chosen = sorted(first.values(), key=[number for _, number in widest].index)
        count = max(1, most // len(names))
        found += [_thirty(results, results.spots[i], name) for i in sorted(chosen[:count])]
    return found


def _position(results: Results, number: int) -> object:
    coordinates = results.spots[number].place.coordinates
    return coordinates[results.axis] if results.axis else number


def _samples(spot: Spot, name: str) -> bool:
    return min(spot.realizations, spot.place.raw_limit) >= LEAST_MEANS * measures.RUNS


def _thirty(results: Results, spot: Spot, name: str) -> Thirty:
    observed = spot.observed(name)
    if observed is None or observed.samples is None:
        raise results.study.error(f"no samples of {name!r} are kept at {spot.place.name}")
    means = measures.separate_means(observed.samples)
    label = results.label(spot)
    facts = spot.facts[name]
    return Thirty(label, name, facts.unit, facts.realizations, facts.mean, means)
