"""Marks: operations of a schedule that end an iteration (time step) of the application.

GOAL has no marks. A mark is a set of operations, of one rank or of several; it is reached when the
last of them is done. Marks are in a file, or are the operations with a tag that the program gave
the messages of its iterations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..fields import shorten
from ..files import open_input, read_whole
from ..units import from_ticks, show_seconds
from .schedule import KINDS, Marks, Schedule

NO_MARK = 2**32 - 1
MOST_MARKS = 100_000
_KIND, _TAG = 0, 3  # columns of operations_of
_PATTERN = re.compile(r" *[a-z]+ *=[^,=]*(, *[a-z]+ *=[^,=]*)*")
_STATEMENT = re.compile(
    r"\brank\s+(?P<rank>[0-9]+)\s*\{"
    r"|(?:\b(?P<label>\w+)\s*:\s*)?\b(?P<kind>calc|send|recv)\s+(?=[0-9])"
)


def read_marks(schedule: Schedule, text: str | Path) -> Marks:
    """The marks of a schedule: of a file of lines ``NAME RANK LABEL``, or by tag.

    Parameters
    ----------
    schedule : Schedule
    text : str or Path
        A file. Or a pattern, "tag=7": the operations of each rank with this tag, one after the
        other, each of them the end of an iteration; "tag=7,every=2": each second of them;
        "tag=7,kind=recv": of receives alone.

    Raises
    ------
    ValueError
        What is wrong, with the line of the file.
    """
    if not isinstance(text, (str, Path)):
        raise ValueError(f"marks must be a file, or text such as 'tag=7', got {shorten(text)}")
    if is_pattern(text):
        return _by_tag(schedule, str(text))
    return _from_file(schedule, Path(text))


def is_pattern(text: str | Path) -> bool:
    """Return whether a text is a pattern such as "tag=7" and no file."""
    return isinstance(text, str) and _PATTERN.fullmatch(text) is not None


def check_marks(names: Sequence[str], reached: Sequence[int]) -> None:
    """Raise ValueError where marks stand in another order than they are reached without noise.

    The time since the mark before would be below 0.
    """
    for i in range(1, len(names)):
        if reached[i] < reached[i - 1]:
            before, after = (show_seconds(float(from_ticks(reached[j]))) for j in (i - 1, i))
            raise ValueError(
                f"marks: {names[i]} is reached at {after} without noise, and {names[i - 1]}, which "
                f"stands before it, at {before}: give marks in the order in which they are reached"
            )


def _by_tag(schedule: Schedule, text: str) -> Marks:
    pairs = (part.split("=") for part in text.split(","))
    given = {key.strip(): value.strip() for key, value in pairs}
    if "tag" not in given or not set(given) <= {"tag", "every", "kind"}:
        raise ValueError(f"marks: {shorten(text)} must have tag, and may have every and kind")
    tag, every = _count(given["tag"], "tag", 0), _count(given.get("every", "1"), "every", 1)
    kind = given.get("kind")
    if kind not in (None, "send", "recv"):
        raise ValueError(f"marks: kind must be send or recv, got {shorten(kind)}")
    of = np.full(schedule.operations, NO_MARK, dtype=np.uint32)
    counts: dict[int, int] = {}
    for rank, begin in enumerate(schedule._mapped.begins[: schedule.ranks]):
        operations = schedule._mapped.operations_of(rank)
        kinds = operations[:, _KIND]
        wanted = kinds != KINDS["calc"] if kind is None else kinds == KINDS[kind]
        there = np.flatnonzero(wanted & (operations[:, _TAG] == tag))
        if not len(there):
            continue
        counts.setdefault(len(there), rank)
        if len(counts) > 1:
            (one, first), (other, second) = counts.items()
            raise ValueError(
                f"marks: rank {first} has {one:,} operations with tag {tag}, rank {second} has "
                f"{other:,}: they must have as many, or marks stand in a file"
            )
        of[begin + there] = np.arange(len(there)) // every
    if not counts:
        raise ValueError(f"marks: no operation of {schedule.name} has tag {tag}")
    (count,) = counts
    if count % every:
        raise ValueError(f"marks: ranks have {count:,} operations with tag {tag}, which is no "
                         f"multiple of every = {every:,}")  # fmt: skip
    _check_number(count // every)
    return Marks(tuple(str(i + 1) for i in range(count // every)), of)


def _count(text: str, name: str, least: int) -> int:
    if not re.fullmatch("[0-9]{1,10}", text) or int(text) < least:
        raise ValueError(f"marks: {name} must be an integer of at least {least}, "
                         f"got {shorten(text)}")  # fmt: skip
    return int(text)


def _from_file(schedule: Schedule, path: Path) -> Marks:
    try:
        lines = read_whole(path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or error
        raise ValueError(f"marks: {path} can not be read ({what})") from None
    rows = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"{path}, line {number}"
        if len(words) != 3 or not re.fullmatch("[0-9]{1,9}", words[1]):
            raise ValueError(f"{where}: expected NAME RANK LABEL, got {shorten(line)}")
        if int(words[1]) >= schedule.ranks:
            raise ValueError(f"{where}: there is no rank {words[1]}, ranks are 0 to "
                             f"{schedule.ranks - 1:,}")  # fmt: skip
        rows.append((where, words[0], int(words[1]), words[2]))
    if not rows:
        raise ValueError(f"{path}: there are no marks")
    named = {rank for _, _, rank, label in rows if not label.startswith("#")}
    labels = _labels(schedule, named) if named else {}
    names: dict[str, int] = {}
    of = np.full(schedule.operations, NO_MARK, dtype=np.uint32)
    ends = schedule._mapped.begins[1:]
    for where, name, rank, label in rows:
        begin = schedule._mapped.begins[rank]
        if label.startswith("#"):
            digits = label[1:]
            place = int(digits) if re.fullmatch("[0-9]{1,10}", digits) else -1
            if not 0 <= place < ends[rank] - begin:
                raise ValueError(f"{where}: rank {rank} has {ends[rank] - begin:,} operations, "
                                 f"counted from #0; got {shorten(label)}")  # fmt: skip
        elif (rank, label) in labels:
            place = labels[rank, label]
        else:
            raise ValueError(f"{where}: rank {rank} has no operation {shorten(label)}")
        if of[begin + place] != NO_MARK:
            raise ValueError(f"{where}: the operation has a mark already")
        of[begin + place] = names.setdefault(name, len(names))
    _check_number(len(names))
    return Marks(tuple(names), of)


def _check_number(count: int) -> None:
    if count > MOST_MARKS:
        raise ValueError(f"marks: there are {count:,}, at most {MOST_MARKS:,} can be kept")


def _labels(schedule: Schedule, ranks: set[int]) -> dict[tuple[int, str], int]:
    """The number of each labelled operation of some ranks, from the text."""
    if schedule._path is None:
        raise ValueError(f"marks: {schedule.name} is no text and has no labels: name operations "
                         "by their number in their rank, from #0")  # fmt: skip
    found: dict[tuple[int, str], int] = {}
    rank, count = -1, 0
    for line in _without_comments(schedule._path):
        for match in _STATEMENT.finditer(line):
            if match["rank"] is not None:
                rank, count = int(match["rank"]), 0
                continue
            if match["label"] is not None and rank in ranks:
                found[rank, match["label"]] = count
            count += 1
    return found


def _without_comments(path: Path) -> Iterator[str]:
    inside = False
    try:
        with open_input(path) as file:
            for raw in file:
                line, kept = raw.decode(errors="replace"), ""
                while line:
                    if inside:
                        _, closed, line = line.partition("*/")
                        inside = not closed
                        continue
                    begin = re.search(r"//|/\*", line)
                    kept += line[: begin.start()] if begin else line
                    inside = begin is not None and begin[0] == "/*"
                    line = line[begin.end() :] if inside and begin else ""
                yield kept
    except OSError as error:
        raise ValueError(f"marks: {path} can not be read again for its labels "
                         f"({error.strerror})") from None  # fmt: skip
