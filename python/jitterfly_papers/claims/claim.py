"""Verdict on a part of a claim: reproduced, differs or cannot tell (undecided), by its interval.

A number holds where its interval is on the right side of a limit, which is the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jitterfly.stats import Estimate

REPRODUCED, DIFFERS, CANNOT_TELL = VERDICTS = ("reproduced", "differs", "cannot tell")

WORDS, NUMBER, AXIS, CLIP, OURS = WHOSE = (
    "the paper's words",
    "the paper's number",
    "the paper's axis",
    "the paper's clip level",
    "ours",
)
"""Whose limit decides a part. Beyond one of ours no part is called different from the paper."""

SAMPLING = "sampling: the interval holds the limit"
OUR_LIMIT = "our limit: the paper gives no number for its word"
UNEXPLAINED = "unexplained: no reading, limit or sampling that we know of accounts for it"
NOT_RUN = "not run: the study has no cell there"
UNFINISHED = "not run: the study is not finished"
EARLIER = "not run: the study is of an earlier version, whose claim was worded otherwise"


class Finding(NamedTuple):
    """A part of a claim, for the setting `where` ("" if the study has only one).

    Attributes
    ----------
    where : str
        The setting: the values on the axes that tell one curve from another.
    part : str
        What the paper says, in its words where they are quoted.
    holds : bool or None
        Whether the interval lies on the claim's side of the limit; None where the samples or the
        wording do not decide it.
    found : str
        What came out, with 95 % intervals.
    limit : str
        What decides: "above 1", "50 to 200". "" where nothing can be compared.
    whose : str
        One of WHOSE; "" where nothing can be compared.
    why : str
        Why it differs or cannot be told, if more is known than the other fields say.
    """

    where: str
    part: str
    holds: bool | None
    found: str
    limit: str = ""
    whose: str = ""
    why: str = ""

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        if self.holds is False and self.whose == OURS:
            return CANNOT_TELL
        return {True: REPRODUCED, False: DIFFERS, None: CANNOT_TELL}[self.holds]

    @property
    def reason(self) -> str:
        """The reason why a part is not reproduced: the wording, a reading, a limit, or sampling;
        else "".
        """
        if self.verdict == REPRODUCED or self.why:
            return "" if self.verdict == REPRODUCED else self.why
        if self.holds is False and self.whose == OURS:
            return OUR_LIMIT
        if self.holds is False:
            return UNEXPLAINED
        return SAMPLING if self.whose else NOT_RUN

    @property
    def limit_text(self) -> str:
        """The limit and whose it is: `above 1 (the paper's words)`."""
        return f"{self.limit} ({self.whose})" if self.whose else self.limit

    @property
    def text(self) -> str:
        """All of the finding but the verdict, for one line."""
        limit = f" Limit: {self.limit_text}." if self.limit_text else ""
        reason = f" Why: {self.reason}." if self.reason else ""
        return f"{self.part}: {self.found}.{limit}{reason}"


def count_verdicts(findings: Sequence[Finding]) -> dict[str, int]:
    """Count the parts with each verdict, in the order of VERDICTS."""
    verdicts = [found.verdict for found in findings]
    return {name: verdicts.count(name) for name in VERDICTS}


def count_by_ours(parts: Iterable[tuple[str, str]]) -> int:
    """Count the parts reproduced by a limit of ours; a part is its verdict and whose limit."""
    return sum(part == (REPRODUCED, OURS) for part in parts)


def whose_limits(reproduced: int, by_ours: int) -> str:
    """Say whose limits show that parts are reproduced; nothing where none is ours.

    Examples
    --------
    >>> whose_limits(5, 2)
    " (3 by the paper's own limits, 2 by ours)"
    """
    if not by_ours:
        return ""
    return f" ({reproduced - by_ours} by the paper's own limits, {by_ours} by ours)"


def show_counts(counts: Mapping[str, int], by_ours: int = 0) -> str:
    """The counts of verdicts as text: `3 of 5 parts reproduced, 1 differs, 1 cannot tell`.

    Those that are reproduced by a limit of ours are told apart from the others.
    """
    total = sum(counts.values())
    words = {DIFFERS: "differs" if counts[DIFFERS] == 1 else "differ", CANNOT_TELL: CANNOT_TELL}
    others = "".join(f", {counts[name]} {word}" for name, word in words.items() if counts[name])
    parts = "part" if total == 1 else "parts"
    whose = whose_limits(counts[REPRODUCED], by_ours)
    return f"{counts[REPRODUCED]} of {total} {parts} {REPRODUCED}{whose}{others}"


def every(parts: Sequence[bool | None]) -> bool | None:
    """Return whether all parts hold; None where that is open, as it is without any part."""
    if False in parts:
        return False
    return None if None in parts or not parts else True


def above(found: Estimate, limit: float) -> bool | None:
    """Return whether a value is larger than a limit, if its interval says so."""
    return True if found.low > limit else False if found.high <= limit else None


def below(found: Estimate, limit: float) -> bool | None:
    """Return whether a value is smaller than a limit, if its interval says so."""
    return True if found.high < limit else False if found.low >= limit else None


def up_to(found: Estimate, limit: float) -> bool | None:
    """Return whether a value is at most a limit, if its interval says so."""
    return True if found.high <= limit else below(found, limit)


def exceeds(one: Estimate, other: Estimate) -> bool | None:
    """Return whether a value is larger than another, if their intervals do not meet."""
    if one.low > other.high:
        return True
    return False if one.high < other.low else None


def between(found: Estimate, low: float, high: float) -> bool | None:
    """Return whether a value is from `low` to `high`, if its interval says so."""
    if found.low >= low and found.high <= high:
        return True
    return False if found.high < low or found.low > high else None


def of_independent(top: Estimate, bottom: Estimate) -> Estimate:
    """The ratio of two estimates from different cells, their errors added as if independent.

    Cells that share their noise (common random numbers) tend to err alike, which makes the true
    interval of a ratio narrower. Infinite where one of them can not be told from 0.
    """
    count = min(top.realizations, bottom.realizations)
    if any(e.low <= 0 <= e.high for e in (top, bottom)):
        value = float(top.value) / float(bottom.value) if bottom.value else np.nan
        return Estimate(value, -np.inf, np.inf, top.confidence, count)
    value = float(top.value) / float(bottom.value)
    above, below = (
        float(max(e.high - e.value, e.value - e.low)) / float(e.value) for e in (top, bottom)
    )
    half = abs(value) * float(np.hypot(above, below))
    return Estimate(value, value - half, value + half, top.confidence, count)


if TYPE_CHECKING:
    from jitterfly.studies import Study


@dataclass(frozen=True)
class Claim:
    """A claim: where it stands, what it says, and how a study's results bear on it.

    Of a claim about networks, `check` takes points of `congestion.hsl09_settings` instead
    (`of_study` is False), and there are neither observables nor axes.

    `needs` are the kinds of observables that a study must have, how many of each; `axes` the axes;
    `cycles`, of how many cycles at least, where the overhead after each of them is needed.
    """

    source: str
    text: str
    needs: tuple[str, ...]
    axes: tuple[str, ...]
    check: Callable[[Any], list[Finding]]
    cycles: int = 0
    of_study: bool = True

    def missing(self, study: Study) -> str:
        """Say what a study lacks to speak to the claim, or nothing."""
        if not self.of_study:
            return "placements in a network, not a study: see `jitterfly network study`"
        kinds = [observable.kind for observable in study.observables.values()]
        for kind in self.needs:
            count = self.needs.count(kind)
            if kinds.count(kind) < count:
                return f"{count} observable{'s' * (count > 1)} of kind {kind!r}"
        names = [axis.name for axis in study.axes] + [axis.rule for axis in study.axes]
        lacking = [axis for axis in self.axes if axis not in names]
        if lacking:
            return f"an axis {lacking[0]!r}"
        return self._missing_cycles(study) if self.cycles else ""

    def _missing_cycles(self, study: Study) -> str:
        overheads = [one for one in study.observables.values() if one.kind == "overhead"]
        if any(one.cycle != "each" for one in overheads):
            return 'overheads with cycle = "each"'
        cases = (case for cell in study.cells() for case in cell.cases.values())
        few = min(case.cycles for case in cases) < self.cycles
        return f"cases of at least {self.cycles} cycles" if few else ""
