"""How long a case may take: times must stay below what the engine's integers hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .messages import cost_table, hypercube_costs, hypercube_load
from .noise.source import longest_work
from .steps import MESSAGE
from .timeline import symmetric_timeline
from .units import LONGEST_SECONDS, LONGEST_TICKS, TICKS_PER_SECOND, to_ticks

if TYPE_CHECKING:
    from .case import Case


def longest_ticks(case: Case) -> int:
    """A bound on any time that occurs under the worst noise that is likely, in ticks."""
    taken: dict[int, int] = {}  # a cycle asks for the same few again and again

    def advance(start: int, work: int) -> int:
        if work not in taken:
            taken[work] = longest_work(case.noise, work)
        return start + taken[work]

    def late(transit: int, load: int) -> int:
        delays = (noise.longest_message_delay(transit) for noise in case.noise)
        return transit + sum(delays) + sum(noise.longest_wait(load) for noise in case.noise)

    steps = case.cycle_steps()
    costs = hypercube_costs(case, steps)
    slow = costs._replace(transit=late(costs.transit, hypercube_load(case, steps)))
    # Also where few ranks act in a step: the more messages a rank sends and takes, the later it is.
    table = cost_table(case, steps)
    messages = [
        cost and cost._replace(transit=late(cost.transit, table.loads[i]))
        for i, cost in zip(table.of_step, table.costs(), strict=True)
    ]
    work, forward = to_ticks(case.work), case.algorithm.forward_ticks()
    asking = case.algorithm.asking(case.network)
    line = symmetric_timeline(steps, slow, work, forward, advance, messages=messages, asking=asking)
    # The end is when a rank is free; messages of forwards may still be under way, and links taken.
    under_way = slow.transit * sum(step.kind != MESSAGE for step in steps)
    gap = max((cost.gap for cost in messages if cost is not None), default=0)
    end = max(line.end, line.sends, line.receives + gap)
    return case.cycles * (end + under_way) + sum(noise.lookahead() for noise in case.noise)


def check_longest(case: Case) -> None:
    """Raise ValueError for a case that may take longer than 2^62 ps."""
    longest = longest_ticks(case)
    if longest > LONGEST_TICKS:
        raise ValueError(
            f"the simulated time of a case must stay below {LONGEST_SECONDS:.3g} s (2^62 ps), "
            f"this one may take {longest / TICKS_PER_SECOND:.3g} s: lower work, cycles, "
            "message_bytes, or the times of network and noise"
        )
    for noise in case.noise:
        noise.check_length(longest)
