"""`Question`: a parameter is stated once; call, option, TOML key, JSON and documentation follow.

A question is a frozen class whose fields are kinds of `Parameter`. From the class come the Python
call with its signature and its text (`call_of`), the options of the command (`cli.options`), the
plain values that JSON holds and `--out` compares (`Question.to_dict`), and the table of the
documentation (`parameters_table`).
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

from .algorithms import Algorithm
from .algorithms.candidates import algorithm_named
from .algorithms.library_choice import DEFAULT_LIBRARY, LibraryRules, is_library
from .backends import BACKENDS, backend_named, check_progress, progress_of_call
from .case import MAX_CYCLES, Case, check_case
from .fields import (
    MAX_SEED,
    MAX_THREADS,
    NO_DEFAULT,
    Component,
    Converted,
    Dataclass,
    Held,
    Int,
    IntOrText,
    Ints,
    Real,
    RealOrText,
    Taken,
    check_choice,
    check_keys,
    dataclass_transform,
    frozen_dataclass,
    naming_fields,
    plain_value,
    shorten,
)
from .imbalance import Arrival, check_arrival, check_speed
from .network import DEFAULT_NETWORK, MAX_BYTES, Network, check_network
from .noise import Noise
from .noise.source import NoiseOrText, check_sources
from .progress import realizations_done, share_done
from .simulate import Engine
from .stats.intervals import check_confidence
from .syntax import (
    read_bytes,
    read_count,
    read_devices,
    read_network,
    read_noise_texts,
    read_noises,
    read_part,
    read_ranks,
    read_share,
    read_size,
    share_of_completion,
)
from .units import Time, parse_seconds, warn_of_long

ASKED, EFFORT, ENGINE = "asked", "effort", "engine"
"""What a parameter decides: what is asked; how long an answer is looked for; what computes it."""

_Q = TypeVar("_Q", bound="Question")
_P = ParamSpec("_P")
_T = TypeVar("_T")
_A = TypeVar("_A")
_C = TypeVar("_C", bound=Component)
_N = TypeVar("_N", bound=Network)
_W = TypeVar("_W", str, str | None)


class Parameter(Converted[Taken, Held]):
    """A field of a question.

    Parameters
    ----------
    help : str
        What it is, for the command, for help() and for the pages: without a capital and a stop.
    more : str
        Sentences that help() has beyond that.
    default : optional
        Without it the parameter must be given.
    usual : str
        The default in words, where it is no plain value.
    option : str or None
        The option without its dashes, where it is not the name; None: the command has none.
    key : str
        The key of JSON, where it is not the name.
    part : str
        ASKED, EFFORT or ENGINE. Answers to the same question may differ in EFFORT, and what
        computes them is no part of it.
    metavar : str
        The value in the help of the command, where it is not that of the class.
    """

    takes: ClassVar[str]
    """What may be passed, for help()."""
    metavar: ClassVar[str | None] = "N"
    argument: ClassVar[Mapping[str, Any]] = {}
    """More arguments of argparse's `add_argument`."""

    def __init__(
        self,
        help: str,
        more: str = "",
        *,
        default: Taken | Held = NO_DEFAULT,
        usual: str = "",
        option: str | None = "",
        key: str = "",
        part: str = ASKED,
        metavar: str = "",
    ) -> None:
        super().__init__(self.takes, default)
        if metavar:
            self.metavar = metavar  # type: ignore[misc]  # of this field alone
        self.help, self.more, self._usual, self.part = help, more, usual, part
        self.option, self.key = option, key

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        if self.option == "":
            self.option = name.replace("_", "-")
        self.key = self.key or name

    def __set__(self, instance: object, value: Taken) -> None:
        with naming_fields(self._name):
            instance.__dict__[self._name] = self.read(value, self._name)

    @property
    def default(self) -> Any:
        """The value where none is given; NO_DEFAULT where one must be."""
        return self._default

    @property
    def usual(self) -> str:
        """The default in words; "" if it needs no mention."""
        default = self._default
        if self._usual or default is NO_DEFAULT or default in (None, ()):
            return self._usual
        return f"{default:,}" if isinstance(default, int) else str(default)

    @property
    def sentence(self) -> str:
        """The help of its option: what it is, with its default."""
        return f"{self.help} (default {self.usual})" if self.usual else self.help

    def read(self, value: Any, name: str) -> Held:
        """Read what Python passes; ValueError whose text begins with `name`."""
        held: Held = value
        return held

    def from_text(self, text: Any, name: str, given: Mapping[str, Any]) -> Any:
        """Read what follows the option on a command line; `given` has the values before it."""
        return self.read(text, name)

    def from_plain(self, value: Any, name: str) -> Any:
        """Read the plain value that TOML or JSON has."""
        return self.read(value, name)

    def plain(self, value: Any) -> Any:
        """The value for JSON."""
        return plain_value(value)


class Anything(Parameter[Taken, Taken]):
    """A parameter of which nothing is checked here; `takes` says what may be passed."""

    def __init__(self, help: str, more: str = "", *, takes: str, **options: Any) -> None:
        self.takes = takes  # type: ignore[misc]  # of this field alone
        super().__init__(help, more, **options)


class Confidence(Parameter[Real, float]):
    """The confidence of the intervals of an answer."""

    takes = "float"

    def __init__(self, help: str) -> None:
        super().__init__(help, default=0.95, option=None)

    def read(self, value: Any, name: str) -> float:
        return check_confidence(value)


class Ranks(Parameter[Ints, tuple[int, ...]]):
    """Numbers of ranks, ascending."""

    takes = "int | str | Sequence[int]"
    metavar = "N,..."

    def read(self, value: Any, name: str) -> tuple[int, ...]:
        return tuple(sorted(read_ranks(value, name)))


class Sizes(Parameter[Ints, tuple[int, ...]]):
    """Message sizes in bytes, ascending."""

    takes = "int | str | Sequence[int]"
    metavar = "N,..."

    def read(self, value: Any, name: str) -> tuple[int, ...]:
        return tuple(sorted(read_bytes(value, name)))


class Count(Parameter[IntOrText, int]):
    """A whole number from `low` to `high`."""

    takes = "int | str"

    def __init__(self, help: str, more: str = "", *, low: int, high: int, **options: Any) -> None:
        super().__init__(help, more, **options)
        self.low, self.high = low, high

    def read(self, value: Any, name: str) -> int:
        return read_count(value, name, self.low, self.high)


class Seed(Count):
    """The number that the draws begin with."""

    def __init__(self, help: str, more: str = "", **options: Any) -> None:
        super().__init__(help, more, low=0, high=MAX_SEED, **options)


class OptionalCount(Parameter[IntOrText | None, int | None]):
    """A whole number from `low` to `high`, or None."""

    takes = "int | str | None"

    def __init__(self, help: str, more: str = "", *, low: int, high: int, **options: Any) -> None:
        super().__init__(help, more, default=None, **options)
        self.low, self.high = low, high

    def read(self, value: Any, name: str) -> int | None:
        return None if value is None else read_count(value, name, self.low, self.high)


class Share(Parameter[RealOrText, float]):
    """A share from `low` to below `high`; `example` is what an error shows."""

    takes = "float | str"
    metavar = "SHARE"

    def __init__(
        self, help: str, more: str = "", *, low: float, high: float, example: str, **options: Any
    ) -> None:
        super().__init__(help, more, **options)
        self.range = low, high, example

    def read(self, value: Any, name: str) -> float:
        return read_share(value, name, *self.range)


class Choice(Parameter[_W, _W]):
    """One of a few words; None where that is the default."""

    takes = "str"
    metavar = "NAME"

    def __init__(
        self, help: str, more: str = "", *, allowed: Sequence[str], **options: Any
    ) -> None:
        super().__init__(help, more, **options)
        self.allowed = allowed

    def read(self, value: Any, name: str) -> Any:
        none = value is None and self.default is None
        return value if none else check_choice(value, name, self.allowed)


class Part(Parameter[_C | str | None, _C | None]):
    """An exchangeable part of a case, such as its arrival, or None: keys and values."""

    metavar = "K=V,..."

    def __init__(self, family: Any, help: str, more: str = "") -> None:
        self.takes = f"{family.__name__} | str | None"  # type: ignore[misc]  # of this field alone
        super().__init__(help, more, default=None)
        self.family: type[_C] = family  # Any: mypy takes no abstract class for type[_C]

    def read(self, value: Any, name: str) -> _C | None:
        if value is None:
            return None
        checked = check_arrival(value) if self.family is Arrival else check_speed(value, name)
        return cast("_C | None", checked)

    def from_text(self, text: str, name: str, given: Mapping[str, Any]) -> _C:
        return self.family.from_dict(read_part(text, name), name)

    def from_plain(self, value: Any, name: str) -> Any:
        return self.family.from_dict(value, name) if isinstance(value, Mapping) else value


ARRIVAL = (
    "how late ranks are: kind=one_late,delay=1ms,rank=7; kind=ramp,longest=1ms; "
    "kind=file,file=late.txt"
)
"""The help on arrivals, in all questions about a collective."""
L_FACTOR = (
    "by how much longer messages from and to ranks are on their way (a slow cable): "
    "kind=slow_nodes,factor=4,node_ranks=8,nodes=17"
)
G_FACTOR = (
    "the same of the time of a byte (a slow network card): "
    "kind=slow_share,factor=4,share=0.01,node_ranks=8"
)
"""The help on slow links and cards, likewise."""


class CaseParameter(Parameter[Case, Case]):
    """The case that is asked about; a command reads it from a file, or from options of its own."""

    takes = "Case"

    def __init__(self, more: str = "") -> None:
        super().__init__("what is simulated", more, option=None)

    def read(self, value: Any, name: str) -> Case:
        return check_case(value)

    def plain(self, value: Case) -> Any:
        return value.to_dict()


class Bytes(Parameter[IntOrText, int]):
    """One message size, which the network of the question takes."""

    takes = "int | str"

    def __set__(self, instance: object, value: IntOrText) -> None:
        with naming_fields(self._name):
            instance.__dict__[self._name] = self._read(value, self._name, vars(instance))

    def _read(self, value: Any, name: str, given: Mapping[str, Any]) -> int:
        least = given.get("network", Network).smallest_message
        return read_size(value, name, least, MAX_BYTES)

    def from_text(self, text: str, name: str, given: Mapping[str, Any]) -> int:
        return self._read(text, name, given)


class Duration(Parameter[Time, float]):
    """A time, which is held in seconds."""

    takes = "float | str"
    metavar = "TIME"

    def read(self, value: Any, name: str) -> float:
        return parse_seconds(value, name)

    def from_text(self, text: str, name: str, given: Mapping[str, Any]) -> float:
        seconds = self.read(text, name)
        warn_of_long(text, name)
        return seconds


class NetworkParameter(Parameter[Network | str, _N]):
    """The network: what a message costs."""

    takes = "Network | str"
    metavar = "K=V,..."

    def read(self, value: Any, name: str) -> _N:
        return check_network(value)  # type: ignore[return-value]  # a subclass checks more

    def from_text(self, text: str, name: str, given: Mapping[str, Any]) -> Network:
        return Network.from_dict(read_network(text, name), name)

    def from_plain(self, value: Any, name: str) -> Any:
        return Network.from_dict(value, name) if isinstance(value, Mapping) else value


class StatisticName(Parameter[str, str]):
    """The name of a statistic of completion: "mean", or a quantile such as "p99.9"."""

    takes = "str"
    metavar = "NAME"

    def read(self, value: Any, name: str) -> str:
        share_of_completion(value)
        return str(value)


class NoiseParameter(Parameter[NoiseOrText, tuple[Noise, ...]]):
    """The sources of noise."""

    takes = "str | Path | Noise | Sequence[Noise | str | Path]"
    metavar = "FILE|K=V,..."
    argument: ClassVar[Mapping[str, Any]] = {"action": "append"}

    def read(self, value: Any, name: str) -> tuple[Noise, ...]:
        return check_sources(value)

    def from_text(self, text: list[str], name: str, given: Mapping[str, Any]) -> Any:
        names = [name] if len(text) == 1 else [f"{name}[{i}]" for i in range(len(text))]
        return list(map(Noise.from_dict, read_noise_texts(text, name), names))

    def from_plain(self, value: Any, name: str) -> Any:
        sources = read_noises(value)
        if not isinstance(sources, (list, tuple)):
            raise ValueError(f"{name} must be a list of tables, got {shorten(sources)}")
        return [Noise.from_dict(one, f"{name}[{i}]") if isinstance(one, Mapping) else one
                for i, one in enumerate(sources)]  # fmt: skip


class AlgorithmParameter(
    Parameter[Algorithm | LibraryRules | str | None, Algorithm | LibraryRules]
):
    """The algorithm of the collective, or whose choice it is; where left out, `DEFAULT_LIBRARY`'s.

    A name is read with ranks, network and message size: on a command line by `cli.options`, else by
    `CollectiveParameters.take_named_algorithm`.
    """

    takes = "Algorithm | LibraryRules | str | None"
    metavar = "NAME"

    def read(self, value: Any, name: str) -> Algorithm | LibraryRules:
        if isinstance(value, str):  # else a name, for `CollectiveParameters.take_named_algorithm`
            value = LibraryRules(value) if is_library(value) else value.strip()
        if value is not None and not isinstance(value, (str, Algorithm, LibraryRules)):
            raise ValueError(f"{name} must be an Algorithm such as Butterfly(...), or text, got "
                             f"{shorten(value)}")  # fmt: skip
        return LibraryRules() if value is None else value  # type: ignore[return-value]

    def from_plain(self, value: Any, name: str) -> Any:
        if isinstance(value, Mapping) and "library" in value:
            check_keys(value, ("library", "collective", "counts"), name)
            collective = value.get("collective", "allreduce")
            return LibraryRules(value["library"], collective, value.get("counts"))
        return Algorithm.from_dict(value, name) if isinstance(value, Mapping) else value

    def plain(self, value: Algorithm | LibraryRules) -> Any:
        return value.to_dict()


class Backend(Parameter[str, str]):
    """The processor that computes."""

    takes = "str"
    metavar = None
    argument: ClassVar[Mapping[str, Any]] = {"type": backend_named, "choices": BACKENDS}

    def __init__(self, more: str = "As in `simulate`.") -> None:
        help_ = "auto, cpu or cuda, also called gpu"
        super().__init__(help_, more, default="auto", part=ENGINE)

    def read(self, value: Any, name: str) -> str:
        return backend_named(value)


class Threads(Parameter[Int | None, int | None]):
    """Threads of the CPU."""

    takes = "int | None"

    def __init__(self) -> None:
        super().__init__(
            "threads of the CPU backend",
            default=None,
            usual="one for each processor that may be used",
            part=ENGINE,
        )

    def from_text(self, text: str, name: str, given: Mapping[str, Any]) -> int:
        return read_count(text, name, 1, MAX_THREADS)


class ProgressCall(Anything[Taken]):
    """A function that is called while an answer is looked for.

    `say` is that of `progress_of_call`, which shows the progress of a call without such a function;
    a question that knows more of it has a method `progress_text`.
    """

    def __init__(
        self, help: str, *, takes: str, say: Callable[..., tuple[str, float]] = realizations_done
    ) -> None:
        more = "Left out, progress is printed on standard error from 10 s on."
        super().__init__(help, more, takes=takes, default=None, option=None, part=ENGINE)
        self.say = say

    def read(self, value: Any, name: str) -> Any:
        return check_progress(value)


class Progress(ProgressCall[Callable[[int, int], object] | None]):
    """A function that is called while realizations, or what is `counted`, are done."""

    def __init__(self, counted: str = "realizations") -> None:
        def say(elapsed: float, done: int, total: int) -> tuple[str, float]:
            return share_done(done, total, elapsed, counted)

        text, takes = f"called as ``progress(done, {counted})``", "Callable[[int, int], object]"
        super().__init__(text, takes=f"{takes} | None", say=say)


def required(parameter: _T) -> _T:
    """The parameter, as a type checker sees it: one that must be given."""
    return parameter


class Devices(Parameter[IntOrText | Sequence[Int] | None, tuple[int, ...] | None]):
    """The GPUs of this process: numbers; () is all, None the first."""

    takes = "str | int | Sequence[int] | None"
    metavar = "all|0,2"

    def __init__(self) -> None:
        super().__init__(
            "the GPUs that divide the realizations, by their numbers",
            "As in `simulate`.",
            default=None,
            usual="the first",
            part=ENGINE,
        )

    def read(self, value: Any, name: str) -> tuple[int, ...] | None:
        return read_devices(value, name)


# It is frozen; mypy is not told, since it takes what a frozen class inherits for what is passed.
@dataclass_transform(field_specifiers=(required,))
def question(cls: type[_T]) -> type[_T]:
    """Make the class of a question; `required` marks the parameters without a default."""
    return frozen_dataclass()(cls)


class Question(Dataclass):
    """The base of questions: frozen classes of parameters, which `question` makes."""

    @classmethod
    def signature(cls) -> inspect.Signature:
        """The signature of the call; of what is given by name, what computes comes last."""
        plain = inspect.signature(cls)

        def place(one: inspect.Parameter) -> bool:
            named = one.kind is inspect.Parameter.KEYWORD_ONLY
            return named and inspect.getattr_static(cls, one.name).part == ENGINE

        return plain.replace(parameters=sorted(plain.parameters.values(), key=place))

    @classmethod
    def parameters(cls, *parts: str) -> dict[str, Parameter[Any, Any]]:
        """The parameters in the order of the call; only those of `parts`, if any are named."""
        found = {name: inspect.getattr_static(cls, name) for name in cls.signature().parameters}
        return {name: one for name, one in found.items() if not parts or one.part in parts}

    @classmethod
    def from_dict(cls: type[_Q], table: Mapping[str, Any]) -> _Q:
        """Make the question of plain values; ValueError for keys that it does not have."""
        return cls(**cls.from_plain(table))

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that a table of plain values has, by their names."""
        known = cls.parameters(ASKED, EFFORT)
        check_keys(table, known, "the question")
        return {name: known[name].from_plain(one, name) for name, one in table.items()}

    def to_dict(self) -> dict[str, Any]:
        """The plain values that say what is asked, for JSON; `--out` compares them."""
        asked = self.parameters(ASKED, EFFORT)
        return {one.key: one.plain(getattr(self, name)) for name, one in asked.items()}


@question
class CollectiveParameters(Question):
    """The collective that is done, and what its messages cost: shared by several questions."""

    _: KW_ONLY
    network: NetworkParameter[Network] = NetworkParameter(
        "what a message costs: kind=loggops (usual) or hockney, and its fields; or levels: '8: "
        "L=300ns,o=100ns; L=1us,o=200ns'",
        'Also as text: ``"L=1us,o=200ns"``.',
        default=DEFAULT_NETWORK,
        usual="L=1us,o=200ns,G=0.1ns",
    )
    algorithm: AlgorithmParameter = AlgorithmParameter(
        "the algorithm of the collective, or a library: what it runs for these ranks and bytes",
        '``"openmpi"``, ``"mpich"`` or ``"nccl"``, also with a version (``"openmpi-5"``), is '
        "what that library runs for an allreduce; ``LibraryRules(name, collective)`` for others. "
        '``"ring"`` or another name of a candidate of `advise` is that of an allreduce; a kind, '
        'such as ``"ring_allgather"``, says its collective itself. '
        "Where a butterfly is asked for and takes more than twice as long without noise as the "
        "best candidate of `advise`, as for long messages, the first line of the answer says so "
        "(`faster_candidate`).",
        default=None,
        usual=f"{DEFAULT_LIBRARY}, an allreduce",
    )
    message_bytes: Bytes = Bytes("message size", "As in `Case`, bytes.", default=8, option="bytes")
    cycles: Count = Count(
        "collectives in a row; the end of the last one counts", default=1, low=1, high=MAX_CYCLES
    )
    compute_time: Duration = Duration(
        "CPU time of a compute phase before each", "Seconds.", default=0.0, usual="0"
    )

    def take_named_algorithm(self, ranks: Sequence[int]) -> None:
        """Replace the name of an algorithm by what it is for these numbers of ranks."""
        if isinstance(self.algorithm, str):
            with naming_fields("algorithm"):
                collective = None if self.algorithm in Algorithm.kinds() else "allreduce"
                named = algorithm_named(
                    self.algorithm, collective, ranks, self.network, self.message_bytes
                )
            object.__setattr__(self, "algorithm", named)


@question
class EngineParameters(Question):
    """The processors that compute the answer: shared by the questions that simulate."""

    _: KW_ONLY
    backend: Backend = Backend()
    threads: Threads = Threads()
    devices: Devices = Devices()

    @cached_property
    def engine(self) -> Engine:
        """The engine; errors where it can not be used."""
        return Engine.of(self.backend, self.threads, self.devices)


def call_of(question: Callable[_P, _Q], answer: Callable[[_Q], _A], name: str) -> Callable[_P, _A]:
    """Make the function of Python that asks a question and returns its answer.

    Its text is that of `answer`, with the parameters after the first paragraphs.
    """

    def call(*arguments: _P.args, **options: _P.kwargs) -> _A:
        asked = question(*arguments, **options)
        values: dict[str, Any] = vars(asked)
        given = values.get("progress")
        with progress_of_call(name, given, getattr(asked, "progress_text", say)) as shown:
            # Its answer, which may keep the question, keeps what was given.
            values["progress"] = shown
            try:
                return answer(asked)
            finally:
                values["progress"] = given

    made, cls = (_any(call), _any(question))
    say = getattr(inspect.getattr_static(cls, "progress", None), "say", realizations_done)
    first, heading, rest = str(inspect.getdoc(answer)).partition("Returns\n")
    parameters = [
        f"{key} : {one.takes}{'' if one.default is NO_DEFAULT else ', optional'}\n"
        + textwrap.fill(_sentences(one), 92, initial_indent="    ", subsequent_indent="    ")
        for key, one in cls.parameters().items()
    ]
    section = "\n".join(["Parameters", "----------", *parameters])
    returned = inspect.signature(answer).return_annotation
    made.__doc__ = f"{first}{section}\n\n{heading}{rest}"
    made.__signature__ = cls.signature().replace(return_annotation=returned)
    made.__module__ = cls.__module__
    # Also of the class, whose errors of missing and unknown arguments name the call then.
    made.__name__ = made.__qualname__ = cls.__init__.__qualname__ = name
    return call


def _any(value: Any) -> Any:
    return value


def _sentences(parameter: Parameter[Any, Any]) -> str:
    first = re.split(r"[,:]", parameter.help)[0]
    values = getattr(parameter, "allowed", parameter.argument.get("choices", ()))
    # A value is written as it is passed.
    begin = parameter.help[:1] if first in values else parameter.help[:1].upper()
    return f"{begin}{parameter.help[1:]}. {parameter.more}".rstrip()


def parameters_table(questions: Collection[type[Question]]) -> str:
    """The parameters of a command's questions as a table of Markdown."""
    rows = ["| Python | command | default | is |", "|---|---|---|---|"]
    parameters = {name: one for asked in questions for name, one in asked.parameters().items()}
    for name, one in parameters.items():
        option = "" if one.option is None else f"`--{one.option}`"
        always = one.default is NO_DEFAULT and all(
            name in asked.parameters() for asked in questions
        )
        usual = one.usual
        if always:
            usual = f"required; of the command {usual}" if usual else "required"
        rows.append(f"| `{name}` | {option} | {usual} | {one.help} |".replace("|K=V", "\\|K=V"))
    return "\n".join(rows)
