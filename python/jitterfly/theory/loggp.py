"""Recursive doubling without noise in the LogGP model, the gap between messages included."""

from __future__ import annotations

from ..fields import check_integer, check_power_of_two, shorten
from ..network import MOST_BYTES, LogGOPS
from ..units import exact


def loggp_completion(network: LogGOPS, ranks: int, message_bytes: int = 1) -> float:
    """Noise-free completion of the butterfly, in seconds, with the gap g between messages.

    ``(K - 1) * max(A, g + (n - 1) G) + A`` with ``A = 2 o + L + (n - 1) G + gamma n``: a rank may
    send again only ``g + (n - 1) G`` after its last send began. The engine does not model the
    wait for the gap and refuses a g that would cause one; where g causes none, the two agree.

    Parameters
    ----------
    network : LogGOPS
        With O = 0 (there the model does not say whether the gap counts the O of a send).
    ranks : int
        2^K, from 1.
    message_bytes : int
        n, from 1.

    Raises
    ------
    ValueError
        Names the argument that is out of range.

    Examples
    --------
    >>> import jitterfly as jf
    >>> loggp_completion(jf.LogGOPS(L="1us", o="100ns", g="2us"), ranks=8)
    5.2e-06
    """
    if not isinstance(network, LogGOPS):
        raise ValueError(f"network must be a LogGOPS, got {shorten(network)}")
    if network.O:
        raise ValueError(f"O must be 0 for this closed form, got {network.O}")
    rounds = check_power_of_two(ranks, "ranks", 2**62).bit_length() - 1
    n = check_integer(message_bytes, "message_bytes", 1, MOST_BYTES)
    if rounds == 0:
        return 0.0
    stream = exact(network.G) * (n - 1)
    one = 2 * exact(network.o) + exact(network.L) + stream + exact(network.gamma) * n
    return float((rounds - 1) * max(one, exact(network.g) + stream) + one)
