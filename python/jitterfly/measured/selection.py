"""Detours of a recording by their duration: which part of the noise matters."""

from __future__ import annotations

from dataclasses import replace

from ..units import TICKS_PER_SECOND, Time, parse_seconds, show_seconds, to_ticks
from .measurements import Detours, Measured


def select_detours(
    measured: Measured, shortest: Time | None = None, longest: Time | None = None
) -> Measured:
    """A recording with only those of its detours that last so long; the others did not happen.

    Parameters
    ----------
    measured : Measured
        With detours.
    shortest, longest : float or str, optional
        Detours that are shorter, or longer, are left out; seconds.

    Raises
    ------
    ValueError
        There are no detours in it; a time out of range; none is left.

    Examples
    --------
    >>> part = Detours([1000, 5000, 9000], [10, 20, 30], length=10_000)
    >>> found = select_detours(Measured((part,), "test"), longest="20ps")
    >>> found.parts[0].durations.tolist(), found.notes
    ([10, 20], ('left out: detours longer than 20 ps, 1 of 3',))
    """
    low = None if shortest is None else to_ticks(parse_seconds(shortest, "shortest"))
    high = None if longest is None else to_ticks(parse_seconds(longest, "longest"))
    parts, before, after = [], 0, 0
    for part in measured.parts:
        if not isinstance(part, Detours):
            raise ValueError(f"`shortest` and `longest` are for detours, got {part.words}")
        kept = (part.durations >= (low or 0)) & (high is None or part.durations <= high)
        before, after = before + len(kept), after + int(kept.sum())
        threshold = part.threshold if low is None else max(low, part.threshold or 0)
        parts.append(replace(part, starts=part.starts[kept], durations=part.durations[kept],
                             threshold=threshold))  # fmt: skip
    told = [
        f"{word} than {show_seconds(ticks / TICKS_PER_SECOND)}"
        for word, ticks in (("shorter", low), ("longer", high))
        if ticks is not None
    ]
    if not told:
        return measured
    if not after:
        raise ValueError(f"no detour is left without those {' and '.join(told)}, of {before:,}")
    note = f"left out: detours {' and '.join(told)}, {before - after:,} of {before:,}"
    return replace(measured, parts=tuple(parts), notes=(*measured.notes, note))
