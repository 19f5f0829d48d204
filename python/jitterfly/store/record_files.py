"""Record files: samples; what a kill or power failure left half-written is cut off at resume.

A record is appended by `files.append_whole`, in the background. What a kill left half-written does
not count when a run is resumed: each record is a checkpoint. Records are not synchronized (fsync),
so a power failure may take some of the last ones whole, which are simulated again.

Realizations that are there are spans (first, end) of whole numbers, which `covering_steps` goes
through.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from ..files import append_whole, open_input
from ..studies import Cell
from .background_writer import BackgroundWriter
from .record_format import (
    Entry,
    Identity,
    Ints,
    Record,
    Wrong,
    difference,
    entry_of,
    pack_samples,
    pack_summary,
    read_payload,
    scan,
    unpack_samples,
)

Span = tuple[int, int]


def gaps(spans: Iterable[Span], first: int, end: int) -> list[Span]:
    """Return what of ``first ... end - 1`` no span holds.

    Examples
    --------
    >>> gaps([(0, 3), (2, 5), (7, 9)], 0, 12)
    [(5, 7), (9, 12)]
    """
    missing = []
    here = first
    for start, stop in sorted(spans):
        if start >= end:
            break
        if start > here:
            missing.append((here, start))
        here = max(here, stop)
    if here < end:
        missing.append((here, end))
    return missing


def union(spans: Iterable[Span]) -> list[Span]:
    """The same realizations in as few spans as possible, ascending.

    Examples
    --------
    >>> union([(5, 7), (0, 3), (3, 4)])
    [(0, 4), (5, 7)]
    """
    joined: list[Span] = []
    for first, end in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((first, end))
    return joined


class Step(NamedTuple):
    """A stretch: `record` is the number of a span to take whole, or None, with `raw`."""

    first: int
    end: int
    record: int | None
    raw: bool


def covering_steps(spans: list[Span], raw: list[Span], first: int, end: int) -> list[Step]:
    """Cover `first` to `end` without overlap, with as few missing realizations as possible.

    `spans` are records that can only be taken whole, `raw` samples, which can be cut anywhere. A
    step that is neither is missing.

    Examples
    --------
    >>> [tuple(step) for step in covering_steps([(0, 4), (4, 9), (4, 6)], [(6, 7)], 0, 8)]
    [(0, 4, 0, False), (4, 6, 2, False), (6, 7, None, True), (7, 8, None, False)]
    """
    inside = [(a, b, i) for i, (a, b) in enumerate(spans) if first <= a < b <= end]
    stops = {first, end} | {x for a, b, _ in inside for x in (a, b)}
    stops |= {x for span in raw for x in span if first < x < end}
    order = sorted(stops)
    holes = gaps(raw, first, end)
    # Least missing to reach a stop; then the fewest records, so that long ones win.
    best: dict[int, tuple[int, int, Step | None]] = {first: (0, 0, None)}

    def offer(missing: int, records: int, step: Step) -> None:
        cost, taken, _ = best[step.first]
        new = (cost + missing, taken + records, step)
        if step.end not in best or new[:2] < best[step.end][:2]:
            best[step.end] = new

    starts: dict[int, list[tuple[int, int]]] = {}
    for a, b, i in inside:
        starts.setdefault(a, []).append((b, i))
    hole = 0
    for here, following in pairwise(order):
        while hole < len(holes) and holes[hole][1] <= here:
            hole += 1
        missing = hole < len(holes) and holes[hole][0] <= here
        offer((following - here) * missing, 1, Step(here, following, None, not missing))
        for stop, number in starts.get(here, ()):
            offer(0, 1, Step(here, stop, number, False))
    steps: list[Step] = []
    last = best[end][2]
    while last is not None:
        if steps and last.record is None is steps[-1].record and last.raw == steps[-1].raw:
            steps[-1] = Step(last.first, steps[-1].end, None, last.raw)
        else:
            steps.append(last)
        last = best[last.first][2]
    return steps[::-1]


def farthest(spans: list[Span], raw: list[Span], first: int) -> int:
    """The end of the longest way from `first` on which nothing is missing.

    Examples
    --------
    >>> farthest([(4, 8), (6, 20), (8, 11)], [(0, 5)], 4), farthest([(6, 20)], [], 4)
    (11, 4)
    """
    reached = {first}
    solid = first  # all from `from_` to here can be reached, in samples
    from_ = first
    events = [(a, 1, b) for a, b in spans] + [(a, 0, b) for a, b in raw]
    for start, is_record, end in sorted(events):
        if is_record:
            if start in reached or from_ <= start < solid:
                reached.add(end)
        elif inside := [x for x in reached if start <= x < end]:
            from_, solid = min(inside), end
            reached.add(end)
    return max(reached)


class RecordFile:
    """A file of records, in order of writing; looked through once, when first asked for.

    What is no whole record counts as missing, with a line on stderr. At the end, where a run that
    was killed leaves it, the next record cuts it off; in the middle it stays and is never read.

    `shared`: the file holds records of several variants and cells; those of another one than
    is asked for are no error.
    """

    def __init__(self, path: Path, writer: BackgroundWriter | None = None, *, shared: bool = False):
        self.path, self.shared = path, shared
        self.writer = writer or BackgroundWriter()
        self.looks = 0  # how often the file was looked through: what was known before is void
        self._by_id: dict[str, list[Record]] | None = None
        self._entries: dict[Identity, list[Entry]] = {}
        self._end = self._size = 0

    def entries(self, identity: Identity) -> list[Entry]:
        """The whole records of `identity`, in order of writing; the list grows with the file."""
        self.writer.wait()
        if self._by_id is None:
            self._by_id = self._scan()
        if identity not in self._entries:
            self._entries[identity] = self._of(identity, self._by_id)
        return self._entries[identity]

    def _of(self, identity: Identity, by_id: dict[str, list[Record]]) -> list[Entry]:
        if self.shared:
            records = by_id.get(identity.id, [])
        else:
            together = [record for records in by_id.values() for record in records]
            records = sorted(together, key=lambda record: record.offset)
        entries = []
        for record in records:
            if other := difference(record.identity, identity):
                self._warn(f"the record at byte {record.offset:,} is of {other}")
            else:
                entries.append(record.entry)
        return entries

    def _scan(self) -> dict[str, list[Record]]:
        by_id: dict[str, list[Record]] = {}
        wrong: list[Wrong] = []
        self._end = self._size = 0
        self._entries = {}
        self.looks += 1
        try:
            with open_input(self.path) as file:
                self._size = file.seek(0, os.SEEK_END)
                for item in scan(file):
                    if isinstance(item, Record):
                        by_id.setdefault(item.identity.id, []).append(item)
                        self._end = item.entry.offset + item.entry.size
                    else:
                        wrong.append(item)
                        # What is not whole goes when the next record is written: it may say that
                        # it is longer, and would hide the records behind it.
                        if item.end > item.offset:
                            self._end = item.end
        except FileNotFoundError:
            return {}
        middle = [item for item in wrong if item.offset < self._end]
        for item in middle:
            self._warn(f"the record at byte {item.offset:,} is {item.what}")
        if len(middle) < len(wrong):
            self._warn(f"its end, from byte {self._end:,} on, is no whole record")
        return by_id

    def _warn(self, what: str) -> None:
        print(f"jitterfly: {self.path}: {what}; it counts as missing", file=sys.stderr)

    def refresh(self) -> None:
        """Look again if the file is not as it was left: without locks, other processes write."""
        self.writer.wait()
        if self._by_id is not None and self._size_now() != self._size:
            self._forget()

    def is_undisturbed(self) -> bool:
        """Return whether all in the file is known here, and was since the first look at it."""
        self.writer.wait()
        if self.looks > 1:  # what was read before the others is not of all records
            return False
        return self._by_id is None or self._size_now() == self._size

    def _size_now(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def append(self, identity: Identity, pack: Callable[[], bytearray]) -> None:
        """Add the record of `identity` that `pack` makes; it is made where it is written.

        `entries` must have been asked for since the file was last looked through.
        """
        self.writer(partial(self._write, identity, pack))

    def _write(self, identity: Identity, pack: Callable[[], bytearray]) -> None:
        """Write behind the caller: what it changes may be read only after `writer.wait`."""
        try:
            record, at = pack(), self._end
            append_whole(self.path, record, at)
            self._size = self._end = at + len(record)
            assert self._by_id is not None  # it was looked through for `entries`
            entry = entry_of(record, at)
            self._by_id.setdefault(identity.id, []).append(Record(at, identity, entry))
            self._entries[identity].append(entry)
        except BaseException:
            self._forget()  # the file is to be looked through again
            raise

    def _forget(self) -> None:
        self._by_id = None
        self._entries = {}
        self.looks += 1


class RecordSeries:
    """The samples of a variant, or the summaries of a cell, in a file that others may share."""

    def __init__(self, file: Path | RecordFile, identity: Identity):
        self.file = file if isinstance(file, RecordFile) else RecordFile(file)
        self.identity = identity
        # The realizations of all records, also those still to be written; void after another look.
        self._covered: list[Span] = []
        self._looks = -1
        self._known: set[Span] = set()
        self._known_of: list[Entry] | None = None
        self._known_count = 0

    @property
    def path(self) -> Path:
        """The file; it may not be there yet."""
        return self.file.path

    @property
    def entries(self) -> list[Entry]:
        """The whole records."""
        return self.file.entries(self.identity)

    @property
    def spans(self) -> list[Span]:
        """Realizations of each of `entries`."""
        return [entry.span for entry in self.entries]

    @property
    def covered(self) -> list[Span]:
        """The realizations of all records, ascending, each once."""
        if self._looks != self.file.looks:
            self._covered = union(self.spans)
            self._looks = self.file.looks
        return self._covered

    def has(self, span: Span) -> bool:
        """Return whether a record is of just these realizations, looking only at what is new."""
        entries = self.entries
        if self._known_of is not entries:
            self._known, self._known_of, self._known_count = set(), entries, 0
        self._known.update(entry.span for entry in entries[self._known_count :])
        self._known_count = len(entries)
        return span in self._known

    def samples(self, out: Ints, first: int, end: int) -> None:
        """Fill `out`, shape (end - first, columns), with those of realizations that are there."""
        if first >= end:
            return
        here = first
        entries = sorted(self.entries, key=lambda entry: entry.span)
        with open_input(self.path) as file:
            for entry in entries:
                start, stop = max(here, entry.first), min(entry.end, end)
                if start < stop:
                    payload = self._payload(file, entry)
                    unpack_samples(entry, payload, out[start - first : stop - first], start, stop)
                    here = stop

    def payload(self, number: int) -> bytes:
        """The content of ``entries[number]``."""
        entry = self.entries[number]
        with open_input(self.path) as file:
            return self._payload(file, entry)

    def _payload(self, file: BinaryIO, entry: Entry) -> bytes:
        try:
            return read_payload(file, entry)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}; try again") from None

    def append_samples(self, first: int, values: Ints) -> None:
        """Add the samples from realization `first` on, without those that are there already."""
        self.file.refresh()
        for start, end in gaps(self.covered, first, first + len(values)):
            part = np.asarray(values[start - first : end - first], np.int64)
            self._append((start, end), partial(pack_samples, self.identity, start, part))

    def append_summary(self, first: int, count: int, payload: bytes) -> None:
        """Add the summary of `count` realizations."""
        self.file.refresh()
        span = (first, first + count)
        if not self.has(span):
            self._append(span, partial(pack_summary, self.identity, first, count, payload))

    def _append(self, span: Span, pack: partial[bytearray]) -> None:
        self.file.writer.wait()  # if that went wrong, nothing here may know of this record
        self._covered = union([*self.covered, span])
        self.file.append(self.identity, pack)


MOST_OWN_FILES = 200  # files of records with names that people can read; on clusters each counts


def too_many_files(cells: Sequence[Cell]) -> bool:
    """Return whether there would be too many files if each variant and cell had its own."""
    return sum(len(cell.variants) + 1 for cell in cells) > MOST_OWN_FILES


class RecordFiles:
    """The files of records in the directory `path`, which one `writer` adds to.

    `shared`: new files are those that many cells share.
    """

    def __init__(self, path: Path, writer: BackgroundWriter, shared: bool):
        self.path, self.writer, self.shared = path, writer, shared
        self._files: dict[Path, RecordFile] = {}
        self._records: dict[str, RecordSeries] = {}  # by hash: cells may share a case

    @cached_property
    def _files_by_code(self) -> dict[str, Path]:
        """The files by what ends their name: a hash, or the two digits that many share."""
        return {path.stem.rpartition("_")[2]: path for path in sorted(self.path.glob("*.jfr"))}

    def file(self, code: str, name: Callable[[], str]) -> RecordFile:
        """The file with the records of a variant or cell, by its hash: the one it is in, if any.

        A new one is its own, with `name` in its name, or shared where there would be too many.
        """
        prefix = code[:2]
        path = self._files_by_code.get(code) or self._files_by_code.get(prefix)
        if path is None:
            path = self.path / f"{prefix if self.shared else f'{name()}_{code}'}.jfr"
        if path not in self._files:
            self._files[path] = RecordFile(path, self.writer, shared=path.stem == prefix)
        return self._files[path]

    def records(self, identity: Identity, name: Callable[[], str]) -> RecordSeries:
        """The records of a variant or cell; `name` as of `file`."""
        if identity.id not in self._records:
            self._records[identity.id] = RecordSeries(self.file(identity.id, name), identity)
        return self._records[identity.id]

    def is_undisturbed(self) -> bool:
        """Return whether nobody else has written records since they were looked through here.

        Where it is not, what was computed here may lack some of them.
        """
        return all(file.is_undisturbed() for file in self._files.values())
