"""One file of records, of one cell or of many: what is in it, and adding to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..files import append_whole
from .behind import Behind
from .records import Entry, Identity, Record, Wrong, difference, entry_of, scan


class Bundle:
    """The records of a file in order of writing; looked through once, when first asked for.

    What is no whole record counts as missing, with a line on stderr. At the end, where a run that
    was killed leaves it, the next record cuts it off; in the middle it stays and is never read.

    `shared`: the file holds records of several cells and places; those of another one than is asked
    for are no error.
    """

    def __init__(self, path: Path, behind: Behind | None = None, *, shared: bool = False):
        self.path, self.shared = path, shared
        self.behind = behind or Behind()
        self.looks = 0  # how often the file was looked through: what was known before is void
        self._by_id: dict[str, list[Record]] | None = None
        self._entries: dict[Identity, list[Entry]] = {}
        self._end = self._size = 0

    def entries(self, identity: Identity) -> list[Entry]:
        """The whole records of `identity`, in order of writing; the list grows with the file."""
        self.behind.wait()
        if self._by_id is None:
            self._by_id = self._look_through()
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
                self._say(f"the record at byte {record.offset:,} is of {other}")
            else:
                entries.append(record.entry)
        return entries

    def _look_through(self) -> dict[str, list[Record]]:
        by_id: dict[str, list[Record]] = {}
        wrong: list[Wrong] = []
        self._end = self._size = 0
        self._entries = {}
        self.looks += 1
        try:
            with self.path.open("rb") as file:
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
            self._say(f"the record at byte {item.offset:,} is {item.what}")
        if len(middle) < len(wrong):
            self._say(f"its end, from byte {self._end:,} on, is no whole record")
        return by_id

    def _say(self, what: str) -> None:
        print(f"jitterfly: {self.path}: {what}; it counts as missing", file=sys.stderr)

    def refresh(self) -> None:
        """Look again if the file is not as it was left: without locks, other processes write."""
        self.behind.wait()
        if self._by_id is not None and self._size_now() != self._size:
            self._forget()

    def is_undisturbed(self) -> bool:
        """Whether all that is in the file is known here, and was since the first look at it."""
        self.behind.wait()
        if self.looks > 1:  # what was read before the others is not of all records
            return False
        return self._by_id is None or self._size_now() == self._size

    def _size_now(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def append(self, identity: Identity, pack: Callable[[], bytearray]) -> None:
        """Add the record of `identity` that `pack` makes; it is made where it is written.

        `entries` must have been asked for since the file was last looked through.
        """
        self.behind(partial(self._write, identity, pack))

    def _write(self, identity: Identity, pack: Callable[[], bytearray]) -> None:
        """Runs behind the caller: what it changes may be read only after `behind.wait`."""
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
