"""Parsers of rt-tests: histograms of cyclictest, reports of hwlatdetect.

**cyclictest** (`-h` and `-H`) measures the wake-up latency of timers. A row is the whole
microseconds of a latency, then a count for each thread, with ``-H`` one for all of them last; rows
without counts may be left out. Totals and overflows follow in comments.

**hwlatdetect** looks for latency of hardware and firmware (SMI) with interrupts off. In each window
(1 s) it looks for a part of it (width, 0.5 s) and reports the longest gap inside its loop and
between its iterations, in whole microseconds, where they exceed the threshold. So the time observed
is the duration of the test times width / window. On newer kernels a line says how many gaps its
window had, and the report counts those.
"""

from __future__ import annotations

import re

import numpy as np

from ...fields import StoredText, parameter
from ...units import TICKS_PER_SECOND
from ..measurements import Histogram, Measured
from .columns import LATENCY_NOTE, MAX_COLUMNS, MAX_COUNT, UNITS, Bins
from .text import Format, Options, TextFile

_FIRST = re.compile(
    r"^[ \t]{0,40}# Histogram[ \t]{0,40}\n\s{0,40}"
    r"(?:[0-9]{6,9}[ \t]{1,9}[0-9]{6}|# (?:Total|Min Lat))",
    re.MULTILINE,
)
_FOOTER = re.compile(r"# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):")


def _read_cyclictest(text: TextFile, options: Options) -> Measured:
    """A histogram of latencies for each thread."""
    unit = options.unit or "us"
    if unit not in ("us", "µs", "ns"):
        raise text.error(
            None, f"{parameter('unit')} must be us or ns (cyclictest -N), got {unit!r}"
        )
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
                if len(words) > MAX_COLUMNS:
                    raise text.error(line, f"has {len(words)} columns; at most {MAX_COLUMNS} go")
                bins = Bins(text, len(words) - 1, UNITS[unit])
            bins.add(line, words)
        elif not words[0].startswith("#") and not footer:
            raise text.error(line, f"is no row of a histogram: {content[:40]!r}")
    if bins is None or bins.columns == 0:
        raise text.error(None, "has no rows with counts")
    if not footer.get("Min Latencies"):
        raise text.error(len(text.lines), "ends before `# Min Latencies:`; it is cut off")
    return _measured(text, bins, footer, unit)


def _measured(text: TextFile, bins: Bins, footer: dict[str, list[str]], unit: str) -> Measured:
    """Return a histogram for each thread, once its counts agree with the footer of the file."""
    threads = len(footer["Min Latencies"])
    if threads not in (bins.columns, bins.columns - 1):
        raise text.error(
            None, f"rows have {bins.columns} counts, but there are {threads} minimal latencies"
        )
    for line, row in zip(bins.lines, bins.rows, strict=True):
        if threads < bins.columns and sum(row[:-1]) != row[-1]:
            raise text.error(line, "the last count must be the sum of the others (-H)")
    overflow = _read_counts(text, footer.get("Histogram Overflows", []), threads)
    parts = tuple(
        bins.histogram(
            thread, bins.unit, overflow=overflow[thread], what="latency", cpu=str(thread)
        )
        for thread in range(threads)
    )
    notes = [
        LATENCY_NOTE,
        "columns are threads: thread n runs on CPU n only with -S, or -a and one thread per CPU",
    ]
    if unit in ("us", "µs"):
        notes.append(StoredText(
            "latencies are whole microseconds, rounded down; if the tool ran with -N "
            "(nanoseconds), give ", "unit", " ns"
        ))  # fmt: skip
    above = sum(overflow)
    if above:
        most = " ".join(word[:20] for word in footer.get("Max Latencies", ["?"])[:8])
        notes.append(
            f"{above} latencies lie above the last bin; the longest of each thread: {most}"
        )
    if _totals_differ(text, parts, footer, threads):
        notes.append("bins and `# Total:` hold different numbers of latencies")
    return Measured(parts, "cyclictest", {"tool": "cyclictest"}, tuple(notes))


def _totals_differ(
    text: TextFile, parts: tuple[Histogram, ...], footer: dict[str, list[str]], threads: int
) -> bool:
    """Return whether the totals that the file prints are not those of its bins."""
    if "Total" not in footer:  # rt-tests 2 prints none
        return False
    totals = _read_counts(text, footer["Total"], threads)
    return any(part.total - part.overflow != n for part, n in zip(parts, totals, strict=True))


def _read_counts(text: TextFile, words: list[str], threads: int) -> list[int]:
    """Return the count of each thread in a line of the footer, 0 where there is no such line."""
    if not words:
        return [0] * threads
    if len(words) < threads:
        raise text.error(None, f"totals and overflows must be {threads}, got {len(words)}")
    return [text.integer(None, word, "a total", high=MAX_COUNT) for word in words[:threads]]


_US = UNITS["us"]
_DURATION = re.compile(r"hwlatdetect:\s{1,9}test duration (\d{1,9}) seconds")
_KEYS = re.compile(r"\s{0,40}(Latency threshold|Sample window|Sample width):\s{0,40}(\d{1,12})us")
_EVENT = re.compile(
    r"(?:ts: )?(\d{1,12}\.\d{1,12})(?:, inner:|\s{1,9})(\d{1,9})(?:, outer:|\s{1,9})(\d{1,9})"
    r"(?:, cpu:\d{1,6})?(?:, count:(\d{1,9}))?\s{0,9}"
)
_COUNT = re.compile(r"Samples exceeding threshold: (\d{1,12})\s{0,9}")


def _read_hwlatdetect(text: TextFile, options: Options) -> Measured:
    said: dict[str, int] = {}
    gaps: list[int] = []
    exceeding = 0  # in all windows
    for number, line in enumerate(text.lines, 1):
        if (found := _DURATION.match(line)) is not None:
            if "duration" in said:
                raise text.error(number, "a second test begins here; import one at a time")
            said["duration"] = int(found[1]) * TICKS_PER_SECOND
        elif (found := _KEYS.fullmatch(line.rstrip())) is not None:
            said[found[1]] = int(found[2]) * _US
        elif (found := _COUNT.fullmatch(line)) is not None:
            said["count"] = int(found[1])
        elif (found := _EVENT.fullmatch(line)) is not None:
            gaps.append(max(int(found[2]), int(found[3])))
            exceeding += int(found[4] or 1)
        elif line.startswith("ts:"):
            raise text.error(number, "must look like 'ts: 1.5, inner:17, outer:15'")
    for key in ("duration", "Sample window", "Sample width"):
        if not said.get(key):
            raise text.error(None, f"does not say its {key.lower()}")
    if said["Sample width"] > said["Sample window"]:
        raise text.error(None, "its sample width must not be longer than its sample window")
    if said.get("count", len(gaps)) not in (len(gaps), exceeding):
        raise text.error(
            None, f"says that it has {said['count']} samples, but {len(gaps)} are there"
        )
    low, counts = np.unique(np.array(gaps, dtype=np.int64) * _US, return_counts=True)
    observed = said["duration"] * said["Sample width"] // said["Sample window"]
    with text.errors_at(None):
        part = Histogram(low, low + _US, counts, "detour", observed)
    share = said["Sample width"] / said["Sample window"]
    notes = (
        f"the tool looked for {share:.3g} of the time only; rates are for that time",
        "it reports the longest gap of a window: others of the same window are missing"
        + (f" ({exceeding - len(gaps)} of {exceeding})" if exceeding > len(gaps) else ""),
        "gaps are whole microseconds, rounded down",
        f"gaps up to {said.get('Latency threshold', 0) // _US} µs were not recorded",
    )
    return Measured((part,), "hwlatdetect", {"tool": "hwlatdetect"}, notes)


FORMATS = (
    Format(
        "cyclictest",
        "histogram of cyclictest -h",
        ("unit",),
        sign=_FIRST.search,
        read=_read_cyclictest,
    ),
    Format(
        "hwlatdetect",
        "hwlatdetect report (gaps made by hardware or firmware)",
        sign=lambda head: _DURATION.search(head[:4096]),
        read=_read_hwlatdetect,
    ),
)
