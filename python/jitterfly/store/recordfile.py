"""One file of records: what is in it, reading, and adding to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from ..files import append_whole
from .behind import Behind
from .records import (
    Entry,
    Identity,
    Ints,
    Wrong,
    entry_of,
    pack_samples,
    pack_summary,
    read_payload,
    scan,
    unpack_samples,
)
from .spans import Span, gaps, union


class RecordFile:
    """The records of a cell or a place, in order of writing; looked through when first asked for.

    What is no whole record counts as missing, with a line on stderr. At the end, where a run that
    was killed leaves it, the next record cuts it off; in the middle it stays and is never read.
    """

    def __init__(self, path: Path, identity: Identity, behind: Behind | None = None):
        self.path, self.identity = path, identity
        self._behind = behind or Behind()  # who writes; `covered` is ahead of it
        self._entries: list[Entry] | None = None
        self._covered: list[Span] | None = None
        self._end = self._size = 0

    @property
    def entries(self) -> list[Entry]:
        """The whole records."""
        self._behind.wait()
        if self._entries is None:
            self._entries = self._look_through()
        return self._entries

    @property
    def spans(self) -> list[Span]:
        """Realizations of each of `entries`."""
        return [entry.span for entry in self.entries]

    @property
    def covered(self) -> list[Span]:
        """The realizations of all records, ascending, each once."""
        if self._covered is None:
            self._covered = union(self.spans)
        return self._covered

    def _look_through(self) -> list[Entry]:
        entries: list[Entry] = []
        wrong: list[Wrong] = []
        self._end = self._size = 0
        try:
            with self.path.open("rb") as file:
                self._size = file.seek(0, os.SEEK_END)
                for found in scan(file, self.identity):
                    if isinstance(found, Entry):
                        entries.append(found)
                        self._end = found.offset + found.size
                    else:
                        wrong.append(found)
                        self._end = max(self._end, found.end)
        except FileNotFoundError:
            return []
        middle = [found for found in wrong if found.offset < self._end]
        for found in middle:
            self._say(f"the record at byte {found.offset:,} is {found.what}")
        if len(middle) < len(wrong):
            self._say(f"its end, from byte {self._end:,} on, is no whole record")
        return entries

    def _say(self, what: str) -> None:
        print(f"jitterfly: {self.path}: {what}; it counts as missing", file=sys.stderr)

    def samples(self, out: Ints, first: int, end: int) -> None:
        """Fill `out`, shape (end - first, columns), with those of realizations that are there."""
        if first >= end:
            return
        here = first
        entries = sorted(self.entries, key=lambda entry: entry.span)
        with self.path.open("rb", buffering=0) as file:
            for entry in entries:
                start, stop = max(here, entry.first), min(entry.end, end)
                if start < stop:
                    payload = self._payload(file, entry)
                    unpack_samples(entry, payload, out[start - first : stop - first], start, stop)
                    here = stop

    def payload(self, number: int) -> bytes:
        """The content of ``entries[number]``."""
        entry = self.entries[number]
        with self.path.open("rb", buffering=0) as file:
            return self._payload(file, entry)

    def _payload(self, file: object, entry: Entry) -> bytes:
        try:
            return read_payload(file, entry)  # type: ignore[arg-type]
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}; try again") from None

    def append_samples(self, first: int, values: Ints) -> None:
        """Add the samples from realization `first` on, without those that are there already."""
        self._refresh()
        for start, end in gaps(self.covered, first, first + len(values)):
            part = np.asarray(values[start - first : end - first], np.int64)
            self._append((start, end), partial(pack_samples, self.identity, start, part))

    def append_summary(self, first: int, count: int, payload: bytes) -> None:
        """Add the summary of `count` realizations."""
        self._refresh()
        span = (first, first + count)
        if not any(entry.span == span for entry in self.entries):
            self._append(span, partial(pack_summary, self.identity, first, count, payload))

    def _refresh(self) -> None:
        """Look again if the file is not as it was left: where there are no locks, others write."""
        self._behind.wait()
        if self._entries is not None:
            size = self.path.stat().st_size if self.path.exists() else 0
            if size != self._size:
                self._entries = self._covered = None

    def _append(self, span: Span, pack: Callable[[], bytearray]) -> None:
        """Add the record that `pack` makes; it is made where it is written."""
        self._behind.wait()  # if that went wrong, nothing here may know of this record
        self._covered = union([*self.covered, span])
        self._behind(partial(self._write, pack))

    def _write(self, pack: Callable[[], bytearray]) -> None:
        """Runs behind: what it changes is read by those who waited for it."""
        try:
            record, at = pack(), self._end
            append_whole(self.path, record, at)
            self._size = self._end = at + len(record)
            assert self._entries is not None  # they were looked through for `covered`
            self._entries.append(entry_of(record, at))
        except BaseException:
            self._entries = self._covered = None  # the file is to be looked through again
            raise
