"""Results of a study: estimates of its cells, arranged for tables and figures.

`Result`, the samples of one case with its `to_xarray`, is in `simulate`.
"""

from .results import CONVENTIONAL, REDUNDANT, CellResults, Panel, Results

__all__ = ["CONVENTIONAL", "REDUNDANT", "CellResults", "Panel", "Results"]
