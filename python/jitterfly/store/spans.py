"""Which realizations there are: spans (first, end) of whole numbers, and ways through them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

Span = tuple[int, int]


def gaps(spans: Iterable[Span], first: int, end: int) -> list[Span]:
    """What of ``first ... end - 1`` no span holds.

    Examples
    --------
    >>> gaps([(0, 3), (2, 5), (7, 9)], 0, 12)
    [(5, 7), (9, 12)]
    """
    found = []
    here = first
    for start, stop in sorted(spans):
        if start >= end:
            break
        if start > here:
            found.append((here, start))
        here = max(here, stop)
    if here < end:
        found.append((here, end))
    return found


def union(spans: Iterable[Span]) -> list[Span]:
    """The same realizations in as few spans as possible, ascending.

    Examples
    --------
    >>> union([(5, 7), (0, 3), (3, 4)])
    [(0, 4), (5, 7)]
    """
    found: list[Span] = []
    for first, end in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((first, end))
    return found


class Step(NamedTuple):
    """A stretch of a way: `record` is the number of a span to take whole, or None, with `raw`."""

    first: int
    end: int
    record: int | None
    raw: bool


def way(spans: list[Span], raw: list[Span], first: int, end: int) -> list[Step]:
    """From `first` to `end` without overlap, over as few realizations that are missing as possible.

    `spans` are records that can only be taken whole, `raw` samples, which can be cut anywhere. A
    step that is neither is missing.

    Examples
    --------
    >>> [tuple(step) for step in way([(0, 4), (4, 9), (4, 6)], [(6, 7)], 0, 8)]
    [(0, 4, 0, False), (4, 6, 2, False), (6, 7, None, True), (7, 8, None, False)]
    """
    inside = [(a, b, i) for i, (a, b) in enumerate(spans) if first <= a < b <= end]
    stops = {first, end} | {x for a, b, _ in inside for x in (a, b)}
    stops |= {x for span in raw for x in span if first < x < end}
    order = sorted(stops)
    holes = gaps(raw, first, end)
    # Least missing to reach a stop; then the fewest records, so that long ones win.
    best: dict[int, tuple[int, int, Step | None]] = {first: (0, 0, None)}

    def offer(missing: int, records: int, step: Step) -> None:
        cost, taken, _ = best[step.first]
        new = (cost + missing, taken + records, step)
        if step.end not in best or new[:2] < best[step.end][:2]:
            best[step.end] = new

    starts: dict[int, list[tuple[int, int]]] = {}
    for a, b, i in inside:
        starts.setdefault(a, []).append((b, i))
    hole = 0
    for here, following in pairwise(order):
        while hole < len(holes) and holes[hole][1] <= here:
            hole += 1
        missing = hole < len(holes) and holes[hole][0] <= here
        offer((following - here) * missing, 1, Step(here, following, None, not missing))
        for stop, number in starts.get(here, ()):
            offer(0, 1, Step(here, stop, number, False))
    steps: list[Step] = []
    last = best[end][2]
    while last is not None:
        if steps and last.record is None is steps[-1].record and last.raw == steps[-1].raw:
            steps[-1] = Step(last.first, steps[-1].end, None, last.raw)
        else:
            steps.append(last)
        last = best[last.first][2]
    return steps[::-1]


def farthest(spans: list[Span], raw: list[Span], first: int) -> int:
    """The end of the longest way from `first` on which nothing is missing.

    Examples
    --------
    >>> farthest([(4, 8), (6, 20), (8, 11)], [(0, 5)], 4), farthest([(6, 20)], [], 4)
    (11, 4)
    """
    reached = {first}
    solid = first  # all from `from_` to here can be reached, in samples
    from_ = first
    events = [(a, 1, b) for a, b in spans] + [(a, 0, b) for a, b in raw]
    for start, is_record, end in sorted(events):
        if is_record:
            if start in reached or from_ <= start < solid:
                reached.add(end)
        elif inside := [x for x in reached if start <= x < end]:
            from_, solid = min(inside), end
            reached.add(end)
    return max(reached)
