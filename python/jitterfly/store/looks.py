"""Where the looks at a place stand, given what its store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..observables import PlaceData
from ..observables.targets import Decision, decide
from ..studies.grid import Place

if TYPE_CHECKING:
    from .store import Store


class _InsideSummary(Exception):
    """A look is at a number of realizations in the middle of a summary, which can not be cut."""


def last_look(store: Store, place: Place, available: int) -> Decision:
    """The decision of the last look for which there are data, out of `available` realizations."""
    records = store.records(place)
    noisy = bool(store.study.targets) and place.noisy  # only targets ask

    def data_at(count: int) -> PlaceData:
        if records.missing(count):
            raise _InsideSummary(count)
        return store.data(place, count)

    while True:
        try:
            found = decide(
                store.study.targets,
                store.families(place),
                data_at,
                available,
                place.least,
                place.limit,
                noisy,
            )
            if not records.missing(found.realizations):
                return found
            count = found.realizations
        except _InsideSummary as inside:
            (count,) = inside.args
        available = records.available(count - 1)
