"""A study in TOML and one in Python, to be changed in one place by each test."""

import jitterfly as jf
from jitterfly.observables import Gain
from jitterfly.studies import Axis, RealizationBudget, Study

GOOD = """
name = "small"
title = "A small study"
seed = 5
realizations = { min = 10, max = 1000, rank_rounds = 640 }

[case]
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = 1e-10 }
noise = [{ kind = "periodic", period = "1ms", duration = "10us" }]

[axes.ranks]
log2 = [2, 4]

[axes.reading.points.short]

[axes.reading.points.long]
"noise.0.duration" = "0.1 ms"

[full]
axes.ranks.log2 = [2, 6]
"""

NOISE = [jf.PeriodicNoise(period="1ms", duration="10us")]

LOGGOPS = jf.LogGOPS(L="1us", o="1ns", G="1ns")

BUDGET = RealizationBudget(max=10)


def mine(**changes):
    """A study written in Python."""
    options = {
        "case": jf.Case(16, network=LOGGOPS, noise=NOISE),
        "axes": [Axis("ranks", [16, 64]), Axis("D", ["1us", 1e-5], path="noise.0.duration")],
        "variants": {"conventional": {}, "redundant": {"algorithm.copy_levels": "all"}},
        "observables": {"gain": Gain(of="redundant", over="conventional")},
        "targets": ["mean of gain ± 1 %"],
        "budget": RealizationBudget(max=100_000, rank_rounds=1e9),
    }
    return Study("mine", **options | changes)
