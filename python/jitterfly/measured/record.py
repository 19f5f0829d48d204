"""Measure the noise of this machine: detours of a loop on the time-stamp counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from .. import _core
from ..fields import check_integer, show_number
from ..units import TICKS_PER_SECOND, Time, parse_seconds
from . import host
from .clock import Rate, rate
from .data import Detours, Measured
from .recording import facts, notes

MOST_DETOURS = 2**24
LONGEST = 7 * 86400.0  # seconds
_TIMES_SMALLEST = 9  # as Netgauge: an iteration of more than 900 % of the smallest is a detour
_EXPECTED = 20_000  # detours a second that the buffer has room for
_LEAST_ROOM = 100_000
_AHEAD = 0.002  # seconds in which all CPUs get ready
_SEEN = 0.1  # seconds between two looks at Ctrl-C
_COARSE = 1000  # ps, of a counter whose steps are worth telling

Progress = Callable[[float, int], object]


def record(
    seconds: Time = 10.0,
    cpus: Sequence[int] | None = None,
    *,
    threshold: Time | None = None,
    quantum: Time = 0.0,
    most: int | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Measure how often, and for how long, this machine takes its CPUs from a program.

    On each CPU a thread that is pinned to it reads the time-stamp counter in a loop. An iteration
    that takes much longer than the smallest is a detour (Netgauge's "selfish detour"): it starts
    with the last reading before, and lasts for what the iteration took beyond the smallest. With a
    quantum, each iteration does a fixed work first (the fixed-work-quantum benchmark): a detour is
    then known to the quantum only, but slower clocks and caches are seen, too.

    Parameters
    ----------
    seconds : float or str
        How long, up to a week.
    cpus : sequence of int, optional
        All at the same time, each a part of the result. Default: the last that this process may
        use.
    threshold : float or str, optional
        The shortest detour that is kept, from twice the smallest iteration. Default: 8 times that,
        so an iteration of 9 times, as Netgauge.
    quantum : float or str
        Work in an iteration, 0 or from 100 ns to a tenth of `seconds`; 0 is the finest.
    most : int, optional
        Detours for which there is room, on each CPU; it ends when one is full. Default: 20,000 a
        second, from 100,000 to 2^24.
    progress : callable, optional
        Called ten times a second with the seconds and the detours so far.

    Returns
    -------
    Measured
        Detours, one part for each CPU. `source` has the machine, the clock, the smallest iteration
        and the overhead of writing detours; after Ctrl-C it has "stopped", too. `notes` says what
        happened meanwhile that should not.

    Raises
    ------
    ValueError
        A bad option; a CPU that this process must not use (it names those it may).
    RuntimeError
        The system does not give the CPU.
    KeyboardInterrupt
        Before the recording began.
    """
    seconds = parse_seconds(seconds, "seconds", positive=True)
    if seconds > LONGEST:
        raise ValueError(
            f"seconds must be at most a week, {LONGEST:.0f}, got {show_number(seconds)}"
        )
    quantum = parse_seconds(quantum, "quantum")
    if quantum and not 1e-7 <= quantum <= seconds / 10:
        raise ValueError(
            f"quantum must be 0, or from 100 ns to a tenth of the {show_number(seconds)} s, "
            f"got {show_number(quantum)} s"
        )
    chosen = _check_cpus(cpus)
    usual = int(np.clip(seconds * _EXPECTED, _LEAST_ROOM, MOST_DETOURS))
    room = usual if most is None else check_integer(most, "most", 1, MOST_DETOURS)
    wanted = None if threshold is None else parse_seconds(threshold, "threshold")
    with ExitStack() as stack:
        stack.enter_context(host.elsewhere(chosen))
        recorders = [
            _core.Recorder(cpu=cpu, capacity=room, quantum_ns=round(quantum * 1e9))
            for cpu in chosen
        ]
        for recorder in recorders:
            stack.callback(recorder.stop)
        quiet = [recorder.quiet() for recorder in recorders]
        excess = [_excess(wanted, found) for found in quiet]
        before = host.snapshot(chosen)
        begin = _core.read_counter() + round(_AHEAD * 1e9 / quiet[0]["ns_per_count"])
        for recorder, found, more in zip(recorders, quiet, excess, strict=True):
            length = round(seconds * 1e9 / found["ns_per_count"])
            recorder.go(limit=found["smallest"] + more, begin=begin, length=length)
        stopped = _wait(recorders, seconds, progress)
        after = host.snapshot(chosen)
        found = [recorder.recording() for recorder in recorders]
    rates = [rate(one["moments"]) for one in found]
    for cpu, one, calm, more in zip(chosen, found, quiet, excess, strict=True):
        one |= {"cpu": cpu, "excess": more, "bare": calm["bare"]}
        one["smallest"] = min(one["smallest"], calm["smallest"])
    parts = tuple(_detours(one, hz) for one, hz in zip(found, rates, strict=True))
    source = facts(parts, found, rates, quantum)
    if stopped:
        source["stopped"] = f"by {stopped}, after {_seconds(parts[0]):.3g} of {seconds:g} s"
    return Measured(parts, "jitterfly", source, notes(found, rates, before, after))


def _check_cpus(cpus: Sequence[int] | None) -> list[int]:
    allowed = host.allowed_cpus()
    chosen = [allowed[-1]] if cpus is None else sorted(cpus)
    for cpu in chosen:
        if cpu not in allowed:
            raise ValueError(
                f"cpu must be one that this process may use, {host.show_cpus(allowed)}, got {cpu}"
            )
    if len(set(chosen)) < len(chosen) or not chosen:
        raise ValueError(f"cpus must be one or more, each once, got {chosen}")
    return chosen


def _excess(wanted: float | None, quiet: dict[str, Any]) -> int:
    """Counts that an iteration takes beyond the smallest, if it is a detour."""
    bare = max(quiet["bare"], 1)  # some counters are slower than the loop
    if wanted is None:
        return int((_TIMES_SMALLEST - 1) * bare)
    counts = round(wanted * 1e9 / quiet["ns_per_count"])
    if counts < 2 * bare:
        least = 2 * bare * quiet["ns_per_count"]
        raise ValueError(
            f"threshold must be from {least:.3g} ns, twice the smallest iteration here, "
            f"got {wanted * 1e9:.3g} ns"
        )
    return counts


def _wait(recorders: Sequence[Any], seconds: float, progress: Progress | None) -> str:
    """Until the end; what was before it: "Ctrl-C", the name of another signal, or ""."""
    start = _core.read_counter()
    per_second = 1e9 / recorders[0].quiet()["ns_per_count"]
    try:
        while not all(recorder.wait(_SEEN / len(recorders)) for recorder in recorders):
            if progress is not None:
                passed = (_core.read_counter() - start) / per_second
                progress(min(passed, seconds), sum(recorder.count for recorder in recorders))
    except KeyboardInterrupt as stop:
        for recorder in recorders:
            recorder.stop()
        while not all(recorder.wait(_SEEN) for recorder in recorders):
            pass
        return str(stop) or "Ctrl-C"
    return ""


def _detours(found: dict[str, Any], hz: Rate) -> Detours:
    """From counts to ticks; ends are rounded like starts, so that what is disjoint stays so."""
    scale = TICKS_PER_SECOND / hz.hz
    begin, taken = found["detours"][:, 0] - np.uint64(found["begin"]), found["detours"][:, 1]
    starts = np.rint(begin * scale).astype(np.int64)
    ends = np.rint((begin + taken - np.uint64(found["smallest"])) * scale).astype(np.int64)
    length = np.rint(float(found["end"] - found["begin"]) * scale)
    return Detours(
        starts,
        ends - starts,
        length=max(int(length), 1),
        threshold=round(found["excess"] * scale),
        resolution=round(scale) if scale >= _COARSE else None,
        cpu=str(found["cpu"]),
    )


def _seconds(part: Detours) -> float:
    return part.length / TICKS_PER_SECOND
