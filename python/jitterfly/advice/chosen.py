"""Which candidates a question means: those it names, and the user's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..algorithms import Algorithm
from ..fields import check_choice, shorten
from .candidates import Candidate, known


def choose(collective: str, names: Iterable[str] | None, own: Mapping[str, Any]) -> list[Candidate]:
    """The candidates that are meant: those named (else the usual ones) and the user's own.

    Parameters
    ----------
    collective : str
    names : list of str, optional
        Of the collective, or of `own`; where some of `own` are named, the others are left out.
    own : mapping
        By name, an `Algorithm` or its table, such as ``{"kind": "butterfly", "after": 3}``.

    Raises
    ------
    ValueError
        An unknown name or one given twice, a bad table, or none at all.
    """
    there = known(collective)
    if isinstance(names, (str, bytes)):
        raise ValueError(f"candidates must be a list of names, got {shorten(names)}")
    if not isinstance(own, Mapping):
        raise ValueError(f"own must be a table of names and algorithms, got {shorten(own)}")
    mine = {str(name): _own(str(name), value) for name, value in own.items()}
    if names is None:
        chosen = [one for one in there.values() if one.usual]
    else:
        every = mine | there
        chosen = [every[check_choice(name, "candidates", list(every))] for name in names]
    own_ones = list(mine.values())
    if not any(one in own_ones for one in chosen):
        chosen += own_ones
    found = [one.name for one in chosen]
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise ValueError(f"candidates must differ, {twice[0]!r} is given twice")
    if not found:
        raise ValueError(f"candidates must name at least one; {collective} has {', '.join(there)}")
    return chosen


def _own(name: str, value: Any) -> Candidate:
    if not isinstance(value, Algorithm):
        value = Algorithm.from_dict(value, f"own.{name}")
    return Candidate(name, lambda ranks, network, size: value)
