"""The judge of claims that `jitterfly run` asks: verdicts of a study's claims, as data and text."""

from __future__ import annotations

from typing import Any

from jitterfly.results import Results
from jitterfly.studies import Study

from . import registry
from .registry import report as report


def check(study: Study, *, stored: bool = False) -> None:
    """Raise ValueError for a claim that is not known, or whose needs the study lacks."""
    registry.check_claims(study, stored=stored)


def judge(results: Results) -> list[dict[str, Any]]:
    """The verdicts of a study's claims as plain values."""
    return [
        {
            "name": one.name,
            "source": one.claim.source,
            "text": one.claim.text,
            "counts": one.counts,
            "reproduced_by": one.reproduced_by,
            "parts": [
                part._asdict() | {"verdict": part.verdict, "why": part.reason}
                for part in one.findings
            ],
        }
        for one in registry.judge(results)
    ]
