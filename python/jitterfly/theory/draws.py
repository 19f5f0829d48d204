"""Which independent delays a case has, for the recursion over levels; or why it has other noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ..algorithms import Butterfly
from ..case import Case, check_case
from ..fields import Dataclass, check_choice, check_integer, frozen_dataclass, shorten
from ..units import Seconds, to_ticks
from .parts import Part
from .tree import Draws

MOST_ROUNDS = 62


@frozen_dataclass()
class StepModel(Dataclass):
    """2^K ranks whose every step takes L and a random delay, without a case (HM18, AGV05).

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
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability must be from 0 to 1, got {shorten(self.probability)}")
        check_choice(self.at, "at", ("receive", "send"))
        if self.transit > self.round_time:
            raise ValueError(
                f"transit must be at most round_time = {self.round_time} s, got {self.transit}"
            )


def draws_of(what: Case | StepModel) -> tuple[Draws, int]:
    """The delays, and the time that every rank needs besides them and transits, in ticks."""
    if isinstance(what, StepModel):
        way = to_ticks(what.transit)
        part = (Part(what.delay, what.probability),)
        draws = Draws(what.rounds, way, **{what.at: part})  # type: ignore[arg-type]
        return draws, what.rounds * (to_ticks(what.round_time) - way)
    case = check_case(what)
    _check(case)
    costs = case.costs
    at_send = _choose(case, "step", lambda source: source.at == "send")
    at_receive = _choose(case, "step", lambda source: source.at == "receive")
    draws = Draws(
        case.log2_ranks,
        costs.transit,
        start=_parts(at_send + at_receive, "compute") if case.work else (),
        send=_parts(at_send, "communication"),
        message=_parts(_choose(case, "message", lambda _: True), "communication"),
        receive=_parts(at_receive, "communication"),
    )
    both = costs.send + costs.receive + costs.combine
    return draws, to_ticks(case.work) + case.log2_ranks * both


def _choose(case: Case, kind: str, rule: Callable[[Any], bool]) -> list[Any]:
    return [source for source in case.noise if source.kind == kind and rule(source)]


def _parts(sources: list[Any], phase: str) -> tuple[Part, ...]:
    acting = (s for s in sources if getattr(s, "during", "all") in ("all", phase))
    return tuple(Part(s.delay, s.probability) for s in acting)


def _check(case: Case) -> None:
    algorithm = case.algorithm
    plain = isinstance(algorithm, Butterfly) and not algorithm.levels(case.ranks)
    if not plain or algorithm.forwards(case.ranks) or algorithm.on_demand is not None:
        raise ValueError(
            f"algorithm must be a Butterfly without redundant exchanges for this recursion, got "
            f"{shorten(algorithm)}"
        )
    if case.ranks & (case.ranks - 1):
        raise ValueError(f"ranks must be a power of two for this recursion, got {case.ranks}")
    if case.cycles != 1:
        raise ValueError(f"cycles must be 1 for this recursion, got {case.cycles}")
    for source in case.noise:
        name = type(source).__name__
        if source.kind not in ("step", "message"):
            raise ValueError(
                f"noise must hold StepNoise and MessageNoise only for this recursion, got {name}"
            )
        source_: Any = source
        if source_.shared is not False:
            raise ValueError(f"shared must be False for this recursion (in {name})")
        if source_.begin != 0 or source_.end is not None:
            raise ValueError(f"begin must be 0 and end None for this recursion (in {name})")
