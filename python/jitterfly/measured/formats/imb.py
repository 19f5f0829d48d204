"""Parser of Intel MPI Benchmarks (IMB-MPI1): collectives such as Barrier and Allreduce."""

from __future__ import annotations

import re

from ..measurements import Measured
from .rows import Collectives
from .text import Options, TextFile

NAME = "imb"
TITLE = "Intel MPI Benchmarks of collectives"
OPTIONS = ()

_BLOCK = re.compile(r"^[ \t]{0,40}# Benchmarking ([A-Za-z_]{2,40})[ \t]{0,40}$", re.MULTILINE)
_RANKS = re.compile(r"[ \t]{0,40}# #processes = ([0-9]{1,9})\b")
_FACTS = {
    "Date": "date",
    "Machine": "machine",
    "Release": "kernel",
    "MPI Version": "mpi",
}
_FACT = re.compile(r"[ \t]{0,40}# (Date|Machine|Release|MPI Version) {0,30}: (.{1,200})")
_VERSION = re.compile(
    r"[ \t]{0,40}#[ \t]{1,40}Intel\(?R?\)? ?\(?R?\)? MPI Benchmarks ([0-9][^,\s]{0,20})"
)
_COLUMNS = {
    "#bytes": "bytes",
    "#repetitions": "iterations",
    "t_min[usec]": "min",
    "t_max[usec]": "max",
    "t_avg[usec]": "mean",
    "defects": "",
}


def recognise(head: str) -> bool:
    """By the first line of a block."""
    return _BLOCK.search(head) is not None and "#processes = " in head


def read(text: TextFile, options: Options) -> Measured:
    """A table for each operation, with the rows of all its blocks."""
    found = Collectives(text)
    source = {"tool": "Intel MPI Benchmarks"}
    left: set[str] = set()
    operation, ranks = "", 0
    names: list[str] | None = None
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if match := _BLOCK.match(content):
            operation, ranks, names = match[1].lower(), 0, None
        elif match := _RANKS.match(content):
            ranks = int(match[1])
        elif match := _FACT.match(content):
            source.setdefault(_FACTS[match[1]], match[2].strip())
        elif match := _VERSION.match(content):
            source.setdefault("version", match[1])
        elif words and words[0] in _COLUMNS and operation:
            names = _head(words)
            if names is None:
                left.add(operation)
            elif not ranks:
                raise text.error(line, "no line `# #processes = ...` says how many ranks there are")
        elif not words or words[0].startswith("#"):
            names = names if not words else None
        elif names and (words[0][0].isdecimal()):
            sizes = {} if "bytes" in names else {"bytes": 0}
            found.add(line, operation, names, words, ranks=ranks, **sizes)
    if left and not found.rows:
        raise text.error(None, f"has no collective, only {', '.join(sorted(left)[:8])}")
    notes = [
        "t_min, t_max and t_avg are over processes, of each one's mean over repetitions: no "
        "extremes of single repetitions"
    ]
    tables = found.tables()
    if any((table.bytes == 0).any() and table.operation != "barrier" for table in tables):
        notes.append("rows of 0 bytes time a call that sends nothing; they are no collective")
    if left:
        notes.append(f"left out, no collective: {', '.join(sorted(left)[:8])}")
    return Measured(tables, NAME, source, tuple(notes))


def _head(words: list[str]) -> list[str] | None:
    """Names of columns, or None where they are not those of a blocking collective."""
    if not all(word in _COLUMNS for word in words) or "t_avg[usec]" not in words:
        return None
    return [_COLUMNS[word] for word in words] if len(set(words)) == len(words) else None
