"""Commands on stored runs: `status`, `plot`, `report`, `compare`, `merge`, `export`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..fields import counted, first_few, some_are
from .output import add_json, print_json, warn_without_matplotlib
from .run import RUN_FILES, check_study, choices, run_as_json, show

if TYPE_CHECKING:
    from ..store import Store
    from ..store.cell_progress import RunProgress


def add_parsers(commands: Any) -> None:
    """Add the commands to argparse's."""
    status = commands.add_parser("status", help="how far a run is, cell by cell")
    status.add_argument("results", type=Path, metavar="DIR", help="what `run` wrote")
    status.add_argument("--open", action="store_true", help="only cells that are not finished")
    status.add_argument("--all", action="store_true", help="every cell, however many there are")
    add_json(status)
    status.set_defaults(run=_status)

    plot = commands.add_parser("plot", help="draw a picture and print the table of a run again")
    plot.add_argument("results", type=Path, metavar="DIR", help="what `run` wrote")
    plot.add_argument("--kind", metavar="KIND", help="default: the study's; see sweeps/README.md")
    plot.add_argument("--observable", metavar="NAME", help="for kinds that show one")
    plot.add_argument(
        "--size", dest="figsize", metavar="WxH", help="inches, such as 7x4; default: as it needs"
    )
    plot.add_argument("--title", metavar="TEXT", help="in place of the study's")
    plot.add_argument(
        "--where", action="append", metavar="AXIS=POINT[,...]",
        help="only the cells there, such as algorithm=ring or ranks=16,64; again for another axis. "
        "A name may be shortened to a beginning that no other has; numbers are given whole",
    )  # fmt: skip
    plot.add_argument("--out", "--picture", type=Path, metavar="FILE", help=".png, .pdf or .svg")
    add_json(plot)
    plot.set_defaults(run=_plot)

    report = commands.add_parser(
        "report",
        help="one HTML page of runs, saved answers and noise files",
        description="Writes one page that needs nothing beside it: titles, numbers with intervals, "
        "pictures, notes, and the commands that make them again. It prints on A4. RESULT is the "
        "directory of a run, the directory that another command's --out wrote, JSON that it "
        "printed, or a noise file.",
    )
    report.add_argument("results", type=Path, nargs="+", metavar="RESULT")
    report.add_argument(
        "-o", "--out", type=Path, metavar="FILE.html", default=Path("report.html"),
        help="default: report.html",
    )  # fmt: skip
    report.add_argument("--title", metavar="TEXT", help="of the page")
    report.add_argument("--force", action="store_true", help="replace FILE.html if it exists")
    add_json(report)
    report.set_defaults(run=_report)

    compare = commands.add_parser(
        "compare",
        help="which of two runs or variants is faster, on the same noise",
        description="Paired over the same realizations, cell by cell: mean(B) / mean(A), how "
        "often B is faster, and who wins; 'no winner' when the interval holds 1.",
    )
    compare.add_argument("a", metavar="A", help="DIR, or DIR:VARIANT")
    compare.add_argument("b", metavar="B", help="DIR, or DIR:VARIANT")
    compare.add_argument(
        "--observable",
        metavar="NAME",
        help="of the study; default: completion of the last rank, with all exchanges",
    )
    add_json(compare)
    compare.set_defaults(run=_compare)

    merge = commands.add_parser("merge", help="join shards, or runs on several machines")
    merge.add_argument("out", type=Path, metavar="OUT")
    merge.add_argument(
        "shards", type=Path, nargs="*", metavar="DIR", help="default: OUT/shard-*-of-*"
    )
    add_json(merge)
    merge.set_defaults(run=_merge)

    export = commands.add_parser("export", help="statistics as .csv, .parquet, .nc or .zarr")
    export.add_argument("results", type=Path, metavar="DIR", help="what `run` wrote")
    export.add_argument("file", type=Path, metavar="FILE")
    add_json(export)
    export.set_defaults(run=_export)


def _status(chosen: argparse.Namespace) -> None:
    from ..results.tables import MAX_ROWS_IN_ALL, status
    from ..store.cell_progress import run_progress
    from .output import terminal_width

    progress = run_progress(chosen.results)
    if chosen.json:
        print_json("status", **_progress(progress, chosen.open))
        return
    most = None if chosen.all else MAX_ROWS_IN_ALL
    print(status(progress, only_open=chosen.open, width=terminal_width(), most=most))
    if most is not None and len(progress.cells) > most:
        print("--all prints every cell, --open those that are not finished")


def _progress(progress: RunProgress, only_open: bool) -> dict[str, Any]:
    """Return what `status` prints, for programs."""
    from ..store.merge import missing_shards

    rows = [
        {
            "cell": dict(zip(progress.axes, cell.coordinates, strict=True)),
            "realizations": cell.available,
            "at_most": cell.limit,
            "complete": cell.complete,
            "targets": [
                {"target": str(one.target), "met": one.met, "error": one.error, "why": one.why,
                 "estimate": one.estimate}
                for one in cell.decision.states
            ],
        }
        for cell in progress.cells
        if not (only_open and cell.complete)
    ]  # fmt: skip
    return {
        **_counts(progress),
        "rows": rows,
        "shards": list(map(_counts, progress.shards)),
        "missing": missing_shards([shard.path for shard in progress.shards]),
    }


def _counts(progress: RunProgress) -> dict[str, Any]:
    """Return what is done in all cells of a run, or of a shard, and whether it goes on."""
    from ..store.run_directory import UNKNOWN

    return {
        "path": progress.path,
        "study": progress.title,
        "running": None if progress.holder == UNKNOWN else progress.holder,
        "running_known": progress.holder != UNKNOWN,
        "seconds_old": progress.age,
        "finished": progress.finished,
        "cells": len(progress.cells),
        "realizations": progress.realizations,
    }


def _plot(chosen: argparse.Namespace) -> None:
    from ..plots import draw
    from ..results import Results
    from ..store import Store

    store = Store.open(chosen.results)
    if chosen.where:
        axes = [axis.name for axis in store.study.axes]
        where = choices(chosen.where, "--where", axes)
        try:
            store = store.where(where)
        except ValueError as error:
            raise ValueError(f"--where: {error}") from None
    check_study(store.study, stored=True)
    given = [word for word in (chosen.kind, chosen.observable) if word]
    name = "_".join([store.study.name, *given, *(chosen.where or ())]).replace("/", "-")
    path = chosen.out or store.path / f"{name}.png"
    if not (chosen.json or given):  # also where no picture can be written
        show(store)
        print()
    draw.check_path(path)
    draw.draw(
        Results(store),
        path,
        kind=chosen.kind,
        observable=chosen.observable,
        figsize=_size(chosen.figsize),
        title=chosen.title,
    )
    if chosen.json:
        print_json("plot", **run_as_json(store), written=[path])
        return
    print(f"written: {path}")


def _report(chosen: argparse.Namespace) -> None:
    from ..report import check_new_page, report

    check_new_page(chosen.out, chosen.force)  # before what draws
    warn_without_matplotlib()
    path = report(chosen.results, chosen.out, title=chosen.title or "", force=chosen.force)
    if chosen.json:
        print_json("report", results=chosen.results, written=[path])
        return
    print(f"written: {path}")


def _size(text: str | None) -> tuple[float, float] | None:
    """Width and height, from `7x4`."""
    if text is None:
        return None
    try:
        width, height = map(float, text.lower().split("x"))
    except ValueError:
        raise ValueError(
            f"--size must be width x height in inches, such as 7x4, got {text!r}"
        ) from None
    return width, height


def _compare(chosen: argparse.Namespace) -> None:
    from ..results.compare import compare

    for text in (chosen.a, chosen.b):
        if Path(text).is_file():
            raise ValueError(
                f"{text} is a file, and compare takes directories of runs; two recordings are "
                "compared by `jitterfly noise show FILE FILE`, by `jitterfly slowdown --noise "
                "FILE` of each, or by a study with a variant for each"
            )
    found = compare(chosen.a, chosen.b, chosen.observable or "")
    if chosen.json:
        print_json("compare", a=chosen.a, b=chosen.b, **found.to_dict())
        return
    print("\n".join(found.report()))


def _merge(chosen: argparse.Namespace) -> int:
    from ..store import export, merge
    from ..store.cell_progress import ProgressWriter
    from ..store.merge import missing_shards
    from ..store.run_directory import shards_in
    from ..store.store import keep_numbers

    sources = chosen.shards or shards_in(chosen.out)

    def finish(store: Store) -> None:
        export(keep_numbers(store), chosen.out / "summary.csv")
        ProgressWriter(store, [store.decision(cell) for cell in store.cells]).write()

    store = merge(chosen.out, sources, finish=finish)
    done = sum(store.complete(cell) for cell in store.cells)
    missing = missing_shards(sources) if done < len(store.cells) else []
    if chosen.json:
        print_json(
            "merge",
            path=chosen.out,
            study=store.study.name,
            finished=done,
            cells=len(store.cells),
            missing=missing,
            written=[chosen.out / name for name in RUN_FILES],
        )
    else:
        print(f"joined into {chosen.out}: {done:,} of {counted(len(store.cells), 'cell')} finished")
    if done == len(store.cells):
        if not chosen.json:
            print(f"jitterfly plot {chosen.out} draws the picture and prints the table")
        return 0
    why = f"{first_few(missing, 5)} {'is' if len(missing) == 1 else 'are'} missing"
    print(
        f"jitterfly: {some_are(len(store.cells) - done, len(store.cells), 'cell')} not finished: "
        f"{why if missing else 'run the study again to finish them'}",
        file=sys.stderr,
    )
    return 1


def _export(chosen: argparse.Namespace) -> int:
    from ..store import export
    from ..store.store import check_path, read_numbers

    check_path(chosen.file)
    numbers = read_numbers(chosen.results)
    export(numbers, chosen.file)
    unfinished = numbers.unfinished()
    if chosen.json:
        print_json("export", path=chosen.results, unfinished=unfinished, written=[chosen.file])
    else:
        print(f"written: {chosen.file}")
    if not unfinished:
        return 0
    names = [f"{name} ({count or 'no'} realizations)" for name, count in unfinished.items()]
    print(
        f"jitterfly: {some_are(len(names), len(numbers.arrays['at']), 'cell')} not finished, and "
        f"the file has no rows of those without realizations: {first_few(names, 5)}; run the study "
        "again to finish them",
        file=sys.stderr,
    )
    return 1
