"""The command `jitterfly export-goal`: a case as LogGOPSim reads it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    export = commands.add_parser(
        "export-goal",
        help="the schedule of a case as GOAL text, to run it in LogGOPSim",
        description="Writes the messages and the work of a case as GOAL, with all dependencies; "
        "LogGOPSim's converter txt2bin reads it. Noise is left out. On standard error: the options "
        "that make LogGOPSim's network that of the case, and what had to be rounded.",
    )
    export.add_argument(
        "case",
        type=Path,
        metavar="CASE.toml",
        help="the fields of a case, or a file with nothing but a table [case] of them",
    )
    export.add_argument("-o", "--out", type=Path, metavar="FILE", help="default: standard output")
    export.set_defaults(run=_export)


def _export(chosen: argparse.Namespace) -> None:
    from ..files import check_replaceable, write_whole
    from ..goal import goal_schedule
    from ..studies.reading import load_case

    goal = goal_schedule(load_case(chosen.case))
    for note in goal.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"LogGOPSim {' '.join(goal.options)}", file=sys.stderr)
    if chosen.out is None:
        sys.stdout.write(goal.text)
        return
    check_replaceable(chosen.out)
    write_whole(chosen.out, goal.text.encode("ascii"))
    print(f"written: {chosen.out}")
