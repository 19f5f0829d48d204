"""Network models (Hockney, LogGOPS), `DEFAULT_NETWORK`: costs of a message; eager limit (S).

Each model is one class that makes `Costs` of its parameters (alpha, beta; L, o, g, G, O), in ticks.
Collectives refuse messages of more than S bytes, whose rendezvous only schedules model.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from copy import copy
from fractions import Fraction
from typing import Any, ClassVar

from .fields import (
    Component,
    Converted,
    IntOrText,
    frozen_dataclass,
    reads_as_number,
    shorten,
    stacklevel_of_user,
)
from .steps import Costs
from .syntax import read_network, read_size
from .units import (
    LongTimeWarning,
    Seconds,
    ShortSeconds,
    Time,
    exact,
    show_seconds,
    show_ticks,
    to_ticks,
)

MAX_BYTES = 2**62
_LONG_BYTE = 1e-4  # seconds: 10 kB/s, below any network; HM18's step of 1 byte is shorter
_BANDWIDTH = re.compile(
    r"\s*([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})\s*([kMGTP]?|[KMGTP]i)(B|b|bit)(?:/s|ps)\s*"
)


def read_bandwidth(text: str) -> float | None:
    """The time of a byte, in seconds, from a bandwidth as text; None for other text.

    Parameters
    ----------
    text : str
        B is bytes, b and bit are bits; k, M, G, T and P are powers of 1000, Ki, Mi, ... of 1024.

    Examples
    --------
    >>> read_bandwidth("50GB/s"), read_bandwidth("400 Gbit/s"), read_bandwidth("400Gbps")
    (2e-11, 2e-11, 2e-11)
    >>> read_bandwidth("0.02ns")
    """
    match = _BANDWIDTH.fullmatch(text)
    if match is None or not (number := Fraction(match[1])):
        return None
    prefix, unit = match[2], match[3]
    power = "kMGTP".find(prefix[0].replace("K", "k")) + 1 if prefix else 0
    scale = (1024 if prefix.endswith("i") else 1000) ** power
    return float((1 if unit == "B" else 8) / (number * scale))


class SecondsPerByte(Seconds):
    """A field of a dataclass: a `Time` for each byte, or a bandwidth as text; held in seconds.

    A bare number that makes a byte last 0.1 ms or longer gives a `LongTimeWarning`.
    """

    def __set__(self, instance: object, value: Time) -> None:
        time = read_bandwidth(value) if isinstance(value, str) else None
        try:
            super().__set__(instance, value if time is None else time)
        except ValueError as error:
            raise ValueError(f"{error}; or a bandwidth such as 50GB/s or 400Gb/s") from None
        seconds = float(instance.__dict__[self._name])
        if seconds >= _LONG_BYTE and reads_as_number(value):
            warnings.warn(
                f"{self._name} of {type(instance).__name__} is {show_seconds(seconds)} for each "
                "byte, as a number without a unit is in seconds: give it one, such as "
                f"'{value}ns', or a bandwidth, such as '50GB/s' ('{value}s' if that is meant)",
                LongTimeWarning,
                stacklevel=stacklevel_of_user(),
            )


class Network(Component, ABC):
    """Base of all networks."""

    goes_to = "It is the `network` of `Case` and of all questions"
    example = "jf.Case(64, network={})"

    smallest_message: ClassVar[int] = 0
    has_levels: ClassVar[bool] = False
    """Whether messages differ in their costs by where their ranks are (`Hierarchy`)."""

    @property
    def largest_message(self) -> int:
        """The largest message that the model knows, bytes."""
        return MAX_BYTES

    @abstractmethod
    def costs(self, message_bytes: int) -> Costs:
        """The costs of one message of this size, in ticks of 1 ps."""

    @abstractmethod
    def gap(self, message_bytes: int) -> int:
        """The time for which a message of this size occupies a link, in ticks of 1 ps.

        A rank's next send begins no earlier than this after this one began, and this one is there,
        with its last byte, no earlier than this after the message before it. Only steps with
        messages wait for it (`steps.MESSAGE`).
        """

    @abstractmethod
    def load(self, message_bytes: int) -> int:
        """The time by which each other message of this size on a link delays one, in ticks."""

    per_byte_field: ClassVar[str] = ""
    """The name of the field with the time of a byte on the way; "" for a network without one."""
    latency_field: ClassVar[str] = ""
    """The name of the field with the latency of a message; "" for a network without one."""

    @property
    def has_bandwidth(self) -> bool:
        """Return whether a byte on the way takes time."""
        return bool(self.per_byte_field) and getattr(self, self.per_byte_field) > 0

    def farther(self, seconds: float) -> Network:
        """Return the network with a latency longer by `seconds`, as over more cables."""
        if not self.latency_field or not seconds:
            return self
        far = copy(self)
        latency = exact(getattr(self, self.latency_field)) + exact(seconds)
        far.__dict__[self.latency_field] = float(latency)  # unchecked: no number of a user's
        return far

    def slower(self, latency: float, per_byte: float) -> Network:
        """The network over a slower cable or card, or a part of one.

        `latency`: the factor on L or alpha; `per_byte`: the factor on G or beta.
        """
        slow = copy(self)
        factors = {self.latency_field: latency, self.per_byte_field: per_byte}
        for name, factor in factors.items():
            if name:
                time = exact(getattr(self, name)) * exact(factor)
                slow.__dict__[name] = float(time)  # unchecked: no number of a user's
        return slow

    def identity(self) -> dict[str, Any]:
        """The plain values that decide the results."""
        return self.to_dict()

    def check_gap(self, send_gap: int) -> None:
        """Raise ValueError if sends that start `send_gap` ticks apart are too close together."""


@frozen_dataclass()
class Hockney(Network, kind="hockney"):
    """Latency and bandwidth only: messages take no CPU time, combining does.

    Sending and receiving cost 0, the way ``alpha + beta * n``, combining ``gamma * n`` for
    messages of n bytes; one occupies its link for ``beta * n``, which the butterfly ignores.

    Parameters
    ----------
    alpha : float or str
        Latency, seconds, from 0.
    beta : float or str
        Time per byte on the way, seconds per byte, from 0; or a bandwidth such as ``"50GB/s"``.
    gamma : float or str
        CPU time to combine a byte, seconds per byte, from 0; it counts where an algorithm combines,
        so not in a barrier but that of `Butterfly`. With 0, and no `compute_time` in the case, the
        CPU does nothing that its noise (`PeriodicNoise`) could hit.

    Raises
    ------
    ValueError
        Names the parameter that is negative, not finite or not a time.

    Notes
    -----
    Matsumoto & Suda 2012: alpha = 1e-6 s (or 1e-7), beta = 1e-9 s/B, gamma = 1e-10 s/B.

    Examples
    --------
    >>> Hockney(alpha="100 ns", beta=1e-9, gamma=1e-10).costs(8)
    Costs(send=0, receive=0, transit=108000, combine=800)
    """

    per_byte_field: ClassVar[str] = "beta"
    latency_field: ClassVar[str] = "alpha"

    alpha: ShortSeconds
    beta: SecondsPerByte
    gamma: SecondsPerByte = SecondsPerByte(0.0)

    def costs(self, message_bytes: int) -> Costs:
        n = message_bytes
        transit = to_ticks(exact(self.alpha) + exact(self.beta) * n, "alpha + beta * message_bytes")
        return Costs(0, 0, transit, _combine_ticks(self.gamma, n))

    def gap(self, message_bytes: int) -> int:
        return to_ticks(exact(self.beta) * message_bytes, "beta * message_bytes")

    def load(self, message_bytes: int) -> int:
        return self.gap(message_bytes)


@frozen_dataclass()
class LogGOPS(Network, kind="loggops"):
    """The LogGOPS model (Hoefler, Schneider & Lumsdaine 2010); collectives know no rendezvous.

    Sending and receiving cost ``o + O * n``, the way ``L + (n - 1) * G``, combining ``gamma * n``
    for messages of n >= 1 bytes. One occupies its link for ``g + (n - 1) * G``.

    Parameters
    ----------
    L : float or str
        Latency, seconds, from 0.
    o : float or str
        CPU overhead of a send and of a receive, seconds, from 0.
    g : float or str
        Gap between messages, seconds, from 0. `Butterfly`, and redundant exchanges after any
        algorithm, do not wait for it: a g so large that they would have to is an error of the case.
        All other messages do.
    G : float or str
        Time per further byte on the way, seconds per byte, from 0; or a bandwidth such as
        ``"50GB/s"`` or ``"400Gb/s"``, both of which are ``"0.02ns"``.
    O : float or str
        CPU overhead per byte, seconds per byte, from 0.
    S : int or str, optional
        Largest message, in bytes, that is sent without rendezvous, also as text: ``"64KiB"``. None:
        no limit. A collective
        does not model rendezvous: a larger message is an error.
    gamma : float or str
        CPU time to combine a byte, seconds per byte, from 0.

    Raises
    ------
    ValueError
        Names the parameter that is negative, not finite or not a time.

    Notes
    -----
    A message enters the link of its receiver in the order of the algorithm, not in that of arrival:
    an early one waits for a late one before it, which no network does. A binomial reduce on 5 ranks
    with L = 1 us, o = 0, g = 0.6 us ends at 2.6 us; in the order of arrival it would at 2.2 us.

    The gap of a send counts from o (and O n) before the message left the CPU. Without noise that is
    when the send began; noise that delays the send delays the next one as well.

    Schedules (`simulate_schedule`) take the same parameters by LogGOPSim's rules: a message of more
    than S bytes waits for its receive (rendezvous) and is no error, and sending and receiving cost
    ``o + (n - 1) * O``.

    With o = 0, O = 0 and gamma = 0, and no `compute_time` in the case, the CPU does nothing that
    its noise (`PeriodicNoise`) could hit.

    Chen & Suda: L = 1e-6 s, o = 1e-9 s, G = 1e-9 s/B, g = O = 0, n = 1, gamma = 1e-10 s/B.

    Examples
    --------
    >>> LogGOPS(L="1us", o="1ns", G="1ns", gamma=1e-10).costs(1)
    Costs(send=1000, receive=1000, transit=1000000, combine=100)
    """

    smallest_message: ClassVar[int] = 1
    per_byte_field: ClassVar[str] = "G"
    latency_field: ClassVar[str] = "L"

    L: ShortSeconds
    o: ShortSeconds
    g: ShortSeconds = ShortSeconds(0.0)
    G: SecondsPerByte = SecondsPerByte(0.0)
    O: SecondsPerByte = SecondsPerByte(0.0)  # noqa: E741 (the model's own letter)
    S: Converted[IntOrText | None, int | None] = Converted("int | str | None", None)
    gamma: SecondsPerByte = SecondsPerByte(0.0)

    def __post_init__(self) -> None:
        if self.S is not None:
            object.__setattr__(self, "S", read_size(self.S, "S", 1, MAX_BYTES))

    @property
    def largest_message(self) -> int:
        return MAX_BYTES if self.S is None else self.S

    def costs(self, message_bytes: int) -> Costs:
        n = message_bytes
        if self.S is not None and n > self.S:
            raise ValueError(
                f"S must be None or at least message_bytes = {n} (rendezvous is not modelled), "
                f"got {self.S}"
            )
        overhead = to_ticks(exact(self.o) + exact(self.O) * n, "o + O * message_bytes")
        way = to_ticks(exact(self.L) + exact(self.G) * (n - 1), "L + (message_bytes - 1) * G")
        return Costs(overhead, overhead, way, _combine_ticks(self.gamma, n))

    def gap(self, message_bytes: int) -> int:
        occupied = exact(self.g) + exact(self.G) * (message_bytes - 1)
        return to_ticks(occupied, "g + (message_bytes - 1) * G")

    def load(self, message_bytes: int) -> int:
        return to_ticks(exact(self.G) * message_bytes, "message_bytes * G")

    def check_gap(self, send_gap: int) -> None:
        gap = to_ticks(self.g, "g")
        if gap > send_gap:
            raise ValueError(
                f"g must be from 0 to {show_ticks(send_gap)} here, the time between two sends of "
                f"a rank (waiting for the gap is not modelled), got {show_ticks(gap)}"
            )


def _combine_ticks(gamma: float, message_bytes: int) -> int:
    return to_ticks(exact(gamma) * message_bytes, "gamma * message_bytes")


DEFAULT_NETWORK = LogGOPS(L="1us", o="200ns", G="0.1ns")
"""What is taken where no network is given: a fast interconnect of today, about."""


class NetworkOrText(Converted[Network | str, Network]):
    """A required network, also as text."""

    def __init__(self) -> None:
        super().__init__("Network | str")


def check_network(value: Any) -> Network:
    """Check a network, also as text (`syntax.read_network`), and return it."""
    if isinstance(value, str):
        value = Network.from_dict(read_network(value), "network")
    if not isinstance(value, Network):
        raise ValueError(
            "network must be a Network such as LogGOPS(...), or text such as 'L=1us,o=200ns', got "
            f"{shorten(value)}"
        )
    return value
