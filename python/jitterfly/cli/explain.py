"""Command `jitterfly explain`: causes of delay on the critical path of a collective.

Of a schedule of an application see `schedule.explain_schedule`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

from ..case import Case, ScarceRecordingWarning
from . import schedule
from .case_options import CaseOptions, add_case, case_of
from .options import add_parameters, values_of
from .output import (
    PICTURE,
    add_json,
    check_files,
    give_answer,
    show_phases,
    tell,
)

_USUAL_REALIZATIONS = 1000
_LEAST_REALIZATIONS = 4
_USUAL_MESSAGES = 4e7  # in all realizations: about 20 s on two cores
_FILES = {**PICTURE, "ranks_csv": lambda explanation, path: explanation.ranks_to_csv(path)}


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    from ..explain import ExplainQuestion

    parser = commands.add_parser(
        "explain",
        help="who made us wait: the delay of a collective by cause, on its critical path",
        description="A table of causes: arrivals, each noise source, and the path itself. In each "
        "realization they add up to what the last rank is delayed. A table of ranks: how long each "
        "waited, and what of it for others. The case comes from a file (a "
        "case, or a cell of a study) or from the options. Of a schedule of an application "
        "(APP.goal) also: which ranks and operations are on the critical path, in what share of "
        "realizations.",
    )
    add_case(parser, "?")
    add_parameters(parser, CaseOptions, ExplainQuestion, file=True)
    add = parser.add_argument
    add("--picture", type=Path, metavar="FILE", help=".png, .pdf or .svg")
    add("--ranks-csv", type=Path, metavar="FILE", help="what each rank did with its time, all of "
        "them; the table and --json have those that wait least and most for others")  # fmt: skip
    schedule.add_explain_options(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    from ..explain import ExplainQuestion, explain
    from ..schedule.schedule import looks_like_schedule

    if chosen.file is not None and looks_like_schedule(chosen.file):
        schedule.explain_schedule(chosen)
        return
    started = time.monotonic()
    check_files(chosen, _FILES)
    asked = values_of(chosen, ExplainQuestion, {})
    if chosen.file is None:  # what a file is for shows when it is read
        schedule.check_case_options(chosen)
    case, seed, where = case_of(chosen)
    if not isinstance(case, Case):
        schedule.explain_cell(chosen, case, seed, where)
        return
    schedule.check_case_options(chosen)
    if chosen.realizations is None:
        asked["realizations"] = _realizations_for(case)
    with show_phases(begun=started) as phases, warnings.catch_warnings():
        warnings.simplefilter("ignore", ScarceRecordingWarning)  # the notes have it as well

        def show(done: int, count: int) -> None:
            phases(f"following {case.ranks:,} ranks in {count:,} realizations", done, count)

        explanation = explain(**{**asked, "case": case, "seed": seed, "progress": show})
    give_answer(explanation, chosen, _FILES, started, cell=where or None)


def _realizations_for(case: Case) -> int:
    """Return the usual number; of many messages, as many realizations as take about 20 s."""
    messages = max(case.loops[-1].rank_rounds(), 1)
    fit = round(_USUAL_MESSAGES / messages)
    chosen = min(max(fit, _LEAST_REALIZATIONS), _USUAL_REALIZATIONS)
    if chosen < _USUAL_REALIZATIONS:
        tell(f"jitterfly: {chosen} realizations, as each has {messages:,} messages; --realizations "
             "takes more")  # fmt: skip
    return chosen
