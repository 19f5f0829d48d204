"""The form of what was found, and when an interval decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..stats import Estimate

REPRODUCED, DIFFERS, CANNOT_TELL = VERDICTS = ("reproduced", "differs", "cannot tell")


class Finding(NamedTuple):
    """One part of a claim, for the setting `where` ("" if the study has only one).

    `holds` is None where the samples or the wording do not decide it.
    """

    where: str
    holds: bool | None
    text: str

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        return {True: REPRODUCED, False: DIFFERS, None: CANNOT_TELL}[self.holds]


def verdict(findings: Sequence[Finding]) -> str:
    """On a whole claim: it differs if any part does, and is reproduced if every part is."""
    return Finding("", every([found.holds for found in findings]), "").verdict


def every(parts: Sequence[bool | None]) -> bool | None:
    """Whether all parts hold; without any part nothing can be told."""
    if False in parts:
        return False
    return None if None in parts or not parts else True


def above(found: Estimate, limit: float) -> bool | None:
    """Whether a value is larger than a limit, if its interval says so."""
    return True if found.low > limit else False if found.high <= limit else None


def below(found: Estimate, limit: float) -> bool | None:
    """Whether a value is smaller than a limit, if its interval says so."""
    return True if found.high < limit else False if found.low >= limit else None


def between(found: Estimate, low: float, high: float) -> bool | None:
    """Whether a value is from `low` to `high`, if its interval says so."""
    if found.low >= low and found.high <= high:
        return True
    return False if found.high < low or found.low > high else None


def of_independent(top: Estimate, bottom: Estimate) -> Estimate:
    """Ratio of two estimates from different cells, their errors added as if independent.

    Cells that share their noise (common random numbers) tend to err alike, which makes the true
    interval of a ratio narrower. Infinite where one of them can not be told from 0.
    """
    count = min(top.realizations, bottom.realizations)
    if any(e.low <= 0 <= e.high for e in (top, bottom)):
        value = float(top.value) / float(bottom.value) if bottom.value else np.nan
        return Estimate(value, -np.inf, np.inf, top.confidence, count)
    value = float(top.value) / float(bottom.value)
    parts = [float(e.high - e.low) / 2 / float(e.value) for e in (top, bottom)]
    half = abs(value) * float(np.hypot(*parts))
    return Estimate(value, value - half, value + half, top.confidence, count)
