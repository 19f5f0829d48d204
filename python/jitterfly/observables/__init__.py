"""Observables: what is measured per realization, its statistics, and how precise they must be.

A kind of observable is one file here that registers itself, and one line below.
"""

from .completion import Completion
from .gain import Gain
from .measure import Column, Family, Form, Measure, Ticks
from .observable import Observable, Select, read_observable
from .optimal_t import OptimalT
from .overhead import Overhead
from .recovery import Recovery
from .slowdown import Slowdown
from .statistics import STATISTICS, Observed, check_statistic, quantile_share
from .summary import PlaceData, Summary
from .targets import Decision, State, Target, decide

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
