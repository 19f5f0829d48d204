"""jitterfly: collective operations under noise, simulated exactly.

>>> import jitterfly as jf
>>> case = jf.Case(
...     ranks=2**10,
...     algorithm=jf.Butterfly(exchanges_after=10),
...     network=jf.Hockney(alpha=1e-7, beta=1e-9, gamma=1e-10),
...     noise=[jf.PeriodicNoise(period="1ms", duration="10us")],
... )
>>> result = jf.simulate(case, realizations=1000, seed=7)
>>> result.samples.shape
(1000, 11)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import algorithms, congestion, distributions, noise, notebook, stats, theory
from .advice import Advice, advise
from .algorithms import (
    Algorithm,
    BinomialBroadcast,
    BinomialReduce,
    BruckAllgather,
    Butterfly,
    DisseminationBarrier,
    RabenseifnerAllreduce,
    RecursiveDoublingAllgather,
    RecursiveDoublingAllreduce,
    RecursiveDoublingBarrier,
    RecursiveHalvingReduceScatter,
    ReduceBroadcastAllreduce,
    RingAllgather,
    RingAllreduce,
    ScatterAllgatherBroadcast,
    TreeBarrier,
)
from .case import Case
from .distributions import (
    Bernoulli,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Pareto,
)
from .engine import BackendError, UnusedGPUWarning
from .exposure import IneffectiveNoiseWarning
from .info import __version__, info
from .network import Hockney, LogGOPS, Network
from .noise import (
    Congestion,
    MessageNoise,
    NetworkJitter,
    Noise,
    PeriodicNoise,
    RenewalNoise,
    StepNoise,
    TraceNoise,
    UntrustedNoiseWarning,
)
from .observables import Completion, Gain, OptimalT, Overhead, Recovery, Slowdown, Target
from .renames import no_attribute
from .simulate import Result, noise_intervals, ready_times, simulate
from .slowdown import SlowdownTable, slowdown
from .store import Store, export, merge
from .studies import Axis, RealizationBudget, Study, load_study
from .sweep import run as run_study
from .units import LongTimeWarning, Time

if TYPE_CHECKING:
    from . import inference, measured, plots

__all__ = [
    "Advice",
    "Algorithm",
    "Axis",
    "BackendError",
    "Bernoulli",
    "BinomialBroadcast",
    "BinomialReduce",
    "BruckAllgather",
    "Butterfly",
    "Case",
    "Completion",
    "Congestion",
    "Constant",
    "DisseminationBarrier",
    "Distribution",
    "Empirical",
    "Exponential",
    "Gain",
    "Gamma",
    "Hockney",
    "IneffectiveNoiseWarning",
    "LogGOPS",
    "Lognormal",
    "LongTimeWarning",
    "MessageNoise",
    "Network",
    "NetworkJitter",
    "Noise",
    "OptimalT",
    "Overhead",
    "Pareto",
    "PeriodicNoise",
    "RabenseifnerAllreduce",
    "RealizationBudget",
    "Recovery",
    "RecursiveDoublingAllgather",
    "RecursiveDoublingAllreduce",
    "RecursiveDoublingBarrier",
    "RecursiveHalvingReduceScatter",
    "ReduceBroadcastAllreduce",
    "RenewalNoise",
    "Result",
    "RingAllgather",
    "RingAllreduce",
    "ScatterAllgatherBroadcast",
    "Slowdown",
    "SlowdownTable",
    "StepNoise",
    "Store",
    "Study",
    "Target",
    "Time",
    "TraceNoise",
    "TreeBarrier",
    "UntrustedNoiseWarning",
    "UnusedGPUWarning",
    "__version__",
    "advise",
    "algorithms",
    "congestion",
    "distributions",
    "export",
    "inference",
    "info",
    "load_study",
    "measured",
    "merge",
    "noise",
    "noise_intervals",
    "plots",
    "ready_times",
    "run_study",
    "simulate",
    "slowdown",
    "stats",
    "theory",
]

_LOADED_WHEN_ASKED_FOR = ("inference", "measured", "plots")


notebook.load_with(lambda name: import_module(f".{name}", __name__))


if not TYPE_CHECKING:  # which would know every name else

    def __getattr__(name: str) -> Any:
        if name in _LOADED_WHEN_ASKED_FOR:
            return import_module(f".{name}", __name__)
        raise no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted(__all__)
