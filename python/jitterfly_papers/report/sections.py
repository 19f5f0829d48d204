"""Sections of a report from the stores of runs: tables, pictures, run times."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jitterfly.answer import show
from jitterfly.backends import info
from jitterfly.files import read_text, write_whole
from jitterfly.progress import show_duration
from jitterfly.report import Facts, Table, about, picture, show_value, tables
from jitterfly.results import Results
from jitterfly.results.tables import SELECTION
from jitterfly.version import __version__

from ..cell_values import RUNS
from ..claims import judge
from ..figures import FewRunMeans, few_runs, published_figures
from ..hsl09_settings import FigurePoint
from .report_content import Report, Section


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
                picture(results, results.store.path, kind, "The figure with the paper's axes")
                for kind in published_figures(study)
            ),
            picture(results, results.store.path),
        ),
        tables=tuple(tables(results)),
        facts=(*about(results), *facts),
        notes=(SELECTION.replace("\n", " "),) if chosen else (),
    )


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
        pictures=(
            picture(results, results.store.path, "few_runs", f"Means of {RUNS} runs as dots"),
        ),
        tables=(Table(title, _HEADER, tuple(map(_row, cells))),),
    )


def _row(cell: FewRunMeans) -> tuple[str, ...]:
    inner = np.quantile(cell.means, [0.05, 0.95])
    outer = cell.means.min(), cell.means.max()
    return (
        cell.cell,
        cell.observable.replace("_", " "),
        f"{len(cell.means):,}",
        *(" – ".join(show_value(float(end), cell.unit) for end in ends) for ends in (inner, outer)),
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
