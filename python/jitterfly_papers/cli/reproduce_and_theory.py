"""Commands `jitterfly reproduce` and `jitterfly theory`, which write HTML reports."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jitterfly.cli.output import add_json, print_json, progress_stream, tell
from jitterfly.cli.run import WORKERS, add_options, options


def add_reproduce(commands: Any) -> None:
    """Add the command to argparse's."""
    reproduce = commands.add_parser(
        "reproduce",
        help="run the studies of all papers; one HTML report of figures, claims and verdicts",
        description="Runs the studies of MS12, CS14 and HM18 and HSL09's figures, and writes "
        "DIR/report.html: every figure beside its claim, what was found, and a verdict. The same "
        "command goes on after a stop. HSL09's figures are run by this process alone.",
        epilog=WORKERS,
    )
    reproduce.add_argument(
        "--quick", action="store_true", help="sizes for minutes on two cores; else those for a GPU"
    )
    reproduce.add_argument(
        "--only",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="these studies; HSL09's figures: hsl09_n1 to hsl09_n5",
    )
    reproduce.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="default: results/reproduce, with --quick results/reproduce_quick",
    )
    add_options(reproduce)
    add_json(reproduce)
    reproduce.set_defaults(run=_run_reproduce)


def _run_reproduce(chosen: argparse.Namespace) -> None:
    from jitterfly.executors import check_not_copies

    from ..report.claims_table import claim_content
    from ..report.reproduce import reproduce

    if chosen.workers != "mpi":
        check_not_copies()
    name = "reproduce_quick" if chosen.quick else "reproduce"
    out = chosen.out or Path("results") / name
    found = reproduce(
        out,
        quick=chosen.quick,
        only=chosen.only,
        with_theory=not chosen.only,
        with_networks=True,
        command=f"jitterfly reproduce{' --quick' if chosen.quick else ''} --only {{}}",
        stream=progress_stream(),
        **options(chosen),
    )
    if chosen.json:
        studies = [
            {
                "name": one.name,
                "title": one.title,
                "claims": [
                    claim_content(claim)
                    | {"counts": claim.counts, "reproduced_by": claim.reproduced_by}
                    for claim in one.claims
                ],
            }
            for one in found.sections
        ]
        print_json("reproduce", studies=studies, written=[found.page])
        return
    print(f"written: {found.page}")


def add_theory(commands: Any) -> None:
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
    theory.set_defaults(run=_run_theory)


def _run_theory(chosen: argparse.Namespace) -> None:
    from ..report.theory import write

    page = write(chosen.out, quick=not chosen.full, tell=tell)
    if chosen.json:
        print_json("theory", written=[page])
        return
    print(f"written: {page}")
