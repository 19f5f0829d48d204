"""Command `jitterfly run`: run, resume or forecast a study; run a GOAL schedule under noise."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import extensions
from ..fields import (
    MAX_REALIZATIONS,
    MAX_SEED,
    MAX_THREADS,
    check_choice,
    counted,
    first_few,
    some_are,
)
from ..network import DEFAULT_NETWORK
from ..progress import Phases
from ..syntax import read_devices, split_outside
from .options import add_backend, add_parameters, integer, tell_understood, values_of
from .output import (
    PICTURE,
    add_json,
    add_picture,
    check_files,
    give_answer,
    print_json,
    progress_stream,
    show_phases,
    tell,
    warn_without_matplotlib,
)

WORKERS = """\
workers:
  default          this process, with a thread for each GPU
  --workers gpus   a process for each GPU
  --workers sockets, or a number: that many processes that share the processors, or with
                   --backend cuda the GPUs (for NVIDIA's MPS)
  mpiexec -n N python -m mpi4py.futures -m jitterfly run STUDY.toml --workers mpi
                   one rank hands out the work, the others do it; it helps where a GPU is free
  run --shard 2/5  the second fifth of the cells, as a run of its own; `jitterfly merge` joins them.
                   A Slurm array job sets this by itself (SLURM_ARRAY_TASK_ID, _COUNT), unless
                   --shard 1/1 asks for all cells
All of them give the same samples, to the last bit.
"""
RUN_FILES = ("summary.csv", "records/", "store.json", "study.toml")
"""What a run leaves in its directory, besides pictures."""
SCHEDULES = """\
schedules:
  run APP.goal --noise FILE
                   a schedule of an application: GOAL text or LogGOPSim's binary. --noise is a noise
                   file or K=V,..., as for `slowdown`. --network has L, o, g, G, O and S. A machine
                   of nodes has them for each level: "8: L=300ns,o=100ns; L=1us,o=200ns"
"""
# Options of `run` that are for studies alone, and what they are without being given.
_OF_STUDIES = {
    "target": None, "out": None, "choose": None, "full": False, "dry_run": False, "shard": None,
    "device_model": None, "workers": None, "devices": (), "on_error": "stop", "force": False,
}  # fmt: skip
_OF_SCHEDULES = dict.fromkeys(
    ("noise", "network", "speed", "picture", "order", "order_checks", "marks", "marks_csv")
)
_RUN_FILES = {**PICTURE, "marks_csv": lambda result, path: result.marks_to_csv(path)}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a study is run, not which."""
    add_backend(parser)
    parser.add_argument(
        "--devices",
        metavar="all|0,2",
        default=(),  # also all, where a schedule can tell that it was not given
        help="the GPUs, by their numbers (default: all of this process)",
    )
    parser.add_argument("--workers", metavar="N", help="a number, gpus, sockets or mpi: see below")
    parser.add_argument(
        "--on-error",
        choices=("stop", "finish"),
        default="stop",
        help="what a cell that fails does to the others (default: stop them)",
    )
    parser.add_argument("--force", action="store_true", help="replace another run that is in DIR")


def options(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return what `add_options` gave, as arguments of `sweep.run`."""
    threads = integer(chosen.threads, "threads", 1, MAX_THREADS)
    if chosen.backend == "cuda" and threads is not None:
        raise ValueError("--threads is for the CPU backend, and --backend is cuda: give one")
    return {
        "backend": chosen.backend,
        "threads": threads,
        "devices": chosen.devices,
        "workers": chosen.workers,
        "on_error": chosen.on_error,
        "force": chosen.force,
    }


def check_started_once(chosen: argparse.Namespace) -> None:
    """Raise ValueError where `mpiexec` or `srun` started the command several times by mistake."""
    from ..executors import check_not_copies
    from ..resources import world_variables

    if chosen.workers == "mpi":
        return  # which is checked, and has words of its own
    try:
        check_not_copies()
    except ValueError as error:
        without = " ".join(f"-u {name}" for name in world_variables())
        raise ValueError(
            f"{error}; or each runs a part of its own: --shard I/N; or a study of its own: "
            f"`env {without} jitterfly run ...`"
        ) from None


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    run = commands.add_parser(
        "run",
        help="run a study: data, table, claims, picture; or an application's schedule",
        description="Run a study of your own (`jitterfly init` writes one), or one that comes with "
        "jitterfly: `jitterfly run list` names them. A file of that name here comes first. Or run "
        "an application's schedule (GOAL) under noise.",
        epilog=WORKERS + SCHEDULES,
    )
    run.add_argument("study", type=Path, metavar="STUDY.toml|NAME|list|APP.goal")
    run.add_argument("--realizations", metavar="N", help="per cell, instead of the study's budget")
    run.add_argument(
        "--target",
        action="append",
        metavar="TEXT",
        help="how precise, instead of the study's, e.g. 'mean of gain +- 1 %%' or 'p99 of "
        "completion +- 2 %% at 99 %%'; may be given several times",
    )
    run.add_argument("--seed", metavar="N", help="instead of the study's")
    run.add_argument("--out", type=Path, metavar="DIR", help="default: results/NAME")
    run.add_argument(
        "--choose",
        action="append",
        metavar="AXIS=POINT[,...]",
        help="points of an axis, by how their names begin (numbers are given whole), instead of "
        "those that the study takes, e.g. jitter=C; may be given several times",
    )
    run.add_argument("--full", action="store_true", help="the study's sizes for a large machine")
    run.add_argument(
        "--dry-run",
        action="store_true",
        help="only say what it would take: cells, time, disk, memory; nothing is written",
    )
    run.add_argument(
        "--device-model",
        metavar="h100|h200",
        help="with --dry-run --backend cuda: for this GPU by its stored rates, without it",
    )
    run.add_argument(
        "--shard", metavar="I/N", help="only this part of the cells, from 1/N to N/N; 1/1: all"
    )
    add_options(run)
    _add_schedule_options(run)
    add_json(run)
    run.set_defaults(run=_run)


def check_study(study: Any, *, stored: bool = False) -> None:
    """Raise ValueError if the study can not be run, drawn and judged as it says.

    A claim of a `stored` study may have been worded anew since it was run.
    """
    from ..results.figures import check_figure

    check_figure(study)
    if study.claims:
        judges = extensions.judges()
        if not judges:
            raise study.error("claims: no package that judges claims is installed")
        for judge in judges:
            judge.check(study, stored=stored)


def run_study(study: Any, out: Path, **options: Any) -> Any:
    """Run a study into `out` up to its summary and picture; arguments and errors as `sweep.run`.

    Returns
    -------
    Store
        A shard has no picture: it has not seen the rest.
    """
    from ..plots import draw
    from ..progress import timed_phase
    from ..results import Results
    from ..store import export
    from ..store.numbers import NUMBERS, Numbers
    from ..store.store import keep_numbers
    from ..sweep import run

    check_study(study)

    def summarize(store: Any) -> bool:
        """Write the summary, unless it is of these records already."""
        summary = store.path / "summary.csv"
        numbers = Numbers.read_cached(store.path)
        if numbers is not None and _is_newer(summary, store.path / NUMBERS):
            return False
        export(numbers or keep_numbers(store), summary)
        return True

    def stopped(store: Any) -> None:
        if summarize(store):
            done, count = sum(map(store.complete, store.cells)), len(store.cells)
            tell(f"summary.csv has what there is: {some_are(done, count, 'cell')} finished")
        path = picture(store)
        if path.exists() and not _is_newer(path, store.path / "summary.csv"):
            again = shlex.join(["jitterfly", "plot", str(store.path)])
            tell(f"{path.name} is older than summary.csv; `{again}` draws it again")

    def picture(store: Any) -> Path:
        return Path(store.path / f"{study.name}.png")

    def finish(store: Any) -> None:
        path = picture(store)
        if not summarize(store) and _is_newer(path, store.path / "summary.csv"):
            return  # all of it is of these records
        if draw.can_draw() and options.get("shard") is None:
            with timed_phase(f"drawing {path}"):
                draw.draw(Results(store), path)

    return run(study, out, finish=finish, stopped=stopped, **options)


def _is_newer(path: Path, other: Path) -> bool:
    """Return whether a file was written after another one, or at the same time."""
    return path.is_file() and path.stat().st_mtime_ns >= other.stat().st_mtime_ns


def _decoded(text: str) -> str:
    """An argument in UTF-8 (±), which Python keeps as single bytes where the locale is C."""
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return text


def _run(chosen: argparse.Namespace) -> int:
    from ..plots import draw
    from ..schedule.schedule import looks_like_schedule
    from ..store.run_directory import META
    from ..studies import load_study
    from ..studies.toml import find_study
    from ..sweep import Shard

    if str(chosen.study) == "list" and not chosen.study.is_file():
        _list(chosen.json)
        return 0
    if looks_like_schedule(chosen.study):
        return _run_schedule(chosen)
    _check_study_options(chosen)
    _check_device_model(chosen)
    if chosen.dry_run and read_devices(chosen.devices, "devices"):
        raise ValueError("--devices is for a run: --dry-run tells the time on one GPU")
    shard = Shard.parse(chosen.shard) if chosen.shard else Shard.from_slurm()
    if shard is not None and not chosen.shard:
        tell(f"shard {shard}, the task of a Slurm array; all cells: --shard 1/1")
    elif shard is not None and shard.count == 1:
        shard = None
    if (shard is None or not chosen.shard) and not chosen.dry_run:
        check_started_once(chosen)
    path = find_study(chosen.study)
    if (path / META).is_file():
        raise ValueError(
            f"{path} holds a run, and no study to start: `jitterfly status {path}` and `jitterfly "
            f"plot {path}` show it, and `jitterfly run STUDY.toml --out {path}` goes on with it"
        )
    if path != chosen.study:
        tell(f"study: {path}")
    study = load_study(path, full=chosen.full, choose=choices(chosen.choose))
    out = chosen.out or Path("results") / (f"{study.name}_full" if chosen.full else study.name)
    if shard is not None and not chosen.shard:
        _check_array(shard, out)
    given = {
        "realizations": integer(chosen.realizations, "realizations", 1, MAX_REALIZATIONS),
        "seed": integer(chosen.seed, "seed", 0, MAX_SEED),
        "targets": chosen.target and [_decoded(target) for target in chosen.target],
        "shard": shard,
    }
    if chosen.dry_run:
        how = {key: options(chosen)[key] for key in ("backend", "threads")}
        _forecast(study, given, how | {"device_model": chosen.device_model}, chosen.json)
        return 0
    if given["shard"] is None:
        warn_without_matplotlib()
    store = run_study(study, out, stream=progress_stream(), **given, **options(chosen))
    names = list(RUN_FILES)
    names += [f"{study.name}.png"] if draw.can_draw() and given["shard"] is None else []
    if chosen.json:
        print_json("run", **run_as_json(store), written=[store.path / name for name in names])
        return 0
    if given["shard"] is not None:
        print(f"written to {store.path}; when all are there: jitterfly merge {out}")
        return 0
    show(store)
    print(f"\nwritten to {store.path}: {', '.join(names)}")
    return 0


def _check_array(shard: Any, out: Path) -> None:
    """Raise ValueError where this Slurm array has another number of tasks than one before it."""
    from ..store.run_directory import shards_in

    others = [path.name for path in shards_in(out) if not path.name.endswith(f"-of-{shard.count}")]
    if others:
        raise ValueError(
            f"the tasks of this Slurm array are taken for shards of {shard.count}, but {out} has "
            f"{first_few(others, 3)}: give --shard i/n with that n, or another --out"
        )


def choices(
    texts: list[str] | None, option: str = "--choose", axes: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Points by axis, from `AXIS=POINT,...`; after a comma, the same axis or one of `axes`."""
    found: dict[str, list[str]] = {}
    for text in texts or ():
        given = _decoded(text)
        names = "|".join(map(re.escape, {*axes, given.partition("=")[0]}))
        for part in re.split(rf",\s*(?=(?:{names})=)", given):
            axis, equals, points = part.partition("=")
            if not (axis and equals and points):
                among = f", AXIS one of {', '.join(axes)}" if axes else ""
                raise ValueError(f"{option} must be AXIS=POINT[,...]{among}, got {text!r}")
            found.setdefault(axis, []).extend(point.strip() for point in split_outside(points))
    return found


def _list(as_json: bool) -> None:
    """Print the studies that come with the package, and where they are."""
    from ..studies.toml import EXAMPLES, shipped, shipped_folder

    there = shipped()
    if as_json:
        studies = [{"name": name, "title": one.title} for name, one in there.items()]
        print_json("run", studies=studies, folder=shipped_folder())
        return
    width = max(map(len, there))
    question = shipped_folder() / EXAMPLES / "advise.toml"
    lines = [
        *(f"{name:{width}}  {one.title}" for name, one in there.items()),
        "",
        f"to run one: jitterfly run NAME; to change one, copy it from {shipped_folder()}",
        f"a question for advise: jitterfly advise {question}",
    ]
    print("\n".join(lines))


def _check_device_model(chosen: argparse.Namespace) -> None:
    """Raise ValueError for a `--device-model` without its options, or that is not known."""
    from ..sweep.device_models import DEVICE_MODELS

    if chosen.device_model is None:
        return
    check_choice(chosen.device_model, "--device-model", list(DEVICE_MODELS))
    if not chosen.dry_run:
        raise ValueError("--device-model is for --dry-run: a run takes the GPU that is there")
    if chosen.backend != "cuda":
        raise ValueError(
            f"--device-model is for --backend cuda, and --backend is {chosen.backend}: add it"
        )


def _forecast(study: Any, given: dict[str, Any], how: dict[str, Any], as_json: bool) -> None:
    """Print what a run would take, for `--dry-run`."""
    from ..backends import BackendError, gpu_present
    from ..sweep.device_models import DEVICE_MODELS
    from ..sweep.driver import check_columns, overridden
    from ..sweep.forecast import forecast
    from ..units import show_bytes

    check_study(study)
    shard = given.pop("shard")
    study = overridden(study, **given)
    check_columns(study)
    cells = study.cells() if shard is None else shard.of(study.cells())
    try:
        costs = forecast(study, cells, **how)
    except BackendError as error:
        if gpu_present():
            raise
        models = " or ".join(DEVICE_MODELS)
        raise BackendError(f"{error}; for a GPU elsewhere: --device-model {models}") from None
    if as_json:
        part = None if shard is None else str(shard)
        print_json("run", study=study.name, shard=part, forecast=costs, written=[])
        return
    what = study.name if shard is None else f"{study.name}, shard {shard}"
    if not cells:
        print(f"{what}: no cells, there is nothing to run\nnothing was written")
        return
    unit = "operations" if cells[0].of_schedules else "messages"
    lines = [
        f"{what}: {counted(costs.cells, 'cell')}",
        f"realizations  {_range(costs.realizations, lambda n: f'{n:,.0f}')}",
        f"work          {_range(costs.work, lambda n: f'{n:.3g}')} rank-rounds ({unit})",
        *_time_lines(costs),
        f"disk          about {_range(costs.disk, lambda n: show_bytes(round(n)))}, "
        f"records in at most {counted(costs.files, 'file')}",
        f"memory        about {show_bytes(round(costs.memory))}",
    ]
    if costs.device is not None:
        lines += _rests_lines(costs)
    if study.targets:
        lines.append("from: every target is met at the first look; to: the budget is spent")
    print("\n".join([*lines, "nothing was written"]))


def _range(some: Any, one: Callable[[float], str]) -> str:
    low, high = one(some.low), one(some.high)
    return low if low == high else f"{low} to {high}"


def _duration(seconds: float) -> str:
    from ..progress import show_duration

    return show_duration(seconds) if seconds >= 1 else "under 1 s"


def _about(seconds: Any) -> str:
    """A range of seconds in words."""
    if seconds.high < 1:
        return _duration(seconds.high)
    if seconds.low < 1:
        return f"up to about {_duration(seconds.high)}"
    return f"about {_range(seconds, _duration)}"


def _time_lines(costs: Any) -> list[str]:
    """The time of a forecast, and the GPU-hours."""
    from ..progress import show_rate

    device = costs.device
    if costs.seconds is None:
        why = "every cell is too large to be tried"
        if device is not None:
            why = f"a part of the work was not measured on an {device.card}, as below"
        return [f"time          not known: {why}"]
    where = "on one GPU" if "cuda" in costs.backends else "in one process"
    took = f"{_about(costs.seconds)} {where}, from the start"
    rate = f"{show_rate(costs.rate)} rank-rounds/s"
    if device is None:
        return [f"time          {took} ({costs.tried} of the cells tried, {rate})"]
    host = "the rest is the host's, as timed here"
    if not device.with_host:
        host = "the host's part is not known, as every cell is too large to be tried"
    hours = _range(device.hours, lambda hours: f"{hours:.2g}" if hours >= 1e-3 else "under 0.001")
    return [
        f"time          {took} ({rate})",
        f"              {_about(device.seconds)} of it on one {device.card}; {host}",
        f"GPU-hours     {hours}",
    ]


_FEW_SHOWN = 6  # kinds of work


def _rests_lines(costs: Any) -> list[str]:
    """Return what the forecast for a card that is not here rests on, in lines."""
    device, every = costs.device, costs.device.rests_on
    lines = [
        f"rests on      {device.table}",
        f"              one {device.card}, {device.measured}, driver {device.driver}",
    ]
    groups = {
        "measured": [part for part in every if part.commit and not part.rates_of],
        "rough": [part for part in every if part.rates_of],
        "not measured": [part for part in every if not part.commit],
    }
    how = {
        "measured": "",
        "rough": ", by the nearest that was measured: may be off several times over",
        "not measured": ", nor anything near it",
    }
    for group, parts in groups.items():
        if not parts:
            continue
        share = sum(part.work for part in parts) / costs.work.high
        commits = ", ".join(sorted({part.commit for part in parts} - {""}))
        of = f" (commit {commits})" if commits else ""
        lines.append(f"{group:12}  {100 * share:.0f} % of the work{of}{how[group]}")
        for part in parts[:_FEW_SHOWN]:
            lines.append(f"              {part.what}")
            lines += [f"                as {part.rates_of}"] if part.rates_of else []
        if (more := len(parts) - _FEW_SHOWN) > 0:
            lines.append(f"              and {more} more")
    return lines


def run_as_json(store: Any) -> dict[str, Any]:
    """A run for programs: a row for each cell, observable and statistic; claims and notes."""
    from ..results import Results
    from ..results.tables import notes
    from ..store.numbers import COLUMNS, Numbers
    from ..store.store import read_numbers

    study = store.study
    numbers = Numbers.of(store) if store.is_part else read_numbers(store.path)
    axes = numbers.axis_names
    rows = [
        {
            "cell": dict(zip(axes, row, strict=False)),
            **dict(zip(COLUMNS, row[len(axes) :], strict=True)),
        }
        for row in numbers.rows()
    ]
    whole = sum(map(store.complete, store.cells)) == len(store.cells)
    claims = []
    if whole and study.claims:
        claims = [one for judge in extensions.judges() for one in judge.judge(Results(store))]
    return {"path": store.path, "study": study.name, "title": study.title, "seed": study.seed,
            "rows": rows, "claims": claims, "notes": notes(Results(store))}  # fmt: skip


def show(store: Any) -> None:
    """Print the study's table, and its claims beside what was found."""
    from ..progress import timed_phase
    from ..results import Results, tables
    from .output import terminal_width

    results = Results(store)
    kept = (store.path / "summary.csv").is_file()  # not of a run from Python
    where = "summary.csv has" if kept else f"`jitterfly export {store.path} FILE.csv` writes"
    with timed_phase("making the table"):
        table = tables.table(results, terminal_width(), f"{where} all")
    print(f"{textwrap.fill(results.title, terminal_width())}\n")
    print(table)
    if any(cell.complete and cell.unmet for cell in results.cells):
        explained = (
            "Where a target is not met, the budget was spent first. `jitterfly run` with larger "
            "--realizations goes on from here, and ends a cell when its targets are met."
        )
        print(textwrap.fill(explained, terminal_width(), break_on_hyphens=False))
    if results.study.claims:
        print("\nClaims, and what was found (95 % intervals in brackets):")
        for judge in extensions.judges():
            print(judge.report(results, min(100, terminal_width())))


def _add_schedule_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only a schedule takes."""
    from ..schedule.simulate import ScheduleQuestion

    group = parser.add_argument_group("of a schedule (APP.goal)")
    add_parameters(group, ScheduleQuestion, file=True)
    add = group.add_argument
    add("--marks-csv", type=Path, metavar="FILE", help="when each mark is reached, and the time "
        "since the one before")  # fmt: skip
    add_picture(group, "a picture of the distribution")


def _check_study_options(chosen: argparse.Namespace) -> None:
    """Raise ValueError where a study was given options of a schedule.

    What comes out of a pipe is not known beforehand.
    """
    given = any(getattr(chosen, name) != left_out for name, left_out in _OF_SCHEDULES.items())
    if given and chosen.study.is_fifo():
        raise ValueError(
            f"{chosen.study} is a pipe, and a schedule must be a file, as it is read twice; write "
            "what comes out of it to a file first"
        )
    refuse_options(
        chosen, _OF_SCHEDULES, "is for a schedule (APP.goal)", f"{chosen.study} is a study"
    )


def refuse_options(
    chosen: argparse.Namespace, left_out: dict[str, Any], what: str, given: str
) -> None:
    """Raise ValueError where one of the options `left_out` differs from its default."""
    for name, value in left_out.items():
        if getattr(chosen, name) != value:
            raise ValueError(f"{chosen.options[name]} {what}, and {given}: leave it out")


def _check_schedule_started_once() -> None:
    """Raise ValueError where a launcher or a job array started the command several times."""
    from ..executors import check_not_copies
    from ..resources import world_size, world_variables

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


def _run_schedule(chosen: argparse.Namespace) -> int:
    """Run the schedule that `chosen.study` names; the exit status."""
    from ..schedule import simulate_schedule
    from ..schedule.simulate import ScheduleQuestion

    refuse_options(chosen, _OF_STUDIES, "is for a study", f"{chosen.study} is a schedule")
    _check_schedule_started_once()
    started = time.monotonic()
    if chosen.marks_csv is not None and chosen.marks is None:
        raise ValueError("--marks-csv needs --marks, which says what marks are")
    check_files(chosen, _RUN_FILES)
    asked = values_of(chosen, ScheduleQuestion, {"network": DEFAULT_NETWORK})
    if chosen.backend == "cuda" and asked.get("threads") is not None:
        raise ValueError("--threads is for the CPU backend, and --backend is cuda: give one")
    if asked.get("order_checks") is not None and chosen.order == "arrival":
        raise ValueError(
            "--order-checks is for --order noise-free, and --order is arrival: give one"
        )
    with executing_schedule(chosen, chosen.study, asked, started) as phases:

        def show(done: int, count: int) -> None:
            phases(f"simulating {count:,} realizations", done / count, 1.0)

        result = simulate_schedule(**asked, progress=show)
    give_answer(result, chosen, _RUN_FILES, started)
    return 0


@contextmanager
def executing_schedule(
    chosen: argparse.Namespace, path: Path, asked: dict[str, Any], begun: float, told: bool = True
) -> Iterator[Phases]:
    """Read a schedule into `asked`, say what options were read as, and execute it in the block.

    There is no warning of doubts, which the notes of the answer have as well. Ctrl-C says that
    nothing is kept; a study keeps what it has.
    """
    from ..case import without_warnings_of_doubts
    from ..schedule import Schedule

    with show_phases(begun) as phases:
        phases(f"reading {path}")
        asked["schedule"] = Schedule.read(path)
        if told:
            tell_understood(asked["network"], asked.get("noise", ()), chosen.network is not None)
        phases(f"ordering {asked['schedule'].operations:,} operations")
        with without_warnings_of_doubts():
            try:
                yield phases
            except KeyboardInterrupt as stop:
                by = f"{stop}; " if str(stop) else ""
                raise KeyboardInterrupt(f"{by}nothing of a schedule is kept") from None
