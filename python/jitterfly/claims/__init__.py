"""What the papers claim (the model's §5), and what a study found beside it.

A claim is one entry here and one function in the module of its paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import cs14, ms12
from .finding import Finding

if TYPE_CHECKING:
    from ..analysis.results import Results

__all__ = ["CLAIMS", "Claim", "Finding"]


@dataclass(frozen=True)
class Claim:
    """A claim: where it stands, what it says, and how a study's results bear on it.

    `figures` are the kinds of study (`Study.figure`) that can speak to it.
    """

    source: str
    text: str
    figures: tuple[str, ...]
    check: Callable[[Results], list[Finding]]


CLAIMS = {
    "M4": Claim(
        "MS12 Fig. 12",
        "T_comm / D = 1e-2: redundant far better for 2^7 ... 2^14 ranks; its time rises steeply "
        "above 2^14; up to about 10 times faster",
        ("slowdown",),
        ms12.fig12,
    ),
    "M6": Claim(
        "MS12 Fig. 21",
        "D / P = 1e-2, P = 1e-3 s, n = 8 bytes: as Fig. 12, weaker",
        ("slowdown",),
        ms12.fig21,
    ),
    "C1": Claim(
        "CS14 Fig. 8",
        "the overhead of 10 cycles grows strongly with ranks, much of it is recovered",
        ("overhead",),
        cs14.fig8,
    ),
    "C2": Claim(
        "CS14 Fig. 9",
        "the overhead is linear in the number of cycles; the first cycle costs a little more",
        ("cycles",),
        cs14.fig9,
    ),
    "C3": Claim("CS14 abstract", "recovery is about 0.4", ("overhead", "cycles"), cs14.recovery),
}
