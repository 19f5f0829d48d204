"""Hands noise sources to the engine as arrays in ticks (`jitterfly._core.Program`)."""

import numpy as np

from . import delays


def core_delay(core, delay):
    """A delay of delays.py as a `_core.Delay`."""
    tables = core.Delay
    match delay:
        case delays.Constant():
            table = tables.constant(value=delay.ticks)
        case delays.Smooth():
            table = tables.smooth(words=np.array(delay.words, dtype=np.uint64))
        case delays.Samples():
            table = tables.samples(values=np.array(delay.values, dtype=np.int64))
        case delays.Pieces():
            table = tables.pieces(edges=np.array(delay.edges, dtype=np.uint64),
                                  top=np.array(delay.top, dtype=np.int64),
                                  drop=np.array(delay.drop, dtype=np.int64))  # fmt: skip
        case delays.Counts():
            survival = np.array(delay.survival, dtype=np.uint64)
            table = tables.counts(value=delay.ticks, survival=survival)
        case _:
            raise TypeError(delay)
    return table if delay.last == delays.MOST else table.with_last(delay.last)


def add_source(core, program, source):
    """Put one source into a program; sources of a role are numbered in the order they come."""
    if source.role == "congestion":
        source.apply(core, program)
        return
    common = {name: getattr(source, name) for name in ("node_ranks", "begin", "end")}
    if source.role not in ("jitter", "message"):
        common |= {"in_compute": source.in_compute, "in_communication": source.in_communication}
    add = getattr(program, f"add_{source.role}")
    match source.role:
        case "periodic":
            add(period=source.period, duration=source.duration, stationary=source.stationary,
                phases=_ticks(source.phases), **common)  # fmt: skip
        case "renewal":
            start = source.stationary
            if start is not None:
                start = start.share, core_delay(core, start.busy), core_delay(core, start.idle)
            add(gap=core_delay(core, source.gap), duration=core_delay(core, source.duration),
                stationary=start, **common)  # fmt: skip
        case "trace" if hasattr(source, "recordings"):
            recordings = []
            for pieces, length in source.recordings:
                starts, ends = np.array(pieces, dtype=np.int64).reshape(-1, 2).T.copy()
                recordings.append((starts, ends, length))
            of_ranks = np.array(source.of_ranks, dtype=np.int32)
            program.add_traces(recordings=recordings, of_ranks=of_ranks, **common)
        case "trace":
            starts, ends = np.array(source.pieces, dtype=np.int64).reshape(-1, 2).T.copy()
            add(starts=starts, ends=ends, length=source.length, offsets=_ticks(source.offsets),
                **common)  # fmt: skip
        case "step":
            add(delay=core_delay(core, source.delay), at_send=source.at_send, **common)
        case "jitter":
            survival = np.array(source.survival, dtype=np.uint64)
            add(duration=source.duration, survival=survival, **common)
        case "message":
            add(delay=core_delay(core, source.delay), **common)
        case role:
            raise ValueError(f"hand_over.py does not know role {role!r}")


def _ticks(values):
    return None if values is None else np.array(values, dtype=np.int64)
