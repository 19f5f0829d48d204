"""Reference of CPU noise as a list of busy intervals that is walked one by one."""

import math
from bisect import bisect_left, bisect_right
from itertools import islice
from operator import itemgetter


def periodic_intervals(period, duration, phase, stationary):
    """Yield the busy intervals [begin, end) of periodic noise in order of time.

    docs/model.md, "Noise of the CPU".
    """
    k = -2 if stationary else 0  # two periods back: the first interval ends before time 0
    while True:
        begin = phase + k * period
        yield begin, begin + duration
        k += 1


def clipped(intervals, window_begin, window_end):
    """Yield what lies in the window of intervals that come in order of time."""
    for begin, end in intervals:
        if begin >= window_end:
            return
        if end > window_begin:
            if begin < window_begin or end > window_end:
                yield max(begin, window_begin), min(end, window_end)
            else:
                yield begin, end


def overlaps(intervals, others):
    """Yield what two lists of intervals have in common; both come in order of time.

    Also empty intervals: who looks for one that ends after a time gets there where all are empty.
    """
    intervals, others = iter(intervals), iter(others)
    one, other = next(intervals, None), next(others, None)
    while one and other:
        begin, end = max(one[0], other[0]), min(one[1], other[1])
        if begin <= end:
            yield begin, end
        if one[1] < other[1]:
            one = next(intervals, None)
        else:
            other = next(others, None)


def merged(lists):
    """Yield what `heapq.merge` does, in less time: some of each list are sorted at once.

    More is generated of the list whose last interval so far begins first: all before it are known.
    """
    # Of each list: the rest, the last begin so far, and how many are generated next.
    running = [[iter(intervals), -math.inf, 1] for intervals in lists]
    waiting = []
    while running:
        one = min(running, key=itemgetter(1))
        more = list(islice(one[0], one[2]))
        waiting += more
        if len(more) == one[2]:
            one[1:] = more[-1][0], min(2 * one[2], 64)
        else:
            running.remove(one)
        waiting.sort()
        known = min((last for _, last, _ in running), default=math.inf)
        count = bisect_left(waiting, (known,))
        yield from waiting[:count]
        del waiting[:count]


def union(lists):
    """Merge intervals of several lists: busy where any of them is busy.

    Yields intervals in order of time that do not touch each other. As in each of the lists, there
    may be no end of them, so little more is generated than is asked for.
    """
    ordered = iter(lists[0]) if len(lists) == 1 else merged(lists)
    for busy_from, busy_to in ordered:
        for begin, end in ordered:
            if begin > busy_to:
                yield busy_from, busy_to
                busy_from, busy_to = begin, end
            elif end > busy_to:
                busy_to = end
        yield busy_from, busy_to


class Timeline:
    """One rank's noise: `intervals` yields disjoint half-open intervals in ascending order."""

    def __init__(self, intervals=()):
        self._source = iter(intervals)
        self._begins = []
        self._ends = []

    def _generate(self):
        """One more interval; False after the last one."""
        for begin, end in self._source:
            self._begins.append(begin)
            self._ends.append(end)
            return True
        return False

    def _first_ending_after(self, t):
        begins, ends = self._begins, self._ends
        if not ends or ends[-1] <= t:
            for begin, end in self._source:
                begins.append(begin)
                ends.append(end)
                if end > t:
                    break
        return bisect_right(ends, t)

    def advance(self, t, work):
        """Earliest e >= t with `work` free ticks in [t, e); t itself when there is no work."""
        if work == 0:
            return t
        index = self._first_ending_after(t)
        begins, ends = self._begins, self._ends
        while index < len(begins) or self._generate():
            begin = begins[index]
            if t < begin:  # ticks before this interval begins are free
                if t + work <= begin:  # work that ends where noise begins is not delayed
                    break
                work -= begin - t
            t = ends[index]
            index += 1
        return t + work

    def until(self, t):
        """The intervals, clipped to [0, t)."""
        self._first_ending_after(t)
        pieces = zip(self._begins, self._ends, strict=True)
        pieces = [(max(begin, 0), min(end, t)) for begin, end in pieces]
        return [(begin, end) for begin, end in pieces if begin < end]


def advance_tick_by_tick(busy, t, work):
    """The same by asking `busy(tick)` for every single tick: the definition, for small numbers."""
    while work:
        if not busy(t):
            work -= 1
        t += 1
    return t
