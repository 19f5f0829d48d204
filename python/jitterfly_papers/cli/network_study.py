"""Command `jitterfly network study`: HSL09's figures and findings."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from jitterfly.cli.options import count
from jitterfly.cli.output import add_json, print_json, show_phases, tell, warn_without_matplotlib


def add_network_study(actions: Any) -> None:
    """Add the command to those of `jitterfly network`."""
    study = actions.add_parser(
        "study",
        help="HSL09's figures: slowdown against ratio and size, findings N1 to N5, pictures",
        description="Writes DIR/findings.txt, slowdown.csv, bisection.csv and, with matplotlib, "
        "pictures. Every row says pattern, perturbation, rule, routing, z, and has its interval.",
    )
    study.add_argument("maps", nargs="*", metavar="FILE", help="more networks: digraphs of ORCS")
    study.add_argument(
        "--map",
        nargs=2,
        action="append",
        default=[],
        metavar=("FILE", "TABLES"),
        help="one more: output of ibnetdiscover and forwarding tables; can be repeated",
    )
    study.add_argument(
        "--quick", action="store_true", help="in about a minute: fewer of everything"
    )
    study.add_argument(
        "--only", metavar="N", action="append", help="N1, N2, N3, N4 or N5; can be repeated"
    )
    study.add_argument(
        "--realizations", type=count, metavar="N", help="of each setting (1000; --quick: 100)"
    )
    study.add_argument("--seed", type=count, metavar="N", default=0)
    study.add_argument(
        "--out", type=Path, metavar="DIR", default=Path("results/network"), help="results/network"
    )
    add_json(study)
    study.set_defaults(run=_run_study)


def _run_study(chosen: argparse.Namespace) -> None:
    from jitterfly.congestion import NetworkMap

    from ..report.hsl09 import network_study

    files = [*((file, None) for file in chosen.maps), *chosen.map]
    names = [Path(file).name for file, _ in files]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two files are called {twice[0]!r}: their rows could not be told apart")
    warn_without_matplotlib()
    with show_phases() as phases:
        path = network_study(
            chosen.out,
            quick=chosen.quick,
            only=chosen.only,
            maps={name: NetworkMap.read(*both) for name, both in zip(names, files, strict=True)},
            realizations=chosen.realizations,
            seed=chosen.seed,
            tell=tell,
            progress=phases,
        )
    text = path.read_text(encoding="utf-8")
    if chosen.json:
        print_json("network study", findings=text, written=[path])
        return
    # Claims with their counts; the parts of each, indented below it, are hundreds of lines.
    blocks = text.rstrip().split("\n\n")
    print("\n\n".join(re.sub(r"(?s)^(N\d .*?)\n  \S.*", r"\1", block) for block in blocks))
    print(f"\nwritten: {path.parent} ({path.name}: every part of each claim)")
