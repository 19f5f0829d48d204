"""Classes of a report's content: sections with judged claims; no HTML.

No HTML and no stores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from jitterfly.report import Facts, Picture, Table

from ..claims import Finding, Judged


@dataclass(frozen=True)
class Section:
    """A study: `name` is its anchor, `facts` what was run, `command` how to run it alone."""

    name: str
    title: str
    source: str = ""
    claims: tuple[Judged, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    facts: Facts = ()
    notes: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Report:
    """A whole report; `pending` are titles of studies that have not been run to their end.

    `introduction` is said at the head; without it, what a reproduction is.
    """

    title: str
    facts: Facts
    sections: tuple[Section, ...]
    few_runs: Section | None = None
    pending: tuple[str, ...] = ()
    introduction: str = ""

    def parts(self) -> Iterator[tuple[Section, Judged, Finding]]:
        """Every part of every claim, with its claim and its study."""
        for section in self.sections:
            for claim in section.claims:
                for part in claim.findings:
                    yield section, claim, part

    @property
    def verdicts(self) -> Counter[str]:
        """The number of parts of claims with each verdict."""
        return Counter(part.verdict for _, _, part in self.parts())
