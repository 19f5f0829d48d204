"""Recording of noise on this machine: detour threshold, calibration, doubtful recordings.

The loop that finds the detours is in cuda/record/detours.cpp. The counter's rate is calibrated
against the system's CLOCK_MONOTONIC_RAW, which nobody sets and NTP does not steer. Its steps show
in the iterations of a loop that does nothing but read it. A recording says of itself how the clock
ran, what the recorder itself cost, and what went wrong.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import resources
from ..backends import core
from ..fields import check_integer, counted, show_number
from ..units import TICKS_PER_SECOND, Time, parse_seconds, show_seconds
from ..version import __version__
from . import host
from .measurements import LOAD_NOTE, QUANTUM_NOTE, Detours, Measured

Moment = tuple[int, int, int]
"""A reading of both clocks: counter, nanoseconds, and how many counts they may be apart."""

_RATES_AGREE = 1e-5  # two calibrations: beyond what their errors explain
_RARE_ITERATION = 1e-3  # share of the iterations below which one of that length is not a usual one
# A usual iteration is longer than this many of the smallest: that one was within a step.
_WITHIN_A_STEP = 3
_STEADY = 0.01  # of a frequency
_MOSTLY = 0.5  # of the time
_BUSY = 0.1  # of the time that other threads ran: it is load
_BUSY_SHOWN = 0.01  # share of the time from which on a note says it
_STOLEN_SHOWN = 1e-3  # share of the time that a hypervisor took
MAX_DETOURS = 2**24
SHORTEST, LONGEST = 1e-4, 7 * 86400.0  # seconds
_TIMES_SMALLEST = 9  # as Netgauge: an iteration of more than 900 % of the smallest is a detour
_EXPECTED = 20_000  # detours a second that the buffer has room for
_MIN_ROOM = 100_000
_AHEAD = 0.002  # seconds in which all CPUs get ready
_POLL_SECONDS = 0.1  # seconds between two looks at Ctrl-C
_COARSE = 1000  # ps, of a counter whose steps are worth telling
_TRIES = 4  # recordings, each with a higher threshold, until the buffer is enough
_EARLY = 0.5  # of the time asked for: a buffer that is full before that ends no useful recording
# Quantile of iterations with work, where the counter's steps blur the smallest.
_LOW_QUANTILE = 0.01
Progress = Callable[[float, int], object]


@dataclass(frozen=True)
class Rate:
    """The rate of a counter, in counts a second.

    Parameters
    ----------
    hz : float
        Over the recording, the longest of three measurements.
    drift : float
        Relative change from the calibration before the recording to that after it.
    drift_error : float
        What of it the errors of the two explain, an upper bound.
    """

    hz: float
    drift: float
    drift_error: float

    @property
    def steady(self) -> bool:
        """Return whether the calibrations before and after agree."""
        return abs(self.drift) <= self.drift_error + _RATES_AGREE


def rate(moments: Sequence[Moment]) -> Rate:
    """The rate of a counter from four moments: calibration, recording, calibration.

    Raises
    ------
    ValueError
        A clock that does not advance.

    Examples
    --------
    >>> found = rate([(0, 0, 0), (250, 100, 0), (1250, 500, 0), (1500, 600, 0)])
    >>> found.hz, found.drift
    (2500000000.0, 0.0)
    """
    before, during, after = (_rate_between(moments[i], moments[i + 1]) for i in range(3))
    return Rate(during[0], after[0] / before[0] - 1, before[1] + after[1])


def _rate_between(earlier: Moment, later: Moment) -> tuple[float, float]:
    """Counts a second, and the relative error of that."""
    counts, ns = later[0] - earlier[0], later[1] - earlier[1]
    if counts <= 0 or ns <= 0:
        raise ValueError(f"the clock stood still: {counts} counts in {ns} ns")
    return counts / ns * 1e9, (earlier[2] + later[2]) / 2 / counts + 1 / ns


@dataclass(frozen=True)
class Iteration:
    """The time of an iteration that reads a counter, where nothing disturbs it, in counts.

    Parameters
    ----------
    smallest : int
        What two readings were apart at least.
    regular : int
        What it takes, as far as the counter can tell: the smallest, or a step of the counter where
        that is longer.
    step : int
        In which the counter advances, 1 where nothing else is seen.
    """

    smallest: int
    regular: int
    step: int

    @property
    def is_shorter_than_step(self) -> bool:
        """Return whether the loop reads the counter several times within one of its steps."""
        return self.regular > max(self.smallest, 1)


def iteration(taken: npt.ArrayLike, times: npt.ArrayLike | None = None) -> Iteration:
    """The iteration of a loop from a histogram of those that were seen.

    Some counters (AMD's since Zen 5, and where a hypervisor scales it) advance in steps that are
    longer than the loop, and a second reading within a step is the last one + 1. The smallest
    iteration is then 1 count, though no program can see anything that is shorter than a step. The
    usual iteration is taken by time: half of all time passes in iterations of at least that length.

    Parameters
    ----------
    taken : array_like of int
        Counts that iterations took, one or more.
    times : array_like of int, optional
        How often each was seen. Default: once.

    Examples
    --------
    >>> iteration([1, 25, 26, 51, 52], [107753, 107654, 1784173, 85, 192])
    Iteration(smallest=1, regular=26, step=26)
    >>> iteration([18, 20, 22, 3000], [50, 900, 50, 1])
    Iteration(smallest=18, regular=18, step=2)
    >>> iteration([24, 5000], [65530, 6])
    Iteration(smallest=24, regular=24, step=1)
    """
    values, where = np.unique(np.asarray(taken, np.int64), return_inverse=True)
    counts = np.bincount(where.ravel(), None if times is None else np.asarray(times, float))
    common = counts >= _RARE_ITERATION * counts.sum()
    if not common.any():
        common[:] = True
    passed = np.cumsum((values * counts)[common])
    usual = int(values[common][np.searchsorted(passed, passed[-1] / 2)])
    smallest = int(values[0])
    if usual > _WITHIN_A_STEP * max(smallest, 1):
        return Iteration(smallest, usual, usual)
    # Rare ones count as well, but not those that something disturbed. One alone says nothing.
    near = values[values <= _WITHIN_A_STEP * max(smallest, 1)]
    step = int(np.gcd.reduce(near)) if len(near) > 1 else 1
    return Iteration(smallest, max(smallest, 1), max(step, 1))


Recording = dict[str, Any]
"""Of one CPU: what `core.Recorder` found, what calm iterations take, and the counter's `Rate`.

Times are counts but where a key says otherwise; `excess` is the threshold beyond the regular
iteration, `passed` how long it recorded and `asked` how long it should.
"""


def _source_of(recordings: Sequence[Recording], quantum: float) -> dict[str, str]:
    """Return `Measured.source`: what recorded it, where, when, with which clock, at what cost."""
    source = {
        "tool": "jitterfly noise record",
        "version": __version__,
        "node": platform.node(),
        "machine": f"{platform.node()}, {host.model()}"
        + (", a virtual machine" if host.is_virtual() else ""),
        "kernel": f"{platform.system()} {platform.release()} {platform.version()}",
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "cpus": host.show_cpus(recording["cpu"] for recording in recordings),
        "counter": f"{core.counter}, {_per_cpu(recordings, _counter_text)}",
        "calibration": "against CLOCK_MONOTONIC_RAW (clocksource "
        f"{host.clocksource()}): before and after differ by "
        + _per_cpu(recordings, lambda recording: f"{1e6 * recording['rate'].drift:.2g} ppm")
        + f", known to {1e6 * max(r['rate'].drift_error for r in recordings):.2g} ppm",
        "iteration": _per_cpu(recordings, _iteration_text),
    }
    task = resources.task()
    if task is not None:
        source["rank"] = f"{task[0]} of {task[1]}"
    if quantum:
        source["quantum"] = f"{show_seconds(quantum)} of work in each iteration"
    return {**source, "overhead": _per_cpu(recordings, _overhead_text)}


def _per_cpu(recordings: Sequence[Recording], text_of: Callable[[Recording], str]) -> str:
    """Return a text on each CPU, or one where it is the same on all."""
    texts = {recording["cpu"]: text_of(recording) for recording in recordings}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"CPU {cpu}: {text}" for cpu, text in texts.items())


def _counter_text(recording: Recording) -> str:
    steps = f", in steps of {recording['step']} counts" if recording["step"] > 1 else ""
    return f"{recording['rate'].hz / 1e6:.6f} MHz{steps}"


def _iteration_text(recording: Recording) -> str:
    """Return the smallest iteration, which durations leave out, and the mean one, in words."""
    smallest = f"smallest {_seconds(recording, recording['regular'])}"
    if recording["steps_blur"] and recording["regular"] == recording["step"]:
        smallest = f"as long as a step of the counter, {_seconds(recording, recording['step'])}"
    return (
        f"{smallest}, mean without detours {_seconds(recording, _mean_iteration(recording))}, "
        f"{recording['iterations']:,} in all"
    )


def _seconds(recording: Recording, counts: float, digits: int = 4) -> str:
    """Counts as a time, for people."""
    return show_seconds(counts / recording["rate"].hz, digits)


def _mean_iteration(recording: Recording) -> float:
    """Counts of an iteration, without detours and what writing them took."""
    lost = int(recording["detours"][:, 1].sum()) + recording["write_time"]
    undisturbed = max(recording["iterations"] - len(recording["detours"]), 1)
    return float((recording["passed"] - lost) / undisturbed)


def _overhead_text(recording: Recording) -> str:
    """Say what it took to write the detours down."""
    count = len(recording["detours"])
    if not count:
        return "none: no detours"
    each = _seconds(recording, recording["write_time"] / count, 3)
    share = recording["write_time"] / recording["passed"]
    return f"{each} for each detour written, {share:.2g} of the time"


def _reasons_for_distrust(recording: Recording) -> list[str]:
    """List why a recording is one of the recorder itself; empty if it is not."""
    reasons, mean = [], _mean_iteration(recording)
    if mean < recording["smallest"] and len(recording["detours"]):
        reasons.append(
            f"the mean iteration, {_seconds(recording, max(mean, 0.0))}, is below the smallest, "
            f"{_seconds(recording, recording['smallest'])}: the detours are its own iterations"
        )
    share = recording["write_time"] / max(recording["passed"], 1)
    if share > _MOSTLY:
        reasons.append(f"it spent {share:.0%} of the time on writing detours, and saw none then")
    if (busy := _busy_share(recording)) > _BUSY:
        reasons.append(
            f"other threads ran there for about {busy:.0%} of the time "
            f"({recording['preemptions']:,} times), which is load rather than noise: record on an "
            "idle machine"
        )
    return reasons


def _busy_share(recording: Recording) -> float:
    """The share of the time for which other threads ran in place of the recorder, about.

    Nobody says how long each took; waiting for one's turn again is longer than other detours.
    """
    times = recording["detours"][:, 1]
    count = min(recording["preemptions"], len(times))
    if count == 0:
        return 0.0
    longest = np.partition(times, len(times) - count)[len(times) - count :]
    return float(longest.sum() / max(recording["passed"], 1))


def _notes_of(
    recordings: Sequence[Recording], before: host.Snapshot, after: host.Snapshot
) -> tuple[str, ...]:
    """Say what happened that should not, and what the numbers do not say."""
    text = []
    flaw = host.counter_flaw(core.counter)
    if flaw:
        text.append(f"the counter's rate may not be constant: {flaw}")
    for recording in recordings:
        text += _notes_on_cpu(recording, before, after)
    if before.online != after.online:
        text.append(f"CPUs went offline or online meanwhile: {before.online}, {after.online}")
    if host.is_virtual():
        text.append("this is a virtual machine: time that the host takes counts as detours, unless "
                    "it stops the counter, too")  # fmt: skip
    allowed = host.allowed_cpus()
    if len(recordings) == len(allowed):
        text.append("every CPU was recorded, so the thread that waits for the end ran on one of "
                    "them, ten times a second")  # fmt: skip
    else:
        text.append(
            f"the recorder kept {len(recordings)} of {len(allowed)} CPUs busy, so other work could "
            "move to the rest: for a program that runs on all of them, record all at once"
        )
    return tuple(text)


def _notes_on_cpu(recording: Recording, before: host.Snapshot, after: host.Snapshot) -> list[str]:
    """Say what happened on one CPU that makes its recording less certain."""
    text, cpu, rate = [], recording["cpu"], recording["rate"]
    seconds = recording["passed"] / rate.hz
    if not rate.steady:
        text.append(
            f"CPU {cpu}: the calibrations disagree by {1e6 * rate.drift:.3g} ppm, so the "
            "counter's rate is not constant"
        )
    if recording["full"]:
        count = counted(len(recording["detours"]), "detour")
        text.append(
            f"CPU {cpu}: the buffer was full after {count} in {seconds:.3g} s, "
            "which ended the recording; a higher threshold needs less room"
        )
    if recording["moved_to"] >= 0:
        text.append(
            f"CPU {cpu}: the pinned thread was found on CPU {recording['moved_to']}: did CPU {cpu} "
            "go offline?"
        )
    if recording["faults"]:
        text.append(
            f"CPU {cpu}: {recording['faults']} page faults in the loop are among the detours"
        )
    if recording["preemptions"]:
        count = counted(recording["preemptions"], "time")
        busy = _busy_share(recording)
        share = f", for about {busy:.0%} of the time" if busy > _BUSY_SHOWN else ""
        text.append(
            f"CPU {cpu}: {count} {LOAD_NOTE}{share}; on an "
            "idle machine that is noise, on a busy one it is load"
        )
    stolen = after.stolen.get(cpu, 0.0) - before.stolen.get(cpu, 0.0)
    if stolen > _STOLEN_SHOWN * seconds:
        text.append(
            f"CPU {cpu}: a hypervisor took it for {show_seconds(stolen, 3)} "
            f"({stolen / seconds:.2g} of the time), says /proc/stat"
        )
    one_hz, other_hz = before.frequency.get(cpu), after.frequency.get(cpu)
    if one_hz and other_hz and abs(other_hz / one_hz - 1) > _STEADY:
        text.append(
            f"CPU {cpu}: its frequency went from {one_hz / 1e6:.0f} to {other_hz / 1e6:.0f} MHz "
            f"(governor {before.governor.get(cpu, 'unknown')}): the smallest iteration is that "
            "of the highest"
        )
    return text


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
    if seconds < SHORTEST:
        raise ValueError(
            f"seconds must be at least {show_seconds(SHORTEST)}, got {show_seconds(seconds)}; "
            "rare detours take seconds to be seen"
        )
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
    usual = int(np.clip(seconds * _EXPECTED, _MIN_ROOM, MAX_DETOURS))
    room = usual if most is None else check_integer(most, "most", 1, MAX_DETOURS)
    wanted = None if threshold is None else parse_seconds(threshold, "threshold")
    excess: dict[int, int] = {}
    text: list[str] = []
    for tries_left in reversed(range(_TRIES)):
        recordings, before, after, stopped = _record_once(
            seconds, chosen, room, quantum, wanted, excess, progress
        )
        early = [
            recording
            for recording in recordings
            if recording["full"] and recording["passed"] < _EARLY * recording["asked"]
        ]
        if stopped or wanted is not None or not early or not tries_left:
            break
        for recording in early:
            excess[recording["cpu"]] = _raised_threshold(recording)
            text.append(_note_of_raising(recording, excess[recording["cpu"]]))
    parts = tuple(map(_detours, recordings))
    source = _source_of(recordings, quantum)
    if stopped:
        took = parts[0].length / TICKS_PER_SECOND
        source["stopped"] = f"by {stopped}, after {took:.3g} of {seconds:g} s"
    reasons = [
        f"CPU {recording['cpu']}: {reason}"
        for recording in recordings
        for reason in _reasons_for_distrust(recording)
    ]
    if early and not stopped:
        reasons += [
            f"CPU {recording['cpu']}: its buffer was full after "
            f"{_seconds(recording, recording['passed'], 3)} of {seconds:g} s, "
            "far too short for rare detours and high percentiles"
            for recording in early
        ]
    if reasons:
        source["untrusted"] = "; ".join(reasons)
    if quantum:
        text.append(QUANTUM_NOTE)
    return Measured(parts, "jitterfly", source, (*text, *_notes_of(recordings, before, after)))


def _record_once(
    seconds: float,
    cpus: Sequence[int],
    room: int,
    quantum: float,
    wanted: float | None,
    raised: Mapping[int, int],
    progress: Progress | None,
) -> tuple[list[Recording], host.Snapshot, host.Snapshot, str]:
    """One recording: what each CPU found, the machine before and after, what stopped it."""
    with ExitStack() as stack:
        stack.enter_context(host.elsewhere(cpus))
        recorders = [
            core.Recorder(cpu=cpu, capacity=room, quantum_ns=round(quantum * 1e9)) for cpu in cpus
        ]
        for recorder in recorders:
            stack.callback(recorder.stop)
        calm = [_undisturbed(recorder.quiet()) for recorder in recorders]
        for cpu, recording in zip(cpus, calm, strict=True):
            recording["cpu"] = cpu
            recording["excess"] = max(_threshold_counts(wanted, recording), raised.get(cpu, 0))
            recording["asked"] = round(seconds * 1e9 / recording["ns_per_count"])
        before = host.snapshot(cpus)
        begin = core.read_counter() + round(_AHEAD * 1e9 / calm[0]["ns_per_count"])
        for recorder, recording in zip(recorders, calm, strict=True):
            recorder.go(
                limit=recording["regular"] + recording["excess"],
                begin=begin,
                length=recording["asked"],
            )
        stopped = _wait(recorders, seconds, 1e9 / calm[0]["ns_per_count"], progress)
        after = host.snapshot(cpus)
        recordings = [
            {**recording, **recorder.recording()}
            for recording, recorder in zip(calm, recorders, strict=True)
        ]
    for recording in recordings:
        recording["passed"] = recording["end"] - recording["begin"]
        recording["rate"] = rate(recording["moments"])
        # The CPU may have been slower while it was calibrated.
        blur = recording["step"] if recording["steps_blur"] else 0
        recording["regular"] = min(recording["regular"], recording["smallest"] + blur)
    return recordings, before, after, stopped


def _undisturbed(quiet: dict[str, Any]) -> dict[str, Any]:
    """Find what an iteration takes where nothing disturbs it, from those of the calibration.

    `regular` is what a detour's duration leaves out, with the work of a quantum if there is one.
    """
    bare = iteration(quiet["bare"])
    blur, regular = bare.is_shorter_than_step, bare.regular
    if len(quiet["with_work"]):
        low = np.quantile(quiet["with_work"], _LOW_QUANTILE if blur else 0.0, method="lower")
        regular = max(int(low), bare.regular)
    return {
        "ns_per_count": quiet["ns_per_count"],
        "bare": bare.regular,
        "step": bare.step,
        "steps_blur": blur,
        "regular": regular,
    }


def _raised_threshold(recording: Recording) -> int:
    """Counts beyond the regular iteration of which half of the buffer will hold the detours."""
    keep = 0.5 * min(recording["passed"] / recording["asked"], 1.0)
    longest = np.quantile(recording["detours"][:, 1], 1 - keep, method="higher")
    return max(int(longest) - recording["regular"], 2 * recording["excess"])


def _note_of_raising(recording: Recording, excess: int) -> str:
    return (
        f"CPU {recording['cpu']}: detours from {_seconds(recording, recording['excess'], 3)} "
        f"filled the buffer of {len(recording['detours']):,} in "
        f"{_seconds(recording, recording['passed'], 3)}, so it recorded again those from "
        f"{_seconds(recording, excess, 3)}"
    )


def _check_cpus(cpus: Sequence[int] | None) -> list[int]:
    """Return the CPUs to record on, sorted; without any the last that is allowed."""
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


def _threshold_counts(wanted: float | None, calm: dict[str, Any]) -> int:
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
    recorders: Sequence[core.Recorder], seconds: float, per_second: float, progress: Progress | None
) -> str:
    """Wait until the end; return what came before it: "Ctrl-C", another signal's name, or ""."""
    start = core.read_counter()
    try:
        while not all(recorder.wait(_POLL_SECONDS / len(recorders)) for recorder in recorders):
            if progress is not None:
                passed = (core.read_counter() - start) / per_second
                progress(min(passed, seconds), sum(recorder.count for recorder in recorders))
    except KeyboardInterrupt as stop:
        for recorder in recorders:
            recorder.stop()
        while not all(recorder.wait(_POLL_SECONDS) for recorder in recorders):
            pass
        return str(stop) or "Ctrl-C"
    return ""


def _detours(recording: Recording) -> Detours:
    """Convert counts to ticks; ends are rounded like starts, so that detours stay disjoint.

    A detour is what an iteration took beyond the regular time, from where the iteration began.
    """
    scale = TICKS_PER_SECOND / recording["rate"].hz
    step = recording["step"] * scale
    begin, taken = recording["detours"].T
    begin = begin - np.uint64(recording["begin"])  # exact, before a product is rounded
    end = begin + taken - np.uint64(recording["regular"])
    starts, ends = (np.rint(counts * scale).astype(np.int64) for counts in (begin, end))
    length = np.rint(float(recording["passed"]) * scale)
    return Detours(
        starts,
        ends - starts,
        length=max(int(length), 1),
        threshold=round(recording["excess"] * scale),
        resolution=round(step) if step >= _COARSE else None,
        cpu=str(recording["cpu"]),
    )
