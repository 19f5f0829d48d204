"""The noise of one realization, drawn rank by rank and message by message."""

from dataclasses import dataclass
from decimal import Decimal, localcontext

from . import philox
from .timeline import Timeline, periodic_intervals


@dataclass(frozen=True)
class PeriodicNoise:
    """Periodic CPU noise. `phases` (ticks, one per rank) replaces the drawn ones."""

    period: int
    duration: int
    stationary: bool = False
    node_ranks: int = 1
    phases: tuple[int, ...] | None = None
    in_compute: bool = True
    in_communication: bool = True

    def phase(self, seed, realization, rank):
        if self.phases is not None:
            return self.phases[rank]
        return philox.periodic_phase(seed, realization, rank, self.period, self.node_ranks)

    def timeline(self, seed, realization, rank):
        phase = self.phase(seed, realization, rank)
        return Timeline(periodic_intervals(self.period, self.duration, phase, self.stationary))


@dataclass(frozen=True)
class Jitter:
    """Network jitter: each event lengthens a message by `duration`.

    survival[k] = 2^64 P(more than k events), so that a 64-bit uniform u means as many events as
    there are entries above u.
    """

    duration: int
    survival: tuple[int, ...]

    def delay(self, seed, realization, purpose, receiver, draw):
        u = philox.uniform64(seed, purpose, receiver, realization, draw)
        return self.duration * sum(u < threshold for threshold in self.survival)


def poisson_survival(mean):
    """Thresholds 2^64 P(more than k events), k = 0, 1, ... while not 0, of an exact mean."""
    with localcontext() as context:
        context.prec = 80
        mean = Decimal(mean.numerator) / Decimal(mean.denominator)
        probability = (-mean).exp()  # of k events
        survival = 1 - probability
        thresholds = []
        while threshold := round(survival * 2**64):
            thresholds.append(min(threshold, 2**64 - 1))
            probability *= mean / len(thresholds)
            survival -= probability
        return tuple(thresholds)
