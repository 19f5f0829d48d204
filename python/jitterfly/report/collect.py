"""What a run of one study adds to a report: its picture, claims, findings and numbers."""

from __future__ import annotations

import re
from pathlib import Path

from ..claims.report import Judged, judge
from ..plots import draw
from ..results.results import Results
from ..results.tables import SELECTION
from .model import Claim, Facts, Part, Picture, Section
from .numbers import tables

_LARGEST = 2**20  # bytes of a drawing; larger ones go into the page as pixels


def section(results: Results, facts: Facts = ()) -> Section:
    """The section of a study; its pictures are written into its directory too."""
    study = results.study
    chosen = any(fact.T is not None for spot in results.spots for fact in spot.facts.values())
    return Section(
        name=study.name,
        title=study.title,
        source=study.source,
        claims=tuple(map(model_claim, judge(results))),
        pictures=(picture(results),),
        tables=tuple(tables(results)),
        facts=(*about(results), *facts),
        notes=(SELECTION.replace("\n", " "),) if chosen else (),
    )


def model_claim(one: Judged) -> Claim:
    """A claim that was judged, as a report holds it."""
    parts = (Part(found.where, found.verdict, found.text) for found in one.findings)
    return Claim(one.name, one.claim.source, one.claim.text, one.verdict, tuple(parts))


def about(results: Results) -> Facts:
    """How much was run, and how many cells met their targets."""
    cells = len(results.spots)
    told = [("cells", f"{cells:,}"), ("realizations per cell", results.count)]
    if results.network_noise:
        what, _, text = results.network_noise.partition(": ")
        told.append((what, text))
    open_ = sum(not spot.complete for spot in results.spots)
    if open_:
        told.append(("UNFINISHED", f"{open_:,} cells"))
    for target in results.study.targets:
        met = sum(target.column not in spot.unmet for spot in results.spots)
        told.append((str(target), f"met in {met:,} of {cells:,} cells"))
    return tuple(told)


def picture(results: Results, kind: str | None = None, what: str = "The figure") -> Picture:
    """A figure as a drawing, or as pixels where the drawing would be very large.

    Args:
        kind: as of `plots.draw.draw`.
        what: the beginning of a description for those who do not see it.
    """
    study = results.study
    name = f"{study.name}_{kind}" if kind else study.name
    path, media = results.store.path / f"{name}.svg", "image/svg+xml"
    draw.draw(results, path, kind=kind)
    points = width(path)
    if path.stat().st_size > _LARGEST:
        path.unlink()
        path, media = path.with_suffix(".png"), "image/png"
        draw.draw(results, path, kind=kind)
    alt = f"{what} of {study.title}; its numbers are in the tables below."
    return Picture(path.read_bytes(), media, alt, width=points)


def width(drawing: Path) -> float:
    """Of an SVG, in points; 0 where it does not say."""
    found = re.search(r'<svg[^>]*?\swidth="([0-9.]+)pt"', drawing.read_text(encoding="utf-8"))
    return float(found[1]) if found else 0.0
