"""Answers to write tuning files of, made by hand: what is known of each cell is given."""

import math

import jitterfly as jf
from jitterfly.advice import Advice, AdviceCell, RankedCandidate
from jitterfly.advice.question import Question
from jitterfly.stats import Estimate

from .advice_cases import MACHINE, NOISE


def estimate(value, low=None, high=None):
    return Estimate(
        value, value if low is None else low, value if high is None else high, 0.95, 1000
    )


def ranked(name, state, ratio=(1.0, 1.0), versus=""):
    """A candidate that takes so many times as long as another one, at least and at most."""
    low, high = ratio
    nothing = estimate(math.nan)
    return RankedCandidate(
        name, state, estimate(2e-6 * low, 1.9e-6, 3e-6), 1e-6, estimate(2.0), versus,
        estimate(math.sqrt(low * high), low, high), estimate(0.0), nothing, 1000, 1, 1000,
    )  # fmt: skip


def answer(cells, collective="allreduce", **fields):
    """Of rankings by ranks and bytes: (outcome, candidates)."""
    question = Question(
        ranks=sorted({ranks for ranks, _ in cells}),
        message_bytes=sorted({size for _, size in cells}),
        collective=collective,
        network=MACHINE,
        noise=NOISE,
        **fields,
    )
    made = tuple(
        AdviceCell(*place, cells[place][0], tuple(cells[place][1]), {}, 1000)
        for place in question.cells
    )
    return Advice(question, made, "decided", 1000, 1.0)


def won_by(name, ranks, sizes, collective="allreduce", other=None):
    """One candidate wins everywhere, against another one of the library."""
    names = [one for one, candidate in jf.advice.known(collective).items() if candidate.called]
    other = other or next(one for one in names if one != name)
    ranking = [ranked(name, "best"), ranked(other, "slower", (1.5, 2.0), name)]
    return answer({(n, m): ("winner", ranking) for n in ranks for m in sizes}, collective)
