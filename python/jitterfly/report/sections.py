"""The part of the page about one study: figures, claims beside them, numbers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from ..claims.finding import CANNOT_TELL, DIFFERS, REPRODUCED
from . import texts
from .html import Html, join, tag
from .model import Claim, Part, Picture, Section, Table

# Shapes as well as colours, for those who see no difference between red and green.
_MARKS = {REPRODUCED: "✓", DIFFERS: "✗", CANNOT_TELL: "?"}


def verdict(name: str) -> Html:
    """A verdict as a label with a mark."""
    return tag(
        "span",
        tag("span", _MARKS[name], class_="mark", aria_hidden="true"),
        Html("&nbsp;"),
        Html(name.replace(" ", "&nbsp;")),
        class_=f"verdict {_kind(name)}",
    )


def section(one: Section) -> Html:
    """A study: what was run, its pictures with the claims beside them, its numbers."""
    wide = [picture for picture in one.pictures if picture.wide]
    narrow = [picture for picture in one.pictures if not picture.wide]
    claims = [_claim(one, claim) for claim in one.claims]
    beside = [_pictures(narrow), tag("div", *claims, class_="claims") if claims else Html()]
    kind = "beside" if narrow and claims else "below"
    return tag(
        "section",
        tag("h2", one.title),
        _about(one),
        _pictures(wide),
        tag("div", *beside, class_=kind),
        *(tag("p", note, class_="note") for note in one.notes),
        *map(_table, one.tables),
        id=one.name,
    )


def few_runs(one: Section) -> Html:
    """The section on means of 30 runs: its table stands open."""
    return tag(
        "section",
        tag("h2", one.title),
        tag("p", texts.FEW_RUNS),
        _pictures(one.pictures),
        *(tag("p", note, class_="note") for note in one.notes),
        *(_grid(table) for table in one.tables),
        id=one.name,
    )


def _kind(name: str) -> str:
    return name.replace(" ", "-")


def _about(one: Section) -> Html:
    source = [tag("span", one.source)] if one.source else []
    facts = [tag("span", f"{name}: {value}") for name, value in one.facts]
    return tag("p", join([*source, *facts], " "), class_="about")


def _pictures(pictures: Iterable[Picture]) -> Html:
    shown = [
        tag(
            "figure",
            tag(
                "div",
                tag("img", src=picture.uri, alt=picture.alt),
                class_="plate",
                # The only parts that scroll sideways, on a phone: reachable by keyboard.
                tabindex="0",
                role="group",
                aria_label=picture.alt.partition(".")[0],
            ),
            tag("figcaption", picture.caption) if picture.caption else Html(),
            style=f"--width: {picture.width:.0f}pt" if picture.width else None,
        )
        for picture in pictures
    ]
    return tag("div", *shown, class_="pictures") if shown else Html()


def _claim(one: Section, claim: Claim) -> Html:
    by_place = groupby(claim.parts, key=lambda part: part.where)
    return tag(
        "article",
        tag("h3", f"{claim.name} ", verdict(claim.verdict)),
        tag("blockquote", claim.text, tag("footer", claim.source)),
        tag("div", *(_place(where, parts) for where, parts in by_place), class_="places"),
        class_=f"claim {_kind(claim.verdict)}",
        id=f"{one.name}-{claim.name}",
    )


def _place(where: str, parts: Iterable[Part]) -> Html:
    title = tag("h4", where) if where else Html()
    rows = (
        tag(
            "li",
            tag("span", _MARKS[part.verdict], class_="mark", aria_hidden="true"),
            tag("span", f"{part.verdict}: ", class_="aloud"),
            tag("span", part.text),
            class_=_kind(part.verdict),
        )
        for part in parts
    )
    return tag("div", title, tag("ul", *rows, class_="parts"))


def _table(table: Table) -> Html:
    return tag("details", tag("summary", table.title), _grid(table))


def _grid(table: Table) -> Html:
    head = tag("tr", *(tag("th", name, scope="col") for name in table.header))
    rows = (tag("tr", *(tag("td", cell) for cell in row)) for row in table.rows)
    grid = tag("table", tag("thead", head), tag("tbody", *rows), class_="numbers")
    notes = (tag("p", note, class_="note") for note in table.notes)
    scroll = tag("div", grid, class_="scroll", tabindex="0", role="region", aria_label=table.title)
    return join([scroll, *notes])
