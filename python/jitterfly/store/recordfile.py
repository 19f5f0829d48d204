"""The records of one cell or place: what there is, reading, and adding to it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .behind import Behind
from .bundle import Bundle
from .records import (
    Entry,
    Identity,
    Ints,
    pack_samples,
    pack_summary,
    read_payload,
    unpack_samples,
)
from .spans import Span, gaps, union


class RecordFile:
    """The records of a cell or a place, in order of writing, in a file that it may share."""

    def __init__(self, file: Path | Bundle, identity: Identity, behind: Behind | None = None):
        self.bundle = file if isinstance(file, Bundle) else Bundle(file, behind)
        self.identity = identity
        # The realizations of all records, also those still to be written; void after another look.
        self._covered: list[Span] = []
        self._looks = -1

    @property
    def path(self) -> Path:
        """The file; it may not be there yet."""
        return self.bundle.path

    @property
    def entries(self) -> list[Entry]:
        """The whole records."""
        return self.bundle.entries(self.identity)

    @property
    def spans(self) -> list[Span]:
        """Realizations of each of `entries`."""
        return [entry.span for entry in self.entries]

    @property
    def covered(self) -> list[Span]:
        """The realizations of all records, ascending, each once."""
        if self._looks != self.bundle.looks:
            self._covered = union(self.spans)
            self._looks = self.bundle.looks
        return self._covered

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

    def _payload(self, file: BinaryIO, entry: Entry) -> bytes:
        try:
            return read_payload(file, entry)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}; try again") from None

    def append_samples(self, first: int, values: Ints) -> None:
        """Add the samples from realization `first` on, without those that are there already."""
        self.bundle.refresh()
        for start, end in gaps(self.covered, first, first + len(values)):
            part = np.asarray(values[start - first : end - first], np.int64)
            self._append((start, end), partial(pack_samples, self.identity, start, part))

    def append_summary(self, first: int, count: int, payload: bytes) -> None:
        """Add the summary of `count` realizations."""
        self.bundle.refresh()
        span = (first, first + count)
        if not any(entry.span == span for entry in self.entries):
            self._append(span, partial(pack_summary, self.identity, first, count, payload))

    def _append(self, span: Span, pack: partial[bytearray]) -> None:
        self.bundle.behind.wait()  # if that went wrong, nothing here may know of this record
        self._covered = union([*self.covered, span])
        self.bundle.append(self.identity, pack)
