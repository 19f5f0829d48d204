"""The claims of a study and what was found, as text."""

from __future__ import annotations

import textwrap

from ..analysis.results import Results
from ..fields import check_choice
from ..studies.study import Study
from . import CLAIMS


def check_claims(study: Study) -> None:
    """Raise ValueError if a claim is not known, or is about another kind of study."""
    try:
        for name in study.claims:
            check_choice(name, "claims: each", list(CLAIMS))
            figures = CLAIMS[name].figures
            if study.figure not in figures:
                kinds = " or ".join(figures)
                raise ValueError(f"claims: {name} is about figure {kinds}, not {study.figure!r}")
    except ValueError as error:
        raise study.error(str(error)) from None


def report(results: Results) -> str:
    """Each claim and, below it, what was found; intervals are 95 %."""
    lines = []
    for name in results.study.claims:
        claim = CLAIMS[name]
        lines += _wrapped(f"{name} ({claim.source}): {claim.text}.", "    ")
        where = ""
        for found in claim.check(results):
            if found.where != where:
                where = found.where
                lines.append(f"  {where}")
            lines += _wrapped(f"    {found.verdict:14} {found.text}", " " * 19)
    return "\n".join(lines)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 100, subsequent_indent=indent, break_on_hyphens=False) or [""]
