"""Table of all claims: published value, value found, verdict; as JSON and Markdown.

The report shows them as a table. `PARTS` beside it keeps them with what they were run with, so that
another page can be made of the same numbers: `markdown` is that of the documentation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..claims import VERDICTS, Judged, count_by_ours, show_counts
from .report_content import Report

PARTS = "parts.json"
"""The file beside the report."""
TITLE = "What the papers say, what comes out, and why they differ"
HEADER = ("Setting", "What the paper says", "What comes out", "Limit", "Verdict", "Why")
_FORMAT = 1


def parts_as_json(report: Report) -> dict[str, Any]:
    """All parts by study and claim, each study with its command, its sizes and what it ran on."""
    run = dict(report.facts)
    return {
        "format": _FORMAT,
        "sections": {
            section.name: {
                "title": section.title,
                "command": section.command,
                "run": run | dict(section.facts),
                "claims": [claim_content(claim) for claim in section.claims],
            }
            for section in report.sections
            if section.claims
        },
    }


def claim_content(judged: Judged) -> dict[str, Any]:
    """A claim and its parts, each with its verdict, and why it is not reproduced."""
    parts = [
        {"where": part.where, "part": part.part, "verdict": part.verdict, "found": part.found,
         "limit": part.limit, "whose": part.whose, "why": part.reason}
        for part in judged.findings
    ]  # fmt: skip
    claim = judged.claim
    return {"name": judged.name, "source": claim.source, "text": claim.text, "parts": parts}


def to_json(report: Report) -> str:
    """`parts_as_json` as text."""
    return json.dumps(parts_as_json(report), indent=1, ensure_ascii=False) + "\n"


def update(kept: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of `kept`, with each study of `new` in place of the same one.

    Raises
    ------
    ValueError
        One of them is of another format.
    """
    for some in (kept, new):
        if some.get("format") != _FORMAT:
            raise ValueError(f"parts must have format {_FORMAT}, got {some.get('format')!r}")
    return {"format": _FORMAT, "sections": {**kept["sections"], **new["sections"]}}


def verdicts(some: Mapping[str, Any]) -> dict[str, int]:
    """Count the parts with each verdict."""
    found = [part["verdict"] for part in _parts(some)]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def _parts(some: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for section in some["sections"].values():
        for claim in section["claims"]:
            yield from claim["parts"]


def limit_text(limit: str, whose: str) -> str:
    """The limit of a part and whose it is; "" where nothing can be compared."""
    return f"{limit} ({whose})" if whose else ""


def markdown(some: Mapping[str, Any]) -> str:
    """Write contents as Markdown: what was run for each study, and a table for each claim."""
    ours = count_by_ours((part["verdict"], part["whose"]) for part in _parts(some))
    lines = [f"{show_counts(verdicts(some), ours)}.", ""]
    for name, section in some["sections"].items():
        run = section["run"]
        provenance = [f"`{section['command']}`"] if section["command"] else []
        facts = ("version", "date", "backend", "realizations per cell")
        provenance += [f"{fact}: {run[fact]}" for fact in facts if fact in run]
        lines += [f"`{name}`: {_plain(section['title'])}. {'; '.join(provenance)}.", ""]
        for claim in section["claims"]:
            lines += [f"**{claim['name']}**, {claim['source']}: {_plain(claim['text'])}.", ""]
            lines += [_row(HEADER), _row(["---"] * len(HEADER))]
            for part in claim["parts"]:
                limit = limit_text(part["limit"], part["whose"])
                row = [part["where"], part["part"], part["found"], limit,
                       f"*{part['verdict']}*", part["why"]]  # fmt: skip
                lines.append(_row([*map(_plain, row[:4]), row[4], _plain(row[5])]))
            lines.append("")
    return "\n".join(lines)


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Escape a text so that no letter means anything to Markdown."""
    for letter in "\\|*_`<>[]$":
        text = text.replace(letter, f"\\{letter}")
    return text
