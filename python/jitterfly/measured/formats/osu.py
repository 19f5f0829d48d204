"""Parser of OSU micro-benchmarks: collectives such as osu_barrier and osu_allreduce (5.x to 7.x).

``-f`` adds the least and largest mean of a rank and the iterations, ``-z`` (7.x) percentiles over
iterations of the mean over ranks. A command with ``-i`` above a table tells its iterations as well.
osu_latency is read by measured/network_parameters.py.
"""

from __future__ import annotations

import re

from ..measurements import Measured
from .rows import Collectives
from .text import Options, TextFile

NAME = "osu"
TITLE = "OSU micro-benchmarks of collectives"
OPTIONS = ("ranks",)

_TITLE = re.compile(
    r"^[ \t]{0,40}# OSU [A-Za-z+-]{2,20} ?(?:\S{1,16} )?([A-Za-z_-]{2,40})(?: \S{1,20})? "
    r"Latency Test ?(?:v?([0-9.]{1,12}))?[ \t]{0,40}$",
    re.MULTILINE,
)
_COLUMNS = {
    "size": "bytes",
    "avg latency(us)": "mean",
    "min latency(us)": "min",
    "max latency(us)": "max",
    "iterations": "iterations",
    "p50 tail lat(us)": "p50",
    "p90 tail lat(us)": "p90",
    "p99 tail lat(us)": "p99",
}
_COLUMN = re.compile(
    r"(Size|Iterations|(?:Avg|Min|Max) Latency ?\(us\)|P[0-9]+ Tail Lat\(us\))(?=\s|$)"
)
_OTHER = re.compile(r"Transmit Size|Validation|[^\s]+(?: [^\s]+)*")
_COMMAND = re.compile(r"(?:^|\s)(?:-np|-n|--np|--ntasks|--tasks)[= ]{1,2}([0-9]{1,9})(?=\s)")
_ROW = re.compile(r"[0-9.]")


def recognise(head: str) -> bool:
    """By the title of a test."""
    return _TITLE.search(head) is not None


def read(text: TextFile, options: Options) -> Measured:
    """A table for each operation, with the rows of all its runs."""
    found = Collectives(text)
    source = {"tool": "OSU micro-benchmarks"}
    notes: list[str] = []
    operation = ""
    names: list[str] | None = None
    command: tuple[int, int] | None = None
    coming = iterations = 0  # of the next table, and of this one: from the command
    for line, content in enumerate(text.lines, 1):
        if match := _TITLE.match(content):
            operation, names = match[1].lower(), None
            coming, iterations = 0, coming
            source |= {"version": match[2]} if match[2] else {}
        elif "osu_" in content and (match := _COMMAND.search(content[:4000])):
            command, operation = (line, int(match[1])), ""
            coming = _iterations(content[:4000])
        elif "osu_" in content and (found_there := _iterations(content[:4000])):
            coming, operation = found_there, ""
        elif operation and content.lstrip().startswith("#"):
            if "(us)" in content:
                names = _head(text, line, content)
        elif operation and names and _ROW.match(content.lstrip()):
            ranks = options.ranks if options.ranks else command[1] if command else 0
            words = ["0", *content.split()] if names[0] == "bytes?" else content.split()
            columns = [name.rstrip("?") for name in names]
            known = {"iterations": iterations} if iterations and "iterations" not in names else {}
            found.add(line, operation, columns, words, ranks=ranks, **known)
        elif names and content.strip():
            names = None  # what the job printed next
    tables = found.tables()
    if not options.ranks and command is None:
        notes.append("the file does not say how many ranks there were: ranks is 0 (give `ranks`)")
    elif not options.ranks and command:
        notes.append(f"ranks are those of the commands, such as that in line {command[0]}")
    notes.append(
        "the mean is over iterations and ranks; min and max are of the ranks' means, no extremes "
        "of single iterations"
    )
    if any(table.p99 is not None for table in tables):
        notes.append("percentiles are over iterations, of the mean over ranks")
    return Measured(tables, NAME, source, tuple(notes))


def _iterations(command: str) -> int:
    """Those that a command asks for, of all sizes; 0 where it does not."""
    words = command.replace("=", " ").split()
    at = next((at for at, word in enumerate(words) if "osu_" in word), len(words))
    for option, number in zip(words[at:], words[at + 1 :], strict=False):
        asked = option[:1] == "-" and option.lstrip("-") in ("i", "iterations")
        if asked and re.fullmatch("[0-9]{1,12}", number):
            return int(number)
    return 0


def _head(text: TextFile, line: int, content: str) -> list[str]:
    """Names of columns; "" for one that is left out, "bytes?" first where there are no sizes."""
    rest = content.strip().lstrip("#").strip()
    names: list[str] = []
    while rest:
        match = _COLUMN.match(rest) or _OTHER.match(rest)
        if match is None:  # not reached: any word matches
            break
        names.append(_COLUMNS.get(match[0].lower().replace(" (", "("), ""))
        rest = rest[match.end() :].strip()
    if "mean" not in names:
        raise text.error(line, "has no column `Avg Latency(us)`: only blocking collectives go")
    if len(set(names) - {""}) != len(names) - names.count(""):
        raise text.error(line, "has a column twice")
    return names if "bytes" in names else ["bytes?", *names]
