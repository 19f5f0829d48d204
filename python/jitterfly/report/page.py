"""A report as one HTML file: no scripts, no files beside it, nothing from a network."""

from __future__ import annotations

import math
from pathlib import Path

from ..claims.finding import CANNOT_TELL, DIFFERS, REPRODUCED, VERDICTS
from . import texts
from .html import Html, join, tag
from .model import Facts, Report
from .sections import few_runs, section, verdict

# A browser that obeys it loads nothing at all: pictures are in the file.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(report: Report) -> str:
    """The whole file."""
    css = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", Html(_plain(report.title))),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(css)),
    )
    parts = [
        _header(report),
        tag("main", *(part for part in _main(report) if part)),
        tag("footer", f"{report.title}. " + " · ".join(f"{k}: {v}" for k, v in report.facts)),
    ]
    body = tag("body", join(parts, "\n"))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _plain(title: str) -> str:
    """Escaped, without the marks of `text`: a window's title has none."""
    return title.replace("&", "&amp;").replace("<", "&lt;")


def _main(report: Report) -> list[Html]:
    return [
        _pending(report),
        _overview(report),
        *(section(one) for one in report.sections),
        few_runs(report.few_runs) if report.few_runs else Html(),
        _method(),
        _sources(),
    ]


def _header(report: Report) -> Html:
    return tag(
        "header",
        tag("h1", report.title),
        tag("p", report.introduction or texts.INTRODUCTION, class_="lead"),
        _facts(report.facts),
    )


def _facts(facts: Facts) -> Html:
    pairs = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts)
    return tag("dl", *pairs, class_="facts")


def _pending(report: Report) -> Html:
    if not report.pending:
        return Html()
    done, total = len(report.sections), len(report.sections) + len(report.pending)
    return tag(
        "aside",
        tag("strong", f"A partial report: {done} of {total} studies are complete."),
        tag("p", "The same command goes on from here. Still to run:"),
        tag("ul", *(tag("li", title) for title in report.pending)),
        class_="pending",
        role="note",
    )


def _overview(report: Report) -> Html:
    """One line for each claim and study: what it says, the verdict, and where the figure is."""
    claims = [(one, claim) for one in report.sections for claim in one.claims]
    if not claims:
        return Html()
    header = ("Claim", "Source", "What it says", "Verdict", "Figure")
    rows = [
        tag(
            "tr",
            tag("th", tag("a", claim.name, href=f"#{one.name}-{claim.name}"), scope="row"),
            tag("td", claim.source),
            tag("td", claim.text, class_="says"),
            tag("td", verdict(claim.verdict)),
            tag("td", tag("a", one.title, href=f"#{one.name}")),
        )
        for one, claim in claims
    ]
    return tag(
        "section",
        tag("h2", "Overview"),
        tag("p", _count(report), class_="count"),
        _bar(report),
        tag(
            "table",
            tag("thead", tag("tr", *(tag("th", name, scope="col") for name in header))),
            tag("tbody", *rows),
            class_="overview",
        ),
        tag("p", texts.VERDICT, class_="note"),
        id="overview",
    )


def _count(report: Report) -> str:
    counts = report.verdicts
    words = {
        REPRODUCED: "reproduced",
        DIFFERS: "differs" if counts[DIFFERS] == 1 else "differ",
        CANNOT_TELL: "cannot be told",
    }
    total = sum(counts.values())
    told = ", ".join(f"{counts[name]} {words[name]}" for name in VERDICTS if counts[name])
    return f"{total} {'claim' if total == 1 else 'claims'} checked: {told}."


def _bar(report: Report) -> Html:
    """The counts as a bar; the line above says the same in words."""
    counts = report.verdicts
    total = sum(counts.values())
    parts = (
        tag(
            "span",
            class_=f"share {name.replace(' ', '-')}",
            style=f"flex-grow: {math.ceil(1000 * counts[name] / total)}",
        )
        for name in VERDICTS
        if counts[name]
    )
    return tag("div", *parts, class_="bar", aria_hidden="true")


def _method() -> Html:
    parts = (tag("div", tag("dt", name), tag("dd", words)) for name, words in texts.METHOD)
    return tag(
        "section",
        tag("h2", "How the intervals are made"),
        tag("dl", *parts, class_="method"),
        id="method",
    )


def _sources() -> Html:
    parts = (tag("div", tag("dt", name), tag("dd", words)) for name, words in texts.SOURCES)
    return tag("section", tag("h2", "Sources"), tag("dl", *parts, class_="method"), id="sources")
