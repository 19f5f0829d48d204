"""How often intervals of `predict` hold the truth, on simulated machines whose noise is known.

    python tests/support/predict_coverage.py [CASES [RANKS TO ITERATIONS]]

prints it for each kind of noise: 10 cases of 20,000 iterations on 512 ranks, for 2,048 ranks, take
about ten minutes of a core. The last column counts the cases in which `predict` says all that the
times do not determine.
"""

import sys

import numpy as np

import jitterfly as jf
from jitterfly import Exponential, Lognormal, Mixture, Pareto, RenewalNoise, Weibull
from jitterfly.predict import NEAR

NETWORK = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
ALGORITHM = "recursive_doubling_allreduce"
QUANTILES = (0.5, 0.9, 0.99)


def case_of(ranks, noise=()):
    algorithm = jf.RecursiveDoublingAllreduce()
    return jf.Case(ranks, algorithm=algorithm, network=NETWORK, noise=noise, message_bytes=32)


def machines(ranks):
    """Kinds of noise, with how many detours begin in an iteration on so many ranks."""
    quiet = float(jf.simulate(case_of(ranks), 1).noise_free[-1])

    def renewal(hits, duration, **options):
        return RenewalNoise(gap=ranks * quiet / hits, duration=duration, **options)

    tick = jf.PeriodicNoise(period="4ms", duration="3us", start="stationary")
    often = jf.PeriodicNoise(period="1ms", duration="4us", start="stationary")
    two = Mixture([0.9, 0.1], [Exponential("2us"), jf.Constant("80us")])
    running = {"start": "stationary"}
    return {
        "rare, exponential": [renewal(0.05, Exponential("20us"))],
        "frequent, exponential": [renewal(3, Exponential("5us"))],
        "constant": [renewal(0.3, "25us")],
        "timer tick": [often],
        "timer tick and daemon": [tick, renewal(0.02, Lognormal(median="100us", sigma=1))],
        "lognormal": [renewal(0.1, Lognormal(median="10us", sigma=1.5))],
        "Pareto": [renewal(0.1, Pareto(scale="3us", shape=2.5))],
        "Weibull, running": [renewal(0.5, Weibull(scale="10us", shape=0.6), **running)],
        "two durations": [renewal(0.5, two)],
        "shared by 8 ranks": [renewal(0.2, Exponential("30us"), shared=8)],
        "messages": [jf.MessageNoise(Exponential("10us"), probability=2e-5)],
        "exponential, running": [renewal(0.05, Exponential("40us"), **running)],
    }


def numbers(times):
    """The mean and some quantiles."""
    return [times.mean(), *(np.quantile(times, q, method="inverted_cdf") for q in QUANTILES)]


def said(found):
    """Whether it says what the times do not determine, and which numbers they tell badly."""
    rows = {row.what: row.predicted for row in found.rows}
    expected = {"cpu_or_network"}
    if any(np.isinf(one.high) for one in rows.values()):
        expected.add("few_iterations")
    finite = [(what, rows[what]) for what in NEAR if np.isfinite(rows[what].high)]
    if any(max(one.value - one.low, one.high - one.value) > NEAR[what] * one.value
           for what, one in finite):  # fmt: skip
        expected.add("wide_intervals")
    return expected <= {note.code for note in found.notes()}


def covered(noise, cases, ranks, to, iterations, truth=100_000):
    """Whether each number's interval holds the truth, and whether what is not known is said.

    Shape (cases, numbers + 1).
    """
    start = getattr(noise[-1], "start", "fresh")
    true = numbers(jf.simulate(case_of(to, noise), truth, seed=2**40, threads=1).samples[:, -1])
    held = []
    for i in range(cases):
        times = jf.simulate(case_of(ranks, noise), iterations, seed=1 + i, threads=1).samples[:, -1]
        found = jf.predict(
            times, ranks, to=to, network=NETWORK, algorithm=ALGORITHM, message_bytes=32,
            base="network", start=start, realizations=iterations, seed=i, threads=1,
        )  # fmt: skip
        rows = [row.predicted for row in found.rows[: len(true)]]
        # All times are whole ticks.
        inside = [one.low - 5e-13 <= value <= one.high + 5e-13
                  for one, value in zip(rows, true, strict=True)]  # fmt: skip
        held.append([*inside, said(found)])
    return np.array(held)


def main(cases=10, ranks=512, to=2048, iterations=20_000):
    print(f"{'noise':24s}  mean   p50   p90   p99  said")
    every = []
    for name, noise in machines(ranks).items():
        held = covered(noise, cases, ranks, to, iterations)
        every.append(held)
        print(f"{name:24s}", *(f"{share:5.0%}" for share in held.mean(axis=0)), flush=True)
    print(f"{'all':24s}", *(f"{share:5.1%}" for share in np.concatenate(every).mean(axis=0)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
