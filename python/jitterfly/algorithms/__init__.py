"""Algorithms: one module each, with a class that compiles its description to steps.

A new one is a module beside these and a line here, which is also what registers its `kind`.
"""

from .algorithm import MOST_ROUNDS, Algorithm
from .butterfly import Butterfly

__all__ = ["MOST_ROUNDS", "Algorithm", "Butterfly"]
