"""`CellRecords`: samples and summaries of a cell; which are complete or missing when resuming."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

import numpy as np

from ..observables import CellData, Computed, Piece, Summary, Ticks
from ..observables.measure import SMALL, Integers
from ..studies import STREAM_VERSION, Cell, Study
from ..studies.grid import digest
from .records import (
    RAW,
    SUMMARY,
    Identity,
    RecordFiles,
    RecordSeries,
    Span,
    contiguous_end,
    cover,
    gaps,
)

_MOST_BYTES = 2**26  # that nobody has looked at yet, of all cells


class RecentSamples:
    """The samples that this process added, not looked at yet, so that they are not read again.

    The arrays themselves, by cell. Beyond some memory the cell that was first is given up; its
    samples are in its file.
    """

    def __init__(self) -> None:
        self._parts: dict[int, dict[int, Piece]] = {}  # by cell, by first realization
        self._bytes = 0

    def add(self, cell: int, first: int, piece: Piece) -> None:
        """The samples from realization `first` on."""
        self._drop(cell, first)
        self._parts.setdefault(cell, {})[first] = piece
        self._bytes += piece.nbytes
        while self._bytes > _MOST_BYTES:
            oldest = next(iter(self._parts))
            for number in list(self._parts[oldest]):
                self._drop(oldest, number)

    def pieces(self, cell: int, first: int, end: int) -> Iterator[tuple[int, int, Piece | None]]:
        """Realizations `first` ... `end` - 1 in order: from, to, and the samples or None."""
        here = first
        for start, piece in sorted(self._parts.get(cell, {}).items(), key=lambda part: part[0]):
            low, high = max(start, here), min(start + len(piece), end)
            if low < high:
                if here < low:
                    yield here, low, None
                yield low, high, piece.between(low - start, high - start)
                here = high
        if here < end:
            yield here, end, None

    def forget(self, cell: int, end: int) -> None:
        """The samples before realization `end`: who asked for them has them."""
        for first, piece in list(self._parts.get(cell, {}).items()):
            if first + len(piece) <= end:
                self._drop(cell, first)

    def _drop(self, cell: int, first: int) -> None:
        parts = self._parts.get(cell, {})
        if first in parts:
            self._bytes -= parts.pop(first).nbytes
            if not parts:
                del self._parts[cell]


MOST_EARLY = 64  # columns of which all products are made before anybody asks
_UNSAFE = re.compile(r"[^A-Za-z0-9=._^-]+")


class CellRecords:
    """Reading and adding to the records of one cell of `study`.

    `recent` are samples that were added here and that nobody has looked at yet.
    """

    def __init__(self, study: Study, cell: Cell, files: RecordFiles, recent: RecentSamples):
        self.study, self.cell, self.files, self.recent = study, cell, files, recent

    def _records(
        self, kind: str, code: str, variant: str, columns: tuple[str, ...]
    ) -> RecordSeries:
        identity = Identity(kind, code, self.study.seed, STREAM_VERSION, columns)
        return self.files.records(identity, partial(_readable, self.cell.labels, variant))

    @cached_property
    def samples(self) -> list[RecordSeries]:
        """The samples of each variant; cases that are the same share theirs."""
        return [
            self._records(RAW, variant.hash, variant.label, tuple(variant.case.observation_names()))
            for variant in self.cell.variants
        ]

    @cached_property
    def summaries(self) -> RecordSeries:
        """The summaries of what is observed now."""
        keys = sorted(measure.key for measure in self.study.measures(self.cell))
        variants = [[variant.label, variant.hash] for variant in self.cell.variants]
        return self._records(SUMMARY, digest(["place", variants, keys]), "summary", ())

    def _columns(self) -> Iterator[tuple[RecordSeries, slice]]:
        """The samples of each variant, and where its columns are in `Cell.columns`."""
        at = 0
        for file in self.samples:
            width = len(file.identity.columns)
            yield file, slice(at, at + width)
            at += width

    def _with_samples(self, end: int) -> list[Span]:
        """Return the realizations below `end` of which there are samples of every variant."""
        holes = [hole for file in self.samples for hole in gaps(file.covered, 0, end)]
        return gaps(holes, 0, end)

    def available(self, most: int) -> int:
        """The most realizations, up to `most`, that `data` can be asked for."""
        limit = min(most, self.cell.raw_limit)
        raw = self._with_samples(most)
        here = raw[0][1] if raw and raw[0][0] == 0 else 0
        if here < limit or here == most:  # without asking what is observed, for each cell
            return here
        return contiguous_end(self.summaries.spans, raw, limit, most)

    def missing(self, upto: int) -> list[tuple[int, int]]:
        """See `Store.missing`."""
        limit = min(upto, self.cell.raw_limit)
        raw = self._with_samples(upto)
        holes = gaps(raw, 0, limit)
        if upto > limit:
            steps = cover(self.summaries.spans, raw, limit, upto)
            holes += [(step.first, step.end) for step in steps if step.missing]
        return [(first, end - first) for first, end in holes]

    def append(self, first: int, ticks: Ticks | None, summary: Summary | None, count: int) -> None:
        """See `Store.append`."""
        if ticks is not None:
            if ticks.columns != self.cell.columns or len(ticks) != count:
                raise ValueError(f"{self.cell.name}: ticks must have the columns of the cell")
            values = ticks.values
            for file, columns in self._columns():
                file.append_samples(first, values[:, columns])
            piece = ticks.parts[0] if len(ticks.parts) == 1 else Piece(values)
            self.recent.add(self.cell.index, first, piece)
            writer = self.files.writer
            if writer.is_on and values.nbytes >= SMALL and len(ticks.columns) <= MOST_EARLY:
                piece.prepare(writer.later)
        if summary is not None:
            self.summaries.append_summary(first, count, summary.to_bytes())

    def ticks(self, first: int, end: int, known: Ticks | None = None) -> Ticks:
        """Samples of realizations `first` ... `end` - 1; `known` are the first of them."""
        self._check_no_holes(gaps(self._with_samples(end), first, end))
        parts: list[Piece | Integers] = [] if known is None else [*known.parts]
        have = first + (0 if known is None else len(known))
        for start, stop, piece in self.recent.pieces(self.cell.index, have, end):
            parts.append(self._read(start, stop) if piece is None else piece)
        return Ticks.joined(self.cell.columns, parts)

    def _read(self, first: int, end: int) -> Integers:
        values = np.empty((end - first, len(self.cell.columns)), np.int64)
        for file, columns in self._columns():
            file.samples(values[:, columns], first, end)
        return values

    def data(
        self, count: int, known: Ticks | None = None, computed: Computed | None = None
    ) -> CellData:
        """See `Store.data`; `known` are samples from realization 0 on that were read before.

        With what was `computed` of them before, samples are not read until they are asked for, and
        `known` ones are not held until then.
        """
        self._check_no_holes([(first, first + size) for first, size in self.missing(count)])
        limit = min(count, self.cell.raw_limit)
        later: Callable[[], Ticks] = partial(self.ticks, 0, limit)
        ticks = self.ticks(0, limit, known) if computed is None else later
        self.recent.forget(self.cell.index, limit)
        summary = None
        if count > limit:
            for step in cover(self.summaries.spans, self._with_samples(count), limit, count):
                part = self._summary(step.record, step.first, step.end)
                summary = part if summary is None else summary + part
        return CellData(ticks, summary, computed, limit)

    def _summary(self, record: int | None, first: int, end: int) -> Summary:
        """Return the summary of a record, or without one that of the samples there."""
        measures = self.study.measures(self.cell)
        if record is None:
            return Summary.of(self.ticks(first, end), measures)
        try:
            return Summary.of_record(self.summaries.payload(record), end - first, measures)
        except ValueError as error:
            raise ValueError(
                f"{self.summaries.path}: the record of realizations {first:,} to {end - 1:,} can "
                f"not be used: {error}; delete the file and run the study again"
            ) from None

    def _check_no_holes(self, holes: list[Span]) -> None:
        """Raise ValueError where realizations are missing."""
        if holes:
            first, end = holes[0]
            raise ValueError(
                f"{self.files.path.parent}: {self.cell.name} lacks realizations {first:,} to "
                f"{end - 1:,}; run the study again to make them"
            )


def _readable(labels: Mapping[str, str], variant: str) -> str:
    """Return the part of a file's name that people read: a cell's labels."""
    words = [f"{axis}={label}" for axis, label in labels.items()]
    words += [variant] if variant else []
    return _UNSAFE.sub("-", "_".join(words))[:100] or "base"
