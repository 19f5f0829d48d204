"""Studies: a description of many cases, of what is observed of them, and how precisely."""

from .axes import Axis
from .budget import Budget
from .place import Cell, Place
from .reading import load_study, parse_study
from .study import Study

__all__ = ["Axis", "Budget", "Cell", "Place", "Study", "load_study", "parse_study"]
