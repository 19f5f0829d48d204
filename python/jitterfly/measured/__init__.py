"""Measured noise: files in, what they hold, one documented file out."""

from __future__ import annotations

from .data import CollectiveTable, Detours, Histogram, Latencies, Measured, PerRankSamples
from .formats.errors import FormatError
from .load import load

__all__ = [
    "CollectiveTable",
    "Detours",
    "FormatError",
    "Histogram",
    "Latencies",
    "Measured",
    "PerRankSamples",
    "load",
]
