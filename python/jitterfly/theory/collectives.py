"""Closed forms: how long a collective takes on any number of ranks, without noise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..algorithms.schedule import block_bytes, power_below, rounds_of
from ..case import Case, check_case
from ..units import from_ticks, to_ticks
from .binomial import down, scatter_allgather, up, up_and_down
from .links import Message, folded, in_a_row, message


def collective_completion(case: Case) -> float:
    """When the last rank has the result of the first collective without noise, in seconds.

    With A(b) = CPU of send and receive, way and combining of a message of b bytes, d(b) how long it
    occupies a link (LogGP: ``g + (b - 1) G``, Hockney: ``beta b``), N ranks, P = 2^K the largest
    power of two of them, k = log2(N) rounded up, ``after`` any:

    - Recursive doubling: ``A + (K - 1) max(A, d)``; with N > P, if ``d <= A``, the larger of
      ``(K + 1) A`` and of the last rank that answers one beyond P, plus a message without
      combining (`links.folded`). `Butterfly`: with d = 0.
    - Dissemination: ``A + (k - 1) max(A, d)``. Ring: as many messages of a block as it has, of
      which the last takes A and all before max(A, d).
    - Rabenseifner, Bruck, recursive doubling allgather, recursive halving: the sum of A(b) over the
      rounds, if no rank waits for a link: d(b) of a round is at most A(b), and at most its send and
      way and the receive of the round before. With N > P as recursive doubling.
    - Binomial broadcast, with D = max(send, d): ``A + (K - 1) max(A, D)`` for N = P, ``A + D + (k -
      2) max(A, D)`` else. Reduce: ``A + (K - 1) max(A, d)`` for N = P; else by the size of the last
      subtree. Reduce and broadcast in a row: their sum, if d is at most A of the one and send and
      way of the other.
    - Scatter and allgather: when the last rank of the scatter may send, and N - 1 messages of a
      block, if ``d <= A`` for a block.

    Parameters
    ----------
    case : Case
        Its noise is ignored; `work` comes before the collective.

    Raises
    ------
    ValueError
        Ranks wait for links where the closed form needs that they do not, or `Butterfly` sends
        copies (``within``). `Result.noise_free` has the value.

    Examples
    --------
    >>> import jitterfly as jf
    >>> network = jf.Hockney(alpha="1us", beta="1ns")
    >>> for algorithm in jf.RabenseifnerAllreduce(), jf.RingAllreduce():
    ...     case = jf.Case(4, algorithm=algorithm, network=network, message_bytes=4000)
    ...     print(collective_completion(case))
    1e-05
    1.2e-05
    """
    form = _FORMS.get(check_case(case).algorithm.kind)
    if form is None:
        raise ValueError(f"algorithm: there is no closed form for {type(case.algorithm).__name__}")
    ticks = 0 if case.ranks == 1 else form(case)
    return float(from_ticks(to_ticks(case.work) + ticks))


def _doubling(case: Case, combine: bool = True, occupies: bool = True) -> int:
    one = message(case, case.message_bytes, combine=combine, occupies=occupies)
    back = message(case, case.message_bytes, occupies=occupies)
    return _rounds(case, one, [(one, r) for r in range(case.log2_ranks)], back)


def _rounds(case: Case, before: Message, rounds: list[tuple[Message, int]], after: Message) -> int:
    extra = case.ranks - power_below(case.ranks)
    return folded(before, rounds, after, extra) if extra else in_a_row([m for m, _ in rounds])


def _butterfly(case: Case) -> int:
    for name in ("within", "on_demand"):
        if getattr(case.algorithm, name, None):
            raise ValueError(f"{name} must be None for this closed form")
    return _doubling(case, occupies=False)


def _rabenseifner(case: Case) -> int:
    n, bits = case.message_bytes, range(case.log2_ranks)
    power = power_below(case.ranks)
    sizes = [(power >> r + 1) * block_bytes(n, power) for r in bits]
    halving = [(message(case, size, combine=True), r) for r, size in enumerate(sizes)]
    doubling = [(message(case, sizes[r]), r) for r in reversed(bits)]
    return _rounds(case, message(case, n, combine=True), halving + doubling, message(case, n))


def _allgather(case: Case) -> int:
    n, extra = case.message_bytes, case.ranks - power_below(case.ranks)
    sizes = [((1 << r) + min(1 << r, extra)) * n for r in range(case.log2_ranks)]
    rounds = [(message(case, size), r) for r, size in enumerate(sizes)]
    return _rounds(case, message(case, n), rounds, message(case, (case.ranks - 1) * n))


def _reduce_scatter(case: Case) -> int:
    n, extra = case.message_bytes, case.ranks - power_below(case.ranks)
    block = block_bytes(n, case.ranks)
    sizes = [((1 << r) + min(1 << r, extra)) * block for r in range(case.log2_ranks)]
    rounds = [(message(case, size, combine=True), r) for r, size in enumerate(sizes)]
    return _rounds(case, message(case, n, combine=True), rounds[::-1], message(case, block))


def _dissemination(case: Case) -> int:
    return in_a_row([message(case, case.message_bytes)] * rounds_of(case.ranks))


def _bruck(case: Case) -> int:
    distances = [1 << r for r in range(rounds_of(case.ranks))]
    blocks = [min(distance, case.ranks - distance) for distance in distances]
    return in_a_row([message(case, b * case.message_bytes) for b in blocks])


def _ring(case: Case, size: int) -> int:
    one = message(case, size)
    return (case.ranks - 2) * max(one.time, one.gap) + one.time


def _ring_allreduce(case: Case) -> int:
    block = block_bytes(case.message_bytes, case.ranks)
    one = message(case, block, combine=True)
    return (case.ranks - 1) * max(one.time, one.gap) + _ring(case, block)


_FORMS: dict[str, Callable[[Case], int]] = {
    "binomial_broadcast": down,
    "binomial_reduce": up,
    "bruck_allgather": _bruck,
    "butterfly": _butterfly,
    "dissemination_barrier": _dissemination,
    "rabenseifner_allreduce": _rabenseifner,
    "recursive_doubling_allgather": _allgather,
    "recursive_doubling_allreduce": _doubling,
    "recursive_doubling_barrier": partial(_doubling, combine=False),
    "recursive_halving_reduce_scatter": _reduce_scatter,
    "reduce_broadcast_allreduce": partial(up_and_down, combine=True),
    "ring_allgather": lambda case: _ring(case, case.message_bytes),
    "ring_allreduce": _ring_allreduce,
    "scatter_allgather_broadcast": scatter_allgather,
    "tree_barrier": partial(up_and_down, combine=False),
}
