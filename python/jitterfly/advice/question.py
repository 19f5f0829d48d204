"""What advice is asked for: machine, noise, sizes, statistic, and how sure it must be.

A question comes from keyword arguments or from a TOML file; options of the command line take the
place of the file's values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Any

from ..algorithms import Algorithm
from ..algorithms.algorithm import MOST_ROUNDS
from ..case import MOST_CYCLES
from ..fields import (
    MOST_REALIZATIONS,
    MOST_SEED,
    check_choice,
    check_integer,
    check_keys,
    frozen_dataclass,
    shorten,
    show_number,
)
from ..files import read_text
from ..network import MOST_BYTES, Network, check_network
from ..noise import Noise
from ..noise.source import check_sources
from ..noise_files import files_from
from ..studies.toml import tomllib
from ..syntax import read_bytes, read_count, read_noises, read_ranks, read_share
from ..units import Seconds
from .candidates import COLLECTIVES, Candidate, choose_candidates
from .statistic import Statistic

_FIRST_LOOK = 32
_USUAL_REALIZATIONS = 10_000
_MOST_SECONDS = 1e9
_STATEMENTS_OF_ONE, _STATEMENTS_OF_TWO = (
    2,
    4,
)  # ends of intervals at a look: of a statistic; of a ratio and a difference
_TAIL_TIMES = 8  # of what the tail's interval takes at least


@frozen_dataclass()
class Question:
    """What `advise` is asked.

    Parameters
    ----------
    ranks : int, text or list
        Such as ``[64, 1000]`` or ``"2^4..2^12"``.
    network : Network
        `LogGOPS` or `Hockney`, or its text.
    noise : list of Noise
        As in `Case`. Empty: a quiet machine.
    collective : str
        "allreduce", "barrier", "broadcast", "reduce", "allgather" or "reduce_scatter".
    message_bytes : int, text or list
        As in `Case`; such as ``"8,1KiB,1MiB"``.
    statistic : str
        "mean", or a quantile such as "p99": of the completion of the last rank.
    within : float or text
        Candidates whose statistics differ by no more than this share are equal for practical
        purposes: 0.01 (the default) or "1%".
    confidence : float
        Of all that is told, together: over all candidates, cells and looks at the data.
    candidates : list of str, optional
        Names; the usual ones of the collective where it is left out.
    own : mapping, optional
        Further candidates by name: an `Algorithm`, or its table.
    cycles : int
        How often the collective is done in a row; the completion of the last time counts. What
        forwards of the result cost is seen from 2 on only: it delays what comes after them.
    compute_time : float or str
        CPU time of a compute phase before each, seconds.
    realizations : int, optional
        Of a candidate in a cell, at most; 10,000 where it is left out, or 8 times what a quantile
        takes at least.
    seconds : float, optional
        For all of it, about; no limit where it is left out.
    seed : int

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
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

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
            put("candidates", tuple(self.candidates))
        put("own", dict(self.own) if isinstance(self.own, Mapping) else self.own)
        names = len(choose_candidates(self.collective, self.candidates, self.own))
        put("seconds", _check_seconds(self.seconds))
        self._check_realizations(names, put)

    def _check_realizations(self, names: int, put: Any) -> None:
        """An error rate goes by the number of looks, and that by the realizations."""
        if self.realizations is not None:
            put("realizations", read_count(self.realizations, "realizations", 2, MOST_REALIZATIONS))
        elif not self.noise or Statistic.named(self.statistic).share is None:
            put("realizations", _USUAL_REALIZATIONS)
            return
        if not self.noise:
            return
        # As many looks as there can be: a little more than it takes.
        least = Statistic.named(self.statistic).least(self._error(names, 32))
        if self.realizations is None:
            put("realizations", max(_USUAL_REALIZATIONS, _TAIL_TIMES * least))
        if self.realizations is not None and self.realizations < least:
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
        return choose_candidates(self.collective, self.candidates, self.own)

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
        """How often one statement of one look at one cell may be wrong.

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
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not 0 < value <= _MOST_SECONDS:
        raise ValueError(
            f"seconds must be None or a number above 0 and up to {show_number(_MOST_SECONDS)}, "
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
        with files_from(Path(path).absolute().parent):
            if "network" not in over:
                table = _with_objects(table, "network")
            if "noise" not in over:
                table = _with_objects(table, "noise")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return read_question(table | dict(over), seconds)


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
    for key in ("ranks", "network"):
        if key not in table:
            raise ValueError(f"the question lacks the key {key!r}")
    if "seconds" not in table and "realizations" not in table:
        table = {**table, "seconds": seconds}
    return Question(**_with_objects(_with_objects(dict(table), "network"), "noise"))


def _with_objects(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The table with its network, or its noise, as objects."""
    values = dict(table)
    if key == "network" and isinstance(values.get(key), Mapping):
        values[key] = Network.from_dict(values[key], "network")
    if key == "noise" and key in values:
        parts = read_noises(values[key])
        if not isinstance(parts, (list, tuple)):
            raise ValueError(f"noise must be a list of tables, got {shorten(parts)}")
        values[key] = [
            Noise.from_dict(part, f"noise[{i}]") if isinstance(part, Mapping) else part
            for i, part in enumerate(parts)
        ]
    return values
