"""Who takes part in a benchmark: the engine on every case of the plan, and what that needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ..case import Case
from ..engine import core, takes_gpu
from ..info import processors
from ..memory import available_bytes, check_memory
from ..program import compile_case, rank_rounds
from .gpu import gpu_limit
from .limits import Counter, core_limit
from .measure import CPU, CUDA, NOISES, Contestant, engine, programs, spread
from .plan import KINDS, PROGRAMS, Plan

GOAL_RANKS = 2**12
_PROBE_RANKS = 2**14  # large enough that its rate is that of larger ones


def ways(plan: Plan) -> list[tuple[str, str, int | None]]:
    """Name, backend and threads of every way to run the engine here."""
    found: list[tuple[str, str, int | None]] = [(CPU, "cpu", 1)]
    found += [(CPU, "cpu", processors())] if plan.all_threads and processors() > 1 else []
    found += [(CUDA, "cuda", None)] if takes_gpu("auto", None) else []
    return found


def anchor(plan: Plan) -> int:
    """The number of ranks at which peers and kinds of noise are measured: nearest to the goal's."""
    return min(plan.ranks, key=lambda ranks: abs(ranks.bit_length() - GOAL_RANKS.bit_length()))


def backend_of(contestant: Contestant) -> str:
    """Where it runs."""
    return "cuda" if contestant.name == CUDA else "cpu"


def bytes_in_flight(case: Case, backend: str, threads: int | None) -> int:
    """The engine's account of what it holds for one realization, results aside."""
    return int(core.memory(compile_case(case), backend, threads or 0, 1))


def contestants(plan: Plan) -> list[Contestant]:
    """The engine on all cases of the plan, ascending ranks in each program and noise.

    Raises
    ------
    ValueError
        There is not enough memory for one of them; the message has the numbers.
    """
    chosen = [
        engine(name, program, noise, programs(ranks, NOISES[noise])[program], backend, threads)
        for name, backend, threads in ways(plan)
        for program in map(PROGRAMS.__getitem__, plan.programs)
        for noise in map(KINDS.__getitem__, plan.noises)
        for ranks in plan.ranks
    ]
    for contestant in chosen:
        assert contestant.case
        backend, ranks = backend_of(contestant), contestant.case.ranks
        what = f"{contestant.program}, {contestant.noise}, at {ranks} ranks"
        room = core.gpu_memory_available() if backend == "cuda" else available_bytes()
        check_memory(bytes_in_flight(contestant.case, backend, contestant.threads), what, room,
                     "device memory" if backend == "cuda" else "memory")  # fmt: skip
    return chosen


def short_enough(
    chosen: list[Contestant], longest: float, tell: Callable[[str], object]
) -> tuple[list[Contestant], list[dict[str, Any]]]:
    """Those of which a realization takes at most so long, and the others with an estimate.

    Realizations of moderate size tell how long a large one will take (CPU time with one thread).
    """
    kept, left, rates = [], [], {}
    for contestant in chosen:
        assert contestant.case
        key = contestant.name, contestant.threads, contestant.program, contestant.noise
        ranks, expected = contestant.case.ranks, 0.0
        if ranks > _PROBE_RANKS:
            if key not in rates:
                tell(f"how long a realization takes: {', '.join(map(str, key))}")
                case = programs(_PROBE_RANKS, NOISES[contestant.noise])[contestant.program]
                probe = engine(contestant.name, contestant.program, contestant.noise, case,
                               backend_of(contestant), contestant.threads)  # fmt: skip
                probe.realizations = 4  # or starting threads would be most of it
                times = [probe.time()[contestant.threads == 1] for _ in range(2)]
                rates[key] = 4 * rank_rounds(case) / max(min(times), 1e-9)
            expected = contestant.rank_rounds / rates[key]
        if expected > longest:
            names = "name", "threads", "program", "noise", "ranks", "seconds_expected"
            left.append(dict(zip(names, (*key, ranks, expected), strict=True)))
        else:
            kept.append(contestant)
    return kept, left


def row(
    contestant: Contestant,
    plan: Plan,
    counter: Counter | None,
    capacity: dict[str, Any] | None,
    card: dict[str, Any] | None,
) -> dict[str, Any]:
    """The measurements of a contestant as plain values, with its limit where one is known."""
    assert contestant.case
    rates, ranks = contestant.rates(), contestant.case.ranks
    ours, on_core = contestant.name in (CPU, CUDA), contestant.threads == 1
    per_rank = limit = None
    if ours and (on_core or contestant.threads is None):
        held = bytes_in_flight(contestant.case, backend_of(contestant), contestant.threads)
        per_rank = held / ranks
        if on_core:
            counted = counter and counter.count(contestant.program, contestant.noise, ranks)
            limit = core_limit(contestant.case, per_rank, counted, capacity)
        else:
            first = (contestant.program, contestant.noise) == ("butterfly", "periodic")
            counts = plan.instructions.get(ranks) if first else None
            limit = gpu_limit(contestant.case, per_rank, counts, card)
    most = limit["rank_rounds_per_second"] if limit else None
    return {
        "name": contestant.name,
        "program": contestant.program,
        "noise": contestant.noise,
        "ranks": ranks,
        "threads": contestant.threads,
        "rank_rounds_per_realization": contestant.rank_rounds,
        "realizations": contestant.realizations,
        "seconds": contestant.seconds,
        "cpu_seconds": contestant.cpu_seconds,
        "reference_cpu_seconds": contestant.reference,
        "rank_rounds_per_second": spread(rates),
        "realizations_per_second": contestant.rate() / contestant.rank_rounds,
        "bytes_per_rank": per_rank,
        "limit": limit,
        "share": contestant.rate() / most if most else None,
    }


def plain(plan: Plan) -> dict[str, Any]:
    """The plan for a JSON file; `Plan(**stored(...))` is its way back."""
    return asdict(plan) | {"instructions": {str(k): v for k, v in plan.instructions.items()}}


def stored(found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a plan from a JSON file."""
    lists = {name: tuple(found[name]) for name in ("ranks", "programs", "noises")}
    counts = {int(k): v for k, v in found["instructions"].items()}
    return found | lists | {"instructions": counts}


def sizes(rows: list[dict[str, Any]], left_out: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each case on one thread holds per rank, also those that were too long to measure."""
    found = [r for r in rows if r["bytes_per_rank"] is not None and r["threads"] == 1]
    for left in left_out:
        if left["threads"] == 1:
            case = programs(left["ranks"], NOISES[left["noise"]])[left["program"]]
            found.append(left | {"bytes_per_rank": bytes_in_flight(case, "cpu", 1) / case.ranks})
    return [{"ranks": r["ranks"], "bytes_per_rank": r["bytes_per_rank"],
             "case": f"{r['program']}, {r['noise']}, 2^{r['ranks'].bit_length() - 1} ranks"}
            for r in found]  # fmt: skip
