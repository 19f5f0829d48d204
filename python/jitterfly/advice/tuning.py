"""Answers as tuning files: which algorithm a library takes on how many ranks, for which message.

Open MPI's component `tuned` reads rules from a file. Two formats are written:

- `.rules`, the text that all of its versions from 4 on read (`coll_tuned_dynamic_file.c`). A rule
  holds from its communicator size up to the next one's, and from its message size up to the next
  one's; algorithm 0 is the library's own choice. Below the first communicator size the reader takes
  the first rule, so that the file begins with one for size 0.
- `.json`, which Open MPI 6 reads as well (its `tuned_dynamic_file_schema.json`): a rule has a least
  and a largest size, both inclusive, and where none fits the library chooses.

A cell of an answer speaks for its ranks and bytes and for those up to the next that were asked for;
beyond the last ones nothing is known, and the library chooses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..fields import check_choice
from ..files import check_replaceable, write_whole
from ..info import __version__
from ..slowdown import in_words
from ..units import show_seconds, show_size
from .question import Question
from .ranking import AdviceCell, RankedCandidate

RULES, JSON = ".rules", ".json"
"""Endings of the names of tuning files."""

TUNED_LIBRARIES = {"openmpi": "Open MPI"}
"""Libraries that tuning files are written for, and their names among those of a candidate."""

# Name in the JSON file and number in the text (COLLTYPE in Open MPI's coll_base_functions.h).
_COLLECTIVES = {
    "allgather": ("allgather", 0),
    "allreduce": ("allreduce", 2),
    "barrier": ("barrier", 6),
    "broadcast": ("bcast", 7),
    "reduce": ("reduce", 11),
    "reduce_scatter": ("reduce_scatter", 12),
}
_DEFAULT = 0  # "ignore" among the algorithms: the library's own choice
_LEAST_CHOICE = 2  # algorithms of the library that make a comparison


class Decided(Protocol):
    """What tuning files are made of: `Advice` has it."""

    @property
    def question(self) -> Question:
        """What was asked."""

    @property
    def cells(self) -> tuple[AdviceCell, ...]:
        """What was found, along the ranks first."""


@dataclass(frozen=True)
class TuningChoice:
    """What a tuning file says about one cell of an answer.

    Attributes
    ----------
    ranks, message_bytes : int
        Of the cell.
    candidate : str
        "" where the library is left to choose.
    number : int
        The library's number of the algorithm; 0 where the library is left to choose.
    reason : str
        In words: the outcome, or why nothing is chosen.
    """

    ranks: int
    message_bytes: int
    candidate: str
    number: int
    reason: str


def tuning_format(path: str | Path, library: str | None = None) -> str:
    """The ending that says a tuning file's format.

    Parameters
    ----------
    path : str or Path
    library : str, optional
        "openmpi"; without it the file's name says it: `.rules`, or `openmpi*.json`.

    Raises
    ------
    ValueError
        An unknown library or ending, or a name that does not say the library.

    Examples
    --------
    >>> tuning_format("openmpi.rules"), tuning_format("a.json", "openmpi")
    ('.rules', '.json')
    """
    path = Path(path)
    if library is not None:
        check_choice(library, "library", list(TUNED_LIBRARIES))
    if path.suffix not in (RULES, JSON):
        raise ValueError(
            f"a tuning file's name must end in {RULES} (Open MPI 4 and later) or {JSON} (Open MPI "
            f"6 and later), got {path.name!r}"
        )
    if library is None and path.suffix == JSON and not path.name.startswith("openmpi"):
        raise ValueError(
            f"library must be given for {path.name!r}, as its name does not begin with one of "
            f"{', '.join(TUNED_LIBRARIES)}"
        )
    return path.suffix


def check_tuning(question: Question, path: str | Path, library: str | None = None) -> None:
    """Raise where no answer to a question could be written: to be called before it is sought.

    Raises
    ------
    ValueError
        As `tuning_format`, or fewer than two candidates are algorithms of the library.
    OSError
        The directory does not exist.
    """
    tuning_format(path, library)
    named = _numbers(question, library)
    if len(named) < _LEAST_CHOICE:
        has = f"only {', '.join(named)}" if named else "none"
        raise ValueError(
            f"a tuning file takes two candidates or more that {_library_name(library)} has as "
            f"well: of those of {question.collective} here it has {has}"
        )
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(2, "No such directory", str(path.parent))
    for name in _file_names(path):
        check_replaceable(name)


def tuning_choices(advice: Decided, library: str | None = None) -> tuple[TuningChoice, ...]:
    """What a library should do in each cell of an answer, in the order of its cells.

    An algorithm is chosen where at least two that the library has were compared, and the answer
    tells that one of these is the best, or at most by the tolerance `within` slower than any of
    them. That may be so in a cell that has no winner among all candidates.

    Raises
    ------
    ValueError
        An unknown library.
    """
    if library is not None:
        check_choice(library, "library", list(TUNED_LIBRARIES))
    return tuple(_choice(advice.question, cell, library) for cell in advice.cells)


def write_tuning(
    path: str | Path, advices: Sequence[Decided], library: str | None = None
) -> tuple[Path, ...]:
    """Write answers, each of another collective, as one tuning file.

    Parameters
    ----------
    path : str or Path
        Ends in `.rules` or `.json`. A file that is there is replaced. JSON has no room for
        comments: what stands behind the choices is in a second file, whose name ends in
        `.json.txt`.
    advices : sequence of Advice
    library : str, optional
        As in `tuning_format`.

    Returns
    -------
    tuple of Path
        The files.

    Raises
    ------
    ValueError
        As `check_tuning`; two answers of one collective; or there is nothing to write: in no cell
        is anything decided among the library's algorithms.
    OSError
        The file can not be written.
    """
    path = Path(path)
    suffix = tuning_format(path, library)
    names = [advice.question.collective for advice in advices]
    if len(set(names)) < len(names):
        raise ValueError(f"answers must be of different collectives, got {', '.join(names)}")
    for advice in advices:
        check_tuning(advice.question, path, library)
    tables = [_Table(advice, library) for advice in advices]
    if not any(choice.number for table in tables for choice in table.choices):
        raise ValueError(
            f"nothing to write to {path.name}: in no cell is one of {_library_name(library)}'s "
            "algorithms told to be the best of them"
        )
    tables.sort(key=lambda table: table.number)
    if suffix == RULES:
        texts = [_rules_text(tables, path)]
    else:
        texts = [_json_text(tables), "\n".join(_comments(tables, path)) + "\n"]
    files = _file_names(path)
    for file, text in zip(files, texts, strict=True):
        write_whole(file, text.encode())
    return files


def _file_names(path: Path) -> tuple[Path, ...]:
    return (path,) if path.suffix == RULES else (path, path.with_name(f"{path.name}.txt"))


def _library_name(library: str | None) -> str:
    return TUNED_LIBRARIES[library or "openmpi"]


def _numbers(question: Question, library: str | None) -> dict[str, int]:
    """The library's numbers of the candidates that it has; a library's name begins with it."""
    called = _library_name(library)
    return {
        candidate.name: int(candidate.called[called].split()[0])
        for candidate in question.chosen()
        if called in candidate.called
    }


def _choice(question: Question, cell: AdviceCell, library: str | None) -> TuningChoice:
    numbers, place = _numbers(question, library), (cell.ranks, cell.message_bytes)
    ranked = [candidate for candidate in cell.ranking if candidate.name in numbers]
    if not cell.ranking:
        return TuningChoice(*place, "", _DEFAULT, cell.outcome)
    if len(ranked) < _LEAST_CHOICE:
        reason = f"fewer than two algorithms of {_library_name(library)} were compared"
        return TuningChoice(*place, "", _DEFAULT, reason)
    if cell.best in numbers:
        reason = _reason(question, ranked, cell.outcome)
        return TuningChoice(*place, cell.best, numbers[cell.best], reason)
    for one in ranked:
        times = [_at_most(cell, one, other) for other in ranked if other is not one]
        if max(times) <= 1 + question.within:
            first = [one, *(candidate for candidate in ranked if candidate is not one)]
            reason = _reason(question, first, f"best of those that {_library_name(library)} has")
            return TuningChoice(*place, one.name, numbers[one.name], reason)
    return TuningChoice(*place, "", _DEFAULT, "no winner")


def _reason(question: Question, ranked: list[RankedCandidate], outcome: str) -> str:
    """The outcome, with the statistic of the candidate that stands first."""
    value = ranked[0].value
    low, high = float(value.low), float(value.high)
    ends = ""
    if low != high:
        shown = (show_seconds(x, 4) if math.isfinite(x) else "?" for x in (low, high))
        ends = f" [{', '.join(shown)}]"
    return f"{outcome}, {question.statistic} {show_seconds(float(value.value), 4)}{ends}"


def _at_most(cell: AdviceCell, one: RankedCandidate, other: RankedCandidate) -> float:
    """How many times as long as another candidate one takes at most; infinite if not known.

    Each candidate's ratio to another one is known with both ends, and all intervals of an answer
    hold together, so that quotients of ratios to the same candidate are bounds, too.
    """
    mine, others = _ratios(cell, one), _ratios(cell, other)
    bounds = [
        mine[name][1] / others[name][0] for name in mine if name in others and others[name][0] > 0
    ]
    return min((bound for bound in bounds if not math.isnan(bound)), default=math.inf)


def _ratios(cell: AdviceCell, candidate: RankedCandidate) -> dict[str, tuple[float, float]]:
    """Bounds of its time over that of each candidate that it is compared with, directly or not."""
    by_name = {one.name: one for one in cell.ranking}
    low = high = 1.0
    found = {candidate.name: (low, high)}
    while candidate.versus and candidate.versus not in found:
        ratio = candidate.ratio
        low, high = low * float(ratio.low), high * float(ratio.high)
        found[candidate.versus] = (low, high)
        candidate = by_name[candidate.versus]
    return found


class _Table:
    """The choices of an answer with the communicator and message sizes of the library's rules."""

    def __init__(self, advice: Decided, library: str | None):
        self.question = advice.question
        self.choices = tuning_choices(advice, library)
        self.name, self.number = _COLLECTIVES[self.question.collective]
        self.library = _library_name(library)

    def rows(self, ranks: int) -> list[tuple[int, int | None, TuningChoice]]:
        """First and last message size in the library's terms, and what is chosen there."""
        choices = [choice for choice in self.choices if choice.ranks == ranks]
        if self.question.collective == "barrier":
            # Its messages are empty to the library, which asks for the rule of size 0.
            if len({choice.number for choice in choices}) > 1:
                reason = "the best one depends on the size of the barrier's messages"
                return [(0, None, TuningChoice(ranks, 0, "", _DEFAULT, reason))]
            return [(0, None, choices[0])]
        # Open MPI counts what all ranks put into an allgather; we what one does.
        times = ranks if self.question.collective == "allgather" else 1
        sizes = [choice.message_bytes * times for choice in choices]
        lasts = [size - 1 for size in sizes[1:]] + sizes[-1:]
        return list(zip(sizes, lasts, choices, strict=True))

    def last_ranks(self, ranks: int) -> int:
        """The last communicator size that a rule for so many ranks holds for."""
        return min((one - 1 for one in self.question.ranks if one > ranks), default=ranks)


def _rules_text(tables: list[_Table], path: Path) -> str:
    text = [f"# {line}".rstrip() for line in _comments(tables, path)]
    text.append(f"{len(tables)}  # collectives")
    for table in tables:
        ranks = table.question.ranks
        text.append(f"{table.number}  # MPI_{table.name.capitalize()}")
        text.append(f"{len(ranks) + 2}  # communicator sizes")
        text += [*_default_lines(0)]
        for count in ranks:
            rows = table.rows(count)
            lines = []
            if rows[0][0] > 0:
                lines.append(_rule(0, _DEFAULT, "below the sizes asked for"))
            for first, _, choice in rows:
                lines.append(_rule(first, choice.number, _told(choice)))
            if rows[-1][1] is not None:
                lines.append(_rule(rows[-1][1] + 1, _DEFAULT, "above the sizes asked for"))
            text += [f"{count}  # communicator size", f"{len(lines)}  # message sizes", *lines]
        text += _default_lines(ranks[-1] + 1)
    return "\n".join(text) + "\n"


def _default_lines(ranks: int) -> list[str]:
    return [
        f"{ranks}  # communicator size",
        "1  # message sizes",
        _rule(0, _DEFAULT, "ranks not asked for"),
    ]


def _rule(size: int, number: int, comment: str) -> str:
    """Message size, algorithm, and 0 for fan-out and segment size: ours have no segments."""
    return f"{size} {number} 0 0  # {comment}"


def _told(choice: TuningChoice) -> str:
    return f"{choice.candidate or 'default'}: {choice.reason}"


def _json_text(tables: list[_Table]) -> str:
    collectives: dict[str, Any] = {}
    for table in tables:
        rules = []
        for ranks in table.question.ranks:
            chosen = [
                {"msg_size_min": first, "msg_size_max": "inf" if last is None else last,
                 "alg": choice.number}
                for first, last, choice in table.rows(ranks) if choice.number
            ]  # fmt: skip
            if chosen:
                last_ranks = table.last_ranks(ranks)
                rules.append({"comm_size_min": ranks, "comm_size_max": last_ranks, "rules": chosen})
        if rules:
            collectives[table.name] = rules
    whole = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(whole, indent=1) + "\n"


def _comments(tables: list[_Table], path: Path) -> list[str]:
    """What stands behind the choices, in lines."""
    text = [
        f"Tuning file for {tables[0].library}, written by jitterfly {__version__}",
        "To use it: OMPI_MCA_coll_tuned_use_dynamic_rules=1 "
        f"OMPI_MCA_coll_tuned_dynamic_rules_filename={path.name} mpiexec ...",
        "A choice holds up to the next ranks and the next message size below; elsewhere the",
        "library chooses.",
    ]
    for table in tables:
        question = table.question
        noise = "; ".join(map(in_words, question.noise)) or "none"
        text += [
            "",
            f"{question.collective}: smallest {question.statistic}, within "
            f"{100 * question.within:.10g} %, confidence {100 * question.confidence:.10g} %, seed "
            f"{question.seed}",
            f"network {in_words(question.network)}",
            f"noise {noise}",
        ]
        if question.cycles > 1:
            text.append(f"the last of {question.cycles:,} in a row")
        if question.compute_time:
            text.append(f"{show_seconds(question.compute_time)} of computing before each")
        text += [
            f"{choice.ranks:,} ranks, {show_size(choice.message_bytes)}: {_told(choice)}"
            for choice in sorted(table.choices, key=lambda one: (one.ranks, one.message_bytes))
        ]
    return [" ".join(line.split()) for line in text]
