"""Commands `jitterfly run app.goal` and `explain app.goal`: GOAL schedules under noise."""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..network import USUAL_NETWORK
from ..progress import Phases
from ..workload import Workload
from .options import add_parameters, tell_understood, values_of
from .output import PICTURE, add_picture, check_files, give_answer, show_phases, tell

EPILOG = """\
schedules:
  run APP.goal --noise FILE
                   a schedule of an application: GOAL text or LogGOPSim's binary. --noise is a noise
                   file or K=V,..., as for `slowdown`. --network has L, o, g, G, O and S. A machine
                   of nodes has them for each level: "8: L=300ns,o=100ns; L=1us,o=200ns"
"""
# Options of `run` that are for studies alone, and what they are without being given.
_OF_STUDIES = {
    "target": None, "out": None, "choose": None, "full": False, "dry_run": False, "shard": None,
    "device_model": None, "workers": None, "devices": "all", "on_error": "stop", "force": False,
}  # fmt: skip
_OF_SCHEDULES = dict.fromkeys(
    ("noise", "network", "speed", "picture", "order", "order_checks", "marks", "marks_csv")
)
# Options of `explain` that are for cases alone, and those for schedules alone.
_OF_CASES = dict.fromkeys(
    (
        "at",
        "arrival",
        "barrier",
        "L_factor",
        "G_factor",
        "ranks",
        "algorithm",
        "collective",
        "message_bytes",
        "cycles",
        "compute_time",
    )
)
_OF_EXPLAINED = dict.fromkeys(("slowest", "path_picture", "operations_csv", "path_csv"))
_RUN_FILES = {**PICTURE, "marks_csv": lambda result, path: result.marks_to_csv(path)}
_EXPLAINED_FILES = {
    **PICTURE,
    "path_picture": lambda explanation, path: explanation.plot_paths(path),
    "ranks_csv": lambda explanation, path: explanation.ranks_to_csv(path),
    "operations_csv": lambda explanation, path: explanation.operations_to_csv(path),
    "path_csv": lambda explanation, path: explanation.critical_path().to_csv(path),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only a schedule takes."""
    from ..schedule.simulate import ScheduleQuestion

    group = parser.add_argument_group("of a schedule (APP.goal)")
    add_parameters(group, ScheduleQuestion, file=True)
    add = group.add_argument
    add("--marks-csv", type=Path, metavar="FILE", help="when each mark is reached, and the time "
        "since the one before")  # fmt: skip
    add_picture(group, "a picture of the distribution")


def add_explain_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `explain` takes for a schedule alone."""
    from ..schedule.explain import ScheduleExplainQuestion

    group = parser.add_argument_group("of a schedule (APP.goal)")
    add_parameters(group, ScheduleExplainQuestion, file=True)
    add = group.add_argument
    add("--path-picture", type=Path, metavar="FILE", help="which operations are on the critical "
        "path in what share of realizations, over ranks and time: .png, .pdf or .svg")  # fmt: skip
    add("--operations-csv", type=Path, metavar="FILE", help="all operations that are on any "
        "critical path, with that share")  # fmt: skip
    add("--path-csv", type=Path, metavar="FILE", help="the critical path of the slowest "
        "realization, operation by operation")  # fmt: skip


def check_case_options(chosen: argparse.Namespace) -> None:
    """Raise ValueError where `explain` was given options of a schedule for a case."""
    _refuse_options(chosen, _OF_EXPLAINED, "is for a schedule (APP.goal)", "a case is given")


def check_study_options(chosen: argparse.Namespace) -> None:
    """Raise ValueError where a study was given options of a schedule.

    Of a pipe nobody knows what will come out of it.
    """
    given = any(getattr(chosen, name) != left_out for name, left_out in _OF_SCHEDULES.items())
    if given and chosen.study.is_fifo():
        raise ValueError(
            f"{chosen.study} is a pipe, and a schedule must be a file, as it is read twice; write "
            "what comes out of it to a file first"
        )
    _refuse_options(
        chosen, _OF_SCHEDULES, "is for a schedule (APP.goal)", f"{chosen.study} is a study"
    )


def _refuse_options(
    chosen: argparse.Namespace, left_out: dict[str, Any], what: str, given: str
) -> None:
    """Raise ValueError where one of the options `left_out` differs from its default."""
    for name, value in left_out.items():
        if getattr(chosen, name) != value:
            raise ValueError(f"{chosen.options[name]} {what}, and {given}: leave it out")


def _check_started_once() -> None:
    """Raise ValueError where a launcher or a job array started the command several times."""
    from ..executors import check_not_copies
    from ..launchers import world_size, world_variables

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
    from ..schedule import simulate_schedule
    from ..schedule.simulate import ScheduleQuestion

    _refuse_options(chosen, _OF_STUDIES, "is for a study", f"{chosen.study} is a schedule")
    _check_started_once()
    started = time.monotonic()
    if chosen.marks_csv is not None and chosen.marks is None:
        raise ValueError("--marks-csv needs --marks, which says what marks are")
    check_files(chosen, _RUN_FILES)
    asked = values_of(chosen, ScheduleQuestion, {"network": USUAL_NETWORK})
    if chosen.backend == "cuda" and asked.get("threads") is not None:
        raise ValueError("--threads is for the CPU backend, and --backend is cuda: give one")
    if asked.get("order_checks") is not None and chosen.order == "arrival":
        raise ValueError(
            "--order-checks is for --order noise-free, and --order is arrival: give one"
        )
    with _executing(chosen, chosen.study, asked, started) as phases:

        def show(done: int, count: int) -> None:
            phases(f"simulating {count:,} realizations", done / count, 1.0)

        result = simulate_schedule(**asked, progress=show)
    give_answer(result, chosen, _RUN_FILES, started)
    return 0


@contextmanager
def _executing(
    chosen: argparse.Namespace, path: Path, asked: dict[str, Any], begun: float, told: bool = True
) -> Iterator[Phases]:
    """Read a schedule into `asked`, say what options were read as, and execute it in the block.

    There is no warning of a scarce recording, which the notes of the answer have as well. And
    Ctrl-C says that nothing is kept, as of a study something is.
    """
    from ..case import ScarceRecordingWarning
    from ..schedule import Schedule

    with show_phases(begun) as phases:
        phases(f"reading {path}")
        asked["schedule"] = Schedule.read(path)
        if told:
            tell_understood(asked["network"], asked.get("noise", ()), chosen.network is not None)
        phases(f"ordering {asked['schedule'].operations:,} operations")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScarceRecordingWarning)
            try:
                yield phases
            except KeyboardInterrupt as stop:
                by = f"{stop}; " if str(stop) else ""
                raise KeyboardInterrupt(f"{by}of a schedule nothing is kept") from None


def explain_schedule(chosen: argparse.Namespace) -> None:
    """Explain the schedule that `chosen.file` names."""
    _refuse_options(chosen, _OF_CASES, "is for a case", f"{chosen.file} is a schedule")
    _explain(chosen, chosen.file, {"network": USUAL_NETWORK})


def explain_cell(chosen: argparse.Namespace, case: Workload, seed: int, where: str) -> None:
    """Explain the schedule of a cell of the study that `chosen.file` names."""
    from ..schedule import ScheduleCase

    assert isinstance(case, ScheduleCase)
    if case.order == "arrival":
        tell("jitterfly: explained in the order of operations without noise, which is not the "
             "study's")  # fmt: skip
    known = {"network": case.network, "noise": case.noise, "speed": case.speed, "seed": seed}
    _explain(chosen, case.schedule.path, known, where)


def _explain(
    chosen: argparse.Namespace, path: Path, known: dict[str, Any], where: str | None = None
) -> None:
    from ..schedule import explain_schedule as explain
    from ..schedule.explain import ScheduleExplainQuestion

    started = time.monotonic()
    check_files(chosen, _EXPLAINED_FILES)
    asked = values_of(chosen, ScheduleExplainQuestion, known)
    if chosen.realizations is None and chosen.slowest is not None:
        asked["realizations"] = 1000
    # Of a cell the study says what options would.
    with _executing(chosen, path, asked, started, told=where is None) as phases:

        def show(done: int, count: int) -> None:
            phases(f"following {asked['schedule'].ranks:,} ranks", done, count)

        explanation = explain(**asked, progress=show)
    give_answer(explanation, chosen, _EXPLAINED_FILES, started, cell=where or None)
