"""Parsers of rtla: histograms (`rtla osnoise hist`, `rtla timerlat hist`) and tables (`top`).

A row of a histogram is the lower edge of a bin, then a count for each CPU; osnoise counts noise as
a busy loop saw it, timerlat counts how late a timer's interrupt and thread were, which is no noise
and has no rate. `rtla osnoise top` and `rtla hwnoise` print a row for each CPU, summed since the
start, and refresh it on a terminal, so that a log may hold many tables; so does `rtla timerlat
top`, whose rows have the least, mean and longest latency of each context.
"""

from __future__ import annotations

import re

from ...fields import StoredText, first_few, parameter
from ...units import TICKS_PER_SECOND, exact, show_seconds, to_ticks
from ..measurements import MAX_TICKS, CpuNoise, Histogram, LatencySummary, Measured
from .columns import LATENCY_NOTE, MAX_COLUMNS, MAX_COUNT, UNITS, Bins
from .text import Format, Options, TextFile

_KINDS = ("hardware", "nmi", "irq", "softirq", "thread")
"""Interferences, in the order of the tracer's columns."""
_FIRST_LINE = re.compile(
    r"^[ \t]{0,40}# RTLA (osnoise|timerlat) histogram[ \t]{0,40}$", re.MULTILINE
)
_MAX_CPUS_NAMED = 8  # in a note
_UNIT = re.compile(r"# Time unit is \w+ \((us|ns)\)")
_DURATION = re.compile(r"# Duration: {0,20}([0-9]{1,6}) ([0-9]{2}):([0-9]{2}):([0-9]{2})")
_COLUMN = re.compile(r"(CPU|IRQ|Thr|Usr)-([0-9]{1,6})")
_CONTEXT = {"CPU": "", "IRQ": " irq", "Thr": " thread", "Usr": " user"}
_SUMS = ("over:", "count:", "min:", "avg:", "max:")


def _read_histogram(text: TextFile, options: Options) -> Measured:
    """A histogram for each CPU (timerlat: and for each context, such as CPU "3 thread")."""
    table = _HistogramFile(text)
    for line, words in enumerate(map(str.split, text.lines), 1):
        table.take(line, words)
    bins, sums = table.finish()
    noise = table.tool == "osnoise"
    given = options.given()
    if given and not noise and given != ("width",):
        raise text.error(None, f"a timerlat histogram does not take {parameter(given[0])}")
    observed = _observed(text, table.seconds, options) if noise else None
    width = bins.width(_ticks(options.width))
    parts = tuple(
        bins.histogram(
            column,
            width,
            overflow=sums["over:"][column],
            what="detour" if noise else "latency",
            cpu=cpu,
            observed=observed,
            lowest=(_ticks(options.threshold) or 0) if noise else 0,
        )
        for column, cpu in enumerate(table.cpus)
    )
    notes = _noise_notes(options) if noise else (LATENCY_NOTE,)
    notes += _bin_notes(table, parts, width, options)
    source = {"tool": f"rtla {table.tool} hist"}
    if table.seconds:
        source["duration"] = f"{table.seconds} s"
    return Measured(parts, "rtla_hist", source, notes)


def _observed(text: TextFile, seconds: int, options: Options) -> int | None:
    """Ticks in which the thread of one CPU looked for noise."""
    if seconds == 0:
        return None
    period = exact(options.period or 1.0)
    runtime = exact(options.runtime) if options.runtime else min(period, exact(1.0))
    if runtime > period:
        raise text.error(
            None, f"{parameter('runtime')} must be at most {parameter('period')} (1 s unless given)"
        )
    ticks = round(seconds * TICKS_PER_SECOND * runtime / period)
    if not 0 < ticks < MAX_TICKS:
        raise text.error(None, f"cannot have run for {seconds} s")
    return ticks


def _ticks(seconds: float | None) -> int | None:
    return None if seconds is None else to_ticks(seconds)


def _noise_notes(options: Options) -> tuple[str, ...]:
    """Return notes on what the options leave open about noise."""
    notes: list[str] = []
    if options.runtime is None and options.period is None:
        notes.append(StoredText(
            "rates assume that the tool looked for noise all the time; if it ran with a run time "
            "below the period (-r, -p), give ", "runtime", " and ", "period"
        ))  # fmt: skip
    if options.threshold is None:
        notes.append(StoredText(
            "noise below the threshold was not recorded (5 µs by default, 1 µs in newer kernels; "
            "-T sets it); ", "threshold", " states it, and narrows the first bin"
        ))  # fmt: skip
    notes.append("CPUs without noise have no column; the duration is in whole seconds")
    return tuple(notes)


def _bin_notes(
    table: _HistogramFile, parts: tuple[Histogram, ...], width: int, options: Options
) -> tuple[str, ...]:
    """Return notes on the bins: their width, events above them, other counts."""
    notes: list[str] = []
    if options.width is None:
        notes.append(StoredText(
            f"bins are assumed to be {show_seconds(width / TICKS_PER_SECOND)} wide, the most that "
            "fits the rows (rows of zeros are left out); ", "width", " sets it"
        ))  # fmt: skip
    above = [part for part in parts if part.overflow]
    if above:
        most = dict(zip((part.cpu for part in parts), table.longest, strict=False))
        longest = ", ".join(most.get(part.cpu, "?")[:20] for part in above[:_MAX_CPUS_NAMED])
        notes.append(
            f"events lie above the last bin on CPU {_cpus(above)}; the longest about {longest} "
            f"{table.unit}"
        )
    counts = table.sums.get("count:") or [part.total for part in parts]
    odd = [part for part, count in zip(parts, counts, strict=True) if part.total != count]
    if odd:
        notes.append(f"bins and `count:` hold different numbers of events on CPU {_cpus(odd)}")
    if table.missed:
        notes.append(f"rtla says: {table.missed}")
    return tuple(notes)


def _cpus(parts: list[Histogram]) -> str:
    return first_few([part.cpu for part in parts], _MAX_CPUS_NAMED)


class _HistogramFile:
    """The file so far: take all of its lines, then finish."""

    def __init__(self, text: TextFile) -> None:
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
        if match := _FIRST_LINE.fullmatch(joined):
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
        """Read a line above the table: unit, duration, CPUs."""
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
        if len(words) > MAX_COLUMNS:
            raise self.text.error(line, f"has {len(words)} columns; at most {MAX_COLUMNS} go")
        for word in words:
            match = _COLUMN.fullmatch(word)
            if match is None or (match[1] == "CPU") != (self.tool == "osnoise"):
                raise self.text.error(line, f"{word[:40]!r} is no column of rtla {self.tool} hist")
            self.cpus.append(f"{int(match[2])}{_CONTEXT[match[1]]}")
        if len(set(self.cpus)) != len(self.cpus):
            raise self.text.error(line, "a CPU has two columns")
        self.bins = Bins(self.text, len(words), UNITS[self.unit])

    def finish(self) -> tuple[Bins, dict[str, list[int]]]:
        if self.bins is None:
            raise self.text.error(len(self.text.lines), "ends before its columns; it is cut off")
        if "over:" not in self.sums:
            raise self.text.error(len(self.text.lines), "ends before `over:`; it is cut off")
        if not self.bins.rows:
            raise self.text.error(None, "has no rows")
        return self.bins, self.sums


_TABLE = re.compile(r"CPU Period +Runtime +Noise +% CPU Aval +Max Noise +Max Single +HW +NMI")
_COLOURS = re.compile(r"\x1b(?:\[[0-9;]*m|c)")
_PERIODS = re.compile(r"#([0-9]{1,18})")


def _read_table(text: TextFile, options: Options) -> Measured:
    """The last table: the noise of each CPU, summed."""
    tables = 0
    rows: dict[str, CpuNoise] = {}
    earlier: dict[str, CpuNoise] = {}
    missed = ""
    for line, content in enumerate(text.lines, 1):
        content = _COLOURS.sub("", content)
        words = content.split()
        if _TABLE.match(content):
            tables += 1
            earlier, rows = earlier | rows, {}
        elif tables and len(words) > 1 and words[0].isdecimal() and words[1].startswith("#"):
            row = _read_row(text, line, words)
            if row.cpu in rows:
                raise text.error(line, f"CPU {row.cpu} has two rows")
            rows[row.cpu] = row
            before = earlier.pop(row.cpu, None)
            if before is not None and row.periods < before.periods:
                raise text.error(
                    line,
                    f"CPU {row.cpu} has fewer periods than in the table above, {row.periods} for "
                    f"{before.periods}: these are several runs; import one at a time",
                )
        elif "events missed" in content:
            missed = " ".join(words[:8])
    if not rows:
        raise text.error(len(text.lines), "has no row of a CPU; it is cut off")
    notes = [
        "sums over a run have a share and a longest noise, no distribution of durations: "
        "`rtla osnoise hist` prints one"
    ]
    if tables > 1:
        notes.append(f"this is the last of {tables} tables; each sums up all since the start")
    if missed:
        notes.append(f"rtla says: {missed}")
    return Measured(tuple(rows.values()), "rtla_top", {"tool": "rtla osnoise top"}, tuple(notes))


def _read_row(text: TextFile, line: int, words: list[str]) -> CpuNoise:
    """Return the noise of one CPU: a row of `rtla osnoise top`."""
    match = _PERIODS.fullmatch(words[1])
    if match is None or len(words) not in (9, 12):
        raise text.error(line, f"must be a row of 12 columns (hwnoise: 9), got {len(words)}")
    cpu = text.integer(line, words[0], "CPU", high=2**20)
    periods = text.integer(line, match[1], "Period", low=1, high=MAX_COUNT)
    times = [words[2], words[3], words[6], words[5]]
    return cpu_noise(text, line, str(cpu), periods, times, words[7:])


def cpu_noise(
    text: TextFile, line: int, cpu: str, periods: int, times: list[str], counts: list[str]
) -> CpuNoise:
    """The columns of a row: `times` in microseconds are runtime, noise, longest, worst."""
    names = ("runtime", "noise", "the longest noise", "the worst noise")
    runtime, noise, longest, worst = (
        text.integer(line, word, name, high=MAX_TICKS // UNITS["us"]) * UNITS["us"]
        for name, word in zip(names, times, strict=True)
    )
    interferences = {
        kind: text.integer(line, word, kind, high=MAX_COUNT)
        for kind, word in zip(_KINDS, counts, strict=False)
    }
    with text.errors_at(line):
        return CpuNoise(runtime, noise, longest, periods, worst, interferences, cpu)


_LATENCIES = re.compile(
    r"\|[ \t]{1,20}IRQ Timer Latency \((us|ns)\)[ \t]{1,20}\|[ \t]{1,20}Thread Timer Latency"
)
_LATENCY_ROW = re.compile(r"[ \t]{0,9}(\d{1,6}) #(\d{1,18})[ \t]{0,12}\|(.{1,200})")


def _read_timerlat_table(text: TextFile, options: Options) -> Measured:
    """The last table: the latencies of each CPU and context, such as CPU "3 thread"."""
    tables, unit = 0, 1
    without: list[str] = []
    rows: dict[str, LatencySummary] = {}
    missed = ""
    for line, content in enumerate(text.lines, 1):
        content = _COLOURS.sub("", content)
        if match := _LATENCIES.search(content):
            tables += 1
            unit, rows, without = UNITS[match[1]], {}, []
        elif tables and (match := _LATENCY_ROW.fullmatch(content.rstrip())):
            for context, cells in zip(("irq", "thread", "user"), match[3].split("|"), strict=False):
                cpu = f"{int(match[1])} {context}"
                if cpu in rows:
                    raise text.error(line, f"CPU {match[1]} has two rows")
                words = cells.partition("<")[0].split()  # "<--- CPU with spike": somebody's remark
                row = _latencies(text, line, cpu, int(match[2]), words, unit)
                if row is None and "-" not in words:
                    without.append(cpu)
                rows |= {} if row is None else {cpu: row}
        elif "events missed" in content:
            missed = " ".join(content.split()[:8])
    if not rows:
        raise text.error(len(text.lines), "has no row of a CPU; it is cut off")
    notes = [
        LATENCY_NOTE,
        "a mean and extremes are no distribution: rtla timerlat hist prints a histogram of them",
        "the number of latencies is that of the timer's interrupts",
    ]
    if without:
        notes.append(
            f"left out, as the timer of the CPU has no interrupt: {', '.join(without[:4])}"
        )
    if tables > 1:
        notes.append(f"this is the last of {tables} tables; each sums up all since the start")
    if missed:
        notes.append(f"rtla says: {missed}")
    source = {"tool": "rtla timerlat top"}
    return Measured(tuple(rows.values()), "rtla_timerlat_top", source, tuple(notes))


def _latencies(
    text: TextFile, line: int, cpu: str, count: int, words: list[str], unit: int
) -> LatencySummary | None:
    """The latencies of one context (current, least, mean, longest); None where it has none."""
    if words == ["-"] * 4 or not count:
        return None
    if len(words) != 4:
        what = f"must have four numbers for each context (cur, min, avg, max), got {len(words)}"
        raise text.error(line, what)
    high = MAX_TICKS // UNITS["us"]
    numbers = [text.integer(line, word, "a latency", high=high) * unit for word in words]
    with text.errors_at(line, f"CPU {cpu}: "):
        return LatencySummary(count, numbers[1], numbers[2], numbers[3], unit, cpu)


FORMATS = (
    Format(
        "rtla_hist",
        "histogram of rtla osnoise or rtla timerlat",
        ("runtime", "period", "threshold", "width"),
        sign=_FIRST_LINE.search,
        read=_read_histogram,
    ),
    Format("rtla_top", "table of rtla osnoise top", sign=_TABLE.search, read=_read_table),
    Format(
        "rtla_timerlat_top",
        "table of rtla timerlat top",
        sign=_LATENCIES.search,
        read=_read_timerlat_table,
    ),
)
