"""What `jitterfly bench` says about its measurements."""

from __future__ import annotations

import statistics
from typing import Any

from . import collectives as bc
from . import goals, loggopsim
from . import sources as bs
from .measure import Contestant

LINE = "{:<18} {:<16} {:<9} {:>6} {:>4} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9} {:>6}  {}"


def report(result: dict[str, Any]) -> str:
    """The result of `run` as text."""
    machine = result["machine"]
    build = machine["build"]
    lines = [
        f"jitterfly {build['version']}, {build['instruction_set']}, {machine['cpu']}, "
        f"{machine['cores']} cores; {result['date']}",
        *capacity_lines(result["capacity"]),
        f"{result['plan']['repeats']} repeats in turn, noise generation included; rank-rounds per "
        "second of CPU time with one thread, of the clock otherwise",
        LINE.format("", "program", "noise", "ranks", "thr", "min", "median", "max", "realiz./s",
                    "B/rank", "limit", "share", "by"),
    ]  # fmt: skip
    lines += [_row(row) for row in result["rows"]]
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
        lines.append(f"both peers equal the engine to the tick ({checked} realizations)")
    lines += loggopsim.lines(result["loggopsim"])
    if (share := result["core_share"]) is not None and share < 0.95:
        lines.append(f"other programs were running: ours had {share:.0%} of its core")
    lines += bs.table(result["sources"])
    lines.append(result["source_limit"]["text"])
    lines += bc.table(result["collectives"])
    lines.append(result["collective_limit"]["text"])
    return "\n".join(lines + goals.lines(result["goals"]))


def capacity_lines(capacity: dict[str, Any]) -> list[str]:
    """What the machine can do, as measured."""
    lines, core, card = [], capacity["core"], capacity["gpu"]
    if core:
        rates = ", ".join(f"{name} {rate / 1e9:.3g}" for name, rate in core["instructions"].items())
        found = rates or "not measured on this architecture"
        lines.append(f"a core's instructions, 10^9/s ({core['instruction_set']}): {found}")
        levels = [f"{v['name']} {v['read'] / 1e9:.3g} and {v['copy'] / 1e9:.3g}"
                  for v in core["levels"]]  # fmt: skip
        words = ", ".join(levels) or "not measured (the system does not name its caches)"
        lines.append(f"a core's bandwidth, GB/s, reading and copying: {words}")
    if card:
        memory = ", ".join(f"{v['name']} {v['read'] / 1e9:.4g} GB/s" for v in card["levels"])
        lines.append(f"{card['device']}: {card['instructions']:.3g} instructions/s of threads, "
                     f"{memory or 'bandwidth unknown'}, by its properties")  # fmt: skip
    if capacity["problem"]:
        lines.append(f"no limit: {capacity['problem']}")
    return lines


def _ranks(ranks: int) -> str:
    return f"2^{ranks.bit_length() - 1}"


def _row(row: dict[str, Any]) -> str:
    rate, limit = row["rank_rounds_per_second"], row["limit"] or {}
    most, share = limit.get("rank_rounds_per_second"), row["share"]
    per_rank = row["bytes_per_rank"]
    return LINE.format(
        row["name"], row["program"], row["noise"], _ranks(row["ranks"]), row["threads"] or "-",
        *(f"{rate[key]:.3g}" for key in ("min", "median", "max")),
        f"{row['realizations_per_second']:.3g}",
        "-" if per_rank is None else f"{per_rank:.4g}",
        f"{most:.3g}" if most else "-",
        f"{share:.0%}" if share else "-",
        limit.get("by") or "",
    ).rstrip()  # fmt: skip


def ratios(ours: Contestant, theirs: Contestant) -> dict[str, float]:
    """Our rate over theirs, repeat by repeat: neighbours in time share the machine's state."""
    values = [a / b for a, b in zip(ours.rates(), theirs.rates(), strict=True)]
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def core_share(contestant: Contestant) -> float:
    """How much of its one core the operating system gave it: CPU time over time, median."""
    times = zip(contestant.cpu_seconds, contestant.seconds, strict=True)
    return statistics.median(cpu / seconds for cpu, seconds in times)
