"""Command `jitterfly compare-measured`: a simulated distribution against a measured one."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from ..syntax import read_count
from .case_options import CaseOptions, add_case, case_of, require_collective
from .options import add_parameters, size, values_of
from .output import (
    PICTURE,
    add_json,
    check_files,
    give_answer,
    show_phases,
)


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    from ..compare_measured import CompareMeasuredQuestion

    parser = commands.add_parser(
        "compare-measured",
        help="a simulated distribution beside a measured one",
        description="Distance of the two distributions with its interval, and which quantile is "
        "off and by how much. MEASURED is a text file of times, or what OSU, IMB or Netgauge "
        "printed of a collective. The case comes from a file (a case, or a cell of a study) or "
        "from the options.",
    )
    add = parser.add_argument
    add("measured", type=Path, metavar="MEASURED")
    add_case(parser, "?")
    add_parameters(parser, CaseOptions, CompareMeasuredQuestion, file=True)
    add("--picture", type=Path, metavar="FILE", help=".png, .pdf or .svg")
    add_json(parser)
    parser.set_defaults(run=_run)


def _choices(chosen: argparse.Namespace) -> tuple[str | None, int | None, int | None]:
    """The collective, ranks and bytes of the rows; in `chosen` stays what describes the case."""
    from ..compare_measured import ranks_in
    from ..measured.measurements import full_name

    collective = chosen.collective
    ranks = None if chosen.ranks is None else read_count(chosen.ranks, "--ranks", 1, 2**30)
    bytes_ = None if chosen.bytes is None else size(chosen.bytes, "bytes")
    if chosen.file is not None:
        chosen.collective = chosen.ranks = chosen.bytes = None
    elif ranks is None:
        found = ranks_in(chosen.measured)
        chosen.ranks = None if found is None else str(found)
    if chosen.collective is not None:
        chosen.collective = full_name(chosen.collective)
    if chosen.collective == "allreduce" and chosen.algorithm is None:
        chosen.collective = None  # which the default algorithm is
    return collective, ranks, bytes_


def _run(chosen: argparse.Namespace) -> None:
    from ..compare_measured import CompareMeasuredQuestion, compare_measured

    started = time.monotonic()
    check_files(chosen, PICTURE)
    asked = values_of(chosen, CompareMeasuredQuestion, {})
    collective, ranks, bytes_ = _choices(chosen)
    any_case, seed, where = case_of(chosen)
    case = require_collective(any_case, chosen.file)
    with show_phases(begun=started) as phases:
        given = {
            "measured": chosen.measured,
            "case": case,
            "collective": collective,
            "ranks": ranks,
            "message_bytes": bytes_,
            "seed": seed,
            "progress": lambda done, count: phases("simulating", done, count),
        }
        found = compare_measured(**{**asked, **given})
    which = {"case": case.to_dict(), "cell": where or None, "seed": seed}
    give_answer(found, chosen, PICTURE, started, **which)
