"""Race of algorithms in a cell: decides which are slower, undecided, or the winner (best arm).

A cell is a number of ranks and a message size. Its candidates become cases, which are all
simulated with the same noise.

It is successive elimination with multiple comparisons, that is successive halving in the form that
controls its errors: what is dropped is not the worse half, but what the data tell to be slower than
the best one at hand. At each look, with more realizations than at the one before, statements are
made, each at the one-sided `error` of the question, which is the rate of all divided by how many
there can be in all cells and at all looks (Bonferroni):

- candidate a is slower than b, from paired differences on the same noise, for every two of them;
- the statistic of a is at most u: a candidate that takes longer than u *without* noise is slower,
  and is not simulated at all (`CandidateRuns.never_early`);
- a is at most this many times as slow as b.

So with the question's confidence no candidate that is really the best is dropped anywhere, and
every "slower than b" holds as well, whichever two the data lead us to compare. (Of the first alone
statements about the best would be enough: S. S. Gupta's subset selection.)
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithms.algorithm import Forwarding
from ..case import Case
from ..simulate import DEFAULT_ENGINE, Engine, simulate_checked
from ..steps import ASK, COMPUTE, COPY, FORWARD, MESSAGE, NOBODY_ASKS, OBSERVE
from ..units import TICKS_PER_SECOND, from_ticks
from ..unseen_noise import SourceHits, undersampling_bound, unmet_sources
from ..workload import Poll
from .question import BeyondSample, Floats, Question, Statistic

SAME_PROGRAM = "the same program as {} here"
"""Why a candidate is left out that is another one here, of that name."""
_MAX_COMPARED = 2**14  # messages of a program that is compared rank by rank

Tick = Callable[[int], object]
"""Called with how many realizations more have been simulated."""


@dataclass
class CandidateRuns:
    """A candidate of a cell as a case, and its realizations.

    Attributes
    ----------
    name : str
    case : Case
    noise_free : float
        Completion without noise, seconds; NaN until `find_noise_free`.
    never_early : bool
        Whether noise can not make it end sooner than on a quiet machine (`noise_only_delays`). Such
        a candidate need not be simulated where it is slower without noise than another one with it.
    samples : float64 array, shape (realizations,)
        Completions of the realizations from 0 on, seconds.
    judged_by : int
        Realizations that it was judged by at its last look.
    estimate : float
        Of its statistic, from these; NaN without any.
    dropped : int
        Number of the look at which it was dropped; -1 while it is not.
    slower_than : CandidateRuns or None
        The one that it was told to be slower than at that look.
    ceiling : float or None
        Where it was dropped because it takes longer without noise than another one with it: what
        that one takes at most, as it was known then.
    """

    name: str
    case: Case
    noise_free: float = math.nan
    never_early: bool = False
    samples: Floats = field(default_factory=lambda: np.zeros(0))
    judged_by: int = 0
    estimate: float = math.nan
    dropped: int = -1
    slower_than: CandidateRuns | None = None
    ceiling: float | None = None
    _lacks: dict[int, float] = field(default_factory=dict, repr=False)

    def unmet(self, count: int, half_width: float = 0.0) -> list[SourceHits]:
        """The sources of which `count` realizations expect too few hits to show them in a mean.

        `half_width` of its interval, seconds: those that matter beside it.
        """
        mean = float(self.samples[:count].mean())
        ticks = mean * TICKS_PER_SECOND, half_width * TICKS_PER_SECOND
        return unmet_sources(self.case, *ticks, count)

    def lacks(self, count: int) -> float:
        """Return what the mean of `count` realizations may lack of the `unmet` sources, seconds."""
        if count not in self._lacks:
            self._lacks[count] = undersampling_bound(self.unmet(count))
        return self._lacks[count]

    @property
    def moved(self) -> float:
        """The time by which noise moved the first sample, in seconds.

        If all samples are the same, it is that of each of them.

        0 where that is not known (`has_one_random_source`).
        """
        if not self.case.has_one_random_source:
            return 0.0
        return abs(float(self.samples[0]) - self.noise_free) if len(self.samples) else 0.0

    def find_noise_free(self, poll: Poll | None = None) -> None:
        """Find out how long it takes without noise: minutes, on very many ranks."""
        self.noise_free = float(from_ticks(self.case.loops[-1].noise_free_ticks(poll)[-1]))


def fitting_candidates(
    question: Question, ranks: int, size: int
) -> tuple[list[CandidateRuns], dict[str, str]]:
    """The candidates that fit a cell, and why the others do not, by name; nothing is simulated."""
    fitting: list[CandidateRuns] = []
    left_out: dict[str, str] = {}
    programs: dict[Any, str] = {}
    for candidate in question.chosen():
        if candidate.against_noise and not question.noise and question.candidates is None:
            left_out[candidate.name] = "there is no noise that it could help against"
            continue
        try:
            case = Case(
                ranks=ranks,
                algorithm=candidate.make(ranks, question.network, size),
                network=question.network,
                noise=question.noise,
                message_bytes=size,
                cycles=question.cycles,
                compute_time=question.compute_time,
            )
            program = _program_of(case)
        except ValueError as error:
            left_out[candidate.name] = str(error)
            continue
        if program in programs:
            left_out[candidate.name] = SAME_PROGRAM.format(programs[program])
            continue
        programs[program] = candidate.name
        fitting.append(CandidateRuns(candidate.name, case, never_early=case.noise_only_delays()))
    return fitting, left_out


def _program_of(case: Case) -> tuple[Any, ...]:
    """Return a key that equal programs share: steps, forwards, copies and their questions.

    Of equal programs all realizations are the same.
    """
    compiled = case.compiled_steps
    steps = compiled.steps
    forward = compiled.forward if any(step.kind == FORWARD for step in steps) else 0
    copied = [step.round + 1 for step in steps if step.flags & COPY]  # to mirrors below 2^level
    masks = [mask for mask in compiled.mirrors if mask < 1 << max(copied, default=0)]
    asks = any(step.flags & ASK for step in steps)
    asking = compiled.asking if asks else NOBODY_ASKS
    return tuple(_acts(case)), forward, tuple(masks), asking


def _acts(case: Case) -> Sequence[Any]:
    """Return what each rank sends, receives and combines in its order, with which draws.

    The steps as they are where there are other ones than messages, or too many of these (only on
    few ranks are different steps the same program), or where those of a step share links.
    """
    steps, ranks = case.compiled_steps.steps, case.ranks
    messages = [(step, step.partners) for step in steps if step.partners is not None]
    count = sum(partners.count(ranks) * step.repeat for step, partners in messages)
    others = any(
        step.kind not in (COMPUTE, OBSERVE, MESSAGE) or step.switch is not None for step in steps
    )
    if others or count > _MAX_COMPARED or case.is_routed:
        return steps
    acts: dict[int, list[Any]] = {}
    for step, partners in messages:
        messages_of_step = list(zip(partners.pairs(ranks), step.sizes(ranks).tolist(), strict=True))
        for turn in range(step.repeat):
            what = step.round + turn, step.combine, step.occupies
            for end, acting in enumerate((step.sends, step.receives)):
                for pair, size in messages_of_step if acting else ():
                    acts.setdefault(pair[end], []).append((end, pair, size, *what))
    return sorted((rank, tuple(own)) for rank, own in acts.items())


def simulate_more(
    group: Sequence[CandidateRuns],
    count: int,
    seed: int,
    engine: Engine = DEFAULT_ENGINE,
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Give a group (of `sharing_simulations`) `count` realizations; how many were simulated."""
    short = [candidate for candidate in group if len(candidate.samples) < count]
    if not short:
        return 0
    first = min(len(candidate.samples) for candidate in short)
    widest = max(group, key=lambda candidate: _exchanges_after(candidate.case)).case.loops[-1]
    result = simulate_checked(widest, count - first, seed, engine, progress, first)
    columns = {row.T: i for i, row in enumerate(widest.completions())}
    for candidate in short:
        ticks = result.ticks[
            len(candidate.samples) - first :, columns[_exchanges_after(candidate.case)]
        ]
        candidate.samples = np.concatenate([candidate.samples, from_ticks(ticks)])
    return count - first


def sharing_simulations(candidates: Sequence[CandidateRuns]) -> list[list[CandidateRuns]]:
    """Candidates that one simulation serves: they differ in the number of forwards alone."""
    made: dict[Any, list[CandidateRuns]] = {}
    for candidate in sorted(
        candidates, key=lambda candidate: _exchanges_after(candidate.case) == 0
    ):
        algorithm = candidate.case.algorithm
        key: Any = id(candidate)
        # With several cycles the forwards of one delay the next.
        if candidate.case.cycles == 1 and isinstance(algorithm, Forwarding):
            plain = dataclasses.replace(algorithm, exchanges_after=0, forward_cost=0.0)
            key = plain, algorithm.forward_ticks()
            if _exchanges_after(candidate.case) == 0:  # whatever a forward costs
                key = next((k for k in made if isinstance(k, tuple) and k[0] == plain), key)
        made.setdefault(key, []).append(candidate)
    return list(made.values())


def _exchanges_after(case: Case) -> int:
    return case.completions()[-1].T


class Race:
    """A cell on its way to a decision: first `prepare`, then `look_at`.

    Attributes
    ----------
    ranks, message_bytes : int
    candidates : list of CandidateRuns
    left_out : dict
        Why a candidate does not fit, by name.
    ready : bool
        Whether it is prepared.
    exact : bool
        Whether noise-free times are all there is to know.
    look : int
        Number of the last look; -1 before the first.
    sizes : list of int
        Realizations of each look.
    ceiling : float
        What the best one takes at most, in seconds: the lowest bound of any look. By it candidates
        were dropped, so that it is below what each of them takes.
    """

    def __init__(self, question: Question, ranks: int, message_bytes: int):
        self.ranks, self.message_bytes = ranks, message_bytes
        self.statistic = Statistic.named(question.statistic)
        self.error = question.error()
        self.within = question.within
        self.seed = question.seed
        self.sizes = question.looks()
        self.candidates: list[CandidateRuns] = []
        self.left_out: dict[str, str] = {}
        self.ready = self.exact = False
        self.look = -1
        self._question = question
        self.ceiling = math.inf
        self._lowest: CandidateRuns | None = None  # whose bound that is

    def prepare(self, poll: Poll | None = None) -> None:
        """Find the candidates that fit, and how long each takes without noise.

        An exception from `poll`, or Ctrl-C, leaves those times that are known by then.
        """
        question = self._question
        self.candidates, self.left_out = fitting_candidates(
            question, self.ranks, self.message_bytes
        )
        for candidate in self.candidates:
            candidate.find_noise_free(poll)
        self.exact = not any(
            one.case.is_delayed_by(noise) for one in self.candidates for noise in question.noise
        )
        self.ready = True

    @property
    def left(self) -> list[CandidateRuns]:
        """The candidates that are not dropped, the best first."""
        here = [candidate for candidate in self.candidates if candidate.dropped < 0]
        if self.look < 0:
            return sorted(here, key=lambda candidate: candidate.noise_free)
        return sorted(here, key=lambda candidate: (self.value(candidate), candidate.noise_free))

    def value(self, candidate: CandidateRuns) -> float:
        """The estimate of its statistic, from the realizations that it has; NaN without any."""
        return candidate.noise_free if self.exact else candidate.estimate

    @property
    def decided(self) -> bool:
        """Return whether there is nothing left to find out."""
        if self.ready and (not self.candidates or self.exact):
            return True
        if self.look < 0:
            return False
        best, *others = self.left
        return all(self.close(best, other) for other in others)

    def close(self, candidate: CandidateRuns, other: CandidateRuns) -> bool:
        """Return whether `candidate` is shown to be at most `within` slower than `other`."""
        if self.exact:
            return candidate.noise_free <= (1 + self.within) * other.noise_free
        if not self.within:
            return False
        a, b = self.paired(other, candidate)
        beyond = self.beyond(other, candidate)
        return self.statistic.above(a, b, self.error, 1 / (1 + self.within), beyond)

    def paired(self, candidate: CandidateRuns, other: CandidateRuns) -> tuple[Any, Any]:
        """Return the samples of the realizations that both had at their last looks."""
        count = min(candidate.judged_by, other.judged_by)
        return candidate.samples[:count], other.samples[:count]

    def beyond(
        self, candidate: CandidateRuns, other: CandidateRuns | None = None, count: int = 0
    ) -> BeyondSample:
        """Return what the samples of both do not show, as `Statistic` takes it.

        Of the first `count` realizations; 0: of those that both had at their last looks.
        """
        both = [candidate] if other is None else [candidate, other]
        count = count or min(one.judged_by for one in both)
        # A quantile's interval holds whatever was not met.
        of_mean = self.statistic.share is None
        lacks = [one.lacks(count) if of_mean else 0.0 for one in both]
        return BeyondSample(max(one.moved for one in both), *lacks)

    def look_at(self, number: int, count: int, tick: Tick, engine: Engine = DEFAULT_ENGINE) -> None:
        """Take `count` realizations of those left, and drop what is slower.

        An exception from `tick`, or Ctrl-C, leaves the cell as it was after the look before.
        """
        if self.decided:
            return
        racing: list[CandidateRuns] = []
        slow: list[CandidateRuns] = []
        ceiling, lowest = self.ceiling, self._lowest
        groups = sharing_simulations(self.left)
        for group in sorted(groups, key=lambda group: min(one.noise_free for one in group)):
            for candidate in group:
                too_slow = candidate.never_early and candidate.noise_free > ceiling
                (slow if too_slow else racing).append(candidate)
            here = [candidate for candidate in group if candidate in racing]
            if here:
                done = 0

                def report(now: int, _: int) -> None:
                    nonlocal done
                    tick(now - done)
                    done = now

                tick(simulate_more(here, count, self.seed, engine, report) - done)
                for candidate in here:
                    bound = self.statistic.upper(
                        candidate.samples[:count], self.error, self.beyond(candidate, count=count)
                    )
                    if bound < ceiling:
                        ceiling, lowest = bound, candidate
        # Those that were simulated before the ceiling fell.
        slow += [
            candidate
            for candidate in racing
            if candidate.never_early and candidate.noise_free > ceiling
        ]
        racing = [candidate for candidate in racing if candidate not in slow]
        for candidate in racing:
            estimate = self.statistic.estimate(candidate.samples[:count], self.error)
            candidate.judged_by, candidate.estimate = count, float(estimate.value)
        self.look, self.ceiling, self._lowest = number, ceiling, lowest
        for candidate in slow:
            candidate.dropped, candidate.slower_than = number, lowest
            candidate.ceiling = ceiling
        # Of equal ones the first of `left`.
        best = min(racing, key=lambda candidate: (self.value(candidate), candidate.noise_free))
        for candidate in racing:
            if candidate is not best and self.statistic.above(
                candidate.samples[:count], best.samples[:count], self.error,
                beyond=self.beyond(candidate, best, count),
            ):  # fmt: skip
                candidate.dropped, candidate.slower_than = number, best
