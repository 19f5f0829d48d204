"""Claims of the papers that are reproduced, judged by results of studies; where to add a new one.

A new one is a function in the module of its paper, an entry in `registry`, and its name in a study.
"""

from .claim import (
    AXIS,
    CANNOT_TELL,
    CLIP,
    DIFFERS,
    NUMBER,
    OURS,
    REPRODUCED,
    VERDICTS,
    WHOSE,
    WORDS,
    Claim,
    Finding,
    count_by_ours,
    count_verdicts,
    show_counts,
    whose_limits,
)
from .registry import CLAIMS, Judged, check_claims, judge, judge_points, report

__all__ = [
    "AXIS", "CANNOT_TELL", "CLAIMS", "CLIP", "DIFFERS", "NUMBER", "OURS", "REPRODUCED", "VERDICTS",
    "WHOSE", "WORDS", "Claim", "Finding", "Judged", "check_claims",
    "count_by_ours", "count_verdicts", "judge", "judge_points", "report", "show_counts",
    "whose_limits",
]  # fmt: skip
