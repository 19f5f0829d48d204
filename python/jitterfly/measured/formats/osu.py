"""Parser of OSU micro-benchmarks: collectives such as osu_barrier and osu_allreduce (3.x to 7.x).

``-f`` adds the least and largest mean of a rank and the iterations, ``-z`` (7.x) percentiles over
iterations of the mean over ranks, ``-c`` whether the data were right, ``-T`` a table for each
datatype. A command with ``-i`` above a table tells its iterations as well.

A log of a job may hold the tables of several programs, and lines of others between their rows.
`tables` splits it; measured/network_parameters.py takes the ping-pongs of osu_latency from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...fields import StoredText, first_few
from ..measurements import Measured
from .collectives import Collectives, LeftOut, LogTable
from .text import Format, Options, TextFile

_TITLE = re.compile(
    r"^[ \t]{0,40}# OSU (\S{1,30}) ?(.{0,80}?) ?[Tt]est ?(?:v?([0-9][\w.+-]{0,20}))?[ \t]{0,40}$",
    re.MULTILINE,
)
_COLLECTIVE = re.compile(
    r"(?:Neighborhood )?(?!Multi\b)[A-Za-z][A-Za-z_-]{1,30}"
    r"(?: Personalized Exchange)?(?: Persistent)? Latency"
)
_NAMES = {"gatherall": "allgather", "exchange": "alltoall", "collect": "allgather",
          "fcollect": "allgather"}  # fmt: skip
"""Collectives that UPC and OpenSHMEM call otherwise than MPI."""
_COLUMNS = {
    "size": "bytes",
    "avg latency(us)": "mean",
    "latency(us)": "mean",
    "min latency(us)": "min",
    "max latency(us)": "max",
    "iterations": "iterations",
    "p50 tail lat(us)": "p50",
    "p90 tail lat(us)": "p90",
    "p99 tail lat(us)": "p99",
    "validation": "validation",
}
_COLUMN = re.compile(
    r"(Size|Iterations|Validation|(?:(?:Avg|Min|Max) )?Latency ?\(us\)|P[0-9]+ Tail Lat\(us\))"
    r"(?=\s|$)"
)
_OTHER = re.compile(r"Transmit Size|[^\s]+(?: [^\s]+)*")
_HEAD = re.compile(r"\(us\)|\bMB/s\b|ops/s\b|Messages/s")
_DATATYPE = re.compile(r"# Datatype: {0,4}(\w{1,60})")
_BUFFERS = re.compile(r"# ((?:Send Buffer|Rank 0 Memory) on .{1,80}\S)")
_COMMAND = re.compile(
    r"(?:^|\s)(?:(?:-np|--np|--ntasks|--tasks)[= ]{1,2}|-n[= ]{0,2})([0-9]{1,9})(?=\s)"
)
_LAUNCHER = re.compile(
    r"(?:^|[\s/])(?:(?:mpirun|mpiexec|srun|aprun|jsrun|prterun|ibrun)(?:\.\w+)?|"
    r"flux[ \t]{1,4}(?:mini[ \t]{1,4})?(?:run|submit|alloc))\s"
)
_BY_NODE = re.compile(r"(?:^|[\s/])(?:srun|salloc|sbatch|flux)\s")
_NODES = re.compile(r"\s(?:--nodes[= ]{1,2}|-N[= ]{0,2})([0-9]{1,7})(?=\s)")
_PER_NODE = re.compile(r"\s--n?tasks-per-node[= ]{1,2}([0-9]{1,7})(?=\s)")
_APART = ("family", "datatype", "buffers")


@dataclass
class Table(LogTable):
    """A table of a test; `names` of columns, "" for one that is not used.

    `family` and `title` are what stands between "OSU" and "Test". `ranks`, `command` (a line) and
    `iterations` are those of a command above it, 0 without one.
    """

    names: list[str]
    family: str = ""
    title: str = ""
    version: str = ""
    ranks: int = 0
    command: int = 0
    iterations: int = 0
    datatype: str = ""
    buffers: str = ""

    @property
    def is_pingpong(self) -> bool:
        """Return whether the table has latencies of single messages between two processes."""
        mpi = re.fullmatch(r"MPI(?:-\S+)?", self.family) is not None
        return mpi and self.title == "Latency" and "mean" in self.names

    def follows(self, words: list[str]) -> bool:
        """Return whether `words` can be its next row: sizes rise, or it has no row yet."""
        if "bytes" not in self.names or not self.rows:
            return not self.rows
        at = self.names.index("bytes")
        above = self.rows[-1][1]
        size, before = (row[at] if at < len(row) else "" for row in (words, above))
        return not (size.isdecimal() and before.isdecimal()) or int(size) > int(before)


def _is_osu(head: str) -> bool:
    """Recognise the format by the title of a collective."""
    return any(_collective(match[1], match[2]) for match in _TITLE.finditer(head))


def _collective(family: str, title: str) -> str:
    """The collective of a title, such as "alltoall"; "" where it is another test."""
    if "_" in family or not _COLLECTIVE.fullmatch(title):  # MPI_Put is a family, too
        return ""
    words = title.removesuffix(" Latency").lower().replace("-", "")
    name = words.removesuffix(" persistent").removesuffix(" personalized exchange")
    return _NAMES.get(name, name)


def tables(text: TextFile, left_out: LeftOut) -> list[Table]:
    """All tables, in their order; lines that only look like rows go to `left_out`.

    A table ends at the next title, command or comment. Other lines may stand between its rows, such
    as a library's warning, but sizes go on to rise below them.
    """
    found: list[Table] = []
    table: Table | None = None
    title: tuple[str, str, str] | None = None
    datatype = buffers = ""
    ranks = command = iterations = coming = 0  # `coming`: iterations of the next title's tables
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        command_line = content[:4000] if "osu_" in content else ""
        ran, asked = _ranks(command_line), _iterations(command_line)
        if match := _TITLE.match(content):
            title, table = (match[1], match[2], match[3] or ""), None
            datatype = buffers = ""
            iterations, coming = coming, 0
        elif ran or asked or _LAUNCHER.search(command_line):
            title = table = None
            ranks, command = (ran, line) if ran else (0, 0)
            coming = asked
        elif title and content.lstrip().startswith("#"):
            if match := _DATATYPE.search(content):
                datatype = match[1]
            elif match := _BUFFERS.search(content):
                buffers = match[1]
            elif _HEAD.search(content):
                names = _head(text, line, content)
                family, called, version = title
                table = Table(line, names, [], family, called, version, ranks, command,
                              iterations, datatype, buffers)  # fmt: skip
                found.append(table)
                left_out.begin(table)
            elif table is not None and table.rows:
                table = None
        elif words and table is None:
            left_out.outside(line, content)
        elif words and table is not None and not left_out.read_row(line, content, table):
            table = None
        if table is None:
            left_out.end()
    left_out.end()
    return found


def _read(text: TextFile, options: Options) -> Measured:
    """A table for each operation, with the rows of all its runs."""
    left_out = LeftOut(text)
    every = tables(text, left_out)
    good = [one for one in every if _collective(one.family, one.title) and "mean" in one.names]
    names = _operations(good)
    found = Collectives(text)
    for table, operation in zip(good, names, strict=True):
        known = {"ranks": options.ranks or table.ranks}
        if table.iterations and "iterations" not in table.names:
            known["iterations"] = table.iterations
        found.add_table(table, operation, left_out, **known)
    if not found.rows:
        if not _is_osu(text.head):
            text.check_not_of_another_tool()
        for table in every:
            if _collective(table.family, table.title) and "mean" not in table.names:
                what = "has no column `Avg Latency(us)`: only blocking collectives go"
                raise text.error(table.line, what)
        left_out.check_nothing()
    parts = found.tables()
    versions = [one.version for one in good if one.version]
    source = {"tool": "OSU micro-benchmarks"} | ({"version": versions[-1]} if versions else {})
    notes: list[str] = []
    commands = [one.command for one in good if one.command]
    if not options.ranks and not commands:
        notes.append(StoredText(
            "the file does not state the number of ranks; as a number it is 0 (give ", "ranks", ")"
        ))  # fmt: skip
    elif not options.ranks:
        notes.append(
            f"the ranks are those of the commands in the file, such as in line {commands[-1]}"
        )
    notes.append(
        "the mean is over iterations and ranks; min and max are those of the ranks' means, not of "
        "single iterations"
    )
    if any(part.p99 is not None for part in parts):
        notes.append("percentiles are over iterations, of the mean over ranks")
    notes += [*notes_on_others(every, good), *left_out.notes()]
    return Measured(parts, "osu", source, tuple(notes))


def notes_on_others(every: list[Table], used: list[Table]) -> list[str]:
    """A note that names the tables which are not used."""
    others = [f"{one.family} {one.title} (line {one.line})" for one in every if one not in used]
    return [f"left out, other tests: {first_few(others, 8)}"] if others else []


def _operations(found: list[Table]) -> list[str]:
    """The names of operations, with all in parentheses that tells those of one collective apart."""
    keys = [_collective(one.family, one.title) for one in found]
    values: dict[tuple[str, str], set[str]] = {}
    for table, key in zip(found, keys, strict=True):
        for name in _APART:
            values.setdefault((key, name), set()).add(getattr(table, name))
    names = []
    for table, key in zip(found, keys, strict=True):
        details = ["persistent"] if "Persistent" in table.title else []
        several = (name for name in _APART if len(values[key, name] - {""}) > 1)
        details += filter(None, (getattr(table, name) for name in several))
        names.append(f"{key} ({', '.join(details)})" if details else key)
    return names


def _ranks(command: str) -> int:
    """Return how many processes a command starts; 0 where it does not say that."""
    if found := _COMMAND.search(command):
        return int(found[1])
    nodes, each = _NODES.search(command), _PER_NODE.search(command)
    return int(nodes[1]) * int(each[1]) if nodes and each and _BY_NODE.search(command) else 0


def _iterations(command: str) -> int:
    """Return how many iterations a command asks for, of all sizes; 0 where it does not."""
    words = command.replace("=", " ").split()
    at = next((at for at, word in enumerate(words) if "osu_" in word), len(words))
    for option, number in zip(words[at:], words[at + 1 :], strict=False):
        asked = option[:1] == "-" and option.lstrip("-") in ("i", "iterations")
        if asked and re.fullmatch("[0-9]{1,12}", number):
            return int(number)
    return 0


def _head(text: TextFile, line: int, content: str) -> list[str]:
    """Names of columns; "" for one that is not used."""
    rest = content.strip().lstrip("#").strip()
    names: list[str] = []
    while rest:
        match = _COLUMN.match(rest) or _OTHER.match(rest)
        if match is None:  # not reached: any word matches
            break
        names.append(_COLUMNS.get(match[0].lower().replace(" (", "("), ""))
        rest = rest[match.end() :].strip()
    if len(set(names) - {""}) != len(names) - names.count(""):
        raise text.error(line, "has a column twice")
    return names


FORMATS = (
    Format("osu", "OSU micro-benchmarks of collectives", ("ranks",), sign=_is_osu, read=_read),
)
