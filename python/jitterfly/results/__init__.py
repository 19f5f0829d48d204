"""What the samples of a study say: main numbers of its cells, arranged for tables and figures."""

from .results import CONVENTIONAL, REDUNDANT, Panel, Results, Spot

__all__ = ["CONVENTIONAL", "REDUNDANT", "Panel", "Results", "Spot"]
