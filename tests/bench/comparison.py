"""Performance regression test between two benchmark files (Hodges-Lehmann shift, Bonferroni).

A case's time is divided by that of the reference just before it, in the same run, so that a
machine that is slower as a whole changes nothing. The ratios of both runs are two samples; the
interval of the shift between them (of logarithms) is Hodges and Lehmann's, from the order of all
differences, with the exact distribution of Mann and Whitney's statistic: it needs no shape of the
noise, only that it is the same in both runs. With m cases each interval has the confidence
1 - ALPHA / m (Bonferroni), so that all of them hold together with 1 - ALPHA.

What differs from run to run and not from repeat to repeat (where code and data happen to lie) no
interval from repeats can know: for that is the margin.

Hodges & Lehmann, *Estimates of location based on rank tests*, Ann. Math. Statist. 34, 1963; exact
distribution of the statistic: Mann & Whitney, Ann. Math. Statist. 18, 1947.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from jitterfly.fields import shorten

from .goals import times_of

ALPHA = 0.05
"""Chance at most that anything is called slower or faster although nothing changed, margin 0."""
MARGIN = 0.1
FORMAT = 2
_KEY = "name", "threads", "program", "noise", "ranks"


@lru_cache
def order_rank(n: int, m: int, alpha: float) -> int:
    """How many of the n * m ordered differences lie outside the interval at either end.

    The largest k with P(U < k) <= alpha / 2, where U is Mann and Whitney's statistic under no
    shift; 0: the samples are too small for the confidence.
    """
    if n + m > 50:  # the normal limit will do, and the exact way takes long
        spread = math.sqrt(n * m * (n + m + 1) / 12)
        z = statistics.NormalDist().inv_cdf(alpha / 2)
        return max(math.floor(n * m / 2 + z * spread - 0.5), 0)
    # ways[u]: choices of n from n + m places with statistic u, by a Gaussian binomial coefficient.
    ways = [1] + [0] * (n * m)
    for j in range(1, n + 1):
        for u in range(n * m, m + j - 1, -1):
            ways[u] -= ways[u - m - j]
        for u in range(j, n * m + 1):
            ways[u] += ways[u - j]
    most = alpha / 2 * math.comb(n + m, n)
    return sum(below <= most for below in accumulate(ways))


def shift(before: Sequence[float], after: Sequence[float], alpha: float) -> tuple[float, ...]:
    """Estimate and interval of the shift from one sample to another; infinite if too small."""
    differences = np.sort(np.subtract.outer(np.asarray(after), np.asarray(before)).ravel())
    k = order_rank(len(before), len(after), alpha)
    if k == 0:
        return float(np.median(differences)), -math.inf, math.inf
    return float(np.median(differences)), float(differences[k - 1]), float(differences[-k])


def ratios_of(row: dict[str, Any]) -> list[float]:
    """Logarithms of a row's time per rank-round over the reference's time beside it."""
    pairs = zip(times_of(row), row["reference_cpu_seconds"], strict=True)
    return [math.log(time / reference) for time, reference in pairs]


def compare(
    before: dict[str, Any], after: dict[str, Any], margin: float = MARGIN
) -> dict[str, Any]:
    """Every case that both benchmarks measured.

    Parameters
    ----------
    before, after : dict
        Results of `run`, of one machine and instruction set.
    margin : float
        A change of this size counts for nothing: from 0 to 10 (0.1: ten per cent).

    Returns
    -------
    dict
        "rows": of each case "change" (time after over before: estimate, low, high; None: infinite)
        and "verdict": "regression" (all of the interval above 1 + margin), "improvement" (below its
        inverse), "same" (within both), else "cannot tell". "regressions": how many. "missing":
        cases of `before` that `after` lacks. "warnings".

    Raises
    ------
    ValueError
        Machines or instruction sets differ, no case is in both, or a result is of another format.
    """
    if not 0 <= margin <= 10:
        raise ValueError(f"margin must be a number from 0 to 10, got {margin}")
    warnings = _check(before, after)
    old, new = _rows(before), _rows(after)
    cases = [key for key in old if key in new]
    if not cases:
        raise ValueError("compare: the two results have no case in common")
    alpha = ALPHA / len(cases)
    sizes = (
        min(len(old[key]["seconds"]) for key in cases),
        min(len(new[key]["seconds"]) for key in cases),
    )
    if not order_rank(*sizes, alpha):
        enough = next(n for n in range(1, 100) if order_rank(n, n, alpha))
        warnings.append(f"{sizes[0]} and {sizes[1]} repeats can tell nothing about {len(cases)} "
                        f"cases at once: {enough} each are needed")  # fmt: skip
    factor = before["reference"]["rank_rounds_per_repeat"]
    factor = math.log(after["reference"]["rank_rounds_per_repeat"] / factor)
    rows = []
    for key in cases:
        there = [value + factor for value in ratios_of(new[key])]
        middle, low, high = map(math.exp, shift(ratios_of(old[key]), there, alpha))
        rows.append(dict(zip(_KEY, key, strict=True))
                    | {"change": {"estimate": middle, "low": low,
                                  "high": high if math.isfinite(high) else None},
                       "verdict": _verdict(low, high, 1 + margin)})  # fmt: skip
    return {
        "alpha": ALPHA,
        "margin": margin,
        "rows": rows,
        "regressions": sum(row["verdict"] == "regression" for row in rows),
        "missing": [" ".join(map(str, key)) for key in old if key not in new],
        "warnings": warnings,
    }


def _rows(result: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[name] for name in _KEY): row for row in result["rows"]
            if row["name"].startswith("jitterfly")}  # fmt: skip


def _verdict(low: float, high: float, factor: float) -> str:
    if low > factor:
        return "regression"
    if high < 1 / factor:
        return "improvement"
    return "same" if 1 / factor <= low and high <= factor else "cannot tell"


def _check(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    for result in (before, after):
        if result.get("format") != FORMAT:
            found = shorten(result.get("format"))
            raise ValueError(f"compare needs results of format {FORMAT}, got {found}")
    old, new = before["machine"], after["machine"]
    for what, a, b in [("processor", old["cpu"], new["cpu"]),
                       ("instruction set", old["build"]["instruction_set"],
                        new["build"]["instruction_set"])]:  # fmt: skip
        if a != b:
            raise ValueError(f"compare needs results of one {what}, got {a!r} and {b!r}")
    if before["reference"]["ranks"] != after["reference"]["ranks"]:
        raise ValueError("compare needs results with the same reference")
    pairs = [(name, old[name], new[name]) for name in ("cores", "system", "python", "numpy")]
    pairs.append(("compiler", old["build"]["compiler"], new["build"]["compiler"]))
    return [f"{name} differs: {a}, now {b}" for name, a, b in pairs if a != b]


def lines(found: dict[str, Any]) -> list[str]:
    """What `compare` found, as text: what changed first."""
    order = ["regression", "improvement", "cannot tell", "same"]
    texts = [f"warning: {text}" for text in found["warnings"]]
    texts += [f"not measured now: {text}" for text in found["missing"]]
    line = "{:<12} {:<18} {:<16} {:<9} {:>6} {:>4} {:>8}  {}"
    texts.append(line.format("", "", "program", "noise", "ranks", "thr", "time x", "interval"))
    for row in sorted(found["rows"], key=lambda row: order.index(row["verdict"])):
        change = row["change"]
        high = math.inf if change["high"] is None else change["high"]
        texts.append(line.format(
            row["verdict"], row["name"], row["program"], row["noise"],
            f"2^{row['ranks'].bit_length() - 1}", row["threads"] or "-",
            f"{change['estimate']:.3f}", f"{change['low']:.3f} to {high:.3f}",
        ))  # fmt: skip
    verdicts = [row["verdict"] for row in found["rows"]]
    counts = [f"{verdicts.count(word)} {word}" for word in order if word in verdicts]
    texts.append(f"{', '.join(counts)} (margin {found['margin']:.0%}; chance of a false alarm at "
                 f"most {found['alpha']:.0%} for all together)")  # fmt: skip
    return texts
