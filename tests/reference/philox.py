"""Reference of Philox4x32-10 (Salmon et al., SC'11), and of the draws made with it."""

from functools import lru_cache

import numpy as np

MASK32 = 0xFFFFFFFF

# Purposes: the second word of the counter, so that no two kinds of draw share a block.
PERIODIC_PHASE = 1
JITTER_ORIGINAL = 16
JITTER_COPY = 17
JITTER_FORWARD = 18
RANK_DELAY = 32
RANK_SPEED = 48
SPEED_SPELLS = 56
WEATHER = 64
WEATHER_SPELLS = 72
LOSSY_LINKS = 80
LOSSY_SPELLS = 88
JITTER = {"original": JITTER_ORIGINAL, "copy": JITTER_COPY, "forward": JITTER_FORWARD}
# Of further sources of the same role: to these the source's ordinal is added.
MORE_PHASES = 0x100
RENEWAL = 0x200
RENEWAL_START = 0x300
TRACE_OFFSET = 0x400
STEP_RECEIVE = 0x500
STEP_SEND = 0x600
STEP_COMPUTE = 0x700
MESSAGE = {"original": 0x800, "copy": 0x900, "forward": 0xA00}
BURSTS = 0xE00
BURSTS_START = 0xF00
MORE_JITTER = {"original": 0xB00, "copy": 0xC00, "forward": 0xD00}

LOW_HALVES = 1 << 31  # with a purpose: blocks of the low halves of its draws
DRAWS_PER_CYCLE = 64
MAX_CYCLES = 1 << 17
MIRROR_STEPS = 2 * DRAWS_PER_CYCLE  # a copy draws as the same step does, so many steps later


def draw_of_step(cycle, number):
    """The number of a step's draw: in every algorithm step 70 of cycle 3 has the same.

    A cycle has 64 numbers in a row, for steps 0 to 63 of it. Behind those of all cycles that there
    can be, steps 64 to 127 follow in the same way, and so on.
    """
    plane, place = divmod(number, DRAWS_PER_CYCLE)
    return DRAWS_PER_CYCLE * (MAX_CYCLES * plane + cycle) + place


def philox4x32(counter, key, rounds=10):
    """Four 32-bit words from a counter of four words and a key of two (SC'11, section 4.3).

    Words of the counter may be arrays of 64 bits.
    """
    c0, c1, c2, c3 = counter
    for k0, k1 in _round_keys(key, rounds):
        product0 = 0xD2511F53 * c0
        product1 = 0xCD9E8D57 * c2
        c0 = (product1 >> 32) ^ c1 ^ k0
        c1 = product1 & MASK32
        c2 = (product0 >> 32) ^ c3 ^ k1
        c3 = product0 & MASK32
    return c0, c1, c2, c3


@lru_cache(maxsize=1000)
def _round_keys(key, rounds):
    return [
        ((key[0] + r * 0x9E3779B9) & MASK32, (key[1] + r * 0xBB67AE85) & MASK32)
        for r in range(rounds)
    ]


@lru_cache(maxsize=1 << 16)
def _block(seed, counter):
    return philox4x32(counter, (seed & MASK32, seed >> 32))


def uniform64(seed, purpose, stream, realization, number):
    """The 64-bit integer `number` of a stream.

    Four follow each other in a Philox block that has their high halves, and in another one that has
    their low halves.
    """
    block, word, purpose = block_of(number, purpose)
    high = _block(seed, (block, purpose, stream, realization))[word]
    low = _block(seed, (block, purpose | LOW_HALVES, stream, realization))[word]
    return high << 32 | low


def block_of(number, purpose):
    """Block and word of a draw, and the purpose, whose upper half has bits 32 and up of the block.

    For those there are 15 bits: the last one is LOW_HALVES.
    """
    block, word = divmod(number, 4)
    assert purpose < 1 << 16
    assert block < 1 << 47
    return block & MASK32, word, purpose | block >> 32 << 16


def pair64(seed, purpose, stream, realization, number):
    """The same of a stream in which every Philox block holds two of them."""
    words = _block(seed, (number // 2, purpose, stream, realization))
    low, high = words[0:2] if number % 2 == 0 else words[2:4]
    return high << 32 | low


class Pairs:
    """`pair64` of one stream by the number, from 0: what follows is worked out many at a time."""

    def __init__(self, seed, purpose, stream, realization):
        self._key = seed & MASK32, seed >> 32
        self._counter = purpose, stream, realization
        self._drawn = []

    def __call__(self, number):
        while number >= len(self._drawn):
            self._draw(len(self._drawn) // 2)
        return self._drawn[number]

    def _draw(self, first):
        """As many blocks as there are; NumPy takes as long for one as Python for about eight."""
        if first < 16:
            blocks = [philox4x32((first, *self._counter), self._key)]
        else:
            numbers = np.arange(first, first + min(first, 256), dtype=np.uint64)
            blocks = np.transpose(philox4x32((numbers, *self._counter), self._key)).tolist()
        for w0, w1, w2, w3 in blocks:
            self._drawn += [w1 << 32 | w0, w3 << 32 | w2]


def only_uniform64(seed, purpose, stream, realization):
    """The integer of a stream that has only one: two neighbours share a Philox block."""
    return pair64(seed, purpose, stream // 2, realization, stream % 2)


def ordinal(first, more, number):
    """The purpose of source `number` of a role whose first source has a purpose of its own."""
    return more + number if number else first


def periodic_phase(seed, realization, rank, period, node_ranks=1):
    """Phase of a rank in ticks, uniform on 0 ... period-1; the ranks of one node share it."""
    return only_uniform64(seed, PERIODIC_PHASE, rank // node_ranks, realization) * period >> 64
