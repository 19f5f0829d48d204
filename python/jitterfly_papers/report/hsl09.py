"""Figures of HSL09 (congestion): simulate, judge and draw, for a report or a directory."""

from __future__ import annotations

import io
import json
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jitterfly.answer import csv_text
from jitterfly.congestion import (
    ROUTINGS,
    CongestionCase,
    CongestionResult,
    FatTree,
    Topology,
    bisection_bandwidth,
)
from jitterfly.executors import check_workers
from jitterfly.fields import check_choice, parameter
from jitterfly.files import read_npz, read_whole, write_together, write_whole
from jitterfly.plots.draw import can_draw, drawing, save
from jitterfly.progress import Tell, show_duration
from jitterfly.report import Picture, Table, width
from jitterfly.studies import STREAM_VERSION

from ..claims import CLAIMS
from ..claims.registry import judge_points
from ..claims.registry import lines as claim_lines
from ..hsl09_settings import (
    FIGURES,
    MAPS,
    SYSTEMS,
    FigurePoint,
    Setting,
    check_settings,
    map_settings,
    run_settings,
    settings,
)
from .report_content import Section
from .sections import Tally, add_time

NAMES = {f"hsl09_{name.lower()}": name for name in FIGURES}
"""What the figures are called beside the studies."""

TITLES = {
    "N1": "HSL09 slides 7 and 8: slowdown by other jobs against their share of the ranks",
    "N2": "HSL09 slide 9: slowdown by other jobs against the size of the communicator",
    "N3": "HSL09 slide 13: a tree on five systems, against the ratio",
    "N4": "HSL09 slides 14 and 15: a tree against the size of the network",
    "N5": "HSL09 abstract: a reduction on 246 nodes",
}
SEED = 0
_POINTS = "points.npz"
_NOTE = (
    "HSL09 publishes ranges of axes only, no values of curves: a range is taken as that of the "
    "values. Its networks are not public: fat trees of 24-port switches take their place. "
    "Slowdown: 100 % is none. z: ranks of the collective. Intervals: 95 % each, paired."
)


def add(out: Path, figure: str, tally: Tally, tell: Tell, options: Mapping[str, Any]) -> Section:
    """The section of a figure, which is counted in the tally; `options` as of `sweep.run`.

    Points are kept in a directory of the figure's name, and used again by a call for the same.
    Quick ones are of fewer ratios, sizes, rules and routings, and of fewer than 1000 realizations:
    500 of the figures of 576 hosts, which take seconds, and 100 of the others.
    """
    threads = options.get("threads")
    backend = options.get("backend", "auto")
    backend = check_workers(options.get("workers"), backend, threads).backend
    started = time.monotonic()
    name = next(name for name, known in NAMES.items() if known == figure)
    folder, chosen = out / name, settings(figure, quick=tally.quick)
    count = (100 if figure in ("N3", "N4") else 500) if tally.quick else 1000
    points = _kept(folder, chosen, count)
    anew = points is None
    if points is None:
        points = run_settings(chosen, count, SEED, tell, backend=backend, threads=threads)
        folder.mkdir(parents=True, exist_ok=True)
        _keep(folder, points, count)
    pictures = _pictures(figure, points, folder)
    claims = tuple(judge_points(points))
    ran = time.monotonic() - started if anew else 0.0
    seconds = add_time(out, name, ran, anew=anew)
    tally.add_points(points, SEED, seconds)
    most = max(len(point.perturbed.samples) for point in points)
    return Section(
        name=name,
        title=TITLES[figure],
        source=CLAIMS[figure].source,
        claims=claims,
        pictures=pictures,
        tables=(_table(points),),
        facts=(
            ("cells", str(len(points))),
            ("realizations per cell", f"up to {most:,}"),
            ("time", show_duration(seconds)),
        ),
        notes=(_NOTE,),
    )


def figures(name: str, points: Sequence[FigurePoint]) -> list[tuple[str, Any]]:
    """The pictures of a figure, or of the maps, by the stems of their files; none of N5."""
    from ..plots import congestion as draw

    if not points:
        return []
    if name == "N1":
        title = "Simulated: slowdown against ratio, which HSL09 (slide 8) measured"
        boxes = draw.draw_boxes(points, "Simulated: the realizations behind the mean (slide 7)")
        return [("simulated_ratio", draw.draw_ratio(points, title, (100, 250))), ("boxes", boxes)]
    if name == "N2":
        title = "Simulated: slowdown against size, which HSL09 (slide 9) measured"
        return [("simulated_size", draw.draw_size(points, title, (110, 150)))]
    if name == "N3":
        title = "HSL09 slide 13: slowdown against ratio, fat trees of 24-port switches"
        return [("ratio", draw.draw_ratio(points, title, (150, 300)))]
    if name == "N4":
        title = "HSL09 slides 14–15: slowdown against size, full bandwidth"
        return [("size", draw.draw_size(points, title, (150, 350)))]
    if name == MAPS:
        title = "Slowdown against ratio, networks from files; range: of HSL09 slide 13"
        return [("maps", draw.draw_ratio(points, title, (150, 300)))]
    return []


def _pictures(figure: str, points: Sequence[FigurePoint], folder: Path) -> tuple[Picture, ...]:
    pictures = []
    with drawing():
        for stem, drawn in figures(figure, points):
            path = folder / f"{stem}.svg"
            save(drawn, path)
            alt = f"The figure {stem} of {TITLES[figure]}; its numbers are in the table below."
            pictures.append(Picture(path.read_bytes(), "image/svg+xml", alt, width=width(path)))
    return tuple(pictures)


def _table(points: Sequence[FigurePoint]) -> Table:
    rows = tuple(
        (
            point.setting.network,
            point.how,
            f"{point.case.ratio}",
            f"{point.case.z:,}",
            f"{point.slowdown.value:.1f} [{point.slowdown.low:.1f}, {point.slowdown.high:.1f}]",
            f"{point.slowdown.realizations:,}",
        )
        for point in points
    )
    header = ("network", "setting", "ratio", "z", "slowdown, % [95 %]", "realizations")
    return Table(f"slowdown: {len(rows)} rows", header, rows)


def _key(chosen: Sequence[Setting], count: int) -> str:
    return json.dumps([STREAM_VERSION, SEED, count, [repr(setting) for setting in chosen]])


def _keep(folder: Path, points: Sequence[FigurePoint], count: int) -> None:
    file = io.BytesIO()
    results = [result for point in points for result in (point.perturbed, point.unperturbed)]
    samples = {f"samples{i}": result.samples for i, result in enumerate(results)}
    key = _key([point.setting for point in points], count)
    backends = np.array([result.backend for result in results])
    np.savez_compressed(file, key=np.array(key), backends=backends, **samples)  # type: ignore[arg-type]
    write_whole(folder / _POINTS, file.getvalue())


def _kept(folder: Path, chosen: Sequence[Setting], count: int) -> list[FigurePoint] | None:
    """The points of an earlier call for the same; None where there are none."""
    try:
        file = read_npz(read_whole(folder / _POINTS), (8 * count + 4096) * (2 * len(chosen) + 2))
        if str(file["key"]) != _key(chosen, count):
            return None
        samples = [file[f"samples{i}"] for i in range(2 * len(chosen))]
        backends = [str(name) for name in file["backends"]]
        good = [one.ndim == 1 and 2 <= len(one) <= count and one.dtype == float for one in samples]
        pairs = zip(samples[::2], samples[1::2], strict=True)
        if not all(good) or any(len(a) != len(b) for a, b in pairs) or len(backends) != len(good):
            return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # damaged: made anew
        return None
    cases = [case for setting in chosen for case in (setting.case, setting.case.unperturbed())]
    results = [
        CongestionResult(case, SEED, 0, backend, values)
        for case, backend, values in zip(cases, backends, samples, strict=True)
    ]
    return [FigurePoint(setting, *results[2 * i : 2 * i + 2]) for i, setting in enumerate(chosen)]


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
    tell: Tell = lambda text: None,
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
    tell : callable
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
        check_choice(name, parameter("only"), FIGURES)
    chosen = [
        setting
        for name in dict.fromkeys(only or FIGURES)
        for setting in settings(name, quick=quick)
    ]
    given = dict(maps or {})
    chosen += map_settings(given, quick=quick)
    count = realizations if realizations is not None else (100 if quick else 1000)
    check_settings(count, seed)
    path = Path(out)
    path.mkdir(parents=True, exist_ok=True)  # before minutes of work, not after
    points = run_settings(chosen, count, seed, tell)
    bandwidths = _bandwidths(given, count, seed, quick, progress)
    texts = {SLOWDOWNS: slowdowns(points), BANDWIDTHS: bandwidths}
    texts[FINDINGS] = f"{findings(points)}\n"
    write_together({path / name: text.encode() for name, text in texts.items()})
    if can_draw():
        progress("pictures")
        _write_pictures(points, path, seed)
    return path / FINDINGS


def findings(points: Sequence[FigurePoint]) -> str:
    """Each claim and, below it, what was found; then the maps."""
    lines = textwrap.wrap(_NOTE, 90)
    for judged in judge_points(points):
        lines += ["", *claim_lines([judged])]
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
        case, slowdown = point.case, point.slowdown
        quantiles = np.quantile(point.realizations, _QUANTILES)
        rows.append([
            point.setting.figure, point.setting.network, case.network.hosts, case.ranks, case.z,
            case.ratio, case.pattern, case.perturbation, case.rule, case.network.routing_name,
            slowdown.realizations, point.perturbed.seed,
            *map(_number, slowdown), slowdown.confidence,
            *map(_number, quantiles), _number(point.unperturbed.samples.mean()),
        ])  # fmt: skip
    return csv_text([names, *rows])


def _bandwidths(
    maps: Mapping[str, Topology],
    count: int,
    seed: int,
    quick: bool,
    progress: Callable[[str], object],
) -> str:
    names = ["network", "hosts", "routing", "realizations", "seed", "bandwidth", "low", "high"]
    networks: list[tuple[str, Topology]]
    networks = [(name, tree) for name, (tree, _) in SYSTEMS.items()]
    networks += [("1152 hosts", FatTree.of(1152, routing=routing)) for routing in ROUTINGS]
    networks += list(maps.items())
    rows: list[list[Any]] = [names]
    for name, network in networks:
        if network.hosts > (1152 if quick else _LARGE) and name not in maps:
            continue
        routing = network.routing_name
        progress(f"effective bisection bandwidth: {name}, routing {routing}")
        bandwidth = bisection_bandwidth(network, count, seed)
        rows.append([name, network.hosts, routing, count, seed, *map(_number, bandwidth)])
    return csv_text(rows)


def _write_pictures(points: Sequence[FigurePoint], path: Path, seed: int) -> None:
    from ..plots import congestion

    with drawing():
        for name in (*FIGURES, MAPS):
            mine = [point for point in points if point.setting.figure == name]
            for stem, figure in figures(name, mine):
                save(figure, path / f"{stem}.png")
        save(congestion.draw_loads(_SMALL, _LEVEL, seed=seed), path / "loads.png")


def _number(value: Any) -> str:
    return f"{value:.6g}"
