"""Slow links and cards: factors on L and G of messages from and to ranks, to the last tick."""

import json
import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
from reference.collectives import GOALS, check_ready_times, random_pair
from support.commands import error_of
from support.grouped import parametrize_in_groups
from support.scale import of_each_kind

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.goal_export import goal_schedule
from jitterfly.theory import collective_completion

KINDS = sorted(GOALS)
NETWORK = jf.LogGOPS(L="1us", o="200ns", g="300ns", G="0.1ns", gamma="0.2ns")


@dataclass(frozen=True)
class SlowLinks:
    """A machine in the reference, in which the slower end of a message decides."""

    machine: object
    on_L: tuple[int, ...]
    on_G: tuple[int, ...]

    def between(self, a, b):
        network = self.machine.between(a, b)
        return replace(network, L=network.L * max(self.on_L[a], self.on_L[b]),
                       G=network.G * max(self.on_G[a], self.on_G[b]))  # fmt: skip


def random_factors(rng, ranks):
    """As they are written, and of each rank: whole, so that the reference's ticks are."""
    factor = rng.choice([2, 3, 10])
    match rng.choice(["none", "ranks", "nodes", "given"]):
        case "none":
            return None, (1,) * ranks
        case "ranks":
            slow = rng.sample(range(ranks), rng.randint(1, ranks))
            meant = tuple(factor if rank in slow else 1 for rank in range(ranks))
            return jf.imbalance.SlowRanks(factor, slow), meant
        case "nodes":
            width = rng.randint(1, ranks)
            node = rng.randrange(-(-ranks // width))
            meant = tuple(factor if rank // width == node else 1 for rank in range(ranks))
            return jf.imbalance.SlowNodes(factor, width, [node]), meant
        case "given":
            meant = tuple(rng.choice([1, 2, 5, 7]) for _ in range(ranks))
            return jf.imbalance.GivenSpeed(meant), meant


def slow_pair(kind, number):
    """A case with slow links on one level or several, its reference, and what is drawn."""
    rng = random.Random(f"slow links {kind} {number}")
    while True:
        levels = kind != "butterfly" and rng.random() < 0.5
        case, run, at = random_pair(rng, jf, kind, levels=levels)
        if kind != "butterfly" or not (run.after or case.algorithm.levels(case.ranks)):
            break
    (written_L, on_L), (written_G, on_G) = (random_factors(rng, case.ranks) for _ in range(2))
    if written_L is written_G is None:
        written_G, on_G = jf.imbalance.GivenSpeed([3] * case.ranks), (3,) * case.ranks
    case = replace(case, L_factor=written_L, G_factor=written_G)
    run.network = SlowLinks(run.network, on_L, on_G)
    return case, run, at


@pytest.mark.filterwarnings("ignore:.*counts nowhere, so the collective takes no time")
@parametrize_in_groups(
    "kind, number", [(kind, number) for kind in KINDS for number in of_each_kind(12)]
)
def test_engine_equals_reference(kind, number):
    case, run, (seed, realization) = slow_pair(kind, number)
    times = jf.ready_times(case, seed=seed, realization=realization)
    check_ready_times(times, run.execute())


@pytest.mark.parametrize("kind", KINDS)
def test_all_links_slow_are_a_slow_network(kind):
    """And a factor of 1 changes nothing: also the noise is the same."""
    network = replace(NETWORK, g=0) if kind == "butterfly" else NETWORK
    noise = [jf.PeriodicNoise("50us", "7us"), jf.NetworkJitter("20us", "3us")]
    case = jf.Case(13, network=network, algorithm=kind, message_bytes=500, noise=noise,
                   cycles=2, observe="spread")  # fmt: skip
    every = jf.imbalance.GivenSpeed([2.5] * 13)
    slow = replace(network, L="2.5us", G="0.25ns")
    for factors, same in (({"L_factor": every, "G_factor": every}, replace(case, network=slow)),
                          ({"G_factor": jf.imbalance.GivenSpeed([1] * 13)}, case)):  # fmt: skip
        found, expected = (jf.simulate(one, 5, seed=3) for one in (replace(case, **factors), same))
        np.testing.assert_array_equal(found.ticks, expected.ticks)
        np.testing.assert_array_equal(found.noise_free, expected.noise_free)


@pytest.mark.parametrize("kind", ["recursive_doubling_allreduce", "butterfly"])
@pytest.mark.parametrize(("of_L", "of_G"), [(1, 4), (3, 1), (2.5, 4)])
def test_formula_of_recursive_doubling_with_one_slow_card(kind, of_L, of_G):
    """Messages to that rank take S in place of F: it has level k at ``(k - 1) F + S``.

    What it sends then is S under way, once, and F in each of the rounds that are left: the last
    rank completes at ``(K - 2) F + 2 S``, whichever rank is slow, if its link is free in time.
    ``S = 2 o + f_L L + f_G (n - 1) G + gamma n``.
    """
    size = 8000
    case = jf.Case(64, network=replace(NETWORK, g=0), algorithm=kind, message_bytes=size)
    fast = 0.4e-6 + 1e-6 + 7999 * 0.1e-9 + 8000 * 0.2e-9
    assert collective_completion(case) == pytest.approx(6 * fast, rel=1e-9)
    for rank in (0, 17, 63):
        on_L = jf.imbalance.SlowRanks(of_L, [rank])
        on_G = jf.imbalance.SlowNodes(of_G, node_ranks=1, nodes=[rank])
        slow = 0.4e-6 + of_L * 1e-6 + of_G * 7999 * 0.1e-9 + 8000 * 0.2e-9
        found = jf.simulate(replace(case, L_factor=on_L, G_factor=on_G), 1).samples[0, -1]
        assert found == pytest.approx(4 * fast + 2 * slow, rel=1e-9)


def test_a_share_of_the_nodes_is_drawn_once():
    slow = jf.imbalance.SlowShare(4, share="1%", node_ranks=8, seed=5)
    found = slow.of_ranks(80_000)
    assert set(found.tolist()) == {1.0, 4.0}
    nodes = found.reshape(-1, 8)
    assert (nodes == nodes[:, :1]).all()
    assert abs((nodes[:, 0] == 4).mean() - 0.01) < 5 * (0.01 * 0.99 / 10_000) ** 0.5
    np.testing.assert_array_equal(slow.of_ranks(80_000)[:800], slow.of_ranks(800))
    assert (jf.imbalance.SlowShare(4, share=0.01, seed=6).of_ranks(800) != found[:800]).any()
    with pytest.raises(ValueError, match="share must be a number from 0 to 1, got 2"):
        jf.imbalance.SlowShare(4, share=2)


def test_answers_say_which_links_are_slow():
    noise = [jf.PeriodicNoise("1ms", "25us", start="stationary")]
    case = jf.Case(8, network=NETWORK, algorithm="ring_allreduce", noise=noise,
                   L_factor=jf.imbalance.SlowRanks(3, [1]), barrier="tree_barrier",
                   G_factor=jf.imbalance.SlowShare(4, share=0.5))  # fmt: skip
    told = "\n".join(jf.explain(case, realizations=20).notes())
    assert "factors on latency: slow_ranks, factor = 3.0, ranks = [1]" in told
    assert "factors on the time of a byte: slow_share, factor = 4.0, share = 0.5" in told
    assert "before each collective: tree_barrier" in told


def test_tables_and_errors():
    factor = jf.imbalance.SlowNodes(4, node_ranks=2, nodes=[1])
    case = jf.Case(8, network=NETWORK, algorithm="ring_allreduce", L_factor=factor)
    assert jf.Case.from_dict(case.to_dict()) == case
    assert case.identity() != replace(case, L_factor=None).identity()
    assert case.identity() != replace(case, L_factor=None, G_factor=factor).identity()
    assert "L_factor" not in replace(case, L_factor=None).to_dict()
    for wrong in (collective_completion, goal_schedule):
        with pytest.raises(ValueError, match="speed, L_factor and G_factor must be left out"):
            wrong(case)
    with pytest.raises(ValueError, match="G_factor: nodes must be from 0 to 3, got"):
        replace(case, G_factor=replace(factor, nodes=[4]))
    with pytest.raises(ValueError, match=r"L_factor must be a Speed such as SlowRanks\(1.2\)"):
        replace(case, L_factor=2)
    with pytest.raises(ValueError, match="with slow links, or whose ranks combine at different"):
        jf.Case(8, network=jf.Hockney(1e-6, 1e-9), algorithm=jf.Butterfly(exchanges_after=1),
                G_factor=factor)  # fmt: skip
    drawn = jf.imbalance.DrawnSpeed(0.1)
    with pytest.raises(ValueError, match="at most 1024 different pairs of factors, got 2000"):
        replace(case, ranks=2000, L_factor=drawn)


@pytest.mark.parametrize("kind", ["butterfly", "recursive_doubling_allreduce", "ring_allreduce"])
def test_explain_tells_slow_links_from_noise_and_the_path(kind):
    """All links slow: their cause is the whole difference, beside the same noise."""
    noise = [jf.PeriodicNoise("50us", "7us"), jf.NetworkJitter("20us", "3us"),
             jf.NetworkWeather(longer=0.5)]  # fmt: skip
    every = jf.imbalance.GivenSpeed([2.5] * 16)
    case = jf.Case(16, network=replace(NETWORK, g=0), algorithm=kind, message_bytes=1, cycles=2,
                   L_factor=every)  # fmt: skip
    alone = jf.explain(case, realizations=2)
    assert alone.causes == ("links", "path")
    links, path = (row.mean.value for row in alone.rows())
    usual = jf.simulate(replace(case, L_factor=None), 1).noise_free[-1]
    assert links == pytest.approx(jf.simulate(case, 1).noise_free[-1] - usual)
    assert path == 0
    both = jf.explain(replace(case, noise=noise), realizations=20, seed=3)
    assert both.causes[0] == "links"
    np.testing.assert_array_equal(both.ticks.sum(axis=1), both.completion - both.on_time)
    same = jf.simulate(replace(case, noise=noise), 20, seed=3).ticks[:, -1]
    np.testing.assert_array_equal(both.completion, same)
    assert both.on_time == round(usual * 1e12)


def test_explain_blames_the_card_that_is_slow():
    one = jf.imbalance.SlowRanks(50, [3])
    case = jf.Case(16, network=NETWORK, algorithm="ring_allreduce", message_bytes=8000,
                   G_factor=one, noise=[jf.MessageNoise("1ns")])  # fmt: skip
    found = jf.explain(case, realizations=2)
    links, noise, _ = (row.mean.value for row in found.rows())
    assert links > 100 * noise > 0
    assert {rank for rank, _ in found.culprits()} <= {3, 4}  # messages to it, and from it


def test_slowdown_has_slow_links(capsys):
    """What noise adds is told from what slow links take also without it."""
    noise = [jf.MessageNoise("1us")]
    options = {"network": NETWORK, "algorithm": "ring_allreduce", "realizations": 5}
    quick, slow = (
        jf.slowdown(noise, 16, L_factor=factor, **options)
        for factor in (None, jf.imbalance.SlowNodes(4, node_ranks=4, nodes=[1]))
    )
    assert quick.rows[0].slowdown.value > slow.rows[0].slowdown.value > 1
    text = ["slowdown", "--ranks=16", "--noise=kind=message,delay=1us", "--realizations=5", "-q",
            "--algorithm=ring_allreduce",
            "--network=L=1us,o=200ns,g=300ns,G=0.1ns,gamma=0.2ns"]  # fmt: skip
    factor = "--L-factor=kind=slow_nodes,factor=4,node_ranks=4,nodes=1"
    assert main([*text, factor, "--json"]) in (0, None)
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"][0]["slowdown"]["value"] == pytest.approx(slow.rows[0].slowdown.value)
    assert "--L-factor: nodes must be from 0 to 3" in error_of(capsys, *text, factor + "7")
