"""Commands `jitterfly fit` (noise from a scaling curve) and `jitterfly budget` (allowed noise).

`fit` estimates latency and noise of a step from a measured scaling curve; `budget` says how much
noise keeps a collective under a limit.
"""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from jitterfly.answer import FIRST, Note, cautions_first, csv_text
from jitterfly.cli.options import (
    read_times,
    size,
    value,
)
from jitterfly.cli.output import (
    add_json,
    add_out,
    asked_digests,
    json_bytes,
    prepare_out,
    print_json,
    show_phases,
    tell,
)
from jitterfly.fields import check_choice, shorten
from jitterfly.syntax import is_number, read_count, read_noise_texts, read_number

FIT_EPILOG = """\
CURVE is a file of columns with a header, such as

  ranks,latency_us,error_us
  2,3.9,0.1
  4,8.1,0.1

(error: the standard error; also min, max, and series: a curve for each), or the output of a
benchmark of collectives (OSU, IMB), one file or one for each number of ranks: osu_64.txt@64
osu_128.txt@128 where the files do not say it, as OSU's do not. Known values are given, such as
--step 3.45us --delay 14us.
A step takes L on both partners: latency = K L + noise, K = log2(ranks). All of L is taken to follow
a delay; where it is mostly time on the wire, D is longer than what comes out.
Exit code 0 also where no parameters fit; the text then says `no fit`, and what could explain it.
"""
_POINT_COLUMNS = ("series", "ranks", "measured_s", "error_s", "model_s")
_ASKED_OF_A_FIT = ("model", "rank", "probability", "confidence", "series", "collective",
                   "message_bytes", "unit")  # fmt: skip
_PRINTED_ROWS = 14  # of the table that is printed
BUDGET_EPILOG = """\
The answer is the largest p, the probability that a step is delayed by D, with the interval of its
Monte Carlo error. --rank mean is exact. The curve over D comes from a table, which is shipped for
up to 2^14 ranks; for more it is made first.
With --noise FILE, a measured noise file: how much rarer its detours must become.
All of L is taken to follow a delay; where it is mostly time on the wire, a larger p will do.
A hit counts where it begins, as in a long run of collectives; `jitterfly slowdown` also has what is
under way when one collective begins on a running machine.
How long periodic noise may last, under any collective: `jitterfly slowdown --at-most`.
"""


def _announce_simulation(rounds: float) -> None:
    """Say that more ranks than the shipped tables have take a simulation first."""
    from ..inference import is_shipped

    if not is_shipped(math.ceil(rounds)):
        message = f"no table for 2^{math.ceil(rounds)} ranks is shipped: making it may take minutes"
        tell(message)


def add_fit(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "fit",
        help="latency and noise of a step from a measured scaling curve",
        description="Estimate L and the noise of a step (p, D), with intervals, from ranks and "
        "latency.",
        epilog=FIT_EPILOG,
    )
    parser.add_argument(
        "curve", nargs="+", metavar="CURVE", help="a file, or FILE@RANKS where it does not say them"
    )
    parser.add_argument(
        "--model", metavar="NAME", default="bernoulli",
        help="bernoulli (default), exponential (every step), rare-exponential, or two-bernoulli: "
        "a frequent short and a rare long delay, and what of them is not determined",
    )  # fmt: skip
    parser.add_argument(
        "--rank", metavar="RANK", default="last", help="whose completion it is: last or mean"
    )
    parser.add_argument("--step", metavar="TIME", help="L, where it is known")
    parser.add_argument("--delay", metavar="TIME", help="D, where it is known")
    parser.add_argument(
        "--rare-delay", metavar="TIME", help="D of the rare source of two-bernoulli, where known"
    )
    parser.add_argument("--probability", metavar="P", help="p, where it is known")
    parser.add_argument("--confidence", metavar="SHARE", default="0.95")
    parser.add_argument("--series", metavar="NAME", help="only this curve of the file")
    parser.add_argument(
        "--collective", metavar="NAME", help="which one, where a benchmark printed several"
    )
    parser.add_argument(
        "--bytes", dest="message_bytes", metavar="N", help="size, where a table has several"
    )
    parser.add_argument("--unit", metavar="UNIT", default="", help="of numbers without one (s)")
    add_out(parser)
    add_json(parser)
    parser.set_defaults(run=_run_fit)


def _run_fit(chosen: argparse.Namespace) -> None:
    from ..inference import read_curves, watching

    bytes_ = None if chosen.message_bytes is None else size(chosen.message_bytes, "bytes")
    files = [_file_and_ranks(text) for text in chosen.curve]
    curves = read_curves(
        [path for path, _ in files],
        rank=chosen.rank,
        collective=chosen.collective,
        message_bytes=bytes_,
        ranks=[ranks for _, ranks in files],
        unit=chosen.unit,
    )
    if chosen.series is not None:
        check_choice(chosen.series, "--series", [curve.name for curve in curves])
        curves = [curve for curve in curves if curve.name == chosen.series]
    two = chosen.model == "two-bernoulli"
    if two and chosen.probability is not None:
        raise ValueError("--probability can not be given for --model two-bernoulli: it has two")
    if not two and chosen.rare_delay is not None:
        raise ValueError("--rare-delay is for --model two-bernoulli")
    if chosen.model in ("bernoulli", "two-bernoulli") and chosen.rank == "last":
        _announce_simulation(max(curve.rounds[-1] for curve in curves))
    asked = {
        "curves": files,
        "sha256": asked_digests(chosen, [path for path, _ in files]),
        **{name: getattr(chosen, name) for name in _ASKED_OF_A_FIT},
        **read_times(chosen, ("step", "delay", "rare_delay")),
    }
    prepare_out(chosen, "fit", asked)
    with show_phases() as phases, watching(phases):
        fits = []
        for place, curve in enumerate(curves, 1):
            if not two:
                phases(f"curve {place} of {len(curves)}{f', {curve.name}' if curve.name else ''}")
            fits.append(_fit(chosen, curve, two))
    if not chosen.json:
        print("\n\n".join("\n".join(fitted.report()) for fitted in fits))
    names = [] if chosen.out is None else _write_fits(fits, chosen.out, two, asked)
    paths = [chosen.out / name for name in names]
    if chosen.json:
        plain = [_plain(fitted, two) for fitted in fits]
        print_json("fit", fits=plain, **_page(fits), written=paths)
    elif two and names:
        print(f"\nwritten: {', '.join(map(str, paths))}")
    elif names:
        print(f"\nwritten to {chosen.out}: {', '.join(names)}")


def _file_and_ranks(text: str) -> tuple[Path, int | None]:
    """Parse FILE, or FILE@RANKS; a file may have such a name itself."""
    name, at, ranks = text.rpartition("@")
    if not at or Path(text).exists() or not (is_number(ranks) or Path(name).exists()):
        return Path(text), None
    return Path(name), read_count(ranks, f"ranks of {name}", 2, 2**20)


def _fit(chosen: argparse.Namespace, curve: Any, two_sources: bool) -> Any:
    from ..inference import fit, fit_two_sources

    given = chosen.probability
    probability = None if given is None else read_number(given, "--probability")
    options: dict[str, Any] = {
        "rank": chosen.rank,
        "step": chosen.step,
        "delay": chosen.delay,
        "confidence": read_number(chosen.confidence, "--confidence"),
    }
    if two_sources:
        return fit_two_sources(curve, rare_delay=chosen.rare_delay, **options)
    return fit(curve, chosen.model, probability=probability, **options)


def _plain(fitted: Any, two_sources: bool) -> dict[str, Any]:
    """The plain values, for JSON; ends are null where there are no intervals."""
    from ..inference.fit import NO_FIT
    from ..inference.two_sources import MODEL

    bounded = fitted.verdict != NO_FIT if two_sources else fitted.intervals
    parameters = {}
    for name, one in fitted.bounds.items():
        low, high = (one.low, one.high) if bounded else (None, None)
        parameters[name] = {"value": one.value, "low": low, "high": high, "given": bool(one.fixed)}
        if two_sources:
            parameters[name]["determined"] = name not in fitted.undetermined
    plain = {"series": fitted.curve.name, "verdict": fitted.verdict,
             "model": MODEL if two_sources else fitted.model.name, "rank": fitted.model.rank,
             "confidence": fitted.confidence, "misfit": fitted.misfit,
             "parameters": parameters, "noise": [one.short_dict() for one in fitted.noise],
             "noise_options": list(fitted.noise_options)}  # fmt: skip
    if not two_sources:
        rows = _rows_of_points(fitted)
        plain["points"] = [dict(zip(_POINT_COLUMNS, row, strict=True)) for row in rows]
    return plain


def _page(fits: list[Any]) -> dict[str, Any]:
    """Return what `report` takes: the page of a fit, or one of several with their names."""
    if len(fits) == 1:
        page: dict[str, Any] = fits[0].page()
        return page
    tables = [replace(one, title=fitted.title()) for fitted in fits
              for one in fitted.shown_tables()]  # fmt: skip
    notes = cautions_first(
        Note(getattr(note, "code", ""), f"{fitted.curve.name}: {note}", getattr(note, "place", ""))
        for fitted in fits
        for note in fitted.notes()
    )
    return {
        "title": f"Fits of {len(fits)} scaling curves",
        "notes": notes,
        "note_codes": [note.code for note in notes],
        "cautions": sum(note.place == FIRST for note in notes),
        "tables": tables,
    }


def _write_fits(fits: list[Any], out: Path, two_sources: bool, asked: dict[str, Any]) -> list[str]:
    """Write tables, and pictures of what has one source; return the names of the files."""
    from jitterfly.files import write_together
    from jitterfly.plots import draw

    points = [row for fitted in fits for row in _rows_of_points(fitted)]
    table = csv_text([_POINT_COLUMNS, *points])
    parameters = _parameters_csv(fits, two_sources)
    plain = [re.sub(r"[^A-Za-z0-9.-]+", "_", one.curve.name).strip("_.") or "curve" for one in fits]
    if len(fits) > 1 or plain == ["fit"]:
        plain = [f"{i}_{name}" for i, name in enumerate(plain, 1)]
    pages = {f"{stem}.json": json_bytes(fitted.page())
             for stem, fitted in zip(plain, fits, strict=True)}  # fmt: skip
    files = {"fit.json": json_bytes(asked), "fit.csv": parameters.encode(),
             "points.csv": table.encode(), **pages}  # fmt: skip
    pictures = [f"{stem}.png" for stem in plain]
    write_together({out / name: content for name, content in files.items()},
                   [out / name for name in pictures])  # fmt: skip
    if two_sources or not draw.can_draw():
        return [*files]
    for name, fitted in zip(pictures, fits, strict=True):
        fitted.plot(out / name)
    return [*files, *pictures]


def _parameters_csv(fits: list[Any], two_sources: bool) -> str:
    rows: list[Any] = [("series", "verdict", "model", "rank", "parameter", "value", "low", "high",
                        "given", *["determined"] * two_sources, "confidence")]  # fmt: skip
    for fitted in fits:
        plain = _plain(fitted, two_sources)
        whose = [plain[name] for name in ("series", "verdict", "model", "rank")]
        for name, one in plain["parameters"].items():
            marks = [int(one[mark]) for mark in ("given", "determined") if mark in one]
            numbers = [one[number] for number in ("value", "low", "high")]
            rows.append((*whose, name, *numbers, *marks, plain["confidence"]))
    return csv_text(rows)


def _rows_of_points(fitted: Any) -> list[tuple[Any, ...]]:
    curve = fitted.curve
    errors = [None] * len(curve) if curve.error is None else curve.error.tolist()
    points = (curve.ranks.tolist(), curve.latency.tolist(), errors, fitted.predicted.tolist())
    return [(curve.name, *point) for point in zip(*points, strict=True)]


def add_budget(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "budget",
        help="how much noise keeps a collective under a limit",
        description="The largest probability of a delay that keeps a latency, and its curve over "
        "the length of the delay.",
        epilog=BUDGET_EPILOG,
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
    add_out(parser)
    add_json(parser)
    parser.set_defaults(run=_run_budget)


def _run_budget(chosen: argparse.Namespace) -> None:
    options = {
        "confidence": read_number(chosen.confidence, "--confidence"),
        "precision": None
        if chosen.precision is None
        else read_number(chosen.precision, "--precision"),
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
        _run_budget_of_measured(chosen, fields, options)
        return
    from ..inference import BudgetQuestion, budget, curves_over_delays, delays_table, watching
    from ..inference.budget import NEVER

    question = BudgetQuestion(delay=chosen.delay, **fields)
    read_times(chosen, ("latency", "step", "delay"))
    asked = {**asdict(question), **options}
    prepare_out(chosen, "budget", asked, ["precision"])
    _announce_simulation(question.rounds)
    with show_phases() as phases, watching(phases):
        answer = budget(question, **options)

    if not chosen.json:
        print("\n".join(answer.report()), flush=True)
    with show_phases() as phases, watching(phases):
        phases("the curve over D")
        curves = curves_over_delays(question, options["confidence"])
    some = any(point.state != NEVER for curve in curves for point in curve)
    few = [curve[:: max(len(curve) // _PRINTED_ROWS, 1)] for curve in curves]
    tables = [delays_table(few)] if some else []
    if not chosen.json and some:
        print("".join(f"\n  {line}" for line in tables[0].lines()))
    page = {**answer.page(), "tables": tables}
    files = [] if chosen.out is None else _write_budget(answer, curves, chosen.out, asked | page)
    if chosen.json:
        rows = _budget_rows(answer, curves)
        paths = [chosen.out / name for name in files]
        print_json("budget", answer=rows[0], over_delays=rows[1:], **page, written=paths)
    elif files:
        print(f"\nwritten to {chosen.out}: {', '.join(files)}")


def _run_budget_of_measured(
    chosen: argparse.Namespace, fields: dict[str, Any], options: dict[str, Any]
) -> None:
    if chosen.out is not None or chosen.force:
        raise ValueError("--out is for --delay: with --noise there is no curve over D")
    from ..inference import watching
    from ..inference.budget_of_recording import budget_of_recording

    (table,) = read_noise_texts([chosen.noise], "--noise")
    if set(table) != {"kind", "file"} or table["kind"] != "trace":
        raise ValueError(
            f"--noise must be a noise file here, got {shorten(chosen.noise)}: --delay answers for "
            "delays of one length"
        )
    read_times(chosen, ("latency", "step"))
    with show_phases() as phases, watching(phases):
        phases(f"reading {chosen.noise}")
        answer = budget_of_recording(Path(table["file"]), **fields, **options)
    if chosen.json:
        known = {"answer": answer, "measured_probability": answer.measured}
        print_json("budget", **known, **answer.page())
        return
    print("\n".join(answer.report()))


def _budget_rows(answer: Any, curves: list[list[Any]]) -> list[dict[str, Any]]:
    rows = []
    for one in [answer, *(one for curve in curves for one in curve)]:
        asked, p = one.question, one.probability
        rows.append({
            "rank": asked.rank, "statistic": asked.statistic, "ranks": asked.ranks,
            "latency_s": asked.latency, "step_s": asked.step, "delay_s": asked.delay,
            "state": one.state, "p": p.value, "low": p.low, "high": p.high,
            "confidence": one.confidence, "how": one.how,
        })  # fmt: skip
    return rows


def _write_budget(
    answer: Any, curves: list[list[Any]], out: Path, page: dict[str, Any]
) -> list[str]:
    from jitterfly.files import write_together
    from jitterfly.plots import draw

    from ..inference.budget import AT_MOST

    rows = _budget_rows(answer, curves)
    table = csv_text([rows[0].keys(), *(row.values() for row in rows)])
    files = {"budget.json": json_bytes(page), "budget.csv": table.encode()}
    write_together({out / name: content for name, content in files.items()}, [out / "budget.png"])
    some = any(point.state == AT_MOST for curve in curves for point in curve)
    if not (some and draw.can_draw()):  # nothing to see, or no way to draw it
        return [*files]
    from ..plots.inference import draw_budget

    with draw.drawing():
        draw.save(draw_budget(answer, curves), out / "budget.png")
    return [*files, "budget.png"]
