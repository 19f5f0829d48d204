"""Messages that follow each other on a rank without noise: when the next one has to wait."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..case import Case


class Waits(ValueError):
    """There is no closed form: ranks wait for links that are taken."""

    def __init__(self) -> None:
        super().__init__(
            "there is no closed form where a message has to wait for a link that another one takes "
            "(lower the network's g, or the time per byte); Result.noise_free has the value"
        )


class Message(NamedTuple):
    """Ticks: CPU to send, way, CPU to receive and combine, and how long it occupies a link."""

    send: int
    way: int
    receive: int
    gap: int

    @property
    def time(self) -> int:
        """From the start of the send to the end of the receive."""
        return self.send + self.way + self.receive

    @property
    def spacing(self) -> int:
        """From the start of a send to the start of the next one of this rank."""
        return max(self.send, self.gap)

    @property
    def stay(self) -> int:
        """From the start of a send to that of the next, if what is received was there early."""
        return max(self.send + self.receive, self.gap)


def message(case: Case, size: int, *, combine: bool = False, occupies: bool = True) -> Message:
    """A message of so many bytes in the network of a case."""
    send, receive, way, combining = case.network.costs(size)
    gap = case.network.gap(size) if occupies else 0
    return Message(send, way, receive + (combining if combine else 0), gap)


def in_a_row(rounds: Sequence[Message]) -> int:
    """Messages that each wait for the one before, sent and received by every rank.

    Of equal messages (but for combining) the slower of message and gap counts; of others none may
    wait for a link.
    """
    if len({(m.send, m.way, m.gap) for m in rounds}) > 1:
        for before, this in pairwise(rounds):
            if before.gap > before.time or this.gap > before.receive + this.send + this.way:
                raise Waits
    return sum(max(m.time, m.gap) for m in rounds[:-1]) + sum(m.time for m in rounds[-1:])


def folded(
    before: Message, rounds: Sequence[tuple[Message, int]], after: Message, extra: int
) -> int:
    """Rounds among a power of two of ranks, with `extra` ranks that hand over and get back.

    `rounds` are messages and the bits of the rank over which they go. The last rank inside is one
    whose path from a rank that took a message crosses every round: the sum of all. The `extra`
    ranks wait for the ones that answer them, whose numbers are below `extra`: paths between these
    can not cross the higher bits (unless twice), and stay on a rank in those rounds.
    """
    chain = [before, *(m for m, _ in rounds)]
    crossing = in_a_row([*chain, after._replace(gap=0)]) - after.time
    if any(m.gap > m.time for m in chain):
        raise Waits
    bits = [bit for _, bit in rounds]
    reach = (extra - 1).bit_length()
    inside = sum(m.time for m, _ in rounds)  # from ranks that took no message
    answering = at_most = before.time
    for last, (m, bit) in zip(chain, rounds, strict=False):
        crossed = bit < reach or bits.count(bit) > 1
        answering += m.time if crossed else m.stay
        # Where receiving gets longer, the link out is free before the link in has brought it.
        at_most += m.time if crossed else max(m.stay, m.gap - last.receive + m.receive)
    if max(at_most, inside, crossing - after.time) > max(answering, inside, crossing - after.time):
        raise Waits
    return max(crossing, max(answering, inside) + after.time)
