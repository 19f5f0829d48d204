"""The command `jitterfly budget`: how much noise keeps a collective under a limit."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..fields import shorten
from ..syntax import read_noise
from .fit import table as csv_table
from .options import check_units, naming_options, number, tell_of_wait, value
from .output import add_json, print_json, written
from .progress import Phases

_ROWS = 14  # of the table that is printed
_COLUMNS = (
    "rank", "statistic", "ranks", "latency_s", "step_s", "delay_s", "state", "p", "low", "high",
    "confidence", "how",
)  # fmt: skip
_PARAMETERS = ("ranks", "latency", "step", "delay", "rank", "statistic", "precision", "seed")

EPILOG = """\
example:
  jitterfly budget --ranks 8192 --latency 120us --step 3.45us --delay 14us
The answer is the largest p, the probability that a step is delayed by D, with the interval of its
Monte Carlo error. --rank mean is exact. The curve over D comes from a table that is shipped.
With --noise FILE, a measured noise file: how much rarer its detours must become.
"""


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "budget",
        help="how much noise keeps a collective under a limit",
        description="The largest probability of a delay that keeps a latency, and its curve over "
        "the length of the delay.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--ranks", metavar="N", required=True, help="a power of two")
    parser.add_argument("--latency", metavar="TIME", required=True, help="the limit")
    parser.add_argument("--step", metavar="TIME", required=True, help="L, of a step without noise")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--delay", metavar="TIME", help="D, by which a hit delays a step")
    what.add_argument("--noise", metavar="FILE", help="detours as they were measured")
    parser.add_argument(
        "--rank", metavar="RANK", default="last", help="whose completion: last (default) or mean"
    )
    parser.add_argument(
        "--statistic", metavar="NAME", default="mean",
        help="mean (default), p50, p90, p95, p99 or p99.9",
    )  # fmt: skip
    parser.add_argument("--confidence", metavar="SHARE", default="0.95")
    parser.add_argument(
        "--precision", metavar="SHARE",
        help="half the interval over p (default 0.03; 0.08 for a quantile)",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", default="1")
    parser.add_argument("--out", type=Path, metavar="DIR", help="table and picture go there")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    options = {
        "confidence": number(chosen.confidence, "confidence"),
        "precision": None if chosen.precision is None else number(chosen.precision, "precision"),
        "seed": value(chosen.seed),
    }
    fields = {
        "ranks": value(chosen.ranks),
        "latency": chosen.latency,
        "step": chosen.step,
        "rank": chosen.rank,
        "statistic": chosen.statistic,
    }
    if chosen.noise is not None:
        _measured(chosen, fields, options)
        return
    from ..inference import (
        Question,
        budget,
        budget_report,
        curves_over_delays,
        delays_table,
        watching,
    )

    with naming_options(*_PARAMETERS):
        question = Question(delay=chosen.delay, **fields)
    check_units(chosen, ("latency", "step", "delay"))
    tell_of_wait(question.rounds)
    with naming_options(*_PARAMETERS), Phases() as phases, watching(phases):
        found = budget(question, **options)
    if chosen.json:
        with Phases() as phases, watching(phases):
            phases("the curve over D")
            curves = curves_over_delays(question, options["confidence"])
        names = [] if chosen.out is None else _write(found, curves, chosen.out)
        rows = [dict(zip(_COLUMNS, row, strict=True)) for row in _rows([found], curves)]
        paths = written(chosen.out, names) if chosen.out is not None else []
        print_json("budget", answer=rows[0], over_delays=rows[1:], written=paths)
        return
    print("\n".join(budget_report(found)), flush=True)
    with Phases() as phases, watching(phases):
        phases("the curve over D")
        curves = curves_over_delays(question, options["confidence"])
    few = [curve[:: max(len(curve) // _ROWS, 1)] for curve in curves]
    print("\n" + "\n".join(delays_table(few)))
    if chosen.out is not None:
        print(f"\nwritten to {chosen.out}: {', '.join(_write(found, curves, chosen.out))}")


def _measured(chosen: argparse.Namespace, fields: dict[str, Any], options: dict[str, Any]) -> None:
    if chosen.out is not None:
        raise ValueError("--out is for --delay: with --noise there is no curve over D")
    from ..inference import watching
    from ..inference.thinning import thinned

    table = read_noise(chosen.noise, "--noise")
    if set(table) != {"kind", "file"} or table["kind"] != "trace":
        raise ValueError(
            f"--noise must be a noise file here, got {shorten(chosen.noise)}: --delay answers for "
            "delays of one length"
        )
    check_units(chosen, ("latency", "step"))
    with naming_options(*_PARAMETERS), Phases() as phases, watching(phases):
        phases(f"reading {chosen.noise}")
        found = thinned(Path(table["file"]), **fields, **options)
    if chosen.json:
        print_json("budget", answer=found, measured_probability=found.measured)
        return
    print("\n".join(found.lines()))


def _rows(found: list[Any], curves: list[list[Any]]) -> list[tuple[Any, ...]]:
    rows = []
    for one in [*found, *(one for curve in curves for one in curve)]:
        asked, p = one.question, one.probability
        rows.append((asked.rank, asked.statistic, asked.ranks, asked.latency, asked.step,
                     asked.delay, one.state, p.value, p.low, p.high, one.confidence,
                     one.how))  # fmt: skip
    return rows


def _write(found: Any, curves: list[list[Any]], out: Path) -> list[str]:
    from ..files import write_whole
    from ..inference.budget import AT_MOST
    from ..plots import draw

    out.mkdir(parents=True, exist_ok=True)
    rows = [_COLUMNS, *_rows([found], curves)]
    write_whole(out / "budget.csv", csv_table(rows).encode())
    some = any(one.state == AT_MOST for curve in curves for one in curve)
    if not (some and draw.can_draw()):  # nothing to see, or no way to draw it
        return ["budget.csv"]
    from ..plots import budget as picture

    with draw.drawing():
        draw.save(picture.draw(found, curves), out / "budget.png")
    return ["budget.csv", "budget.png"]
