"""`Store`: a study on disk, its files and what each holds; resume, samples, plots, export (pandas).

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

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import optional_packages
from ..answer import write_if_path
from ..fields import MOST_REALIZATIONS, check_choice, first_few, visible
from ..files import synchronize
from ..observables import (
    CellData,
    Computed,
    Decision,
    Observed,
    Summary,
    Ticks,
    decide,
)
from ..progress import timed_phase
from ..stats import Estimate
from ..studies import Cell, Study
from ..studies.study import find_cell
from . import numbers, run_directory
from .cell_records import CellRecords, RecentSamples
from .records import BackgroundWriter, RecordFiles, too_many_files
from .run_directory import (
    RECORDS,
    check_directory,
    locked,
    resume_or_clear,
    shared_files,
    started_shards,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_MOST_NAMED = 8  # runs, of those below a directory
# Data of cells that stay in memory: how many, and bytes of their samples. What is computed of them
# early is as much again.
_MOST_DATA, MOST_DATA_BYTES = 16, 2**27
# Numbers stay longer than the samples that they were computed of: tables, pictures and claims ask
# for the same ones, one after the other.
_MOST_COMPUTED_BYTES = 2**26


class Store:
    """A study's directory; `meta` is the content of store.json."""

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
        return self.records(cell).available(MOST_REALIZATIONS)

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
        while self._computed and self._computed_bytes > _MOST_COMPUTED_BYTES:
            self._computed_bytes -= self._computed.pop(next(iter(self._computed)))[0]

    def _is_too_much(self) -> bool:
        """Return whether more data are in memory than there shall be."""
        size = sum(data.nbytes for data in self._data.values())
        return size > MOST_DATA_BYTES or len(self._data) > _MOST_DATA

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
        """Keep what the looks at so many realizations decided, until there are others."""
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
        _ = found.data.ticks  # read now: who holds it need not keep the files
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
        return f"; runs below it: {first_few(below, _MOST_NAMED)}"
    return "; one that has just begun checks its cells first"
