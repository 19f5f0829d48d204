"""Parser of cyclictest histograms (rt-tests, `-h` and `-H`): wake-up latency of timers.

A row is the whole microseconds of a latency, then a count for each thread, with ``-H`` one for all
of them last; rows without counts may be left out. Totals and overflows follow in comments.
"""

from __future__ import annotations

import re

from ..measurements import Histogram, Measured
from .rows import LATENCY_NOTE, MOST_COLUMNS, MOST_COUNT, Bins
from .text import Options, TextFile

NAME = "cyclictest"
TITLE = "histogram of cyclictest -h"
OPTIONS = ("unit",)

_FIRST = re.compile(
    r"^[ \t]{0,40}# Histogram[ \t]{0,40}\n\s{0,40}"
    r"(?:[0-9]{6,9}[ \t]{1,9}[0-9]{6}|# (?:Total|Min Lat))",
    re.MULTILINE,
)
_FOOTER = re.compile(r"# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):")
_UNITS = {"us": 10**6, "µs": 10**6, "ns": 10**3}


def recognise(head: str) -> bool:
    """Recognise the format by the line above its rows."""
    return _FIRST.search(head) is not None


def read(text: TextFile, options: Options) -> Measured:
    """A histogram of latencies for each thread."""
    unit = options.unit or "us"
    if unit not in _UNITS:
        raise text.error(None, f"`unit` must be us or ns (cyclictest -N), got {unit!r}")
    bins: Bins | None = None
    begun = False
    footer: dict[str, list[str]] = {}
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if words[:2] == ["#", "Histogram"] and len(words) == 2:
            if begun:
                raise text.error(line, "a second histogram begins; import them one by one")
            begun = True
        elif not begun or not words:
            continue
        elif match := _FOOTER.match(" ".join(words[:3])):
            footer[match[1]] = content[content.index(":") + 1 :].split()
            if bins and len(footer[match[1]]) > bins.columns:
                raise text.error(line, f"has more columns than the rows, {bins.columns}")
        elif words[0].isdecimal() and "Min Latencies" not in footer:
            if bins is None:
                if len(words) > MOST_COLUMNS:
                    raise text.error(line, f"has {len(words)} columns; at most {MOST_COLUMNS} go")
                bins = Bins(text, len(words) - 1, _UNITS[unit])
            bins.add(line, words)
        elif not words[0].startswith("#") and not footer:
            raise text.error(line, f"is no row of a histogram: {content[:40]!r}")
    if bins is None or bins.columns == 0:
        raise text.error(None, "has no rows with counts")
    if not footer.get("Min Latencies"):
        raise text.error(len(text.lines), "ends before `# Min Latencies:`; it is cut off")
    return _measured(text, bins, footer, unit)


def _measured(text: TextFile, bins: Bins, footer: dict[str, list[str]], unit: str) -> Measured:
    threads = len(footer["Min Latencies"])
    if threads not in (bins.columns, bins.columns - 1):
        raise text.error(
            None, f"rows have {bins.columns} counts, but there are {threads} minimal latencies"
        )
    for line, row in zip(bins.lines, bins.rows, strict=True):
        if threads < bins.columns and sum(row[:-1]) != row[-1]:
            raise text.error(line, "the last count must be the sum of the others (-H)")
    overflow = _counts(text, footer.get("Histogram Overflows", []), threads)
    parts = tuple(
        bins.histogram(
            thread, bins.unit, overflow=overflow[thread], what="latency", cpu=str(thread)
        )
        for thread in range(threads)
    )
    notes = [
        LATENCY_NOTE,
        "columns are threads: thread n runs on CPU n only with -S, or -a and one thread a CPU",
    ]
    if unit in ("us", "µs"):
        notes.append(
            "latencies are in whole microseconds, cut off; with -N (nanoseconds) give `unit` ns"
        )
    above = sum(overflow)
    if above:
        most = " ".join(word[:20] for word in footer.get("Max Latencies", ["?"])[:8])
        notes.append(f"{above} latencies lie above the last bin; the longest of threads: {most}")
    if _differ(text, parts, footer, threads):
        notes.append("bins and `# Total:` hold different numbers of latencies")
    return Measured(parts, NAME, {"tool": "cyclictest"}, tuple(notes))


def _differ(
    text: TextFile, parts: tuple[Histogram, ...], footer: dict[str, list[str]], threads: int
) -> bool:
    if "Total" not in footer:  # rt-tests 2 prints none
        return False
    totals = _counts(text, footer["Total"], threads)
    return any(part.total - part.overflow != n for part, n in zip(parts, totals, strict=True))


def _counts(text: TextFile, words: list[str], threads: int) -> list[int]:
    if not words:
        return [0] * threads
    if len(words) < threads:
        raise text.error(None, f"totals and overflows must be {threads}, got {len(words)}")
    return [text.integer(None, word, "a total", high=MOST_COUNT) for word in words[:threads]]
