"""SIMD and blocked tile passes against the plain engine, bit for bit.

The fast ways keep groups of ranks in registers for several rounds, and first look whether noise is
met at all: so the sizes go from less than a register to several passes, and the noise from none to
one that is always there.
"""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from reference import Costs, Jitter
from reference.cases import EngineCase
from support.instruction_sets import check_instruction_sets
from support.kernel_cases import any_noise, make
from support.paths import ROOT
from support.scale import scaled

from jitterfly import _core

SIZES = (*range(12), 13, 14, 15, 17)


def any_case(log2_ranks, number):
    rng = random.Random(f"plain {log2_ranks} {number}")
    ranks = 1 << log2_ranks
    scale = rng.choice([3, 1000, 10**6])
    costs = Costs(*(rng.choice([0, 1, rng.randint(0, scale)]) for _ in range(6)))
    if rng.random() < 0.5:
        costs = replace(costs, forward=0)
    dense = tuple(range(1, log2_ranks))
    some = tuple(m for m in dense if rng.random() < 0.6)
    within, mirrors, asked = rng.choice([(), (), dense, some]), (1,), ()
    if rng.random() < 0.15:
        asked, within = tuple({*some, log2_ranks} - {0}), ()
        costs = replace(costs, patience=rng.randint(0, scale), ask=rng.randint(0, scale // 10),
                        request=rng.randint(0, scale))  # fmt: skip
    elif rng.random() < 0.15 and log2_ranks < 13:  # slow: segments of all ranks
        mirrors = tuple(rng.sample(range(1, 9), rng.randint(1, 3)))
    return EngineCase(
        log2_ranks,
        costs=costs,
        periodic=None if rng.random() < 0.1 else any_noise(rng, ranks),
        jitter=Jitter(scale, (2**62, 2**60)) if rng.random() < 0.15 else None,
        within=within,
        mirrors=mirrors,
        asked=asked,
        after=rng.choice([0, rng.randint(0, log2_ranks), log2_ranks]),
        cycles=rng.choice([1, 1, 2, 3]),
        seed=rng.getrandbits(64),
        realization=rng.randrange(1000),
    )


def all_results(case):
    """Maxima, all statistics and, where that is not much, every ready time."""
    run = case.program(_core), case.seed, case.realization, 2
    results = [_core.simulate(*run, which, "cpu", 1, None) for which in ("max", "all")]
    if case.log2_ranks < 15:
        results.append(_core.ready_times(run[0], case.seed, case.realization))
    return results


@pytest.mark.parametrize("log2_ranks", SIZES)
def test_as_the_plain_way(log2_ranks, monkeypatch):
    for number in range(scaled(30 if log2_ranks < 10 else 8 if log2_ranks < 15 else 2)):
        case = any_case(log2_ranks, number)
        check_instruction_sets(all_results, case, monkeypatch, f", case {number}")


def test_draws_with_odd_numbers(monkeypatch):
    """The first half of a block of random numbers may belong to no step."""
    case = replace(make("butterfly", "everything", 6), periodic=None)
    steps = np.array(case.steps())
    steps[:, 3] += 1
    monkeypatch.setattr(EngineCase, "steps", lambda self: steps)
    check_instruction_sets(all_results, case, monkeypatch)


def test_what_instruction_sets_share_is_inlined():
    """A lambda that is not is one symbol for all of them: one would run another's code."""
    found = 0
    for path in sorted((ROOT / "cuda" / "noise").glob("*.h")):
        text = path.read_text(encoding="utf-8")
        for one in re.finditer(r"\[[&=]\](?:\([^()]*\))?(.*?)\{", text):
            assert one[1].strip() == "JF_INLINE", f"{path.name}: {one[0]}"
            found += 1
    assert found >= 2
