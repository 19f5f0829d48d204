"""The command `jitterfly fit`: from a measured scaling curve to latency and noise of a step."""

from __future__ import annotations

import argparse
import csv
import io
import re
from pathlib import Path
from typing import Any

from .options import check_units, naming_options, number, size, tell_of_wait
from .output import add_json, print_json, written
from .progress import Phases

EPILOG = """\
CURVE is a file of columns with a header, such as

  ranks,latency_us,error_us
  2,3.9,0.1
  4,8.1,0.1

(also min, max, and series: a curve for each), or the output of a benchmark of collectives
(OSU, IMB), one file or one for each number of ranks. Known values are given, such as
--step 3.45us --delay 14us.
A step takes L on both partners: latency = K L + noise, K = log2(ranks).
Exit code 0 also where no parameters fit; the text then says `no fit`, and what could explain it.
"""


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "fit",
        help="latency and noise of a step from a measured scaling curve",
        description="Estimate L and the noise of a step (p, D), with intervals, from ranks and "
        "latency.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("curve", type=Path, nargs="+", metavar="CURVE")
    parser.add_argument(
        "--model", metavar="NAME", default="bernoulli",
        help="bernoulli (default), exponential (every step) or rare-exponential",
    )  # fmt: skip
    parser.add_argument(
        "--rank", metavar="RANK", default="last", help="whose completion it is: last or mean"
    )
    parser.add_argument("--step", metavar="TIME", help="L, where it is known")
    parser.add_argument("--delay", metavar="TIME", help="D, where it is known")
    parser.add_argument("--probability", metavar="P", help="p, where it is known")
    parser.add_argument("--confidence", metavar="SHARE", default="0.95")
    parser.add_argument("--series", metavar="NAME", help="only this curve of the file")
    parser.add_argument("--bytes", metavar="N", help="size, where a table has several")
    parser.add_argument("--unit", metavar="UNIT", default="", help="of numbers without one (s)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="tables and pictures go there")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    from ..inference import fit, fit_report, read_curves, watching

    bytes_ = None if chosen.bytes is None else size(chosen.bytes, "bytes")
    with naming_options("unit"):
        curves = read_curves(chosen.curve, rank=chosen.rank, message_bytes=bytes_, unit=chosen.unit)
    if chosen.series is not None:
        from ..fields import check_choice

        check_choice(chosen.series, "--series", [curve.name for curve in curves])
        curves = [curve for curve in curves if curve.name == chosen.series]
    if chosen.model == "bernoulli" and chosen.rank == "last":
        tell_of_wait(max(curve.rounds[-1] for curve in curves))
    check_units(chosen, ("step", "delay"))
    probability = chosen.probability
    names = naming_options("model", "rank", "step", "delay", "probability")
    with names, Phases() as phases, watching(phases):
        found = []
        for place, curve in enumerate(curves, 1):
            phases(f"curve {place} of {len(curves)}{f', {curve.name}' if curve.name else ''}")
            found.append(
                fit(
                    curve,
                    chosen.model,
                    chosen.rank,
                    step=chosen.step,
                    delay=chosen.delay,
                    probability=None if probability is None else number(probability, "probability"),
                    confidence=number(chosen.confidence, "confidence"),
                )
            )
    if chosen.json:
        names = [] if chosen.out is None else written(chosen.out, _write(found, chosen.out))
        print_json("fit", fits=[_for_programs(one) for one in found], written=names)
        return
    print("\n\n".join("\n".join(fit_report(one)) for one in found))
    if chosen.out is not None:
        print(f"\nwritten to {chosen.out}: {', '.join(_write(found, chosen.out))}")


def _for_programs(one: Any) -> dict[str, Any]:
    parameters = {}
    for name in ("step", "scale", "probability", "load"):
        bounds = getattr(one, name)
        ends = {"low": bounds.low, "high": bounds.high} if one.intervals else {}
        parameters[name] = {"value": bounds.value, "low": None, "high": None, **ends,
                            "given": bool(bounds.fixed)}  # fmt: skip
    names = ("series", "ranks", "measured_s", "error_s", "model_s")
    points = [dict(zip(names, row, strict=True)) for row in _rows_of_points(one)]
    return {"series": one.curve.name, "verdict": one.verdict, "model": one.model.name,
            "rank": one.model.rank, "confidence": one.confidence, "misfit": one.misfit,
            "parameters": parameters, "points": points}  # fmt: skip


def _write(found: list[Any], out: Path) -> list[str]:
    from ..files import write_whole
    from ..plots import draw

    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "fit.csv", _parameters(found).encode())
    write_whole(out / "points.csv", _points(found).encode())
    names = ["fit.csv", "points.csv"]
    if not draw.can_draw():
        return names
    from ..plots import fit as picture

    for i, one in enumerate(found):
        plain = re.sub(r"[^A-Za-z0-9.-]+", "_", one.curve.name).strip("_.") or "curve"
        name = f"{plain}.png" if len(found) == 1 else f"{i + 1}_{plain}.png"
        with draw.drawing():
            draw.save(picture.draw(one), out / name)
        names.append(name)
    return names


def _parameters(found: list[Any]) -> str:
    rows = [("series", "verdict", "model", "rank", "parameter", "value", "low", "high", "given",
             "confidence")]  # fmt: skip
    for one in found:
        for name in ("step", "scale", "probability", "load"):
            bounds = getattr(one, name)
            low, high = (bounds.low, bounds.high) if one.intervals else ("", "")
            rows.append((one.curve.name, one.verdict, one.model.name, one.model.rank, name,
                         bounds.value, low, high, int(bounds.fixed), one.confidence))  # fmt: skip
    return table(rows)


def _points(found: list[Any]) -> str:
    rows: list[Any] = [("series", "ranks", "measured_s", "error_s", "model_s")]
    for one in found:
        rows += [["" if x is None else x for x in row] for row in _rows_of_points(one)]
    return table(rows)


def _rows_of_points(one: Any) -> list[tuple[Any, ...]]:
    curve = one.curve
    errors = [None] * len(curve) if curve.error is None else curve.error.tolist()
    points = (curve.ranks.tolist(), curve.latency.tolist(), errors, one.predicted.tolist())
    return [(curve.name, *point) for point in zip(*points, strict=True)]


def table(rows: list[tuple[Any, ...]]) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
