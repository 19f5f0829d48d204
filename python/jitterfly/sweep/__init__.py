"""Running of studies (sweep): batches, worker processes, MPI, GPUs, shards, resume."""

from .driver import CellsFailed, Shard, Stopped, run

__all__ = ["CellsFailed", "Shard", "Stopped", "run"]
