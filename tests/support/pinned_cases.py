"""Programs whose results must never change (digests), see test_pinned.py; writes the digests.

Every program of a butterfly and of messages under every kind of noise, random programs, and every
algorithm of the public interface on sizes up to 2^20 ranks. All of them are made of integers, so
that no table of a distribution depends on the processor's or NumPy's last bit.

Run as a program, this writes the digests that the engine gives now:

    (cd tests && python -m support.pinned_cases > data/pinned_results.json)
"""

import hashlib
import json
import random
import sys
from dataclasses import replace
from itertools import cycle, product

import numpy as np
from reference import noise_cases
from reference.cases import asking_case, mirrors_case, random_case, redundant_case

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import _core
from support.congestion_cases import random_case as random_congestion
from support.congestion_cases import random_tree
from support.kernel_cases import NOISES, PROGRAMS, delays_messages, make
from support.message_cases import MESSAGE_PROGRAMS, make_messages, message_case, noisy_case

# Few of a single pair and fewer of one rank, where most programs do the same.
LOG2_RANKS = (3, 5, 6, 8, 9, 11, 4, 7, 10, 3, 5, 6, 8, 9, 11, 2, 1, 0)
RANKS = (3, 6, 17, 45, 100, 257, 700, 1024, 5, 12, 33, 64, 300, 2048, 2, 1)
LARGE = (2**14, 3 * 2**15, 2**20)
# A new role is not among them: all other draws would change.
ROLES = ("periodic", "renewal", "trace", "step", "jitter", "message")


class OfSteps:
    """A program of steps, as the tests of the engine make it."""

    def __init__(self, case, count=3):
        self.case, self.count = replace(case, realization=min(case.realization, 2**31)), count

    def ticks(self, backend):
        """Latest, earliest and mean time of each row, and every rank's time of one realization."""
        case, program = self.case, self.case.program(_core)
        found = _core.simulate(program, case.seed, case.realization, self.count, "all", backend, 1)
        return [found, _core.ready_times(program, case.seed, case.realization)]


class OfCase:
    """A public case."""

    def __init__(self, case, count):
        self.case, self.count = case, count

    def ticks(self, backend):
        """What `simulate` gives."""
        return [jf.simulate(self.case, self.count, seed=11, backend=backend).ticks]


class OfTraffic:
    """Congestion alone."""

    def __init__(self, case):
        self.case = case

    def ticks(self, backend):
        """Messages by congestion, and the bits of the samples."""
        found = jc.simulate_congestion(self.case, 5, seed=11, backend=backend, histogram=True)
        return [found.samples.view(np.int64), found.histogram]


def digest(arrays):
    """16 hex digits of the values."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).astype("<i8", casting="same_kind").tobytes())
    return found.hexdigest()[:16]


def butterflies():
    """Every program of exchanges under every kind of noise."""
    sizes = cycle(LOG2_RANKS)
    for program, noise in product(PROGRAMS, NOISES):
        late = delays_messages(noise) and "within" in PROGRAMS[program]
        log2_ranks = min(next(sizes), 6 if late else 11)
        yield f"{program}; {noise}; 2^{log2_ranks}", OfSteps(make(program, noise, log2_ranks))


def messages():
    """Every program of messages under every kind of noise."""
    sizes = cycle(RANKS)
    for program, noise in product(MESSAGE_PROGRAMS, NOISES):
        ranks = next(sizes)
        if delays_messages(noise) and "copies" in program:
            ranks = min(ranks, 100)
        yield f"{program}; {noise}; {ranks}", OfSteps(make_messages(program, noise, ranks))


def random_programs():
    """Programs drawn at random, with ties, copies, mirrors and questions, under any noise."""
    for family in (random_case, redundant_case, mirrors_case, asking_case):
        for number in range(12):
            rng = random.Random(f"pinned {family.__name__} {number}")
            yield f"{family.__name__} {number}", OfSteps(family(rng))
    for family in ("any", "tie", "copy", "zero_transit", "dense", "delay"):
        roles = () if family == "dense" else (ROLES,)  # that family has roles of its own
        for number in range(8):
            rng = random.Random(f"pinned {family} {number}")
            case = getattr(noise_cases, f"{family}_case")(rng, *roles)
            yield f"{family} {number}", OfSteps(case)
    for number in range(20):
        yield f"message_case {number}", OfSteps(message_case(number))
        yield f"noisy_case {number}", OfSteps(noisy_case(number))


def sources(ranks):
    """Lists of noise without a distribution that is computed."""
    periodic = jf.PeriodicNoise("100us", "5us", start="stationary")
    gaps = jf.Empirical(samples=["20us", "70us", "90us"])
    durations = jf.Empirical(samples=["1us", "3us", "40us"])
    return {
        "none": [],
        "fresh": [jf.PeriodicNoise("100us", "5us")],
        "stationary": [periodic],
        "nodes": [jf.PeriodicNoise("100us", "5us", shared="machine" if ranks < 4 else 4)],
        "renewal": [jf.RenewalNoise(gaps, durations)],
        "trace": [jf.TraceNoise(starts=[1e-5, 6e-5], durations=[1e-6, 9e-6], length="100us")],
        "steps": [jf.StepNoise("14us", probability=1 / 64)],
        "sends": [jf.StepNoise(durations, probability=1 / 8, at="send")],
        "messages": [jf.MessageNoise("3us", probability=1 / 16)],
        "a list": [periodic, jf.RenewalNoise(gaps, "2us"), jf.StepNoise("1us", probability=0.125)],
    }


NETWORKS = {
    "Hockney": jf.Hockney("1us", "1ns", "0.5ns"),
    "LogGOPS": jf.LogGOPS(L="1us", o="0.2us", g="0.3us", G="0.1ns", gamma="0.1ns"),
    "no gap": jf.LogGOPS(L="1us", o="0.1us", G="0.01ns", O="0.02ns", gamma="0.1ns"),
}
COLLECTIVES = {
    "ring allreduce": jf.RingAllreduce(),
    "Rabenseifner": jf.RabenseifnerAllreduce(),
    "recursive doubling": jf.RecursiveDoublingAllreduce(),
    "reduce + broadcast": jf.ReduceBroadcastAllreduce(),
    "dissemination barrier": jf.DisseminationBarrier(),
    "recursive doubling barrier": jf.RecursiveDoublingBarrier(),
    "tree barrier": jf.TreeBarrier(),
    "broadcast": jf.BinomialBroadcast(),
    "scatter + allgather": jf.ScatterAllgatherBroadcast(),
    "reduce": jf.BinomialReduce(),
    "recursive doubling allgather": jf.RecursiveDoublingAllgather(),
    "Bruck": jf.BruckAllgather(),
    "ring allgather": jf.RingAllgather(),
    "recursive halving": jf.RecursiveHalvingReduceScatter(),
    "ring, then forwards": jf.RingAllreduce(exchanges_after="all"),
    "k-nomial broadcast": jf.KnomialBroadcast(radix=3),
    "k-nomial reduce": jf.KnomialReduce(),
    "chain": jf.ChainBroadcast(segment_bytes=100),
    "segmented ring": jf.SegmentedRingAllreduce(segment_bytes=2),
    "pairwise": jf.PairwiseAlltoall(),
    "Bruck all-to-all": jf.BruckAlltoall(),
    "binary tree": jf.BinaryTreeBroadcast(segment_bytes=300),
    "double binary tree": jf.DoubleBinaryTreeAllreduce(segment_bytes=100),
}
BUTTERFLIES = {
    "butterfly": jf.Butterfly(),
    "after": jf.Butterfly(exchanges_after=3),
    "forward cost": jf.Butterfly(exchanges_after=3, forward_cost="100ns"),
    "all levels": jf.Butterfly(copy_levels="all"),
    "some levels": jf.Butterfly(copy_levels=[1, 3], exchanges_after=1),
    "two mirrors": jf.Butterfly(copy_levels="all", mirrors=[1, 2]),
    "on demand": jf.Butterfly(on_demand="all", patience="2us"),
}


def collectives():
    """Every algorithm on any number of ranks, networks and noise in turn, one cycle and more."""
    sizes, networks, cycles = cycle(RANKS), cycle(NETWORKS), cycle((1, 1, 3))
    for algorithm, noise in product(COLLECTIVES, sources(1)):
        ranks, network = next(sizes), next(networks)
        if "forwards" in algorithm:  # which a gap between messages is refused for
            network = "no gap"
        yield public(algorithm, COLLECTIVES[algorithm], ranks, network, noise, next(cycles), 3)


def public_butterflies():
    """The butterfly by its public options."""
    sizes, cycles = cycle((16, 64, 512, 100, 2048)), cycle((1, 2))
    for algorithm, noise in product(BUTTERFLIES, sources(1)):
        ranks = next(sizes)
        late = noise == "messages" and algorithm not in ("butterfly", "after", "forward cost")
        ranks = min(ranks, 64) if late else ranks
        chosen = BUTTERFLIES[algorithm]
        yield public(algorithm, chosen, ranks, "no gap", noise, next(cycles), 3)


def large_machines():
    """What leaves the caches, and the whole tree of 2^20 ranks."""
    chosen = {**BUTTERFLIES, **COLLECTIVES}
    for ranks in LARGE:
        names = ["butterfly", "after", "all levels", "broadcast", "reduce", "reduce + broadcast",
                 "tree barrier", "dissemination barrier", "recursive doubling"]  # fmt: skip
        for algorithm, noise in product(names, ("fresh", "renewal", "steps")):
            if ranks == LARGE[-1] and noise == "renewal":
                continue
            if algorithm == "all levels" and ranks & (ranks - 1):
                continue
            yield public(algorithm, chosen[algorithm], ranks, "no gap", noise, 1, 1)
    for algorithm in ("butterfly", "all levels", "reduce + broadcast"):
        yield public(algorithm, chosen[algorithm], 2**17, "no gap", "stationary", 3, 1)


def public(name, algorithm, ranks, network, noise, cycles, count):
    case = jf.Case(ranks, algorithm=algorithm, network=NETWORKS[network],
                   noise=sources(ranks)[noise], message_bytes=1024, cycles=cycles,
                   compute_time="10us")  # fmt: skip
    return f"{name}; {noise}; {ranks}; {network}; {cycles}", OfCase(case, count)


def traffic():
    """Congestion alone, and under collectives."""
    for number in range(24):
        rng = random.Random(f"pinned traffic {number}")
        yield f"traffic {number}", OfTraffic(random_congestion(rng, random_tree(rng)[1]))
    tree = jc.FatTree.of(144)
    chosen = {**BUTTERFLIES, **COLLECTIVES}
    names = ["butterfly", "after", "all levels", "ring allreduce", "Rabenseifner", "reduce",
             "dissemination barrier", "Bruck"]  # fmt: skip
    for algorithm in names:
        for perturbation in ("rand", "bisect"):
            noise = [jf.PeriodicNoise("100us", "5us"),
                     jf.Congestion(tree, ratio=0.5, perturbation=perturbation)]  # fmt: skip
            case = jf.Case(64, algorithm=chosen[algorithm], network=NETWORKS["no gap"], noise=noise,
                           message_bytes=10_000)  # fmt: skip
            yield f"congestion; {algorithm}; {perturbation}", OfCase(case, 3)


FAMILIES = {
    family.__name__: family
    for family in (butterflies, messages, random_programs, collectives, public_butterflies,
                   large_machines, traffic)
}  # fmt: skip


def main():
    """Write all digests."""
    found = {}
    for family, cases in FAMILIES.items():
        named = list(cases())
        found[family] = {name: digest(case.ticks("cpu")) for name, case in named}
        assert len(found[family]) == len(named), f"{family}: a name twice"
        print(f"{family}: {len(named)}", file=sys.stderr)
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
