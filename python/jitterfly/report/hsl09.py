"""HSL09's figures as sections of the report of a reproduction: one for each of N1 to N5."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..claims import CLAIMS
from ..claims.report import judge_points
from ..congestion import CongestionResult
from ..congestion.study import FIGURES, MAPS, FigurePoint, Setting, run_settings, settings
from ..files import write_whole
from ..info import __version__
from ..plots.draw import drawing, save
from ..studies.grid import STREAM_VERSION
from ..sweep.executors import backend_of, check_workers
from ..sweep.progress import show_time
from . import times
from .collect import model_claim, width
from .model import Facts, Picture, Section, Table
from .summary import Tally

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
_NOTES = (
    "HSL09 publishes ranges of axes only, no values of curves: a range is taken as that of the "
    "values. Its networks are not public: fat trees of 24-port switches take their place. "
    "Slowdown: 100 % is none. z: ranks of the collective. Intervals: 95 % each, paired.",
)


Told = Callable[[str], object]


def add(out: Path, figure: str, tally: Tally, told: Told, options: Mapping[str, Any]) -> Section:
    """The section of a figure, which is counted in the tally; `options` as of `sweep.run`."""
    backend, threads = options.get("backend", "auto"), options.get("threads")
    workers = check_workers(options.get("workers"), backend, threads)
    engine = {"backend": backend_of(workers, backend), "threads": threads}
    started = time.monotonic()
    found, points, anew = section(out, figure, quick=tally.quick, told=told, **engine)
    ran = time.monotonic() - started if anew else 0.0
    seconds = times.add(out, found.name, ran, anew=anew)
    tally.add_points(points, SEED, seconds)
    return replace(found, facts=(*found.facts, ("time", show_time(seconds))))


def section(
    out: Path,
    figure: str,
    *,
    quick: bool,
    told: Told = lambda text: None,
    **engine: Any,
) -> tuple[Section, list[FigurePoint], bool]:
    """The section of a figure, its points, and whether they had to be simulated.

    Points are kept in a directory of the figure's name, and used again by a call for the same.

    Args:
        quick: fewer ratios, sizes, rules and routings, and 100 realizations instead of 1000.
        told: gets a line of text for each setting.
        engine: backend and threads.
    """
    name = next(name for name, known in NAMES.items() if known == figure)
    folder, chosen, count = out / name, settings(figure, quick=quick), 100 if quick else 1000
    points = _kept(folder, chosen, count)
    anew = points is None
    if points is None:
        points = run_settings(chosen, count, SEED, told, **engine)
        folder.mkdir(parents=True, exist_ok=True)
        _keep(folder, points, count)
    most = max(len(point.perturbed.samples) for point in points)
    said: Facts = (("cells", str(len(points))), ("realizations per cell", f"up to {most:,}"))
    found = Section(
        name=name,
        title=TITLES[figure],
        source=CLAIMS[figure].source,
        claims=tuple(model_claim(one) for one in judge_points(points)),
        pictures=_pictures(figure, points, folder),
        tables=(_table(points),),
        facts=said,
        notes=_NOTES,
    )
    return found, points, anew


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
    found = []
    with drawing():
        for stem, drawn in figures(figure, points):
            path = folder / f"{stem}.svg"
            save(drawn, path)
            alt = f"The figure {stem} of {TITLES[figure]}; its numbers are in the table below."
            found.append(Picture(path.read_bytes(), "image/svg+xml", alt, width=width(path)))
    return tuple(found)


def _table(points: Sequence[FigurePoint]) -> Table:
    rows = tuple(
        (
            one.setting.network,
            one.how,
            f"{one.case.ratio}",
            f"{one.case.z:,}",
            f"{one.slowdown.value:.1f} [{one.slowdown.low:.1f}, {one.slowdown.high:.1f}]",
            f"{one.slowdown.realizations:,}",
        )
        for one in points
    )
    header = ("network", "setting", "ratio", "z", "slowdown, % [95 %]", "realizations")
    return Table(f"slowdown: {len(rows)} rows", header, rows)


def _key(chosen: Sequence[Setting], count: int) -> str:
    return json.dumps([__version__, STREAM_VERSION, SEED, count, [repr(one) for one in chosen]])


def _keep(folder: Path, points: Sequence[FigurePoint], count: int) -> None:
    file = io.BytesIO()
    results = [one for point in points for one in (point.perturbed, point.unperturbed)]
    samples = {f"samples{i}": one.samples for i, one in enumerate(results)}
    key = _key([point.setting for point in points], count)
    backends = np.array([one.backend for one in results])
    np.savez_compressed(file, key=np.array(key), backends=backends, **samples)  # type: ignore[arg-type]
    write_whole(folder / _POINTS, file.getvalue())


def _kept(folder: Path, chosen: Sequence[Setting], count: int) -> list[FigurePoint] | None:
    """The points of an earlier call for the same; None where there are none."""
    try:
        with np.load(io.BytesIO((folder / _POINTS).read_bytes())) as file:
            if str(file["key"]) != _key(chosen, count):
                return None
            samples = [file[f"samples{i}"] for i in range(2 * len(chosen))]
            backends = [str(name) for name in file["backends"]]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # damaged: made anew
        return None
    cases = [case for one in chosen for case in (one.case, one.case.unperturbed())]
    results = [
        CongestionResult(case, SEED, 0, backend, values)
        for case, backend, values in zip(cases, backends, samples, strict=True)
    ]
    return [FigurePoint(one, *results[2 * i : 2 * i + 2]) for i, one in enumerate(chosen)]
