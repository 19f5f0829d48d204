"""Commands on one case: `explain`, `compare-measured`, `predict`, `trace` and `export-goal`.

The case is described by options, or stands in a file: a case, or a cell of a study (`--at`).
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..algorithms.algorithm import MAX_ROUNDS
from ..algorithms.library_choice import LibraryRules, algorithm_for
from ..case import Case, Workload, allows_switches, without_warnings_of_doubts
from ..fields import (
    MAX_REALIZATIONS,
    MAX_SEED,
    check_integer,
    check_power_of_two,
    naming_fields,
    shorten,
)
from ..imbalance import Arrival, Speed
from ..network import DEFAULT_NETWORK, Network
from ..question import (
    ARRIVAL,
    EFFORT,
    G_FACTOR,
    L_FACTOR,
    Choice,
    CollectiveParameters,
    Count,
    NoiseParameter,
    Part,
    question,
    required,
)
from ..replay import MAX_RANKS, check_levels, check_size
from ..syntax import read_count, read_network, read_noise_texts
from ..units import show_size
from .options import (
    add_parameters,
    integer,
    library,
    read_question,
    size,
    tell_machine,
    tell_understood,
    value,
    values_of,
)
from .output import (
    PICTURE,
    add_json,
    add_out,
    add_picture,
    asked_digests,
    check_files,
    give_answer,
    long_times_refused,
    prepare_out,
    print_json,
    show_phases,
    tell,
)
from .run import executing_schedule, refuse_options

if TYPE_CHECKING:
    from ..studies import Study

_DEFAULT_REALIZATIONS = 1000
_MIN_REALIZATIONS = 4
_DEFAULT_MESSAGES = 4e7  # in all realizations: about 20 s on two cores
_FILES = {**PICTURE, "ranks_csv": lambda explanation, path: explanation.ranks_to_csv(path)}
_TRACE_OPTIONS = (
    "ranks",
    "copy_levels",
    "exchanges_after",
    "network",
    "noise",
    "message_bytes",
    "cycles",
    "compute_time",
)
_TRACE_NETWORK = "kind=loggops,L=1us,o=20ns,gamma=1e-10"
_TRACE_NOISE = "period=10us,duration=3us,start=stationary"
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
_EXPLAINED_FILES = {
    **PICTURE,
    "path_picture": lambda explanation, path: explanation.plot_paths(path),
    "ranks_csv": lambda explanation, path: explanation.ranks_to_csv(path),
    "operations_csv": lambda explanation, path: explanation.operations_to_csv(path),
    "path_csv": lambda explanation, path: explanation.critical_path().to_csv(path),
}


@question
class CaseOptions(CollectiveParameters):
    """The options that describe a case in place of a file."""

    ranks: Count = required(Count("how many there are", low=1, high=2**MAX_ROUNDS))
    _: KW_ONLY
    noise: NoiseParameter = NoiseParameter(
        "a noise file, or K=V,... such as period=1ms,duration=10us; several add up", default=()
    )
    arrival: Part[Arrival] = Part(Arrival, ARRIVAL)
    speed: Part[Speed] = Part(
        Speed,
        "ranks that take longer, also in a schedule: kind=slow_ranks,factor=1.2,ranks=3 17; "
        "kind=slow_nodes,factor=1.2,node_ranks=8; kind=drawn,sigma=0.05",
    )
    barrier: Choice[str | None] = Choice(
        "that precedes each collective: dissemination_barrier, recursive_doubling_barrier or "
        "tree_barrier",
        default=None,
        usual="none",
        allowed=("dissemination_barrier", "recursive_doubling_barrier", "tree_barrier"),
    )
    L_factor: Part[Speed] = Part(Speed, L_FACTOR)
    G_factor: Part[Speed] = Part(Speed, G_FACTOR)

    def case(self) -> Case:
        """Make the case; errors carry the field."""
        with naming_fields(*self.parameters()):
            given = {name: getattr(self, name) for name in self.parameters()}
            how = self.ranks, self.network, self.message_bytes
            switches = allows_switches(self.noise)
            algorithm = algorithm_for(self.algorithm, *how, switches=switches)
            return Case(**{**given, "algorithm": algorithm})


def add_case(parser: argparse.ArgumentParser, count: str | None = None) -> None:
    """Add the file, and `--at`, to argparse's; `count` as its `nargs`."""
    nargs: dict[str, Any] = {"nargs": count} if count else {}
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE.toml",
        help="a study; or the fields of a case, or nothing but a table [case] of them",
        **nargs,
    )
    parser.add_argument(
        "--at",
        action="append",
        metavar="AXIS=LABEL[,...]",
        help="cell of the study, e.g. ranks=16,variant=redundant; may be given several times; "
        "an axis that is left out is at its first value",
    )


def require_collective(case: Workload, path: Path) -> Case:
    """The case; ValueError if it is a schedule of an application."""
    if not isinstance(case, Case):
        raise ValueError(
            f"{path}: its cases are schedules, not collectives; jitterfly run and jitterfly "
            "explain take them"
        )
    return case


def read_case(path: Path, at: list[str]) -> tuple[Workload, int, str]:
    """The case in a file; of a study also its seed, and which cell (else 0 and "").

    Raises
    ------
    ValueError
        As `load_case` and `load_study`; no such cell; cells of what has one case alone; or the
        file is itself a schedule of an application.
    OSError
        The file can not be read.
    """
    from ..schedule.schedule import looks_like_schedule
    from ..studies import holds_study, load_case, load_study

    if looks_like_schedule(path):
        raise ValueError(
            f"{path} is a schedule of an application, not a case or a study: jitterfly run and "
            "jitterfly explain take it"
        )
    if holds_study(path):
        return _cell_of_study(load_study(path), at)
    case = load_case(path)
    if at:
        raise ValueError(f"--at chooses a cell of a study: {path} holds one case")
    return case, 0, ""


def _cell_of_study(study: Study, at: list[str]) -> tuple[Workload, int, str]:
    """Return the case of the cell that `--at` names, with the seed and the name of the cell."""
    from ..studies.axes import label_named
    from ..studies.study import labels_of_value

    labels = {axis.name: [point.label for point in axis.values] for axis in study.axes}
    if study.variants:
        labels["variant"] = [point.label for point in study.variants]
    wanted: dict[str, str] = {}
    if at and not labels:
        raise ValueError(f"--at chooses a cell of a study: {study.name} has one cell alone")
    # A comma ends a label where an axis follows: a label may have commas itself.
    next_axis = re.compile(rf",\s*(?=(?:{'|'.join(map(re.escape, labels))})=)")
    for text in [part for one in at for part in next_axis.split(one)]:
        name, equals, label = text.partition("=")
        if not equals or name not in labels:
            names = ", ".join(labels)
            raise ValueError(f"--at must be AXIS=LABEL, AXIS one of {names}; got {shorten(text)}")
        if name in wanted:
            raise ValueError(f"--at gives {name} twice: {wanted[name]!r} and {shorten(label)}")
        matches = [known for known in labels[name] if known == label]
        if not matches and name != "variant":
            matches = labels_of_value(study, name, label)
        if len(matches) != 1:
            try:
                matches = [label_named(label, labels[name], "--at")]
            except ValueError:
                known = ", ".join(labels[name])
                raise ValueError(
                    f"--at {name} must be one of {known}; got {shorten(label)}"
                ) from None
        wanted[name] = matches[0]
    for cell in study.cells():
        if all(cell.labels.get(name, label) == label for name, label in wanted.items()):
            cases = cell.cases
            variant = wanted.get("variant", next(iter(cases)))
            where = [f"{name}={label}" for name, label in cell.labels.items()]
            where += [f"variant={variant}"] if variant else []
            return cases[variant], study.seed, ", ".join(where)
    raise AssertionError("every combination of labels is a cell")


def check_one_description(chosen: argparse.Namespace, names: Sequence[str]) -> None:
    """Raise unless a file describes the case alone, or the options `names` do."""
    given = [chosen.options[name] for name in names if getattr(chosen, name) is not None]
    if chosen.file is not None and given:
        raise ValueError(f"{given[0]} and FILE.toml both describe a case: give one")
    if chosen.file is None and chosen.at:
        raise ValueError("--at chooses a cell of a study: give STUDY.toml")


def case_of(chosen: argparse.Namespace) -> tuple[Workload, int, str]:
    """The case, the seed that is given or that of its study, and which cell."""
    check_one_description(chosen, [*CaseOptions.parameters(), "collective", "counts"])
    own_seed = integer(chosen.seed, "seed", 0, MAX_SEED)
    if chosen.file is not None:
        found, seed, where = read_case(chosen.file, chosen.at or [])
        return found, seed if own_seed is None else own_seed, where
    if chosen.ranks is None:
        raise ValueError("give FILE.toml, or --ranks: neither is given")
    given = chosen.noise, chosen.arrival, chosen.speed, chosen.L_factor, chosen.G_factor
    if all(one is None for one in given):
        raise ValueError(
            "give what delays: --noise, --arrival, --speed, --L-factor or --G-factor; or FILE.toml"
        )
    asked = read_question(chosen, CaseOptions)
    case = asked.case()
    name = None if isinstance(asked.algorithm, LibraryRules) else chosen.algorithm
    own_network = chosen.network is not None
    tell_understood(case.network, case.noise, own_network, case.algorithm, name)
    return case, own_seed or 0, ""


def add_explain(commands: Any) -> None:
    """Add the command to argparse's."""
    from ..explain import ExplainQuestion

    parser = commands.add_parser(
        "explain",
        help="who made us wait: the delay of a collective by cause, on its critical path",
        description="A table of causes: arrivals, each noise source, and the path itself. In each "
        "realization they add up to what the last rank is delayed. A table of ranks: how long each "
        "waited, and what of it for others. The case comes from a file (a "
        "case, or a cell of a study) or from the options. For a schedule of an application "
        "(APP.goal) also: which ranks and operations are on the critical path, in what share of "
        "realizations.",
    )
    add_case(parser, "?")
    add_parameters(parser, CaseOptions, ExplainQuestion, file=True)
    add = parser.add_argument
    add_picture(parser, "the picture alone")
    add("--ranks-csv", type=Path, metavar="FILE", help="what each rank did with its time, all of "
        "them; the table and --json have those that wait least and most for others")  # fmt: skip
    _add_schedule_options(parser)
    add_out(parser)
    add_json(parser)
    parser.set_defaults(run=_run_explain)


def _run_explain(chosen: argparse.Namespace) -> None:
    from ..explain import ExplainQuestion, explain
    from ..schedule.schedule import looks_like_schedule

    if chosen.file is not None and looks_like_schedule(chosen.file):
        refuse_options(chosen, _OF_CASES, "is for a case", f"{chosen.file} is a schedule")
        _explain_path(chosen, chosen.file, {"network": DEFAULT_NETWORK})
        return
    started = time.monotonic()
    check_files(chosen, _FILES)
    asked = values_of(chosen, ExplainQuestion, {})
    # One realization has no intervals: a table of them would be empty.
    integer(chosen.realizations, "realizations", 2, MAX_REALIZATIONS)
    if chosen.file is None:  # what a file is for shows when it is read
        _check_case_options(chosen)
    case, seed, where = case_of(chosen)
    if not isinstance(case, Case):
        _explain_cell(chosen, case, seed, where)
        return
    _check_case_options(chosen)
    rules = library(chosen) if chosen.file is None else None
    if chosen.realizations is None:
        asked["realizations"] = _realizations_for(case)
    asked |= {"case": case, "seed": seed}
    about = {**ExplainQuestion(**asked).to_dict(), "cell": where or None}
    prepare_out(chosen, "explain", about, list(ExplainQuestion.parameters(EFFORT)))
    with show_phases(begun=started) as phases, without_warnings_of_doubts():

        def show(done: int, count: int) -> None:
            phases(f"following {case.ranks:,} ranks in {count:,} realizations", done, count)

        explanation = replace(explain(**asked, progress=show), library=rules)
    give_answer(explanation, chosen, _FILES, started, "explain", **about)


def _realizations_for(case: Case) -> int:
    """Return the usual number; of many messages, as many realizations as take about 20 s."""
    messages = max(case.loops[-1].rank_rounds(), 1)
    fit = round(_DEFAULT_MESSAGES / messages)
    chosen = min(max(fit, _MIN_REALIZATIONS), _DEFAULT_REALIZATIONS)
    if chosen < _DEFAULT_REALIZATIONS:
        tell(f"jitterfly: {chosen} realizations, as each has {messages:,} messages; --realizations "
             "takes more")  # fmt: skip
    return chosen


def _add_schedule_options(parser: argparse.ArgumentParser) -> None:
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


def _check_case_options(chosen: argparse.Namespace) -> None:
    """Raise ValueError where `explain` was given options of a schedule for a case."""
    refuse_options(chosen, _OF_EXPLAINED, "is for a schedule (APP.goal)", "a case is given")


def _explain_cell(chosen: argparse.Namespace, case: Workload, seed: int, where: str) -> None:
    """Explain the schedule of a cell of the study that `chosen.file` names."""
    from ..schedule import ScheduleCase

    assert isinstance(case, ScheduleCase)
    if case.order == "arrival":
        tell("jitterfly: explained in the order of operations without noise, which is not the "
             "study's")  # fmt: skip
    known = {"network": case.network, "noise": case.noise, "speed": case.speed, "seed": seed}
    _explain_path(chosen, case.schedule.path, known, where)


def _explain_path(
    chosen: argparse.Namespace, path: Path, known: dict[str, Any], where: str | None = None
) -> None:
    """Explain the schedule in a file and give the answer; `where` names the cell of a study."""
    from ..schedule import explain_schedule as explain
    from ..schedule.explain import ScheduleExplainQuestion
    from ..schedule.result import machine_as_json

    started = time.monotonic()
    check_files(chosen, _EXPLAINED_FILES)
    asked = values_of(chosen, ScheduleExplainQuestion, known)
    if chosen.realizations is None and chosen.slowest is not None:
        asked["realizations"] = 1000
    # A cell has from its study what options would say.
    with executing_schedule(chosen, path, asked, started, told=where is None) as phases:
        show = partial(phases, f"following {asked['schedule'].ranks:,} ranks")
        question = ScheduleExplainQuestion(**asked)
        about = {**machine_as_json(question), "slowest": question.slowest, "cell": where or None}
        about["sha256"] = asked_digests(chosen, [path]).get(str(path))
        prepare_out(chosen, "explain", about, ())
        explanation = explain(**asked, progress=show)
    give_answer(explanation, chosen, _EXPLAINED_FILES, started, "explain", **about)


def add_compare_measured(commands: Any) -> None:
    """Add the command to argparse's."""
    from ..compare_measured import CompareMeasuredQuestion

    parser = commands.add_parser(
        "compare-measured",
        help="a simulated distribution beside a measured one",
        description="Distance of the two distributions with its interval, and which quantile is "
        "off and by how much. MEASURED is a text file of times, or what OSU, IMB or Netgauge "
        "printed of a collective. The case comes from a file (a case, or a cell of a study) or "
        "from the options.",
    )
    add = parser.add_argument
    add("measured", type=Path, metavar="MEASURED")
    add_case(parser, "?")
    add_parameters(parser, CaseOptions, CompareMeasuredQuestion, file=True)
    add_out(parser)
    add_picture(parser, "the picture alone")
    add_json(parser)
    parser.set_defaults(run=_run_compare_measured)


def _chosen_rows(chosen: argparse.Namespace) -> tuple[str | None, int | None, int | None]:
    """Take the options about rows out of `chosen`, which keeps those about the case."""
    from ..compare_measured import largest_ranks_in
    from ..measured.measurements import full_name

    collective = chosen.collective
    ranks = None if chosen.ranks is None else read_count(chosen.ranks, "--ranks", 1, 2**30)
    bytes_ = None if chosen.message_bytes is None else size(chosen.message_bytes, "bytes")
    if chosen.file is not None:
        chosen.collective = chosen.ranks = chosen.message_bytes = None
    elif ranks is None:
        found = largest_ranks_in(chosen.measured)
        chosen.ranks = None if found is None else str(found)
    if chosen.collective is not None:
        chosen.collective = full_name(chosen.collective)
    if chosen.collective == "allreduce" and chosen.algorithm is None:
        chosen.collective = None  # which the default algorithm is
    return collective, ranks, bytes_


def _run_compare_measured(chosen: argparse.Namespace) -> None:
    from ..compare_measured import CompareMeasuredQuestion, compare_measured

    started = time.monotonic()
    check_files(chosen, PICTURE)
    asked = values_of(chosen, CompareMeasuredQuestion, {})
    collective, ranks, bytes_ = _chosen_rows(chosen)
    any_case, seed, where = case_of(chosen)
    case = require_collective(any_case, chosen.file)
    asked |= {
        "measured": chosen.measured,
        "case": case,
        "collective": collective,
        "ranks": ranks,
        "message_bytes": bytes_,
        "library": None if chosen.file is not None else library(chosen),
        "seed": seed,
    }
    about = {**CompareMeasuredQuestion(**asked).to_dict(), "cell": where or None}
    about["sha256"] = asked_digests(chosen, [chosen.measured])
    about["asked_clock"] = about.pop("clock")  # the answer has the clock that was taken
    prepare_out(chosen, "compare_measured", about, list(CompareMeasuredQuestion.parameters(EFFORT)))
    with show_phases(begun=started) as phases:
        progress = partial(phases, "simulating")
        found = compare_measured(**asked, progress=progress)
    give_answer(found, chosen, PICTURE, started, "compare_measured", **about)


def add_predict(commands: Any) -> None:
    """Add the command to argparse's."""
    from ..predict import PredictQuestion

    parser = commands.add_parser(
        "predict",
        help="a larger machine from the measured times of a smaller one",
        description="Mean and quantiles of a collective on more ranks, from the time of every "
        "iteration on fewer: TIMES, one in each line. The noise is inferred as by `jitterfly noise "
        "infer`. How long the collective takes there without noise, --base-there says, or --size "
        "tells; else the excess over it is predicted.",
    )
    parser.add_argument("measured", type=Path, metavar="TIMES")
    add_parameters(parser, PredictQuestion)
    add_out(parser)
    add_picture(parser, "the picture alone")
    add_json(parser)
    parser.set_defaults(run=_run_predict)


def _run_predict(chosen: argparse.Namespace) -> None:
    from ..predict import PredictQuestion, answer_prediction

    started = time.monotonic()
    check_files(chosen, PICTURE)
    with show_phases(begun=started) as phases:
        show = partial(phases, "simulating")
        asked = read_question(chosen, PredictQuestion, measured=chosen.measured, progress=show)
        files = [*asked.files(), *(Path(file) for _, file in asked.measured_there)]
        question = {**asked.to_dict(), "sha256": asked_digests(chosen, files)}
        prepare_out(chosen, "predict", question, list(PredictQuestion.parameters(EFFORT)))
        tell_machine(chosen, asked)
        with long_times_refused():
            found = answer_prediction(asked)
    give_answer(found, chosen, PICTURE, started, "predict", **question)


def add_trace(commands: Any) -> None:
    """Add the command to argparse's."""
    trace = commands.add_parser(
        "trace",
        help="picture of one realization",
        description="Picture of one realization: ready times per rank and round, noise, messages, "
        "adopted copies; of the butterfly on a power of two of ranks. The case comes from a file "
        "(a case, or a cell of a study) or from the options. Of other algorithms "
        "jitterfly.ready_times has the numbers, and jitterfly explain who made others wait.",
    )
    add_case(trace, "?")
    trace.add_argument("--ranks", metavar="N", help=f"1 to {MAX_RANKS} (default 16)")
    trace.add_argument(
        "--copy-levels", metavar="LEVELS", help="levels copied: all (default), none, or such as 1,3"
    )
    trace.add_argument(
        "--exchanges-after", metavar="T", help="redundant exchanges after the butterfly (0)"
    )
    trace.add_argument("--network", metavar="K=V,...", help=f"default {_TRACE_NETWORK}")
    trace.add_argument(
        "--noise",
        metavar="FILE|K=V,...",
        action="append",
        help=f"may be given several times, or none (default {_TRACE_NOISE})",
    )
    trace.add_argument(
        "--bytes",
        dest="message_bytes",
        metavar="N",
        help="message size, such as 1KiB (default 8)",
    )
    trace.add_argument("--cycles", metavar="N", help="default 1")
    trace.add_argument(
        "--compute-time", metavar="TIME", help="compute phase of each cycle (default 0)"
    )
    trace.add_argument("--seed", metavar="N", help="default: the study's, or 0")
    trace.add_argument(
        "--realization",
        metavar="N",
        default="worst",
        help="its number, or `worst` (default): the slowest of the first 1000",
    )
    trace.add_argument(
        "--out",
        "--picture",
        type=Path,
        default=Path("trace.png"),
        metavar="FILE",
        help=".png, .pdf or .svg (default trace.png)",
    )
    add_json(trace)
    trace.set_defaults(run=_run_trace)


def _run_trace(chosen: argparse.Namespace) -> None:
    check_one_description(chosen, _TRACE_OPTIONS)
    seed = 0
    if chosen.file is not None:
        found, seed, _ = read_case(chosen.file, chosen.at or [])
        case = require_collective(found, chosen.file)
    else:
        case = _trace_case(chosen)
    if chosen.seed is not None:
        seed = check_integer(value(chosen.seed), "--seed", 0, MAX_SEED)
    realization = chosen.realization
    if realization != "worst":
        realization = integer(realization, "realization", 0, MAX_REALIZATIONS - 1)

    from ..plots import trace as picture
    from ..plots.draw import check_path
    from ..slowdown import part_in_words, repetition

    check_path(chosen.out)
    check_size(case)
    if chosen.file is None:
        tell_understood(case.network, case.noise, chosen.network is not None)
    slowest = realization == "worst"
    if slowest:
        realization = picture.worst_realization(case, seed)
    summary = picture.draw(case, chosen.out, seed=seed, realization=realization, slowest=slowest)
    if chosen.json:
        which = {"ranks": case.ranks, "seed": seed, "realization": realization}
        print_json("trace", **which, **summary._asdict(), written=[chosen.out])
        return
    what = f"{part_in_words(case.algorithm)}, {case.ranks} ranks, {show_size(case.message_bytes)}"
    noise = "; ".join(map(part_in_words, case.noise)) or "none"
    print(f"{what}{repetition(case)}, under noise: {noise}")
    print(f"network: {part_in_words(case.network)}")
    print(f"{picture.chosen_in_words(realization, slowest=slowest)}: {summary.line}")
    print(f"written: {chosen.out}")


def _given(chosen: argparse.Namespace, name: str, default: str) -> str:
    text = getattr(chosen, name)
    return default if text is None else text


def _trace_case(chosen: argparse.Namespace) -> Case:
    """Make the butterfly that the options of `trace` describe."""
    ranks = check_power_of_two(value(_given(chosen, "ranks", "16")), "--ranks", MAX_RANKS)
    butterfly: dict[str, Any] = {
        "kind": "butterfly",
        "exchanges_after": value(_given(chosen, "exchanges_after", "0")),
    }
    # Two ranks have no level inside the butterfly.
    copied = _given(chosen, "copy_levels", "all" if ranks > 2 else "none")
    if copied == "all":
        butterfly["copy_levels"] = "all"
    elif copied != "none":
        levels = [value(level) for level in copied.split(",")]
        if not all(isinstance(level, int) for level in levels):
            raise ValueError(
                f"--copy-levels must be all, none, or levels such as 1,3; got {shorten(copied)}"
            )
        butterfly["copy_levels"] = levels
    noise: list[dict[str, Any]] = []
    if chosen.noise != ["none"]:
        noise += read_noise_texts(
            [_TRACE_NOISE] if chosen.noise is None else chosen.noise, "--noise"
        )
    network = read_network(_given(chosen, "network", _TRACE_NETWORK), "--network")
    check_levels(Network.from_dict(network, "network"))
    table: dict[str, Any] = {
        "ranks": ranks,
        "algorithm": butterfly,
        "network": network,
        "noise": noise,
    }
    for option in ("cycles", "compute_time"):
        if getattr(chosen, option) is not None:
            table[option] = value(getattr(chosen, option))
    if chosen.message_bytes is not None:
        table["message_bytes"] = size(chosen.message_bytes, "bytes")
    return Case.from_dict(table)


def add_export_goal(commands: Any) -> None:
    """Add the command to argparse's."""
    export = commands.add_parser(
        "export-goal",
        help="the schedule of a case as GOAL text, to run it in LogGOPSim",
        description="Writes the messages and the work of a case as GOAL, with all dependencies; "
        "LogGOPSim's converter txt2bin reads it. Noise is left out. On standard error: the options "
        "that make LogGOPSim's network that of the case, what had to be rounded, and the command "
        "that runs the schedule here.",
    )
    add_case(export)
    export.add_argument("-o", "--out", type=Path, metavar="FILE", help="default: standard output")
    add_json(export)
    export.set_defaults(run=_run_export_goal)


def _run_export_goal(chosen: argparse.Namespace) -> None:
    from ..files import check_output, write_whole
    from ..goal_export import goal_schedule

    if chosen.out is not None:  # before all else
        if chosen.out.exists() and chosen.file.exists() and chosen.out.samefile(chosen.file):
            raise ValueError(f"--out must be another file than {chosen.file}, which has the case")
        check_output(chosen.out)
    case, _, where = read_case(chosen.file, chosen.at or [])
    goal = goal_schedule(require_collective(case, chosen.file))
    if chosen.json:
        if chosen.out is not None:
            write_whole(chosen.out, goal.text.encode("ascii"))
        print_json(
            "export-goal",
            cell=where or None,
            options=goal.options,
            network=goal.network,
            notes=goal.notes,
            goal=goal.text if chosen.out is None else None,
            written=[] if chosen.out is None else [chosen.out],
        )
        return
    if where:
        print(f"cell of the study: {where}", file=sys.stderr)
    for note in goal.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"LogGOPSim {' '.join(goal.options)}", file=sys.stderr)
    file = "FILE.goal" if chosen.out is None else shlex.quote(str(chosen.out))
    print(f"jitterfly run {file} --network {goal.network}", file=sys.stderr)
    if chosen.out is None:
        sys.stdout.write(goal.text)
        return
    write_whole(chosen.out, goal.text.encode("ascii"))
    print(f"written: {chosen.out}")
