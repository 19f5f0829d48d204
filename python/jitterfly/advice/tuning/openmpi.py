"""Open MPI tuning files for the component coll/tuned: rules in text (4 and later), JSON (6).

In text a rule holds from its communicator size up to the next one's, and from its message size up
to the next one's; algorithm 0 is the library's own choice. Below the first communicator size the
reader takes the first rule, so that the file begins with one for size 0. In JSON a rule has a least
and a largest size, both inclusive; where none fits, the library chooses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .table import TuningFormat, TuningTable

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
_NOTES = [
    "A choice holds up to the next ranks and the next message size below; elsewhere the",
    "library chooses.",
    "These are rules of the component tuned. On several nodes Open MPI 5 and later take the",
    "component han instead for most collectives, as coll_han_priority (35) is above",
    "coll_tuned_priority (30): with coll_han_priority=0, as above, tuned decides. In 4.1 han",
    "has 0 unless a site sets it; Open MPI's command ompi_info lists both.",
]


class _OpenMPI(TuningFormat):
    """The part that both formats share."""

    LIBRARY = "openmpi"
    CALLED = "Open MPI"

    def supports(self, collective: str, called: str, settings: None) -> bool:
        return collective in _COLLECTIVES

    def usage_lines(self, path: Path) -> list[str]:
        return [
            "To use it: OMPI_MCA_coll_han_priority=0 OMPI_MCA_coll_tuned_use_dynamic_rules=1 "
            f"OMPI_MCA_coll_tuned_dynamic_rules_filename={path.name} mpiexec ..."
        ]

    def notes(self, settings: None) -> list[str]:
        return _NOTES


class OpenMPIRules(_OpenMPI):
    """Dynamic rules in text."""

    NAME = "openmpi.rules"
    TITLE = "Open MPI 4 and later"
    SUFFIX = ".rules"

    def supports(self, collective: str, called: str, settings: None) -> bool:
        # Open MPI 4 has no sparbit, and ends a program whose file names it.
        return super().supports(collective, called, settings) and called != "7 sparbit"

    def write(self, tables: Sequence[TuningTable], comments: Sequence[str], settings: None) -> str:
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
                    lines.append(_rule(row.first, _number(row.choice.called), row.choice.comment()))
                last = rows[-1].last
                if last is not None:
                    lines.append(_rule(last + 1, _DEFAULT, "above the sizes asked for"))
                text += [f"{count}  # communicator size", f"{len(lines)}  # message sizes", *lines]
            text += _default_lines(ranks[-1] + 1)
        return "\n".join(text) + "\n"


class OpenMPIJson(_OpenMPI):
    """The same rules in JSON."""

    NAME = "openmpi.json"
    TITLE = "Open MPI 6 and later"
    SUFFIX = ".json"
    COMMENTS_INSIDE = False

    def write(self, tables: Sequence[TuningTable], comments: Sequence[str], settings: None) -> str:
        collectives: dict[str, Any] = {}
        for table in tables:
            rules = []
            for ranks in table.question.ranks:
                chosen = [
                    {"msg_size_min": row.first,
                     "msg_size_max": "inf" if row.last is None else row.last,
                     "alg": _number(row.choice.called)}
                    for row in table.ranges(ranks) if row.choice.called
                ]  # fmt: skip
                if chosen:
                    sizes = {"comm_size_min": ranks, "comm_size_max": table.last_ranks(ranks)}
                    rules.append({**sizes, "rules": chosen})
            if rules:
                name = _COLLECTIVES[table.collective][1].removeprefix("MPI_").lower()
                collectives[name] = rules
        whole = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
        return json.dumps(whole, indent=1) + "\n"


def _number(called: str) -> int:
    """The number of an algorithm that is called, say, "4 ring"; 0 for the library's own choice."""
    return int(called.split()[0]) if called else _DEFAULT


def _default_lines(ranks: int) -> list[str]:
    return [
        f"{ranks}  # communicator size",
        "1  # message sizes",
        _rule(0, _DEFAULT, "ranks not asked for"),
    ]


def _rule(size: int, algorithm: int, comment: str) -> str:
    """Message size, algorithm, and 0 for fan-out and segment size: ours have no segments."""
    return f"{size} {algorithm} 0 0  # {comment}"
