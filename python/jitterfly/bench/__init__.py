"""`jitterfly bench`: how fast the engine is, beside other programs that do the same work and beside
what the machine allows.

Everything is measured in one run and in turn, so ratios mean more than the figures themselves.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from .. import engine
from ..files import read_whole
from ..memory import available_bytes, check_memory
from . import capacity, comparison, congestion, contest, goals, gpu, limits, loggopsim, options
from . import collectives as bc
from . import measure as bm
from . import peers as bp
from . import sources as bs
from .machine import machine
from .near import measure_near
from .options import Plan
from .summary import core_share, ratios, report


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
    args = options.parse(arguments)
    if args.compare:
        return _compare(args)
    if args.margin is not None:
        raise ValueError("margin needs --compare")
    plan = options.plan_of(args)
    path = options.writable(args.json, "json")
    picture = options.writable(args.picture, "picture")
    if picture:
        from .picture import check_format, draw

        check_format(picture)
    try:
        result = run(plan, _teller(args))
    except bp.DisagreementError as error:
        print(f"jitterfly: error: {error}", file=sys.stderr)
        return 1
    print(report(result))
    if path:
        _write(path, result)
    if picture:
        draw(result, picture)
    return 0


def _compare(args: Any) -> int:
    allowed = {"compare", "json", "margin", "quiet", "verbose"}
    defaults = vars(options.parse([]))
    for name, value in vars(args).items():
        if name not in allowed and value != defaults[name]:
            raise ValueError(f"{name.replace('_', '-')} can not be given with --compare, which "
                             "takes its cases from the file")  # fmt: skip
    if len(args.compare) > 2:
        raise ValueError("compare takes one file, or two")
    path = options.writable(args.json, "json")
    before, *second = map(_read, args.compare)
    if second and path:
        raise ValueError("json: nothing is measured when --compare has two files")
    margin = comparison.MARGIN if args.margin is None else args.margin
    try:  # whether it can be compared, before all the work
        comparison.compare(before, *(second or [{**before, "machine": machine()}]), margin)
        plan = {} if second else contest.stored(before["plan"])
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        names = " or ".join(args.compare)
        raise ValueError(f"compare: {names} is damaged ({error!r})") from None
    again = {
        "sources": False,
        "collectives": False,
        "peers": False,
        "limit": False,
        "loggopsim": None,
    }
    after = second[0] if second else run(Plan(**plan | again), _teller(args))
    found = comparison.compare(before, after, margin)
    print("\n".join(comparison.lines(found)))
    if path:
        _write(path, after | {"comparison": found})
    return 1 if found["regressions"] else 0


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


def _write(path: Path, result: dict[str, Any]) -> None:
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _teller(args: Any) -> Callable[[str], object]:
    """Lines of progress, where somebody reads them."""
    if args.quiet or not (args.verbose or sys.stderr.isatty()):
        return lambda line: None
    return partial(print, file=sys.stderr, flush=True)


def run(plan: Plan | None = None, tell: Callable[[str], object] | None = None) -> dict[str, Any]:
    """Measure, and return everything as plain values (tests/bench/README.md says what is what).

    Parameters
    ----------
    plan : Plan, optional
        What to measure.
    tell : callable, optional
        Called with a line of text now and then: how far it is.

    Raises
    ------
    ValueError
        Not enough memory for a case or the peers, or LogGOPSim can not be run.
    DisagreementError
        A peer does not give the engine's results. A `RuntimeError`.
    """
    plan, tell = plan or Plan(), tell or (lambda line: None)
    if plan.loggopsim is not None:
        loggopsim.tools(plan.loggopsim)
    anchor, checked = contest.anchor(plan), 0
    ours = contest.contestants(plan)
    case = bm.programs(anchor, bm.NOISES["periodic"])["butterfly"]
    others: list[bm.Contestant] = []
    if plan.peers:
        check_memory(anchor * bp.BYTES_PER_RANK, "the other programs (--no-peers leaves them out)",
                     available_bytes())  # fmt: skip
        checked = 8 if anchor <= 2**16 else 1
        bp.check_peers(case, checked)
        others = bp.peers(case)
    ours, left_out = contest.short_enough(ours, plan.longest, tell)
    core = capacity.core_capacity(min(4 * plan.seconds, 0.4)) if plan.limit else None
    reference = bp.reference()
    reference.calibrate(min(plan.seconds / 4, 0.02))
    contestants = others + ours
    bm.calibrate(contestants, plan.seconds, "cases", tell)
    bm.measure(contestants, plan.repeats, "cases", tell, reference)
    once = [way for way in contest.ways(plan) if way[2] in (1, None)]
    kinds = [c for way in once for c in bs.contestants(anchor, *way)] if plan.sources else []
    shapes = [c for way in once for c in bc.contestants(anchor, *way)] if plan.collectives else []
    # Making a program of many steps ready takes milliseconds: shapes are measured for longer.
    for table, what, length, most, times in (
        (kinds, "kinds of noise", 0.5, bs.LIMIT, bm.Contestant.times_beside),
        (shapes, "collectives", 2, bc.LIMIT, bc.times_butterfly),
    ):
        bm.calibrate(table, length * plan.seconds, what, tell)
        bm.measure(table, plan.repeats, what, tell)
        measure_near(table, most, times, plan.repeats, what, tell)
    costs, messages = bs.compared(kinds), bc.compared(shapes)
    network = congestion.measured() if plan.peers else None
    devices = engine.gpu_devices()
    card = gpu.gpu_capacity(devices[0]) if devices and plan.limit else None
    counter = limits.Counter(tell) if plan.limit else None
    rows = [contest.row(contestant, plan, counter, core, card) for contestant in contestants]
    first = [c for c in ours if c.case and c.case.ranks == anchor and c.threads == 1
             and (c.program, c.noise) == ("butterfly", "periodic")]  # fmt: skip
    known = None
    if plan.loggopsim is not None:
        ranks = min(anchor, loggopsim.MOST_RANKS)
        known = loggopsim.compare(plan.loggopsim, ranks, plan.repeats, plan.seconds, tell)
    return {
        "format": comparison.FORMAT,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "plan": contest.plain(plan),
        "anchor": anchor,
        "realizations_checked": checked,
        "capacity": {"core": core, "gpu": card, "problem": counter.problem if counter else ""},
        "reference": {"name": reference.label, "ranks": bp.REFERENCE_RANKS,
                      "rank_rounds_per_repeat": reference.rank_rounds * reference.realizations},
        "rows": rows,
        "left_out": left_out,
        "ratios": {c.label: ratios(first[0], c) for c in others if first},
        "loggopsim": known,
        "sources": costs,
        "source_limit": bs.limit(costs, anchor == contest.GOAL_RANKS),
        "collectives": messages,
        "collective_limit": bc.limit(messages, anchor == contest.GOAL_RANKS),
        "core_share": core_share(first[0]) if first else None,
        "congestion": network,
        "goals": goals.goals(rows, contest.sizes(rows, left_out), network),
    }  # fmt: skip
