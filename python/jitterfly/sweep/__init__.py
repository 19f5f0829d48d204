"""Running of a study's cells: batches, worker processes, MPI, GPUs, shards, resume.

`driver` deals out the work, to the workers of `jitterfly.executors`; `batches` says how much of it
at once.
"""

from .driver import CellsFailed, Shard, Stopped, run

__all__ = ["CellsFailed", "Shard", "Stopped", "run"]
