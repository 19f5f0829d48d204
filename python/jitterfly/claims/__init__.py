"""The claims of the papers, each judged by what a study found."""

from .claim import CANNOT_TELL, DIFFERS, REPRODUCED, VERDICTS, Claim, Finding, verdict
from .verdicts import CLAIMS, Judged, check_claims, judge, judge_points, report

__all__ = [
    "CANNOT_TELL", "CLAIMS", "DIFFERS", "REPRODUCED", "VERDICTS", "Claim", "Finding", "Judged",
    "check_claims", "judge", "judge_points", "report", "verdict",
]  # fmt: skip
