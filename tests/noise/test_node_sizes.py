"""Noise shared by the ranks of a node, for nodes of any number of ranks."""

import random
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from reference import public_noise, uneven
from reference.collectives import GOALS
from reference.links import Machine, Network
from reference.programs import ProgramRun
from reference.public_delays import seconds
from reference.random_noise import ROLES, share
from support.compiler import FLAGS, compiler
from support.grouped import parametrize_in_groups
from support.instruction_sets import AVAILABLE, check_instruction_sets
from support.paths import CUDA, TESTS
from support.scale import at_most, crossed, some

import jitterfly as jf

REGISTERS = {
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mavx512cd"],
    "avx2": ["-mavx2"],
    "plain": [],  # a register of two, with what every processor has
}


@pytest.mark.parametrize("isa", some([isa for isa in REGISTERS if isa in AVAILABLE], 1))
def test_the_multiplication_is_a_division(isa, tmp_path):
    """For all sizes up to 2^16 and others up to 2^31, around the ends of nodes, up to rank 2^31."""
    program = tmp_path / "node_sizes"
    source = TESTS / "noise" / "node_sizes.cpp"
    flags = [*FLAGS, *REGISTERS[isa], f"-I{CUDA}"]
    subprocess.run([*compiler(), *flags, source, "-o", program], check=True)
    ran = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    checked, wrong = ran.stdout.rsplit("\n", 2)[-2].split(" checked, ")
    assert (ran.returncode, wrong) == (0, "0 wrong"), ran.stdout
    assert int(checked) > 10**6


NODE = Network(o=100_000, L=300_000, G=50, gamma=100)
FAR = Network(o=200_000, L=2_000_000, G=100, gamma=100)


def written(network):
    times = {name: seconds(getattr(network, name)) for name in ("o", "L", "G", "gamma")}
    return jf.LogGOPS(**times)


def sources_of_nodes(rng, ranks, span, transit):
    """A source of each kind: by the name of its level, and as it is meant.

    All intervals would take too much of the CPU together: some are left out.
    """
    pairs = [uneven.random_late(rng, jf, ranks), uneven.random_drawn_speed(rng, jf, ranks)]
    taken = 0
    for role in rng.sample(ROLES, len(ROLES)):
        more = (transit,) if role == "jitter" else ()
        make = getattr(public_noise, f"random_{role}")
        source, meant = make(rng, jf, ranks, *more)
        while getattr(meant, "phases", None) or getattr(meant, "offsets", None):
            source, meant = make(rng, jf, ranks, *more)
        if not taken or taken + share(meant) < 0.8:
            pairs.append((source, meant))
            taken += share(meant)
    return [
        (replace(source, shared="node"), replace(meant, node_ranks=span)) for source, meant in pairs
    ]


KINDS = sorted(set(GOALS) - {"butterfly"})  # whose exchanges all have one price in the reference


@pytest.mark.filterwarnings("ignore::jitterfly.IneffectiveSpeedWarning")
@pytest.mark.filterwarnings("ignore::jitterfly.SmallFactorWarning")
@parametrize_in_groups("kind, ranks", crossed(some(KINDS, 6), [49, 96, 100, 144][: at_most(4, 1)]))
def test_nodes_of_48_ranks_against_the_event_driven_reference(kind, ranks):
    """Every ready time of every rank, to the tick, under sources of all kinds at once."""
    rng = random.Random(f"48 {kind} {ranks}")
    meant = Machine(((48, NODE),), FAR, tuple(range(ranks)))
    n, cycles, work = 64, 2 if ranks < 96 else 1, 5_000_000
    pairs = sources_of_nodes(rng, ranks, 48, FAR.transit(n))
    case = jf.Case(ranks, algorithm=jf.Algorithm.from_dict({"kind": kind}),
                   network=jf.Hierarchy([(48, written(NODE)), written(FAR)]),
                   noise=[source for source, _ in pairs], message_bytes=n, cycles=cycles,
                   compute_time=seconds(work))  # fmt: skip
    others = [replace(case, noise=[replace(s, shared=size) for s in case.noise])
              for size in (32, 47, 49)]  # fmt: skip
    seed, first = rng.getrandbits(64), rng.getrandbits(31)

    def times(of, realization):
        return jf.ready_times(of, seed=seed, realization=realization)

    # One in which a node that begins elsewhere is seen.
    realization = next(
        one
        for one in range(first, first + 100)
        if all((times(other, one) != times(case, one)).any() for other in others)
    )
    run = ProgramRun(kind, ranks, meant, n, goal=GOALS[kind], cycles=cycles, work=work,
                     sources=[source for _, source in pairs], seed=seed,
                     realization=realization)  # fmt: skip
    rows = np.array(run.execute(), dtype=np.int64)
    found = times(case, realization)
    np.testing.assert_array_equal(np.rint(found * 1e12).astype(np.int64), rows)


BUTTERFLY_NOISE = {
    "periodic": [jf.PeriodicNoise("100us", "7us", start="stationary")],
    "jitter": [jf.NetworkJitter("10us", "3us")],
    "renewal": [jf.RenewalNoise("90us", "9us", start="stationary")],
    "trace": [jf.TraceNoise(starts=[1e-6, 3e-5], durations=[2e-6, 3e-6], length=8e-5)],
    "step": [jf.StepNoise(jf.Exponential("1us"))],
    "message": [jf.MessageNoise(jf.Exponential("1us"))],
    "arrival": [jf.LateArrival(jf.Exponential("5us"))],
    "speed": [jf.SpeedNoise(jf.Lognormal(1, 0.3))],
}
BUTTERFLY_NOISE["all"] = [source for sources in BUTTERFLY_NOISE.values() for source in sources]


@pytest.mark.parametrize(("noise", "ranks"), crossed(BUTTERFLY_NOISE, [100, 512, 5000, 4096]))
@pytest.mark.parametrize("size", [3, 48])
def test_instruction_sets_agree(noise, ranks, size, monkeypatch):
    """Also beyond what fits a tile, and where registers hold realizations."""
    sources = [replace(source, shared=size) for source in BUTTERFLY_NOISE[noise]]
    case = jf.Case(ranks, network=jf.LogGOPS(L="1us", o="200ns"), noise=sources, cycles=2,
                   compute_time="20us")  # fmt: skip

    def results(case):
        ready = jf.ready_times(case, seed=3, realization=5)
        return jf.simulate(case, 9, seed=3, backend="cpu").ticks, ready

    check_instruction_sets(results, case, monkeypatch)


@pytest.mark.parametrize("noise", BUTTERFLY_NOISE)
def test_a_node_of_one_rank_and_a_node_of_all_ranks(noise):
    """They are what `False` and "machine" say."""
    for ranks in (6, 64):
        for size, meant in ((1, False), (ranks, "machine")):
            results = []
            for shared in (size, meant):
                sources = [replace(source, shared=shared) for source in BUTTERFLY_NOISE[noise]]
                case = jf.Case(ranks, network=jf.LogGOPS(L="1us", o="200ns"), noise=sources,
                               compute_time="20us")  # fmt: skip
                results.append(jf.simulate(case, 9, seed=3, backend="cpu").ticks)
            np.testing.assert_array_equal(*results)
