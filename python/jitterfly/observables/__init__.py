"""Observables of each realization, their statistics and targets; where to add a new one.

A kind of observable is a class in `completion` that registers itself, and its import below. It
reads the latest rank of a row of ready times, the earliest, or the mean over ranks
(`spread_variants`), which is what the engine keeps: another statistic over ranks is first one of
`Observation` in cuda/core/program.h. `statistics` computes a statistic by its name;
`targets.decide` says when a cell has enough realizations.
"""

from .completion import (
    MIN_CYCLES,
    Completion,
    CycleGain,
    CycleSlowdown,
    CycleTime,
    Gain,
    OfCycles,
    OptimalT,
    Overhead,
    OwnTime,
    Recovery,
    SinceArrival,
    Slowdown,
)
from .measure import Column, LinearForm, Measure, MeasureFamily, Piece, Ticks
from .observable import NOISE_FREE, OF_A_CYCLE, Observable, Select, read_observable
from .statistics import STATISTICS, Observed, check_statistic, quantile_share
from .summary import MAX_COLUMNS, CellData, Computed, Summary, columns_of
from .targets import (
    Decision,
    Target,
    TargetState,
    UndersampledNoise,
    acting_sources,
    decide,
    hits_of_one_side,
    level_of,
    shown_mean,
    undersampled_in_words,
    undersampled_noise,
)

__all__ = [
    "MAX_COLUMNS",
    "MIN_CYCLES",
    "NOISE_FREE",
    "OF_A_CYCLE",
    "STATISTICS",
    "CellData",
    "Column",
    "Completion",
    "Computed",
    "CycleGain",
    "CycleSlowdown",
    "CycleTime",
    "Decision",
    "Gain",
    "LinearForm",
    "Measure",
    "MeasureFamily",
    "Observable",
    "Observed",
    "OfCycles",
    "OptimalT",
    "Overhead",
    "OwnTime",
    "Piece",
    "Recovery",
    "Select",
    "SinceArrival",
    "Slowdown",
    "Summary",
    "Target",
    "TargetState",
    "Ticks",
    "UndersampledNoise",
    "acting_sources",
    "check_statistic",
    "columns_of",
    "decide",
    "hits_of_one_side",
    "level_of",
    "quantile_share",
    "read_observable",
    "shown_mean",
    "undersampled_in_words",
    "undersampled_noise",
]
