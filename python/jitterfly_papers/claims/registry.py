"""Registry `CLAIMS` of all claims of papers; a study's verdicts as data and text.

A claim is one entry in CLAIMS and one function in the module of its paper (HSL09's entries are
there, too: they are not about studies but about networks).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from jitterfly.fields import check_choice
from jitterfly.results import Results
from jitterfly.studies import Study

from ..hsl09_settings import FigurePoint
from . import cs14, hm18, ms12
from .claim import (
    EARLIER,
    REPRODUCED,
    UNFINISHED,
    Claim,
    Finding,
    count_by_ours,
    count_verdicts,
    show_counts,
)
from .hsl09 import HSL09

_WIDTH = 100  # letters of a line

_SCHEMES = ("slowdown", "slowdown", "gain")
_CYCLES = ("overhead", "overhead", "recovery")

CLAIMS = {
    "M1": Claim(
        "MS12 Fig. 5",
        "P = 1e-3 s, D = 1e-5 s, alpha = 1e-6 s: the slowdown of the butterfly is small while "
        "T_comm > D, large below",
        ("slowdown",),
        ("ranks", "T_comm / D"),
        ms12.fig05,
    ),
    "M2": Claim(
        "MS12 Figs. 6, 7",
        "in the same setting the gain follows the slowdown; the optimal T grows with ranks",
        ("slowdown", "gain", "optimal_T"),
        ("ranks", "T_comm / D"),
        ms12.fig06,
    ),
    "M3": Claim(
        "MS12 Figs. 8-11",
        "P = 1e-2 s, D = 1e-4 s, alpha = 1e-7 s: slowdown up to about 100, on an axis to 120, at "
        "the short-message, many-rank corner; gain large for T_comm < D/10 and ranks > 2^8, "
        "largest for 2^10 ... 2^14 and T_comm < D/100; for messages shorter than the jitter, "
        "shorter ones tend to need fewer redundant exchanges",
        ("slowdown", "gain", "optimal_T"),
        ("ranks", "T_comm / D"),
        ms12.fig08,
    ),
    "M4": Claim(
        "MS12 Fig. 12",
        "T_comm / D = 1e-2: redundant far better for 2^7 ... 2^14 ranks; its time rises steeply "
        "above 2^14",
        _SCHEMES,
        ("ranks",),
        ms12.fig12,
    ),
    "M5": Claim(
        "MS12 Figs. 13-20",
        "alpha = 1e-6 s, n = 8 bytes, P = 1e-3 s and 1e-2 s: slowdown small for D < P/100, large "
        "above; gain large there for 2^7 ... 2^14 ranks. Axes to 12 and 80, clipped at 3 and 5",
        ("slowdown", "gain"),
        ("ranks", "D / P"),
        ms12.fig13,
    ),
    "M6": Claim(
        "MS12 Fig. 21",
        "D / P = 1e-2, n = 8 bytes: as Fig. 12, far better for 2^7 ... 2^14 ranks, steep above",
        _SCHEMES,
        ("ranks",),
        ms12.fig12,
    ),
    "M7": Claim(
        "MS12 section 4.2B",
        "from Fig. 5 to Fig. 8, a tenth of alpha, the slowdown grows about 10 times",
        ("slowdown",),
        ("ranks", "figure"),
        ms12.fig05_and_08,
    ),
    "M8": Claim(
        "MS12 abstract",
        "redundant up to about 10 times faster in all simulated conditions; conventional suffers "
        "from 2^7 ranks on, redundant from 2^15",
        ("slowdown", "gain"),
        ("ranks",),
        ms12.all_conditions,
    ),
    "C1": Claim(
        "CS14 Fig. 8",
        "the overhead of 10 cycles grows strongly with ranks, much of it is recovered",
        _CYCLES,
        ("ranks",),
        cs14.fig8,
    ),
    "C2": Claim(
        "CS14 Fig. 9",
        "the overhead is linear in the number of cycles; the first cycle costs a little more",
        _CYCLES,
        ("ranks",),
        cs14.fig9,
        cycles=4,  # a line through the second and the third alone misses neither
    ),
    "C3": Claim("CS14 abstract", "recovery is about 0.4", ("recovery",), ("ranks",), cs14.recovery),
    "H1": Claim(
        "HM18 Fig. 4",
        "3.45 µs a step, 14 µs more with probability p: p = 0 is log2(N) L; a small p already "
        "costs much",
        ("completion",),
        ("ranks", "probability"),
        hm18.fig4,
    ),
    "H2": Claim(
        "HM18, table of 4096 nodes",
        "barrier / 16-byte allreduce: estimate 105 / 160 µs, baseline 671 / 485 µs, optimized "
        "94 / 145 µs; a measured number counts as reproduced if some p of the model gives it",
        ("completion",),
        ("probability",),
        hm18.table,
    ),
    "H3": Claim(
        "HM18 Fig. 3",
        "24 nodes, 100,000 barriers at 1.4 GHz: mean 29,621, min 19,670, max 2,474,458 cycles; "
        "4096 nodes: 671 µs",
        ("completion",),
        ("ranks", "sources"),  # version 0.1 named H3 in the study of Fig. 4, which has one source
        hm18.fig3,
    ),
    **HSL09,
}


class Judged(NamedTuple):
    """A claim and what was found of each of its parts."""

    name: str
    claim: Claim
    findings: list[Finding]

    @property
    def counts(self) -> dict[str, int]:
        """The number of parts with each verdict."""
        return count_verdicts(self.findings)

    @property
    def by_ours(self) -> int:
        """The number of parts reproduced by a limit of ours."""
        return count_by_ours((found.verdict, found.whose) for found in self.findings)

    @property
    def reproduced_by(self) -> dict[str, int]:
        """The number of parts reproduced by a limit of the paper's own, and by one of ours."""
        return {"paper": self.counts[REPRODUCED] - self.by_ours, "ours": self.by_ours}

    @property
    def counted(self) -> str:
        """The counts as text, those by a limit of ours told apart."""
        return show_counts(self.counts, self.by_ours)


def check_claims(study: Study, *, stored: bool = False) -> None:
    """Raise ValueError if a claim is not known, or the study lacks what it speaks of.

    A `stored` study may lack it: an earlier version ran it for an earlier wording, and `judge` says
    what it lacks.
    """
    try:
        for name in study.claims:
            check_choice(name, "claims: each", list(CLAIMS))
            missing = CLAIMS[name].missing(study)
            if missing and not stored:
                raise ValueError(f"claims: {name} needs {missing}")
    except ValueError as error:
        raise study.error(str(error)) from None


def judge(results: Results) -> list[Judged]:
    """Judge each claim of the study; an unfinished run decides nothing."""
    judged = []
    for name in results.study.claims:
        missing = CLAIMS[name].missing(results.study)
        if missing:  # a run of an earlier version, whose study was for an earlier wording
            lacks = f"the study lacks {missing}"
            findings = [Finding("", "as it is worded now", None, lacks, why=EARLIER)]
        else:
            findings = CLAIMS[name].check(results)
        if not all(cell.complete for cell in results.cells):
            findings = [found._replace(holds=None, why=UNFINISHED) for found in findings]
        judged.append(Judged(name, CLAIMS[name], findings))
    return judged


def judge_points(points: Sequence[FigurePoint]) -> list[Judged]:
    """Judge each claim about networks that points speak to."""
    judged = []
    for name, claim in HSL09.items():
        mine = [point for point in points if point.setting.figure == name]
        if mine:
            judged.append(Judged(name, claim, claim.check(mine)))
    return judged


def report(results: Results, width: int = _WIDTH) -> str:
    """Each claim and, below it, what was found; intervals are 95 %. Lines have `width` letters."""
    found = lines(judge(results), width)
    if found and not all(cell.complete for cell in results.cells):
        found.append("The run is not finished, so nothing is decided yet.")
    return "\n".join(found)


def lines(judged: Sequence[Judged], width: int = _WIDTH) -> list[str]:
    """Each claim and, below it, its findings by cell."""
    lines = []
    for one in judged:
        head = f"{one.name} ({one.claim.source}): {one.claim.text}: {one.counted}."
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
