"""`CongestionCase`, and patterns of ORCS: tree, bruck, recdbl, ring, gather, scatter.

The patterns of collectives are those of ORCS (pattern_generator.cpp of version 2.0), and the
reduction that is its tree backwards: all messages of a level at one time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import (
    Converted,
    Int,
    RealOrText,
    check_choice,
    check_integer,
    check_keys,
    check_present,
    is_number,
    refuse_masked,
    shorten,
)
from ..syntax import share_of_text
from .topology import Topology

Pairs = npt.NDArray[np.uint32]
"""Shape (messages, 2): sender, receiver."""
PERTURBATIONS = ("none", "rand", "bisect", "bisect_fb")
DELAYS = ("orcs", "orcs1", "ready", "level_sync")
"""Rules whose result is the time of the collective, in messages of an empty network."""
SLOWED = (*DELAYS, "sum_max_cong")
"""Rules of which there is a slowdown by others' traffic."""
RULES = (*SLOWED, "bandwidth")


@dataclass(frozen=True)
class CongestionCase:
    """A situation: a pattern of messages among random hosts, and others' traffic.

    `simulate_congestion` takes it:
    ``jf.congestion.simulate_congestion(jf.congestion.CongestionCase(...))``.

    In every realization the ranks are placed on hosts at random. Ranks 0 ... z - 1 run the
    pattern, ranks z ... `ranks` - 1 the perturbing one, level by level together; the congestion w
    of a message is the largest number of messages on one edge of its route, host links included.

    Parameters
    ----------
    network : Topology
        Such as ``FatTree.of(1152)`` or ``NetworkMap.read("map.dot.gz")``; it has the routing.
    pattern : str, or list of levels
        "tree", "reduce", "bruck", "recdbl", "ring", "gather", "scatter", "none"; or for each
        level its messages, pairs of sender and receiver below z: of an algorithm of the engine
        its ``message_levels(z)``.
    perturbation : "none", "rand", "bisect" or "bisect_fb"
        "rand": a permutation without fixed points, new at every level. "bisect": disjoint pairs,
        one way, new at every level. "bisect_fb": disjoint pairs, both ways, fixed over the levels.
    ratio : float
        Perturbing ranks / all ranks, from 0 to 1, or such as "50%": ``z = ranks - round(ranks *
        ratio)``, halves to even. With perturbation "none" as many ranks are idle: what a slowdown
        is measured against.
    rule : "orcs", "orcs1", "ready", "level_sync", "sum_max_cong" or "bandwidth"
        What a realization gives. "orcs" (ORCS 2.0): the largest, over levels l and ranks, of
        ``D_l(dst) = w + (D_{l-1}(src) if src received at level l - 1, else 0)``. "orcs1" (ORCS
        1.1, pattern "tree" only): the sum of w along the chain 0, 1, 3, 7, ... "ready": the last
        ready time, ``R(dst) = max(R(dst), R(src) + w)``. "level_sync": the sum over levels of the
        largest w of the pattern's own messages, as if all waited for each level. "sum_max_cong":
        the same of all messages, of both patterns. "bandwidth": the mean of 1 / w over them; with
        pattern "none" and "bisect", the effective bisection bandwidth.
    ranks : int, optional
        Of both patterns, at most the network's hosts, which is the default.

    Raises
    ------
    ValueError
        A field, or a combination of fields, out of range; the message names field and range.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree
    >>> CongestionCase(FatTree.of(144), ratio=0.3).z
    101
    """

    network: Topology
    _: KW_ONLY
    pattern: str | Sequence[Any] = "tree"
    perturbation: str = "rand"
    ratio: Converted[RealOrText, float] = Converted("float | str", 0.5)
    rule: str = "orcs"
    ranks: Converted[Int | None, int] = Converted("int | None", None)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        if not isinstance(self.network, Topology):
            raise ValueError(
                f"network must be a Topology such as FatTree(...), got {shorten(self.network)}"
            )
        hosts = self.network.hosts
        ranks = hosts if self.ranks is None else self.ranks
        put("ranks", check_integer(ranks, "ranks", 1, hosts))
        check_choice(self.perturbation, "perturbation", PERTURBATIONS)
        check_choice(self.rule, "rule", RULES)
        put("ratio", check_ratio(self.ratio))
        self._check_pattern(put)
        if self.perturbing_ranks == 1 and self.perturbation != "none":
            raise ValueError(f"ratio {self.ratio} leaves one perturbing rank, which has no partner")

    def _check_pattern(self, put: Any) -> None:
        """Check `pattern`, by name or as levels of messages, and what goes with it."""
        if isinstance(self.pattern, str):
            check_choice(self.pattern, "pattern", PATTERNS)
            if self.pattern == "none":
                if self.z or self.rule in DELAYS or self.perturbation == "none":
                    raise ValueError(
                        "pattern 'none' needs ratio 1, a perturbation, and rule 'sum_max_cong' or "
                        f"'bandwidth', got {self.ratio}, {self.perturbation!r}, {self.rule!r}"
                    )
            elif self.z < 2:
                raise ValueError(
                    f"ratio {self.ratio} leaves z = {self.z} of {self.ranks} ranks for the "
                    "pattern; at least 2 are needed"
                )
        else:
            levels = check_levels(self.pattern, self.z)  # as tuples, so that cases can be compared
            put("pattern", tuple(tuple(map(tuple, level.tolist())) for level in levels))
        if self.rule == "orcs1" and self.pattern != "tree":
            raise ValueError("rule 'orcs1' is defined for pattern 'tree' only")

    @property
    def z(self) -> int:
        """The number of ranks of the collective."""
        return self.ranks - self.perturbing_ranks

    @property
    def perturbing_ranks(self) -> int:
        """The number of ranks of the perturbing pattern, idle with perturbation "none"."""
        return round(self.ranks * self.ratio)

    def levels(self) -> list[Pairs]:
        """The messages of each level: arrays of shape (messages, 2), sender and receiver."""
        if isinstance(self.pattern, str):
            return list(BY_NAME[self.pattern](self.z))
        return [np.array(level, dtype=np.uint32).reshape(-1, 2) for level in self.pattern]

    def unperturbed(self) -> CongestionCase:
        """The same collective on the same hosts, with the others idle."""
        return dataclasses.replace(self, perturbation="none")

    def to_dict(self) -> dict[str, Any]:
        """The plain values, for TOML and JSON; `from_dict` makes the case again."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values["network"] = self.network.to_dict()
        if not isinstance(self.pattern, str):
            values["pattern"] = [[list(pair) for pair in level] for level in self.pattern]
        return values

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> CongestionCase:
        """A case from plain values.

        Raises
        ------
        ValueError
            Unknown, missing or bad keys; the message says where.

        Examples
        --------
        >>> network = {"kind": "fat_tree", "m": [4, 4], "w": [1, 4]}
        >>> CongestionCase.from_dict({"network": network, "ratio": 0.25}).z
        12
        """
        check_keys(table, [field.name for field in dataclasses.fields(cls)], "congestion")
        check_present(table, ["network"], "congestion")
        values = dict(table)
        values["network"] = Topology.from_dict(values["network"], "network")
        return cls(**values)


def check_ratio(value: Any) -> float:
    """Check a number from 0 to 1, also as text such as "50%", and return it."""
    ratio = share_of_text(value) if isinstance(value, str) else value
    if not is_number(ratio) or not 0 <= ratio <= 1:
        raise ValueError(f"ratio must be a number from 0 to 1, got {shorten(value)}")
    return float(ratio)


def check_levels(value: Any, z: int) -> list[Pairs]:
    """Check given levels of messages, and make arrays of shape (messages, 2) of them."""
    rule = f"pattern must be one of {PATTERNS}, or for each level a list of [sender, receiver]"
    if isinstance(value, (bytes, dict)):
        raise ValueError(f"{rule}, got {shorten(value)}")
    refuse_masked(value, rule)
    try:
        levels = [np.asarray(level) for level in value]
    except (TypeError, ValueError):
        raise ValueError(f"{rule}, got {shorten(value)}") from None
    for number, level in enumerate(levels):
        if level.size == 0:
            continue
        if level.ndim != 2 or level.shape[1] != 2 or level.dtype.kind not in "iu":
            raise ValueError(f"{rule}; level {number} is {shorten(value[number])}")
        if level.min() < 0 or level.max() >= z or (level[:, 0] == level[:, 1]).any():
            raise ValueError(
                f"pattern level {number}: senders and receivers must be two different ranks from "
                f"0 to {z - 1} (z = {z})"
            )
    if sum(level.size for level in levels) == 0:
        raise ValueError(f"{rule}, and at least one message, got {shorten(value)}")
    return [level.reshape(-1, 2).astype(np.uint32) for level in levels]


def tree(ranks: int) -> Iterator[Pairs]:
    """A binomial tree from rank 0: i sends to i + 2^l, for i < 2^l."""
    reach = 1
    while reach < ranks:
        senders = np.arange(min(reach, ranks - reach))
        yield _pairs(senders, senders + reach)
        reach *= 2


def reduce(ranks: int) -> Iterator[Pairs]:
    """A binomial reduction to rank 0: `tree` backwards, the longest messages first."""
    yield from (level[:, ::-1] for level in reversed(list(tree(ranks))))


def bruck(ranks: int) -> Iterator[Pairs]:
    """A dissemination: every rank i sends to i + 2^l, modulo the ranks."""
    everyone, reach = np.arange(ranks), 1
    while reach < ranks:
        yield _pairs(everyone, (everyone + reach) % ranks)
        reach *= 2


def recdbl(ranks: int) -> Iterator[Pairs]:
    """Recursive doubling inside the largest power of two Q, then i to i + Q for the others."""
    inside, reach = 1 << ranks.bit_length() - 1, 1
    while reach < inside:
        low = np.arange(inside)
        low = low[(low & reach) == 0]
        yield np.stack([_pairs(low, low + reach), _pairs(low + reach, low)], axis=1).reshape(-1, 2)
        reach *= 2
    if inside < ranks:
        others = np.arange(ranks - inside)
        yield _pairs(others, others + inside)


def ring(ranks: int) -> Iterator[Pairs]:
    """A message that goes round: l sends to l + 1, as many levels as ranks."""
    if ranks > 1:
        for level in range(ranks):
            yield _pairs(np.array([level]), np.array([(level + 1) % ranks]))


def gather(ranks: int) -> Iterator[Pairs]:
    """All other ranks send to rank 0, at once."""
    if ranks > 1:
        yield _pairs(np.arange(1, ranks), np.zeros(ranks - 1))


def scatter(ranks: int) -> Iterator[Pairs]:
    """Rank 0 sends to all other ranks, at once."""
    if ranks > 1:
        yield _pairs(np.zeros(ranks - 1), np.arange(1, ranks))


def none(ranks: int) -> Iterator[Pairs]:
    """One level without messages: the other traffic alone."""
    yield _pairs(np.arange(0), np.arange(0))


def _pairs(senders: npt.NDArray[np.generic], receivers: npt.NDArray[np.generic]) -> Pairs:
    return np.stack([senders, receivers], axis=1).astype(np.uint32)


BY_NAME: dict[str, Callable[[int], Iterator[Pairs]]] = {
    "tree": tree,
    "reduce": reduce,
    "bruck": bruck,
    "recdbl": recdbl,
    "ring": ring,
    "gather": gather,
    "scatter": scatter,
    "none": none,
}
PATTERNS = tuple(BY_NAME)
