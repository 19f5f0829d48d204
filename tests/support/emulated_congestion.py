"""Congestion on emulated CUDA kernels: by itself, and in the kernels of the engine."""

import random
from dataclasses import dataclass, replace

from reference.congested import Congested

import jitterfly.congestion as jc
from jitterfly import _core
from jitterfly.congestion.simulate import compile_congestion
from support.congestion_cases import random_case, random_graph, random_tree
from support.emulated_kernels import ORDERS, REAL_LIMITS, Run, as_text, counted
from support.kernel_cases import PROGRAMS

ALL_SHARED = 227 * 1024


class CongestionRecorder:
    """In place of `_core.CongestionProgram`: keeps what it is told, as words."""

    def __init__(self, **program):
        names = ["offsets", "senders", "receivers", "chain"]
        self.words = [program[name] for name in ("hosts", "used", "ranks", "perturbation")]
        self.words += [word for name in names for word in counted(program[name])]

    def set_fat_tree(self, m, w, p, key, salt=0, whole=False):
        assert not whole
        self.words += [1, *counted(m), *counted(w), *counted(p), key, salt]

    def set_table(self, nodes, following, head):
        self.words += [0, nodes, *counted(following.ravel()), *counted(head)]


@dataclass(frozen=True)
class CongestionRun:
    case: jc.CongestionCase
    seed: int = 1
    first: int = 0
    count: int = 3
    all: bool = True
    shared: int = ALL_SHARED
    blocks: int = 2
    order: int = 0
    emulation_seed: int = 0
    room: int = 2**30  # bytes that the device turns out to have

    def text(self, monkeypatch, removed=-1):
        with monkeypatch.context() as patch:
            patch.setattr(_core, "CongestionProgram", CongestionRecorder)
            words = compile_congestion(self.case).words
        return as_text([*words, self.seed, self.first, self.count, self.all, self.shared,
                        self.blocks, self.order, self.emulation_seed, removed,
                        self.room])  # fmt: skip

    def expected(self):
        found, bins = _core.congestion(compile_congestion(self.case), self.seed, self.first,
                                       self.count, self.all, histogram=self.all)  # fmt: skip
        return [str(number) for number in [*found.ravel(), *bins]]


def same_congestion(run, found):
    return found is not None and found.split() == run.expected()


def random_runs(folder, count, seed):
    chance, runs = random.Random(seed), []
    for number in range(count):
        if number % 3:
            _, network = random_tree(chance)
        else:
            random_graph(chance, folder / "map.dot")
            network = jc.NetworkMap.read(folder / "map.dot")
        case = random_case(chance, network)
        # Little shared memory: some of the arrays, or all, go to global memory.
        shared = chance.choice([2112, 2200, 2600, 4000, ALL_SHARED])
        runs.append(CongestionRun(case, chance.randrange(2**64), chance.randrange(2**32 - 3), 3,
                        chance.random() < 0.5, shared, chance.choice([1, 2, 5]),
                        number % ORDERS, number))  # fmt: skip
    return runs


def congest(case, number):
    """The case on a fat tree with room for others; not for copies on demand."""
    rng = random.Random(f"congested kernels {number}")
    least = max(2, -(-case.ranks // 8))
    tree = jc.FatTree((8, least + rng.randint(0, least)), (1, rng.randint(1, 4)),
                      routing=rng.choice(jc.ROUTINGS))  # fmt: skip
    others = rng.choice([0, tree.hosts - case.ranks])
    hosts = case.ranks + (others if others != 1 else 0)
    source = Congested({}, tree, hosts, rng.choice(jc.PERTURBATIONS))
    load = rng.choice([1_000, 400_000])
    changed = {"costs": replace(case.costs, load=load)}
    if hasattr(case, "jitters"):
        changed |= {"sources": (*case.sources, source),
                    "loads": tuple(load // (1 + i) for i in range(len(case.messages)))}  # fmt: skip
    else:
        changed |= {"others": (*case.others, source)}
    return replace(case, **changed)


def varied_congested(case, number):
    limits = [REAL_LIMITS, (3, 1), (2, 1), (4, 2)][number % 4]
    return Run(congest(case, number), limits=limits, count=1 + number % 4, batch=1 + number % 3,
               order=number % ORDERS, seed=number,
               statistics="all" if number % 3 else "max")  # fmt: skip


# Not "dense": with messages that are delayed by what is no jitter, its intervals are gone through.
CONGESTED_NOISES = (
    "none",
    "fresh",
    "compute",
    "fresh, jitter",
    "renewal",
    "window",
    "messages",
    "everything",
)


def can_be_congested(program):
    return not PROGRAMS[program].get("asked")
