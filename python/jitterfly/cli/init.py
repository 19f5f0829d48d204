"""Command `jitterfly init`: write a commented study in TOML from answers or options."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .options import integer, size
from .output import add_json, print_json

EPILOG = """\
`jitterfly init` alone asks for the rest on a terminal; Enter takes what is proposed.
Without a terminal, and with --json, what is not given is as proposed.
The keys of a study: docs/study_format.md of the sources.
"""

_HEAD = """\
# A study, written by `jitterfly init`. Run it: jitterfly run {file}
# More values on an axis, other targets, observables or budgets extend the results that are there;
# after other changes give it another name, or run it with --force.
name = {name}  # of the results, too: results/{stem}
title = {title}
figure = {figure}
seed = 1                         # of all noise: the same seed gives the same numbers

# A cell runs until its targets are met, or its budget is spent. Without targets: all of the budget.
targets = ["mean of slowdown ± 2 % at 95 %"]

[realizations]                   # of a cell
min = 200
max = 20_000
rank_rounds = 3e8                # ... or as many as this number of {pay} allows

"""
_COLLECTIVE = """\
[case]
message_bytes = {message_bytes}
algorithm = {algorithm}
{others}
network = {network}
# LogGOPS, seconds or text with a unit: L latency, o CPU time of a send and of a receive, g gap
# between messages, G time per byte on the way, O CPU time per byte, gamma CPU time to combine one.
{cycles:30}   # collectives in a row, without a barrier between them
{compute_time:30}   # CPU time of a compute phase before each

{noise}
# Of your own node: jitterfly noise record --out node.noise, and here
# kind = "trace"
# file = "node.noise"

[axes.ranks]                     # the cells are the product of all axes
values = {ranks}
# [axes.message_bytes]           # over several sizes, in place of message_bytes above
# values = [8, 1_000, 100_000]
{variants}
[observables]
completion = {{ kind = "completion" }}
slowdown = {{ kind = "slowdown" }}   # completion over that without noise
"""
_SCHEDULE = """\
[case]
schedule = {schedule}            # of an application: GOAL text, or LogGOPSim's binary
network = {network}
# LogGOPS, seconds or text with a unit: L latency, o CPU time of a send and of a receive, g gap
# between messages, G time per byte on the way, O CPU time per byte; S bytes: rendezvous above.
# speed = {{ kind = "slow_ranks", factor = 1.2, ranks = [3] }}   # ranks whose calc takes longer
# order = "arrival"              # of operations that compete for a CPU; slower: see jitterfly run
# marks = "tag=7,kind=recv"      # which operations end iterations; or a file: see jitterfly run

{noise}
# Of your own node: jitterfly noise record --out node.noise, and here
# kind = "trace"
# file = "node.noise"

# One cell alone so far. The cells are the product of all axes, and what an axis sets need not stand
# above:
# [axes.latency]
# path = "network.L"
# values = ["500ns", "1us", "2us"]
# [axes.duration]
# path = "noise.0.duration"
# values = ["10us", "25us", "50us"]
# [axes.ranks.points.64]         # several schedules, such as the same application on more ranks
# schedule = "app64.goal"
# [axes.ranks.points.128]
# schedule = "app128.goal"

[observables]
completion = {{ kind = "completion" }}
slowdown = {{ kind = "slowdown" }}   # completion over that without noise
# iteration = {{ kind = "cycle_slowdown" }}   # of the mean iteration, with marks
"""
_VARIANTS = """
# To compare algorithms on the same noise, these in place of [observables] below:
# [variants.plain]
# [variants.redundant]
# "algorithm.copy_levels" = "all"     # redundant copies inside the butterfly
# [observables]
# slowdown = { kind = "slowdown", variant = "plain" }
# gain = { kind = "gain", of = "redundant", over = "plain" }
"""


_OF_COLLECTIVES = ("algorithm", "ranks", "bytes", "cycles", "compute_time")
_LOOP = {
    "cycles": "10",
    "compute_time": '"50us"',
}  # what comments show of these where none is given


class _Question(NamedTuple):
    """A fact that a study needs; without a proposal it is not asked for, and may be left out."""

    name: str
    text: str
    proposed: str
    read: Callable[[str], Any]

    @property
    def option(self) -> str:
        return f"--{self.name.replace('_', '-')}"


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "init",
        help="write a commented study of your own",
        description="Write a study that `jitterfly run` takes at once, with comments on what to "
        "change. It asks on a terminal for what no option gives.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("file", nargs="?", type=Path, default=Path("study.toml"), metavar="FILE.toml",
        help="default: study.toml; a file that is there is kept")  # fmt: skip
    add("--schedule", type=Path, metavar="APP.goal",
        help="a study of an application's schedule, in place of a collective")  # fmt: skip
    for question in _questions():
        what = question.text
        what += f" (proposed: {question.proposed})" if question.proposed else ""
        if question.name == "noise":  # a list, as in every other command
            add(
                "--noise",
                metavar="TEXT",
                action="append",
                help=f"{what}; may be given several times",
            )
        else:
            add(question.option, metavar="TEXT", help=what)
    add_json(parser)
    parser.set_defaults(run=_run)


def _questions() -> list[_Question]:
    """Return the facts that a study needs, in the order in which they are asked for."""
    return [
        _Question("algorithm", "which collective: butterfly (an allreduce), ring_allreduce, "
                  "dissemination_barrier, ...", "butterfly", _algorithm),
        _Question("ranks", "numbers of ranks, such as 64,1000 or 16..1024", "16..1024", _ranks),
        _Question("bytes", "message size, such as 8 or 1KiB", "8",
                  lambda text: size(text, "bytes")),
        _Question("network", "network, LogGOPS: latency L, overhead o, time per byte G",
                  "L=1us,o=200ns,G=0.1ns", _network),
        _Question("noise", "noise: a recorded file, or K=V,...",
                  "period=1ms,duration=25us,start=stationary", _noise),
        _Question("cycles", "number of collectives in a row", "", _cycles),
        _Question("compute_time", "CPU time before each collective, such as 50us", "",
                  _compute_time),
    ]  # fmt: skip


def _run(chosen: argparse.Namespace) -> None:
    from ..files import files_from, write_whole
    from ..studies import parse_study
    from ..studies.study import check_name
    from .run import check_study

    path: Path = chosen.file
    if path.suffix != ".toml":
        raise ValueError(f"{path}: the name of a study must end in .toml")
    check_name(path.stem)  # before the questions
    if path.exists():
        raise ValueError(f"{path} is there already: give another name, or remove it")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the directory {path.parent} does not exist")
    ask = not chosen.json and sys.stdin is not None and sys.stdin.isatty()  # `<&-` leaves none
    questions = _questions()
    if chosen.schedule is not None:
        for one in questions:
            if one.name in _OF_COLLECTIVES and getattr(chosen, one.name) is not None:
                raise ValueError(f"{one.option} is for a collective, and --schedule is given: "
                                 "give one")  # fmt: skip
        questions = [one for one in questions if one.name not in _OF_COLLECTIVES]
    answers = {
        one.name: _answer(one, getattr(chosen, one.name), ask)
        for one in questions
        if one.proposed or getattr(chosen, one.name) is not None
    }
    text = _study(path, answers, chosen.schedule)
    with files_from(path.absolute().parent):
        check_study(parse_study(text, where=str(path)))
    write_whole(path, text.encode())
    if chosen.json:
        print_json("init", study=path.stem, answers=answers, written=[path])
        return
    print(f"written: {path}\nto run it: jitterfly run {path}")


def _answer(question: _Question, given: Any, ask: bool) -> Any:
    """Return what was given, else what the user answers on a terminal, else what is proposed."""
    if given is not None:
        return question.read(given)
    while ask:
        try:
            text = input(f"{question.text}\n  {question.option} [{question.proposed}]: ").strip()
        except EOFError:
            print()
            break
        try:
            return question.read(text or question.proposed)
        except ValueError as error:
            print(f"  {error}")
    else:
        print(f"{question.option} {question.proposed} (none was given)", file=sys.stderr)
    return question.read(question.proposed)


def _algorithm(text: str) -> str:
    from ..algorithms import Algorithm
    from ..fields import check_choice

    return str(check_choice(text, "--algorithm: kind", Algorithm.kinds()))


def _ranks(text: str) -> list[int]:
    from ..syntax import read_ranks

    return sorted(read_ranks(text, "--ranks"))


def _cycles(text: str) -> int | None:
    from ..case import MAX_CYCLES

    return integer(text, "cycles", 1, MAX_CYCLES)


def _compute_time(text: str) -> str:
    from ..units import parse_seconds

    parse_seconds(text, "--compute-time")
    return text.strip()


def _network(text: str) -> dict[str, Any]:
    from ..network import Network
    from ..syntax import read_network

    fields: dict[str, Any] = read_network(text, "--network")
    Network.from_dict(fields, "--network")
    return fields


def _noise(given: str | list[str]) -> list[dict[str, Any]]:
    """One source that was typed, or those of all `--noise`."""
    from ..noise import Noise
    from ..syntax import read_noise_texts

    sources = read_noise_texts([given] if isinstance(given, str) else given, "--noise")
    for fields in sources:
        Noise.from_dict(fields, "--noise")
    return sources


_FIRST_NOISE = "[[case.noise]]                   # one table for each source; several act together"


def _noise_tables(sources: list[dict[str, Any]], folder: Path) -> str:
    """A table of TOML for each source; files are named relative to the study's folder."""
    tables: list[str] = []
    for fields in sources:
        noise = dict(fields)
        if "file" in noise:
            noise["file"] = _from_folder(noise["file"], folder)
        lines = [f"{key} = {_quoted(value)}" for key, value in noise.items()]
        tables.append("\n".join(["[[case.noise]]" if tables else _FIRST_NOISE, *lines]))
    return "\n\n".join(tables)


def _from_folder(file: str | Path, folder: Path) -> str:
    """Return how a study in that folder names a file."""
    return str(file) if Path(file).is_absolute() else os.path.relpath(file, folder)


def _study(path: Path, answers: dict[str, Any], schedule: Path | None) -> str:
    """Return the text of a study with these answers."""
    what = answers["algorithm"] if schedule is None else schedule.name
    figure = '"curves"                # also: family, distribution, tail, few_runs'
    if schedule is not None:
        figure = '"distribution"          # also: histogram, tail, few_runs; with axes: curves'
    head = _HEAD.format(
        file=path,
        name=_quoted(path.stem),
        stem=path.stem,
        title=_quoted(f"{what} under noise"),
        figure=figure,
        pay="messages" if schedule is None else "operations",
    )
    network, noise = _inline(answers["network"]), _noise_tables(answers["noise"], path.parent)
    if schedule is None:
        return head + _collective(answers, network, noise)
    name = _quoted(_from_folder(schedule, path.parent))
    return head + _SCHEDULE.format(schedule=name, network=network, noise=noise)


def _collective(answers: dict[str, Any], network: str, noise: str) -> str:
    """Return the part of a study's TOML on a collective: algorithm, network, noise, ranks."""
    from ..advice import table_of_kind
    from ..algorithms import Algorithm
    from ..algorithms.algorithm import has_counts
    from ..network import Network

    kind, machine = answers["algorithm"], Network.from_dict(answers["network"])
    table = table_of_kind(kind, machine)
    if has_counts(kind):
        table["counts"] = "lognormal(mean=64,sigma=1)"
    others = sorted(set(Algorithm.kinds()) - {kind})
    loop = {
        name: f"{name} = {_quoted(answers[name])}" if name in answers else f"# {name} = {shown}"
        for name, shown in _LOOP.items()
    }
    return _COLLECTIVE.format(
        **loop,
        message_bytes=answers["bytes"],
        algorithm=_inline(table),
        others=textwrap.fill(
            "Others: " + ", ".join(others), 100, initial_indent="# ", subsequent_indent="# "
        ),
        network=network,
        noise=noise,
        ranks=answers["ranks"],
        variants=_VARIANTS if kind == "butterfly" else "",
    )


def _inline(fields: dict[str, Any]) -> str:
    return f"{{ {', '.join(f'{key} = {_quoted(value)}' for key, value in fields.items())} }}"


def _quoted(value: Any) -> str:
    """A value as TOML, which knows no pairs of surrogates."""
    if isinstance(value, dict):
        return _inline(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    return json.dumps(value, ensure_ascii=False)
