"""The command `jitterfly theory`: exact distributions and bounds, with the engine beside them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .output import add_json, print_json, tell


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    theory = commands.add_parser(
        "theory",
        help="one HTML page: what is known without simulation, and how the engine agrees with it",
        description="Writes DIR/theory.html: one rank and the last under step delays, the largest "
        "of N draws, saturation, LogGP; theory and simulation on one plot.",
    )
    theory.add_argument(
        "--full", action="store_true", help="sizes for a GPU; else for half a minute on two cores"
    )
    theory.add_argument(
        "--out", type=Path, metavar="DIR", default=Path("results"), help="default: results"
    )
    add_json(theory)
    theory.set_defaults(run=_theory)


def _theory(chosen: argparse.Namespace) -> None:
    from ..report.theory import write

    page = write(chosen.out, quick=not chosen.full, told=tell)
    if chosen.json:
        print_json("theory", written=[page])
        return
    print(f"written: {page}")
