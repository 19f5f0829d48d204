"""`Case`: ranks, algorithm, network, noise source of a simulation; read from TOML; checked to fit.

Also what of it its noise can hit: a source that can hit nothing is an error or a warning. A table
of TOML is made into objects by `read_parts`: network, noise, arrival and speeds.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Literal

from .algorithms import Algorithm, Butterfly
from .algorithms.algorithm import MAX_ROUNDS, Forwarding, is_kind_of
from .algorithms.library_choice import is_library
from .compiled_steps import symmetric_timeline
from .distributions.distribution import LARGEST
from .fields import (
    Converted,
    IntOrText,
    IntOrTextField,
    check_choice,
    check_hashable,
    check_keys,
    check_present,
    frozen_dataclass,
    own_components,
    shorten,
    stacklevel_of_user,
)
from .hierarchy import Hierarchy
from .imbalance import Arrival, Speed, SpeedOrText, check_arrival, check_ranks, check_speed
from .network import MAX_BYTES, Network, NetworkOrText, check_network
from .noise import Congestion, MessageNoise, NetworkWeather, Noise, StepNoise
from .noise.source import (
    MAX_WALKED,
    NO_HOSTS,
    MaxWork,
    NoiseOrText,
    check_sources,
    check_walks,
    content_of,
    longest_work,
    name_in_case,
)
from .program import Collective
from .steps import ASK, DRAWS_PER_CYCLE, ENTER, EXCHANGE, FORWARD, MESSAGE, Costs, Sized
from .syntax import read_count, read_network, read_noises, read_part, read_size
from .units import LONGEST_SECONDS, LONGEST_TICKS, TICKS_PER_SECOND, Seconds, to_ticks
from .workload import Workload

MAX_CYCLES = 100_000
_MAX_NUMBERS = 2**31
OBSERVE_CHOICES = ("completion", "spread", "arrival", "own", "rounds", "rank 0")


@frozen_dataclass()
class Case(Collective):
    """A situation to simulate: ranks, algorithm, network, noise and cycles.

    A cycle is a compute phase of `compute_time` and then the collective. Unless `barrier` is given
    there is none: a rank starts its next cycle when it has finished this one.

    Parameters
    ----------
    ranks : int
        From 1 to 2^30. Also as text: ``"2^14"``.
    algorithm : Algorithm or str
        Such as ``Butterfly(exchanges_after=3)`` or ``RingAllreduce()``. Also its kind as text,
        where it needs no arguments: ``"ring_allreduce"``.
    network : Network or str
        Such as ``Hockney(alpha="1us", beta="1ns", gamma="0.1ns")`` or ``LogGOPS(...)``. What takes
        the CPU no time (gamma = 0, o = 0) is nothing that noise of the CPU could hit. Also as text:
        ``"L=1us,o=200ns"``, ``"alpha=1us,beta=1ns"``.
    noise : list of Noise, str or Path
        Sources such as ``PeriodicNoise(...)`` and ``StepNoise(...)``, any number of each kind. The
        CPU is away in the union of their intervals; delays of steps and messages add up. Empty: no
        noise. Also as text (`jitterfly.syntax`): a noise file, or ``"period=1ms,duration=10us"``.
    message_bytes : int or str
        Bytes, from 0 (LogGOPS: from 1): the vector of an allreduce, reduce, broadcast,
        reduce-scatter, scan or exscan, what each rank contributes to an allgather or a gather, or
        gets of a scatter, the block of one rank for one other in an all-to-all, the messages of a
        barrier. As text with a unit: ``"8K"``, ``"1KiB"``, ``"4MB"``.
    cycles : int
        From 1 to 100,000.
    compute_time : float or str
        CPU time of a compute phase, seconds.
    arrival : Arrival or str, optional
        How late each rank is at each collective: ``imbalance.Ramp("1ms")`` and others. Also as
        text: ``"kind=ramp,longest=1ms"``. Without it all begin at once. Arrivals that are drawn are
        noise (`LateArrival`).
    speed : Speed or str, optional
        How much longer the CPU time of each rank takes in compute phases and in combining:
        ``imbalance.SlowRanks(1.2, ranks=[5])`` and others. Also as text:
        ``"kind=slow_ranks,factor=1.2,ranks=5"``. Speeds that each realization draws anew
        are noise (`SpeedNoise`).
    barrier : Algorithm or str, optional
        That precedes the collective in each cycle, as in the loop of a benchmark, such as
        ``"dissemination_barrier"``. Its messages have the fewest bytes that the network knows, and
        meet noise. Completions count from the begin of the run, the time of the barrier included.
    L_factor, G_factor : Speed or str, optional
        How much longer the latency (L of LogGOPS, alpha of Hockney) and the time of a byte (G,
        beta) are for messages from and to each rank, as over a slow cable or network card:
        ``imbalance.SlowNodes(4, node_ranks=8, nodes=[17])``, or ``imbalance.SlowShare(4, 0.01)``
        for a share of the ranks. The larger factor of the two ranks of a message counts.
    observe : "completion", "spread", "arrival", "own", "rounds" or "rank 0"
        What is reported of each realization. "completion": the ready time of the last rank, for
        each cycle and each T = 0 ... exchanges_after. "spread": the same times as latest, earliest
        and mean over the ranks. "arrival": the same, and of each cycle when ranks arrive at the
        collective: with the compute phase done, as late as `arrival` and `LateArrival` have them,
        and as the cycles before left them. "own" (with a `barrier`): the same, and each rank's own
        time, from when it left the barrier until it has the result: the longest, shortest and mean
        over the ranks, which is what benchmarks print. "rounds": those three for each row of
        `ready_times`. "rank 0": the times of "completion" when this one rank has the result, which
        is what theory knows (see `jitterfly.theory`).

        With several cycles a T is a loop that makes T redundant exchanges in every cycle: each T
        is simulated by itself, on the same noise, and takes as long as a case with that
        `exchanges_after`. So with "arrival" ranks arrive at their own times for each T. "rounds"
        is one loop, that of all exchanges; ``case.loops[-1]`` is a case that has it alone.

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

    ranks: IntOrTextField
    _: KW_ONLY
    algorithm: Converted[Algorithm | str, Algorithm] = Converted("Algorithm | str", Butterfly())
    network: NetworkOrText
    noise: Converted[NoiseOrText, tuple[Noise, ...]] = Converted(
        "sequence of Noise | str | Path", ()
    )
    message_bytes: Converted[IntOrText, int] = Converted("int | str", 8)
    cycles: IntOrTextField = IntOrTextField(1)
    compute_time: Seconds = Seconds(0.0)
    observe: Literal["completion", "spread", "arrival", "own", "rounds", "rank 0"] = "completion"
    arrival: Converted[Arrival | str | None, Arrival | None] = Converted(
        "Arrival | str | None", None
    )
    speed: SpeedOrText = SpeedOrText()
    barrier: Converted[Algorithm | str | None, Algorithm | None] = Converted(
        "Algorithm | str | None", None
    )
    L_factor: SpeedOrText = SpeedOrText()
    G_factor: SpeedOrText = SpeedOrText()

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("ranks", read_count(self.ranks, "ranks", 1, 2**MAX_ROUNDS))
        if isinstance(self.algorithm, str):
            put("algorithm", read_algorithm(self.algorithm))
        _check_type(
            self.algorithm, "algorithm", Algorithm, "an Algorithm such as Butterfly(...), or text"
        )
        put("network", check_network(self.network))
        put("noise", check_sources(self.noise))
        for own in own_components((self.algorithm, self.noise)):
            check_hashable(own)
        least = self.network.smallest_message
        put("message_bytes", read_size(self.message_bytes, "message_bytes", least, MAX_BYTES))
        put("cycles", read_count(self.cycles, "cycles", 1, MAX_CYCLES))
        to_ticks(self.compute_time, "compute_time")
        check_choice(self.observe, "observe", OBSERVE_CHOICES)
        put("barrier", _check_barrier(self.barrier))
        if self.observe == "own" and self.barrier is None:
            raise ValueError(
                "observe = 'own' is the time since a rank left the barrier: give barrier, such as "
                "'dissemination_barrier'"
            )
        if not self.is_even:
            put("arrival", check_arrival(self.arrival))
            for name in ("speed", "L_factor", "G_factor"):
                put(name, check_speed(getattr(self, name), name))
            check_ranks(self.ranks)
            self.rank_delays()
            self.rank_work()
        _check_messages(self)
        _check_longest(self)

    @property
    def loops(self) -> tuple[Case, ...]:
        """The cases that are simulated for its columns: one for each T, ascending, or itself alone.

        One program has the completions of all T of its first collective, and no more: later ones
        begin when all exchanges of those before are paid for. The last loop, of all exchanges, is
        what such a case does where nobody asks for other T.
        """
        algorithm = self.algorithm
        if self.cycles == 1 or self.observe == "rounds" or not isinstance(algorithm, Forwarding):
            return (self,)
        most = algorithm.forwards(self.ranks)
        if most == 0:
            return (self,)
        fewer = (algorithm.with_forwards(T) for T in range(most))
        return tuple(_one_loop(self, loop) for loop in (*fewer, algorithm))

    def to_dict(self) -> dict[str, Any]:
        """The plain values, for TOML and JSON; `from_dict` makes the case again."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values["algorithm"] = self.algorithm.to_dict()
        values["network"] = self.network.to_dict()
        values["noise"] = [noise.to_dict() for noise in self.noise]
        # Younger than records on disk: left out where not given.
        for name in ("arrival", "speed", "barrier", "L_factor", "G_factor"):
            part = values.pop(name)
            if part is not None:
                values[name] = part.to_dict()
        return values

    def identity(self) -> dict[str, Any]:
        """The plain values that decide the results: files by their content, not by name.

        Under the field names of the first version, so that its records are found.
        """
        values = self.to_dict() | {
            "algorithm": content_of(self.algorithm.identity()),
            "network": self.network.identity(),
            "noise": [noise.identity() for noise in self.placed_noise],
        }
        if self.arrival is not None:
            values["arrival"] = content_of(self.arrival.to_dict())
        if self.barrier is not None:
            values["barrier"] = self.barrier.identity()
        if self.cycles > 1 and self.observe != "rounds" and self._completes_repeatedly:
            # Records without this have all exchanges in the cycles before the T of a column.
            values["loops"] = len(self.loops)
        # Before, the numbers of draws depended on how many steps there are: other records.
        numbered = {"draws": "by step"} if self._draws_by_step() else {}
        return _hashed_names(values) | numbered | self.content_of_own()

    def _draws_by_step(self) -> bool:
        """Return whether any noise draws under other numbers than in the first version.

        There, cycle c began at c times the numbers of a cycle, for congestion at c times its
        rounds.
        """
        drawn = {what for noise in self.noise for what in noise.draws_each}
        beyond, several = self.compiled_steps.numbers > DRAWS_PER_CYCLE, self.cycles > 1
        if beyond or "load" not in drawn:
            return beyond and ("cycle" not in drawn or several or len(drawn) > 1) and bool(drawn)
        steps = self.compiled_steps.steps
        rounds = dict.fromkeys(
            number
            for step in steps
            if step.kind in (EXCHANGE, MESSAGE)
            for number in range(step.round, step.round + step.repeat)
        )
        forwards = any(step.kind == FORWARD for step in steps)
        return several or forwards or list(rounds) != list(range(len(rounds)))

    @property
    def _completes_repeatedly(self) -> bool:
        return sum(step.redundancy is not None for step in self.compiled_steps.steps) > 1

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
        check_present(values, ("ranks", "network"), "case")
        for name in ("algorithm", "barrier"):
            if not isinstance(values.get(name), (str, type(None))):  # which the case reads itself
                values[name] = Algorithm.from_dict(values[name], name)
        return cls(**read_parts(values))


_HASHED = {"compute_time": "work"}
_HASHED_OF_ALGORITHM = {"exchanges_after": "after", "copy_levels": "within"}


def _hashed_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """A case's plain values, with the names of fields and kinds of the first version.

    Identities are made of these names, so that records of every version are found.
    """
    made = {_HASHED.get(key, key): value for key, value in values.items()}
    made["algorithm"] = {
        _HASHED_OF_ALGORITHM.get(key, key): value for key, value in values["algorithm"].items()
    }
    made["noise"] = [
        {
            "synchronized" if (one["kind"], key) == ("periodic", "shared") else key: _hashed(value)
            for key, value in one.items()
        }
        for one in values["noise"]
    ]
    return made


def _hashed(value: Any) -> Any:
    """A field of noise, in which a constant distribution is called "fixed"."""
    if isinstance(value, Mapping):
        kind = {"kind": "fixed"} if value.get("kind") == "constant" else {}
        return {key: _hashed(one) for key, one in value.items()} | kind
    if isinstance(value, (list, tuple)):
        return [_hashed(one) for one in value]
    return value


class OneLoop(Case):
    """A case with several cycles that observes a single loop: that with all its exchanges."""

    @property
    def loops(self) -> tuple[Case, ...]:
        return (self,)


def _one_loop(case: Case, algorithm: Algorithm) -> OneLoop:
    """A case with fewer redundant exchanges, made without the checks of a new case."""
    loop = object.__new__(OneLoop)
    vars(loop).update(case.__getstate__(), algorithm=algorithm)
    return loop


def read_parts(table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a case with network, noise, arrival and speeds made of their tables or text."""
    values = dict(table)
    values["network"] = Network.from_dict(read_network(values["network"]), "network")
    speeds = ((name, Speed) for name in ("speed", "L_factor", "G_factor"))
    for name, family in (("arrival", Arrival), *speeds):
        if values.get(name) is not None:
            one = values[name]
            table = read_part(one, name) if isinstance(one, str) else one
            values[name] = family.from_dict(table, name)  # type: ignore[attr-defined]
    if "noise" in values:
        tables = read_noises(values["noise"])
        if not isinstance(tables, (list, tuple)):
            raise ValueError(f"noise must be a list of tables, got {shorten(tables)}")
        values["noise"] = [Noise.from_dict(t, f"noise[{i}]") for i, t in enumerate(tables)]
    return values


def read_algorithm(text: str) -> Algorithm:
    """An algorithm by its kind, where it needs no arguments, such as "ring_allreduce".

    Raises
    ------
    ValueError
        There is none of that name, it is a library, or it needs arguments.
    """
    kind = text.strip()
    if is_library(kind):
        raise ValueError(
            f"algorithm must be that of a case, and {kind} chooses one by ranks and bytes: give "
            f"LibraryRules({kind!r}).choice(ranks, network, message_bytes).algorithm; questions "
            "such as slowdown take the name"
        )
    check_choice(kind, "algorithm", Algorithm.kinds())
    return Algorithm.from_dict({"kind": kind}, "algorithm")


def _check_barrier(value: Any) -> Algorithm | None:
    """Return the barrier of a case: an algorithm of that collective, or its kind as text."""
    if value is None:
        return None
    barrier = value
    if isinstance(value, str):
        kinds = [kind for kind in Algorithm.kinds() if is_kind_of(kind, "barrier")]
        barrier = read_algorithm(check_choice(value.strip(), "barrier", kinds))
    _check_type(barrier, "barrier", Algorithm, "one such as DisseminationBarrier(), or text")
    if not is_kind_of(barrier.kind, "barrier"):
        raise ValueError(f"barrier must be one, such as dissemination_barrier, got {barrier.kind}")
    return barrier


def check_case(value: Any) -> Case:
    """Return `value` if it is a `Case`; anything else is a ValueError."""
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

    compiled, table = case.compiled_steps, case.compiled_steps.table
    slow = compiled.costs._replace(
        transit=late(compiled.costs.transit, compiled.load),
        combine=_longest_slowed(case, compiled.costs.combine),
    )
    # Also where few ranks act in a step: the more messages a rank sends and takes, the later it is.
    messages = [
        cost
        and cost._replace(
            transit=late(cost.transit, load),
            receive=cost.receive + _longest_slowed(case, combine) - combine,
        )
        for cost, load, combine in zip(
            table.costs(), table.largest_loads(), table.longest_combining(), strict=True
        )
    ]
    own_work, late_ranks = case.rank_work(), case.rank_delays()
    work = to_ticks(case.compute_time) if own_work is None else int(own_work.max())
    work = _longest_slowed(case, work)
    line = symmetric_timeline(
        compiled.steps,
        slow,
        work,
        compiled.forward,
        advance,
        messages=messages,
        asking=compiled.asking,
    )
    # The end is when a rank is free; messages of forwards may still be under way, and links taken.
    under_way = slow.transit * sum(step.kind != MESSAGE for step in compiled.steps)
    gap = max((cost.gap for cost in messages if cost is not None), default=0)
    end = max(line.end, line.sends, line.receives + gap)
    if late_ranks is not None:
        end += int(late_ranks.max())
    end += sum(noise.longest_arrival() for noise in case.noise)
    return case.cycles * (end + under_way) + sum(noise.lookahead() for noise in case.noise)


def _longest_slowed(case: Case, work: int, *, ever: bool = False) -> int:
    """Return the longest time for `work` ticks at a rank's usual speed, under all noise."""
    for noise in case.noise:
        work = noise.longest_slowed(work, ever=ever)
    return work


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
    if all(noise.intervals_in(longest) <= MAX_WALKED for noise in case.noise):
        return
    work, own = case.work_in_cycle(trailing=True), case.rank_work()
    compute = _longest_slowed(case, work.compute if own is None else int(own.max()))
    check_walks(case.noise, case.cycles * compute, case.cycles * work.communication)


def _check_messages(case: Case) -> None:
    """Raise ValueError for messages that network, noise, speeds or the engine can not take."""
    compiled = case.compiled_steps
    costs, table = compiled.costs, compiled.table
    entries = table.used([i for i, step in enumerate(compiled.steps) if step.kind == MESSAGE])
    if entries and not any(step.kind == ENTER for step in compiled.steps):
        # A forward may follow any of them.
        least = min(entry.send for entry in entries), min(entry.receive for entry in entries)
        costs = Costs(*least, 0, 0)
    gap = case.algorithm.send_gap(case.ranks, costs)
    if case.cycles > 1 and case.algorithm.forwards(case.ranks):
        # The first message of the next cycle may follow the last forward at once.
        gap = min(gap, compiled.forward + _shortest_work(case))
    case.network.check_gap(gap)
    for noise in case.placed_noise:
        noise.check(case.ranks, compiled.longest_transit)
    if any(step.switch is not None for step in compiled.steps):
        _check_switches(case)
        _check_ranks_at_switches(case)
    if case.draws_speeds:
        _check_slowed(case)
    if case.is_routed and (case.L_factor is not None or case.G_factor is not None):
        raise ValueError(
            "L_factor and G_factor must be left out with Congestion, whose links are all alike"
        )
    if case.is_routed:
        _check_routed(case)
    if compiled.numbers * case.cycles > _MAX_NUMBERS:
        raise ValueError(
            f"cycles must be from 1 to {_MAX_NUMBERS // compiled.numbers} for "
            f"{type(case.algorithm).__name__} on {case.ranks} ranks (messages of a rank are "
            f"numbered up to 2^31), got {case.cycles}"
        )


def allows_switches(noises: Iterable[Noise]) -> bool:
    """Return whether switches may combine: no noise delays single messages or steps of ranks."""
    return not any(
        isinstance(noise, (MessageNoise, Congestion))
        or (isinstance(noise, StepNoise) and noise.during != "compute")
        or (isinstance(noise, NetworkWeather) and noise.longer is None)
        for noise in noises
    )


def _check_switches(case: Case) -> None:
    """Raise ValueError for noise of each message, which would meet those inside of switches."""
    for place, noise in enumerate(case.noise):
        if not allows_switches([noise]):
            raise ValueError(
                f"{name_in_case(place, noise.kind)} must be left out with {case.algorithm.kind}, "
                "in which switches combine: it delays each message or step of a rank, and what "
                "switches do is none; give noise of the CPU, jitter, or weather with longer"
            )


def _check_ranks_at_switches(case: Case) -> None:
    """Raise ValueError for a switch within nodes with ranks of several, or one without a place."""
    network, ranks, kind = case.network, case.ranks, case.algorithm.kind
    if not isinstance(network, Hierarchy):
        return
    for step in case.compiled_steps.steps:
        if step.switch is None or step.switch.part != "post" or step.partners is None:
            continue
        level = step.switch.level % len(network.levels)
        if level == len(network.spans):  # the outermost, on which all ranks are
            if network.distances is not None:
                raise ValueError(
                    f"network: distances must be left out with {kind}, in which switches between "
                    "nodes combine: those are no hosts, so that nothing says how far they are"
                )
            continue
        # A post goes to the port of the next rank of its group, around it: so all are compared.
        pairs = step.partners.pair_array(ranks)
        if (network.levels_between(pairs[:, 0], pairs[:, 1], ranks) > level).any():
            together = min(getattr(case.algorithm, "node_ranks", ranks), ranks)
            node = network.spans[level]
            raise ValueError(
                f"algorithm: {together} ranks are not at one switch, which has the {node} of a node"
                if together > node
                else f"algorithm: {kind} must have the ranks of each switch in one node: with "
                "placement 'block', and the ranks of its first level as node_ranks"
            )


def _shortest_work(case: Case) -> int:
    """The shortest time of a compute phase, in ticks."""
    if case.draws_speeds:
        return 0
    own = case.rank_work()
    return to_ticks(case.compute_time) if own is None else int(own.min())


def _check_slowed(case: Case) -> None:
    """Raise ValueError for work that may take too long at a time for the engine's arithmetic."""
    own = case.rank_work()
    work = to_ticks(case.compute_time) if own is None else int(own.max())
    work = max(work, case.compiled_steps.costs.combine, *case.compiled_steps.table.combines, 0)
    longest = _longest_slowed(case, work, ever=True)
    if longest >= LARGEST:
        raise ValueError(
            f"noise: what a rank computes or combines at a time must take less than "
            f"{LARGEST / TICKS_PER_SECOND:.3g} s (2^60 ps) at its drawn speed, it may take "
            f"{longest / TICKS_PER_SECOND:.3g} s: lower compute_time or the factor of SpeedNoise, "
            "or cut the tail of its distribution with longest"
        )


def _check_routed(case: Case) -> None:
    """Raise ValueError for messages that can not be routed over a network with other traffic."""
    compiled, network = case.compiled_steps, case.network
    if isinstance(network, Hierarchy) and network.levels[0].size != 1:
        raise ValueError(
            "network must be no Hierarchy of nodes of several ranks with Congestion: a rank is a "
            "host there, so that messages within a node would be on the links; give a LogGOPS or "
            "Hockney network, with a rank for each node"
        )
    if sum(isinstance(noise, Congestion) for noise in case.noise) > 1:
        raise ValueError("noise must hold at most one Congestion: there is one network")
    if any(not step.receives for step in compiled.steps if step.kind == MESSAGE):
        raise ValueError(
            f"algorithm: {case.algorithm.kind} has several messages of a rank under way at once; "
            "with Congestion that is not modelled, as links are loaded step by step"
        )
    if any(isinstance(step.partners, Sized) for step in compiled.steps):
        raise ValueError(
            f"algorithm: messages of a step of {case.algorithm.kind} differ in size; with "
            "Congestion that is not modelled, as those that share a link are alike there"
        )
    if any(step.flags & ASK for step in compiled.steps):
        raise ValueError(
            "on_demand must be empty with Congestion: which questions and answers are on the "
            "links depends on times, which depend on them"
        )
    if case.ranks > 1 and not any([*compiled.table.loads, compiled.load]):
        raise ValueError(
            "message_bytes, and the network's time per byte (beta, G), must be above 0 with "
            "Congestion: messages that take no time on a link do not hold each other up"
        )


class IneffectiveNoiseWarning(UserWarning):
    """A source of noise can hit nothing in the case that is simulated."""


class ScarceRecordingWarning(UserWarning):
    """Noise that does not fit the nodes, or was measured: few detours decide, or it may be load."""


class UnseenChangeWarning(UserWarning):
    """A piece of work, or a message's way, is longer than the time that its draw `holds`."""


class IneffectiveSpeedWarning(UserWarning):
    """Ranks are slow at what the case, or the schedule, does not do."""


class UnusedCostWarning(UserWarning):
    """A cost of the network, or a factor on one, is given and counts nowhere."""


def check_effective(
    cases: Iterable[Workload], sources: int | None = None, *, trailing: bool = True
) -> None:
    """Raise ValueError for noise that can hit nothing in any cell: it would be ignored.

    Where all cases have the same `sources` of noise, it goes through them until each hits one.
    Without `trailing`, forwards after the last result do not count as something to hit.
    """
    hits: set[tuple[int, str]] = set()
    reasons: dict[tuple[int, str], str] = {}
    ranks = 1
    for case in cases:
        if len(hits) == sources:
            return
        ranks = max(ranks, case.ranks)
        for key in ((i, noise.kind) for i, noise in enumerate(case.noise)):
            if key in hits:
                continue
            source = case.noise[key[0]]
            if isinstance(case, Case) and not trailing and case.cycles == 1:
                work = case.work_in_cycle(trailing=False)
            else:
                work = case.max_work(source)
            why = source.why_ineffective(work)
            if not why and not source.acts_on_any(case.ranks):
                why = f"{NO_HOSTS} of the ranks; give a larger share, or more ranks"
            if not why:
                hits.add(key)
            else:  # behind the semicolon: fields of a collective's case that would change it
                reasons[key] = why if isinstance(case, Case) else why.partition(";")[0]
    for key, why in reasons.items():
        if key not in hits:
            raise ValueError(_hits_nothing(*key, f" in any cell: {why}", ranks))


def warn_of_absent_hosts(cases: Iterable[Workload]) -> None:
    """Warn of the first case with a source that acts on none of its ranks; others may have some."""
    for case in cases:
        for place, noise in enumerate(case.noise):
            if not noise.acts_on_any(case.ranks):
                message = f"{name_in_case(place, noise.kind)}: {noise.unused_part(case.ranks)}"
                warnings.warn(message, IneffectiveNoiseWarning, stacklevel=stacklevel_of_user())
                return


NOISE_TOO_LATE = (
    "all is over when the noise begins, so that it can hit nothing: give an earlier begin"
)


def begins_after(noise: Noise, seconds: float) -> bool:
    """Return whether a noise has a `begin` at or after this time."""
    begin = getattr(noise, "begin", 0.0)
    return bool(begin) and begin >= seconds


def warn_of_late_noise(cases: Iterable[Workload]) -> bool:
    """Warn of the first case that is over when its noise, each source of it, begins.

    It takes the times without noise of the cases before, and returns whether there is such a case.
    """
    for case in cases:
        if case.noise and all(begins_after(noise, 0.0) for noise in case.noise):
            end = float(case.noise_free_ticks().max()) / TICKS_PER_SECOND
            if all(begins_after(noise, end) for noise in case.noise):
                where = f"on {case.ranks:,} rank{'s' * (case.ranks != 1)} {NOISE_TOO_LATE}"
                warnings.warn(where, IneffectiveNoiseWarning, stacklevel=stacklevel_of_user())
                return True
    return False


def warn_of_ineffective_noise(case: Case) -> None:
    """Warn of each source that can hit nothing, or not all, in a case that is simulated alone.

    There is no warning where its delays are 0, or where one rank without work does nothing at all.
    """
    warn_of_ineffective_speeds([case])
    if not case.noise or (case.ranks == 1 and not case.compute_time):
        return
    warn_of_ineffective_sources(case.noise, [case.max_work()] * len(case.noise), case.ranks)
    warn_of_late_noise([case])


def warn_of_ineffective_sources(
    sources: Iterable[Noise], work: Sequence[MaxWork], ranks: int, *, remedies: bool = True
) -> None:
    """Warn of each source that can hit nothing of its work, or not all of it.

    Without `remedies` there is no word of what would change that: they are fields of a case.
    """
    for i, (noise, own) in enumerate(zip(sources, work, strict=True)):
        why = noise.why_ineffective(own)
        if why and noise.longest_effect(own) > 0:
            reason = why if remedies else why.partition(";")[0]
            message = _hits_nothing(i, noise.kind, f", so it is without effect: {reason}", ranks)
            warnings.warn(message, IneffectiveNoiseWarning, stacklevel=stacklevel_of_user())
        elif unused := noise.unused_part(ranks):
            message = f"{name_in_case(i, noise.kind)}: {unused}"
            warnings.warn(message, IneffectiveNoiseWarning, stacklevel=stacklevel_of_user())


def warn_of_doubts(measured: Iterable[str], unseen: Iterable[str]) -> None:
    """Warn of scarce recordings and other measured noise, and of unseen changes: see `doubts`."""
    for category, told in ((ScarceRecordingWarning, measured), (UnseenChangeWarning, unseen)):
        for text in told:
            warnings.warn(text, category, stacklevel=stacklevel_of_user())


@contextmanager
def without_warnings_of_doubts() -> Iterator[None]:
    """Have no warnings of doubts in the block, where the notes of an answer have them as well."""
    with warnings.catch_warnings():
        for category in (ScarceRecordingWarning, UnseenChangeWarning):
            warnings.simplefilter("ignore", category)
        yield


def warn_of_ineffective_speeds(cases: Iterable[Workload]) -> None:
    """Warn where ranks are slow in none of the cases that give them a speed."""
    first: tuple[Speed, str] | None = None
    for case in cases:
        if case.speed is None or case.ranks == 1:
            continue
        if not (why := case.why_speed_is_ineffective()):
            return
        first = first or (case.speed, why)
    if first is not None:
        warn_of_ineffective_speed(*first)


def warn_of_ineffective_speed(speed: Speed, why: str) -> None:
    """Warn of speeds that change nothing, and say why."""
    warnings.warn(
        f"speed ({speed.kind}) acts on nothing, so it is without effect: {why}",
        IneffectiveSpeedWarning,
        stacklevel=stacklevel_of_user(),
    )


def warn_of_unused_costs(cases: Iterable[Workload]) -> None:
    """Warn of the first collective that takes no time although combining a byte would (gamma).

    And of one whose factors on latency or the time of a byte have nothing to multiply.
    """
    for case in cases:
        if not isinstance(case, Case):
            continue
        for name, cost in (("L_factor", "L"), ("G_factor", "G")):
            if getattr(case, name) is not None and getattr(case.network, cost, 1) == 0:
                text = f"{name} acts on nothing, so it is without effect: network.{cost} is 0"
                warnings.warn(text, UnusedCostWarning, stacklevel=stacklevel_of_user())
                return
        gamma = getattr(case.network, "gamma", 0)
        if case.ranks == 1 or not gamma or not case.message_bytes:
            continue
        work = case.work_in_cycle(trailing=True)
        if work.communication == 0 and work.transit == 0:
            warnings.warn(
                f"network.gamma = {gamma:g} s counts nowhere, so the collective takes no time: "
                f"{case.algorithm.kind} combines nothing; give the time of a message on its way "
                "(alpha, L) or on the CPU (o of a LogGOPS network)",
                UnusedCostWarning,
                stacklevel=stacklevel_of_user(),
            )
            return


def _hits_nothing(place: int, kind: str, why: str, ranks: int) -> str:
    """Return the message of an error: a source of noise can hit nothing."""
    alone = "" if ranks > 1 else " (one rank exchanges nothing)"
    return f"{name_in_case(place, kind)} can hit nothing{why}{alone}"
