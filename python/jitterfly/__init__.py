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

from . import congestion, notebook, stats, theory
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
from .engine import BackendError, UnusedGPUWarning
from .exposure import IneffectiveNoiseWarning
from .info import __version__, info
from .network import Hockney, LogGOPS, Network
from .noise import (
    Bernoulli,
    Congestion,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    MessageNoise,
    NetworkJitter,
    Noise,
    Pareto,
    PeriodicNoise,
    RenewalNoise,
    StepNoise,
    TraceNoise,
)
from .noise.files import UntrustedNoiseWarning
from .observables import Completion, Gain, OptimalT, Overhead, Recovery, Slowdown, Target
from .program import row_labels
from .simulate import Result, noise_intervals, noise_phases, ready_times, simulate
from .slowdown import SlowdownTable, slowdown
from .store import Store, export, merge
from .studies import Axis, RealizationBudget, Study, load_study
from .sweep import run as run_study
from .units import LongTimeWarning, Time, show_seconds

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
    "congestion",
    "export",
    "inference",
    "info",
    "load_study",
    "measured",
    "merge",
    "noise_intervals",
    "noise_phases",
    "plots",
    "ready_times",
    "row_labels",
    "run_study",
    "show_seconds",
    "simulate",
    "slowdown",
    "stats",
    "theory",
]

_LOADED_WHEN_ASKED_FOR = ("inference", "measured", "plots")


notebook.draw_with(lambda name: import_module(f".plots.{name}", __name__))


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_ASKED_FOR:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
