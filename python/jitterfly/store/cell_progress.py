"""Progress of a run per cell, as written to `progress.json`."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..observables import Decision, Target, TargetState
from ..progress import counted_progress
from ..stats import Estimate
from ..studies import shown_labels
from .run_directory import (
    MANY,
    META,
    PROGRESS,
    RECORDS,
    UNKNOWN,
    fingerprint_of,
    holder,
    read_cached,
    started_shards,
    study_of,
    valid_content,
    write_cached,
)
from .store import Store

_SOON = 60.0  # seconds, from what a run wrote down last to its last record


class CellProgress(NamedTuple):
    """One cell: realizations that are there, what was decided by them, and units of its targets."""

    labels: tuple[str, ...]
    coordinates: tuple[float | str, ...]
    available: int
    limit: int
    decision: Decision
    units: tuple[str, ...]

    @classmethod
    def of(cls, store: Store, index: int, decision: Decision | None = None) -> CellProgress:
        """Make the progress of a cell from its data."""
        cell = store.cells[index]
        decision = store.decision(cell) if decision is None else decision
        families = store.families(cell) if decision.states else {}
        return cls(
            shown_labels(store.study, cell),
            tuple(cell.coordinates.values()),
            store.available(cell),
            cell.limit,
            decision,
            tuple(families[state.target.observable].unit for state in decision.states),
        )

    @property
    def looked(self) -> int:
        """The realizations of the last look, also when more came since; before it all that count.

        Where a run ended between two looks, it is all that is there, too.
        """
        here = min(self.available, self.limit)
        return self.decision.realizations if self.decision.look >= 0 else here

    @property
    def complete(self) -> bool:
        """Return whether nothing is left to run."""
        return self.decision.next is None


@dataclass(frozen=True)
class RunProgress:
    """The progress of the run in the directory `path`.

    `age` is None where it is so now, else seconds since it was so; or, where no run is going on,
    seconds between then and the end of a run that was killed. `holder` says who runs it, such
    as `pid 12 on host`; "" where that is not known, None where no run is going on, `lock.UNKNOWN`
    where it is not known whether one is. `shards` are those that it is the sum of, if any;
    `shards_hold_more`: they were joined into it, and have gone on since.
    """

    path: Path
    title: str
    axes: tuple[str, ...]
    targets: tuple[Target, ...]
    cells: tuple[CellProgress, ...]
    age: float | None = None
    holder: str | None = None
    shards: tuple[RunProgress, ...] = ()
    shards_hold_more: bool = False

    @property
    def finished(self) -> int:
        """The number of cells that need no more."""
        return sum(cell.complete for cell in self.cells)

    @property
    def realizations(self) -> int:
        """The number of realizations of all cells together."""
        return sum(cell.available for cell in self.cells)

    @classmethod
    def of(cls, store: Store) -> RunProgress:
        """Make the progress of a run from its records."""
        reading = counted_progress(store.cells, len(store.cells), "reading cells")
        cells = [CellProgress.of(store, cell.index) for cell in reading]
        return _run_progress(store, cells, who=holder(store.path))

    def to_json(self) -> bytes:
        """Write it for `from_json`; targets by their number."""
        number = {target: i for i, target in enumerate(self.targets)}
        cells = [[*cell[:4], _plain_decision(cell.decision, number), cell.units]
                 for cell in self.cells]  # fmt: skip
        table = {
            "title": self.title,
            "axes": self.axes,
            "targets": [str(target) for target in self.targets],
            "cells": cells,
        }
        return json.dumps(table, allow_nan=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, path: Path, text: bytes, age: float | None, who: str | None) -> RunProgress:
        """Read what `to_json` made.

        Raises
        ------
        ValueError
            It is something else.
        """
        try:
            return cls._from_table(path, json.loads(text), age, who)
        except (KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path / PROGRESS}: {error}") from None

    @classmethod
    def _from_table(cls, path: Path, table: Any, age: float | None, who: str | None) -> RunProgress:
        """Make it of the table in progress.json, whose types are checked."""
        words = [table["title"], *table["axes"]]
        words += [label for labels, *_ in table["cells"] for label in labels]
        targets = tuple(map(Target.parse, table["targets"]))
        cells = tuple(
            CellProgress(tuple(labels), tuple(coordinates), available, limit,
                         _read_decision(decision, targets), tuple(units))
            for labels, coordinates, available, limit, decision, units in table["cells"]
        )  # fmt: skip
        words += [unit for cell in cells for unit in cell.units]
        if not all(isinstance(word, str) for word in words):
            raise TypeError("names must be text")
        counts = [n for cell in cells for n in (cell.available, cell.limit, cell.looked)]
        if not all(type(number) is int and number >= 0 for number in counts):
            raise TypeError("realizations must be integers")
        return cls(path, table["title"], tuple(table["axes"]), targets, cells, age, who)


def run_progress(path: str | Path) -> RunProgress:
    """Return how far the run in the directory `path` is, or all shards in it not merged yet.

    What the run wrote down, if the records are still those. While it goes on, what it wrote down
    last; so too of many cells, where it was killed soon after that. Else the records are read, and
    what they say of many cells is written down.

    Raises
    ------
    ValueError
        `path` holds no run, a damaged one, or shards of several studies.
    OSError
        A file can not be read.
    """
    path = Path(path)
    progress = _progress(path)
    if progress.shards or progress.finished == len(progress.cells):
        return progress
    shards = map(_progress, started_shards(path))
    there = {cell.labels: cell.available for cell in progress.cells}
    more = any(cell.available > there.get(cell.labels, cell.available)
               for shard in shards for cell in shard.cells)  # fmt: skip
    return replace(progress, shards_hold_more=more)


def _progress(path: Path) -> RunProgress:
    """Return the progress of a run: as it wrote it down lately, or else from its records."""
    file = path / PROGRESS
    if (path / META).is_file():
        who = holder(path)
        if (content := valid_content(file)) is not None:
            with suppress(ValueError):  # not what a run writes: it is made again
                return RunProgress.from_json(path, content, None, who)
        kept = read_cached(file)
        if kept is not None and who not in (None, UNKNOWN) and kept.study == study_of(path):
            with suppress(ValueError):
                age = max(time.time() - kept.time, 0.0)
                return RunProgress.from_json(path, kept.content, age, who)
        if kept is not None and who is None and kept.study == study_of(path):
            times = [file.stat().st_mtime for file in (path / RECORDS).glob("*.jfr")]
            age = max(times, default=kept.time) - kept.time
            with suppress(ValueError):
                progress = RunProgress.from_json(path, kept.content, max(age, 0.0), who)
                if len(progress.cells) >= MANY and 0 <= age <= _SOON:
                    return progress
    elif started := started_shards(path):
        return _sum_of_shards(path, [run_progress(shard) for shard in started])
    store = Store.open(path)
    fingerprint = None
    with suppress(OSError, ValueError):
        fingerprint = fingerprint_of(path)
    progress = RunProgress.of(store)
    if len(progress.cells) >= MANY and progress.holder is None and fingerprint is not None:
        with suppress(OSError, ValueError):
            if store.files.is_undisturbed():
                write_cached(file, progress.to_json(), fingerprint)
    return progress


def _sum_of_shards(path: Path, shards: Sequence[RunProgress]) -> RunProgress:
    """Each cell as the shard has it that is farthest: the others leave it to that one."""
    first = shards[0]
    labels = [cell.labels for cell in first.cells]
    for shard in shards:
        same = (shard.title, shard.axes, shard.targets) == (first.title, first.axes, first.targets)
        if not same or [cell.labels for cell in shard.cells] != labels:
            raise ValueError(f"{first.path} and {shard.path} are of different studies")
    cells = zip(*(shard.cells for shard in shards), strict=True)
    farthest = [max(own, key=lambda cell: (cell.complete, cell.available)) for own in cells]
    holders = [shard.holder for shard in shards if shard.holder not in (None, UNKNOWN)]
    unknown = UNKNOWN if any(shard.holder == UNKNOWN for shard in shards) else None
    return replace(
        first,
        path=path,
        cells=tuple(farthest),
        age=max((shard.age for shard in shards if shard.age is not None), default=None),
        holder=", ".join(map(str, holders)) if holders else unknown,
        shards=tuple(shards),
    )


def is_finished(store: Store) -> bool:
    """Return whether a run wrote down that each cell is finished, and its records are unchanged.

    Of few cells they are read: one that is damaged has the size that it had. The store then knows
    what the last look at each cell decided.
    """
    content = valid_content(store.path / PROGRESS)
    if content is None:
        return False
    try:
        written = RunProgress.from_json(store.path, content, None, None).cells
    except ValueError:
        return False
    if len(written) != len(store.cells) or not all(cell.complete for cell in written):
        return False
    both = list(zip(store.cells, written, strict=True))
    if len(both) < MANY and any(store.available(cell) < then.available for cell, then in both):
        return False
    for cell, then in both:
        store.keep_decision(cell, then.available, then.decision)
    return True


class ProgressWriter:
    """A writer of how far a run is, as often as costs next to nothing, and at its end."""

    LEAST = 5.0  # seconds between two times
    SHARE = 0.02  # of the run's time, at most

    def __init__(self, store: Store, decisions: Sequence[Decision | None]):
        self.store = store
        known = counted_progress(decisions, len(decisions), "counting realizations")
        self.cells = [CellProgress.of(store, i, decision) for i, decision in enumerate(known)]
        self._changed: dict[int, Decision | None] = {}
        self._pause = 0.0
        self._last = -math.inf

    def step(self, index: int, decision: Decision | None) -> None:
        """Note that something came to the cell `index`."""
        self._changed[index] = decision
        if time.monotonic() - self._last >= self._pause:
            self.write()

    def look_again(self) -> None:
        """Look at unfinished cells with all their data, as a run may end between two looks."""
        self._changed = {i: None for i, cell in enumerate(self.cells) if not cell.complete}

    def write(self) -> None:
        """Write how far the run is; nothing where that is not known, or can not be written.

        An error here ends no run, as the file may be missing; what is wrong with a disk or a store
        is said where records are written or read. Nothing is written where another process has
        added records, either: there are no locks, or the lock was let go. Cells could lack these.
        """
        started = time.monotonic()
        self.store.writer.wait()  # what is said to be there is on disk
        with suppress(OSError, ValueError):
            fingerprint = fingerprint_of(self.store.path)
            for index, decision in self._changed.items():
                self.cells[index] = CellProgress.of(self.store, index, decision)
            self._changed.clear()
            content = _run_progress(self.store, self.cells).to_json()
            if self.store.files.is_undisturbed():
                write_cached(self.store.path / PROGRESS, content, fingerprint)
        self._last = time.monotonic()
        self._pause = max(self.LEAST, (self._last - started) / self.SHARE)


def _run_progress(
    store: Store, cells: Sequence[CellProgress], who: str | None = None
) -> RunProgress:
    study = store.study
    axes = tuple(axis.name for axis in study.axes)
    title = study.title or study.name
    return RunProgress(store.path, title, axes, tuple(study.targets), tuple(cells), None, who)


def _plain_decision(decision: Decision, number: Mapping[Target, int]) -> list[Any]:
    """Return a decision as lists for JSON; `number` has the place of each target."""
    states = []
    for one in decision.states:
        ends = [_plain(float(end)) for end in one.estimate]
        count = [one.estimate.confidence, one.estimate.realizations]
        target = [number[one.target], one.met, _plain(one.error), one.why, one.unseen]
        states.append([*target, *ends, *count])
    return [decision.look, decision.realizations, decision.next, decision.share, states]


def _read_decision(values: Any, targets: Sequence[Target]) -> Decision:
    """Read what `_plain_decision` made."""
    look, realizations, next_look, share, states = values
    reached = []
    for number, met, error, why, unseen, value, low, high, confidence, count in states:
        estimate = Estimate(float(value), float(low), float(high), confidence, count)
        reached.append(
            TargetState(targets[number], met, float(error), estimate, str(why), str(unseen))
        )
    return Decision(int(look), realizations, next_look, tuple(reached), float(share))


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)
