"""What this machine can do at most: instructions and bytes per second of a core, measured here.

Measured, as what a data sheet says of clock and ports holds for few virtual machines. The caches'
sizes are those that Linux names.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from ..engine import core
from ..memory import available_bytes

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
LARGEST = 2**30
"""Bytes of the largest array that bandwidth is measured with."""


def core_capacity(seconds: float = 0.4, caches: Path = _CACHES) -> dict[str, Any]:
    """Rates of one core and sizes of its caches.

    Parameters
    ----------
    seconds : float
        CPU time to spend on instructions, and on each level of memory.
    caches : Path
        Where Linux describes the caches of a CPU.

    Returns
    -------
    dict
        "instructions": per second, of loops of vector instructions, of scalar ones, of a mixture
        and of nops (empty where there are no such loops). "levels": from the second cache outwards,
        "name", "size" in bytes (None: memory), "holds" (size of the level inside it), "array" that
        was used, bytes per second of "read" and "copy" (read and written together).
    """
    isa = str(core.build_info()["instruction_set"])
    return {
        "instruction_set": isa,
        "instructions": dict(core.issue_rates(isa, seconds)),
        "levels": [_level(*level, seconds) for level in _levels(cache_sizes(caches))],
    }


def cache_sizes(root: Path = _CACHES) -> list[int]:
    """Bytes of the data caches of a core, innermost first; empty where the system does not say."""
    sizes = {}
    for folder in root.glob("index*"):
        try:
            kind, level, size = ((folder / name).read_text(encoding="ascii").strip()
                                 for name in ("type", "level", "size"))  # fmt: skip
        except (OSError, UnicodeDecodeError):
            continue
        unit = {"K": 2**10, "M": 2**20}.get(size[-1:], 0)
        if kind != "Instruction" and level.isdigit() and size[:-1].isdigit() and unit:
            sizes[int(level)] = int(size[:-1]) * unit
    return [sizes[level] for level in sorted(sizes)]


def _levels(sizes: list[int]) -> list[tuple[str, int | None, int, int]]:
    """Name, size, size of the level inside, and array that lies in this level and in none inside.

    An array of half a cache leaves room for what else is in it.
    """
    levels: list[tuple[str, int | None, int, int]] = []
    for number, (inner, outer) in enumerate(pairwise(sizes), 2):
        if outer > inner:
            levels.append((f"L{number}", outer, inner, min(max(outer // 2, 2 * inner), LARGEST)))
    if sizes:
        room = available_bytes()
        fits = LARGEST if room is None else min(LARGEST, room // 2)
        if fits >= 2 * sizes[-1]:  # else memory can not be told from the last cache
            levels.append(("memory", None, sizes[-1], min(4 * sizes[-1], fits)))
    return levels


def _level(name: str, size: int | None, inner: int, array: int, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "size": size,
        "holds": inner,
        "array": array,
        "read": core.bandwidth(array, False, seconds / 2),
        "copy": core.bandwidth(array, True, seconds / 2),
    }
