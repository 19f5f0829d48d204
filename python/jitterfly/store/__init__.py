"""Store of a run on disk, one directory per study: samples, estimates, export.

`store` is that directory, `numbers` every statistic of it and the columns of CSV, `dataset` the
same for xarray, `export` the files for other programs. `record_files` writes samples while the run
goes on, and drops what a run that was killed left of a record; `record_format` says what is whole.
"""

from .dataset import to_xarray
from .export import export
from .merge import merge
from .store import Store

__all__ = ["Store", "export", "merge", "to_xarray"]
