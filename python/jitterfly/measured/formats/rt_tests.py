"""Parsers of rt-tests: cyclictest, oslat and hwlatdetect; and of jitterdebugger.

**cyclictest** measures the wake-up latency of timers. Its histogram (`-h` and `-H`) has in a row
the whole microseconds of a latency, then a count for each thread, with ``-H`` one for all of them
last; rows without counts may be left out. Totals and overflows follow in comments. Its report in
JSON has the same for each thread. Without a histogram, it prints a line for each thread again and
again (``-q``: once, at the end): how many latencies, the least, the mean, the longest.

**jitterdebugger** measures the same, and prints a histogram for each thread in JSON.

**oslat** is a busy loop that sorts the time of each iteration into bins; a bin is named by its
upper edge. The fullest bin is the loop itself, and longer iterations have a detour in them. The
last bin has all that is longer, too. Its JSON has no bins without counts.

**hwlatdetect** looks for latency of hardware and firmware (SMI) with interrupts off. In each window
(1 s) it looks for a part of it (width, 0.5 s) and reports the longest gap inside its loop and
between its iterations, in whole microseconds, where they exceed the threshold. So the time observed
is the duration of the test times width / window. On newer kernels a line says how many gaps its
window had, and the report counts those.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from ...fields import StoredText, first_few, parameter, shorten
from ...units import TICKS_PER_SECOND, show_seconds
from ..measurements import MAX_TICKS, Histogram, LatencySummary, Measured
from .columns import LATENCY_NOTE, MAX_COLUMNS, MAX_COUNT, UNITS, Bins
from .text import Format, Options, TextFile

_FIRST = re.compile(
    r"^[ \t]{0,40}# Histogram[ \t]{0,40}\n\s{0,40}"
    r"(?:[0-9]{6,9}[ \t]{1,9}[0-9]{6}|# (?:Total|Min Lat))",
    re.MULTILINE,
)
_FOOTER = re.compile(r"# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):")


_THREAD = re.compile(
    r"(?:\x1b\[[0-9;]{0,8}[A-Za-z]){0,9}T:[ \t]{0,3}(\d{1,6}) \([ \t]{0,9}\d{1,9}\) "
    r"P:[ \t]{0,3}\d{1,3} I:\d{1,12} C:[ \t]{0,9}(\d{1,18}) Min:[ \t]{0,12}(\d{1,15}) "
    r"Act:[ \t]{0,12}\d{1,15} Avg:[ \t]{0,12}(\d{1,15}) Max:[ \t]{0,12}(\d{1,15})"
    r"(?: SMI:[ \t]{0,12}\d{1,12})?[ \t]{0,9}"
)
_THREADS = re.compile("^" + _THREAD.pattern + "$", re.M)
_JSON_OF = r'"cmdline:?"[ \t]{0,9}:[ \t]{0,9}"[^"\n]{0,400}\b%s\b'
_CYCLICTEST_JSON = re.compile(_JSON_OF % "cyclictest")
_WHOLE_UNITS = StoredText(
    "latencies are whole microseconds, rounded down; if the tool ran with -N (nanoseconds), give ",
    "unit",
    " ns",
)


def _is_cyclictest(head: str) -> object:
    return _FIRST.search(head) or _CYCLICTEST_JSON.search(head) or _THREADS.search(head)


def _read_cyclictest(text: TextFile, options: Options) -> Measured:
    """Latencies for each thread: histograms, or where there are none, summaries."""
    if not _FIRST.search(text.head) and _CYCLICTEST_JSON.search(text.head):
        return _read_cyclictest_json(text, options)
    unit = options.unit or "us"
    if unit not in ("us", "µs", "ns"):
        raise text.error(
            None, f"{parameter('unit')} must be us or ns (cyclictest -N), got {unit!r}"
        )
    if not _FIRST.search(text.head) and _THREADS.search(text.head):
        return _read_threads(text, options, UNITS[unit])
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
    if bins is None and footer.get("Min Latencies"):
        return _read_footer(text, footer, options, UNITS[unit])
    if bins is None or bins.columns == 0:
        raise text.error(None, "has no rows with counts")
    if not footer.get("Min Latencies"):
        raise text.error(len(text.lines), "ends before `# Min Latencies:`; it is cut off")
    return _measured(text, bins, footer, unit)


def _read_footer(
    text: TextFile, footer: dict[str, list[str]], options: Options, unit: int
) -> Measured:
    """Summaries of a histogram of which the comments alone are there; its counts are in no bin."""
    threads = len(footer["Min Latencies"])
    bounds = [_read_counts(text, footer.get(f"{name} Latencies", []), threads)
              for name in ("Min", "Avg", "Max")]  # fmt: skip
    counts = [_read_counts(text, footer.get(name, []), threads)
              for name in ("Total", "Histogram Overflows")]  # fmt: skip
    parts = [
        _summary(text, None, total + beyond, [float(time) for time in times], unit, f"{thread}")
        for thread, (total, beyond, *times) in enumerate(zip(*counts, *bounds, strict=True))
        if total + beyond
    ]
    if not parts:
        raise text.error(
            None, "has no rows with counts, and no `# Total:` above 0: it measured no latency"
        )
    notes = [LATENCY_NOTE, _SUMMARY_NOTE, _THREAD_NOTE, "the histogram's own rows are missing"]
    if options.unit is None:
        notes.append(_WHOLE_UNITS)
    return Measured(tuple(parts), "cyclictest", {"tool": "cyclictest"}, tuple(notes))


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
        notes.append(_WHOLE_UNITS)
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


_SUMMARY_NOTE = (
    "a mean and extremes are no distribution: cyclictest -h 1000 prints a histogram of them"
)


def _read_threads(text: TextFile, options: Options, unit: int) -> Measured:
    """Read cyclictest's text: the last line of each thread counts."""
    latest: dict[int, tuple[int, list[int]]] = {}
    for line, content in enumerate(text.lines, 1):
        found = _THREAD.fullmatch(content)
        if found is None and re.match(r"T:[ \t]*\d", content) and line < len(text.lines):
            raise text.error(line, f"is no line of a thread: {shorten(content.strip())}")
        if found is None:
            continue
        values = [int(word) for word in found.groups()[1:]]
        before = latest.get(int(found[1]))
        if before and values[0] < before[1][0]:
            raise text.error(line, "a second run begins; import them one by one")
        latest[int(found[1])] = line, values
    parts, idle = [], []
    for thread, (line, (count, least, mean, most)) in sorted(latest.items()):
        if not count:
            idle.append(f"{thread}")
            continue
        part = _summary(text, line, count, [least, mean, most], unit, f"{thread}")
        parts.append(part)
    if not parts:
        raise text.error(None, "has no thread that measured any latency")
    notes = [LATENCY_NOTE, _SUMMARY_NOTE, _THREAD_NOTE]
    if options.unit is None:
        notes.append(_WHOLE_UNITS)
    if idle:
        notes.append(f"left out, as they measured no latency: threads {first_few(idle, 8)}")
    return Measured(tuple(parts), "cyclictest", {"tool": "cyclictest"}, tuple(notes))


def _summary(
    text: TextFile, line: int | None, count: int, times: list[float], unit: int, cpu: str
) -> LatencySummary:
    """The least, mean and longest latency, in `unit` ticks, as a part."""
    if max(times) >= MAX_TICKS // unit or count > MAX_COUNT:
        raise text.error(line, f"a latency of CPU {cpu} is out of range")
    least, mean, longest = (int(time * unit) for time in times)
    with text.errors_at(line, f"CPU {cpu}: "):
        return LatencySummary(count, least, mean, longest, unit, cpu)


@dataclass
class _Report:
    """The content of a report in JSON: the object, and how errors name what is wrong in it."""

    text: TextFile
    content: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        begin = re.search(r"^\s{0,40}\{", text := self.text.data.decode("utf-8", "replace"), re.M)
        at = begin.end() - 1 if begin else 0
        try:
            found, end = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None)
            raise self.text.error(line, "is no JSON from here on; is it cut off?") from None
        if "{" in text[end:]:
            line = text.count("\n", 0, end) + 1
            raise self.text.error(line, "a second report begins below; import them one by one")
        self.content = found if isinstance(found, dict) else {}

    def threads(self, key: str) -> dict[str, dict[str, Any]]:
        """The objects of all threads."""
        found = self.content.get(key)
        if not isinstance(found, dict) or not found:
            raise self.text.error(None, f"must have a {key!r} with an object for each thread")
        for thread, about in found.items():
            if not isinstance(about, dict):
                raise self.text.error(None, f"{key} {shorten(thread)} must be an object")
        return found

    def integer(self, about: dict[str, Any], key: str, where: str, high: int = MAX_COUNT) -> int:
        value = about.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= high:
            rule = f"must be an integer from 0, got {shorten(value)}"
            raise self.text.error(None, f"{key} of thread {shorten(where)} {rule}")
        return value

    def seconds(self, about: dict[str, Any], key: str, where: str) -> Fraction:
        value = about.get(key)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 < value < MAX_TICKS / TICKS_PER_SECOND:  # type: ignore[operator]
            rule = f"must be a number of seconds above 0, got {shorten(value)}"
            raise self.text.error(None, f"{key} of thread {shorten(where)} {rule}")
        return Fraction(str(value))

    def bins(self, about: dict[str, Any], where: str) -> list[tuple[Fraction, int]]:
        """The edges of the bins of a histogram, as the report has them, and their counts."""
        found = about.get("histogram")
        if not isinstance(found, dict):
            raise self.text.error(None, f"thread {shorten(where)} must have a histogram")
        rows = []
        for edge in found:
            if not re.fullmatch(r"\d{1,12}(?:\.\d{1,6})?", edge):
                what = f"a bin of thread {shorten(where)} must be named by a number"
                raise self.text.error(None, f"{what}, got {shorten(edge)}")
            rows.append((Fraction(edge), self.integer(found, edge, where)))
        return sorted(rows)


_THREAD_NOTE = (
    "parts are threads: thread n runs on CPU n only with -S, or -a and one thread per CPU"
)


def _latency_histogram(
    report: _Report, bins: list[tuple[Fraction, int]], unit: int, missing: int, most: int, cpu: str
) -> Histogram:
    """Bins of one unit; `missing` latencies have none, and the longest is `most` units."""
    rows = [(int(edge), count) for edge, count in bins if count]
    overflow = missing
    if missing == 1 and (not rows or most > rows[-1][0]):
        rows, overflow = [*rows, (most, 1)], 0
    if not rows:
        rows = [(0, 0)]
    if rows[-1][0] >= MAX_TICKS // unit - 1:
        raise report.text.error(None, f"a latency of CPU {cpu} is out of range")
    with report.text.errors_at(None, f"CPU {cpu}: "):
        low = [edge * unit for edge, _ in rows]
        high = [edge + unit for edge in low]
        counts = [count for _, count in rows]
        return Histogram(low, high, counts, "latency", cpu=cpu, overflow=overflow)


def _read_cyclictest_json(text: TextFile, options: Options) -> Measured:
    """A histogram of each thread, or where one has none, a summary of each."""
    report = _Report(text)
    if options.unit is not None:
        raise text.error(None, f"states its unit; leave out {parameter('unit')}")
    nanoseconds = report.integer(report.content, "resolution_in_ns", "all", 1)
    unit = UNITS["ns" if nanoseconds else "us"]
    parts: list[Any] = []
    notes = [LATENCY_NOTE]
    threads = report.threads("thread")
    histograms = all("histogram" in about for about in threads.values())
    for thread, about in threads.items():
        cpu = str(about["cpu"]) if isinstance(about.get("cpu"), int) else thread
        count, least, most = (
            report.integer(about, key, thread) for key in ("cycles", "min", "max")
        )
        if count == 0:
            notes.append(f"left out, as it measured no latency: thread {shorten(thread)}")
        elif histograms:
            bins = report.bins(about, thread)
            parts.append(_with_overflow(report, bins, unit, (count, most), cpu, notes))
        else:
            mean = about.get("avg")
            if not isinstance(mean, (int, float)) or not least <= mean <= most:
                rule = f"avg of thread {shorten(thread)} must be from min to max"
                raise text.error(None, f"{rule}, got {shorten(mean)}")
            parts.append(_summary(text, None, count, [least, mean, most], unit, cpu))
    if not parts:
        raise text.error(None, "has no thread that measured any latency")
    if not histograms:
        notes.append(_SUMMARY_NOTE)
    notes.append(f"latencies are whole {'nano' if nanoseconds else 'micro'}seconds, rounded down")
    return Measured(tuple(parts), "cyclictest", _about(report, "cyclictest"), tuple(notes))


def _with_overflow(
    report: _Report,
    bins: list[tuple[Fraction, int]],
    unit: int,
    said: tuple[int, int],
    cpu: str,
    notes: list[str],
) -> Histogram:
    """A histogram of latencies whose bins may lack some; `said`: their number, and the longest."""
    count, most = said
    missing = count - sum(n for _, n in bins)
    if missing < 0:
        notes.append(f"CPU {cpu}: its bins hold {-missing} latencies more than it says")
    if missing > 1:
        longest = show_seconds(most * unit / TICKS_PER_SECOND)
        notes.append(
            f"CPU {cpu}: {missing} latencies lie above the last bin; the longest {longest}"
        )
    return _latency_histogram(report, bins, unit, max(missing, 0), most, cpu)


def _about(report: _Report, tool: str) -> dict[str, str]:
    """Return the tool, and the machine and kernel that a report names."""
    source = {"tool": tool}
    system = report.content.get("sysinfo")
    keys = {"nodename": "machine", "release": "kernel"}
    for key, name in keys.items():
        value = system.get(key) if isinstance(system, dict) else None
        if isinstance(value, str) and value and len(value) <= 200 and value.isprintable():
            source[name] = value
    return source


_JITTERDEBUGGER = re.compile(
    r'"cpu"\s{0,9}:\s{0,40}\{\s{0,40}"\d{1,6}"\s{0,9}:\s{0,40}\{\s{0,40}"histogram"'
)


def _read_jitterdebugger(text: TextFile, options: Options) -> Measured:
    """A histogram of latencies for each thread."""
    report = _Report(text)
    system = report.content.get("sysinfo")
    resolution = system.get("resolution_in_ns", 1000) if isinstance(system, dict) else 1000
    if isinstance(resolution, bool) or resolution not in (1, 1000):
        what = f"resolution_in_ns must be 1 or 1000, got {shorten(resolution)}"
        raise text.error(None, what)
    parts, notes = [], [LATENCY_NOTE]
    for thread, about in report.threads("cpu").items():
        count, most = (report.integer(about, key, thread) for key in ("count", "max"))
        bins = report.bins(about, thread)
        if count == 0:
            notes.append(f"left out, as it measured no latency: thread {shorten(thread)}")
            continue
        said = count, most
        parts.append(_with_overflow(report, bins, resolution * UNITS["ns"], said, thread, notes))
    if not parts:
        raise text.error(None, "has no thread that measured any latency")
    notes.append("parts are threads: thread n is on the n-th CPU of its affinity")
    unit = "nano" if resolution == 1 else "micro"
    notes.append(f"latencies are whole {unit}seconds, rounded down")
    return Measured(tuple(parts), "jitterdebugger", _about(report, "jitterdebugger"), tuple(notes))


_OSLAT = re.compile(r"^oslat V ?\d", re.M)
_OSLAT_JSON = re.compile(_JSON_OF % "oslat")
_OSLAT_ROW = re.compile(
    r"\s{0,20}(Core|(?:CPU|Counter) Freq|\d{1,12}(?:\.\d{1,6})? \(us\)|Minimum|Average|Maximum|"
    r"Max-Min|Duration):\s{1,9}(\S.*)"
)
_LOOP = 0.01  # of all iterations: bins next to the fullest with more are the loop itself, too


@dataclass
class _Iterations:
    """The iterations of oslat's loop on one CPU, by the upper edges of their bins in us."""

    cpu: str
    seconds: Fraction
    longest: Fraction
    bins: list[tuple[Fraction, int]]


def _read_oslat(text: TextFile, options: Options) -> Measured:
    """A histogram of detours for each CPU: of iterations that are longer than the loop itself."""
    in_json = _OSLAT_JSON.search(text.head) is not None
    if in_json:
        report = _Report(text)
        cpus = _oslat_json(report)
        source = _about(report, "oslat")
    else:
        cpus = _oslat_text(text)
        source = {"tool": "oslat"}
    edges = sorted({edge for cpu in cpus for edge, _ in cpu.bins})
    widths = {above - below for below, above in pairwise(edges)}
    width = Fraction(math.gcd(*(int(one * 10**6) for one in widths)), 10**6) if widths else None
    whole = all(edge.denominator == 1 for edge in edges)
    if width is None or (in_json and whole):  # bins without counts are not in the JSON
        width = Fraction(1)
    parts, loops, notes = [], [], list[str]()
    for cpu in cpus:
        part, loop = _detours_of_loop(text, cpu, width, notes)
        parts.append(part)
        loops.append(f"{float(loop):g} µs")
    known = list(dict.fromkeys(loops))
    notes = [
        f"iterations of less than {first_few(known, 4)} are the loop itself, whose bin is the "
        "fullest; a detour that ends within that time is not seen",
        "the iteration of the loop that was hit is part of each duration",
        *notes,
    ]
    return Measured(tuple(parts), "oslat", source, tuple(notes))


def _oslat_json(report: _Report) -> list[_Iterations]:
    """Return the iterations of each thread from oslat's JSON."""
    found = []
    for thread, about in report.threads("thread").items():
        bins = report.bins(about, thread)
        finer = any(edge.denominator > 1 for edge, _ in bins)  # with -W: us in bins, ns elsewhere
        longest = Fraction(report.integer(about, "max", thread), 1000 if finer else 1)
        cpu = str(report.integer(about, "cpu", thread))
        seconds = report.seconds(about, "duration", thread)
        found.append(_Iterations(cpu, seconds, longest, bins))
    return found


def _oslat_text(text: TextFile) -> list[_Iterations]:
    """Read oslat's report as text: a row for each bin, a column for each core."""
    rows: dict[str, tuple[int, list[str]]] = {}
    for line, content in enumerate(text.lines, 1):
        if (found := _OSLAT_ROW.fullmatch(content)) is None:
            continue
        if found[1] in rows:
            raise text.error(line, f"has a second row {found[1]!r}; import one report at a time")
        words = re.sub(r" \([A-Za-z ]{1,30}\)$", "", found[2].rstrip()).split()
        if rows and len(words) != len(rows.get("Core", (0, words))[1]):
            cores = len(rows["Core"][1]) if "Core" in rows else "Core first"
            raise text.error(line, f"must have a number for each core, {cores}, got {len(words)}")
        rows[found[1]] = line, words
    for needed in ("Core", "Maximum", "Duration"):
        if needed not in rows:
            raise text.error(len(text.lines), f"ends before `{needed}:`; it is cut off")
    bins = [(name, rows[name]) for name in rows if name.endswith("(us)")]
    if not bins:
        raise text.error(None, "has no bins")
    found_cpus = []
    for at, core in enumerate(rows["Core"][1]):
        cpu = str(text.integer(rows["Core"][0], core, "a core", high=2**20))
        line, words = rows["Duration"]
        seconds = text.number(line, words[at], "Duration")
        if not 0 < seconds < MAX_TICKS / TICKS_PER_SECOND:
            raise text.error(line, f"Duration must be above 0, got {shorten(words[at])}")
        line, most = rows["Maximum"]
        longest = text.number(line, most[at], "Maximum")
        counts = [
            (Fraction(name.split()[0]), text.integer(row, words[at], "a count", high=MAX_COUNT))
            for name, (row, words) in bins
        ]
        found_cpus.append(_Iterations(cpu, Fraction(str(seconds)), Fraction(str(longest)), counts))
    return found_cpus


def _detours_of_loop(
    text: TextFile, cpu: _Iterations, width: Fraction, notes: list[str]
) -> tuple[Histogram, Fraction]:
    """The iterations with a detour in them; and the upper edge of what the loop itself takes."""
    every = sum(count for _, count in cpu.bins)
    if not every:
        raise text.error(None, f"CPU {cpu.cpu} has no iteration of the loop")
    at = max(range(len(cpu.bins)), key=lambda k: cpu.bins[k][1])
    while at + 1 < len(cpu.bins) and cpu.bins[at + 1][1] > _LOOP * every:
        at += 1
    loop, last = cpu.bins[at][0], cpu.bins[-1][0]
    above = cpu.bins[at + 1 :]
    rows = [(edge - width, edge, count) for edge, count in above if count]
    if cpu.longest > last and above and above[-1][1]:  # its bin has what is longer, too
        rows.pop()
        if above[-1][1] == 1:
            rows.append((max(cpu.longest - width, last - width), cpu.longest, 1))
        else:
            rows.append((last - width, cpu.longest, above[-1][1]))
            notes.append(
                f"CPU {cpu.cpu}: its last bin has all that is longer; the longest {cpu.longest} µs"
            )
    elif cpu.longest > last and not above:
        raise text.error(
            None, f"the loop of CPU {cpu.cpu} fills the last bin: give oslat more (-b)"
        )
    if not rows:  # one without events, from where the loop ends
        rows.append((loop, loop + width, 0))
    lower = [int(row[0] * UNITS["us"]) for row in rows]
    upper = [int(row[1] * UNITS["us"]) for row in rows]
    observed = round(cpu.seconds * TICKS_PER_SECOND)
    with text.errors_at(None, f"CPU {cpu.cpu}: "):
        counts = [row[2] for row in rows]
        return Histogram(lower, upper, counts, "detour", observed, cpu.cpu), loop


_US = UNITS["us"]
_DURATION = re.compile(r"[ \t]{0,20}hwlatdetect:\s{1,9}test duration (\d{1,9}) seconds")
_KEYS = re.compile(r"\s{0,40}(Latency threshold|Sample window|Sample width):\s{0,40}(\d{1,12})us")
_EVENT = re.compile(
    r"\s{0,40}(?:ts: )?(\d{1,12}\.\d{1,12})(?:, inner:|\s{1,9})(\d{1,9})"
    r"(?:, outer:|\s{1,9})(\d{1,9})"
    r"(?:, cpu:\d{1,6})?(?:, count:(\d{1,9}))?\s{0,9}"
)
_COUNT = re.compile(r"\s{0,40}Samples exceeding threshold: (\d{1,12})\s{0,9}")
_REPORT = re.compile(r"\s{0,40}sample data \(\d{1,12} samples\) written to (\S.*)")


def _read_hwlatdetect(text: TextFile, options: Options) -> Measured:
    said: dict[str, int] = {}
    gaps: list[int] = []
    exceeding = 0  # in all windows
    report = ""  # another file with the samples
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
        elif (found := _REPORT.fullmatch(line.rstrip())) is not None:
            report = found[1]
        elif line.lstrip().startswith("ts:"):
            raise text.error(number, "must look like 'ts: 1.5, inner:17, outer:15'")
    for key in ("duration", "Sample window", "Sample width"):
        if not said.get(key):
            raise text.error(None, f"does not say its {key.lower()}")
    if said["Sample width"] > said["Sample window"]:
        raise text.error(None, "its sample width must not be longer than its sample window")
    if said.get("count", len(gaps)) not in (len(gaps), exceeding):
        if report and not gaps:
            raise text.error(
                None,
                f"has no samples: hwlatdetect wrote them to {shorten(report)}; put the "
                "lines of that file at the end of this one",
            )
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
        "wake-up latencies of cyclictest",
        ("unit",),
        sign=_is_cyclictest,
        read=_read_cyclictest,
    ),
    Format(
        "jitterdebugger",
        "histogram of jitterdebugger",
        sign=_JITTERDEBUGGER.search,
        read=_read_jitterdebugger,
    ),
    Format(
        "oslat",
        "the report of oslat",
        sign=lambda head: _OSLAT.search(head) or _OSLAT_JSON.search(head),
        read=_read_oslat,
    ),
    Format(
        "hwlatdetect",
        "hwlatdetect report (gaps made by hardware or firmware)",
        sign=lambda head: _DURATION.search(head[:4096]),
        read=_read_hwlatdetect,
    ),
)
