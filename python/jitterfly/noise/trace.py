"""Trace replay: the CPU is away as it was when it was measured (HSL10, LogGOPSim)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..fields import check_choice, check_integer, shorten
from ..given import Array, Floats, Given
from ..units import Seconds, from_ticks, parse_seconds, to_ticks
from . import files, intervals, scope
from .optional import OptionalSeconds
from .ranks import check_times_of_ranks, ticks_of_ranks
from .source import ComparedByValue, Exposed, Noise

if TYPE_CHECKING:
    from ..measured import Detours


@dataclass(frozen=True, eq=False)
class TraceNoise(ComparedByValue, Noise, kind="trace"):
    """Interruptions of the CPU as they were measured, over and over again.

    With a trace of some length and a rank's offset, the rank is busy at time t if the trace is busy
    at ``(t + offset) mod length``.

    Parameters
    ----------
    file : str
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
    shared : False, "machine" or int
        Which ranks share a drawn offset: none, all, or nodes of so many consecutive ranks (a power
        of two up to the number of ranks).
    during : "all", "compute" or "communication"
        The phase of the cycle whose CPU work is exposed.
    begin, end : float or str
        Intervals are cut to the time from `begin` to before `end`, seconds; all of it without them.
    sha256 : str, optional
        What the content of the file must be; found out where it is left out.

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

    file: str | None = None
    part: int | Literal["each"] | None = None
    starts: Given[Floats | None, Array | None] = Given("array of float | None", None)
    durations: Given[Floats | None, Array | None] = Given("array of float | None", None)
    length: OptionalSeconds = OptionalSeconds()
    offset: Given[Floats | float | str, Array | float | str] = Given(
        "float | str | array of float", "random"
    )
    shared: scope.Shared = False
    during: Literal["all", "compute", "communication"] = "all"
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()
    sha256: str | None = None
    ranks_per_part: int | None = None
    trace: InitVar[Detours | None] = None

    def __post_init__(self, trace: Detours | None) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        intervals.check_ways(self, trace)
        check_choice(self.during, "during", ("all", "compute", "communication"))
        scope.check_window(self.begin, self.end)
        put("shared", scope.check_shared(self.shared))
        if self.file is not None:
            path, sha256 = files.find(self.file, self.sha256)
            put("_path", path)  # no field: where it lies does not identify it
            put("sha256", sha256)
        elif trace is not None:
            put("starts", from_ticks(trace.starts))
            put("durations", from_ticks(trace.durations))
            put("length", float(from_ticks(trace.length)))
        if self.file is None:
            put("starts", intervals.frozen(self.starts, "starts"))
            put("durations", intervals.frozen(self.durations, "durations"))
        if self.ranks_per_part is not None:
            if self.part != "each":
                raise ValueError("ranks_per_part is for part = 'each' (in TraceNoise)")
            count = check_integer(self.ranks_per_part, "ranks_per_part", 1, 2**30)
            put("ranks_per_part", count)
        put("offset", self._checked_offset())

    def replayed(self) -> tuple[intervals.Trace, ...]:
        """The intervals of each recording that ranks replay, in ticks; touching ones are one."""
        if self.file is not None:
            path: Any = self._path  # type: ignore[attr-defined]
            return intervals.of_file(path, str(self.sha256), self.part, self.file)
        assert self.starts is not None
        assert self.durations is not None
        return (intervals.of_lists(self.starts, self.durations, self.length),)

    def recordings_of(self, ranks: int) -> npt.NDArray[np.int32]:
        """Which of the recordings each rank replays, int32, shape (ranks,)."""
        number = np.arange(ranks, dtype=np.int64) // (self.ranks_per_part or 1)
        return (number % len(self.replayed())).astype(np.int32)

    def _checked_offset(self) -> npt.NDArray[np.float64] | float | str:
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
        scope.check_nodes(self.shared, ranks)
        if isinstance(self.offset, np.ndarray) and self.offset.shape != (ranks,):
            raise ValueError(
                f"offset must have shape ({ranks},), one for each rank, got {self.offset.shape}"
            )

    def offsets(self, ranks: int) -> npt.NDArray[np.int64] | None:
        """The offset of each rank in ticks; None where they are drawn."""
        if isinstance(self.offset, str):
            return None
        return ticks_of_ranks(np.broadcast_to(np.asarray(self.offset), (ranks,)))

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        traces = self.replayed()
        common = {
            "node_ranks": scope.node_ranks(self.shared, ranks),
            **scope.phases(self.during),
            **scope.window(self.begin, self.end),
        }
        if self.part == "each" and len(traces) > 1:
            program.add_traces(
                recordings=[tuple(trace) for trace in traces],
                of_ranks=self.recordings_of(ranks),
                **common,
            )
        else:
            program.add_trace(**traces[0]._asdict(), offsets=self.offsets(ranks), **common)

    def ignores(self, ranks: int) -> str:
        if self.part != "each":
            return ""
        parts = len(self.replayed())
        replayed = min(-(-ranks // (self.ranks_per_part or 1)), parts)
        if replayed == parts:
            return ""
        return (
            f"{ranks} ranks with ranks_per_part = {self.ranks_per_part or 1} replay {replayed} of "
            f"its {parts} parts, and a merged file has a part for each CPU"
        )

    def misses(self, exposed: Exposed) -> str:
        return scope.no_work(self.during, exposed)

    def share(self) -> float:
        traces = self.replayed()
        return sum(trace.share() for trace in traces) / len(traces)

    def largest_share(self) -> float:
        return max(trace.share() for trace in self.replayed())

    def intervals_in(self, ticks: int) -> float:
        return max(len(trace.starts) * ticks / trace.length for trace in self.replayed())

    def longest_delay(self, work: int) -> int:
        if work == 0:
            return 0
        both = ((trace.busy(), trace.length) for trace in self.replayed())
        return max(busy * (2 + work // (length - busy)) for busy, length in both)

    def lookahead(self) -> int:
        return 2 * max(trace.length for trace in self.replayed())
