"""Binary format of record files (.jfr): append-only blocks; damage is found by checksums (CRC).

A file holds the records of one variant, of one cell, or of many: each says what it is of.

    "JFR2", u32 length of the header, u64 length of the payload, u32 CRC of the payload,
    u32 CRC of all before and of the header; the header, JSON; the payload. Little endian.

The header of samples holds what they are of (`Identity`), the first realization, how many, and
how they are packed: each column less its smallest value (`base`), in the fewest bytes that hold
all of them. Nothing is lost: any int64 comes back.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from ..fields import MOST_REALIZATIONS, MOST_SEED
from ..stats.cross_moments import extremes

MAGIC = b"JFR2"
RAW, SUMMARY = "raw", "summary"
_PREFIX = struct.Struct("<4sIQII")
_CHUNK = 1 << 22
_TYPES = ("<u1", "<u2", "<u4", "<u8")

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
    base, high = extremes(values)
    # Unsigned, a difference of two int64 is right whatever the signs.
    unsigned = np.ascontiguousarray(values).view(np.uint64)
    widest = int((high.view(np.uint64) - base.view(np.uint64)).max())
    packing = next(t for t in _TYPES if widest < 1 << 8 * np.dtype(t).itemsize)
    header = identity.header(first, len(values), packing=packing, base=base.tolist())
    size = values.size * np.dtype(packing).itemsize
    record, body = _frame(header, size)
    packed = np.frombuffer(body, packing).reshape(values.shape)
    np.subtract(unsigned, base.view(np.uint64), out=packed, casting="unsafe")
    return _seal(record, size)


def pack_summary(identity: Identity, first: int, count: int, payload: bytes) -> bytearray:
    """The record of a summary."""
    record, body = _frame(identity.header(first, count), len(payload))
    body[:] = payload
    return _seal(record, len(payload))


def unpack_samples(entry: Entry, payload: bytes, out: Ints, first: int, end: int) -> None:
    """Put realizations `first` ... `end` - 1 of a record into `out`, (end - first, columns)."""
    packed = np.frombuffer(payload, entry.packing).reshape(entry.end - entry.first, -1)
    part = packed[first - entry.first : end - entry.first]
    if entry.packing == "<u8":
        part = part.view(np.int64)  # the sum wraps around to the right number
    np.add(part, np.array(entry.base, np.int64), out=out)


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
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % 8)
    start = _PREFIX.size + len(text)
    record = bytearray(start + size)
    _PREFIX.pack_into(record, 0, MAGIC, len(text), size, 0, 0)
    record[_PREFIX.size : start] = text
    return record, memoryview(record)[start:]


def _seal(record: bytearray, size: int) -> bytearray:
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
    good = good and _are_integers([header.get("seed"), header.get("stream")], 0, MOST_SEED)
    good = good and _are_integers([header.get("first")], 0, MOST_REALIZATIONS)
    good = good and _are_integers([header.get("count")], 1, MOST_REALIZATIONS - header["first"])
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
