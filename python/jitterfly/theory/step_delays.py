"""Independent step delays of a case, as the recursion needs them; or why it has others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..algorithms import Butterfly
from ..case import Case, check_case
from ..fields import (
    Dataclass,
    check_choice,
    check_integer,
    frozen_dataclass,
    is_number,
    shorten,
)
from ..noise import MessageNoise, StepNoise
from ..units import TICKS_PER_SECOND, Seconds, to_ticks

Floats = npt.NDArray[np.float64]
Ticks = npt.NDArray[np.int64]

MOST_ROUNDS = 62


@dataclass(frozen=True)
class RandomDelay:
    """The delay that one draw of noise adds, in whole ticks.

    A delay X that is `delay` with `probability`, and 0 otherwise.
    """

    delay: Any
    probability: float = 1.0

    def survival(self, ticks: Any) -> Floats:
        """P(X > ticks), for whole numbers of ticks from -1."""
        at = np.asarray(ticks, dtype=np.int64)
        # Half way between two ticks: no rounding of t decides on which side of an atom it is.
        beyond = self.delay.survival((np.maximum(at, 0) + 0.5) / TICKS_PER_SECOND)
        return np.where(at < 0, 1.0, np.where(at < self.longest, self.probability * beyond, 0.0))

    @property
    def longest(self) -> int:
        """The longest X, in ticks."""
        return int(self.delay.longest_ticks()) if self.probability > 0 else 0

    @property
    def typical(self) -> int:
        """The size of a delay where there is one, in ticks from 1: what a grid has to resolve."""
        middle = float(np.asarray(self.delay.quantile(0.5)))
        seconds = (
            middle if middle > 0 else min(self.delay.expected(), self.longest / TICKS_PER_SECOND)
        )
        return max(1, min(round(seconds * TICKS_PER_SECOND), self.longest))

    @property
    def atoms(self) -> tuple[Ticks, Floats] | None:
        """The values in ticks and their probabilities, where X has at most two; else None."""
        kind = getattr(self.delay, "kind", "")
        if kind == "constant":
            value, chance = to_ticks(self.delay.value), self.probability
        elif kind == "bernoulli":
            value = to_ticks(self.delay.duration)
            chance = self.probability * self.delay.probability
        else:
            return None
        values, chances = np.array([0, value], dtype=np.int64), np.array([1 - chance, chance])
        kept = chances > 0
        if value == 0 or kept.sum() < 2:
            only = value if kept[1] else 0
            return np.array([only], dtype=np.int64), np.ones(1)
        return values, chances


@dataclass(frozen=True)
class CollectiveDelays:
    """The independent delays of one collective of K rounds, each a list of delays that add up.

    `start`: before the first send. `send`: at each of the K sends, of the sender's CPU.
    `message`: of each message under way. `receive`: at each of the K receives. `transit`, in
    ticks: what only the partner's data needs; all that both need is left out here.
    """

    rounds: int
    transit: int = 0
    start: Sequence[RandomDelay] = field(default=())
    send: Sequence[RandomDelay] = field(default=())
    message: Sequence[RandomDelay] = field(default=())
    receive: Sequence[RandomDelay] = field(default=())

    @property
    def parts(self) -> list[RandomDelay]:
        """All these delays."""
        return [*self.start, *self.send, *self.message, *self.receive]

    def at_level(self, level: int) -> list[RandomDelay]:
        """The delays that a rank's CPU draws between its data of a level and its send there."""
        got = self.start if level == 0 else self.receive
        return [*got, *(self.send if level < self.rounds else ())]

    @property
    def longest(self) -> int:
        """A bound of any time, in ticks."""
        each = (*self.send, *self.message, *self.receive)
        once = sum(part.longest for part in self.start)
        return once + self.rounds * (self.transit + sum(part.longest for part in each))


@frozen_dataclass()
class StepModel(Dataclass):
    """A model of 2^K ranks, without a case: every step takes L and a random delay (HM18, AGV05).

    Parameters
    ----------
    rounds : int
        K, from 0 to 62.
    round_time : float or str
        L, a whole round without noise, seconds.
    delay, probability
        The delay of a step is drawn from `delay`, a distribution such as `Bernoulli`, with this
        probability, and else 0.
    at : "receive" or "send"
        Whether a step's delay is after the wait for the partner, or before the send.
    transit : float or str
        The part of L that only the partner's data needs. 0: both wait L, as in the papers.

    Raises
    ------
    ValueError
        A parameter out of range.
    """

    rounds: int
    round_time: Seconds
    delay: Any = None
    probability: float = 1.0
    at: Literal["receive", "send"] = "receive"
    transit: Seconds = Seconds(0.0)

    def __post_init__(self) -> None:
        check_integer(self.rounds, "rounds", 0, MOST_ROUNDS)
        if not all(hasattr(self.delay, name) for name in ("survival", "quantile", "longest_ticks")):
            raise ValueError(
                f"delay must be a distribution such as Bernoulli(...), got {shorten(self.delay)}"
            )
        check_probability(self.probability)
        check_choice(self.at, "at", ("receive", "send"))
        if self.transit > self.round_time:
            raise ValueError(
                f"transit must be at most round_time = {self.round_time} s, got {self.transit}"
            )


def check_probability(value: float) -> None:
    """Raise ValueError unless it is from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"probability must be from 0 to 1, got {shorten(value)}")


def delays_of(what: Case | StepModel) -> tuple[CollectiveDelays, int]:
    """The delays, and the time that every rank needs besides them and transits, in ticks."""
    if isinstance(what, StepModel):
        way = to_ticks(what.transit)
        part = (RandomDelay(what.delay, what.probability),)
        draws = CollectiveDelays(what.rounds, way, **{what.at: part})  # type: ignore[arg-type]
        return draws, what.rounds * (to_ticks(what.round_time) - way)
    case = check_case(what)
    _check_applicable(case)
    costs = case.costs
    steps = [source for source in case.noise if isinstance(source, StepNoise)]
    at_send = [source for source in steps if source.at == "send"]
    at_receive = [source for source in steps if source.at == "receive"]
    messages = [source for source in case.noise if isinstance(source, MessageNoise)]
    draws = CollectiveDelays(
        case.log2_ranks,
        costs.transit,
        start=_acting(at_send + at_receive, "compute") if case.compute_time else (),
        send=_acting(at_send, "communication"),
        message=_acting(messages, "communication"),
        receive=_acting(at_receive, "communication"),
    )
    both = costs.send + costs.receive + costs.combine
    return draws, to_ticks(case.compute_time) + case.log2_ranks * both


def _acting(sources: Sequence[StepNoise | MessageNoise], phase: str) -> tuple[RandomDelay, ...]:
    acting = (source for source in sources if source.during in ("all", phase))
    return tuple(RandomDelay(source.delay, source.probability) for source in acting)


def _check_applicable(case: Case) -> None:
    algorithm = case.algorithm
    plain = (
        isinstance(algorithm, Butterfly)
        and not algorithm.levels(case.ranks)
        and not algorithm.forwards(case.ranks)
        and algorithm.on_demand is None
    )
    if not plain:
        raise ValueError(
            f"algorithm must be a Butterfly without redundant exchanges for this recursion, got "
            f"{shorten(algorithm)}"
        )
    if case.ranks & (case.ranks - 1):
        raise ValueError(f"ranks must be a power of two for this recursion, got {case.ranks}")
    if not case.is_even:
        raise ValueError("arrival and speed must be left out for this recursion")
    if case.cycles != 1:
        raise ValueError(f"cycles must be 1 for this recursion, got {case.cycles}")
    for source in case.noise:
        name = type(source).__name__
        if not isinstance(source, (StepNoise, MessageNoise)):
            raise ValueError(
                f"noise must hold StepNoise and MessageNoise only for this recursion, got {name}"
            )
        if source.shared is not False:
            raise ValueError(f"shared must be False for this recursion (in {name})")
        if source.begin != 0 or source.end is not None:
            raise ValueError(f"begin must be 0 and end None for this recursion (in {name})")
