"""Settings of the figures of HSL09: slowdown against perturbation ratio and allocation size.

The paper names ratios, some sizes and the pattern. Its networks are not public, so fat trees of
24-port switches take their place; sizes between those it names are our choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jitterfly.congestion.case import DELAYS, CongestionCase
from jitterfly.congestion.simulate import CongestionResult, simulate_congestion, slowdown_percent
from jitterfly.congestion.topology import NAMED, ROUTINGS, FatTree, Topology
from jitterfly.fields import MAX_SEED, check_choice, check_integer
from jitterfly.stats import Estimate

MEASURED = FatTree((12, 12, 4), (1, 12, 12))
"""In place of the machine on which HSL09 measured: 576 hosts, of which 208 to 492 are used."""
HALF = "4391 of 4608 hosts, half bandwidth"
# Odin, CHiC, Atlas, Ranger, Thunderbird, and one to compare with
SYSTEMS: dict[str, tuple[FatTree, int]] = {
    "128 of 144 hosts": (FatTree.of(144), 128),
    "566 of 576 hosts": (MEASURED, 566),
    "1142 of 1152 hosts": (FatTree.of(1152), 1142),
    "3908 of 5184 hosts": (FatTree((12, 12, 12, 3), (1, 12, 12, 12)), 3908),
    # 16 hosts and 8 uplinks at each of the lowest switches
    HALF: (FatTree((16, 12, 24), (1, 8, 12)), 4391),
    # as large with full bandwidth, to tell what of the slowdown is size
    "4391 of 5184 hosts": (FatTree((12, 12, 12, 3), (1, 12, 12, 12)), 4391),
}
FIGURES = ("N1", "N2", "N3", "N4", "N5")
MAPS = "maps"
# HSL09 does not say how its networks were routed. D-mod-k spreads the messages as evenly as can be,
# random routes as chance has it; tables by the hash of a destination lie near the latter.
_TWO_ROUTINGS = ("d-mod-k", "random")
_LARGE = 5184  # hosts; above, fewer realizations: each averages over more messages


class Setting(NamedTuple):
    """A case of a figure, and what its network is called there.

    Its `repr` is the key of results that `reproduce` has kept: another name would lose them.
    """

    figure: str
    network: str
    case: CongestionCase


@dataclass(frozen=True, eq=False)
class FigurePoint:
    """A setting, and its results with and without the others' traffic on the same placements."""

    setting: Setting
    perturbed: CongestionResult
    unperturbed: CongestionResult

    @property
    def case(self) -> CongestionCase:
        return self.setting.case

    @cached_property
    def slowdown(self) -> Estimate:
        """The slowdown in percent, 100 is none; paired, 95 %."""
        return slowdown_percent(self.perturbed, self.unperturbed)

    @property
    def realizations(self) -> npt.NDArray[np.float64]:
        """Each realization in percent of the unperturbed mean, shape (realizations,)."""
        return 100 * self.perturbed.samples / self.unperturbed.samples.mean()

    @property
    def where(self) -> str:
        """The network and the setting but for ratio, z and size of a series."""
        return f"{self.setting.network}: {self.how}"

    @property
    def how(self) -> str:
        """The pattern, perturbation, rule and routing."""
        case = self.case
        return (
            f"{case.pattern} against {case.perturbation}, rule {case.rule}, "
            f"routing {case.network.routing_name}"
        )


def settings(figure: str, *, quick: bool = False) -> list[Setting]:
    """The cases of one of FIGURES.

    Examples
    --------
    >>> [one.case.z for one in settings("N5")][0]
    246
    """
    check_choice(figure, "figure", FIGURES)
    return _PLANS[figure](quick)


def map_settings(maps: dict[str, Topology], *, quick: bool = False) -> list[Setting]:
    """The settings of slowdown against ratio, as N3, on given networks."""
    found = []
    for name, network in maps.items():
        try:
            found += [
                Setting(MAPS, name, CongestionCase(network, ratio=ratio, rule=rule))
                for rule in _rules(quick)
                for ratio in _ratios(0.2, 0.8, quick)
            ]
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def check_settings(realizations: int, seed: int) -> tuple[int, int]:
    """Raise ValueError if `run_settings` could not take these."""
    realizations = check_integer(realizations, "realizations", 2, 10**7)
    return realizations, check_integer(seed, "seed", 0, MAX_SEED)


def run_settings(
    chosen: Sequence[Setting],
    realizations: int = 500,
    seed: int = 0,
    told: Callable[[str], object] = lambda text: None,
    backend: str = "auto",
    threads: int | None = None,
) -> list[FigurePoint]:
    """Simulate settings one after another, each with and without the others' traffic.

    Parameters
    ----------
    chosen : list of Setting
    realizations : int
        Of each, from 2; a third of it, but 2 at least, above 5184 hosts.
    seed : int
        From 0 to 2^64 - 1.
    told : callable
        Gets a line of text for each setting.
    backend, threads
        As in `simulate_congestion`.

    Raises
    ------
    ValueError
        An argument out of range.
    """
    realizations, seed = check_settings(realizations, seed)
    points: list[FigurePoint] = []
    for one in chosen:
        count = realizations
        if one.case.network.hosts > _LARGE:
            count = max(2, realizations // 3)
        both = [
            simulate_congestion(each, count, seed, backend, threads)
            for each in (one.case, one.case.unperturbed())
        ]
        points.append(FigurePoint(one, *both))
        told(f"{one.figure} {points[-1].where}, z = {one.case.z}: {points[-1].slowdown:.1f} %")
    return points


def _rules(quick: bool, pattern: str = "tree") -> tuple[str, ...]:
    """Both readings of the deck: the longest path, and the sum over levels."""
    if quick:
        return ("orcs", "level_sync")
    return DELAYS if pattern == "tree" else tuple(rule for rule in DELAYS if rule != "orcs1")


def _ratios(first: float, last: float, quick: bool) -> list[float]:
    steps = round((last - first) * 10)
    return [round(first + 0.1 * i, 1) for i in range(0, steps + 1, 2 if quick else 1)]


def _ratio_on_576_hosts(quick: bool) -> list[Setting]:
    """Slide 8: Broadcast on 208 nodes, Reduce and Allreduce on 492; slide 7: Allreduce on 32."""
    return [
        Setting("N1", f"{collective} on {ranks} of 576 hosts", CongestionCase(
            MEASURED, pattern=pattern, perturbation="bisect_fb", ratio=ratio, rule=rule,
            ranks=ranks))
        for collective, pattern, ranks in (
            ("Broadcast", "tree", 208), ("Reduce", "reduce", 492), ("Allreduce", "recdbl", 492),
            ("Allreduce", "recdbl", 32),
        )
        for rule in _rules(quick, pattern)
        for ratio in _ratios(0.2, 0.8, quick)
    ]  # fmt: skip


def _size_on_576_hosts(quick: bool) -> list[Setting]:
    """Slide 9 does not name its collective: a tree, and an allreduce by recursive doubling."""
    return [
        Setting("N2", "2 z of 576 hosts", CongestionCase(
            MEASURED, pattern=pattern, perturbation="bisect_fb", ratio=0.5, rule=rule,
            ranks=2 * z))
        for pattern in ("tree", "recdbl")
        for rule in _rules(quick, pattern)
        for z in ((16, 64, 250) if quick else (16, 32, 64, 96, 128, 192, 250))
    ]  # fmt: skip


def _systems(quick: bool) -> list[Setting]:
    return [
        Setting("N3", name, CongestionCase(
            replace(tree, routing=routing), ratio=ratio, rule=rule, ranks=ranks))
        for routing in _TWO_ROUTINGS
        for name, (tree, ranks) in SYSTEMS.items()
        for rule in _rules(quick)
        for ratio in _ratios(0.3, 0.7, quick)
    ]  # fmt: skip


def _sizes(quick: bool) -> list[Setting]:
    return [
        Setting("N4", "full bandwidth", CongestionCase(
            FatTree.of(hosts, routing=routing), rule=rule))
        for routing in (_TWO_ROUTINGS if quick else ROUTINGS)
        for rule in (*_rules(quick), "sum_max_cong")
        for hosts in NAMED
        if not quick or hosts < 20736
    ]  # fmt: skip


def _reduction(quick: bool) -> list[Setting]:
    return [
        Setting("N5", "492 of 576 hosts", CongestionCase(
            MEASURED, pattern="reduce", perturbation=perturbation, rule=rule, ranks=492))
        for perturbation in ("bisect_fb", "rand")
        for rule in _rules(quick, "reduce")
    ]  # fmt: skip


_PLANS: dict[str, Callable[[bool], list[Setting]]] = {
    "N1": _ratio_on_576_hosts,
    "N2": _size_on_576_hosts,
    "N3": _systems,
    "N4": _sizes,
    "N5": _reduction,
}
