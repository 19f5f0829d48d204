"""From a study to a store: cells cut into batches, spread over workers, resumed after anything."""

from .driver import CellsFailed, Stopped, run
from .shard import Shard

__all__ = ["CellsFailed", "Shard", "Stopped", "run"]
