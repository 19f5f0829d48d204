"""Distributions against SciPy: tables, tails, means, residual life, errors."""

import pickle
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from reference import delays, philox
from reference.chance import FALSE_ALARM, check_counts, check_distribution
from scipy import integrate, special, stats
from support.distribution_cases import (
    ALL,
    HISTOGRAMS,
    MIXTURES,
    OTHERS,
    SMOOTH,
    TWO_64,
    reference_of,
    uniforms,
)
from support.scale import scaled

import jitterfly as jf
from jitterfly.distributions import distribution
from jitterfly.distributions.distribution import residual, thinned

# Largest relative error of a delay between nodes: h^2 x^2 |Q''(x)| / (8 Q(x)) with h = 1/64, of the
# worse end. For a wide lognormal it is 3e-5 times sigma (sigma + |z|) (x / phi(z))^2; for a gamma
# of a small shape k, whose quantile is near 0 like x^(1/k), 3e-5 times (1/k) (1/k - 1). For
# Weibull's upper half it is 3e-5 times (y + 1/k - 1) / (k y^2) with y = -log x, largest at x = 1/2.
INTERPOLATION = dict.fromkeys(SMOOTH, 7e-5) | {
    "cut lognormal": 1.2e-4,
    "small gamma": 2.5e-4,
    "stretched weibull": 2.2e-4,
    "cut weibull": 3.5e-4,
}
ROUNDING = 2.0**-24


@pytest.mark.parametrize("name", ALL)
def test_engine_evaluates_tables_as_defined(name):
    u = uniforms()
    for table in (ALL[name].integers(), ALL[name].residual()):
        for chance in (1, Fraction(1, 3), Fraction(1, 10**9), Fraction(1, 2**64)):
            if table.last != distribution.LARGEST_UNIFORM and chance == 1:
                thin = table
            else:
                thin = table.with_chance(Fraction(chance))
            plain = reference_of(thin)
            assert thin.delay().apply(u).tolist() == [plain(int(x)) for x in u]
            assert thin.delay().largest == thin.largest == plain.largest


@pytest.mark.parametrize("name", ["histogram", *HISTOGRAMS])
def test_histograms_at_their_edges(name):
    """One less or more in the low half, and in the high one, which nearly always decides."""
    table = ALL[name].integers()
    beside = (-(2**32), -1, 0, 1, 2**32 - 1, 2**32)
    u = [int(edge) + d for edge in table.arrays[0][1:] for d in beside]
    plain = reference_of(table)
    assert table.delay().apply(np.array(u, dtype=np.uint64)).tolist() == [plain(x) for x in u]


def test_bins_that_are_too_rare_for_an_edge():
    """Among others less than 2^-40 of all is left out; the longest ones are kept, however rare."""
    edges = np.arange(6) * 1e-6
    many = 10**15
    rare = jf.Empirical(low=edges[:-1], high=edges[1:], count=[many, 1, 2 * many, 1, 1])
    table = rare.integers()
    assert table.arrays[1].tolist() == [5_000_000, 4_000_000, 3_000_000, 1_000_000]
    plain, u = reference_of(table), uniforms()
    assert table.delay().apply(u).tolist() == [plain(int(x)) for x in u]
    assert rare.expected() == pytest.approx((2 * 2.5e-6 + 0.5e-6) / 3)


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_tables_are_the_distribution(name):
    """Up to interpolation between nodes, wherever nodes are 1/64 of an octave apart."""
    x = SMOOTH[name]
    tail = np.sort(np.exp2(-np.random.default_rng(2).uniform(1, 58, 20_000)))
    u = np.ldexp(tail, 64).astype(np.uint64)  # exact: few bits are left to round
    tail = np.ldexp(u.astype(np.float64), -64)
    cut = getattr(x, "longest", None) or np.inf
    for words, exact in ((u, upper(x, tail)), (~u, x.quantile(tail))):
        found = x.table().apply(words)
        limit = (INTERPOLATION[name] + ROUNDING) * exact + 2e-12
        # In the cell where a tail is cut, the table's line cuts the corner.
        corner = exact > 0.95 * cut
        assert (np.abs(found * 1e-12 - exact) <= limit)[~corner].all()
        assert (found[corner] <= cut * 1e12).all()
        if words is u:
            assert (np.diff(found) <= 0).all()
        else:
            assert (np.diff(found) >= 0).all()


def upper(x, tail):
    """The time that is exceeded with a probability, from scipy, far beyond what 1 - q resolves."""
    match x:
        case jf.Exponential():
            return stats.expon.isf(tail, scale=x.mean)
        case jf.Pareto():
            found = stats.pareto.isf(tail, x.shape, scale=x.scale)
        case jf.Lognormal():
            found = stats.lognorm.isf(tail, x.sigma, scale=x.median)
        case jf.Gamma():
            return stats.gamma.isf(tail, x.shape, scale=x.scale)
        case jf.Weibull():
            found = stats.weibull_min.isf(tail, x.shape, scale=x.scale)
    return found if x.longest is None else np.minimum(found, x.longest)


@pytest.mark.parametrize("name", SMOOTH)
def test_functions_are_those_of_scipy(name):
    x, tail = SMOOTH[name], np.exp2(-np.arange(1.0, 45))
    q = np.linspace(0.001, 0.999, 99)
    times = x.quantile(q)
    cut = getattr(x, "longest", None) or np.inf
    assert x.survival(times[times < cut]) == pytest.approx(1 - q[times < cut], rel=1e-9)
    far = upper(x, tail)
    assert x.survival(far[far < cut]) == pytest.approx(tail[far < cut], rel=1e-6)
    assert (x.survival([cut]) == 0).all()
    assert (x.survival([-1.0, 0.0]) == 1).all()
    assert x.quantile(0.0) >= 0


@pytest.mark.parametrize("name", ["cut pareto", "cut lognormal", "cut weibull"])
def test_means_of_cut_tails(name):
    x = SMOOTH[name]
    edges = np.concatenate(
        [[0, x.quantile(0.0)], x.quantile(1 - np.exp2(-np.arange(0.1, 50, 0.5))), [x.longest]]
    )
    edges = np.unique(edges)
    parts = [integrate.quad(lambda t: float(x.survival(t)), a, b, epsrel=1e-10)[0]
             for a, b in pairwise(edges)]  # fmt: skip
    assert x.expected() == pytest.approx(sum(parts), rel=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_means_of_tables(name):
    """A line between nodes lies above a convex function: the mean may be larger by 2e-5."""
    assert ALL[name].mean_ticks() == pytest.approx(ALL[name].expected() * 1e12, rel=2e-5)
    assert str(ALL[name]) == ALL[name].name


def test_draws_have_the_distribution():
    """Dvoretzky-Kiefer-Wolfowitz for 10^5 draws of each: the body."""
    for purpose, x in enumerate(ALL.values()):
        drawn = x.table().draw(5, purpose, 0, 0, 0, 100_000)
        # Ticks are whole, so that what lies up to t is what lies up to half a tick later.
        check_distribution(
            drawn, lambda t, x=x: 1 - x.survival((np.floor(t) + 0.5) * 1e-12), grain=1e-4
        )


def test_draws_are_the_tables_at_their_uniforms():
    """Also those whose low half is looked at: one in 2^11 of what is interpolated."""
    count, in_tails = 3000, 0
    for purpose, x in enumerate(ALL.values()):
        numbers = [philox.uniform64(5, purpose, 3, 2, n) for n in range(count)]
        plain = reference_of(x.integers())
        assert x.table().draw(5, purpose, 3, 2, 0, count).tolist() == [plain(u) for u in numbers]
        in_tails += sum(min(u, TWO_64 - 1 - u) >> 32 < delays.TAIL for u in numbers)
    assert in_tails > 5


@pytest.mark.parametrize("name", SMOOTH)
def test_far_tail(name):
    """Of 4 million draws, as many as there should be in each octave of the tail."""
    x, count = SMOOTH[name], scaled(2**22)
    drawn = x.table().draw(7, list(SMOOTH).index(name), 3, 2, 0, count) * 1e-12
    tail = np.exp2(-np.arange(1.0, 22))
    times = upper(x, tail)
    there = np.unique(times, return_index=True)[1][::-1]  # beyond a cut nothing is left
    below = np.searchsorted(np.sort(drawn), times[np.sort(there)] * (1 + 1e-12))
    counts = np.diff(np.concatenate([[0], below, [count]]))
    kept = tail[np.sort(there)]
    survival = np.concatenate([[1.0], kept[:-1], [x.survival(times[np.sort(there)])[-1]], [0.0]])
    check_counts(counts, -np.diff(survival))


@pytest.mark.full_scale
@pytest.mark.slow
def test_largest_of_a_thousand_million():
    """10 times the largest of 10^8 draws, of every distribution with a closed form.

    Delays fall with the uniform, so the smallest uniform makes the largest delay: it is found once,
    by a table that falls evenly, and given to all. N S(M) is exponential with mean 1. Uniforms of
    24 or 32 bits would end the tail at 1.7e7 or 4.3e9 draws.
    """
    draws, repeats = 10**8, 10
    top = distribution.LARGEST - 1
    even = distribution.bins([0], [top], [1]).delay()
    smallest = np.array([
        (top - even.largest_of(seed, 77, draws)) * TWO_64 // top for seed in range(repeats)
    ], dtype=np.uint64)  # fmt: skip
    for name, x in SMOOTH.items():
        if getattr(x, "longest", None) is not None:
            continue
        largest = x.table().apply(smallest) * 1e-12
        hits = draws * x.survival(largest)
        low, high = stats.gamma(repeats).ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2])
        assert low < hits.sum() < high, name
        check_distribution(np.exp(-hits), lambda p: np.clip(p, 0, 1))
        of_all = draws * repeats * float(x.survival(largest.max()))
        assert -np.log1p(-FALSE_ALARM / 2) < of_all < -np.log(FALSE_ALARM / 2), name


def test_largest_is_that_of_the_smallest_uniform():
    top = distribution.LARGEST - 1
    even = distribution.bins([0], [top], [1]).delay()
    smallest = (top - even.largest_of(3, 77, 200_000)) * TWO_64 // top
    for x in SMOOTH.values():
        found = x.table().largest_of(3, 77, 200_000)
        around = x.table().apply(np.array([smallest + 64, max(smallest - 64, 0)], dtype=np.uint64))
        assert around[0] <= found <= around[1]


# --- probabilities


@pytest.mark.parametrize("probability", [1e-30, 1e-9, 0.001, 0.3, 0.5, 1 - 2**-52])
def test_chance_of_a_delay(probability):
    """Exact to 2^-64, rounded up."""
    exact = Fraction(repr(probability))
    for table in (
        thinned(jf.Constant("1us"), probability),
        jf.Bernoulli(probability, "1us").integers(),
    ):
        assert table.last == delays.last_of(exact)
        assert 0 <= Fraction(table.last + 1, TWO_64) - exact < Fraction(1, TWO_64)
        found = table.delay().apply(np.array([table.last, table.last + 1], dtype=np.uint64))
        assert found.tolist() == [10**6, 0]


def test_certain_and_impossible_delays():
    u = uniforms()
    for x in ALL.values():
        assert thinned(x, 1.0) is x.integers()
        assert not thinned(x, 0.0).delay().apply(u).any()
    assert jf.Bernoulli(1, "3us").table().apply(u).tolist() == [3 * 10**6] * len(u)
    assert not jf.Bernoulli(0, "3us").table().apply(u).any()


def test_chances_multiply():
    both = thinned(jf.Bernoulli(0.1, "1us"), 0.1)
    assert both.last == thinned(jf.Constant("1us"), 0.01).last


def test_thinned_delays_keep_their_distribution():
    x = SMOOTH["gamma"]
    table = thinned(x, 0.25).delay()
    drawn = table.draw(11, 1, 0, 0, 0, 400_000)
    check_counts(np.array([(drawn == 0).sum(), (drawn > 0).sum()]), [0.75, 0.25])
    check_distribution(drawn[drawn > 0] * 1e-12, lambda t: 1 - x.survival(t), grain=1e-4)


# --- events


def test_samples_are_equally_likely():
    x = jf.Empirical(samples=[3e-6, 1e-6, 1e-6])
    edges = np.array([0, TWO_64 // 3, TWO_64 // 3 + 1, TWO_64 - 1], dtype=np.uint64)
    assert x.table().apply(edges).tolist() == [3 * 10**6, 3 * 10**6, 10**6, 10**6]
    assert x.survival([0, 1e-6, 2e-6, 3e-6]).tolist() == [1, pytest.approx(1 / 3)] * 1 + [
        pytest.approx(1 / 3), 0]  # fmt: skip
    assert x.quantile([0, 0.5, 2 / 3, 0.7]).tolist() == [1e-6, 1e-6, 1e-6, 3e-6]


def test_histograms_are_uniform_in_each_bin():
    x = OTHERS["histogram"]
    table = x.integers()
    grid = 2**24  # that edges lie on, but for those of the far tail
    assert [int(edge) for edge in table.arrays[0]] == [0, TWO_64 // 10 // grid * grid, TWO_64 // 2]
    assert table.arrays[1].tolist() == [9_500_000, 3_000_000, 1_000_000]
    assert table.arrays[2].tolist() == [500_000, 2_000_000, 1_000_000]
    assert x.survival([0.5e-6, 2e-6, 5e-6, 9.25e-6, 1]) == pytest.approx([0.75, 0.3, 0.1, 0.05, 0])
    assert x.quantile([0.25, 0.7, 0.95]) == pytest.approx([0.5e-6, 2e-6, 9.25e-6])


def test_bins_without_events_do_not_count():
    whole = jf.Empirical(low=[0, 1e-6, 2e-6], high=[1e-6, 2e-6, 3e-6], count=[1, 0, 2])
    some = jf.Empirical(low=[0, 2e-6], high=[1e-6, 3e-6], count=[1, 2])
    u = uniforms(100)
    assert np.array_equal(whole.table().apply(u), some.table().apply(u))


# --- what is left of an interval


def check_residual(table, survival, scale, rel=1e-4):
    """The table has this survival function, at times from 0 to 5 `scale`, seconds."""
    u = np.ldexp(np.random.default_rng(3).uniform(1e-9, 1, 5000), 64).astype(np.uint64)
    found = table.delay().apply(u) * 1e-12
    inside = (found > 1e-3 * scale) & (found < 5 * scale)
    expected = survival(found[inside])
    assert np.ldexp(u[inside].astype(float), -64) == pytest.approx(expected, rel=rel, abs=1e-6)
    assert inside.sum() > 100


def test_residual_of_exponential_is_exponential():
    x = SMOOTH["exponential"]
    assert x.residual() is x.integers()
    check_residual(residual(x.integers()), x.survival, x.mean)


def test_residual_of_fixed_is_uniform():
    for table in (jf.Constant("8us").residual(), residual(jf.Constant("8us").integers()),
                  jf.Bernoulli(0.01, "8us").residual()):  # fmt: skip
        check_residual(table, lambda t: 1 - t / 8e-6, 8e-6)
    assert jf.Constant("8us").residual().kind == "pieces"


def test_residual_of_pareto():
    """S(t) / E integrated: 1 - t/E below the scale, then (scale / t)^(shape - 1) / shape."""
    x = jf.Pareto("1us", 3.0)

    def survival(t):
        beyond = (1e-6 / np.maximum(t, 1e-6)) ** 2 / 3
        return np.where(t < 1e-6, 1 - t / x.expected(), beyond)

    check_residual(x.residual(), survival, 2e-6, rel=3e-4)


def test_residual_of_gamma():
    """Of Gamma(2): half Gamma(1), half Gamma(2)."""
    one, two = jf.Gamma(shape=1, scale="5us"), jf.Gamma(shape=2, scale="5us")
    half = lambda t: (one.survival(t) + two.survival(t)) / 2  # noqa: E731
    check_residual(two.residual(), half, 5e-6, rel=2e-4)


def test_weibull_of_shape_1_is_exponential():
    weibull, exponential = jf.Weibull("5us", 1), jf.Exponential("5us")
    assert np.array_equal(*(x.integers().arrays[0] for x in (weibull, exponential)))
    assert weibull.expected() == exponential.expected()


def test_residual_of_weibull():
    """S(t) / E integrated: the upper incomplete gamma function of 1/k at (t / scale)^k."""
    x = jf.Weibull("5us", 0.5)
    check_residual(x.residual(), lambda t: special.gammaincc(2, np.sqrt(t / 5e-6)), 5e-6, rel=3e-4)


def test_residual_of_a_uniform_histogram():
    x = jf.Empirical(low=[0], high=["9us"], count=[4])
    check_residual(x.residual(), lambda t: (1 - t / 9e-6) ** 2, 9e-6)


def test_residual_of_samples():
    """Of 1 us and 3 us: S is 1 up to 1 us and 1/2 up to 3 us; the mean is 2 us."""
    x = jf.Empirical(samples=["1us", "3us"])
    check_residual(
        x.residual(), lambda t: np.where(t < 1e-6, 1 - t / 2e-6, (3e-6 - t) / 4e-6), 3e-6
    )


# --- bad values


def check(make, *parts):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the parts are what is matched)
        make()
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


JUNK = [float("nan"), float("inf"), -1, True, "junk", None, [1]]


@pytest.mark.parametrize("value", JUNK)
def test_bad_times(value):
    for make in (jf.Constant, lambda v: jf.Bernoulli(0.5, v)):
        check(lambda make=make: make(value), "must be a time from 0 to", "got ")
    for name, make in {
        "mean": jf.Exponential,
        "scale": lambda v: jf.Pareto(v, 2),
        "median": lambda v: jf.Lognormal(v, 1),
        "scale ": lambda v: jf.Gamma(shape=2, scale=v),
        " scale": lambda v: jf.Weibull(v, 2),
    }.items():
        check(lambda make=make: make(value), f"{name.strip()} must be a time above 0", "got ")
        check(lambda make=make: make(0), f"{name.strip()} must be a time above 0", "got 0")
        check(lambda make=make: make(1e-13), f"{name.strip()} must be more than 0.5 ps")


@pytest.mark.parametrize("value", [*JUNK, 0])
def test_bad_numbers(value):
    check(
        lambda: jf.Pareto(1e-6, value), "shape must be a number above 0, up to 1000", "(in Pareto)"
    )
    check(
        lambda: jf.Lognormal(1e-6, value), "sigma must be a number above 0, up to 100", "(in Logn"
    )
    check(
        lambda: jf.Gamma(shape=value, scale=1e-6),
        "shape must be a number above 0, up to 1e+06",
        "(in Gamma)",
    )
    check(
        lambda: jf.Weibull(1e-6, value), "shape must be a number above 0.01, up to 1000", "Weibull"
    )


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "2", "101%", "one", None])
def test_bad_probabilities(value):
    check(
        lambda: jf.Bernoulli(value, 1e-6),
        "probability must be from 0 to 1, such as 0.01 or 1%, got ",
        "(in Bernoulli)",
    )
    check(lambda: jf.StepNoise("1us", value), "probability must be from 0 to 1", "(in StepNoise)")
    check(lambda: jf.MessageNoise("1us", value), "probability must be from 0", "(in MessageNoise)")


@pytest.mark.parametrize(
    "make",
    [
        lambda **cut: jf.Pareto("1us", 1.5, **cut),
        lambda **cut: jf.Pareto("1us", 0.01, **cut),
        lambda **cut: jf.Lognormal("1us", 4, **cut),
        lambda **cut: jf.Weibull("1us", 0.1, **cut),
    ],
)
def test_tails_that_are_too_long(make):
    check(make, "the rarest delay (of probability 2^-64) must be below 1.153e+06 s", "give longest")
    assert make(longest="1s").longest_ticks() == pytest.approx(10**12, rel=1e-7)
    check(lambda: make(longest="1us"), "longest must be above", "got 1e-06")
    check(lambda: make(longest=4e6), "the rarest delay", "got 4e+06 s")
    check(lambda: make(longest=0), "longest must be a time above 0")


def test_long_light_tails():
    check(lambda: jf.Exponential(1e5), "the rarest delay", "got 4.51e+06 s (in Exponential)")
    check(lambda: jf.Gamma(shape=1e6, scale=2.0), "the rarest delay", "(in Gamma)")
    with pytest.raises(TypeError, match=r"^Gamma\(\) takes .* Gamma\(shape=..., scale=...\)$"):
        jf.Gamma(2, "1us")
    check(lambda: jf.Constant(2e6), "the rarest delay", "(in Constant)")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({}, "one of samples, (low, high and count) and file, got none"),
        ({"samples": [1e-6], "file": "x"}, "got samples and file"),
        ({"low": [0], "high": [1]}, "got low and high"),
        ({"samples": [1e-6], "low": [0], "high": [1]}, "got samples and low and high"),
        ({"samples": []}, "samples must be a list of 1 to 10^7 values, got []"),
        ({"samples": 1e-6}, "samples must be a list"),
        ({"samples": "1us"}, "samples must be a list"),
        ({"samples": [1e-6, -1]}, "samples must be a time from 0"),
        ({"samples": [1e-6, 1e-13]}, "samples must be 0 or more than 0.5 ps"),
        ({"samples": np.zeros((2, 2))}, "samples must be a list"),
        ({"samples": [2e6]}, "the rarest delay"),
        ({"samples": [1e-6], "part": 0}, "part must be left out without a file"),
        ({"samples": [1e-6], "longest": 1}, "longest must be left out without a file"),
        ({"low": [0], "high": [1], "count": [0]}, "count must hold an event"),
        ({"low": [0], "high": [1], "count": [1, 2]}, "equally many, got 1, 1 and 2"),
        ({"low": [0], "high": [1], "count": [1.5]}, "count must be a list of integers"),
        ({"low": [1], "high": [1], "count": [1]}, "rising bins that do not overlap"),
        ({"low": [0, 1], "high": [2, 3], "count": [1, 1]}, "rising bins that do not overlap"),
        ({"file": ""}, "file must be the path of a file"),
        ({"file": 3}, "file must be the path of a file"),
        ({"file": "no/such.file"}, "file: no/such.file can not be read (No such file"),
        ({"file": "x", "sha256": "abc"}, "sha256 must be the 64 hex digits"),
    ],
)
def test_bad_events(options, part):
    check(lambda: jf.Empirical(**options), part)


def test_bad_arguments():
    x = jf.Exponential(1e-6)
    for q in (1.0, -0.1, "a", [0.5, 2]):
        check(lambda q=q: x.quantile(q), "q must be from 0 to below 1, got ")
    check(lambda: x.survival("a"), "t must be times in seconds, got 'a'")


def test_probabilities_are_shares():
    """As `jitterfly help syntax` says: 0.01 or 1%."""
    assert jf.Bernoulli("1%", "1us") == jf.Bernoulli(0.01, "1us")
    assert jf.StepNoise("1us", "100%").probability == 1
    noise = jf.Case(2, network="L=1us,o=0", noise="kind=message,delay=1us,probability=1%").noise[0]
    assert noise == jf.MessageNoise("1us", 0.01)
    assert jf.Noise.from_dict(noise.to_dict()) == noise


# --- as parts of studies


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")  # of bins to 3 s
@pytest.mark.parametrize("name", ALL)
def test_tables_of_values(name):
    x = ALL[name]
    again = jf.Distribution.from_dict(x.to_dict())
    assert again == x
    assert hash(again) == hash(x)
    assert again.integers() is x.integers()  # made once, whichever cell of a study asks
    assert again.table() is x.table()
    assert again.residual() is x.residual()
    noise = jf.StepNoise(delay=x.to_dict())
    assert noise == jf.StepNoise(delay=x)
    assert jf.Noise.from_dict(noise.to_dict()) == noise


def test_times_stand_for_distributions():
    assert jf.StepNoise("14us").delay == jf.Constant(14e-6)
    assert jf.MessageNoise(1e-6).delay == jf.Constant(1e-6)
    renewal = jf.RenewalNoise("1ms", "10us")
    assert (renewal.gap, renewal.duration) == (jf.Exponential(1e-3), jf.Constant(1e-5))
    for value in (None, -1, "junk", [1], True):
        check(lambda value=value: jf.StepNoise(value), "delay must be a time in seconds, or a dist")
    check(lambda: jf.StepNoise({"kind": "gama"}), "delay: kind must be one of", "mean 'gamma'")
    check(
        lambda: jf.StepNoise({"kind": "gamma"}),
        "delay: key 'shape' is missing; gamma needs shape, scale (in StepNoise)",
    )
    table = {"kind": "step", "delay": {"kind": "pareto", "scale": "1us", "shap": 2}}
    check(lambda: jf.Noise.from_dict(table), "noise: delay: unknown key 'shap'", "'shape'?")


def test_a_kept_hash_stays_in_its_process():
    """Hashes of text differ from process to process: workers get distributions without."""
    one = jf.Empirical(samples=["1us", "2us"])
    assert hash(one) == hash(jf.Empirical(samples=[1e-6, 2e-6]))
    sent = pickle.loads(pickle.dumps(one))
    assert sent == one
    assert "_hash" in vars(one)
    assert "_hash" not in vars(sent)


# --- mixtures


def test_a_mixture_is_that_of_scipy():
    """Tails far beyond what a sample shows, and the quantiles between."""
    parts = jf.Exponential("2us"), jf.Gamma(shape=3, scale="1us")
    x = jf.Mixture([3, 1], parts)
    t = np.geomspace(1e-9, 60e-6, 300)
    exact = 0.75 * stats.expon.sf(t, scale=2e-6) + 0.25 * stats.gamma.sf(t, 3, scale=1e-6)
    assert x.survival(t) == pytest.approx(exact, rel=1e-9)
    assert x.expected() == pytest.approx(0.75 * 2e-6 + 0.25 * 3e-6)
    q = np.linspace(0, 0.999, 50)
    assert 1 - x.survival(x.quantile(q)) == pytest.approx(q, abs=1e-12)
    u = np.ldexp(exact, 64)
    drawn = x.table().apply(u[u < 2.0**63].astype(np.uint64)) * 1e-12
    assert drawn == pytest.approx(t[u < 2.0**63], rel=1e-4)
    assert x.mean_ticks() == pytest.approx(1e12 * x.expected(), rel=1e-4)


@pytest.mark.parametrize("name", MIXTURES)
def test_tables_of_mixtures_are_the_sum_of_their_parts(name):
    x = MIXTURES[name]
    shares = np.array([float(share) for share in x.shares])
    u = uniforms()
    drawn = x.table().apply(u)
    lines = [part.integers().line() for part in x.distributions]

    def survival(t, side):
        """P(X > t), or P(X >= t)."""
        return sum(s * np.interp(t + side, line[0][::-1], line[1][::-1], left=1.0, right=0.0)
                   for s, line in zip(shares, lines, strict=True))  # fmt: skip

    level = np.ldexp(u.astype(np.float64), -64)
    # A uniform lies between the probabilities to be later, and not to be earlier, by a tick.
    assert (survival(drawn, 1) <= level * (1 + 1e-9) + 2.0**-31).all()
    assert (survival(drawn, -1) >= level * (1 - 1e-9) - 2.0**-31)[drawn > 0].all()
    assert x.mean_ticks() == pytest.approx(1e12 * x.expected(), rel=1e-3)


def test_a_mixture_with_chance_and_atoms():
    x = jf.Mixture([1, 3], [jf.Bernoulli(0.5, "10us"), jf.Bernoulli(0, "1us")])
    assert x.chance() == Fraction(1, 8)
    edge = 2**61
    assert x.table().apply(np.array([0, edge - 1, edge], dtype=np.uint64)).tolist() == [
        10**7, 10**7, 0,
    ]  # fmt: skip
    assert x.quantile([0, 0.87, 0.88]).tolist() == [0, 0, 1e-5]
    assert jf.Mixture([1], [jf.Constant(0)]).table().apply(uniforms()).max() == 0
    one = jf.Mixture([7], [jf.Exponential("3us")])
    u = uniforms()
    found, exact = one.table().apply(u), jf.Exponential("3us").table().apply(u)
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=2)
    assert pickle.loads(pickle.dumps(x)) == x
    assert jf.distributions.Distribution.from_dict(x.to_dict()) == x


@pytest.mark.parametrize(
    ("weights", "parts", "said"),
    [
        ([1], ["1us", "2us"], "weights and distributions must be equally many, got 1 and 2"),
        ([1, 0], ["1us", "2us"], "weights must be a number above 0, up to"),
        ([], [], "weights must be a list of 1 to 16"),
        ([1], ["x"], r"distributions\.0 must be a time in seconds, or a distribution"),
        (0.5, ["1us"], "weights must be a list"),
    ],
)
def test_bad_mixtures(weights, parts, said):
    with pytest.raises(ValueError, match=said):
        jf.Mixture(weights, parts)


# --- distributions of one's own


OWN = """
import io
from dataclasses import dataclass
import numpy as np
import jitterfly as jf
from jitterfly.distributions.distribution import DelayTable, Distribution
from jitterfly.studies import parse_study


@dataclass(frozen=True)
class Doubled(Distribution, kind="doubled"):
    of: Distribution
    name = property(lambda self: f"twice {self.of.name}")

    def expected(self):
        return 2 * self.of.expected()

    def survival(self, t):
        return self.of.survival(np.asarray(t) / 2)

    def quantile(self, q):
        return 2 * self.of.quantile(q)

    def make_table(self):
        of = self.of.integers()
        return DelayTable(of.kind, tuple(2 * array for array in of.arrays), of.last)


x = Doubled(jf.Exponential("1us"))
assert x.to_dict()["of"] == {"kind": "exponential", "mean": 1e-6}
assert Distribution.from_dict(x.to_dict()) == x
mixed = jf.Mixture([1, 1], [x, jf.Constant("1us")])
case = jf.Case(8, network=jf.LogGOPS(L="1us", o="200ns"), noise=[jf.StepNoise(mixed)])
study = jf.Study("own", case=case, budget=jf.RealizationBudget(max=20))
assert parse_study(study.to_toml()) == study
store = study.run(stream=io.StringIO())
ticks = store.ticks(store.cells[0], 20).values
np.testing.assert_array_equal(ticks, jf.simulate(case, realizations=20, seed=0).ticks)
"""


def test_a_field_may_be_a_distribution():
    """A study writes it as a table, and reads it again. Elsewhere: the kind would stay here."""
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Uniform(jf.distributions.Distribution):  # without a kind, so that no other test meets it
    low: float
    high: float
    name = "uniform"

    def expected(self):
        return (self.low + self.high) / 2

    def survival(self, t):
        width = self.high - self.low
        return np.clip((self.high - t) / width, 0, 1) if width else np.less(t, self.low) * 1.0

    def quantile(self, q):
        return self.low + np.asarray(q) * (self.high - self.low)

    def make_table(self):
        low, high = self.low * 1e12, self.high * 1e12
        return distribution.smooth(
            lambda p: high - p * (high - low), lambda p: low + p * (high - low)
        )


def test_a_table_that_does_not_rise():
    """It was made monotone silently, so that swapped bounds were a constant."""
    assert Uniform(1e-6, 3e-6).mean_ticks() == pytest.approx(2e6, rel=1e-6)
    assert Uniform(1e-6, 1e-6).mean_ticks() == 1e6
    swapped = jf.StepNoise(Uniform(3e-6, 1e-6))
    with pytest.raises(ValueError, match=r"got 1 µs after 3 µs: .* swapped\? \(in Uniform\)"):
        jf.simulate(jf.Case(8, network="L=1us,o=1us", noise=[swapped]), realizations=2)
    for low, high in [(np.nan, 1e-6), (-1e-6, 1e-6), (0, np.inf)]:
        with pytest.raises(ValueError, match=r"from 0 to below .*, and no NaN \(in Uniform\)"):
            Uniform(low, high).integers()


@dataclass(frozen=True)
class InSeconds(Uniform):
    """Its author thinks that a table is in seconds."""

    def make_table(self):
        return distribution.smooth(
            lambda p: self.high - p * (self.high - self.low),
            lambda p: self.low + p * (self.high - self.low),
        )


class OtherMean(Uniform):
    def expected(self):
        return 7e3


class HigherMean(Uniform):
    def expected(self):
        return super().expected() / 2


class GivesTheCDF(Uniform):
    def survival(self, t):
        return 1 - super().survival(t)


class NoArrays(Uniform):
    def expected(self):
        return self.low[0]


class OtherQuantile(Uniform):
    def quantile(self, q):
        return super().quantile(1 - np.asarray(q))


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (
            InSeconds,
            r"quantile.0.05. is 1.1 µs, and make_table has 0 s to 0 s there: a table is in tic",
        ),
        (OtherMean, r"the mean of make_table is 2 µs, and expected\(\) is 7000 s"),
        (HigherMean, r"the mean of make_table is 2 µs, and expected\(\) is 1 µs"),
        (GivesTheCDF, "survival is 0.763 beyond quantile.0.75., where 0.25 of all draws"),
        (
            OtherQuantile,
            r"quantile.0.05. is 2.9 µs, and make_table has 1.06 µs to 1.14 µs there \(in",
        ),
        (NoArrays, "quantile and survival must take arrays, .*: .* not subscriptable"),
    ],
)
def test_a_table_that_is_not_of_its_distribution(own, text):
    """It was taken, and with times that round to 0 ticks there was no noise at all."""
    with pytest.raises(ValueError, match=text):
        own(1e-6, 3e-6).integers()


@pytest.mark.parametrize(
    "own",
    [
        jf.Pareto(scale="1us", shape=1.02, longest="10s"),
        jf.Pareto(scale="1us", shape=0.9, longest="10s"),
        jf.Exponential("3us"),
        jf.Weibull(scale="1us", shape=0.3),
        jf.Lognormal(median="2us", sigma=2.5),
        jf.Gamma(shape=0.05, scale="1us"),
        jf.Constant("1us"),
        jf.Constant(0),
        jf.Bernoulli(0.5, "1us"),
        jf.Bernoulli(0.02, "1us"),
        jf.Empirical(samples=["1us", "2us"]),
        jf.Empirical(samples=["1us", "2us", "900us"]),
        jf.Empirical(low=[0, "1us"], high=["1us", "5us"], count=[3, 1]),
    ],
    ids=str,
)
def test_right_tables_are_taken(own):
    """Those of the package, as if a user had written them."""
    distribution._check_table(own.integers(), own)


def test_long_lists_are_cut_in_texts():
    """And where the text is a record, a digest tells one list from another."""
    long = jf.Empirical(samples=np.arange(100_000) * 1e-9)
    other = jf.Empirical(samples=np.arange(1, 100_001) * 1e-9)
    assert repr(long).startswith("Empirical(samples=(0.0, 1e-09, 2e-09, ... 100,000 in all), low=")
    short = jf.Empirical(samples=["1us"])
    assert repr(short).startswith("Empirical(samples=(1e-06,), low=None, ")
    cases = [jf.Case(4, network=jf.LogGOPS(L="1us", o="1us"), noise=[jf.StepNoise(x)])
             for x in (long, other)]  # fmt: skip
    results = [jf.simulate(case, realizations=3) for case in cases]
    assert len(repr(results[0])) < 600
    assert len(repr(cases[0])) < 1000
    pytest.importorskip("xarray")
    records = [result.to_xarray().attrs["case"] for result in results]
    assert max(map(len, records)) < 600
    assert '"samples": {"values": 100000, "sha256": "' in records[0]
    assert records[0] != records[1]
