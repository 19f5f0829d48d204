"""Parser of `rtla osnoise top` and `rtla hwnoise`: table of noise per CPU.

A row for each CPU, summed since the start; refreshed on a terminal, so that a log may hold many.
"""

from __future__ import annotations

import re

from ..measurements import CpuNoise, Measured
from .rows import MOST_COUNT, cpu_noise
from .text import Options, TextFile

NAME = "rtla_top"
TITLE = "table of rtla osnoise top"
OPTIONS = ()

_HEAD = re.compile(r"CPU Period +Runtime +Noise +% CPU Aval +Max Noise +Max Single +HW +NMI")
_COLOURS = re.compile(r"\x1b(?:\[[0-9;]*m|c)")
_PERIODS = re.compile(r"#([0-9]{1,18})")


def recognise(head: str) -> bool:
    """Recognise the format by the titles of its columns."""
    return _HEAD.search(head) is not None


def read(text: TextFile, options: Options) -> Measured:
    """The last table: the noise of each CPU, summed."""
    tables = 0
    rows: dict[str, CpuNoise] = {}
    missed = ""
    for line, content in enumerate(text.lines, 1):
        content = _COLOURS.sub("", content)
        words = content.split()
        if _HEAD.match(content):
            tables += 1
            rows = {}
        elif tables and len(words) > 1 and words[0].isdecimal() and words[1].startswith("#"):
            row = _row(text, line, words)
            if row.cpu in rows:
                raise text.error(line, f"CPU {row.cpu} has two rows")
            rows[row.cpu] = row
        elif "events missed" in content:
            missed = " ".join(words[:8])
    if not rows:
        raise text.error(len(text.lines), "has no row of a CPU; it is cut off")
    notes = ["sums over a run: a share and a longest noise, but no distribution of durations"]
    if tables > 1:
        notes.append(f"the last of {tables} tables; each holds all since the start")
    if missed:
        notes.append(f"rtla says: {missed}")
    return Measured(tuple(rows.values()), NAME, {"tool": "rtla osnoise top"}, tuple(notes))


def _row(text: TextFile, line: int, words: list[str]) -> CpuNoise:
    match = _PERIODS.fullmatch(words[1])
    if match is None or len(words) not in (9, 12):
        raise text.error(line, f"must be a row of 12 columns (hwnoise: 9), got {len(words)}")
    cpu = text.integer(line, words[0], "CPU", high=2**20)
    periods = text.integer(line, match[1], "Period", low=1, high=MOST_COUNT)
    times = [words[2], words[3], words[6], words[5]]
    return cpu_noise(text, line, str(cpu), periods, times, words[7:])
