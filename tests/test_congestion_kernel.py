"""The CUDA kernel for congestion, emulated on the CPU, against the CPU backend: every word.

As test_kernels.py: threads run in four orders, memory holds garbage, and that a missing barrier
shows is tested on copies of the kernel with one barrier taken out.
"""

import random
import re
import shutil
from dataclasses import dataclass, replace

import pytest
from congestion_cases import random_case, random_graph, random_tree
from test_kernels import CUDA, ORDERS, as_text, build_once, counted, execute
from test_kernels import build as build_kernels

import jitterfly.congestion as jc
from jitterfly import _core
from jitterfly.congestion.simulate import compile_congestion

ALL_SHARED = 227 * 1024


class Recorder:
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
class Run:
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
            patch.setattr(_core, "CongestionProgram", Recorder)
            words = compile_congestion(self.case).words
        return as_text([*words, self.seed, self.first, self.count, self.all, self.shared,
                        self.blocks, self.order, self.emulation_seed, removed,
                        self.room])  # fmt: skip

    def expected(self):
        found, bins = _core.congestion(compile_congestion(self.case), self.seed, self.first,
                                       self.count, self.all, histogram=self.all)  # fmt: skip
        return [str(number) for number in [*found.ravel(), *bins]]


def same(run, found):
    return found is not None and found.split() == run.expected()


def build(folder, cuda):
    return build_kernels(folder, cuda, "congestion")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    return build_once(tmp_path_factory, "congestion")


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
        runs.append(Run(case, chance.randrange(2**64), chance.randrange(2**32 - 3), 3,
                        chance.random() < 0.5, shared, chance.choice([1, 2, 5]),
                        number % ORDERS, number))  # fmt: skip
    return runs


def test_random_cases(kernel, tmp_path, monkeypatch):
    runs = random_runs(tmp_path, 80, 1)
    found = execute(kernel, [run.text(monkeypatch) for run in runs], timeout=300)
    assert [i for i, run in enumerate(runs) if not same(run, found[i])] == []


@pytest.mark.parametrize("perturbation", jc.PERTURBATIONS)
def test_more_messages_than_threads(kernel, monkeypatch, perturbation):
    cases = [
        jc.CongestionCase(jc.FatTree.of(1152, routing=routing), perturbation=perturbation)
        for routing in ("d-mod-k", "random")
    ]
    runs = [Run(case, count=1, order=order) for case in cases for order in (0, 3)]
    found = execute(kernel, [run.text(monkeypatch) for run in runs], timeout=300)
    assert [i for i, run in enumerate(runs) if not same(run, found[i])] == []


def test_memory_that_is_not_there(kernel, tmp_path, monkeypatch):
    """Then fewer blocks work at a time; not even one is an error."""
    runs = [replace(run, blocks=5, count=9) for run in random_runs(tmp_path, 6, 2)]
    [short] = execute(kernel, [replace(runs[0], room=1).text(monkeypatch)])
    assert "full" in short
    rooms = [2**bits for bits in range(10, 24)]
    full = 0
    for run in runs:
        tight = [replace(run, room=room) for room in rooms]
        found = execute(kernel, [run.text(monkeypatch) for run in tight])
        fits = [text for text in found if "full" not in text]
        assert all(same(run, text) for text in fits)
        assert len(fits) > 5
        full += len(rooms) - len(fits)
    assert full > 0


def test_counters_of_32_bits(kernel, monkeypatch):
    tree = jc.FatTree((2**9, 2**8), (1, 2))
    case = jc.CongestionCase(
        tree, pattern="gather", perturbation="rand", ratio=0.25, ranks=3 * 2**15, rule="orcs"
    )
    run = Run(case, count=1, all=False)
    assert same(run, execute(kernel, [run.text(monkeypatch)], timeout=300)[0])


@pytest.mark.slow
def test_every_barrier_is_needed(tmp_path, monkeypatch):
    copy = tmp_path / "cuda"
    shutil.copytree(CUDA, copy)
    path, number = copy / "congestion" / "kernel.cuh", iter(range(1000))
    text = path.read_text()
    text = re.sub(
        r"\b__syncthreads\(\);", lambda _: f"if (removed != {next(number)}) __syncthreads();", text
    )
    path.write_text(text)
    barriers = next(number)
    program = build(tmp_path, copy)
    tree = jc.FatTree((8, 9, 10), (1, 3, 4), routing="random")
    cases = [
        jc.CongestionCase(tree, pattern=pattern, perturbation=perturbation)
        for pattern, perturbation in (("bruck", "rand"), ("tree", "bisect_fb"), ("recdbl", "none"))
    ]
    runs = [Run(case, order=order, count=2, blocks=1, emulation_seed=seed)
            for case in cases for order in range(ORDERS) for seed in (0, 1)]  # fmt: skip
    found = execute(program, [run.text(monkeypatch) for run in runs], timeout=300)
    assert all(same(run, words) for run, words in zip(runs, found, strict=True))

    def shows(removed):
        found = (execute(program, [run.text(monkeypatch, removed)], timeout=300) for run in runs)
        return not all(same(run, words) for run, [words] in zip(runs, found, strict=True))

    assert [removed for removed in range(barriers) if not shows(removed)] == []
