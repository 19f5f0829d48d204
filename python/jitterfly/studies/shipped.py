"""The studies that come with the package: those of the papers, and examples with their data."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..fields import did_you_mean
from ..files import read_text
from .toml import holds_study, read_toml

EXAMPLES = "examples"
_PACKAGE = Path(__file__).parents[1]


class Shipped(NamedTuple):
    """A study that comes with the package: its file, and what it shows."""

    path: Path
    title: str


def folder() -> Path:
    """Where the studies are: in the package, or in the checkout that the package is used from.

    Raises:
        FileNotFoundError: in neither.
    """
    places = _PACKAGE / "sweeps", _PACKAGE.parents[1] / "sweeps"
    for place in places:
        if any(place.glob("*.toml")):
            return place
    raise FileNotFoundError(f"no studies in {' or '.join(map(str, places))}; install jitterfly")


def shipped() -> dict[str, Shipped]:
    """All of them by name: the examples first."""
    place = folder()
    paths = [*sorted((place / EXAMPLES).glob("*.toml")), *sorted(place.glob("*.toml"))]
    return {
        path.stem: Shipped(path, str(read_toml(read_text(path)).get("title", "")))
        for path in paths
        if holds_study(path)  # and not a question for `advise`
    }


def find_study(name: str | Path) -> Path:
    """The file of a study: a file, also without its ending .toml; else one that is shipped.

    Raises:
        ValueError: neither there is; the message has the names of those that are shipped.
    """
    path = Path(name)
    is_name = len(path.parts) == 1 and path.suffix in ("", ".toml")
    if not is_name or (path.exists() and not path.is_dir()):
        return path  # who reads it says what is wrong with it
    local = path.with_suffix(".toml")
    if local.is_file():
        return local
    there = shipped()
    if path.stem in there:
        return there[path.stem].path
    if path.is_dir():
        return path
    raise ValueError(
        f"{path}: No such file, and no study of that name comes with jitterfly"
        f"{did_you_mean(path.stem, list(there))}; those that do are {', '.join(there)}"
    )
