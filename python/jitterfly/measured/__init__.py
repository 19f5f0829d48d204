"""Measured noise: import of other tools' files, recording, merging, the noise file format.

`formats` reads files of other tools, `noisefile` our own, `load` any of them, and selects and joins
them. `record` measures this machine. `measurements` has the classes of what files hold,
`description` states what is in a measurement, `periods` what of it is periodic;
`network_parameters` reads L, o, g and G.
"""

from __future__ import annotations

from .formats.text import FormatError
from .load import load
from .measurements import (
    CollectiveTable,
    CpuNoise,
    Detours,
    Histogram,
    Latencies,
    LatencySummary,
    LogGPTable,
    Measured,
    PerRankSamples,
)

__all__ = [
    "CollectiveTable",
    "CpuNoise",
    "Detours",
    "FormatError",
    "Histogram",
    "Latencies",
    "LatencySummary",
    "LogGPTable",
    "Measured",
    "PerRankSamples",
    "load",
]
