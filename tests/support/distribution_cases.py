"""Distributions of every kind, and uniforms to draw from them with."""

import numpy as np
from reference import delays

import jitterfly as jf

SMOOTH = {
    "exponential": jf.Exponential("10us"),
    "pareto": jf.Pareto("1us", 2.5),
    "heavy pareto": jf.Pareto("1us", 1.7),
    "cut pareto": jf.Pareto("1us", 1.0, longest="20ms"),
    "lognormal": jf.Lognormal("10us", 1.2),
    "cut lognormal": jf.Lognormal("10us", 2, longest="1s"),
    "gamma": jf.Gamma(shape=2.5, scale="4us"),
    "erlang": jf.Gamma(shape=1000, scale="10ns"),
    "small gamma": jf.Gamma(shape=0.3, scale="30us"),
    "weibull": jf.Weibull("10us", 1.5),
    "stretched weibull": jf.Weibull("2us", 0.5),
    "cut weibull": jf.Weibull("2us", 0.4, longest="200us"),
}

OTHERS = {
    "constant": jf.Constant("14us"),
    "bernoulli": jf.Bernoulli(0.125, "14us"),
    "samples": jf.Empirical(samples=["1us", "2us", "2us", "7us", 0]),
    "histogram": jf.Empirical(low=[0, "1us", "9us"], high=["1us", "3us", "9.5us"], count=[5, 4, 1]),
}

# Some bins so narrow that the engine has to search among them; and times beyond its short words.
HISTOGRAMS = {
    "narrow bins": jf.Empirical(
        low=[1e-6 * k for k in range(62)],
        high=[1e-6 * (k + 1) for k in range(62)],
        count=[10**6, *[3] * 60, 10**6],
    ),
    "long bins": jf.Empirical(low=[0, "1ms", "2s"], high=["1ms", "2s", "3s"], count=[7, 2, 3]),
}

MIXTURES = {
    "mixture": jf.Mixture([0.99, 0.01], [jf.Exponential("1us"), jf.Constant("25us")]),
    "mixture of all": jf.Mixture(
        [4, 2, 1, 1], [jf.Pareto("1us", 2.5), OTHERS["bernoulli"], OTHERS["samples"],
                       jf.Mixture([1, 1], [OTHERS["histogram"], "3us"])],
    ),
}  # fmt: skip

ALL = SMOOTH | OTHERS | HISTOGRAMS | MIXTURES

TWO_64 = 2**64


def reference_of(table):
    """A table as the plain evaluation in reference/delays.py has it."""
    kinds = {"constant": delays.Constant, "smooth": delays.Smooth,
             "samples": delays.Samples, "pieces": delays.Pieces}  # fmt: skip
    arrays = (a if isinstance(a, int) else tuple(int(x) for x in a) for a in table.arrays)
    return kinds[table.kind](table.last, *arrays)


def uniforms(count=2000, seed=1):
    """64-bit uniforms: ends, powers of two and their neighbours, and random ones of any size."""
    rng = np.random.default_rng(seed)
    edges = {max(2**k + d, 0) for k in range(64) for d in (-1, 0, 1)}
    edges |= {TWO_64 - 1 - u for u in edges} | {65, 127, 128, 129}
    random = rng.integers(0, 2**64, count, dtype=np.uint64, endpoint=False)
    random >>= rng.integers(0, 64, count, dtype=np.uint64)
    return np.concatenate([np.array(sorted(edges), dtype=np.uint64), random, ~random])
