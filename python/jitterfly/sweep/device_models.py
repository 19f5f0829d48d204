"""Device models (H100, H200): rates as they were measured, for a forecast without the card.

The rates are those of the results files in tests/gpu of the sources, and nothing else. Where a case
was not measured, the nearest one that was stands for it, and `Estimate` says so; of copies inside a
butterfly and of congestion nothing is near, and there is no number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..fields import counted
from ..noise import Noise
from ..program import OVER_RANKS, Collective, message_count
from ..schedule import ScheduleCase
from ..schedule.simulate import check_order_on
from ..steps import ASK, COPY, FORWARD, MESSAGE
from ..workload import Workload

RANKS = (2**8, 2**13, 2**23)
"""Of the butterflies that were measured."""
MESSAGE_RANKS = 2**12
"""Of the other collectives that were measured."""
REALIZATIONS = (2**8, 2**12, 2**16)
"""Of the schedule that was measured, which has 261,120 operations on 256 ranks."""
_NEAR = (2048, 4800)  # ranks: a message costs about as much; on more a block can not hold them
PERIODIC, JITTER, RENEWAL = "periodic", "+ jitter", "renewal"
_MEASURED = {("periodic",): PERIODIC, ("jitter", "periodic"): JITTER, ("renewal",): RENEWAL}
_NAMES = {PERIODIC: "periodic", JITTER: "jitter + periodic", RENEWAL: "renewal"}
_DENSE, _SPARSE = "recursive_doubling_allreduce", "binomial_broadcast"  # for other algorithms
Rates = tuple[float, float, float]


@dataclass(frozen=True)
class DeviceModel:
    """The rates of one GPU, as they were measured.

    Attributes
    ----------
    card, measured, driver, table : str
        The GPU; the date; its driver; the file of the sources that has all results.
    commits : mapping
        The state of the sources that was measured: of butterflies, messages and schedules.
    call : float
        Seconds of a call with next to nothing to do.
    butterfly, forwards : mapping
        Rank-rounds a second by noise, at `RANKS`: without exchanges after it, and with all of them.
    message : mapping
        Nanoseconds of a message by kind of algorithm, at `MESSAGE_RANKS` under periodic noise.
    schedule : mapping
        Nanoseconds of an operation of one realization by noise, at `REALIZATIONS`.
    """

    card: str
    measured: str
    driver: str
    table: str
    commits: Mapping[str, str]
    call: float
    butterfly: Mapping[str, Rates]
    forwards: Mapping[str, Rates]
    message: Mapping[str, float]
    schedule: Mapping[str, Rates]


@dataclass(frozen=True)
class Estimate:
    """The time of a case on a card.

    Attributes
    ----------
    what : str
        The case in words: program and noise.
    seconds : float or None
        Results at the host included. None: nothing like it was measured.
    rates_of : str
        What was measured in its place; "" where it was measured itself.
    commit : str
        Of the sources that were measured.
    """

    what: str
    seconds: float | None
    rates_of: str = ""
    commit: str = ""


def estimate(model: DeviceModel, case: Workload, realizations: int) -> Estimate:
    """Estimate the time of `realizations` realizations of a case, in calls of many of them.

    Raises
    ------
    ValueError
        The case can not be run by a GPU.
    """
    noise = _noise_in_words(case.noise)
    if any(one.kind == "congestion" for one in case.noise):
        # The host makes the loads of links meanwhile.
        return Estimate(f"congestion ({noise})", None)
    if isinstance(case, ScheduleCase):
        return _of_schedule(model, case, realizations, noise)
    assert isinstance(case, Collective)
    steps = case.compiled_steps.steps
    if any(step.flags & (COPY | ASK) for step in steps):
        return Estimate(f"copies inside a butterfly, {noise}", None)
    if any(step.kind == MESSAGE for step in steps):
        return _of_messages(model, case, realizations, noise)
    return _of_butterfly(model, case, realizations, noise)


def calls(case: Workload) -> int:
    """Count the calls that a batch of a case takes."""
    return len(case.loops) if isinstance(case, Collective) else 1


def _of_butterfly(model: DeviceModel, case: Collective, realizations: int, noise: str) -> Estimate:
    """Estimate a butterfly by the rates that were measured for numbers of ranks."""
    forwards = any(step.kind == FORWARD for step in case.compiled_steps.steps)
    name = "butterfly with exchanges after it" if forwards else "butterfly"
    known = _measured_noise(case.noise)
    rate = known if known in model.butterfly else JITTER if case.noise else PERIODIC
    rates = (model.forwards if forwards else model.butterfly)[rate]
    at = np.log2([max(case.ranks, RANKS[0]), *RANKS])
    found = float(np.exp(np.interp(at[0], at[1:], np.log(rates))))
    work = float(case.rank_rounds())
    if case.ranks < RANKS[0]:  # a realization takes as long as one of the fewest measured
        work *= RANKS[0] * at[0] / max(case.ranks * case.log2_ranks, 1)
    more = _beside(case)
    if getattr(case.algorithm, "forward_cost", 0):
        more.append("forwards that take CPU time")
    exact = rate == known and not more
    return Estimate(
        ", ".join([name, noise, *more]),
        float(realizations * work / found),
        "" if exact else f"{name}, {_NAMES[rate]} noise",
        model.commits["butterfly"],
    )


def _of_messages(model: DeviceModel, case: Collective, realizations: int, noise: str) -> Estimate:
    """Estimate an algorithm of messages by the measured rate of it, or of one like it."""
    kind, steps = case.algorithm.kind, case.compiled_steps.steps
    messages = sum(message_count(step, case.ranks) for step in steps)
    slots = case.ranks * sum(step.repeat for step in steps if message_count(step, case.ranks))
    likeness = kind if kind in model.message else _DENSE if 2 * messages >= slots else _SPARSE
    more = _beside(case)
    if any(step.kind == FORWARD for step in steps):
        more.append("exchanges after it")
    if case.compiled_steps.table.differs_within_steps:
        more.append("messages that differ")
    if not _NEAR[0] <= case.ranks <= _NEAR[1]:
        more.append(f"ranks far from {MESSAGE_RANKS:,}")
    exact = likeness == kind and _measured_noise(case.noise) == PERIODIC and not more
    return Estimate(
        ", ".join([kind.replace("_", " "), noise, *more]),
        realizations * case.rank_rounds() * model.message[likeness] * 1e-9,
        ""
        if exact
        else f"{likeness.replace('_', ' ')}, {_NAMES[PERIODIC]} noise, {MESSAGE_RANKS:,} ranks",
        model.commits["message"],
    )


def _of_schedule(model: DeviceModel, case: ScheduleCase, realizations: int, noise: str) -> Estimate:
    """Estimate a schedule by the time that each operation took in measured ones."""
    check_order_on("cuda", case.order)
    known = _measured_noise(case.noise)
    rate = known if known in model.schedule else RENEWAL if case.noise else PERIODIC
    count = float(np.clip(realizations, REALIZATIONS[0], REALIZATIONS[-1]))
    at = np.log2([count, *REALIZATIONS])
    each = float(np.exp(np.interp(at[0], at[1:], np.log(model.schedule[rate]))))
    # Fewer realizations take as long as the fewest that were measured.
    operations = case.rank_rounds() * max(realizations, REALIZATIONS[0])
    return Estimate(
        f"schedule, {noise}",
        operations * each * 1e-9,
        "" if rate == known else f"schedule, {_NAMES[rate]} noise",
        model.commits["schedule"],
    )


def _beside(case: Collective) -> list[str]:
    """Return what a case has, besides noise, that those that were measured have not."""
    parts = {
        counted(case.cycles, "cycle"): case.cycles > 1,
        "compute phases": case.compute_time > 0,
        "ranks that differ": not case.is_even,
        f"observe = {case.observe!r}": case.observe in OVER_RANKS,
    }
    return [what for what, is_so in parts.items() if is_so]


def _is_plain(noise: Noise) -> bool:
    """Return whether a source acts all the time, on each rank by itself."""
    window = getattr(noise, "begin", 0.0), getattr(noise, "end", None)
    return not getattr(noise, "shared", False) and window == (0.0, None)


def _measured_noise(noise: Iterable[Noise]) -> str:
    """The noise of the tables that this is; "" for other noise."""
    kinds = tuple(sorted(one.kind for one in noise))
    return _MEASURED.get(kinds, "") if all(map(_is_plain, noise)) else ""


def _noise_in_words(noise: Iterable[Noise]) -> str:
    names = Counter(
        one.kind if _is_plain(one) else f"{one.kind} (shared, or at times)" for one in noise
    )
    parts = [name if count == 1 else f"{count} {name}" for name, count in sorted(names.items())]
    return f"{' + '.join(parts)} noise" if parts else "no noise"


_OF_A_MESSAGE = {  # nanoseconds, on an H100 and on an H200
    "recursive_doubling_allreduce": (0.0148, 0.0151),
    "recursive_multiplying_allreduce": (0.0191, 0.0206),
    "recursive_halving_reduce_scatter": (0.0148, 0.0149),
    "rabenseifner_allreduce": (0.014, 0.0144),
    "dissemination_barrier": (0.0142, 0.0145),
    "bruck_allgather": (0.0148, 0.0151),
    "ring_allreduce": (0.0119, 0.0127),
    "scatter_allgather_broadcast": (0.013, 0.0136),
    "reduce_broadcast_allreduce": (0.0518, 0.0366),
    "hierarchical_allreduce": (0.0393, 0.0307),
    "tree_barrier": (0.0518, 0.0367),
    "binomial_broadcast": (0.0636, 0.0478),
    "binomial_reduce": (0.0623, 0.0457),
    "knomial_broadcast": (0.0788, 0.056),
    "knomial_reduce": (0.0773, 0.0542),
    "chain_broadcast": (0.101, 0.0423),
    "binary_tree_broadcast": (0.0188, 0.0204),
    "double_binary_tree_allreduce": (0.0176, 0.0181),
}

DEVICE_MODELS = {
    "h100": DeviceModel(
        card="NVIDIA H100 80GB HBM3",
        measured="2026-11-26",
        driver="580.159.04",
        table="tests/gpu/h100-2026-11-26.md",
        commits={"butterfly": "812517de", "message": "812517de", "schedule": "812517de"},
        call=0.8e-3,
        butterfly={PERIODIC: (4.01e11, 1.46e12, 1.46e12), JITTER: (8.83e10, 9.03e10, 9.35e10)},
        forwards={PERIODIC: (1.06e11, 8.67e11, 8.29e11), JITTER: (4.93e10, 8.57e10, 8.64e10)},
        message={kind: both[0] for kind, both in _OF_A_MESSAGE.items()},
        schedule={PERIODIC: (4.35, 0.324, 0.0328), RENEWAL: (7.16, 0.547, 0.0653)},
    ),
    "h200": DeviceModel(
        card="NVIDIA H200",
        measured="2026-11-27",
        driver="580.159.04",
        table="tests/gpu/h200-2026-11-27.md",
        commits={"butterfly": "fd9aa11a", "message": "ed0ba28a", "schedule": "fd9aa11a"},
        call=0.7e-3,
        butterfly={PERIODIC: (3.9e11, 1.45e12, 1.46e12), JITTER: (8.89e10, 9.2e10, 9.53e10)},
        forwards={PERIODIC: (1.21e11, 8.85e11, 8.52e11), JITTER: (4.97e10, 8.65e10, 8.78e10)},
        message={kind: both[1] for kind, both in _OF_A_MESSAGE.items()},
        schedule={PERIODIC: (4.32, 0.296, 0.0303), RENEWAL: (7.12, 0.503, 0.062)},
    ),
}
"""The cards that were measured, by the names that `--device-model` takes."""
