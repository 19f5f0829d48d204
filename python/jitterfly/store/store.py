"""`Store`: a study on disk, its files and what each holds; resume, samples, export (NetCDF, CSV).

    OUT/study.toml      the study as it is run: its file word for word, or with what options set
    OUT/store.json      format, seed, budget and targets in use, versions, backends
    OUT/records/*.jfr   samples of a variant, or summaries of a cell (see `records`); of a
                        large study 256 files that cells share, by two digits of their hash
    OUT/.lock           held by the run that writes, with its process and host
    OUT/progress.json   how far each cell is (see `cell_progress`)
    OUT/numbers.npz     all estimates (see `numbers`); both follow from the records, and may go

A record counts when it is whole: a run that is stopped at any moment loses what was in flight.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import optional_packages
from ..answer import write_if_path
from ..fields import MAX_REALIZATIONS, check_choice, first_few, shorten, visible
from ..files import check_replaceable, replacing, synchronize
from ..observables import CellData, Computed, Decision, Observed, Piece, Summary, Ticks, decide
from ..observables.measure import SMALL, Integers
from ..optional_packages import package
from ..progress import timed_phase
from ..stats import Estimate
from ..studies import STREAM_VERSION, Cell, Study
from ..studies.axes import label_named
from ..studies.grid import digest
from ..studies.study import BaseReplaced, find_cell, labels_of_value
from ..units import show_bytes
from . import numbers, run_directory
from .numbers import Numbers, dataset_of
from .records import (
    RAW,
    SUMMARY,
    BackgroundWriter,
    Identity,
    RecordFiles,
    RecordSeries,
    Span,
    contiguous_end,
    cover,
    gaps,
    too_many_files,
)
from .run_directory import (
    MANY,
    RECORDS,
    check_directory,
    fingerprint_of,
    locked,
    resume_or_clear,
    shared_files,
    started_shards,
)

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

_MAX_NAMED = 8  # runs, of those below a directory
# Data of cells that stay in memory: how many, and bytes of their samples. What is computed of them
# early is as much again.
_MAX_DATA, MAX_DATA_BYTES = 16, 2**27
# Numbers stay longer than the samples that they were computed of: tables, pictures and claims ask
# for the same ones, one after the other.
_MAX_COMPUTED_BYTES = 2**26


class Store:
    """A study's directory; `meta` is the content of store.json, `is_part`: see `where`."""

    def __init__(self, path: Path, study: Study, meta: Mapping[str, Any], new: Sequence[Path] = ()):
        self.path, self.study, self.meta = Path(path), study, dict(meta)
        self._new = new  # files that a power cut may still empty
        self.writer = BackgroundWriter()
        self._recent = RecentSamples()
        self._records: dict[int, CellRecords] = {}
        self._data: dict[tuple[int, int], CellData] = {}
        self._computed: dict[tuple[int, int], tuple[int, Computed]] = {}  # with its bytes
        self._computed_bytes = 0
        self._decisions: dict[int, tuple[int, Decision]] = {}
        self.known_numbers: dict[Any, numbers.Numbers] = {}
        self.is_part = False

    def __repr__(self) -> str:
        return f"Store({self.study.name!r} in {str(self.path)!r}: {len(self.cells)} cells)"

    @classmethod
    @contextmanager
    def create(cls, path: str | Path, study: Study, *, force: bool = False) -> Iterator[Store]:
        """Hold `path` for a run: it must be empty or hold the same study, smaller or larger.

        A larger budget, more values, other targets and observables extend what is there.

        Raises
        ------
        ValueError
            Another run is writing there; it holds another study or one of another version (unless
            `force`), or other files.
        OSError
            It can not be written.
        """
        path = Path(path)
        with timed_phase("naming cells"):
            meta = run_directory.describe(study)
        check_directory(path, force)
        with locked(path):
            with timed_phase(f"comparing with what is in {path}"):
                meta = resume_or_clear(path, study, meta, force)
                (path / RECORDS).mkdir(exist_ok=True)
                if too_many_files(study.cells()) or shared_files(path):
                    meta["format"] = run_directory.SHARED_FORMAT
                new = run_directory.write_study(path, study) + run_directory.write_meta(path, meta)
            yield cls(path, study, meta, new)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Within, what is added is written behind the caller; at the end all of it is there."""
        with self.writer.on():
            self.writer(partial(synchronize, self._new))
            yield

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """The store of an earlier run, to read; nothing is written."""
        path = Path(path)
        if not (path / run_directory.META).is_file():
            raise ValueError(f"{path} holds no run (no {run_directory.META} in it){_hint(path)}")
        meta = run_directory.read_meta(path)
        return cls(path, run_directory.read_study(path, meta), meta)

    def note(self, *, backend: str) -> None:
        """Keep on record which backends samples were made by."""
        if backend not in self.meta["backend"]:
            self.meta["backend"] = sorted([*self.meta["backend"], backend])
            self.writer(partial(run_directory.write_meta, self.path, dict(self.meta)))

    # --- what is there

    @cached_property
    def cells(self) -> list[Cell]:
        """The study's cells, in its order."""
        return self.study.cells()

    @cached_property
    def files(self) -> RecordFiles:
        """The files of records."""
        return RecordFiles(self.path / RECORDS, self.writer, too_many_files(self.cells))

    def records(self, cell: Cell) -> CellRecords:
        """The records of a cell."""
        if cell.index not in self._records:
            self._records[cell.index] = CellRecords(self.study, cell, self.files, self._recent)
        return self._records[cell.index]

    def available(self, cell: Cell) -> int:
        """Realizations from 0 on that are there without a gap."""
        return self.records(cell).available(MAX_REALIZATIONS)

    def missing(self, cell: Cell, upto: int) -> list[tuple[int, int]]:
        """List what `data` of `upto` realizations lacks: pairs of first realization and count."""
        return self.records(cell).missing(upto)

    def complete(self, cell: Cell) -> bool:
        """Return whether nothing is left to run in a cell."""
        return self.decision(cell).next is None

    def cell(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> Cell:
        """The cell at some values of the axes.

        Parameters
        ----------
        values, **more
            Values by the axes' names, as many as tell one cell from all others: as in the study,
            or numbers (times in seconds).

        Raises
        ------
        ValueError
            There is no such axis or value, or several cells are there.

        Examples
        --------
        >>> import jitterfly as jf
        >>> case = jf.Case(ranks=4, network=jf.LogGOPS(L="1us", o="200ns"),
        ...                noise=[jf.PeriodicNoise(period="1ms", duration="20us")])
        >>> study = jf.Study("ranks", case=case, axes=[jf.Axis("ranks", [16, 64])],
        ...                  budget=jf.RealizationBudget(max=100))
        >>> found = study.run()
        >>> found.observed(found.cell(ranks=64), "slowdown").samples.shape
        (100,)
        """
        return find_cell(self.study, {**(values or {}), **more})

    def where(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> Store:
        """The part of the run that is at some values of axes, to read: for a table or a picture.

        Parameters
        ----------
        values, **more
            By the axes' names a value, or a list of them: as in the study, the beginning of the
            name of one alone ("ring"), or numbers (times in seconds), which have to be equal.

        Raises
        ------
        ValueError
            There is no such axis or value, or what the study observes needs another one.

        Examples
        --------
        >>> import jitterfly as jf
        >>> case = jf.Case(ranks=4, network=jf.LogGOPS(L="1us", o="200ns"),
        ...                noise=[jf.PeriodicNoise(period="1ms", duration="20us")])
        >>> study = jf.Study("ranks", case=case, axes=[jf.Axis("ranks", [16, 64])],
        ...                  budget=jf.RealizationBudget(max=100))
        >>> [cell.labels["ranks"] for cell in study.run().where(ranks=64).cells]
        ['64']
        """
        asked = {**(values or {}), **more}
        axes = {axis.name: axis for axis in self.study.axes}
        if asked and not axes:
            raise ValueError(f"{self.study.name} has no axes: it is one cell")
        for name, given in asked.items():
            check_choice(name, "axis", list(axes))
            wanted = given if isinstance(given, (list, tuple)) else [given]
            there = [value.label for value in axes[name].values]
            labels = [label for one in wanted for label in
                      labels_of_value(self.study, name, one) or [label_named(one, there, name)]
                      ]  # fmt: skip
            axes[name] = axes[name].choose(labels)
        with warnings.catch_warnings():  # what is chosen may set all that the base case says
            warnings.simplefilter("ignore", BaseReplaced)
            study = replace(self.study, axes=tuple(axes.values()))
        part = Store(self.path, study, self.meta | {"cells": []})
        part.is_part = True
        return part

    # --- adding

    def append(
        self, cell: Cell, first: int, ticks: Ticks | None, summary: Summary | None, count: int
    ) -> None:
        """Add the realizations from `first` on: samples up to `raw_limit`, a summary beyond it.

        Samples that are there already are not written again. Nobody may write into `ticks`.

        Raises
        ------
        OSError
            A full disk, with the name of the file, which is as it was before; within `writing`, by
            the next call.
        """
        self.records(cell).append(first, ticks, summary, count)

    # --- reading

    def ticks(self, cell: Cell, count: int) -> Ticks:
        """Samples of the first `count` realizations, which must be there as samples."""
        return self.records(cell).ticks(0, count)

    def data(self, cell: Cell, count: int) -> CellData:
        """Samples up to the cell's `raw_limit`, and the summary of the rest up to `count`.

        Where they were asked for before, samples may be read when they are needed.

        Raises
        ------
        ValueError
            Some of them are missing.
        """
        key = (cell.index, count)
        if key not in self._data:
            read = [d.ticks for (i, n), d in self._data.items()
                    if i == cell.index and n <= count and d.nbytes]  # fmt: skip
            known = max(filter(None, read), key=len, default=None)
            _, computed = self._computed.get(key, (0, None))
            self._data[key] = self.records(cell).data(count, known, computed)
            while len(self._data) > 1 and self._is_too_much():
                oldest = next(iter(self._data))
                self._keep_computed(oldest, self._data.pop(oldest).computed)
        return self._data[key]

    def _keep_computed(self, key: tuple[int, int], computed: Computed) -> None:
        """Keep results for the next reader of the same data; the oldest ones make room."""
        self._computed_bytes -= self._computed.pop(key, (0, None))[0]
        size = computed.nbytes
        self._computed[key] = size, computed
        self._computed_bytes += size
        while self._computed and self._computed_bytes > _MAX_COMPUTED_BYTES:
            self._computed_bytes -= self._computed.pop(next(iter(self._computed)))[0]

    def _is_too_much(self) -> bool:
        """Return whether the data in memory exceed `MAX_DATA_BYTES` or `_MAX_DATA` cells."""
        size = sum(data.nbytes for data in self._data.values())
        return size > MAX_DATA_BYTES or len(self._data) > _MAX_DATA

    def families(self, cell: Cell) -> Mapping[str, Any]:
        """Return the families of observables of a cell, by name."""
        return self.study.families(cell)

    def decision(self, cell: Cell) -> Decision:
        """Decide which targets are met, and how many realizations come next, by the data alone."""
        available = self.records(cell).available(cell.limit)
        known, decision = self._decisions.get(cell.index, (-1, None))
        if decision is None or known != available:
            decision = self._last_look(cell, available)
            self.keep_decision(cell, available, decision)
        return decision

    def keep_decision(self, cell: Cell, available: int, decision: Decision) -> None:
        """Keep the decision of the looks at `available` realizations, until there are more."""
        self._decisions[cell.index] = min(available, cell.limit), decision

    def _last_look(self, cell: Cell, available: int) -> Decision:
        """The decision of the last look at data that are there, out of `available` realizations."""
        records = self.records(cell)
        asked = bool(self.study.targets)  # else there is one look, whatever the data are

        def data_at(count: int) -> CellData:
            if records.missing(count):
                raise _InsideSummary(count)
            return self.data(cell, count)

        while True:
            try:
                decision = decide(
                    self.study.targets,
                    self.families(cell) if asked else {},
                    data_at,
                    available,
                    cell.least,
                    cell.limit,
                    asked and cell.noisy,
                    cell.cases,
                )
                if not records.missing(decision.realizations):
                    return decision
                count = decision.realizations
            except _InsideSummary as inside:
                (count,) = inside.args
            available = records.available(count - 1)

    def observed(self, cell: Cell, name: str) -> Observed:
        """Return an observable with the samples that there are.

        It is over the realizations of the last look, in an unfinished cell over all that are there.

        Raises
        ------
        ValueError
            There are none yet, or no such observable in this cell.
        """
        found = self._observed(cell, name)
        _ = found.data.ticks, found.data.rest  # read now: who holds it need not keep the files
        return found

    def _observed(self, cell: Cell, name: str) -> Observed:
        count = self.decision(cell).realizations
        if not count:
            raise ValueError(f"{self.path}: {cell.name} has no realizations yet; run the study")
        families = self.families(cell)
        family = families[check_choice(name, "observable", list(families))]
        return Observed(family, self.data(cell, count), cell.varies(family))

    def estimate(self, cell: Cell, name: str, statistic: str, confidence: float = 0.95) -> Estimate:
        """A statistic of an observable, over the realizations of the last look.

        In an unfinished cell it is over all that are there. With targets the data decided when to
        stop: every interval holds whenever that was.
        """
        observed = self._observed(cell, name)
        return self.decision(cell).shown(observed, statistic, confidence, cell.cases)

    def to_xarray(self, confidence: float = 0.95) -> Any:
        """See `numbers.to_xarray`."""
        return numbers.to_xarray(self, confidence)

    def to_pandas(self, confidence: float = 0.95) -> pandas.DataFrame:
        """A long table: the axes, then observable, unit, chosen_T, statistic, value, low, high,
        confidence, realizations, exact, met: whether the cell met all its targets, and complete:
        whether nothing is left to run in the cell. Times in seconds. A target of another
        confidence has a row of its own.

        Raises
        ------
        ValueError
            pandas is not installed.
        """
        return numbers.Numbers.of(self, confidence).to_pandas()

    def to_csv(self, path: str | Path | None = None, confidence: float = 0.95) -> str:
        """The rows of `to_pandas` as CSV; also written to `path`, where it is given.

        Two more columns are alike in all rows: seed, and version (of jitterfly).

        Raises
        ------
        OSError
            The file can not be written.
        """
        text = io.StringIO()
        numbers.Numbers.of(self, confidence).write_csv(text)
        return write_if_path(text.getvalue(), path)

    def summary(self, width: int = 80) -> str:
        """The main numbers as tables of text, with what they mean, as `jitterfly run` prints them.

        Parameters
        ----------
        width : int
            Of the longest line, in letters.
        """
        results = optional_packages.load_module("results").Results(self)
        whole = "`to_csv(FILE)` writes all"
        return visible(optional_packages.load_module("results.tables").table(results, width, whole))

    def plot(
        self,
        path: str | Path | None = None,
        *,
        kind: str | None = None,
        observable: str | None = None,
        figsize: tuple[float, float] | None = None,
        title: str | None = None,
    ) -> Figure:
        """The study's own figure, or another one, as `jitterfly plot`.

        Parameters
        ----------
        path : path, optional
            Where the picture is written, too.
        kind : str, optional
            One of the figures' names, such as "curves"; without it the study's own.
        observable : str, optional
            The only one that is shown, for kinds that can show several.
        figsize : (float, float), optional
            Width and height in inches; without it as the panels need.
        title : str, optional
            In place of the study's.

        Raises
        ------
        ValueError
            No matplotlib, an ending that it does not know, a kind that does not suit the study, no
            room in `figsize` for panels, title and legend, or no data yet.

        Notes
        -----
        A PDF that is written here has TrueType fonts; ``savefig`` of the figure takes what
        matplotlib is set to, Type 3 where nothing is said.
        """
        draw = optional_packages.load_module("plots.draw")
        figure: Figure = draw.figure(self, kind, observable, path, figsize, title)
        return figure

    def _repr_html_(self) -> str:
        return numbers.to_html(self)


class _InsideSummary(Exception):
    """A look is at a number of realizations in the middle of a summary, which can not be cut."""


def _hint(path: Path) -> str:
    """Say what may be meant by a directory without a run."""
    if not path.is_dir():
        return ""
    if started_shards(path):
        return (
            f"; it has shards, which `jitterfly merge {path}` joins, also those that are not "
            "finished, and again later"
        )
    below = sorted(file.parent.name for file in path.glob(f"*/{run_directory.META}"))
    if below:
        return f"; runs below it: {first_few(below, _MAX_NAMED)}"
    return "; one that has just begun checks its cells first"


_MAX_RECENT_BYTES = 2**26  # that nobody has looked at yet, of all cells


class RecentSamples:
    """The samples that this process added, not looked at yet, so that they are not read again.

    The arrays themselves, by cell. Beyond some memory the cell that was first is given up; its
    samples are in its file.
    """

    def __init__(self) -> None:
        self._parts: dict[int, dict[int, Piece]] = {}  # by cell, by first realization
        self._most = 0  # bytes: samples take fewer once a thread has prepared them

    def add(self, cell: int, first: int, piece: Piece) -> None:
        """Keep samples of a cell from realization `first` on; beyond a limit, drop the oldest."""
        self._drop(cell, first)
        self._parts.setdefault(cell, {})[first] = piece
        self._most += piece.nbytes
        if self._most <= _MAX_RECENT_BYTES:
            return
        self._most = sum(one.nbytes for parts in self._parts.values() for one in parts.values())
        while self._parts and self._most > 7 * _MAX_RECENT_BYTES // 8:  # room for many more
            for number in list(self._parts[oldest := next(iter(self._parts))]):
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
        """Drop the samples of a cell before realization `end`: what asked for them has them."""
        for first, piece in list(self._parts.get(cell, {}).items()):
            if first + len(piece) <= end:
                self._drop(cell, first)

    def _drop(self, cell: int, first: int) -> None:
        parts = self._parts.get(cell, {})
        if first in parts:
            self._most -= parts.pop(first).nbytes
            if not parts:
                del self._parts[cell]


MAX_EARLY_COLUMNS = 64  # columns of which all products are made before anybody asks
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
            if writer.is_on and values.nbytes >= SMALL and len(ticks.columns) <= MAX_EARLY_COLUMNS:
                piece.prepare(writer.later)
        if summary is not None:
            self.summaries.append_summary(first, count, summary.to_bytes())

    def ticks(self, first: int, end: int, known: Ticks | None = None) -> Ticks:
        """Samples of realizations `first` ... `end` - 1; `known` are the first of them."""
        self._check_no_holes(gaps(self._with_samples(end), first, end))
        parts: list[Piece | Integers] = [] if known is None else [*known.parts]
        have = first + (0 if known is None else len(known))
        for start, stop, piece in self.recent.pieces(self.cell.index, have, end):
            parts += self._read(start, stop) if piece is None else [piece]
        return Ticks.joined(self.cell.columns, parts)

    def _read(self, first: int, end: int) -> list[Piece]:
        """Return samples that are in the files, of which there must be some."""
        if len(self.samples) == 1:
            return [piece for _, piece in self.samples[0].pieces(first, end)]
        values = np.empty((end - first, len(self.cell.columns)), np.int64)
        for file, columns in self._columns():
            file.samples(values[:, columns], first, end)
        return [Piece(values)]

    def data(
        self, count: int, known: Ticks | None = None, computed: Computed | None = None
    ) -> CellData:
        """See `Store.data`; `known` are samples from realization 0 on that were read before.

        With what was `computed` of them before, samples and summaries are not read until they are
        asked for, and `known` ones are not held until then.
        """
        self._check_no_holes([(first, first + size) for first, size in self.missing(count)])
        limit = min(count, self.cell.raw_limit)
        rest = partial(self._rest, limit, count) if count > limit else None
        if computed is None:
            ticks = self.ticks(0, limit, known)
            data = CellData(ticks, rest and rest())
        else:
            data = CellData(partial(self.ticks, 0, limit), rest, computed, limit, count - limit)
        self.recent.forget(self.cell.index, limit)
        return data

    def _rest(self, first: int, end: int) -> Summary:
        """Return the summary of realizations beyond the raw samples."""
        steps = cover(self.summaries.spans, self._with_samples(end), first, end)
        return reduce(add, (self._summary(step.record, step.first, step.end) for step in steps))

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


def export(store: Store | Numbers | str | Path, path: str | Path, confidence: float = 0.95) -> None:
    """Write .nc (NetCDF), .zarr, .csv or .parquet; a file that is there is replaced as a whole.

    NetCDF and Zarr hold the dataset of `to_xarray`; CSV and Parquet a long table: the axes, and
    observable, unit, chosen_T (where the data chose one), statistic, value, low, high, confidence,
    realizations, exact, met, complete; and, alike in all rows, seed and version (of jitterfly).
    What the table calls `value` is `estimate` in the dataset. Numbers that are known already are
    not computed again; they have their confidence.

    Parameters
    ----------
    store : Store, its directory, or Numbers
        What was run, or its numbers.
    path : path
        The file; its ending says of which kind it is.
    confidence : float
        Of the intervals, between 0 and 1.

    Raises
    ------
    ValueError
        Another ending; a package is missing; what is at `path` is no such file; `store` holds no
        run.
    OSError
        It can not be written.
    """
    path = Path(path)
    check_path(path)
    if isinstance(store, (str, Path)):
        store = Store.open(store)
    if not isinstance(store, (Store, Numbers)):
        raise ValueError(f"store must be a Store or its directory, got {shorten(store)}")
    numbers = store if isinstance(store, Numbers) else Numbers.of(store, confidence)
    with timed_phase(f"writing {path}"):
        WRITERS[path.suffix](numbers, path)


def check_path(path: Path) -> None:
    """Raise what `export` raises of a path, before anything is computed."""
    if path.suffix not in WRITERS:
        raise ValueError(f"export must be to {', '.join(WRITERS)}; got {path.name!r}")
    if path.is_dir() and path.suffix != ".zarr":
        raise ValueError(f"export must be to a file, and {path} is a directory")
    if not path.is_dir():
        check_replaceable(path)
    if not path.parent.is_dir():  # which the packages report in four ways
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    for name in NEEDED.get(path.suffix, ()):
        package(name)


def _named(dataset: xarray.Dataset, path: Path) -> xarray.Dataset:
    """Rename variables as files can hold it: "T_comm per D"; `long_name` has the study's name."""
    names = {str(name): _clean(str(name)) for name in dataset.variables}
    for name, clean in names.items():
        others = [other for other in names if names[other] == clean and other != name]
        if others:
            raise ValueError(
                f"{path}: the axes {name!r} and {others[0]!r} would both be {clean!r} there; "
                "rename one"
            )
    return dataset.rename({name: clean for name, clean in names.items() if name != clean})


def _clean(name: str) -> str:
    """Letters and digits of any script, and what NetCDF allows beside them."""
    name = re.sub(r"\s*/\s*", " per ", unicodedata.normalize("NFC", name))
    name = re.sub(r"[^\w .@+-]+", "", name).strip()
    return name if re.match(r"\w", name) else f"_{name}"


def _netcdf(numbers: Numbers, path: Path) -> None:
    dataset = _named(dataset_of(numbers), path)
    with replacing(path) as temporary:
        try:
            dataset.to_netcdf(temporary, engine="netcdf4")
        except (OSError, RuntimeError) as error:  # of a full disk it says "NetCDF: HDF error"
            free = show_bytes(shutil.disk_usage(path.parent).free)
            raise OSError(errno.EIO, f"{error}; {free} are free there", str(path)) from None


def _zarr(numbers: Numbers, path: Path) -> None:
    zarr = package("zarr")
    # What every version of zarr reads; zarr 2 writes nothing else.
    format2: dict[str, Any] = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2}
    dataset = _named(dataset_of(numbers), path)
    if path.exists() and not (path / ".zgroup").exists():
        raise ValueError(f"{path} is there and is no zarr group; choose another name")
    with replacing(path, folder=True) as temporary:
        dataset.to_zarr(temporary, mode="w", consolidated=True, **format2)


def _csv(numbers: Numbers, path: Path) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        numbers.write_csv(file)


def _parquet(numbers: Numbers, path: Path) -> None:
    frame = numbers.to_pandas().assign(**numbers.origin)
    with replacing(path) as temporary:
        frame.to_parquet(temporary, engine="pyarrow", index=False)


def keep_numbers(store: Store) -> Numbers:
    """All numbers of a store that a run has just filled, which are written down beside it too.

    Not where that fails, as they may be missing, or where others have written records meanwhile.
    """
    fingerprint = None
    with suppress(OSError, ValueError):
        fingerprint = fingerprint_of(store.path)
    numbers = Numbers.of(store)
    if fingerprint is not None and store.files.is_undisturbed():
        with suppress(OSError, ValueError):
            numbers.write_cached(store.path, fingerprint)
    return numbers


def read_numbers(path: str | Path) -> Numbers:
    """All numbers of the run in the directory `path`: those that are kept there, if they fit.

    Raises
    ------
    ValueError
        `path` holds no run, or a damaged one.
    OSError
        A file can not be read.
    """
    kept = Numbers.read_cached(Path(path))
    if kept is not None:
        return kept
    store = Store.open(path)
    return keep_numbers(store) if len(store.cells) >= MANY else Numbers.of(store)


WRITERS: dict[str, Callable[[Numbers, Path], None]] = {
    ".nc": _netcdf,
    ".zarr": _zarr,
    ".csv": _csv,
    ".parquet": _parquet,
}
NEEDED = {
    ".nc": ("xarray", "netCDF4"),
    ".zarr": ("xarray", "zarr"),
    ".parquet": ("pandas", "pyarrow"),
}
