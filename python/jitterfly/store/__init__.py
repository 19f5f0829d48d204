"""What a run leaves on disk, and what can be read of it: one directory per study."""

from .dataset import to_xarray
from .export import export
from .merge import merge
from .store import Store

__all__ = ["Store", "export", "merge", "to_xarray"]
