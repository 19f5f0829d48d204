"""Engine against small examples that are worked out by hand, in ns."""

from dataclasses import replace

import numpy as np

import jitterfly as jf
from jitterfly.program import row_labels

NS = 1e-9


def per_rank(case):
    """Ready times in whole nanoseconds, by row label."""
    times = jf.ready_times(case, seed=0, realization=0) / NS
    np.testing.assert_allclose(times, np.rint(times), atol=1e-6)
    return dict(zip(row_labels(case), np.rint(times).astype(int).tolist(), strict=True))


def test_two_ranks_by_hand():
    """o = 10, L = 100, all in ns; noise of 50 begins at 5 on rank 0 and at 10 on rank 1.

    Rank 0 sends in [0, 5) and [55, 60), so its message is there at 160; rank 1's send ends exactly
    where its noise begins, at 10, and is not delayed. Rank 0 receives in [110, 120), rank 1 in
    [160, 170).
    """
    noise = jf.PeriodicNoise(1000 * NS, 50 * NS, phases=np.array([5, 10]) * NS)
    network = jf.LogGOPS(L=100 * NS, o=10 * NS)
    case = jf.Case(2, network=network, noise=[noise], message_bytes=1)
    assert per_rank(case) == {"start": [0, 0], "level 1": [120, 170], "end": [120, 170]}


def test_noise_in_one_phase_of_a_cycle_by_hand():
    """As above after 40 of work, with the noise of 50 that begins at 5 in one phase only."""
    rows = {}
    for during in ("all", "compute", "communication"):
        noise = jf.PeriodicNoise(1000 * NS, 50 * NS, during=during, phases=np.array([5, 45]) * NS)
        case = jf.Case(
            2,
            network=jf.LogGOPS(L=100 * NS, o=10 * NS),
            noise=[noise],
            compute_time=40 * NS,
            message_bytes=1,
        )
        rows[during] = per_rank(case)
    # Rank 0 works in [0, 5) and [55, 90); rank 1 in [0, 40), sends in [40, 45) and [95, 100).
    assert rows["all"] == {"start": [90, 40], "level 1": [210, 210], "end": [210, 210]}
    assert rows["compute"] == {"start": [90, 40], "level 1": [160, 210], "end": [160, 210]}
    # Rank 0 starts at 40, inside its noise: sends in [55, 65).
    assert rows["communication"] == {"start": [40, 40], "level 1": [210, 175], "end": [210, 175]}


def stuck_rank_2(within):
    """8 ranks, o = 10, L = 100; rank 2 sends its first message, then is held in [15, 515)."""
    phases = np.full(8, 10_000)
    phases[2] = 15
    noise = jf.PeriodicNoise(100_000 * NS, 500 * NS, phases=phases * NS)
    return jf.Case(8, algorithm=jf.Butterfly(copy_levels=within), noise=[noise], message_bytes=1,
                   network=jf.LogGOPS(L=100 * NS, o=10 * NS))  # fmt: skip


def test_conventional_butterfly_by_hand():
    """Rank 2 receives in [515, 525), sends until 535: rank 0 has level 2 at 645, and so on."""
    rows = per_rank(stuck_rank_2(None))
    assert rows["level 1"] == [120, 120, 525, 120, 120, 120, 120, 120]
    assert rows["level 2"] == [645, 240, 545, 240, 240, 240, 240, 240]
    assert rows["level 3"] == [665, 360, 565, 360, 765, 360, 665, 360]


def test_redundant_butterfly_by_hand():
    """Rank 1 has level 2 at 240; its copy leaves at 260 and is there at 360, before rank 2's 635.

    Rank 0 adopts it: level 2 at 370, sent to rank 4 at 380. It sends no copy back. Rank 2 takes
    rank 0's message of round 1, which came at 230, before rank 3's copy of 360.
    """
    rows = per_rank(stuck_rank_2([2]))
    assert rows["level 1"] == [120, 120, 525, 120, 120, 120, 120, 120]
    assert rows["level 2"] == [370, 240, 545, 240, 240, 240, 240, 240]
    assert rows["level 3"] == [390, 360, 575, 360, 490, 360, 665, 360]


def test_forwards_by_hand():
    """4 ranks, alpha = 100, combining costs 10; rank 3's first combination is held in [100, 600).

    Its own level 1 is at 610, so rank 1 has all at 720; ranks 0 and 2 have all at 220. Step 1 goes
    to i xor 1: 220 + 100 beats 720, and rank 3's 620. Step 2 finds nothing better.
    """
    noise = jf.PeriodicNoise(10_000 * NS, 500 * NS, phases=np.array([5000, 5000, 5000, 100]) * NS)
    case = jf.Case(
        4,
        algorithm=jf.Butterfly(exchanges_after=2),
        network=jf.Hockney(100 * NS, 0, 10 * NS),
        noise=[noise],
        message_bytes=1,
    )
    rows = per_rank(case)
    assert rows["level 1"] == [110, 110, 110, 610]
    assert rows["level 2"] == [220, 720, 220, 620]
    assert rows["forward 1"] == [220, 320, 220, 320]
    assert rows["forward 2"] == rows["end"] == [220, 320, 220, 320]
    samples = jf.simulate(case, 1).samples[0]
    np.testing.assert_allclose(samples, np.array([720, 320, 320]) * NS, rtol=1e-12)


def test_forward_cost_by_hand():
    """As above, but each forward takes 30: sent at 250 and at 280; the adopters are free later."""
    noise = jf.PeriodicNoise(10_000 * NS, 500 * NS, phases=np.array([5000, 5000, 5000, 100]) * NS)
    case = jf.Case(4, algorithm=jf.Butterfly(exchanges_after=2, forward_cost=30 * NS), cycles=2,
                   network=jf.Hockney(100 * NS, 0, 10 * NS), noise=[noise],
                   message_bytes=1)  # fmt: skip
    times = jf.ready_times(case, seed=0, realization=0) / NS
    np.testing.assert_allclose(times[3], [220, 350, 220, 350], rtol=1e-12)
    np.testing.assert_allclose(times[5], [220, 350, 220, 350], rtol=1e-12)
    # The second cycle starts when the CPU is free: at 280 on ranks 0 and 2 (two forwards), at 380
    # on rank 1 (one after the adoption), at 630 on rank 3, which is held until 600.
    np.testing.assert_allclose(times[6], [490, 390, 740, 640], rtol=1e-12)


def test_gap_under_noise_by_hand():
    """Rank 0 sends to 2 and to 1. Its first send, from 0, is done at 4 us instead of 1 us.

    The gap of 5 us counts from 1 us before that: the second send takes 8 to 9 us, not 5 to 6.
    """
    network = jf.LogGOPS(L="10us", o="1us", g="5us")
    noise = jf.PeriodicNoise("1s", "3us", phases=[5e-7, 0.5, 0.5, 0.5])
    case = jf.Case(4, algorithm=jf.BinomialBroadcast(), network=network, noise=[noise])
    assert per_rank(case)["end"] == [9_000, 20_000, 16_000, 27_000]
    assert per_rank(replace(case, noise=()))["end"] == [6_000, 17_000, 13_000, 24_000]
