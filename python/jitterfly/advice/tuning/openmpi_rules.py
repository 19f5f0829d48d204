"""Open MPI tuning file in text: dynamic rules of the component coll/tuned, version 4 and later.

A rule holds from its communicator size up to the next one's, and from its message size up to the
next one's; algorithm 0 is the library's own choice. Below the first communicator size the reader
takes the first rule, so that the file begins with one for size 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..question import Question
from .table import TuningTable

NAME = "openmpi.rules"
TITLE = "Open MPI 4 and later"
LIBRARY = "openmpi"
CALLED = "Open MPI"
SUFFIX = ".rules"
COMMENTS_INSIDE = True
OPTIONS = ()

# Number of the collective (COLLTYPE in Open MPI's coll_base_functions.h) and its name.
_COLLECTIVES = {
    "allgather": (0, "MPI_Allgather"),
    "allreduce": (2, "MPI_Allreduce"),
    "alltoall": (3, "MPI_Alltoall"),
    "barrier": (6, "MPI_Barrier"),
    "broadcast": (7, "MPI_Bcast"),
    "gather": (9, "MPI_Gather"),
    "reduce": (11, "MPI_Reduce"),
    "reduce_scatter": (12, "MPI_Reduce_scatter"),
    "scatter": (15, "MPI_Scatter"),
}
_DEFAULT = 0  # "ignore" among the algorithms: the library's own choice


def settings(name: str) -> None:
    """Ask for nothing more: the library needs no settings."""


def supports(collective: str, called: str, settings: None) -> bool:
    """Return whether the library has an algorithm of this name, in a collective that is written."""
    return collective in _COLLECTIVES


def check_sizes(question: Question, settings: None) -> None:
    """Raise nothing: all sizes can be written."""


def usage_lines(path: Path) -> list[str]:
    """Say how to have the library read the file."""
    return [
        "To use it: OMPI_MCA_coll_han_priority=0 OMPI_MCA_coll_tuned_use_dynamic_rules=1 "
        f"OMPI_MCA_coll_tuned_dynamic_rules_filename={path.name} mpiexec ..."
    ]


def notes(settings: None) -> list[str]:
    """Say for which ranks and sizes the choices hold."""
    return [
        "A choice holds up to the next ranks and the next message size below; elsewhere the",
        "library chooses.",
        "These are rules of the component tuned. On several nodes Open MPI 5 and later take the",
        "component han instead for most collectives, as coll_han_priority (35) is above",
        "coll_tuned_priority (30): with coll_han_priority=0, as above, tuned decides. In 4.1 han",
        "has 0 unless a site sets it; Open MPI's command ompi_info lists both.",
    ]


def number(called: str) -> int:
    """The number of an algorithm that is called, say, "4 ring"; 0 for the library's own choice."""
    return int(called.split()[0]) if called else _DEFAULT


def write(tables: Sequence[TuningTable], comments: Sequence[str], settings: None) -> str:
    """The text of the file."""
    text = [f"# {line}".rstrip() for line in comments]
    text.append(f"{len(tables)}  # collectives")
    for table in sorted(tables, key=lambda one: _COLLECTIVES[one.collective]):
        collective, name = _COLLECTIVES[table.collective]
        ranks = table.question.ranks
        text.append(f"{collective}  # {name}")
        text.append(f"{len(ranks) + 2}  # communicator sizes")
        text += [*_default_lines(0)]
        for count in ranks:
            rows = table.ranges(count)
            lines = []
            if rows[0].first > 0:
                lines.append(_rule(0, _DEFAULT, "below the sizes asked for"))
            for row in rows:
                lines.append(_rule(row.first, number(row.choice.called), row.choice.comment()))
            last = rows[-1].last
            if last is not None:
                lines.append(_rule(last + 1, _DEFAULT, "above the sizes asked for"))
            text += [f"{count}  # communicator size", f"{len(lines)}  # message sizes", *lines]
        text += _default_lines(ranks[-1] + 1)
    return "\n".join(text) + "\n"


def _default_lines(ranks: int) -> list[str]:
    return [
        f"{ranks}  # communicator size",
        "1  # message sizes",
        _rule(0, _DEFAULT, "ranks not asked for"),
    ]


def _rule(size: int, algorithm: int, comment: str) -> str:
    """Message size, algorithm, and 0 for fan-out and segment size: ours have no segments."""
    return f"{size} {algorithm} 0 0  # {comment}"
