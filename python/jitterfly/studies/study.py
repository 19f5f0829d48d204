"""`Study`: base case, axes, observables, seed, precision targets, budget; checks; TOML of it.

All cells have the seed of their study: variants and points of an axis meet the same noise.

Names, paths, budget, observables and targets are checked before anything runs. Unknown keys of its
TOML are refused in `toml`.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from numbers import Integral
from operator import contains
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from .. import extensions, optional_packages
from ..case import Case
from ..distributions.distribution import Drawn
from ..fields import (
    MAX_SEED,
    Component,
    Converted,
    Int,
    IntField,
    IntOrText,
    check_choice,
    check_kinds,
    counted,
    did_you_mean,
    frozen_dataclass,
    is_number,
    shared_components,
    shorten,
    show_number,
)
from ..files import current_folders, files_from
from ..hierarchy import Level
from ..network import Network
from ..observables import (
    NOISE_FREE,
    Completion,
    CycleSlowdown,
    CycleTime,
    Decision,
    Measure,
    MeasureFamily,
    Observable,
    Observed,
    OfCycles,
    Select,
    Slowdown,
    Target,
    read_observable,
)
from ..schedule import ScheduleCase
from ..schedule.schedule import is_pattern
from ..stats import Estimate
from ..syntax import read_count, read_network, read_noises, read_values
from ..units import OptionalSeconds, Seconds, parse_seconds, show_seconds, show_size
from .axes import (
    Axis,
    AxisValue,
    Frozen,
    Variant,
    freeze,
    get_path,
    label_of,
    leaves,
    listed,
    read_settings,
    rule_reads,
    without,
)
from .grid import Cell, RealizationBudget, build_cells, cell_name

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas
    import xarray
    from matplotlib.figure import Figure


class StudyResult(Protocol):
    """The result of `Study.run`; a `Store` is one."""

    path: Path
    study: Study

    @property
    def cells(self) -> list[Cell]:
        """The cells of the study, in its order."""

    def cell(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> Cell:
        """The cell at some values of the axes."""

    def observed(self, cell: Cell, name: str) -> Observed:
        """An observable in a cell, with its samples."""

    def decision(self, cell: Cell) -> Decision:
        """The decision in a cell: which targets are met."""

    def estimate(self, cell: Cell, name: str, statistic: str, confidence: float = 0.95) -> Estimate:
        """A statistic of an observable in a cell, with its interval."""

    def to_xarray(self, confidence: float = 0.95) -> xarray.Dataset:
        """The estimates and intervals over the axes, observables and statistics."""

    def to_pandas(self, confidence: float = 0.95) -> pandas.DataFrame:
        """The estimates and intervals as a long table, a row for each."""

    def to_csv(self, path: str | Path | None = None, confidence: float = 0.95) -> str:
        """The long table as CSV."""

    def summary(self, width: int = 80) -> str:
        """The main numbers as tables of text."""

    def plot(
        self,
        path: str | Path | None = None,
        *,
        kind: str | None = None,
        observable: str | None = None,
        figsize: tuple[float, float] | None = None,
        title: str | None = None,
    ) -> Figure:
        """The study's figure, or another one."""


@frozen_dataclass()
class Study:
    """Many cases, what is observed of them, and how precisely.

    Everything is checked when it is made: each case, observable and target.

    Parameters
    ----------
    name : str
        Letters, digits, ``_``, ``.``, ``-``.
    case : Case, ScheduleCase or table
        The base case; as a table it may lack what the axes set. With a key ``schedule`` it is that
        of an application's schedule.
    axes : list of Axis
        The cells of the study are their product.
    variants : table of name = {path = value, ...}
        Cases that are compared in each cell, on the same noise.
    observables : table of name = Observable
        Where there are none: completion and slowdown of each variant; of schedules with marks also
        those of a cycle, `CycleTime` and `CycleSlowdown`.
    targets : list of Target or str
        Such as "mean of gain ± 1 % at 95 %". A cell runs until all are met, or the budget ends.
    budget : RealizationBudget
    title, source, figure, claims
        Texts for the picture, and names of what the source says about it.
    seed : int
        Of all noise.

    Raises
    ------
    ValueError
        Names the field, and the cell where it is one.

    Examples
    --------
    >>> import jitterfly as jf
    >>> from jitterfly.observables import Gain
    >>> study = Study(
    ...     "mine",
    ...     case={
    ...         "network": jf.LogGOPS(L="1us", o="1ns"),
    ...         "noise": [jf.PeriodicNoise(period="1ms", duration="10us")],
    ...     },
    ...     axes=[Axis("ranks", log2=[4, 6]), Axis("D", ["1us", "10us"], path="noise.0.duration")],
    ...     variants={"conventional": {}, "redundant": {"algorithm.copy_levels": "all"}},
    ...     observables={"gain": Gain(of="redundant", over="conventional")},
    ...     targets=["mean of gain ± 1 %"],
    ...     budget=RealizationBudget(max=100_000),
    ... )
    >>> study.cells()[1].name, study.cells()[1].coordinates["D"]
    ('ranks=16, D=10us', 1e-05)
    """

    name: str
    _: KW_ONLY
    case: Case | ScheduleCase | Mapping[str, Any]
    axes: Sequence[Axis] = ()
    variants: Converted[
        Mapping[str, Mapping[str, Any]] | Sequence[Variant], tuple[Variant, ...]
    ] = Converted("dict[str, dict] | list[Variant]", ())
    observables: Mapping[str, Observable] = field(default_factory=Frozen)
    targets: Converted[Sequence[Target | str], tuple[Target, ...]] = Converted(
        "list[Target | str]", ()
    )
    budget: RealizationBudget = None  # type: ignore[assignment]
    title: str = ""
    source: str = ""
    figure: str = ""
    claims: Sequence[str] = ()
    seed: IntField = IntField(0)
    # What follows from the rest. `dataclasses.replace` hands it on, so that the same cases with
    # another seed or budget are not built again.
    _origin: _Origin = field(default=None, compare=False, repr=False)  # type: ignore[assignment]
    _grid: _Grid = field(default=None, compare=False, repr=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        for name in ("axes", "targets", "claims"):
            put(name, tuple(listed(getattr(self, name), name)))
        put("seed", read_count(self.seed, "seed", 0, MAX_SEED))
        check_texts(self)
        put("variants", read_variants(self.variants))
        put("observables", read_observables(self.observables, self))
        put("targets", tuple(map(read_target, self.targets)))
        check_names(self)
        groups = groups_of(self)
        check_paths(self, groups)
        put(
            "case",
            read_base(self.case, groups, [*chain(*(a.values for a in self.axes)), *self.variants]),
        )
        check_marks(self, groups)
        check_budget(self)
        # The same description with another seed or budget is quick.
        description = describe(self)
        if self._origin is None:
            put("_origin", _Origin(folders=current_folders()))
        if self._grid is None or self._grid.description != description:
            if self._grid is not None:  # another study than the file describes
                put("_origin", _Origin(folders=self._origin.folders))
            with files_from(*self._origin.folders), shared_components():
                put("_grid", _Grid(description, build_cells(self)))
        check_observables_and_targets(self)

    @property
    def text(self) -> str:
        """The file that it was read from, word for word, else TOML that describes it.

        TOML, too, where something is not as in the file; its first line then says what.
        """
        changes = self._changes()
        if self._origin.text and not changes:
            return self._origin.text
        head = f"# The study as it was run: {'; '.join(changes)}.\n\n" if changes else ""
        return head + self.to_toml()

    def _changes(self) -> list[str]:
        """The changes since the study was read from its file."""
        read = self._origin.read
        if read is None:
            return []
        changes = ["the sizes of the table [full]"] if self.full else []
        if self.seed != read[0]:
            changes.append(f"seed {self.seed} in place of {read[0]}")
        if self.targets != read[1]:
            changes.append("other targets than its file has")
        if self.budget != read[2]:
            changes.append("other numbers of realizations than its file has")
        return changes

    @property
    def full(self) -> bool:
        """Return whether the table [full] of the study's file was applied."""
        return self._origin.full

    @property
    def where(self) -> str:
        """The name of the study in errors: its file."""
        return self._origin.where or f"study {self.name}"

    def with_origin(self, text: str, full: bool, where: str) -> Study:
        """Return the study with the file that it was read from, for its copy and for errors.

        Without `text`, with the name of that file alone.
        """
        read = (self.seed, tuple(self.targets), self.budget) if text else None
        origin = replace(self._origin, text=text, full=full, where=where, read=read)
        found = copy(self)  # which has been checked
        object.__setattr__(found, "_origin", origin)
        return found

    def __hash__(self) -> int:
        return hash((self._grid.description, self.seed, self.budget, self.targets))

    def error(self, what: str) -> ValueError:
        """An error in this study, with the name of its file."""
        return ValueError(f"{self.where}: {what}")

    def to_toml(self) -> str:
        """The TOML that `parse_study` reads as the same study."""
        return to_toml(self)

    def run(
        self,
        out: str | Path | None = None,
        *,
        executor: Executor | None = None,
        workers: IntOrText | None = None,
        backend: str = "auto",
        threads: Int | None = None,
        devices: IntOrText | Sequence[Int] | None = "all",
        realizations: IntOrText | None = None,
        seed: IntOrText | None = None,
        targets: Sequence[Target | str] | None = None,
        force: bool = False,
        on_error: str = "stop",
        stream: TextIO | None = None,
        progress: Callable[[float, int], object] | None = None,
    ) -> StudyResult:
        """Run what is not done yet of this study.

        The samples do not depend on who runs them, nor on how often a run is stopped on the way.

        Parameters
        ----------
        out : path, optional
            A directory for the samples: the same call goes on from what is there. Without it they
            are in a temporary directory, which is removed with the result.
        executor : Executor, optional
            Where batches run, in place of workers; the caller shuts it down.
        workers : str or int, optional
            "gpus" (a process for each GPU), "sockets" or a number (processes that share the
            processors, or with backend "cuda" the GPUs), "mpi". Without it this process alone.
        backend, threads
            As in `simulate`; threads of each worker.
        devices : str, int or list of int
            The GPUs: "all" of this process, with a thread for each; or numbers of those that CUDA
            shows, such as "0,2" or [0, 2]. None: the first.
        realizations : int, optional
            Of each cell, in place of the study's budget; with targets the most.
        seed, targets
            In place of the study's.
        force : bool
            Replace another run that is in `out`.
        on_error : "stop" or "finish"
            What follows an error in a cell: the end, or all other cells first.
        stream : text file, optional
            Where progress goes. Left out: standard error, and nothing of a run that ends before
            the first report (10 s).
        progress : callable, optional
            Called now and then as ``progress(done, cells)``, in this thread; `done` holds the parts
            of cells that are under way. Nothing is printed then, unless there is a `stream`.

        Returns
        -------
        StudyResult
            A `Store`.

        Raises
        ------
        ValueError
            An argument out of range, or `out` holds another run, before anything is simulated; or
            a cell that can not be run.
        OSError
            `out` can not be written.
        KeyboardInterrupt
            Ctrl-C; what was run is in `out`.

        Examples
        --------
        >>> import jitterfly as jf
        >>> case = jf.Case(
        ...     ranks=16,
        ...     network=jf.LogGOPS(L="1us", o="200ns"),
        ...     noise=[jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")],
        ... )
        >>> budget = jf.RealizationBudget(max=100)
        >>> study = jf.Study("ranks", case=case, axes=[jf.Axis("ranks", [16, 64])], budget=budget)
        >>> found = study.run()
        >>> print(found.summary().splitlines()[-1])  # below the table
        Every mean has its 95 % interval; medians and ranges have none.
        >>> means = found.to_pandas().query("observable == 'slowdown' and statistic == 'mean'")
        >>> means.ranks.tolist(), bool((means.value > 1).all())
        ([16, 64], True)
        """
        found: StudyResult = optional_packages.run_study(
            self, out, executor=executor, workers=workers, backend=backend, threads=threads,
            devices=devices, realizations=realizations, seed=seed, targets=targets, force=force,
            on_error=on_error, stream=stream, progress=progress,
        )  # fmt: skip
        return found

    def cells(self) -> list[Cell]:
        """Every cell, in the order of the axes."""
        return list(self._cells)

    @cached_property
    def _cells(self) -> tuple[Cell, ...]:
        return tuple(self._budgeted(cell) for cell in self._grid.cells)

    def _budgeted(self, cell: Cell) -> Cell:
        limit = self.budget.realizations(cell.cost)
        least = min(self.budget.min, limit) if self.targets else limit
        raw = self.budget.raw_bytes // (8 * len(cell.columns))
        return replace(cell, least=least, limit=limit, raw_limit=raw)

    def families(self, cell: Cell) -> dict[str, MeasureFamily]:
        """Every observable in a cell by name; those that it lacks are left out."""
        if cell.index not in self._families:
            self._families[cell.index] = {
                family.name: family
                for name, observable in self.observables.items()
                for family in observable.resolve(name, cell.cases)
            }
        return self._families[cell.index]

    @cached_property
    def _families(self) -> dict[int, dict[str, MeasureFamily]]:
        return {}

    def measures(self, cell: Cell) -> tuple[Measure, ...]:
        """All that is measured in a cell, each measure once."""
        by_key = {m.key: m for family in self.families(cell).values() for m in family.members}
        return tuple(by_key.values())


@dataclass(frozen=True)
class _Origin:
    """The file that a study was read from, and the folders of the files that its noise names.

    `read` are the seed, targets and budget that the file has.
    """

    folders: tuple[Path, Path | None]
    text: str = ""
    full: bool = False
    where: str = ""
    read: tuple[int, tuple[Target | str, ...], RealizationBudget] | None = None


@dataclass(frozen=True)
class _Grid:
    """The cells of a study before its budget, with the description that they were built of."""

    description: str
    cells: tuple[Cell, ...]


class BaseReplaced(UserWarning):
    """The base case has a value that no cell uses: axes or variants set the field."""


def read_variants(value: Any) -> tuple[Variant, ...]:
    """Read variants by name, each with the fields that it sets by path."""
    if not isinstance(value, Mapping):
        points = tuple(listed(value, "variants"))
        if all(isinstance(point, Variant) for point in points):
            return points
        raise ValueError(f"variants must be a table of names, got {shorten(value)}")
    return tuple(
        Variant(str(name), read_settings(settings, f"variants.{name}"))
        for name, settings in value.items()
    )


def read_target(value: Any) -> Target:
    """A target, from text too."""
    try:
        return value if isinstance(value, Target) else Target.parse(value)
    except ValueError as error:
        raise ValueError(f"targets: {error}") from None


def read_base(value: Any, groups: Groups, points: Sequence[AxisValue | Variant]) -> Frozen:
    """The base case as a table.

    What axes replace is left out. A `Case`, and a network or noise in a table, must hold all values
    even so; of what was written without need, a warning tells.
    """
    if not isinstance(value, (Case, ScheduleCase, Mapping)):
        raise ValueError(f"case must be a Case, a ScheduleCase or a table, got {shorten(value)}")
    whole, given = not isinstance(value, Mapping), value
    if isinstance(value, (Case, ScheduleCase)):
        check_kinds({one.name: getattr(value, one.name) for one in fields(value)}, "case")
        value = value.to_dict()
    else:  # so that axes and variants reach the fields of what is text
        readers = {"algorithm": _read_algorithm, "network": read_network, "noise": read_noises}
        value = {k: readers[k](v) if k in readers else v for k, v in value.items()}
    table = freeze(value, "case")
    unused = covered(table, groups)
    written = [
        path
        for path in unused
        if not whole
        and get_path(table, path) != {}  # makes room in a list, for an axis to fill
        and not any(isinstance(part, Component) for part in _along(value, path))
    ]
    for path in sorted(written):
        warnings.warn(
            f"case: {path!r} is set by an axis or by all variants, too: its value here counts for "
            "nothing",
            BaseReplaced,
            stacklevel=4,
        )
    if whole and table.get("observe") == "completion":
        unused.add("observe")
    return without(table, unused | _usual_of_replaced_kinds(given, points))


def _read_algorithm(value: Any) -> Any:
    """The table of an algorithm given as text, nested ones too; other values are unchanged."""
    table = {"kind": value.strip()} if isinstance(value, str) else value
    if isinstance(table, Mapping) and "inter_node" in table:
        table = {**table, "inter_node": _read_algorithm(table["inter_node"])}
    return table


def _usual_of_replaced_kinds(given: Any, points: Iterable[AxisValue | Variant]) -> set[str]:
    """The usual values of fields that a new kind lacks, of objects whose kind axes or variants set.

    Nobody wrote them.
    """
    found = set()
    for path, kind in (pair for point in points for pair in point.settings.items()):
        owner, _, key = path.rpartition(".")
        part = given
        for step in owner.split("."):
            table = isinstance(part, (Mapping, Sequence))
            part = get_path(part, step) if table else getattr(part, step, None)
        if key == "kind" and isinstance(part, Component) and kind in part.kinds():
            known = {one.name for one in fields(part._kinds[kind])}  # type: ignore[arg-type]
            for one in fields(part):
                value = getattr(part, one.name)
                usual = type(value) is type(one.default) and value == one.default
                if usual and one.name not in known:
                    found.add(f"{owner}.{one.name}")
    return found


def _along(table: Any, path: str) -> Iterator[Any]:
    """Yield what lies on the way to a field."""
    for part in path.split("."):
        if isinstance(table, Mapping):
            table = table[part]
        elif isinstance(table, (list, tuple)):
            table = table[int(part)]
        yield table


def to_table(study: Any, *, run: bool = True) -> dict[str, Any]:
    """A study as a table; without `run`, leaving out how it is run: seed, targets and budget."""
    table: dict[str, Any] = {"name": study.name}
    for key in ("title", "source", "figure", "claims"):
        if getattr(study, key):
            table[key] = getattr(study, key)
    if run:
        table |= {"seed": study.seed}
        table |= {"targets": [str(target) for target in study.targets]} if study.targets else {}
        table |= {"realizations": study.budget.to_dict()}
    table["case"] = study.case
    axes: tuple[Axis, ...] = study.axes
    parts = {
        "axes": {axis.name: axis.to_dict() for axis in axes},
        "variants": {point.label: point.settings for point in study.variants},
        "observables": {name: one.to_dict() for name, one in study.observables.items()},
    }
    return table | {key: value for key, value in parts.items() if value}


def describe(study: Any) -> str:
    """Return a text that equal studies share, whatever their seed, targets and budget."""
    order = [[axis.name for axis in study.axes], [point.label for point in study.variants]]
    return json.dumps([order, to_table(study, run=False)], sort_keys=True, default=dict)


def to_toml(study: Any) -> str:
    """A study as TOML."""
    import tomli_w  # only studies made in Python need it

    return tomli_w.dumps(to_table(study))


_PER_BYTE = ("beta", "gamma", "G", "O")  # of networks: a time for each byte


@lru_cache(maxsize=64)
def axis_unit(study: Study, name: str) -> str:
    """The unit of an axis's values, as `field_unit`."""
    path = next((axis.path for axis in study.axes if axis.name == name), "")
    cells = study.cells() if path else []
    units = (field_unit(variant.case, path) for variant in (cells[0].variants if cells else ()))
    return next(filter(None, units), "")


def field_unit(case: Any, path: str) -> str:
    """The unit of a field of a case: "s" of times, "s/B", "B" of sizes of messages, else ""."""
    *parts, field = path.split(".")
    owner, unit = case, "s"
    for part in parts:
        declared = inspect.getattr_static(type(owner), part, None)
        if isinstance(declared, Drawn):  # so is a parameter of its distribution, such as its mean
            unit = declared.unit
        listed = part.isdigit() and isinstance(owner, (list, tuple)) and int(part) < len(owner)
        owner = owner[int(part)] if listed else getattr(owner, part, None)
        if isinstance(owner, Level):  # whose table has the fields of its network
            owner = owner.network
    declared = inspect.getattr_static(type(owner), field, None)
    if isinstance(declared, (Seconds, OptionalSeconds)):
        return "s/B" if isinstance(owner, Network) and field in _PER_BYTE else unit
    if isinstance(declared, Drawn):
        return declared.unit
    return "B" if isinstance(owner, Case) and field == "message_bytes" else ""


def value_text(value: Any, unit: str) -> str:
    """A value of an axis, a time or a size with its unit: `10 µs`, `4 KiB`, `0.01`, `ring`.

    Examples
    --------
    >>> value_text(1e-5, "s"), value_text(1e-9, "s/B"), value_text(4096, "B"), value_text(0.01, "")
    ('10 µs', '1 ns/B', '4 KiB', '0.01')
    >>> value_text(48000, "")
    '48,000'
    """
    number = is_number(value)
    if unit in ("s", "s/B") and (number or isinstance(value, str)):
        try:
            return show_seconds(parse_seconds(value)) + unit[1:]
        except ValueError:  # a text that is no time
            return str(value)
    if unit == "B" and isinstance(value, int):
        return show_size(value)
    if number and isinstance(value, Integral):
        return f"{value:,}"
    return f"{value:.4g}" if number else str(value)


def shown_labels(study: Study, cell: Cell) -> tuple[str, ...]:
    """The place of a cell on each axis, for people: values with their units, others by their names.

    A value of a derived axis that has a name of its own has its ratio beside it: `0.001 (D / P)`.
    """
    both = zip(cell.labels.items(), cell.coordinates.values(), strict=True)
    rules = {a.name: f" ({a.rule})" for a in study.axes if a.rule and a.rule != a.name}
    return tuple(
        value_text(value, unit) if (unit := axis_unit(study, name)) else label + rules.get(name, "")
        for (name, label), value in both
    )


def find_cell(study: Study, values: Mapping[str, Any]) -> Cell:
    """The only cell at some values of axes; see `Store.cell`."""
    found = list(study.cells())
    axes = [axis.name for axis in study.axes]
    for axis, value in values.items():
        check_choice(axis, "axis", axes)
        labels = labels_of_value(study, axis, value)
        there = [cell for cell in found if cell.labels[axis] in labels]
        if not there:
            known = dict.fromkeys(cell.labels[axis] for cell in found)
            check_choice(label_of(value), axis, list(known))
        found = there
    if len(found) > 1:
        open_axes = [axis for axis in axes if len({cell.labels[axis] for cell in found}) > 1]
        where = f"at {cell_name(dict(values))}" if values else "in the study"
        raise ValueError(f"{len(found):,} cells are {where}: also give {', '.join(open_axes)}")
    return found[0]


def labels_of_value(study: Study, axis: str, value: Any) -> list[str]:
    """The labels on an axis of a value: as studies and tables write it (2^6, 8 MB), or a number.

    Times are in seconds where they are numbers.
    """
    coordinates = {cell.labels[axis]: cell.coordinates[axis] for cell in study.cells()}
    if label_of(value) in coordinates:
        return [label_of(value)]
    path = next((one.path for one in study.axes if one.name == axis), "")
    is_time = axis_unit(study, axis) == "s"

    def number(one: Any) -> Any:
        return parse_seconds(one) if is_time else one

    try:
        given = value
        if isinstance(value, str):
            (given,) = read_values(value, path, axis) if path else (value,)
        given = number(given)
    except ValueError:  # no number, where the axis has numbers; or several
        return []
    return [label for label, one in coordinates.items() if _is_same(number(one), given)]


def _is_same(one: Any, other: Any) -> bool:
    if is_number(one) and is_number(other):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


Groups = dict[str, list[list[str]]]

#: What a study may ask for with `figure`, or `plot`. Other packages add kinds (`extensions`).
FIGURES = ("maps", "curves", "family", "each_cycle", "distribution", "histogram", "tail")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_OBSERVABLE = re.compile(r"[^\W_]([\w ./-]*\w)?")
_LETTERS = "letters, digits, spaces, '_', '.', '-', '/'"
_MAX_LISTED = 12  # names in a message
_RESERVED = (
    "observable", "statistic", "target", "variant", "unit", "value", "estimate", "low", "high",
    "confidence", "realizations", "exact", "met", "complete", "relative_error", "target_error",
    "chosen_T", "seed", "version",
)  # fmt: skip


def check_figure_name(name: Any, field: str = "figure") -> None:
    """Raise ValueError for a kind of figure that is not known."""
    if name not in FIGURES:
        check_choice(name, field, (*FIGURES, *extensions.names(extensions.FIGURES)))


def check_texts(study: Any) -> None:
    """Raise ValueError for a bad name, title, source, figure, claim or axis."""
    for key in ("name", "title", "source", "figure"):
        if not isinstance(getattr(study, key), str):
            raise ValueError(f"{key} must be text, got {shorten(getattr(study, key))}")
    check_name(study.name)
    if study.figure:
        check_figure_name(study.figure)
    for claim in study.claims:
        if not isinstance(claim, str):
            raise ValueError(f"claims must be a list of names, got {shorten(claim)} in it")
    for axis in study.axes:
        if not isinstance(axis, Axis):
            raise ValueError(f"axes must be a list of Axis(...), got {shorten(axis)} in it")


def check_name(name: str) -> None:
    """Raise ValueError for a name of a study that is not one of a file, too."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"name must be letters, digits, '_', '.', '-'; got {shorten(name)}")


def check_names(study: Any) -> None:
    """Raise ValueError for a name that is taken, or ambiguous in results."""
    names = [axis.name for axis in study.axes]
    for axis in study.axes:
        name = axis.name
        if name in _RESERVED:
            field = f", with path = {name!r} if that is the field" if axis.path == name else ""
            raise ValueError(
                f"axes.{name}: tables of results have a column of that name; name the axis "
                f"otherwise{field}"
            )
        if names.count(name) > 1:
            raise ValueError(f"axes.{name} is there twice")
    for variant in study.variants:
        if not variant.label.strip() or variant.label == NOISE_FREE:
            raise ValueError(f"variants: {variant.label!r} can not be the name of one")
    for name in study.observables:
        if not _OBSERVABLE.fullmatch(name):
            raise ValueError(f"observables: a name must be {_LETTERS}; got {shorten(name)}")


def groups_of(study: Any) -> Groups:
    """The paths that each point sets, for every axis and the variants."""
    groups: Groups = {
        f"axes.{axis.name}": [[*point.settings, *axis.by] for point in axis.values]
        for axis in study.axes
    }
    if study.variants:
        groups["variants"] = [list(point.settings) for point in study.variants]
    return groups


def check_paths(study: Any, groups: Groups) -> None:
    """Raise ValueError if a field is set by two groups, since one of the two would be lost."""
    owner: dict[str, str] = {}
    for name, points in groups.items():
        for path in dict.fromkeys(path for point in points for path in point):
            if path.split(".")[0] == "observe":
                raise ValueError(f"{name}: the field 'observe' follows from the observables")
            for other, whose in owner.items():
                nested = path.startswith(f"{other}.") or other.startswith(f"{path}.")
                if (path == other or nested) and whose != name:
                    raise ValueError(f"{name} and {whose} both set the field {path!r}")
            owner.setdefault(path, name)
    for axis in study.axes:
        for variant in study.variants if axis.rule else ():
            for path in variant.settings:
                if rule_reads(axis.rule, axis.by, path):
                    raise ValueError(
                        f"variants.{variant.label} sets {path!r}, from which axes.{axis.name} "
                        f"({axis.rule}) is derived: its values would not hold there"
                    )


def check_marks(study: Any, groups: Groups) -> None:
    """Raise ValueError for one file of marks with several schedules: it names operations of one."""
    marks = {"the case": [study.case.get("marks")]}
    for axis in study.axes:
        marks[f"axes.{axis.name}"] = [point.settings.get("marks") for point in axis.values]
    marks["variants"] = [variant.settings.get("marks") for variant in study.variants]
    for name, points in groups.items():
        fields = [{path.split(".")[0] for path in paths} for paths in points]
        if not any("schedule" in one and "marks" not in one for one in fields):
            continue
        for other, given in marks.items():
            if other != name and not all(one is None or is_pattern(one) for one in given):
                raise ValueError(
                    f"{name} sets the schedule, and {other} has a file of marks, which name "
                    "operations of one schedule: set marks beside each schedule"
                )


def check_budget(study: Any) -> None:
    """Raise ValueError if there is no budget, or the base case is one that a study can not run."""
    if study.budget is None:
        why = ", and targets need one, as they may never be met" if study.targets else ""
        raise ValueError(
            f"the budget is missing{why}: [realizations] with max = ..., in Python "
            "budget = RealizationBudget(max=...)"
        )
    if not isinstance(study.budget, RealizationBudget):
        raise ValueError(
            f"budget must be a RealizationBudget(max=...), got {shorten(study.budget)}"
        )
    observe = study.case.get("observe", "completion")
    if observe in ("rounds", "rank 0"):
        raise ValueError(
            "case: observe must be 'completion', 'spread', 'arrival' or 'own' in a study, got "
            f"{observe!r}"
        )


def covered(base: Mapping[str, Any], groups: Groups) -> set[str]:
    """The plain values of a case that every point of some group replaces."""
    return {
        leaf
        for leaf in leaves(base)
        if any(points and all(_covers(p, leaf) for p in points) for points in groups.values())
    }


def _covers(paths: Iterable[str], leaf: str) -> bool:
    """Return whether one of the paths is a leaf or lies above it."""
    return any(leaf == path or leaf.startswith(f"{path}.") for path in paths)


def check_observables_and_targets(study: Any) -> None:
    """Raise ValueError for an observable that no cell has, or a target that makes no sense."""
    observables: Mapping[str, Observable] = study.observables
    targets: Sequence[Target] = study.targets
    cells: Sequence[Cell] = study._grid.cells
    owner: dict[str, str] = {}  # observables with "each" have several names

    def look(name: str, enough: Callable[[], bool]) -> None:
        for cell in cells:
            for family in observables[name].resolve(name, cell.cases):
                owner[family.name] = name
            if enough():
                return

    for name, observable in observables.items():
        look(name, partial(contains, owner.values(), name))
        if name not in owner.values() and observables != read_observables({}, study):
            raise ValueError(f"observables.{name}: no cell has {why_absent(observable, cells)}")
    for target in targets:
        wanted = target.observable
        for name in observables:  # a name of one that is made by "each" may need a larger cell
            if wanted not in owner and wanted.startswith(f"{name}, "):
                look(name, partial(contains, owner, wanted))
        if wanted not in owner:
            hint = did_you_mean(wanted, owner)
            raise ValueError(
                f"targets: {str(target)!r} is about {wanted!r}, and the observables are "
                f"{_listed(owner)}{hint}"
            )
        observable = observables[owner[wanted]]
        try:
            observable.check_statistic(target.statistic, wanted)
            observable.check_target(wanted)
            _check_unit(target, wanted, observable.unit)
        except ValueError as error:
            raise ValueError(f"targets: {str(target)!r}: {error}") from None
    pairs = [(target.statistic, target.observable) for target in targets]
    for pair in pairs:
        if pairs.count(pair) > 1:
            raise ValueError(f"targets: {pair[0]} of {pair[1]} is there twice")


def _check_unit(target: Target, name: str, unit: str) -> None:
    """Raise ValueError for a width of seconds of what is no time, or without a unit of a time."""
    if target.absolute is None:
        return
    if target.statistic == "win probability":
        name, unit = f"{target.statistic} of {name}", ""
    if target.unit and not unit:
        raise ValueError(f"{name} is not a time, so ± {show_number(target.absolute)} s is no width")
    if unit and not target.unit:
        raise ValueError(
            f"{name} is a time, so the width must have a unit (s, ms, us, ns) or be in %, "
            f"got {show_number(target.absolute)}"
        )


def _listed(names: Iterable[str]) -> str:
    """Return the first names in quotes, and how many there are where that is not all."""
    shown = [repr(name) for name in names]
    more = f", ... ({len(shown)} in all)" if len(shown) > _MAX_LISTED else ""
    return ", ".join(shown[:_MAX_LISTED]) + more


def why_absent(observable: Observable, cells: Sequence[Cell]) -> str:
    """The cause where one field is it, else what was asked for."""
    sides = observable.sides()
    for side, select in sides.items():
        where = f"{side}." if len(sides) > 1 else ""
        if why := _missing(select, cells):
            return f"{where}{why}"
    if isinstance(observable, OfCycles):
        return f"it: {observable.why_none(cells[0].cases)}"
    settings = "; ".join(f"{side}: T = {s.T!r}, cycle = {s.cycle!r}" for side, s in sides.items())
    return f"all of that ({settings}), or {observable.why_none(cells[0].cases)}"


def why_absent_at(observable: Observable, cell: Cell) -> str:
    """The cause in one cell that lacks it."""
    causes = (_missing(select, [cell]) for select in observable.sides().values())
    return next(filter(None, causes), observable.why_none(cell.cases))


def _missing(select: Select, cells: Sequence[Cell]) -> str:
    """Say what none of the cells has; "" where it is not one thing alone."""
    rows = [
        row
        for cell in cells
        for row in cell.cases[select.variant_of(cell.cases, "variant")].completions()
    ]
    most_T, cycles = max(row.T for row in rows), max(row.cycle for row in rows)
    wanted = 1 if select.T == "best" else select.T
    if isinstance(wanted, int) and wanted > most_T:
        asked = f"T = {select.T!r}" + (", which is from 1 on" if select.T == "best" else "")
        if cells[0].of_schedules:
            return f"{asked}: a schedule has T = 0 alone"
        return f"{asked}: algorithm.exchanges_after gives T up to {most_T}"
    if isinstance(select.cycle, int) and select.cycle > cycles:
        if cells[0].of_schedules:
            more = "" if cycles > 1 else "; marks would divide its run"
            return f"cycle = {select.cycle}: the schedule has {counted(cycles, 'cycle')}{more}"
        return f"cycle = {select.cycle}: cycles is up to {cycles}"
    return ""


def read_observables(value: Any, study: Any) -> Frozen:
    """Read observables by name; without any, completion and slowdown of each variant.

    Of a schedule with marks the same of its iterations, too.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"observables must be a table of names, got {shorten(value)}")
    if value:
        return Frozen({str(name): read_observable(name, one) for name, one in value.items()})
    kinds: list[type[Completion | CycleTime]] = [Completion, Slowdown]
    case = study.case
    marks = case.get("marks") if isinstance(case, Mapping) else getattr(case, "marks", None)
    points = [*study.variants, *(point for axis in study.axes for point in axis.values)]
    if marks or any(point.settings.get("marks") for point in points):
        kinds += [CycleTime, CycleSlowdown]
    made: dict[str, Observable] = {}
    for variant in [point.label for point in study.variants] or [""]:
        for kind in kinds:
            name = f"{kind.kind} {variant}".rstrip()
            if not _OBSERVABLE.fullmatch(name):
                raise ValueError(
                    f"variants: where the study has no observables, a name must be {_LETTERS}; "
                    f"got {shorten(variant)}"
                )
            made[name] = kind(variant)
    return Frozen(made)
