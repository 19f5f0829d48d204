"""Congestion against captured runs of ORCS 2.0 on two real networks, message by message."""

import gzip
import json

import numpy as np
import pytest
from support.paths import NETWORK_MAPS
from support.scale import crossed

import jitterfly.congestion as jc


def capture(name):
    with gzip.open(NETWORK_MAPS / f"fixtures_{name}.json.gz", "rt") as file:
        return json.load(file)["cases"][0]


@pytest.mark.parametrize("name", ["loginoff", "topograph"])
def test_captured_runs(name):
    network = jc.NetworkMap.read(NETWORK_MAPS / f"{name}_minhop.dot.gz")
    case = capture(name)
    values = []
    for run in case["runs"]:
        levels = [np.array(level["pairs"]) for level in run["levels"]]
        found = jc.route_messages(network, levels, run["host_of_rank"])
        assert [w.tolist() for w in found] == [x["max_path_congestion"] for x in run["levels"]]
        own = [level[level[:, 0] < case["z"]].tolist() for level in levels]
        weights = [w[: len(mine)] for w, mine in zip(found, own, strict=True)]
        values.append(rules(own, weights, case["z"]))
        assert values[-1] == (
            run["dep_max_delay_v2"],
            run["dep_chain_from_vertex0_v1"],
            run["dep_ready_time_variant"],
        )
        assert sum(int(w.max()) for w in found) == run["sum_max_cong"]
        every = np.concatenate(found)
        assert (1 / every).mean() == pytest.approx(run["mean_inverse_congestion"], rel=1e-12)
    printed = {int(k): v for k, v in case["orcs_printed"]["hist"].items()}
    assert {v: [x[0] for x in values].count(v) for v in printed} == printed


def rules(levels, weights, z):
    """orcs, orcs1 and ready of the collective's messages."""
    before, ready, orcs, chain = {}, [0] * z, 0, 0
    for number, (pairs, w) in enumerate(zip(levels, weights, strict=True)):
        now, then = {}, list(ready)
        for (a, b), c in zip(pairs, w.tolist(), strict=True):
            now[b] = max(now.get(b, 0), c + before.get(a, 0))
            ready[b] = max(ready[b], then[a] + c)
            if a == 2**number - 1 and b == 2 ** (number + 1) - 1:
                chain += c
        orcs, before = max([orcs, *now.values()]), now
    return orcs, chain, max(ready)


@pytest.mark.parametrize("name", ["loginoff", "topograph"])
def test_traffic_drawn_here_has_the_captured_shape(name):
    case = capture(name)
    network = jc.NetworkMap.read(NETWORK_MAPS / f"{name}_minhop.dot.gz")
    ranks = len(case["runs"][0]["host_of_rank"])
    mine = jc.CongestionCase(network, ratio=0.5, ranks=ranks)
    assert mine.z == case["z"]
    found = jc.congestion_realization(mine)
    captured = case["runs"][0]["levels"]
    assert [len(level.pairs) for level in found.levels] == [len(x["pairs"]) for x in captured]
    for level, other in zip(found.levels, captured, strict=True):
        own = level.pairs[: level.own].tolist()
        assert own == [pair for pair in other["pairs"] if pair[0] < case["z"]]


SIZES = {"loginoff": (145, 8, 384), "topograph": (542, 40, 2148)}


@pytest.mark.parametrize(("name", "engine"), crossed(SIZES, ["minhop", "updn", "dfsssp"]))
def test_maps_are_read_whole(name, engine):
    network = jc.NetworkMap.read(NETWORK_MAPS / f"{name}_{engine}.dot.gz")
    assert (network.hosts, network.switches, network.edges) == SIZES[name]
    assert network.dropped == 0
    again = jc.Topology.from_dict(network.to_dict())
    assert again == network
    case = jc.CongestionCase(network)
    assert jc.simulate_congestion(case, 3, seed=1).samples.min() >= 8
