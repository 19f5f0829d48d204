"""Command `jitterfly slowdown`: slowdown of a collective by noise, over numbers of ranks."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..question import EFFORT
from ..syntax import read_noise_texts
from .options import add_parameters, read_question, tell_understood
from .output import (
    PICTURE,
    add_json,
    add_out,
    add_picture,
    check_files,
    noted,
    prepare_out,
    print_json,
    print_report,
    show_phases,
    write_with_picture,
)

if TYPE_CHECKING:
    from ..noise_limit import NoiseLimitQuestion
    from ..slowdown import SlowdownQuestion

EPILOG = """\
--noise is a noise file (`jitterfly noise record`), which each rank replays from a place of its own,
or K=V,... such as kind=periodic,period=1ms,duration=10us; several add up. With start=stationary
noise can be under way when the collective begins, as on a real machine; without it none is then.
Each rank has noise of its own, unless it is shared: with shared=48 by the 48 ranks of a node.

The other way round, --at-most 1.1 with duration=max in --noise finds how long periodic noise may
last, with period=min how often it may come, until the mean slowdown is 1.1. With --statistic p99
it is the slowdown of the quantile: p99 of the completion over the time without noise.
"""


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    from ..noise_limit import NoiseLimitQuestion
    from ..slowdown import SlowdownQuestion

    parser = commands.add_parser(
        "slowdown",
        help="how much a noise slows a collective down, over numbers of ranks",
        description="One table: ranks, completion without noise, its mean, median and p99 with "
        "noise, and the slowdown.",
        epilog=EPILOG,
    )
    add_parameters(parser, SlowdownQuestion, NoiseLimitQuestion)
    add_out(parser)
    add_picture(parser, "the picture alone")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from ..slowdown import SlowdownQuestion

    started = time.monotonic()
    check_files(chosen, PICTURE)

    def show(done: float, numbers: int, count: int) -> None:
        place = f" ({question.place_of(count) + 1:,} of {numbers:,})" if numbers > 1 else ""
        share = question.messages_done(done)
        phases("simulating", share, 1.0, f" {count:,} ranks{place}")

    kind = _kind(chosen)
    question = read_question(chosen, kind, progress=show)
    name = "slowdown" if kind is SlowdownQuestion else "noise_limit"
    before = prepare_out(chosen, name, question.to_dict(), list(kind.parameters(EFFORT)))
    case = question.cases[-1]
    noise = case.noise if isinstance(question, SlowdownQuestion) else question.others
    given = chosen.network is not None
    named = None if question.library else case.algorithm  # the answer's first line says it
    tell_understood(case.network, noise, given, named, chosen.algorithm)
    with show_phases(begun=started) as phases:
        answer = noted(question.answer(), chosen)
    print_report(answer.report(), chosen)
    written: list[Path] = []
    if answer.stopped and _has_more(before, answer):
        print(f"jitterfly: {chosen.out} keeps its earlier answer, which has more ranks; --force "
              "replaces it", file=sys.stderr)  # fmt: skip
    else:
        with show_phases(begun=started) as phases:
            written = write_with_picture(answer, name, question.to_dict(), chosen, phases)
    if chosen.json:
        print_json("slowdown", **{**question.to_dict(), **answer.to_dict()}, written=written)
    elif written:
        print(f"\nwritten: {', '.join(map(str, written))}")
    return 130 if answer.stopped else 0


def _kind(chosen: argparse.Namespace) -> type[SlowdownQuestion] | type[NoiseLimitQuestion]:
    """Return whether the slowdown is asked, or the noise that keeps it at `--at-most`."""
    from ..noise_limit import NoiseLimitQuestion, has_unknown
    from ..slowdown import SlowdownQuestion

    unknown = any(map(has_unknown, read_noise_texts(chosen.noise, "--noise")))
    if unknown != (chosen.at_most is not None):
        recorded = (
            "; `jitterfly budget --noise FILE` says how much rarer recorded noise must become"
        )
        got = "no --at-most" if unknown else f"no such noise{recorded}"
        raise ValueError(
            "--at-most X and one --noise with duration=max or period=min go together: the largest "
            f"noise that keeps the slowdown X; got {got}"
        )
    if unknown and chosen.resamples is not None:
        raise ValueError("--resamples is not for --at-most: leave it out")
    if not unknown and chosen.statistic is not None:
        raise ValueError("--statistic goes with --at-most: the table has mean, p50 and p99")
    return NoiseLimitQuestion if unknown else SlowdownQuestion


def _has_more(before: Any, answer: Any) -> bool:
    """Return whether the earlier answer has more rows."""
    try:
        return before is not None and len(before["rows"]) > len(answer.rows)
    except (KeyError, TypeError):  # another program wrote it
        return False
