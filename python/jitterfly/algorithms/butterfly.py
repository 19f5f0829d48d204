"""Butterfly allreduce (recursive doubling); redundant exchanges in it (CS14), after it (MS12).

CS14 is Chen & Suda, MS12 Matsumoto & Suda. Exchanges after the butterfly, or any other algorithm:
`Forwarding` in `algorithm`. When a rank is ready after an exchange: docs/model.md, "The butterfly",
and `exchange` in cuda/core/steps.h.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Literal

from ..fields import Converted, Int, check_integer, frozen_dataclass, shorten
from ..network import Network
from ..steps import ASK, COPY, ENTER, EXCHANGE, FINAL, START, Asking, Costs, Step, power_below
from ..units import LONGEST_TICKS, ShortSeconds, to_ticks
from .algorithm import MAX_ROUNDS, Forwarding
from .shared_steps import collective, fold_in, fold_out

MAX_MIRRORS = 8
Levels = tuple[int, ...] | Literal["all"] | None


@frozen_dataclass()
class Butterfly(Forwarding, kind="butterfly"):
    """Recursive doubling: round r exchanges with rank ``i xor 2^r``; with redundant exchanges.

    Ranks beyond the largest power of two P = 2^K first send their vector to ``i - P``, which
    combines it, and are sent the result at the end (a far fold; MPICH folds neighbours). Links are
    never busy in this model: `RecursiveDoublingAllreduce` is the same schedule with the gap
    between messages.

    Parameters
    ----------
    exchanges_after : int or "all"
        Redundant exchanges after the butterfly (Matsumoto & Suda 2012), 0 to K for 2^K ranks (K
        rounded up for other numbers: they are among all ranks). "all" is K. Results for every
        T = 0 ... exchanges_after come out of one simulation; of several cycles each T is a loop of
        its own (`Case.observe`).
    copy_levels : None, "all" or list of int
        Levels at which redundant copies are sent inside the butterfly (Chen & Suda), distinct,
        each from 1 to K - 1 (K rounded down). "all" is every such level, None (the default) is
        none.
    forward_cost : float or str
        CPU time of each redundant exchange after the butterfly, seconds, exposed to noise in the
        communication phase. The paper has 0. Needs `exchanges_after` above 0.
    mirrors : list of int
        With `copy_levels`: copies go to ranks ``i xor m`` for each m of these in turn, each for the
        CPU time of a send, at the levels l with m < 2^l: those ranks hold the same data. Distinct,
        1 to 8 of them. The default [1] is Chen & Suda's.
    on_demand : None, "all" or list of int
        Levels at which a rank that has waited longer than `patience` for the original asks its
        mirror ``i xor 1`` for a copy, distinct, each from 1 to K. Not together with `copy_levels`.
    patience : float or str
        How long that is, seconds. Needs `on_demand`.

    Raises
    ------
    ValueError
        A parameter out of range; those that depend on K when the case is made.

    Notes
    -----
    Without noise K rounds of send + way + receive + combine; with a fold two messages more, of
    which the last one is not combined. What redundancy costs then: forwards nothing (but for later
    cycles: `forward_cost` each; with a fold they may arrive before its last message); c copies of a
    level nothing, unless sending them (c sends) takes longer than a message's way: then the
    difference at each such level; copies on demand nothing, unless a rank still asks when the
    original arrives: patience is shorter than the way, and patience and asking take longer. Then
    again the difference. (With a fold some ranks are late: copies can delay those that wait for
    them by their sends, and from the second cycle on ranks may ask.)

    A rank at level q takes what arrived first of the original of level q + 1 and copies of any
    level above q (of those that arrive in the same tick of 1 ps the original, then the copy of the
    lowest level), but of a mirror m only if m < 2^(q + 1): a rank that takes a copy sends the data
    of the levels between from it, and farther mirrors hold other data there. After a copy no copies
    are sent.

    A question costs the CPU time of a send of the smallest message, and its way; the mirror's
    network answers when the mirror has the data (a one-sided read): for that no CPU time is needed,
    and the mirror's noise does not matter. An answer takes a message's way, and is received but not
    combined. Network noise delays the answer, not the question.

    Examples
    --------
    >>> butterfly = Butterfly(exchanges_after=3)
    >>> butterfly.exchanges_after, butterfly.copy_levels
    (3, None)
    >>> Butterfly(copy_levels=[5, 2]).levels(ranks=64)
    (2, 5)
    """

    added = ("mirrors", "on_demand", "patience")

    exchanges_after: Converted[Int | Literal["all"], int | Literal["all"]] = Converted(
        'int | "all"', 0
    )
    copy_levels: Iterable[int] | Literal["all"] | None = None
    forward_cost: ShortSeconds = ShortSeconds(0.0)
    mirrors: Iterable[int] = (1,)
    on_demand: Iterable[int] | Literal["all"] | None = None
    patience: ShortSeconds = ShortSeconds(0.0)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("copy_levels", _check_levels(self.copy_levels, "copy_levels", MAX_ROUNDS - 1))
        put("mirrors", _check_mirrors(self.mirrors))
        put("on_demand", _check_levels(self.on_demand, "on_demand", MAX_ROUNDS))
        to_ticks(self.patience, "patience")
        self.check_forwards()
        if self.copy_levels is None and self.mirrors != (1,):
            raise ValueError(
                "mirrors must be [1] or left out where copy_levels is: no copies are sent"
            )
        if self.copy_levels is not None and self.on_demand is not None:
            raise ValueError("on_demand must be left out where copy_levels is given")
        if self.on_demand is None and self.patience > 0:
            raise ValueError("patience must be 0 where on_demand is left out: nobody asks")

    def levels(self, ranks: int) -> tuple[int, ...]:
        """The levels at which copies are sent on `ranks` ranks, ascending."""
        rounds = ranks.bit_length() - 1
        levels = _levels_on(self.copy_levels, "copy_levels", rounds - 1, "K - 1", rounds)
        _check_reach(tuple(self.mirrors), levels)
        return levels

    def asked(self, ranks: int) -> tuple[int, ...]:
        """The levels at which copies are sent on demand, ascending."""
        rounds = ranks.bit_length() - 1
        return _levels_on(self.on_demand, "on_demand", rounds, "K", rounds)

    @property
    def copied_to(self) -> list[int]:
        return list(self.mirrors)

    def asking(self, network: Network) -> Asking:
        smallest = network.costs(network.smallest_message)
        patience = to_ticks(self.patience, "patience")
        return Asking(patience, smallest.send, smallest.transit)

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        copied, asked = set(self.levels(ranks)), set(self.asked(ranks))
        inside = fold_in(ranks, message_bytes, combine=True, occupies=False)
        outside = fold_out(ranks, message_bytes, occupies=False)
        last = power_below(ranks).bit_length() - 1
        alone = last == 0
        rounds = [Step(ENTER, 0, FINAL if alone else 0, "" if inside else START)]
        for level in range(1, last + 1):
            flags = (FINAL if level == last else 0) | (COPY if level in copied else 0)
            flags |= ASK if level in asked else 0
            copies = sum(m < 1 << level for m in self.mirrors) if level in copied else 0
            rounds.append(Step(EXCHANGE, level - 1, flags, f"level {level}", copies=copies))
        if inside:
            steps = collective(inside + rounds + outside)
        else:
            steps = [*rounds[:-1], rounds[-1]._replace(redundancy=0)]
        return steps + self.forward_steps(ranks)

    def send_gap(self, ranks: int, costs: Costs) -> int:
        if ranks == 1:
            return LONGEST_TICKS  # there is no other rank
        gaps = [costs.send + costs.receive + costs.combine]
        if self.levels(ranks):
            gaps.append(costs.send)  # the copy follows the original at once
        if self.asked(ranks):
            gaps.append(to_ticks(self.patience, "patience"))  # as may a question
        if self.forwards(ranks) >= 1 and power_below(ranks) < ranks:
            gaps.append(costs.send)  # the forward follows the fold's message
        if self.forwards(ranks) >= 2:
            gaps.append(self.forward_ticks())  # forwards may follow each other at once
        return min(gaps)


def _check_levels(value: Any, name: str, highest: int) -> Levels:
    """Check levels as a user gives them, ascending; the highest is K - 1, or K = `MAX_ROUNDS`."""
    most = "K" if highest == MAX_ROUNDS else "K - 1"
    if value is None or (isinstance(value, str) and value == "all"):
        return value  # type: ignore[return-value]
    words = f"a list of distinct levels from 1 to {most} (2^K ranks)"
    rule = f"{name} must be 'all', {words}, or left out"
    return tuple(sorted(_distinct(value, rule, f"{name} levels", highest))) or None


def _distinct(value: Any, rule: str, name: str, highest: int) -> list[int]:
    """A list of distinct integers from 1; else ValueError with `rule`."""
    numbers = None
    if not isinstance(value, (str, bytes, dict)):
        with suppress(TypeError):  # nothing to go through
            numbers = [check_integer(number, name, 1, highest) for number in value]
    if numbers is None or len(set(numbers)) != len(numbers):
        raise ValueError(f"{rule}, got {shorten(value)}")
    return numbers


def _levels_on(levels: Any, name: str, highest: int, most: str, rounds: int) -> tuple[int, ...]:
    """The levels as numbers, at most `highest`; `rounds` is the K that an error names."""
    if levels == "all":
        return tuple(range(1, highest + 1))
    for level in levels or ():
        if level > highest:
            allowed = f"from 1 to {highest}" if highest > 0 else "left out"
            raise ValueError(
                f"{name} levels must be {allowed} (1 to {most} for 2^K ranks, K = {rounds}),"
                f" got {level}"
            )
    return tuple(levels or ())


def _check_mirrors(value: Any) -> tuple[int, ...]:
    """Check mirrors as a user gives them."""
    rule = f"mirrors must be a list of 1 to {MAX_MIRRORS} distinct integers from 1"
    mirrors = tuple(_distinct(value, rule, "mirrors", 2**MAX_ROUNDS - 1))
    if not 1 <= len(mirrors) <= MAX_MIRRORS:
        raise ValueError(f"{rule}, got {shorten(value)}")
    return mirrors


def _check_reach(mirrors: tuple[int, ...], levels: tuple[int, ...]) -> None:
    """Raise ValueError if a mirror holds the data of none of these levels."""
    if levels and max(mirrors) >= 1 << max(levels):
        raise ValueError(
            f"mirrors must be below {1 << max(levels)} for copies up to level {max(levels)} (at "
            f"level l ranks i xor m hold the same data for m < 2^l), got {max(mirrors)}"
        )
