"""The directory of one study: records of samples that only grow, and what is asked of them.

    OUT/study.toml      the study, word for word
    OUT/store.json      format, seed, budget and targets in use, versions, backends
    OUT/records/*.jfr   samples of a cell, or summaries of a place (see `records`); of a large
                        study 256 files that cells share, by the first two digits of their hash
    OUT/.lock           held by the run that writes, with its process and host
    OUT/progress.json   how far each cell is (see `standing`)
    OUT/numbers.npz     all estimates (see `table`); both follow from the records, and may go

A record counts when it is whole: a run that is stopped at any moment loses what was in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import notebook
from ..fields import MOST_REALIZATIONS, check_choice
from ..files import synchronize
from ..observables import PlaceData, Summary
from ..observables.measure import Ticks
from ..observables.statistics import Observed
from ..observables.targets import Decision
from ..phases import phase
from ..stats import Estimate
from ..studies.grid import Place
from ..studies.study import Study
from . import meta as metas
from .behind import Behind
from .bundle import Bundle
from .lock import locked
from .looks import last_look
from .orphans import shared_files
from .placerecords import PlaceRecords
from .recent import Recent, too_much
from .recordfile import RecordFile
from .takeover import RECORDS, check_directory, take_over

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_MOST_NAMED = 8  # runs, of those below a directory
MOST_OWN_FILES = 200  # files of records with names that people can read; on clusters each counts


def _too_many(places: Sequence[Place]) -> bool:
    """Whether places would have too many files if each cell had its own."""
    return sum(len(place.cells) + 1 for place in places) > MOST_OWN_FILES


class Store:
    """A study's directory; `meta` is the content of store.json."""

    def __init__(self, path: Path, study: Study, meta: Mapping[str, Any], new: Sequence[Path] = ()):
        self.path, self.study, self.meta = Path(path), study, dict(meta)
        self._new = new  # files that a power cut may still empty
        self.open_files: dict[str, RecordFile] = {}  # by hash: places may share a cell
        self.recent, self.behind = Recent(), Behind()
        self._bundles: dict[Path, Bundle] = {}
        self._records: dict[int, PlaceRecords] = {}
        self._data: dict[tuple[int, int], PlaceData] = {}
        self._decisions: dict[int, tuple[int, Decision]] = {}

    def __repr__(self) -> str:
        return f"Store({self.study.name!r} in {str(self.path)!r}: {len(self.places)} places)"

    @classmethod
    @contextmanager
    def create(cls, path: str | Path, study: Study, *, force: bool = False) -> Iterator[Store]:
        """Hold `path` for a run: it must be empty or hold the same study, smaller or larger.

        A larger budget, more values, other targets and observables extend what is there.

        Raises:
            ValueError: another run is writing there; it holds another study or one of another
                version (unless `force`), or other files.
            OSError: it can not be written.
        """
        path = Path(path)
        with phase("naming cells"):
            meta = metas.describe(study)
        check_directory(path, force)
        with locked(path):
            with phase(f"comparing with what is in {path}"):
                meta = take_over(path, study, meta, force)
                (path / RECORDS).mkdir(exist_ok=True)
                if _too_many(study.places()) or shared_files(path):
                    meta["format"] = metas.SHARED_FORMAT
                new = metas.write_study(path, study) + metas.write_meta(path, meta)
            yield cls(path, study, meta, new)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Within, what is added is written behind the caller; at the end all of it is there."""
        with self.behind.on():
            self.behind(partial(synchronize, self._new))
            yield

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """The store of an earlier run, to read; nothing is written."""
        path = Path(path)
        if not (path / metas.META).is_file():
            raise ValueError(f"{path} holds no run (no {metas.META} in it){_hint(path)}")
        meta = metas.read_meta(path)
        return cls(path, metas.read_study(path, meta), meta)

    def note(self, *, backend: str) -> None:
        """Keep on record which backends samples were made by."""
        if backend not in self.meta["backend"]:
            self.meta["backend"] = sorted([*self.meta["backend"], backend])
            self.behind(partial(metas.write_meta, self.path, dict(self.meta)))

    # --- what is there

    @cached_property
    def places(self) -> list[Place]:
        """The study's places, in its order."""
        return self.study.places()

    @cached_property
    def files(self) -> dict[str, Path]:
        """Files of records by what ends their name: a hash, or the two digits that many share."""
        found = sorted((self.path / RECORDS).glob("*.jfr"))
        return {path.stem.rpartition("_")[2]: path for path in found}

    @cached_property
    def _many(self) -> bool:
        return _too_many(self.places)

    def bundle(self, code: str, name: Callable[[], str]) -> Bundle:
        """The file with the records of a cell or place, by its hash: the one that it is in, if any.

        A new one is its own, with `name` in its name, or shared where there would be too many.
        """
        shared = code[:2]
        path = self.files.get(code) or self.files.get(shared)
        if path is None:
            stem = shared if self._many else f"{name()}_{code}"
            path = self.path / RECORDS / f"{stem}.jfr"
        if path not in self._bundles:
            self._bundles[path] = Bundle(path, self.behind, shared=path.stem == shared)
        return self._bundles[path]

    def is_undisturbed(self) -> bool:
        """Whether nobody else has written records since they were looked through here.

        Where it is not, what was computed here may lack some of them.
        """
        return all(bundle.is_undisturbed() for bundle in self._bundles.values())

    def records(self, place: Place) -> PlaceRecords:
        """The files of a place."""
        if place.index not in self._records:
            self._records[place.index] = PlaceRecords(self, place)
        return self._records[place.index]

    def available(self, place: Place) -> int:
        """Realizations from 0 on that are there without a gap."""
        return self.records(place).available(MOST_REALIZATIONS)

    def missing(self, place: Place, upto: int) -> list[tuple[int, int]]:
        """What `data` of `upto` realizations lacks: pairs of first realization and how many."""
        return self.records(place).missing(upto)

    def complete(self, place: Place) -> bool:
        """Whether nothing is left to run at a place."""
        return self.decision(place).next is None

    # --- adding

    def append(
        self, place: Place, first: int, ticks: Ticks | None, summary: Summary | None, count: int
    ) -> None:
        """Add the realizations from `first` on: samples up to `raw_limit`, a summary beyond it.

        Samples that are there already are not written again. Nobody may write into `ticks`.

        Raises:
            OSError: a full disk, with the name of the file, which is as it was before; while
                `behind` is on, by the next call.
        """
        self.records(place).append(first, ticks, summary, count)

    # --- reading

    def ticks(self, place: Place, count: int) -> Ticks:
        """Samples of the first `count` realizations, which must be there as samples."""
        return self.records(place).ticks(0, count)

    def data(self, place: Place, count: int) -> PlaceData:
        """Samples up to the place's `raw_limit`, and the summary of the rest up to `count`.

        Raises:
            ValueError: some of them are missing.
        """
        key = (place.index, count)
        if key not in self._data:
            read = [d.ticks for (i, n), d in self._data.items() if i == place.index and n <= count]
            known = max(filter(None, read), key=len, default=None)
            self._data[key] = self.records(place).data(count, known)
            while len(self._data) > 1 and too_much(self._data.values()):
                del self._data[next(iter(self._data))]
        return self._data[key]

    def families(self, place: Place) -> Mapping[str, Any]:
        """Of a place, by name."""
        return self.study.families(place)

    def decision(self, place: Place) -> Decision:
        """Which targets are met, and how many realizations come next: a function of the data."""
        available = self.records(place).available(place.limit)
        known, decision = self._decisions.get(place.index, (-1, None))
        if decision is None or known != available:
            decision = last_look(self, place, available)
            self._decisions[place.index] = available, decision
        return decision

    def observed(self, place: Place, name: str) -> Observed:
        """One observable over the realizations of the last look.

        Raises:
            ValueError: there are none yet, or no such observable at this place.
        """
        count = self.decision(place).realizations
        if not count:
            raise ValueError(f"{self.path}: {place.name} has no realizations yet; run the study")
        families = self.families(place)
        return Observed(
            families[check_choice(name, "observable", list(families))], self.data(place, count)
        )

    def estimate(
        self, place: Place, name: str, statistic: str, confidence: float = 0.95
    ) -> Estimate:
        """A statistic of an observable, over the realizations of the last look.

        With targets the data decided when to stop: every interval holds whenever that was.
        """
        level = self.decision(place).level(confidence)
        found = self.observed(place, name).statistic(statistic, level)
        return replace(found, confidence=confidence)

    def to_xarray(self, confidence: float = 0.95) -> Any:
        """See `dataset.to_xarray`."""
        from . import dataset

        return dataset.to_xarray(self, confidence)

    def to_pandas(self, confidence: float = 0.95) -> pandas.DataFrame:
        """A long table: the axes, then observable, unit, chosen_T, statistic, value, low, high,
        confidence, realizations, exact. Times in seconds.

        Raises:
            ValueError: pandas is not installed.
        """
        from . import table

        return table.Numbers.of(self, confidence).to_pandas()

    def plot(
        self,
        path: str | Path | None = None,
        *,
        kind: str | None = None,
        observable: str | None = None,
    ) -> Figure:
        """The study's own figure, or another one, as `jitterfly plot`.

        Args:
            path: where the picture is written, too.
            kind: one of the figures' names, such as "curves"; without it the study's own.
            observable: the only one that is shown, for kinds that can show several.

        Raises:
            ValueError: no matplotlib, an ending that it does not know, a kind that does not suit
                the study, or no data yet.
        """
        return notebook.picture_of_study(self, kind, observable, path)

    def _repr_html_(self) -> str:
        from . import table

        return table.to_html(self)


def _hint(path: Path) -> str:
    """What may be meant by a directory without a run."""
    if not path.is_dir():
        return ""
    below = sorted(found.parent.name for found in path.glob(f"*/{metas.META}"))
    if below:
        more = f" and {len(below) - _MOST_NAMED:,} more" if len(below) > _MOST_NAMED else ""
        return f"; runs below it: {', '.join(below[:_MOST_NAMED])}{more}"
    return "; one that has just begun checks its cells first"
