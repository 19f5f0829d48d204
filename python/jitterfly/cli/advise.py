"""Command `jitterfly advise`: which algorithm of a collective to use; tuning files."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

from ..progress import QUIET, Phases, ProgressLine
from ..question import EFFORT
from .options import add_parameters, check_nodes, tell_understood, values_of
from .output import (
    DRAWING,
    add_json,
    add_out,
    noted,
    prepare_out,
    print_json,
    print_report,
    progress_stream,
    show_phases,
    tell,
    write_answer,
)

EPILOG = """\
How numbers, sizes, ranges and noise are written: `jitterfly help syntax`. Several --noise add up.
All candidates see the same noise.
A file in TOML has the same under the names of jitterfly.advise: ranks, message_bytes, network,
[[noise]], statistic, ..., and further candidates as [own.NAME]. Options take its values' place.
"""
_SECONDS = 120.0
_SUCH = {"ranks": "64,1000", "network": "L=1us,o=200ns,G=0.1ns"}
_TUNING = ("libmpi", "protocol")  # what formats of tuning files must be told


class AdviceProgress(ProgressLine):
    """The progress line of `advise`: called by `search` with its state."""

    def __init__(self) -> None:
        super().__init__(progress_stream(), quiet=QUIET)

    def __call__(self, state: Any) -> None:
        """Show the state, where it is time to."""
        if self.due():
            self.show(state.in_words(), state.decided / state.cells)


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    from ..advice import Question

    parser = commands.add_parser(
        "advise",
        help="which algorithm of a collective to use on a machine with noise",
        description="Compares the algorithms of a collective on the same noise, over ranks and "
        "message sizes, and says which is the best, or that none is told to be.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("question", nargs="?", type=Path, metavar="QUESTION.toml")
    add_parameters(parser, Question, file=True)
    add_out(parser, ", unless this one knows less")
    add(
        "--write",
        type=Path,
        metavar="FILE",
        help="a tuning file: openmpi.rules, openmpi.json "
        "(version 6), mpich.json, nccl.csv; what is not decided the library chooses. Without "
        "--candidates those are compared that the library has",
    )
    add("--library", metavar="NAME", help="whose tuning file --write writes, where FILE does not "
        "begin with it: openmpi, mpich or nccl")  # fmt: skip
    add("--libmpi", type=Path, metavar="FILE", help="for mpich.json: MPICH's shared library, such "
        "as libmpi.so.12, whose own choices are kept where nothing is decided")  # fmt: skip
    add("--protocol", metavar="NAME", help="for nccl.csv: ll, ll128 or simple, of which --network "
        "has the costs")  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int | None:
    from ..advice import check_tuning, search
    from .output import terminal_width

    if chosen.candidates == "list":
        _list(chosen)
        return None
    started = time.monotonic()
    with AdviceProgress() as progress:
        question = _question(chosen, progress)
        if chosen.write is None:
            for name in ("library", *_TUNING):
                if getattr(chosen, name) is not None:
                    raise ValueError(f"--{name} is for --write FILE, which is not given")
        else:  # before minutes of work
            question = _of_the_library(question, chosen)
            check_tuning(question, chosen.write, chosen.library, **_tuning_options(chosen))
        effort = list(question.parameters(EFFORT))
        before = prepare_out(chosen, "advice", question.to_dict(), effort)
        tell_understood(question.network, question.noise)
        answer = noted(search(question, started=started), chosen)
    paths: list[Path] = []
    kept = _is_less(answer, before)
    print_report(answer.report(terminal_width()), chosen)
    if chosen.out is not None and not kept:
        with show_phases(begun=started) as phases:
            paths = _write(answer, chosen, phases)
    if kept and before is not None:
        print(
            f"jitterfly: {chosen.out} keeps its earlier answer, from {before['simulated']:,} "
            f"realizations: this one, from {answer.simulated:,}, knows less; --force replaces it",
            file=sys.stderr,
        )
    tuning, refused = _write_tuning(answer, chosen)
    if chosen.json:
        print_json("advise", **answer.to_dict(), written=[*paths, *tuning])
    elif paths:
        print(f"\nwritten to {chosen.out}: {', '.join(path.name for path in paths)}")
    if tuning and not chosen.json:
        print(_tuning_in_words(answer, tuning, chosen))
    if refused is not None:
        raise refused  # after the answer, which took its time
    return 130 if answer.ended == "stopped" else 0


def _of_the_library(question: Any, chosen: argparse.Namespace) -> Any:
    """The question about the candidates that the library has, where none were named.

    Redundant ones are often the best, and end a race before others are told apart.
    """
    from ..advice import library_candidates, tuning_format

    if question.candidates is not None:
        return question
    names = library_candidates(
        question.collective, chosen.write, chosen.library, **_tuning_options(chosen)
    )
    if not names:
        return question
    library = tuning_format(chosen.write, chosen.library).CALLED
    tell(
        f"candidates: {', '.join(names)}, which {library} has, as --write is given; others are "
        "compared where --candidates names them"
    )
    return dataclasses.replace(question, candidates=names)


def _tuning_options(chosen: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(chosen, name) for name in _TUNING}


def _write_tuning(
    answer: Any, chosen: argparse.Namespace
) -> tuple[tuple[Path, ...], ValueError | None]:
    """The files written for `--write`, or why there is nothing to write."""
    if chosen.write is None:
        return (), None
    try:
        options = _tuning_options(chosen)
        return answer.write_tuning(chosen.write, chosen.library, **options), None
    except ValueError as error:
        return (), error


def _tuning_in_words(answer: Any, files: tuple[Path, ...], chosen: argparse.Namespace) -> str:
    from ..advice import tuning_choices, tuning_format

    library = tuning_format(chosen.write, chosen.library).LIBRARY
    choices = tuning_choices(answer, library, libmpi=chosen.libmpi)
    decided = sum(bool(choice.candidate) for choice in choices)
    return (
        f"\nwritten: {', '.join(map(str, files))} (an algorithm in {decided} of {len(choices)} "
        "cells, the library's own choice elsewhere)"
    )


def _is_less(answer: Any, before: Any) -> bool:
    """Return whether an answer was cut short before it knew what the earlier one does."""
    from ..advice import DECIDED

    if before is None or answer.ended == DECIDED:
        return False
    try:
        ranked = sum(bool(cell["ranking"]) for cell in before["cells"])
        known = (before["ended"] == DECIDED, before["simulated"], ranked)
        return (False, answer.simulated, sum(bool(cell.ranking) for cell in answer.cells)) < known
    except (KeyError, TypeError):  # another program wrote it
        return False


def _list(chosen: argparse.Namespace) -> None:
    """Print the candidates for a collective: `--list`."""
    from ..advice import known, own_names

    collective, own = "allreduce", list[str]()
    if chosen.question is not None:
        collective, own = own_names(chosen.question)
    collective = chosen.collective or collective
    if not chosen.json:
        print("\n".join(_candidates_list(collective, own)))
        return
    candidates = [
        {"name": name, "summary": one.summary, "usual": one.usual, "called": one.called}
        for name, one in known(collective).items()
    ]
    print_json("advise", collective=collective, candidates=candidates, own=own)


_MPI_NAMES = {"broadcast": "bcast"}  # in the options of MPI libraries
_WHEN_USUAL = {
    (True, True): "",
    (True, False): " (not on a Hierarchy)",
    (False, True): " (on a Hierarchy, else only if named)",
    (False, False): " (only if named)",
}
"""By whether a candidate is considered on a machine of one level, and on one of several."""


def _candidates_list(collective: str, own: list[str]) -> list[str]:
    """The candidates of a collective, a line for each; `own` are names of the user's."""
    from ..advice import known
    from ..algorithms.candidates import LIBRARIES
    from ..answer import aligned

    rows: list[tuple[str, ...]] = [("candidate", "what it does", *LIBRARIES)]
    for name, candidate in known(collective).items():
        mark = _WHEN_USUAL[candidate.usual, candidate.is_usual(levels=True)]
        called = [candidate.called.get(library, "") for library in LIBRARIES]
        rows.append((name, candidate.summary + mark, *called))
    rows += [(name, "own, of this file", *[""] * len(LIBRARIES)) for name in own]
    short = _MPI_NAMES.get(collective, collective)
    return [
        f"candidates for {collective}, and what libraries call them (blank: no such choice known)",
        *(f"  {line}" for line in aligned(rows, left=len(rows[0]))),
        f"  Open MPI: coll_tuned_{short}_algorithm; MPICH: MPIR_CVAR_{short.upper()}"
        "_INTRA_ALGORITHM; NCCL: NCCL_ALGO",
        "  Libraries cut messages into segments and fold other numbers than powers of two in ways "
        "of their own.",
    ]


def _question(chosen: argparse.Namespace, progress: Any) -> Any:
    """Make the question from QUESTION.toml, if it is given, and the options, which come first."""
    from ..advice import Question, load_question, question_of

    given = {**values_of(chosen, Question, {}), "progress": progress}
    if chosen.question is not None:
        question = load_question(chosen.question, given, _SECONDS)
        check_nodes(chosen, question.network, question.noise)  # one of the two may be of the file
        return question
    for name, such in _SUCH.items():
        if name not in given:
            raise ValueError(
                f"--{name} must be given, such as {such}, or a QUESTION.toml that has it"
            )
    return question_of(given, _SECONDS)


def _write(answer: Any, chosen: argparse.Namespace, phases: Phases) -> list[Path]:
    """Write what `--out` asks for, and return the paths."""
    from ..plots import draw

    paths = write_answer(chosen.out, "advice", answer)
    if draw.can_draw() and any(cell.ranking for cell in answer.cells):
        phases(DRAWING)
        paths.append(chosen.out / "advice.png")
        answer.plot(paths[-1])
    return paths
