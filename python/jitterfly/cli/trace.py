"""The command `jitterfly trace`: which case, which realization."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..case import Case
from ..fields import check_integer

_CASE = ("ranks", "within", "after", "network", "noise", "jitter", "bytes", "cycles", "work")
_NETWORK = "kind=loggops,L=1us,o=20ns,gamma=1e-10"
_NOISE = "period=10us,duration=3us,start=stationary"


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    trace = commands.add_parser(
        "trace",
        help="picture of one realization",
        description="Picture of one realization: ready times per rank and round, noise, messages, "
        "adopted copies. The case comes from a cell of a study or from the options.",
    )
    trace.add_argument("study", nargs="?", type=Path, metavar="STUDY.toml")
    trace.add_argument(
        "--at",
        action="append",
        metavar="AXIS=LABEL",
        help="cell of the study, e.g. ranks=16 or variant=redundant; may be given several times; "
        "an axis that is left out is at its first point",
    )
    trace.add_argument("--ranks", metavar="N", help="2 to 128 (default 16)")
    trace.add_argument("--within", metavar="LEVELS", help="all, none, or levels such as 1,3")
    trace.add_argument("--after", metavar="T", help="redundant exchanges after the butterfly")
    trace.add_argument("--network", metavar="K=V,...", help=f"default {_NETWORK}")
    trace.add_argument("--noise", metavar="K=V,...", help=f"periodic noise or none ({_NOISE})")
    trace.add_argument("--jitter", metavar="K=V,...", help="network jitter (none)")
    trace.add_argument("--bytes", metavar="N", help="message size (default 8)")
    trace.add_argument("--cycles", metavar="N", help="default 1")
    trace.add_argument("--work", metavar="TIME", help="compute phase of each cycle (default 0)")
    trace.add_argument("--seed", metavar="N", help="default: the study's, or 0")
    trace.add_argument(
        "--realization", metavar="N", default="0", help="number, or `worst` of the first 1000"
    )
    trace.add_argument("--out", type=Path, default=Path("trace.png"), metavar="FILE")
    trace.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    from ..trace import picture as trace

    given = [name for name in _CASE if getattr(chosen, name) is not None]
    seed = 0
    if chosen.study is not None:
        if given:
            raise ValueError(f"--{given[0]} and STUDY.toml both describe a case: give one")
        case, seed = _from_study(chosen.study, chosen.at or [])
    elif chosen.at:
        raise ValueError("--at chooses a cell of a study: give STUDY.toml")
    else:
        case = _from_options(chosen)
    if chosen.seed is not None:
        seed = check_integer(_value(chosen.seed), "--seed", 0, 2**64 - 1)
    if not chosen.out.parent.is_dir():
        raise ValueError(f"--out: the directory {chosen.out.parent} does not exist")
    if chosen.realization == "worst":
        realization = trace.worst_realization(case, seed)
    else:
        realization = check_integer(_value(chosen.realization), "--realization", 0, 2**32 - 1)
    print(trace.draw(case, chosen.out, seed=seed, realization=realization))
    print(f"written: {chosen.out}")


def _value(text: str) -> Any:
    """An integer where it looks like one; times stay text, with their units."""
    try:
        return int(text)
    except ValueError:
        return text


def _pairs(text: str, option: str) -> dict[str, Any]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key.strip() and equals for key, equals, _ in pairs):
        raise ValueError(f"--{option} must look like key=value,key=value; got {text!r}")
    return {key.strip(): _value(value.strip()) for key, _, value in pairs}


def _from_options(chosen: argparse.Namespace) -> Case:
    algorithm: dict[str, Any] = {"kind": "butterfly"}
    if chosen.after is not None:
        algorithm["after"] = _value(chosen.after)
    within = chosen.within or "none"
    if within == "all":
        algorithm["within"] = "all"
    elif within != "none":
        algorithm["within"] = [_value(level) for level in within.split(",")]
    noise = []
    if chosen.noise != "none":
        noise.append({"kind": "periodic"} | _pairs(chosen.noise or _NOISE, "noise"))
    if chosen.jitter is not None:
        noise.append({"kind": "jitter"} | _pairs(chosen.jitter, "jitter"))
    table: dict[str, Any] = {
        "ranks": _value(chosen.ranks or "16"),
        "algorithm": algorithm,
        "network": {"kind": "loggops"} | _pairs(chosen.network or _NETWORK, "network"),
        "noise": noise,
    }
    for option, field in (("bytes", "message_bytes"), ("cycles", "cycles"), ("work", "work")):
        if getattr(chosen, option) is not None:
            table[field] = _value(getattr(chosen, option))
    return Case.from_dict(table)


def _from_study(path: Path, at: list[str]) -> tuple[Case, int]:
    from ..studies.study import load_study

    study = load_study(path)
    labels = {axis.name: [point.label for point in axis.points] for axis in study.axes}
    if study.variants:
        labels["variant"] = [point.label for point in study.variants]
    wanted = {}
    for text in at:
        name, equals, label = text.partition("=")
        if not equals or name not in labels:
            names = ", ".join(labels)
            raise ValueError(f"--at must be AXIS=LABEL, AXIS one of {names}; got {text!r}")
        matches = [known for known in labels[name] if known == label]
        matches = matches or [known for known in labels[name] if known.startswith(label)]
        if len(matches) != 1:
            raise ValueError(f"--at {name} must be one of {', '.join(labels[name])}; got {label!r}")
        wanted[name] = matches[0]
    for cell in study.cells():
        place = {**cell.place, "variant": cell.variant}
        if all(place[name] == label for name, label in wanted.items()):
            return cell.case, study.seed
    raise AssertionError("every combination of labels is a cell")
