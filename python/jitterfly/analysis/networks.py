"""What network noise a study's numbers hold for: a caption."""

from __future__ import annotations

from collections.abc import Iterable

from ..case import Case
from ..noise import Congestion

_MOST = 4  # values of one thing that are told


def network_noise(cases: Iterable[Case]) -> str:
    """Pattern, perturbation, rule, routing, hosts and z of all cases with `Congestion`, or "".

    The rule is that of the engine of collectives: true ready times, "ready".
    """
    found = [(case, one) for case in cases for one in case.noise if isinstance(one, Congestion)]
    if not found:
        return ""
    patterns = _told(case.algorithm.kind for case, _ in found)
    others = _told(one.perturbation for _, one in found)
    routings = _told(one.network.routing_name for _, one in found)
    hosts = _told(str(one.network.hosts) for _, one in found)
    ranks = _told(str(case.ranks) for case, _ in found)
    return (
        f"network noise: {patterns} against {others}, rule ready, routing {routings}, "
        f"z = {ranks} of {hosts} hosts"
    )


def _told(values: Iterable[str]) -> str:
    every = list(dict.fromkeys(values))
    more = f", ... ({len(every)})" if len(every) > _MOST else ""
    return ", ".join(every[:_MOST]) + more
