"""Every collective at 2^12 ranks under periodic noise: a message on the GPU and on a CPU core."""

import time
from typing import Any

import numpy as np
from bench.collectives import SHAPES, messages

from jitterfly import Case, LogGOPS, PeriodicNoise, simulate

RANKS = 2**12
MESSAGES = {"cuda": 2**32, "cpu": 2**24}
OPTIONS: dict[str, dict[str, Any]] = {"cuda": {}, "cpu": {"threads": 1}}

network = LogGOPS(L="1us", o="1ns", G="1ns", gamma="0.1ns")
ratios = []
for name, algorithm in SHAPES.items():
    case = Case(RANKS, network=network, algorithm=algorithm, noise=[PeriodicNoise("100us", "5us")])
    times, ticks, counts = {}, {}, {}
    for backend, options in OPTIONS.items():
        count = counts[backend] = min(max(MESSAGES[backend] // messages(case), 16), 2**16)
        simulate(case, 16, seed=7, backend=backend, **options)  # what is done once
        start = time.perf_counter()
        ticks[backend] = simulate(case, count, seed=7, backend=backend, **options).ticks
        times[backend] = 1e9 * (time.perf_counter() - start) / count / messages(case)
    assert np.array_equal(ticks["cuda"][: counts["cpu"]], ticks["cpu"]), name
    ratios.append(times["cpu"] / times["cuda"])
    print(
        f"{name:32} {counts['cuda']:6} realizations: cuda {times['cuda']:.3g} ns a message, "
        f"cpu, one core {times['cpu']:.3g} ns, {ratios[-1]:.0f} times"
    )
print(f"at least {min(ratios):.0f} times one core; 50 is the goal")
