"""`simulate_congestion`: slowdowns, effective bisection bandwidth, loads on links."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import optional_packages, resources, stats
from ..backends import (
    BackendError,
    backend_named,
    check_draw,
    check_run_arguments,
    core,
    progress_of_call,
    reporting,
    takes_gpu,
    warn_of_cpu,
)
from ..fields import Int, IntOrText, check_numbers, frozen_dataclass, shorten
from ..stats import Estimate
from .case import DELAYS, PERTURBATIONS, SLOWED, CongestionCase, check_levels
from .topology import FatTree, Topology, program_on

if TYPE_CHECKING:
    import pandas

NO_MESSAGE = 2**32 - 1
_BYTES = 8 * 8 + 2 * 8  # of a realization: the engine's words, and what is made of them
_COLUMNS = {"orcs": 0, "orcs1": 1, "ready": 2, "level_sync": 2, "sum_max_cong": 3}  # of words
_INVERSE, _MESSAGES = 4, 5
_ONE = 2.0**40  # of the engine's 1 / w
_NO_MEMORY = "cudaErrorMemoryAllocation"  # in the error of an engine that got too little


@frozen_dataclass(eq=False)
class CongestionResult:
    """The result of `simulate_congestion`.

    Attributes
    ----------
    case : CongestionCase
    seed, first_realization : int
        Of its random numbers.
    backend : str
        "cpu" or "cuda".
    samples : float64 array, shape (realizations,)
        By the case's rule: messages of an empty network for "orcs", "orcs1", "ready" and
        "level_sync", messages for "sum_max_cong", a share of the link bandwidth for "bandwidth".
    histogram : int64 array, shape (largest possible w + 1,), or None
        Messages with congestion w = 0, 1, 2, ..., of all realizations, levels and both patterns;
        w = 0 is a message whose route was dropped.
    """

    case: CongestionCase
    seed: int
    first_realization: int
    backend: str
    samples: npt.NDArray[np.float64]
    histogram: npt.NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        case = self.case
        network = type(case.network).__name__
        return (
            f"CongestionResult({case.rule} on {network} of {case.network.hosts:,} hosts: mean "
            f"{self.mean()}, realizations={len(self.samples)}, "
            f"first_realization={self.first_realization}, "
            f"seed={self.seed}, backend={self.backend!r})"
        )

    def to_pandas(self) -> pandas.DataFrame:
        """The samples, a row for each realization; `ValueError` if pandas is not installed."""
        index = range(self.first_realization, self.first_realization + len(self.samples))
        frame: pandas.DataFrame = optional_packages.package("pandas").DataFrame(
            {self.case.rule: self.samples}, index=index
        )
        frame.index.name = "realization"
        return frame

    def mean(self, confidence: float = 0.95) -> Estimate:
        """The mean over realizations, with its interval (`stats.mean`)."""
        return stats.mean(self.samples, confidence)


def simulate_congestion(
    case: CongestionCase,
    realizations: IntOrText = 1000,
    seed: IntOrText = 0,
    backend: str = "auto",
    threads: Int | None = None,
    progress: Callable[[int, int], object] | None = None,
    first_realization: Int = 0,
    histogram: bool = False,
) -> CongestionResult:
    """Simulate many realizations: placements of the ranks, and traffic.

    Parameters
    ----------
    case : CongestionCase
        What to simulate.
    realizations, backend, threads, progress, first_realization
        As in `jitterfly.simulate`.
    seed : int
        From 0 to 2^64 - 1. Cases with the same seed and network size see the same placements, and
        with the same z the same traffic, so that differences between their samples are paired.
    histogram : bool
        Also count how many messages, of both patterns, had each congestion w (ORCS' metric
        hist_max_cong). It takes longer: w of every message has to be found.

    Returns
    -------
    CongestionResult

    Raises
    ------
    BackendError
        "cuda" can not be used, or failed; it says why.
    ValueError
        An argument out of range, or not enough memory.
    KeyboardInterrupt
        Ctrl-C, within a fraction of a second.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> case = CongestionCase(FatTree.of(144), pattern="bruck", perturbation="bisect_fb")
    >>> simulate_congestion(case, 50, seed=1).samples.min() >= 7
    np.True_
    """
    if not isinstance(case, CongestionCase):
        raise ValueError(f"case must be a CongestionCase, got {shorten(case)}")
    backend = backend_named(backend)
    realizations, seed, first_realization = check_run_arguments(
        realizations, seed, backend, threads, progress, first_realization
    )
    if not isinstance(histogram, (bool, np.bool_)):
        raise ValueError(f"histogram must be True or False, got {shorten(histogram)}")

    everything = bool(histogram) or case.rule not in DELAYS
    synchronous = case.rule == "level_sync"
    programs = _programs(case, histogram)

    def run(program: core.CongestionProgram, chosen: str, report: Any) -> Any:
        in_flight = program.memory(int(threads or 0)) if chosen == "cpu" else 0
        resources.check_memory(
            _BYTES * realizations + in_flight,
            "the results and the realizations in flight",
            resources.available_memory(),
        )
        return core.congestion(
            program,
            seed,
            first_realization,
            realizations,
            everything,
            chosen,
            int(threads or 0),
            bool(histogram),
            report,
        )

    def run_programs(chosen: str) -> tuple[npt.NDArray[np.float64], Any]:
        """Return the sums of the programs' samples, and the first one's counts of congestions."""
        samples, bins = np.zeros(realizations), None
        with (
            progress_of_call("congestion.simulate_congestion", progress) as shown,
            reporting(shown, realizations, chosen) as report,
        ):
            for number, program in enumerate(programs):

                def part(done: int, before: int = number * realizations) -> None:
                    if report is not None:
                        report((before + done) // len(programs))

                words, counted = run(program, chosen, None if report is None else part)
                bins = counted if bins is None else bins
                if not (synchronous and histogram and number == 0):
                    samples += _samples(words, case.rule)
        return samples, bins

    chosen = "cuda" if takes_gpu(backend, threads) else "cpu"
    try:
        samples, bins = run_programs(chosen)
    except BackendError as error:
        # All that it needs is asked for at its beginning.
        if backend != "auto" or _NO_MEMORY not in str(error):
            raise
        warn_of_cpu(str(error))
        chosen = "cpu"
        samples, bins = run_programs(chosen)
    return CongestionResult(
        case=case,
        seed=seed,
        first_realization=first_realization,
        backend=chosen,
        samples=samples,
        histogram=bins.astype(np.int64) if histogram else None,
    )


def _programs(case: CongestionCase, histogram: bool) -> list[core.CongestionProgram]:
    """The engine's programs, whose samples add up; of "level_sync", first one for the histogram."""
    synchronous = case.rule == "level_sync"
    programs = [compile_congestion(case)] if histogram or not synchronous else []
    if synchronous:
        # A level alone, after levels without messages of the pattern: the last ready time is its
        # largest w, under the traffic of that level.
        programs += [compile_congestion(case, only=level) for level in range(len(case.levels()))]
    return programs


def _samples(words: npt.NDArray[np.int64], rule: str) -> npt.NDArray[np.float64]:
    """Take the samples of a rule from the engine's words; of "level_sync", for one level."""
    if rule == "bandwidth":
        return words[:, _INVERSE] / (_ONE * np.maximum(words[:, _MESSAGES], 1))
    return words[:, _COLUMNS[rule]].astype(np.float64)


def slowdown_percent(
    perturbed: CongestionResult, unperturbed: CongestionResult, confidence: float = 0.95
) -> Estimate:
    """The slowdown in percent, 100 mean(perturbed) / mean(unperturbed): 100 is none.

    The realizations are paired, both have the same placements: Fieller's interval.

    Parameters
    ----------
    perturbed, unperturbed : CongestionResult
        Of a case and of ``case.unperturbed()``, of the same realizations.
    confidence : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        They are not such a pair.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree, simulate_congestion
    >>> case = CongestionCase(FatTree.of(144), perturbation="bisect_fb")
    >>> both = [simulate_congestion(c, 200) for c in (case, case.unperturbed())]
    >>> slowdown_percent(*both).low > 100
    True
    """
    if unperturbed.case != perturbed.case.unperturbed() or perturbed.case.rule not in SLOWED:
        raise ValueError(
            "unperturbed must be of perturbed.case.unperturbed(), and the rule one of "
            f"{', '.join(SLOWED)}"
        )
    if _run_of(perturbed) != _run_of(unperturbed):
        raise ValueError("perturbed and unperturbed must be of the same seed and realizations")
    found = stats.ratio(perturbed.samples, unperturbed.samples, confidence)
    percent = {name: 100 * getattr(found, name) for name in ("value", "low", "high")}
    return dataclasses.replace(found, **percent)


def _run_of(result: CongestionResult) -> tuple[int, int, int]:
    """The values that results of the same placements share."""
    return result.seed, result.first_realization, len(result.samples)


def bisection_bandwidth(
    network: Topology,
    realizations: IntOrText = 1000,
    seed: IntOrText = 0,
    confidence: float = 0.95,
    **run: Any,
) -> Estimate:
    """The mean of 1 / w over random bisections: half of the hosts send to the other half.

    Parameters
    ----------
    network : Topology
    realizations, seed, **run
        As `simulate_congestion`'s.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Estimate
        A share of a link's bandwidth, 1 where nothing is ever shared.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> bisection_bandwidth(FatTree((8,), (1,)), 10).value
    1.0
    """
    case = CongestionCase(network, pattern="none", perturbation="bisect", ratio=1, rule="bandwidth")
    found = simulate_congestion(case, realizations, seed, **run)
    one_switch = isinstance(network, FatTree) and len(network.m) == 1  # nothing is ever shared
    return stats.mean(found.samples, confidence, noisy=not one_switch)


@dataclass(frozen=True, eq=False)
class Level:
    """The messages of one level, which here is a round: messages that are under way together.

    Attributes
    ----------
    pairs : uint32 array, shape (messages, 2)
        Sender and receiver, ranks; those of the collective come first.
    own : int
        How many are the collective's.
    w : int64 array, shape (messages,)
        Congestion: the largest number of messages on an edge of the route; 0: no route.
    """

    pairs: npt.NDArray[np.uint32]
    own: int
    w: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Realization:
    """A realization: where the ranks were, what was sent, and how congested it was.

    Attributes
    ----------
    host_of_rank : uint32 array, shape (hosts,)
        Behind the ranks: the idle hosts.
    levels : list of Level
    """

    host_of_rank: npt.NDArray[np.uint32]
    levels: list[Level]


def congestion_realization(
    case: CongestionCase, realization: Int = 0, seed: Int = 0
) -> Realization:
    """A realization as `simulate_congestion` draws it, to check with another program.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> found = congestion_realization(CongestionCase(FatTree.of(144)), realization=3)
    >>> len(found.levels), found.levels[0].own, len(found.levels[0].pairs)
    (7, 1, 73)
    """
    seed, realization = check_draw(seed, realization)
    raw = core.congestion_capture(compile_congestion(case), seed, realization, None)
    return _unpack(raw, [len(level) for level in case.levels()])


def route_messages(
    network: Topology,
    levels: Sequence[npt.ArrayLike],
    host_of_rank: npt.ArrayLike | None = None,
    seed: Int = 0,
    realization: Int = 0,
) -> list[npt.NDArray[np.int64]]:
    """The congestion w of given messages, with any traffic among them, all of a level at a time.

    Parameters
    ----------
    network : Topology
    levels : list of arrays, shape (messages, 2)
        Sender and receiver of each message, ranks from 0.
    host_of_rank : array of int, shape (ranks,), optional
        Different hosts, from 0; None: rank i is on host i.
    seed, realization : int
        Of the draws of random routing; nothing else is drawn.

    Returns
    -------
    list of int64 arrays, shape (messages,)

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> route_messages(FatTree((2, 2), (1, 1)), [[[0, 2], [1, 3]], [[0, 1]]])
    [array([2, 2]), array([1])]
    """
    hosts = _read_hosts(host_of_rank, network.hosts)
    messages = check_levels(list(levels), len(hosts))
    seed, realization = check_draw(seed, realization)
    idle = np.setdiff1d(np.arange(network.hosts), hosts)
    placement = np.concatenate([hosts, idle]).astype(np.uint32)
    chain = [NO_MESSAGE] * len(messages)
    program = program_on(network, len(hosts), len(hosts), levels=messages, chain=chain)
    raw = core.congestion_capture(program, seed, realization, placement)
    return [level.w for level in _unpack(raw, [len(level) for level in messages]).levels]


def compile_congestion(case: CongestionCase, only: int | None = None) -> core.CongestionProgram:
    """The engine's program.

    `only`: with the pattern's messages of one level; the other levels are there without them.
    """
    levels = case.levels()
    if only is not None:
        nothing = np.zeros((0, 2), np.uint32)
        levels = [level if at == only else nothing for at, level in enumerate(levels)]
    # The chain 0 -> 1 -> 3 -> 7 ...: at level l of the tree, the message of its last sender.
    full = [len(level) == 2**number for number, level in enumerate(levels)]
    chain = [
        2**number - 1 if case.pattern == "tree" and full[number] else NO_MESSAGE
        for number in range(len(levels))
    ]
    pattern = PERTURBATIONS.index(case.perturbation)
    return program_on(case.network, int(case.ranks or 0), case.z, pattern, levels, chain)


def _read_hosts(value: npt.ArrayLike | None, count: int) -> npt.NDArray[np.int64]:
    """Return the host of each rank: as given, once it is checked, else host i of rank i."""
    if value is None:
        return np.arange(count)
    rule = f"host_of_rank must be different integers from 0 to {count - 1}, one for each rank"
    hosts = check_numbers(value, rule)
    whole = hosts.ndim == 1 and hosts.dtype.kind in "iu" and len(hosts) > 0
    if not whole or hosts.min() < 0 or hosts.max() >= count or len(np.unique(hosts)) < len(hosts):
        raise ValueError(rule)
    return hosts.astype(np.int64)


def _unpack(raw: dict[str, npt.NDArray[np.uint32]], own: list[int]) -> Realization:
    """Return what the engine captured, level by level: `own` says how many are the pattern's."""
    pairs = np.stack([raw["senders"], raw["receivers"]], axis=1)
    w = raw["w"].astype(np.int64)
    ends = raw["offsets"]
    levels = [
        Level(pairs[begin:end], mine, w[begin:end])
        for begin, end, mine in zip(ends[:-1], ends[1:], own, strict=True)
    ]
    return Realization(raw["host_of_rank"], levels)
