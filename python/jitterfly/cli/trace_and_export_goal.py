"""Commands `trace`, a picture of one realization, and `export-goal`, a case as GOAL text."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..case import Case
from ..fields import MOST_REALIZATIONS, MOST_SEED, check_integer, check_power_of_two, shorten
from ..network import Network
from ..replay import MOST_RANKS, check_levels, check_size
from ..syntax import read_network, read_noise_texts
from ..units import show_size
from .options import (
    integer,
    size,
    tell_understood,
    value,
)
from .output import add_json, print_json

if TYPE_CHECKING:
    pass
from .case_options import add_case, check_one_description, read_case, require_collective

_TRACE_OPTIONS = (
    "ranks",
    "copy-levels",
    "exchanges-after",
    "network",
    "noise",
    "bytes",
    "cycles",
    "compute-time",
)
_TRACE_NETWORK = "kind=loggops,L=1us,o=20ns,gamma=1e-10"
_TRACE_NOISE = "period=10us,duration=3us,start=stationary"


def add_trace(commands: Any) -> None:
    """Add the command to argparse's."""
    trace = commands.add_parser(
        "trace",
        help="picture of one realization",
        description="Picture of one realization: ready times per rank and round, noise, messages, "
        "adopted copies; of the butterfly on a power of two of ranks. The case comes from a file "
        "(a case, or a cell of a study) or from the options. Of other algorithms "
        "jitterfly.ready_times has the numbers, and jitterfly explain who made others wait.",
    )
    add_case(trace, "?")
    trace.add_argument("--ranks", metavar="N", help=f"1 to {MOST_RANKS} (default 16)")
    trace.add_argument(
        "--copy-levels", metavar="LEVELS", help="levels copied: all (default), none, or such as 1,3"
    )
    trace.add_argument(
        "--exchanges-after", metavar="T", help="redundant exchanges after the butterfly (0)"
    )
    trace.add_argument("--network", metavar="K=V,...", help=f"default {_TRACE_NETWORK}")
    trace.add_argument(
        "--noise",
        metavar="FILE|K=V,...",
        action="append",
        help=f"may be given several times, or none (default {_TRACE_NOISE})",
    )
    trace.add_argument("--bytes", metavar="N", help="message size, such as 1KiB (default 8)")
    trace.add_argument("--cycles", metavar="N", help="default 1")
    trace.add_argument(
        "--compute-time", metavar="TIME", help="compute phase of each cycle (default 0)"
    )
    trace.add_argument("--seed", metavar="N", help="default: the study's, or 0")
    trace.add_argument(
        "--realization",
        metavar="N",
        default="worst",
        help="its number, or `worst` (default): the slowest of the first 1000",
    )
    trace.add_argument(
        "--out",
        "--picture",
        type=Path,
        default=Path("trace.png"),
        metavar="FILE",
        help=".png, .pdf or .svg (default trace.png)",
    )
    add_json(trace)
    trace.set_defaults(run=_run_trace)


def _run_trace(chosen: argparse.Namespace) -> None:
    check_one_description(chosen, _TRACE_OPTIONS)
    seed = 0
    if chosen.file is not None:
        found, seed, _ = read_case(chosen.file, chosen.at or [])
        case = require_collective(found, chosen.file)
    else:
        case = _trace_case(chosen)
    if chosen.seed is not None:
        seed = check_integer(value(chosen.seed), "--seed", 0, MOST_SEED)
    realization = chosen.realization
    if realization != "worst":
        realization = integer(realization, "realization", 0, MOST_REALIZATIONS - 1)

    from ..plots import trace as picture
    from ..plots.draw import check_path
    from ..slowdown import part_in_words, repetition

    check_path(chosen.out)
    check_size(case)
    if chosen.file is None:
        tell_understood(case.network, case.noise, chosen.network is not None)
    if realization == "worst":
        realization = picture.worst_realization(case, seed)
    summary = picture.draw(case, chosen.out, seed=seed, realization=realization)
    if chosen.json:
        which = {"ranks": case.ranks, "seed": seed, "realization": realization}
        print_json("trace", **which, **summary._asdict(), written=[chosen.out])
        return
    what = f"{part_in_words(case.algorithm)}, {case.ranks} ranks, {show_size(case.message_bytes)}"
    noise = "; ".join(map(part_in_words, case.noise)) or "none"
    print(f"{what}{repetition(case)}, under noise: {noise}")
    print(f"network: {part_in_words(case.network)}")
    print(summary.line)
    print(f"written: {chosen.out}")


def _given(chosen: argparse.Namespace, name: str, default: str) -> str:
    text = getattr(chosen, name)
    return default if text is None else text


def _trace_case(chosen: argparse.Namespace) -> Case:
    ranks = check_power_of_two(value(_given(chosen, "ranks", "16")), "--ranks", MOST_RANKS)
    butterfly: dict[str, Any] = {
        "kind": "butterfly",
        "exchanges_after": value(_given(chosen, "exchanges_after", "0")),
    }
    # Two ranks have no level inside the butterfly.
    copied = _given(chosen, "copy_levels", "all" if ranks > 2 else "none")
    if copied == "all":
        butterfly["copy_levels"] = "all"
    elif copied != "none":
        levels = [value(level) for level in copied.split(",")]
        if not all(isinstance(level, int) for level in levels):
            raise ValueError(
                f"--copy-levels must be all, none, or levels such as 1,3; got {shorten(copied)}"
            )
        butterfly["copy_levels"] = levels
    noise: list[dict[str, Any]] = []
    if chosen.noise != ["none"]:
        noise += read_noise_texts(
            [_TRACE_NOISE] if chosen.noise is None else chosen.noise, "--noise"
        )
    network = read_network(_given(chosen, "network", _TRACE_NETWORK), "--network")
    check_levels(Network.from_dict(network, "network"))
    table: dict[str, Any] = {
        "ranks": ranks,
        "algorithm": butterfly,
        "network": network,
        "noise": noise,
    }
    for option in ("cycles", "compute_time"):
        if getattr(chosen, option) is not None:
            table[option] = value(getattr(chosen, option))
    if chosen.bytes is not None:
        table["message_bytes"] = size(chosen.bytes, "bytes")
    return Case.from_dict(table)


def add_export_goal(commands: Any) -> None:
    """Add the command to argparse's."""
    export = commands.add_parser(
        "export-goal",
        help="the schedule of a case as GOAL text, to run it in LogGOPSim",
        description="Writes the messages and the work of a case as GOAL, with all dependencies; "
        "LogGOPSim's converter txt2bin reads it. Noise is left out. On standard error: the options "
        "that make LogGOPSim's network that of the case, what had to be rounded, and the command "
        "that runs the schedule here.",
    )
    add_case(export)
    export.add_argument("-o", "--out", type=Path, metavar="FILE", help="default: standard output")
    add_json(export)
    export.set_defaults(run=_run_export_goal)


def _run_export_goal(chosen: argparse.Namespace) -> None:
    from ..files import check_output, write_whole
    from ..goal_export import goal_schedule

    if chosen.out is not None:  # before all else
        if chosen.out.exists() and chosen.file.exists() and chosen.out.samefile(chosen.file):
            raise ValueError(f"--out must be another file than {chosen.file}, which has the case")
        check_output(chosen.out)
    case, _, where = read_case(chosen.file, chosen.at or [])
    goal = goal_schedule(require_collective(case, chosen.file))
    if chosen.json:
        if chosen.out is not None:
            write_whole(chosen.out, goal.text.encode("ascii"))
        print_json(
            "export-goal",
            cell=where or None,
            options=goal.options,
            network=goal.network,
            notes=goal.notes,
            goal=goal.text if chosen.out is None else None,
            written=[] if chosen.out is None else [chosen.out],
        )
        return
    if where:
        print(f"cell of the study: {where}", file=sys.stderr)
    for note in goal.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"LogGOPSim {' '.join(goal.options)}", file=sys.stderr)
    file = "FILE.goal" if chosen.out is None else shlex.quote(str(chosen.out))
    print(f"jitterfly run {file} --network {goal.network}", file=sys.stderr)
    if chosen.out is None:
        sys.stdout.write(goal.text)
        return
    write_whole(chosen.out, goal.text.encode("ascii"))
    print(f"written: {chosen.out}")
