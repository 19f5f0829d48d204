"""`Workload`: base of what a study simulates: a collective (`Case`) or a schedule (`ScheduleCase`).

Also which of its noise can act, and what that leaves open.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .answer import FIRST, Note
from .distributions import Empirical
from .distributions.distribution import Distribution
from .fields import Component, Int, counted, own_components, parameter
from .hierarchy import Hierarchy
from .imbalance import DrawnSpeed, OnShare, SlowShare, Speed
from .network import Network
from .noise import MessageNoise, Noise, TraceNoise
from .noise.source import ExpectedWork, MaxWork, name_in_case, names_level
from .units import TICKS_PER_SECOND

Poll = Callable[[int], object]
"""Called now and then, a few times a second; what it raises ends the computation."""
Work = npt.NDArray[np.int64]
NO_WORK: Work = np.zeros((0, 2), dtype=np.int64)


class RankWork(NamedTuple):
    """The time that a rank works in each cycle, in ticks by phase."""

    ranks: int
    cycles: int
    compute: float
    communication: float

    def met(self, noise: TraceNoise) -> float:
        """Return the seconds of a cycle in which recorded noise acts on a rank."""
        parts = {"compute": self.compute, "communication": self.communication}
        ticks = sum(time for phase, time in parts.items() if noise.during in ("all", phase))
        return ticks / TICKS_PER_SECOND


class CompletionRow(NamedTuple):
    """A row of completions: its name, number of redundant exchanges, and cycle (from 1)."""

    name: str
    T: int
    cycle: int


class Workload(ABC):
    """The base of what a study simulates: ranks on a network, with noise.

    A subclass is a frozen dataclass, or has properties of these names: `ranks`; `network`, which
    decides what a message costs; `noise`, its sources; `speed`, the factors by which ranks take
    longer; `cycles`, the number of repetitions in a realization; and `observe`, the name of what is
    reported of each realization.
    """

    if TYPE_CHECKING:  # fields of one workload, properties of another

        @property
        def ranks(self) -> int: ...
        @property
        def network(self) -> Network: ...
        @property
        def noise(self) -> tuple[Noise, ...]: ...
        @property
        def speed(self) -> Speed | None: ...
        @property
        def cycles(self) -> int: ...
        @property
        def observe(self) -> str: ...

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone, for copies and other processes: cached values are left out."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: vars(self)[field.name] for field in fields}

    @property
    def placed_noise(self) -> tuple[Noise, ...]:
        """The `noise`, where sources say how many ranks share draws instead of naming a level."""
        return place_noise(self.noise, self.network, self.ranks)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The plain values, for TOML and JSON."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """The plain values that decide the results: files by their content, not by name."""

    def own_parts(self) -> list[Component]:
        """The distributions, and algorithms, whose classes are a user's."""
        return list(own_components((self.placed_noise, self.speed)))

    def content_of_own(self) -> dict[str, dict[str, str]]:
        """The content of a user's classes, for the identity; empty where there are none.

        Kind and fields do not tell it: its author may have changed a method. Of a distribution it
        is a digest of its table.
        """
        own = [one for one in self.own_parts() if isinstance(one, Distribution)]
        found = {repr(one): one.integers().digest() for one in own}
        return {"own": found} if found else {}

    @abstractmethod
    def max_work(self, noise: Noise) -> MaxWork:
        """The work of a rank in one cycle that `noise` can hit, at most."""

    @abstractmethod
    def expected_work(self) -> ExpectedWork:
        """The work that noise meets in a realization, whose duration is not known yet."""

    def work_until(self) -> Work:
        """Count the messages taken, and calculations, up to the end of each cycle.

        Shape (cycles, 2); no rows where cycles are alike, so that their time tells as much.
        """
        return NO_WORK

    @abstractmethod
    def work_per_cycle(self) -> RankWork:
        """The time that a rank works in each cycle."""

    @abstractmethod
    def why_speed_is_ineffective(self) -> str:
        """Say why a rank's speed lengthens no CPU time; "" where it does."""

    @abstractmethod
    def rank_rounds(self) -> int:
        """The size of one realization: its messages, or operations."""

    @abstractmethod
    def observation_names(self) -> list[str]:
        """The names of the columns that a realization has."""

    @abstractmethod
    def completions(self) -> list[CompletionRow]:
        """The rows that are observed as "completion" and "spread", in their order."""

    @abstractmethod
    def noise_only_delays(self) -> bool:
        """Return whether no realization can be earlier than without noise, in any row."""

    @abstractmethod
    def noise_free_ticks(self, poll: Poll | None = None) -> npt.NDArray[np.int64]:
        """The noise-free time of the last rank in each row that is observed, in ticks.

        Shape (rows,). On very many ranks that are not alike this takes minutes: `poll` can end it.
        """

    def noise_free_observations(self) -> npt.NDArray[np.int64]:
        """The noise-free time of each column that a realization has, in ticks."""
        return self.noise_free_ticks()

    @abstractmethod
    def engine_memory(self, realizations: int, threads: int = 0) -> int:
        """The bytes of the CPU engine for realizations in flight; 0 threads: all processors."""

    @abstractmethod
    def realize(
        self,
        realizations: int,
        seed: int,
        first_realization: int = 0,
        backend: str = "auto",
        threads: Int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> tuple[npt.NDArray[np.int64], str]:
        """Simulate realizations, without a check that the noise can hit anything.

        Returns
        -------
        tuple
            Ticks, int64 of shape (realizations, `observation_names`), and the backend that was
            used.
        """

    def is_delayed_by(self, noise: Noise) -> bool:
        """Return whether this source of the workload can delay anything in it."""
        return noise.can_delay(self.max_work(noise), self.ranks)

    @cached_property
    def random_sources(self) -> tuple[bool, ...]:
        """A flag for each source: it acts, and differently in each realization."""
        return tuple(noise.random and self.is_delayed_by(noise) for noise in self.noise)

    @cached_property
    def has_one_random_source(self) -> bool:
        """Return whether exactly one source acts, and it is random.

        Then every realization that differs from the noise-free one was hit by this source. With
        several sources, a realization that one of them delays may not have met a rare one.
        """
        return any(self.random_sources) and sum(map(self.is_delayed_by, self.noise)) == 1

    def doubts(self) -> list[str]:
        """List, in words, what the measured noise leaves open, and which changes are not seen."""
        return [*self.measured_doubts(), *self.unseen_changes()]

    def measured_doubts(self) -> list[str]:
        """List, in words, what the measured noise leaves open, and parts that fit no node."""
        placed = self.placed_noise
        text = unfit_nodes(placed, self.network, self.speeds())
        if any(isinstance(one, TraceNoise) for one in placed):
            text += doubts_of(placed, self.network, self.work_per_cycle())
        return text

    def speeds(self) -> dict[str, Speed | None]:
        """The factors of ranks and of their links, by the names of their fields."""
        return {name: getattr(self, name, None) for name in ("speed", "L_factor", "G_factor")}

    def unseen_changes(self) -> list[Note]:
        """Note the sources that change within a piece of work, or a way, that has one draw."""
        if all(getattr(one, "holds", None) is None for one in self.noise):
            return []  # on many ranks `max_work` takes its time
        return unseen_changes(self.noise, map(self.max_work, self.noise))


def unseen_changes(noise: Iterable[Noise], work: Iterable[MaxWork]) -> list[Note]:
    """Note the sources that change within what has one draw: to be read before the numbers."""
    sources = enumerate(zip(noise, work, strict=True))
    return [Note("unseen_change", f"{name_in_case(i, one.kind)}: {text}", FIRST)
            for i, (one, own) in sources if (text := one.unseen_change(own))]  # fmt: skip


def _node_of(network: Network) -> int:
    """Return how many consecutive ranks a node of the network has; 1 where it has no nodes."""
    blocks = isinstance(network, Hierarchy) and network.placement == "block"
    return next(iter(network.spans), 1) if blocks else 1  # type: ignore[attr-defined]


_DRAWN = (DrawnSpeed, SlowShare, OnShare)


def unfit_nodes(
    noise: Sequence[Noise], network: Network, speeds: Mapping[str, Speed | None]
) -> list[str]:
    """List hosts of noise, and `speeds` by their fields, whose nodes are not the network's."""
    node = _node_of(network)
    if node == 1:
        return []
    parts = {f"{name_in_case(place, one.kind)}: hosts": getattr(one, "hosts", None)
             for place, one in enumerate(noise)}  # fmt: skip
    given = {
        where: getattr(part, "node_ranks", None)
        for where, part in {**parts, **speeds}.items()
        if not (isinstance(part, _DRAWN) and part.node_ranks == 1)  # ranks, and no nodes
    }
    return [
        f"{where} counts nodes of {counted(width, 'rank')}, and the network has nodes of {node:,}: "
        f"give node_ranks={node}"
        for where, width in given.items()
        if width is not None and width not in network.spans  # type: ignore[attr-defined]
    ]


def doubts_of(noise: Sequence[Noise], network: Network, work: RankWork) -> list[str]:
    """List, in words, what measured sources leave open."""
    node = _node_of(network)
    traces = [one for one in noise if isinstance(one, TraceNoise)]
    text = [told for one in traces if (told := one.misfit(node, work.ranks))]
    for one in traces:
        text += one.doubts(work.ranks, work.met(one), work.cycles)
    measured = [i for i, one in enumerate(noise)
                if isinstance(one, MessageNoise) and isinstance(one.delay, Empirical)]  # fmt: skip
    if traces and measured:
        text.append(
            f"{name_in_case(measured[0], 'message')} has measured times, and a recording is "
            "simulated as well: noise of the CPUs that is in these times counts twice; a quantile "
            f"that it seldom reaches ({parameter('quantile', here=False)} of network parameters) "
            "has none of it"
        )
    return text


def place_noise(noise: tuple[Noise, ...], network: Network, ranks: int) -> tuple[Noise, ...]:
    """Return the sources with the number of ranks that share draws in place of a level's name.

    Raises
    ------
    ValueError
        A source names a level that the network does not have, or one whose ranks can not share.
    """
    if not any(names_level(getattr(one, "shared", False)) for one in noise):
        return noise
    return tuple(_placed(one, i, network, ranks) for i, one in enumerate(noise))


def _placed(noise: Noise, place: int, network: Network, ranks: int) -> Noise:
    """Return a source that says how many ranks share draws, in place of a level's name."""
    name: Any = getattr(noise, "shared", False)
    if not names_level(name):
        return noise
    if not isinstance(network, Hierarchy):
        raise ValueError(
            f"noise[{place}]: shared = {name!r} is a level of a Hierarchy; on a network of one "
            "level it must be False, 'machine' or the ranks per node"
        )
    try:
        span = network.shared_ranks(network.level_named(name), ranks)
    except ValueError as error:
        raise ValueError(f"noise[{place}]: {error}") from None
    shared = "machine" if span >= ranks else span
    return dataclasses.replace(noise, shared=shared)  # type: ignore[type-var]
