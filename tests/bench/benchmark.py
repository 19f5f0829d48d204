"""Rates of the engine: results, ratios with intervals, text report and CSV.

Everything is measured in one run and in turn, so ratios mean more than the figures themselves.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, NamedTuple

from jitterfly.answer import csv_text
from jitterfly.backends import gpu_devices, info
from jitterfly.measured import host
from jitterfly.resources import available_memory, check_memory

from .limits import Counter, core_capacity, core_limit, gpu_capacity, gpu_limit
from .measure import (
    BYTES_PER_RANK,
    CPU,
    CUDA,
    NOISES,
    Complete,
    Contestant,
    Plan,
    anchor,
    backend_of,
    bytes_in_flight,
    calibrate,
    check_program,
    contestants,
    measure,
    other_program,
    plan_to_json,
    programs,
    short_enough,
    spread,
)

COLUMNS = (
    "name", "threads", "program", "noise", "ranks", "rank_rounds_per_second_min",
    "rank_rounds_per_second", "rank_rounds_per_second_max", "realizations_per_second",
    "bytes_per_rank", "limit_rank_rounds_per_second", "limit_by", "share",
)  # fmt: skip
_LINE = "{:<18} {:<16} {:<9} {:>6} {:>4} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9} {:>6}  {}"


class Measured(NamedTuple):
    """Contestants after all repeats: the engine's, and other programs on the same case."""

    ours: list[Contestant]
    others: list[Contestant]
    left_out: list[dict[str, Any]]
    checked: int

    @property
    def first(self) -> Contestant | None:
        """The engine on one thread on the case of the other programs, if it was measured."""
        ranks = self.others[0].case.ranks if self.others and self.others[0].case else None
        for contestant in self.ours:
            same = (contestant.program, contestant.noise, contestant.threads) == (
                "butterfly",
                "periodic",
                1,
            )
            if same and contestant.case and contestant.case.ranks == ranks:
                return contestant
        return None


def measured(
    plan: Plan,
    tell: Callable[[str], object],
    others: dict[str, Complete],
    reference: Contestant | None = None,
) -> Measured:
    """Time the engine and the other programs, all that the plan asks for.

    Parameters
    ----------
    plan : Plan
    tell : callable
        Called with a line of text now and then.
    others : dict
        Other programs by name; they must give the engine's results.
    reference : Contestant, optional
        Timed just before each measurement.
    """
    ranks, checked = anchor(plan), 0
    ours, beside = contestants(plan), list[Contestant]()
    if plan.peers:
        case = programs(ranks, NOISES["periodic"])["butterfly"]
        check_memory(ranks * BYTES_PER_RANK, "the other programs (with --no-peers they are "
                     "left out)", available_memory())  # fmt: skip
        checked = 8 if ranks <= 2**16 else 1
        for complete in others.values():
            check_program(complete, case, checked)
        beside = [other_program(name, complete, case) for name, complete in others.items()]
    ours, left_out = short_enough(ours, plan.longest, tell)
    if reference is not None:
        reference.calibrate(min(plan.seconds / 4, 0.02))
    calibrate([*beside, *ours], plan.seconds, "cases", tell)
    measure([*beside, *ours], plan.repeats, "cases", tell, reference)
    return Measured(ours, beside, left_out, checked)


def result_of(measurement: Measured, plan: Plan, tell: Callable[[str], object]) -> dict[str, Any]:
    """Measurements as plain values, with the limits of machine and cases where the plan asks."""
    core = core_capacity(min(4 * plan.seconds, 0.4)) if plan.limit else None
    devices = gpu_devices()
    card = gpu_capacity(devices[0]) if devices and plan.limit else None
    counter = Counter(tell) if plan.limit else None
    rows = [
        _row(contestant, plan, counter, core, card)
        for contestant in [*measurement.others, *measurement.ours]
    ]
    first = measurement.first
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "plan": plan_to_json(plan),
        "anchor": anchor(plan),
        "realizations_checked": measurement.checked,
        "capacity": {"core": core, "gpu": card, "problem": counter.problem if counter else ""},
        "rows": rows,
        "left_out": measurement.left_out,
        "ratios": {
            contestant.label: ratios(first, contestant)
            for contestant in measurement.others
            if first
        },
        "core_share": core_share(first) if first else None,
    }


def _row(
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
            counted = None
            if counter is not None:
                counted = counter.count(contestant.program, contestant.noise, ranks)
            limit = core_limit(contestant.case, per_rank, counted, capacity)
        else:
            first = (contestant.program, contestant.noise) == ("butterfly", "periodic")
            counts = plan.instructions.get(ranks) if first else None
            limit = gpu_limit(contestant.case, per_rank, counts, card)
    most = limit["rank_rounds_per_second"] if limit else None
    row = {
        "name": contestant.name,
        "program": contestant.program,
        "noise": contestant.noise,
        "ranks": ranks,
        "threads": contestant.threads,
        "rank_rounds_per_realization": contestant.rank_rounds,
        "realizations": contestant.realizations,
        "seconds": contestant.seconds,
        "cpu_seconds": contestant.cpu_seconds,
        "rank_rounds_per_second": spread(rates),
        "realizations_per_second": contestant.rate() / contestant.rank_rounds,
        "bytes_per_rank": per_rank,
        "limit": limit,
        "share": contestant.rate() / most if most else None,
    }
    return row | ({"reference_cpu_seconds": contestant.reference} if contestant.reference else {})


def ratios(ours: Contestant, theirs: Contestant) -> dict[str, float]:
    """Our rate over theirs, repeat by repeat: neighbours in time share the machine's state."""
    return spread([a / b for a, b in zip(ours.rates(), theirs.rates(), strict=True)])


def core_share(contestant: Contestant) -> float:
    """How much of its one core the operating system gave it: CPU time over time, median."""
    times = zip(contestant.cpu_seconds, contestant.seconds, strict=True)
    return statistics.median(cpu / seconds for cpu, seconds in times)


def machine() -> dict[str, Any]:
    """Processor, versions, build and devices, as plain values (docs/developers/benchmark.md)."""
    about = info()
    return {
        "cpu": host.model(),
        "cores": about["processors"],
        "system": about["platform"],
        "python": about["python"],
        "numpy": about["numpy"],
        "build": about["build"],
        "devices": about["devices"],
        "cuda": about["cuda"] or "usable",
    }


def report(result: dict[str, Any]) -> list[str]:
    """The result of `run` as lines of text."""
    machine = result["machine"]
    build = machine["build"]
    lines = [
        f"jitterfly {build['version']}, {build['instruction_set']}, {machine['cpu']}, "
        f"{machine['cores']} cores; {result['date']}",
        *capacity_lines(result["capacity"]),
        f"{result['plan']['repeats']} repeats in turn, noise generation included; rank-rounds per "
        "second of CPU time with one thread, of the clock otherwise",
        _LINE.format("", "program", "noise", "ranks", "thr", "min", "median", "max", "realiz./s",
                     "B/rank", "limit", "share", "by"),
    ]  # fmt: skip
    lines += [_line(row) for row in result["rows"]]
    for left in result["left_out"]:
        lines.append(f"left out: {left['name']}, {left['program']}, {left['noise']}, "
                     f"{_ranks(left['ranks'])} ranks: about {left['seconds_expected']:.2g} s a "
                     "realization (--longest)")  # fmt: skip
    if result["ratios"]:
        lines.append(f"one thread of jitterfly, butterfly, periodic noise, "
                     f"{_ranks(result['anchor'])} ranks, is so many times as fast as "
                     "(median, range):")  # fmt: skip
    for name, ratio in result["ratios"].items():
        lines.append(f"  {name}: {ratio['median']:.3g} ({ratio['min']:.3g} to {ratio['max']:.3g})")
    if checked := result["realizations_checked"]:
        lines.append(f"all results equal the engine's to the tick ({checked} realizations)")
    if (share := result["core_share"]) is not None and share < 0.95:
        lines.append(f"other programs were running: ours had {share:.0%} of its core")
    return lines


def capacity_lines(capacity: dict[str, Any]) -> list[str]:
    """What the machine can do, as measured."""
    lines, core, card = [], capacity["core"], capacity["gpu"]
    if core:
        rates = ", ".join(f"{name} {rate / 1e9:.3g}" for name, rate in core["instructions"].items())
        text = rates or "not measured on this architecture"
        lines.append(f"a core's instructions, 10^9/s ({core['instruction_set']}): {text}")
        levels = [f"{v['name']} {v['read'] / 1e9:.3g} and {v['copy'] / 1e9:.3g}"
                  for v in core["levels"]]  # fmt: skip
        bandwidths = ", ".join(levels) or "not measured (the system does not name its caches)"
        lines.append(f"a core's bandwidth, GB/s, reading and copying: {bandwidths}")
    if card:
        memory = ", ".join(f"{v['name']} {v['read'] / 1e9:.4g} GB/s" for v in card["levels"])
        lines.append(f"{card['device']}: {card['instructions']:.3g} instructions/s of threads, "
                     f"{memory or 'bandwidth unknown'}, by its properties")  # fmt: skip
    if capacity["problem"]:
        lines.append(f"no limit: {capacity['problem']}")
    return lines


def _ranks(ranks: int) -> str:
    return f"2^{ranks.bit_length() - 1}"


def _line(row: dict[str, Any]) -> str:
    rate, limit = row["rank_rounds_per_second"], row["limit"] or {}
    most, share = limit.get("rank_rounds_per_second"), row["share"]
    per_rank = row["bytes_per_rank"]
    return _LINE.format(
        row["name"], row["program"], row["noise"], _ranks(row["ranks"]), row["threads"] or "-",
        *(f"{rate[key]:.3g}" for key in ("min", "median", "max")),
        f"{row['realizations_per_second']:.3g}",
        "-" if per_rank is None else f"{per_rank:.4g}",
        f"{most:.3g}" if most else "-",
        f"{share:.0%}" if share else "-",
        limit.get("by") or "",
    ).rstrip()  # fmt: skip


def to_csv(result: dict[str, Any]) -> str:
    """A line for each row of a result; what is not known is empty."""
    rows: list[tuple[Any, ...]] = [COLUMNS]
    for row in result["rows"]:
        rate, limit = row["rank_rounds_per_second"], row["limit"] or {}
        rows.append((
            row["name"], row["threads"], row["program"], row["noise"], row["ranks"], rate["min"],
            rate["median"], rate["max"], row["realizations_per_second"], row["bytes_per_rank"],
            limit.get("rank_rounds_per_second"), limit.get("by"), row["share"],
        ))  # fmt: skip
    return csv_text(rows)
