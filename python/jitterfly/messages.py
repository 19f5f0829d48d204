"""What the messages of a case cost: those of its MESSAGE steps, and all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .noise.congestion import Congestion
from .steps import (
    ASK,
    ENTER,
    EXCHANGE,
    FORWARD,
    MESSAGE,
    Costs,
    MessageCosts,
    Step,
    draws_per_cycle,
)

if TYPE_CHECKING:
    from .case import Case


_MOST_DRAWS = 2**31


class CostTable(NamedTuple):
    """Distinct costs of MESSAGE steps, and which of them each step of the cycle has (-1: none).

    `loads`: of each entry `Network.load`, 0 without congestion.
    """

    entries: tuple[MessageCosts, ...]
    of_step: tuple[int, ...]
    loads: tuple[int, ...]

    def costs(self) -> list[MessageCosts | None]:
        """For each step."""
        return [self.entries[i] if i >= 0 else None for i in self.of_step]


def cost_table(case: Case, steps: list[Step]) -> CostTable:
    """The costs of all MESSAGE steps among `steps`, those of one cycle."""
    known: dict[tuple[MessageCosts, int], int] = {}
    places: dict[tuple[int, bool, bool], int] = {}  # costs are exact fractions: each once only
    load = case.network.load if is_routed(case) else lambda _: 0
    of_step = []
    for step in steps:
        if step.kind != MESSAGE:
            of_step.append(-1)
            continue
        kind = step.bytes, bool(step.combine), bool(step.occupies)
        if kind not in places:
            send, receive, transit, combine = case.network.costs(step.bytes)
            gap = case.network.gap(step.bytes) if step.occupies else 0
            cost = MessageCosts(send, receive + (combine if step.combine else 0), transit, gap)
            places[kind] = known.setdefault((cost, load(step.bytes)), len(known))
        of_step.append(places[kind])
    entries, loads = zip(*known, strict=True) if known else ((), ())
    return CostTable(entries, tuple(of_step), loads)


def is_routed(case: Case) -> bool:
    """Whether messages share links, so that what each costs depends on the others."""
    return any(isinstance(noise, Congestion) for noise in case.noise)


def hypercube_load(case: Case, steps: list[Step]) -> int:
    """The load of a message of the butterfly or a forward; 0 where there is none."""
    routed = is_routed(case) and any(step.kind in (ENTER, EXCHANGE, FORWARD) for step in steps)
    return case.network.load(case.message_bytes) if routed else 0


def hypercube_costs(case: Case, steps: list[Step]) -> Costs:
    """What a message of the butterfly or a forward costs; nothing where there is none."""
    if any(step.kind in (ENTER, EXCHANGE, FORWARD) for step in steps):
        return case.costs
    return Costs(0, 0, 0, 0)


def transits(case: Case, steps: list[Step]) -> list[int]:
    """How long messages are on their way, in ticks: of every kind of message that there is."""
    ways = [entry.transit for entry in cost_table(case, steps).entries]
    if any(step.kind in (ENTER, EXCHANGE, FORWARD) for step in steps):
        ways.append(case.costs.transit)
    return ways


def check_messages(case: Case) -> None:
    """Raise ValueError for messages that the network or the noise does not know, or too many."""
    steps = case.cycle_steps()
    table = cost_table(case, steps)
    sends = [entry.send for entry in table.entries]
    costs = hypercube_costs(case, steps)
    if sends and not any(step.kind == ENTER for step in steps):
        costs = Costs(min(sends), 0, 0, 0)  # a forward may follow any of them
    case.network.check_gap(case.algorithm.send_gap(case.ranks, costs))
    for noise in case.noise:
        noise.check(case.ranks, max(transits(case, steps), default=0))
    if is_routed(case):
        _check_routed(case, steps, table)
    draws = draws_per_cycle(steps) * case.cycles
    if draws > _MOST_DRAWS:
        raise ValueError(
            f"cycles must be from 1 to {_MOST_DRAWS // draws_per_cycle(steps)} for "
            f"{type(case.algorithm).__name__} on {case.ranks} ranks (messages of a rank are "
            f"numbered up to 2^31), got {case.cycles}"
        )


def _check_routed(case: Case, steps: list[Step], table: CostTable) -> None:
    if sum(isinstance(noise, Congestion) for noise in case.noise) > 1:
        raise ValueError("noise must hold at most one Congestion: there is one network")
    if any(step.flags & ASK for step in steps):
        raise ValueError(
            "on_demand must be empty with Congestion: which questions and answers are on the "
            "links depends on times, which depend on them"
        )
    sent = [*table.loads, hypercube_load(case, steps)] if case.ranks > 1 else [1]
    if not any(sent):
        raise ValueError(
            "message_bytes, and the network's time per byte (beta, G), must be above 0 with "
            "Congestion: messages that take no time on a link do not hold each other up"
        )


def message_count(step: Step, ranks: int) -> int:
    """How many messages a step sends, redundant copies aside."""
    if step.kind == MESSAGE and step.partners is not None:
        return step.partners.count(ranks) * step.repeat
    if step.kind == EXCHANGE:
        return int(1 << (ranks.bit_length() - 1))
    return ranks if step.kind == FORWARD else 0
