"""What a report says of the whole reproduction: version, seed, machine, sizes, time."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from ..congestion.study import FigurePoint
from ..info import __version__, info
from ..results.results import Results
from ..sweep.progress import show_time
from .model import Facts, Report, Section
from .page import page

_TITLE = "Noise in collective communication: MS12, CS14, HM18 and HSL09 run again"


class Tally:
    """Sums over the studies that are done."""

    def __init__(self, quick: bool):
        self.quick = quick
        self.seeds: set[int] = set()
        self.backends: set[str] = set()
        self.cells = self.realizations = 0
        self.seconds = 0.0
        self.few_runs: Section | None = None

    def add(self, results: Results, seconds: float) -> None:
        """One more study."""
        self.seeds.add(results.study.seed)
        self.backends.update(results.store.meta["backend"])
        self.cells += len(results.spots)
        self.realizations += sum(
            spot.realizations * len(spot.place.cells) for spot in results.spots
        )
        self.seconds += seconds

    def add_points(self, points: Sequence[FigurePoint], seed: int, seconds: float) -> None:
        """One more figure of networks."""
        results = [one for point in points for one in (point.perturbed, point.unperturbed)]
        self.seeds.add(seed)
        self.backends.update(one.backend for one in results)
        self.cells += len(points)
        self.realizations += sum(len(one.samples) for one in results)
        self.seconds += seconds

    @property
    def facts(self) -> Facts:
        """For the head of the report."""
        now = datetime.datetime.now().astimezone()
        return (
            ("version", __version__),
            ("seed", ", ".join(map(str, sorted(self.seeds)))),
            ("date", f"{now:%Y-%m-%d %H:%M %Z}"),
            ("backend", ", ".join(map(_machine, sorted(self.backends)))),
            ("sizes", "quick" if self.quick else "full"),
            ("cells", f"{self.cells:,}"),
            ("realizations", f"{self.realizations:,}"),
            ("total time", show_time(self.seconds)),
        )


def report(tally: Tally, sections: Sequence[Section], pending: tuple[str, ...]) -> str:
    """The page as it stands."""
    return page(Report(_TITLE, tally.facts, tuple(sections), tally.few_runs, pending))


def _machine(backend: str) -> str:
    """A backend with what it is on here."""
    here = info()
    if backend == "cpu":
        return f"CPU, {here['processors']} processors, {here['build']['instruction_set']}"
    names = {str(device.get("name", "")) for device in here["devices"]} - {""}
    return f"CUDA, {', '.join(sorted(names))}" if names else "CUDA"
