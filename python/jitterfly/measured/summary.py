"""What some tools print in place of events: noise summed over a CPU's run, LogGP parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..fields import shorten
from ..units import TICKS_PER_SECOND, show_seconds
from .checks import Compared, Floats, Ticks, freeze, set_integer, set_seconds, set_ticks


@dataclass(frozen=True, eq=False)
class CpuNoise(Compared):
    """Noise of one CPU, summed over its run: a share, but no distribution.

    Parameters
    ----------
    runtime, noise : int
        Ticks in which a thread looked for noise, and those of it that noise took.
    longest : int
        The longest single noise, in ticks.
    periods : int
        Over how many periods the sums are.
    worst : int, optional
        The most noise in one period, in ticks.
    counts : dict of str to int
        Interferences by their kind: hardware, nmi, irq, softirq, thread.
    cpu : str
        Which one, as the file names it.

    Examples
    --------
    >>> CpuNoise(runtime=10**12, noise=2 * 10**9, longest=10**7, periods=1).share
    0.002
    """

    runtime: int
    noise: int
    longest: int
    periods: int
    worst: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    cpu: str = ""

    def __post_init__(self) -> None:
        set_integer(self, "runtime", 1)
        set_integer(self, "periods", 1)
        set_integer(self, "noise", 0)
        set_integer(self, "longest", 0)
        set_integer(self, "worst", 0, optional=True)
        if not self.longest <= self.noise <= self.runtime:
            raise ValueError(
                "noise must be from longest to runtime ticks, "
                f"{self.longest} to {self.runtime}, got {self.noise}"
            )

    @property
    def share(self) -> float:
        """Part of the time that noise took, from 0 to 1."""
        return self.noise / self.runtime

    def lines(self) -> list[str]:
        """What it says, for people."""
        counts = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        return [
            f"CPU {self.cpu}: share of the CPU {100 * self.share:.3g} % ({_show(self.noise)} of "
            f"{_show(self.runtime)}); longest {_show(self.longest)}; "
            f"interferences: {counts or 'not counted'}"
        ]

    def facts(self) -> dict[str, Any]:
        """What it says, for programs: times in seconds."""
        return {
            "cpu": self.cpu,
            "share": self.share,
            "runtime": self.runtime / TICKS_PER_SECOND,
            "noise": self.noise / TICKS_PER_SECOND,
            "longest": self.longest / TICKS_PER_SECOND,
            "periods": self.periods,
            "counts": dict(self.counts),
        }


@dataclass(frozen=True, eq=False)
class LogGPTable(Compared):
    """LogGP parameters by message size, shape (rows,); seconds, G in seconds per byte.

    `latency` is the L of LogGP; `gap` (g) and `gap_per_byte` (G) are fits over all sizes up to that
    of the row, NaN where there are too few of them.
    """

    bytes: Ticks
    latency: Floats
    send_overhead: Floats
    receive_overhead: Floats
    gap: Floats
    gap_per_byte: Floats

    def __post_init__(self) -> None:
        set_ticks(self, "bytes")
        for name in ("latency", "send_overhead", "receive_overhead"):
            set_seconds(self, name, 1)
        for name in ("gap", "gap_per_byte"):  # a least-squares fit may come out below 0
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.ndim != 1 or np.isinf(values).any():
                raise ValueError(f"{name} must be numbers or NaN, got {shorten(values)}")
            freeze(self, name, values)
        sizes = {len(getattr(self, name)) for name in self.__dataclass_fields__}
        if len(sizes) != 1 or sizes == {0}:
            raise ValueError(f"all columns must have one length above 0, got {sorted(sizes)}")

    def __eq__(self, other: object) -> bool:
        return type(other) is LogGPTable and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=True)
            for name in self.__dataclass_fields__
        )

    def lines(self) -> list[str]:
        """What it says, for people: the smallest size, and the fit over all."""
        last = len(self.bytes) - 1
        return [
            f"{len(self.bytes)} sizes from {self.bytes[0]} to {self.bytes[last]} bytes",
            f"size {self.bytes[0]}: L {show_seconds(self.latency[0])}, "
            f"o_s {show_seconds(self.send_overhead[0])}, "
            f"o_r {show_seconds(self.receive_overhead[0])}",
            f"fit over all sizes: g {show_seconds(self.gap[last])}, "
            f"G {show_seconds(self.gap_per_byte[last])} per byte",
        ]

    def facts(self) -> dict[str, Any]:
        """All columns, for programs; NaN becomes None."""
        return {
            name: json.loads(json.dumps(getattr(self, name).tolist()).replace("NaN", "null"))
            for name in self.__dataclass_fields__
        }


def _show(ticks: int) -> str:
    return show_seconds(ticks / TICKS_PER_SECOND)
