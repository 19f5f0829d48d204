"""What the samples of a study say: main numbers of its cells, arranged for tables and figures."""

from .results import CONVENTIONAL, REDUNDANT, CellResults, Panel, Results

__all__ = ["CONVENTIONAL", "REDUNDANT", "CellResults", "Panel", "Results"]
