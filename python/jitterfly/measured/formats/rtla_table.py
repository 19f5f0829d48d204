"""The rows of a histogram that rtla printed."""

from __future__ import annotations

import re

from .bins import MOST_COLUMNS, Bins
from .text import Text

FIRST = re.compile(r"^[ \t]{0,40}# RTLA (osnoise|timerlat) histogram[ \t]{0,40}$", re.MULTILINE)
_UNIT = re.compile(r"# Time unit is \w+ \((us|ns)\)")
_DURATION = re.compile(r"# Duration: {0,20}([0-9]{1,6}) ([0-9]{2}):([0-9]{2}):([0-9]{2})")
_COLUMN = re.compile(r"(CPU|IRQ|Thr|Usr)-([0-9]{1,6})")
_CONTEXT = {"CPU": "", "IRQ": " irq", "Thr": " thread", "Usr": " user"}
_UNITS = {"us": 10**6, "ns": 10**3}
_SUMS = ("over:", "count:", "min:", "avg:", "max:")


class Table:
    """The file so far: take all of its lines, then finish."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.tool = ""
        self.unit = "us"
        self.seconds = 0
        self.cpus: list[str] = []
        self.longest: list[str] = []
        self.missed = ""
        self.bins: Bins | None = None
        self.sums: dict[str, list[int]] = {}
        self.done = False

    def take(self, line: int, words: list[str]) -> None:
        joined = " ".join(words[:8])
        if match := FIRST.fullmatch(joined):
            if self.tool:
                raise self.text.error(line, "a second histogram begins; import them one by one")
            self.tool = match[1]
        elif not self.tool:
            return  # a shell's prompt, or what a job printed before
        elif "events missed" in joined:
            self.missed = joined
        elif self.done or not words:
            return
        elif self.bins is None:
            self._head(line, words, joined)
        elif words[0] == "max:":
            self.longest = words[1:]
            self.done = True
        elif words[0] in ("ALL:", "min:", "avg:"):  # sums over CPUs; lower edges of bins
            self.done = words[0] == "ALL:"
        elif words[0] in _SUMS:
            self.sums[words[0]] = self.bins.counts(line, words[1:])
        elif "over:" in self.sums:
            self.done = True  # --no-summary
        else:
            self.bins.add(line, words)

    def _head(self, line: int, words: list[str], joined: str) -> None:
        if match := _UNIT.match(joined):
            self.unit = match[1]
        elif match := _DURATION.match(joined):
            days, hours, minutes, seconds = (int(group) for group in match.groups())
            self.seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        elif words[0] == "Index":
            self._columns(line, words[1:])
        else:
            what = "expected the line of columns, Index and CPUs (without --no-header, --no-index)"
            raise self.text.error(line, f"{what}, got {joined[:40]!r}")

    def _columns(self, line: int, words: list[str]) -> None:
        if not words:
            raise self.text.error(line, "no CPU counted any noise: there is nothing to import")
        if len(words) > MOST_COLUMNS:
            raise self.text.error(line, f"has {len(words)} columns; at most {MOST_COLUMNS} go")
        for word in words:
            match = _COLUMN.fullmatch(word)
            if match is None or (match[1] == "CPU") != (self.tool == "osnoise"):
                raise self.text.error(line, f"{word[:40]!r} is no column of rtla {self.tool} hist")
            self.cpus.append(f"{int(match[2])}{_CONTEXT[match[1]]}")
        if len(set(self.cpus)) != len(self.cpus):
            raise self.text.error(line, "a CPU has two columns")
        self.bins = Bins(self.text, len(words), _UNITS[self.unit])

    def finish(self) -> tuple[Bins, dict[str, list[int]]]:
        if self.bins is None:
            raise self.text.error(len(self.text.lines), "ends before its columns; it is cut off")
        if "over:" not in self.sums:
            raise self.text.error(len(self.text.lines), "ends before `over:`; it is cut off")
        if not self.bins.rows:
            raise self.text.error(None, "has no rows")
        return self.bins, self.sums
