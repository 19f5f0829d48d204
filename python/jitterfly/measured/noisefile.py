r"""The noise file (.noise): text format of measured detours and histograms, reader and writer.

Where a case finds such files, and how it knows their content: `files`.

A file of version 1 is UTF-8 text. Its first line is ``# jitterfly noise 1``. Lines that begin with
``#`` hold one ``key = value`` each, the value a number, a text or a list of texts as TOML and JSON
both write them; an empty one separates. Those before the first part describe the measurement::

    # jitterfly noise 1
    # format = "netgauge"
    # source.machine = "nid001009"
    # notes = ["a trace begins and ends on a detour"]

``format`` says what it was imported from ("jitterfly" where it was recorded here), ``source.*``
(all of them text) whatever is known of the measurement, ``notes`` what to know before the numbers
are believed. Then follow one or more parts, all of one kind. A part is ``# [[part]]``, its keys,
and a table in CSV whose first line names the columns. All times are integers, in picoseconds.

Detours, one continuous run on one CPU::

    # [[part]]
    # kind = "detours"
    # cpu = "3"
    # length = 197521638973880
    # threshold = 231978
    # resolution = 238396
    # rows = 2
    start_ps,duration_ps
    0,10440030
    3999348210,6364410

``length`` is how long was observed. ``threshold`` (shorter detours were not recorded),
``resolution`` (quantum of a coarse clock) and ``cpu`` are left out where they are not known.
Detours are sorted, do not overlap and end within ``length``. ``rows`` tells a file that was cut
off.

A histogram of durations::

    # [[part]]
    # kind = "histogram"
    # what = "latency"
    # observed = 600000000000000
    # overflow = 1
    # rows = 1
    low_ps,high_ps,count
    5000000,6000000,12

``what`` is "detour" or "latency" (of a wake-up, which takes no share of a CPU), ``observed`` how
long was observed, summed over CPUs, ``overflow`` how many events were beyond the last bin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..fields import check_keys, shorten
from ..files import replacing
from .formats.columns import integer_columns, line_at
from .formats.text import FormatError, TextFile, open_text
from .measurements import Detours, Histogram, Measured, Part

__all__ = ["NAME", "VERSION", "parse", "pieces", "read", "recognise", "write"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ROWS_AT_ONCE = 100_000
NAME = "jitterfly"
VERSION = 1
_FIRST = re.compile(r"# jitterfly noise (\d{1,9})\s*(?:\n|$)")
# No parser of TOML: a key of ten thousand dots takes it minutes.
_ENTRY = re.compile(r'(source\.)?([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*")\s*=(.*)', re.DOTALL)
_COMMENTS = re.compile(rb"^#[^\n]*(?:\n|\Z)", re.MULTILINE)
KINDS: dict[str, tuple[type, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    # name: class, columns, their names in the file, keys
    "detours": (
        Detours,
        ("starts", "durations"),
        ("start_ps", "duration_ps"),
        ("cpu", "length", "threshold", "resolution"),
    ),
    "histogram": (
        Histogram,
        ("low", "high", "counts"),
        ("low_ps", "high_ps", "count"),
        ("cpu", "what", "observed", "overflow"),
    ),
}


def write(measured: Measured, path: str | Path) -> None:
    """Write a noise file, whole or not at all.

    Raises
    ------
    ValueError
        Its parts are neither detours nor histograms.
    OSError
        It cannot be written.
    """
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        for piece in pieces(measured):
            file.write(piece.encode("utf-8", "replace"))


def read(path: str | Path) -> Measured:
    """Read a noise file.

    Raises
    ------
    FormatError
        Not a noise file, of another version, cut off, or wrong at a line, which it names.
    OSError
        It cannot be read.
    """
    return parse(open_text(path))


def recognise(head: str) -> bool:
    """Return whether a file's beginning is that of a noise file (of any version)."""
    return head.startswith("# jitterfly noise ")


def pieces(measured: Measured) -> Iterator[str]:
    """The text of a noise file, piece by piece; ValueError where `write` says so."""
    yield f"# jitterfly noise {VERSION}\n# format = {_toml_value(measured.format)}\n"
    for key, value in measured.source.items():
        name = key if _BARE.fullmatch(key) else _toml_value(key)
        yield f"# source.{name} = {_toml_value(str(value))}\n"
    yield f"# notes = {_toml_value(list(measured.notes))}\n"
    for part in measured.parts:
        yield from _part_pieces(part)


def _part_pieces(part: Part) -> Iterator[str]:
    """Yield the text of a part piece by piece: its keys, then its table."""
    kind = next((kind for kind, made in KINDS.items() if isinstance(part, made[0])), None)
    if kind is None:
        raise ValueError(f"a noise file holds detours or histograms, got {part.words}")
    _, columns, names, keys = KINDS[kind]
    arrays = [getattr(part, column) for column in columns]
    yield f"#\n# [[part]]\n# kind = {_toml_value(kind)}\n"
    for key in keys:
        value = getattr(part, key)
        if value not in (None, "") and (key, value) != ("overflow", 0):
            yield f"# {key} = {_toml_value(value)}\n"
    yield f"# rows = {len(arrays[0])}\n{','.join(names)}\n"
    line = ",".join(["%d"] * len(arrays)) + "\n"
    for at in range(0, len(arrays[0]), _ROWS_AT_ONCE):
        rows = np.stack([array[at : at + _ROWS_AT_ONCE] for array in arrays], axis=1)
        yield line * len(rows) % tuple(rows.ravel().tolist())


def _toml_value(value: Any) -> str:
    """Write a value as TOML, on one line: JSON's text is TOML's, but for one letter."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def parse(text: TextFile) -> Measured:
    """The measurement in the text of a noise file; FormatError names the line."""
    first = _FIRST.match(text.head)
    if first is None:
        raise text.error(1, f"must be '# jitterfly noise {VERSION}', got {shorten(text.lines[0])}")
    if int(first[1]) != VERSION:
        raise text.error(1, f"noise files of version {VERSION} can be read, this is {first[1]}")
    head: dict[str, Any] = {}
    parts: list[Part] = []
    keys, inside, last = head, False, 1
    matches = list(_COMMENTS.finditer(text.data))
    for at, match in enumerate(matches[1:], 1):
        body = match[0][1:].strip()
        end = matches[at + 1].start() if at + 1 < len(matches) else len(text.data)
        line = line_at(text, match.start()) if at < 2 or end > match.end() else last + 1
        last = line
        if body == b"[[part]]":
            if inside:
                raise text.error(line, "this part begins before the table of the one before")
            keys, inside = {}, True
        elif body:
            _read_entry(text, line, body, keys)
        if text.data[match.end() : end].strip():
            if not inside:
                raise text.error(line + 1, "a table must follow a '# [[part]]' and its keys")
            parts.append(_read_part(text, line + 1, match.end(), end, keys))
            inside = False
            last = line + text.data.count(b"\n", match.end(), end)
    if inside or not parts:
        raise text.error(None, "is cut off: a part without its table")
    return _measured(text, head, parts)


def _read_entry(text: TextFile, line: int, body: bytes, keys: dict[str, Any]) -> None:
    """Add the key and value of a comment line to `keys`."""
    try:
        found = _ENTRY.fullmatch(body.decode("utf-8"))
        key = (json.loads(found[2]) if found[2][0] == '"' else found[2]) if found else ""
        value = json.loads(found[3]) if found else None
    except (ValueError, RecursionError):
        found = None
    if found is None or (key == "source" and not found[1]):
        shown = shorten(body.decode("utf-8", "replace"))
        raise text.error(line, f"must be '# key = value' or '# source.key = value', got {shown}")
    into = keys.setdefault("source", {}) if found[1] else keys
    if key in into:
        raise text.error(line, f"key {shorten(key)} is there twice")
    into[key] = value


def _read_part(text: TextFile, line: int, begin: int, end: int, keys: dict[str, Any]) -> Part:
    """Return the part whose keys are above line `line`, and its table from `begin` to `end`."""
    kind = keys.pop("kind", None)
    if kind not in KINDS:
        raise text.error(
            line, f"kind of the part must be one of {', '.join(KINDS)}, got {shorten(kind)}"
        )
    made, columns, names, allowed = KINDS[kind]
    rows = keys.pop("rows", None)
    newline = text.data.find(b"\n", begin, end)
    stop = end if newline < 0 else newline
    header = ",".join(names)
    if text.data[begin:stop].strip() != header.encode():
        found = shorten(text.data[begin:stop].decode("utf-8", "replace"))
        raise text.error(line, f"the columns must be {header}, got {found}")
    try:
        check_keys(keys, allowed, "the part")
        arrays = integer_columns(text, [(stop, end)], [1] * len(names), header, b",")
        if len(arrays[0]) != rows:
            raise ValueError(
                f"the part must have {shorten(rows)} rows, as its key says, but has "
                f"{len(arrays[0])}; was the file cut off?"
            )
        part: Part = made(**dict(zip(columns, arrays, strict=True)), **keys)
    except FormatError:
        raise
    except (TypeError, ValueError) as error:
        raise text.error(line, str(error)) from None
    return part


def _measured(text: TextFile, head: dict[str, Any], parts: list[Part]) -> Measured:
    """Return the measurement of a head and parts, once the head is checked."""
    try:
        check_keys(head, ("format", "source", "notes"), "the header")
        source, notes = head.get("source", {}), head.get("notes", [])
        if not isinstance(notes, list) or not all(
            isinstance(word, str) for word in (*notes, *source.values(), head.get("format", ""))
        ):
            raise ValueError("format, source and notes must be text")
        return Measured(tuple(parts), head.get("format", NAME), source, tuple(notes))
    except (TypeError, ValueError) as error:
        raise text.error(None, str(error)) from None
