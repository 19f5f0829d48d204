"""Options that say how a file of measurements is read, and reading it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, TextIO

from ...fields import shorten
from ...units import parse_seconds
from ..options import naming_options, value

if TYPE_CHECKING:
    from ...measured import Measured

_TIMES = ("quantum", "runtime", "period", "threshold", "width")
_HELP = {
    "clock-hz": ("HZ", "rate of the clock that its cycles are of, such as 2.1e9 or 2.1GHz"),
    "unit": ("UNIT", "of its times: s, ms, us, ns, ps or cycles"),
    "quantum": ("TIME", "length of a quantum (FTQ)"),
    "runtime": ("TIME", "how long osnoise looked in each period"),
    "period": ("TIME", "of osnoise"),
    "threshold": ("TIME", "shorter noise was not recorded"),
    "width": ("TIME", "of the bins of a histogram"),
    "ranks": ("N", "of a collective"),
    "events": ("WHICH", "events of a trace that are its detours: samples or sources"),
}
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add them to argparse's."""
    parser.add_argument("--format", metavar="NAME", help="of FILE, where it is not recognised")
    parser.add_argument("--cpu", metavar="CPU", help="only this one, of a file of several")
    for name, (metavar, text) in _HELP.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text)


def load(chosen: argparse.Namespace) -> Measured:
    """What is in the file that was named."""
    from ...measured import load

    options = _options(chosen)
    with naming_options():
        return load(chosen.file, format=chosen.format, cpu=chosen.cpu, **options)


def warn(measured: Measured, file: TextIO | None = None) -> None:
    """Print, before all else, why a recording is not to be trusted, where that is so."""
    if "untrusted" in measured.source:
        print(f"not to be trusted: {measured.source['untrusted']}", file=file)


def _options(chosen: argparse.Namespace) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name in _HELP:
        text = getattr(chosen, name.replace("-", "_"))
        if text is None:
            continue
        if name in _TIMES:
            options[name] = parse_seconds(text, f"--{name}", positive=True)
        elif name == "clock-hz":
            options["clock_hz"] = _rate(text)
        elif name == "ranks":
            options[name] = value(text)
        else:
            options[name] = text
    return options


def _rate(text: str) -> float:
    number = text.strip().lower().removesuffix("hz")
    prefix = number[-1:] if number[-1:] in ("k", "m", "g") else ""
    try:
        rate = float(number.removesuffix(prefix)) * _PREFIXES[prefix]
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e15:
        raise ValueError(
            f"--clock-hz must be a rate above 0, such as 2.1e9 or 2.1GHz, got {shorten(text)}"
        )
    return rate
