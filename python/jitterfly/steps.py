"""Steps of an algorithm and their partner maps: who sends to whom (shift, xor, tree, listed).

An algorithm is a list of steps; the engine evaluates any list. Steps over the hypercube are those
of the butterfly with its redundant exchanges (docs/model.md, "The butterfly"); in a MESSAGE step
ranks send each other messages by a partner map: each rank sends at most one message and receives at
most one.
The numbers here, and those of each partner map's `code`, are those of ``cuda/core/program.h``.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .fields import refuse_masked, shorten

_SHIFT, _XOR, _TREE, _RANGE = range(4)
LISTED = 4
"""In the engine: messages that are listed, each with a cost of its own."""
Code = tuple[int, int, int, int]
Pairs = list[tuple[int, int]]
PairArray = npt.NDArray[np.int64]


class Partners(ABC):
    """The pairs of a step: each rank sends at most one message and receives at most one.

    Maps of one kind with equal fields are equal.
    """

    def code(self) -> Code | None:
        """The engine's numbers for the pairs: map, a, b, c; None where it does not know them."""
        return None

    @abstractmethod
    def pair_array(self, ranks: int) -> PairArray:
        """The sender and receiver of each message; shape (messages, 2)."""

    def pairs(self, ranks: int) -> Pairs:
        """The messages as a list."""
        return [(sender, receiver) for sender, receiver in self.pair_array(ranks).tolist()]

    @abstractmethod
    def count(self, ranks: int) -> int:
        """Count the messages."""

    def symmetric(self, ranks: int) -> bool:
        """Return whether all ranks act alike: none, or each sends one message and receives one."""
        return self.count(ranks) == 0

    def content(self) -> bytes:
        """The bytes that identify the pairs."""
        return repr(self).encode()


@dataclass(frozen=True)
class Shift(Partners):
    """Every rank i sends to ``(i + distance) mod ranks``; with distance 0 no rank does.

    Examples
    --------
    >>> Shift(1).pairs(3)
    [(0, 1), (1, 2), (2, 0)]
    """

    distance: int

    def code(self) -> Code:
        return _SHIFT, self.distance, 0, 0

    def pair_array(self, ranks: int) -> PairArray:
        senders = np.arange(ranks if self.distance else 0)
        return np.stack([senders, (senders + self.distance) % ranks], axis=1)

    def count(self, ranks: int) -> int:
        return ranks if self.distance else 0

    def symmetric(self, ranks: int) -> bool:
        return True


@dataclass(frozen=True)
class Xor(Partners):
    """Ranks i < below exchange with ``i xor mask``; `below` is a power of two above `mask`.

    Examples
    --------
    >>> Xor(2, 4).pairs(5)
    [(0, 2), (1, 3), (2, 0), (3, 1)]
    """

    mask: int
    below: int

    def code(self) -> Code:
        return _XOR, self.mask, self.below, 0

    def pair_array(self, ranks: int) -> PairArray:
        senders = np.arange(self.below)
        return np.stack([senders, senders ^ self.mask], axis=1)

    def count(self, ranks: int) -> int:
        return self.below

    def symmetric(self, ranks: int) -> bool:
        return self.below == ranks


@dataclass(frozen=True)
class BinomialTree(Partners):
    """A level of a binomial tree with root 0: pairs i, ``i + stride`` with i a multiple of
    ``2 * stride`` and ``i + stride < below``. Down, i sends; up, ``i + stride`` does.

    Examples
    --------
    >>> BinomialTree(1, 5, down=True).pairs(5), BinomialTree(2, 5, down=False).pairs(5)
    ([(0, 1), (2, 3)], [(2, 0)])
    """

    stride: int
    below: int
    down: bool

    def code(self) -> Code:
        return _TREE, self.stride, self.below, int(self.down)

    def pair_array(self, ranks: int) -> PairArray:
        uppers = np.arange(0, self.below - self.stride, 2 * self.stride)
        pairs = np.stack([uppers, uppers + self.stride], axis=1)
        return pairs if self.down else pairs[:, ::-1]

    def count(self, ranks: int) -> int:
        return len(range(0, self.below - self.stride, 2 * self.stride))


@dataclass(frozen=True)
class Range(Partners):
    """Ranks ``begin <= i < end`` send to ``i + distance``, which is not 0.

    Examples
    --------
    >>> Range(4, 6, -4).pairs(6)
    [(4, 0), (5, 1)]
    """

    begin: int
    end: int
    distance: int

    def code(self) -> Code:
        return _RANGE, self.begin, self.end, self.distance

    def pair_array(self, ranks: int) -> PairArray:
        senders = np.arange(self.begin, self.end)
        return np.stack([senders, senders + self.distance], axis=1)

    def count(self, ranks: int) -> int:
        return self.end - self.begin


@dataclass(frozen=True, eq=False)
class Listed(Partners):
    """Any messages; whether all ranks act alike is not known.

    Attributes
    ----------
    messages : array of int64, shape (messages, 2)
        Sender and receiver of each, which differ. Lists of pairs are taken, too.

    Raises
    ------
    ValueError
        They are no pairs of integers.

    Examples
    --------
    >>> Listed(np.array([[0, 2], [2, 5]])).pairs(6)
    [(0, 2), (2, 5)]
    """

    messages: PairArray

    def __post_init__(self) -> None:
        refuse_masked(self.messages, "messages must be pairs of integers")
        pairs = np.asarray(self.messages)
        if pairs.size == 0:
            pairs = np.zeros((0, 2), np.int64)
        if pairs.dtype.kind not in "iu" or pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(
                "messages must be pairs of integers, sender and receiver of each, got "
                f"{shorten(self.messages)}"
            )
        object.__setattr__(self, "messages", pairs.astype(np.int64, copy=False))

    def pair_array(self, ranks: int) -> PairArray:
        return self.messages

    def count(self, ranks: int) -> int:
        return len(self.messages)

    def content(self) -> bytes:
        return self.messages.tobytes()


@dataclass(frozen=True, eq=False)
class Sized(Partners):
    """The messages of another map, each of a size of its own.

    Attributes
    ----------
    partners : Partners
    sizes : array of int64, shape (messages,)
        Bytes of each, in the order of the map's `pair_array`.

    Examples
    --------
    >>> Sized(Shift(1), np.array([8, 0, 40])).pairs(3)
    [(0, 1), (1, 2), (2, 0)]
    """

    partners: Partners
    sizes: npt.NDArray[np.int64]

    def pair_array(self, ranks: int) -> PairArray:
        return self.partners.pair_array(ranks)

    def count(self, ranks: int) -> int:
        return len(self.sizes)

    def content(self) -> bytes:
        return self.partners.content() + self.sizes.tobytes()


COMPUTE, ENTER, EXCHANGE, FORWARD, OBSERVE, MESSAGE = range(6)
"""Kinds of steps: compute phase, entry into the collective with the first send, original exchange
(with the redundant copy inside the butterfly), forward after the butterfly, look at the result,
messages by a partner map."""

START = "start"
"""Label of the step, and of its row, after which ranks begin the collective."""

OWN = "own"
"""Label of rows that have each rank's own time since it left the barrier."""

COPY = 1
"""Flag of EXCHANGE round r: redundant copies of level r + 1 go to the mirrors."""
FINAL = 2
"""Flag of ENTER and EXCHANGE: the last level, nothing is sent from here."""

ASK = 8
"""Flag of EXCHANGE round r: a rank that waits too long asks the mirror ``i xor 1`` for a copy."""

SENDS_ONLY, RECEIVES_ONLY = 16, 32
"""Flags of MESSAGE: ranks do the first half of the step, and later the other, so that a rank sends
several messages before it waits for one. See `Step.place`."""
MAX_WINDOW = 1024
"""Messages that a rank may have sent before it receives one."""

STARTS_CLOCK, OWN_TIME = 64, 128
"""Flags of OBSERVE: the clock of each rank starts there; the row has the time of each rank since
its own clock started."""

DRAWS_PER_CYCLE = 64
"""Draws are numbered ``64 * cycle + round``, in all algorithms. Rounds from 64 on have numbers of
their own (`draw_of_step` in C++)."""


class Switch(NamedTuple):
    """The part of a MESSAGE step that switches have in it, which combine (in-network reduction).

    Switches are no ranks. While a rank waits for its result, its clock stands for a port of them:
    in a step "post" messages go to the port of the receiver, which takes no CPU time of it; in
    "combine" ports tell each other their times, at no cost; in "result" messages come from the port
    of the sender. Such messages occupy no links.

    `level`: of a `Hierarchy`, the level whose costs a message to or from the switches has; -1 is
    the outermost. `ticks`: what switches add to its way.
    """

    part: str
    level: int = -1
    ticks: int = 0


class Step(NamedTuple):
    """One step of one cycle.

    `label` names the ready times after it ("" when they are no row of their own);
    `redundancy` is T when this step completes the collective with T redundant exchanges.

    `copies`: how many copies each rank sends after an EXCHANGE with COPY.

    Of a MESSAGE step: which rank sends to which, bytes of each message (of `Sized` partners of the
    longest: see `sizes`), whether the receiver combines, how often in a row it is done, and whether
    a message occupies the links of its two ranks (else its gap is 0).

    `round`: of EXCHANGE and FORWARD the bit in which the partner's number differs, and the number
    of the draws. Of MESSAGE it is only the number of the first of `repeat` draws within the cycle.

    `place`: of two halves of a MESSAGE step (SENDS_ONLY, RECEIVES_ONLY), which are else equal, the
    number under which the departures are kept in between, from 0; halves that overlap have
    different ones. No other kinds of steps stand between them, and they are not repeated.

    `switch`: of a MESSAGE step to, in or from switches; None: between ranks.
    """

    kind: int
    round: int = 0
    flags: int = 0
    label: str = ""
    redundancy: int | None = None
    partners: Partners | None = None
    bytes: int = 0
    combine: bool = False
    repeat: int = 1
    occupies: bool = True
    copies: int = 0
    place: int = 0
    switch: Switch | None = None

    @property
    def sends(self) -> bool:
        """Return whether messages of a MESSAGE step leave their senders in it."""
        return not self.flags & RECEIVES_ONLY

    @property
    def receives(self) -> bool:
        """Return whether messages of a MESSAGE step are received in it."""
        return not self.flags & SENDS_ONLY

    def sizes(self, ranks: int) -> npt.NDArray[np.int64]:
        """The bytes of each message of a MESSAGE step, in the order of its pairs."""
        assert self.partners is not None
        if isinstance(self.partners, Sized):
            return self.partners.sizes
        return np.full(self.partners.count(ranks), self.bytes, np.int64)


_LATER_FIELDS = ("switch",)
"""Fields that are younger than digests in stores, which say them only where they are given."""


def digest_of_steps(steps: Sequence[Step]) -> str:
    """The hexadecimal digits that identify steps: all that they say."""
    found, of_partners = hashlib.sha256(), dict[int, bytes]()
    for step in steps:
        partners = step.partners
        if id(partners) not in of_partners:  # many steps have the same list
            said = repr(partners).encode() if partners is None else partners.content()
            of_partners[id(partners)] = hashlib.sha256(said).digest()
        fields = step._replace(partners=None)._asdict()
        for name in _LATER_FIELDS:
            if fields[name] == Step._field_defaults[name]:
                del fields[name]
        text = ", ".join(f"{name}={value!r}" for name, value in fields.items())
        found.update(f"Step({text})".encode() + of_partners[id(partners)])
    return found.hexdigest()[:16]


class Asking(NamedTuple):
    """The copies on demand, in ticks: how long a rank waits, CPU to ask, way of the question."""

    patience: int = 0
    ask: int = 0
    request: int = 0


NOBODY_ASKS = Asking()


class Costs(NamedTuple):
    """The costs of one message, in ticks: CPU to send and to receive, way, CPU to combine."""

    send: int
    receive: int
    transit: int
    combine: int


class MessageCosts(NamedTuple):
    """The costs of a message of a MESSAGE step, in ticks.

    CPU to send; CPU to receive, with combining; way; and how long it occupies a link.
    """

    send: int
    receive: int
    transit: int
    gap: int


def numbers_per_cycle(steps: Sequence[Step]) -> int:
    """Count the numbers (tags of GOAL) that the messages of these steps take, a multiple of 64."""
    used = max((s.round + s.repeat for s in steps if s.kind == MESSAGE), default=0)
    return DRAWS_PER_CYCLE * max(-(-used // DRAWS_PER_CYCLE), 1)


def rounds_of(ranks: int) -> int:
    """``log2(ranks)``, rounded up."""
    return (ranks - 1).bit_length()


def power_below(ranks: int) -> int:
    """The largest power of two that is not above `ranks`."""
    return 1 << (ranks.bit_length() - 1)
