"""Results of congestion, and slowdowns with their intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .. import notebook, stats
from ..stats import Estimate
from .case import DELAYS, CongestionCase

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class CongestionResult:
    """What simulate_congestion found.

    Attributes
    ----------
    case : CongestionCase
    seed, first : int
        Of its random numbers.
    backend : str
        "cpu" or "cuda".
    samples : float64 array, shape (realizations,)
        By the case's rule: messages of an empty network for "orcs", "orcs1" and "ready", messages
        for "sum_max_cong", a share of the link bandwidth for "bandwidth".
    histogram : int64 array, shape (largest possible w + 1,), or None
        Messages with congestion w = 0, 1, 2, ..., of all realizations, levels and both patterns;
        w = 0 is a message whose route was dropped.
    """

    case: CongestionCase
    seed: int
    first: int
    backend: str
    samples: npt.NDArray[np.float64]
    histogram: npt.NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        case = self.case
        network = type(case.network).__name__
        return (
            f"CongestionResult({case.rule} on {network} of {case.network.hosts:,} hosts: mean "
            f"{self.mean()}, realizations={len(self.samples)}, first={self.first}, "
            f"seed={self.seed}, backend={self.backend!r})"
        )

    def to_pandas(self) -> pandas.DataFrame:
        """The samples, a row for each realization; `ValueError` if pandas is not installed."""
        index = range(self.first, self.first + len(self.samples))
        frame: pandas.DataFrame = notebook.package("pandas").DataFrame(
            {self.case.rule: self.samples}, index=index
        )
        frame.index.name = "realization"
        return frame

    def mean(self, confidence: float = 0.95) -> Estimate:
        """Mean over realizations, with Student's interval."""
        return stats.mean(self.samples, confidence)


def slowdown(
    perturbed: CongestionResult, unperturbed: CongestionResult, confidence: float = 0.95
) -> Estimate:
    """Slowdown in percent, 100 mean(perturbed) / mean(unperturbed): 100 is none.

    The realizations are paired, both have the same placements: Fieller's interval.

    Parameters
    ----------
    perturbed, unperturbed : CongestionResult
        Of a case and of ``case.unperturbed()``, of the same realizations.
    confidence : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        They are not such a pair.

    Examples
    --------
    >>> from jitterfly.congestion import FatTree, simulate_congestion
    >>> case = CongestionCase(FatTree.of(144), perturbation="bisect_fb")
    >>> both = [simulate_congestion(c, 200) for c in (case, case.unperturbed())]
    >>> slowdown(*both).low > 100
    True
    """
    if unperturbed.case != perturbed.case.unperturbed() or perturbed.case.rule not in DELAYS:
        raise ValueError(
            "unperturbed must be of perturbed.case.unperturbed(), and the rule one of "
            f"{', '.join(DELAYS)}"
        )
    same: list[Callable[[CongestionResult], int]] = [
        lambda r: r.seed,
        lambda r: r.first,
        lambda r: len(r.samples),
    ]
    if any(get(perturbed) != get(unperturbed) for get in same):
        raise ValueError("perturbed and unperturbed must be of the same seed and realizations")
    found = stats.ratio(perturbed.samples, unperturbed.samples, confidence)
    percent = {name: 100 * getattr(found, name) for name in ("value", "low", "high")}
    return dataclasses.replace(found, **percent)
