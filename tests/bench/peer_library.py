"""The peer programs in C++ (peers.cpp), compiled when they are first used.

They share no code with the engine and are compiled for speed, as it is.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from support.compiler import find_compiler

Ticks = npt.NDArray[np.int64]
SOURCE = Path(__file__).parent / "peers.cpp"
_FLAGS = ["-std=c++20", "-O3", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
_INT32, _INT64, _UINT32 = (
    np.ctypeslib.ndpointer(dtype, flags="C") for dtype in (np.int32, np.int64, np.uint32)
)


@functools.cache
def _library() -> ctypes.CDLL:
    command = find_compiler()
    if command is None:
        raise ValueError("the peers need a C++ compiler: set CXX, or install g++")
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "peers.so"
        words = [*command, *_FLAGS, SOURCE, "-o", built]
        made = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        if made.returncode:
            raise ValueError(f"{command[0]} can not compile the peers: {made.stderr}")
        library = ctypes.CDLL(str(built))  # stays mapped when its file is gone
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    library.event_driven.argtypes = [ctypes.c_int, _INT64, _INT64, number, _INT64, _INT64]
    library.event_driven.restype = None
    library.graph_make.argtypes = [number, number, _INT32, _INT32, _INT32, _INT64, _INT32]
    library.graph_make.restype = pointer
    library.graph_free.argtypes = [pointer]
    library.graph_free.restype = None
    library.graph_route.argtypes = [pointer, ctypes.c_int, ctypes.c_int, number, _INT32]
    library.graph_route.restype = number
    library.graph_longest_delay.argtypes = [pointer, _UINT32, number, *[_UINT32] * 3, _INT32]
    library.graph_longest_delay.restype = number
    return library


def event_driven(
    log2_ranks: int,
    costs: Sequence[int],
    period: int,
    duration: int,
    stationary: bool,
    phases: Ticks,
) -> Ticks:
    """Completion of the conventional butterfly in each realization, event by event.

    Parameters
    ----------
    log2_ranks : int
    costs : sequence of int
        Of sending, receiving, transit and combining, in ticks.
    period, duration : int
        Ticks.
    stationary : bool
        Intervals also before the phase.
    phases : int64 array, shape (realizations, 2^log2_ranks)
        Ticks, each from 0 to below the period.

    Returns
    -------
    int64 array, shape (realizations,)
        Ticks.
    """
    phases = np.ascontiguousarray(phases, dtype=np.int64)
    if phases.ndim != 2 or phases.shape[1] != 1 << log2_ranks:
        raise ValueError("phases must have one entry per rank")
    done = np.empty(len(phases), dtype=np.int64)
    _library().event_driven(
        log2_ranks,
        np.array(costs, dtype=np.int64),
        np.array([period, duration, stationary], dtype=np.int64),
        len(phases),
        phases,
        done,
    )
    return done


class GraphWalk:
    """A network as nodes and edges, each edge with the destinations that it is for.

    Parameters
    ----------
    nodes : int
    edges : list of (tail, head, whether for all, else the destinations in order)
        A message uses the first edge of a node that is for its destination.
    """

    def __init__(self, nodes: int, edges: Sequence[tuple[int, int, bool, Sequence[int]]]) -> None:
        tails, heads, any_ = np.array([edge[:3] for edge in edges], dtype=np.int32).T.copy()
        if min(tails.min(), heads.min()) < 0 or max(tails.max(), heads.max()) >= nodes:
            raise ValueError("edges must join nodes")
        sizes = [len(edge[3]) for edge in edges]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        destinations = np.array([to for edge in edges for to in edge[3]], dtype=np.int32)
        self._edges = len(edges)
        self._graph = _library().graph_make(
            nodes, len(edges), tails, heads, any_, first, destinations
        )

    def __del__(self) -> None:
        if hasattr(self, "_graph"):
            _library().graph_free(self._graph)

    def route(self, start: int, to: int) -> list[int]:
        """Numbers of the edges on the way from one host to another; none if it has a loop."""
        edges = np.empty(self._edges, dtype=np.int32)
        count = _library().graph_route(self._graph, start, to, len(edges), edges)
        if count < 0:
            raise ValueError("there is no way to a destination")
        return edges[:count].tolist()

    def longest_delay(
        self, host_of_rank: Any, offsets: Any, senders: Any, receivers: Any, own: Sequence[int]
    ) -> int:
        """The largest of the delays D_l(dst) over all levels, in the unit of ORCS."""
        arrays = [
            np.ascontiguousarray(array, dtype=np.uint32)
            for array in (host_of_rank, offsets, senders, receivers)
        ]
        hosts, offsets, senders, receivers = arrays
        delay = _library().graph_longest_delay(
            self._graph, hosts, len(offsets) - 1, offsets, senders, receivers,
            np.array(own, dtype=np.int32),
        )  # fmt: skip
        if delay < 0:
            raise ValueError("there is no way to a destination")
        return int(delay)
