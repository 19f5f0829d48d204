"""Studies: a description of many cases, of what is observed of them, and how precisely."""

from .axes import Axis
from .budget import Budget
from .grid import Cell, Place
from .study import Study
from .toml import load_study, parse_study

__all__ = ["Axis", "Budget", "Cell", "Place", "Study", "load_study", "parse_study"]
