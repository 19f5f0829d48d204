"""From a study to a store: places cut into batches, spread over workers, resumed after anything."""

from .driver import PlacesFailed, Stopped, run
from .shard import Shard

__all__ = ["PlacesFailed", "Shard", "Stopped", "run"]
