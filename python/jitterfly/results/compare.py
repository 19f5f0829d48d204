"""Paired comparison of two runs (stores), cell by cell, on the same noise; Bonferroni."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import stats
from ..observables import Completion, Family, Observed, level_of, unseen_noise
from ..store import Store
from ..studies import Cell, shown_labels
from .main_numbers import half_of


@dataclass(frozen=True)
class Side:
    """One of the two: a store, and the variant and observable that are meant ("" where one is)."""

    store: Store
    variant: str
    observable: str

    def family(self, cell: Cell) -> Family:
        """What is compared in a cell.

        Raises
        ------
        ValueError
            No such variant or observable, an observable of another variant, or a ratio, which has
            no faster or slower.
        """
        if self.observable:
            families = self.store.families(cell)
            if self.observable not in families:
                known = ", ".join(families)
                raise ValueError(
                    f"{self.store.path}: no observable {self.observable!r} at {cell.name}; "
                    f"there are {known}"
                )
            family = families[self.observable]
        else:
            family = self._completion(cell)
        of = {c.variant for m in family.members for factor, c in m.numerator.terms if factor > 0}
        if self.variant and self.variant not in of:
            raise ValueError(
                f"{self.store.path}: {family.name} is of variant {', '.join(sorted(of))!r}: "
                f"leave :{self.variant} out, or choose an observable of {self.variant!r}"
            )
        if family.pick == "set" or not all(isinstance(m.denominator, int) for m in family.members):
            raise ValueError(
                f"`observable` must be a time or a slowdown, and {family.name!r} is not"
            )
        return family

    def _completion(self, cell: Cell) -> Family:
        cases = cell.cases
        variant = self.variant or (next(iter(cases)) if len(cases) == 1 else "")
        if variant not in cases:
            variants = ", ".join(name for name in cases if name)
            if not self.variant:
                ways = " or ".join(f"{self.store.path}:{name}" for name in cases)
                raise ValueError(f"choose a variant: {ways}")
            hint = f"choose one as DIR:VARIANT, from {variants}" if variants else "it has none"
            raise ValueError(f"{self.store.path}: no variant {self.variant!r}; {hint}")
        (family,) = Completion(variant=variant).resolve("completion", cases)
        return family


@dataclass(frozen=True)
class Verdict:
    """One cell: `ratio` is mean(B) / mean(A), with its interval; `faster` is "A", "B" or "".

    `labels` are those that users are shown, and `family` is what of A was compared. `unseen` is
    what rare noise the means of A and B may lack, in words ("" where none).
    """

    labels: tuple[str, ...]
    family: Family
    realizations: int
    a: stats.Estimate
    b: stats.Estimate
    ratio: stats.Estimate
    b_wins: stats.Estimate
    faster: str
    unseen: tuple[str, str]


def compare(a: Side, b: Side, confidence: float = 0.95) -> list[Verdict]:
    """A verdict for every cell that both have realizations of.

    The intervals of the ratios hold together, with `confidence` (Bonferroni over the cells, and
    over the looks at which a study with targets could stop), so
    that the one verdict in twenty that chance decides does not come with every table.

    Raises
    ------
    ValueError
        Other seeds (the noise is not the same), or no cell in common.
    """
    seeds = a.store.study.seed, b.store.study.seed
    if seeds[0] != seeds[1]:
        raise ValueError(
            f"A has seed {seeds[0]} and B has seed {seeds[1]}: they saw other noise and can not be "
            f"paired; run one again with the seed {seeds[0]}"
        )
    here, there = (
        {tuple(cell.labels.items()): cell for cell in side.store.cells} for side in (a, b)
    )
    pairs = [(here[at], there[at]) for at in here if at in there]
    pairs = [(p, q) for p, q in pairs if a.store.available(p) > 1 and b.store.available(q) > 1]
    if not pairs:
        raise ValueError("A and B have no cell in common that both have run")
    found = []
    for p, q in pairs:
        shares = [side.store.decision(cell).share for side, cell in ((a, p), (b, q))]
        sequential = [share for share in shares if share < 1]
        # Where the data decided when to stop, the looks have spent a part; both may have.
        share = min(shares) / max(len(sequential), 1)
        found.append(_verdict(a, b, p, q, confidence, level_of(confidence, share / len(pairs))))
    return found


def _observed(side: Side, cell: Cell) -> tuple[Observed, np.ndarray]:
    """What is compared, and its samples."""
    data = side.store.data(cell, side.store.available(cell))
    observed = Observed(side.family(cell), data)
    samples = observed.samples
    if samples is None or len(samples) < 2:
        raise ValueError(
            f"{side.store.path}: no single samples are kept at {cell.name}; "
            "raise realizations.raw_bytes of the study"
        )
    return observed, np.asarray(samples)


def _verdict(a: Side, b: Side, cell: Cell, other: Cell, confidence: float, level: float) -> Verdict:
    (of_a, x), (of_b, y) = _observed(a, cell), _observed(b, other)
    count = min(len(x), len(y))
    x, y = x[:count], y[:count]
    noisy = any(s.varies(side.family(s)) for side, s in ((a, cell), (b, other)))
    ratio = stats.ratio(y, x, level, noisy=noisy)
    winner = "B" if ratio.high < 1 else "A" if ratio.low > 1 else ""
    if winner and x.mean() < 0:  # an overhead over a slower one: the larger quotient is the faster
        winner = "A" if winner == "B" else "B"
    mean_a, mean_b = (
        stats.mean(samples, confidence, noisy=noisy, lower_bound=of.measure.lower_bound)
        for samples, of in ((x, of_a), (y, of_b))
    )
    unseen = []  # of the realizations that are compared, of which one side may have more
    for side, s, of, mean in ((a, cell, of_a, mean_a), (b, other, of_b, mean_b)):
        if of.realizations > count:
            of = Observed(side.family(s), side.store.data(s, count))
        unseen.append(unseen_noise(of, s.cases, half_of(mean)))
    return Verdict(
        shown_labels(a.store.study, cell),
        a.family(cell),
        count,
        mean_a,
        mean_b,
        ratio,
        stats.win_probability(
            int((y < x).sum()), int((y == x).sum()), int((y > x).sum()), confidence
        ),
        winner,
        (unseen[0], unseen[1]),
    )
