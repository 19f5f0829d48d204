"""Which detours keep to which of several periods."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

LEAST_OCCUPIED = 0.02  # what misses more of its periods is rather a coincidence
_SELDOM = 0.1  # of what the most regular of a period does: left for slower periods to explain
_BINS = 200  # of the phase, in which a train has to stand out

Floats = npt.NDArray[np.float64]


class Trains:
    """Which detour keeps to which period: the one that is kept most regularly."""

    def __init__(self, starts: Floats, length: float):
        self.starts, self.length = starts, length
        self.of = np.full(len(starts), -1)  # the number of its train
        self.regular = np.zeros(len(starts))  # events for each period that went by, near its phase
        self.chance = np.zeros(len(starts))  # the part of those that would be there anyway

    def add(self, frequency: float, number: int, seldom: bool = False) -> None:
        """Fold the detours onto one period; those that stand out belong to it.

        First those that are left, which others would hide; then those that keep to this period
        more regularly than to that which has them.

        Args:
            number: of the train.
            seldom: only what is left, also where it comes in few of the periods.
        """
        for among in [self.of < 0] if seldom else [self.of < 0, self.of < number]:
            inside, regular, chance = self._fold(np.flatnonzero(among), frequency)
            if not len(inside) or (regular.max() < LEAST_OCCUPIED and not seldom):
                continue
            least = 0.0 if seldom else _SELDOM * regular.max()
            better = regular > np.maximum(1.05 * self.regular[inside], least)
            chosen = inside[better]
            self.of[chosen] = number
            self.regular[chosen], self.chance[chosen] = regular[better], chance[better]

    def _fold(self, among: npt.NDArray[np.int64], frequency: float) -> tuple[Any, Floats, Floats]:
        """Those of some detours that stand out at a phase; how regularly, how many by chance."""
        phase = (self.starts[among] * frequency) % 1.0
        bins = int(np.clip(len(phase) // 10, 20, _BINS))
        place = np.minimum((phase * bins).astype(int), bins - 1)
        counts = np.bincount(place, minlength=bins)
        usual = float(np.median(counts))
        # 5 standard deviations of a Poisson count; a bin or two of 200 by chance in 1e4 folds.
        clear = counts > usual + 5 * np.sqrt(max(usual, 1.0))
        # An edge of a bin may cut a train in two: neighbours that hold a part of it belong to it.
        near = np.roll(clear, 1) | np.roll(clear, -1)
        clear |= near & (counts > usual + 2 * np.sqrt(max(usual, 1.0)))
        # Adjacent bins are one cluster, around the circle as well.
        begins = clear & ~np.roll(clear, 1)
        cluster = np.where(clear, (np.cumsum(begins) - 1) % max(int(begins.sum()), 1), 0)
        size = np.bincount(cluster[clear], weights=counts[clear], minlength=1)
        random = np.bincount(cluster[clear], weights=np.full(int(clear.sum()), usual), minlength=1)
        regular = np.minimum((size - random) / (self.length * frequency), 1.0)
        inside = clear[place]
        mine = cluster[place[inside]]
        return among[inside], regular[mine], (random / np.maximum(size, 1))[mine]
