"""The samples of one cell, as a file."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..files import replacing
from ..program import observation_names
from ..result import Result
from ..units import TICKS_PER_SECOND, from_ticks
from .study import Cell

_ARRAYS = ("ticks", "noise_free", "observations", "seed", "cell")
_UNSAFE = re.compile(r"[^A-Za-z0-9=.^-]+")


@dataclass(frozen=True)
class Record:
    """The samples of one cell with one seed, read from `path` when they are first asked for.

    What was read is kept; after the file was written anew, make a new `Record`.
    """

    cell: Cell
    seed: int
    path: Path

    @cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                # Whole members first: their check sums are compared before numpy sees them.
                parts = {name: archive.read(f"{name}.npy") for name in _ARRAYS}
            arrays = {
                name: np.load(io.BytesIO(part), allow_pickle=False) for name, part in parts.items()
            }
        except FileNotFoundError:
            raise ValueError(f"{self.path}: missing; run the study again to make it") from None
        except (MemoryError, PermissionError):
            raise
        except Exception:  # flipped bits make zipfile, zlib and numpy raise nearly anything
            raise self._damaged("it can not be read") from None
        self._compare(arrays)
        return arrays

    def _compare(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Raise unless the arrays are what the case must give with this seed."""
        names = observation_names(self.cell.case)
        if str(arrays["cell"]) != self.cell.hash:
            raise self._damaged("it holds another case")
        if str(arrays["seed"]) != str(self.seed):
            raise self._damaged(f"it holds seed {arrays['seed']}, not {self.seed}")
        if arrays["observations"].tolist() != names:
            raise self._damaged("it holds other observations")
        wanted = {"ticks": (self.cell.realizations, len(names)), "noise_free": (len(names),)}
        for name, shape in wanted.items():
            if arrays[name].shape != shape or arrays[name].dtype != np.int64:
                raise self._damaged(f"{name} must be int64 of shape {shape}")

    def _damaged(self, what: str) -> ValueError:
        return ValueError(f"{self.path}: damaged ({what}); run the study again to make it anew")

    @property
    def observations(self) -> list[str]:
        """Names of the columns of `samples`."""
        return [str(name) for name in self._arrays["observations"]]

    @cached_property
    def samples(self) -> npt.NDArray[np.float64]:
        """Seconds, shape (realizations, observations)."""
        return from_ticks(self._arrays["ticks"])

    @cached_property
    def noise_free(self) -> npt.NDArray[np.float64]:
        """Seconds without noise, shape (observations,)."""
        return from_ticks(self._arrays["noise_free"])

    def check(self) -> None:
        """Raise ValueError if the record is missing, damaged, or of another seed, case or size."""
        assert self._arrays

    def whole(self) -> bool:
        """Whether `check` passes."""
        try:
            self.check()
        except ValueError:
            return False
        return True

    def write(self, result: Result) -> None:
        """Put the samples on disk, whole or not at all."""
        quiet = np.rint(np.asarray(result.noise_free) * TICKS_PER_SECOND).astype(np.int64)
        with replacing(self.path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file,
                ticks=result.ticks,
                noise_free=quiet,
                observations=np.array(result.observations),
                seed=np.array(str(self.seed)),
                cell=np.array(self.cell.hash),
            )


def record_name(cell: Cell) -> str:
    """The name of a cell's file: readable, and with its hash, which alone is unique."""
    words = [f"{axis}={label}" for axis, label in cell.place.items()]
    words += [cell.variant] if cell.variant else []
    readable = _UNSAFE.sub("-", "_".join(words))[:100] or "base"
    return f"{readable}_{cell.hash}.npz"
