"""Command `jitterfly slowdown`: slowdown of a collective by noise, over numbers of ranks."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..case import MOST_CYCLES, Case
from ..fields import MOST_REALIZATIONS, MOST_SEED, MOST_THREADS
from ..progress import Phases
from .options import (
    add_algorithm,
    add_backend,
    algorithm,
    check_units,
    integer,
    naming_options,
    network_of,
    noises,
    number,
    size,
    tell_understood,
)
from .output import (
    PICTURE,
    add_json,
    answer_as_json,
    check_files,
    check_force,
    in_options,
    prepare_out,
    print_json,
    show_phases,
    tell,
    write_answer,
)

if TYPE_CHECKING:
    from ..noise_limit import NoiseLimitTable
    from ..slowdown import SlowdownTable

EPILOG = """\
--noise is a noise file (`jitterfly noise record`), which each rank replays from a place of its own,
or K=V,... such as kind=periodic,period=1ms,duration=10us; several add up. With start=stationary
noise can be under way when the collective begins, as on a real machine; without it none is then.
Each rank has noise of its own, unless it is shared: with shared=48 by the 48 ranks of a node.

The other way round, --at-most 1.1 with duration=max in --noise finds how long periodic noise may
last, with period=min how often it may come, until the mean slowdown is 1.1.
"""

_IN_NOTES = ("algorithm", "resamples", "cycles", "compute_time")  # parameters that notes name


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "slowdown",
        help="how much a noise slows a collective down, over numbers of ranks",
        description="One table: ranks, completion without noise, its mean, median and p99 with "
        "noise, and the slowdown.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("--noise", metavar="FILE|K=V,...", action="append", required=True,
        help="may be given several times")  # fmt: skip
    add("--ranks", metavar="N,...", required=True, help="numbers or ranges")
    add("--at-most", metavar="X", help="the slowdown (mean) up to which noise with duration=max or "
        "period=min is looked for")  # fmt: skip
    add("--network", metavar="K=V,...", help="kind=loggops (default) or hockney, and its fields; "
        "without it L=1us,o=200ns,G=0.1ns")  # fmt: skip
    add_algorithm(parser)
    add("--bytes", metavar="N", default="8", help="message size (default 8)")
    add("--cycles", metavar="N", default="1", help="collectives in a row (default 1)")
    add(
        "--compute-time",
        metavar="TIME",
        default="0",
        help="CPU time of a compute phase before each",
    )
    add("--realizations", metavar="N", help="for each number of ranks (default 2,000)")
    add("--resamples", metavar="N", help="under a recording: also under so many others, made of "
        "stretches of it, which may make intervals wider (usual: 20; default 0)",
        )  # fmt: skip
    add("--seed", metavar="N", default="0", help="default 0")
    add_backend(parser)
    add("--out", type=Path, metavar="DIR", help="table (CSV), JSON and picture go there; an "
        "earlier answer to the same question is replaced")  # fmt: skip
    add("--force", action="store_true", help="replace another question's answer that is in DIR")
    add("--picture", type=Path, metavar="FILE", help="the picture alone: .png, .pdf or .svg")
    add_json(parser)
    parser.set_defaults(run=_run)


class _Question(NamedTuple):
    """The question: how slow a case is, or with `at_most` which noise keeps its slowdown at that.

    Attributes
    ----------
    case : Case
        On the most ranks; of its noise what is known.
    ranks : list of int
    tables : list of dict
        The noise as it was given.
    at_most : float or None
    realizations, seed, resamples : int
    """

    case: Case
    ranks: list[int]
    tables: list[dict[str, Any]]
    at_most: float | None
    realizations: int
    seed: int
    resamples: int

    @property
    def name(self) -> str:
        """The name of the files of its answer."""
        return "slowdown" if self.at_most is None else "noise_limit"

    def fields(self) -> dict[str, Any]:
        """Return the question as the JSON of the answer has it."""
        case, known = self.case, self.at_most is None
        fields: dict[str, Any] = {
            "noise": [one.to_dict() for one in case.noise] if known else self.tables,
            "network": case.network.to_dict(),
            "algorithm": case.algorithm.to_dict(),
            "message_bytes": case.message_bytes,
            "cycles": case.cycles,
            "compute_time": case.compute_time,
            "seed": self.seed,
            "ranks": self.ranks,
            "realizations": self.realizations,
        }
        return fields | ({"resamples": self.resamples} if known else {"at_most": self.at_most})


def _run(chosen: argparse.Namespace) -> int:
    from ..plots import draw

    started = time.monotonic()
    check_files(chosen, PICTURE)
    check_force(chosen)
    question = _question(chosen)
    threads = integer(chosen.threads, "threads", 1, MOST_THREADS)
    before = prepare_out(chosen, question.name, question.fields(), ("realizations", "resamples"))
    with show_phases(begun=started) as phases:
        answer = _answer(question, chosen, threads, phases)
    if not chosen.json:
        print(in_options("\n".join(answer.report()), _IN_NOTES), flush=True)
    content = {**question.fields(), **answer_as_json(answer, _IN_NOTES)}
    written: list[Path] = []
    if answer.stopped and _has_more(before, answer):
        print(f"jitterfly: {chosen.out} keeps its earlier answer, which has more ranks; --force "
              "replaces it", file=sys.stderr)  # fmt: skip
    else:
        with show_phases(begun=started) as phases:
            if chosen.picture is not None or (chosen.out is not None and draw.can_draw()):
                phases("drawing the picture")
            written = _write(answer, question.name, content, chosen)
    if chosen.json:
        print_json("slowdown", **content, written=written)
    elif written:
        print(f"\nwritten: {', '.join(map(str, written))}")
    return 130 if answer.stopped else 0


def _question(chosen: argparse.Namespace) -> _Question:
    from ..noise import Noise
    from ..noise_limit import has_unknown
    from ..slowdown import MOST_RESAMPLES, USUAL_REALIZATIONS
    from ..syntax import read_ranks

    network = network_of(chosen)
    ranks = sorted(read_ranks(chosen.ranks, "--ranks"))
    check_units(chosen, ["compute_time"])
    realizations = integer(chosen.realizations, "realizations", 2, MOST_REALIZATIONS)
    seed = integer(chosen.seed, "seed", 0, MOST_SEED) or 0
    resamples = integer(chosen.resamples, "resamples", 0, MOST_RESAMPLES) or 0
    message_bytes = size(chosen.bytes, "bytes", network.smallest_message)
    tables = noises(chosen.noise)
    at_most = _at_most(chosen, any(map(has_unknown, tables)))
    if at_most is not None and resamples:
        raise ValueError("--resamples is not for --at-most: leave it out")
    case = Case(
        ranks[-1],
        algorithm=algorithm(chosen, ranks, network, message_bytes),
        network=network,
        noise=[Noise.from_dict(one, "--noise") for one in tables if not has_unknown(one)],
        message_bytes=message_bytes,
        cycles=integer(chosen.cycles, "cycles", 1, MOST_CYCLES) or 1,
        compute_time=chosen.compute_time,
    )
    return _Question(
        case, ranks, tables, at_most, realizations or USUAL_REALIZATIONS, seed, resamples
    )


def _at_most(chosen: argparse.Namespace, unknown: bool) -> float | None:
    """The slowdown after `--at-most`; `unknown` is whether a noise has what it is to find."""
    at_most = None if chosen.at_most is None else number(chosen.at_most, "at-most")
    if unknown != (at_most is not None):
        recorded = (
            "; `jitterfly budget --noise FILE` says how much rarer recorded noise must become"
        )
        got = "no --at-most" if unknown else f"no such noise{recorded}"
        raise ValueError(
            "--at-most X and one --noise with duration=max or period=min go together: the largest "
            f"noise that keeps the slowdown X; got {got}"
        )
    if at_most is not None and at_most <= 1:
        meant = f" ({100 * at_most:g} % slower is {1 + at_most:g})" if 0 < at_most < 1 else ""
        raise ValueError(f"--at-most must be above 1, got {at_most:g}{meant}")
    return at_most


def _answer(
    question: _Question, chosen: argparse.Namespace, threads: int | None, phases: Phases
) -> SlowdownTable | NoiseLimitTable:
    """Simulate; what the options were read as is told once all of it is checked."""
    from ..noise_limit import noise_limit
    from ..slowdown import slowdown

    case = question.case
    understood = False

    def show(done: float, _: int, count: int) -> None:
        nonlocal understood
        if not understood:  # all is checked by now
            understood = True
            given = chosen.network is not None
            tell_understood(case.network, case.noise, given, case.algorithm, chosen.algorithm)
        phases(f"simulating {count:,} ranks", done % 1, 1.0)

    options: dict[str, Any] = {
        "network": case.network,
        "algorithm": case.algorithm,
        "message_bytes": case.message_bytes,
        "cycles": case.cycles,
        "compute_time": case.compute_time,
        "realizations": question.realizations,
        "seed": question.seed,
        "backend": chosen.backend,
        "threads": threads,
        "progress": show,
    }
    if question.at_most is None:
        return slowdown(case.noise, question.ranks, resamples=question.resamples, **options)
    with naming_options("noise"):
        return noise_limit(question.tables, question.ranks, at_most=question.at_most, **options)


def _has_more(before: Any, answer: Any) -> bool:
    """Return whether the earlier answer has more rows."""
    try:
        return before is not None and len(before["rows"]) > len(answer.rows)
    except (KeyError, TypeError):  # another program wrote it
        return False


def _write(
    answer: Any, name: str, content: dict[str, Any], chosen: argparse.Namespace
) -> list[Path]:
    from ..plots import draw

    written, pictures = [], [] if chosen.picture is None else [chosen.picture]
    if chosen.out is not None:
        written = write_answer(chosen.out, name, answer.to_csv(), content)
        pictures += [chosen.out / f"{name}.png"] if draw.can_draw() else []
    if getattr(answer, "drawn", True):
        for path in pictures:
            answer.plot(path)
        written += pictures
    elif pictures:
        tell("jitterfly: no picture: no number of ranks has a value")
    return written
