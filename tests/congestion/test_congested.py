"""`Congestion` as noise in collectives: exact against the reference, threads, memory, studies."""

import pickle
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from reference import noise_cases
from reference.cases import mirrors_case, random_case, redundant_case
from reference.collective import labels_of
from reference.collectives import GOALS, random_pair
from reference.congested import butterfly, collective, congested
from reference.noise import MessageDelay
from support.congestion_cases import random_graph, random_tree
from support.grouped import parametrize_in_groups
from support.instruction_sets import AVAILABLE, ISAS
from support.paths import CUDA
from support.scale import some

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import _core
from jitterfly.backends import choose_backend
from jitterfly.congestion import simulate_congestion
from jitterfly.program import compile_case, row_labels
from jitterfly.steps import SENDS_ONLY
from jitterfly.studies import parse_study

FAMILIES = {
    "any": lambda rng: random_case(rng, 5),
    "redundant": lambda rng: redundant_case(rng, 5),
    "mirrors": mirrors_case,
    "lists": noise_cases.any_case,
    "ties": noise_cases.tie_case,
    "instant": noise_cases.zero_transit_case,
}
PERTURBATIONS = ("none", "rand", "bisect", "bisect_fb")


def random_network(rng, ranks, path):
    """A network with room for the ranks, and how many of its hosts are used."""
    while True:
        if rng.random() < 0.2 and ranks <= 12:
            trees = random_graph(rng, path)
            trees = trees, jc.NetworkMap.read(path)
        else:
            trees = random_tree(rng, 90)
        hosts = trees[1].hosts
        others = rng.choice([0, hosts - ranks, rng.randint(0, max(hosts - ranks, 0))])
        if hosts >= ranks and others != 1:
            return trees, ranks + others


def add_congestion(rng, case, path):
    """The same case with messages that share links."""
    if case.log2_ranks > 5:
        case = replace(case, log2_ranks=5, hidden=frozenset(), within=tuple(
            m for m in case.within if m < 5), after=min(case.after, 5),
            others=tuple(s for s in case.others if s.node_ranks <= 32), periodic=None,
            jitter=None)  # fmt: skip
        case = replace(case, others=tuple(
            s for s in case.others if not getattr(s, "phases", None)
            and not getattr(s, "offsets", None)))  # fmt: skip
    load = rng.choice([1, rng.randint(1, 30), rng.randint(1, 300)])
    trees, hosts = random_network(rng, case.ranks, path)
    levels = butterfly(case.log2_ranks, case.within, case.mirrors, case.after, case.cycles)
    source = congested(levels, case.ranks, lambda *_: load, trees, hosts, rng.choice(PERTURBATIONS),
                       case.seed, case.realization)  # fmt: skip
    return replace(case, costs=replace(case.costs, load=load), others=(*case.others, source))


@pytest.fixture
def make(tmp_path):
    def made(family, number):
        rng = random.Random(f"congested, {family} {number}")
        return add_congestion(rng, FAMILIES[family](rng), tmp_path / "map.dot")

    return made


@parametrize_in_groups(
    "family, number", [(family, number) for family in FAMILIES for number in some(range(30), 2)]
)
def test_engine_equals_reference(family, number, make, monkeypatch):
    case = make(family, number)
    expected = np.array(case.reference().rows, dtype=np.int64)[case.rows]
    for isa in AVAILABLE:
        monkeypatch.setenv("JITTERFLY_ISA", isa)
        program = case.program(_core)
        times = _core.ready_times(program, case.seed, case.realization)
        np.testing.assert_array_equal(times, expected, err_msg=isa)
        largest = _core.simulate(program, case.seed, case.realization, 1, "max", "cpu", 1, None)
        np.testing.assert_array_equal(largest[0], expected.max(axis=1), err_msg=isa)


@pytest.mark.full_scale
def test_the_cases_are_not_trivial(make):
    """Messages are held up, copies adopted, levels skipped, and delays drawn besides."""
    seen, copies, skipped, windows = Counter(), 0, 0, 0
    for family in FAMILIES:
        for number in range(12):
            case = make(family, number)
            run = case.reference()
            seen += run.noise.seen
            copies, skipped = copies + run.copies_taken, skipped + run.levels_skipped
            windows += any(isinstance(s, MessageDelay) for s in case.sources) and bool(
                run.noise.seen["outside"]
            )
    assert seen["held up"] > 3000
    assert min(seen[what] for what in ("message", "interrupted", "receive", "send")) > 100
    assert copies > 100
    assert skipped > 20
    assert windows > 3


def several_at_once(steps):
    """Whether several messages of a rank are under way at once, which congestion refuses."""
    return any(step.flags & SENDS_ONLY for step in steps)


SEVERAL = {
    kind for kind in GOALS if several_at_once(jf.Algorithm.from_dict({"kind": kind}).steps(16, 8))
}


@parametrize_in_groups(
    "kind, number",
    [(kind, number) for kind in sorted({*GOALS} - SEVERAL)
     for number in some(reversed(range(12)), 1)],
)  # fmt: skip
def test_collectives_equal_the_reference(kind, number, tmp_path):
    rng = random.Random(f"congested, {kind} {number}")
    while True:
        case, run, (seed, realization) = random_pair(rng, jf, kind)
        loaded = case.network.load(case.message_bytes) > 0 and case.ranks > 1
        if loaded and not several_at_once(case.cycle_steps()):  # as with a radix above 2
            break
    trees, hosts = random_network(rng, case.ranks, tmp_path / "map.dot")
    perturbation = rng.choice(PERTURBATIONS)
    if perturbation == "none":
        hosts = case.ranks
    levels, sizes = collective(case.cycle_steps(), case.ranks, case.cycles)
    source = congested(
        levels, case.ranks,
        lambda *which: case.network.load(sizes.get(which, case.message_bytes)),
        trees, hosts, perturbation, seed, realization)  # fmt: skip
    run.sources = [*run.sources, source]
    ratio = None if perturbation == "none" else (hosts - case.ranks) / trees[1].hosts
    noise = jf.Congestion(trees[1], ratio=ratio, perturbation=perturbation)
    case = replace(case, noise=[*case.noise, noise])
    expected = run.execute()
    times = jf.ready_times(case, seed=seed, realization=realization)
    here = np.array([[t is not None for t in row] for row in expected])
    filled = np.array([[t or 0 for t in row] for row in expected], dtype=np.int64)
    found = np.where(here, np.rint(np.nan_to_num(times) * 1e12), 0).astype(np.int64)
    np.testing.assert_array_equal(found, filled)
    assert row_labels(case) == labels_of(run)


# A message of one byte takes w ticks, L + (w n - 1) G, and occupies no link for the next one.
UNIT = jf.LogGOPS(L="1ps", o=0, G="1ps")


def pattern_of(algorithm, ranks):
    levels, _ = collective(algorithm.steps(ranks, 1), ranks, 1)
    return [[list(pair[-2:]) for pair in level] for level in levels]


@pytest.mark.parametrize("routing", jc.ROUTINGS)
@pytest.mark.parametrize("perturbation", some(PERTURBATIONS, 2))
@pytest.mark.parametrize(
    ("algorithm", "pattern"),
    [
        (jf.Butterfly(), "recdbl"),
        (jf.DisseminationBarrier(), "bruck"),
        (jf.BinomialBroadcast(), None),
        (jf.BinomialReduce(), None),
        (jf.RecursiveDoublingBarrier(), "recdbl"),
        (jf.RingAllgather(), None),
    ],
)
def test_transits_of_w_ticks_are_the_rule_ready(algorithm, pattern, perturbation, routing):
    tree = jc.FatTree.of(144, routing=routing)
    ranks = 64
    if routing == "random":  # drawn for messages by their number in the level
        pattern = None
    others = 0 if perturbation == "none" else 60
    noise = jf.Congestion(tree, ratio=others / 144 if others else None, perturbation=perturbation)
    case = jf.Case(ranks, algorithm=algorithm, network=UNIT, message_bytes=1, noise=[noise])
    alone = jc.CongestionCase(
        tree, pattern=pattern or pattern_of(algorithm, ranks), perturbation=perturbation,
        ratio=others / (ranks + others), ranks=ranks + others, rule="ready")  # fmt: skip
    assert alone.z == ranks
    found = jf.simulate(case, 40, seed=9, backend="cpu", first_realization=1000)
    expected = simulate_congestion(alone, 40, seed=9, backend="cpu", first_realization=1000)
    assert found.ticks[:, 0].tolist() == expected.samples.tolist()
    assert found.noise_free[0] == pytest.approx(1e-12 * len(pattern_of(algorithm, ranks)))


CROSSBAR = jc.FatTree((64,), (1,))
NOISE = [
    jf.PeriodicNoise(period="1ms", duration="10us"),
    jf.NetworkJitter(period="1ms", duration="5us"),
    jf.StepNoise(jf.Exponential("100ns")),
]


@pytest.mark.parametrize(
    "algorithm",
    [
        jf.Butterfly(exchanges_after=3),
        jf.RingAllreduce(),
        jf.DisseminationBarrier(),
        jf.RecursiveDoublingAllreduce(exchanges_after=2),
    ],
)
@pytest.mark.parametrize("noise", [[], NOISE[:1], NOISE[1:2], NOISE])
def test_where_nobody_shares_a_link_nothing_changes(algorithm, noise):
    network = jf.LogGOPS(L="1us", o="100ns", G="1ns", gamma="1ns")
    case = jf.Case(64, algorithm=algorithm, network=network, message_bytes=800, cycles=2,
                   compute_time="20us", noise=noise, observe="rounds")  # fmt: skip
    alone = jf.simulate(case, 20, seed=3, backend="cpu")
    for congestion in (
        jf.Congestion(CROSSBAR),
        jf.Congestion(jc.FatTree((128,), (1,)), perturbation="rand"),
    ):
        beside = replace(case, noise=[*noise, congestion])
        found = jf.simulate(beside, 20, seed=3, backend="cpu")
        np.testing.assert_array_equal(found.ticks, alone.ticks)
        np.testing.assert_array_equal(found.noise_free, alone.noise_free)


def test_others_alone_hold_messages_up():
    """Other traffic, and nothing of one's own: only others' loads can hold up."""
    network = jf.Hockney(alpha="1us", beta="1ns", gamma="0.1ns")
    tree = jc.FatTree((8, 8), (1, 2))
    quiet = jf.Case(
        16, algorithm=jf.Butterfly(exchanges_after=4), network=network, message_bytes=1000
    )
    case = replace(quiet, noise=[jf.Congestion(tree)])
    held = jf.simulate(case, 200, seed=3, backend="cpu").samples.mean(axis=0)
    assert (held > 1.5 * jf.simulate(quiet, 1, seed=3, backend="cpu").samples.mean(axis=0)).all()


@pytest.mark.parametrize("isa", AVAILABLE)
@pytest.mark.parametrize(
    "algorithm",
    [
        jf.Butterfly(copy_levels="all", exchanges_after=2),
        jf.Butterfly(exchanges_after=5),
        jf.RabenseifnerAllreduce(),
    ],
)
def test_batches_threads_and_instruction_sets(algorithm, isa, monkeypatch):
    tree = jc.FatTree((8, 12), (1, 4), routing="random")
    case = jf.Case(50, algorithm=algorithm, network=jf.LogGOPS(L="1us", o="50ns", G="1ns"),
                   message_bytes=500, cycles=2, compute_time="10us", observe="spread",
                   noise=[*NOISE, jf.Congestion(tree, ratio=0.4)])  # fmt: skip
    monkeypatch.setenv("JITTERFLY_ISA", "plain")
    whole = jf.simulate(case, 12, seed=5, backend="cpu", threads=1).ticks
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    for threads in (1, 3, 16):  # more threads than realizations: a team for each
        found = jf.simulate(case, 12, seed=5, backend="cpu", threads=threads).ticks
        np.testing.assert_array_equal(found, whole)
    parts = [jf.simulate(case, n, seed=5, backend="cpu", first_realization=at).ticks
             for at, n in ((0, 1), (1, 7), (8, 4))]  # fmt: skip
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_a_machine_beyond_a_tile(monkeypatch):
    """Two passes over memory, and threads that share a realization."""
    tree = jc.FatTree((32, 32, 32), (1, 16, 16))
    case = jf.Case(2**15, algorithm=jf.Butterfly(exchanges_after=3), network=UNIT, message_bytes=1,
                   noise=[jf.Congestion(tree)], observe="spread")  # fmt: skip
    monkeypatch.setenv("JITTERFLY_ISA", "plain")
    whole = jf.simulate(case, 2, seed=5, backend="cpu", threads=1).ticks
    for isa in ISAS:
        monkeypatch.setenv("JITTERFLY_ISA", isa)
        for threads in (1, 4):
            found = jf.simulate(case, 2, seed=5, backend="cpu", threads=threads).ticks
            np.testing.assert_array_equal(found, whole)


def test_copies_add_to_the_load():
    """A rank that sends two messages in a round has both on its own link."""
    tree, network = jc.FatTree((64,), (1,)), jf.Hockney(alpha="1us", beta="1ns")
    noise = [jf.Congestion(tree, perturbation="none")]
    plain = jf.Case(64, network=network, message_bytes=1000, noise=noise)
    copied = jf.Case(64, network=network, message_bytes=1000, noise=noise,
                     algorithm=jf.Butterfly(copy_levels="all"))  # fmt: skip
    assert jf.simulate(plain, 3, backend="cpu").ticks.tolist() == [[6 * 2_000_000]] * 3
    # Copies of levels 1 ... 5 are on the links of rounds 1 ... 5, not of round 0.
    assert jf.simulate(copied, 3, backend="cpu").ticks.tolist() == [[2_000_000 + 5 * 3_000_000]] * 3


TREE = jc.FatTree.of(144)
HOCKNEY = jf.Hockney(alpha="1us", beta="1ns")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"network": 144}, "network must be a Topology such as"),
        ({"network": {"kind": "torus"}}, "network: kind must be one of"),
        ({"network": {"kind": "fat_tree", "m": [4]}}, "network: key 'w' is missing"),
        ({"ratio": 1.5}, "ratio must be a number from 0 to 1, got 1.5"),
        ({"ratio": "half"}, "ratio must be a number from 0 to 1"),
        ({"perturbation": "all"}, "perturbation must be one of"),
        ({"perturbation": "none", "ratio": 0.5}, "ratio must be None or 0 with perturbation"),
    ],
)
def test_bad_congestion(arguments, message):
    with pytest.raises(ValueError, match=message):
        jf.Congestion(**{"network": TREE, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ranks": 145}, "ranks must be from 1 to 144, the hosts of the network"),
        ({"noise": [jf.Congestion(TREE, ratio=0.8)]}, r"at most 0.555556 for 64.*got 0.8; .*zip"),
        ({"noise": [jf.Congestion(TREE, ratio=1 / 144)]}, "leaves one perturbing host of 144"),
        ({"ranks": 143}, "leaves one perturbing host of 144 beside 143 ranks"),
        ({"noise": [jf.Congestion(TREE)] * 2}, "noise must hold at most one Congestion"),
        ({"algorithm": jf.Butterfly(on_demand="all", patience="1us")}, "on_demand must be empty"),
        ({"algorithm": jf.LinearAlltoall()}, "linear_alltoall has several messages of a rank"),
        ({"algorithm": jf.RecursiveMultiplyingAllreduce()}, "several messages of a rank under way"),
        ({"algorithm": jf.BruckAlltoall(radix=3)}, "several messages of a rank under way"),
        ({"message_bytes": 0}, "message_bytes, and the network's time per byte"),
        ({"network": jf.Hockney(alpha="1us", beta=0)}, "time per byte .beta, G., must be above 0"),
        ({"network": jf.LogGOPS(L="1us", o=0)}, "time per byte .beta, G., must be above 0"),
    ],
)
def test_bad_cases(arguments, message):
    given = {"ranks": 64, "network": HOCKNEY, "noise": [jf.Congestion(TREE)], **arguments}
    with pytest.raises(ValueError, match=message):
        jf.Case(**{"message_bytes": 8, **given})


def test_one_rank_has_nothing_to_share():
    case = jf.Case(1, network=HOCKNEY, noise=[jf.Congestion(TREE)], message_bytes=8)
    assert jf.simulate(case, 3, backend="cpu").ticks.tolist() == [[0]] * 3


def test_tables_that_are_too_large_are_refused_with_figures():
    tree = jc.FatTree((16, 16, 16), (1, 16, 16))
    case = jf.Case(4094, algorithm=jf.RingAllreduce(), network=HOCKNEY, message_bytes=8192,
                   cycles=40, noise=[jf.Congestion(tree, ratio=2 / 4096)])  # fmt: skip
    with pytest.raises(ValueError, match=r"may take 1073741824 bytes.* at least 268"):
        jf.simulate(case, 1, backend="cpu")
    case = replace(case, cycles=200, noise=[jf.Congestion(tree, perturbation="none")])
    with pytest.raises(ValueError, match=r"2\^20 rounds of messages, this one has 1637200"):
        jf.simulate(case, 1, backend="cpu")
    fixed = jf.Congestion(tree, ratio=2 / 4096, perturbation="bisect_fb")
    small = replace(case, cycles=1, noise=[fixed])
    assert jf.simulate(small, 1, backend="cpu").ticks.shape == (1, 1)  # all rounds are one level


def test_more_than_16_bits_of_messages_are_refused():
    tree = jc.FatTree((64, 32, 32), (1, 1, 1))
    case = jf.Case(1024, network=HOCKNEY, noise=[jf.Congestion(tree, ratio=0.9)], message_bytes=8)
    assert jf.simulate(case, 1, backend="cpu").ticks.shape == (1, 1)
    case = jf.Case(
        2**15,
        algorithm=jf.Butterfly(copy_levels="all"),
        network=HOCKNEY,
        message_bytes=8,
        noise=[jf.Congestion(tree)],
    )
    with pytest.raises(ValueError, match="at most 65535 messages may be under way together"):
        jf.simulate(case, 1, backend="cpu")


def test_memory_counts_the_table():
    case = jf.Case(1024, algorithm=jf.RingAllreduce(), network=HOCKNEY, message_bytes=8192)
    beside = replace(case, noise=[jf.Congestion(jc.FatTree.of(1152))])
    more = _core.memory(compile_case(beside), "cpu", 2) - _core.memory(compile_case(case), "cpu", 2)
    table = 2 * 1024 * (1 + 2 * 1023)
    # Two threads, each with the tables of as many realizations as a register has lanes.
    lanes = {"avx512": 8, "avx2": 4, "portable": 2}.get(_core.build_info()["instruction_set"], 1)
    assert 2 * lanes * table < more < 2 * lanes * table + 2 * 10**6


def test_a_machine_with_too_little_memory_for_the_tables_of_a_gpu(monkeypatch):
    """A device that is none, and has room: the host makes the tables, all of a batch at a time."""
    case = jf.Case(1024, algorithm=jf.RingAllreduce(), network=HOCKNEY, message_bytes=8192,
                   noise=[jf.Congestion(jc.FatTree.of(1152))])  # fmt: skip
    table, maker = compile_case(case).load_bytes
    assert table == 2 * 1024 * (1 + 2 * 1023)
    assert 24 * 1152 < maker < 10**6
    quiet = replace(case, noise=[])
    assert compile_case(quiet).load_bytes == (0, 0)
    used, engine, room = [], _core.simulate, 0

    def simulate(*arguments):
        used.append(arguments[5])
        return engine(*arguments[:5], "cpu", *arguments[6:])

    monkeypatch.setattr(_core, "cuda_status", lambda: "")
    monkeypatch.setattr(_core, "gpu_memory_available", lambda: 2**40, raising=False)
    monkeypatch.setattr(_core, "memory", lambda *_: 2**20)
    monkeypatch.setattr(_core, "simulate", simulate)
    monkeypatch.setattr("jitterfly.resources.available_memory", lambda: room)

    room = 4 * table
    told = "not enough memory for the results and the loads of messages under congestion"
    with pytest.raises(jf.BackendError, match=f"^backend 'cuda' can not be used here: {told}") as e:
        jf.simulate(case, 5, backend="cuda")
    assert "available 16.0 MiB" in str(e.value)
    with pytest.warns(RuntimeWarning, match=f"^backend 'auto' takes the CPU: {told}"):
        assert jf.simulate(case, 5).backend == "cpu"
    assert jf.simulate(case, 3, backend="cuda").backend == "cuda"
    assert jf.simulate(quiet, 5, backend="cuda").backend == "cuda"
    assert used == ["cpu", "cuda", "cuda"]
    text = (CUDA / "gpu" / "batch_memory.h").read_text(encoding="utf-8")
    assert "kBatchLoads = std::int64_t{1} << 27;" in text  # entries of two bytes
    room = 2**28 + 2**25  # a batch is no larger than that, however many realizations
    program = compile_case(replace(case, algorithm=jf.Butterfly()))
    assert 30_000 * program.load_bytes[0] > 2 * room
    assert choose_backend(program, "cuda", 0, 30_000, 0, room) == "cuda"


def test_plain_values_and_back():
    noise = jf.Congestion(jc.FatTree.of(144, routing="hash", salt=3), ratio=0.25,
                          perturbation="bisect")  # fmt: skip
    again = jf.Noise.from_dict(noise.to_dict())
    assert again == noise
    assert again.identity() == noise.identity()
    assert jf.Congestion(TREE).identity() != noise.identity()


def test_maps_are_known_by_their_content(tmp_path):
    chance = random.Random(7)
    random_graph(chance, tmp_path / "map.dot")
    noise = jf.Congestion({"kind": "map", "file": str(tmp_path / "map.dot")})
    text = (tmp_path / "map.dot").read_text()
    (tmp_path / "same.dot").write_text(text)
    same = jf.Congestion({"kind": "map", "file": str(tmp_path / "same.dot")})
    assert same.identity() == noise.identity()
    assert jf.Noise.from_dict(noise.to_dict()).identity() == noise.identity()
    table = noise.to_dict()
    (tmp_path / "map.dot").write_text(text + "\n")
    with pytest.raises(ValueError, match="has changed"):
        jf.Noise.from_dict(table)


@pytest.mark.parametrize("name", ["within", "mirrors", "after"])
@pytest.mark.parametrize("system_noise", [False, True])
def test_what_redundant_copies_do_against_network_noise(name, system_noise):
    """Inside the butterfly they add to it, after it they help: intervals of paired ratios, 99.9 %.

    Twelve intervals of fixed seeds: 1.2 % is the chance that one of them would miss its mean.
    Against system noise, those inside help as well where messages are short.
    """
    options = {
        "within": {"copy_levels": "all"},
        "mirrors": {"copy_levels": "all", "mirrors": [1, 2]},
        "after": {"exchanges_after": "all"},
    }
    noise = [jf.Congestion(jc.FatTree.of(144), ratio=0.5)]
    if system_noise:
        noise.append(jf.PeriodicNoise("1ms", "25us", start="stationary"))

    def gain(n):
        def samples(**algorithm):
            case = jf.Case(64, network=jf.LogGOPS(L="1us", o="100ns", G="0.1ns"), message_bytes=n,
                           algorithm=jf.Butterfly(**algorithm), noise=noise)  # fmt: skip
            return jf.simulate(case, 1000, seed=11, backend="cpu").samples[:, -1]

        return jf.stats.ratio(samples(), samples(**options[name]), confidence=0.999)

    short, long = gain(1000), gain(100_000)
    if name == "after":
        assert long.low > 1
        assert not system_noise or short.low > 1
    else:
        assert long.high < 1
        assert short.low > 1 if system_noise else short.high < 1


STUDY = """
name = "small"
seed = 3
[realizations]
min = 50
max = 50
[case]
ranks = 8
network = { kind = "hockney", alpha = "1us", beta = "1ns" }
message_bytes = 1000
[[case.noise]]
kind = "congestion"
network = { kind = "map", file = "map.dot" }
[axes.perturbation]
path = "noise.0.perturbation"
values = ["none", "rand", "bisect_fb"]
[variants.conventional]
[variants.redundant]
"algorithm.exchanges_after" = "all"
"""


def test_a_study_of_a_map_beside_it(tmp_path, monkeypatch, blank_pictures_at_small_scale):
    """Its file is relative to the study, and the run keeps a copy of it."""
    from jitterfly.cli import main

    chance = random.Random(1)
    graph = random_graph(chance, tmp_path / "map.dot")
    while graph.hosts < 16 or len(graph.out) < graph.hosts + 3:  # of three switches
        graph = random_graph(chance, tmp_path / "map.dot")
    (tmp_path / "small.toml").write_text(STUDY)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["run", "../small.toml", "--out", "results"]) == 0
    (tmp_path / "map.dot").unlink()
    assert main(["plot", "results"]) == 0
    for cell in jf.Store.open(tmp_path / "elsewhere/results").study.cells():
        case = cell.variants[0].case
        sent = pickle.loads(pickle.dumps(case))  # as to a worker in another process
        assert sent == case
        assert sent.identity() == case.identity()
        ticks = [jf.simulate(one, 3, seed=3, backend="cpu").ticks for one in (case, sent)]
        np.testing.assert_array_equal(*ticks)
        assert jf.simulate(case, 50, seed=3, backend="cpu").ticks.max() > 6_000_000  # 3 x 2 us


def test_an_axis_goes_over_the_routing():
    tree = '{ kind = "fat_tree", m = [4, 4], w = [1, 2] }'
    text = STUDY.replace('{ kind = "map", file = "map.dot" }', tree)
    text = text.replace('"noise.0.perturbation"', '"noise.0.network.routing"')
    text = text.replace('["none", "rand", "bisect_fb"]', '["d-mod-k", "random"]')
    cases = [cell.variants[0].case for cell in parse_study(text).cells()]
    assert [case.noise[0].network.routing for case in cases] == ["d-mod-k", "random"]
    assert cases[0].identity() != cases[1].identity()


def test_a_map_is_what_was_read(tmp_path):
    """Not what its file has become since."""
    file = tmp_path / "map.dot"
    graph = random_graph(random.Random(1), file)
    noise = jf.Congestion(jc.NetworkMap(file))
    before = noise.to_dict(), noise.identity()
    file.write_text("digraph { }")
    assert (noise.to_dict(), noise.identity()) == before
    file.unlink()
    assert (noise.to_dict(), noise.identity()) == before
    assert noise.network.hosts == graph.hosts


def test_the_example_of_a_study():
    path = "sweeps/examples/congestion.toml"
    study = jf.load_study(__file__.rpartition("tests")[0] + path)
    assert {variant.case.noise[1].ratio for cell in study.cells() for variant in cell.variants} == {
        0, 0.25, 0.5, 0.75,
    }  # fmt: skip


@pytest.mark.parametrize(
    "algorithm",
    [
        jf.Butterfly(copy_levels="all"),
        jf.Butterfly(exchanges_after=4),
        jf.Butterfly(copy_levels=[2], exchanges_after=1),
    ],
)
def test_a_trace_shows_the_engine_s_times(algorithm):
    """A replay that differs from the engine raises."""
    from jitterfly.replay import Replay

    case = jf.Case(16, algorithm=algorithm, network=jf.Hockney("1us", "1ns", gamma="1ns"),
                   message_bytes=500, cycles=2, compute_time="3us",
                   noise=[*NOISE[:2], jf.Congestion(jc.FatTree((8, 8), (1, 2)))])  # fmt: skip
    for realization in range(5):
        assert Replay(case, 1, realization).messages


CAPTIONED = """
name = "captioned"
seed = 1
realizations = { max = 20 }
[case]
network = { kind = "hockney", alpha = "1us", beta = "1ns", gamma = "0.1ns" }
[[case.noise]]
kind = "congestion"
network = { kind = "fat_tree", m = [4, 4], w = [1, 4] }
[axes.ranks]
values = [4, 8]
[axes.routing]
path = "noise.0.network.routing"
values = ["d-mod-k", "hash"]
[observables.slowdown]
kind = "slowdown"
"""


def test_tables_and_pictures_say_which_network_noise_they_hold_for(tmp_path):
    from jitterfly.results import Results
    from jitterfly.results.tables import table
    from jitterfly_papers.report.sections import about

    said = "butterfly against rand, rule ready, routing d-mod-k, hash, z = 4, 8 of 16 hosts"
    results = Results(jf.run_study(parse_study(CAPTIONED), tmp_path / "a"))
    assert f"\nnetwork noise: {said}" in table(results)
    assert ("network noise", said) in about(results)
    begin, end = CAPTIONED.index("[[case"), CAPTIONED.index("[axes.ranks")
    quiet = CAPTIONED[:begin] + 'noise = [{ kind = "jitter", period = "1ms", duration = "1us" }]\n'
    quiet += CAPTIONED[end : CAPTIONED.index("[axes.routing")]
    quiet += CAPTIONED[CAPTIONED.index("[observables") :]
    other = Results(jf.run_study(parse_study(quiet), tmp_path / "b"))
    assert "network noise" not in table(other) + str(about(other))

    pytest.importorskip("matplotlib")
    from matplotlib.text import Text

    from jitterfly.plots import draw
    from jitterfly.plots.curves import draw_curves
    from jitterfly.plots.distribution import draw_distribution

    with draw.drawing():
        for draw_kind in (draw_curves, draw_distribution):
            words = " ".join(t.get_text() for t in draw_kind(results).findobj(Text))
            assert said in " ".join(words.split())


def test_nodes_of_several_ranks_are_refused():
    """A rank is a host: messages within a node would be on the links of the fat tree."""
    noise = [jf.Congestion(jf.congestion.FatTree.of(144))]
    inner = jf.LogGOPS(L="300ns", o="100ns", G="0.02ns")
    outer = jf.LogGOPS(L="1us", o="200ns", G="0.1ns")
    options = {"message_bytes": 1000, "noise": noise}
    with pytest.raises(ValueError, match="no Hierarchy of nodes of several ranks with Congestion"):
        jf.simulate(jf.Case(8, network=jf.Hierarchy([(8, inner), outer]), **options), 1)
    jf.simulate(jf.Case(8, network=outer, **options), 1)
