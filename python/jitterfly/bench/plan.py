"""What `jitterfly bench` is asked to measure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..fields import check_integer, check_power_of_two, shorten

PROGRAMS = {"butterfly": "butterfly", "ms12": "MS12, all T", "cs14": "CS14, full set",
            "cs14x10": "CS14, 10 cycles"}  # fmt: skip
KINDS = {"none": "no noise", "periodic": "periodic", "jitter": "+ jitter", "bernoulli": "Bernoulli"}


@dataclass(frozen=True)
class Plan:
    """What to measure. `programs` and `noises` are keys of `PROGRAMS` and `KINDS`.

    Raises
    ------
    ValueError
        A field out of range; the message names it.
    """

    ranks: tuple[int, ...] = tuple(2**k for k in (4, 8, 12, 16, 20, 23))
    programs: tuple[str, ...] = tuple(PROGRAMS)
    noises: tuple[str, ...] = tuple(KINDS)
    repeats: int = 9
    seconds: float = 0.1
    longest: float = 5.0
    peers: bool = True
    sources: bool = True
    collectives: bool = True
    limit: bool = True
    all_threads: bool = False
    loggopsim: str | None = None
    instructions: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.ranks:
            raise ValueError("ranks must name at least one number of ranks")
        ranks = sorted({check_ranks(value) for value in self.ranks})
        object.__setattr__(self, "ranks", tuple(ranks))
        for name, known in (("programs", PROGRAMS), ("noises", KINDS)):
            chosen = getattr(self, name)
            if not chosen or not set(chosen) <= set(known):
                given = shorten(",".join(map(str, chosen)))
                raise ValueError(f"{name} must be some of {', '.join(known)}, got {given!r}")
            object.__setattr__(self, name, tuple(key for key in known if key in chosen))
        check_integer(self.repeats, "repeats", 1, 10_000)
        for name in ("seconds", "longest"):
            value = getattr(self, name)
            if not 0 < value <= 600:
                raise ValueError(f"{name} must be a number above 0 to 600, got {value}")
        for ranks_of, count in self.instructions.items():
            check_ranks(ranks_of)
            if not 0 < count < 1e9:
                raise ValueError(f"instructions must be a number above 0 to 1e9, got {count}")


def check_ranks(value: Any, shown: str | None = None) -> int:
    """A power of two from 4 to 2^30."""
    try:
        if check_power_of_two(value, "ranks", 2**30) >= 4:
            return int(value)
    except ValueError:
        pass
    raise ValueError(
        "ranks must be a power of two from 4 to 2^30 (4096 or 2^12) for a benchmark, "
        f"got {shown or shorten(value)}"
    )
