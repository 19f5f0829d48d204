"""Sections of a report from the stores of runs: tables, pictures, run times."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jitterfly.answer import show, show_digits
from jitterfly.backends import info
from jitterfly.fields import grouped
from jitterfly.files import read_text, write_whole
from jitterfly.plots import draw
from jitterfly.progress import show_duration
from jitterfly.results import CellResults, Results
from jitterfly.results.figures import axis_title, figure_kind
from jitterfly.results.results import CellSummary
from jitterfly.results.tables import SELECTION
from jitterfly.units import show_seconds
from jitterfly.version import __version__

from ..cell_values import RUNS, show_ranks
from ..claims import judge
from ..figures import FewRunMeans, few_runs, published_figures
from ..hsl09_settings import FigurePoint
from .report_content import Facts, Picture, Report, Section, Table

_LARGEST = 2**20  # bytes of a drawing; larger ones go into the page as pixels
_MANY = 100  # cells of a map: each is drawn with its number, and together they are larger than that


def section(results: Results, facts: Facts = ()) -> Section:
    """The section of a study; its pictures are written into its directory too."""
    study = results.study
    chosen = any(fact.T is not None for cell in results.cells for fact in cell.summaries.values())
    return Section(
        name=study.name,
        title=study.title,
        source=study.source,
        claims=tuple(judge(results)),
        pictures=(
            *(
                picture(results, kind, "The figure with the paper's axes")
                for kind in published_figures(study)
            ),
            picture(results),
        ),
        tables=tuple(tables(results)),
        facts=(*about(results), *facts),
        notes=(SELECTION.replace("\n", " "),) if chosen else (),
    )


def about(results: Results) -> Facts:
    """The facts on how much was run, and how many cells met their targets."""
    cells = len(results.cells)
    facts = [("cells", f"{cells:,}"), ("realizations per cell", results.count)]
    if results.network_noise:
        what, _, text = results.network_noise.partition(": ")
        facts.append((what, text))
    open_ = sum(not cell.complete for cell in results.cells)
    if open_:
        facts.append(("UNFINISHED", f"{open_:,} cells"))
    for target in results.study.targets:
        met = sum(target.column not in cell.unmet for cell in results.cells)
        facts.append((str(target), f"met in {met:,} of {cells:,} cells"))
    return tuple(facts)


def picture(results: Results, kind: str | None = None, what: str = "The figure") -> Picture:
    """A figure as a drawing, or as pixels where the drawing would be very large.

    Parameters
    ----------
    results : Results
    kind : str, optional
        As of `plots.draw.draw`.
    what : str
        The beginning of a description for those who do not see it.
    """
    study = results.study
    name = f"{study.name}_{kind}" if kind else study.name
    path = results.store.path / f"{name}.svg"
    many = len(results.cells) > _MANY and (kind or figure_kind(study)) in ("maps", "paper_maps")
    if not many:
        draw.draw(results, path, kind=kind)
        many = path.stat().st_size > _LARGEST
    if many:
        path.unlink(missing_ok=True)
        path = path.with_suffix(".png")
        draw.draw(results, path, kind=kind)
    alt = f"{what} of {study.title}; its numbers are in the tables below."
    media = "image/png" if many else "image/svg+xml"
    return Picture(path.read_bytes(), media, alt, width=width(path))


def width(drawing: Path) -> float:
    """The width of an SVG or a PNG, in points; 0 where it does not say."""
    if drawing.suffix == ".png":
        from PIL import Image  # which matplotlib needs, too

        with Image.open(drawing) as image:
            dots = float(image.info.get("dpi", (0.0, 0.0))[0])
            return 72 * image.width / dots if dots else 0.0
    match = re.search(r'<svg[^>]*?\swidth="([0-9.]+)pt"', drawing.read_text(encoding="utf-8"))
    return float(match[1]) if match else 0.0


_NONE = "–"


def tables(results: Results) -> tuple[Table, ...]:
    """A table for each observable: every cell that has data of it, in the study's order.

    An observable of each cycle or each T is one table, with the cycle or T as a column.
    """
    groups = grouped(results.columns, lambda name: name.partition(", ")[0])
    all_tables = [_table(results, group, names) for group, names in groups.items()]
    return tuple(table for table in all_tables if table.rows)


def _table(results: Results, group: str, names: list[str]) -> Table:
    axes = [axis.name for axis in results.study.axes]
    known = [
        (cell, name, cell.summaries[name])
        for cell in results.cells
        for name in names
        if name in cell.summaries
    ]
    rows = [
        (
            *(show_ranks(cell.ranks) if axis == "ranks" else cell.labels[axis] for axis in axes),
            name.partition(", ")[2],
            f"{summary.realizations:,}",
            "" if summary.T is None else str(summary.T),
            show(summary.mean, summary.unit, 4),
            *_spread(summary),
            _target(results, cell, name),
        )
        for cell, name, summary in known
    ]
    header = (
        *(axis_title(results.study, axis) for axis in axes),
        "of",
        "realizations",
        "best T",
        _number_kind(known[0][2]) if known else "",
        "median",
        "5–95 %",
        "target",
    )
    used = [i for i in range(len(header)) if any(row[i] not in ("", _NONE) for row in rows)]
    return Table(
        f"{group.replace('_', ' ')}: {len(rows)} {'row' if len(rows) == 1 else 'rows'}",
        tuple(header[i] for i in used),
        tuple(tuple(row[i] for i in used) for row in rows),
    )


def _number_kind(summary: CellSummary) -> str:
    """The statistic of a table, with the confidence of its interval."""
    return f"{summary.statistic} [{100 * summary.mean.confidence:.6g} %]"


def _spread(summary: CellSummary) -> tuple[str, str]:
    """The median and range of single realizations, where they have a value."""
    if summary.quantiles is None:
        return _NONE, _NONE
    low, middle, high = (_show(value, summary.unit) for value in summary.quantiles)
    return middle, f"{low} – {high}"


def _show(value: float, unit: str) -> str:
    return show_seconds(value, 3) if unit == "s" else show_digits(value)


def _target(results: Results, cell: CellResults, name: str) -> str:
    if all(target.column != name for target in results.study.targets):
        return ""
    return "missed" if name in cell.unmet else "met"


_HEADER = (
    "cell",
    "observable",
    f"{RUNS}-run\nmeans",
    "5–95 % of them",
    "lowest – highest",
    "apart",
    "all reali-\nzations",
    "their mean [95 %]",
)


def few_runs_section(results: Results) -> Section | None:
    """The section for the cells of a study where such means scatter most; None without such."""
    cells = few_runs(results)
    if not cells:
        return None
    title = f"What a mean of {RUNS} runs is worth"
    return Section(
        name="few-runs",
        title=title,
        source=results.study.title,
        pictures=(picture(results, kind="few_runs", what=f"Means of {RUNS} runs as dots"),),
        tables=(Table(title, _HEADER, tuple(map(_row, cells))),),
    )


def _row(cell: FewRunMeans) -> tuple[str, ...]:
    inner = np.quantile(cell.means, [0.05, 0.95])
    outer = cell.means.min(), cell.means.max()
    return (
        cell.cell,
        cell.observable.replace("_", " "),
        f"{len(cell.means):,}",
        *(" – ".join(_show(float(end), cell.unit) for end in ends) for ends in (inner, outer)),
        f"{cell.apart:.2g}×",
        f"{cell.realizations:,}",
        show(cell.mean, cell.unit, 4),
    )


_FILE = "times.json"


def recorded_bytes(path: Path) -> int:
    """The bytes of records in a store: whether a run added anything."""
    return sum(file.stat().st_size for file in path.glob("records/*"))


def add_time(out: Path, name: str, seconds: float, *, anew: bool) -> float:
    """Add to what earlier calls took for a study (`anew`: there were none), and keep the sum."""
    file = out / _FILE
    try:
        times = {str(k): float(v) for k, v in json.loads(read_text(file)).items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):  # none, or damaged
        times = {}
    times[name] = seconds + (0.0 if anew else times.get(name, 0.0))
    write_whole(file, (json.dumps(times, indent=1) + "\n").encode())
    return times[name]


_TITLE = "Noise in collective communication: MS12, CS14, HM18 and HSL09 run again"


class Tally:
    """The sums over the studies that are done."""

    def __init__(self, quick: bool):
        self.quick = quick
        self.seeds: set[int] = set()
        self.backends: set[str] = set()
        self.cells = self.realizations = 0
        self.seconds = 0.0
        self.few_runs: Section | None = None

    def add(self, results: Results, seconds: float) -> None:
        """Add one more study."""
        self.seeds.add(results.study.seed)
        self.backends.update(results.store.meta["backend"])
        self.cells += len(results.cells)
        self.realizations += sum(
            cell.realizations * len(cell.cell.variants) for cell in results.cells
        )
        self.seconds += seconds

    def add_points(self, points: Sequence[FigurePoint], seed: int, seconds: float) -> None:
        """Add one more figure of networks."""
        results = [result for point in points for result in (point.perturbed, point.unperturbed)]
        self.seeds.add(seed)
        self.backends.update(result.backend for result in results)
        self.cells += len(points)
        self.realizations += sum(len(result.samples) for result in results)
        self.seconds += seconds

    @property
    def facts(self) -> Facts:
        """The facts in the head of the report."""
        now = datetime.datetime.now().astimezone()
        return (
            ("version", __version__),
            ("seed", ", ".join(map(str, sorted(self.seeds)))),
            ("date", f"{now:%Y-%m-%d %H:%M %Z}"),
            ("backend", ", ".join(map(_machine, sorted(self.backends)))),
            ("sizes", "quick" if self.quick else "full"),
            ("cells", f"{self.cells:,}"),
            ("realizations", f"{self.realizations:,}"),
            ("total time", show_duration(self.seconds)),
        )


def report(tally: Tally, sections: Sequence[Section], pending: tuple[str, ...]) -> Report:
    """The report as it stands."""
    return Report(_TITLE, tally.facts, tuple(sections), tally.few_runs, pending)


def _machine(backend: str) -> str:
    """A backend with what it is on here."""
    here = info()
    if backend == "cpu":
        return f"CPU, {here['processors']} processors, {here['build']['instruction_set']}"
    names = {str(device.get("name", "")) for device in here["devices"]} - {""}
    return f"CUDA, {', '.join(sorted(names))}" if names else "CUDA"
