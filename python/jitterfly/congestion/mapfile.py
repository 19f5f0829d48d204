"""Opens a file with a network and finds out which format it has."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from ..files import read_whole
from . import dot, ibnet
from .links import Links

_MOST_BYTES = 2**28


def read_links(file: Path, tables: Path | None = None) -> Links:
    """The network in a file, gzipped or not.

    Raises
    ------
    ValueError
        It is neither a digraph nor the output of ibnetdiscover, or malformed; with its line.
    OSError
        It can not be read.
    """
    return parse(
        read_text(file), str(file), None if tables is None else (read_text(tables), str(tables))
    )


def parse(text: str, name: str, tables: tuple[str, str] | None = None) -> Links:
    """The network in a text, and its tables' text and name; `name` is for messages."""
    if dot.looks_like(text):
        if tables is not None:
            raise ValueError(f"tables must be left out: the digraph {name} has its own")
        return dot.parse(text, name)
    if ibnet.looks_like(text):
        if tables is None:
            raise ValueError(
                f"{name} is the output of ibnetdiscover, which has no routes: give tables, "
                "such as those of dump_lfts.sh"
            )
        return ibnet.parse(text, name, *tables)
    raise ValueError(f"{name} is neither a Graphviz digraph nor the output of ibnetdiscover")


def read_text(file: Path) -> str:
    """The text of a file of at most 256 MiB, unpacked."""
    data = read_whole(file, _MOST_BYTES)
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as packed:
                data = packed.read(_MOST_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{file}: damaged gzip file: {error}") from None
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{file}: larger than 256 MiB, unpacked")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{file}, line {line}: not text (byte {error.start})") from None
