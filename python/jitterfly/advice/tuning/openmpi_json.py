"""Open MPI tuning file in JSON: rules of the component coll/tuned of version 6.

A rule has a least and a largest size, both inclusive; where none fits, the library chooses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import openmpi_rules
from .table import TuningTable

NAME = "openmpi.json"
TITLE = "Open MPI 6 and later"
LIBRARY = openmpi_rules.LIBRARY
CALLED = openmpi_rules.CALLED
SUFFIX = ".json"
COMMENTS_INSIDE = False
OPTIONS = ()
settings, supports = openmpi_rules.settings, openmpi_rules.supports
check_sizes = openmpi_rules.check_sizes
usage_lines, notes = openmpi_rules.usage_lines, openmpi_rules.notes

_COLLECTIVES = {
    "allgather": "allgather",
    "allreduce": "allreduce",
    "alltoall": "alltoall",
    "barrier": "barrier",
    "broadcast": "bcast",
    "gather": "gather",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "scatter": "scatter",
}


def write(tables: Sequence[TuningTable], comments: Sequence[str], settings: None) -> str:
    """The text of the file."""
    collectives: dict[str, Any] = {}
    for table in tables:
        rules = []
        for ranks in table.question.ranks:
            chosen = [
                {"msg_size_min": row.first, "msg_size_max": "inf" if row.last is None else row.last,
                 "alg": openmpi_rules.number(row.choice.called)}
                for row in table.ranges(ranks) if row.choice.called
            ]  # fmt: skip
            if chosen:
                last_ranks = table.last_ranks(ranks)
                rules.append({"comm_size_min": ranks, "comm_size_max": last_ranks, "rules": chosen})
        if rules:
            collectives[_COLLECTIVES[table.collective]] = rules
    whole = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(whole, indent=1) + "\n"
