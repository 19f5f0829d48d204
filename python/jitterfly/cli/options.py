"""Types of argparse for option values, which `syntax` parses; options for algorithm and backend.

The options of a `Question` are made from its parameters by `add_parameters`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..algorithms import Algorithm
from ..algorithms.algorithm import IRREGULAR
from ..algorithms.library_choice import DEFAULT_LIBRARY, LibraryRules, is_library
from ..backends import BACKENDS, backend_named
from ..fields import NO_DEFAULT, check_integer, shorten
from ..hierarchy import Hierarchy
from ..network import Network
from ..noise import Noise
from ..question import AlgorithmParameter, Question
from ..syntax import is_number, read_count, read_number, read_ranks, read_size
from ..units import parse_seconds, warn_of_long
from .output import tell

AnyQuestion = TypeVar("AnyQuestion", bound=Question)
_NODES, _PER_NODE = "--nodes", "--per-node"
_MAX_WRITTEN = 10**120  # above what `read_count` reads: each option has a limit of its own


class _Once(argparse.Action):
    """argparse's usual action, for an option that is given once: it would take the last value."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if option_string is not None:
            assert isinstance(parser, OnceParser)
            if self.dest in parser.once:
                parser.error(f"{option_string} is given twice: give it once")
            parser.once.add(self.dest)
        setattr(namespace, self.dest, values)


class OnceParser(argparse.ArgumentParser):
    """A parser that takes each option once, unless it may be repeated (``action="append"``)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.once: set[str] = set()
        # Also -1ms is a value, of which its option says what it must be.
        self._negative_number_matcher = re.compile(r"-\.?[0-9]")
        for name in (None, "store"):
            self.register("action", name, _Once)

    def print_help(self, file: Any = None) -> None:
        """Print the help as argparse does, in colours from Python 3.14 on."""
        file = sys.stdout if file is None else file
        super().print_help(getattr(file, "with_controls", file))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.once = set()
        if "--nodes" in self._option_string_actions and args is not None:
            args = self._with_ranks(list(args))
        return super().parse_known_args(args, namespace)

    def _with_ranks(self, args: list[str]) -> list[str]:
        """Put `--ranks` in place of `--nodes`: its product with `--per-node`."""
        given: dict[str, str] = {}
        rest: list[str] = []
        words = iter(args)
        for word in words:
            option, equals, text = word.partition("=")
            if option not in (_NODES, _PER_NODE):
                rest.append(word)
                continue
            if option in given:
                self.error(f"{option} is given twice: give it once")
            given[option] = text if equals else next(words, "")
        if not given:
            return args
        if any(word.partition("=")[0] == "--ranks" for word in rest):
            self.error(f"{_NODES} and {_PER_NODE} stand in place of --ranks: leave one of them out")
        try:
            nodes = read_ranks(given.get(_NODES, ""), _NODES)
            each = read_count(given.get(_PER_NODE, ""), _PER_NODE, 1, 2**30)
        except ValueError as error:
            lacking = [option for option in (_NODES, _PER_NODE) if option not in given]
            self.error(
                f"{given.popitem()[0]} needs {lacking[0]} as well" if lacking else str(error)
            )
        ranks = ",".join(str(number * each) for number in nodes)
        return [*rest, f"--ranks={ranks}", f"{_PER_NODE}={each}"]


def add_backend(parser: argparse.ArgumentParser, **threads: Any) -> None:
    """Add `--backend` and `--threads` to argparse's; gpu means cuda."""
    parser.add_argument(
        "--backend", type=backend_named, choices=BACKENDS, default="auto", help="gpu is cuda"
    )
    help_ = "of the CPU backend (default: all)"
    parser.add_argument("--threads", metavar="N", help=help_, **threads)


def value(text: str) -> Any:
    """An integer where it looks like one (`syntax.read_count`); times stay text, with units."""
    try:
        return int(text)
    except ValueError:
        return read_count(text, "", high=_MAX_WRITTEN) if is_number(text) else text


def integer(text: str | None, name: str, low: int, high: int) -> int | None:
    """The number after the option `--name`; None where it is not given."""
    return None if text is None else check_integer(value(text), f"--{name}", low, high)


def count(text: str) -> int:
    """Return a count, for a `type` of argparse; the library checks the range."""
    counted = value(text)
    if not isinstance(counted, int):
        raise argparse.ArgumentTypeError(
            f"must be a whole number such as 64, 2^12 or 1e6; got {shorten(text)}"
        )
    return counted


def share(text: str) -> float:
    """A number, or one in percent, as a `type` of argparse."""
    try:
        return read_number(text, "")
    except ValueError:
        message = f"must be a number such as 0.5 or 50%; got {shorten(text)}"
        raise argparse.ArgumentTypeError(message) from None


def size(text: str, name: str, low: int = 0) -> int:
    """The bytes after the option `--name`, such as 8, 8K or 1KiB, from `low`."""
    return read_size(text, f"--{name}", low)


def add_parameters(
    parser: argparse._ActionsContainer, *questions: type[Question], file: bool = False
) -> None:
    """Add an option for each parameter of the questions to argparse's.

    With `file` none is required: the question may
    stand in a file.
    """
    parameters = {
        name: one for asked in questions for name, one in asked.parameters().items() if one.option
    }
    there = parser._option_string_actions  # what the command says itself stays
    for name, one in parameters.items():
        option = f"--{one.option}"
        if option in there:
            continue
        if isinstance(one, AlgorithmParameter):
            add_algorithm(parser)
            continue
        always = one.default is NO_DEFAULT and all(
            name in asked.parameters() for asked in questions
        )
        shown = {} if one.metavar is None else {"metavar": one.metavar}
        sentence = one.sentence.replace("%", "%%")
        action = parser.add_argument(
            option, dest=name, required=always and not file, help=sentence, **shown, **one.argument
        )
        action.words = getattr(one, "allowed", None)  # type: ignore[attr-defined]  # to complete
        if name == "ranks" and isinstance(parser, OnceParser):
            _add_nodes(parser)


def _add_nodes(parser: argparse._ActionsContainer) -> None:
    """Add `--nodes` and `--per-node`, from which `OnceParser` makes `--ranks`."""
    parser.add_argument(
        _NODES,
        metavar="N",
        default=argparse.SUPPRESS,
        help=f"in place of --ranks: nodes, each with {_PER_NODE} ranks",
    )
    parser.add_argument(
        _PER_NODE,
        metavar="N",
        type=int,
        default=argparse.SUPPRESS,
        help=f"ranks of a node, with {_NODES} (--network 'N: ...; ...' is the network of nodes)",
    )


def values_of(
    chosen: argparse.Namespace, question: type[Question], known: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters of a question: what the options say, in place of what is `known`."""
    values = dict(known)
    for name, one in question.parameters().items():
        text = getattr(chosen, name, None) if one.option else None
        if text is not None and not isinstance(one, AlgorithmParameter):
            values[name] = one.from_text(text, f"--{one.option}", values)
    check_nodes(chosen, values.get("network"), values.get("noise", ()))
    return values


def check_nodes(
    chosen: argparse.Namespace, network: Network | None, noise: Sequence[Noise]
) -> None:
    """Refuse a network without nodes of `--per-node` ranks; note where it has no nodes at all.

    The note is for the answer (`noted`).
    """
    each = getattr(chosen, "per_node", 1)
    if network is None or each == 1:
        return
    spans = network.spans if isinstance(network, Hierarchy) else []
    if not spans:
        chosen.note = (
            f"{_PER_NODE} {each:,} only multiplies: a message within a node costs what any other "
            f"does (--network '{each}: L=300ns,o=100ns; L=1us,o=200ns' has nodes)"
        )
        if not any(getattr(one, "shared", False) for one in noise):
            chosen.note += (
                f", and each rank has noise of its own (with shared={each} the ranks of a node "
                "have the same)"
            )
    elif each not in spans:
        raise ValueError(
            f"{_PER_NODE} must be as --network has it, {' or '.join(f'{n:,}' for n in spans)} "
            f"ranks of a node, got {each:,}"
        )


def read_question(
    chosen: argparse.Namespace, question: type[AnyQuestion], **known: Any
) -> AnyQuestion:
    """Make the question that the options ask; `known` has what no option says."""
    parameters = question.parameters()
    usual = {name: one.default for name, one in parameters.items() if one.default is not NO_DEFAULT}
    values = values_of(chosen, question, usual | known)
    if "algorithm" in parameters:
        ranks = values["ranks"]
        numbers = [ranks] if isinstance(ranks, int) else ranks
        network, message_bytes = values["network"], values["message_bytes"]
        values["algorithm"] = algorithm(chosen, numbers, network, message_bytes)
    return question(**values)


def add_algorithm(parser: argparse._ActionsContainer) -> None:
    """Add `--algorithm` and `--collective` to argparse's."""
    add = parser.add_argument
    add("--algorithm", metavar="NAME", help="a library (openmpi, openmpi-4.1, mpich, nccl, ...): "
        f"what it runs for these ranks and bytes (default {DEFAULT_LIBRARY}); or a kind such as "
        "butterfly, ring_allreduce or dissemination_barrier, or as `jitterfly advise` calls it: "
        "ring; double_binary_tree_allreduce is in segments of 512 KiB, as there, all others with "
        "segments in 8 KiB; hierarchical_allreduce, nccl_tree, in_network_allreduce and nvls have "
        "nodes of --network")  # fmt: skip
    add(
        "--collective",
        metavar="NAME",
        help="allreduce (default), broadcast, ...: of an "
        "--algorithm such as mpich or ring; alltoallv and others that end in v need --counts",
    )
    add("--counts", metavar="COUNTS", help="of a --collective or an --algorithm with a count for "
        "each rank or pair of ranks, such as alltoallv or pairwise_alltoallv: "
        "'lognormal(mean=64,sigma=1,seed=0)', or the path of a file with a row for each rank; an "
        "element has --bytes")  # fmt: skip


def algorithm(
    chosen: argparse.Namespace, ranks: Iterable[int], network: Network, message_bytes: int
) -> Algorithm | LibraryRules:
    """Return what `--algorithm` names, for these ranks and messages (see `algorithm_named`)."""
    from ..advice import algorithm_named

    rules = library(chosen)
    if rules is None:
        how = ranks, network, message_bytes, chosen.counts
        return algorithm_named(chosen.algorithm, chosen.collective, *how)
    if chosen.counts is not None and rules.counts is None:
        raise ValueError(
            "--counts needs an --algorithm with counts, such as pairwise_alltoallv, or a "
            "--collective with counts, such as alltoallv"
        )
    return rules


def library(chosen: argparse.Namespace) -> LibraryRules | None:
    """Return the library that `--algorithm` names, or that is meant without one; else None."""
    name = DEFAULT_LIBRARY if chosen.algorithm is None else chosen.algorithm
    if not is_library(name):
        return None
    collective = chosen.collective or "allreduce"
    counts = chosen.counts if collective in IRREGULAR else None
    return LibraryRules(name, collective, counts)


def read_times(chosen: Any, names: Iterable[str]) -> dict[str, float | None]:
    """Read times after the options `--name`, in seconds; warn of 1 s and more for want of a unit.

    What is no time is an error that names the option.
    """
    times = {}
    for name in names:
        text, option = getattr(chosen, name), f"--{name.replace('_', '-')}"
        times[name] = None if text is None else parse_seconds(text, option)
        if text is not None:
            warn_of_long(text, option)
    return times


def tell_understood(
    network: Network,
    noise: Iterable[Noise],
    given: bool = True,
    algorithm: Algorithm | None = None,
    name: str | None = None,
) -> None:
    """Say on standard error what the options were read as, every time with its unit.

    `given` is whether the network was. `name` is what the algorithm was called, which is told where
    that is not its kind.
    """
    from ..slowdown import part_in_words

    if algorithm is not None and name not in (None, algorithm.kind):
        tell(f"algorithm: {name} is {part_in_words(algorithm)}")
    tell(f"network: {part_in_words(network)}{'' if given else ' (none was given with --network)'}")
    for one in noise:
        tell(f"noise: {part_in_words(one)}")


def tell_machine(chosen: argparse.Namespace, asked: Any) -> None:
    """Say on standard error which network and algorithm the options of a question were read as.

    What a library runs is in the answer.
    """
    named = None if isinstance(asked.algorithm, LibraryRules) else asked.algorithm
    name = None if named is None else chosen.algorithm
    tell_understood(asked.network, (), chosen.network is not None, named, name)
