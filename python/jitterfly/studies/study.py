"""A study: a base case, axes over its fields, what is observed, how precisely, and the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..case import Case
from ..fields import MOST_SEED
from ..noise.files import current_folders, files_from
from ..observables.measure import Family, Measure
from ..observables.observable import Observable
from ..observables.targets import Target
from ..syntax import read_count
from . import check
from .axes import Axis
from .budget import Budget
from .casetable import Frozen
from .place import STREAM_VERSION, Cell, Place, build_places
from .points import Point, listed
from .schema import (
    describe,
    read_base,
    read_observables,
    read_target,
    read_variants,
    to_toml,
)
from .wishes import check_wishes

__all__ = ["STREAM_VERSION", "Budget", "Cell", "Place", "Study"]


@dataclass(frozen=True)
class Study:
    """Many cases, what is observed of them, and how precisely.

    Everything is checked when it is made: each case, observable and target.

    Parameters
    ----------
    name : str
        Letters, digits, ``_``, ``.``, ``-``.
    case : Case or table
        The base case; as a table it may lack what the axes set.
    axes : list of Axis
        The places of the study are their product.
    variants : table of name = {path = value, ...}
        Cases that are compared at each place, on the same noise.
    observables : table of name = Observable
        Where there are none: completion and slowdown of each variant.
    targets : list of Target or str
        Such as "mean of gain ± 1 % at 95 %". A place runs until all are met, or the budget ends.
    budget : Budget
    title, source, figure, claims
        Texts for the picture, and names of what the source says about it.
    seed : int
        Of all noise.
    made
        What follows from the rest: leave it out.

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
    ...     variants={"conventional": {}, "redundant": {"algorithm.within": "all"}},
    ...     observables={"gain": Gain(of="redundant", over="conventional")},
    ...     targets=["mean of gain ± 1 %"],
    ...     budget=Budget(max=100_000),
    ... )
    >>> study.places()[1].name, study.places()[1].coordinates["D"]
    ('ranks=16, D=10us', 1e-05)
    """

    name: str
    _: KW_ONLY
    case: Case | Mapping[str, Any]
    axes: Sequence[Axis] = ()
    variants: Mapping[str, Mapping[str, Any]] | Sequence[Point] = ()
    observables: Mapping[str, Observable] = field(default_factory=Frozen)
    targets: Sequence[Target | str] = ()
    budget: Budget = None  # type: ignore[assignment]
    title: str = ""
    source: str = ""
    figure: str = ""
    claims: Sequence[str] = ()
    seed: int = 0
    made: Made | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        for name in ("axes", "targets", "claims"):
            put(name, tuple(listed(getattr(self, name), name)))
        put("seed", read_count(self.seed, "seed", 0, MOST_SEED))
        check.check_texts(self)
        put("variants", read_variants(self.variants))
        put("observables", read_observables(self.observables, self.variants))
        put("targets", tuple(map(read_target, self.targets)))
        check.check_names(self)
        groups = check.groups_of(self)
        check.check_paths(self, groups)
        put("case", read_base(self.case, groups))
        check.check_budget(self)
        # The same description with another seed or budget is quick.
        description = describe(self)
        if self.made is None or self.made.description != description:
            folders = self.made.folders if self.made else current_folders()
            with files_from(*folders):
                put("made", Made(description, build_places(self), folders=folders))
        check_wishes(self)

    @property
    def text(self) -> str:
        """The file that it was read from, word for word, else TOML that describes it."""
        return self._made.text or self.to_toml()

    @property
    def full(self) -> bool:
        """Whether the table [full] of that file was applied."""
        return self._made.full

    @property
    def where(self) -> str:
        """What it is called in errors: its file."""
        return self._made.where or f"study {self.name}"

    @property
    def _made(self) -> Made:
        assert self.made is not None  # by the constructor
        return self.made

    def __hash__(self) -> int:
        return hash((self._made.description, self.seed, self.budget, self.targets))

    def error(self, what: str) -> ValueError:
        """An error in this study, with the name of its file."""
        return ValueError(f"{self.where}: {what}")

    def to_toml(self) -> str:
        """TOML that `parse_study` reads as the same study."""
        return to_toml(self)

    def places(self) -> list[Place]:
        """Every place, in the order of the axes."""
        return list(self._places)

    @cached_property
    def _places(self) -> tuple[Place, ...]:
        return tuple(self._budgeted(place) for place in self._made.places)

    def _budgeted(self, place: Place) -> Place:
        limit = self.budget.realizations(place.cost)
        least = min(self.budget.min, limit) if self.targets else limit
        raw = self.budget.raw_bytes // (8 * len(place.columns))
        return replace(place, least=least, limit=limit, raw_limit=raw)

    def families(self, place: Place) -> dict[str, Family]:
        """Every observable at a place by name; those that it lacks are left out."""
        if place.index not in self._families:
            self._families[place.index] = {
                family.name: family
                for name, observable in self.observables.items()
                for family in observable.resolve(name, place.cases)
            }
        return self._families[place.index]

    @cached_property
    def _families(self) -> dict[int, dict[str, Family]]:
        return {}

    def measures(self, place: Place) -> tuple[Measure, ...]:
        """All that is measured at a place, each measure once."""
        found = {m.key: m for family in self.families(place).values() for m in family.members}
        return tuple(found.values())


@dataclass(frozen=True)
class Made:
    """What follows from a study's description, and the file that it was read from."""

    description: str
    places: tuple[Place, ...]
    text: str = ""
    full: bool = False
    where: str = ""
    folders: tuple[Path, Path | None] = (Path(), None)  # of the files that noise is read from
