"""Application schedules (GOAL, LogGOPSim): many realizations of noise at once.

`Schedule` reads one (GOAL), and `ScheduleBuilder` makes one. `simulate_schedule` runs it under
noise, and `explain_schedule` says who made it wait. A `ScheduleCase` is one in a study.
"""

from .builder import Operations, ScheduleBuilder
from .case import ScheduleCase
from .explain import CriticalPath, ScheduleExplanation, explain_schedule
from .order import OrderCheck
from .result import ScheduleResult
from .schedule import Schedule
from .simulate import ShortReceiveWarning, simulate_schedule

__all__ = [
    "CriticalPath",
    "Operations",
    "OrderCheck",
    "Schedule",
    "ScheduleBuilder",
    "ScheduleCase",
    "ScheduleExplanation",
    "ScheduleResult",
    "ShortReceiveWarning",
    "explain_schedule",
    "simulate_schedule",
]
