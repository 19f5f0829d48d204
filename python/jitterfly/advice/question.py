"""`Question` of `advise`: machine, noise, sizes; error rate of multiple comparisons (Bonferroni).

A question comes from keyword arguments or from a TOML file; options of the command line take the
place of the file's values. Candidates are ranked by its statistic, of which there are estimates,
bounds and paired comparisons.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import stats
from ..algorithms import Algorithm
from ..algorithms.algorithm import MAX_ROUNDS, check_collective_name
from ..algorithms.candidates import COLLECTIVES, Candidate, choose_candidates
from ..case import MAX_CYCLES
from ..fields import (
    MAX_REALIZATIONS,
    Real,
    check_integer,
    is_number,
    naming_fields,
    shorten,
    show_number,
)
from ..files import files_from, read_text
from ..hierarchy import Hierarchy
from ..network import MAX_BYTES
from ..question import (
    EFFORT,
    Choice,
    Count,
    Duration,
    EngineParameters,
    NetworkParameter,
    NoiseParameter,
    OptionalCount,
    Parameter,
    ProgressCall,
    Ranks,
    Seed,
    Share,
    Sizes,
    StatisticName,
    question,
    required,
)
from ..slowdown import part_in_words
from ..stats import PairedQuantiles
from ..stats.intervals import binomial_ranks, rare_event_margin, student_t
from ..stats.paired import apart, fieller_ratio
from ..studies.toml import tomllib
from ..syntax import share_of_completion
from ..units import parse_seconds, show_seconds
from ..unseen_noise import ratio_with_lacks

Floats = npt.NDArray[np.float64]

_HALVINGS = 20  # of the way from what is told to the estimate


class BeyondSample(NamedTuple):
    """The facts about two candidates, a and b, that cases show and samples do not. Seconds.

    Attributes
    ----------
    moved : float
        How far noise moved samples that are all the same, such as those that wait for the slowest
        of many slow ranks. It is then the range that was seen.
    lacks_a, lacks_b : float
        What the means of a and of b may lack of noise that is too rare to have been met.
    """

    moved: float = 0.0
    lacks_a: float = 0.0
    lacks_b: float = 0.0

    def swapped(self) -> BeyondSample:
        """Return these facts with a and b swapped."""
        return BeyondSample(self.moved, self.lacks_b, self.lacks_a)


_NOTHING = BeyondSample()


@dataclass(frozen=True)
class Statistic:
    """A mean or a quantile of completion.

    `share` is that of the quantile, None for the mean.

    Student's interval of a mean is widened where it rests on few rare events
    (`rare_event_margin`), for the range that was seen; and where nothing was seen, it has no ends.
    So means are about as sure as is said. What is too rare to have been seen beside other noise
    widens them as well, by what the case says that it may add (`beyond`). Quantiles are exact
    (`PairedQuantiles`).

    Examples
    --------
    >>> Statistic.named("p99")
    Statistic(name='p99', share=0.99)
    """

    name: str
    share: float | None

    @classmethod
    def named(cls, name: str) -> Statistic:
        """Make a statistic of its name: "mean", or a quantile such as "p99.9".

        Raises
        ------
        ValueError
            Another word. The largest of a sample is none: it has no interval.
        """
        return cls(name, share_of_completion(name))

    def least(self, error: float) -> int:
        """Realizations from which on a bound that fails with probability `error` has an end."""
        if self.share is None:
            return 2
        # `PairedQuantiles` spends an eighth on each of the two ends.
        return stats.realizations_needed(self.share, 1 - error / 4)

    def estimate(
        self,
        x: Floats,
        error: float,
        lower_bound: float | None = None,
        beyond: BeyondSample = _NOTHING,
    ) -> stats.Estimate:
        """Estimate it of a sample, with an interval; each end fails with probability `error`.

        That of a mean does not reach below `lower_bound`, what no sample can lie below.
        """
        confidence = 1 - 2 * error
        if self.share is not None:
            return stats.quantile(x, self.share, confidence)
        value = float(x.mean())
        reach = _half_interval(x, error, float(np.ptp(x)) or beyond.moved)
        high = value + reach + beyond.lacks_a
        found = stats.Estimate(value, value - reach, high, confidence, len(x))
        return found.bounded(lower_bound)

    def upper(self, x: Floats, error: float, beyond: BeyondSample = _NOTHING) -> float:
        """The upper bound of `estimate`; infinite if there is none."""
        if self.share is None:
            return float(self.estimate(x, error, beyond=beyond).high)
        rank = binomial_ranks(len(x), self.share, 1 - 2 * error)[1]
        return math.inf if rank is None else float(np.partition(x, rank - 1)[rank - 1])

    def above(
        self,
        a: Floats,
        b: Floats,
        error: float,
        factor: float = 1.0,
        beyond: BeyondSample = _NOTHING,
    ) -> bool:
        """Return whether that of a is shown to be above `factor` times that of b (paired)."""
        if self.share is not None:
            return PairedQuantiles(a, b, self.share, error).above(factor)
        difference = apart(a, factor * b)
        seen = max(float(np.ptp(a)), factor * float(np.ptp(b))) or beyond.moved
        reach = _half_interval(difference, error, seen)
        same = difference if factor == 1 else apart(a, b)
        if not np.ptp(same):  # no realization told them apart, but others may
            reach = max(reach, _half_interval(same, error, seen))
        return bool(difference.mean() > reach + factor * beyond.lacks_b)

    def _below(
        self, a: Floats, b: Floats, error: float, beyond: BeyondSample, factor: float
    ) -> bool:
        return self.above(b, a, error, 1 / factor, beyond.swapped())

    def ratio(
        self,
        a: Floats,
        b: Floats,
        error: float,
        within: float = 0.0,
        beyond: BeyondSample = _NOTHING,
    ) -> stats.Estimate:
        """Return a's statistic over b's (paired); each bound fails with probability `error`.

        Both ends are on that side of 1, and of ``1 + within``, that `above` tells. Without this an
        interval could hold 1 although the test tells a difference: few rare events widen both, and
        not alike.
        """
        above: Callable[[float], bool]
        below: Callable[[float], bool]
        if self.share is not None:
            pair = PairedQuantiles(a, b, self.share, error)
            value, low, high = pair.ratio()
            above, below = pair.above, pair.below
        else:
            value, low, high = self._ratio_of_means(a, b, error, beyond)
            above = partial(self.above, a, b, error, beyond=beyond)
            below = partial(self._below, a, b, error, beyond)
        if 0 < value < math.inf:
            if not above(1.0):
                low = min(low, 1.0)
            elif low <= 1:
                low = math.exp(_largest_decided(lambda x: above(math.exp(x)), math.log(value)))
            if not below(1.0):
                high = max(high, 1.0)
            elif high >= 1:
                high = math.exp(-_largest_decided(lambda x: below(math.exp(-x)), -math.log(value)))
            if within:
                limit = 1 + within
                high = min(high, limit) if below(limit) else max(high, limit)
        return stats.Estimate(value, low, high, 1 - 2 * error, len(a))

    def _ratio_of_means(
        self, a: Floats, b: Floats, error: float, beyond: BeyondSample
    ) -> tuple[float, float, float]:
        """Return the ratio of two means, a over b, and its interval, each end wrong with `error`.

        The interval allows for what is `beyond` the samples: skewness, and noise that they lack.
        """
        found = fieller_ratio(a, b, 1 - 2 * error)
        value, low, high = (float(x) for x in (found.value, found.low, found.high))
        below = float(b.mean())
        if below > 0:
            seen = max(float(np.ptp(a)), value * float(np.ptp(b))) or beyond.moved
            more = _widening(a - value * b, error, seen) / below
            low, high = low - more, high + more
            lacks = beyond.lacks_a / below, beyond.lacks_b / below
            low, high = ratio_with_lacks(low, high, *lacks)
        return value, low, high

    def difference(
        self, a: Floats, b: Floats, error: float, beyond: BeyondSample = _NOTHING
    ) -> stats.Estimate:
        """Return a's statistic less b's (paired), seconds; bounds as those of `ratio`."""
        confidence = 1 - 2 * error
        if self.share is not None:
            pair = PairedQuantiles(a, b, self.share, error)
            value, low, high = pair.difference()
            if low <= 0 and pair.above():
                low = _largest_decided(lambda x: pair.above(1.0, x), value)
            if high >= 0 and pair.below():
                high = -_largest_decided(lambda x: pair.below(1.0, -x), -value)
            return stats.Estimate(value, low, high, confidence, len(a))
        differences = apart(a, b)
        value = float(differences.mean())
        seen = max(float(np.ptp(a)), float(np.ptp(b))) or beyond.moved
        reach = _half_interval(differences, error, seen)
        low, high = value - reach - beyond.lacks_b, value + reach + beyond.lacks_a
        return stats.Estimate(value, low, high, confidence, len(a))


def _largest_decided(is_decided: Callable[[float], bool], value: float) -> float:
    """Find, by bisection, the largest number from 0 to `value` that is decided; 0 always is."""
    known, unknown = 0.0, max(value, 0.0)
    for _ in range(_HALVINGS):
        middle = (known + unknown) / 2
        if is_decided(middle):
            known = middle
        else:
            unknown = middle
    return known


def _half_interval(x: Floats, error: float, seen: float) -> float:
    """Half the length of a mean's interval; `seen`: the range of the two times it compares."""
    if len(x) < 2:
        return math.inf
    t = student_t(1 - 2 * error, len(x) - 1)
    return t * float(x.std(ddof=1)) / math.sqrt(len(x)) + _widening(x, error, seen)


def _widening(x: Floats, error: float, seen: float) -> float:
    """Return what rare events add to either end of the interval of the mean of x.

    `seen` is the range of single realizations.
    """
    if len(x) < 2 or not seen > 0:
        return math.inf
    events = max(float(stats.effective_events(x)), _NO_EVENT)
    return float(rare_event_margin(events, len(x), 1 - 2 * error)) * seen


_NO_EVENT = 1e-9  # as rare as can be: where all samples are the same
_FIRST_LOOK = 32
_DEFAULT_REALIZATIONS = 10_000
_MAX_SECONDS = 1e9
# Ends of intervals at a look: of a statistic; of a ratio and a difference.
_STATEMENTS_OF_ONE, _STATEMENTS_OF_TWO = 2, 4
_TAIL_TIMES = 8  # of what the tail's interval takes at least


@dataclass
class Progress:
    """The state of a search, which `advise` passes to its `progress`.

    Attributes
    ----------
    cells, prepared, decided : int
        All; those whose candidates' noise-free times are known; those that are decided.
    look, looks : int
        Number of the look from 1, and how many there are at most.
    realizations : int
        Of a candidate at this look.
    simulated : int
        Realizations so far, of all candidates in all cells.
    elapsed : float
        Seconds since it was asked.
    """

    cells: int
    prepared: int = 0
    decided: int = 0
    look: int = 0
    looks: int = 0
    realizations: int = 0
    simulated: int = 0
    elapsed: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def in_words(self) -> str:
        """Say how far the search is, on one line."""
        text = (
            f"{self.decided}/{self.cells} cells decided, look {self.look} of at most "
            f"{self.looks} ({self.realizations:,} realizations), {self.elapsed:.0f} s"
        )
        if self.prepared < self.cells:
            text = f"noise-free times of {self.prepared}/{self.cells} cells, {text}"
        return text


class Candidates(Parameter[Sequence[str] | str | None, tuple[str, ...] | None]):
    """Names of candidates, which the question checks with its collective."""

    takes = "Sequence[str] | str | None"
    metavar = "NAME,..."

    def read(self, value: Any, name: str) -> Any:
        if isinstance(value, str):
            return tuple(self.from_text(value, name, {}))
        if value is None or isinstance(value, bytes):
            return value
        if not isinstance(value, Iterable):
            raise ValueError(f"{name} must be a list of algorithms, got {shorten(value)}")
        return tuple(value)

    def from_text(self, text: str, name: str, given: Mapping[str, Any]) -> Any:
        return [one.strip() for one in text.split(",")]


class OwnCandidates(Parameter[Mapping[str, Any] | None, Mapping[str, Any]]):
    """Further candidates by name: an `Algorithm`, or its table."""

    takes = "Mapping[str, Algorithm | Mapping] | None"

    def read(self, value: Any, name: str) -> Any:
        given = {} if value is None else value
        return dict(given) if isinstance(given, Mapping) else given

    def plain(self, value: Mapping[str, Any]) -> Any:
        return {str(name): one.to_dict() if isinstance(one, Algorithm) else dict(one)
                for name, one in value.items()}  # fmt: skip


class TimeLimit(Parameter[Real | None, float | None]):
    """Seconds above 0, or None."""

    takes = "float | None"
    metavar = "S"

    def read(self, value: Any, name: str) -> float | None:
        if value is None:
            return None
        if not (is_number(value) and 0 < value <= _MAX_SECONDS):
            raise ValueError(
                f"{name} must be left out, or above 0 and up to {show_number(_MAX_SECONDS)}, "
                f"got {shorten(value)}"
            )
        return float(value)

    def from_text(self, text: str, name: str, given: Mapping[str, Any]) -> float | None:
        return self.read(parse_seconds(text, name), name)


class _Collective(Choice):
    """A collective whose algorithms are compared: one without counts."""

    def read(self, value: Any, name: str) -> str:
        return check_collective_name(value, name)


@question
class Question(EngineParameters):
    """The question of `advise`."""

    ranks: Ranks = required(
        Ranks("numbers or ranges, such as 2^4..2^12 (each twice the one before) or 64,1000")
    )
    _: KW_ONLY
    network: NetworkParameter = required(
        NetworkParameter(
            "what a message costs: kind=loggops (usual) or hockney, and its fields",
            'A `Network`, or text: ``"L=1us,o=200ns"``.',
        )
    )
    noise: NoiseParameter = NoiseParameter(
        "a noise file, or K=V,... such as period=1ms,duration=10us; several add up",
        "As in `Case`. Empty: a machine without noise, whose answer is exact.",
        default=(),
    )
    collective: Choice = _Collective(
        "allreduce, barrier, broadcast, reduce, allgather, reduce_scatter, alltoall, gather, "
        "scatter, scan or exscan",
        allowed=COLLECTIVES,
        default="allreduce",
    )
    message_bytes: Sizes = Sizes(
        "message sizes or ranges, such as 8,1KiB or 8..1MiB",
        "As in `Case`, bytes. The cells are all pairs of `ranks` and `message_bytes`.",
        default=8,
        option="bytes",
    )
    statistic: StatisticName = StatisticName(
        "what is to be small: mean, or a quantile such as p50 or p99.9",
        "It is that of the completion of the last rank.",
        default="mean",
    )
    within: Share = Share(
        "the difference that is none for practical purposes, such as 0.01 or 1%",
        "Candidates whose statistics differ by no more than this share are equal. 0: equal to the "
        "tick only.",
        low=0.0,
        high=1.0,
        example="0.01 or 1%",
        default=0.01,
    )
    confidence: Share = Share(
        "of all that is said, together, over candidates, cells and looks",
        "From 0.5 to below 1.",
        low=0.5,
        high=1.0,
        example="0.95 or 95%",
        default=0.95,
    )
    candidates: Candidates = Candidates(
        "in place of the usual ones, also of [own.NAME]; `list` explains all",
        "Names of `advice.known(collective)` or `own`; also as text, with commas between them.",
        default=None,
    )
    own: OwnCandidates = OwnCandidates(
        "further candidates by name: an `Algorithm`, or its table", default=None, option=None
    )
    cycles: Count = Count(
        "collectives in a row; the last one counts",
        "What forwards of the result cost is seen from 2 on only: it delays what comes after them.",
        default=1,
        low=1,
        high=MAX_CYCLES,
    )
    compute_time: Duration = Duration(
        "CPU time of a compute phase before each",
        "Seconds.",
        default=0.0,
        usual="0",
        key="compute_time_s",
    )
    realizations: OptionalCount = OptionalCount(
        "of a candidate in a cell, at most",
        "Where it is left out, 10,000, or 8 times what a quantile takes at least.",
        usual="10,000, or what a quantile takes",
        low=2,
        high=MAX_REALIZATIONS,
        part=EFFORT,
    )
    seconds: TimeLimit = TimeLimit(
        "for all of it, about",
        "No limit in Python where it is left out; then the same seed gives the same answer.",
        default=None,
        usual="120 of the command, if neither is given",
        part=EFFORT,
    )
    seed: Seed = Seed("of the draws", "From 0 to 2^64 - 1.", default=0)
    progress: ProgressCall[Callable[[Progress], object] | None] = ProgressCall(
        "called now and then with a `Progress`, in this thread",
        takes="Callable[[Progress], object] | None",
        say=lambda _, state: (state.in_words(), state.decided / state.cells),
    )

    def __post_init__(self) -> None:
        self.engine  # noqa: B018
        with naming_fields(*self.parameters()):
            for count in self.ranks:
                check_integer(count, "ranks", 1, 2**MAX_ROUNDS)
            for size in self.message_bytes:
                least = self.network.smallest_message
                check_integer(size, "message_bytes", least, MAX_BYTES)
            self._check_realizations(len(self.chosen()))

    def _check_realizations(self, names: int) -> None:
        """Fill in `realizations`, or raise ValueError if an interval with two ends takes more."""
        # As many looks as there can be: a little more than it takes.
        least = Statistic.named(self.statistic).least(self._error(names, 32)) if self.noise else 0
        if self.realizations is None:
            usual = max(_DEFAULT_REALIZATIONS, _TAIL_TIMES * least)
            object.__setattr__(self, "realizations", usual)
        elif self.realizations < least:
            raise ValueError(
                f"realizations must be an integer from {least:,} to 2^32 here, so that the "
                f"interval of {self.statistic} has two ends, got {self.realizations}"
            )

    def to_dict(self) -> dict[str, Any]:
        """The plain values that say what is asked, with the names of all candidates."""
        return super().to_dict() | {"candidates": [one.name for one in self.chosen()]}

    def chosen(self) -> list[Candidate]:
        """The candidates."""
        levels = isinstance(self.network, Hierarchy) and bool(self.network.spans)
        return choose_candidates(self.collective, self.candidates, self.own, levels=levels)

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Ranks and bytes of each cell: along the ranks first."""
        return [(count, size) for size in self.message_bytes for count in self.ranks]

    def looks(self) -> list[int]:
        """Realizations at which the data are looked at: declared before the first of them."""
        limit = int(self.realizations or _DEFAULT_REALIZATIONS)
        if not self.noise:
            return [1]
        least = Statistic.named(self.statistic).least(self._error(len(self.chosen()), 32))
        size, sizes = max(_FIRST_LOOK, least), []
        while size < limit:
            sizes.append(size)
            size *= 2
        return [*sizes, limit]

    def error(self) -> float:
        """Return how often one statement of one look at one cell may be wrong.

        At each look a cell makes at most two of each candidate, both ends of its statistic, and
        four of each two candidates: both ends of their ratio and of their difference. Which two
        are compared is decided by the data, so that every two count.
        """
        return self._error(len(self.chosen()), len(self.looks()))

    def _error(self, names: int, looks: int) -> float:
        cells = len(self.ranks) * len(self.message_bytes)
        statements = _STATEMENTS_OF_ONE * names + _STATEMENTS_OF_TWO * names * (names - 1) // 2
        return (1 - self.confidence) / (statements * cells * looks)


def load_question(
    path: str | Path, over: Mapping[str, Any], seconds: float | None = None
) -> Question:
    """The question in a TOML file, with the values of `over` in place of its own.

    Raises
    ------
    ValueError
        TOML syntax (with line), unknown keys, and what `Question` refuses; begins with the file.
    OSError
        It can not be read.
    """
    table = {key: one for key, one in _read_table(path).items() if key not in over}
    try:
        with files_from(Path(path).absolute().parent):
            values = Question.from_plain(table) | dict(over)
        _check_needed(values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return question_of(values, seconds)


def own_names(path: str | Path) -> tuple[str, list[str]]:
    """The collective of the question in a TOML file, and the names of its own candidates.

    Raises
    ------
    ValueError, OSError
        As `load_question`, of the syntax.
    """
    table = _read_table(path)
    own = table.get("own", {})
    if not isinstance(own, Mapping):
        raise ValueError(f"{path}: own must be a table of names and algorithms, got {shorten(own)}")
    return str(table.get("collective", "allreduce")), list(own)


def _read_table(path: str | Path) -> dict[str, Any]:
    text = read_text(path, pipe=True)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not valid TOML: {error}") from None


def read_question(table: Mapping[str, Any], seconds: float | None = None) -> Question:
    """The question of plain values; `seconds` is the budget where the table says nothing of one.

    Raises
    ------
    ValueError
        Unknown or missing keys, and what `Question` refuses.

    Examples
    --------
    >>> machine = {"kind": "loggops", "L": "1us", "o": "100ns"}
    >>> read_question({"ranks": "4,8", "network": machine, "within": "2%"}).within
    0.02
    """
    _check_needed(table)
    return question_of(Question.from_plain(table), seconds)


def question_of(values: Mapping[str, Any], seconds: float | None) -> Question:
    """The question of these parameters; `seconds` is the budget where they have none."""
    if "seconds" not in values and "realizations" not in values:
        values = {**values, "seconds": seconds}
    return Question(**values)


def _check_needed(table: Mapping[str, Any]) -> None:
    for key in ("ranks", "network"):
        if key not in table:
            raise ValueError(f"the question lacks the key {key!r}")


def setting_in_words(question: Question) -> list[str]:
    """Network, noise and message program in words, without what has its usual value."""
    noise = "; ".join(map(part_in_words, question.noise)) or "none"
    parts = [f"network {part_in_words(question.network)}", f"noise {noise}"]
    if question.cycles > 1:
        parts.append(f"the last of {question.cycles:,} in a row")
    if question.compute_time:
        parts.append(f"{show_seconds(question.compute_time)} of computing before each")
    return parts
