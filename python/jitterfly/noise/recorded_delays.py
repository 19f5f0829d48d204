"""Sampling error of a recording: how many of its detours decide a mean or a quantile of the ranks.

A realization lets each of N ranks begin at a place of the recording, and is as late as the most
delayed of them. So what it takes depends on how often the recording delays a rank by more than x,
where that probability is about 1 / N: on few detours, where N is large. A machine's own probability
there is that of the recording times a factor r, of which the recording tells ln r with a standard
deviation s alone, about the inverse root of the number of detours that decide (`events`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..stats import ENOUGH_EVENTS
from ..stats.intervals import student_t
from ..units import TICKS_PER_SECOND

Floats = npt.NDArray[np.float64]
_T = TypeVar("_T")

UNSEEN = 3.0
"""How many detours may be expected where a recording has none, with 95 % (the rule of three)."""

_BLOCKS = 30  # of a recording, whose differences tell how random its detours are
_REGULAR = 14.256  # the 1 % point of chi square with 29 degrees of freedom, one fewer than blocks
_MIN_TAIL_INDEX = 1.5  # with a smaller one, what is beyond the longest is unlimited, or nearly
_STEP_OF_RATE = 0.25  # of ln r, from one quantile that may be the machine's to the next
_MAX_RATE = 5.0  # ln r: beyond, nothing is known


class Recording(NamedTuple):
    """Sorted intervals [start, end) with time between them, in ticks, and the length of it all.

    `busy` is the time in intervals, and `squares` the sum of their squares: kept, as they are asked
    for at each look at the data of a cell.
    """

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    length: int
    busy: int
    squares: float

    def share(self) -> float:
        """Part of the time in intervals."""
        return self.busy / self.length


class SamplingError(NamedTuple):
    """The part of a number's error that is due to the recording, seconds.

    Attributes
    ----------
    events : float
        On how many equally important detours it rests.
    delay : float
        About the number itself, above the time without noise.
    below, above : float
        How far that of the machine may lie below and above it; `above` may be infinite.
    """

    events: float
    delay: float
    below: float
    above: float


class RecordedDelays:
    """The delays of ranks that begin anywhere in a recording and work for a while.

    Parameters
    ----------
    recordings : list of Recording
        Each is replayed by the same share of the ranks.
    work : float
        CPU time until the ranks wait for each other, seconds.
    cycles : int
        How many times they do so. A detour that is under way counts in the first cycle alone: later
        ones end when the ranks have waited for it.
    """

    def __init__(self, recordings: Sequence[Recording], work: float, cycles: int = 1) -> None:
        parts = [
            _Part(one, work, 1 / cycles, 1 / len(recordings))
            for one in recordings
            if len(one.starts)
        ]
        self.parts = parts
        self.cycles = cycles
        self._known: dict[tuple[object, ...], Any] = {}  # every estimate of a case asks
        self._make_distribution()

    def _once(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """Return what `make` makes, which is kept by `key`."""
        if key not in self._known:
            self._known[key] = make()
        found: _T = self._known[key]
        return found

    def _make_distribution(self) -> None:
        """Make G(x) = P(delay <= x), linear between `x`: `cdf` at each, `cdf_before` its jump.

        A rank that begins between detours is delayed by those that it meets: G jumps there. One
        that begins within a detour has any part of it left, with equal chances: G has a slope.
        """
        parts = self.parts
        ends = [(one.delays_after, one.delays_after + one.durations) for one in parts]
        top = max(float(high.max()) for _, high in ends)
        fine = np.geomspace(1e-4 * top, top, 400)
        values = [*(one.delays for one in parts), *(end for both in ends for end in both)]
        self.x = np.unique(np.concatenate([[0.0], fine, *values]))
        jumps, slopes = np.zeros(len(self.x)), np.zeros(len(self.x))
        # A recording of no detours delays nobody, and so does the share that it stands for.
        jumps[0] = 1 - sum(one.share for one in parts)
        for one, (low, high) in zip(parts, ends, strict=True):
            np.add.at(jumps, np.searchsorted(self.x, one.delays), one.place_density * one.lengths)
            np.add.at(slopes, np.searchsorted(self.x, low), one.under_way_density)
            np.add.at(slopes, np.searchsorted(self.x, high), -one.under_way_density)
        slope = np.maximum(np.cumsum(slopes)[:-1], 0.0)
        rise = slope * np.diff(self.x)
        cdf = np.cumsum(jumps) + np.concatenate([[0.0], np.cumsum(rise)])
        self.cdf = np.minimum(cdf / cdf[-1], 1.0)
        self.cdf_before = np.minimum(self.cdf[:-1] + rise / cdf[-1], 1.0)  # of x[1:]

    def _powers(self, power: float) -> Floats:
        """Return the integral of G^power over each piece between two x."""
        low, high, width = self.cdf[:-1], self.cdf_before, np.diff(self.x)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.maximum(np.stack([low, high]), 1e-300))
            first, last = np.exp((power + 1) * logs)
            sloping = (last - first) / ((power + 1) * (high - low)) * width
        flat = np.exp(power * np.log(np.maximum((low + high) / 2, 1e-300))) * width
        return np.where(high - low > 1e-9 * high, sloping, flat)

    def longest_of(self, ranks: float) -> float:
        """Return the mean of the longest delay among `ranks` ranks in one cycle, seconds."""
        return self._once(("longest", ranks), lambda: float(self.x[-1] - self._powers(ranks).sum()))

    def quantile_of(self, share: float, ranks: float) -> float:
        """Return a quantile of the longest delay among `ranks` ranks in one cycle, seconds."""
        level = math.exp(math.log(share) / ranks)
        both = np.stack([np.concatenate([[0.0], self.cdf_before]), self.cdf], axis=1).ravel()
        return float(np.interp(level, both, np.repeat(self.x, 2)))

    def mean_error(
        self, ranks: float, confidence: float, others: Sequence[RecordedDelays] = ()
    ) -> SamplingError:
        """Return the error of the mean of the last rank.

        `others`: how stages after it are delayed, such as messages after a long phase of computing.
        Where all realizations meet a detour in that phase, their rate still tells how often another
        one holds up the messages that follow.
        """
        events, *rates = self._once(
            ("mean", ranks, confidence), lambda: self._rates_of_mean(ranks, confidence)
        )
        stages = (self, *others)
        parts = [sum(one.longest_of(ranks) for one in stages)]
        for rate in rates:
            factor = math.exp(min(max(rate, -_MAX_RATE), _MAX_RATE))
            parts.append(abs(sum(one.longest_of(ranks * factor) for one in stages) - parts[0]))
        # The rates of recorded detours never give more than the longest of them. Where it rests on
        # few, how long these are is chance as well: Student's interval of the mean of so many.
        if events < ENOUGH_EVENTS:
            few = max(events, 1.0)
            parts[-1] = max(parts[-1], student_t(confidence, few) / math.sqrt(few) * parts[0])
        return SamplingError(events, *(self.cycles * one for one in parts))

    def _rates_of_mean(self, ranks: float, confidence: float) -> tuple[float, float, float]:
        """Return the detours that decide, and ln r at both ends of its interval."""
        reach = student_t(confidence, _BLOCKS - 1)
        # Where every realization meets the longest detours, a change of their rate changes nothing:
        # fewer ranks tell on which of them it rests.
        fewer = ranks
        while fewer > 1 and self._deciding(fewer)[0] < 1e-9 * self.longest_of(fewer):
            fewer /= 2
        events, error, unseen = self._rate_error(self._deciding(fewer)[1])
        # More of them make it rest on rarer ones.
        more = fewer * math.exp(min(reach * error, _MAX_RATE))
        events_of_more, error_of_more, unseen_of_more = self._rate_error(self._deciding(more)[1])
        up = math.hypot(reach * max(error, error_of_more), max(unseen, unseen_of_more))
        return min(events, events_of_more), -reach * error, up

    def quantile_error(self, share: float, ranks: float, confidence: float) -> SamplingError:
        """Return the error of a quantile of the last rank: of the longest delay in all cycles.

        Each x that the machine's quantile may be is asked for its own rate: a rarer one is less
        sure, and may lie beyond a gap between short and long detours. Where fewer than
        `ENOUGH_EVENTS` detours are as long as one of these, there is no upper end.
        """
        return self._once(
            ("quantile", share, ranks, confidence),
            lambda: self._find_quantile_error(share, ranks * self.cycles, confidence),
        )

    def _find_quantile_error(self, share: float, ranks: float, confidence: float) -> SamplingError:
        """Return the error of a quantile of the last rank, from blocks of the recording."""
        reach = student_t(confidence, _BLOCKS - 1)
        value = self.quantile_of(share, ranks)
        events, error, _ = self._rate_error(self._above(value))
        low = self.quantile_of(share, ranks * math.exp(-min(reach * error, _MAX_RATE)))
        high, least = value, events if value > 0 else math.inf
        for log_rate in np.arange(min(reach * error, _MAX_RATE), _MAX_RATE, _STEP_OF_RATE):
            x = self.quantile_of(share, ranks * math.exp(log_rate))
            if x == high:
                continue
            known, error, _ = self._rate_error(self._above(x))
            if reach * error < log_rate * (1 - 1e-9) and high > value:
                break
            high, least = x, min(known, least)
        if least < ENOUGH_EVENTS:
            high = math.inf
        return SamplingError(least, value, value - low, high - value)

    def _deciding(self, ranks: float) -> tuple[float, list[tuple[Floats, Floats]]]:
        """Return what each place and each detour under way adds to the mean of this many ranks.

        More delays of d, as a part of all, raise it by N times the integral of G^(N - 1) to d. The
        sum of it all is the change for ln r.
        """
        pieces = self._powers(ranks - 1)
        weight = np.concatenate([[0.0], np.cumsum(pieces)])
        twice = np.concatenate([[0.0], np.cumsum((weight[1:] + weight[:-1]) / 2 * np.diff(self.x))])
        found = []
        for one in self.parts:
            places = np.interp(one.delays, self.x, weight) * one.place_density * one.lengths
            low, high = (np.interp(end, self.x, twice) for end in
                         (one.delays_after, one.delays_after + one.durations))  # fmt: skip
            found.append((places, (high - low) * one.under_way_density))
        return ranks * float(sum(a.sum() + b.sum() for a, b in found)), found

    def _above(self, x: float) -> list[tuple[Floats, Floats]]:
        """Return how often each place and each detour under way delays by x or more."""
        x *= 1 - 1e-9
        return [
            ((one.delays > x) * one.place_density * one.lengths,
             np.clip(one.delays_after + one.durations - x, 0, one.durations)
             * one.under_way_density)
            for one in self.parts
        ]  # fmt: skip

    def _rate_error(self, added: list[tuple[Floats, Floats]]) -> tuple[float, float, float]:
        """Return how many of these detours decide, the error of ln r, and the unseen part."""
        each = [
            one.of_detours(places) + own
            for one, (places, own) in zip(self.parts, added, strict=True)
        ]
        every = np.concatenate(each)
        total = float(every.sum())
        if not total > 0:
            return 0.0, math.inf, math.inf
        independent = total**2 / float((every**2).sum())  # Kish's effective sample size
        variance = 0.0
        for one, own in zip(self.parts, each, strict=True):
            blocks = np.bincount(one.blocks, own, _BLOCKS)
            variance += float(blocks.var()) * _BLOCKS**2 / (_BLOCKS - 1)
        variance /= total**2
        # Bursts make it rest on fewer, and ticks are no chance at all; of few, blocks do not tell.
        # Blocks of independent detours are alike by chance, too: only those that are more alike
        # than chance explains make the error smaller.
        events, error = independent, 1 / math.sqrt(independent)
        if independent >= ENOUGH_EVENTS:
            events = min(events, 1 / max(variance, 1e-12))
            regular = variance * independent * (_BLOCKS - 1) < _REGULAR
            error = math.sqrt(variance) if regular else max(error, math.sqrt(variance))
        index = max(_tail_index(every), _MIN_TAIL_INDEX)
        unseen = UNSEEN * (index / (index - 1) if index < math.inf else 1.0)
        return events, error, unseen * float(every.max()) / total


class _Part:
    """A recording: places where a rank may begin, by idle time, and the detours under way.

    `lengths` of places with the same `delays`; `durations` of detours, and `delays_after` their
    ends, of a rank that begins within one. Densities are probabilities for each second of these.
    """

    def __init__(self, recording: Recording, work: float, under_way: float, share: float) -> None:
        starts, ends = (
            np.asarray(ticks) / TICKS_PER_SECOND for ticks in (recording.starts, recording.ends)
        )
        length = recording.length / TICKS_PER_SECOND
        durations = ends - starts
        taken = np.concatenate([[0.0], np.cumsum(durations)])
        idle = length - float(taken[-1])
        work = min(work, idle * (1 - 1e-9))
        begin = starts - taken[:-1]  # idle time before each
        edges = np.unique(np.concatenate([[0.0], begin, np.mod(begin - work, idle)]))
        self.lengths = np.diff(np.concatenate([edges, [idle]]))
        places = edges + self.lengths / 2
        twice = np.concatenate([begin, begin + idle])  # it is a circle
        sums = np.concatenate([[0.0], np.cumsum(np.concatenate([durations, durations]))])

        def met(place: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
            first, last = (np.searchsorted(twice, place + more) for more in (0.0, work))
            return first.astype(np.int64), last.astype(np.int64)

        first, last = met(places)
        self.delays = sums[last] - sums[first]
        self.delays[first == last] = 0.0
        after = np.arange(1, len(begin) + 1)
        self.delays_after = np.maximum(sums[np.maximum(met(begin)[1], after)] - sums[after], 0.0)
        self.durations = durations
        # Which places meet each detour, on the circle twice: every rate and quantile asks for them.
        middles = np.concatenate([places, places + idle])
        self.from_place, self.to_place = (
            np.searchsorted(middles, begin + idle - more, "right") for more in (work, 0.0)
        )
        self.share = share
        whole = idle + under_way * float(taken[-1])
        self.place_density = share / whole
        self.under_way_density = share * under_way / whole
        self.blocks = np.minimum((starts / length * _BLOCKS).astype(np.int64), _BLOCKS - 1)

    def of_detours(self, places: Floats) -> Floats:
        """Return what the places add, by the detours met, in proportion to their durations."""
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(self.delays > 0, places / self.delays, 0.0)
        sums = np.concatenate([[0.0], np.cumsum(np.concatenate([each, each]))])
        return self.durations * (sums[self.to_place] - sums[self.from_place])


def _tail_index(values: Floats) -> float:
    """Return Hill's estimate of the index of a Pareto tail; infinite without a tail."""
    values = np.sort(values[values > 0])[::-1]
    count = min(max(10, math.isqrt(len(values))), len(values) - 1)
    if count < 1:
        return math.inf
    mean = float(np.log(values[:count] / values[count]).mean())
    return 1 / mean if mean > 1e-9 else math.inf
