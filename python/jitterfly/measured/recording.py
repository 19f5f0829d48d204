"""What a recording says of itself: the clock, its own overhead, and what went wrong."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from .. import launchers
from ..engine import core
from ..info import __version__
from ..units import TICKS_PER_SECOND, show_seconds
from . import host
from .clock import Rate
from .data import Detours

_STEADY = 0.01  # of a frequency
_MOSTLY = 0.5  # of the time
_BUSY = 0.1  # of the time that other threads ran
_SHOWN = 1e-3  # share of the time that a hypervisor took


def facts(
    parts: Sequence[Detours], found: Sequence[dict[str, Any]], rates: Sequence[Rate], quantum: float
) -> dict[str, str]:
    """For `Measured.source`: what, where, when, with which clock, at what cost."""
    source = {
        "tool": "jitterfly noise record",
        "version": __version__,
        "node": platform.node(),
        "machine": f"{platform.node()}, {host.model()}"
        + (", a virtual machine" if host.is_virtual() else ""),
        "kernel": f"{platform.system()} {platform.release()} {platform.version()}",
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "cpus": host.show_cpus(one["cpu"] for one in found),
        "counter": f"{core.counter}, "
        + _each(found, [_counter(*pair) for pair in zip(found, rates, strict=True)]),
        "calibration": "against CLOCK_MONOTONIC_RAW (clocksource "
        f"{host.clocksource()}): before and after differ by "
        + _each(found, [f"{1e6 * hz.drift:.2g} ppm" for hz in rates])
        + f", known to {1e6 * max(hz.drift_error for hz in rates):.2g} ppm",
        "iteration": _each(found, [_iteration(*pair) for pair in zip(found, rates, strict=True)]),
    }
    task = launchers.task()
    if task is not None:
        source["rank"] = f"{task[0]} of {task[1]}"
    if quantum:
        source["quantum"] = f"{show_seconds(quantum)} of work in each iteration"
    costs = [_cost(*each) for each in zip(parts, found, rates, strict=True)]
    return {**source, "overhead": _each(found, costs)}


def _each(found: Sequence[dict[str, Any]], texts: Sequence[str]) -> str:
    """One text where all CPUs have the same."""
    if len(set(texts)) == 1:
        return texts[0]
    return "; ".join(f"CPU {one['cpu']}: {text}" for one, text in zip(found, texts, strict=True))


def _counter(found: dict[str, Any], hz: Rate) -> str:
    steps = f", in steps of {found['step']} counts" if found["step"] > 1 else ""
    return f"{hz.hz / 1e6:.6f} MHz{steps}"


def _iteration(found: dict[str, Any], hz: Rate) -> str:
    """The smallest, which a detour's duration leaves out, and what is usual."""
    smallest = f"smallest {show_seconds(found['regular'] / hz.hz)}"
    if found["steps_blur"] and found["regular"] == found["step"]:
        smallest = f"as long as a step of the counter, {show_seconds(found['step'] / hz.hz)}"
    return (
        f"{smallest}, mean without detours {show_seconds(_mean(found) / hz.hz)}, "
        f"{found['iterations']:,} in all"
    )


def _mean(found: dict[str, Any]) -> float:
    """Counts of an iteration, without detours and what writing them took."""
    lost = int(found["detours"][:, 1].sum()) + found["write_time"]
    rest = max(found["iterations"] - len(found["detours"]), 1)
    return float((found["end"] - found["begin"] - lost) / rest)


def _cost(part: Detours, found: dict[str, Any], hz: Rate) -> str:
    count = len(part.starts)
    if not count:
        return "none: no detours"
    each = found["write_time"] / hz.hz / count
    share = found["write_time"] / hz.hz / (part.length / TICKS_PER_SECOND)
    return f"{show_seconds(each, 3)} for each detour written, {share:.2g} of the time"


def distrust(found: dict[str, Any], hz: Rate) -> list[str]:
    """Why a recording is one of the recorder itself; empty if it is not."""
    reasons, mean = [], _mean(found)
    if mean < found["smallest"] and len(found["detours"]):
        reasons.append(
            f"a mean iteration of {show_seconds(max(mean, 0.0) / hz.hz)} is below the smallest, "
            f"{show_seconds(found['smallest'] / hz.hz)}, so what it took for detours were its own "
            "iterations"
        )
    share = found["write_time"] / max(found["end"] - found["begin"], 1)
    if share > _MOSTLY:
        reasons.append(f"{share:.0%} of the time was spent on writing detours, and saw none")
    # Nobody says how long each took; waiting for one's turn again is longer than other detours.
    longest = np.sort(found["detours"][:, 1])[::-1][: found["preemptions"]]
    busy = float(longest.sum()) / max(found["end"] - found["begin"], 1)
    if busy > _BUSY:
        reasons.append(
            f"other threads ran there for about {busy:.0%} of the time ({found['preemptions']:,} "
            "times), so that it is load rather than noise: record on an idle machine"
        )
    return reasons


def notes(
    found: Sequence[dict[str, Any]],
    rates: Sequence[Rate],
    before: host.Snapshot,
    after: host.Snapshot,
) -> tuple[str, ...]:
    """What happened that should not, and what the numbers do not say."""
    text = []
    flaw = host.counter_flaw(core.counter)
    if flaw:
        text.append(f"the counter's rate may not be constant: {flaw}")
    for one, hz in zip(found, rates, strict=True):
        text += _on_cpu(one, hz, before, after)
    if before.online != after.online:
        text.append(f"CPUs were taken off or added meanwhile: {before.online}, {after.online}")
    if host.is_virtual():
        text.append("a virtual machine: what the host takes is in the detours, unless it stops "
                    "the counter as well")  # fmt: skip
    allowed = host.allowed_cpus()
    if len(found) == len(allowed):
        text.append("every CPU was measured, so the thread that waits for the end ran on one of "
                    "them, ten times a second")  # fmt: skip
    else:
        text.append(
            f"{len(found)} of {len(allowed)} CPUs were kept busy; where a program runs on all of "
            "them, nothing can evade to another: measure all at once for that"
        )
    return tuple(text)


def _on_cpu(
    one: dict[str, Any], hz: Rate, before: host.Snapshot, after: host.Snapshot
) -> list[str]:
    text, cpu = [], one["cpu"]
    seconds = (one["end"] - one["begin"]) / hz.hz
    if not hz.steady:
        text.append(
            f"CPU {cpu}: the calibrations disagree by {1e6 * hz.drift:.3g} ppm, so the "
            "counter's rate is not constant"
        )
    if one["full"]:
        many = len(one["detours"])
        count = f"{many:,} detour{'s' * (many != 1)}"
        text.append(
            f"CPU {cpu}: the buffer was full after {count} in {seconds:.3g} s, "
            "which ended the recording there; a higher threshold needs less"
        )
    if one["moved_to"] >= 0:
        text.append(
            f"CPU {cpu}: the thread was found on CPU {one['moved_to']}, although it was "
            "pinned: was this one taken off?"
        )
    if one["faults"]:
        text.append(f"CPU {cpu}: {one['faults']} page faults in the loop are among the detours")
    if one["preemptions"]:
        count = f"{one['preemptions']:,} time{'s' * (one['preemptions'] != 1)}"
        text.append(
            f"CPU {cpu}: {count} other threads ran there in place of the recorder; on an idle "
            "machine that is noise, on a busy one its load"
        )
    stolen = after.stolen.get(cpu, 0.0) - before.stolen.get(cpu, 0.0)
    if stolen > _SHOWN * seconds:
        text.append(
            f"CPU {cpu}: a hypervisor took it for {show_seconds(stolen, 3)} "
            f"({stolen / seconds:.2g} of the time), by /proc/stat"
        )
    one_hz, other_hz = before.frequency.get(cpu), after.frequency.get(cpu)
    if one_hz and other_hz and abs(other_hz / one_hz - 1) > _STEADY:
        text.append(
            f"CPU {cpu}: its frequency went from {one_hz / 1e6:.0f} to {other_hz / 1e6:.0f} MHz "
            f"(governor {before.governor.get(cpu, 'unknown')}): the smallest iteration is that "
            "of the highest"
        )
    return text
