"""Theory against exact arithmetic, closed forms and plain NumPy simulation; none of the engine.

False alarms: reference/chance.py. `test_recursion.py` has the engine against theory.
"""

from dataclasses import replace
from fractions import Fraction
from math import comb, factorial, log, sqrt

import numpy as np
import pytest
from reference.chance import FALSE_ALARM
from support.scale import crossed, scaled, some

import jitterfly as jf
from jitterfly.theory import Largest, Residual, StepModel, last_rank, one_rank
from jitterfly.theory.probability_laws import Bracket, Lattice, Mesh, convolve
from jitterfly.theory.recursion import CollectiveDelays, InputTree, RandomDelay

US = 1e-6
DELAYS = {
    "bernoulli": (jf.Bernoulli(0.1, "14us"), lambda rng, n: 14 * US * (rng.random(n) < 0.1)),
    "exponential": (jf.Exponential("10us"), lambda rng, n: rng.exponential(10 * US, n)),
    "pareto": (jf.Pareto("1us", 1.8), lambda rng, n: US * (1 - rng.random(n)) ** (-1 / 1.8)),
    "lognormal": (jf.Lognormal("1us", 2.0), lambda rng, n: US * np.exp(2 * rng.standard_normal(n))),
}


def simulate(rounds, both, transit, draw, at, count, seed):
    """The butterfly of docs/model.md with delays at each step, for all ranks; float seconds."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(2**rounds)
    ready = np.zeros((count, len(ranks)))
    for level in range(rounds):
        sent = ready + both + (draw(rng, ready.shape) if at == "send" else 0.0)
        ready = np.maximum(sent, sent[:, ranks ^ (1 << level)] + transit)
        if at == "receive":
            ready += draw(rng, ready.shape)
    return ready


@pytest.mark.parametrize("name", some(DELAYS, 2))
@pytest.mark.parametrize(("at", "transit"), crossed(["receive", "send"], [0.0, 1.7 * US]))
def test_recursion_against_simulation(name, at, transit):
    """Dvoretzky-Kiefer-Wolfowitz for one rank; Hoeffding at quantiles for the last."""
    delay, draw = DELAYS[name]
    rounds, each, count = 3, 3.45 * US, scaled(100_000)
    model = StepModel(rounds, each, delay, at=at, transit=transit)
    ready = simulate(rounds, each - transit, transit, draw, at, count, seed=1)

    one = one_rank(model, points=2**11)
    samples = np.sort(ready[:, 5])
    times = np.unique(samples.round(12))[:: 1 + count // 5000]
    found = np.searchsorted(samples, times + 0.2e-12, side="right") / count
    reach = sqrt(log(2 / FALSE_ALARM) / (2 * count))
    low, high = one.cdf_bounds(times)
    assert (low <= high).all()
    assert ((found > low - reach) & (found < high + reach)).all()
    assert np.abs(found - one.cdf(times)).max() < reach
    assert one.which == "one rank"

    latest = ready.max(axis=1)
    last = last_rank(model, points=2**9)
    times = np.quantile(latest, [0.01, 0.2, 0.5, 0.9, 0.99, 0.999]).round(12)
    found = np.array([(latest > t + 0.2e-12).mean() for t in times])
    low, high = last.survival_bounds(times)
    assert ((found > low - reach) & (found < high + reach)).all()
    assert last.which == "last rank"
    assert one.mean_bounds()[0] < last.mean_bounds()[0] < latest.mean() < last.mean_bounds()[1]


@pytest.mark.parametrize("at", ["receive", "send"])
@pytest.mark.parametrize("rounds", [1, 2, 6])
def test_bernoulli_is_exact(rounds, at):
    """Both tails against the recursion in rational arithmetic, in units of D.

    docs/model.md, "What theory says".
    """
    p = Fraction(1, 1000)
    values = [Fraction(1)] * (rounds + 1)

    def convolved(f):
        return [(1 - p) * f[m] + p * (f[m - 1] if m else 0) for m in range(rounds + 1)]

    for _ in range(rounds):
        if at == "receive":
            values = convolved([f * f for f in values])
        else:
            values = [f * f for f in convolved(values)]
    one = one_rank(StepModel(rounds, "2us", jf.Bernoulli(0.001, "1us"), at=at))
    times = (2 * rounds + np.arange(rounds + 1)) * US
    assert one.exact
    np.testing.assert_allclose(one.cdf(times), [float(f) for f in values], rtol=1e-14)
    beyond = [float(1 - f) for f in values]
    np.testing.assert_allclose(one.survival(times), beyond, rtol=1e-13)
    assert min(beyond[:-1]) < 1e-3**rounds * 2**rounds
    mean = 2 * rounds + sum(beyond)
    assert one.mean() == pytest.approx(mean * US, rel=1e-14)


def test_far_tails_of_many_rounds():
    """P(all delayed) and P(none delayed) of 2^60 ranks, where neither is a normal double."""
    p, rounds = 1e-9, 60
    law = InputTree(
        CollectiveDelays(rounds, receive=[RandomDelay(jf.Bernoulli(p, "1us"))]), None
    ).one
    assert law.log_cdf[0] == pytest.approx((2**rounds - 1) * np.log1p(-p), rel=1e-12)
    # All late along some path: one of 2^(K - 1), as two such paths are far rarer still.
    expected = rounds * log(p) + (rounds - 1) * log(2)
    assert law.log_survival[-2] == pytest.approx(expected, abs=1e-6)
    assert expected < -1000
    assert law.log_survival[-1] == -np.inf


class Disguised:
    """A Bernoulli delay that is not known to have two values."""

    def __init__(self, delay):
        self.delay = delay

    def __getattr__(self, name):
        if name in ("kind", "__setstate__"):
            raise AttributeError(name)
        return getattr(self.delay, name)


@pytest.mark.parametrize("at", ["receive", "send"])
def test_bounds_hold_where_the_answer_is_known(at):
    delay = jf.Bernoulli(0.01, "14us")
    exact = one_rank(StepModel(10, "3.45us", delay, at=at, transit="1.3us"))
    loose = one_rank(StepModel(10, "3.45us", Disguised(delay), at=at, transit="1.3us"), 2**8)
    assert (exact.exact, loose.exact, exact.gap) == (True, False, 0.0)
    times = np.linspace(0, 220 * US, 5003)
    low, high = loose.survival_bounds(times)
    true = exact.survival(times)
    assert ((low <= true * (1 + 1e-11)) & (true <= high * (1 + 1e-11))).all()
    assert loose.mean_bounds()[0] < exact.mean() < loose.mean_bounds()[1]
    assert loose.mean() == pytest.approx(exact.mean(), rel=5e-3)
    for q in (0.01, 0.5, 0.99, 1 - 1e-9):
        low, high = loose.quantile_bounds(q)
        assert low <= exact.quantile(q) <= high


def test_tail_of_a_sum_against_the_closed_form():
    """K = 2: the larger of two exponential delays and a third; down to 1e-16, in relative terms."""
    one = one_rank(StepModel(2, 0, jf.Exponential("10us")), points=2**13)
    x = np.array([0.0, 0.5, 3, 10, 20, 30, 40])
    exact = 2 * x * np.exp(-x) + np.exp(-2 * x)
    low, high = one.survival_bounds(x * 10 * US)
    assert ((low <= exact * (1 + 1e-9)) & (exact <= high * (1 + 1e-9))).all()
    np.testing.assert_allclose(one.survival(x * 10 * US)[1:], exact[1:], rtol=1e-4)
    assert ((high - low)[1:] / exact[1:] < 0.02).all()


def test_single_big_jump():
    """Heavy tails: P(T > t) / P(X > t) goes to the number of draws, 2^(K+1) - 2 or 2^K - 1."""
    delay = jf.Pareto("1us", 3)
    for at, draws in (("receive", 2**5 - 1), ("send", 2**6 - 2)):
        one = one_rank(StepModel(5, "0us", delay, at=at), points=2**10)
        far = one.isf(1e-14)
        assert one.survival(far) / delay.survival(far) == pytest.approx(draws, rel=3e-2)


def test_convolution_keeps_small_results():
    rng = np.random.default_rng(3)
    a = np.exp(-np.arange(3000) / 40.0) * rng.random(3000)
    b = np.exp(-np.arange(2500) / 30.0) * rng.random(2500)
    exact = np.convolve(a.astype(np.longdouble), b.astype(np.longdouble)).astype(float)
    found = convolve(a, b)
    kept = exact > 1e-300
    assert len(found) == len(exact)
    np.testing.assert_allclose(found[kept][:-5], exact[kept][:-5], rtol=1e-9)


@pytest.mark.parametrize("up", [False, True])
def test_sum_on_a_mesh(up):
    """Every pair of nodes goes to the node beside its sum, on the right side."""
    mesh = Mesh.to(20_000, 3, 2**8)
    rng = np.random.default_rng(4)
    nodes = mesh.nodes
    picked = [rng.choice(np.flatnonzero(nodes < 10_000), 300) for _ in range(2)]
    a, b = (np.bincount(p, minlength=len(nodes)) / 300 for p in picked)
    found, beyond = mesh.law_of_sum(a, b, up=up)
    assert beyond == 0
    assert found.sum() == pytest.approx(1, rel=1e-12)
    sums = np.add.outer(nodes[picked[0]], nodes[picked[1]]).ravel()
    share = np.searchsorted(np.sort(sums), nodes, side="right") / len(sums)
    cumulative = np.cumsum(found)
    assert ((cumulative <= share + 1e-12) if up else (cumulative >= share - 1e-12)).all()
    shifted = np.searchsorted(np.sort(sums), nodes * (1 - 3 / 2**7) - 3) / len(sums)
    if up:
        assert (cumulative >= shifted - 1e-12).all()


def test_lattice_and_bracket_agree_on_every_operation():
    part, other = RandomDelay(jf.Bernoulli(0.3, "5ps")), RandomDelay(jf.Constant("7ps"), 0.2)
    mesh = Mesh.to(200, 1, 2**8)
    exact, bracket = Lattice.at(), Bracket.at(mesh)
    for one in (part, other, part):
        exact = exact.plus(one)
        bracket = bracket.plus(Bracket.of(mesh, one))
    exact = exact.maximum(exact.later(3)).convolve(exact.largest_of(1000))
    bracket = bracket.maximum(bracket.later(3)).plus(bracket.largest_of(1000))
    ticks = np.arange(-1, 60)
    true = exact.survival(ticks)[0]
    for side in bracket.survival(ticks):  # one tick apart, nothing is rounded
        np.testing.assert_allclose(side, true, rtol=1e-8, atol=1e-9)
    assert (bracket.survival(ticks)[0] <= true * (1 + 1e-10)).all()
    assert (bracket.survival(ticks)[1] >= true * (1 - 1e-10)).all()
    np.testing.assert_allclose(bracket.mean(), exact.mean(), rtol=1e-8)


def test_last_rank_saturates():
    model = StepModel(12, "3.45us", jf.Bernoulli(1.0, "14us"))
    most = jf.theory.saturation(model)
    assert most == pytest.approx(209.4 * US)  # K (L + D)
    assert last_rank(model).mean_bounds() == pytest.approx((most, most))
    assert one_rank(model).mean() == pytest.approx(most)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"cycles": 2}, "cycles must be 1"),
        ({"algorithm": jf.Butterfly(copy_levels="all")}, "without redundant exchanges"),
        ({"algorithm": jf.Butterfly(exchanges_after=2)}, "without redundant exchanges"),
        ({"noise": [jf.PeriodicNoise("1ms", "1us")]}, "StepNoise and MessageNoise only"),
        ({"noise": [jf.StepNoise("1us", shared="machine")]}, "shared must be False"),
        ({"noise": [jf.StepNoise("1us", begin="1us")]}, "begin must be 0 and end None"),
    ],
)
def test_the_recursion_says_where_it_does_not_apply(changes, text):
    options = {"network": jf.Hockney("1us", 0), "noise": [jf.StepNoise("1us")], **changes}
    with pytest.raises(ValueError, match=text):
        one_rank(jf.Case(16, **options))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rounds": 63}, "rounds must be an integer from 0 to 62"),
        ({"delay": 3.0}, "delay must be a distribution"),
        ({"probability": 1.5}, "probability must be from 0 to 1"),
        ({"at": "both"}, "at must be one of 'receive', 'send'"),
        ({"transit": "2us"}, "transit must be at most round_time"),
    ],
)
def test_a_model_checks_itself(options, text):
    fields = {"rounds": 3, "round_time": "1us", "delay": jf.Constant("1us")} | options
    with pytest.raises(ValueError, match=text):
        StepModel(**fields)


def harmonic(count):
    return float(sum(Fraction(1, k) for k in range(1, count + 1)))


def test_largest_exponential():
    for count in (1, 2, 100):
        found = jf.theory.largest_exponential(count, "1s")
        assert found == pytest.approx(harmonic(count), rel=1e-14)
    n = 2**30
    expected = log(n) + np.euler_gamma + 1 / (2 * n) - 1 / (12 * n * n)
    assert jf.theory.largest_exponential(n, "1s") == pytest.approx(expected, rel=1e-14)


def test_largest_pareto():
    """Shape 2: Gamma(1/2) N! / Gamma(N + 1/2) = 4^N / C(2N, N); its series at N = 2^30."""
    for count in (1, 2, 100, 1000):
        expected = float(Fraction(4**count, comb(2 * count, count)))
        assert jf.theory.largest_pareto(count, "1s", 2) == pytest.approx(expected, rel=1e-12)
    n = 2**30
    expected = sqrt(np.pi * n) * (1 + 1 / (8 * n) + 1 / (128 * n * n))
    assert jf.theory.largest_pareto(n, "1s", 2) == pytest.approx(expected, rel=1e-12)
    assert jf.theory.largest_pareto(5, "1s", 1) == np.inf
    assert factorial(3) / (2 / 3 * 5 / 3 * 8 / 3) == pytest.approx(
        jf.theory.largest_pareto(3, "1s", 3), rel=1e-14
    )


def test_largest_bernoulli():
    assert jf.theory.largest_bernoulli(2**30, 1e-18, "1s") == pytest.approx(2**30 * 1e-18, rel=1e-8)
    assert jf.theory.largest_bernoulli(3, 0.5, "1s") == 0.875
    assert jf.theory.largest_bernoulli(3, 1, "1s") == 1


LARGEST = {
    "exponential": jf.Exponential("1us"),
    "pareto": jf.Pareto("1us", 2.5),
    "bernoulli": jf.Bernoulli(1e-4, "1us"),
    "residual": Residual("1ms", "10us"),
    "gamma": jf.Gamma(shape=2.0, scale="1us"),
}


@pytest.mark.parametrize("name", LARGEST)
@pytest.mark.parametrize("count", [1, 1000, 2**30])
def test_the_largest_as_a_distribution(name, count):
    largest = Largest(count, LARGEST[name])
    shares = np.array([0.9, 0.5, 1e-3, 1e-9])
    times = largest.isf(shares)
    half = 0.5e-12  # a tick: delays are rounded to whole ones
    assert (largest.survival(times + half) <= shares).all()
    assert (largest.survival(times - half) > shares).all()
    np.testing.assert_allclose(largest.quantile([0.1, 0.5]), times[:2], atol=2e-12, rtol=1e-9)
    np.testing.assert_allclose(largest.cdf(times), 1 - largest.survival(times), atol=1e-15)
    one = LARGEST[name].survival(times)
    np.testing.assert_allclose(largest.survival(times), -np.expm1(count * np.log1p(-one)))
    # The mean is the integral of the survival function, here on a grid in log t.
    grid = np.concatenate([[0.0], np.geomspace(1e-12, 1e6, 400_001)])
    survival = largest.survival(grid)
    rough = np.sum(np.diff(grid) * (survival[1:] + survival[:-1]) / 2)
    assert largest.mean() == pytest.approx(rough, rel=2e-4)


def test_the_largest_of_delays_with_a_probability():
    thin = Largest(5, jf.Exponential("1us"), probability=0.25)
    expected = sum(comb(5, k) * 0.25**k * 0.75 ** (5 - k) * harmonic(k) for k in range(1, 6))
    assert thin.mean() == pytest.approx(expected * US, rel=1e-4)
    assert thin.quantile(0.75**5 / 2) == 0
    assert thin.survival(0.0) == pytest.approx(1 - 0.75**5)
    assert Largest(5, jf.Exponential("1us"), probability=0).mean() == 0


def gap_simulation(rounds, network, size):
    """A rank's sends begin when its data is there and g + (n - 1) G after its last one began."""
    stream = network.G * (size - 1)
    ready, before = 0.0, -np.inf
    for _ in range(rounds):
        begin = max(ready, before + network.g + stream)
        before = begin
        ready = begin + 2 * network.o + network.L + stream + network.gamma * size
    return ready


@pytest.mark.parametrize("gap", [0.0, 0.4 * US, 5 * US])
@pytest.mark.parametrize("rounds", [0, 1, 7])
@pytest.mark.parametrize("size", [1, 900])
def test_loggp(gap, rounds, size):
    network = jf.LogGOPS(L="1us", o="0.2us", g=gap, G="2ns", gamma="1ns")
    found = jf.theory.loggp_completion(network, 2**rounds, size)
    assert found == pytest.approx(gap_simulation(rounds, network, size), rel=1e-12)
    if gap < US:
        case = jf.Case(2**rounds, network=network, message_bytes=size)
        assert found == jf.theory.noise_free_completion(case)


def test_loggp_refuses():
    with pytest.raises(ValueError, match="O must be 0"):
        jf.theory.loggp_completion(jf.LogGOPS("1us", "1us", O="1ns"), 8)
    with pytest.raises(ValueError, match="network must be a LogGOPS"):
        jf.theory.loggp_completion(jf.Hockney("1us", 0), 8)


LOGGOPS = jf.LogGOPS(L="1us", o="1ns")
STATIONARY = jf.PeriodicNoise("1ms", "10us", start="stationary")


def bound(*noise, ranks=1024):
    case = jf.Case(ranks, network=LOGGOPS, noise=noise)
    return jf.theory.completion_bound(case) - jf.theory.noise_free_completion(case)


def test_other_noise_leaves_the_bound():
    alone = bound(STATIONARY)
    assert alone == jf.theory.largest_residual(1024, "1ms", "10us")
    others = jf.StepNoise("1us", probability=0.1), jf.NetworkJitter("1ms", "1us")
    assert bound(*others, STATIONARY) == pytest.approx(alone, rel=1e-14)
    fresh = jf.PeriodicNoise("1ms", "90us")
    assert bound(fresh, STATIONARY) == pytest.approx(alone, rel=1e-14)
    with pytest.raises(ValueError, match="start must be 'stationary'"):
        bound(fresh)
    late = jf.PeriodicNoise("1ms", "10us", start="stationary", begin="1us")
    with pytest.raises(ValueError, match="begin must be 0 and end None"):
        bound(late)


def test_the_bound_of_noise_that_is_shared_by_a_level_is_refused_in_words():
    """On a machine of levels there is no closed form, and a level alone has no number of ranks."""
    noise = jf.PeriodicNoise("1ms", "10us", start="stationary", shared="node")
    machine = jf.Hierarchy([(8, "L=200ns,o=50ns"), "L=1us,o=1us"])
    case = jf.Case(64, network=machine, algorithm=jf.DisseminationBarrier(), noise=[noise])
    with pytest.raises(ValueError, match="network must have one level for this closed form"):
        jf.theory.completion_bound(case)
    with pytest.raises(ValueError, match=r"shared must be .* got 'node': how many ranks a level"):
        noise.node_ranks(64)


@pytest.mark.parametrize(
    ("shared", "nodes"), [(16, 64), (48, 22), (1000, 2), (1024, 1), ("machine", 1)]
)
def test_the_bound_counts_nodes_that_are_partly_filled(shared, nodes):
    """Their ranks wait as those of the others do: 1024 ranks are 22 nodes of up to 48."""
    found = bound(replace(STATIONARY, shared=shared))
    expected = jf.theory.largest_residual(nodes, "1ms", "10us")
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_bound_of_several_periodic_sources():
    """Against a simulation of the residuals; two sources alike are one of twice the ranks."""
    assert bound(STATIONARY, STATIONARY) == pytest.approx(bound(STATIONARY, ranks=2048), rel=1e-10)
    rare = jf.PeriodicNoise("1s", "300us", start="stationary")
    node = jf.PeriodicNoise("3ms", "40us", start="stationary", shared=16)
    rng = np.random.default_rng(5)
    count = 20_000
    largest = np.zeros(count)
    for number, source in ((1024, STATIONARY), (1024, rare), (64, node)):
        share = 1 - rng.random(count) ** (1 / number)  # the smallest of so many uniform numbers
        largest = np.maximum(largest, source.duration - share * source.period)
    reach = 300 * US * sqrt(log(2 / FALSE_ALARM) / (2 * count))
    assert abs(largest.mean() - bound(STATIONARY, rare, node)) < reach
