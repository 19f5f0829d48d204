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
import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import algorithms as algorithms
    from . import congestion as congestion
    from . import distributions as distributions
    from . import imbalance as imbalance
    from . import measured as measured
    from . import noise as noise
    from . import plots as plots
    from . import stats as stats
    from . import theory as theory
    from .advice import Advice as Advice
    from .advice import advise as advise
    from .algorithms import *  # noqa: F403
    from .algorithms.library_choice import LibraryRules as LibraryRules
    from .backends import BackendError as BackendError
    from .backends import UnusedGPUWarning as UnusedGPUWarning
    from .backends import info as info
    from .case import Case as Case
    from .case import IneffectiveNoiseWarning as IneffectiveNoiseWarning
    from .case import IneffectiveSpeedWarning as IneffectiveSpeedWarning
    from .case import ScarceRecordingWarning as ScarceRecordingWarning
    from .case import UnseenChangeWarning as UnseenChangeWarning
    from .case import UnusedCostWarning as UnusedCostWarning
    from .compare_measured import Agreement as Agreement
    from .compare_measured import compare_measured as compare_measured
    from .distributions import *  # noqa: F403
    from .explain import Explanation as Explanation
    from .explain import explain as explain
    from .hierarchy import Dragonfly as Dragonfly
    from .hierarchy import Hierarchy as Hierarchy
    from .hierarchy import Torus as Torus
    from .network import Hockney as Hockney
    from .network import LogGOPS as LogGOPS
    from .network import Network as Network
    from .noise import *  # noqa: F403
    from .noise_limit import NoiseLimitTable as NoiseLimitTable
    from .noise_limit import noise_limit as noise_limit
    from .observables import Completion as Completion
    from .observables import CycleGain as CycleGain
    from .observables import CycleSlowdown as CycleSlowdown
    from .observables import CycleTime as CycleTime
    from .observables import Gain as Gain
    from .observables import OptimalT as OptimalT
    from .observables import Overhead as Overhead
    from .observables import OwnTime as OwnTime
    from .observables import Recovery as Recovery
    from .observables import SinceArrival as SinceArrival
    from .observables import Slowdown as Slowdown
    from .observables import Target as Target
    from .predict import InferredNoise as InferredNoise
    from .predict import Prediction as Prediction
    from .predict import infer_noise as infer_noise
    from .predict import predict as predict
    from .report import report as report
    from .results.compare import Comparison as Comparison
    from .results.compare import compare as compare
    from .schedule import CriticalPath as CriticalPath
    from .schedule import Schedule as Schedule
    from .schedule import ScheduleBuilder as ScheduleBuilder
    from .schedule import ScheduleCase as ScheduleCase
    from .schedule import ScheduleExplanation as ScheduleExplanation
    from .schedule import ScheduleResult as ScheduleResult
    from .schedule import ShortReceiveWarning as ShortReceiveWarning
    from .schedule import explain_schedule as explain_schedule
    from .schedule import simulate_schedule as simulate_schedule
    from .simulate import Result as Result
    from .simulate import noise_intervals as noise_intervals
    from .simulate import ready_times as ready_times
    from .simulate import simulate as simulate
    from .slowdown import SlowdownTable as SlowdownTable
    from .slowdown import slowdown as slowdown
    from .store import Store as Store
    from .store import export as export
    from .store import merge as merge
    from .studies import Axis as Axis
    from .studies import RealizationBudget as RealizationBudget
    from .studies import Study as Study
    from .studies import load_study as load_study
    from .sweep import run as _run

    run_study = _run  # an import under another name is not exported
    from .units import LongTimeWarning as LongTimeWarning
    from .units import SmallFactorWarning as SmallFactorWarning
    from .units import Time as Time
    from .version import __version__ as __version__

_NAMESPACES = (
    "algorithms", "congestion", "distributions", "imbalance", "measured", "noise", "plots", "stats",
    "theory",
)  # fmt: skip
# All of their names stand here, too: a new one is a module in its package and a line there.
_WHOLE = ("algorithms", "distributions", "noise")
# The names of other modules that stand here.
_NAMES = {
    "advice": "Advice advise",
    "algorithms.library_choice": "LibraryRules",
    "backends": "BackendError UnusedGPUWarning info",
    "case": "Case IneffectiveNoiseWarning IneffectiveSpeedWarning ScarceRecordingWarning"
    " UnseenChangeWarning UnusedCostWarning",
    "compare_measured": "Agreement compare_measured",
    "explain": "Explanation explain",
    "hierarchy": "Dragonfly Hierarchy Torus",
    "network": "Hockney LogGOPS Network",
    "noise_limit": "NoiseLimitTable noise_limit",
    "observables": "Completion CycleGain CycleSlowdown CycleTime Gain OptimalT Overhead OwnTime"
    " Recovery SinceArrival Slowdown Target",
    "predict": "InferredNoise Prediction infer_noise predict",
    "report": "report",
    "results.compare": "Comparison compare",
    "schedule": "CriticalPath Schedule ScheduleBuilder ScheduleCase ScheduleExplanation"
    " ScheduleResult ShortReceiveWarning explain_schedule simulate_schedule",
    "simulate": "Result noise_intervals ready_times simulate",
    "slowdown": "SlowdownTable slowdown",
    "store": "Store export merge",
    "studies": "Axis RealizationBudget Study load_study",
    "sweep": "run_study",
    "units": "LongTimeWarning SmallFactorWarning Time",
    "version": "__version__",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
_RENAMED = {"run_study": "run"}
# Modules of the package import each other in circles. Where two threads begin at different places
# of a circle, Python gives one of them a module that is not complete yet.
_LOADING = RLock()


class _Face(ModuleType):
    """The package, which loads what is asked for when it is asked for: all takes half a second."""

    def __getattr__(self, name: str) -> Any:
        # Classes may be in the packages of _WHOLE.
        has = name in _MODULE_OF or name in _NAMESPACES or name == "__all__" or name[:1].isupper()
        by_import = sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap"
        if has and not (name in _NAMESPACES and by_import):
            with _LOADING:
                return self._load(name)
        # After `from . import stats`, in a module of ours, Python imports the submodule now. If its
        # thread waited for the lock instead, the one that has it might wait for that very module.
        raise _unknown(self, name)

    def _load(self, name: str) -> Any:
        if name in _NAMESPACES:
            return import_module(f".{name}", __name__)
        if name == "__all__":
            return [*_MODULE_OF, *_NAMESPACES, *(each for one in _WHOLE for each in _names_of(one))]
        module = _MODULE_OF.get(name) or next((one for one in _WHOLE if name in _names_of(one)), "")
        if not module:
            raise _unknown(self, name)
        value = getattr(import_module(f".{module}", __name__), _RENAMED.get(name, name))
        vars(self)[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # A module that is loaded becomes an attribute of its package. `jf.slowdown` is the
        # function, not the module of that name.
        if not (name in _MODULE_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self.__getattr__("__all__"))


def _unknown(package: ModuleType, name: str) -> AttributeError:
    text = f"module {__name__!r} has no attribute {name!r}"
    return AttributeError(text, name=name, obj=package)


def _names_of(package: str) -> list[str]:
    """Return the public names of a package, which is loaded for it."""
    names: list[str] = import_module(f".{package}", __name__).__all__
    return names


sys.modules[__name__].__class__ = _Face
