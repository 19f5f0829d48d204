"""From a study to a store: cells cut into batches, spread over workers, resumed after anything."""

from .driver import CellsFailed, Shard, Stopped, run

__all__ = ["CellsFailed", "Shard", "Stopped", "run"]
