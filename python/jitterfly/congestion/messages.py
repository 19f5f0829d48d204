"""Congestion message by message: of a realization, or of messages and placements that are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import _core
from ..fields import MOST_REALIZATIONS, MOST_SEED, check_integer, check_numbers
from .case import CongestionCase
from .program import compile_congestion
from .topology import Topology


@dataclass(frozen=True, eq=False)
class Level:
    """The messages of one level.

    Attributes
    ----------
    pairs : uint32 array, shape (messages, 2)
        Sender and receiver, ranks; those of the collective come first.
    own : int
        How many are the collective's.
    w : int64 array, shape (messages,)
        Congestion: the largest number of messages on an edge of the route; 0: no route.
    """

    pairs: npt.NDArray[np.uint32]
    own: int
    w: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Realization:
    """Where the ranks were, what was sent, and how congested it was.

    Attributes
    ----------
    host_of_rank : uint32 array, shape (hosts,)
        Behind the ranks: the idle hosts.
    levels : list of Level
    """

    host_of_rank: npt.NDArray[np.uint32]
    levels: list[Level]


def congestion_realization(
    case: CongestionCase, realization: int = 0, seed: int = 0
) -> Realization:
    """One realization as `simulate_congestion` draws it, to check with another program.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> found = congestion_realization(CongestionCase(FatTree.of(144)), realization=3)
    >>> len(found.levels), found.levels[0].own, len(found.levels[0].pairs)
    (7, 1, 73)
    """
    realization = check_integer(realization, "realization", 0, MOST_REALIZATIONS - 1)
    seed = check_integer(seed, "seed", 0, MOST_SEED)
    raw = _core.congestion_capture(compile_congestion(case), seed, realization, None)
    return _unpack(raw, [len(level) for level in case.levels()])


def route_messages(
    network: Topology,
    levels: Sequence[npt.ArrayLike],
    host_of_rank: npt.ArrayLike | None = None,
    seed: int = 0,
    realization: int = 0,
) -> list[npt.NDArray[np.int64]]:
    """Congestion w of given messages, with any traffic among them: all of a level at one time.

    Parameters
    ----------
    network : Topology
    levels : list of arrays, shape (messages, 2)
        Sender and receiver of each message, ranks from 0.
    host_of_rank : array of int, shape (ranks,), optional
        Different hosts, from 0; None: rank i is on host i.
    seed, realization : int
        Of the draws of random routing; nothing else is drawn.

    Returns
    -------
    list of int64 arrays, shape (messages,)

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> route_messages(FatTree((2, 2), (1, 1)), [[[0, 2], [1, 3]], [[0, 1]]])
    [array([2, 2]), array([1])]
    """
    hosts = _check_hosts(host_of_rank, network.hosts)
    case = CongestionCase(
        network, pattern=list(levels), perturbation="none", ratio=0, ranks=len(hosts)
    )
    realization = check_integer(realization, "realization", 0, MOST_REALIZATIONS - 1)
    seed = check_integer(seed, "seed", 0, MOST_SEED)
    idle = np.setdiff1d(np.arange(network.hosts), hosts)
    placement = np.concatenate([hosts, idle]).astype(np.uint32)
    raw = _core.congestion_capture(compile_congestion(case), seed, realization, placement)
    return [level.w for level in _unpack(raw, [len(level) for level in case.levels()]).levels]


def _check_hosts(value: npt.ArrayLike | None, count: int) -> npt.NDArray[np.int64]:
    if value is None:
        return np.arange(count)
    rule = f"host_of_rank must be different integers from 0 to {count - 1}, one for each rank"
    hosts = check_numbers(value, rule)
    whole = hosts.ndim == 1 and hosts.dtype.kind in "iu" and len(hosts) > 0
    if not whole or hosts.min() < 0 or hosts.max() >= count or len(np.unique(hosts)) < len(hosts):
        raise ValueError(rule)
    return hosts.astype(np.int64)


def _unpack(raw: dict[str, npt.NDArray[np.uint32]], own: list[int]) -> Realization:
    pairs = np.stack([raw["senders"], raw["receivers"]], axis=1)
    w = raw["w"].astype(np.int64)
    ends = raw["offsets"]
    levels = [
        Level(pairs[begin:end], mine, w[begin:end])
        for begin, end, mine in zip(ends[:-1], ends[1:], own, strict=True)
    ]
    return Realization(raw["host_of_rank"], levels)
