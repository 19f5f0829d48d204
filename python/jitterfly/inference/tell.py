"""The answer to a question of noise, for people."""

from __future__ import annotations

from collections.abc import Sequence

from ..units import show_seconds
from .question import ALWAYS, EXACT, NEVER, SIMULATED, Budget, Question


def asked(question: Question) -> str:
    """What is to be kept: `the mean completion of the last of 8,192 ranks at or below 120 us`."""
    what = f"{question.statistic}{' of the' * (question.statistic != 'mean')} completion"
    whose = "last" if question.rank == "last" else "mean"
    limit = show_seconds(float(question.latency), 4)
    return f"the {what} of the {whose} rank of {question.ranks:,} at or below {limit}"


def answer(found: Budget) -> list[str]:
    """Lines of text: the answer, and how sure it is."""
    question = found.question
    k = question.rounds
    step, delay = (show_seconds(float(t), 4) for t in (question.step, question.delay))
    if found.state == NEVER and question.room == 0:
        return [f"only without any noise: {asked(question)} is just K L = {k} x {step}"]
    if found.state == NEVER:
        return [
            f"impossible: to keep {asked(question)} takes less than no noise: K L = {k} x {step} = "
            f"{show_seconds(question.quiet, 4)} without any"
        ]
    if found.state == ALWAYS:
        return [
            f"always met: {asked(question)} holds for every p at D = {delay}: with every step hit "
            f"it is K (L + D) = {k} ({step} + {delay}) = {show_seconds(question.saturation, 4)}"
        ]
    p = found.probability
    return [
        f"to keep {asked(question)}, with L = {step} a step:",
        f"at most p = {p.value:.4g} [{p.low:.4g}, {p.high:.4g}] at D = {delay}",
        how(found),
    ]


def how(found: Budget) -> str:
    """Where the interval comes from."""
    share = f"{100 * found.confidence:g} %"
    if found.how == SIMULATED:
        return (
            f"{share} interval of the Monte Carlo error: {found.realizations:,} realizations, the "
            "same for every p that was tried"
        )
    if found.how == EXACT:
        return (
            "exact: the recursion of one rank's distribution, no simulation"
            if found.question.rank == "mean"
            else "exact: so few hits are allowed that they do not meet; no simulation"
        )
    return f"{share} interval, from a table of {found.realizations:,} realizations"


def over_delays(curves: Sequence[Sequence[Budget]]) -> list[str]:
    """A table: at most p for each D, a column for each rank of the questions."""
    names = [f"{curve[0].question.rank} rank" for curve in curves]
    lines = [f"  {'D':>8}  " + "  ".join(f"{f'at most p, {name}':>34}" for name in names)]
    for row in zip(*curves, strict=True):
        delay = show_seconds(float(row[0].question.delay), 3)
        lines.append(f"  {delay:>8}  " + "  ".join(f"{_cell(found):>34}" for found in row))
    return lines


def _cell(found: Budget) -> str:
    if found.state == NEVER:
        return "none"
    if found.state == ALWAYS:
        return "any"
    p = found.probability
    if found.how == EXACT:
        return f"{p.value:.3g}"
    return f"{p.value:.3g} [{p.low:.3g}, {p.high:.3g}]"
