"""Read the parts of a noise file; `noisefile` says what they are."""

from __future__ import annotations

import json
import re
from typing import Any

from ..fields import check_keys, shorten
from .data import Detours, Histogram, Measured, Part
from .formats.errors import FormatError
from .formats.numbers import line_at, table
from .formats.text import Text

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


def parse_noise(text: Text) -> Measured:
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
            _take(text, line, body, keys)
        if text.data[match.end() : end].strip():
            if not inside:
                raise text.error(line + 1, "a table must follow a '# [[part]]' and its keys")
            parts.append(_part(text, line + 1, match.end(), end, keys))
            inside = False
            last = line + text.data.count(b"\n", match.end(), end)
    if inside or not parts:
        raise text.error(None, "is cut off: a part without its table")
    return _measured(text, head, parts)


def _take(text: Text, line: int, body: bytes, keys: dict[str, Any]) -> None:
    try:
        found = _ENTRY.fullmatch(body.decode("utf-8"))
        key = found and (json.loads(found[2]) if found[2][0] == '"' else found[2])
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


def _part(text: Text, line: int, begin: int, end: int, keys: dict[str, Any]) -> Part:
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
        arrays = table(text, stop, end, [1] * len(names), header, b",")
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


def _measured(text: Text, head: dict[str, Any], parts: list[Part]) -> Measured:
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
