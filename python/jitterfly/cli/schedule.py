"""`jitterfly run app.goal`: an application's schedule under noise."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from ..fields import MOST_REALIZATIONS, MOST_SEED, MOST_THREADS
from .options import integer, noises, tell_understood
from .output import in_options, print_json, show_phases

EPILOG = """\
schedules:
  run APP.goal --noise FILE
                   a schedule of an application: GOAL text or LogGOPSim's binary. --noise is a noise
                   file or K=V,..., as for `slowdown`; --network has L, o, g, G, O and S
"""
# Options of `run` that are for studies alone, and what they are without being given.
_OF_STUDIES = {
    "target": None, "out": None, "choose": None, "full": False, "dry_run": False, "shard": None,
    "workers": None, "on_error": "stop", "force": False,
}  # fmt: skip
_OF_SCHEDULES = {
    "noise": None,
    "network": None,
    "picture": None,
    "order": None,
    "order_checks": None,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """What only a schedule takes."""
    group = parser.add_argument_group("of a schedule (APP.goal)")
    add = group.add_argument
    add("--noise", metavar="FILE|K=V,...", action="append", help="may be given several times")
    add("--network", metavar="K=V,...", help="LogGOPS: L, o, g, G, O, and S in bytes; without it "
        "L=1us,o=200ns,G=0.1ns")  # fmt: skip
    add("--order", choices=("noise-free", "arrival"), help="in which operations that compete for "
        "a CPU are executed: that without noise (default), or of arrival (slower)")  # fmt: skip
    add("--order-checks", metavar="N", help="so many realizations are executed in the order of "
        "arrival, too, to see whether that matters (default: 5; 0: none)")  # fmt: skip
    add("--picture", type=Path, metavar="FILE", help="a picture of the distribution: .png, .pdf "
        "or .svg")  # fmt: skip


def check_study_options(chosen: argparse.Namespace) -> None:
    """Raise ValueError where a study was given options of a schedule."""
    _refuse(chosen, _OF_SCHEDULES, "is for a schedule (APP.goal)", "a study")


def _refuse(chosen: argparse.Namespace, left_out: dict[str, Any], what: str, given: str) -> None:
    for name, value in left_out.items():
        if getattr(chosen, name) != value:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} {what}, and {chosen.study} is {given}: leave it out")


def _check_started_once() -> None:
    """Raise ValueError where a launcher or a job array started the command several times."""
    from ..launchers import world_size, world_variables
    from ..sweep.executors import check_not_copies

    try:
        check_not_copies()
    except ValueError:
        what, variables = f"the launcher started {world_size()} processes", world_variables()
    else:
        if not os.environ.get("SLURM_ARRAY_TASK_ID"):
            return
        tasks = os.environ.get("SLURM_ARRAY_TASK_COUNT", "several")
        if tasks == "1":
            return
        what, variables = f"this is one of {tasks} tasks of a Slurm array", ["SLURM_ARRAY_TASK_ID"]
    without = " ".join(f"-u {name}" for name in variables)
    raise ValueError(
        f"{what}, and each of them would run the whole schedule: start one, which takes all "
        "processors (srun -n 1, mpiexec -n 1); or, if each is to run a schedule or a seed of its "
        f"own: `env {without} jitterfly run ...`"
    )


def run_schedule(chosen: argparse.Namespace) -> int:
    """Run the schedule that `chosen.study` names; the exit status."""
    from ..network import Network
    from ..noise import Noise
    from ..plots import draw
    from ..schedule import Schedule, simulate_schedule
    from ..schedule.simulate import USUAL_ORDER_CHECKS
    from ..slowdown import USUAL_NETWORK
    from ..syntax import read_network

    _refuse(chosen, _OF_STUDIES, "is for a study", "a schedule")
    if chosen.backend == "cuda":
        raise ValueError("--backend must be auto or cpu for a schedule, which no GPU runs yet")
    _check_started_once()
    started = time.monotonic()
    network: Any = USUAL_NETWORK
    if chosen.network is not None:
        network = Network.from_dict(read_network(chosen.network, "--network"), "--network")
    if chosen.picture is not None:
        draw.check_path(chosen.picture)  # before the work, not after
    realizations = integer(chosen.realizations, "realizations", 2, MOST_REALIZATIONS) or 1000
    seed = integer(chosen.seed, "seed", 0, MOST_SEED) or 0
    threads = integer(chosen.threads, "threads", 1, MOST_THREADS)
    checks = integer(chosen.order_checks, "order_checks", 0, MOST_REALIZATIONS)
    if checks is not None and chosen.order == "arrival":
        raise ValueError(
            "--order-checks is for --order noise-free, and --order is arrival: give one"
        )
    noise = [Noise.from_dict(one, "--noise") for one in noises(chosen.noise or [])]
    with show_phases(begun=started) as phases:
        phases(f"reading {chosen.study}")
        schedule = Schedule.read(chosen.study)
        tell_understood(network, noise, chosen.network is not None)
        phases(f"ordering {schedule.operations:,} operations")

        def show(done: int, count: int) -> None:
            phases(f"simulating {count:,} realizations", done / count, 1.0)

        found = simulate_schedule(
            schedule, network, noise, realizations, seed, threads=threads, progress=show,
            order=chosen.order or "noise-free",
            order_checks=USUAL_ORDER_CHECKS if checks is None else checks,
        )  # fmt: skip
        if chosen.picture is not None:
            phases("drawing the picture")
            found.plot(chosen.picture)
    written = [] if chosen.picture is None else [chosen.picture]
    if chosen.json:
        print_json("run", **contents(found), written=written)
        return 0
    notes = [in_options(note) for note in found.notes()]
    print("\n".join([found.title(), "", *found.lines(), "", *notes]), flush=True)
    if written:
        print(f"\nwritten: {chosen.picture}")
    return 0


def contents(found: Any) -> dict[str, Any]:
    """The answer for programs."""
    from .. import stats

    schedule = found.schedule
    p50, p99 = stats.quantiles(found.samples, (0.5, 0.99))
    return {
        "schedule": {"name": schedule.name, "ranks": schedule.ranks, "cpus": schedule.cpus,
                     "operations": schedule.operations, "messages": schedule.messages},
        "network": found.network.to_dict(),
        "noise": [one.to_dict() for one in found.noise],
        "seed": found.seed,
        "realizations": len(found.ticks),
        "noise_free": found.noise_free,
        "mean": found.mean(),
        "p50": p50,
        "p99": p99,
        "slowdown": found.slowdown(),
        "noise_share": found.noise_share(),
        "amplification": found.amplification(),
        "order": found.order,
        "order_check": None if found.order_check is None else found.order_check._asdict(),
        "unchecked": found.unchecked,
        "samples": found.samples,
        "last_rank": found.last_rank,
    }  # fmt: skip
