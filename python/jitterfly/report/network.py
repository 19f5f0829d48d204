"""HSL09's figures: simulated, judged, drawn and written into a directory."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..claims.report import judge_points
from ..claims.report import lines as claim_lines
from ..congestion import ROUTINGS, CongestionCase, FatTree, Topology, bisection_bandwidth
from ..congestion.study import (
    FIGURES,
    MAPS,
    SYSTEMS,
    FigurePoint,
    check_settings,
    map_settings,
    run_settings,
    settings,
)
from ..fields import check_choice
from ..files import write_whole
from ..plots.draw import can_draw, drawing, save

FINDINGS, SLOWDOWNS, BANDWIDTHS = "findings.txt", "slowdown.csv", "bisection.csv"
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_LARGE = 5184  # hosts, up to which the bisection bandwidth is asked for
_SMALL = CongestionCase(FatTree((4, 4, 2), (1, 4, 4)))
_LEVEL = 3  # of it, the last


def network_study(
    out: str | Path,
    *,
    quick: bool = False,
    only: Sequence[str] | None = None,
    maps: Mapping[str, Topology] | None = None,
    realizations: int | None = None,
    seed: int = 0,
    told: Callable[[str], object] = lambda text: None,
    progress: Callable[[str], object] = lambda phase: None,
) -> Path:
    """Run HSL09's figures; write findings.txt, slowdown.csv, bisection.csv and pictures.

    Parameters
    ----------
    out : path
        A directory; it is made if it is not there.
    quick : bool
        Fewer ratios, sizes, rules and routings, and 100 realizations instead of 1000.
    only : list of str, optional
        Of FIGURES; None: all.
    maps : dict of Topology, optional
        More networks, by the names that they get in tables and pictures.
    realizations : int, optional
        Of each setting.
    seed : int
    told : callable
        Gets a line of text for each setting.
    progress : callable
        Gets the name of each phase after the settings: bandwidths and pictures.

    Returns
    -------
    Path
        That of findings.txt.

    Raises
    ------
    ValueError
        An argument out of range.
    OSError
        A file that can not be written.
    """
    for name in only or ():
        check_choice(name, "--only", FIGURES)
    chosen = [one for name in dict.fromkeys(only or FIGURES) for one in settings(name, quick=quick)]
    given = dict(maps or {})
    chosen += map_settings(given, quick=quick)
    count = realizations if realizations is not None else (100 if quick else 1000)
    check_settings(count, seed)
    path = Path(out)
    path.mkdir(parents=True, exist_ok=True)  # before minutes of work, not after
    points = run_settings(chosen, count, seed, told)
    write_whole(path / SLOWDOWNS, slowdowns(points).encode())
    write_whole(path / BANDWIDTHS, _bandwidths(given, count, seed, quick, progress).encode())
    write_whole(path / FINDINGS, (findings(points) + "\n").encode())
    if can_draw():
        progress("pictures")
        _pictures(points, path, seed)
    return path / FINDINGS


def findings(points: Sequence[FigurePoint]) -> str:
    """Each claim and, below it, what was found; then the maps."""
    lines = [
        "HSL09 publishes ranges of axes only, no values of curves: a range is taken as that of the",
        "values. Its networks are not public: fat trees of 24-port switches take their place.",
        "Slowdown: 100 % is none. z: ranks of the collective. Intervals: 95 % each, paired.",
    ]
    for one in judge_points(points):
        lines += ["", *claim_lines([one])]
    mine = [point for point in points if point.setting.figure == MAPS]
    if mine:
        lines += ["", "Networks from files, no claim:"]
    lines += [
        f"  {point.where}, ratio {point.case.ratio} (z = {point.case.z}): {point.slowdown:.1f} %"
        for point in mine
    ]
    return "\n".join(lines)


def slowdowns(points: Sequence[FigurePoint]) -> str:
    """A row for each setting, with everything that it holds for."""
    names = [
        "figure", "network", "hosts", "ranks", "z", "ratio", "pattern", "perturbation", "rule",
        "routing", "realizations", "seed", "slowdown_percent", "low", "high", "confidence",
        *(f"q{100 * q:g}" for q in _QUANTILES), "unperturbed_mean",
    ]  # fmt: skip
    rows = []
    for point in points:
        case, found = point.case, point.slowdown
        quantiles = np.quantile(point.realizations, _QUANTILES)
        rows.append([
            point.setting.figure, point.setting.network, case.network.hosts, case.ranks, case.z,
            case.ratio, case.pattern, case.perturbation, case.rule, case.network.routing_name,
            found.realizations, point.perturbed.seed,
            *map(_number, (found.value, found.low, found.high)), found.confidence,
            *map(_number, quantiles), _number(point.unperturbed.samples.mean()),
        ])  # fmt: skip
    return _csv([names, *rows])


def _bandwidths(
    maps: Mapping[str, Topology],
    count: int,
    seed: int,
    quick: bool,
    progress: Callable[[str], object],
) -> str:
    names = ["network", "hosts", "routing", "realizations", "seed", "bandwidth", "low", "high"]
    networks = [(name, tree) for name, (tree, _) in SYSTEMS.items()]
    networks += [
        ("1152 hosts", FatTree.of(1152, routing=routing))
        for routing in ROUTINGS
        if routing != "d-mod-k"
    ]
    networks += list(maps.items())
    rows = [
        [name, network.hosts, network.routing_name, count, seed, *map(_number, found[1:4])]
        for name, network in networks
        if network.hosts <= (1152 if quick else _LARGE) or name in maps
        for found in [_bandwidth(name, network, count, seed, progress)]
    ]
    return _csv([names, *rows])


def _bandwidth(
    name: str, network: Topology, count: int, seed: int, progress: Callable[[str], object]
) -> tuple[str, float, float, float]:
    progress(f"effective bisection bandwidth: {name}, routing {network.routing_name}")
    found = bisection_bandwidth(network, count, seed)
    return network.routing_name, found.value, found.low, found.high


def _pictures(points: Sequence[FigurePoint], path: Path, seed: int) -> None:
    from ..plots import loads
    from .hsl09 import figures

    with drawing():
        for name in (*FIGURES, MAPS):
            mine = [point for point in points if point.setting.figure == name]
            for stem, figure in figures(name, mine):
                save(figure, path / f"{stem}.png")
        save(loads.draw_loads(_SMALL, _LEVEL, seed=seed), path / "loads.png")


def _csv(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _number(value: float) -> str:
    return f"{value:.6g}"
