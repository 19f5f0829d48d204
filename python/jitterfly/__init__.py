"""jitterfly: Monte Carlo simulation of collective operations under noise; all public names.

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

from . import interrupts_while_loading  # noqa: F401  (it acts before all that takes time to import)

# isort: split
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import algorithms, congestion, distributions, imbalance, noise, stats, theory
from .advice import Advice, advise
from .algorithms import *  # noqa: F403
from .backends import BackendError, UnusedGPUWarning
from .case import (
    Case,
    IneffectiveNoiseWarning,
    IneffectiveSpeedWarning,
    ScarceRecordingWarning,
    UnusedCostWarning,
)
from .compare_measured import Agreement, compare_measured
from .distributions import *  # noqa: F403
from .explain import Explanation, explain
from .hierarchy import Hierarchy
from .info import __version__, info
from .network import Hockney, LogGOPS, Network
from .noise import *  # noqa: F403
from .noise_limit import NoiseLimitTable, noise_limit
from .observables import (
    Completion,
    CycleGain,
    CycleSlowdown,
    CycleTime,
    Gain,
    OptimalT,
    Overhead,
    Recovery,
    SinceArrival,
    Slowdown,
    Target,
)
from .results.compare import Comparison, compare
from .schedule import (
    CriticalPath,
    Schedule,
    ScheduleBuilder,
    ScheduleCase,
    ScheduleExplanation,
    ScheduleResult,
    ShortReceiveWarning,
    explain_schedule,
    simulate_schedule,
)
from .simulate import Result, noise_intervals, ready_times, simulate
from .slowdown import SlowdownTable, slowdown
from .store import Store, export, merge
from .studies import Axis, RealizationBudget, Study, load_study
from .sweep import run as run_study
from .units import LongTimeWarning, SmallFactorWarning, Time

if TYPE_CHECKING:
    from . import measured, plots

__all__ = [
    "Advice",
    "Agreement",
    "Axis",
    "BackendError",
    "Case",
    "Comparison",
    "Completion",
    "CriticalPath",
    "CycleGain",
    "CycleSlowdown",
    "CycleTime",
    "Explanation",
    "Gain",
    "Hierarchy",
    "Hockney",
    "IneffectiveNoiseWarning",
    "IneffectiveSpeedWarning",
    "LogGOPS",
    "LongTimeWarning",
    "Network",
    "NoiseLimitTable",
    "OptimalT",
    "Overhead",
    "RealizationBudget",
    "Recovery",
    "Result",
    "ScarceRecordingWarning",
    "Schedule",
    "ScheduleBuilder",
    "ScheduleCase",
    "ScheduleExplanation",
    "ScheduleResult",
    "ShortReceiveWarning",
    "SinceArrival",
    "Slowdown",
    "SlowdownTable",
    "SmallFactorWarning",
    "Store",
    "Study",
    "Target",
    "Time",
    "UnusedCostWarning",
    "UnusedGPUWarning",
    "__version__",
    "advise",
    "algorithms",
    "compare",
    "compare_measured",
    "congestion",
    "distributions",
    "explain",
    "explain_schedule",
    "export",
    "imbalance",
    "info",
    "load_study",
    "measured",
    "merge",
    "noise",
    "noise_intervals",
    "noise_limit",
    "plots",
    "ready_times",
    "run_study",
    "simulate",
    "simulate_schedule",
    "slowdown",
    "stats",
    "theory",
]

# A new one is a module in its package and a line there.
__all__ += algorithms.__all__
__all__ += distributions.__all__
__all__ += noise.__all__

_LOADED_WHEN_ASKED_FOR = ("measured", "plots")


if not TYPE_CHECKING:  # which would know every name else

    def __getattr__(name: str) -> Any:
        if name in _LOADED_WHEN_ASKED_FOR:
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
