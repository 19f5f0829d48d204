"""What a report holds: plain text, tables of text, and pictures. No HTML and no stores."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass

from ..claims.claim import VERDICTS
from ..fields import check_choice

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
        """Whether it is so wide that nothing fits beside it."""
        return self.width > _WIDE

    @property
    def uri(self) -> str:
        """The picture itself as an address, so that it needs no file."""
        return f"data:{self.media};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True)
class Part:
    """One part of a claim, for the setting `where` ("" where there is only one)."""

    where: str
    verdict: str
    text: str

    def __post_init__(self) -> None:
        check_choice(self.verdict, "verdict", VERDICTS)


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, what was found beside it, and the verdict on the whole."""

    name: str
    source: str
    text: str
    verdict: str
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self.verdict, "verdict", VERDICTS)


@dataclass(frozen=True)
class Table:
    """Numbers as they are shown; a header or a cell is text, every row as long as the header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One study: `name` is its anchor, `facts` what was run."""

    name: str
    title: str
    source: str = ""
    claims: tuple[Claim, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    facts: Facts = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """All of it; `pending` are titles of studies that have not been run to their end.

    `introduction` is said at the head; without it, what a reproduction is.
    """

    title: str
    facts: Facts
    sections: tuple[Section, ...]
    few_runs: Section | None = None
    pending: tuple[str, ...] = ()
    introduction: str = ""

    @property
    def verdicts(self) -> Counter[str]:
        """How many claims have which verdict; a claim that two studies speak to counts twice."""
        return Counter(claim.verdict for section in self.sections for claim in section.claims)
