"""Answers as tuning files: which algorithm a library takes on how many ranks, for which message.

A cell of an answer speaks for its ranks and bytes and for those up to the next that were asked for;
beyond the last ones nothing is known, and the library chooses. Formats are modules, and the list of
them is here. A format has

NAME, TITLE, LIBRARY, SUFFIX : str
    What it is called, which versions read it, whose it is, and how its names end.
CALLED : str
    The library's name in sentences and in `Candidate.called`.
COMMENTS_INSIDE : bool
    Whether the file has room for comments; else they go into a second one.
use(path) -> list of str
    How to have the library read the file.
write(tables, comments) -> str
    The text of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...fields import check_choice
from ...files import check_replaceable, write_whole
from ...info import __version__
from ..question import Question
from . import openmpi_json, openmpi_rules
from .choices import LEAST_CHOICE, Decided, TuningChoice, choose
from .table import TuningTable

__all__ = ["TuningChoice", "check_tuning", "tuning_choices", "tuning_format", "write_tuning"]

FORMATS: tuple[Any, ...] = (openmpi_rules, openmpi_json)
"""All formats of tuning files."""

LIBRARIES: dict[str, str] = {form.LIBRARY: form.CALLED for form in FORMATS}
"""Libraries that tuning files are written for, and their names among those of a candidate."""


def tuning_format(path: str | Path, library: str | None = None) -> Any:
    """The format that a tuning file's name says.

    Parameters
    ----------
    path : str or Path
    library : str, optional
        "openmpi"; without it the file's name says it: `.rules`, or `openmpi*.json`.

    Returns
    -------
    module
        One of `FORMATS`.

    Raises
    ------
    ValueError
        An unknown library or ending, or a name that does not say the library.

    Examples
    --------
    >>> tuning_format("openmpi.rules").NAME, tuning_format("a.json", "openmpi").NAME
    ('openmpi.rules', 'openmpi.json')
    """
    path = Path(path)
    if library is not None:
        check_choice(library, "library", list(LIBRARIES))
    fitting = [form for form in FORMATS if path.suffix == form.SUFFIX]
    if not fitting:
        endings = [f"{form.SUFFIX} ({form.TITLE})" for form in FORMATS]
        raise ValueError(
            f"a tuning file's name must end in {', '.join(endings[:-1])} or {endings[-1]}, got "
            f"{path.name!r}"
        )
    if (
        library is None
        and path.suffix == openmpi_json.SUFFIX
        and not path.name.startswith("openmpi")
    ):
        raise ValueError(
            f"library must be given for {path.name!r}, as its name does not begin with one of "
            f"{', '.join(LIBRARIES)}"
        )
    return fitting[0]


def check_tuning(question: Question, path: str | Path, library: str | None = None) -> None:
    """Raise where no answer to a question could be written: to be called before it is sought.

    Raises
    ------
    ValueError
        As `tuning_format`, or fewer than two candidates are algorithms of the library.
    OSError
        The directory does not exist.
    """
    form = tuning_format(path, library)
    named = _called(question, form.CALLED)
    if len(named) < LEAST_CHOICE:
        has = f"only {', '.join(named)}" if named else "none"
        raise ValueError(
            f"a tuning file takes two candidates or more that {form.CALLED} has as well: of those "
            f"of {question.collective} here it has {has}"
        )
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(2, "No such directory", str(path.parent))
    for name in _file_names(path, form):
        check_replaceable(name)


def tuning_choices(advice: Decided, library: str = "openmpi") -> tuple[TuningChoice, ...]:
    """What a library should do in each cell of an answer, in the order of its cells.

    An algorithm is chosen where at least two that the library has were compared, and the answer
    tells that one of these is the best, or at most by the tolerance `within` slower than any of
    them. That may be so in a cell that has no winner among all candidates.

    Raises
    ------
    ValueError
        An unknown library.
    """
    name = LIBRARIES[check_choice(library, "library", list(LIBRARIES))]
    called = _called(advice.question, name)
    return tuple(choose(advice.question, cell, called, name) for cell in advice.cells)


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
    form = tuning_format(path, library)
    names = [advice.question.collective for advice in advices]
    if len(set(names)) < len(names):
        raise ValueError(f"answers must be of different collectives, got {', '.join(names)}")
    for advice in advices:
        check_tuning(advice.question, path, library)
    tables = [
        TuningTable(advice, _called(advice.question, form.CALLED), form.CALLED)
        for advice in advices
    ]
    if not any(choice.called for table in tables for choice in table.choices):
        raise ValueError(
            f"nothing to write to {path.name}: in no cell is one of {form.CALLED}'s algorithms "
            "told to be the best of them"
        )
    tables.sort(key=lambda table: table.collective)
    comments = _comments(tables, form, path)
    texts = [form.write(tables, comments)]
    if not form.COMMENTS_INSIDE:
        texts.append("\n".join(comments) + "\n")
    files = _file_names(path, form)
    for file, text in zip(files, texts, strict=True):
        write_whole(file, text.encode())
    return files


def _file_names(path: Path, form: Any) -> tuple[Path, ...]:
    return (path,) if form.COMMENTS_INSIDE else (path, path.with_name(f"{path.name}.txt"))


def _called(question: Question, library: str) -> dict[str, str]:
    """What the library calls the candidates that it has."""
    return {
        candidate.name: candidate.called[library]
        for candidate in question.chosen()
        if library in candidate.called
    }


def _comments(tables: Sequence[TuningTable], form: Any, path: Path) -> list[str]:
    """What stands behind the choices, in lines."""
    text = [
        f"Tuning file for {form.CALLED}, written by jitterfly {__version__}",
        *form.use(path),
        "A choice holds up to the next ranks and the next message size below; elsewhere the",
        "library chooses.",
    ]
    for table in tables:
        text += ["", *table.comments()]
    # A name of a file may hold a line break, after which numbers would be rules.
    return [" ".join(line.split()) for line in text]
