"""Running of a study's cells: batches, worker processes, MPI, GPUs, shards, resume.

`driver` deals out batches of the work, to the workers of `jitterfly.executors`.
"""

from .driver import CellsFailed, Shard, Stopped, run

__all__ = ["CellsFailed", "Shard", "Stopped", "run"]
