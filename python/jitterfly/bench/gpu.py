"""What a GPU allows: instructions that its schedulers issue, bytes that its memory delivers."""

from __future__ import annotations

import ctypes
from typing import Any

from ..case import Case
from .limits import bytes_limits

WARP_SCHEDULERS, WARP = 4, 32  # per multiprocessor, since compute capability 7.0

# CUdevice_attribute, CUDA driver API
_MEMORY_CLOCK_KHZ, _BUS_BITS, _L2_BYTES = 36, 37, 38


def gpu_capacity(device: dict[str, Any], driver: Any = None) -> dict[str, Any]:
    """Rates of a card by its properties; nothing is measured.

    Parameters
    ----------
    device : dict
        One of `core.devices()`.
    driver : optional
        The driver's library; that of the system unless given.

    Returns
    -------
    dict
        "instructions": of threads per second, if each scheduler of a multiprocessor issues for a
        warp at every clock. "levels": as in `core_capacity`, only the card's memory, behind its L2;
        empty if the driver does not tell.
    """
    clock = device["clock_khz"] * 1e3
    issue = device["multiprocessors"] * WARP_SCHEDULERS * WARP * clock
    levels = []
    values = _attributes(device["index"], driver)
    if values and all(value > 0 for value in values):
        memory_khz, bits, cache = values
        rate = 2 * memory_khz * 1e3 * bits / 8  # two transfers a clock
        levels = [{"name": "memory", "size": None, "holds": cache, "array": None, "read": rate,
                   "copy": rate}]  # fmt: skip
    return {"device": device["name"], "instructions": issue, "levels": levels}


def _attributes(index: int, driver: Any) -> list[int] | None:
    try:
        cuda = driver or ctypes.CDLL("libcuda.so.1")
        device, value, values = ctypes.c_int(), ctypes.c_int(), []
        if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), index):
            return None
        for attribute in (_MEMORY_CLOCK_KHZ, _BUS_BITS, _L2_BYTES):
            if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
                return None
            values.append(value.value)
    except (OSError, AttributeError):
        return None
    return values


def gpu_limit(
    case: Case, per_rank: float, instructions: float | None, capacity: dict[str, Any] | None
) -> dict[str, Any]:
    """The limit of a case on a card; the result is that of `core_limit`."""
    limit: dict[str, Any] = {"rank_rounds_per_second": None, "by": None, "instructions": None,
                             "bytes": []}  # fmt: skip
    if not capacity:
        return limit
    rates: dict[str, float] = {}
    if instructions:
        rates["instructions"] = capacity["instructions"] / instructions
        limit["instructions"] = {"all": instructions, "vector": None, "ranks": case.ranks,
                                 "rank_rounds_per_second": rates["instructions"]}  # fmt: skip
    for name, moved, rate in bytes_limits(case, per_rank, capacity["levels"]):
        rates[f"bytes, {name}"] = rate
        limit["bytes"].append({"level": name, "bytes_per_rank_round": moved,
                               "rank_rounds_per_second": rate})  # fmt: skip
    if instructions:
        limit["by"] = min(rates, key=rates.__getitem__)
        limit["rank_rounds_per_second"] = rates[limit["by"]]
    return limit
