"""Every program under every kind of noise, for the tests that compare the kernels with the CPU.

Costs and noise are such that a message is delayed now and then, copies are adopted and levels
skipped.
"""

import random
from dataclasses import replace

from reference import Costs, Jitter, PeriodicNoise
from reference.cases import EngineCase

COSTS = Costs(send=900, receive=1100, transit=1_000_000, combine=800, work=3_000_000)
PERIODIC = PeriodicNoise(period=10**7, duration=3 * 10**6)
JITTER = Jitter(duration=500_000, survival=(2**61, 2**58, 2**54))
SPARSE = (2, 3, 6, 10, 13)


def explicit(ranks):
    rng = random.Random("phases")
    phases = tuple(rng.randrange(PERIODIC.period) for _ in range(ranks))
    return replace(PERIODIC, phases=phases)


NOISES = {
    "none": lambda ranks: (None, None),
    "fresh": lambda ranks: (PERIODIC, None),
    "stationary": lambda ranks: (replace(PERIODIC, stationary=True), None),
    "machine": lambda ranks: (replace(PERIODIC, node_ranks=ranks), None),
    "nodes": lambda ranks: (replace(PERIODIC, node_ranks=min(8, ranks), stationary=True), None),
    "phases": lambda ranks: (explicit(ranks), None),
    "compute": lambda ranks: (replace(PERIODIC, in_communication=False), None),
    "communication": lambda ranks: (replace(PERIODIC, in_compute=False), None),
    "dense": lambda ranks: (replace(PERIODIC, period=1000, duration=999), None),
    "jitter": lambda ranks: (None, JITTER),
    "fresh, jitter": lambda ranks: (PERIODIC, JITTER),
}

PROGRAMS = {
    "butterfly": {},
    "after": {"after": 99},
    "forward cost": {"after": 4, "cycles": 2, "costs": replace(COSTS, forward=2000)},
    "full set": {"within": range(1, 30)},
    "sparse set": {"within": SPARSE},
    "both": {"within": range(1, 30), "after": 3},
    "cycles": {"within": range(1, 30), "cycles": 3},
    "everything": {
        "within": SPARSE,
        "after": 2,
        "cycles": 2,
        "costs": replace(COSTS, forward=2000),
    },
}


def make(program, noise, log2_ranks, **changes):
    """The case of these names, as far as it goes on 2^log2_ranks ranks."""
    options = {"costs": COSTS, "seed": 2**63 + 5, **PROGRAMS[program], **changes}
    options["within"] = tuple(level for level in options.get("within", ()) if level < log2_ranks)
    options["after"] = min(options.get("after", 0), log2_ranks)
    periodic, jitter = NOISES[noise](1 << log2_ranks)
    return EngineCase(log2_ranks, periodic=periodic, jitter=jitter, **options)
