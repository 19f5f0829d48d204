"""Record files: samples; what a kill or power failure left half-written is cut off at resume.

A record is appended by `files.append_whole`, in the background. What a kill left half-written does
not count when a run is resumed: each record is a checkpoint. Records are not synchronized (fsync),
so a power failure may take some of the last ones whole, which are simulated again.

Realizations that are there are spans (first, end) of whole numbers, which `cover` goes through.
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
    record: int | None = None
    raw: bool = False

    @property
    def missing(self) -> bool:
        """Return whether there is neither a record nor samples of it."""
        return self.record is None and not self.raw


def cover(spans: Sequence[Span], raw: Sequence[Span], first: int, end: int) -> list[Step]:
    """Cover `first` to `end` from left to right, without a gap where there is such a way.

    `spans` are records that can only be taken whole, `raw` samples, which can be cut anywhere. A
    run writes no record of realizations that it has, but looks at other numbers of them (another
    budget), and parts that were joined (shards), may leave some that overlap.

    Examples
    --------
    >>> [tuple(step) for step in cover([(0, 4), (4, 9), (4, 6)], [(6, 7)], 0, 8)]
    [(0, 4, 0, False), (4, 6, 2, False), (6, 7, None, True), (7, 8, None, False)]
    """
    steps = [Step(a, b, i) for i, (a, b) in enumerate(spans) if first <= a < b <= end]
    stops = {first, end, *(step.first for step in steps), *(step.end for step in steps)}
    for start, stop in raw:
        start, stop = max(start, first), min(stop, end)
        cuts = {start, stop, *(x for x in stops if start < x < stop)} if start < stop else set()
        steps += [Step(a, b, raw=True) for a, b in pairwise(sorted(cuts))]
    reached: dict[int, Step] = {}  # the step that ends there
    here = first  # what was reached so far
    for step in sorted(steps, key=lambda step: (step.first, -step.end)):
        if step.first > here:  # nothing leads there
            reached[step.first] = Step(here, step.first)
        if step.first == first or step.first in reached:
            reached.setdefault(step.end, step)
            here = max(here, step.end)
    if here < end:
        reached[end] = Step(here, end)
    way: list[Step] = []
    while end > first:
        step = reached[end]
        if way and step.raw and way[-1].raw:
            way[-1] = Step(step.first, way[-1].end, raw=True)
        else:
            way.append(step)
        end = step.first
    return way[::-1]


def contiguous_end(spans: Sequence[Span], raw: Sequence[Span], first: int, end: int) -> int:
    """The end of what is there from `first` on without a gap, `end` at most.

    Examples
    --------
    >>> contiguous_end([(4, 8), (6, 20), (8, 11)], [(0, 5)], 4, 30)
    11
    """
    steps = cover(spans, raw, first, end)
    return next((step.first for step in steps if step.missing), end)


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
        if gaps(self.covered, *span) or span not in self.spans:
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
