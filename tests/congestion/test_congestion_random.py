"""Chi-square tests of random placement and perturbing traffic (permutations, derangements)."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2
from support.scale import scaled

import jitterfly.congestion as jc
from jitterfly import _core

ALARM = 1e-4
DRAWS = scaled(6000, least=1000)
FEW = scaled(3000, least=600)  # of many hosts


def uniform(found, cells):
    """Whether counts over so many equally likely cells pass; every cell must be known."""
    counts = Counter(found)
    assert len(counts) <= cells
    expected = sum(counts.values()) / cells
    statistic = sum((n - expected) ** 2 for n in counts.values()) / expected
    statistic += (cells - len(counts)) * expected
    return statistic < chi2.isf(ALARM, cells - 1)


def drawn(perturbation, others, draws=DRAWS, seed=1):
    """Realizations of a tree of three levels with `others` perturbing ranks."""
    hosts = others + 5
    network = jc.FatTree((hosts,), (1,))
    case = jc.CongestionCase(network, perturbation=perturbation, ratio=others / hosts)
    assert case.z == 5
    return [jc.congestion_realization(case, number, seed) for number in range(draws)]


def traffic(realization, level):
    level = realization.levels[level]
    return tuple(sorted(map(tuple, level.pairs[level.own :].tolist())))


def test_placements_are_uniform():
    found = [tuple(r.host_of_rank.tolist()) for r in drawn("none", 0)]
    assert all(sorted(hosts) == list(range(5)) for hosts in found)
    assert uniform(found, math.factorial(5))


def test_placements_of_many_hosts_are_uniform_rank_by_rank():
    found = np.array([r.host_of_rank for r in drawn("none", 95, FEW, seed=2)])
    for rank in (0, 1, 50, 99):
        assert uniform(found[:, rank].tolist(), 100)
    ahead = (found[:, 3] < found[:, 70]).sum()
    assert abs(ahead - FEW / 2) < 4 * math.sqrt(FEW / 4)


@pytest.mark.parametrize("others", [2, 3, 4, 5])
def test_rand_is_uniform_among_permutations_without_fixed_points(others):
    found = [traffic(r, 0) for r in drawn("rand", others, seed=3)]
    ranks = range(5, 5 + others)
    allowed = {
        tuple(zip(ranks, p, strict=True))
        for p in itertools.permutations(ranks)
        if all(a != b for a, b in zip(ranks, p, strict=True))
    }
    assert set(found) <= allowed
    assert uniform(found, len(allowed)) if len(allowed) > 1 else len(set(found)) == 1


def test_rand_is_fresh_at_every_level():
    found = [(traffic(r, 0), traffic(r, 1)) for r in drawn("rand", 4, seed=4)]
    assert uniform(found, 81)


def test_rand_of_many_ranks_has_every_partner_alike():
    found = [dict(traffic(r, 2)) for r in drawn("rand", 51, FEW, seed=5)]
    assert uniform([pairs[5] for pairs in found], 50)
    assert uniform([pairs[30] for pairs in found], 50)
    # Pairs that answer each other: about Poisson with mean 1/2 * (1 + O(1/n)) in n ranks.
    answers = sum(pairs[b] == a for pairs in found for a, b in pairs.items()) / 2
    expected = len(found) * 51 * _share_of_answers(51) / 2
    assert abs(answers - expected) < 4 * math.sqrt(expected)


def _share_of_answers(n):
    """Probability that rank i's partner sends to i: the cycle of i has length 2."""
    share = [Fraction(1), Fraction(0)]
    for m in range(2, n + 1):
        share.append((share[-1] * (m - 1) + share[-2]) / m)
    return float(share[n - 2] / (n * share[n]))


def test_bisect_is_uniform_and_fresh():
    found = drawn("bisect", 4, seed=6)
    assert uniform([traffic(r, 0) for r in found], 12)
    assert uniform([(traffic(r, 0), traffic(r, 2)) for r in found], 144)
    odd = [traffic(r, 1) for r in drawn("bisect", 3, seed=7)]
    assert uniform(odd, 6)


def test_bisect_fb_goes_both_ways_and_stays():
    found = drawn("bisect_fb", 4, seed=8)
    for r in found[:100]:
        pairs = traffic(r, 0)
        assert {(b, a) for a, b in pairs} == set(pairs)
        assert traffic(r, 1) == pairs == traffic(r, 2)
    assert uniform([traffic(r, 0) for r in found], 3)


@pytest.mark.parametrize("left", [2, 3, 4, 7, 15, 16, 17, 18, 40, 1000])
def test_cycle_lengths_have_their_probabilities(left):
    """At evenly spaced numbers: shares of lengths within the spacing of the exact ones."""
    share = [Fraction(1), Fraction(0)]
    for m in range(2, left + 1):
        share.append((share[-1] * (m - 1) + share[-2]) / m)
    count = 2**14
    step = 2**64 // count
    found = Counter(_core.cycle_length(i * step + step // 2, left) for i in range(count))
    assert left - 1 not in found
    for length in range(2, left + 1):
        exact = float(share[left - length] / (left * share[left]))
        assert abs(found[length] / count - exact) <= 1.5 / count
