"""Validation of cases, networks, algorithms and noise: one ValueError that names the field."""

import math
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import jitterfly as jf
from jitterfly import resources
from jitterfly.backends import check_backend
from jitterfly.program import row_labels
from jitterfly.simulate import noise_phases
from jitterfly.units import parse_seconds, show_ticks, to_ticks

# The limits of times are tried in whole seconds, without units.
pytestmark = pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")

HOCKNEY = jf.Hockney(alpha=1e-6, beta=1e-9, gamma=1e-10)
LOGGOPS = jf.LogGOPS(L=1e-6, o=1e-9, G=1e-9, gamma=1e-10)


def case(**changes):
    return jf.Case(**{"ranks": 16, "network": HOCKNEY} | changes)


def butterfly(ranks=16, **options):
    return case(ranks=ranks, algorithm=jf.Butterfly(**options))


def noisy(**options):
    return case(noise=[jf.PeriodicNoise(**{"period": 1e-3, "duration": 1e-5} | options)])


def jittery(**options):
    return case(noise=[jf.NetworkJitter(**{"period": 1e-3, "duration": 1e-5} | options)])


def check(make, *parts):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the parts are what is matched)
        make()
    message = str(caught.value)
    assert message.startswith(parts[0]), message
    for part in parts[1:]:
        assert part in message
    assert "\n" not in message
    assert len(message) < 800  # which all kinds of algorithms take


JUNK = [math.nan, math.inf, -1, True, "junk", None, [1], 1.5]
DIGITS = pytest.param(10**5000, id="many digits")  # more than Python prints
LONG = [np.zeros(1000), "x" * 500, list(range(1000)), DIGITS]


@pytest.mark.parametrize("value", [0, -4, 2**30 + 1, 4.0, *JUNK, *LONG])
def test_ranks(value):
    check(lambda: case(ranks=value), "ranks must be an integer from 1 to 2^30", "got ")


@pytest.mark.parametrize("value", [-1, *JUNK])
def test_message_bytes(value):
    check(lambda: case(message_bytes=value), "message_bytes must be an integer from 0 to 2^62")


@pytest.mark.parametrize("value", [0, 100_001, *JUNK])
def test_cycles(value):
    check(lambda: case(cycles=value), "cycles must be an integer from 1 to 100000", "got ")


TIMES = {
    "compute_time": lambda x: case(compute_time=x),
    "alpha": lambda x: jf.Hockney(alpha=x, beta=0),
    "beta": lambda x: jf.Hockney(alpha=0, beta=x),
    "gamma": lambda x: jf.Hockney(alpha=0, beta=0, gamma=x),
    "L": lambda x: jf.LogGOPS(L=x, o=0),
    "o": lambda x: jf.LogGOPS(L=0, o=x),
    "g": lambda x: jf.LogGOPS(L=0, o=0, g=x),
    "G": lambda x: jf.LogGOPS(L=0, o=0, G=x),
    "O": lambda x: jf.LogGOPS(L=0, o=0, O=x),
    "duration": lambda x: noisy(duration=x),
    "forward_cost": lambda x: jf.Butterfly(exchanges_after=1, forward_cost=x),
}


@pytest.mark.parametrize("field", TIMES)
@pytest.mark.parametrize("value", [math.nan, math.inf, -1e-6, True, "10 parsecs", None, 1e9, *LONG])
def test_times(field, value):
    check(lambda: TIMES[field](value), f"{field} must be a time from 0 to 4.61e+06 s", "got ")


@pytest.mark.parametrize("make", [noisy, jittery])
@pytest.mark.parametrize("value", [math.nan, 0, -1e-6, True, "x"])
def test_periods(make, value):
    check(lambda: make(period=value), "period must be a time above 0", "got ", "(in ")


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: case(network=jf.Hockney(1e-13, 0)), "alpha + beta * message_bytes"),
        (lambda: case(network=jf.Hockney(1, 0, 1e-14)), "gamma * message_bytes"),
        (lambda: case(network=jf.LogGOPS(1e-13, 0)), "L + (message_bytes - 1) * G"),
        (lambda: case(network=jf.LogGOPS(1, 1e-13)), "o + O * message_bytes"),
        (lambda: case(network=jf.LogGOPS(1, 1, g=1e-13)), "g"),
        (lambda: case(compute_time=1e-13), "compute_time"),
        (lambda: noisy(duration=1e-13), "duration"),
        (lambda: jittery(duration=1e-13), "duration"),
        (lambda: jf.Butterfly(exchanges_after=1, forward_cost=1e-13), "forward_cost"),
    ],
)
def test_positive_times_of_no_ticks(make, field):
    check(make, f"{field} must be 0 or more than 0.5 ps", "got ")


@pytest.mark.parametrize("make", [noisy, jittery])
def test_period_of_no_ticks(make):
    rule = "period must be more than 0.5 ps"  # and not "0 or more", since 0 is refused too
    check(lambda: make(period=1e-13, duration=0), rule, "got 1e-13 s")


@pytest.mark.parametrize("value", [1e-3, 2e-3, "1.0 ms", 0.99999999999e-3])
def test_duration_not_below_period(value):
    check(lambda: noisy(duration=value), "duration must be shorter than period = 1 ms")


@pytest.mark.parametrize("value", ["Fresh", "", None, 1, True])
def test_start(value):
    check(lambda: noisy(start=value), "start must be one of 'fresh', 'stationary', got ")


@pytest.mark.parametrize("value", ["comm", None, 0])
def test_during(value):
    check(lambda: noisy(during=value), "during must be one of 'all', 'compute', 'communication'")
    check(lambda: jittery(during=value), "during must be one of 'all', 'communication'")


@pytest.mark.parametrize("value", [True, 0, -2, "2 nodes", "level 8", 1.5, 3.0, None, 2**30 + 1])
def test_shared(value):
    rule = "shared must be False, 'machine' or the ranks per node, from 1 to 2^30, got "
    check(lambda: noisy(shared=value), rule)


@pytest.mark.parametrize("value", ["nodes", "machines", "Machine", "rack"])
def test_shared_by_a_level_that_is_not_there(value):
    rule = "on a network of one level it must be False, 'machine' or the ranks per node"
    told = f"noise[0]: shared = {value!r} is a level of a Hierarchy; {rule}"
    check(lambda: noisy(shared=value), told)


@pytest.mark.parametrize(
    "phases",
    [
        np.full(16, 1e-3),
        np.full(16, -1e-9),
        np.full(16, np.nan),
        np.zeros((4, 4)),
        np.zeros(16, dtype=bool),
        ["a"] * 16,
        3.0,
        [[0], [1, 2]],
        "x" * 500,
        np.full(16, 0.9999999999999e-3),
    ],
)
def test_phases(phases):
    check(lambda: noisy(phases=phases), "phases must be an array of times from 0 to below period")


@pytest.mark.parametrize("value", [-1, 31, *JUNK, *LONG])
def test_after(value):
    rule = "exchanges_after must be 'all' or an integer from 0 to 30 (K for 2^K ranks), got "
    check(lambda: jf.Butterfly(exchanges_after=value), rule)


@pytest.mark.parametrize("kind", ["Ring", "Rabenseifner", "RecursiveDoubling", "ReduceBroadcast"])
def test_after_of_any_allreduce(kind):
    make = getattr(jf, f"{kind}Allreduce")
    rule = "exchanges_after must be 'all' or an integer from 0 to"
    check(lambda: make(exchanges_after="some"), f"{rule} 30", "got ")
    check(lambda: make(forward_cost="1us"), "forward_cost must be 0 when exchanges_after is 0")
    check(lambda: case(ranks=9, algorithm=make(exchanges_after=5)), f"{rule} 4", "got 5")
    case(ranks=9, algorithm=make(exchanges_after=4))
    network = jf.LogGOPS(L="1us", o="1ns", g="1us")
    check(
        lambda: case(network=network, algorithm=make(exchanges_after=2)),
        "g must be from 0 to 0 s here",
    )
    check(
        lambda: case(network=network, algorithm=make(exchanges_after=1)),
        "g must be from 0 to 1 ns here",
    )
    case(network=network, algorithm=make())


@pytest.mark.parametrize("value", [1, 2**30 + 1, *JUNK])
def test_radix(value):
    rule = "radix must be an integer from 2 to 2^30, got "
    check(lambda: jf.KnomialBroadcast(value), rule)
    check(lambda: jf.KnomialReduce(radix=value), rule)


@pytest.mark.parametrize("value", [0, -1, 2**62 + 1, "8 bits", None, float("nan")])
def test_segment_bytes(value):
    rule = "segment_bytes must be an integer from 1 to 2^62"
    check(lambda: jf.ChainBroadcast(value), rule)
    check(lambda: jf.BinaryTreeBroadcast(value), rule)
    check(lambda: jf.SegmentedRingAllreduce(segment_bytes=value), rule)
    check(lambda: jf.DoubleBinaryTreeAllreduce(segment_bytes=value), rule)
    assert jf.ChainBroadcast("8KiB") == jf.ChainBroadcast(8192) == jf.ChainBroadcast()


def test_too_many_messages_to_number():
    """Draws are numbered with 31 bits; the longest ring of one cycle just has as many."""
    ring = jf.RingAllreduce()
    case(ranks=2**30, algorithm=ring)
    rule = "cycles must be from 1 to 1 for RingAllreduce on 1073741824 ranks"
    check(lambda: case(ranks=2**30, algorithm=ring, cycles=2), rule, "got 2")


def test_nodes_and_phases_of_other_numbers_of_ranks():
    def made(**options):
        return case(ranks=6, noise=[jf.PeriodicNoise(period=1e-3, duration=1e-5, **options)])

    check(lambda: made(phases=np.zeros(8)), "phases must have shape (6,)", "got (8,)")
    for shared in (4, 5, 6, 48, "machine"):
        made(shared=shared)
    made(phases=np.zeros(6))


def test_jitter_of_the_longest_message():
    """A period that suits a block of a vector does not suit the vector."""
    noise = [jf.NetworkJitter(period="2ns", duration="1ns")]
    long = {"message_bytes": 4096, "noise": noise}
    check(lambda: case(algorithm=jf.Butterfly(), **long), "period must be at least 5.096e-09 s")
    case(algorithm=jf.RingAllreduce(), **long)


def test_rendezvous_is_of_messages_not_of_vectors():
    network = jf.LogGOPS(L="1us", o="1ns", S=256)
    check(lambda: case(network=network, message_bytes=4096), "S must be None or at least")
    blocks = case(network=network, message_bytes=4096, algorithm=jf.RingAllreduce(), noise=[
        jf.StepNoise(delay="1us")
    ])  # fmt: skip
    assert jf.simulate(blocks, 3).samples.shape == (3, 1)
    jf.Study("x", case=blocks, budget=jf.RealizationBudget(max=1))
    forwarded = jf.RingAllreduce(exchanges_after=1)  # of the whole vector
    rule = "S must be None or at least message_bytes = 4096"
    check(lambda: case(network=network, message_bytes=4096, algorithm=forwarded), rule)


@pytest.mark.parametrize(
    "value", ["every", 3, [2, 2], True, {2: 1}, b"\x01", np.array(3), "x" * 500, DIGITS, 1.5]
)
def test_within(value):
    check(lambda: jf.Butterfly(copy_levels=value), "copy_levels must be 'all', a list of distinct")


@pytest.mark.parametrize("value", [0, -1, 30, True, 1.0, "1", None, [1], "x" * 500])
def test_within_levels(value):
    check(
        lambda: jf.Butterfly(copy_levels=[value]),
        "copy_levels levels must be an integer from 1 to 29",
    )


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "8 s"])
def test_s(value):
    check(lambda: jf.LogGOPS(L=0, o=0, S=value), "S must be an integer from 1 to 2^62", "got ")
    assert jf.LogGOPS(L=0, o=0, S="64KiB") == jf.LogGOPS(L=0, o=0, S=2**16)


def test_rendezvous():
    network = jf.LogGOPS(L=0, o=0, S=7)
    check(lambda: case(network=network), "S must be None or at least message_bytes = 8", "got 7")
    case(network=jf.LogGOPS(L=0, o=0, S=8))


@pytest.mark.parametrize(
    ("algorithm", "longest"),
    [
        (jf.Butterfly(), "202 µs"),  # send, receive, combine
        (jf.Butterfly(copy_levels="all"), "100 µs"),  # the copy is sent at once
        (jf.Butterfly(exchanges_after=1), "202 µs"),
        (jf.Butterfly(exchanges_after=2), "0 s"),  # forwards may follow each other at once
        (jf.Butterfly(exchanges_after=2, forward_cost="5us"), "5 µs"),
        # What takes long does not make room between those that do not.
        (jf.Butterfly(exchanges_after=2, forward_cost="1ms"), "202 µs"),
        (jf.Butterfly(exchanges_after=2, forward_cost="1ms", copy_levels="all"), "100 µs"),
        (jf.Butterfly(on_demand="all", patience="150us"), "150 µs"),
        (jf.Butterfly(on_demand="all", patience="1ms"), "202 µs"),
        (jf.RingAllreduce(exchanges_after=1), "100 µs"),
        (jf.RingAllreduce(exchanges_after=2, forward_cost="5us"), "5 µs"),
        (jf.RingAllreduce(exchanges_after=2, forward_cost="1ms"), "100 µs"),
    ],
)
def test_gap(algorithm, longest):
    def make(g):
        network = jf.LogGOPS(L=0, o="100us", g=g, gamma="250ns")
        return case(network=network, algorithm=algorithm)

    make(longest)
    above = parse_seconds(longest) + 1e-9
    told = f"got {show_ticks(to_ticks(above))}"
    check(lambda: make(above), f"g must be from 0 to {longest} here", told)


@pytest.mark.parametrize(
    ("more", "longest"),
    [({}, "2 µs"), ({"compute_time": "5us"}, "7 µs"), ({"cycles": 1}, "100 µs"),
     ({"compute_time": "5us", "speed": jf.imbalance.SlowRanks(0.5, [0])}, "4.5 µs"),
     ({"compute_time": "5us", "noise": [jf.SpeedNoise(0.5)]}, "2 µs")],
)  # fmt: skip
def test_gap_before_the_next_cycle(more, longest):
    """Its first message may follow the last forward at once."""
    algorithm = jf.RingAllreduce(exchanges_after=1, forward_cost="2us")

    def make(g):
        network = jf.LogGOPS(L=0, o="100us", g=g)
        return case(network=network, algorithm=algorithm, **{"cycles": 2, **more})

    make(longest)
    check(lambda: make(parse_seconds(longest) + 1e-9), f"g must be from 0 to {longest} here")


def test_gap_of_one_rank():
    case(ranks=1, network=jf.LogGOPS(L=0, o=0, g=1.0))


@pytest.mark.parametrize("value", [None, 3, jf.Butterfly, HOCKNEY])
def test_algorithm(value):
    check(
        lambda: case(algorithm=value), "algorithm must be an Algorithm such as Butterfly(...), or "
    )


@pytest.mark.parametrize("value", [None, 3, jf.Hockney, jf.Butterfly()])
def test_network(value):
    check(lambda: case(network=value), "network must be a Network such as LogGOPS(...), or text")


@pytest.mark.parametrize(
    "value", [None, jf.PeriodicNoise, [1], {"period": 1}, np.array(3), np.zeros(1000)]
)
def test_noise(value):
    check(lambda: case(noise=value), "noise must be a list of sources")


def test_one_source_of_noise():
    source = jf.PeriodicNoise("1ms", "1us")
    assert case(noise=source) == case(noise=[source])


def test_noise_as_one_text():
    check(lambda: case(noise="x"), "noise[0]: file: x can not be read")
    noise = jf.PeriodicNoise("1ms", "1us")
    assert case(noise="period=1ms,duration=1us").noise == case(noise=[noise]).noise == (noise,)


def test_many_noises():
    jitter = jf.NetworkJitter(1, 0)
    case(noise=[jitter] * 256)
    check(lambda: case(noise=[jitter] * 257), "noise must hold at most 256 of NetworkJitter")


@pytest.mark.parametrize("value", ["max", None, 1])
def test_observe(value):
    check(
        lambda: case(observe=value),
        "observe must be one of 'completion', 'spread', 'arrival', 'own', 'rounds', 'rank 0', got ",
    )


COMBINES = jf.LogGOPS(L="1us", o="1us", gamma="1ns")


@pytest.mark.parametrize(
    "make",
    [
        lambda: case(network=jf.Hockney(2e6, 0)),
        lambda: case(compute_time=4e6, cycles=2),
        lambda: case(message_bytes=2**62),
        lambda: case(algorithm=jf.RingAllreduce(), message_bytes=2**61),
        lambda: case(algorithm=jf.PairwiseAlltoall(), message_bytes=2**61),
        lambda: case(algorithm=jf.RingReduceScatterv([2**58, 1]), ranks=2),
        lambda: case(algorithm=jf.PairwiseAlltoallv([[0, 2**58], [1, 0]]), ranks=2),
        lambda: case(algorithm=jf.BinomialReduce(), message_bytes=2**61, network=COMBINES),
        lambda: case(message_bytes=2**61, network=jf.Hierarchy([(2, COMBINES), COMBINES])),
        lambda: noisy(period=4e6, duration=3e6),
        lambda: case(compute_time=1e3, noise=[jf.PeriodicNoise("1ms", 0.000999999)]),
        lambda: jittery(duration=4e6),
    ],
)
def test_too_long(make):
    check(make, "the simulated time of a case must stay below 4.61e+06 s (2^62 ps)")


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        case().ranks = 8
    with pytest.raises(FrozenInstanceError):
        HOCKNEY.alpha = 1.0


ODD = {"ranks": 6, "noise": [jf.StepNoise(delay="1us")]}
AFTER = "exchanges_after must be 'all' or an integer from 0 to"
POWER = "ranks must be a power of two"


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: case(network=LOGGOPS, message_bytes=0), ["message_bytes",
                                                          "from 1 to 2^62, got 0"]),
        (lambda: jittery(during="compute"), ["during must be 'all' or 'communication'"]),
        (lambda: jittery(period=1e-9), ["period must be at least 1.008e-09 s", "got 1e-09"]),
        (lambda: noisy(phases=np.zeros(8)), ["phases must have shape (16,)", "got (8,)"]),
        (lambda: noisy(phases=np.zeros(16), shared=2), ["shared must be False"]),
        (lambda: jf.theory.one_rank(case(**ODD)), [f"{POWER} for this recursion"]),
        (lambda: jf.theory.noise_free_completion(case(**ODD)), [f"{POWER} for this"]),
        (lambda: butterfly(exchanges_after=5), [f"{AFTER} 4", "got 5"]),
        (lambda: butterfly(ranks=1, exchanges_after=1), [f"{AFTER} 0", "got 1"]),
        (lambda: replace(butterfly(exchanges_after=4), ranks=8), [f"{AFTER} 3", "got 4"]),
        (lambda: butterfly(copy_levels=[4]), ["copy_levels levels must be from 1 to 3", "K = 4",
                                              "got 4"]),
        (lambda: butterfly(ranks=2, copy_levels=[1]), ["copy_levels levels must be left out",
                                                       "got 1"]),
        (lambda: jf.Butterfly(forward_cost=1e-9),
         ["forward_cost must be 0 when exchanges_after is 0"]),
        (lambda: case(network="hockney"), ["network must look like key=value,key=value"]),
        (lambda: noise_phases(case()), ["noise must hold a PeriodicNoise"]),
        (lambda: jf.simulate(case(), backend="cuda", threads=2), ["leave out `threads`"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_together(make, parts):
    check(make, *parts)


# Tables, as studies have them.

TABLE = {
    "ranks": 16,
    "network": {"kind": "hockney", "alpha": "1us", "beta": "1ns"},
    "noise": [{"kind": "periodic", "period": "1ms", "duration": "10us"}],
}


def with_noise(**changes):
    return TABLE | {"noise": [TABLE["noise"][0] | changes]}


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        (TABLE | {"rank": 8}, ["case: unknown key 'rank' (did you mean 'ranks'?)", "cycles"]),
        (with_noise(perod=1), ["noise[0]: unknown key 'perod' (did you mean 'period'?)", "start"]),
        (with_noise(kind="periodc"), ["noise[0]: kind must be one of", "did you mean 'periodic'"]),
        (with_noise(duration="1s"), ["noise[0]: duration must be shorter than period"]),
        (TABLE | {"noise": [{"kind": "jitter"}]}, ["noise[0]: key 'period' is missing"]),
        (TABLE | {"noise": [3]}, ["noise[0] must be a table"]),
        (TABLE | {"noise": {"kind": "jitter"}}, ["noise must be a list of tables"]),
        (TABLE | {"network": {"alpha": 1}}, ["network: key 'kind' is missing", "loggops"]),
        (TABLE | {"network": {"kind": []}}, ["network: kind must be one of"]),
        (TABLE | {"network": "hockney"}, ["network must look like key=value,key=value"]),
        (TABLE | {"network": 3}, ["network must be a table"]),
        (
            TABLE | {"algorithm": {"kind": "ring"}},
            ["algorithm: kind must be one of ", "'butterfly'"],
        ),
        (TABLE | {"ranks": 0}, ["ranks must be an integer from 1 to"]),
        ({"ranks": 8}, ["case: key 'network' is missing"]),
        ({}, ["case: key 'ranks' is missing"]),
        (None, ["case must be a table"]),
        (TABLE | {3: 4}, ["case: unknown key 3"]),
    ],
)
def test_tables(table, parts):
    check(lambda: jf.Case.from_dict(table), *parts)


# Arguments of the functions that run.

ARGUMENTS = {
    "realizations": ([0, -1, 2**32 + 1, *JUNK], "an integer from 1 to 2^32"),
    "first_realization": ([-1, 2**32, *JUNK], "an integer from 0 to 4294966296"),
    "seed": ([-1, 2**64, *JUNK], "an integer from 0 to 2^64 - 1"),
    "backend": (["gup", None, 1], "one of 'auto', 'cpu', 'cuda'"),
    "threads": ([0, -1, 10**6, 1.5, True, "2"], "an integer from 1 to 1024"),
    "progress": ([3, "yes"], "None or callable"),
}


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [(name, value, rule) for name, (values, rule) in ARGUMENTS.items() for value in values],
)
def test_simulate(name, value, rule):
    check(lambda: jf.simulate(case(), **{name: value}), f"{name} must be {rule}")


def test_realizations_end_at_2_to_the_32():
    jf.simulate(case(), realizations=1, first_realization=2**32 - 1)
    check(
        lambda: jf.simulate(case(), 2, first_realization=2**32 - 1),
        "first_realization must be",
        "to 4294967294",
    )


@pytest.mark.parametrize("run", [jf.ready_times, noise_phases])
def test_single_realizations(run):
    quiet = noisy()
    check(lambda: run(quiet, seed=-1), "seed must be an integer from 0 to 2^64 - 1, got -1")
    check(lambda: run(quiet, seed=0, realization=2**32), "realization must be an integer from 0 to")
    check(lambda: run("case"), "case must be a Case, got 'case'")


@pytest.mark.parametrize(
    "use",
    [
        jf.simulate,
        jf.ready_times,
        noise_phases,
        row_labels,
        jf.theory.round_time,
        jf.theory.noise_free_completion,
        jf.theory.completion_bound,
    ],
)
@pytest.mark.parametrize("value", [None, {"ranks": 8}, np.zeros(1000)])
def test_not_a_case(use, value):
    check(lambda: use(value), "case must be a Case, got ")


def test_many_kinds_to_choose_from():
    """They are listed in a page, and the nearest is named."""
    where = "(82 in all, listed in docs/collectives.md)"
    for table, said in (
        ({"kind": "buterfly"}, "(did you mean 'butterfly'?)"),
        ({}, "'kind' is missing"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)) as error:
            jf.Algorithm.from_dict(table)
        assert where in str(error.value)
        assert len(str(error.value)) < 200


def test_many_words_to_choose_from():
    result = jf.simulate(case(cycles=100), 1)
    check(lambda: result.column("cycle 0"), "observation must be one of 'cycle 1'", "(100 in all)")


@pytest.mark.parametrize("backend", ["auto", "cpu"])
def test_check_backend(backend):
    check_backend(backend)
    check_backend(backend, 1024)
    check(lambda: check_backend("gup"), "backend must be one of 'auto', 'cpu', 'cuda'")
    check(lambda: check_backend(backend, 1025), "threads must be an integer from 1 to 1024")
    check(lambda: check_backend("cuda", 2), "leave out `threads` with `backend` = cuda")


def test_results_beyond_memory():
    many = replace(case(observe="rounds"), cycles=10_000)
    text = "not enough memory for the results of 4294967296 realizations: needs "
    check(lambda: jf.simulate(many, realizations=2**32), text, "TiB, available ")


def test_ranks_beyond_memory(monkeypatch):
    monkeypatch.setattr("jitterfly.resources.available_memory", lambda: 2**20)
    big = case(ranks=2**20, algorithm=jf.Butterfly(copy_levels="all"))
    check(lambda: jf.simulate(big, 1), "not enough memory for", "available 1.0 MiB")
    check(lambda: jf.ready_times(big), "not enough memory for all ready times of 1048576 ranks")
    check(lambda: noise_phases(noisy_of(big)), "not enough memory for the phases of 1048576")


def noisy_of(quiet):
    return replace(quiet, noise=[jf.PeriodicNoise(1e-3, 1e-5)])


def _write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("files", "available"),
    [
        ({"proc/self/cgroup": ""}, 8 << 30),
        ({"sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "5\n"}, 8 << 30),
        (
            {
                "sys/fs/cgroup/a/memory.max": "1000000\n",
                "sys/fs/cgroup/a/memory.current": "700000\n",
                "sys/fs/cgroup/a/memory.stat": "anon 1\ninactive_file 50000\n",
            },
            350_000,
        ),
        ({"sys/fs/cgroup/memory.max": "9000", "sys/fs/cgroup/memory.current": "2000"}, 7000),
        ({"sys/fs/cgroup/memory.max": "9000", "sys/fs/cgroup/memory.current": "9500"}, 0),
        (
            {
                "proc/self/cgroup": "4:memory,hugetlb:/b\n3:cpu:/c\n",
                "sys/fs/cgroup/memory/b/memory.limit_in_bytes": "5000",
                "sys/fs/cgroup/memory/b/memory.usage_in_bytes": "1000",
            },
            4000,
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/b\n",
                "sys/fs/cgroup/memory/b/memory.limit_in_bytes": "9223372036854771712",
                "sys/fs/cgroup/memory/b/memory.usage_in_bytes": "1000",
            },
            8 << 30,
        ),
    ],
)
def test_available_memory(tmp_path, files, available):
    machine = {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 8388608 kB\n"}
    _write(tmp_path, machine | {"proc/self/cgroup": "0::/a\n"} | files)
    assert resources.available_memory(tmp_path) == available


def xarray_scalar(value):
    return pytest.importorskip("xarray").DataArray(value)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.array, xarray_scalar])
def test_what_stands_for_an_integer_is_one(kind):
    case = jf.Case(kind(8), network=jf.LogGOPS(L="1us", o=0), cycles=kind(2), message_bytes=kind(4))
    assert (case.ranks, case.cycles, case.message_bytes) == (8, 2, 4)
    assert [type(n) for n in (case.ranks, case.cycles, case.message_bytes)] == [int] * 3
    assert jf.simulate(case, realizations=kind(3), seed=kind(1)).ticks.shape[0] == 3
    power = jf.Axis("ranks", log2=[2, 3]).values
    assert [value.label for value in power] == ["4", "8"]


@pytest.mark.parametrize(
    "value", [np.array(2.0), np.array([2]), np.array(True), np.timedelta64(2, "us"), 2.5, "x", [2]]
)
def test_what_stands_for_no_integer(value):
    with pytest.raises(ValueError, match=r"cycles must be an integer from 1 to "):
        jf.Case(4, network=jf.LogGOPS(L="1us", o=0), cycles=value)


def test_an_algorithm_as_text():
    network = jf.LogGOPS(L="1us", o=0)
    case = jf.Case(4, algorithm="ring_allreduce", network=network)
    assert case == jf.Case(4, algorithm=jf.RingAllreduce(), network=network)
    table = case.to_dict() | {"algorithm": "ring_allreduce"}
    assert jf.Case.from_dict(table) == case
    with pytest.raises(ValueError, match=r"algorithm must be one of .*did you mean 'ring_allr"):
        jf.Case(4, algorithm="ring_alreduce", network=network)
    with pytest.raises(ValueError, match="algorithm must be an Algorithm such as Butterfly"):
        jf.Case(4, algorithm=3, network=network)


def test_intervals_of_numpy_are_no_times():
    rule = r"delay must be a time in seconds.*timedelta64.*StepNoise"
    with pytest.raises(ValueError, match=rule):
        jf.StepNoise(delay=np.timedelta64(8, "us"))
    with pytest.raises(ValueError, match=r"L must be a time from 0.*timedelta64.*LogGOPS"):
        jf.LogGOPS(L=np.timedelta64(8, "us"), o=0)
