"""What a fit found, for people: parameters, how well they fit, and what else could be."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..units import show_seconds
from .found import NO_FIT, NOT_TESTED, Bounds, Fit
from .verdict import SIGNIFICANCE, TOLERANCE

_ROUNDING = 1e-9
_SHOWN = 0.01  # p of "rare" noise, where a needed duration is told


def report(found: Fit) -> list[str]:
    """Lines of text: model, parameters, points, verdict, notes."""
    lines = [_head(found), _model(found), ""]
    lines += parameters(found)
    lines += ["", *points(found), "", verdict(found)]
    lines += [f"  {line}" for line in explanations(found)]
    return lines


def _head(found: Fit) -> str:
    ranks = found.curve.ranks
    span = f"{ranks[0]:,}" if len(ranks) == 1 else f"{ranks[0]:,} to {ranks[-1]:,}"
    name = found.curve.name or "curve"
    return f"{name}: {len(ranks)} point{'s' * (len(ranks) > 1)}, {span} ranks"


def _model(found: Fit) -> str:
    law = {
        "bernoulli": "each step is delayed by D with probability p",
        "exponential": "each step is delayed by an exponential time of mean D",
        "rare-exponential": "with probability p a step is delayed by an exponential time of mean D",
    }[found.model.name]
    whose = "last rank" if found.model.rank == "last" else "mean rank"
    return f"model: a step takes L, {law}; latency is the mean completion of the {whose}"


def parameters(found: Fit) -> list[str]:
    """A line for each parameter."""
    rows = [("latency of a step", "L", found.step, "s"),
            (found.model.scale, "D", found.scale, "s")]  # fmt: skip
    if found.model.free:
        rows += [("probability of a hit", "p", found.probability, ""),
                 ("mean delay of a step", "p D", found.load, "s")]  # fmt: skip
    told = [(name, sign, bounds(value, unit, found)) for name, sign, value, unit in rows]
    width = max(len(name) for name, _, _ in told)
    return [f"  {name:{width}}  {sign:3}  {text}" for name, sign, text in told]


def bounds(value: Bounds, unit: str, found: Fit) -> str:
    """An estimate, and its interval where it has one."""
    if value.fixed:
        return f"{amount(value.value, unit)}  (given)"
    if found.verdict == NO_FIT:
        return f"{amount(value.value, unit)}  (the closest)"
    low, high = amount(value.low, unit), amount(value.high, unit)
    if math.isinf(value.high):
        return f"{amount(value.value, unit)}  [{low}, no upper end]"
    return f"{amount(value.value, unit)}  [{low}, {high}]"


def amount(value: float, unit: str) -> str:
    """A time with its unit, or a number."""
    return show_seconds(value, 3) if unit == "s" else f"{value:.3g}"


def points(found: Fit) -> list[str]:
    """Each point, measured and as the model has it."""
    lines = [f"  {'ranks':>9}  {'measured':>10}  {'model':>10}  measured / model"]
    for ranks, seen, model in zip(
        found.curve.ranks, found.curve.latency, found.predicted, strict=True
    ):
        ratio = f"{seen / model:.3f}" if model > 0 else "-"
        lines.append(
            f"  {ranks:>9,}  {show_seconds(seen, 4):>10}  {show_seconds(model, 4):>10}  {ratio:>16}"
        )
    return lines


def verdict(found: Fit) -> str:
    """Whether the model explains the curve, and how that was decided."""
    if not math.isnan(found.chance):
        how = (
            f"chi2 = {found.chi2:.3g} with {max(found.freedom, 0)} degrees of freedom; chance "
            f"alone gives as much {'at most ' * (found.freedom <= 0)}{_percent(found.chance)} of "
            "the time"
        )
        if found.verdict == NO_FIT:
            how += f" (below {100 * SIGNIFICANCE:g} % counts as no fit)"
    else:
        how = f"rms of measured / model - 1 is {_percent(found.misfit)}"
        if found.verdict == NO_FIT:
            how += f" (above {100 * TOLERANCE:g} % counts as no fit)"
    if found.verdict == NOT_TESTED:
        how = "as many parameters as points, or more, so this tests nothing"
    return f"{found.verdict}: {how}"


def explanations(found: Fit) -> list[str]:
    """What the intervals are, what the curve can not tell, what does not fit and what could."""
    lines = _failure(found) if found.verdict == NO_FIT else _intervals(found)
    return [*lines, *found.curve.notes]


def _intervals(found: Fit) -> list[str]:
    share = f"{100 * found.confidence:g} %"
    if found.curve.error is not None:
        lines = [f"{share} intervals: profile likelihood, with the errors of the file"]
    elif found.freedom > 0:
        lines = [f"{share} intervals: profile likelihood, errors estimated from the misfit and "
                 "taken as an equal share of each latency; better give them"]  # fmt: skip
    else:
        lines = ["no errors are given and none can be estimated: the ranges hold all that fits as "
                 "well to 0.1 %"]  # fmt: skip
    if math.isinf(found.scale.high):
        lines.append("D has no upper end: longer and rarer noise fits as well; what the curve "
                     "knows is p D")  # fmt: skip
    if found.scale.low == 0 and not found.scale.fixed:
        lines.append("D may be 0: the curve shows no noise that can be told from none")
    if found.step.low == 0 and found.probability.high == 1 and not found.step.fixed:
        lines.append("noise that hits every step is the same as a larger L")
    if found.verdict == NOT_TESTED:
        lines += _beyond(found)[:1]
    partial = found.curve.ranks & (found.curve.ranks - 1) != 0
    if partial.any():
        lines.append("between powers of two the model is interpolated over log2(ranks)")
    return lines


def _failure(found: Fit) -> list[str]:
    curve, lines, step = found.curve, _beyond(found), found.step.value
    if (np.diff(curve.latency) < 0).any() and not _rises(curve.latency):
        lines.append("the latency falls with the number of ranks; in the model it can only rise")
    if found.step.fixed and (curve.latency < curve.rounds * step).any():
        at = int(np.argmin(curve.latency / curve.rounds))
        least = show_seconds(float(curve.rounds[at]) * step, 4)
        lines.append(f"at {curve.ranks[at]:,} ranks it is below K L = {least}, the time without "
                     "noise")  # fmt: skip
    return lines or ["no L, D and p of this model give a curve of this shape"]


def _beyond(found: Fit) -> list[str]:
    """On a latency above K (L + D), which no p reaches (the model's §7), if there is one."""
    curve = found.curve
    at = int(np.argmax(curve.latency / np.maximum(found.predicted, 1e-15)))
    k, seen, ranks = float(curve.rounds[at]), float(curve.latency[at]), f"{curve.ranks[at]:,} ranks"
    quiet = k * found.step.value
    reach = quiet + k * found.model.most * found.scale.value
    if not found.scale.fixed or seen <= reach * (1 + _ROUNDING):
        return []
    step, scale = (show_seconds(x.value, 3) for x in (found.step, found.scale))
    rare = float(found.model.extra([k], [_SHOWN])[0, 0])
    whole, few = (seen - quiet) / k, (seen - quiet) / rare
    return [
        f"at {ranks} the model reaches at most K (L + D) = {k:.4g} ({step} + {scale}) = "
        f"{show_seconds(reach, 4)}, with every step hit; measured: {show_seconds(seen, 4)}",
        f"{show_seconds(seen - reach, 4)} remain unexplained by any p",
        "what could explain them: longer noise (D of "
        f"{show_seconds(whole, 3)} if it hits every step, {show_seconds(few, 3)} at "
        f"p = {_SHOWN:g}), detours of a heavy tail, of which the last rank sees the longest,",
        "or noise that is not independent: daemons that stop all ranks of a node or of the "
        "machine at once add their whole time",
    ]


def _rises(values: Sequence[float]) -> bool:
    return bool(values[-1] > values[0])


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
