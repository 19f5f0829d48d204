"""The case of a command: options, a file of a case, or a cell of a study (`--at`)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..algorithms.algorithm import MOST_ROUNDS
from ..case import Case, Workload
from ..fields import MOST_SEED, naming_fields, shorten
from ..imbalance import Arrival, Speed
from ..question import CollectiveParameters, Count, NoiseParameter, Part, question, required
from .options import integer, read_question, tell_understood

if TYPE_CHECKING:
    from ..studies import Study


@question
class CaseOptions(CollectiveParameters):
    """The options that describe a case in place of a file."""

    ranks: Count = required(Count("how many there are", low=1, high=2**MOST_ROUNDS))
    _: KW_ONLY
    noise: NoiseParameter = NoiseParameter(
        "a noise file, or K=V,... such as period=1ms,duration=10us; several add up", default=()
    )
    arrival: Part[Arrival] = Part(
        Arrival,
        "how late ranks are: kind=one_late,delay=1ms,rank=7; kind=ramp,longest=1ms; "
        "kind=file,file=late.txt",
    )
    speed: Part[Speed] = Part(
        Speed,
        "ranks that take longer, also in a schedule: kind=slow_ranks,factor=1.2,ranks=3 17; "
        "kind=slow_nodes,factor=1.2,node_ranks=8; kind=drawn,sigma=0.05",
    )

    def case(self) -> Case:
        """Make the case; errors carry the field."""
        with naming_fields(*self.parameters()):
            return Case(**{name: getattr(self, name) for name in self.parameters()})


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
        matches = matches or [known for known in labels[name] if known.startswith(label)]
        if len(matches) != 1:
            known = ", ".join(labels[name])
            raise ValueError(f"--at {name} must be one of {known}; got {shorten(label)}")
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
    given = [name for name in names if getattr(chosen, name.replace("-", "_")) is not None]
    if chosen.file is not None and given:
        raise ValueError(f"--{given[0]} and FILE.toml both describe a case: give one")
    if chosen.file is None and chosen.at:
        raise ValueError("--at chooses a cell of a study: give STUDY.toml")


def case_of(chosen: argparse.Namespace) -> tuple[Workload, int, str]:
    """The case, the seed that is given or that of its study, and which cell."""
    options = [str(one.option) for one in CaseOptions.parameters().values()]
    check_one_description(chosen, [*options, "collective"])
    own_seed = integer(chosen.seed, "seed", 0, MOST_SEED)
    if chosen.file is not None:
        found, seed, where = read_case(chosen.file, chosen.at or [])
        return found, seed if own_seed is None else own_seed, where
    if chosen.ranks is None:
        raise ValueError("give FILE.toml, or --ranks: neither is given")
    if chosen.noise is None and chosen.arrival is None and chosen.speed is None:
        raise ValueError("give what delays: --noise, --arrival or --speed; or FILE.toml")
    case = read_question(chosen, CaseOptions).case()
    own_network = chosen.network is not None
    tell_understood(case.network, case.noise, own_network, case.algorithm, chosen.algorithm)
    return case, own_seed or 0, ""
