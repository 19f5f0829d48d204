"""`Question` of `advise`: machine, noise, sizes; error rate of multiple comparisons (Bonferroni).

A question comes from keyword arguments or from a TOML file; options of the command line take the
place of the file's values. Candidates are ranked by its statistic, of which there are estimates,
bounds and paired comparisons.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import stats
from ..algorithms import Algorithm
from ..algorithms.algorithm import MOST_ROUNDS
from ..algorithms.candidates import COLLECTIVES, Candidate, choose_candidates
from ..case import MOST_CYCLES
from ..fields import (
    MOST_REALIZATIONS,
    MOST_SEED,
    check_choice,
    check_integer,
    check_keys,
    frozen_dataclass,
    is_real_number,
    shorten,
    show_number,
)
from ..files import read_text
from ..find_noise_files import files_from
from ..hierarchy import Hierarchy
from ..network import MOST_BYTES, Network, check_network
from ..noise import Noise
from ..noise.source import check_sources
from ..observables import quantile_share
from ..rare_noise import ratio_with_lacks
from ..slowdown import part_in_words
from ..stats import PairedQuantiles
from ..stats.critical_values import binomial_ranks, student_t
from ..stats.intervals import rare_event_margin
from ..stats.ratios import fieller_ratio
from ..studies.toml import tomllib
from ..syntax import read_bytes, read_count, read_noises, read_ranks, read_share
from ..units import Seconds, show_seconds

Floats = npt.NDArray[np.float64]

_HALVINGS = 20  # of the way from what is told to the estimate


class BeyondSample(NamedTuple):
    """The facts that a case, but not the samples, says of two candidates, a and b. Seconds.

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
        """Return the same facts of b and a."""
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
        """Make one from "mean", or a quantile such as "p99.9".

        Raises
        ------
        ValueError
            Another word. The largest of a sample is none: it has no interval.
        """
        share = quantile_share(name) if isinstance(name, str) else None
        if share is None and not (isinstance(name, str) and name == "mean"):
            raise ValueError(
                "statistic must be mean or a quantile such as p50, p99 or p99.9 (min and max of a "
                f"sample have no interval, so they tell no winner), got {shorten(name)}"
            )
        return cls(name, share)

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
        difference = a - factor * b
        seen = max(float(np.ptp(a)), factor * float(np.ptp(b))) or beyond.moved
        reach = _half_interval(difference, error, seen) + factor * beyond.lacks_b
        return bool(difference.mean() > reach)

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
        """Return that of a over that of b (paired); each bound fails with probability `error`.

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
        """Return that of a minus that of b (paired), seconds; bounds as those of `ratio`."""
        confidence = 1 - 2 * error
        if self.share is not None:
            pair = PairedQuantiles(a, b, self.share, error)
            value, low, high = pair.difference()
            if low <= 0 and pair.above():
                low = _largest_decided(lambda x: pair.above(1.0, x), value)
            if high >= 0 and pair.below():
                high = -_largest_decided(lambda x: pair.below(1.0, -x), -value)
            return stats.Estimate(value, low, high, confidence, len(a))
        apart = a - b
        value = float(apart.mean())
        seen = max(float(np.ptp(a)), float(np.ptp(b))) or beyond.moved
        reach = _half_interval(apart, error, seen)
        low, high = value - reach - beyond.lacks_b, value + reach + beyond.lacks_a
        return stats.Estimate(value, low, high, confidence, len(a))


def _largest_decided(is_decided: Callable[[float], bool], value: float) -> float:
    """Find about the largest number from 0 to `value` that is decided; 0 is."""
    known, unknown = 0.0, max(value, 0.0)
    for _ in range(_HALVINGS):
        middle = (known + unknown) / 2
        if is_decided(middle):
            known = middle
        else:
            unknown = middle
    return known


def _half_interval(x: Floats, error: float, seen: float) -> float:
    """Half the length of a mean's interval; `seen` is the range of what it is a difference of."""
    if len(x) < 2:
        return math.inf
    t = student_t(1 - 2 * error, len(x) - 1)
    return t * float(x.std(ddof=1)) / math.sqrt(len(x)) + _widening(x, error, seen)


def _widening(x: Floats, error: float, seen: float) -> float:
    if len(x) < 2 or not seen > 0:
        return math.inf
    events = max(float(stats.effective_events(x)), _NO_EVENT)
    return float(rare_event_margin(events, len(x), 1 - 2 * error)) * seen


_NO_EVENT = 1e-9  # as rare as can be: where all samples are the same
_FIRST_LOOK = 32
_USUAL_REALIZATIONS = 10_000
_MOST_SECONDS = 1e9
# Ends of intervals at a look: of a statistic; of a ratio and a difference.
_STATEMENTS_OF_ONE, _STATEMENTS_OF_TWO = 2, 4
_TAIL_TIMES = 8  # of what the tail's interval takes at least


@frozen_dataclass()
class Question:
    """The question that `advise` is asked.

    The parameters are those of `advise`, which explains them, without `backend`, `threads` and
    `progress`.

    Raises
    ------
    ValueError
        Names the field and its range.
    """

    ranks: Sequence[int]
    _: KW_ONLY
    network: Network
    noise: Sequence[Noise] = ()
    collective: str = "allreduce"
    message_bytes: Sequence[int] = (8,)
    statistic: str = "mean"
    within: float = 0.01
    confidence: float = 0.95
    candidates: Sequence[str] | None = None
    own: Mapping[str, Any] = field(default_factory=dict)
    cycles: int = 1
    compute_time: Seconds = Seconds(0.0)
    realizations: int | None = None
    seconds: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        check_choice(self.collective, "collective", COLLECTIVES)
        put("network", check_network(self.network))
        put("noise", check_sources(self.noise))
        put("ranks", tuple(sorted(read_ranks(self.ranks, "ranks"))))
        for count in self.ranks:
            check_integer(count, "ranks", 1, 2**MOST_ROUNDS)
        put("message_bytes", tuple(sorted(read_bytes(self.message_bytes, "message_bytes"))))
        for size in self.message_bytes:
            check_integer(size, "message_bytes", self.network.smallest_message, MOST_BYTES)
        Statistic.named(self.statistic)
        put("within", read_share(self.within, "within", 0.0, 1.0))
        put("confidence", read_share(self.confidence, "confidence", 0.5, 1.0, "0.95 or 95%"))
        put("cycles", read_count(self.cycles, "cycles", 1, MOST_CYCLES))
        put("seed", read_count(self.seed, "seed", 0, MOST_SEED))
        if self.candidates is not None and not isinstance(self.candidates, (str, bytes)):
            if not isinstance(self.candidates, Iterable):
                raise ValueError(
                    f"candidates must be a list of algorithms, got {shorten(self.candidates)}"
                )
            put("candidates", tuple(self.candidates))
        put("own", dict(self.own) if isinstance(self.own, Mapping) else self.own)
        names = len(self.chosen())
        put("seconds", _check_seconds(self.seconds))
        self._check_realizations(names, put)

    def _check_realizations(self, names: int, put: Any) -> None:
        """An error rate goes by the number of looks, and that by the realizations."""
        # As many looks as there can be: a little more than it takes.
        least = Statistic.named(self.statistic).least(self._error(names, 32)) if self.noise else 0
        if self.realizations is None:
            put("realizations", max(_USUAL_REALIZATIONS, _TAIL_TIMES * least))
            return
        put("realizations", read_count(self.realizations, "realizations", 2, MOST_REALIZATIONS))
        if self.realizations < least:
            raise ValueError(
                f"realizations must be an integer from {least:,} to 2^32 here, so that the "
                f"interval of {self.statistic} has two ends, got {self.realizations}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; times in seconds."""
        return {
            "collective": self.collective,
            "ranks": list(self.ranks),
            "message_bytes": list(self.message_bytes),
            "statistic": self.statistic,
            "within": self.within,
            "confidence": self.confidence,
            "seed": self.seed,
            "cycles": self.cycles,
            "compute_time_s": float(self.compute_time),
            "network": self.network.to_dict(),
            "noise": [noise.to_dict() for noise in self.noise],
            "candidates": [one.name for one in self.chosen()],
            "own": {
                str(name): one.to_dict() if isinstance(one, Algorithm) else dict(one)
                for name, one in self.own.items()
            },
            "realizations": self.realizations,
            "seconds": self.seconds,
        }

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
        limit = int(self.realizations or _USUAL_REALIZATIONS)
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


def _check_seconds(value: Any) -> float | None:
    if value is None:
        return None
    if not (is_real_number(value) and 0 < value <= _MOST_SECONDS):
        raise ValueError(
            f"seconds must be left out, or above 0 and up to {show_number(_MOST_SECONDS)}, "
            f"got {shorten(value)}"
        )
    return float(value)


KEYS = tuple(field.name for field in dataclasses.fields(Question) if field.name != "_")


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
    table = _read_table(path)
    try:
        check_keys(table, KEYS, "the question")
        table = {key: value for key, value in table.items() if key not in over}
        with files_from(Path(path).absolute().parent):
            table = _with_objects(table) | dict(over)
        _check_needed(table)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return read_question(table, seconds)


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
    check_keys(table, KEYS, "the question")
    _check_needed(table)
    if "seconds" not in table and "realizations" not in table:
        table = {**table, "seconds": seconds}
    return Question(**_with_objects(table))


def _check_needed(table: Mapping[str, Any]) -> None:
    for key in ("ranks", "network"):
        if key not in table:
            raise ValueError(f"the question lacks the key {key!r}")


def _with_objects(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with its network and its noise as objects."""
    values = dict(table)
    if isinstance(values.get("network"), Mapping):
        values["network"] = Network.from_dict(values["network"], "network")
    if "noise" in values:
        parts = read_noises(values["noise"])
        if not isinstance(parts, (list, tuple)):
            raise ValueError(f"noise must be a list of tables, got {shorten(parts)}")
        values["noise"] = [
            Noise.from_dict(part, f"noise[{i}]") if isinstance(part, Mapping) else part
            for i, part in enumerate(parts)
        ]
    return values


def setting_in_words(question: Question) -> list[str]:
    """Network, noise and message program in words, without what has its usual value."""
    noise = "; ".join(map(part_in_words, question.noise)) or "none"
    parts = [f"network {part_in_words(question.network)}", f"noise {noise}"]
    if question.cycles > 1:
        parts.append(f"the last of {question.cycles:,} in a row")
    if question.compute_time:
        parts.append(f"{show_seconds(question.compute_time)} of computing before each")
    return parts
