"""MPI and NCCL tuning files from an answer of `advise`: formats; where to add a new one.

A cell of an answer speaks for its ranks and bytes and for those up to the next that were asked for;
beyond the last ones nothing is known, and the library chooses. Each format is a `TuningFormat`; a
new one gets its place in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...algorithms.algorithm import COLLECTIVES
from ...algorithms.candidates import known
from ...fields import check_choice, naming_parameters, parameter
from ...files import check_replaceable, write_together
from ...version import __version__
from ..question import Question
from .mpich import MPICH
from .nccl import NCCL
from .openmpi import OpenMPIJson, OpenMPIRules
from .table import MIN_CHOICE, Decided, TuningChoice, TuningFormat, TuningTable

__all__ = [
    "TuningChoice",
    "check_tuning",
    "library_candidates",
    "tuning_choices",
    "tuning_format",
    "write_tuning",
]

FORMATS: tuple[TuningFormat, ...] = (OpenMPIRules(), OpenMPIJson(), MPICH(), NCCL())
"""All formats of tuning files."""

LIBRARIES: dict[str, str] = {form.LIBRARY: form.CALLED for form in FORMATS}
"""Libraries that tuning files are written for, and their names among those of a candidate."""


def tuning_format(path: str | Path, library: str | None = None) -> TuningFormat:
    """The format that a tuning file's name says.

    Parameters
    ----------
    path : str or Path
    library : str, optional
        "openmpi", "mpich" or "nccl"; without it the file's name says it: `.rules`,
        `openmpi*.json`, `mpich*.json`, `.csv`.

    Returns
    -------
    TuningFormat
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
        endings = [f"{suffix} ({titles})" for suffix, titles in _endings().items()]
        raise ValueError(
            f"a tuning file's name must end in {', '.join(endings[:-1])} or {endings[-1]}, got "
            f"{path.name!r}"
        )
    if library is None and len(fitting) == 1:
        form = fitting[0]
        for other, title in LIBRARIES.items():
            if path.name.startswith(other) and other != form.LIBRARY:
                raise ValueError(
                    f"a file whose name ends in {form.SUFFIX} is for {form.CALLED}, and "
                    f"{path.name!r} begins with {title}'s name: give {parameter('library')}, or "
                    "another name"
                )
        return form
    for form in fitting:
        if library == form.LIBRARY or (library is None and path.name.startswith(form.LIBRARY)):
            return form
    if library is None:
        raise ValueError(
            f"{parameter('library')} must be given for {path.name!r}, as its name does not begin "
            f"with one of {', '.join(form.LIBRARY for form in fitting)}"
        )
    own = " or ".join(form.SUFFIX for form in FORMATS if library == form.LIBRARY)
    raise ValueError(
        f"a tuning file's name must end in {own} for library = {library!r}, got {path.name!r}"
    )


def check_tuning(
    question: Question,
    path: str | Path,
    library: str | None = None,
    *,
    libmpi: str | Path | None = None,
    protocol: str | None = None,
) -> None:
    """Raise where no answer to a question could be written: to be called before it is sought.

    Raises
    ------
    ValueError
        As `write_tuning`, of what does not depend on the answer.
    OSError
        The directory does not exist, or `libmpi` can not be read.
    """
    _checked_format([question], Path(path), library, libmpi=libmpi, protocol=protocol)


def library_candidates(
    collective: str,
    path: str | Path,
    library: str | None = None,
    *,
    libmpi: str | Path | None = None,
    protocol: str | None = None,
) -> list[str]:
    """The candidates of a collective that a tuning file can name; options as of `write_tuning`.

    They are the usual ones of these, or, of a library that has fewer than two of the usual ones,
    all of these; where two have one name there, the last, which is nearest to what it runs. Those
    in which switches combine are left out, as few machines have such switches.

    Raises
    ------
    ValueError
        As `check_tuning`, of the file's name and its options.
    OSError
        `libmpi` can not be read.

    Examples
    --------
    >>> library_candidates("barrier", "openmpi.rules")
    ['dissemination', 'recursive_doubling', 'tree']
    >>> library_candidates("allreduce", "nccl.csv", protocol="simple")
    ['ring', 'nccl_tree']
    """
    path = Path(path)
    form = tuning_format(path, library)
    settings = _settings_of_options(form, path, libmpi=libmpi, protocol=protocol)
    having = [
        one
        for one in known(collective).values()
        if form.CALLED in one.called
        and not one.in_network
        and form.supports(collective, one.called[form.CALLED], settings)
    ]
    usual = [one for one in having if one.usual]
    if len(usual) >= MIN_CHOICE:
        return [one.name for one in usual]
    return [one.name for one in {one.called[form.CALLED]: one for one in having}.values()]


def _settings_of_options(form: TuningFormat, path: Path, **options: Any) -> Any:
    """Return the settings of a format; options that it does not take are a ValueError."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in form.OPTIONS:
            takers = " and ".join(other.NAME for other in FORMATS if name in other.OPTIONS)
            raise ValueError(
                f"{parameter(name)} is for {takers}, not for {form.NAME}: leave it out"
            )
    return form.settings(path.name, **given)


def _checked_format(
    questions: Sequence[Question], path: Path, library: str | None, **options: Any
) -> tuple[TuningFormat, Any, list[dict[str, str]]]:
    """Check that a tuning file of these questions can be written at `path`.

    Return its format, the format's settings, and what the library calls each question's candidates.
    """
    form = tuning_format(path, library)
    names = [question.collective for question in questions]
    if len(set(names)) < len(names):
        raise ValueError(f"answers must be of different collectives, got {', '.join(names)}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(2, "No such directory", str(path.parent))
    for file in _file_names(path, form):
        check_replaceable(file)
    settings = _settings_of_options(form, path, **options)
    called = [_called(question, form, settings) for question in questions]
    for question, named in zip(questions, called, strict=True):
        if not form.supports(question.collective, "", None):
            others = ", ".join(sorted(one for one in COLLECTIVES if form.supports(one, "", None)))
            raise ValueError(
                f"{path.name} can not choose for {question.collective}, only for {others}"
            )
        if len(named) < MIN_CHOICE:
            has = f"only {', '.join(named)}" if named else "none"
            raise ValueError(
                f"a tuning file takes two candidates or more that {form.CALLED} has as well: of "
                f"those of {question.collective} here it has {has}"
            )
        form.check_sizes(question, settings)
    return form, settings, called


def tuning_choices(
    advice: Decided, library: str = "openmpi", *, libmpi: str | Path | None = None
) -> tuple[TuningChoice, ...]:
    """Return what a library should do in each cell of an answer, in the order of its cells.

    An algorithm is chosen where at least two that the library has were compared, and the answer
    tells that one of these is the best, or at most by the tolerance `within` slower than any of
    them. That may be so in a cell that has no winner among all candidates.

    Parameters
    ----------
    advice : Advice
    library : str
        "openmpi", "mpich" or "nccl".
    libmpi : str or Path, optional
        MPICH's shared library: only what this one has. Else what any version has.

    Raises
    ------
    ValueError
        An unknown library, or `libmpi` of another one.
    """
    check_choice(library, "library", list(LIBRARIES))
    form = next(form for form in FORMATS if library == form.LIBRARY)
    if libmpi is not None and "libmpi" not in form.OPTIONS:
        raise ValueError(f"{parameter('libmpi')} is for MPICH, not for {form.CALLED}: leave it out")
    settings = None if libmpi is None else MPICH().settings("choices", libmpi=libmpi)
    called = _called(advice.question, form, settings)
    return TuningTable(advice, called, form.CALLED).choices


def write_tuning(
    path: str | Path,
    advices: Sequence[Decided],
    library: str | None = None,
    *,
    libmpi: str | Path | None = None,
    protocol: str | None = None,
) -> tuple[Path, ...]:
    """Write answers, each of another collective, as one tuning file.

    Parameters
    ----------
    path, library, libmpi, protocol
        As in `Advice.write_tuning`.
    advices : sequence of Advice

    Returns
    -------
    tuple of Path
        The files: see `Advice.write_tuning`.

    Raises
    ------
    ValueError
        Two answers are of one collective; or as `Advice.write_tuning`.
    OSError
        A file can not be read or written.
    """
    path = Path(path)
    questions = [advice.question for advice in advices]
    form, settings, called = _checked_format(
        questions, path, library, libmpi=libmpi, protocol=protocol
    )
    tables = [
        TuningTable(advice, named, form.CALLED)
        for advice, named in zip(advices, called, strict=True)
    ]
    if not any(choice.called for table in tables for choice in table.choices):
        raise ValueError(
            f"nothing to write to {path.name}: in no cell is one of {form.CALLED}'s algorithms "
            "told to be the best of them. " + " ".join(table.way_to_decide() for table in tables)
        )
    tables.sort(key=lambda table: table.collective)
    with naming_parameters():
        comments = _comments(tables, form, settings, path)
    texts = [form.write(tables, comments, settings)]
    if not form.COMMENTS_INSIDE:
        texts.append("\n".join(comments) + "\n")
    files = _file_names(path, form)
    write_together({file: text.encode() for file, text in zip(files, texts, strict=True)})
    return files


def _endings() -> dict[str, str]:
    """Endings of names, and who reads them."""
    found: dict[str, list[str]] = {}
    for form in FORMATS:
        found.setdefault(form.SUFFIX, []).append(form.TITLE)
    return {suffix: "; ".join(titles) for suffix, titles in found.items()}


def _file_names(path: Path, form: TuningFormat) -> tuple[Path, ...]:
    return (path,) if form.COMMENTS_INSIDE else (path, path.with_name(f"{path.name}.txt"))


def _called(question: Question, form: TuningFormat, settings: Any) -> dict[str, str]:
    """Return what the library calls the candidates that it has."""
    return {
        candidate.name: candidate.called[form.CALLED]
        for candidate in question.chosen()
        if form.CALLED in candidate.called
        and form.supports(question.collective, candidate.called[form.CALLED], settings)
    }


def _comments(
    tables: Sequence[TuningTable], form: TuningFormat, settings: Any, path: Path
) -> list[str]:
    """Return what stands behind the choices, in lines."""
    text = [
        f"Tuning file for {form.CALLED}, written by jitterfly {__version__}",
        *form.usage_lines(path),
        *form.notes(settings),
    ]
    for table in tables:
        text += ["", *table.comments()]
    # A name of a file may hold a line break, after which numbers would be rules.
    return [" ".join(line.split()) for line in text]
