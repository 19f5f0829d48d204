"""Closed forms of all collectives without noise, against the engine and the papers."""

import random
from fractions import Fraction
from math import ceil, log2

import numpy as np
import pytest
from reference.collectives import GOALS, IRREGULAR, random_network, random_options
from support.scale import scaled

import jitterfly as jf
from jitterfly.theory import closed_forms, collective_completion

NETWORK = jf.Hockney(alpha=1e-4, beta=1e-9, gamma=1e-10)
A, B, C = Fraction(1, 10**4), Fraction(1, 10**9), Fraction(1, 10**10)


WITHOUT = {"double_binary_tree_allreduce", "nccl_tree_allreduce", "circulant_broadcast",
           "circulant_reduce", "split_binary_tree_broadcast",
           *(kind for kind in GOALS if kind.startswith("hierarchical"))}  # fmt: skip
"""There is no closed form of these."""


OTHER_RANKS = object()
"""The form is one of powers of two."""


def test_what_has_no_closed_form_is_named():
    """Beside collectives with counts, of which equal ones are the regular algorithm to the bit."""
    forms = set(closed_forms._FORMS)
    assert forms | WITHOUT | set(IRREGULAR) == set(jf.Algorithm.kinds())
    assert not forms & (WITHOUT | set(IRREGULAR))


def made(kind, ranks, n, network=NETWORK, **options):
    algorithm = jf.Algorithm.from_dict({"kind": kind} | options)
    return jf.Case(ranks, algorithm=algorithm, network=network, message_bytes=n)


def noise_free(case):
    return jf.simulate(case, 1, backend="cpu").samples[0]


def closed_form(case):
    """In ticks; None if there is none."""
    try:
        return round(collective_completion(case) * 1e12)
    except ValueError as error:
        if "no closed form where a message has to wait" in str(error):
            return None
        if "ranks must be a power of two" in str(error) and case.ranks & (case.ranks - 1):
            return OTHER_RANKS
        if "radix must be 2" in str(error) and case.algorithm.radix != 2:
            return OTHER_RANKS
        if "a power of the radix" in str(error):
            return OTHER_RANKS
        if "must be binomial" in str(error) or "must be the usual ones" in str(error):
            return OTHER_RANKS
        raise


# Thakur, Rabenseifner & Gropp 2005, tables and sections on each algorithm; N = 2^K ranks, n bytes.
POWERS = {
    "butterfly": lambda K, N, n: K * (A + n * B + n * C),
    "recursive_doubling_allreduce": lambda K, N, n: K * (A + n * B + n * C),
    "rabenseifner_allreduce":
        lambda K, N, n: 2 * K * A + 2 * Fraction(N - 1, N) * n * B + Fraction(N - 1, N) * n * C,
    "swing_allreduce":
        lambda K, N, n: 2 * K * A + 2 * Fraction(N - 1, N) * n * B + Fraction(N - 1, N) * n * C,
    "reduce_broadcast_allreduce": lambda K, N, n: K * (A + n * B + n * C) + K * (A + n * B),
    "recursive_doubling_barrier": lambda K, N, n: K * (A + n * B),
    "tree_barrier": lambda K, N, n: 2 * K * (A + n * B),
    "binomial_broadcast": lambda K, N, n: K * (A + n * B),
    "scatter_allgather_broadcast":
        lambda K, N, n: (K + N - 1) * A + 2 * Fraction(N - 1, N) * n * B,
    "binomial_reduce": lambda K, N, n: K * (A + n * B + n * C),
    "rabenseifner_reduce":
        lambda K, N, n: 2 * K * A + 2 * Fraction(N - 1, N) * n * B + Fraction(N - 1, N) * n * C,
    "butterfly_reduce_scatter":
        lambda K, N, n: K * A + Fraction(N - 1, N) * n * (B + C) + (K > 1) * (A + n / N * B),
    "recursive_doubling_allgather": lambda K, N, n: K * A + (N - 1) * n * B,
    "recursive_halving_reduce_scatter":
        lambda K, N, n: K * A + Fraction(N - 1, N) * n * (B + C),
    "bruck_alltoall": lambda K, N, n: K * A + Fraction(N, 2) * K * n * B,
    "binomial_gather": lambda K, N, n: K * A + (N - 1) * n * B,
    "binomial_scatter": lambda K, N, n: K * A + (N - 1) * n * B,
    "gather_broadcast_allgather":
        lambda K, N, n: K * A + (N - 1) * n * B + K * (A + N * n * B),
    "nonoverlapping_reduce_scatter":
        lambda K, N, n: K * (A + n * (B + C)) + (K > 0) * A + Fraction(N - 1, N) * n * B,
}  # fmt: skip

# De Sensi et al. 2025: Bine trees and butterflies have as many rounds, of as many bytes.
POWERS |= {
    "bine_allgather": POWERS["recursive_doubling_allgather"],
    "bine_allreduce": POWERS["recursive_doubling_allreduce"],
    "bine_broadcast": POWERS["binomial_broadcast"],
    "bine_gather": POWERS["binomial_gather"],
    "bine_reduce": POWERS["binomial_reduce"],
    "bine_reduce_scatter": POWERS["recursive_halving_reduce_scatter"],
    "bine_scatter": POWERS["binomial_scatter"],
}

# The same for any N; n is a multiple of it.
ANY = {
    "ring_allreduce":
        lambda N, n: 2 * (N - 1) * A + 2 * Fraction(N - 1, N) * n * B + Fraction(N - 1, N) * n * C,
    "dissemination_barrier": lambda N, n: ceil(log2(N)) * (A + n * B),
    "linear_barrier": lambda N, n: 2 * (A + (N - 1) * n * B) if N > 1 else 0,
    "double_ring_barrier": lambda N, n: 2 * N * (A + n * B) if N > 1 else 0,
    "bruck_allgather": lambda N, n: ceil(log2(N)) * A + (N - 1) * n * B,
    "ring_allgather": lambda N, n: (N - 1) * (A + n * B),
    "neighbor_exchange_allgather":
        lambda N, n: (N - 1 if N % 2 else N // 2) * A + (N - 1) * n * B,
    "circulant_allgather": lambda N, n: ceil(log2(N)) * A + (N - 1) * n * B,
    "pat_allgather": lambda N, n: ceil(log2(N)) * A + (N - 1) * n * B,
    "pat_reduce_scatter":
        lambda N, n: ceil(log2(N)) * A + Fraction(N - 1, N) * n * (B + C),
    "ring_reduce_scatter": lambda N, n: (N - 1) * (A + Fraction(n, N) * (B + C)),
    "pairwise_reduce_scatter": lambda N, n: (N - 1) * (A + Fraction(n, N) * (B + C)),
    "pairwise_alltoall": lambda N, n: (N - 1) * (A + n * B),
    "sparbit_allgather": lambda N, n: ceil(log2(N)) * A + (N - 1) * n * B,  # Loch & Koslovski 2021
    "linear_alltoall": lambda N, n: ceil((N - 1) / 32) * A + (N - 1) * n * B,  # 32 at a time
    "chain_reduce": lambda N, n: (N - 1) * (A + n * B + n * C),
    "linear_gather": lambda N, n: A + (N - 1) * n * B if N > 1 else 0,
    "linear_scatter": lambda N, n: A + (N - 1) * n * B if N > 1 else 0,
    "linear_scan": lambda N, n: (N - 1) * (A + n * B + n * C),
    "linear_exscan":
        lambda N, n: max(N - 2, 0) * (A + n * B + n * C) + (N > 1) * (A + n * B),
    "recursive_doubling_exscan": lambda N, n: ceil(log2(N)) * (A + n * B + n * C),
    "recursive_doubling_scan": lambda N, n: ceil(log2(N)) * (A + n * B + n * C),
}  # fmt: skip


@pytest.mark.parametrize("kind", POWERS)
def test_powers_of_two(kind):
    for K in range(8):
        expected = float(POWERS[kind](K, 2**K, 1280))
        case = made(kind, 2**K, 1280)
        assert collective_completion(case) == pytest.approx(expected, rel=1e-14)
        np.testing.assert_allclose(noise_free(case), expected, rtol=1e-14)


@pytest.mark.parametrize("kind", ANY)
def test_any_number(kind):
    for ranks in [*range(1, 20), 100, 128]:
        expected = float(ANY[kind](ranks, 12 * ranks))
        case = made(kind, ranks, 12 * ranks)
        assert collective_completion(case) == pytest.approx(expected, rel=1e-14)
        np.testing.assert_allclose(noise_free(case), expected, rtol=1e-14)


@pytest.mark.parametrize("radix", [2, 3, 4, 7])
def test_knomial_trees(radix):
    """As their docstrings have it, on powers of the radix; with radix 2 they are binomial."""
    network = jf.LogGOPS(L="1us", o="100ns", g="150ns", G="1ns", gamma="1ns")
    for K in range(1, 4):
        ranks, n = radix**K, 101
        long, d, r = 1.2e-6 + 100e-9, 250e-9, 250e-9
        expected = {
            "broadcast": long + (K - 1) * max(long, d) + K * (radix - 2) * d,
            "reduce": K * (long + 101e-9 + (radix - 2) * r),
        }
        for what, time in expected.items():
            case = made(f"knomial_{what}", ranks, n, network, radix=radix)
            assert collective_completion(case) == pytest.approx(time, rel=1e-12)
            assert noise_free(case)[0] == pytest.approx(time, rel=1e-12)
    for ranks in range(1, 40):
        for what in ("broadcast", "reduce"):
            both = made(f"binomial_{what}", ranks, 8), made(f"knomial_{what}", ranks, 8, radix=2)
            assert len({collective_completion(case) for case in both}) == 1


@pytest.mark.parametrize("ranks", [2, 3, 8, 33])
def test_segments(ranks):
    """A chain and a ring of four segments, by the formulas of their docstrings."""
    network = jf.LogGOPS(L="1us", o="100ns", g="50ns", G="1ns", gamma="1ns")
    long = 1.2e-6 + 250e-9
    spacing = max(200e-9 if ranks > 2 else 100e-9, 300e-9)
    chain = made("chain_broadcast", ranks, 4 * 251, network, segment_bytes=251)
    expected = {chain: (ranks - 1) * long + 3 * spacing}
    ring = made("segmented_ring_allreduce", ranks, 4 * 251 * ranks, network, segment_bytes=251)
    whole = 1.2e-6 + 1003e-9
    expected[ring] = (ranks - 1) * (4 * (long + 251e-9) + whole)
    for case, time in expected.items():
        assert collective_completion(case) == pytest.approx(time, rel=1e-12)
        assert noise_free(case)[0] == pytest.approx(time, rel=1e-12)


@pytest.mark.parametrize("segments", [1, 2, 9])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_complete_binary_trees(depth, segments):
    """As Pjesivac-Grbovic et al. 2007 have them: of all levels the links carry two segments."""
    ranks, size = 2 ** (depth + 1) - 1, 1000
    expected = depth * A + 2 * (depth + segments - 1) * size * B
    for tree in ({"kind": "binary_tree_broadcast"}, {"kind": "binary_tree_reduce"},
                 {"kind": "binary_tree_broadcast", "numbering": "levels"}):  # fmt: skip
        case = made(tree.pop("kind"), ranks, segments * size,
                    jf.Hockney(alpha=1e-4, beta=1e-9), segment_bytes=size, **tree)  # fmt: skip
        assert collective_completion(case) == pytest.approx(float(expected), rel=1e-12)
        assert noise_free(case)[0] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("kind", ["circulant_broadcast", "circulant_reduce"])
def test_circulant_graphs_take_no_more_rounds_than_published(kind):
    """Of S segments S - 1 + log2(N), rounded up (Träff 2025); fewer where ranks need not wait."""
    for ranks in [*range(2, 20), 64]:
        for segments in (1, 2, 7):
            n = segments * 1000
            case = made(kind, ranks, n, jf.Hockney(1e-4, 1e-9), segment_bytes=1000)
            rounds = segments - 1 + ceil(log2(ranks))
            most = float(rounds * (A + 1000 * B))
            assert noise_free(case)[0] <= most * (1 + 1e-12)
            if ranks & (ranks - 1) == 0 and segments == 1:
                assert noise_free(case)[0] == pytest.approx(most, rel=1e-12)


def test_several_messages_under_way():
    """By hand: four sends of 200 ns, and receives as the messages come, 200 ns apart."""
    network = jf.LogGOPS(L="1us", o="200ns", gamma="1ns")
    assert noise_free(made("linear_alltoall", 5, 8, network, window=4))[0] == pytest.approx(2e-6)
    # Two at a time: sent at 200 and 400 ns, received from 1.2 to 1.6 us; and again.
    assert noise_free(made("linear_alltoall", 5, 8, network, window=2))[0] == pytest.approx(3.2e-6)
    # Three sends; then each receive takes 300 ns, from 1.2 us on.
    case = made("recursive_multiplying_allreduce", 4, 100, network, radix=4)
    assert noise_free(case)[0] == pytest.approx(2.1e-6)
    for radix in (2, 3, 4, 7):
        for rounds in (1, 2, 3):
            case = made("recursive_multiplying_allreduce", radix**rounds, 100, network, radix=radix)
            one = 200e-9 + 1e-6 + (radix - 1) * 300e-9
            assert noise_free(case)[0] == pytest.approx(rounds * one)
    # Links that are occupied for 1 us: the fourth message leaves at 3.2 us.
    slow = jf.LogGOPS(L="1us", o="200ns", g="1us")
    assert noise_free(made("linear_alltoall", 5, 8, slow, window=4))[0] == pytest.approx(4.4e-6)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 13, 37])
def test_the_smallest_windows_are_the_algorithms_without_any(ranks):
    noise = [jf.PeriodicNoise("30us", "3us"), jf.NetworkJitter("10us", "1us"),
             jf.StepNoise(jf.Exponential("100ns"), shared=1)]  # fmt: skip
    network = jf.LogGOPS(L="1us", o="200ns", g="300ns", G="1ns", gamma="1ns")
    for kind, other, options in (
        ("linear_alltoall", "pairwise_alltoall", {"window": 1}),
        ("recursive_multiplying_allreduce", "recursive_doubling_allreduce", {"radix": 2}),
    ):
        found = []
        for case in (made(kind, ranks, 100, network, **options), made(other, ranks, 100, network)):
            case = jf.Case.from_dict(case.to_dict() | {"noise": [n.to_dict() for n in noise]})
            found.append(jf.simulate(case, 20, seed=1, backend="cpu").ticks)
        np.testing.assert_array_equal(*found)


def test_folds():
    """By hand, where one rank is too many: rank 4 hands over to rank 0."""
    one, back, n = A + 80 * (B + C), A + 80 * B, 80
    expected = {
        # Rank 3 hears of rank 0, the last one to begin, after three messages. Rank 0 waits for two
        # rounds of ranks that began earlier, and then sends one.
        "butterfly": 3 * one,
        "recursive_doubling_allreduce": 3 * one,
        "recursive_doubling_barrier": 3 * back,
        # There and back again every path crosses all rounds.
        "rabenseifner_allreduce":
            one + (A + 40 * (B + C)) + (A + 20 * (B + C)) + (A + 20 * B) + (A + 40 * B) + back,
    }  # fmt: skip
    for kind, time in expected.items():
        case = made(kind, 5, n)
        assert collective_completion(case) == pytest.approx(float(time), rel=1e-14)
        assert noise_free(case)[0] == pytest.approx(collective_completion(case), rel=1e-14)


@pytest.mark.parametrize("kind", sorted(GOALS))
def test_gap_between_messages(kind):
    """LogGP with a gap longer than a message: the binomial trees and equal rounds, P ranks."""
    network = jf.LogGOPS(L="1us", o="100ns", g="5us", G="1ns")
    long, d, K = 1.2e-6 + 99e-9, 5e-6 + 99e-9, 4
    rounds = {"recursive_doubling_allreduce": K, "recursive_doubling_barrier": K,
              "dissemination_barrier": K, "binomial_broadcast": K, "binomial_reduce": K,
              "ring_allgather": 15}  # fmt: skip
    if kind in rounds:
        case = made(kind, 16, 100, network)
        expected = (rounds[kind] - 1) * d + long
        assert collective_completion(case) == pytest.approx(expected, rel=1e-12)
        assert noise_free(case)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@pytest.mark.parametrize("kind", sorted(set(GOALS) - WITHOUT))
def test_all_numbers_of_ranks_and_networks(kind):
    """The closed form is the engine's time to the tick, or says that there is none."""
    rng, refused, used = random.Random(f"forms {kind}"), 0, 0
    for number in range(scaled(150)):
        network, exact = random_network(rng, jf, kind)
        ranks, n = rng.randint(1, 40), rng.choice([1, 8, 1000, 100_000])
        options = random_options(rng, kind, ranks, n)
        if number % 2:  # many are for powers of two, or for an algorithm's usual parts
            ranks, options = rng.choice([4, 8, 16, 32]), {}
        case = made(kind, ranks, n, network, **options)
        free = exact.g <= exact.L and not exact.O  # then no message has to wait for a link,
        if kind == "recursive_halving_reduce_scatter":  # unless half of it is more than all of it:
            free = free and n >= ranks  # blocks are at least a byte
        found = closed_form(case)
        if found is OTHER_RANKS:
            continue
        if found is None:
            assert not free, number
            refused += 1
            continue
        assert found == jf.simulate(case, 1, backend="cpu").ticks[0, 0]
        used += 1
    assert refused < 60
    assert used > scaled(150) // 8


def test_no_closed_form():
    with pytest.raises(ValueError, match="copy_levels must be None"):
        collective_completion(made("butterfly", 8, 8, copy_levels="all"))
    with pytest.raises(ValueError, match="no closed form for HierarchicalAllreduce"):
        collective_completion(made("hierarchical_allreduce", 16, 8))


@pytest.mark.parametrize(("kind", "winner"), [("short", "recursive_doubling_allreduce"),
                                              ("long", "rabenseifner_allreduce")])  # fmt: skip
def test_the_textbook_s_choice(kind, winner):
    """Short: the fewest messages. Long: the fewest bytes, in as few messages as may be."""
    n = {"short": 16, "long": 64 * 2**10}[kind]
    # Not in the textbook: the butterfly is recursive doubling, and so is recursive multiplying with
    # radix 2; with 4 it has half as many rounds, and is quicker still.
    # Swing has the messages of Rabenseifner's, Bine those of recursive doubling.
    others = {"butterfly", "bine_allreduce", "recursive_multiplying_allreduce", "swing_allreduce"}
    kinds = [k for k, goal in GOALS.items() if goal == "allreduce" and k not in others]
    times = {k: noise_free(made(k, 64, n, jf.Hockney("10us", "1ns", "0.1ns")))[0] for k in kinds}
    assert min(times, key=times.get) == winner


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_one_chunk_in_nccls_tree(levels):
    """Two messages a level that arrive together, or leave together, of K - 1 levels; one at top."""
    ranks, n, o, L, g, gamma = 2**levels, 1000, 300, 2000, 700, 5
    network = jf.LogGOPS(L=L * 1e-12, o=o * 1e-12, g=g * 1e-12, gamma=gamma * 1e-12)
    case = made("nccl_tree_allreduce", ranks, n, network, channels=1)
    reduced, sent = 2 * o + L + gamma * n, 2 * o + L
    expected = (
        levels * (reduced + sent) + (levels - 1) * (max(g, o + gamma * n) + max(g, o))
    ) * 1e-12  # fmt: skip
    assert noise_free(case)[0] == pytest.approx(expected, rel=1e-12)
