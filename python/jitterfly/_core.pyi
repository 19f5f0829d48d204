"""Type stubs of the compiled C++/CUDA module `_core`, which bindings/ defines with pybind11.

Times are int64 ticks of 1 ps.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ticks = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

class Delay:
    @staticmethod
    def constant(value: int) -> Delay: ...
    @staticmethod
    def smooth(words: Words) -> Delay: ...
    @staticmethod
    def samples(values: Ticks) -> Delay: ...
    @staticmethod
    def pieces(edges: Words, top: Ticks, drop: Ticks) -> Delay: ...
    @staticmethod
    def counts(value: int, survival: Words) -> Delay: ...
    def with_last(self, last: int) -> Delay: ...
    def apply(self, u: Words) -> Ticks: ...
    def draw(
        self, seed: int, purpose: int, key: int, realization: int, first: int, count: int
    ) -> Ticks: ...
    def largest_of(self, seed: int, purpose: int, draws: int) -> int: ...
    @property
    def largest(self) -> int: ...

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
        one_rank: bool = False,
        mirrors: Sequence[int] = (1,),
        patience: int = 0,
        ask: int = 0,
        request: int = 0,
        ranks: int | None = None,
        messages: Ticks | None = None,
        load: int = 0,
        loads: Sequence[int] = (),
        listed: npt.NDArray[np.int32] | None = None,
        rank_times: Ticks | None = None,
        combines: Sequence[int] = (),
    ) -> None: ...
    def add_congestion(self, network: CongestionProgram) -> None: ...
    @property
    def has_copies(self) -> bool: ...
    @property
    def load_bytes(self) -> tuple[int, int]: ...
    def add_periodic(
        self,
        period: int,
        duration: int,
        stationary: bool,
        node_ranks: int = 1,
        phases: Ticks | None = None,
        in_compute: bool = True,
        in_communication: bool = True,
        begin: int = ...,
        end: int = ...,
        hosts: npt.NDArray[np.bool_] | None = None,
        bursts: tuple[Delay, Delay, tuple[int, Delay, Delay], int] | None = None,
    ) -> None: ...
    def add_renewal(
        self,
        gap: Delay,
        duration: Delay,
        stationary: tuple[int, Delay, Delay] | None = None,
        node_ranks: int = 1,
        in_compute: bool = True,
        in_communication: bool = True,
        begin: int = ...,
        end: int = ...,
        hosts: npt.NDArray[np.bool_] | None = None,
        bursts: tuple[Delay, Delay, tuple[int, Delay, Delay], int] | None = None,
    ) -> None: ...
    def add_trace(
        self,
        starts: Ticks,
        ends: Ticks,
        length: int,
        offsets: Ticks | None = None,
        node_ranks: int = 1,
        in_compute: bool = True,
        in_communication: bool = True,
        begin: int = ...,
        end: int = ...,
        hosts: npt.NDArray[np.bool_] | None = None,
        bursts: tuple[Delay, Delay, tuple[int, Delay, Delay], int] | None = None,
    ) -> None: ...
    def add_traces(
        self,
        recordings: Sequence[tuple[Ticks, Ticks, int]],
        of_ranks: npt.NDArray[np.integer[Any]],
        node_ranks: int = 1,
        in_compute: bool = True,
        in_communication: bool = True,
        begin: int = ...,
        end: int = ...,
        hosts: npt.NDArray[np.bool_] | None = None,
        bursts: tuple[Delay, Delay, tuple[int, Delay, Delay], int] | None = None,
    ) -> None: ...
    def add_step(
        self,
        delay: Delay,
        at_send: bool,
        node_ranks: int = 1,
        in_compute: bool = True,
        in_communication: bool = True,
        begin: int = ...,
        end: int = ...,
        hosts: npt.NDArray[np.bool_] | None = None,
    ) -> None: ...
    def add_rank_delay(
        self,
        delay: Delay,
        node_ranks: int = 1,
        once: bool = False,
        hosts: npt.NDArray[np.bool_] | None = None,
    ) -> None: ...
    def add_rank_speed(
        self, factor: Delay, node_ranks: int = 1, hosts: npt.NDArray[np.bool_] | None = None
    ) -> None: ...
    def add_message(
        self,
        delay: Delay,
        node_ranks: int = 1,
        begin: int = ...,
        end: int = ...,
        hosts: npt.NDArray[np.bool_] | None = None,
    ) -> None: ...
    def add_weather(
        self,
        delay: Delay,
        node_ranks: int = 1,
        begin: int = ...,
        end: int = ...,
        way: int = 0,
        cost: int = -1,
        hosts: npt.NDArray[np.bool_] | None = None,
    ) -> None: ...
    def add_jitter(
        self,
        duration: int,
        survival: Words,
        node_ranks: int = 1,
        begin: int = ...,
        end: int = ...,
        cost: int = -1,
        hosts: npt.NDArray[np.bool_] | None = None,
    ) -> None: ...
    @property
    def ranks(self) -> int: ...
    @property
    def rows(self) -> int: ...

class Schedule:
    @property
    def ranks(self) -> int: ...
    @property
    def cpus(self) -> int: ...
    @property
    def nics(self) -> int: ...
    @property
    def operations(self) -> int: ...
    @property
    def sends(self) -> int: ...
    @property
    def longest_calculation(self) -> int: ...
    @property
    def receives(self) -> int: ...
    @property
    def sizes(self) -> list[int]: ...
    @property
    def begins(self) -> list[int]: ...
    def operation(self, rank: int, number: int) -> tuple[int, int, int, int, int, int, int]: ...
    def write(self, file: int) -> None: ...
    def operations_of(self, rank: int) -> Words: ...
    def requirements_of(self, rank: int) -> npt.NDArray[np.uint32]: ...

class NotWritten(RuntimeError): ...

def read_schedule(path: str, file: int) -> Schedule: ...

class SchedulePlan:
    def __init__(
        self,
        schedule: Schedule,
        program: Program,
        wire: Ticks,
        cpu: Ticks,
        largest_eager: npt.NDArray[np.uint64],
        slots: npt.NDArray[np.uint32] = ...,
        spans: npt.NDArray[np.uint32] = ...,
        factors: npt.NDArray[np.uint64] = ...,
        mark_of: npt.NDArray[np.uint32] = ...,
        marks: int = 0,
        equally_fast: bool = True,
    ) -> None: ...
    @property
    def reached(self) -> list[int]: ...
    @property
    def actions(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def cpu_time(self) -> tuple[float, float]: ...
    @property
    def short_receives(self) -> tuple[int, int, int, int]: ...
    @property
    def completion(self) -> int: ...

def simulate_schedule(
    plan: SchedulePlan,
    program: Program,
    seed: int,
    first: int,
    count: int,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
    arrival_order: bool = False,
    backend: str = "cpu",
) -> Ticks: ...
def operation_times(
    plan: SchedulePlan,
    program: Program,
    seed: int,
    realization: int,
    arrival_order: bool = False,
) -> Ticks: ...
def schedule_memory(
    plan: SchedulePlan, program: Program, count: int, threads: int = 0, backend: str = "cpu"
) -> int: ...
def explain_schedule(
    plan: SchedulePlan,
    program: Program,
    seed: int,
    realizations: npt.NDArray[np.uint32],
    quiet: bool = False,
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> tuple[Ticks, npt.NDArray[np.uint32], Ticks, Ticks]: ...
def critical_path(
    plan: SchedulePlan,
    program: Program,
    seed: int,
    realization: int,
    quiet: bool = False,
) -> Ticks: ...
def memory_to_explain(plan: SchedulePlan, program: Program) -> int: ...
def simulate(
    program: Program,
    seed: int,
    first: int,
    count: int,
    statistics: str = "max",
    backend: str = "cpu",
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Ticks: ...
def explain(
    program: Program,
    seed: int,
    first: int,
    count: int,
    combine: list[int],
    threads: int = 0,
    progress: Callable[[int], object] | None = None,
) -> tuple[Ticks, Ticks]: ...
def ready_times(program: Program, seed: int, realization: int) -> Ticks: ...
def loads(
    program: Program, seed: int, realization: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]: ...
def phases(program: Program, seed: int, realization: int, number: int = 0) -> Ticks: ...
def busy(
    program: Program, seed: int, realization: int, rank: int, until: int, compute: bool
) -> Ticks: ...
def hardware_threads() -> int: ...
def control_group_threads(root: str = "") -> int: ...
def memory(program: Program, backend: str, threads: int = 0, count: int = ...) -> int: ...
def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]: ...
def advance_periodic(
    period: int, duration: int, stationary: bool, phase: int, t: int, w: int
) -> int: ...
def cannot_count() -> str: ...
def count_instructions(
    program: Program, seed: int, realizations: int, most: int = ...
) -> tuple[int, int]: ...
def is_vector(code: bytes) -> bool: ...
def issue_rates(isa: str, seconds: float) -> list[tuple[str, float]]: ...
def bandwidth(bytes: int, copy: bool, seconds: float) -> float: ...
def end_on_second_signal(numbers: list[int], seconds: float) -> None: ...
def cuda_status() -> str: ...
def gpu_memory_available() -> int: ...
def device_count() -> int: ...
def use_device(number: int) -> None: ...
def devices() -> list[dict[str, Any]]: ...
def build_info() -> dict[str, Any]: ...

Numbers = npt.ArrayLike

class CongestionProgram:
    def __init__(
        self,
        *,
        hosts: int,
        used: int,
        ranks: int,
        perturbation: int,
        offsets: Numbers,
        senders: Numbers,
        receivers: Numbers,
        chain: Numbers,
    ) -> None: ...
    def set_fat_tree(
        self,
        m: Sequence[int],
        w: Sequence[int],
        p: Sequence[int],
        key: int,
        salt: int = 0,
        whole: bool = False,
    ) -> None: ...
    def set_table(self, nodes: int, next: Numbers, head: Numbers) -> None: ...
    def memory(self, threads: int = 0) -> int: ...

def congestion(
    program: CongestionProgram,
    seed: int,
    first: int,
    count: int,
    all: bool = False,
    backend: str = "cpu",
    threads: int = 0,
    histogram: bool = False,
    progress: Callable[[int], object] | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...
def congestion_capture(
    program: CongestionProgram, seed: int, realization: int, placement: Numbers | None = None
) -> dict[str, npt.NDArray[np.uint32]]: ...
def congestion_routes(
    program: CongestionProgram, from_: Numbers, to: Numbers, keys: Numbers
) -> npt.NDArray[np.uint32]: ...
def cycle_length(u: int, left: int) -> int: ...

counter: str

def read_counter() -> int: ...

class Recorder:
    def __init__(self, *, cpu: int, capacity: int, quantum_ns: int = 0) -> None: ...
    def quiet(self) -> dict[str, Any]: ...
    def go(self, *, limit: int, begin: int, length: int) -> None: ...
    def wait(self, seconds: float) -> bool: ...
    def stop(self) -> None: ...
    @property
    def count(self) -> int: ...
    def recording(self) -> dict[str, Any]: ...

def cross_moments(values: npt.NDArray[Any], columns: Sequence[int]) -> dict[str, Any]: ...
def third_moments(samples: Sequence[Ticks]) -> dict[str, Any]: ...
def count_wins(x: Ticks, y: Ticks) -> tuple[int, int, int]: ...
def count_buckets(values: Ticks) -> tuple[Ticks, Ticks, int, int, int]: ...
def merge_buckets(
    one: tuple[Ticks, Ticks, int, int, int], other: tuple[Ticks, Ticks, int, int, int]
) -> tuple[Ticks, Ticks, int, int, int]: ...
def order_statistics(
    samples: Ticks | npt.NDArray[np.float64], ranks: Sequence[int]
) -> list[Any]: ...
def column_ends(values: Ticks) -> tuple[Ticks, Ticks]: ...
def pack_offsets(values: Ticks, base: Ticks, packed: npt.NDArray[Any]) -> None: ...
def linear_form(
    values: npt.NDArray[Any],
    columns: Sequence[int],
    coefficients: Sequence[int],
    constant: int,
    out: Ticks,
) -> None: ...
def quotients(x: Ticks, y: Ticks, one: float) -> Ticks: ...
