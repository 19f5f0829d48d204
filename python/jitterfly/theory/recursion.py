"""Distribution of one rank's ready time (recursion over levels), and bounds of the last rank's.

The inputs of one rank form a binary tree whose branches share no rank, so with independent delays
the recursion over levels is exact (HM18, AGV05). The last rank has no such form: its ready time
is the maximum of dependent ones, and a `ReadyTime` holds bounds of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..algorithms import Butterfly
from ..case import Case, check_case
from ..fields import (
    Dataclass,
    check_choice,
    check_integer,
    check_numbers,
    check_power_of_two,
    frozen_dataclass,
    shorten,
)
from ..noise import MessageNoise, StepNoise
from ..units import TICKS_PER_SECOND, Seconds, from_ticks, to_ticks
from .probability_laws import Bracket, Floats, Lattice, Mesh, RandomDelay, Ticks, check_probability

MAX_ROUNDS = 62


@dataclass(frozen=True)
class CollectiveDelays:
    """The independent delays of one collective of K rounds, each a list of delays that add up.

    `start`: before the first send. `send`: at each of the K sends, of the sender's CPU.
    `message`: of each message under way. `receive`: at each of the K receives. `transit`, in
    ticks: what only the partner's data needs; all that both need is left out here.
    """

    rounds: int
    transit: int = 0
    start: Sequence[RandomDelay] = field(default=())
    send: Sequence[RandomDelay] = field(default=())
    message: Sequence[RandomDelay] = field(default=())
    receive: Sequence[RandomDelay] = field(default=())

    @property
    def parts(self) -> list[RandomDelay]:
        """All these delays."""
        return [*self.start, *self.send, *self.message, *self.receive]

    def at_level(self, level: int) -> list[RandomDelay]:
        """The delays that a rank's CPU draws between its data of a level and its send there."""
        got = self.start if level == 0 else self.receive
        return [*got, *(self.send if level < self.rounds else ())]

    @property
    def longest(self) -> int:
        """A bound of any time, in ticks."""
        each = (*self.send, *self.message, *self.receive)
        once = sum(part.longest for part in self.start)
        return once + self.rounds * (self.transit + sum(part.longest for part in each))


@frozen_dataclass()
class StepModel(Dataclass):
    """A model of 2^K ranks, without a case: every step takes L and a random delay (HM18, AGV05).

    Parameters
    ----------
    rounds : int
        K, from 0 to 62.
    round_time : float or str
        L, a whole round without noise, seconds.
    delay, probability
        The delay of a step is drawn from `delay`, a distribution such as `Bernoulli`, with this
        probability, and else 0.
    at : "receive" or "send"
        Whether a step's delay is after the wait for the partner, or before the send.
    transit : float or str
        The part of L that only the partner's data needs. 0: both wait L, as in the papers.

    Raises
    ------
    ValueError
        A parameter out of range.
    """

    rounds: int
    round_time: Seconds
    delay: Any = None
    probability: float = 1.0
    at: Literal["receive", "send"] = "receive"
    transit: Seconds = Seconds(0.0)

    def __post_init__(self) -> None:
        check_integer(self.rounds, "rounds", 0, MAX_ROUNDS)
        if not all(hasattr(self.delay, name) for name in ("survival", "quantile", "longest_ticks")):
            raise ValueError(
                f"delay must be a distribution such as Bernoulli(...), got {shorten(self.delay)}"
            )
        check_probability(self.probability)
        check_choice(self.at, "at", ("receive", "send"))
        if self.transit > self.round_time:
            raise ValueError(
                f"transit must be at most round_time = {self.round_time} s, got {self.transit}"
            )


def delays_of(what: Case | StepModel) -> tuple[CollectiveDelays, int]:
    """The delays, and the time that every rank needs besides them and transits, in ticks."""
    if isinstance(what, StepModel):
        way = to_ticks(what.transit)
        part = (RandomDelay(what.delay, what.probability),)
        draws = CollectiveDelays(what.rounds, way, **{what.at: part})  # type: ignore[arg-type]
        return draws, what.rounds * (to_ticks(what.round_time) - way)
    case = check_case(what)
    _check_applicable(case)
    costs = case.costs
    steps = [source for source in case.noise if isinstance(source, StepNoise)]
    at_send = [source for source in steps if source.at == "send"]
    at_receive = [source for source in steps if source.at == "receive"]
    messages = [source for source in case.noise if isinstance(source, MessageNoise)]
    draws = CollectiveDelays(
        case.log2_ranks,
        costs.transit,
        start=_acting(at_send + at_receive, "compute") if case.compute_time else (),
        send=_acting(at_send, "communication"),
        message=_acting(messages, "communication"),
        receive=_acting(at_receive, "communication"),
    )
    both = costs.send + costs.receive + costs.combine
    return draws, to_ticks(case.compute_time) + case.log2_ranks * both


def _acting(sources: Sequence[StepNoise | MessageNoise], phase: str) -> tuple[RandomDelay, ...]:
    """Return the delays of the sources that act in a phase."""
    acting = (source for source in sources if source.during in ("all", phase))
    return tuple(RandomDelay(source.delay, source.probability) for source in acting)


def _check_applicable(case: Case) -> None:
    """Raise ValueError for a case that the recursion is not for."""
    algorithm = case.algorithm
    plain = (
        isinstance(algorithm, Butterfly)
        and not algorithm.levels(case.ranks)
        and not algorithm.forwards(case.ranks)
        and algorithm.on_demand is None
    )
    if not plain:
        raise ValueError(
            f"algorithm must be a Butterfly without redundant exchanges for this recursion, got "
            f"{shorten(algorithm)}"
        )
    if case.ranks & (case.ranks - 1):
        raise ValueError(f"ranks must be a power of two for this recursion, got {case.ranks}")
    if not case.is_even:
        raise ValueError(
            "arrival, speed, L_factor and G_factor must be left out for this recursion"
        )
    if case.barrier is not None:
        raise ValueError("barrier must be left out for this recursion")
    if case.cycles != 1:
        raise ValueError(f"cycles must be 1 for this recursion, got {case.cycles}")
    for source in case.noise:
        name = type(source).__name__
        if not isinstance(source, (StepNoise, MessageNoise)):
            raise ValueError(
                f"noise must hold StepNoise and MessageNoise only for this recursion, got {name}"
            )
        if source.shared is not False:
            raise ValueError(f"shared must be False for this recursion (in {name})")
        if source.begin != 0 or source.end is not None:
            raise ValueError(f"begin must be 0 and end None for this recursion (in {name})")
        if source.hosts is not None:
            raise ValueError(f"hosts must be left out for this recursion (in {name})")


@dataclass(frozen=True)
class ReadyTime:
    """The distribution of a ready time, or bounds of it.

    Attributes
    ----------
    which : "one rank" or "last rank"
        Whose time it is: any one rank's (all have the same), or the completion.
    rounds : int
        K, for 2^K ranks.
    exact : bool
        Whether lower and upper bounds are equal. For one rank they differ by the grid alone.
    """

    which: str
    rounds: int
    exact: bool
    _offset: int = field(repr=False)
    _early: tuple[Any, ...] = field(repr=False)  # laws that the time is not before
    _late: Any = field(repr=False)  # a law that it is not after

    def survival_bounds(self, t: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The lower and upper bound of P(time > t), for t in seconds, any shape."""
        at = _ticks(t) - self._offset
        low = reduce(np.maximum, (law.survival(at)[0] for law in self._early))
        return low, np.maximum(self._late.survival(at)[1], low)

    def cdf_bounds(self, t: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The lower and upper bound of P(time <= t), for t in seconds, any shape."""
        at = _ticks(t) - self._offset
        high = reduce(np.minimum, (law.cdf(at)[1] for law in self._early))
        return np.minimum(self._late.cdf(at)[0], high), high

    def quantile_bounds(self, q: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The bounds of the smallest t with P(time <= t) >= q, in seconds, for q in [0, 1)."""
        return self.isf_bounds(1 - _read_shares(q, "q"))

    def isf_bounds(self, share: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The bounds of the smallest t with P(time > t) <= share, in seconds: for far tails."""
        share = _read_shares(share, "share")
        low = reduce(np.maximum, (law.exceeded(share)[0] for law in self._early))
        return self._seconds(low), self._seconds(np.maximum(self._late.exceeded(share)[1], low))

    def mean_bounds(self) -> tuple[float, float]:
        """The bounds of the mean, in seconds."""
        low = max(law.mean()[0] for law in self._early)
        high = self._late.mean()[1]
        return float(self._seconds(low)), float(self._seconds(max(high, low)))

    def _seconds(self, ticks: Any) -> Any:
        """Return ticks, which count from the fixed part on, in seconds from 0."""
        return (ticks + float(self._offset)) / TICKS_PER_SECOND


class OneRank(ReadyTime):
    """The time at which any one rank has the result, not the time of the last one.

    Bounds are of the same law, on a grid rounded down and up; a value is the middle of both, which
    is an order more accurate than they are.
    """

    def survival(self, t: npt.ArrayLike) -> Floats:
        """P(time > t), for t in seconds, any shape."""
        survival: Floats = self._late.middle(_ticks(t) - self._offset)
        return survival

    def cdf(self, t: npt.ArrayLike) -> Floats:
        """P(time <= t), for t in seconds, any shape."""
        return self.cdf_bounds(t)[0] if self.exact else 1 - self.survival(t)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The smallest t with P(time <= t) >= q, in seconds, for q in [0, 1)."""
        return self.isf(1 - _read_shares(q, "q"))

    def isf(self, share: npt.ArrayLike) -> Floats:
        """The smallest t with P(time > t) <= share, in seconds: for far tails."""
        found: Floats = self._seconds(self._late.exceeded_middle(_read_shares(share, "share")))
        return found

    def mean(self) -> float:
        """The mean, in seconds."""
        return sum(self.mean_bounds()) / 2

    @cached_property
    def gap(self) -> float:
        """The largest distance between the bounds of the distribution function; 0: exact."""
        return float(np.max(self._late.high - self._late.low)) if not self.exact else 0.0


class LastRank(ReadyTime):
    """The bounds of the completion. There is no closed form; simulation has the value."""


def _ticks(t: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the whole ticks that have passed at t; a rounding error below a tick is none."""
    seconds = check_numbers(t, "t must be times in seconds")
    return np.floor(seconds * float(TICKS_PER_SECOND) + 0.25).astype(np.int64)


def _read_shares(values: npt.ArrayLike, name: str) -> Floats:
    """Return probabilities as floats; q is below 1, a share above 0."""
    rule = f"{name} must be from 0 to below 1" if name == "q" else f"{name} must be in (0, 1]"
    shares = check_numbers(values, rule).astype(float)
    good = (shares >= 0) & (shares < 1) if name == "q" else (shares > 0) & (shares <= 1)
    if not good.all():
        raise ValueError(f"{rule}, got {shorten(values)}")
    return shares


Law = Any  # a Lattice or a Bracket: both have the same methods
_PER_SCALE = 16  # typical delays that the first block of a mesh holds


class InputTree:
    """The laws of ready times; V_l is the time when a rank's send of level l has left its CPU.

    ``V_l = max(V_{l-1} of the rank, V_{l-1} of the partner + message + transit) + draws of l``.
    Before level l the blocks of 2^(l-1) ranks of the two are disjoint, so the two are independent
    and have the same law: F of the maximum is a product, F of the sum a convolution.
    """

    def __init__(self, draws: CollectiveDelays, points: int | None):
        """Make it exact where `points` is None (OverflowError: too many values), else on a mesh."""
        self.draws = draws
        self._mesh = None if points is None else _mesh(draws, points)
        self._delays: dict[int, Law] = {}
        self.arrived: list[Law] = [self.zero]
        self.left: list[Law] = []
        self.under_way: list[Law] = []  # V_l and the delay of a message
        for level in range(draws.rounds + 1):
            if level:
                self.under_way.append(self.add(self.left[-1], draws.message))
                late = self.under_way[-1].later(draws.transit)
                self.arrived.append(self.left[-1].maximum(late))
            self.left.append(self.add(self.arrived[level], draws.at_level(level)))

    @property
    def zero(self) -> Law:
        """The law of time 0."""
        return Lattice.at() if self._mesh is None else Bracket.at(self._mesh)

    @property
    def one(self) -> Law:
        """The law of the time at which one rank has the result."""
        return self.left[-1]

    @property
    def ends(self) -> Ticks:
        """The times at which the law of one rank has its steps, or the nodes of the mesh."""
        ticks: Ticks = self.one.values if self._mesh is None else self._mesh.nodes
        return ticks

    def floor(self, ticks: Ticks) -> Ticks:
        """The last times up to these that may occur: nodes of the mesh, if there is one."""
        if self._mesh is None:
            return ticks
        nodes = self._mesh.nodes
        index = np.searchsorted(nodes, ticks, side="right") - 1
        return np.where(index < 0, ticks, nodes[np.maximum(index, 0)])

    def bounded(self, survival: Floats) -> Law:
        """The law with these bounds of P(T > t) at `ends`."""
        if self._mesh is None:
            return Lattice.of(self.ends, survival)
        return Bracket(self._mesh, np.zeros_like(survival), survival)

    def add(self, law: Law, parts: Sequence[RandomDelay]) -> Law:
        """The sum with one draw of each of the parts."""
        for part in parts:
            law = law.plus(part if self._mesh is None else self._delay(part))
        return law

    def sum(self, one: Law, other: Law) -> Law:
        """The sum of two independent times."""
        return one.plus(other) if self._mesh is not None else one.convolve(other)

    def _delay(self, part: RandomDelay) -> Law:
        if id(part) not in self._delays:
            self._delays[id(part)] = Bracket.of(self._mesh, part)  # type: ignore[arg-type]
        return self._delays[id(part)]


def _mesh(draws: CollectiveDelays, points: int) -> Mesh:
    """A mesh that resolves the smallest of the parts and reaches beyond every possible time."""
    scale = min(part.typical for part in draws.parts if part.longest)
    step = max(1, scale * _PER_SCALE // points)
    even = (s for s in range(step, step // 2, -1) if draws.transit % s == 0)  # no rounding of it
    return Mesh.to(draws.longest, next(even, step), points)


def not_after(tree: InputTree) -> Law:
    """A law that the last of all ranks is not later than: the better of two at each time.

    Ready times rise with every delay, so they are associated (Esary, Proschan & Walkup 1967):
    P(all <= t) is at least the product of the P(each <= t). This is good where delays are common.
    Where they are rare, one delay makes many ranks late at once, and it is better to count those
    that do it: see `_crossings`.
    """
    draws, count = tree.draws, 1 << tree.draws.rounds
    if draws.rounds and not draws.receive and not draws.message:
        # No draw after the last meeting: the two that meet last are late together.
        independent = tree.left[-2].largest_of(count).later(draws.transit)
    else:
        independent = tree.one.largest_of(count)
    survival = np.minimum(independent.survival(tree.ends)[1], _crossings(tree))
    return tree.bounded(np.minimum.accumulate(survival))


def _crossings(tree: InputTree) -> Floats:
    """A bound of P(last > t) at the ends of the tree: the mean number of crossings.

    A rank that is later than t at the end was, or has its data from one that was, later than
    t - (K - l) transits at level l. So somewhere on the way a single delay crosses this line,
    from below to above: P(last > t) <= N sum over l of P(before <= line < after). On a mesh all
    of this is said of times that are rounded up, which no time is later than.
    """
    draws, line, total = tree.draws, tree.ends, np.zeros(len(tree.ends))
    for level in range(draws.rounds, -1, -1):
        steps = []
        if draws.at_level(level):
            steps.append((tree.arrived[level], tree.left[level]))
        if level < draws.rounds and draws.message:
            steps.append((tree.left[level], tree.under_way[level]))
        for before, after in steps:
            total += np.maximum(after.survival(line)[1] - before.survival(line)[1], 0.0)
        if level:
            line = tree.floor(line) - draws.transit
    return np.where(line < 0, 1.0, np.minimum(total * float(1 << draws.rounds), 1.0))


def not_before(tree: InputTree) -> list[Law]:
    """The lower bounds on the last rank's ready time: one for each level, then one of all draws.

    The bound of level l follows one rank, that with the largest of all ranks' draws at this level:
    its data arrived at a time that is independent of which rank it is, and what it sends reaches
    two ranks, four, ..., the latest of which is a branching random walk of independent steps.
    The bound of all draws is the largest of all delays, which nothing makes up for.
    """
    draws, count = tree.draws, 1 << tree.draws.rounds
    spread, bounds, largest = tree.zero, [], []  # `spread`: from a rank at `level` to the last one
    for level in range(draws.rounds, -1, -1):
        parts = draws.at_level(level)
        largest.append(tree.add(tree.zero, parts).largest_of(count))
        bounds.append(tree.sum(tree.sum(tree.arrived[level], largest[-1]), spread))
        if level:
            late = tree.add(spread, parts)
            under_way = tree.add(late, draws.message).later(draws.transit)
            spread = late.maximum(under_way)
    return [*bounds, reduce(lambda one, other: one.maximum(other), largest)]


MIN_POINTS, MAX_POINTS = 2**8, 2**20


def one_rank(what: Case | StepModel, points: int = 2**14) -> OneRank:
    """The ready time of one rank under independent delays: exact, or between bounds.

    With costs o_s (send), c (transit), o_r (receive and combine) and delays X_s, Y, X_r:
    ``d_{l+1} = max(d_l + o_s + X_s, d'_l + o_s + X'_s + c + Y) + o_r + X_r``, d' the partner's.
    With c = 0 and one kind of delay this is ``F_{l+1}(t) = (f_X * F_l^2)(t - L)`` (at the
    receive) and ``F_{l+1}(t) = [(f_X * F_l)(t - L)]^2`` (at the send), L = o_s + o_r. For its own
    data a rank does not wait the transit time, so with c > 0 it is earlier than these say.

    Parameters
    ----------
    what : Case or StepModel
        A case of one cycle of a plain `Butterfly`, whose noise is `StepNoise` and `MessageNoise`,
        not shared and without a window.
    points : int
        Nodes of the grid for each doubling of time, a power of two from 2^8 to 2^20. Delays that
        are constant or Bernoulli are exact and need none.

    Returns
    -------
    OneRank

    Raises
    ------
    ValueError
        The recursion does not apply to the case; the message says why.

    Examples
    --------
    >>> import jitterfly as jf
    >>> model = StepModel(12, "3.45us", jf.Bernoulli(0.01, "14us"))
    >>> time = one_rank(model)
    >>> time.which, round(time.mean() * 1e6, 2), round(float(time.quantile(0.99)) * 1e6, 2)
    ('one rank', 68.94, 83.4)
    """
    draws, offset = delays_of(what)
    law = _input_tree(draws, points).one
    return OneRank("one rank", draws.rounds, law.exact, offset, (law,), law)


def last_rank(what: Case | StepModel, points: int = 2**12) -> LastRank:
    """The rigorous bounds of the completion, the ready time of the last rank.

    Not after ``F(t)^N``, as ready times are associated, nor after what the mean number of delays
    that cross t allows. Not before the largest of N draws of a level on top of one rank's arrival
    there, carried on by a branching random walk; nor before the largest of all draws.

    Parameters
    ----------
    what, points
        As of `one_rank`.

    Returns
    -------
    LastRank

    Raises
    ------
    ValueError
        As `one_rank`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> last = last_rank(StepModel(12, "3.45us", jf.Bernoulli(0.01, "14us")))
    >>> [round(bound * 1e6, 1) for bound in last.mean_bounds()]
    [82.8, 100.0]
    """
    draws, offset = delays_of(what)
    found = _input_tree(draws, points)
    early, late = tuple(not_before(found)), not_after(found)
    return LastRank("last rank", draws.rounds, False, offset, early, late)


def _input_tree(draws: CollectiveDelays, points: int) -> InputTree:
    """Make the tree exact where that is possible, else on a mesh of `points` points."""
    points = check_power_of_two(points, "points", MAX_POINTS)
    if points < MIN_POINTS:
        raise ValueError(f"points must be from {MIN_POINTS} to 2^20, got {points}")
    if all(part.atoms for part in draws.parts):
        try:
            return InputTree(draws, None)
        except OverflowError:
            pass
    return InputTree(draws, points)


def saturation(what: Case | StepModel) -> float:
    """The latest completion that delays of bounded length can cause, in seconds: ``K (L + D)``.

    HM18: with 14 µs at each step and 3.45 µs a round, 4096 ranks never take longer than 209 µs,
    whatever the probability: a measured 671 µs has another cause.

    Parameters
    ----------
    what : Case or StepModel
        As of `one_rank`. A delay of unbounded distribution counts with the longest that the engine
        ever draws, of probability 2^-64.

    Raises
    ------
    ValueError
        As `one_rank`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> saturation(StepModel(12, "3.45us", jf.Bernoulli(0.001, "14us")))
    0.0002094
    """
    draws, offset = delays_of(what)
    return float(from_ticks(offset + draws.longest))
