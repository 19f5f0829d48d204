"""The engines (C++ and CUDA). Times are int64 ticks of 1 ps."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

class Program:
    def __init__(
        self,
        *,
        log2_ranks: int,
        steps: npt.NDArray[np.int32],
        rows: int,
        send: int,
        receive: int,
        transit: int,
        combine: int,
        work: int,
        forward: int,
    ) -> None: ...
    def set_periodic(
        self,
        period: int,
        duration: int,
        stationary: bool,
        node_ranks: int,
        phases: npt.NDArray[np.int64] | None = None,
        in_compute: bool = True,
        in_communication: bool = True,
    ) -> None: ...
    def set_jitter(self, duration: int, survival: npt.NDArray[np.uint64]) -> None: ...
    @property
    def ranks(self) -> int: ...
    @property
    def rows(self) -> int: ...

def simulate(
    program: Program,
    seed: int,
    first: int,
    count: int,
    statistics: str = "max",
    backend: str = "cpu",
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> npt.NDArray[np.int64]: ...
def ready_times(program: Program, seed: int, realization: int) -> npt.NDArray[np.int64]: ...
def phases(program: Program, seed: int, realization: int) -> npt.NDArray[np.int64]: ...
def memory(program: Program, backend: str, threads: int = 0, count: int = ...) -> int: ...
def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]: ...
def advance_periodic(
    period: int, duration: int, stationary: bool, phase: int, t: int, w: int
) -> int: ...
def event_driven(
    log2_ranks: int,
    send: int,
    receive: int,
    transit: int,
    combine: int,
    period: int,
    duration: int,
    stationary: bool,
    phases: npt.NDArray[np.int64],
) -> int: ...
def cuda_status() -> str: ...
def gpu_memory_available() -> int: ...
def devices() -> list[dict[str, Any]]: ...
def build_info() -> dict[str, Any]: ...
