"""The late realizations: the share that is later than a value, down to one in 10,000."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..observables import Observed
from ..results import Results
from . import distribution, style
from .distribution import NAMED, tail


def draw(results: Results, observable: str | None = None) -> Figure:
    """A row for each observable, a column for each setting, a line with a band for each cell.

    Bands are 95 % intervals between order statistics. Where the sample is too small for one, the
    line goes on, thin and without.
    """
    subtitle = f"{results.counted}; bands: 95 % intervals; thin: too few realizations for one"
    return distribution.draw_panels(
        results, observable, _line, _finish, "share later (quantile)", subtitle
    )


def _line(axes: Axes, observed: Observed, look: dict[str, Any], confidence: float) -> None:
    found = tail(observed, confidence)
    known = np.isfinite(found.low) & np.isfinite(found.high)
    axes.plot(found.value[known], found.share[known], drawstyle="steps-post", **look)
    axes.fill_betweenx(found.share[known], found.low[known], found.high[known],
                       color=look["color"], alpha=0.25, linewidth=0, step="pre")  # fmt: skip
    rest = ~known
    if known.any() and rest.any():  # so that the thin line begins where the thick one ends
        rest[np.flatnonzero(known)[-1]] = True
    axes.plot(found.value[rest], found.share[rest], color=look["color"], linewidth=0.6,
              drawstyle="steps-post")  # fmt: skip


def _finish(axes: Axes, name: str, unit: str) -> None:
    axes.set_xlabel(name, parse_math=False)
    style.value_axis(axes, unit)
    axes.set_yscale("log")
    axes.set_ylim(7e-5, 0.6)
    axes.yaxis.set_major_locator(FixedLocator(list(NAMED.values())))
    axes.yaxis.set_minor_locator(NullLocator())
    names = {share: f"{share:.4g} ({name})" for name, share in NAMED.items()}
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: names.get(y, "")))
