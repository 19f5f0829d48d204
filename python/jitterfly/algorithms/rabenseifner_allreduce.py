"""Rabenseifner's allreduce: reduce-scatter by recursive halving, allgather by doubling."""

from __future__ import annotations

from ..fields import frozen_dataclass
from ..steps import Step, Xor, power_below
from .algorithm import Forwarded
from .shared_steps import block_bytes, collective, fold_in, fold_out, message


@frozen_dataclass()
class RabenseifnerAllreduce(Forwarded, kind="rabenseifner_allreduce"):
    """The vector is halved each round while it is reduced, and put together on the way back.

    Round r of the first half exchanges half of what is left with ``i xor 2^r`` (distance doubling,
    vector halving, as MPICH); the second half goes the same way back. Ranks beyond the largest
    power of two P = 2^K send their vector to ``i - P`` first, and get the result at the end (a far
    fold; MPICH folds neighbours).

    `message_bytes` is the vector, n bytes, cut into P blocks of n / P (rounded up). A rank sends 2
    K messages, of P/2, P/4, ... 1 blocks and back; the fold adds two of n bytes. Unless n is 0, a
    block has at least one byte: with fewer bytes than blocks a rank sends more than an
    implementation would.

    Notes
    -----
    Without noise it takes ``2 K alpha + 2 (P - 1)/P n beta + (P - 1)/P n gamma`` on Hockney's
    network and P ranks. It suits long vectors on many ranks (Rabenseifner 2004; Thakur et al.
    2005).

    References
    ----------
    Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.

    Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 2005.

    Examples
    --------
    Sender and receiver of the first messages on four ranks:

    >>> RabenseifnerAllreduce().message_levels(4)[0].tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def steps(self, ranks: int, message_bytes: int) -> list[Step]:
        n, power = message_bytes, power_below(ranks)
        block, rounds = block_bytes(n, power), power.bit_length() - 1
        messages = fold_in(ranks, n, combine=True)
        for r in range(rounds):
            size, label = (power >> r + 1) * block, f"reduce-scatter {r + 1}"
            messages.append(message(Xor(1 << r, power), r, size, label, combine=True))
        for r in range(rounds):
            mask, label = power >> r + 1, f"allgather {r + 1}"
            messages.append(message(Xor(mask, power), rounds + r, (1 << r) * block, label))
        return collective(messages + fold_out(ranks, n)) + self.forward_steps(ranks)
