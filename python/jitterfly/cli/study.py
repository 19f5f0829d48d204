"""The commands `jitterfly run` and `jitterfly plot`: from a study to its table and picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..fields import MOST_REALIZATIONS, MOST_SEED, MOST_THREADS
from .options import integer


def add_parsers(commands: Any) -> None:
    """Add the commands to argparse's."""
    run = commands.add_parser("run", help="run a study: data, table, claims, picture")
    run.add_argument("study", type=Path, metavar="STUDY.toml")
    run.add_argument("--realizations", metavar="N", help="per cell, instead of the study's budget")
    run.add_argument("--seed", metavar="N", help="instead of the study's")
    run.add_argument("--backend", choices=("auto", "cpu", "cuda"), default="auto")
    run.add_argument("--threads", metavar="N", help="of the CPU backend (default: all processors)")
    run.add_argument("--out", type=Path, metavar="DIR", help="default: results/NAME")
    run.add_argument("--full", action="store_true", help="the study's sizes for a large machine")
    run.add_argument("--force", action="store_true", help="replace another run that is in DIR")
    run.set_defaults(run=_run)

    plot = commands.add_parser("plot", help="draw the picture and print the table of a run again")
    plot.add_argument("results", type=Path, metavar="DIR", help="what `run` wrote")
    plot.add_argument("--out", type=Path, metavar="FILE", help="png, pdf or svg")
    plot.set_defaults(run=_plot)


def check_study(study: Any) -> None:
    """Raise ValueError if the study can not be run, drawn and judged as it says."""
    from ..analysis.figures import check_figure
    from ..claims.report import check_claims

    check_figure(study)
    check_claims(study)


def run_study(study: Any, out: Path, **options: Any) -> Any:
    """Run a study into `out` up to its summary and picture; arguments and errors as `studies.run`.

    Returns:
        The `analysis.results.Results`.
    """
    from ..analysis import report
    from ..analysis.results import Results
    from ..plots import draw
    from ..studies.run import run

    check_study(study)
    found = []

    def finish(store: Any) -> None:
        found.append(Results.of(store))
        store.write_summary(report.summary(found[0]))
        if draw.can_draw():
            draw.draw(found[0], out / f"{study.name}.png")

    run(study, out, finish=finish, **options)
    return found[0]


def _run(chosen: argparse.Namespace) -> None:
    from ..plots import draw
    from ..studies.study import load_study

    study = load_study(chosen.study, full=chosen.full)
    out = chosen.out or Path("results") / (f"{study.name}_full" if study.full else study.name)
    limits = {
        "realizations": (1, MOST_REALIZATIONS),
        "seed": (0, MOST_SEED),
        "threads": (1, MOST_THREADS),
    }
    numbers = {name: integer(getattr(chosen, name), name, *ends) for name, ends in limits.items()}
    if chosen.backend == "cuda" and chosen.threads is not None:
        raise ValueError("--threads is for the CPU backend, and --backend is cuda: give one")
    if not draw.can_draw():
        print(f"jitterfly: no picture will be drawn: {draw.MISSING}", file=sys.stderr)
    _print(run_study(study, out, backend=chosen.backend, force=chosen.force, **numbers))
    names = ["summary.csv", "samples/", "meta.json", "study.toml"]
    names += [f"{study.name}.png"] if draw.can_draw() else []
    print(f"\nwritten to {out}: {', '.join(names)}")


def _plot(chosen: argparse.Namespace) -> None:
    from ..analysis.results import Results
    from ..plots import draw
    from ..studies.store import Store

    store = Store.open(chosen.results)
    check_study(store.study)
    path = chosen.out or store.path / f"{store.study.name}.png"
    draw.check_path(path)
    results = Results.of(store)
    draw.draw(results, path)
    _print(results)
    print(f"\nwritten: {path}")


def _print(results: Any) -> None:
    from ..analysis import report
    from ..claims.report import report as claims

    print(f"{results.study.title}\n")
    print(report.table(results))
    if results.study.claims:
        print("\nClaims, and what was found (95 % intervals in brackets):")
        print(claims(results))
