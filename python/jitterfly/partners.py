"""Partner maps: who sends a message to whom in one step of a message program.

In one step a rank sends at most one message and receives at most one. The numbers of `code` are
those of ``cuda/program.h``.
"""

from __future__ import annotations

from typing import NamedTuple

_SHIFT, _XOR, _TREE, _RANGE = range(4)
Code = tuple[int, int, int, int]
Pairs = list[tuple[int, int]]


class Shift(NamedTuple):
    """Every rank i sends to ``(i + distance) mod ranks``; with distance 0 nobody does.

    Examples
    --------
    >>> Shift(1).pairs(3)
    [(0, 1), (1, 2), (2, 0)]
    """

    distance: int

    def code(self) -> Code:
        """As the engine takes it: map, a, b, c."""
        return _SHIFT, self.distance, 0, 0

    def pairs(self, ranks: int) -> Pairs:
        """Sender and receiver of each message."""
        return [(i, (i + self.distance) % ranks) for i in range(ranks)] if self.distance else []

    def count(self, ranks: int) -> int:
        """How many messages that are."""
        return ranks if self.distance else 0

    def symmetric(self, ranks: int) -> bool:
        """Whether all ranks act alike: none, or each sends one message and receives one."""
        return True


class Xor(NamedTuple):
    """Ranks i < below exchange with ``i xor mask``; `below` is a power of two above `mask`.

    Examples
    --------
    >>> Xor(2, 4).pairs(5)
    [(0, 2), (1, 3), (2, 0), (3, 1)]
    """

    mask: int
    below: int

    def code(self) -> Code:
        """As the engine takes it: map, a, b, c."""
        return _XOR, self.mask, self.below, 0

    def pairs(self, ranks: int) -> Pairs:
        """Sender and receiver of each message."""
        return [(i, i ^ self.mask) for i in range(self.below)]

    def count(self, ranks: int) -> int:
        """How many messages that are."""
        return self.below

    def symmetric(self, ranks: int) -> bool:
        """Whether all ranks act alike: none, or each sends one message and receives one."""
        return self.below == ranks


class Tree(NamedTuple):
    """A level of a binomial tree with root 0: pairs i, ``i + stride`` with i a multiple of
    ``2 * stride`` and ``i + stride < below``. Down, i sends; up, ``i + stride`` does.

    Examples
    --------
    >>> Tree(1, 5, down=True).pairs(5), Tree(2, 5, down=False).pairs(5)
    ([(0, 1), (2, 3)], [(2, 0)])
    """

    stride: int
    below: int
    down: bool

    def code(self) -> Code:
        """As the engine takes it: map, a, b, c."""
        return _TREE, self.stride, self.below, int(self.down)

    def pairs(self, ranks: int) -> Pairs:
        """Sender and receiver of each message."""
        uppers = range(0, self.below - self.stride, 2 * self.stride)
        pairs = [(i, i + self.stride) for i in uppers]
        return pairs if self.down else [(b, a) for a, b in pairs]

    def count(self, ranks: int) -> int:
        """How many messages that are."""
        return len(range(0, self.below - self.stride, 2 * self.stride))

    def symmetric(self, ranks: int) -> bool:
        """Whether all ranks act alike: none, or each sends one message and receives one."""
        return self.count(ranks) == 0


class Range(NamedTuple):
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
        """As the engine takes it: map, a, b, c."""
        return _RANGE, self.begin, self.end, self.distance

    def pairs(self, ranks: int) -> Pairs:
        """Sender and receiver of each message."""
        return [(i, i + self.distance) for i in range(self.begin, self.end)]

    def count(self, ranks: int) -> int:
        """How many messages that are."""
        return self.end - self.begin

    def symmetric(self, ranks: int) -> bool:
        """Whether all ranks act alike: none, or each sends one message and receives one."""
        return self.count(ranks) == 0


Partners = Shift | Xor | Tree | Range
