"""A case: everything that defines one simulated situation, checked as a whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal

from .algorithms import Algorithm, Butterfly
from .algorithms.algorithm import MOST_ROUNDS
from .cycle import Cycle, lower_cycle
from .fields import Given, check_choice, check_keys, frozen_dataclass, shorten
from .network import MOST_BYTES, Network, check_network
from .noise import Congestion, Noise
from .noise.source import check_sources, longest_work
from .renames import to_stored
from .steps import ASK, ENTER, MESSAGE, Costs, Step, draws_per_cycle
from .syntax import read_count, read_network, read_noises, read_size
from .timeline import symmetric_timeline
from .units import LONGEST_SECONDS, LONGEST_TICKS, TICKS_PER_SECOND, Seconds, to_ticks

MOST_CYCLES = 100_000
_MOST_DRAWS = 2**31
OBSERVE_CHOICES = ("completion", "spread", "rounds", "rank 0")


@frozen_dataclass()
class Case:
    """One situation to simulate: ranks, algorithm, network, noise and cycles.

    A cycle is a compute phase of `compute_time` and then the collective. There is no barrier: a
    rank starts its next cycle when it has finished this one.

    Parameters
    ----------
    ranks : int
        From 1 to 2^30. Also as text: ``"2^14"``.
    algorithm : Algorithm
        Such as ``Butterfly(exchanges_after=3)`` or ``RingAllreduce()``.
    network : Network
        Such as ``Hockney(alpha="1us", beta="1ns", gamma="0.1ns")`` or ``LogGOPS(...)``. What takes
        the CPU no time (gamma = 0, o = 0) is nothing that noise of the CPU could hit. Also as text:
        ``"L=1us,o=200ns"``, ``"alpha=1us,beta=1ns"``.
    noise : list of Noise
        Sources such as ``PeriodicNoise(...)`` and ``StepNoise(...)``, any number of each kind. The
        CPU is away in the union of their intervals; delays of steps and messages add up. Empty: no
        noise. Also as text (`jitterfly.syntax`): a noise file, ``"period=1ms,duration=10us"``.
    message_bytes : int or str
        Bytes, from 0 (LogGOPS: from 1): the vector of an allreduce, reduce, broadcast or
        reduce-scatter, what each rank contributes to an allgather, the messages of a barrier. As
        text with a unit: ``"8K"``, ``"1KiB"``, ``"4MB"``.
    cycles : int
        From 1 to 100,000.
    compute_time : float or str
        CPU time of a compute phase, seconds.
    observe : "completion", "spread", "rounds" or "rank 0"
        What is reported of each realization. "completion": the ready time of the last rank, for
        each cycle and each T = 0 ... exchanges_after. "spread": the same times as latest, earliest
        and mean over the ranks. "rounds": those three for each row of `ready_times`. "rank 0": the
        times of "completion" when this one rank has the result, which is what theory knows (see
        `jitterfly.theory`).

    Raises
    ------
    ValueError
        A field, or a combination of fields, out of range; also a case that may take longer than
        2^62 ps (53 days) of simulated time, but for what happens once in 10^12 draws. The message
        names field and range.

    Examples
    --------
    >>> import jitterfly as jf
    >>> network = jf.Hockney(alpha="1us", beta="1ns", gamma="0.1ns")
    >>> noise = [jf.PeriodicNoise(period="1ms", duration="10us")]
    >>> case = jf.Case(8, network=network, noise=noise, cycles=2, compute_time="10us")
    >>> case.costs
    Costs(send=0, receive=0, transit=1008000, combine=800)
    >>> jf.Case(0, network=network)
    Traceback (most recent call last):
    ValueError: ranks must be an integer from 1 to 2^30, got 0
    """

    ranks: int
    _: KW_ONLY
    algorithm: Algorithm = Butterfly()
    network: Network
    noise: Sequence[Noise] = ()
    message_bytes: Given[int | str, int] = Given("int | str", 8)
    cycles: int = 1
    compute_time: Seconds = Seconds(0.0)
    observe: Literal["completion", "spread", "rounds", "rank 0"] = "completion"

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("ranks", read_count(self.ranks, "ranks", 1, 2**MOST_ROUNDS))
        _check_type(self.algorithm, "algorithm", Algorithm, "an Algorithm such as Butterfly(...)")
        put("network", check_network(self.network))
        put("noise", check_sources(self.noise))
        least = self.network.smallest_message
        put("message_bytes", read_size(self.message_bytes, "message_bytes", least, MOST_BYTES))
        put("cycles", read_count(self.cycles, "cycles", 1, MOST_CYCLES))
        to_ticks(self.compute_time, "compute_time")
        check_choice(self.observe, "observe", OBSERVE_CHOICES)
        _check_messages(self)
        _check_longest(self)

    @property
    def log2_ranks(self) -> int:
        """K of the largest power of two that is not above `ranks`, rounds of a butterfly."""
        return self.ranks.bit_length() - 1

    @property
    def costs(self) -> Costs:
        """Costs of one message of `message_bytes`, in ticks of 1 ps."""
        return self.network.costs(self.message_bytes)

    def cycle_steps(self) -> list[Step]:
        """The steps of one cycle, the same for each."""
        return list(self.lowered.steps)

    @property
    def lowered(self) -> Cycle:
        """One cycle as the engine takes it, with costs in ticks; the same for each."""
        fields = self.algorithm, self.network, self.ranks, self.message_bytes
        return lower_cycle(*fields, self.is_routed)

    @property
    def is_routed(self) -> bool:
        """Whether messages share links, so that what each costs depends on the others."""
        return any(isinstance(noise, Congestion) for noise in self.noise)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for TOML and JSON; `from_dict` makes the case again."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values["algorithm"] = self.algorithm.to_dict()
        values["network"] = self.network.to_dict()
        values["noise"] = [noise.to_dict() for noise in self.noise]
        return values

    def identity(self) -> dict[str, Any]:
        """What of it decides the results, as plain values: files by their content, not by name.

        Under the field names of the first version, so that its records are found.
        """
        values = self.to_dict() | {
            "algorithm": self.algorithm.identity(),
            "noise": [noise.identity() for noise in self.noise],
        }
        return to_stored(values)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Case:
        """A case from plain values, such as the ``[case]`` table of a study.

        Raises
        ------
        ValueError
            Unknown, missing or bad keys; the message says where.

        Examples
        --------
        >>> network = {"kind": "hockney", "alpha": "100ns", "beta": "1ns"}
        >>> noise = [{"kind": "periodic", "period": "1ms", "duration": "10us"}]
        >>> Case.from_dict({"ranks": 8, "network": network, "noise": noise}).costs.transit
        108000
        """
        check_keys(table, [field.name for field in dataclasses.fields(cls)], "case")
        values = dict(table)
        for key in ("ranks", "network"):
            if key not in values:
                raise ValueError(f"case: key {key!r} is missing")
        values["network"] = Network.from_dict(read_network(values["network"]), "network")
        if "algorithm" in values:
            values["algorithm"] = Algorithm.from_dict(values["algorithm"], "algorithm")
        if "noise" in values:
            tables = read_noises(values["noise"])
            if not isinstance(tables, (list, tuple)):
                raise ValueError(f"noise must be a list of tables, got {shorten(tables)}")
            values["noise"] = [Noise.from_dict(t, f"noise[{i}]") for i, t in enumerate(tables)]
        return cls(**values)


def check_case(value: Any) -> Case:
    """A case, where one is asked for."""
    _check_type(value, "case", Case, "a Case")
    case: Case = value
    return case


def longest_ticks(case: Case) -> int:
    """A bound on any time that occurs under the worst noise that is likely, in ticks."""
    taken: dict[int, int] = {}  # a cycle asks for the same few again and again

    def advance(start: int, work: int) -> int:
        if work not in taken:
            taken[work] = longest_work(case.noise, work)
        return start + taken[work]

    def late(transit: int, load: int) -> int:
        delays = (noise.longest_message_delay(transit) for noise in case.noise)
        return transit + sum(delays) + sum(noise.longest_wait(load) for noise in case.noise)

    cycle = case.lowered
    slow = cycle.costs._replace(transit=late(cycle.costs.transit, cycle.load))
    # Also where few ranks act in a step: the more messages a rank sends and takes, the later it is.
    messages = [
        cost and cost._replace(transit=late(cost.transit, cycle.table.loads[i]))
        for i, cost in zip(cycle.table.of_step, cycle.table.costs(), strict=True)
    ]
    work, forward = to_ticks(case.compute_time), case.algorithm.forward_ticks()
    asking = case.algorithm.asking(case.network)
    line = symmetric_timeline(
        cycle.steps, slow, work, forward, advance, messages=messages, asking=asking
    )
    # The end is when a rank is free; messages of forwards may still be under way, and links taken.
    under_way = slow.transit * sum(step.kind != MESSAGE for step in cycle.steps)
    gap = max((cost.gap for cost in messages if cost is not None), default=0)
    end = max(line.end, line.sends, line.receives + gap)
    return case.cycles * (end + under_way) + sum(noise.lookahead() for noise in case.noise)


def _check_type(value: Any, name: str, kind: type, words: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {words}, got {shorten(value)}")


def _check_longest(case: Case) -> None:
    """Raise ValueError for a case that may take longer than 2^62 ps."""
    longest = longest_ticks(case)
    if longest > LONGEST_TICKS:
        raise ValueError(
            f"the simulated time of a case must stay below {LONGEST_SECONDS:.3g} s (2^62 ps), "
            f"this one may take {longest / TICKS_PER_SECOND:.3g} s: lower compute_time, cycles, "
            "message_bytes, or the times of network and noise"
        )
    for noise in case.noise:
        noise.check_length(longest)


def _check_messages(case: Case) -> None:
    """Raise ValueError for messages that the network or the noise does not know, or too many."""
    cycle = case.lowered
    costs, sends = cycle.costs, [entry.send for entry in cycle.table.entries]
    if sends and not any(step.kind == ENTER for step in cycle.steps):
        costs = Costs(min(sends), 0, 0, 0)  # a forward may follow any of them
    case.network.check_gap(case.algorithm.send_gap(case.ranks, costs))
    for noise in case.noise:
        noise.check(case.ranks, cycle.longest_transit)
    if case.is_routed:
        _check_routed(case)
    draws = draws_per_cycle(cycle.steps)
    if draws * case.cycles > _MOST_DRAWS:
        raise ValueError(
            f"cycles must be from 1 to {_MOST_DRAWS // draws} for "
            f"{type(case.algorithm).__name__} on {case.ranks} ranks (messages of a rank are "
            f"numbered up to 2^31), got {case.cycles}"
        )


def _check_routed(case: Case) -> None:
    """Raise ValueError for messages that can not be routed over a network with other traffic."""
    cycle = case.lowered
    if sum(isinstance(noise, Congestion) for noise in case.noise) > 1:
        raise ValueError("noise must hold at most one Congestion: there is one network")
    if any(step.flags & ASK for step in cycle.steps):
        raise ValueError(
            "on_demand must be empty with Congestion: which questions and answers are on the "
            "links depends on times, which depend on them"
        )
    if case.ranks > 1 and not any([*cycle.table.loads, cycle.load]):
        raise ValueError(
            "message_bytes, and the network's time per byte (beta, G), must be above 0 with "
            "Congestion: messages that take no time on a link do not hold each other up"
        )
