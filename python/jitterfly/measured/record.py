"""Measure the noise of this machine: detours of a loop on the time-stamp counter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..engine import core
from ..fields import check_integer, show_number
from ..units import TICKS_PER_SECOND, Time, parse_seconds, show_seconds
from . import host
from .clock import Rate, iteration, rate
from .data import Detours, Measured
from .recording import distrust, facts, notes

MOST_DETOURS = 2**24
LONGEST = 7 * 86400.0  # seconds
_TIMES_SMALLEST = 9  # as Netgauge: an iteration of more than 900 % of the smallest is a detour
_EXPECTED = 20_000  # detours a second that the buffer has room for
_LEAST_ROOM = 100_000
_AHEAD = 0.002  # seconds in which all CPUs get ready
_SEEN = 0.1  # seconds between two looks at Ctrl-C
_COARSE = 1000  # ps, of a counter whose steps are worth telling
_TRIES = 4  # recordings, each with a higher threshold, until the buffer is enough
_EARLY = 0.5  # of the time asked for: a buffer that is full before that ends no useful recording
_LOW = 0.01  # quantile of iterations with work, where the counter's steps blur the smallest

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
    with the last reading before, and lasts for what the iteration took beyond the smallest. Where
    the counter advances in steps longer than the loop, a step stands for the smallest. With a
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
        so an iteration of 9 times, as Netgauge; more where detours of that length fill the buffer
        before half of the time has passed (it records again then, up to 4 times in all).
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
        and the overhead of writing detours; after Ctrl-C it has "stopped", too. Where the numbers
        are those of the recorder rather than of the machine, or of far less time than was asked
        for, it has "untrusted", with the reasons. `notes` says what happened meanwhile that should
        not.

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
    excess: dict[int, int] = {}
    text: list[str] = []
    for tries_left in reversed(range(_TRIES)):
        found, before, after, stopped = _once(
            seconds, chosen, room, quantum, wanted, excess, progress
        )
        rates = [rate(one["moments"]) for one in found]
        early = [
            (one, hz)
            for one, hz in zip(found, rates, strict=True)
            if one["full"] and one["end"] - one["begin"] < _EARLY * one["asked"]
        ]
        if stopped or wanted is not None or not early or not tries_left:
            break
        for one, hz in early:
            excess[one["cpu"]] = _raised(one)
            text.append(_raising(one, hz, excess[one["cpu"]]))
    parts = tuple(_detours(one, hz) for one, hz in zip(found, rates, strict=True))
    source = facts(parts, found, rates, quantum)
    if stopped:
        source["stopped"] = f"by {stopped}, after {_seconds(parts[0]):.3g} of {seconds:g} s"
    reasons = [
        f"CPU {one['cpu']}: {reason}"
        for one, hz in zip(found, rates, strict=True)
        for reason in distrust(one, hz)
    ]
    if early and not stopped:
        reasons += [
            f"CPU {one['cpu']}: its buffer was full after "
            f"{show_seconds((one['end'] - one['begin']) / hz.hz, 3)} of {seconds:g} s, far too "
            "short for rare detours and high percentiles"
            for one, hz in early
        ]
    if reasons:
        source["untrusted"] = "; ".join(reasons)
    return Measured(parts, "jitterfly", source, (*text, *notes(found, rates, before, after)))


def _once(
    seconds: float,
    cpus: Sequence[int],
    room: int,
    quantum: float,
    wanted: float | None,
    raised: Mapping[int, int],
    progress: Progress | None,
) -> tuple[list[dict[str, Any]], host.Snapshot, host.Snapshot, str]:
    """One recording: what each CPU found, the machine before and after, what stopped it."""
    with ExitStack() as stack:
        stack.enter_context(host.elsewhere(cpus))
        recorders = [
            core.Recorder(cpu=cpu, capacity=room, quantum_ns=round(quantum * 1e9)) for cpu in cpus
        ]
        for recorder in recorders:
            stack.callback(recorder.stop)
        calm = [_calm(recorder.quiet()) for recorder in recorders]
        for cpu, one in zip(cpus, calm, strict=True):
            one["cpu"] = cpu
            one["excess"] = max(_excess(wanted, one), raised.get(cpu, 0))
            one["asked"] = round(seconds * 1e9 / one["ns_per_count"])
        before = host.snapshot(cpus)
        begin = core.read_counter() + round(_AHEAD * 1e9 / calm[0]["ns_per_count"])
        for recorder, one in zip(recorders, calm, strict=True):
            recorder.go(limit=one["regular"] + one["excess"], begin=begin, length=one["asked"])
        stopped = _wait(recorders, seconds, 1e9 / calm[0]["ns_per_count"], progress)
        after = host.snapshot(cpus)
        found = [
            {**one, **recorder.recording()} for one, recorder in zip(calm, recorders, strict=True)
        ]
    for one in found:  # the CPU may have been slower while it was calibrated
        blur = one["step"] if one["steps_blur"] else 0
        one["regular"] = min(one["regular"], one["smallest"] + blur)
    return found, before, after, stopped


def _calm(quiet: dict[str, Any]) -> dict[str, Any]:
    """What an iteration takes where nothing disturbs it, from those of the calibration.

    `regular` is what a detour's duration leaves out, with the work of a quantum if there is one.
    """
    bare = iteration(quiet["bare"])
    blur, regular = bare.is_shorter_than_step, bare.regular
    if len(quiet["with_work"]):
        low = np.quantile(quiet["with_work"], _LOW if blur else 0.0, method="lower")
        regular = max(int(low), bare.regular)
    return {
        "ns_per_count": quiet["ns_per_count"],
        "bare": bare.regular,
        "step": bare.step,
        "steps_blur": blur,
        "regular": regular,
    }


def _raised(one: dict[str, Any]) -> int:
    """Counts beyond the regular iteration of which half of the buffer will hold the detours."""
    recorded = one["end"] - one["begin"]
    keep = 0.5 * min(recorded / one["asked"], 1.0)
    longer = int(np.quantile(one["detours"][:, 1], 1 - keep, method="higher")) - one["regular"]
    return max(longer, 2 * one["excess"])


def _raising(one: dict[str, Any], hz: Rate, excess: int) -> str:
    count, passed = len(one["detours"]), (one["end"] - one["begin"]) / hz.hz
    return (
        f"CPU {one['cpu']}: detours from {show_seconds(one['excess'] / hz.hz, 3)} filled the "
        f"buffer of {count:,} in {show_seconds(passed, 3)}, so it recorded again those from "
        f"{show_seconds(excess / hz.hz, 3)}"
    )


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


def _excess(wanted: float | None, calm: dict[str, Any]) -> int:
    """Counts that an iteration takes beyond the regular one, if it is a detour."""
    if wanted is None:
        return int((_TIMES_SMALLEST - 1) * calm["bare"])
    counts = round(wanted * 1e9 / calm["ns_per_count"])
    if counts < 2 * calm["bare"]:
        least = 2 * calm["bare"] * calm["ns_per_count"]
        raise ValueError(
            f"threshold must be from {least:.3g} ns, twice the smallest iteration here, "
            f"got {wanted * 1e9:.3g} ns"
        )
    return counts


def _wait(
    recorders: Sequence[Any], seconds: float, per_second: float, progress: Progress | None
) -> str:
    """Until the end; what was before it: "Ctrl-C", the name of another signal, or ""."""
    start = core.read_counter()
    try:
        while not all(recorder.wait(_SEEN / len(recorders)) for recorder in recorders):
            if progress is not None:
                passed = (core.read_counter() - start) / per_second
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
    step = found["step"] * scale
    begin, taken = found["detours"][:, 0] - np.uint64(found["begin"]), found["detours"][:, 1]
    starts = np.rint(begin * scale).astype(np.int64)
    ends = np.rint((begin + taken - np.uint64(found["regular"])) * scale).astype(np.int64)
    length = np.rint(float(found["end"] - found["begin"]) * scale)
    return Detours(
        starts,
        ends - starts,
        length=max(int(length), 1),
        threshold=round(found["excess"] * scale),
        resolution=round(step) if step >= _COARSE else None,
        cpu=str(found["cpu"]),
    )


def _seconds(part: Detours) -> float:
    return part.length / TICKS_PER_SECOND
