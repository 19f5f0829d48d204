"""HTML output of a report: claims beside the figures that they are about."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby

from jitterfly.report import (
    Html,
    about_line,
    document,
    facts_list,
    figures,
    grid,
    join,
    scrolling,
    table_head,
    tag,
)

from ..claims import CANNOT_TELL, DIFFERS, REPRODUCED, VERDICTS, Finding, Judged, whose_limits
from .claims_table import HEADER, TITLE, limit_text
from .report_content import Report, Section


def page(report: Report, rendered: dict[str, tuple[Section, Html]] | None = None) -> str:
    """The whole file.

    `rendered` keeps sections by their name from page to page: one is written after each study, with
    the sections of all studies before it.
    """
    main = _main(report, {} if rendered is None else rendered)
    footer = f"{report.title}. " + " · ".join(f"{k}: {v}" for k, v in report.facts)
    return document(report.title, _header(report), main, footer)


def _main(report: Report, rendered: dict[str, tuple[Section, Html]]) -> list[Html]:
    for content in report.sections:
        if content.name not in rendered or rendered[content.name][0] is not content:
            rendered[content.name] = content, section(content)
    return [
        _pending(report),
        _overview(report),
        _comparison(report),
        *(rendered[content.name][1] for content in report.sections),
        few_runs(report.few_runs) if report.few_runs else Html(),
        tag(
            "section",
            tag("h2", "How the intervals are made"),
            facts_list(METHOD, "method"),
            id="method",
        ),
        tag("section", tag("h2", "Sources"), facts_list(SOURCES, "method"), id="sources"),
    ]


def _header(report: Report) -> Html:
    return tag(
        "header",
        tag("h1", report.title),
        tag("p", report.introduction or INTRODUCTION, class_="lead"),
        facts_list(report.facts),
    )


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
    claims = [(content, judged) for content in report.sections for judged in content.claims]
    if not claims:
        return Html()
    header = ("Claim", "Source", "What it says", "Its parts", "Figure")
    rows = [
        tag(
            "tr",
            tag("th", tag("a", judged.name, href=f"#{content.name}-{judged.name}"), scope="row"),
            tag("td", judged.claim.source),
            tag("td", judged.claim.text, class_="says"),
            tag("td", counts(judged), class_="counts"),
            tag("td", tag("a", content.title, href=f"#{content.name}")),
        )
        for content, judged in claims
    ]
    return tag(
        "section",
        tag("h2", "Overview"),
        tag("p", _count(report), class_="count"),
        _bar(report),
        tag(
            "table",
            table_head(header),
            tag("tbody", *rows),
            class_="overview",
        ),
        tag("p", VERDICT, class_="note"),
        id="overview",
    )


def _comparison(report: Report) -> Html:
    """A line for each part of each claim, with the reason where it is not reproduced."""
    parts = list(report.parts())
    if not parts:
        return Html()
    studies = [
        tag(
            "tbody",
            _run_of(content),
            *(_part_row(*one) for one in parts if one[0] is content),
        )
        for content in report.sections
        if content.claims
    ]
    lines = tag("table", table_head(("Claim", *HEADER)), *studies, class_="parts-table")
    return tag(
        "section",
        tag("h2", TITLE),
        tag(
            "details",
            tag("summary", f"All {len(parts)} parts of the claims"),
            scrolling(lines, TITLE),
        ),
        id="comparison",
    )


def _run_of(content: Section) -> Html:
    """The row above the parts of a study: its title, and the command that runs it again."""
    command = [tag("code", content.command)] if content.command else []
    what = join([tag("a", content.title, href=f"#{content.name}"), *command], " ")
    return tag("tr", tag("th", what, colspan=str(1 + len(HEADER)), scope="rowgroup"))


def _part_row(content: Section, judged: Judged, part: Finding) -> Html:
    return tag(
        "tr",
        tag("th", tag("a", judged.name, href=f"#{content.name}-{judged.name}"), scope="row"),
        tag("td", part.where),
        tag("td", part.part),
        tag("td", part.found),
        tag("td", limit_text(part.limit, part.whose)),
        tag("td", verdict(part.verdict)),
        tag("td", part.reason),
    )


def _count(report: Report) -> str:
    counts = report.verdicts
    ours = sum(claim.by_ours for content in report.sections for claim in content.claims)
    names = {
        REPRODUCED: f"reproduced{whose_limits(counts[REPRODUCED], ours)}",
        DIFFERS: "differs" if counts[DIFFERS] == 1 else "differ",
        CANNOT_TELL: "cannot be told",
    }
    total = sum(counts.values())
    claims = {claim.name for content in report.sections for claim in content.claims}
    counted = ", ".join(f"{counts[name]} {names[name]}" for name in VERDICTS if counts[name])
    what = f"{total} {'part' if total == 1 else 'parts'} of "
    what += f"{len(claims)} {'claim' if len(claims) == 1 else 'claims'}"
    return f"{what} checked: {counted}."


def _bar(report: Report) -> Html:
    """The counts as a bar; the line above says the same in words."""
    counts = report.verdicts
    total = sum(counts.values())
    parts = (
        tag(
            "span",
            class_=f"share {_kind(name)}",
            style=f"flex-grow: {math.ceil(1000 * counts[name] / total)}",
        )
        for name in VERDICTS
        if counts[name]
    )
    return tag("div", *parts, class_="bar", aria_hidden="true")


# Shapes as well as colours, for those who see no difference between red and green.
_MARKS = {REPRODUCED: "✓", DIFFERS: "✗", CANNOT_TELL: "?"}


def verdict(name: str, count: str = "") -> Html:
    """A verdict as a label with a mark, and how often it was given."""
    return tag(
        "span",
        tag("span", _MARKS[name], class_="mark", aria_hidden="true"),
        Html("&nbsp;"),
        count,
        Html(name.replace(" ", "&nbsp;")),
        class_=f"verdict {_kind(name)}",
    )


def counts(claim: Judged) -> Html:
    """The labels of a claim's verdicts, each with its number of parts."""
    return join((verdict(name, f"{count} ") for name, count in claim.counts.items() if count), " ")


def section(content: Section) -> Html:
    """A study: what was run, its pictures with the claims beside them, its numbers."""
    wide = [picture for picture in content.pictures if picture.wide]
    narrow = [picture for picture in content.pictures if not picture.wide]
    claims = [_claim(content, claim) for claim in content.claims]
    beside = [figures(narrow), tag("div", *claims, class_="claims") if claims else Html()]
    kind = "beside" if narrow and claims else "below"
    return tag(
        "section",
        tag("h2", content.title),
        about_line(content.source, content.facts, content.command),
        figures(wide),
        tag("div", *beside, class_=kind),
        *(tag("p", note, class_="note") for note in content.notes),
        *(tag("details", tag("summary", one.title), grid(one)) for one in content.tables),
        id=content.name,
    )


def few_runs(content: Section) -> Html:
    """The section on means of 30 runs: its table stands open."""
    return tag(
        "section",
        tag("h2", content.title),
        tag("p", FEW_RUNS),
        figures(content.pictures),
        *(tag("p", note, class_="note") for note in content.notes),
        *(grid(table) for table in content.tables),
        id=content.name,
    )


def _kind(name: str) -> str:
    return name.replace(" ", "-")


def _claim(content: Section, judged: Judged) -> Html:
    by_place = groupby(judged.findings, key=lambda part: part.where)
    return tag(
        "article",
        tag("h3", f"{judged.name} ", counts(judged)),
        tag("blockquote", judged.claim.text, tag("footer", judged.claim.source)),
        tag("div", *(_claim_parts(where, parts) for where, parts in by_place), class_="places"),
        class_="claim",
        id=f"{content.name}-{judged.name}",
    )


def _claim_parts(where: str, parts: Iterable[Finding]) -> Html:
    title = tag("h4", where) if where else Html()
    rows = (
        tag(
            "li",
            tag("span", _MARKS[part.verdict], class_="mark", aria_hidden="true"),
            tag("span", f"{part.verdict}: ", class_="aloud"),
            tag("span", tag("strong", f"{part.part}: "), f"{part.found}. ", _limit(part)),
            class_=_kind(part.verdict),
        )
        for part in parts
    )
    return tag("div", title, tag("ul", *rows, class_="parts"))


def _limit(part: Finding) -> Html:
    """The note on what decides, whose limit it is, and why a part is not reproduced."""
    note = f"Limit, {part.whose}: {part.limit}. " if part.whose else ""
    note += f"Why: {part.reason}." if part.reason else ""
    return tag("span", note, class_="note") if note else Html()


INTRODUCTION = (
    "Figures of four papers on noise in collective communication, run again. MS12 and CS14 average "
    "30 runs; here each number comes from a distribution of independent realizations and has an "
    "interval, and each claim is judged by intervals alone."
)

VERDICT = (
    "A part of a claim is reproduced when the whole interval lies on the claim's side of a limit, "
    "differs when the whole interval lies on the other side, and otherwise the data cannot tell. "
    "The limit is the paper's where it gives one: its words, its numbers, the axis or the clip "
    "level of its figure. Where a paper says a word without a number, such as “far better”, the "
    "limit is ours, and a part beyond it is not called different from the paper: it cannot be "
    "told."
)

FEW_RUNS = (
    "Noise that is rare hits some runs and misses most. The mean of 30 such runs depends on how "
    "many were hit, and two honest experiments differ by more than the effects they measure. "
    "Here are the cells of one figure where such means scatter most: means of 30 runs, no run in "
    "two of them, beside the mean of all realizations with its interval."
)

METHOD = (
    (
        "What is counted",
        "A realization is one independent draw of all noise of the whole machine. Time is an "
        "integer number of picoseconds, so sums, products and maxima are exact. All algorithms of "
        "a cell see the same noise: their differences and ratios are paired.",
    ),
    (
        "Means and ratios",
        "The interval of a mean is Student's. A ratio of means, such as gain or recovery, has "
        "Fieller's interval over the paired realizations; it is unbounded where the denominator "
        "cannot be told from zero.",
    ),
    (
        "Quantiles",
        "Order statistics with their exact binomial probability: nothing is assumed about the "
        "distribution. A sample too small for such an interval is said to be too small.",
    ),
    (
        "The best number of redundant exchanges T",
        "The smallest T whose mean the data cannot tell from the smallest mean, by paired "
        "differences corrected for the number of comparisons. The best T is chosen by the data "
        "that its gain is then taken from, which favours the redundant scheme a little.",
    ),
    (
        "When a cell stops",
        "A cell with a target, such as “mean of gain ± 2 % at 95 %”, is looked at on "
        "occasions fixed in advance, and the permitted error rate is shared out among these looks. "
        "So the interval holds although the data decided when to stop. A cell that reaches "
        "its budget first has not met its target, and says so.",
    ),
    (
        "What 95 % means here",
        "Each interval misses the truth in at most one of twenty experiments. There are many "
        "intervals on this page and none is corrected for that: expect some to miss.",
    ),
    (
        "The same numbers again",
        "Random numbers are counters: seed, rank, realization and message decide each draw. The "
        "same version and seed give the same bits on any number of threads, on CPU and GPU.",
    ),
)

SOURCES = (
    (
        "MS12",
        "Matsumoto & Suda, A collective communication algorithm that mitigates jitter, IPSJ SIG "
        "Technical Report HPC 137-19, 2012. Redundant exchanges after the butterfly.",
    ),
    (
        "CS14",
        "Chen & Suda, Evaluation of Impact of Noise on Collective Algorithms in Repeated "
        "Computation Cycle, 2014. Redundant exchanges inside the butterfly.",
    ),
    (
        "HM18",
        "Horikoshi et al., Scaling Collectives on Large Clusters of Intel Architecture Processors, "
        "IXPUG, 2018. Delays of single steps, barrier and allreduce on Oakforest-PACS.",
    ),
    (
        "HSL09",
        "Hoefler, Schneider & Lumsdaine, The Impact of Network Noise on Large-Scale Communication "
        "Performance, LSPP, 2009. Other jobs' traffic in fat trees; its simulator is ORCS.",
    ),
    (
        "AGV05",
        "Agarwal, Garg & Vishnoi, The Impact of Noise on the Scaling of Collectives: A Theoretical "
        "Approach, HiPC, 2005. The largest of many phases.",
    ),
)
