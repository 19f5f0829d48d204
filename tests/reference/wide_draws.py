"""Vectorized NumPy reference of Philox draws, for all ranks at once."""

import numpy as np

from . import delays, philox

HALF = np.uint64(32)
POWERS = np.array([1 << bits for bits in range(64)], dtype=np.uint64)


def _block(seed, purpose, streams, realization, number):
    """Four arrays of words: block `number` of each stream."""
    counter = number, purpose, streams.astype(np.uint64), realization
    return philox.philox4x32(counter, (seed & philox.MASK32, seed >> 32))


def uniform64(seed, purpose, streams, realization, number):
    """`philox.uniform64` for an array of streams."""
    block, word, purpose = philox.block_of(number, purpose)
    high, low = (
        _block(seed, which, streams, realization, block)[word]
        for which in (purpose, purpose | philox.LOW_HALVES)
    )
    return high << HALF | low


def uniform64_of_each(seed, purpose, streams, realization, numbers):
    """The same with a number for each stream."""
    block, word = numbers // np.uint64(4), (numbers % np.uint64(4)).astype(np.intp)
    assert (block < np.uint64(1 << 47)).all()
    purposes = np.uint64(purpose) | block >> HALF << np.uint64(16)
    block = block & np.uint64(philox.MASK32)
    high, low = (
        np.choose(word, _block(seed, which, streams, realization, block))
        for which in (purposes, purposes | np.uint64(philox.LOW_HALVES))
    )
    return high << HALF | low


def pair64(seed, purpose, streams, realization, number):
    """`philox.pair64` for an array of streams."""
    words = _block(seed, purpose, streams, realization, number // 2)
    low, high = words[0:2] if number % 2 == 0 else words[2:4]
    return high << HALF | low


def only_uniform64(seed, purpose, streams, realization):
    """`philox.only_uniform64` for an array of streams."""
    even, odd = (pair64(seed, purpose, streams // 2, realization, n) for n in (0, 1))
    return np.where(streams % 2 == 0, even, odd)


def apply(delay, uniforms):
    """A delay of delays.py at an array of uniforms; only those that it hits are worked out."""
    values = np.zeros(len(uniforms), dtype=np.int64)
    hit = np.flatnonzero(uniforms <= np.uint64(delay.last))
    values[hit] = _values(delay, uniforms[hit])
    return values


def _values(delay, uniforms):
    """Of tables that are always asked: all uniforms at once, in Python's integers as for one."""
    if delay.last == delays.MOST and isinstance(delay, delays.Samples):
        places = uniforms.astype(object) * len(delay.values) >> 64
        return np.array(delay.values)[places.astype(np.int64)]
    if delay.last == delays.MOST and isinstance(delay, delays.Pieces):
        high, tail = uniforms >> HALF, np.uint64(delays.TAIL)
        body = (high >= tail) & (high < np.uint64(1 << 32) - tail)
        v = np.where(body, high << HALF, uniforms)
        piece = np.searchsorted(np.array(delay.edges, dtype=np.uint64), v, side="right") - 1
        at_zero, slope = np.array(delay.lines, dtype=object)[piece].T
        return (at_zero - (v.astype(object) * slope >> 64)).astype(np.int64)
    if delay.last == delays.MOST and isinstance(delay, delays.Smooth):
        tail = uniforms < np.uint64(1 << 63)
        y = np.where(tail, uniforms, ~uniforms)
        y = np.where(y >> HALF >= np.uint64(delays.TAIL), y >> HALF << HALF, y)
        bits = np.searchsorted(POWERS, y, side="right").astype(np.uint64)
        power = np.maximum(bits, np.uint64(7)) - np.uint64(7)  # the cell is 2^power wide
        cell = (power * np.uint64(delays.SPLITS) + (y >> power)).astype(np.int64)
        within = (y - (y >> power << power)).astype(object) * (1 << 31) >> power.astype(object)
        node = np.where(tail, cell, delays.CELLS + 1 + cell)
        words = np.array(delay.words, dtype=object)
        here, beyond = words[node], words[node + 1]
        return (here + ((beyond - here) * within >> 31)).astype(np.int64)
    return [delay(u) for u in uniforms.tolist()]
