"""A tiny study that runs in a moment."""

# What MS12 looks at.
OBSERVABLES = """
[observables]
slowdown = { kind = "slowdown", T = 0 }
slowdown_redundant = { kind = "slowdown", T = "best" }
gain = { kind = "gain", of = { T = "best" }, over = { T = 0 } }
optimal_T = { kind = "optimal_T" }
"""

STUDY = (
    """
name = "small"
title = "A small study"
figure = "slowdown"
claims = ["M4"]
seed = 5
realizations = { max = 40 }

[case]
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = 1e-8 }
noise = [{ kind = "periodic", period = "100us", duration = "10us" }]

[axes.ranks]
log2 = [2, 4]
"""
    + OBSERVABLES
)
