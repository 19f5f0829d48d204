"""Parser of hwlatdetect: latency of hardware and firmware (SMI), looked for with interrupts off.

In each window (1 s) it looks for a part of it (width, 0.5 s) and reports the longest gap inside
its loop and between its iterations, in whole microseconds, where they exceed the threshold. So the
time observed is the duration of the test times width / window. On newer kernels a line says how
many gaps its window had, and the report counts those.
"""

from __future__ import annotations

import re

import numpy as np

from ...units import TICKS_PER_SECOND
from ..measurements import Histogram, Measured
from .text import Options, TextFile

NAME = "hwlatdetect"
TITLE = "hwlatdetect report (gaps made by hardware or firmware)"
OPTIONS: tuple[str, ...] = ()

_US = TICKS_PER_SECOND // 10**6
_DURATION = re.compile(r"hwlatdetect:\s{1,9}test duration (\d{1,9}) seconds")
_KEYS = re.compile(r"\s{0,40}(Latency threshold|Sample window|Sample width):\s{0,40}(\d{1,12})us")
_EVENT = re.compile(
    r"(?:ts: )?(\d{1,12}\.\d{1,12})(?:, inner:|\s{1,9})(\d{1,9})(?:, outer:|\s{1,9})(\d{1,9})"
    r"(?:, cpu:\d{1,6})?(?:, count:(\d{1,9}))?\s{0,9}"
)
_COUNT = re.compile(r"Samples exceeding threshold: (\d{1,12})\s{0,9}")


def recognise(head: str) -> bool:
    return _DURATION.search(head[:4096]) is not None


def read(text: TextFile, options: Options) -> Measured:
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
        f"it looked for {share:.3g} of the time only; rates are those of the time it looked",
        "it reports the longest gap of a window: others of the same window are missing"
        + (f" ({exceeding - len(gaps)} of {exceeding})" if exceeding > len(gaps) else ""),
        "gaps are whole microseconds, cut off",
        f"gaps up to {said.get('Latency threshold', 0) // _US} µs were not recorded",
    )
    return Measured((part,), NAME, {"tool": "hwlatdetect"}, notes)
