"""Commands `trace` and `export-goal`; the case of a command, from a file or from options."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..case import MOST_CYCLES, AnyCase, Case
from ..fields import MOST_REALIZATIONS, MOST_SEED, check_integer, check_power_of_two, shorten
from ..network import Network
from ..replay import MOST_RANKS, check_levels, check_size
from ..syntax import read_count, read_network, read_values
from ..units import parse_seconds, show_size
from .options import (
    add_algorithm,
    algorithm,
    check_units,
    integer,
    network_of,
    noises,
    pairs,
    size,
    tell_understood,
    value,
)
from .output import add_json, print_json

if TYPE_CHECKING:
    from ..studies import Study

_CASE_OPTIONS = (
    "noise",
    "arrival",
    "speed",
    "ranks",
    "network",
    "algorithm",
    "collective",
    "bytes",
    "cycles",
    "compute_time",
)
_TRACE_OPTIONS = (
    "ranks",
    "copy_levels",
    "exchanges_after",
    "network",
    "noise",
    "bytes",
    "cycles",
    "compute_time",
)
_TRACE_NETWORK = "kind=loggops,L=1us,o=20ns,gamma=1e-10"
_TRACE_NOISE = "period=10us,duration=3us,start=stationary"


def add_case(parser: argparse.ArgumentParser, count: str | None = None) -> None:
    """Add the file, and `--at`, to argparse's; `count` as its `nargs`."""
    nargs: dict[str, Any] = {"nargs": count} if count else {}
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE.toml",
        help="a study; or the fields of a case, or nothing but a table [case] of them",
        **nargs,
    )
    parser.add_argument(
        "--at",
        action="append",
        metavar="AXIS=LABEL[,...]",
        help="cell of the study, e.g. ranks=16,variant=redundant; may be given several times; "
        "an axis that is left out is at its first value",
    )


def add_case_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe a case in place of a file."""
    add = parser.add_argument
    add("--noise", metavar="FILE|K=V,...", action="append", help="may be given several times")
    add("--arrival", metavar="K=V,...", help="how late ranks are: kind=one_late,delay=1ms,rank=7; "
        "kind=ramp,longest=1ms; kind=file,file=late.txt")  # fmt: skip
    add("--speed", metavar="K=V,...", help="ranks that take longer, also in a schedule: "
        "kind=slow_ranks,factor=1.2,ranks=3 17; kind=slow_nodes,factor=1.2,node_ranks=8; "
        "kind=drawn,sigma=0.05")  # fmt: skip
    add("--ranks", metavar="N")
    add("--network", metavar="K=V,...", help="default L=1us,o=200ns,G=0.1ns; or levels: "
        "'8: L=300ns,o=100ns; L=1us,o=200ns'")  # fmt: skip
    add_algorithm(parser)
    add("--bytes", metavar="N", help="message size (default 8)")
    add("--cycles", metavar="N", help="collectives in a row (default 1); the last one's end counts")
    add("--compute-time", metavar="TIME", help="CPU time of a compute phase before each")


def check_collective(case: AnyCase, path: Path) -> Case:
    """The case, unless its file has schedules of applications: that raises ValueError."""
    if not isinstance(case, Case):
        raise ValueError(
            f"{path}: its cases are schedules, not collectives; jitterfly run and jitterfly "
            "explain take them"
        )
    return case


def _read_case(path: Path, at: list[str]) -> tuple[AnyCase, int, str]:
    """The case in a file; of a study also its seed, and which cell (else 0 and "").

    Raises
    ------
    ValueError
        As `load_case` and `load_study`; no such cell; cells of what has one case alone; or the
        file is itself a schedule of an application.
    OSError
        The file can not be read.
    """
    from ..schedule.schedule import looks_like_schedule
    from ..studies import holds_study, load_case, load_study

    if looks_like_schedule(path):
        raise ValueError(
            f"{path} is a schedule of an application, not a case or a study: jitterfly run and "
            "jitterfly explain take it"
        )
    if holds_study(path):
        return _cell_of_study(load_study(path), at)
    case = load_case(path)
    if at:
        raise ValueError(f"--at chooses a cell of a study: {path} holds one case")
    return case, 0, ""


def _cell_of_study(study: Study, at: list[str]) -> tuple[AnyCase, int, str]:
    labels = {axis.name: [point.label for point in axis.values] for axis in study.axes}
    if study.variants:
        labels["variant"] = [point.label for point in study.variants]
    wanted: dict[str, str] = {}
    if at and not labels:
        raise ValueError(f"--at chooses a cell of a study: {study.name} has one cell alone")
    # A comma ends a label where an axis follows: a label may have commas itself.
    next_axis = re.compile(rf",\s*(?=(?:{'|'.join(map(re.escape, labels))})=)")
    for text in [part for one in at for part in next_axis.split(one)]:
        name, equals, label = text.partition("=")
        if not equals or name not in labels:
            names = ", ".join(labels)
            raise ValueError(f"--at must be AXIS=LABEL, AXIS one of {names}; got {shorten(text)}")
        if name in wanted:
            raise ValueError(f"--at gives {name} twice: {wanted[name]!r} and {shorten(label)}")
        matches = [known for known in labels[name] if known == label]
        matches = matches or _labels_of_value(study, name, label)
        matches = matches or [known for known in labels[name] if known.startswith(label)]
        if len(matches) != 1:
            known = ", ".join(labels[name])
            raise ValueError(f"--at {name} must be one of {known}; got {shorten(label)}")
        wanted[name] = matches[0]
    for cell in study.cells():
        if all(cell.labels.get(name, label) == label for name, label in wanted.items()):
            cases = cell.cases
            variant = wanted.get("variant", next(iter(cases)))
            where = [f"{name}={label}" for name, label in cell.labels.items()]
            where += [f"variant={variant}"] if variant else []
            return cases[variant], study.seed, ", ".join(where)
    raise AssertionError("every combination of labels is a cell")


def _labels_of_value(study: Study, name: str, text: str) -> list[str]:
    """The labels on an axis of the value `text`, as studies and tables write it: 2^6, 8 MB."""
    from ..studies import axis_unit

    path = next((axis.path for axis in study.axes if axis.name == name), "")
    if not path:
        return []
    times = axis_unit(study, name) == "s"

    def number(value: Any) -> Any:
        return parse_seconds(value) if times else value

    try:
        (given,) = map(number, read_values(text, path, f"--at {name}"))
    except ValueError:  # no number, where the axis has numbers; or several
        return []
    values = {cell.labels[name]: cell.coordinates[name] for cell in study.cells()}
    return [label for label, value in values.items() if number(value) == given]


def _check_one_description(chosen: argparse.Namespace, names: Sequence[str]) -> None:
    """Raise unless a file describes the case alone, or the options `names` do."""
    given = [name for name in names if getattr(chosen, name) is not None]
    if chosen.file is not None and given:
        option = given[0].replace("_", "-")
        raise ValueError(f"--{option} and FILE.toml both describe a case: give one")
    if chosen.file is None and chosen.at:
        raise ValueError("--at chooses a cell of a study: give STUDY.toml")


def case_of(chosen: argparse.Namespace) -> tuple[AnyCase, int, str]:
    """The case, the seed that is given or that of its study, and which cell."""
    _check_one_description(chosen, _CASE_OPTIONS)
    own_seed = integer(chosen.seed, "seed", 0, MOST_SEED)
    if chosen.file is not None:
        found, seed, where = _read_case(chosen.file, chosen.at or [])
        return found, seed if own_seed is None else own_seed, where
    if chosen.ranks is None:
        raise ValueError("give FILE.toml, or --ranks: neither is given")
    if chosen.noise is None and chosen.arrival is None and chosen.speed is None:
        raise ValueError("give what delays: --noise, --arrival or --speed; or FILE.toml")
    network = network_of(chosen)
    ranks = read_count(chosen.ranks, "--ranks", 1, 2**30)
    least = network.smallest_message
    message_bytes = 8 if chosen.bytes is None else size(chosen.bytes, "bytes", least)
    table: dict[str, Any] = {
        "ranks": ranks,
        "network": network.to_dict(),
        "algorithm": algorithm(chosen, [ranks], network, message_bytes).to_dict(),
        "noise": noises(chosen.noise or []),
        "message_bytes": message_bytes,
    }
    for name in ("arrival", "speed"):
        if getattr(chosen, name) is not None:
            table[name] = pairs(getattr(chosen, name), name)
    if chosen.cycles is not None:
        table["cycles"] = integer(chosen.cycles, "cycles", 1, MOST_CYCLES)
    check_units(chosen, ["compute_time"])
    if chosen.compute_time is not None:
        table["compute_time"] = chosen.compute_time
    case = Case.from_dict(table)
    own_network = chosen.network is not None
    tell_understood(case.network, case.noise, own_network, case.algorithm, chosen.algorithm)
    return case, own_seed or 0, ""


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
    _check_one_description(chosen, _TRACE_OPTIONS)
    seed = 0
    if chosen.file is not None:
        found, seed, _ = _read_case(chosen.file, chosen.at or [])
        case = check_collective(found, chosen.file)
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
        noise += noises([_TRACE_NOISE] if chosen.noise is None else chosen.noise)
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
    case, _, where = _read_case(chosen.file, chosen.at or [])
    goal = goal_schedule(check_collective(case, chosen.file))
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
