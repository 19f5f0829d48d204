"""Store of a run on disk, one directory per study: samples, estimates, export.

`store` is that directory, `numbers` every statistic of it for CSV, pandas and xarray, which
`export` writes into files. `records` writes samples while the run goes on, says what is whole, and
drops what a run that was killed left of a record.
"""

from .merge import merge
from .numbers import to_xarray
from .store import Store, export

__all__ = ["Store", "export", "merge", "to_xarray"]
