"""Record format of a store (.jfr): append-only blocks of samples, which survive a kill; writer.

A file holds the records of one variant, of one cell, or of many: each says what it is of.

    "JFR2", u32 length of the header, u64 length of the payload, u32 CRC of the payload,
    u32 CRC of all before and of the header; the header, JSON; the payload. Little endian.

The header of samples holds what they are of (`Identity`), the first realization, how many, and
how they are packed: each column less its smallest value (`base`), in the fewest bytes that hold
all of them. Nothing is lost: any int64 comes back.

A record is appended by `files.append_whole`, in the background. What a kill left half-written does
not count when a run is resumed: each record is a checkpoint. Records are not synchronized (fsync),
so a power failure may take some of the last ones whole, which are simulated again.

Realizations that are there are spans (first, end) of whole numbers, which `cover` goes through.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import struct
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..backends import core
from ..fields import MAX_REALIZATIONS, MAX_SEED
from ..files import append_whole, open_input
from ..observables.measure import PACKINGS, WIDEST, Piece, narrow_packing
from ..studies import Cell

MAGIC = b"JFR2"
RAW, SUMMARY = "raw", "summary"
_PREFIX = struct.Struct("<4sIQII")
_CHUNK = 1 << 22
_TYPES = (*PACKINGS, WIDEST)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Identity:
    """The owner of records: a variant (samples) or a cell (summaries), and a seed."""

    kind: str
    id: str
    seed: int
    stream: int
    columns: tuple[str, ...]

    def header(self, first: int, count: int, **more: Any) -> dict[str, Any]:
        """The header of a record."""
        return {**vars(self), "first": first, "count": count, **more}


@dataclass(frozen=True)
class Entry:
    """A whole record in a file: realizations `first` to `end` - 1, and where its payload is."""

    first: int
    end: int
    offset: int
    size: int
    crc: int
    packing: str = ""
    base: tuple[int, ...] = ()

    @property
    def span(self) -> tuple[int, int]:
        """`first` and `end`."""
        return self.first, self.end


def pack_samples(identity: Identity, first: int, values: Ints) -> bytearray:
    """The record of samples, shape (realizations, columns)."""
    base, packing = narrow_packing(values)
    header = identity.header(first, len(values), packing=packing, base=base.tolist())
    size = values.size * np.dtype(packing).itemsize
    record, body = _frame(header, size)
    packed = np.frombuffer(body, packing).reshape(values.shape)
    core.pack_offsets(values, base, packed)
    return _seal(record, size)


def pack_summary(identity: Identity, first: int, count: int, payload: bytes) -> bytearray:
    """The record of a summary."""
    record, body = _frame(identity.header(first, count), len(payload))
    body[:] = payload
    return _seal(record, len(payload))


def unpack_samples(entry: Entry, payload: bytes, first: int, end: int) -> Piece:
    """Realizations `first` ... `end` - 1 of a record, as they are in it."""
    packed = np.frombuffer(payload, entry.packing).reshape(entry.end - entry.first, -1)
    part, base = packed[first - entry.first : end - entry.first], np.array(entry.base, np.int64)
    if entry.packing != WIDEST:
        return Piece(part, base)
    return Piece((part + base.view(np.uint64)).view(np.int64))  # wraps around


def read_payload(file: BinaryIO, entry: Entry) -> bytes:
    """The payload of a record, compared with its check sum.

    Raises
    ------
    ValueError
        It is not what it was when the file was looked through.
    """
    file.seek(entry.offset)
    payload = file.read(entry.size)
    if len(payload) != entry.size or zlib.crc32(payload) != entry.crc:
        raise ValueError("it was changed while it was read")
    return payload


def entry_of(record: bytearray, offset: int) -> Entry:
    """Return what `scan` will find of a record that was packed here and is written at `offset`."""
    _, length, size, crc, _ = _PREFIX.unpack_from(record)
    start = _PREFIX.size + length
    return _entry(json.loads(record[_PREFIX.size : start]), offset + start, size, crc)


class Record(NamedTuple):
    """A whole record from byte `offset` on, and what it is of."""

    offset: int
    identity: Identity
    entry: Entry


class Wrong(NamedTuple):
    """The bytes that are no readable record; `end` is past them if the record is whole anyway."""

    offset: int
    end: int
    what: str


def scan(file: BinaryIO) -> Iterator[Record | Wrong]:
    """All records of a file in order, and what lies between them."""
    end = file.seek(0, 2)
    here = 0
    known: dict[Identity, Identity] = {}  # most records of a file are of few cells
    while here < end:
        head = read_head(file, here, end)
        if isinstance(head, str):
            yield Wrong(here, here, head)
            here = _next_magic(file, here + 1, end)
            continue
        header, body, size, crc = head
        if body + size > end:
            yield Wrong(here, here, "cut off")
            here = _next_magic(file, here + 1, end)
            continue
        if _check_sum(file, body, size) != crc:
            yield Wrong(here, here, "changed")
        elif (identity := _identity(header, size)) is None:
            yield Wrong(here, body + size, "of another size")
        else:
            identity = known.setdefault(identity, identity)
            yield Record(here, identity, _entry(header, body, size, crc))
        here = body + size


def _frame(header: dict[str, Any], size: int) -> tuple[bytearray, memoryview]:
    """Return a record with its header, and the place of its `size` bytes to fill in."""
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % 8)
    start = _PREFIX.size + len(text)
    record = bytearray(start + size)
    _PREFIX.pack_into(record, 0, MAGIC, len(text), size, 0, 0)
    record[_PREFIX.size : start] = text
    return record, memoryview(record)[start:]


def _seal(record: bytearray, size: int) -> bytearray:
    """Write the checksums into a record that is filled in."""
    view = memoryview(record)
    start = len(record) - size
    length = start - _PREFIX.size
    crc = zlib.crc32(view[start:])
    _PREFIX.pack_into(record, 0, MAGIC, length, size, crc, 0)
    head = zlib.crc32(view[_PREFIX.size : start], zlib.crc32(view[: _PREFIX.size - 4]))
    _PREFIX.pack_into(record, 0, MAGIC, length, size, crc, head)
    return record


def _entry(header: dict[str, Any], offset: int, size: int, crc: int) -> Entry:
    first = header["first"]
    packing, base = header.get("packing", ""), tuple(header.get("base", ()))
    return Entry(first, first + header["count"], offset, size, crc, packing, base)


def read_head(file: BinaryIO, at: int, end: int) -> tuple[dict[str, Any], int, int, int] | str:
    """Return a record's header, and place, size and checksum of its payload; or what is wrong."""
    file.seek(at)
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size:
        return "cut off"
    magic, length, size, crc, head = _PREFIX.unpack(prefix)
    if magic != MAGIC:
        return "not a record"
    if at + _PREFIX.size + length > end:
        return "cut off"
    text = file.read(length)
    if zlib.crc32(text, zlib.crc32(prefix[:-4])) != head:
        return "changed"
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not _is_header(header):  # the check sum says that it is as it was written, not by whom
        return "not one of a run"
    return header, at + _PREFIX.size + length, size, crc


def _is_header(header: Any) -> bool:
    """Return whether a header has what is relied on: names, and numbers that can be sizes."""
    if not isinstance(header, dict) or not isinstance(header.get("id"), str):
        return False
    columns, base, kind = header.get("columns"), header.get("base"), header.get("kind")
    good = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
    good = good and _are_integers([header.get("seed"), header.get("stream")], 0, MAX_SEED)
    good = good and _are_integers([header.get("first")], 0, MAX_REALIZATIONS)
    good = good and _are_integers([header.get("count")], 1, MAX_REALIZATIONS - header["first"])
    if not good or kind == SUMMARY:
        return good and base is None
    if kind != RAW or not columns or header.get("packing") not in _TYPES:
        return False
    return _are_integers(base, -(2**63), 2**63 - 1) and len(header["base"]) == len(columns)


def _are_integers(values: Any, low: int, high: int) -> bool:
    return isinstance(values, list) and all(type(x) is int and low <= x <= high for x in values)


def _identity(header: dict[str, Any], size: int) -> Identity | None:
    """Return what a record is of; None where its header tells another size of the payload."""
    columns = tuple(header["columns"])
    identity = Identity(header["kind"], header["id"], header["seed"], header["stream"], columns)
    if identity.kind == RAW:
        item = np.dtype(header["packing"]).itemsize
        if size != item * header["count"] * len(columns):
            return None
    return identity


def difference(found: Identity, wanted: Identity) -> str:
    """Say in what `found` is not `wanted`; "" where it is."""
    if found == wanted:
        return ""
    names = [name for name in asdict(wanted) if getattr(found, name) != getattr(wanted, name)]
    if names[0] == "columns":
        return "other columns"
    return f"{names[0]} {getattr(found, names[0])}, not {getattr(wanted, names[0])}"


def _check_sum(file: BinaryIO, at: int, size: int) -> int:
    """Return the checksum of a payload; -1 where the file ends before."""
    file.seek(at)
    crc = 0
    while size:
        part = file.read(min(size, _CHUNK))
        if not part:
            return -1
        crc = zlib.crc32(part, crc)
        size -= len(part)
    return crc


def _next_magic(file: BinaryIO, at: int, end: int) -> int:
    """The next offset at which a record may begin."""
    while at < end:
        file.seek(at)
        part = file.read(_CHUNK)
        magic_at = part.find(MAGIC)
        if magic_at >= 0:
            return at + magic_at
        at += max(len(part) - len(MAGIC) + 1, 1)
    return end


T = TypeVar("T")


class Call(Generic[T]):
    """A call that another thread executes, and what comes of it.

    A `concurrent.futures.Future` would do, but for Ctrl-C: in the middle of one of its methods it
    leaves the future locked for ever, and the thread that has the result waits for that lock. This
    lock is one that only the caller ever waits for.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self._function: Callable[[], T] | None = function
        self._executing = threading.Lock()
        self._executing.acquire()
        self._done = False
        self._value: T
        self.error: BaseException | None = None

    def execute(self) -> None:
        """Execute the function, in the other thread."""
        assert self._function is not None
        try:
            self._value = self._function()
        except BaseException as error:
            self.error = error
        self._function = None  # it may hold a record, for which there is no more use
        self._done = True
        self._executing.release()

    def wait(self) -> None:
        """Wait until it is executed. After Ctrl-C it can be waited for again."""
        if not self._done:
            with self._executing:
                pass

    def result(self) -> T:
        """Return what the function returned, once it has; raise what it raised."""
        self.wait()
        if self.error is not None:
            raise self.error
        return self._value


class BackgroundWriter:
    """A writer that does one thing after the other; while `on`, in a thread of its own.

    One at most is not done yet, so that what waits is one record. What goes wrong with it is
    raised by the next call, by `wait`, or at the end of `on`.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Call[Any] | None] | None = None
        self._last: Call[object] | None = None

    def __call__(self, job: Callable[[], object]) -> None:
        """Do `job` when all before it is done."""
        self.wait()
        if self.is_on:
            self._last = self._submit(job)
        else:
            job()

    def wait(self) -> None:
        """Wait until everything is done."""
        if self._last is not None:
            self._last.wait()
            error, self._last = self._last.error, None
            if error is not None:
                raise error

    @property
    def is_on(self) -> bool:
        """Return whether there is a thread for what is to be done."""
        return self._calls is not None

    def later(self, function: Callable[[], T]) -> Callable[[], T]:
        """Queue `function` behind all calls so far and return at once; there must be a thread.

        What is returned waits for its result, and raises what it raised.
        """
        return self._submit(function).result

    def _submit(self, function: Callable[[], T]) -> Call[T]:
        assert self._calls is not None
        call = Call(function)
        self._calls.put(call)
        return call

    @contextmanager
    def on(self) -> Iterator[None]:
        """Within, callers do not wait; at the end everything is done."""
        calls: queue.SimpleQueue[Call[Any] | None] = queue.SimpleQueue()
        thread = Call(lambda: _execute(calls))
        # `threading.Thread` has the same trouble with Ctrl-C as futures have, when it starts.
        _thread.start_new_thread(thread.execute, ())
        self._calls = calls
        try:
            yield
        finally:  # it waits, so that Ctrl-C does not hide what went wrong
            self._calls = None
            calls.put(None)
            thread.wait()
            self.wait()


def _execute(calls: queue.SimpleQueue[Call[Any] | None]) -> None:
    while (call := calls.get()) is not None:
        call.execute()


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
    """Return the realizations in as few spans as possible, ascending.

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
        """Return the entries of an identity in their order; a record of another is named."""
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
        """Read the heads of all records, warn of what is wrong, and find where to append."""
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
        if sys.stderr is not None:
            with suppress(AttributeError, ValueError, OSError):  # the run goes on without the line
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
        for start, piece in self.pieces(first, end):
            out[start - first : start - first + len(piece)] = piece.values

    def pieces(self, first: int, end: int) -> Iterator[tuple[int, Piece]]:
        """Yield the pieces of realizations `first` to `end` - 1 that are there, and their first."""
        if first >= end:
            return
        here = first
        entries = sorted(self.entries, key=lambda entry: entry.span)
        with open_input(self.path) as file:
            for entry in entries:
                start, stop = max(here, entry.first), min(entry.end, end)
                if start < stop:
                    yield start, unpack_samples(entry, self._payload(file, entry), start, stop)
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


MAX_OWN_FILES = 200  # files of records with names that people can read; on clusters each counts


def too_many_files(cells: Sequence[Cell]) -> bool:
    """Return whether there would be too many files if each variant and cell had its own."""
    return sum(len(cell.variants) + 1 for cell in cells) > MAX_OWN_FILES


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
        """Return whether no other process has written records since this one read them.

        Where it is not, what was computed here may lack some of them.
        """
        return all(file.is_undisturbed() for file in self._files.values())
