"""One cell: candidates are looked at with ever more realizations, and the slower ones dropped.

Successive halving in the form that controls its errors (a race): what is dropped is not the worse
half, but what the data tell to be slower than the best one at hand. At each look, with more
realizations than at the one before, statements are made, each at the one-sided `error` of the
question, which is the rate of all divided by how many there can be in all cells and at all looks
(Bonferroni):

- candidate a is slower than b, from paired differences on the same noise, for every two of them;
- the statistic of a is at most u: a candidate that takes longer than u *without* noise is slower,
  and is not simulated at all (`Candidate.never_early`);
- a is at most so many times as slow as b.

So with the question's confidence no candidate that is really the best is dropped anywhere, and
every "slower than b" holds as well, whichever two the data lead us to compare. (Of the first alone
statements about the best would be enough: S. S. Gupta's subset selection.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..exposure import delays
from ..quiet import Poll
from .entrants import Entrant, entrants, extend, groups
from .question import Question
from .statistic import Statistic

Tick = Callable[[int], object]
"""Called with how many realizations more have been simulated."""


class Race:
    """A cell on its way to a decision: first `prepare`, then `look_at`.

    Attributes
    ----------
    ranks, message_bytes : int
    entrants : list of Entrant
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
    """

    def __init__(self, question: Question, ranks: int, message_bytes: int):
        self.ranks, self.message_bytes = ranks, message_bytes
        self.statistic = Statistic.named(question.statistic)
        self.error = question.error()
        self.within = question.within
        self.seed = question.seed
        self.sizes = question.looks()
        self.entrants: list[Entrant] = []
        self.left_out: dict[str, str] = {}
        self.ready = self.exact = False
        self.look = -1
        self._question = question
        self._ceilings: list[tuple[float, str]] = []  # lowest bound at each look, and whose
        self._seen: dict[str, int] = {}  # realizations at the last look
        self._values: dict[str, float] = {}

    def prepare(self, poll: Poll | None = None) -> None:
        """Find out who fits, and how long each takes without noise.

        An exception from `poll`, or Ctrl-C, leaves those times that are known by then.
        """
        question = self._question
        self.entrants, self.left_out = entrants(question, self.ranks, self.message_bytes)
        for one in self.entrants:
            one.listen(poll)
        self.exact = not question.noise or all(_misses(one, question) for one in self.entrants)
        self.ready = True

    @property
    def left(self) -> list[Entrant]:
        """Those that are not dropped, the best first."""
        here = [one for one in self.entrants if one.dropped < 0]
        if self.look < 0:
            return sorted(here, key=lambda one: one.quiet)
        return sorted(here, key=lambda one: (self.value(one), one.quiet))

    def value(self, one: Entrant) -> float:
        """The estimate of its statistic, from the realizations that it has; NaN without any."""
        return one.quiet if self.exact else self._values.get(one.name, math.nan)

    @property
    def decided(self) -> bool:
        """Whether there is nothing left to find out."""
        if self.ready and (not self.entrants or self.exact):
            return True
        if self.look < 0:
            return False
        best, *others = self.left
        return all(self.close(best, other) for other in others)

    def close(self, one: Entrant, other: Entrant) -> bool:
        """Whether `one` is told to be at most `within` slower than `other`."""
        if self.exact:
            return one.quiet <= (1 + self.within) * other.quiet
        if not self.within:
            return False
        a, b = self.paired(other, one)
        return self.statistic.above(a, b, self.error, 1 / (1 + self.within))

    def paired(self, one: Entrant, other: Entrant) -> tuple[Any, Any]:
        """Their samples of the realizations that both had at their last looks."""
        count = min(self._seen.get(one.name, 0), self._seen.get(other.name, 0))
        return one.samples[:count], other.samples[:count]

    def look_at(self, number: int, count: int, tick: Tick, **engine: Any) -> None:
        """Take `count` realizations of those left, and drop what is slower.

        An exception from `tick`, or Ctrl-C, leaves the cell as it was after the look before.
        """
        if self.decided:
            return
        racing: list[Entrant] = []
        slow: list[Entrant] = []
        ceiling, ceiling_of = self._ceilings[-1] if self._ceilings else (math.inf, "")
        for group in sorted(groups(self.left), key=_quiet_of):
            for one in group:
                (slow if one.never_early and one.quiet > ceiling else racing).append(one)
            here = [one for one in group if one in racing]
            if here:
                done = 0

                def report(now: int, _: int) -> None:
                    nonlocal done
                    tick(now - done)
                    done = now

                tick(extend(here, count, self.seed, report, **engine) - done)
                for one in here:
                    bound = self.statistic.upper(one.samples[:count], self.error)
                    if bound < ceiling:
                        ceiling, ceiling_of = bound, one.name
        # Those that were simulated before the ceiling fell.
        slow += [one for one in racing if one.never_early and one.quiet > ceiling]
        racing = [one for one in racing if one not in slow]
        for one in racing:
            found = self.statistic.estimate(one.samples[:count], self.error)
            self._seen[one.name], self._values[one.name] = count, float(found.value)
        self.look = number
        self._ceilings.append((ceiling, ceiling_of))
        for one in slow:
            one.dropped, one.slower_than, one.unseen = number, ceiling_of, True
        best = min(racing, key=lambda one: (self.value(one), one.quiet))  # the first of `left`
        for one in racing:
            if one is not best and self.statistic.above(
                one.samples[:count], best.samples[:count], self.error
            ):
                one.dropped, one.slower_than = number, best.name

    def realizations(self, one: Entrant) -> int:
        """How many it was judged by."""
        return self._seen.get(one.name, 0)

    def named(self, name: str) -> Entrant:
        """The entrant of a name."""
        return next(one for one in self.entrants if one.name == name)

    def ceiling(self) -> float:
        """What the best one takes at most, in seconds: the lowest bound of any look.

        By this one candidates were dropped, so that it is below what each of them takes.
        """
        return self._ceilings[-1][0] if self._ceilings else math.inf

    def ceiling_at(self, look: int) -> float:
        """The lowest bound that was known at a look, by which candidates were dropped there."""
        return self._ceilings[look][0]


def _quiet_of(group: Sequence[Entrant]) -> float:
    return min(one.quiet for one in group)


def _misses(one: Entrant, question: Question) -> bool:
    """Whether no noise can delay a candidate."""
    return not any(delays(noise, one.case) for noise in question.noise)
