"""The largest machine, one realization: time and memory; a smaller one against the CPU.

And a schedule of 261,120 operations: by how many realizations the GPU is quicker than the CPU with
all threads.
"""

import time

import numpy as np
from bench import measure

from jitterfly import PeriodicNoise, RenewalNoise, Schedule, _core, simulate
from jitterfly.schedule.compile import compile_schedule

from .schedules import SCHEDULE_NETWORK, write_schedule

COMPARED, LARGEST = 2**25, (2**27, 2**30)  # ranks
SCHEDULE = (256, 60)  # ranks, cycles
COUNTS, MAX_ON_CPU = (256, 4096, 65536), 4096  # realizations

case = measure.programs(COMPARED, measure.NOISES["periodic"])["butterfly"]
a, b = (simulate(case, 1, seed=7, backend=x).ticks for x in ("cuda", "cpu"))
assert np.array_equal(a, b)
for ranks in LARGEST:
    case = measure.programs(ranks, measure.NOISES["periodic"])["butterfly"]
    start = time.perf_counter()
    simulate(case, 1, seed=7, backend="cuda")
    took = time.perf_counter() - start
    print(
        f"2^{ranks.bit_length() - 1} ranks, one realization: {took:.3g} s, "
        f"{case.rank_rounds() / took:.3g} rank-rounds/s, memory and start included"
    )
write_schedule("large.goal", *SCHEDULE)
schedule = Schedule.read("large.goal")
for noise in (PeriodicNoise("1ms", "10us"), RenewalNoise("990us", "10us")):
    compiled = compile_schedule(schedule, SCHEDULE_NETWORK, [noise])
    for count in COUNTS:
        times, found = {}, {}
        for backend in ("cuda", "cpu"):
            some = min(count, MAX_ON_CPU) if backend == "cpu" else count
            start = time.perf_counter()
            found[backend] = _core.simulate_schedule(*compiled, 7, 0, some, backend=backend)
            times[backend] = 1e9 * (time.perf_counter() - start) / some / schedule.operations
        assert np.array_equal(found["cpu"], found["cuda"][: len(found["cpu"])]), (noise, count)
        print(
            f"schedule, {noise.kind} noise, {count} realizations, per operation and realization: "
            f"cuda {times['cuda']:.3g} ns, cpu, all threads, {times['cpu']:.3g} ns"
        )
