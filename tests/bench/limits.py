"""Roofline limits of this machine: instructions and memory bandwidth per rank-round, cache sizes.

The rates of a core are measured, as what a data sheet says of clock and ports holds for few
virtual machines; the sizes of its caches are those that Linux names. The rates of a GPU follow from
its properties.

What the limit is: no program that executes these instructions can be faster than the core issues
them, and none with this much state can move less than `passes` says. What it is not: a bound for
every program (fewer instructions may do), nor what is within reach (multiplications and shuffles
use fewer ports than the additions that were measured, and instructions wait for each other).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from jitterfly.backends import core
from jitterfly.case import Case
from jitterfly.program import compile_case
from jitterfly.resources import available_memory

from .measure import NOISES, SEED, programs

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
LARGEST = 2**30
"""Bytes of the largest array that bandwidth is measured with."""
COUNTED = 2**12
"""Rank-rounds of a realization whose instructions are counted, at most: a virtual machine may take
a second for ten thousand steps of a child process. The case that the goals are about is counted at
its own size."""
COUNTED_CASE = 2**12, "butterfly", "periodic"
MAX_STEPS, MAX_STEPS_OF_COUNTED_CASE = 2**18, 2**22
"""Steps of a child process at most. Copies under network jitter can take more."""
WARP_SCHEDULERS, WARP = 4, 32  # per multiprocessor, since compute capability 7.0
# CUdevice_attribute, CUDA driver API
_MEMORY_CLOCK_KHZ, _BUS_BITS, _L2_BYTES = 36, 37, 38


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
        "levels": [_memory_level(*level, seconds) for level in _memory_levels(cache_sizes(caches))],
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


def _memory_levels(sizes: list[int]) -> list[tuple[str, int | None, int, int]]:
    """Name, size, size of the level inside, and array that lies in this level and in none inside.

    An array of half a cache leaves room for what else is in it.
    """
    levels: list[tuple[str, int | None, int, int]] = []
    for number, (inner, outer) in enumerate(pairwise(sizes), 2):
        if outer > inner:
            levels.append((f"L{number}", outer, inner, min(max(outer // 2, 2 * inner), LARGEST)))
    if sizes:
        room = available_memory()
        fits = LARGEST if room is None else min(LARGEST, room // 2)
        if fits >= 2 * sizes[-1]:  # else memory can not be told from the last cache
            levels.append(("memory", None, sizes[-1], min(4 * sizes[-1], fits)))
    return levels


def _memory_level(
    name: str, size: int | None, inner: int, array: int, seconds: float
) -> dict[str, Any]:
    return {
        "name": name,
        "size": size,
        "holds": inner,
        "array": array,
        "read": core.bandwidth(array, False, seconds / 2),
        "copy": core.bandwidth(array, True, seconds / 2),
    }


def counted_ranks(program: str, noise: str, ranks: int) -> int:
    """At how many ranks the instructions of a case are counted: fewer where it is a large one."""
    if ranks >= COUNTED_CASE[0] and (program, noise) == COUNTED_CASE[1:]:
        return COUNTED_CASE[0]
    while ranks > 4 and programs(ranks, [])[program].rank_rounds() > COUNTED:
        ranks //= 2
    return ranks


class Counter:
    """Instructions per rank-round of the CPU engine on one thread, each case counted once."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell
        self.problem = core.cannot_count()
        if not self.problem and (sanitizers := core.build_info()["sanitize"]):
            self.problem = f"no instructions are counted in a build with sanitizers ({sanitizers})"
        self._known: dict[tuple[str, str, int], dict[str, Any] | None] = {}

    def count(self, program: str, noise: str, ranks: int) -> dict[str, Any] | None:
        """Per rank-round "all" and "vector" instructions, at "ranks"; None if that is impossible.

        A realization is what two have more than one: starting a thread costs none. None too for a
        case that would take more than `MOST` steps.
        """
        key = program, noise, counted_ranks(program, noise, ranks)
        if key not in self._known and not self.problem:
            self.tell(f"instructions, one by one: {program}, {noise}, {key[2]} ranks")
            case = programs(key[2], NOISES[noise])[program]
            engine = compile_case(case)
            try:
                most = MAX_STEPS_OF_COUNTED_CASE if key[2] == COUNTED_CASE[0] else MAX_STEPS
                one, two = (core.count_instructions(engine, SEED, n, most) for n in (1, 2))
            except RuntimeError as error:
                self._known[key] = None
                if "too many" not in str(error):
                    self.problem = str(error)
                return None
            everything, vector = (
                (b - a) / case.rank_rounds() for a, b in zip(one, two, strict=True)
            )
            self._known[key] = {"all": everything, "vector": vector, "ranks": key[2]}
        return self._known.get(key)


def passes(ranks: int, rounds: int, per_rank: float, holds: float) -> int:
    """How often the state must go through a cache that holds so many bytes, at least.

    A block of 2^m ranks in the cache can do m rounds (as in an FFT: Hong & Kung 1981), so K rounds
    take K / m passes; 1 if everything fits.
    """
    inside = min(max(int(math.log2(max(holds / per_rank, 2.0))), 1), int(math.log2(ranks)))
    return max(math.ceil(rounds / inside), 1) if ranks * per_rank > holds else 1


def bytes_limits(
    case: Case, per_rank: float, levels: list[dict[str, Any]]
) -> list[tuple[str, float, float]]:
    """Name of each level that the state has to go through, bytes per rank-round, rank-rounds/s.

    The first pass need not read and the last need not write. `per_rank` is the engine's account.
    """
    work = case.rank_rounds()
    found = []
    for level in levels:
        times = passes(case.ranks, work // case.ranks, per_rank, level["holds"])
        if times > 1:
            moved = 2 * (times - 1) * per_rank * case.ranks / work
            found.append((level["name"], moved, max(level["read"], level["copy"]) / moved))
    return found


def core_limit(
    case: Case, per_rank: float, counted: dict[str, Any] | None, capacity: dict[str, Any] | None
) -> dict[str, Any]:
    """The limit of a case on one core, in rank-rounds per second, with what it is made of.

    Returns
    -------
    dict
        "rank_rounds_per_second" (None where not known), "by": what sets it. "instructions": as
        counted, with the rate that they allow. "bytes": per rank-round at each level that they
        have to come from, with the rate that its bandwidth allows.
    """
    rates: dict[str, float] = {}
    instructions = None
    issue = capacity["instructions"] if capacity else None
    if counted and issue and counted["all"] > 0:
        times = counted["vector"] / issue["vector"], counted["all"] / max(issue.values())
        name = "vector instructions" if times[0] > times[1] else "instructions"
        rates[name] = 1 / max(times)
        instructions = counted | {"rank_rounds_per_second": 1 / max(times)}
    return _limit(case, per_rank, capacity, rates, instructions)


def _limit(
    case: Case,
    per_rank: float,
    capacity: dict[str, Any] | None,
    rates: dict[str, float],
    instructions: dict[str, Any] | None,
) -> dict[str, Any]:
    """The limit, from the rate that instructions allow and those that bytes do."""
    limit: dict[str, Any] = {"rank_rounds_per_second": None, "by": None,
                             "instructions": instructions, "bytes": []}  # fmt: skip
    for name, moved, rate in bytes_limits(case, per_rank, capacity["levels"] if capacity else []):
        rates[f"bytes, {name}"] = rate
        limit["bytes"].append({"level": name, "bytes_per_rank_round": moved,
                               "rank_rounds_per_second": rate})  # fmt: skip
    # Without a count of instructions nobody knows whether they or bytes are the limit.
    if instructions:
        limit["by"] = min(rates, key=rates.__getitem__)
        limit["rank_rounds_per_second"] = rates[limit["by"]]
    return limit


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
    values = _driver_attributes(device["index"], driver)
    if values and all(value > 0 for value in values):
        memory_khz, bits, cache = values
        rate = 2 * memory_khz * 1e3 * bits / 8  # two transfers a clock
        levels = [{"name": "memory", "size": None, "holds": cache, "array": None, "read": rate,
                   "copy": rate}]  # fmt: skip
    return {"device": device["name"], "instructions": issue, "levels": levels}


def _driver_attributes(index: int, driver: Any) -> list[int] | None:
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
    rates: dict[str, float] = {}
    found = None
    if capacity and instructions:
        rates["instructions"] = capacity["instructions"] / instructions
        found = {"all": instructions, "vector": None, "ranks": case.ranks,
                 "rank_rounds_per_second": rates["instructions"]}  # fmt: skip
    return _limit(case, per_rank, capacity, rates, found)
