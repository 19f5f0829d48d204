"""What `jitterfly bench` says about its measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from .. import _core
from . import sources as bs
from .measure import Contestant

GOAL = 1e9
"""Rank-rounds per second and core at `GOAL_RANKS`, noise generation included."""
GOAL_RANKS = 2**12
WARP_SCHEDULERS, WARP = 4, 32  # per multiprocessor, since compute capability 7.0
LINE = "{:<18} {:<16} {:<9} {:>7} {:>10} {:>10} {:>10} {:>10}"


def report(result: dict[str, Any]) -> str:
    """The result of `run` as text."""
    machine = result["machine"]
    build, ranks = machine["build"], result["ranks"]
    lines = [
        f"jitterfly {build['version']}, {build['instruction_set']}, {machine['cpu']}, "
        f"{machine['cores']} cores; {result['date']}",
        f"{ranks} ranks, {result['repeats']} repeats in turn, noise generation included",
        LINE.format("rank-rounds/s", "program", "noise", "threads", "min", "median", "max",
                    "per core"),
    ]  # fmt: skip
    for row in result["rows"]:
        rate, threads = row["rank_rounds_per_second"], row["threads"]
        values = [f"{rate[key]:.3g}" for key in ("min", "median", "max")]
        core = f"{rate['median'] / threads:.3g}" if threads else "-"
        names = row["name"], row["program"], row["noise"], threads or "-"
        lines.append(LINE.format(*names, *values, core))
    if result["ratios"]:
        lines.append("one thread of jitterfly is so many times as fast as (median, range):")
    for name, ratio in result["ratios"].items():
        lines.append(f"  {name}: {ratio['median']:.3g} ({ratio['min']:.3g} to {ratio['max']:.3g})")
    if checked := result["realizations_checked"]:
        lines.append(f"both peers equal the engine to the tick ({checked} realizations)")
    if (share := result["core_share"]) < 0.95:
        lines.append(f"other programs were running: ours had {share:.0%} of its core")
    lines += bs.table(result["sources"])
    lines += [result[what]["text"] for what in ("goal", "source_limit", "gpu_limit")]
    return "\n".join(lines)


def ratios(ours: Contestant, theirs: Contestant) -> dict[str, float]:
    """Our rate over theirs, repeat by repeat: neighbours in time share the machine's state."""
    values = [a / b for a, b in zip(ours.rates(), theirs.rates(), strict=True)]
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def core_share(contestant: Contestant) -> float:
    """How much of its one core the operating system gave it: CPU time over time, median."""
    times = zip(contestant.cpu_seconds, contestant.seconds, strict=True)
    return statistics.median(cpu / seconds for cpu, seconds in times)


def goal(contestant: Contestant, ranks: int) -> dict[str, Any]:
    """Whether one core is as fast as it should be; judged at `GOAL_RANKS` only."""
    found = statistics.median(contestant.rates())
    met = found >= GOAL if ranks == GOAL_RANKS else None
    words = {True: f"met: {found:.3g}", False: f"not met: {found:.3g}", None: "not judged here"}
    text = f"goal: {GOAL:.0e} rank-rounds/s and core at 2^12 ranks: {words[met]}"
    return {"rank_rounds_per_second_and_core": GOAL, "found": found, "met": met, "text": text}


def gpu_limit(
    contest: Sequence[Contestant], devices: Sequence[dict[str, Any]], instructions: float | None
) -> dict[str, Any]:
    """Share of the instruction limit: each scheduler of a multiprocessor issues a warp a clock."""
    found = [statistics.median(c.rates()) for c in contest if c.name == "jitterfly, cuda"]
    limit: dict[str, Any] = {"instructions_per_rank_round": instructions, "limit": None,
                             "share": None}  # fmt: skip
    if not found or not devices:
        text = f"not measured ({_core.cuda_status() or 'no CUDA device'})"
    elif instructions is None:
        text = "not measured (count the instructions of a rank-round: --instructions)"
    else:
        clock = devices[0]["clock_khz"] * 1e3
        issue = devices[0]["multiprocessors"] * WARP_SCHEDULERS * WARP * clock
        limit |= {"limit": issue / instructions, "share": found[0] * instructions / issue}
        text = f"{limit['share']:.1%} of {limit['limit']:.3g} rank-rounds/s"
    return limit | {"text": f"share of the GPU's instruction limit: {text}"}
