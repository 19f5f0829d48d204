"""Load imbalance that is given: late ranks (arrival), slow ones (speeds), uneven messages (counts).

Also the hosts that noise is limited to. All are given, the same in every realization. What each
realization draws anew is noise: arrivals are `LateArrival`, speeds `SpeedNoise`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .fields import (
    Component,
    Converted,
    FloatsLike,
    Int,
    IntField,
    PlacesLike,
    RealField,
    RealOrText,
    check_choice,
    check_integer,
    check_numbers,
    counted,
    frozen_dataclass,
    shorten,
)
from .files import FileField, FileName, find_file, read_text
from .syntax import read_number, read_part
from .units import (
    LONGEST_TICKS,
    TICKS_PER_SECOND,
    Seconds,
    array_to_ticks,
    exact,
    to_ticks,
    warn_of_small_factor,
)

__all__ = [
    "Arrival",
    "Counts",
    "DrawnSpeed",
    "FileArrival",
    "FileCounts",
    "GivenArrival",
    "GivenCounts",
    "GivenSpeed",
    "Hosts",
    "LognormalCounts",
    "OnNodes",
    "OnRanks",
    "OnShare",
    "OneLate",
    "Ramp",
    "SlowNodes",
    "SlowRanks",
    "SlowShare",
    "Speed",
]


def __dir__() -> list[str]:
    return sorted(__all__)


MAX_RANKS = 2**24
"""Ranks of a case whose ranks are not alike: something is kept of each."""
_MAX_TIMES = 2**27  # 1 GB
_SLOWEST = 10**6
_MAX_GIVEN = 2**22
_LARGEST_COUNT = 2**62

Ticks = npt.NDArray[np.int64]


class Arrival(Component, ABC):
    """Base of arrival patterns: how long each rank idles before each collective.

    The delay comes before the compute phase of the cycle. It is no CPU time: noise of the CPU does
    not lengthen it.
    """

    goes_to = "It is the `arrival` of `Case` and of questions"
    example = 'jf.Case(64, network="L=1us,o=200ns", arrival={})'

    @abstractmethod
    def delays(self, ranks: int, cycles: int) -> Ticks:
        """The lateness of each rank.

        Parameters
        ----------
        ranks, cycles : int
            Of the case.

        Returns
        -------
        array of int64, shape (1, ranks) or (cycles, ranks)
            Ticks of 1 ps; one row is for all cycles.

        Raises
        ------
        ValueError
            The pattern is for another number of ranks or cycles.
        """


@frozen_dataclass()
class Ramp(Arrival, kind="ramp"):
    """Rank i of N is late by ``longest * i / (N - 1)``.

    Parameters
    ----------
    longest : float or str
        Of the last rank, seconds.

    Examples
    --------
    >>> Ramp("3us").delays(4, cycles=1).tolist()
    [[0, 1000000, 2000000, 3000000]]
    """

    longest: Seconds

    def __post_init__(self) -> None:
        to_ticks(self.longest, "longest")

    def delays(self, ranks: int, cycles: int) -> Ticks:
        last = to_ticks(self.longest)
        rank, steps = np.arange(ranks, dtype=np.int64), max(ranks - 1, 1)
        # In two parts, so that no product leaves 64 bits.
        whole, rest = divmod(last, steps)
        return (whole * rank + (rest * rank + steps // 2) // steps)[None, :]


@frozen_dataclass()
class OneLate(Arrival, kind="one_late"):
    """One rank is late, all others are on time.

    Parameters
    ----------
    delay : float or str
        Seconds.
    rank : int
        Which one.

    Examples
    --------
    >>> OneLate("1us", rank=2).delays(4, cycles=1).tolist()
    [[0, 0, 1000000, 0]]
    """

    delay: Seconds
    rank: IntField = IntField(0)

    def __post_init__(self) -> None:
        to_ticks(self.delay, "delay")
        object.__setattr__(self, "rank", check_integer(self.rank, "rank", 0, MAX_RANKS - 1))

    def delays(self, ranks: int, cycles: int) -> Ticks:
        if self.rank >= ranks:
            raise ValueError(f"arrival: rank must be from 0 to {ranks - 1}, got {self.rank}")
        late = np.zeros((1, ranks), dtype=np.int64)
        late[0, self.rank] = to_ticks(self.delay)
        return late


class _Times(Converted[Any, tuple[tuple[float, ...], ...]]):
    def __init__(self) -> None:
        super().__init__("array of float, shape (ranks,) or (cycles, ranks)")


@frozen_dataclass()
class GivenArrival(Arrival, kind="given"):
    """Each rank is as late as it is said, in all cycles or in each.

    Parameters
    ----------
    times : array of float, shape (ranks,) or (cycles, ranks)
        Seconds, from 0.

    Examples
    --------
    >>> GivenArrival([0, 2e-6]).delays(2, cycles=5).tolist()
    [[0, 2000000]]
    """

    times: _Times

    def __post_init__(self) -> None:
        times = _read_times(self.times, "times")
        object.__setattr__(self, "times", tuple(tuple(row) for row in times.tolist()))

    def delays(self, ranks: int, cycles: int) -> Ticks:
        return _ticks_of_ranks(np.array(self.times), ranks, cycles, "times")


@frozen_dataclass()
class _OfFile:
    """The base of parts that a text file holds: its path, and the SHA-256 of its content."""

    file: FileField
    sha256: str | None = field(default=None)

    def __post_init__(self) -> None:
        name, digest = find_file(self.file, self.sha256)
        object.__setattr__(self, "file", name)
        object.__setattr__(self, "sha256", digest)
        self._read(name, digest)

    def _table(self) -> npt.NDArray[Any]:
        return self._read(*find_file(self.file, self.sha256))  # it may have changed

    def _read(self, name: str, digest: str) -> npt.NDArray[Any]:
        raise NotImplementedError


@frozen_dataclass()
class FileArrival(_OfFile, Arrival, kind="file"):
    """An arrival as `GivenArrival` from a text file: a line a cycle, a number a rank, seconds.

    Numbers are separated by blanks or commas; what follows # in a line is a comment. One line is
    for all cycles.

    Parameters
    ----------
    file : str or Path
        Its path; in a study, from the folder of the study.
    sha256 : str, optional
        Which content the file must have; without it, that which it has. A store keeps a copy.

    Raises
    ------
    ValueError
        It can not be read, is not such a table, or has changed.
    """

    def _read(self, name: str, digest: str) -> npt.NDArray[np.float64]:
        return _read_table(name, digest)

    def delays(self, ranks: int, cycles: int) -> Ticks:
        return _ticks_of_ranks(self._table(), ranks, cycles, f"file: {self.file}")


class Speed(Component, ABC):
    """Base of what makes ranks slow: a factor on the CPU time of each, or on its messages.

    As `Case.speed` it is that of the compute phase and of combining, in a schedule that of `calc`;
    the network's own CPU time (o of LogGOPS) is the same for all. As `Case.L_factor` or
    `Case.G_factor` it is that of the latency, or of the time of a byte, of messages from and to
    the rank: of a slow cable or network card.
    """

    goes_to = "It is the `speed`, `L_factor` or `G_factor` of `Case` and of questions"
    example = 'jf.Case(64, network="L=1us,o=200ns", speed={})'

    @abstractmethod
    def of_ranks(self, ranks: int) -> npt.NDArray[np.float64]:
        """The factor of each rank, shape (ranks,): 1 is as given, 2 takes twice as long.

        Raises
        ------
        ValueError
            It is for another number of ranks.
        """


@frozen_dataclass()
class SlowRanks(Speed, kind="slow_ranks"):
    """Some ranks take longer than all others.

    Parameters
    ----------
    factor : float
        How much longer, above 0: 1.2 is 20 % longer.
    ranks : list of int, or int
        Which ones; also as text, "3 17".

    Examples
    --------
    >>> SlowRanks(1.5, ranks=[1]).of_ranks(3).tolist()
    [1.0, 1.5, 1.0]
    """

    factor: RealField
    ranks: Converted[PlacesLike, tuple[int, ...]] = Converted("list of int", (0,))

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", _check_factor(self.factor))
        warn_of_small_factor(self.factor, "SlowRanks")
        object.__setattr__(self, "ranks", _check_places(self.ranks, "ranks"))

    def of_ranks(self, ranks: int) -> npt.NDArray[np.float64]:
        if max(self.ranks) >= ranks:
            raise ValueError(
                f"speed: ranks must be from 0 to {ranks - 1}, got {shorten(self.ranks)}"
            )
        found = np.ones(ranks)
        found[list(self.ranks)] = self.factor
        return found


@frozen_dataclass()
class SlowNodes(Speed, kind="slow_nodes"):
    """All ranks of some nodes take longer than all others.

    Parameters
    ----------
    factor : float
        How much longer, above 0.
    node_ranks : int
        Consecutive ranks that are a node.
    nodes : list of int, or int
        Which ones; also as text, "3 17".

    Examples
    --------
    >>> SlowNodes(2, node_ranks=2, nodes=[1]).of_ranks(6).tolist()
    [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]
    """

    factor: RealField
    node_ranks: IntField = IntField(8)
    nodes: Converted[PlacesLike, tuple[int, ...]] = Converted("list of int", (0,))

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", _check_factor(self.factor))
        warn_of_small_factor(self.factor, "SlowNodes")
        width = check_integer(self.node_ranks, "node_ranks", 1, MAX_RANKS)
        object.__setattr__(self, "node_ranks", width)
        object.__setattr__(self, "nodes", _check_places(self.nodes, "nodes"))

    def of_ranks(self, ranks: int) -> npt.NDArray[np.float64]:
        last = -(-ranks // self.node_ranks) - 1
        if max(self.nodes) > last:
            raise ValueError(f"speed: nodes must be from 0 to {last}, got {shorten(self.nodes)}")
        slow = np.isin(np.arange(ranks) // self.node_ranks, self.nodes)
        return np.where(slow, self.factor, 1.0)


@frozen_dataclass()
class DrawnSpeed(Speed, kind="drawn"):
    """The factor of each node is drawn once, and is the same in all realizations.

    Factors that each realization draws anew are noise (`SpeedNoise`).

    Parameters
    ----------
    sigma : float
        Of the factor's logarithm, which is normal with mean 0; from 0 to 2. At 0.05 one node of
        six is slower than the median by 5 % or more.
    node_ranks : int
        Consecutive ranks that share a factor; 1: each has its own.
    seed : int
        Of the draw, from 0: another seed is another machine.

    Examples
    --------
    >>> DrawnSpeed(0.05, node_ranks=2).of_ranks(4).round(3).tolist()
    [1.092, 1.092, 1.02, 1.02]
    """

    sigma: RealField
    node_ranks: IntField = IntField(1)
    seed: IntField = IntField(0)

    def __post_init__(self) -> None:
        _check_drawn(self, "sigma", 2)

    def of_ranks(self, ranks: int) -> npt.NDArray[np.float64]:
        nodes = -(-ranks // self.node_ranks)
        # A generator whose stream NumPy never changes. Rounded, as the last bit of exp differs
        # between libraries.
        normal = np.random.RandomState(self.seed).standard_normal(nodes)
        found = np.exp(self.sigma * normal).round(9)
        return np.repeat(found, self.node_ranks)[:ranks]


class _Share(Converted[RealOrText, float]):
    def __init__(self) -> None:
        super().__init__("float | str")


@frozen_dataclass()
class SlowShare(Speed, kind="slow_share"):
    """A share of the nodes is slow: each with that probability, drawn once for all realizations.

    Parameters
    ----------
    factor : float
        How much longer, above 0.
    share : float or str
        Of the nodes, on average, from 0 to 1: 0.01 or "1%".
    node_ranks : int
        Consecutive ranks that are a node; 1: each by itself.
    seed : int
        Of the draw, from 0: another seed is another machine.

    Examples
    --------
    >>> SlowShare(4, share=0.55, node_ranks=2).of_ranks(8).tolist()
    [4.0, 4.0, 1.0, 1.0, 1.0, 1.0, 4.0, 4.0]
    """

    factor: RealField
    share: _Share
    node_ranks: IntField = IntField(1)
    seed: IntField = IntField(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", _check_factor(self.factor))
        warn_of_small_factor(self.factor, "SlowShare")
        _check_drawn(self, "share", 1)

    def of_ranks(self, ranks: int) -> npt.NDArray[np.float64]:
        slow = _drawn_nodes(ranks, self.share, self.node_ranks, self.seed)
        return np.where(slow, self.factor, 1.0)


class _Places(Converted[PlacesLike, tuple[int, ...]]):
    def __init__(self) -> None:
        super().__init__("list of int")


class _Factors(Converted[FloatsLike, tuple[float, ...]]):
    def __init__(self) -> None:
        super().__init__("list of float")


@frozen_dataclass()
class GivenSpeed(Speed, kind="given"):
    """Each rank takes as much longer as it is said.

    Parameters
    ----------
    factors : list of float, shape (ranks,)
        Above 0; 1 is as given otherwise. Also as text, "1 1.2 1".

    Examples
    --------
    >>> GivenSpeed([1, 1.25]).of_ranks(2).tolist()
    [1.0, 1.25]
    """

    factors: _Factors

    def __post_init__(self) -> None:
        rule = "factors must be a list of factors, one for each rank, or text such as '1 1.2 1'"
        if isinstance(self.factors, str):
            try:
                object.__setattr__(self, "factors", tuple(map(float, self.factors.split())))
            except ValueError:
                raise ValueError(f"{rule}, got {shorten(self.factors)}") from None
        raw = check_numbers(self.factors, rule)
        if raw.ndim != 1 or not raw.size:
            raise ValueError(f"{rule}, got {shorten(self.factors)}")
        object.__setattr__(self, "factors", tuple(map(_check_factor, raw.tolist())))

    def of_ranks(self, ranks: int) -> npt.NDArray[np.float64]:
        if len(self.factors) != ranks:
            raise ValueError(
                f"speed: factors must have one factor for each of the {ranks} ranks, got "
                f"{len(self.factors)}"
            )
        return np.array(self.factors)


class Counts(Component, ABC):
    """Base of how many elements each rank sends in an irregular collective, as MPI's counts.

    An element has the `message_bytes` of the case. Counts may be 0.
    """

    goes_to = "It is the `counts` of an irregular algorithm and of `LibraryRules`"
    example = "jf.RingAllgatherv(counts={})"

    @abstractmethod
    def of_ranks(self, ranks: int) -> npt.NDArray[np.int64]:
        """The count of each rank, shape (ranks,): what it contributes, or gets.

        Raises
        ------
        ValueError
            They are for another number of ranks.
        """

    @abstractmethod
    def of_pairs(self, ranks: int) -> npt.NDArray[np.int64]:
        """The elements that each rank (row) sends to each (column), shape (ranks, ranks).

        What a rank keeps is on the diagonal, and takes no time.

        Raises
        ------
        ValueError
            They are for another number of ranks.
        """


class _Counts(Converted[Any, tuple[Any, ...]]):
    def __init__(self) -> None:
        super().__init__("array of int, shape (ranks,) or (ranks, ranks)")


@frozen_dataclass()
class GivenCounts(Counts, kind="given"):
    """Counts that are written down: one for each rank, or a row for each with one for each other.

    Parameters
    ----------
    counts : array of int, shape (ranks,) or (ranks, ranks)
        From 0. Of a matrix, row i has what rank i sends to each rank. At most 2^22: more belong in
        a file.

    Raises
    ------
    ValueError
        One is negative or no integer; rows differ in length.

    Examples
    --------
    >>> GivenCounts([[0, 3], [5, 0]]).of_pairs(2).tolist()
    [[0, 3], [5, 0]]
    """

    counts: _Counts

    def __post_init__(self) -> None:
        counts = _check_counts(self.counts, "counts")
        if counts.size > _MAX_GIVEN:
            raise ValueError(f"counts must be at most 2^22 numbers, got {counts.size}: give a file")
        values = counts.tolist()
        held = tuple(map(tuple, values)) if counts.ndim == 2 else tuple(values)
        object.__setattr__(self, "counts", held)

    def of_ranks(self, ranks: int) -> npt.NDArray[np.int64]:
        return _shaped(np.array(self.counts), (ranks,), "counts")

    def of_pairs(self, ranks: int) -> npt.NDArray[np.int64]:
        return _shaped(np.array(self.counts), (ranks, ranks), "counts")


@frozen_dataclass()
class FileCounts(_OfFile, Counts, kind="file"):
    """Counts from a text file: one for each rank, or a line for each rank with one for each other.

    Numbers are separated by blanks or commas; what follows # in a line is a comment. One count for
    each rank may stand in one line, or in one each.

    Parameters
    ----------
    file : str or Path
        Its path; in a study, from the folder of the study.
    sha256 : str, optional
        Which content the file must have; without it, that which it has. A store keeps a copy.

    Raises
    ------
    ValueError
        It can not be read, is not such a table, or has changed.
    """

    def _read(self, name: str, digest: str) -> npt.NDArray[np.int64]:
        return _read_counts(name, digest)

    def of_ranks(self, ranks: int) -> npt.NDArray[np.int64]:
        counts = self._table()
        if 1 in counts.shape:
            counts = counts.ravel()
        return _shaped(counts, (ranks,), f"file: {self.file}")

    def of_pairs(self, ranks: int) -> npt.NDArray[np.int64]:
        return _shaped(self._table(), (ranks, ranks), f"file: {self.file}")


@frozen_dataclass()
class LognormalCounts(Counts, kind="lognormal"):
    """Counts that are drawn once, lognormal and rounded: the same in all realizations.

    Parameters
    ----------
    mean : float
        Of a count before it is rounded, above 0, up to 2^40.
    sigma : float
        Of the count's logarithm, which is normal; from 0 to 4. With 1, one count in twenty is above
        3.1 times the mean.
    per : str
        What has a draw of its own: each "message" of an all-to-all; each "receiver", from which it
        gets as much of every rank, as an expert that is more popular than others; or each "sender".
        Where there is one count for each rank, leave it out.
    seed : int
        Of the draw, from 0: another seed is other counts.

    Raises
    ------
    ValueError
        A parameter out of range.

    Examples
    --------
    >>> LognormalCounts(64, sigma=1).of_ranks(6).tolist()
    [227, 58, 103, 365, 251, 15]
    >>> LognormalCounts(64, sigma=1, per="receiver").of_pairs(3).tolist()
    [[227, 58, 103], [227, 58, 103], [227, 58, 103]]
    """

    mean: RealField
    sigma: RealField
    per: Literal["message", "receiver", "sender"] = "message"
    seed: IntField = IntField(0)

    def __post_init__(self) -> None:
        _check_number(self, "mean", 2**40, above=True)
        _check_number(self, "sigma", 4)
        check_choice(self.per, "per", ("message", "receiver", "sender"))
        object.__setattr__(self, "seed", check_integer(self.seed, "seed", 0, 2**32 - 1))

    def _drawn(self, count: int) -> npt.NDArray[np.int64]:
        # As in DrawnSpeed: a stream that NumPy never changes, and no last bit of exp.
        normal = np.random.RandomState(self.seed).standard_normal(count)
        shares = np.exp(self.sigma * normal - self.sigma**2 / 2).round(9)
        return np.rint(self.mean * shares).astype(np.int64)

    def of_ranks(self, ranks: int) -> npt.NDArray[np.int64]:
        if self.per != "message":
            raise ValueError(
                f"counts: per must be left out where there is one count for each rank, got "
                f"{self.per!r}"
            )
        return self._drawn(ranks)

    def of_pairs(self, ranks: int) -> npt.NDArray[np.int64]:
        if self.per == "message":
            return self._drawn(ranks * ranks).reshape(ranks, ranks)
        drawn = self._drawn(ranks)
        own = drawn if self.per == "receiver" else drawn[:, None]
        return np.broadcast_to(own, (ranks, ranks))


class CountsField(Converted[Any, Counts]):
    """A required field of a dataclass: `Counts`, as themselves, a table, an array or text.

    A text is a distribution, such as "lognormal(mean=64,sigma=1)", or the path of a file.
    """

    def __init__(self) -> None:
        super().__init__("Counts | array of int | dict | str | Path")

    def __set__(self, instance: object, value: Any) -> None:
        instance.__dict__[self._name] = read_counts(value)


def read_counts(value: Any) -> Counts:
    """Counts of an irregular collective: see `CountsField`.

    Raises
    ------
    ValueError
        They are no counts; the message names them.

    Examples
    --------
    >>> read_counts("lognormal(mean=64,sigma=0.5,seed=3)")
    LognormalCounts(mean=64.0, sigma=0.5, per='message', seed=3)
    """
    if isinstance(value, Counts):
        return value
    if isinstance(value, str) and value.rstrip().endswith(")"):
        value = read_part(value, "counts")
    if isinstance(value, Mapping):
        return Counts.from_dict(value, "counts")
    if isinstance(value, (str, Path)):
        try:
            return FileCounts(value)
        except ValueError as error:
            # What is no file may be meant as a distribution.
            missing = isinstance(error.__context__, FileNotFoundError)
            way = "; or draw them: lognormal(mean=64,sigma=1)" if missing else ""
            raise ValueError(f"counts: {error}{way}") from None
    return GivenCounts(value)


class Hosts(Component, ABC):
    """Base of what limits a source of noise to some hosts: the ranks that it acts on."""

    goes_to = "It is the `hosts` of a source of noise"
    example = 'jf.PeriodicNoise("1ms", "10us", hosts={})'

    @abstractmethod
    def acts_on(self, ranks: int) -> npt.NDArray[np.bool_]:
        """Return whether the source acts on each rank of a case.

        Parameters
        ----------
        ranks : int
            Of the case.

        Returns
        -------
        array of bool, shape (ranks,)

        Raises
        ------
        ValueError
            It is for another number of ranks.
        """


@frozen_dataclass()
class OnRanks(Hosts, kind="ranks"):
    """The ranks of a list, which noise acts on.

    Parameters
    ----------
    ranks : list of int, or int
        Which ones; also as text, "3 17".

    Examples
    --------
    >>> OnRanks([0, 2]).acts_on(3).tolist()
    [True, False, True]
    """

    ranks: _Places

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranks", _check_places(self.ranks, "ranks"))

    def acts_on(self, ranks: int) -> npt.NDArray[np.bool_]:
        check_ranks(ranks, "hosts")
        if max(self.ranks) >= ranks:
            raise ValueError(
                f"hosts: of {counted(ranks, 'rank')}, numbered from 0, there is no rank "
                f"{max(self.ranks)}"
            )
        return np.isin(np.arange(ranks), self.ranks)


@frozen_dataclass()
class OnNodes(Hosts, kind="nodes"):
    """All ranks of some nodes, which noise acts on.

    Parameters
    ----------
    nodes : list of int, or int
        Which ones; also as text, "3 17".
    node_ranks : int
        Consecutive ranks that are a node; 1: each by itself. The last node may have fewer.
    every : int, optional
        Also every `every`-th node after one of them: ``OnNodes(0, every=8)`` is
        each eighth node.

    Examples
    --------
    >>> OnNodes([1], node_ranks=2).acts_on(6).tolist()
    [False, False, True, True, False, False]
    >>> OnNodes(1, every=2).acts_on(6).nonzero()[0].tolist()
    [1, 3, 5]
    """

    nodes: _Places
    node_ranks: IntField = IntField(1)
    every: Converted[Int | None, int | None] = Converted("int | None", None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", _check_places(self.nodes, "nodes"))
        width = check_integer(self.node_ranks, "node_ranks", 1, MAX_RANKS)
        object.__setattr__(self, "node_ranks", width)
        if self.every is not None:
            object.__setattr__(self, "every", check_integer(self.every, "every", 1, MAX_RANKS))

    def acts_on(self, ranks: int) -> npt.NDArray[np.bool_]:
        check_ranks(ranks, "hosts")
        count = -(-ranks // self.node_ranks)
        if max(self.nodes) >= count:
            raise ValueError(
                f"hosts: {counted(ranks, 'rank')} are {counted(count, 'node')} of "
                f"{counted(self.node_ranks, 'rank')}, numbered from 0; there is no node "
                f"{max(self.nodes)}"
            )
        of_node = np.isin(np.arange(count), self.nodes)
        if self.every is not None:
            for node in self.nodes:
                of_node[node :: self.every] = True
        return np.repeat(of_node, self.node_ranks)[:ranks]


@frozen_dataclass()
class OnShare(Hosts, kind="share"):
    """A share of the nodes, which noise acts on: each with that probability, drawn once.

    They are the same in all realizations, and those that a `SlowShare` of this share, `node_ranks`
    and seed makes slow.

    Parameters
    ----------
    share : float or str
        Of the nodes, on average, from 0 to 1: 0.01 or "1%".
    node_ranks : int
        Consecutive ranks that are a node; 1: each by itself.
    seed : int
        Of the draw, from 0: another seed is another machine.

    Examples
    --------
    >>> OnShare(0.55, node_ranks=2).acts_on(8).tolist()
    [True, True, False, False, False, False, True, True]
    """

    share: _Share
    node_ranks: IntField = IntField(1)
    seed: IntField = IntField(0)

    def __post_init__(self) -> None:
        _check_drawn(self, "share", 1)

    def acts_on(self, ranks: int) -> npt.NDArray[np.bool_]:
        check_ranks(ranks, "hosts")
        return _drawn_nodes(ranks, self.share, self.node_ranks, self.seed)


def _drawn_nodes(ranks: int, share: float, node_ranks: int, seed: int) -> npt.NDArray[np.bool_]:
    """Return whether each rank is of a node that is drawn; shape (ranks,)."""
    # A generator whose stream NumPy never changes.
    drawn = np.random.RandomState(seed).random_sample(-(-ranks // node_ranks)) < share
    return np.repeat(drawn, node_ranks)[:ranks]


class SpeedOrText(Converted["Speed | str | None", "Speed | None"]):
    """Speeds of ranks as a field, which takes their text as well; `check_speed` reads it."""

    def __init__(self) -> None:
        super().__init__("Speed | str | None", None)


def check_arrival(value: Any) -> Arrival | None:
    """Check an arrival pattern, also as text, and return it; None: all ranks arrive at once."""
    if isinstance(value, str):
        return Arrival.from_dict(read_part(value, "arrival"), "arrival")
    if value is None or isinstance(value, Arrival):
        return value
    raise ValueError(
        "arrival must be an Arrival such as Ramp('1ms'), or text such as 'kind=ramp,longest=1ms', "
        f"got {shorten(value)}"
    )


def check_speed(value: Any, name: str = "speed") -> Speed | None:
    """Check the speeds of ranks, also as text, and return them; None: all are alike."""
    if isinstance(value, str):
        return Speed.from_dict(read_part(value, name), name)
    if value is None or isinstance(value, Speed):
        return value
    raise ValueError(
        f"{name} must be a Speed such as SlowRanks(1.2), or text such as 'kind=drawn,sigma=0.05', "
        f"got {shorten(value)}"
    )


def factors_of(value: Speed | None, ranks: int, name: str) -> npt.NDArray[np.float64]:
    """The factor of each rank, 1 without any; errors name the field `name`."""
    if value is None:
        return np.ones(ranks)
    try:
        return value.of_ranks(ranks)
    except ValueError as error:
        raise ValueError(str(error).replace("speed: ", f"{name}: ", 1)) from None


def scaled(ticks: int, factors: npt.NDArray[np.float64]) -> Ticks:
    """The CPU time of each rank, in whole ticks: exact products, rounded to the nearest."""
    if not ticks:
        return np.zeros(len(factors), np.int64)
    distinct, which = np.unique(factors, return_inverse=True)
    times = [round(ticks * exact(factor)) for factor in distinct.tolist()]
    if times and max(times) > LONGEST_TICKS:
        raise ValueError(
            f"speed: a rank must take less than 2^62 ps for a piece of work, one takes "
            f"{max(times) / TICKS_PER_SECOND:.3g} s"
        )
    return np.array(times, dtype=np.int64)[which]


def check_ranks(ranks: int, why: str = "arrival or speed") -> None:
    """Refuse more ranks than can be listed; `why` names the fields that make ranks differ."""
    if ranks > MAX_RANKS:
        raise ValueError(f"ranks must be from 1 to 2^24 with {why}, got {ranks}")


def _read_times(values: Any, name: str) -> npt.NDArray[np.float64]:
    """Read seconds, shape (rows, ranks)."""
    rule = f"{name} must be times in seconds from 0, one for each rank, or a row for each cycle"
    raw = np.atleast_2d(check_numbers(values, rule)).astype(np.float64)
    if raw.ndim != 2 or not raw.size or raw.size > _MAX_TIMES:
        raise ValueError(f"{rule}, got {shorten(values)}")
    bad = ~((raw >= 0) & (raw < LONGEST_TICKS / TICKS_PER_SECOND))
    if bad.any():
        row, rank = np.argwhere(bad)[0]
        raise ValueError(f"{rule}, got {raw[row, rank]:g} for rank {rank} in row {row}")
    return raw


@lru_cache(maxsize=16)
def _read_table(file: FileName, sha256: str) -> npt.NDArray[np.float64]:
    """The times of a file with this content."""
    return _read_times(_rows_of(file, np.float64, "numbers"), f"file: {file}")


@lru_cache(maxsize=4)
def _read_counts(file: FileName, sha256: str) -> npt.NDArray[np.int64]:
    """The counts of a file with this content; shape (lines, numbers of a line)."""
    counts = _check_counts(_rows_of(file, np.int64, "whole numbers"), f"file: {file}")
    counts.setflags(write=False)
    return counts


def _rows_of(file: FileName, dtype: type[np.generic], what: str) -> npt.NDArray[Any]:
    """The numbers of a file, of which each line has equally many."""
    rows: list[npt.NDArray[Any]] = []
    for number, line in enumerate(read_text(file.path).splitlines(), 1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            rows.append(np.array(words, dtype=dtype))
        except (ValueError, OverflowError):
            raise ValueError(
                f"file: {file}, line {number}: must be {what}, got {shorten(line)}"
            ) from None
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(
                f"file: {file}, line {number}: must hold {len(rows[0])} numbers as the first row, "
                f"got {len(rows[-1])}"
            )
    if not rows:
        raise ValueError(f"file: {file} holds no numbers")
    return np.array(rows)


def _check_counts(values: Any, name: str) -> npt.NDArray[np.int64]:
    """Check that values are counts: integers from 0, one for each rank, or a row for each."""
    rule = f"{name} must be whole numbers from 0, one for each rank, or a row for each rank"
    counts = check_numbers(values, rule)
    if counts.ndim not in (1, 2) or not counts.size or counts.dtype.kind not in "iu":
        raise ValueError(f"{rule}, got {shorten(values)}")
    if (counts > _LARGEST_COUNT).any() or (counts < 0).any():
        bad = np.argwhere((counts > _LARGEST_COUNT) | (counts < 0))[0]
        place = f"rank {bad[0]}" + (f" to rank {bad[1]}" if counts.ndim == 2 else "")
        raise ValueError(
            f"{name} must be whole numbers from 0 to 2^62, got {counts[tuple(bad)]} for {place}"
        )
    return counts.astype(np.int64)


def _shaped(
    counts: npt.NDArray[np.int64], shape: tuple[int, ...], name: str
) -> npt.NDArray[np.int64]:
    """Return counts of this shape; others are an error."""
    if counts.shape == shape:
        return counts
    needed = "a number for each" if len(shape) == 1 else "a row for each, with a number for each,"
    got = " x ".join(map(str, counts.shape))
    prefix = "" if name == "counts" else "counts: "
    raise ValueError(f"{prefix}{name} must have {needed} of the {shape[0]} ranks, got {got}")


def _check_number(part: Component, name: str, high: int, *, above: bool = False) -> None:
    """Check a field: a number from 0, or above it, to `high`."""
    given = getattr(part, name)
    rule = f"{name} must be a number {'above' if above else 'from'} 0{', up' if above else ''} to "
    rule += f"{high}"
    number = check_numbers(given, rule)
    if number.ndim or not 0 <= number <= high or (above and number == 0):
        raise ValueError(f"{rule}, got {shorten(given)}")
    object.__setattr__(part, name, float(number))


def _ticks_of_ranks(times: npt.NDArray[np.float64], ranks: int, cycles: int, name: str) -> Ticks:
    """Return times of ranks, one row or one for each cycle, in ticks; other shapes are an error."""
    rows, columns = times.shape
    if columns != ranks or rows not in (1, cycles):
        raise ValueError(
            f"arrival: {name} must have {ranks} times (ranks) in one row, or in each of {cycles} "
            f"(cycles), got {columns} in {rows}"
        )
    return array_to_ticks(times)


def _check_drawn(speed: Component, name: str, high: int) -> None:
    """Check what nodes' factors are drawn with: a number from 0 to `high`, node_ranks and seed."""
    if name == "share" and isinstance(share := getattr(speed, name), str):
        object.__setattr__(speed, name, read_number(share, name))
    _check_number(speed, name, high)
    for own, low, most in (("node_ranks", 1, MAX_RANKS), ("seed", 0, 2**32 - 1)):
        object.__setattr__(speed, own, check_integer(getattr(speed, own), own, low, most))


def _check_factor(value: Any) -> float:
    rule = f"factor must be a number above 0, up to {_SLOWEST}"
    found = check_numbers(value, rule)
    if found.ndim or not 0 < found <= _SLOWEST:
        raise ValueError(f"{rule}, got {shorten(value)}")
    return float(found)


def _check_places(values: Any, name: str) -> tuple[int, ...]:
    """Return places from a list of integers, one integer, or text with spaces between: "3 17"."""
    rule = f"{name} must be a list of integers from 0, or text such as '3 17'"
    given = [values] if isinstance(values, (int, np.integer)) else values
    try:
        if isinstance(given, str):
            given = [int(part) for part in given.split()]
        places = tuple(check_integer(value, name, 0, MAX_RANKS - 1) for value in given)
    except (TypeError, ValueError):
        raise ValueError(f"{rule}, got {shorten(values)}") from None
    if not places or len(set(places)) < len(places):
        raise ValueError(f"{rule}, each once, got {shorten(values)}")
    return places
