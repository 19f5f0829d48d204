"""A part of a study that one job of several runs by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..fields import check_integer, shorten
from ..studies import Cell

MOST_SHARDS = 1_000_000


@dataclass(frozen=True)
class Shard:
    """Shard `index` of `count`, from 1.

    Examples
    --------
    >>> Shard.parse("2/5")
    Shard(index=2, count=5)
    """

    index: int
    count: int

    def __post_init__(self) -> None:
        check_integer(self.count, "the count of shards", 1, MOST_SHARDS)
        check_integer(self.index, "the index of a shard", 1, self.count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From `i/n`, 1 <= i <= n."""
        found = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text.strip())
        if not found or not 1 <= int(found[1]) <= int(found[2]) <= MOST_SHARDS:
            raise ValueError(
                f"shard must be i/n with 1 <= i <= n, such as 2/8; got {shorten(text)}"
            )
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def from_slurm(cls, environment: Mapping[str, str] | None = None) -> Shard | None:
        """The shard that is this task of a Slurm job array; None outside of one.

        Raises:
            ValueError: the tasks of the array are not evenly numbered (`--array=1,2,7`).
        """
        environment = os.environ if environment is None else environment
        if not environment.get("SLURM_ARRAY_TASK_ID"):
            return None
        try:
            task, count = (int(environment[f"SLURM_ARRAY_TASK_{key}"]) for key in ("ID", "COUNT"))
            low, step = (
                int(environment.get(f"SLURM_ARRAY_TASK_{key}", "1")) for key in ("MIN", "STEP")
            )
            high = int(environment.get("SLURM_ARRAY_TASK_MAX", low + (count - 1) * step))
        except (KeyError, ValueError):
            raise ValueError(
                "SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT must be integers: give `shard` i/n"
            ) from None
        index, rest = divmod(task - low, max(step, 1))
        if rest or not 0 <= index < count or high != low + (count - 1) * step:
            raise ValueError(
                f"the {count} tasks of this Slurm array, from {low} to {high}, are not evenly "
                "numbered: give `shard` i/n"
            )
        return cls(index + 1, count)

    def of(self, cells: Sequence[Cell]) -> list[Cell]:
        """Its cells, in the study's order; the dearest are dealt first, one to each."""
        dealt = sorted(cells, key=lambda cell: (-cell.work, cell.index))
        mine = {cell.index for cell in dealt[self.index - 1 :: self.count]}
        return [cell for cell in cells if cell.index in mine]

    def folder(self, out: Path) -> Path:
        """Where its store is: a folder in that of the study."""
        return out / f"shard-{self.index}-of-{self.count}"
