"""The algorithms that advice chooses from, by collective and name.

A candidate is what makes an `Algorithm` for a machine, so that what a copy costs can follow from
it. A new algorithm is a line in `_PLAIN`; a program of the user's is registered by `register`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..algorithms import Algorithm
from ..algorithms.schedule import rounds_of
from ..fields import check_choice
from ..network import Network
from ..units import from_ticks, show_seconds

_LITTLE = 0.05  # of a round: for what is shorter, copies need not wait

Maker = Callable[[int, Network, int], Algorithm]
"""From ranks, a network and the bytes of a message to an algorithm."""

COLLECTIVES = ("allreduce", "barrier", "broadcast", "reduce", "allgather", "reduce_scatter")

# Name, and the kind of the algorithm. Message programs: a send waits for the one before it.
_PLAIN = {
    "allreduce": {
        "recursive_doubling": "recursive_doubling_allreduce",
        "ring": "ring_allreduce",
        "rabenseifner": "rabenseifner_allreduce",
        "reduce_broadcast": "reduce_broadcast_allreduce",
    },
    "barrier": {
        "dissemination": "dissemination_barrier",
        "recursive_doubling": "recursive_doubling_barrier",
        "tree": "tree_barrier",
    },
    "broadcast": {
        "binomial": "binomial_broadcast",
        "scatter_allgather": "scatter_allgather_broadcast",
    },
    "reduce": {"binomial": "binomial_reduce"},
    "allgather": {
        "recursive_doubling": "recursive_doubling_allgather",
        "bruck": "bruck_allgather",
        "ring": "ring_allgather",
    },
    "reduce_scatter": {"recursive_halving": "recursive_halving_reduce_scatter"},
}


@dataclass(frozen=True)
class Candidate:
    """An algorithm to be considered.

    Attributes
    ----------
    name : str
    make : callable
        ``make(ranks, network, message_bytes)`` gives the `Algorithm`; a `ValueError` from it, or
        from the case, leaves the candidate out there, with the message as the reason.
    usual : bool
        Whether it is among those considered when none are named.
    never_early : bool
        Whether noise can not make it end sooner than on a quiet machine: what it sends does not
        depend on when messages arrive. Such a candidate need not be simulated where it is slower
        without noise than another one with it.
    against_noise : bool
        Whether all that it adds to another one is help against noise: on a quiet machine it is
        considered only if it is named.
    """

    name: str
    make: Maker
    usual: bool = True
    never_early: bool = False
    against_noise: bool = False


_REGISTERED: dict[str, dict[str, Candidate]] = {name: {} for name in COLLECTIVES}


def register(collective: str, candidate: Candidate) -> None:
    """Add a candidate of a collective; one of the same name is replaced.

    Examples
    --------
    >>> import jitterfly as jf
    >>> mine = Candidate("my_copies", lambda *_: jf.Butterfly(after=3), usual=False)
    >>> register("allreduce", mine)
    >>> _ = _REGISTERED["allreduce"].pop("my_copies")
    """
    check_choice(collective, "collective", COLLECTIVES)
    _REGISTERED[collective][candidate.name] = candidate


def known(collective: str) -> dict[str, Candidate]:
    """The candidates of a collective by name.

    Examples
    --------
    >>> sorted(known("allreduce"))[:3]
    ['butterfly', 'butterfly_after_1', 'butterfly_after_4']
    """
    return dict(_REGISTERED[check_choice(collective, "collective", COLLECTIVES)])


def _kind(kind: str) -> Maker:
    return lambda ranks, network, size: Algorithm.from_dict({"kind": kind})


def _forwarded(after: int | str) -> Maker:
    """Forwards of the result, each as dear as a message: the model's own cost (MS12) is 0.

    Links do not matter to them there, so a long one takes the CPU for as long as it would a link.
    """

    def make(ranks: int, network: Network, size: int) -> Algorithm:
        most = rounds_of(ranks)
        if after != "all" and int(after) > most:
            raise ValueError(f"{ranks} ranks have {most} partners to forward to, not {after}")
        costs = network.costs(size)
        cost = _text(max(costs.send + costs.receive, network.gap(size)))
        return Algorithm.from_dict({"kind": "butterfly", "after": after, "forward_cost": cost})

    return make


def _within(ranks: int, network: Network, size: int) -> Algorithm:
    if ranks < 4:
        raise ValueError("within needs at least 4 ranks: there is no level inside the butterfly")
    _check_links(network, size)
    return Algorithm.from_dict({"kind": "butterfly", "within": "all"})


def _on_demand(ranks: int, network: Network, size: int) -> Algorithm:
    """Who has waited for as long as a message takes asks: on a quiet machine nobody does."""
    if ranks < 2:
        raise ValueError("on_demand needs at least 2 ranks: nobody waits for a message")
    _check_links(network, size)
    patience = _text(network.costs(size).transit)
    table = {"kind": "butterfly", "on_demand": "all", "patience": patience}
    return Algorithm.from_dict(table)


def _text(ticks: int) -> str:
    """A time with its unit, as nobody has to be told what was meant by it."""
    return f"{float(from_ticks(ticks))!r} s"


def _check_links(network: Network, size: int) -> None:
    """Raise ValueError where copies would wait for links."""
    gap, costs = network.gap(size), network.costs(size)
    if gap > max(costs.send, _LITTLE * sum(costs)):
        raise ValueError(
            f"message_bytes = {size} occupy a link for {show_seconds(float(from_ticks(gap)), 3)}: "
            "what copies would wait for it is not modelled"
        )


def _register_all() -> None:
    kinds = Algorithm.kinds()
    for collective, names in _PLAIN.items():
        for name, kind in names.items():
            if kind in kinds:
                register(collective, Candidate(name, _kind(kind), never_early=True))
    # The schedule of recursive_doubling in an engine of its own, which knows no gap between
    # messages: considered by itself only where there is no other.
    alone = "recursive_doubling" not in _REGISTERED["allreduce"]
    copies = [
        Candidate("butterfly", _kind("butterfly"), alone, never_early=True),
        *(
            Candidate(
                f"butterfly_after_{after}", _forwarded(after), never_early=True, against_noise=True
            )
            for after in (1, 4, "all")
        ),
        # A rank that adopts a copy sends none itself: it may be earlier than without noise.
        Candidate("butterfly_within_all", _within, against_noise=True),
        Candidate("butterfly_on_demand", _on_demand, against_noise=True),
    ]
    for candidate in copies:
        register("allreduce", candidate)


_register_all()
