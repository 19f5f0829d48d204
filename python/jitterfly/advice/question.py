"""What advice is asked for: machine, noise, sizes, statistic, and how sure it must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from ..algorithms import MOST_ROUNDS, Algorithm
from ..case import MOST_CYCLES
from ..fields import MOST_REALIZATIONS, MOST_SEED, check_choice, check_integer, shorten, show_number
from ..network import MOST_BYTES, Network, check_network
from ..noise import Noise, check_sources
from ..syntax import read_bytes, read_count, read_ranks, read_share
from ..units import Seconds
from .candidates import COLLECTIVES, Candidate
from .chosen import choose
from .statistic import Statistic

_FIRST_LOOK = 32
_USUAL = 10_000
_MOST_SECONDS = 1e9
_OF_ONE, _OF_TWO = 2, 4  # ends of intervals at a look: of a statistic; of a ratio and a difference
_TAIL_TIMES = 8  # of what the tail's interval takes at least


@dataclass(frozen=True)
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
    work : float or str
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
    work: Seconds = Seconds(0.0)
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
        names = len(choose(self.collective, self.candidates, self.own))
        put("seconds", _check_seconds(self.seconds))
        self._check_realizations(names, put)

    def _check_realizations(self, names: int, put: Any) -> None:
        """An error rate goes by the number of looks, and that by the realizations."""
        if self.realizations is not None:
            put("realizations", read_count(self.realizations, "realizations", 2, MOST_REALIZATIONS))
        elif not self.noise or Statistic.named(self.statistic).share is None:
            put("realizations", _USUAL)
            return
        if not self.noise:
            return
        # As many looks as there can be: a little more than it takes.
        least = Statistic.named(self.statistic).least(self._error(names, 32))
        if self.realizations is None:
            put("realizations", max(_USUAL, _TAIL_TIMES * least))
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
            "work_s": float(self.work),
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
        return choose(self.collective, self.candidates, self.own)

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Ranks and bytes of each cell: along the ranks first."""
        return [(count, size) for size in self.message_bytes for count in self.ranks]

    def looks(self) -> list[int]:
        """Realizations at which the data are looked at: declared before the first of them."""
        limit = int(self.realizations or _USUAL)
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
        statements = _OF_ONE * names + _OF_TWO * names * (names - 1) // 2
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
