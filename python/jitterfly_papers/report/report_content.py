"""Classes of a report's content: sections, tables, pictures, judged claims; no HTML.

No HTML and no stores.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from jitterfly.fields import check_choice

from ..claims import Finding, Judged

_WIDE = 600.0  # points: two panels of our figures stay below

#: A name and its value.
Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """A picture in a format that browsers show; `alt` says in words what it shows.

    `width` is that of the picture on paper, in points; 0 where it does not matter.
    """

    data: bytes
    media: str
    alt: str
    caption: str = ""
    width: float = 0.0

    def __post_init__(self) -> None:
        check_choice(self.media, "media", ("image/svg+xml", "image/png"))

    @property
    def wide(self) -> bool:
        """Return whether the picture is so wide that nothing fits beside it."""
        return self.width > _WIDE

    @property
    def uri(self) -> str:
        """The picture itself as an address, so that it needs no file."""
        return f"data:{self.media};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True)
class Table:
    """A table of numbers as they are shown; a cell is text, every row as long as the header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


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
