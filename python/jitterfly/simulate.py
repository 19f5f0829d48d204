"""`simulate` and its `Result` (`to_xarray`); times and noise of one realization.

`simulate` gives a `Result`. `ready_times`, `noise_phases` and `noise_intervals` show what one
realization is made of, to check this program with another.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import optional_packages, resources, stats
from .answer import csv_text, write_if_path
from .backends import (
    BACKENDS,
    backend_named,
    check_backend,
    check_draw,
    check_run_arguments,
    core,
    progress_of_call,
)
from .case import Case, check_case, warn_of_doubts, warn_of_ineffective_noise, warn_of_unused_costs
from .fields import (
    Int,
    IntOrText,
    check_choice,
    check_integer,
    digested,
    frozen_dataclass,
    seed_in_files,
    summary,
)
from .noise import Congestion, LateArrival, SpeedNoise
from .noise.source import engine_window
from .program import OVER_RANKS, STATISTICS, check_times, compile_case, row_count
from .steps import OWN, START
from .units import LONGEST_TICKS, Time, from_ticks, parse_seconds, show_seconds, to_ticks

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

_LONG_NAMES = {
    "cycle": "cycle",
    "T": "redundant exchanges after the collective",
    "step": "step of the collective",
    "over_ranks": "statistic over the ranks",
}


@frozen_dataclass(eq=False)
class Result:
    """The answer of `simulate`.

    Attributes
    ----------
    case : Case
    seed, first_realization : int
        Realization ``first_realization + i`` of this seed is row i of the arrays.
    backend : "cpu" or "cuda"
        The backend that was used. Results do not depend on it.
    observations : list of str
        What the columns are. Of several cycles each has its own, counted from the begin of the
        first: ``np.diff(result.samples, axis=1, prepend=0)`` are the times of single cycles where
        each has one column. `to_xarray` has cycles as a dimension.
    ticks : int64 array, shape (realizations, observations)
        Times in ticks of 1 ps. Exact, but for means over ranks, which are rounded to a tick.
    noise_free : float64 array, shape (observations,)
        The same without any noise, in seconds.
    """

    case: Case
    seed: int
    first_realization: int
    backend: str
    observations: list[str]
    ticks: npt.NDArray[np.int64]
    noise_free: npt.NDArray[np.float64]

    @cached_property
    def samples(self) -> npt.NDArray[np.float64]:
        """Times in seconds, float64, shape (realizations, observations)."""
        return from_ticks(self.ticks)

    def __repr__(self) -> str:
        names = self.observations
        shown = repr(names[0]) if len(names) == 1 else f"{names[0]!r} ... {names[-1]!r}"
        return (
            f"Result({summary(self.case)}, realizations={len(self.ticks)}, "
            f"first_realization={self.first_realization}, "
            f"observations={len(names)} ({shown}), seed={self.seed}, backend={self.backend!r})"
        )

    def column(self, observation: str) -> npt.NDArray[np.float64]:
        """The samples of one observation, seconds, shape (realizations,)."""
        check_choice(observation, "observation", self.observations)
        return self.samples[:, self.observations.index(observation)]

    def to_pandas(self) -> pandas.DataFrame:
        """The samples in seconds: a row for each realization, a column for each observation.

        Raises
        ------
        ValueError
            pandas is not installed.
        """
        index = range(self.first_realization, self.first_realization + len(self.ticks))
        frame: pandas.DataFrame = optional_packages.package("pandas").DataFrame(
            self.samples, index=index, columns=self.observations
        )
        frame.index.name = "realization"
        return frame

    def to_csv(self, path: str | Path | None = None) -> str:
        """A line for each realization: its number, and each observation in seconds.

        Also written to `path`, where it is given.
        """
        numbers = range(self.first_realization, self.first_realization + len(self.ticks))
        rows = ([number, *row] for number, row in zip(numbers, self.samples.tolist(), strict=True))
        return write_if_path(csv_text(chain([("realization", *self.observations)], rows)), path)

    def to_xarray(self) -> xarray.Dataset:
        """The samples over realizations, cycles, and what else the case has.

        Returns
        -------
        xarray.Dataset
            `completion` (where the case observes "rounds", "arrival" or "own": `ready_time`, of the
            steps "own" the time since a rank left the barrier) in seconds,
            and `noise_free`, the same without any noise. Dimensions: `realization`; `cycle`, from
            1; `T`, the number of redundant exchanges, where the algorithm makes any; with
            ``observe="spread"`` `over_ranks` ("max", "min", "mean"), with the other three
            `step` as well, named as in `jitterfly.program.row_labels`. Take the coordinate T as
            ``found["T"]``: `.T` of an array is its transpose. Each variable and coordinate
            has `long_name`, times have `units`. Attributes say which case, seed and backend it was:
            ``Case.from_dict(json.loads(found.case))``, where no list in it is so long that a digest
            stands for it.

        Raises
        ------
        ValueError
            xarray is not installed.

        Examples
        --------
        >>> import jitterfly as jf
        >>> network = jf.Hockney(alpha="1us", beta="1ns")
        >>> butterfly = jf.Butterfly(exchanges_after=2)
        >>> case = jf.Case(8, network=network, algorithm=butterfly, cycles=3)
        >>> found = jf.simulate(case, realizations=10).to_xarray()
        >>> dict(found.completion.sizes)
        {'realization': 10, 'cycle': 3, 'T': 3}
        >>> found.completion.sel(cycle=2, T=1).units
        's'
        """
        xr = optional_packages.package("xarray")
        shape = _observation_shape(self.case)
        first, count = self.first_realization, len(self.ticks)
        coordinates = {
            "realization": ("realization", first + np.arange(count), {"long_name": "realization"})
        } | {
            name: (name, np.array(values), {"long_name": _LONG_NAMES[name]})
            for name, values in shape.items()
        }
        name, long_name = "completion", "time at which the last rank has the result"
        if self.case.observe == "rank 0":
            long_name = "time at which rank 0 has the result"
        elif self.case.observe == "spread":
            long_name = "time at which ranks have the result"
        elif self.case.observe in ("arrival", "own", "rounds"):
            name, long_name = "ready_time", "time at which ranks have finished a step"
        about = {"units": "s", "long_name": long_name}
        without = about | {"long_name": f"{long_name}, without noise"}
        data = {
            name: (["realization", *shape], _arrange(self.case, self.samples), about),
            "noise_free": ([*shape], _arrange(self.case, self.noise_free), without),
        }
        seed = seed_in_files(self.seed)
        case = json.dumps(digested(self.case.to_dict()))
        attributes = {"case": case, "seed": seed, "backend": self.backend}
        dataset: xarray.Dataset = xr.Dataset(data, coordinates, attributes)
        return dataset

    def plot(self, path: str | Path | None = None) -> Figure:
        """A picture of how late the realizations are; written to `path`, too, where it is given.

        Raises
        ------
        ValueError
            matplotlib is not installed, or `path` does not end in .png, .pdf or .svg.
        """
        return optional_packages.picture("answers", self, function="draw_samples", path=path)

    def _repr_html_(self) -> str:
        enough = len(self.samples) >= stats.realizations_needed(0.999, 0.95)
        levels = (0.5, 0.99, 0.999)[: 2 + enough]
        header = ["observation", "without noise", "mean", "95 % interval",
                  *(f"p{100 * q:g}" for q in levels)]  # fmt: skip
        rows = []
        for name, noise_free in list(zip(self.observations, self.noise_free, strict=True))[
            : optional_packages.MAX_ROWS
        ]:
            samples = self.column(name)
            mean = mean_time(self.case, samples, noise_free)
            ends = (mean.value, mean.low, mean.high)
            middle, low, high = (show_seconds(float(end)) for end in ends)
            quantiles = [stats.quantile(samples, q).value for q in levels]
            row = [name, show_seconds(float(noise_free)), middle, f"{low} to {high}"]
            rows.append(row + [show_seconds(float(value)) for value in quantiles])
        count = len(self.observations) - len(rows)
        more = f"and {count:,} more: observations" if count else ""
        return optional_packages.table(repr(self), header, rows, more)


def _observation_shape(case: Case) -> dict[str, list[int] | list[str]]:
    """The dimensions behind the columns of `Result.samples`, with their coordinates."""
    shape: dict[str, list[int] | list[str]] = {"cycle": list(range(1, case.cycles + 1))}
    if case.observe == "rounds":
        shape["step"] = [step.label for step in case.cycle_steps() if step.label]
    else:
        redundancies = list(dict.fromkeys(row.T for row in case.completions()))
        several = len(redundancies) > 1
        begins, owns = case.observe in ("arrival", "own"), case.observe == "own"
        together = begins and several and len(case.loops) == 1  # all T have one start
        shape |= {"T": redundancies} if several and not together else {}
        if begins:
            ends = [f"T={T}" for T in redundancies] if together else ["end"]
            each = [[end, f"{end}, {OWN}" if together else OWN][: 1 + owns] for end in ends]
            shape["step"] = [START, *chain.from_iterable(each)]
    if case.observe in OVER_RANKS:
        shape["over_ranks"] = list(STATISTICS)
    return shape


def _arrange(case: Case, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Arrange the columns of `Result.samples`, the last axis of `values`, in `_observation_shape`.

    The start of a later cycle is the end of the one before, and has no column of its own: NaN.
    """
    shape = [len(coordinates) for coordinates in _observation_shape(case).values()]
    outer = values.shape[:-1]
    if case.observe == "rounds" and case.cycles > 1:
        columns = values.reshape(*outer, -1, len(STATISTICS))
        rows, steps = shape[0] * shape[1], shape[1]
        there = [row for row in range(rows) if row < steps or row % steps]
        whole = np.full((*outer, rows, len(STATISTICS)), np.nan)
        whole[..., there, :] = columns
        values = whole
    return values.reshape(*outer, *shape)


def mean_time(
    case: Case, samples: npt.NDArray[np.float64], noise_free: float, confidence: float = 0.95
) -> stats.Estimate:
    """Mean of sampled times of a case, seconds; `noise_free` is that time without noise."""
    return stats.mean(
        samples,
        confidence,
        noisy=any(case.random_sources),
        # Where noise only delays, no time is below that without it, and no slowdown below 1.
        lower_bound=noise_free if case.noise_only_delays() else None,
        noise_free=noise_free if case.has_one_random_source else None,
    )


@frozen_dataclass()
class Engine:
    """The backend, the CPU threads and the GPUs that simulate, checked; a GPU has a thread.

    Without `devices` the process takes its first GPU, or the CPU. A GPU that fails is used no more.
    """

    backend: str = "auto"
    threads: Int | None = None
    devices: tuple[int, ...] = ()
    _lost: set[int | None] = dataclasses.field(
        default_factory=set, init=False, compare=False, repr=False
    )

    @classmethod
    def of(
        cls,
        backend: str,
        threads: Int | None = None,
        devices: IntOrText | Sequence[Int] | None = None,
    ) -> Engine:
        """Check the arguments of `simulate`; errors as there."""
        backend = backend_named(backend)
        if devices is None:
            check_backend(backend, threads)
            return cls(backend, threads)
        from .executors import devices_of_process

        check_choice(backend, "backend", BACKENDS)
        return cls(backend, threads, devices_of_process(backend, threads, devices))

    def realize(
        self,
        case: Case,
        realizations: int,
        seed: int,
        first: int = 0,
        progress: Callable[[int, int], object] | None = None,
    ) -> tuple[npt.NDArray[np.int64], str]:
        """Simulate realizations as `Workload.realize`; GPUs divide them."""
        if not self.devices:
            return case.realize(realizations, seed, first, self.backend, self.threads, progress)
        from .executors import run_on_devices

        def share(begin: int, count: int, report: Callable[[int, int], object]) -> Any:
            return case.realize(count, seed, first + begin, self.backend, None, report)

        case.check_results(realizations)
        left = [number for number in self.devices if number not in self._lost]
        parts, lost = run_on_devices(left, share, realizations, progress)
        self._lost.update(lost)
        ticks, used = zip(*parts, strict=True)
        with resources.check_allocation(f"{realizations} realizations"):
            return np.concatenate(ticks), "cuda" if "cuda" in used else "cpu"


DEFAULT_ENGINE = Engine()


def simulate(
    case: Case,
    realizations: IntOrText = 1000,
    seed: IntOrText = 0,
    backend: str = "auto",
    threads: Int | None = None,
    progress: Callable[[int, int], object] | None = None,
    first_realization: Int = 0,
    devices: IntOrText | Sequence[Int] | None = None,
) -> Result:
    """Simulate many realizations of a case.

    Parameters
    ----------
    case : Case
        What to simulate.
    realizations : int
        How many, from 1; first_realization + realizations is at most 2^32.
    seed : int
        From 0 to 2^64 - 1. Two cases with the same seed see the same noise, so that differences
        between their samples are paired.
    backend : "auto", "cpu" or "cuda" (also "gpu")
        "auto" takes the GPU if there is one with enough memory; where the memory is not enough, the
        CPU, with an `UnusedGPUWarning`. The result is the same to the last bit.
    threads : int, optional
        Threads of the CPU backend; None is one for each processor. Given together with "auto",
        the CPU backend is taken. The result does not depend on it.
    progress : callable, optional
        Called now and then as ``progress(done, realizations)``, in this thread. Left out, progress
        is printed on standard error from 10 s on.
    first_realization : int
        Number of the first realization: a simulation may be cut into pieces at will.
    devices : str, int or list of int, optional
        The GPUs that divide the realizations: "all" of this process, or numbers of those that CUDA
        shows, such as "0,2" or [0, 2]. None: the first. The result does not depend on it.

    Returns
    -------
    Result

    Raises
    ------
    BackendError
        "cuda" can not be used, or failed; it says why. A `ValueError` and a `RuntimeError`.
    ValueError
        An argument out of range, or not enough memory; with the numbers. Also if a time reached
        2^62 ps (53 days) after all, under noise with a heavy tail.
    KeyboardInterrupt
        Ctrl-C, within a fraction of a second.

    Warns
    -----
    IneffectiveNoiseWarning
        A source of `case.noise` can hit nothing, such as `PeriodicNoise` where the CPU has nothing
        to do: the times are those without it. Studies and `advise` raise ValueError where that is
        so in all of their cells.
    IneffectiveSpeedWarning
        `case.speed` acts on nothing: there is no compute phase, and combining takes no time.
    ScarceRecordingWarning
        A few detours of a recording decide: it has hardly any, or a realization takes as much CPU
        time from it as a tenth of its length; or it may be the load of a busy machine.
    UnseenChangeWarning
        A piece of work is longer than the time for which a drawn speed `holds`.
    UnusedCostWarning
        The collective takes no time, although `gamma` is given: it combines nothing.
    UnusedGPUWarning
        With "auto": there is a GPU that can not be used, or has not enough memory. It says why and
        what mends it; where the GPU can not be used at all, it is given once a process.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(
    ...     ranks=256,
    ...     algorithm=jf.Butterfly(exchanges_after=8),
    ...     network=jf.Hockney(alpha="100ns", beta="1ns", gamma=1e-10),
    ...     noise=[jf.PeriodicNoise(period="1ms", duration="10us")],
    ... )
    >>> result = jf.simulate(case, realizations=100, seed=7)
    >>> result.samples.shape, result.observations[0], result.noise_free[0]
    ((100, 9), 'T=0', np.float64(8.704e-07))
    """
    warn_before_simulation(check_case(case))
    engine = Engine.of(backend, threads, devices)
    with progress_of_call("simulate", progress) as shown:
        return simulate_checked(case, realizations, seed, engine, shown, first_realization)


def warn_before_simulation(case: Case) -> None:
    """Warn of what `simulate` warns of in a case, before anything runs."""
    warn_of_ineffective_noise(case)
    warn_of_unused_costs([case])
    warn_of_doubts(case.measured_doubts(), case.unseen_changes())


def simulate_checked(
    case: Case,
    realizations: IntOrText,
    seed: IntOrText,
    engine: Engine = DEFAULT_ENGINE,
    progress: Callable[[int, int], object] | None = None,
    first_realization: Int = 0,
) -> Result:
    """Simulate without a check that the noise can hit anything: callers have made it."""
    realizations, seed, first_realization = check_run_arguments(
        realizations, seed, engine.backend, engine.threads, progress, first_realization
    )
    ticks, used = engine.realize(case, realizations, seed, first_realization, progress)
    return Result(
        case=case,
        seed=seed,
        first_realization=first_realization,
        backend=used,
        observations=case.observation_names(),
        ticks=ticks,
        noise_free=from_ticks(case.noise_free_observations()),
    )


_ABSENT = np.iinfo(np.int64).min  # the engine's mark of a rank that is not in a step


def ready_times(case: Case, seed: Int = 0, realization: Int = 0) -> npt.NDArray[np.float64]:
    """The ready time of every rank in every round of one realization.

    Parameters
    ----------
    case : Case
        What to simulate.
    seed, realization : int
        As in `simulate`: realization `first_realization` + i of that seed is its row i.

    Returns
    -------
    float64 array, shape (rows, ranks)
        Seconds. Row 0 is the start of the first collective, then one row for each level, forward
        step and end of cycle, as named by
        `jitterfly.program.row_labels`; the last one is the completion. With a barrier, rows "own"
        have each rank's time since it left that. NaN for ranks beyond the largest power of two in
        rows of the butterfly's levels: it is among the others.

    Raises
    ------
    ValueError
        `seed` not from 0 to 2^64 - 1, `realization` not from 0 to 2^32 - 1, not enough memory.

    Warns
    -----
    IneffectiveNoiseWarning, IneffectiveSpeedWarning, UnusedCostWarning
        As `simulate`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> jf.ready_times(jf.Case(2, network=jf.Hockney("1us", 0)))
    array([[0.e+00, 0.e+00],
           [1.e-06, 1.e-06],
           [1.e-06, 1.e-06]])
    """
    warn_of_ineffective_noise(check_case(case))
    warn_of_unused_costs([case])
    seed, realization = check_draw(seed, realization)
    needed = case.ranks * (row_count(case, every_row=True) * 16 + 24)
    what = f"all ready times of {case.ranks} ranks"
    resources.check_memory(needed, what, resources.available_memory())
    program = compile_case(case, every_row=True)
    with resources.check_allocation(what):
        raw = core.ready_times(program, seed, realization)
    check_times(raw[None])
    return np.where(raw == _ABSENT, np.nan, from_ticks(raw))


def noise_phases(
    case: Case, seed: Int = 0, realization: Int = 0, source: int | None = None
) -> npt.NDArray[np.float64]:
    """The phases of periodic noise in one realization, to check us with another program.

    Parameters
    ----------
    case : Case
        With a `PeriodicNoise`.
    seed, realization : int
        As in `ready_times`.
    source : int, optional
        Where the source is in ``case.noise``, from 0; needed if there are several `PeriodicNoise`.

    Returns
    -------
    float64 array, shape (ranks,)
        Seconds, each in [0, period).

    Raises
    ------
    ValueError
        The case has no `PeriodicNoise`, or `source` is none of them; `seed` or `realization` out of
        range.
    """
    check_case(case)
    seed, realization = check_draw(seed, realization)
    number = _periodic_number(case, source)
    what = f"the phases of {case.ranks} ranks"
    resources.check_memory(case.ranks * 16, what, resources.available_memory())
    with resources.check_allocation(what):
        return from_ticks(core.phases(compile_case(case), seed, realization, number))


def _periodic_number(case: Case, source: int | None) -> int:
    """Return which of the periodic sources a source of the case is, from 0."""
    places = [i for i, noise in enumerate(case.noise) if noise.kind == "periodic"]
    if not places:
        raise ValueError("noise must hold a PeriodicNoise: without it there are no phases")
    if source is None and len(places) == 1:
        return 0
    choices = " or ".join(map(str, places))
    if source is None:
        raise ValueError(f"source must say which PeriodicNoise of noise is meant: {choices}")
    if check_integer(source, "source", 0, len(case.noise) - 1) not in places:
        raise ValueError(f"source must be that of a PeriodicNoise, {choices}, got {source}")
    return places.index(source)


def noise_intervals(
    case: Case,
    rank: Int,
    until: Time,
    seed: Int = 0,
    realization: Int = 0,
    phase: Literal["communication", "compute"] = "communication",
) -> npt.NDArray[np.float64]:
    """Return when noise takes a rank's CPU in one realization, to check us with another program.

    Parameters
    ----------
    case : Case
        With `PeriodicNoise`, `RenewalNoise` or `TraceNoise`; other sources, such as `Congestion`,
        have no intervals.
    rank : int
        From 0.
    until : float or str
        Seconds. Each interval that begins before this is given whole, to its own end.
    seed, realization : int
        As in `ready_times`.
    phase : "communication" or "compute"
        The phase of the cycle: sources may act in one of them only.

    Returns
    -------
    float64 array, shape (intervals, 2)
        Begin and end in seconds, sorted: the union of what all sources take, from time 0 on. As
        the intervals of sources that overlap or touch are one, there is idle time between any two
        rows, and after the last one.

    Raises
    ------
    ValueError
        An argument out of range, or more intervals than there is memory for.

    Examples
    --------
    >>> import jitterfly as jf
    >>> noise = [jf.PeriodicNoise(period="1ms", duration="10us", phases=[0, 5e-4])]
    >>> case = jf.Case(2, network=jf.Hockney("1us", 0, gamma="1ns"), noise=noise)
    >>> jf.noise_intervals(case, rank=1, until="2ms")
    array([[0.0005 , 0.00051],
           [0.0015 , 0.00151]])
    """
    check_case(case)
    rank = check_integer(rank, "rank", 0, case.ranks - 1)
    end = to_ticks(parse_seconds(until, "until"), "until")
    seed, realization = check_draw(seed, realization)
    check_choice(phase, "phase", ("communication", "compute"))
    program, horizon = compile_case(case), end
    while True:
        _check_intervals(case, horizon)
        intervals = core.busy(program, seed, realization, rank, horizon, phase == "compute")
        intervals = intervals[intervals[:, 0] < end]
        if not len(intervals) or intervals[-1, 1] < horizon or horizon == LONGEST_TICKS:
            break
        # The engine does not look beyond the horizon for what goes on when the last one ends.
        last = int(intervals[-1, 1])
        horizon = min(last + (last - end) + 1, LONGEST_TICKS)
    return from_ticks(np.maximum(intervals, 0))  # what is there at time 0 may have begun before


def _check_intervals(case: Case, until: int) -> None:
    """Raise ValueError for more intervals up to `until` than sources or memory can hold."""
    count = 0.0
    for noise in case.noise:
        if isinstance(noise, (Congestion, LateArrival, SpeedNoise)):  # no intervals
            continue
        window = engine_window(noise.begin, noise.end)  # type: ignore[attr-defined]
        last = min(until, window["end"])
        noise.check_length(last)
        count += noise.intervals_in(max(last - max(window["begin"], 0), 0))
    what = f"about {count:.3g} intervals"
    resources.check_memory(int(48 * count), what, resources.available_memory())
