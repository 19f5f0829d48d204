"""Whether there is anything in a case that its noise could hit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..case import Case
from ..noise.source import Exposed, Noise
from ..steps import EXCHANGE, FORWARD, symmetric_timeline
from ..units import to_ticks

if TYPE_CHECKING:
    from .place import Place


def exposed(case: Case) -> Exposed:
    """What a rank does in one cycle."""
    total = 0

    def count(start: int, work: int) -> int:
        nonlocal total
        total += work
        return start + work

    steps = case.cycle_steps()
    symmetric_timeline(steps, case.costs, 0, case.algorithm.forward_ticks(), count)
    exchanges = sum(step.kind == EXCHANGE for step in steps)
    messages = exchanges or any(step.kind == FORWARD for step in steps)
    transit = case.costs.transit if messages else 0
    return Exposed(to_ticks(case.work), total, transit, exchanges)


def delays(noise: Noise, case: Case) -> bool:
    """Whether this noise of the case can delay anything in it."""
    there = exposed(case)
    longest = max(
        noise.longest_delay(1),
        noise.longest_step_delay(),
        noise.longest_message_delay(there.transit),
    )
    return longest > 0 and not noise.misses(there)


def check_exposed(places: Iterable[Place]) -> None:
    """Raise ValueError for noise that can hit nothing in any cell: it would be ignored."""
    hits: set[tuple[int, str]] = set()
    misses: dict[tuple[int, str], str] = {}
    ranks = 1
    for place in places:
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
