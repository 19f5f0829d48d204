"""A study's samples arranged for figures and claims: panels of cells along the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import theory
from ..studies.store import Record, Store
from ..studies.study import Study
from . import measures
from .measures import BestRedundancy, Estimate, Samples

NOISELESS, CONVENTIONAL, REDUNDANT = "noiseless", "conventional", "redundant"


@dataclass(frozen=True)
class Place:
    """The cells at one place on the axes: one record for each variant."""

    ranks: int
    records: dict[str, Record]

    @property
    def realizations(self) -> int:
        """Realizations per variant, the same for each."""
        return next(iter(self.records.values())).cell.realizations

    @property
    def record(self) -> Record:
        """The only record, where the study has no variants."""
        (record,) = self.records.values()
        return record

    # --- one pass with T = 0 ... K (MS12)

    @cached_property
    def noise_free(self) -> float:
        """Completion without noise, seconds: the same for every T."""
        return float(self.record.noise_free[0])

    @cached_property
    def redundancy(self) -> BestRedundancy:
        """The best number of redundant exchanges after the butterfly."""
        return measures.best_redundancy(self.record.samples)

    @cached_property
    def slowdown(self) -> dict[str, Samples]:
        """Completion over noise-free completion: T = 0, and the T with the smallest mean."""
        samples = self.record.samples / self.noise_free
        return {CONVENTIONAL: samples[:, 0], REDUNDANT: samples[:, self.redundancy.best]}

    @cached_property
    def gain(self) -> Estimate:
        """Mean of the conventional over mean of the redundant scheme, same noise."""
        return measures.ratio(self.slowdown[CONVENTIONAL], self.slowdown[REDUNDANT])

    # --- variants noiseless, conventional, redundant (CS14)

    @cached_property
    def overhead(self) -> dict[str, Samples]:
        """Completion minus noiseless completion, seconds, shape (realizations, cycles)."""
        quiet = self.records[NOISELESS].samples
        return {name: self.records[name].samples - quiet for name in (CONVENTIONAL, REDUNDANT)}

    def recovery(self, cycle: int = -1) -> Estimate:
        """(conventional - redundant) / (conventional - noiseless), of means over realizations."""
        lost, left = (self.overhead[name][:, cycle] for name in (CONVENTIONAL, REDUNDANT))
        return measures.ratio(lost - left, lost)

    @cached_property
    def recoverable(self) -> float | None:
        """The largest recovery that any redundancy can reach; None where no bound is known.

        One collective from a common start under stationary noise: see `theory.completion_bound`.
        """
        try:
            bound = theory.completion_bound(self.records[CONVENTIONAL].cell.case)
        except ValueError:
            return None
        lost = float(self.overhead[CONVENTIONAL][:, -1].mean())
        over = float(self.records[CONVENTIONAL].samples[:, -1].mean()) - bound
        return over / lost if lost > 0 else None


@dataclass(frozen=True)
class Panel:
    """All places that differ in their ranks only, ascending; `label` tells the other axes."""

    label: str
    places: list[Place]

    @property
    def ranks(self) -> np.ndarray:
        """Shape (places,)."""
        return np.array([place.ranks for place in self.places])


@dataclass(frozen=True)
class Results:
    """Study and panels, from the files of a run; `records` in the study's order."""

    study: Study
    panels: list[Panel]
    records: list[Record]

    @property
    def count(self) -> str:
        """Realizations per cell, for a caption."""
        counts = [place.realizations for panel in self.panels for place in panel.places]
        low, high = min(counts), max(counts)
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    @classmethod
    def of(cls, store: Store) -> Results:
        """Arrange the records of a store; `ValueError` if a cell is missing or damaged."""
        groups: dict[str, dict[int, dict[str, Record]]] = {}
        records = store.records
        for record in records:
            cell = record.cell
            record.check()
            label = ", ".join(text for axis, text in cell.place.items() if axis != "ranks")
            by_ranks = groups.setdefault(label, {})
            by_ranks.setdefault(cell.case.ranks, {})[cell.variant] = record
        return cls(
            store.study,
            [
                Panel(label, [Place(ranks, by_ranks[ranks]) for ranks in sorted(by_ranks)])
                for label, by_ranks in groups.items()
            ],
            records,
        )
