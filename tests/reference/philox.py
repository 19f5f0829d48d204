"""Philox4x32-10 (Salmon et al., SC'11) and the numbers this project draws from it."""

MASK32 = 0xFFFFFFFF

# Purposes: the second word of the counter, so that no two kinds of draw share a block.
PERIODIC_PHASE = 1
JITTER_ORIGINAL = 16
JITTER_COPY = 17
JITTER_FORWARD = 18

DRAWS_PER_CYCLE = 64


def philox4x32(counter, key, rounds=10):
    """Four 32-bit words from a counter of four words and a key of two (SC'11, section 4.3)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        product0 = 0xD2511F53 * c0
        product1 = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (
            (product1 >> 32) ^ c1 ^ k0,
            product1 & MASK32,
            (product0 >> 32) ^ c3 ^ k1,
            product0 & MASK32,
        )
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


def uniform64(seed, purpose, stream, realization, number):
    """The 64-bit integer `number` of a stream; every Philox block holds two of them."""
    key = (seed & MASK32, seed >> 32)
    words = philox4x32((number // 2, purpose, stream, realization), key)
    low, high = words[0:2] if number % 2 == 0 else words[2:4]
    return high << 32 | low


def periodic_phase(seed, realization, rank, period, node_ranks=1):
    """Phase of a rank in ticks, uniform on 0 ... period-1; the ranks of one node share it."""
    return uniform64(seed, PERIODIC_PHASE, rank // node_ranks, realization, 0) * period >> 64
