"""The command `jitterfly trace`: which case, which realization."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..case import Case
from ..fields import MOST_REALIZATIONS, MOST_SEED, check_integer, check_power_of_two, shorten
from ..syntax import read_network
from ..trace import MOST_RANKS, check_size
from .casefile import add_case, read_case
from .options import integer, noises, pairs, size, tell_understood, value

_CASE = ("ranks", "within", "after", "network", "noise", "jitter", "bytes", "cycles", "work")
_NETWORK = "kind=loggops,L=1us,o=20ns,gamma=1e-10"
_NOISE = "period=10us,duration=3us,start=stationary"


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    trace = commands.add_parser(
        "trace",
        help="picture of one realization",
        description="Picture of one realization: ready times per rank and round, noise, messages, "
        "adopted copies. The case comes from a file (a case, or a cell of a study) or from "
        "the options.",
    )
    add_case(trace, "?")
    trace.add_argument("--ranks", metavar="N", help=f"1 to {MOST_RANKS} (default 16)")
    trace.add_argument(
        "--within", metavar="LEVELS", help="levels copied: all (default), none, or such as 1,3"
    )
    trace.add_argument("--after", metavar="T", help="redundant exchanges after the butterfly (0)")
    trace.add_argument("--network", metavar="K=V,...", help=f"default {_NETWORK}")
    trace.add_argument(
        "--noise",
        metavar="FILE|K=V,...",
        action="append",
        help=f"may be given several times, or none (default {_NOISE})",
    )
    trace.add_argument("--jitter", metavar="K=V,...", help="network jitter (none)")
    trace.add_argument("--bytes", metavar="N", help="message size, such as 1KiB (default 8)")
    trace.add_argument("--cycles", metavar="N", help="default 1")
    trace.add_argument("--work", metavar="TIME", help="compute phase of each cycle (default 0)")
    trace.add_argument("--seed", metavar="N", help="default: the study's, or 0")
    trace.add_argument(
        "--realization",
        metavar="N",
        default="worst",
        help="its number, or `worst` (default): the slowest of the first 1000",
    )
    trace.add_argument("--out", type=Path, default=Path("trace.png"), metavar="FILE")
    trace.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    given = [name for name in _CASE if getattr(chosen, name) is not None]
    seed = 0
    if chosen.file is not None:
        if given:
            raise ValueError(f"--{given[0]} and FILE.toml both describe a case: give one")
        case, seed, _ = read_case(chosen.file, chosen.at or [])
    elif chosen.at:
        raise ValueError("--at chooses a cell of a study: give STUDY.toml")
    else:
        case = _from_options(chosen)
    if chosen.seed is not None:
        seed = check_integer(value(chosen.seed), "--seed", 0, MOST_SEED)
    realization = chosen.realization
    if realization != "worst":
        realization = integer(realization, "realization", 0, MOST_REALIZATIONS - 1)

    from ..plots.draw import check_path
    from ..trace import picture

    check_path(chosen.out)
    check_size(case)
    if chosen.file is None:
        tell_understood(case.network, case.noise)
    if realization == "worst":
        realization = picture.worst_realization(case, seed)
    print(picture.draw(case, chosen.out, seed=seed, realization=realization))
    print(f"written: {chosen.out}")


def _given(chosen: argparse.Namespace, name: str, default: str) -> str:
    text = getattr(chosen, name)
    return default if text is None else text


def _from_options(chosen: argparse.Namespace) -> Case:
    ranks = check_power_of_two(value(_given(chosen, "ranks", "16")), "--ranks", MOST_RANKS)
    algorithm: dict[str, Any] = {"kind": "butterfly", "after": value(_given(chosen, "after", "0"))}
    # Two ranks have no level inside the butterfly.
    within = _given(chosen, "within", "all" if ranks > 2 else "none")
    if within == "all":
        algorithm["within"] = "all"
    elif within != "none":
        levels = [value(level) for level in within.split(",")]
        if not all(isinstance(level, int) for level in levels):
            raise ValueError(
                f"--within must be all, none, or levels such as 1,3; got {shorten(within)}"
            )
        algorithm["within"] = levels
    noise: list[dict[str, Any]] = []
    if chosen.noise != ["none"]:
        noise += noises([_NOISE] if chosen.noise is None else chosen.noise)
    if chosen.jitter is not None:
        noise.append({"kind": "jitter"} | pairs(chosen.jitter, "jitter"))
    network = read_network(_given(chosen, "network", _NETWORK), "--network")
    table: dict[str, Any] = {
        "ranks": ranks,
        "algorithm": algorithm,
        "network": network,
        "noise": noise,
    }
    for option in ("cycles", "work"):
        if getattr(chosen, option) is not None:
            table[option] = value(getattr(chosen, option))
    if chosen.bytes is not None:
        table["message_bytes"] = size(chosen.bytes, "bytes")
    return Case.from_dict(table)
