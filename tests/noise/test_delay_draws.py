"""SIMD draws of delays from lookup tables, against draws of one rank alone.

One draw in 2^11 lies in the tails, where the words are not enough: of those made here some dozens
each time.
"""

from itertools import product

import numpy as np
import pytest
from reference import delays
from support.distribution_cases import ALL, reference_of, uniforms
from support.instruction_sets import ISAS
from support.scale import crossed, some

import jitterfly as jf
from jitterfly import _core
from jitterfly.program import compile_case

FEW_EVENTS = jf.Empirical(low=[0, "1us"], high=["1us", "3us"], count=[1, 1])
HEAVY_TAIL = jf.Empirical(  # edges within a tail and beside it
    low=[1e-6 * k for k in range(14)],
    high=[1e-6 * (k + 1) for k in range(14)],
    count=[4**k for k in range(14, 0, -1)],
)
TAILS = jf.Empirical(  # an edge in each tail, and a cell that is too steep for a short word
    low=[0, "1us", "2us"], high=["1us", "2us", "5ms"], count=[1, 8190, 1]
)


def many_bins(width):
    """Several to an entry of the guide, here and there; short words if the bins are narrow."""
    return jf.Empirical(
        low=[width * k for k in range(5000)],
        high=[width * (k + 1) for k in range(5000)],
        count=[1 + k * 7919 % 5000 for k in range(5000)],
    )


def bins(counts, width=1e-8):
    """Bins of one width, with these counts."""
    edges = width * np.arange(len(counts) + 1)
    return jf.Empirical(low=edges[:-1], high=edges[1:], count=np.asarray(counts, dtype=int))


K = np.arange(1000)
SHAPES = {  # of bins: how they crowd decides which guide a table gets
    "alike": np.ones(1000),
    "one": np.ones(1),
    "rarer and rarer": 1 + 1e6 // (1 + K) ** 2,
    "rarer at both ends": 1 + 1e6 * np.exp(-0.5 * ((K - 500) / 125) ** 2) // 1,
    "rare among others": np.where(K % 3 == 0, 10**6, 1),
    "most are rare": np.where(K == 0, 10**6, 1),
    "2048": np.ones(2048),
    "2049, rarer and rarer": 1 + 1e7 // (1 + np.arange(2049)) ** 2,
    "more than are tried": 1 + np.arange(17_000) * 7919 % 17_000,
}
DRAWN = {name: [jf.StepNoise(delay)] for name, delay in ALL.items()} | {
    "few events": [jf.StepNoise(FEW_EVENTS)],
    "heavy tail": [jf.StepNoise(HEAVY_TAIL)],
    "tails": [jf.StepNoise(TAILS)],
    "narrow and many": [jf.StepNoise(many_bins(1e-10))],
    "many bins": [jf.StepNoise(many_bins(1e-8))],
    **{f"bins, {name}": [jf.StepNoise(bins(counts))] for name, counts in SHAPES.items()},
    "many samples": [jf.StepNoise(jf.Empirical(samples=1e-12 * (1 + np.arange(70_001))))],
    "long samples": [jf.StepNoise(jf.Empirical(samples=[2.0**-8 * k for k in range(101)]))],
    "long delays": [jf.StepNoise(jf.Exponential("1ms"))],
    "added": [jf.StepNoise(HEAVY_TAIL), jf.StepNoise(jf.Gamma(shape=2, scale="1us")),
              jf.StepNoise(jf.Exponential("1us")), jf.StepNoise(jf.Constant("1us"))],
    "of nodes": [jf.StepNoise(many_bins(1e-10), shared=2)],
    "of sends": [jf.StepNoise(jf.Exponential("1us"), at="send")],
    "of messages": [jf.MessageNoise(HEAVY_TAIL), jf.MessageNoise(jf.Lognormal("1us", 1))],
}  # fmt: skip
DRAWS = 2**16
MEDIANS = [2**31, 2**32 - 2**20, 2**32 - 1, 2**32, 2**32 + 2**20, 2**33]
RISES = [0, 2**14, 2**29, 2**30 - 1, 2**30, 2**31]


@pytest.mark.parametrize(("shape", "width"), crossed(SHAPES, [1e-11, 1e-5]))
def test_tables_of_histograms(shape, width):
    """At random, beside edges of bins, and where the engine's guides divide high halves."""
    table = bins(SHAPES[shape], width).integers()
    plain = reference_of(table)
    rng = np.random.default_rng(1)
    edges = [int(e) for e in rng.choice(table.arrays[0], 20)]
    places = [(2**11 + int(p)) << shift for p in rng.integers(0, 2**11, 5)
              for shift in (20, 40, 44, 52)]  # fmt: skip
    beside = (-(2**32), -1, 0, 1, 2**32 - 1, 2**32)
    u = [(x + d) % 2**64 for x in (*edges, *places) for d in beside]
    u += rng.integers(0, 2**64, 200, dtype=np.uint64, endpoint=False).tolist()
    assert table.delay().apply(np.array(u, dtype=np.uint64)).tolist() == [plain(x) for x in u]


@pytest.mark.parametrize("name", DRAWN)
def test_draws_of_many_ranks(name, monkeypatch):
    for log2_ranks in some((1, 2, 3, 4, 5, 6, 8, 9), 3):
        case = jf.Case(2**log2_ranks, network=jf.LogGOPS(L="1us", o="1ns", G="1ns"),
                       noise=DRAWN[name])  # fmt: skip
        run = compile_case(case), 7, 3, DRAWS // (log2_ranks << log2_ranks), "all", "cpu", 1, None
        monkeypatch.setenv("JITTERFLY_ISA", "plain")
        expected = _core.simulate(*run)
        for isa in ISAS:
            monkeypatch.setenv("JITTERFLY_ISA", isa)
            np.testing.assert_array_equal(_core.simulate(*run), expected, err_msg=isa)


@pytest.mark.parametrize(("median", "rise"), some(product(MEDIANS, RISES), 8))
def test_smooth_delays_beyond_a_short_word(median, rise):
    """Times of about 2^32 ticks, which rise by so much in one cell beside the median."""
    from_median = np.minimum(np.arange(delays.CELLS + 1), 1)[::-1] * rise
    nodes = np.concatenate([median + from_median, median - from_median])
    below, above = nodes[: delays.CELLS + 1], nodes[delays.CELLS + 1 :]
    assert (np.diff(below) <= 0).all()
    assert (np.diff(above) >= 0).all()
    # Most of these in the cells beside the median.
    beside = uniforms() >> np.uint64(6)
    u = np.concatenate([uniforms(), 2**63 + beside, 2**63 - beside])
    table = _core.Delay.smooth(nodes.astype(np.uint64))
    plain = delays.Smooth(words=tuple(nodes.tolist()))
    assert table.apply(u).tolist() == [plain(int(x)) for x in u]
