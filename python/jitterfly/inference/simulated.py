"""Delays of a butterfly in units of the noise's scale, from the engine.

``completion = K * L + scale * extra``: without latency and with a scale of 1 us, the engine's
completion is the extra time itself. With one seed, `extra` can only grow with the probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial

import numpy as np
import numpy.typing as npt

from ..algorithms import Butterfly
from ..case import Case
from ..network import Hockney
from ..noise import StepNoise
from ..noise.distributions import Distribution
from ..simulate import simulate
from ..units import TICKS_PER_SECOND

Progress = Callable[[str, float, float], object]
"""Called with what is simulated, how much of it is done, and how much there is of it."""

_watched: ContextVar[Progress | None] = ContextVar("watched", default=None)


@contextmanager
def watching(progress: Progress | None) -> Iterator[None]:
    """Tell `progress` how far each simulation of the block is: tables and fits are made of many."""
    token = _watched.set(progress)
    try:
        yield
    finally:
        _watched.reset(token)


def part_of(name: str, done: int, parts: int) -> AbstractContextManager[None]:
    """As `watching`: the simulation of the block is one of the parts of something larger."""
    outer = _watched.get()

    def inside(_: str, here: float, of_here: float) -> None:
        if outer is not None:
            outer(name, done + here / of_here, parts)

    return watching(None if outer is None else inside)


_ABOUT = 10  # values of p that a search takes


class Numbered:
    """Simulations of a search over p, which are told as parts of about ten.

    `what` tells the search from another one.
    """

    def __init__(self, what: str = "") -> None:
        self.what, self.done = what, 0

    def __call__(self, realizations: int) -> AbstractContextManager[None]:
        """Of one p, with so many realizations."""
        self.done += 1
        name = f"{self.what}{realizations:,} realizations at each of about {_ABOUT} p"
        return part_of(name, self.done - 1, max(_ABOUT, self.done))


UNIT = 1e-6  # seconds: 10^6 ticks, so that shapes are resolved to 10^-6
_COLUMN = {"last": 0, "mean": 2}  # of latest, earliest, mean


def extra(
    ranks: int,
    delay: Distribution,
    probability: float,
    realizations: int,
    *,
    rank: str = "last",
    seed: int = 1,
    first: int = 0,
) -> npt.NDArray[np.float64]:
    """Time beyond the noise-free one, in units of the scale of `delay`, shape (realizations,).

    Parameters
    ----------
    ranks : int
        A power of two.
    delay : Distribution
        Of one hit, its scale `UNIT`; or of measured delays, in whose microseconds the result is.
    probability : float
        That a step is hit, from 0 to 1.
    rank : "last" or "mean"
    """
    if probability == 0 or ranks == 1:
        return np.zeros(realizations)
    case = Case(
        ranks,
        algorithm=Butterfly(),
        network=Hockney(0.0, 0.0),
        noise=[StepNoise(delay, probability=probability, during="communication")],
        observe="completion" if rank == "last" else "spread",
    )
    column = 0 if rank == "last" else _COLUMN[rank]
    told, name = _watched.get(), f"{realizations:,} realizations at p = {probability:.3g}"
    report = None if told is None else partial(told, name)
    if report is not None:
        report(0, realizations)
    result = simulate(case, realizations, seed=seed, first=first, progress=report)
    ticks: npt.NDArray[np.float64] = result.ticks[:, column] / (UNIT * TICKS_PER_SECOND)
    return ticks
