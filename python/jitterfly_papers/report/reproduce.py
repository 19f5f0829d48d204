"""`jitterfly reproduce`: run the studies of the papers, resume, keep the report up to date."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from jitterfly.fields import check_choice, parameter
from jitterfly.files import write_whole
from jitterfly.plots import draw
from jitterfly.progress import show_duration
from jitterfly.results import Results
from jitterfly.results.figures import check_figure
from jitterfly.store import Store
from jitterfly.store.store import export, keep_numbers
from jitterfly.studies import Study, load_study
from jitterfly.studies.toml import shipped_folder
from jitterfly.sweep import CellsFailed, Stopped, run

from ..claims import CLAIMS, show_counts
from ..claims.registry import check_claims
from . import hsl09, theory
from .claims_table import PARTS, to_json
from .html_page import page
from .report_content import Section
from .sections import Tally, add_time, few_runs_section, recorded_bytes, report, section

PAGE = "report.html"


class Reproduction(NamedTuple):
    """The report's file, and what stands in it: a section for each study, with its claims."""

    page: Path
    sections: tuple[Section, ...]


def studies(*, quick: bool, only: Sequence[str] | None = None) -> list[Study]:
    """The studies of a reproduction, in the order of the claims; `only` chooses by name.

    Names of HSL09's figures are let through: they are no studies.

    Raises
    ------
    ValueError
        A name that there is not, or a study that can not be run, drawn and judged.
    """
    known = {path.stem: path for path in sorted(shipped_folder().glob("*.toml"))}
    for name in only or ():
        check_choice(name, parameter("only"), (*known, *hsl09.NAMES))
    names = [name for name in dict.fromkeys(known if only is None else only) if name in known]
    chosen = [load_study(known[name], full=not quick) for name in names]
    if only is None:
        chosen = [study for study in chosen if study.claims]
    for study in chosen:
        check_figure(study)
        check_claims(study)
        study.cells()
    order = list(CLAIMS)
    return sorted(chosen, key=lambda study: [order.index(name) for name in study.claims])


def reproduce(
    out: str | Path,
    *,
    quick: bool,
    only: Sequence[str] | None = None,
    with_theory: bool = False,
    with_networks: bool = False,
    command: str = "",
    stream: TextIO | None = None,
    **options: Any,
) -> Reproduction:
    """Run each study into a directory of its name in `out`, and write `out`/report.html.

    All parts of the claims are in `out`/parts.json, too, each with its verdict and its limit.

    The report is there from the first finished study on, and says what is missing of it. The same
    call goes on after a stop, and brings the report up to date when nothing is left to run.

    Parameters
    ----------
    out : path
        A directory; it is made if it is not there.
    quick : bool
        Whether studies have the sizes for a few minutes on two cores; else those of their `[full]`.
    only : list of str, optional
        Names of studies, or of `hsl09.NAMES`, instead of all that bear on a claim.
    with_theory : bool
        Add a section on theory at the end.
    with_networks : bool
        Run HSL09's figures too, where `only` does not say which.
    command : str
        What runs one study again, with `{}` for its name; the report tells it.
    stream : file, optional
        Where progress goes; stderr by default.
    **options
        As of `sweep.run`; with ``on_error="finish"`` a study that fails in part is reported as it
        is, and the others follow. HSL09's figures are run by this process, whatever workers there
        are.

    Returns
    -------
    Reproduction
        The report, also of what earlier calls ran.

    Raises
    ------
    ValueError
        A bad name or option, or no matplotlib, before anything runs.
    CellsFailed
        With ``on_error="finish"``, at the end.
    Stopped
        Ctrl-C; says which studies the report has.
    """
    if not draw.can_draw():
        raise ValueError(draw.MISSING)
    chosen = studies(quick=quick, only=only)
    wanted = [figure for name, figure in hsl09.NAMES.items()
              if (with_networks if only is None else name in only)]  # fmt: skip
    progress = _Progress(Path(out), quick, chosen, wanted, command)
    page = progress.run(stream or sys.stderr, options)
    if with_theory:
        progress.add_theory(stream or sys.stderr)
    return Reproduction(page, tuple(progress.sections))


class _Progress:
    """The studies and HSL09's figures, and what is done of them."""

    def __init__(
        self, out: Path, quick: bool, chosen: list[Study], figures: list[str], command: str
    ):
        self.command = command
        self.out, self.chosen, self.figures = out, chosen, figures
        self.titles = [one.title for one in chosen] + [hsl09.TITLES[name] for name in figures]
        self.tally = Tally(quick)
        self.sections: list[Section] = []
        self.rendered: dict[str, Any] = {}  # of sections, for the next page

    def run(self, stream: TextIO, options: dict[str, Any]) -> Path:
        self.out.mkdir(parents=True, exist_ok=True)
        failed: dict[str, str] = {}
        total = 0
        steps = [partial(self._study, one, stream, options) for one in self.chosen]
        steps += [partial(self._figure, name, stream, options) for name in self.figures]
        for number, (title, step) in enumerate(zip(self.titles, steps, strict=True), 1):
            print(f"study {number} of {len(steps)}: {title}", file=stream, flush=True)
            done = len(self.sections)
            try:
                step()
            except CellsFailed as error:
                failed |= error.failed
                total += error.total
            except KeyboardInterrupt as stop:
                raise Stopped(self._kept(str(stop))) from None
            self._write(tuple(self.titles[number:]))
            if len(self.sections) > done:
                print(_verdicts(self.sections[-1]), file=stream, flush=True)
        if failed:
            raise CellsFailed(failed, total, self.out)
        return self.out / PAGE

    def _study(self, study: Study, stream: TextIO, options: dict[str, Any]) -> None:
        folder = self.out / study.name
        finish = partial(self._finish, stream, time.monotonic(), recorded_bytes(folder))
        try:
            run(study, folder, finish=finish, stream=stream, **options)
        except CellsFailed as error:
            why = {f"{study.name}, {name}": text for name, text in error.failed.items()}
            raise CellsFailed(why, error.total, folder) from None

    def _figure(self, name: str, stream: TextIO, options: dict[str, Any]) -> None:
        tell = partial(print, file=stream, flush=True)
        try:
            self._add(hsl09.add(self.out, name, self.tally, tell, options))
        except (ValueError, RuntimeError) as error:
            if options.get("on_error") != "finish":
                raise
            raise CellsFailed({hsl09.TITLES[name]: str(error)}, 1, self.out) from None

    def _add(self, content: Section) -> None:
        self.sections.append(replace(content, command=self.command.format(content.name)))

    def add_theory(self, stream: TextIO) -> None:
        """Add the section on theory, after those of the studies."""
        print("theory beside simulation", file=stream, flush=True)
        tell = partial(print, file=stream, flush=True)
        self.sections.append(theory.section(self.out, quick=self.tally.quick, tell=tell))
        self._write(())

    def _write(self, pending: tuple[str, ...]) -> None:
        """Write the report as it stands, and its parts as data."""
        made = report(self.tally, self.sections, pending)
        write_whole(self.out / PAGE, page(made, self.rendered).encode())
        write_whole(self.out / PARTS, to_json(made).encode())

    def _finish(self, stream: TextIO, started: float, before: int, store: Store) -> None:
        """Add a study that was run to the report, and write its table."""
        print("  tables, pictures and verdicts", file=stream, flush=True)
        ran = time.monotonic() - started if recorded_bytes(store.path) != before else 0.0
        seconds = add_time(self.out, store.study.name, ran, anew=not before)
        export(keep_numbers(store), store.path / "summary.csv")
        results = Results(store)
        self._add(section(results, (("time", show_duration(seconds)),)))
        self.tally.add(results, seconds)
        if self.tally.few_runs is None and store.study.figure == "slowdown":
            self.tally.few_runs = few_runs_section(results)

    def _kept(self, what: str) -> str:
        done = f"{len(self.sections)} of {len(self.titles)} studies are finished"
        where = f" ({self.out / PAGE})" if self.sections else ""
        return f"{done}{where}; of the next one, {what}" if what else f"{done}{where}"


def _verdicts(section: Section) -> str:
    """The verdicts for a terminal: `  M4: 5 of 6 parts reproduced, 1 cannot tell`."""
    return "\n".join(
        f"  {claim.name}: {show_counts(claim.counts, claim.by_ours)}" for claim in section.claims
    )
