"""Observables: what is measured per realization, its statistics, and how precise they must be.

A kind of observable is one file here that registers itself, and one line below.
"""

from .completion import Completion
from .decide import Decision, State, decide
from .gain import Gain
from .measure import Family, Form, Measure
from .names import STATISTICS, check_statistic, quantile_share
from .observable import Observable, read_observable
from .observed import Observed
from .optimal_t import OptimalT
from .overhead import Overhead
from .recovery import Recovery
from .select import Select
from .slowdown import Slowdown
from .summary import PlaceData, Summary
from .target import Target
from .ticks import Column, Ticks

__all__ = [
    "STATISTICS",
    "Column",
    "Completion",
    "Decision",
    "Family",
    "Form",
    "Gain",
    "Measure",
    "Observable",
    "Observed",
    "OptimalT",
    "Overhead",
    "PlaceData",
    "Recovery",
    "Select",
    "Slowdown",
    "State",
    "Summary",
    "Target",
    "Ticks",
    "check_statistic",
    "decide",
    "quantile_share",
    "read_observable",
]
