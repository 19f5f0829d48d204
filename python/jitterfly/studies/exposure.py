"""Whether there is anything in a case that its noise could hit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..case import Case
from ..messages import cost_table, hypercube_costs
from ..noise.source import Exposed, Noise
from ..phases import each
from ..steps import EXCHANGE, FORWARD, MESSAGE
from ..timeline import symmetric_timeline
from ..units import to_ticks

if TYPE_CHECKING:
    from .place import Place


def exposed(case: Case) -> Exposed:
    """What a rank does in one cycle at most."""
    total = 0

    def count(start: int, work: int) -> int:
        nonlocal total
        total += work
        return start + work

    steps = case.cycle_steps()
    hypercube = [step for step in steps if step.kind != MESSAGE]
    costs, algorithm = hypercube_costs(case, steps), case.algorithm
    asking = algorithm.asking(case.network)
    symmetric_timeline(hypercube, costs, 0, algorithm.forward_ticks(), count, asking=asking)
    ways, exchanges = [0], 0
    for step, cost in zip(steps, cost_table(case, steps).costs(), strict=True):
        if cost is not None:
            ways.append(cost.transit)
            exchanges += step.repeat
            total += step.repeat * (cost.send + cost.receive)
        elif step.kind in (EXCHANGE, FORWARD):
            ways.append(case.costs.transit)
            exchanges += step.kind == EXCHANGE
    return Exposed(to_ticks(case.work), total, max(ways), exchanges)


def delays(noise: Noise, case: Case) -> bool:
    """Whether this noise of the case can delay anything in it."""
    there = exposed(case)
    longest = max(
        noise.longest_delay(1),
        noise.longest_step_delay(),
        noise.longest_message_delay(there.transit),
        noise.longest_wait(1),
    )
    return longest > 0 and not noise.misses(there)


def check_exposed(places: Sequence[Place]) -> None:
    """Raise ValueError for noise that can hit nothing in any cell: it would be ignored."""
    hits: set[tuple[int, str]] = set()
    misses: dict[tuple[int, str], str] = {}
    ranks = 1
    for place in each(places, len(places), "checking noise"):
        for case in place.cases.values():
            ranks = max(ranks, case.ranks)
            for key in ((i, noise.kind) for i, noise in enumerate(case.noise)):
                if key not in hits and not (why := case.noise[key[0]].misses(exposed(case))):
                    hits.add(key)
                elif key not in hits:
                    misses[key] = why
    for key, why in misses.items():
        if key not in hits:
            alone = "" if ranks > 1 else " (one rank exchanges nothing)"
            raise ValueError(f"noise.{key[0]} ({key[1]}) can hit nothing in any cell: {why}{alone}")
