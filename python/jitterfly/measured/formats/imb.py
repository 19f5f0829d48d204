"""Parser of Intel MPI Benchmarks (IMB-MPI1): collectives such as Barrier and Allreduce."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from ..measurements import Measured
from .collectives import Collectives, LeftOut, LogTable
from .columns import Row
from .text import Format, Options, OtherTool, TextFile

_BLOCK = re.compile(r"^[ \t]{0,40}# Benchmarking ([A-Za-z_-]{2,40})[ \t]{0,40}$", re.MULTILINE)
_FAILED = re.compile(r"(out-of-mem|time-out|int-overflow)\.;")
_RANKS = re.compile(r"[ \t]{0,40}# #processes = ([0-9]{1,9})\b")
_FACTS = {"Date": "date", "Machine": "machine", "Release": "kernel", "MPI Version": "mpi"}
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
    "defects": "defects",
}
_PINGPONG = ["#bytes", "#repetitions", "t[usec]"]


def _is_imb(head: str) -> bool:
    """Recognise the format by the first line of a block."""
    ranks = "#processes = " in head or " groups of " in head
    return _BLOCK.search(head) is not None and ranks


@dataclass
class _Block(LogTable):
    """The table of a benchmark; `names` is None where it is no collective."""

    operation: str = ""
    ranks: int = 0


def _blocks(text: TextFile, left_out: LeftOut, source: dict[str, str]) -> list[_Block]:
    """All tables, in their order, and what the head of the file says.

    A table ends at the next benchmark, or at a comment.
    """
    found: list[_Block] = []
    block: _Block | None = None
    operation, ranks = "", 0
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if match := _BLOCK.match(content):
            operation, ranks, block = match[1].lower(), 0, None
        elif match := _RANKS.match(content):
            ranks = int(match[1])
        elif match := _FACT.match(content):
            source.setdefault(_FACTS[match[1]], match[2].strip())
        elif match := _VERSION.match(content):
            source.setdefault("version", match[1])
        elif words and (words[0] in _COLUMNS or words[0] == "Group") and operation:
            names = None if operation.startswith("multi-") else _head(words)
            block = _Block(line, names, operation=operation, ranks=ranks)
            found.append(block)
            left_out.begin(block)
        elif words and words[0].startswith("#"):
            block = None
        elif not words or block is None:
            if words:
                left_out.outside(line, content)
        elif match := _FAILED.match(words[1] if len(words) > 1 else ""):
            left_out.skip(line, content, f"that size did not run ({match[1]})")
        else:
            left_out.read_row(line, content, block)
        if block is None:
            left_out.end()
    left_out.end()
    return found


def _read(text: TextFile, options: Options) -> Measured:
    """A table for each operation, with the rows of all its blocks."""
    found = Collectives(text)
    left_out = LeftOut(text)
    source = {"tool": "Intel MPI Benchmarks"}
    left: set[str] = set()
    for block in _blocks(text, left_out, source):
        if block.names is None:
            several = " (groups at once)" if block.operation.startswith("multi-") else ""
            left.add(block.operation + several)
            continue
        if not block.ranks:
            what = "no line `# #processes = ...` says how many ranks there are"
            raise text.error(block.line, what)
        found.add_table(block, block.operation, left_out, ranks=block.ranks)
    if left and not found.rows:
        names = ", ".join(sorted(left)[:8])
        if is_pingpong(text.head):
            file = shlex.quote(text.name)
            names += f": `jitterfly network parameters {file}` makes a network of PingPong"
        raise OtherTool(text.name, None, f"has no blocking collective, only {names}")
    if not found.rows:
        left_out.check_nothing()
    notes = [
        "t_min, t_max and t_avg are over processes, of the mean of each over its repetitions, not "
        "of single repetitions"
    ]
    tables = found.tables()
    if any((table.bytes == 0).any() and table.operation != "barrier" for table in tables):
        notes.append("rows of 0 bytes are of a call that sends nothing, not of a collective")
    if left:
        notes.append(f"left out, as they are not collectives: {', '.join(sorted(left)[:8])}")
    return Measured(tables, "imb", source, (*notes, *left_out.notes()))


def is_pingpong(head: str) -> bool:
    """Return whether there are latencies of single messages."""
    return any(match[1] == "PingPong" for match in _BLOCK.finditer(head))


def pingpong_rows(text: TextFile) -> tuple[list[Row], list[str]]:
    """Sizes and times of the last table of PingPong; notes on what was left out of it."""
    rows: list[Row] = []
    left_out = LeftOut(text)
    for block in _blocks(text, left_out, {}):
        if block.operation == "pingpong" and text.lines[block.line - 1].split()[:3] == _PINGPONG:
            rows = [(line, [words[0], [*words, "", ""][2]]) for line, words in block.rows]
    if not rows:
        raise text.error(None, "has no row of PingPong")
    return rows, left_out.notes()


def _head(words: list[str]) -> list[str] | None:
    """Names of columns, or None where they are not those of a blocking collective."""
    if not all(word in _COLUMNS for word in words) or "t_avg[usec]" not in words:
        return None
    return [_COLUMNS[word] for word in words] if len(set(words)) == len(words) else None


FORMATS = (Format("imb", "Intel MPI Benchmarks of collectives", sign=_is_imb, read=_read),)
