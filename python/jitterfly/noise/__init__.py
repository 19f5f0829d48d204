"""Noise sources: one module each, with its arithmetic in the header of that name in cuda/noise/.

A new one is a module beside these and a line here, which is also what registers its `kind`.
"""

from .jitter import NetworkJitter
from .periodic import PeriodicNoise
from .source import Noise, check_sources

__all__ = ["NetworkJitter", "Noise", "PeriodicNoise", "check_sources"]
