"""jitterfly: collective operations under noise, simulated exactly.

>>> import jitterfly as jf
>>> case = jf.Case(
...     ranks=2**10,
...     algorithm=jf.Butterfly(after=10),
...     network=jf.Hockney(alpha=1e-7, beta=1e-9, gamma=1e-10),
...     noise=[jf.PeriodicNoise(period="1ms", duration="10us")],
... )
>>> result = jf.simulate(case, realizations=1000, seed=7)
>>> result.samples.shape
(1000, 11)
"""

from . import stats, theory
from .algorithms import Algorithm, Butterfly
from .case import Case
from .info import info
from .network import Hockney, LogGOPS, Network
from .noise import NetworkJitter, Noise, PeriodicNoise
from .program import row_labels
from .result import Result
from .simulate import BackendError, noise_phases, ready_times, simulate
from .units import Time, show_seconds
from .version import __version__

__all__ = [
    "Algorithm",
    "BackendError",
    "Butterfly",
    "Case",
    "Hockney",
    "LogGOPS",
    "Network",
    "NetworkJitter",
    "Noise",
    "PeriodicNoise",
    "Result",
    "Time",
    "__version__",
    "info",
    "noise_phases",
    "ready_times",
    "row_labels",
    "show_seconds",
    "simulate",
    "stats",
    "theory",
]
