"""The command `jitterfly noise show`: a picture of a measurement, and what is in it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..output import add_json, print_json
from . import reading

_ENDINGS = (".noise", ".out", ".txt", ".csv", ".tsv", ".dat", ".log")


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "show",
        help="draw a noise file, or what another tool measured",
        description="Draw a noise file, or a file that `jitterfly noise import` reads: timeline, "
        "durations and periods of detours; histograms; tables of collectives.",
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="X.png",
        help="picture; its ending decides the format (default: FILE's name, in this directory)",
    )
    reading.add_options(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    from ...measured.description import describe, description_lines
    from ...plots.draw import check_path

    name = chosen.file.stem if chosen.file.suffix in _ENDINGS else chosen.file.name
    out = chosen.out or Path(f"{name}.png")
    check_path(out)
    measured = reading.load(chosen)
    facts = describe(measured)

    from ...plots.noise import draw_measured

    draw_measured(measured, out, facts)
    reading.warn(measured, sys.stderr if chosen.json else None)
    if chosen.json:
        untrusted = measured.source.get("untrusted")
        print_json("noise show", file=chosen.file, untrusted=untrusted, **facts, written=[out])
        return
    print(f"{chosen.file}: {measured.format}")
    print("\n".join(description_lines(measured, facts)))
    for note in measured.notes:
        print(f"note: {note}")
    print(f"written: {out}")
