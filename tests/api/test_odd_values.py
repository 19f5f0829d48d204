"""Any value for any parameter of the public interface: it works, or one error names the parameter.

What a parameter is called may stand in its message in the singular, as a field of a table may.
"""

import numpy as np
import pytest

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import _core, imbalance, program, stats, theory
from jitterfly.measured.measurements import LogGPTable
from jitterfly.units import to_ticks

NETWORK = jf.LogGOPS(L="1us", o="100ns")
NOISE = [jf.StepNoise("1us", probability=0.5)]
CASE = jf.Case(4, network=NETWORK, noise=NOISE)
TREE = jc.FatTree.of(144)
QUICK = {"seed": 0, "backend": "cpu", "threads": 1}

ODD = [
    5, -1, 0, None, "", "abc", float("inf"), float("-inf"), float("nan"), 2**62, 2**63, 2**64,
    10**400, -(10**400), "1e999", "1e999%", "1e999 %", "inf%", "nan", "1e999us", [], {}, True,
    object(), b"x", [None], ["x"], [5], [10**400], [float("nan")], 1j, np.array([1, 2]),
    np.float64("nan"), (1, 2, 3), {"a": 1}, np.datetime64("2020"), "2^999", "2^99999999",
]  # fmt: skip


def given(**options):
    """Options by name."""
    return options


CALLS = {
    "Case": (jf.Case, given(
        ranks=4, algorithm=jf.RingAllreduce(), network=NETWORK, noise=NOISE, message_bytes=8,
        cycles=2, compute_time=0, observe="completion", arrival=None, speed=None)),
    "simulate": (lambda **k: jf.simulate(CASE, **k), QUICK | given(
        realizations=3, first_realization=0)),
    "ready_times": (lambda **k: jf.ready_times(CASE, **k), given(seed=0, realization=0)),
    "explain": (lambda **k: jf.explain(CASE, **k), given(realizations=3, seed=0, threads=1)),
    "advise": (jf.advise, QUICK | given(
        ranks=4, network=NETWORK, noise=NOISE, collective="allreduce", message_bytes=8,
        statistic="mean", within=0.5, confidence=0.95, candidates=["ring_allreduce", "butterfly"],
        own=None, cycles=1, compute_time=0.0, realizations=50, seconds=None)),
    "slowdown": (jf.slowdown, QUICK | given(
        noise=NOISE, ranks=4, network=NETWORK, algorithm=None, message_bytes=8, cycles=1,
        compute_time=0.0, realizations=50, confidence=0.95, resamples=0)),
    "noise_limit": (jf.noise_limit, QUICK | given(
        noise="kind=periodic,period=10ms,duration=max", ranks=4, at_most=1.5, network=NETWORK,
        compute_time="1us", realizations=50, confidence=0.95)),
    "compare_measured": (lambda **k: jf.compare_measured([1e-5, 2e-5], CASE, **k), QUICK | given(
        unit="s", collective=None, ranks=None, message_bytes=None, iterations=None,
        realizations=50, confidence=0.95)),
    "Hockney": (jf.Hockney, given(alpha="1us", beta="1ns", gamma=0)),
    "LogGOPS": (jf.LogGOPS, given(L="1us", o="1us", g=0, G=0, O=0, S=None, gamma=0)),
    "Hierarchy": (jf.Hierarchy, given(levels=[(2, NETWORK), NETWORK], placement="block")),
    "PeriodicNoise": (jf.PeriodicNoise, given(
        period="1ms", duration="1us", phases=None, during="all", begin=0, end=None, shared=False)),
    "RenewalNoise": (jf.RenewalNoise, given(gap="1ms", duration="1us", begin=0, shared=False)),
    "StepNoise": (jf.StepNoise, given(
        delay="1us", probability=0.5, at="receive", shared=False, during="all", end=None)),
    "NetworkJitter": (jf.NetworkJitter, given(period="1ms", duration="1us", shared=False)),
    "LateArrival": (jf.LateArrival, given(delay="1us", probability=0.5, each="cycle")),
    "SpeedNoise": (jf.SpeedNoise, given(factor=1.5, probability=0.5, shared=False)),
    "Congestion": (jf.Congestion, given(network=TREE, ratio=0.5, perturbation="rand")),
    "Empirical": (jf.Empirical, given(samples=[1e-6])),
    "Mixture": (jf.Mixture, given(weights=[1], distributions=[jf.Exponential("1us")])),
    "Target": (lambda **k: jf.Target("mean", "x", **k), given(relative=0.01, confidence=0.95)),
    "RealizationBudget": (jf.RealizationBudget, given(max=10, min=2, rank_rounds=1e9)),
    "mean": (stats.mean, given(
        samples=[1.0, 2.0], confidence=0.95, lower_bound=None, noise_free=None)),
    "quantile": (stats.quantile, given(samples=[1.0, 2.0], q=0.5, confidence=0.95)),
    "realizations_needed": (stats.realizations_needed, given(q=0.5, confidence=0.95)),
    "Largest": (theory.Largest, given(count=5, delay=jf.Exponential("1us"), probability=0.5)),
    "FatTree": (jc.FatTree, given(m=(2, 2), w=(1, 2), p=None, routing="d-mod-k", salt=0)),
    "FatTree.of": (jc.FatTree.of, given(hosts=144)),
    "CongestionCase": (lambda **k: jc.CongestionCase(TREE, **k), given(
        pattern="tree", perturbation="rand", ratio=0.5, rule="orcs", ranks=8)),
    "GivenArrival": (imbalance.GivenArrival, given(times=[0, 1e-6])),
    "GivenSpeed": (imbalance.GivenSpeed, given(factors=[1, 2])),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_odd_values_are_errors_that_name_the_parameter(call):
    made, good = CALLS[call]
    made(**good)
    for name in good:
        for value in ODD:
            try:
                made(**good | {name: value})
            except ValueError as error:
                said = str(error)
                assert name.rstrip("s") in said, f"{name} = {value!r}: {said}"
            except Exception as error:
                pytest.fail(f"{name} = {value!r}: {type(error).__name__}: {error}")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("mean of x ± 1e999 %", "width must be finite, got 1e999 %"),
        ("mean of x ± 1e999", "width must be finite, got 1e999"),
        ("mean of x ± 1 % at 1e999 %", "confidence must be above 0 % and below 100 %"),
    ],
)
def test_targets_beyond_all_floats(text, rule):
    with pytest.raises(ValueError, match=rule):
        jf.Target.parse(text)


@pytest.mark.parametrize("noise", [[], [jf.SpeedNoise(1.5)], [jf.NetworkJitter("1ms", "1us")]])
def test_one_rank_exchanges_nothing_of_any_size(noise):
    """What a message would cost does not count, nor is it given to the engine."""
    network = jf.LogGOPS(L="1us", o="1us", G="1ns", gamma="1ns")
    case = jf.Case(1, network=network, message_bytes=2**62, noise=noise, compute_time="1us")
    speed = 1.5 if noise and noise[0].kind == "speed" else 1
    assert jf.simulate(case, 2).samples.tolist() == [[1e-6 * speed]] * 2
    assert jf.explain(case, 2).ticks.max() == 1e6 * (speed - 1)


def test_advice_for_one_rank_with_messages_of_any_size():
    network = jf.LogGOPS(L="1us", o="1us", gamma="1ns")
    assert jf.advise(1, network=network, message_bytes=2**62).cells


TIMES = [2500.000000000001, 9999.123456789013, 1e5 + 1e-10, 4e5 / 3, 12345.678901234567]


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@pytest.mark.parametrize("reader", ["phases", "offset", "starts", "durations", "arrival"])
def test_long_times_in_arrays_are_those_of_numbers(reader):
    """To the picosecond, also where floats are further apart than half of one."""
    expected = [to_ticks(time) for time in TIMES]
    if reader == "phases":
        case = jf.Case(5, network=NETWORK, noise=[jf.PeriodicNoise("5e5s", "1us", phases=TIMES)])
        found = _core.phases(program.compile_case(case), 0, 0, 0).tolist()
    elif reader == "arrival":
        found = imbalance.GivenArrival(TIMES).delays(5, 1)[0].tolist()
    elif reader == "offset":
        trace = jf.TraceNoise(starts=[0.0], durations=[1e-6], length="5e5s", offset=TIMES)
        found = trace.offsets(5).tolist()
    elif reader == "starts":
        one = jf.TraceNoise(starts=sorted(TIMES), durations=[1e-6] * 5, length="5e5s")
        found, expected = one.replayed()[0].starts.tolist(), sorted(expected)
    else:
        one = jf.TraceNoise(starts=2e5 * np.arange(5), durations=TIMES, length="1e6s")
        [trace] = one.replayed()
        found = (trace.ends - trace.starts).tolist()
    assert found == expected


def test_classes_with_arrays_are_equal_as_their_numbers_are():
    """As Python has it, -0 is 0; NaN, which stands for what is not known, is NaN."""

    def table(gap):
        return LogGPTable([1, 2], [1e-6] * 2, [1e-7] * 2, [1e-7] * 2, [gap, 1e-9], [gap, 1e-9])

    assert table(0.0) == table(-0.0)
    assert hash(table(0.0)) == hash(table(-0.0))
    assert table(np.nan) == table(np.nan)
    assert table(0.0) != table(1e-9)
