"""What is known without simulation, and what the engine therefore has to agree with.

`noise_free`, `collectives` and `loggp`: times on a quiet machine. `recursion`: the distribution of
one rank's ready time under independent delays, and bounds of the last rank's. `maxima`: the largest
of N draws. `bounds`: what no redundancy can repair, and how late a machine can become at all.
"""

from .bounds import completion_bound, saturation
from .collectives import collective_completion
from .draws import StepModel
from .largest import Largest, Residual
from .loggp import loggp_completion
from .maxima import largest_bernoulli, largest_exponential, largest_pareto, largest_residual
from .noise_free import noise_free_completion, round_time
from .ready_time import LastRank, OneRank
from .recursion import last_rank, one_rank

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
