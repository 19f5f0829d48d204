"""One cycle of a case, lowered: its steps, and what their messages cost in ticks.

Checks, bounds, timelines and the program of a case all take the same cycle, which is made once.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

from .algorithms import Algorithm
from .network import Network
from .steps import COMPUTE, ENTER, EXCHANGE, FORWARD, MESSAGE, OBSERVE, Costs, MessageCosts, Step


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


class Cycle:
    """The steps of one cycle, the same for each, and the costs of their messages.

    Attributes
    ----------
    steps : tuple of Step
        The compute phase, the collective, and a look at its end.
    table : CostTable
        Of the MESSAGE steps.
    has_hypercube : bool
        Whether there are steps over the hypercube: of the butterfly, or forwards.
    costs : Costs
        Of a message of those; zeros where there is none.
    load : int
        Of a message of those its `Network.load`; 0 where there is none, and without congestion.
    """

    def __init__(
        self, algorithm: Algorithm, network: Network, ranks: int, message_bytes: int, routed: bool
    ) -> None:
        collective = algorithm.steps(ranks, message_bytes)
        self.steps = (Step(COMPUTE), *collective, Step(OBSERVE, label="end"))
        self.table = _cost_table(self.steps, network, routed)
        self.has_hypercube = any(step.kind in (ENTER, EXCHANGE, FORWARD) for step in self.steps)
        self.costs, self.load = Costs(0, 0, 0, 0), 0
        if self.has_hypercube:
            self.costs = network.costs(message_bytes)
            self.load = network.load(message_bytes) if routed else 0

    @cached_property
    def longest_transit(self) -> int:
        """The longest way of a message, of any kind, in ticks; 0 where there is none."""
        ways = [entry.transit for entry in self.table.entries]
        return max([*ways, self.costs.transit])


@lru_cache(maxsize=64)
def lower_cycle(
    algorithm: Algorithm, network: Network, ranks: int, message_bytes: int, routed: bool
) -> Cycle:
    """The cycle of a case with these fields; `routed`: messages share links (`Congestion`)."""
    return Cycle(algorithm, network, ranks, message_bytes, routed)


def _cost_table(steps: tuple[Step, ...], network: Network, routed: bool) -> CostTable:
    known: dict[tuple[MessageCosts, int], int] = {}
    places: dict[tuple[int, bool, bool], int] = {}  # costs are exact fractions: each once only
    of_step = []
    for step in steps:
        if step.kind != MESSAGE:
            of_step.append(-1)
            continue
        kind = step.bytes, bool(step.combine), bool(step.occupies)
        if kind not in places:
            send, receive, transit, combine = network.costs(step.bytes)
            gap = network.gap(step.bytes) if step.occupies else 0
            cost = MessageCosts(send, receive + (combine if step.combine else 0), transit, gap)
            load = network.load(step.bytes) if routed else 0
            places[kind] = known.setdefault((cost, load), len(known))
        of_step.append(places[kind])
    entries, loads = zip(*known, strict=True) if known else ((), ())
    return CostTable(entries, tuple(of_step), loads)
