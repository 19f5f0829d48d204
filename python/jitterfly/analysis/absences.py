"""Why some places of a study have no number of some observables."""

from __future__ import annotations

from ..studies.validation import why_absent_at
from .results import Results


def absences(results: Results) -> list[str]:
    """A line for each observable that places lack, and each cause."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for name, observable in results.study.observables.items():
        for spot in results.spots:
            if not any(one.partition(", ")[0] == name for one in spot.families):
                why = why_absent_at(observable, spot.place)
                lacking.setdefault((name.replace("_", " "), why), []).append(spot.place.name)
    return [
        f"No {name} at {places[0]}"
        + (f" and {len(places) - 1} more" if len(places) > 1 else "")
        + f": {why}."
        for (name, why), places in lacking.items()
    ]
