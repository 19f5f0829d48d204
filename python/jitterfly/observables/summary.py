"""Summaries of samples that are not kept raw: moments, histograms for quantiles, counts of wins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..stats import CrossMoments, Histogram, ThirdMoments
from .measure import Column, Integers, LinearForm, Measure, Ticks

RATIO_ONE = 2**30
"""Histograms hold quotients of two forms as whole multiples of 1 / RATIO_ONE."""

MAX_COLUMNS = 64
"""A cell with more raw columns than this keeps moments only of those that its measures read."""

T = TypeVar("T")
WinCounts = tuple[int, int, int]
"""In how many realizations the numerator was smaller, equal, larger than the denominator."""


def histogram_scale(measure: Measure) -> int:
    """Return what the values in the measure's histogram are to be divided by."""
    return RATIO_ONE if isinstance(measure.denominator, LinearForm) else measure.denominator


class SampleStatistics:
    """Histograms, third moments and wins of raw samples; of measures of the same forms once.

    Parameters
    ----------
    value_of : callable
        The value of a form in every realization, in ticks.
    alike : mapping of Column to Column, optional
        The first of those with the same samples, for each: forms of them have the same statistics.
    """

    def __init__(
        self,
        value_of: Callable[[LinearForm], Integers],
        alike: Mapping[Column, Column] | None = None,
    ) -> None:
        self._value_of = value_of
        self._alike = alike
        self._renamed: dict[str, tuple[LinearForm, ...]] = {}
        self._values: dict[LinearForm, Integers] = {}  # those that were asked for last
        self._made: dict[tuple[Any, ...], Any] = {}

    def histogram(self, measure: Measure) -> Histogram:
        """Make the histogram of the numerator in ticks, or of the quotient in 1 / RATIO_ONE."""
        return self._once(_histogram, measure)

    def third_moments(self, measure: Measure) -> ThirdMoments:
        """Make those of the numerator (ticks), and of a denominator that is measured."""

        def make(*values: Integers) -> ThirdMoments:
            # A form is in many measures: those of it alone are made once.
            alone = []
            for form, own in zip(self._forms(measure), values, strict=True):
                key = (ThirdMoments, form)
                if key not in self._made:
                    self._made[key] = ThirdMoments.of(own)
                alone.append(self._made[key])
            return ThirdMoments.of(*values, alone=alone) if len(alone) > 1 else alone[0]

        return self._once(make, measure, "third moments")

    def win_counts(self, measure: Measure) -> WinCounts:
        """Count how often the numerator was smaller, equal, larger."""
        if not measure.is_ratio:
            raise ValueError(f"{measure.name} has no denominator to be compared with")
        return self._once(core.count_wins, measure)

    def values(self, measure: Measure) -> list[Integers]:
        """The value of each form of a measure in every realization, read-only."""
        known, forms = self._values, self._forms(measure)
        self._values = {
            form: known[form] if form in known else self._value_of(form) for form in forms
        }
        return [self._values[form] for form in forms]

    def _forms(self, measure: Measure) -> tuple[LinearForm, ...]:
        """The forms of a measure, of the first of columns that are alike."""
        if self._alike is None:
            return measure.forms
        if measure.key not in self._renamed:
            renamed = (form.renamed(self._alike) for form in measure.forms)
            self._renamed[measure.key] = tuple(renamed)
        return self._renamed[measure.key]

    @property
    def nbytes(self) -> int:
        """Bytes of the forms that are kept for the next statistic of the same measure."""
        return sum(values.nbytes for values in self._values.values())

    def _once(self, make: Callable[..., T], measure: Measure, what: Any = None) -> T:
        key = (what or make, *self._forms(measure))
        if key not in self._made:
            self._made[key] = make(*self.values(measure))
        found: T = self._made[key]
        return found


def _histogram(top: Integers, bottom: Integers | None = None) -> Histogram:
    return Histogram.of(top if bottom is None else core.quotients(top, bottom, RATIO_ONE))


def add_wins(one: WinCounts, other: WinCounts) -> WinCounts:
    """Add the wins of two sets of realizations."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def columns_of(measures: Iterable[Measure]) -> set[Column]:
    """The columns that measures need."""
    return {column for measure in measures for column in measure.columns}


@dataclass(frozen=True, eq=False)
class Summary:
    """Exact moments, histograms and wins of the realizations of one cell.

    Merging is exact and may be done in any order.

    Attributes
    ----------
    columns : tuple of Column
    cross_moments : CrossMoments
        Over the columns.
    histograms : mapping of str to Histogram
        By the key of the measure; measures whose realizations have no value have none.
    win_counts : mapping of str to WinCounts
        By the key of the measure, where a form is measured against another.
    third_moments : mapping of str to ThirdMoments
        By the key of the measure.
    """

    columns: tuple[Column, ...]
    cross_moments: CrossMoments
    histograms: Mapping[str, Histogram]
    win_counts: Mapping[str, WinCounts]
    third_moments: Mapping[str, ThirdMoments]

    @classmethod
    def of(cls, ticks: Ticks, measures: Iterable[Measure]) -> Summary:
        """Make the summary of raw samples."""
        chosen = {measure.key: measure for measure in measures}
        columns, ticks = ticks.columns, ticks.by_columns()
        if len(columns) > MAX_COLUMNS:  # moments take time and memory by the square
            read = columns_of(chosen.values())
            columns = tuple(column for column in columns if column in read)
        made = SampleStatistics(ticks.linear_form, ticks.first_alike())
        histograms, win_counts, third_moments = {}, {}, {}
        for key, measure in chosen.items():  # all of one, whose forms are at hand
            if measure.distribution:
                histograms[key] = made.histogram(measure)
            if measure.distribution and measure.is_ratio:
                win_counts[key] = made.win_counts(measure)
            third_moments[key] = made.third_moments(measure)
        moments = ticks.cross_moments(columns)
        return cls(columns, moments, histograms, win_counts, third_moments)

    @property
    def count(self) -> int:
        """Realizations."""
        return self.cross_moments.count

    def __add__(self, other: Summary) -> Summary:
        few, many = sorted((self, other), key=lambda one: len(one.columns))
        # An earlier version summed up all columns, however many.
        had_all = len(many.columns) > MAX_COLUMNS and set(few.columns) < set(many.columns)
        same = self.columns == other.columns or had_all
        if not same or self.third_moments.keys() != other.third_moments.keys():
            raise ValueError("summaries of other columns or measures can not be merged")
        merged: dict[tuple[int, int], Histogram] = {}  # measures of the same samples have one

        def merge(key: str) -> Histogram:
            one, more = self.histograms[key], other.histograms[key]
            if (pair := (id(one), id(more))) not in merged:
                merged[pair] = one + more
            return merged[pair]

        moments = many.cross_moments
        if had_all:
            moments = moments.take([many.columns.index(column) for column in few.columns])
        return Summary(
            few.columns,
            few.cross_moments + moments,
            {key: merge(key) for key in self.histograms},
            {key: add_wins(self.win_counts[key], other.win_counts[key]) for key in self.win_counts},
            {key: one + other.third_moments[key] for key, one in self.third_moments.items()},
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """A line of JSON, then the parts that it gives the lengths of."""
        parts = {"gram": self.cross_moments.to_bytes()}
        histograms = {key: self.histograms[key] for key in sorted(self.histograms)}
        written = {
            id(one): one.to_bytes() for one in {id(o): o for o in histograms.values()}.values()
        }
        parts |= {key: written[id(one)] for key, one in histograms.items()}
        head = {
            "columns": [[column.variant, column.name] for column in self.columns],
            "parts": [[key, len(part)] for key, part in parts.items()],
            "wins": {key: list(self.win_counts[key]) for key in sorted(self.win_counts)},
            "third": {key: self.third_moments[key].numbers for key in sorted(self.third_moments)},
        }
        return json.dumps(head).encode() + b"\n" + b"".join(parts.values())

    @classmethod
    def from_bytes(cls, data: bytes) -> Summary:
        """Read what `to_bytes` made."""
        end = data.index(b"\n") + 1
        head = json.loads(data[:end])
        parts = {}
        for key, size in head["parts"]:
            parts[key] = data[end : end + size]
            end += size
        cross_moments = CrossMoments.from_bytes(parts.pop("gram"))
        made: dict[bytes, tuple[bytes, Histogram]] = {}  # the last with the same head

        def histogram_of(part: bytes) -> Histogram:
            known, found = made.get(head := part[: Histogram.HEAD_BYTES], (b"", None))
            if found is None or known != part:
                found = Histogram.from_bytes(part)
                made[head] = part, found
            return found

        return cls(
            tuple(Column(variant, name) for variant, name in head["columns"]),
            cross_moments,
            {key: histogram_of(part) for key, part in parts.items()},
            {key: tuple(wins) for key, wins in head["wins"].items()},
            {
                key: ThirdMoments(tuple(sums), tuple(low), tuple(high), *counts)
                for key, (sums, low, high, *counts) in head["third"].items()
            },
        )

    @classmethod
    def of_record(cls, data: bytes, count: int, measures: Sequence[Measure]) -> Summary:
        """Read what `to_bytes` made of `count` realizations and of these measures, or more.

        Raises
        ------
        ValueError
            It is no summary, or of something else.
        """
        try:
            found = cls.from_bytes(data)
            fits = found._is_of(count, measures)
        except Exception as error:  # of json, struct, NumPy and of wrong types
            raise ValueError(f"it is no summary ({error})") from None
        if not fits:
            raise ValueError("it is a summary of something else")
        return found

    def _is_of(self, count: int, measures: Sequence[Measure]) -> bool:
        """Return whether its parts agree, and hold these measures and realizations."""
        if self.count != count or len(self.cross_moments.sums) != len(self.columns):
            return False
        if not columns_of(measures) <= set(self.columns):
            return False
        chosen = {measure.key: measure for measure in measures if measure.distribution}
        histograms = {id(one): one for one in map(self.histograms.__getitem__, chosen)}
        for counts in (one.counts for one in histograms.values()):
            if counts.min(initial=0) < 0 or counts.sum() != count:
                return False
        for key, measure in chosen.items():
            wins = self.win_counts[key] if measure.is_ratio else (count, 0, 0)
            if min(wins) < 0 or sum(wins) != count:
                return False
        for sums, low, high, *pairs in (one.numbers for one in self.third_moments.values()):
            if (len(sums), len(low), len(high)) not in ((1, 1, 1), (4, 2, 2)):
                return False
            if not all(type(number) is int for number in (*sums, *low, *high, *pairs)):
                return False
        return True


class Computed:
    """The results computed of the samples of one cell; they outlive them, so they are small.

    Attributes
    ----------
    cross_moments : dict
        By columns.
    numbers : dict
        By what they are of: order statistics, rare events, counts of wins.
    """

    def __init__(self) -> None:
        self.cross_moments: dict[tuple[Column, ...], CrossMoments] = {}
        self.numbers: dict[tuple[Any, ...], Any] = {}

    @property
    def nbytes(self) -> int:
        """The memory that it takes, roughly."""
        moments = sum(1000 + 50 * len(key) ** 2 for key in self.cross_moments)
        return 400 + 300 * len(self.numbers) + moments


class CellData:
    """The data that readers ask of one cell; what is asked for again is computed once.

    Parameters
    ----------
    ticks : Ticks, callable or None
        Raw samples of the first realizations; or what reads them, when they are first asked for.
    rest : Summary, callable or None
        Of the realizations after them; or what reads it, when it is first asked for.
    computed : Computed, optional
        Of the same samples.
    raw_count, rest_count : int, optional
        Realizations of `ticks` and of `rest` that are not read yet.
    """

    def __init__(
        self,
        ticks: Ticks | Callable[[], Ticks] | None,
        rest: Summary | Callable[[], Summary] | None = None,
        computed: Computed | None = None,
        raw_count: int | None = None,
        rest_count: int | None = None,
    ) -> None:
        if isinstance(ticks, Ticks) or ticks is None:
            raw_count = 0 if ticks is None else len(ticks)
        if isinstance(rest, Summary) or rest is None:
            rest_count = 0 if rest is None else rest.count
        if raw_count is None or rest_count is None:
            raise ValueError("raw_count or rest_count must be given for what is not read yet")
        if not raw_count and not rest_count:
            raise ValueError("a cell without any realizations has no data")
        self.raw_count, self._rest_count = raw_count, rest_count
        self._ticks = ticks if raw_count else None
        self._rest = rest if rest_count else None
        self.computed = Computed() if computed is None else computed
        self._of_samples = SampleStatistics(self._value_of)
        self._histograms: dict[str, Histogram] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the samples: what reads them stays here, and what is made again."""
        made = {"_of_samples": SampleStatistics(self._value_of)}
        return {**self.__dict__, "_ticks": self.ticks, "_rest": self.rest, **made}

    @property
    def ticks(self) -> Ticks | None:
        """Raw samples of the first realizations; None where all are in a summary."""
        ticks = self._ticks
        if ticks is not None and not isinstance(ticks, Ticks):
            ticks = self._ticks = ticks()
        return ticks

    @property
    def rest(self) -> Summary | None:
        """The summary of the realizations after them; None where all are raw samples."""
        rest = self._rest
        if rest is not None and not isinstance(rest, Summary):
            rest = self._rest = rest()
        return rest

    @property
    def nbytes(self) -> int:
        """Bytes of the samples that are in memory, and of what is kept of them."""
        samples = self._ticks.nbytes if isinstance(self._ticks, Ticks) else 0
        return samples + self._of_samples.nbytes

    @property
    def count(self) -> int:
        """Realizations."""
        return self.raw_count + self._rest_count

    @property
    def exact(self) -> bool:
        """Return whether all realizations are there as raw samples."""
        return not self._rest_count

    @property
    def columns(self) -> tuple[Column, ...]:
        """The raw columns of the cell."""
        source = self.ticks if self.ticks is not None else self.rest
        return () if source is None else source.columns

    def cross_moments(self, columns: Sequence[Column] | None = None) -> CrossMoments:
        """Exact sums and products over some columns; by default over all."""
        wanted = self.columns if columns is None else tuple(columns)
        known = self.computed.cross_moments
        if wanted not in known:
            known[wanted] = self._make_cross_moments(wanted)
        return known[wanted]

    def _make_cross_moments(self, wanted: tuple[Column, ...]) -> CrossMoments:
        """Sum up columns, or take their sums from those of more columns that are known."""
        for columns, cross_moments in self.computed.cross_moments.items():
            # A larger set alone: of thousands of pairs (cycle = "each") none is compared.
            if len(columns) > len(wanted) and set(wanted) <= set(columns):
                return cross_moments.take([columns.index(column) for column in wanted])
        total = None
        if self.ticks is not None:
            total = self.ticks.cross_moments(wanted)
        if self.rest is not None:
            missing = [column.name for column in wanted if column not in self.rest.columns]
            if missing:
                raise ValueError(f"{missing[0]} is not summed up: no observable reads it")
            at = [self.rest.columns.index(column) for column in wanted]
            rest = self.rest.cross_moments.take(at)
            total = rest if total is None else total + rest
        if total is None:
            raise ValueError("no realizations")
        return total

    def histogram(self, measure: Measure) -> Histogram:
        """Return the histogram of all realizations; `histogram_scale` is its unit."""
        if measure.key not in self._histograms:
            self._histograms[measure.key] = self._joined(
                measure, self._of_samples.histogram, lambda rest: rest.histograms
            )
        return self._histograms[measure.key]

    def third_moments(self, measure: Measure) -> ThirdMoments:
        """Return the third moments of all realizations."""
        return self._joined(
            measure, self._of_samples.third_moments, lambda rest: rest.third_moments
        )

    def win_counts(self, measure: Measure) -> WinCounts:
        """Return in how many realizations the numerator was smaller, equal, larger."""

        def make() -> WinCounts:
            made = self._of_samples.win_counts
            return self._joined(measure, made, lambda rest: rest.win_counts, add_wins)

        return self.once(("win counts", *measure.forms), make)

    def _joined(
        self,
        measure: Measure,
        of_samples: Callable[[Measure], T],
        of_rest: Callable[[Summary], Mapping[str, T]],
        join: Callable[[Any, Any], Any] = add,
    ) -> T:
        """Return a statistic of all realizations: that of the samples with that of the rest."""
        parts = [of_samples(measure)] if self.ticks is not None else []
        parts += [of_rest(self.rest)[measure.key]] if self.rest is not None else []
        return reduce(join, parts)

    def _value_of(self, form: LinearForm) -> Integers:
        """Return the value of a form in every raw realization."""
        assert self.ticks is not None
        return form(self.ticks)

    def samples(self, measure: Measure) -> npt.NDArray[np.float64] | None:
        """The measure in every raw realization, in its unit; None without any."""
        return None if self.ticks is None else measure(self.ticks)

    def forms(self, measure: Measure) -> list[Integers]:
        """The value of each form of a measure in every raw realization; there must be some."""
        return self._of_samples.values(measure)

    def order_statistics(self, measure: Measure, ranks: Sequence[int]) -> list[Any]:
        """The numerators (ticks) or quotients of raw realizations of some ranks, which ascend.

        There must be some; rank 1 is the smallest.
        """
        values = self.forms(measure)
        return core.order_statistics(
            measure.of_forms(values) if measure.is_ratio else values[0], ranks
        )

    def once(self, what: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """The few numbers that `make` gives, kept under the name `what` for the next who asks."""
        numbers = self.computed.numbers
        if what not in numbers:
            numbers[what] = make()
        return numbers[what]
