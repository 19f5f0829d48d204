"""Congestion engine against a reference in plain Python; threads, instruction sets, GPU."""

import dataclasses
import random

import numpy as np
import pytest
from reference import congestion as plain
from support.congestion_cases import random_case, random_graph, random_tree
from support.grouped import parametrize_in_groups
from support.scale import scaled

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import BackendError, _core
from jitterfly.congestion import PERTURBATIONS
from jitterfly.congestion.simulate import compile_congestion


def words(case, seed, first, count, **options):
    return _core.congestion(compile_congestion(case), seed, first, count, **options)


def expected(network, case, seed, number):
    levels = plain.pattern(case.pattern, case.z)
    return plain.realization(network, case.ranks, case.z, levels, case.perturbation, seed, number)


@parametrize_in_groups("number", range(scaled(150)))
def test_trees_and_maps_equal_the_reference(number, tmp_path):
    chance = random.Random(number)
    if number % 3:
        reference, network = random_tree(chance)
    else:
        reference = random_graph(chance, tmp_path / "map.dot")
        network = jc.NetworkMap.read(tmp_path / "map.dot")
    case = random_case(chance, network)
    seed, first = chance.randrange(2**64), chance.randrange(2**32 - 3)
    found, bins = words(case, seed, first, 2, all=True, histogram=True, threads=1)
    counted = np.zeros(len(bins), int)
    for i in range(2):
        hosts, levels = expected(reference, case, seed, first + i)
        wanted = plain.results(levels, case.z)
        if case.pattern != "tree":
            wanted[1] = 0  # the chain is the tree's
        assert found[i].tolist() == wanted
        shown = jc.congestion_realization(case, first + i, seed)
        assert shown.host_of_rank.tolist() == hosts
        for level, (pairs, own, w) in zip(shown.levels, levels, strict=True):
            mine = dict(zip(map(tuple, level.pairs.tolist()), level.w.tolist(), strict=True))
            assert level.own == own
            assert mine == dict(zip(pairs, w, strict=True))
            counted += np.bincount(w, minlength=len(bins))
    assert bins.tolist() == counted.tolist()
    some, _ = words(case, seed, first, 2, threads=1)
    assert (some[:, :3] == found[:, :3]).all()
    assert (some[:, 3:] == 0).all()


def test_results_are_the_rules_of_the_words():
    tree = jc.FatTree.of(144)
    raw, _ = words(jc.CongestionCase(tree), 5, 0, 20, all=True)
    for i, rule in enumerate(["orcs", "orcs1", "ready", "sum_max_cong"]):
        found = jc.simulate_congestion(jc.CongestionCase(tree, rule=rule), 20, seed=5)
        assert found.samples.tolist() == raw[:, i].tolist()
    found = jc.simulate_congestion(jc.CongestionCase(tree, rule="bandwidth"), 20, seed=5)
    np.testing.assert_allclose(found.samples, raw[:, 4] / 2**40 / raw[:, 5], rtol=1e-15)


@pytest.mark.parametrize("routing", jc.ROUTINGS)
def test_results_do_not_depend_on_threads_and_pieces(routing):
    case = jc.CongestionCase(jc.FatTree.of(144, routing=routing), rule="bandwidth")
    whole, bins = words(case, 3, 2**32 - 40, 40, all=True, threads=1, histogram=True)
    again, same = words(case, 3, 2**32 - 40, 40, all=True, threads=5, histogram=True)
    assert (whole == again).all()
    assert (bins == same).all()
    parts = [words(case, 3, 2**32 - 40 + a, b - a, all=True)[0]
             for a, b in ((0, 1), (1, 17), (17, 40))]  # fmt: skip
    assert (np.concatenate(parts) == whole).all()


def test_instruction_sets_agree(monkeypatch):
    case = jc.CongestionCase(jc.FatTree.of(1152, routing="s-mod-k"))
    results = []
    for isa in ("portable", "plain", *_core.build_info()["instruction_sets"].split()):
        monkeypatch.setenv("JITTERFLY_ISA", isa)
        try:
            results.append(words(case, 1, 0, 3)[0])
        except ValueError:  # a processor without it
            continue
    assert len(results) >= 2
    assert all((r == results[0]).all() for r in results)


def test_placement_and_traffic_are_common_to_cases():
    case = jc.CongestionCase(jc.FatTree.of(144))
    other = dataclasses.replace(case, network=jc.FatTree.of(144, routing="random"), rule="ready")
    one, two = (jc.congestion_realization(c, 7, 9) for c in (case, other))
    assert (one.host_of_rank == two.host_of_rank).all()
    assert all((a.pairs == b.pairs).all() for a, b in zip(one.levels, two.levels, strict=True))


def test_given_levels_are_the_pattern_they_copy():
    tree = jc.FatTree.of(144)
    case = jc.CongestionCase(tree, pattern="recdbl")
    given = dataclasses.replace(case, pattern=[level.tolist() for level in case.levels()])
    results = [jc.simulate_congestion(c, 30, seed=2).samples for c in (case, given)]
    assert (results[0] == results[1]).all()
    assert jc.CongestionCase.from_dict(given.to_dict()) == given


def test_32_bit_counters_count_the_same():
    """More messages in a level than 16 bits hold, all of them to one host: 2^16 + 1."""
    tree = jc.FatTree((2**9, 2**9), (1, 2))
    ranks = 2**16 + 2
    case = jc.CongestionCase(tree, pattern="gather", perturbation="none", ratio=0, ranks=ranks)
    assert jc.simulate_congestion(case, 1).samples.tolist() == [ranks - 1]


def test_slowdown_is_a_paired_ratio():
    case = jc.CongestionCase(jc.FatTree.of(144), ratio=0.5)
    perturbed = jc.simulate_congestion(case, 300, seed=1)
    quiet = jc.simulate_congestion(case.unperturbed(), 300, seed=1)
    found = jc.slowdown_percent(perturbed, quiet)
    assert found.value == pytest.approx(100 * perturbed.samples.mean() / quiet.samples.mean())
    assert 100 < found.low < found.value < found.high
    for other in (jc.simulate_congestion(case.unperturbed(), 300, seed=2), perturbed):
        with pytest.raises(ValueError, match="unperturbed"):
            jc.slowdown_percent(perturbed, other)


def test_bisection_bandwidth_of_a_crossbar_is_all():
    found = jc.bisection_bandwidth(jc.FatTree((16,), (1,)), 20)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("pattern", ["tree", "recdbl", "reduce"])
@pytest.mark.parametrize("perturbation", PERTURBATIONS)
def test_level_synchronous_is_the_sum_of_each_levels_largest(pattern, perturbation):
    """Of the pattern's own messages, as the engine shows them of single realizations."""
    tree = jc.FatTree((4, 4, 2), (1, 2, 4))
    case = jc.CongestionCase(tree, pattern=pattern, perturbation=perturbation, rule="level_sync")
    found = jc.simulate_congestion(case, 12, seed=3, histogram=True, first_realization=5)
    for at, value in enumerate(found.samples):
        levels = jc.congestion_realization(case, 5 + at, 3).levels
        assert value == sum(level.w[: level.own].max() for level in levels)
    plain = jc.simulate_congestion(case, 12, seed=3, first_realization=5)
    assert np.array_equal(plain.samples, found.samples)
    longest = dataclasses.replace(case, rule="ready")
    ready = jc.simulate_congestion(longest, 12, seed=3, histogram=True, first_realization=5)
    assert (found.samples >= ready.samples).all()
    assert np.array_equal(found.histogram, ready.histogram)


def test_slowdown_of_sums_over_levels():
    """Half of 144 hosts, as HSL09's slide 15: a trial gave 177 and 228 %."""
    for rule, expected in (("level_sync", 177), ("sum_max_cong", 228)):
        case = jc.CongestionCase(jc.FatTree.of(144), rule=rule)
        slow = jc.slowdown_percent(
            *(jc.simulate_congestion(c, 400) for c in (case, case.unperturbed()))
        )
        assert abs(slow.value - expected) < 8, rule
    case = jc.CongestionCase(jc.FatTree.of(144), rule="bandwidth")
    both = [jc.simulate_congestion(c, 5) for c in (case, case.unperturbed())]
    with pytest.raises(ValueError, match="one of orcs, orcs1, ready, level_sync, sum_max_cong"):
        jc.slowdown_percent(*both)


def test_a_ratio_may_be_a_percentage():
    cases = [jc.CongestionCase(jc.FatTree.of(144), ratio=ratio) for ratio in (0.25, "25%", "1/4")]
    assert cases == cases[:1] * 3
    noises = [jf.Congestion(jc.FatTree.of(144), ratio=ratio) for ratio in (0.25, "25%")]
    assert noises[0] == noises[1]


BAD = [
    ({"ratio": 1.5}, "ratio must be a number from 0 to 1"),
    ({"ratio": float("nan")}, "ratio must be a number from 0 to 1"),
    ({"ratio": "half"}, "ratio must be a number from 0 to 1"),
    ({"ratio": 1}, "leaves z = 0 of 144 ranks"),
    ({"ratio": 143 / 144}, "leaves z = 1 of 144 ranks"),
    ({"ratio": 1 / 144}, "leaves one perturbing rank"),
    ({"ranks": 145}, "ranks must be an integer from 1 to 144"),
    ({"pattern": "trees"}, "did you mean 'tree'"),
    ({"perturbation": "random"}, "perturbation must be one of"),
    ({"rule": "orcs2"}, "rule must be one of"),
    ({"rule": "orcs1", "pattern": "bruck"}, "'orcs1' is defined for pattern 'tree' only"),
    ({"pattern": "none"}, "pattern 'none' needs ratio 1"),
    ({"pattern": [[[0, 0]]]}, "level 0: senders and receivers must be two different ranks"),
    ({"pattern": [[[0, 1]], [[0, 72]]]}, "level 1: senders and receivers"),
    ({"pattern": [[0, 1]]}, "pattern must be one of"),
    ({"pattern": []}, "at least one message"),
    ({"pattern": 7}, "pattern must be one of"),
    ({"network": "tree"}, "network must be a Topology"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_cases(change, message):
    with pytest.raises(ValueError, match=message):
        jc.CongestionCase(**({"network": jc.FatTree.of(144)} | change))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"m": (), "w": ()}, "m must be a list of 1 to 8 integers"),
        ({"m": (2, 2), "w": (1,)}, "w must be a list of 2 integers"),
        ({"m": (2, 0), "w": (1, 1)}, "m numbers must be an integer from 1"),
        ({"m": "22", "w": (1, 1)}, "m must be a list"),
        ({"m": (2**11, 2**11), "w": (1, 1)}, "product of m must be at most"),
        ({"m": (2, 2), "w": (1024, 2048)}, "links of one level above a host"),
        ({"m": (2, 2), "w": (1, 1021), "p": (1031, 1), "routing": "hash"}, "least common multiple"),
        ({"m": (2, 2), "w": (1, 1), "routing": "up"}, "routing must be one of"),
        ({"m": (2, 2), "w": (1, 1), "salt": 3}, "salt must be 0 with routing"),
    ],
)
def test_bad_trees(arguments, message):
    with pytest.raises(ValueError, match=message):
        jc.FatTree(**arguments)


def test_bad_runs():
    case = jc.CongestionCase(jc.FatTree.of(144))
    with pytest.raises(ValueError, match="realizations must be an integer from 1"):
        jc.simulate_congestion(case, 0)
    with pytest.raises(ValueError, match="first_realization must be"):
        jc.simulate_congestion(case, 2, first_realization=2**32 - 1)
    with pytest.raises(ValueError, match="case must be a CongestionCase"):
        jc.simulate_congestion(None)
    with pytest.raises(ValueError, match="hosts must be one of 144"):
        jc.FatTree.of(145)
    if _core.cuda_status():
        with pytest.raises(BackendError, match="cuda"):
            jc.simulate_congestion(case, 1, backend="cuda")
    with pytest.raises(ValueError, match="host_of_rank must be different"):
        jc.route_messages(case.network, [[[0, 1]]], [0, 0])


def test_progress_and_its_errors():
    seen = []
    case = jc.CongestionCase(jc.FatTree.of(144))
    jc.simulate_congestion(case, 10, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (10, 10)

    def stop(done, of):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        jc.simulate_congestion(case, 10, progress=stop)


@pytest.mark.gpu
@pytest.mark.parametrize("perturbation", jc.PERTURBATIONS)
@pytest.mark.parametrize("hosts", [144, 1152, 20736])
@pytest.mark.parametrize("routing", ["d-mod-k", "random"])
def test_cuda_equals_cpu(routing, hosts, perturbation):
    network = jc.FatTree.of(hosts, routing=routing)
    case = jc.CongestionCase(network, perturbation=perturbation, rule="bandwidth")
    cpu, bins = words(case, 7, 2**31, 10, all=True, histogram=True)
    cuda, same = words(case, 7, 2**31, 10, all=True, histogram=True, backend="cuda")
    assert (cpu == cuda).all()
    assert (bins == same).all()


def test_a_gpu_with_too_little_memory_leaves_it_to_the_cpu(monkeypatch):
    """A device that is none, and that has no memory: "auto" says so and goes on."""
    case, used, engine = jc.CongestionCase(jc.FatTree.of(144)), [], _core.congestion
    on_cpu = jc.simulate_congestion(case, 5, backend="cpu")
    error = RuntimeError("out of memory (cudaErrorMemoryAllocation, gpu.cu:17)")

    def congestion(*arguments):
        used.append(arguments[5])
        if arguments[5] == "cuda":
            raise error
        return engine(*arguments)

    monkeypatch.setattr(_core, "congestion", congestion)
    monkeypatch.setattr(_core, "cuda_status", lambda: "")
    with pytest.warns(RuntimeWarning, match=r"^backend 'auto' takes the CPU: .*out of memory") as w:
        found = jc.simulate_congestion(case, 5)
    assert w[0].filename == __file__
    assert (found.backend, used) == ("cpu", ["cuda", "cpu"])
    np.testing.assert_array_equal(found.samples, on_cpu.samples)
    with pytest.raises(BackendError, match=r"^backend .cuda. failed: out of memory"):
        jc.simulate_congestion(case, 5, backend="cuda")
    error = RuntimeError("an illegal memory access (cudaErrorIllegalAddress, gpu.cu:17)")
    with pytest.raises(BackendError, match="cudaErrorIllegalAddress"):
        jc.simulate_congestion(case, 5)
