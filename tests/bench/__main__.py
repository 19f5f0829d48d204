"""Entry point of the developers' benchmark, run in tests/ as ``python -m bench``.

docs/developers/benchmark.md says what it writes.

It measures the engine's rates beside other programs on the same work and beside the machine's
limit, and what judges the engine: the goals, the cost of each kind of noise and of each collective,
the congestion of a network, LogGOPSim where there is one, and what became slower than in a stored
result.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jitterfly.files import read_whole

from . import collectives, comparison, congestion, goals, loggopsim, peers, sources
from .benchmark import machine, measured, report, result_of, to_csv
from .beside import ComparedContestant, measure_beside
from .measure import (
    DisagreementError,
    Plan,
    anchor,
    backends_here,
    calibrate,
    plan_from_json,
)
from .options import Parser, add_arguments, parse, plan_of, teller, writable, write_json

_HELP = """Speed of the engine, noise generation included, beside other programs on the same work in
the same run and beside what this machine allows; and all that judges the engine: its goals, what
each kind of noise and each collective costs, and whether anything became slower."""


@dataclass(frozen=True)
class DeveloperPlan:
    """What to measure: the engine's rates, and what else."""

    rates: Plan = field(default_factory=Plan)
    sources: bool = True
    collectives: bool = True
    loggopsim: str | None = None


def parser() -> Parser:
    """All options."""
    found = Parser(prog="python -m bench", description=_HELP, allow_abbrev=False)
    add_arguments(found)
    add = found.add_argument
    add("--no-sources", action="store_true", help="leave out the cost of each kind of noise")
    add("--no-collectives", action="store_true", help="leave out the cost of each collective")
    add("--loggopsim", metavar="PATH",
        help="the LogGOPSim binary, with txt2bin in the same directory")  # fmt: skip
    add("--compare", nargs="+", metavar="FILE",
        help="measure the cases of a stored result again, or take them from a second file, and "
             "report what became slower beyond noise: exit status 1 if anything did")  # fmt: skip
    add("--margin", type=float,
        help="with --compare: a change of the ratio to the reference that counts for nothing "
             "(default: 0.1)")  # fmt: skip
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark with these options and print its report.

    Returns
    -------
    int
        The exit code: 0, or 1 if a peer does not give the engine's results or `--compare` finds a
        regression.

    Raises
    ------
    ValueError
        An option that is unknown or out of range; the message names it.
    """
    args = parse(parser(), arguments)
    if args.compare:
        return _compare(args)
    if args.margin is not None:
        raise ValueError("margin needs --compare")
    plan = DeveloperPlan(
        plan_of(args), not args.no_sources, not args.no_collectives, args.loggopsim
    )
    path, table = writable(args.json, "json"), writable(args.csv, "csv")
    picture = writable(args.picture, "picture")
    if picture:
        from .picture import check_format, draw

        check_format(picture)
    try:
        result = run(plan, teller(args))
    except DisagreementError as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines(result)))
    if path:
        write_json(path, result)
    if table:
        table.write_text(to_csv(result), encoding="utf-8")
    if picture:
        draw(result, picture)
    return 0


def _compare(args: Any) -> int:
    allowed = {"compare", "json", "margin", "quiet", "verbose"}
    defaults = vars(parse(parser(), []))
    for name, value in vars(args).items():
        if name not in allowed and value != defaults[name]:
            raise ValueError(f"{name.replace('_', '-')} can not be given with --compare, which "
                             "takes its cases from the file")  # fmt: skip
    if len(args.compare) > 2:
        raise ValueError("compare takes one file, or two")
    path = writable(args.json, "json")
    before, *second = map(_read, args.compare)
    if second and path:
        raise ValueError("json: nothing is measured when --compare has two files")
    margin = comparison.MARGIN if args.margin is None else args.margin
    try:  # whether it can be compared, before all the work
        comparison.compare(before, *(second or [{**before, "machine": machine()}]), margin)
        rates = None if second else _rates_of(before["plan"])
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        names = " or ".join(args.compare)
        raise ValueError(f"compare: {names} is damaged ({error!r})") from None
    after = run(DeveloperPlan(rates, False, False), teller(args)) if rates else second[0]
    found = comparison.compare(before, after, margin)
    print("\n".join(comparison.lines(found)))
    if path:
        write_json(path, after | {"comparison": found})
    return 1 if found["regressions"] else 0


def _rates_of(plan: dict[str, Any]) -> Plan:
    """The plan of a stored result for its cases alone."""
    known = {
        name: plan[name] for name in plan if name not in ("sources", "collectives", "loggopsim")
    }
    return Plan(**plan_from_json(known) | {"peers": False, "limit": False})


def _read(name: str) -> dict[str, Any]:
    text = read_whole(Path(name))
    try:
        found = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError):
        found = None
    if not isinstance(found, dict) or found.get("format") != comparison.FORMAT:
        raise ValueError(f"compare: {name} is no result of a benchmark of format "
                         f"{comparison.FORMAT}")  # fmt: skip
    return found


def run(
    plan: DeveloperPlan | None = None, tell: Callable[[str], object] | None = None
) -> dict[str, Any]:
    """Measure, and return everything as plain values.

    docs/developers/benchmark.md says what is what.

    Raises
    ------
    ValueError
        Not enough memory for a case or the peers, or LogGOPSim can not be run.
    DisagreementError
        A peer does not give the engine's results. A `RuntimeError`.
    """
    plan, tell = plan or DeveloperPlan(), tell or (lambda line: None)
    rates = plan.rates
    if plan.loggopsim is not None:
        loggopsim.tools(plan.loggopsim)
    reference = peers.reference()
    found = measured(rates, tell, peers.PEERS, reference)
    ranks = anchor(rates)
    once = [way for way in backends_here(rates) if way[2] in (1, None)]
    kinds = [c for way in once for c in sources.contestants(ranks, *way)] if plan.sources else []
    shapes = []
    if plan.collectives:
        shapes = [c for way in once for c in collectives.contestants(ranks, *way)]
    # Making a program of many steps ready takes milliseconds: shapes are measured for longer.
    _measure(kinds, "kinds of noise", 0.5 * rates.seconds, rates.repeats, tell)
    _measure(shapes, "collectives", 2 * rates.seconds, rates.repeats, tell)
    network = congestion.measured() if rates.peers else None
    known = None
    if plan.loggopsim is not None:
        most = min(ranks, loggopsim.MAX_RANKS)
        known = loggopsim.compare(plan.loggopsim, most, rates.repeats, rates.seconds, tell)
    result = result_of(found, rates, tell)
    own = {"sources": plan.sources, "collectives": plan.collectives, "loggopsim": plan.loggopsim}
    return result | {
        "format": comparison.FORMAT,
        "plan": result["plan"] | own,
        "reference": {
            "name": reference.label,
            "ranks": peers.REFERENCE_RANKS,
            "rank_rounds_per_repeat": reference.rank_rounds * reference.realizations,
        },
        "loggopsim": known,
        "sources": sources.compared(kinds),
        "collectives": collectives.compared(shapes),
        "congestion": network,
        "goals": goals.goals(
            result["rows"], goals.sizes(result["rows"], result["left_out"]), network
        ),
    }


def _measure(
    table: Sequence[ComparedContestant],
    what: str,
    seconds: float,
    repeats: int,
    tell: Callable[[str], object],
) -> None:
    calibrate(table, seconds, what, tell)
    measure_beside(table, repeats, what, tell)


def lines(result: dict[str, Any]) -> list[str]:
    """The result of `run` as text; also of a stored one."""
    return [
        *report(result),
        *loggopsim.lines(result["loggopsim"]),
        *sources.table(result["sources"]),
        *collectives.table(result["collectives"]),
        *goals.lines(result["goals"]),
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(f"bench: error: {error}")
