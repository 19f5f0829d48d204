"""Whether there is anything in a case that its noise could hit."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from .case import Case
from .fields import stacklevel_of_user
from .network import LogGOPS
from .noise import Noise
from .noise.source import ExposedWork
from .steps import EXCHANGE, FORWARD, MESSAGE
from .timeline import symmetric_timeline
from .units import to_ticks


class IneffectiveNoiseWarning(UserWarning):
    """A source of noise can hit nothing in the case that is simulated."""


def exposed(case: Case) -> ExposedWork:
    """What a rank does in one cycle at most, as far as the completion can depend on it.

    A forward after the last result changes nothing where no rank can be late with the result.
    """
    work = _exposed_work(case, trailing=case.cycles > 1)
    if case.cycles > 1 or all(_longest_delay(n, work) <= 0 or n.misses(work) for n in case.noise):
        return work
    return _exposed_work(case, trailing=True)


def _exposed_work(case: Case, *, trailing: bool) -> ExposedWork:
    """What a rank does in one cycle, with the CPU time of `trailing` forwards or without it."""
    total = 0

    def count(start: int, work: int) -> int:
        nonlocal total
        total += work
        return start + work

    cycle, algorithm = case.lowered, case.algorithm
    hypercube = [step for step in cycle.steps if step.kind != MESSAGE]
    asking = algorithm.asking(case.network)
    forward = algorithm.forward_ticks() if trailing else 0
    symmetric_timeline(hypercube, cycle.costs, 0, forward, count, asking=asking)
    ways, exchanges = [0], 0
    for step, cost in zip(cycle.steps, cycle.table.costs(), strict=True):
        if cost is not None:
            ways.append(cost.transit)
            exchanges += step.repeat
            total += step.repeat * (cost.send + cost.receive)
        elif step.kind in (EXCHANGE, FORWARD):
            ways.append(cycle.costs.transit)
            exchanges += step.kind == EXCHANGE
    remedy = _remedy(case)
    return ExposedWork(to_ticks(case.compute_time), total, max(ways), exchanges, remedy)


def _remedy(case: Case) -> str:
    """What would give the CPU work in the collective of a case."""
    if case.ranks == 1:
        return "more ranks"
    if isinstance(case.network, LogGOPS):
        return "network.o (CPU time of a message)"
    if case.message_bytes and any(
        step.kind == EXCHANGE or step.combine for step in case.lowered.steps
    ):
        return "network.gamma (CPU time to combine a byte)"
    return "a LogGOPS network, whose messages take CPU time (o),"


def delays(noise: Noise, case: Case) -> bool:
    """Whether this noise of the case can delay anything in it."""
    work = exposed(case)
    return _longest_delay(noise, work) > 0 and not noise.misses(work)


def _longest_delay(noise: Noise, work: ExposedWork) -> int:
    """The longest delay of anything that the noise hits, in ticks."""
    return max(
        noise.longest_delay(1),
        noise.longest_step_delay(),
        noise.longest_message_delay(work.transit or 1),
        noise.longest_wait(1),
    )


def check_exposed(
    cases: Iterable[Case], sources: int | None = None, *, trailing: bool = True
) -> None:
    """Raise ValueError for noise that can hit nothing in any cell: it would be ignored.

    Where all cases have the same `sources` of noise, it goes through them until each hits one.
    Without `trailing`, forwards after the last result do not count as something to hit.
    """
    hits: set[tuple[int, str]] = set()
    misses: dict[tuple[int, str], str] = {}
    ranks = 1
    for case in cases:
        if len(hits) == sources:
            return
        ranks = max(ranks, case.ranks)
        for key in ((i, noise.kind) for i, noise in enumerate(case.noise)):
            if key in hits:
                continue
            work = (
                exposed(case)
                if trailing or case.cycles > 1
                else _exposed_work(case, trailing=False)
            )
            if not (why := case.noise[key[0]].misses(work)):
                hits.add(key)
            else:
                misses[key] = why
    for key, why in misses.items():
        if key not in hits:
            raise ValueError(_hits_nothing(*key, f" in any cell: {why}", ranks))


def warn_of_misses(case: Case) -> None:
    """Warn of each source that can hit nothing, or not all, in a case that is simulated alone.

    There is no warning where its delays are 0, or where one rank without work does nothing at all.
    """
    if not case.noise or (case.ranks == 1 and not case.compute_time):
        return
    work = exposed(case)
    for i, noise in enumerate(case.noise):
        why = noise.misses(work)
        if why and _longest_delay(noise, work) > 0:
            told = _hits_nothing(i, noise.kind, f", so it is without effect: {why}", case.ranks)
            warnings.warn(told, IneffectiveNoiseWarning, stacklevel=stacklevel_of_user())
        elif unused := noise.ignores(case.ranks):
            told = f"noise.{i} ({noise.kind}): {unused}"
            warnings.warn(told, IneffectiveNoiseWarning, stacklevel=stacklevel_of_user())


def _hits_nothing(place: int, kind: str, why: str, ranks: int) -> str:
    alone = "" if ranks > 1 else " (one rank exchanges nothing)"
    return f"noise.{place} ({kind}) can hit nothing{why}{alone}"
