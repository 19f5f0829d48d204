"""Whole applications: schedules of calculations and messages, many realizations of noise at once.

`Schedule` reads one (GOAL), `simulate_schedule` runs it under noise.
"""

from .schedule import Schedule
from .simulate import ScheduleResult, simulate_schedule

__all__ = ["Schedule", "ScheduleResult", "simulate_schedule"]
