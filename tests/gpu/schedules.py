"""An application's schedule for these programs: calculations, and an allreduce after each."""

from pathlib import Path

from jitterfly import Case, LogGOPS, RecursiveDoublingAllreduce
from jitterfly.goal_export import goal_schedule

SCHEDULE_NETWORK = LogGOPS(L="1us", o="200ns", g="500ns", G="0.1ns")


def write_schedule(path: str, ranks: int, cycles: int) -> None:
    """Write it as GOAL text."""
    case = Case(
        ranks,
        network=LogGOPS(L="1us", o="200ns"),
        compute_time="100us",
        cycles=cycles,
        algorithm=RecursiveDoublingAllreduce(),
        message_bytes=8,
    )
    Path(path).write_text(goal_schedule(case).text)
