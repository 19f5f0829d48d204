"""Theory: closed forms, recursion, bounds and extreme values that the engine must agree with.

`closed_forms`: times on a quiet machine. `recursion`: the distribution of one rank's ready time
under independent delays, bounds of the last rank's, and how late a machine can become at all.
`largest`: the largest of N draws, and what no redundancy can repair.
"""

from .closed_forms import collective_completion, loggp_completion, noise_free_completion, round_time
from .largest import (
    Largest,
    Residual,
    completion_bound,
    largest_bernoulli,
    largest_exponential,
    largest_pareto,
    largest_residual,
)
from .recursion import LastRank, OneRank, StepModel, last_rank, one_rank, saturation

__all__ = [
    "Largest",
    "LastRank",
    "OneRank",
    "Residual",
    "StepModel",
    "collective_completion",
    "completion_bound",
    "largest_bernoulli",
    "largest_exponential",
    "largest_pareto",
    "largest_residual",
    "last_rank",
    "loggp_completion",
    "noise_free_completion",
    "one_rank",
    "round_time",
    "saturation",
]
