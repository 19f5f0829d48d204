"""GPU kernel of network congestion, emulated on the CPU, against the CPU backend; barrier mutants.

As test_kernels.py: threads run in four orders, memory holds garbage, and that a missing barrier
shows is tested on copies of the kernel with one barrier taken out.
"""

import re
import shutil
from dataclasses import replace

import pytest
from support.emulated_congestion import CongestionRun, random_runs, same_congestion
from support.emulated_kernels import ORDERS, build_once, execute, linked, parts_once
from support.paths import CUDA

import jitterfly.congestion as jc

# To compile takes longer than to run; test_congested_kernels.py is of both scales.
pytestmark = pytest.mark.full_scale


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    return build_once(tmp_path_factory, "congestion")


def test_random_cases(kernel, tmp_path, monkeypatch):
    runs = random_runs(tmp_path, 80, 1)
    found = execute(kernel, [run.text(monkeypatch) for run in runs], timeout=300)
    assert [i for i, run in enumerate(runs) if not same_congestion(run, found[i])] == []


@pytest.mark.parametrize("perturbation", jc.PERTURBATIONS)
def test_more_messages_than_threads(kernel, monkeypatch, perturbation):
    cases = [
        jc.CongestionCase(jc.FatTree.of(1152, routing=routing), perturbation=perturbation)
        for routing in ("d-mod-k", "random")
    ]
    runs = [CongestionRun(case, count=1, order=order) for case in cases for order in (0, 3)]
    found = execute(kernel, [run.text(monkeypatch) for run in runs], timeout=300)
    assert [i for i, run in enumerate(runs) if not same_congestion(run, found[i])] == []


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
        assert all(same_congestion(run, text) for text in fits)
        assert len(fits) > 5
        full += len(rooms) - len(fits)
    assert full > 0


def test_counters_of_32_bits(kernel, monkeypatch):
    tree = jc.FatTree((2**9, 2**8), (1, 2))
    case = jc.CongestionCase(
        tree, pattern="gather", perturbation="rand", ratio=0.25, ranks=3 * 2**15, rule="orcs"
    )
    run = CongestionRun(case, count=1, all=False)
    assert same_congestion(run, execute(kernel, [run.text(monkeypatch)], timeout=300)[0])


@pytest.mark.slow
def test_every_barrier_is_needed(tmp_path, tmp_path_factory, monkeypatch):
    copy = tmp_path / "cuda"
    shutil.copytree(CUDA, copy)
    path, number = copy / "congestion" / "kernel.cuh", iter(range(1000))
    text = path.read_text()
    text = re.sub(
        r"\b__syncthreads\(\);", lambda _: f"if (removed != {next(number)}) __syncthreads();", text
    )
    path.write_text(text)
    barriers = next(number)
    # What is for the CPU has no barriers, and is the same.
    program = linked(tmp_path, copy, "congestion", parts_once(tmp_path_factory))
    tree = jc.FatTree((8, 9, 10), (1, 3, 4), routing="random")
    cases = [
        jc.CongestionCase(tree, pattern=pattern, perturbation=perturbation)
        for pattern, perturbation in (("bruck", "rand"), ("tree", "bisect_fb"), ("recdbl", "none"))
    ]
    runs = [CongestionRun(case, order=order, count=2, blocks=1, emulation_seed=seed)
            for case in cases for order in range(ORDERS) for seed in (0, 1)]  # fmt: skip
    found = execute(program, [run.text(monkeypatch) for run in runs], timeout=300)
    assert all(same_congestion(run, words) for run, words in zip(runs, found, strict=True))

    def shows(removed):
        found = (execute(program, [run.text(monkeypatch, removed)], timeout=300) for run in runs)
        pairs = zip(runs, found, strict=True)
        return not all(same_congestion(run, words) for run, [words] in pairs)

    assert [removed for removed in range(barriers) if not shows(removed)] == []
