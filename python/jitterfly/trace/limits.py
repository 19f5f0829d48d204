"""What a picture of one realization has room for, asked before anything is drawn."""

from __future__ import annotations

from ..case import Case

MOST_RANKS = 128
MOST_MESSAGES = 20_000  # also the most noise intervals: beyond, nobody could tell them apart


def noise_free(case: Case) -> int:
    """Completion without noise, ticks."""
    line = case.quiet_timeline()
    return int((case.cycles - 1) * line.end + line.ready[-1])


def check_size(case: Case) -> None:
    """Raise ValueError if a picture could not show the case."""
    if case.ranks > MOST_RANKS:
        raise ValueError(f"ranks must be from 1 to {MOST_RANKS} for a trace, got {case.ranks}")
    rounds, algorithm = case.log2_ranks, case.algorithm
    each = rounds + len(algorithm.levels(rounds)) + algorithm.forwards(rounds)
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
