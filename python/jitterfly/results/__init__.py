"""Results of a study: estimates of its cells, arranged for tables and figures.

The data are elsewhere: `Result`, the samples of one case with its `to_xarray`, is in `simulate`; a
study's are in `store`, and its `to_xarray` in `store.numbers`.
"""

from .results import CellResults, Panel, Results

__all__ = ["CellResults", "Panel", "Results"]
