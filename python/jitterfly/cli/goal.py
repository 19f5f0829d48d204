"""The command `jitterfly export-goal`: a case as LogGOPSim reads it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .casefile import add_case, read_case


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    export = commands.add_parser(
        "export-goal",
        help="the schedule of a case as GOAL text, to run it in LogGOPSim",
        description="Writes the messages and the work of a case as GOAL, with all dependencies; "
        "LogGOPSim's converter txt2bin reads it. Noise is left out. On standard error: the options "
        "that make LogGOPSim's network that of the case, and what had to be rounded.",
    )
    add_case(export)
    export.add_argument("-o", "--out", type=Path, metavar="FILE", help="default: standard output")
    export.set_defaults(run=_export)


def _export(chosen: argparse.Namespace) -> None:
    from ..files import check_replaceable, write_whole
    from ..goal import goal_schedule

    if chosen.out is not None:  # before all else
        if not chosen.out.parent.is_dir():
            raise ValueError(f"{chosen.out}: the directory {chosen.out.parent} does not exist")
        if chosen.out.exists() and chosen.file.exists() and chosen.out.samefile(chosen.file):
            raise ValueError(f"--out must be another file than {chosen.file}, which has the case")
        check_replaceable(chosen.out)
    case, _, where = read_case(chosen.file, chosen.at or [])
    goal = goal_schedule(case)
    if where:
        print(f"cell of the study: {where}", file=sys.stderr)
    for note in goal.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"LogGOPSim {' '.join(goal.options)}", file=sys.stderr)
    if chosen.out is None:
        sys.stdout.write(goal.text)
        return
    write_whole(chosen.out, goal.text.encode("ascii"))
    print(f"written: {chosen.out}")
