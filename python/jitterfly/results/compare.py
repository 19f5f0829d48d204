"""Paired comparison of two runs (stores), cell by cell, on the same noise; Bonferroni."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import stats
from ..answer import Answer, Column, Note, Table, notes_of, show, show_time, units_of
from ..fields import counted, parameter, shorten
from ..observables import (
    Completion,
    LinearForm,
    MeasureFamily,
    Observed,
    UndersampledNoise,
    acting_sources,
    hits_of_one_side,
    level_of,
    shown_mean,
    undersampled_in_words,
    undersampled_noise,
)
from ..stats.intervals import RARE_NOISE, RECORDING, Caveat
from ..store import Store
from ..studies import Cell, shown_labels
from ..unseen_noise import RecordedNoise, SourceHits, hidden, ratio_with_lacks

Compared = Store | str | Path | tuple[Store | str | Path, str]


@dataclass(frozen=True)
class _Side:
    """One of the two: a store, and the variant and observable that are meant ("" where one is)."""

    store: Store
    variant: str
    observable: str

    @classmethod
    def of(cls, given: Compared, observable: str) -> _Side:
        if isinstance(given, Store):
            return cls(given, "", observable)
        if not isinstance(given, (str, os.PathLike, tuple)):
            raise ValueError(
                f"compare takes stores or their directories, got {shorten(given)}; of two Results "
                "compare samples, B over A: jf.stats.ratio(b.samples[:, -1], a.samples[:, -1])"
            )
        if isinstance(given, tuple):
            store, variant = given
            return cls(
                store if isinstance(store, Store) else Store.open(store), variant, observable
            )
        text = str(given)
        folder, _, variant = (text, "", "") if Path(text).is_dir() else text.rpartition(":")
        return cls(Store.open(folder or text), variant, observable)

    def __str__(self) -> str:
        return f"{self.store.path}{self.variant and f':{self.variant}'}"

    def family(self, cell: Cell) -> MeasureFamily:
        """Return what is compared in a cell.

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
                f"{parameter('observable')} must be a time or a slowdown, and {family.name!r} is "
                "not"
            )
        return family

    def _completion(self, cell: Cell) -> MeasureFamily:
        """Return the completion of a cell's variant: the one that was given, or the only one."""
        cases = cell.cases
        variant = self.variant or (next(iter(cases)) if len(cases) == 1 else "")
        if variant not in cases:
            variants = ", ".join(name for name in cases if name)
            if not self.variant:
                ways = " or ".join(f"{self.store.path}:{name}" for name in cases)
                raise ValueError(f"choose a variant: {ways}")
            hint = "its study has none (values of an axis are cells, which are not compared)"
            if variants:
                hint = f"choose one as DIR:VARIANT, from {variants}"
            raise ValueError(f"{self.store.path}: no variant {self.variant!r}; {hint}")
        (family,) = Completion(variant=variant).resolve("completion", cases)
        return family


class ComparisonRow(NamedTuple):
    """One cell of both runs.

    Attributes
    ----------
    cell : dict of str
        Its value of each axis, as tables show it.
    coordinates : tuple of float, int or str
        The same as numbers, where the axis has numbers; times in seconds, sizes in bytes.
    unit : str
        Of the means: "s", or "" of a slowdown.
    realizations : int
        How many both have.
    mean_a, mean_b : Estimate
        Each with its own interval, which allows for noise that is too rare to have been met.
    ratio : Estimate
        Mean of B over mean of A.
    b_wins : Estimate
        Probability that B is faster in a realization; ties count half.
    winner : "A", "B" or ""
        Which is faster: "" where the interval of the ratio holds 1.
    unseen : tuple of three str
        What the means of A and B may lack of noise that is too rare for so few realizations, and
        what their ratio may ("": nothing). All three intervals allow for it.
    """

    cell: dict[str, str]
    coordinates: tuple[float | int | str, ...]
    unit: str
    realizations: int
    mean_a: stats.Estimate
    mean_b: stats.Estimate
    ratio: stats.Estimate
    b_wins: stats.Estimate
    winner: str
    unseen: tuple[str, str, str]

    @property
    def labels(self) -> tuple[str, ...]:
        """Its value of each axis, as tables show it."""
        return tuple(self.cell.values())

    def shown_means(self, unit: str) -> tuple[str, str]:
        """Return both means, times in a unit, with as many digits as they need to differ."""
        a, b = self.mean_a, self.mean_b
        text = partial(show_time, unit=unit) if unit else show
        for digits in range(4, 16):
            shown = text(a, digits=digits), text(b, digits=digits)
            if shown[0].split(" [")[0] != shown[1].split(" [")[0] or a.value == b.value:
                break
        return shown


@dataclass(frozen=True, repr=False)
class Comparison(Answer):
    """The answer of `compare`.

    Attributes
    ----------
    a, b : str
        What was compared: directory, or ``DIR:VARIANT``.
    observable : str
        What of it.
    axes : tuple of str
        Those of the study.
    rows : tuple of ComparisonRow
        The cells that both have run.
    confidence : float
        Of the intervals of the ratios, of all rows together.
    recordings : "", "same" or "different"
        Whether they replay recordings of noise, and whether A and B replay the same ones.
    """

    a: str
    b: str
    observable: str
    axes: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]
    confidence: float
    recordings: str = ""

    columns = (
        Column("cell", csv=False),
        Column("unit"),
        Column("realizations", heading="realizations"),
        *(
            Column(
                f"mean {side}",
                heading=lambda answer, side=side: answer.mean_heading(side),  # type: ignore[misc]
                value=lambda answer, row, i=i: row.shown_means(answer.time_unit)[i],  # type: ignore[misc]
                csv=False,
            )
            for i, side in enumerate("AB")
        ),
        Column("mean_a", estimate=True),
        Column("mean_b", estimate=True),
        Column("ratio", estimate=True, heading="B / A", show=partial(show, neutral=1)),
        Column("b_wins", estimate=True, heading="P(B faster)",
               show=partial(show, digits=2, neutral=0.5)),
        Column("winner", heading="winner", show=lambda winner: winner or "no winner"),
    )  # fmt: skip

    picture = "answers.draw_comparison"

    def __repr__(self) -> str:
        won = [sum(row.winner == side for row in self.rows) for side in "AB"]
        return f"Comparison({counted(len(self.rows), 'row')}: A wins {won[0]}, B wins {won[1]})"

    @cached_property
    def time_unit(self) -> str:
        """The unit in which the means are shown; "" where they are no times."""
        times = [mean for row in self.rows if row.unit for mean in (row.mean_a, row.mean_b)]
        return units_of([times])[0]

    def mean_heading(self, side: str) -> str:
        """Return the heading of the means of A or B."""
        return f"mean {side}, {self.time_unit}" if self.time_unit else f"mean {side}"

    def title(self) -> str:
        """Say what is compared."""
        return f"A = {self.a}\nB = {self.b}\ncompared: {self.observable}"

    def table(self) -> Table:
        """Return the table of rows; axes are as in `Store.to_csv`."""
        return self._table(lambda row: row.coordinates)

    def shown_table(self) -> Table:
        """Return the table of rows as text and notebooks have it."""
        return self._table(lambda row: row.labels)

    def _table(self, position: Callable[[ComparisonRow], Sequence[Any]]) -> Table:
        """Return the table of rows, before whose columns stands a row's position on the axes."""
        axes = (
            Column(axis, heading=axis, value=lambda _, row, i=i: position(row)[i])  # type: ignore[misc]
            for i, axis in enumerate(self.axes)
        )
        return Table((*axes, *self.columns), self.rows, self, left=len(self.axes))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON has them; without a winner that is None."""
        found = super().to_dict()
        for row in found["rows"]:
            row["winner"] = row["winner"] or None
        return found

    def _own_notes(self) -> list[Note]:
        """Say what the means may lack, and what the intervals are."""
        return [
            *notes_of("rare_noise", self._rare_noise_lines()),
            Note("confidence", "The intervals of B / A hold for all rows together with "
                 f"{100 * self.confidence:g} %; a winner has one without 1."),
            *(Note("recording", text) for text in _RECORDINGS[self.recordings]),
            Note("ties", "P(B faster) counts ties as half."),
        ]  # fmt: skip

    def _rare_noise_lines(self) -> list[str]:
        """A line for each number that may lack what rare noise adds."""
        lines = []
        for place, name in enumerate(("The mean of A", "The mean of B", "B / A")):
            found = [row for row in self.rows if row.unseen[place]]
            if found:
                first = found[0]
                at = ", ".join(map("=".join, first.cell.items()))
                more = f", and so in {len(found)} of {len(self.rows)} rows" * (len(found) > 1)
                lines.append(
                    f"{name} may lack what rare noise adds: {first.unseen[place]}"
                    f"{at and f' at {at}'}{more}; its interval allows for it."
                )
        return lines


_RECORDINGS = {
    "": [],
    "same": ["B / A is of the noise as it was recorded."],
    "different": ["A and B do not replay the same recordings: B / A allows for what others of the "
                  "same machines would hold; P(B faster) is of the noise as it was recorded."],
}  # fmt: skip


def compare(a: Compared, b: Compared, observable: str = "", confidence: float = 0.95) -> Comparison:
    """Say in which cells one of two runs, or of two variants, is faster.

    They are paired over the same realizations, on the same noise. The intervals of the ratios hold
    together with `confidence`: for all cells, and for all looks at which a study with targets could
    stop (Bonferroni). So the one verdict in twenty that chance decides does not come with every
    table.

    Parameters
    ----------
    a, b : Store or path
        What `Study.run` returned, or its directory. With several variants the one that is meant:
        ``(store, "VARIANT")``, or ``"DIR:VARIANT"``.
    observable : str
        A time or slowdown of the study; by default the completion of the last rank, with all
        exchanges.
    confidence : float

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        No run in a directory, other seeds (the noise is not the same), no cell in common, no such
        variant or observable, or an observable that is a ratio of variants, which has no faster or
        slower.

    Examples
    --------
    >>> import jitterfly as jf
    >>> study = jf.Study(
    ...     "copies",
    ...     case={
    ...         "ranks": 64,
    ...         "network": jf.LogGOPS(L="1us", o="100ns"),
    ...         "noise": [jf.PeriodicNoise(period="1ms", duration="50us", start="stationary")],
    ...     },
    ...     variants={"conventional": {}, "redundant": {"algorithm.exchanges_after": 6}},
    ...     budget=jf.RealizationBudget(max=200),
    ... )
    >>> found = study.run()
    >>> comparison = jf.compare((found, "conventional"), (found, "redundant"))
    >>> comparison.rows[0].winner
    'B'
    """
    sides = _Side.of(a, observable), _Side.of(b, observable)
    seeds = [side.store.study.seed for side in sides]
    if seeds[0] != seeds[1]:
        raise ValueError(
            f"A has seed {seeds[0]} and B has seed {seeds[1]}: they saw other noise and can not be "
            f"paired; run one again with the seed {seeds[0]}"
        )
    here, there = (
        {tuple(cell.labels.items()): cell for cell in side.store.cells} for side in sides
    )
    pairs = [(here[at], there[at]) for at in here if at in there]
    pairs = [
        pair
        for pair in pairs
        if all(side.store.available(cell) > 1 for side, cell in zip(sides, pair, strict=True))
    ]
    if not pairs:
        raise ValueError("A and B have no cell in common that both have run")
    rows = []
    for pair in pairs:
        shares = [side.store.decision(cell).share for side, cell in zip(sides, pair, strict=True)]
        sequential = [share for share in shares if share < 1]
        # Where the data decided when to stop, the looks have spent a part; both may have.
        share = min(shares) / max(len(sequential), 1)
        rows.append(_row(sides, pair, confidence, level_of(confidence, share / len(pairs))))
    # `completion` may also be an observable of the study, of other exchanges.
    families = [sides[0].family(cell) for cell, _ in pairs]
    what = observable or "completion of the last rank, last cycle" + (
        ", with all redundant exchanges (T = last)"
        if any(family.labels[0] for family in families)
        else ""
    )
    axes = tuple(axis.name for axis in sides[0].store.study.axes)
    found = {_recordings(side.family(cell).members[0].recorded
                         for side, cell in zip(sides, pair, strict=True))
             for pair in pairs}  # fmt: skip
    recordings = next((word for word in ("different", "same") if word in found), "")
    return Comparison(str(sides[0]), str(sides[1]), what, axes, tuple(rows), confidence, recordings)


def _observed(side: _Side, cell: Cell) -> tuple[Observed, np.ndarray]:
    """Return what is compared, and its samples."""
    data = side.store.data(cell, side.store.available(cell))
    observed = Observed(side.family(cell), data)
    samples = observed.samples
    if samples is None or len(samples) < 2:
        raise ValueError(
            f"{side.store.path}: no single samples are kept at {cell.name}; "
            "raise realizations.raw_bytes of the study"
        )
    return observed, np.asarray(samples)


def _row(
    sides: tuple[_Side, _Side], pair: tuple[Cell, Cell], confidence: float, level: float
) -> ComparisonRow:
    """Return the comparison of two cells; the interval of the ratio has confidence `level`."""
    both = list(zip(sides, pair, strict=True))
    (of_a, x), (of_b, y) = (_observed(side, cell) for side, cell in both)
    count = min(len(x), len(y))
    x, y = x[:count], y[:count]
    noisy = [cell.varies(of.family) for of, cell in zip((of_a, of_b), pair, strict=True)]
    mean_a, mean_b = (
        stats.mean(samples, confidence, noisy=own, lower_bound=of.measure.lower_bound,
                   noise_free=of.measure.noise_free)
        for samples, of, own in zip((x, y), (of_a, of_b), noisy, strict=True)
    )  # fmt: skip
    compared = [  # of one side there may be more realizations
        of if of.realizations == count else Observed(of.family, side.store.data(cell, count))
        for (side, cell), of in zip(both, (of_a, of_b), strict=True)
    ]
    unseen = [
        undersampled_noise(of, cell.cases, mean.half_width)
        for (_, cell), of, mean in zip(both, compared, (mean_a, mean_b), strict=True)
    ]
    ratio = stats.ratio(y, x, level, noisy=any(noisy))
    same = of_a.measure.key == of_b.measure.key and bool((x == y).all())
    acting: list[SourceHits] = []
    for (_, cell), of, rare in zip(both, compared, unseen, strict=True):
        own = list(chain(*acting_sources(of, cell.cases).values()))
        # Those in `rare` are counted there. Without any, all are asked for: what does not matter
        # for the interval of a mean may matter for that of the ratio, which is narrower.
        counted = hidden(own) if rare else []
        acting += [source for source in own if source not in counted]
    alone = _hit_alone(x, y, ratio, compared[1].measure.denominator, acting, level)
    ratio = _with_undersampled(ratio, x, compared, unseen, alone)
    ratio = _with_recordings(ratio, compared, (float(x.mean()), float(y.mean())))
    if not same and not (math.isfinite(mean_a.high) and math.isfinite(mean_b.high)):
        # No realization shows what noise does to one of them.
        ratio = replace(ratio, low=-math.inf, high=math.inf)
    mean_a, mean_b = (
        shown_mean(mean, of, rare)
        for mean, of, rare in zip((mean_a, mean_b), compared, unseen, strict=True)
    )
    winner = "B" if ratio.high < 1 else "A" if ratio.low > 1 else ""
    if winner and x.mean() < 0:  # an overhead over a slower one: the larger quotient is the faster
        winner = "A" if winner == "B" else "B"
    return ComparisonRow(
        cell=dict(zip(pair[0].labels, shown_labels(sides[0].store.study, pair[0]), strict=True)),
        coordinates=tuple(pair[0].coordinates.values()),
        unit=of_a.unit,
        realizations=count,
        mean_a=mean_a,
        mean_b=mean_b,
        ratio=ratio,
        b_wins=stats.win_probability(
            int((y < x).sum()), int((y == x).sum()), int((y > x).sum()), confidence
        ),
        winner=winner,
        unseen=(
            undersampled_in_words(unseen[0]),
            undersampled_in_words(unseen[1]),
            undersampled_in_words(alone),
        ),
    )


def _hit_alone(
    x: np.ndarray,
    y: np.ndarray,
    ratio: stats.Estimate,
    below: LinearForm | int,
    acting: Sequence[SourceHits],
    level: float,
) -> list[UndersampledNoise]:
    """Hits that A or B met alone, in too few realizations to know the ratio y / x."""
    if not isinstance(below, int) or not math.isfinite(ratio.half_width):
        return []
    return hits_of_one_side(
        acting,
        lambda count: below * (y[:count] - ratio.value * x[:count]),
        len(x),
        below * abs(float(x.mean())),  # in ticks of B
        ratio.half_width,
        realizations=len(x),
        confidence=level,
    )


def _with_undersampled(
    ratio: stats.Estimate,
    x: np.ndarray,
    compared: Sequence[Observed],
    unseen: Sequence[Sequence[UndersampledNoise]],
    alone: Sequence[UndersampledNoise],
) -> stats.Estimate:
    """The ratio, with an interval that allows for noise that was met too rarely."""
    of_a, of_b = (sum(one.adds for one in side) for side in unseen)
    mean = float(x.mean())
    size = abs(mean) or math.inf
    value, low, high = (float(end) for end in (ratio.value, ratio.low, ratio.high))
    if mean <= 0 or any(of.measure.is_paired for of in compared):  # either way
        more = (abs(value) * of_a + of_b) / size
        low, high = low - more, high + more
    else:
        low, high = ratio_with_lacks(low, high, of_b / size, of_a / size)
    either = sum(one.adds for one in alone)
    if not (of_a or of_b or either):
        return ratio
    ends = low - either, high + either
    away = [abs(new - float(old)) if math.isfinite(old) else 0.0
            for new, old in zip(ends, (ratio.low, ratio.high), strict=True)]  # fmt: skip
    return ratio.widened(*ends, Caveat(RARE_NOISE, *away))


def _recordings(sides: Iterable[RecordedNoise | None]) -> str:
    """Say whether both replay recordings, and the same ones: a word of `_RECORDINGS`."""
    a, b = (side or RecordedNoise() for side in sides)
    if a.apart_from(b).sources or b.apart_from(a).sources:
        return "different"
    return "same" if a.sources else ""


def _with_recordings(
    ratio: stats.Estimate, compared: Sequence[Observed], means: tuple[float, float]
) -> stats.Estimate:
    """The ratio, with an interval that allows for recordings that one side replays alone.

    Those of A and B are independent samples of two machines, or of one before and after a change:
    what they miss does not cancel, as it does where both replay the same one.
    """
    a, b = (of.measure.recorded or RecordedNoise() for of in compared)
    alone = a.apart_from(b), b.apart_from(a)
    if not any(own.sources for own in alone):
        return ratio
    if min(means) <= 0:  # of a time that noise adds: there may be none
        return ratio.widened(-math.inf, math.inf, Caveat(RECORDING, math.inf, math.inf))
    errors: list[tuple[float, float]] = []  # of the logarithm of each mean
    for of, mean, own in zip(compared, means, alone, strict=True):
        exact = stats.Estimate(mean, mean, mean, ratio.confidence, ratio.realizations)
        wide = of.for_recordings(exact, recorded=own) if own.sources else exact
        low, high = (max(float(end) / mean, 0.0) for end in (wide.low, wide.high))
        errors.append((-math.log(low) if low else math.inf, math.log(high)))
    (less_a, more_a), (less_b, more_b) = errors
    below, above = math.hypot(more_a, less_b), math.hypot(less_a, more_b)
    value, low, high = map(float, ratio)
    low = value / math.exp(math.hypot(math.log(value / low) if low > 0 else math.inf, below))
    high = value * math.exp(math.hypot(math.log(high / value), above))
    moved = value - value / math.exp(below), value * math.expm1(above)
    return ratio.widened(low, high, Caveat(RECORDING, *moved))
