"""The command `jitterfly network study`: HSL09's figures beside what is found."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .options import count
from .output import add_json, print_json, tell
from .progress import Phases


def add_parser(actions: Any) -> None:
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
    study.add_argument("--quick", action="store_true", help="a few seconds: fewer of everything")
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
    study.set_defaults(run=_study)


def _study(chosen: argparse.Namespace) -> None:
    from ..congestion import NetworkMap
    from ..report.network import network_study

    files = [*((file, None) for file in chosen.maps), *chosen.map]
    names = [Path(file).name for file, _ in files]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two files are called {twice[0]!r}: their rows could not be told apart")
    with Phases() as phases:
        path = network_study(
            chosen.out,
            quick=chosen.quick,
            only=chosen.only,
            maps={name: NetworkMap.read(*both) for name, both in zip(names, files, strict=True)},
            realizations=chosen.realizations,
            seed=chosen.seed,
            told=tell,
            progress=phases,
        )
    if chosen.json:
        print_json("network study", findings=path.read_text(encoding="utf-8"), written=[path])
        return
    print(path.read_text(encoding="utf-8"), end="")
    print(f"\nwritten: {path.parent}")
