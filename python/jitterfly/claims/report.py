"""The claims of a study and what was found, as data and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from ..congestion.study import FigurePoint
from ..fields import check_choice
from ..results.results import Results
from ..studies import Study
from . import CLAIMS, Claim, Finding, verdict
from .hsl09 import HSL09

_WIDTH = 100  # letters of a line


class Judged(NamedTuple):
    """A claim, the verdict on the whole, and the findings on its parts."""

    name: str
    claim: Claim
    verdict: str
    findings: list[Finding]


def check_claims(study: Study) -> None:
    """Raise ValueError if a claim is not known, or the study lacks what it speaks of."""
    try:
        for name in study.claims:
            check_choice(name, "claims: each", list(CLAIMS))
            missing = CLAIMS[name].missing(study)
            if missing:
                raise ValueError(f"claims: {name} needs {missing}")
    except ValueError as error:
        raise study.error(str(error)) from None


def judge(results: Results) -> list[Judged]:
    """What was found of each claim of the study; an unfinished run decides nothing."""
    judged = []
    for name in results.study.claims:
        findings = CLAIMS[name].check(results)
        if not all(spot.complete for spot in results.spots):
            findings = [found._replace(holds=None) for found in findings]
        judged.append(Judged(name, CLAIMS[name], verdict(findings), findings))
    return judged


def judge_points(points: Sequence[FigurePoint]) -> list[Judged]:
    """What was found of each claim about networks that points speak to."""
    judged = []
    for name, claim in HSL09.items():
        mine = [point for point in points if point.setting.figure == name]
        if mine:
            findings = claim.check(mine)
            judged.append(Judged(name, claim, verdict(findings), findings))
    return judged


def report(results: Results, width: int = _WIDTH) -> str:
    """Each claim and, below it, what was found; intervals are 95 %. Lines have `width` letters."""
    found = lines(judge(results), width)
    if found and not all(spot.complete for spot in results.spots):
        found.append("The run is not finished, so nothing is decided yet.")
    return "\n".join(found)


def lines(judged: Sequence[Judged], width: int = _WIDTH) -> list[str]:
    """Each claim and, below it, its findings by place."""
    lines = []
    for one in judged:
        head = f"{one.name} ({one.claim.source}): {one.claim.text}: {one.verdict.upper()}."
        lines += _wrapped(head, "    ", width)
        where = ""
        for found in one.findings:
            if found.where != where:
                where = found.where
                lines.append(f"  {where}")
            lines += _wrapped(f"    {found.verdict:12} {found.text}", " " * 17, width)
    return lines


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
