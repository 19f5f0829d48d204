"""`NetworkJitter`: Poisson events that lengthen messages in transit (MS12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..fields import frozen_dataclass
from ..units import (
    TICKS_PER_SECOND,
    OptionalSeconds,
    PositiveSeconds,
    Seconds,
    ShortSeconds,
    to_ticks,
)
from .source import ExpectedWork, Hits, HostsField, MaxWork, Shared, WindowNoise

_TWO_64 = 2**64


# 60 digits: the error of a sum of thousands of terms stays 30 digits below 2^-64. Decimal's exp is
# correctly rounded, so the table is the same on every machine.
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999, traps=[])
MAX_EVENTS = 1000
"""Most events that one message may expect: the engine looks along a table of that length."""


@frozen_dataclass()
class NetworkJitter(WindowNoise, kind="jitter"):
    """Events in the network: each message is delayed by Poisson(transit / period) of them.

    Parameters
    ----------
    period : float or str
        Mean time between events, seconds, above 0 and at least a thousandth of the time a
        message takes.
    duration : float or str
        Delay by one event, seconds, from 0; not drawn. `MessageNoise` draws the delay of a message.
    during : "all" or "communication"
        Both give the same: jitter delays messages, and there are none in the compute phase.
        That the parameter exists lets a study restrict all its noise by one word; "compute",
        which would leave nothing of this source, is an error.
    shared : False, "machine", "node", "rack", "level N", another name of a level, or int
        Which receivers share the events of a round: none, all, or nodes of this many consecutive
        ranks (the last one may have fewer).
    begin, end : float or str
        Only messages that leave their sender's CPU from `begin` to before `end` are delayed,
        seconds; all without them.
    hosts : imbalance.Hosts, optional
        The hosts whose messages it delays, those of the receivers; all without it:
        ``imbalance.OnNodes([17], node_ranks=8)``, `OnRanks`, or `OnShare`.

    Raises
    ------
    ValueError
        A parameter out of range.

    Notes
    -----
    Matsumoto & Suda 2012 say "Poisson with mean waiting time given by the period"; that every
    message sees its own events is our reading.

    Examples
    --------
    >>> NetworkJitter(period=1e-3, duration="10us").survival(transit=1_000_000)[1] >> 40
    np.uint64(8)
    """

    of_messages: ClassVar[bool] = True
    no_effect: ClassVar[Mapping[str, Any]] = {"duration": 0.0}

    period: PositiveSeconds
    duration: ShortSeconds
    during: Literal["all", "communication"] = "all"
    shared: Shared = False
    begin: Seconds = Seconds(0.0)
    end: OptionalSeconds = OptionalSeconds()
    hosts: HostsField = HostsField()

    def __post_init__(self) -> None:
        to_ticks(self.period, "period", positive=True)
        to_ticks(self.duration, "duration")
        self.check_fields()

    def check(self, ranks: int, transit: int) -> None:
        super().check(ranks, transit)
        if transit > MAX_EVENTS * to_ticks(self.period):
            raise ValueError(
                f"period must be at least {transit / TICKS_PER_SECOND / MAX_EVENTS:.6g} s "
                f"(1/{MAX_EVENTS} of the time that a message takes), got {self.period} "
                "(in NetworkJitter)"
            )

    def survival(self, transit: int) -> npt.NDArray[np.uint64]:
        """``round(2**64 * P(events > k))`` for a message that takes `transit` ticks."""
        return poisson_survival(Fraction(transit, to_ticks(self.period)))

    def apply(self, program: Any, ranks: int, transit: int, transits: Sequence[int] = ()) -> None:
        common = {"duration": to_ticks(self.duration), **self.engine_fields(ranks)}
        program.add_jitter(survival=self.survival(transit), **common)
        for cost, way in enumerate(transits):  # a table of each way, of the same source
            program.add_jitter(survival=self.survival(way), cost=cost, **common)

    def why_ineffective(self, work: MaxWork) -> str:
        return "" if work.transit else "messages take no time; give the network's latency"

    def expected_hits(self, work: ExpectedWork) -> Hits | None:
        if self.begin or self.end is not None:
            return None  # when a message leaves differs between ranks
        groups, time = work.groups(self.shared), 0.0
        for messages, times, transit in work.rounds:
            if transit is None:
                return None
            time += min(groups, messages) * times * transit
        return Hits(work.cycles * time / to_ticks(self.period), float(to_ticks(self.duration)))

    def longest_message_delay(self, transit: int) -> int:
        # `check` refuses longer ways, whose table would take minutes.
        transit = min(transit, MAX_EVENTS * to_ticks(self.period))
        return len(self.survival(transit)) * to_ticks(self.duration)


def poisson_survival(mean: Fraction) -> npt.NDArray[np.uint64]:
    """The survival function of the Poisson distribution, as thresholds of a 64-bit uniform.

    Parameters
    ----------
    mean : Fraction
        Expected number of events, from 0 to some thousands (the table is a little longer).

    Returns
    -------
    uint64 array, shape (length,)
        Entry k is ``round(2**64 * P(events > k))``, to the last entry that is not 0. With a
        uniform 64-bit u, ``sum(u < table)`` is Poisson distributed.

    Examples
    --------
    >>> [int(x) >> 32 for x in poisson_survival(Fraction(1, 1000))]
    [4292820, 2146, 0, 0, 0]
    """
    table = _poisson_thresholds(mean.numerator, mean.denominator) if mean > 0 else ()
    return np.array(table, dtype=np.uint64)


@lru_cache(maxsize=64)
def _poisson_thresholds(numerator: int, denominator: int) -> tuple[int, ...]:
    """Return 2^64 P(N > k) for k = 0, 1, ... of a Poisson N with this mean."""
    context = _CONTEXT.copy()
    mean = context.divide(Decimal(numerator), Decimal(denominator))
    term = context.exp(context.minus(mean))
    below = term  # P(events <= k)
    table: list[int] = []
    k = 0
    while True:
        tail = context.subtract(Decimal(1), below)
        threshold = int(
            context.multiply(tail, Decimal(_TWO_64)).to_integral_value(ROUND_HALF_EVEN, context)
        )
        # Far above the mean the tail is below the resolution; before the mean it never is.
        if threshold <= 0:
            return tuple(table)
        table.append(min(threshold, _TWO_64 - 1))
        k += 1
        term = context.divide(context.multiply(term, mean), Decimal(k))
        below = context.add(below, term)
