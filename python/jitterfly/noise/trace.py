"""`TraceNoise`: replay of recorded noise from a random offset (HSL10), or its block bootstrap.

Its `doubts` are the warnings of a scarce recording. The trace is a measurement of noise here.
`jitterfly.replay` is of messages: those of a realization.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..distributions.distribution import LARGEST
from ..fields import (
    Array,
    Converted,
    EqualByFields,
    FloatsLike,
    check_integer,
    check_numbers,
    counted,
    shorten,
)
from ..files import FileName, find_file
from ..stats import ENOUGH_EVENTS
from ..units import (
    TICKS_PER_SECOND,
    OptionalSeconds,
    Seconds,
    array_to_ticks,
    from_ticks,
    parse_seconds,
    show_seconds,
    to_ticks,
    warn_of_long,
)
from .recorded_delays import RecordedDelays, Recording
from .source import (
    BurstsField,
    ExpectedWork,
    Hits,
    HostsField,
    IntervalNoise,
    Shared,
    check_times_of_ranks,
    node_ranks,
)

if TYPE_CHECKING:
    from ..measured import Detours

_STRETCHES = 30  # of a recording that is resampled
_CONFIDENCE = 0.95  # with which a recording is said to be ample
_PART_TAKEN = 0.1  # of a recording, by a realization: above, its longest detours are in most
_WAYS = "one of file, (starts, durations and length) and trace"


@dataclass(frozen=True, eq=False)
class TraceNoise(EqualByFields, IntervalNoise, kind="trace"):
    """The interruptions of the CPU as they were measured, over and over again.

    With a trace of some length and a rank's offset, the rank is busy at time t if the trace is busy
    at ``(t + offset) mod length``.

    Parameters
    ----------
    file : str or Path
        A file with detours that `jitterfly.measured.load` reads. In a study it is relative to the
        study's file.
    part : int or "each", optional
        Which part (CPU, run) of a file that has several, from 0. "each": with P parts, rank i
        replays part ``i // ranks_per_part mod P``, from an offset that is drawn for it. A merged
        file has a part for each CPU of each node, in the order of the nodes. The ranks of a part
        without detours are never interrupted.
    ranks_per_part : int, optional
        With "each": how many consecutive ranks replay the same part, such as the ranks of a node of
        which one CPU was recorded. 1 where it is left out, as for a rank on each recorded CPU.
        Parts that no rank replays give a warning.
    starts, durations : array of float, shape (detours,)
        Instead of a file: sorted intervals ``[start, start + duration)`` that do not overlap,
        seconds.
    length : float or str
        How long that was observed, seconds; not before the end of the last detour.
    trace : Detours
        Instead of both; becomes `starts`, `durations` and `length`.
    offset : "random", float, str, or array of float, shape (ranks,)
        Where in the trace each rank begins: anywhere, drawn for each rank; or there, seconds, below
        the length.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which ranks share a drawn offset: none, all, or nodes of this many consecutive ranks (the
        last one may have fewer). So the parts of CPUs that were recorded together stay in step.
    during : "all", "compute" or "communication"
        The phase of the cycle whose CPU work is exposed.
    begin, end : float or str
        Intervals are cut to the time from `begin` to before `end`, seconds; all of it without them.
    sha256 : str, optional
        What the content of the file must be; found out where it is left out.
    resample : int, optional
        Replays another recording, made of this one: stretches of it, about 30, drawn with
        replacement and put in a row. The number chooses which. All of them could have been recorded
        on the same machine. So results under several say how far they rest on this one recording;
        `slowdown` with `resamples` makes intervals of that. Each part of a file is drawn by itself.
        `offset` must be drawn.
    made_up : bool
        Whether the intervals are no measurement: noise that repeats exactly. Then no answer allows
        for what another recording would hold, and none asks for a longer one.
    hosts : imbalance.Hosts, optional
        The hosts that it acts on, all without it: ``imbalance.OnNodes([17], node_ranks=8)``,
        `OnRanks`, or `OnShare`. Draws stay as they are without it.
    bursts : OnOff, optional
        On and off by turns: ``OnOff(on="1s", off="9s")``. Its intervals are cut to the times for
        which it is on.

    Raises
    ------
    ValueError
        Not one of file, lists and trace; a value out of range; the file can not be read, has
        changed, or holds something else; shape of `offset` and size of nodes when the case is made.

    Notes
    -----
    Hoefler, Schneider, Lumsdaine, "Characterizing the Influence of System Noise on Large-Scale
    Applications by Simulation" (SC'10), section IV: a trace from a random offset on each rank.

    Examples
    --------
    >>> noise = TraceNoise(starts=[1e-3, 4e-3], durations=[1e-5, 3e-5], length="10ms")
    >>> noise.share()
    0.004
    """

    file: str | Path | None = None
    part: int | Literal["each"] | None = None
    starts: Converted[FloatsLike | None, Array | None] = Converted("array of float | None", None)
    durations: Converted[FloatsLike | None, Array | None] = Converted("array of float | None", None)
    length: OptionalSeconds = OptionalSeconds()
    offset: Converted[FloatsLike | float | str, Array | float | str] = Converted(
        "float | str | array of float", "random"
    )
    shared: Shared = False
    during: Literal["all", "compute", "communication"] = "all"
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()
    sha256: str | None = None
    ranks_per_part: int | None = None
    resample: int | None = None
    made_up: bool = False
    hosts: HostsField = HostsField()
    bursts: BurstsField = BurstsField()
    trace: InitVar[Detours | None] = None

    def __post_init__(self, trace: Detours | None) -> None:
        put = partial(object.__setattr__, self)
        _check_ways(self, trace)
        self.check_fields()
        if self.file is not None:
            name, sha256 = find_file(self.file, self.sha256)
            put("file", name)
            put("sha256", sha256)
        elif trace is not None:
            put("starts", from_ticks(trace.starts))
            put("durations", from_ticks(trace.durations))
            put("length", float(from_ticks(trace.length)))
        if self.file is None:
            put("starts", _frozen_times(self.starts, "starts"))
            put("durations", _frozen_times(self.durations, "durations"))
        if self.ranks_per_part is not None:
            if self.part != "each":
                raise ValueError("ranks_per_part is for part = 'each' (in TraceNoise)")
            count = check_integer(self.ranks_per_part, "ranks_per_part", 1, 2**30)
            put("ranks_per_part", count)
        words = {"true": True, "false": False}  # as of text such as file=a.noise,made_up=true
        made_up = words.get(self.made_up) if isinstance(self.made_up, str) else self.made_up
        if not isinstance(made_up, bool):
            raise ValueError(f"made_up must be true or false, got {shorten(self.made_up)}")
        put("made_up", made_up)
        if self.resample is not None:
            put("resample", check_integer(self.resample, "resample", 0, 2**32 - 1))
            if not (isinstance(self.offset, str) and self.offset == "random"):
                raise ValueError("offset must be left out with resample (in TraceNoise)")
            if self.made_up:
                raise ValueError("made_up must be False with resample (in TraceNoise)")
        put("offset", self._checked_offset())
        if self.durations is not None and trace is None:
            median = float(np.median(self.durations))
            warn_of_long(median, "the median of durations of TraceNoise", "give seconds")

    def identity(self) -> dict[str, Any]:
        values = super().identity()
        values.pop("made_up", None)  # it says what the results are worth
        return values

    def replayed(self) -> tuple[Recording, ...]:
        """The intervals of each recording that ranks replay, in ticks; touching ones are one."""
        if self.file is not None:
            assert isinstance(self.file, FileName)
            which = self.file.path, str(self.sha256), self.part, self.file
            if self.resample is None:
                return _recordings_of_file(*which)
            return _resampled_of_file(self.resample, *which)
        return self._of_lists

    @cached_property
    def _of_lists(self) -> tuple[Recording, ...]:
        """Return the recordings of lists in ticks, made once, as every estimate asks for them."""
        assert self.starts is not None
        assert self.durations is not None
        recording = _recording_of_lists(self.starts, self.durations, self.length)
        return (recording,) if self.resample is None else _resampled((recording,), self.resample)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: what is made of them is not sent to workers."""
        return {key: value for key, value in self.__dict__.items() if key != "_of_lists"}

    def recordings_of(self, ranks: int) -> npt.NDArray[np.int32]:
        """The recording that each rank replays, by its number: int32, shape (ranks,)."""
        number = np.arange(ranks, dtype=np.int64) // (self.ranks_per_part or 1)
        return (number % len(self.replayed())).astype(np.int32)

    def _checked_offset(self) -> npt.NDArray[np.float64] | float | str:
        """Return `offset` as it is kept: "random", seconds, or an array of them, one per rank."""
        traces = self.replayed()
        if isinstance(self.offset, str) and self.offset == "random":
            return self.offset
        if self.part == "each":
            raise ValueError("offset must be left out with part = 'each' (in TraceNoise)")
        (trace,) = traces
        if self.shared is not False:
            raise ValueError("shared must be False when offset is given (in TraceNoise)")
        seconds = float(from_ticks(trace.length))
        if isinstance(self.offset, (str, int, float, np.integer, np.floating)):
            rule = "offset must be 'random', a time below the length of the trace, or one per rank"
            try:
                given = parse_seconds(self.offset, "offset")
            except ValueError:
                raise ValueError(f"{rule}, got {shorten(self.offset)}") from None
            if to_ticks(given, "offset") >= trace.length:
                raise ValueError(f"{rule}; that is {seconds} s, got {given}")
            return given
        return check_times_of_ranks(self.offset, "offset", "length", seconds)

    def check(self, ranks: int, transit: int) -> None:
        super().check(ranks, transit)
        if isinstance(self.offset, np.ndarray) and self.offset.shape != (ranks,):
            raise ValueError(
                f"offset must have shape ({ranks},), one for each rank, got {self.offset.shape}"
            )

    def offsets(self, ranks: int) -> npt.NDArray[np.int64] | None:
        """The offset of each rank in ticks; None where they are drawn."""
        if self.random:
            return None
        return array_to_ticks(np.broadcast_to(np.asarray(self.offset), (ranks,)))

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        traces = self.replayed()
        common = self.engine_fields(ranks)
        if self.part == "each" and len(traces) > 1:
            program.add_traces(
                recordings=[(trace.starts, trace.ends, trace.length) for trace in traces],
                of_ranks=self.recordings_of(ranks),
                **common,
            )
        else:
            trace = traces[0]
            program.add_trace(
                trace.starts, trace.ends, trace.length, offsets=self.offsets(ranks), **common
            )

    def unused_part(self, ranks: int) -> str:
        unused = super().unused_part(ranks)
        if self.part != "each" or unused:
            return unused
        parts = len(self.replayed())
        replayed = min(-(-ranks // (self.ranks_per_part or 1)), parts)
        if replayed == parts:
            return ""
        return (
            f"{ranks} ranks with ranks_per_part = {self.ranks_per_part or 1} replay {replayed} of "
            f"its {parts} parts, and a merged file has a part for each CPU"
        )

    def misfit(self, node: int, ranks: int) -> str:
        """A caution if the number of parts does not fit the ranks that share node or offset."""
        if self.part != "each" or (parts := len(self.replayed())) == 1:
            return ""
        period = parts * (self.ranks_per_part or 1)
        shared = self.shared if isinstance(self.shared, int) else 1
        for size in (node, int(shared)):
            if 1 < size < ranks and size % period and period % size:
                return (
                    f"{self.file}: its {parts} parts are replayed by {period} consecutive ranks, "
                    f"and nodes have {size}: each node meets a part on another of its ranks; "
                    "`jitterfly noise import` makes a file of those CPUs that have ranks"
                )
        return ""

    @property
    def random(self) -> bool:
        return isinstance(self.offset, str)  # "random"

    def share(self) -> float:
        traces = self.replayed()
        return sum(trace.share() for trace in traces) / len(traces)

    def largest_share(self) -> float:
        return max(trace.share() for trace in self.replayed())

    def intervals_in(self, ticks: int) -> float:
        return max(len(trace.starts) * ticks / trace.length for trace in self.replayed())

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        if not self.random:
            return None
        traces = self.replayed()
        each = self.ranks_per_part or 1
        whole, left = divmod(work.ranks, each * len(traces))
        sharing = node_ranks(self.shared, work.ranks) if len(traces) == 1 else 1
        hits = total = 0.0
        for number, trace in enumerate(traces):
            ranks = whole * each + min(max(left - number * each, 0), each)
            count = len(trace.starts)
            if not (ranks and count):
                continue
            duration = trace.busy / count
            rate = -(-ranks // sharing) * count / trace.length

            def intervals(before: float, rate: float = rate) -> float:
                return rate * work.time_to_hit(self, before, underway=True)

            here = Hits(intervals(duration), duration)
            here = here.under_way(intervals, duration, trace.squares / (2 * trace.busy))
            hits, total = hits + here.number, total + here.most
        return Hits(hits, total / hits if hits else 0.0)

    def longest_delay(self, work: int) -> int:
        if work == 0:
            return 0
        both = ((trace.busy, trace.length) for trace in self.replayed())
        return max(busy * (2 + work // (length - busy)) for busy, length in both)

    def duration_at_start(self) -> float:
        longest = max((trace.ends - trace.starts).max(initial=0) for trace in self.replayed())
        return float(from_ticks(longest))

    @property
    def recording(self) -> tuple[object, ...]:
        """The recording itself, by which it is told from others however they are replayed."""
        arrays = (np.asarray(one).tobytes() for one in (self.starts, self.durations))
        return self.sha256, self.part, self.resample, *(arrays if self.file is None else ())

    def is_sample(self) -> bool:
        """Return whether it is a recording of which ranks replay places that are drawn."""
        return self.random and not self.made_up

    def recorded_delays(self, work: float, cycles: int) -> RecordedDelays:
        """Return how it delays a rank that works for so many seconds in each cycle."""
        return _recorded_delays(self, work, cycles)

    def independent_ranks(self, ranks: int) -> int:
        """Return how many ranks begin at places of their own."""
        if len(self.replayed()) == 1:
            return self.groups_acted_on(ranks)
        acts = self.acts_on(ranks)
        return ranks if acts is None else int(acts.sum())

    def doubts(self, ranks: int, work: float, cycles: int = 1) -> list[str]:
        name, notes = "the given detours", tuple[str, ...]()
        if self.file is not None:
            from ..measured.load import load_named  # it is imported where a file is read
            from ..measured.measurements import LOAD_NOTE

            assert isinstance(self.file, FileName)
            name = self.file.path.name
            measured = load_named(self.file.path, str(self.sha256))
            notes = tuple(note for note in measured.notes if LOAD_NOTE in note and "%" in note)
        measured_there = not self.made_up and (self.file is not None or self.random)
        text = self._short_for(name, ranks, work, cycles) if measured_there and work > 0 else []
        more = f" (and {len(notes) - 1} more CPUs, see `jitterfly noise show`)" * (len(notes) > 1)
        return text + [f"{name}: {note}{more}" for note in notes[:1]]

    def _short_for(self, name: str, ranks: int, work: float, cycles: int) -> list[str]:
        """A caution if few detours of a recording decide, or a realization takes much of it."""
        traces = self.replayed()
        count = sum(len(trace.starts) for trace in traces)
        length = float(from_ticks(sum(trace.length for trace in traces)))
        independent = self.independent_ranks(ranks)
        taken = work * cycles * independent
        delays = self.recorded_delays(work, cycles)
        events = round(delays.mean_error(independent, _CONFIDENCE).events, 6)
        short = _PART_TAKEN * length < taken
        if not short and events >= ENOUGH_EVENTS:
            return []
        beside = "has few long detours" if count >= ENOUGH_EVENTS else "has few detours"
        if short:
            beside = (
                f"is short beside the {show_seconds(taken, 3)} of CPU time that a realization "
                "takes from it"
            )
        rests = ""
        if events < ENOUGH_EVENTS:
            rests = (
                f" (a mean delay rests on about {max(events, 1):.0f} of them, whose rate is "
                f"uncertain by ± {100 / math.sqrt(max(events, 1)):.0f} % or more, which intervals "
                "allow for)"
            )
        needed = max(short * taken / _PART_TAKEN, length * max(ENOUGH_EVENTS / max(events, 1), 1))
        seconds = max(math.ceil(needed), 1)
        return [
            f"{name}: the recording ({show_seconds(length, 3)}, {counted(count, 'detour')}) "
            f"{beside}: its longest detours decide{rests}, and longer ones may be missing; about "
            f"{seconds:,} s would do: record longer or on more CPUs"
        ]

    def lookahead(self) -> int:
        own = 2 * max(trace.length for trace in self.replayed())
        return own + self.bursts_lookahead()


@lru_cache(maxsize=8)  # each is some times as large as the recording
def _recorded_delays(noise: TraceNoise, work: float, cycles: int) -> RecordedDelays:
    return RecordedDelays(noise.replayed(), work, cycles)


def _check_ways(given: Any, trace: Any) -> None:
    """Raise ValueError unless intervals are given in one way, with the options of that."""
    from ..measured import Detours

    lists = [name for name in ("starts", "durations", "length") if getattr(given, name) is not None]
    there = ["file"] * (given.file is not None) + ["trace"] * (trace is not None) + lists
    if there not in (["file"], ["trace"], ["starts", "durations", "length"]):
        raise ValueError(f"TraceNoise must be given {_WAYS}, got {' and '.join(there) or 'none'}")
    if trace is not None and not isinstance(trace, Detours):
        raise ValueError(f"trace must be a Detours, got {shorten(trace)}")
    if given.file is None:
        for name in ("part", "sha256", "ranks_per_part"):
            if getattr(given, name) is not None:
                raise ValueError(f"{name} must be left out without a file (in TraceNoise)")


def _frozen_times(values: Any, name: str) -> npt.NDArray[np.float64]:
    """A list of times as an array that can not be written to."""
    rule = f"{name} must be an array of times in seconds, from 0"
    array = check_numbers(values, rule).astype(np.float64)
    if array.ndim != 1 or not ((array >= 0) & (array <= LARGEST / TICKS_PER_SECOND)).all():
        raise ValueError(f"{rule}, got {shorten(values)}")
    array.setflags(write=False)
    return array


def _recording_of_lists(
    starts: npt.NDArray[np.float64], durations: npt.NDArray[np.float64], length: float | None
) -> Recording:
    """The intervals that the user gave, in seconds."""
    if len(starts) != len(durations):
        raise ValueError(
            f"durations must be as many as starts, {len(starts)}, got {len(durations)}"
        )
    begins = array_to_ticks(starts)
    ends = begins + array_to_ticks(durations)
    bad = begins[1:] < ends[:-1]
    if bad.any():
        at = int(np.argmax(bad)) + 1
        raise ValueError(
            f"starts must be sorted, and intervals must not overlap, got {starts[at]} s at index "
            f"{at}, before the end of the one before it"
        )
    return _recording(begins, ends, to_ticks(length or 0.0), "TraceNoise")


def _no_detours(parts: Sequence[Any], file: str) -> str:
    """The message of the error for a file without detours, which says what to do."""
    from ..measured import Histogram

    if getattr(parts[0], "what", "") == "latency":
        return (
            f"file: {file} holds latencies of wake-ups, which no noise source takes: a timer that "
            "is late does not delay a running program; measure detours or FWQ"
        )
    text = f"file: {file} must hold detours in order of time, it holds {parts[0].words}"
    if not isinstance(parts[0], Histogram):
        return text
    part = ",part=all" if len(parts) > 1 else ""
    return (
        f"{text}; Empirical(file=...) takes it, or in a line "
        f"kind=renewal,gap=TIME,start=stationary,duration=empirical(file={file}{part})"
    )


@lru_cache(maxsize=2)  # each is as large as the recording
def _resampled_of_file(
    number: int, path: Path, sha256: str, part: Any, file: str
) -> tuple[Recording, ...]:
    return _resampled(_recordings_of_file(path, sha256, part, file), number)


@lru_cache(maxsize=32)
def _recordings_of_file(path: Path, sha256: str, part: Any, file: str) -> tuple[Recording, ...]:
    """The detours in a part of a file, or in each of its parts, of which some may have none."""
    from ..measured import Detours
    from ..measured.load import choose_parts, load_named

    measured = load_named(path, sha256)
    each = isinstance(part, str) and part == "each"
    if not isinstance(measured.parts[0], Detours):  # before anybody chooses one of several
        raise ValueError(_no_detours(measured.parts, file))
    chosen = list(measured.parts) if each else choose_parts(measured, part, file, each=True)
    traces = []
    for number, one in enumerate(chosen):
        assert isinstance(one, Detours)  # as all parts of a file
        where = f"file: {file}, part {number}" if each else f"file: {file}"
        ends = one.starts + one.durations
        if each and not one.durations.any():  # a CPU that nothing interrupted
            traces.append(Recording(one.starts[:0], ends[:0], one.length, 0, 0.0))
        else:
            traces.append(_recording(one.starts, ends, one.length, where))
    if not any(len(trace.starts) for trace in traces):
        raise ValueError(f"file: {file}: there is no interval in any part: leave the noise out")
    return tuple(traces)


def _resampled(recordings: Sequence[Recording], number: int) -> tuple[Recording, ...]:
    """Make recordings of stretches of these, drawn with replacement (see `TraceNoise.resample`).

    A detour goes with the idle time before it, and the recording is a circle, so that stretches of
    equally many detours begin anywhere (the circular block bootstrap: Politis & Romano, 1992).
    Detours that follow each other, and the time from tick to tick, are kept within a stretch.
    """
    return tuple(
        _resampled_one(one, np.random.default_rng([number, i])) for i, one in enumerate(recordings)
    )


def _resampled_one(recording: Recording, rng: np.random.Generator) -> Recording:
    """Return a recording of stretches of idle times and detours drawn at random (bootstrap)."""
    starts, ends, length, *_ = recording
    count = len(starts)
    if not count:
        return recording
    durations = ends - starts
    idle = starts - np.concatenate([ends[-1:] - length, ends[:-1]])
    in_a_row = max(1, round(count / _STRETCHES))
    while True:  # one idle time may be as long as a recording can be, and be drawn twice
        first = rng.integers(0, count, size=(-(-count // in_a_row), 1))
        drawn = ((first + np.arange(in_a_row)) % count).ravel()[:count]
        lengths = (idle + durations)[drawn]
        if idle[drawn].any() and lengths.sum(dtype=np.float64) < LARGEST:
            break
    stops = np.cumsum(lengths)
    return _recording(stops - durations[drawn], stops, int(stops[-1]), "resample")


def _recording(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], length: int, where: str
) -> Recording:
    """Make a trace of sorted intervals: none is empty, and touching ones are one.

    Raises
    ------
    ValueError
        There is none, the last one ends after the trace, or there is no time between.
    """
    there = ends > starts
    starts, ends = starts[there], ends[there]
    if not len(starts):
        raise ValueError(f"{where}: there is no interval in the trace: leave the noise out")
    if not ends[-1] <= length < LARGEST:
        raise ValueError(
            f"length must be from the end of the last interval, {ends[-1] / TICKS_PER_SECOND} s, "
            f"to {LARGEST / TICKS_PER_SECOND:.3g} s, got {length / TICKS_PER_SECOND} s"
        )
    apart = starts[1:] > ends[:-1]
    begins = np.ascontiguousarray(starts[np.concatenate([[True], apart])])
    stops = np.ascontiguousarray(ends[np.concatenate([apart, [True]])])
    durations = stops - begins
    squares = float((durations.astype(np.float64) ** 2).sum())
    trace = Recording(begins, stops, length, int(durations.sum()), squares)
    if trace.busy >= length:
        raise ValueError(f"{where}: the trace must leave the CPU some time")
    return trace
