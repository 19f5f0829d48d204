"""What a picture of one realization has room for, asked before anything is drawn."""

from __future__ import annotations

from ..algorithms import Butterfly
from ..case import Case
from ..quiet import quiet_ticks

MOST_RANKS = 128
MOST_MESSAGES = 20_000  # also the most noise intervals: beyond, nobody could tell them apart


def noise_free(case: Case) -> int:
    """Completion without noise, ticks."""
    return int(quiet_ticks(case)[-1])


def check_size(case: Case) -> None:
    """Raise ValueError if a picture could not show the case."""
    if not isinstance(case.algorithm, Butterfly) or case.ranks & (case.ranks - 1):
        raise ValueError(
            "a trace shows a Butterfly on a power of two of ranks, got "
            f"{type(case.algorithm).__name__} on {case.ranks}"
        )
    if case.algorithm.mirrors != (1,) or case.algorithm.on_demand is not None:
        raise ValueError(
            "a trace shows copies to one mirror: mirrors and on_demand must be left out"
        )
    if case.ranks > MOST_RANKS:
        raise ValueError(f"ranks must be from 1 to {MOST_RANKS} for a trace, got {case.ranks}")
    rounds, algorithm = case.log2_ranks, case.algorithm
    each = rounds + len(algorithm.levels(case.ranks)) + algorithm.forwards(case.ranks)
    messages = case.cycles * case.ranks * max(each, 1)
    if messages > MOST_MESSAGES:
        raise ValueError(
            f"a trace shows at most {MOST_MESSAGES} messages, these may be {messages}: "
            "lower ranks or cycles"
        )
    # However long the realization is, it is no shorter than without noise.
    check_intervals(case, noise_free(case))


def check_intervals(case: Case, end: int) -> None:
    """Raise ValueError if there are too many noise intervals up to the tick `end`."""
    count = sum(case.ranks * noise.intervals_in(end) for noise in case.noise)
    if count > MOST_MESSAGES:
        raise ValueError(
            f"a trace shows at most {MOST_MESSAGES} noise intervals, these are about {count:.0f}: "
            "lower ranks, cycles or work, or take a longer period"
        )
