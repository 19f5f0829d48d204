"""What is left of an interval at a random moment inside it: the equilibrium distribution.

Of a duration with survival function S and mean E it has the density S(t) / E (Cox, Renewal Theory,
1962, ch. 5): where a stationary renewal process begins.
"""

from __future__ import annotations

import numpy as np

from .tables import Floats, Line, Table, areas, smooth


def residual(table: Table) -> Table:
    """The table of what is left of a delay with a positive mean.

    The survival function of a table is a line of straight stretches, so its integral is exact.
    """
    times, above = table.line()
    ascending = times[::-1], above[::-1]
    return smooth(
        lambda p: _solve((times, above), p, -1.0),
        lambda p: _solve(ascending, p, 1.0),
    )


def _solve(line: Line, probabilities: Floats, sign: float) -> Floats:
    """Where the area below a survival function, from the line's start on, has such a part of all.

    Summed from its small end, so that the area is exact there.
    """
    times, above = line
    parts = np.abs(areas(line))
    upto = np.concatenate([[0.0], np.cumsum(parts)])
    area = probabilities * upto[-1]
    at = np.clip(np.searchsorted(upto, area, side="right") - 1, 0, len(parts) - 1)
    rest = np.clip(area - upto[at], 0, parts[at])
    width = np.abs(times[at + 1] - times[at])
    slope = np.divide(above[at + 1] - above[at], width, out=np.zeros_like(area), where=width > 0)
    # rest = above * x + slope * x^2 / 2, in the form that does not cancel.
    root = above[at] + np.sqrt(np.maximum(above[at] ** 2 + 2 * slope * rest, 0))
    x = np.divide(2 * rest, root, out=np.zeros_like(area), where=root > 0)
    return np.asarray(times[at] + sign * np.minimum(x, width))
