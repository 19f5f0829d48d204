"""Commands `jitterfly noise ...`: import, infer, record, merge and show measured noise."""

from __future__ import annotations

import argparse
import platform
import re
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..fields import shorten, shown
from ..files import check_new, check_output, digests, open_input
from ..progress import ProgressLine
from ..units import exact_text, parse_seconds, show_seconds
from .options import add_parameters, integer, read_question, tell_machine, value
from .output import (
    PICTURE,
    add_json,
    add_picture,
    check_files,
    give_answer,
    long_times_refused,
    print_json,
    progress_stream,
    show_phases,
    write_files,
)

if TYPE_CHECKING:
    from ..measured import Measured

_READING_OPTIONS = {
    "clock-hz": ("HZ", "rate of the clock whose cycles the file has, such as 2.1GHz"),
    "unit": ("UNIT", "unit of its times: s, ms, us, ns, ps or cycles"),
    "quantum": ("TIME", "length of a quantum (FTQ)"),
    "runtime": ("TIME", "time for which osnoise looked in each period"),
    "period": ("TIME", "period of osnoise"),
    "threshold": ("TIME", "shorter noise was not recorded"),
    "width": ("TIME", "width of a histogram's bins"),
    "ranks": ("N", "number of ranks of a collective"),
    "events": ("WHICH", "events of a trace that count as detours: samples or sources"),
    "length": ("TIME", "time observed (CSV)"),
    "cpus": ("N", "number of CPUs observed, 0 to N-1; those in no row had no noise (CSV)"),
}
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_SUFFIXES = (".out", ".txt", ".csv", ".tsv", ".dat", ".log", ".noise")
_OTHER_NAME = ", --out gives another name"
_SAME_LENGTH = 1e-6  # relative: CPUs that were recorded at once
_RECORD_FACTS = ("machine", "kernel", "counter", "calibration", "iteration", "quantum", "overhead")
_USES_OF_TABLES = (
    ": `jitterfly compare-measured` puts a simulation beside times of a collective, `jitterfly fit "
    "FILE@RANKS ...` finds the noise behind those of several numbers of ranks"
)
_RECORD_HELP = """\
Nothing else should run meanwhile. A CPU is kept busy by a loop that reads its time-stamp counter;
an iteration that takes far longer than the smallest is a detour: a timer tick, an interrupt, a
daemon, a hypervisor. It does not need root. Ctrl-C ends it early and keeps what it has recorded. If
the recording cannot be trusted, the first line and the file say why, and the exit code is 1.

With one CPU (the default), other work can move to the rest. A program that fills the machine meets
the noise that --cpu all records.

Many nodes: srun --ntasks-per-node=1 jitterfly noise record --cpu all --out node.noise
Each process of srun, mpirun or mpiexec writes a file of its own, such as node_rank07.noise;
`jitterfly noise merge` joins them.
"""


def _add_out(parser: argparse.ArgumentParser, usual: str) -> None:
    """Add the name of the file that is written, `usual` without it; and `--force`."""
    parser.add_argument("--out", type=Path, metavar="X.noise", help=f"default: {usual}")
    parser.add_argument("--force", action="store_true", help="replace X.noise if it exists")


def _add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a file of measurements is read."""
    parser.add_argument("--format", metavar="NAME", help="format of FILE, if it is not recognised")
    parser.add_argument("--cpu", metavar="CPUS", help="only these CPUs of it, such as 3 or 0,4-7")
    for name, (metavar, text) in _READING_OPTIONS.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text)


def _load(args: argparse.Namespace, file: Path) -> Measured:
    """Read the file that was named."""
    from ..measured import load

    options = _reading_options(args)
    return load(file, format=args.format, cpu=args.cpu, **options)


def _warn_of_distrust(measured: Measured, file: TextIO | None = None) -> None:
    """Print, before all else, why a recording is not to be trusted."""
    if "untrusted" in measured.source:
        print(f"not to be trusted: {measured.source['untrusted']}", file=file)


def _reading_options(args: argparse.Namespace) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, (metavar, _) in _READING_OPTIONS.items():
        field = name.replace("-", "_")
        text = getattr(args, field)
        if text is None:
            continue
        if metavar == "TIME":
            options[field] = parse_seconds(text, f"--{name}", positive=True)
        elif metavar == "HZ":
            options[field] = _read_rate(text)
        else:
            options[field] = value(text) if metavar == "N" else text
    return options


def _read_rate(text: str) -> float:
    """Read a rate such as 2.1GHz, in Hz."""
    number = text.strip().lower().removesuffix("hz")
    prefix = number[-1:] if number[-1:] in ("k", "m", "g") else ""
    try:
        rate = float(number.removesuffix(prefix)) * _PREFIXES[prefix]
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e15:
        raise ValueError(
            f"--clock-hz must be a rate above 0, such as 2.1e9 or 2.1GHz, got {shorten(text)}"
        )
    return rate


def _add_import(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "import",
        help="read a measurement of another tool",
        description="Recognise a measurement (Netgauge, FWQ, FTQ, rtla, cyclictest, sysjitter, "
        "hwlatdetect, OSU, IMB, CSV), print what it holds, and write it as a noise file, which "
        "studies and `jitterfly noise show` read.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a file, or /dev/stdin for a pipe")
    _add_out(parser, "FILE's name, in this directory")
    parser.add_argument("--shortest", metavar="TIME", help="leave shorter detours out")
    parser.add_argument("--longest", metavar="TIME", help="leave longer detours out")
    _add_reading_options(parser)
    add_json(parser)
    parser.set_defaults(run=_run_import)


def _run_import(args: argparse.Namespace) -> None:
    from ..measured.formats import formats
    from ..measured.load import select_detours

    measured = _load(args, args.file)
    if args.shortest is not None or args.longest is not None:
        measured = select_detours(measured, args.shortest, args.longest)
    if args.json:
        written, _ = _write_noise_file(args, measured)
        _print_json("noise import", measured, written, file=args.file)
        return
    _warn_of_distrust(measured)
    known = formats()
    title = known[measured.format].title if measured.format in known else "noise file"
    print(f"{args.file}: {title} [{measured.format}]")
    _print_source(measured, ("machine", "kernel", "date", "command"))
    _print_description(measured)
    written, line = _write_noise_file(args, measured)
    print(line)
    for out in written:
        _print_next_steps(measured, out)


def _print_json(
    command: str, measured: Measured, written: list[Path], facts: Any = None, **read: Path
) -> None:
    """Print what `describe` gives, and the file that was read; on stderr why not to trust it."""
    from ..measured.description import describe

    _warn_of_distrust(measured, sys.stderr)
    facts = facts or describe(measured)
    untrusted = measured.source.get("untrusted")
    print_json(command, **read, untrusted=untrusted, **facts, written=written)


def _print_source(measured: Measured, keys: Sequence[str]) -> None:
    """Print what is known of where a measurement comes from."""
    for key in keys:
        if key in measured.source:
            print(f"{key}: {measured.source[key]}")


def _print_description(measured: Measured, facts: dict[str, Any] | None = None) -> None:
    """Print the lines of `description_lines`, then what a reader of the file noted."""
    from ..measured.description import description_lines

    for line in [
        *description_lines(measured, facts),
        *(f"note: {shown(note)}" for note in measured.notes),
    ]:
        print(line)


def _write_noise_file(args: argparse.Namespace, measured: Measured) -> tuple[list[Path], str]:
    """Write what was imported; the noise file, where there is one, and a line that says so."""
    from ..measured import CollectiveTable, Detours, Histogram, noisefile

    first = measured.parts[0]
    if not isinstance(first, (Detours, Histogram)):
        if args.out is not None:
            raise ValueError(
                f"--out: a noise file holds detours or histograms, and {args.file} holds neither"
                + _USES_OF_TABLES * isinstance(first, CollectiveTable)
            )
        return [], "not written as a noise file: it holds neither detours nor a histogram"
    out = args.out or Path(f"{_stem(args.file)}.noise")
    check_output(out)
    if out.exists() and not args.force and _holds_the_same(out, measured):
        return [out], f"{out} is there already, and the same"
    check_new(out, args.force, _OTHER_NAME)
    if out.exists() and out.samefile(args.file) and not _is_noise_file(out):
        raise ValueError(f"--out must not be the file that is read, {out}")
    noisefile.write(measured, out)
    return [out], f"written: {out}"


def _stem(path: Path) -> str:
    """The name of a file without its suffix, where that is one of measurements."""
    return path.stem if path.suffix in _SUFFIXES else path.name


def _is_noise_file(path: Path) -> bool:
    from ..measured import noisefile

    with open_input(path) as file:
        return noisefile.recognise(file.read(100).decode("utf-8", "replace"))


def _holds_the_same(path: Path, measured: Measured) -> bool:
    from ..measured import FormatError, noisefile

    try:
        return path.is_file() and noisefile.read(path) == measured
    except FormatError:
        return False


def _print_next_steps(measured: Measured, out: Path, inferred: Any = None) -> None:
    """Print what to do with a measurement; `inferred`: its noise, where that is known."""
    from ..measured import Detours

    first, which = _pooled(measured)
    count = len(measured.parts)
    print(f"next: jitterfly noise show {shlex.quote(str(out))}")
    if not isinstance(first, Detours) and first.what == "latency":
        print("no noise source takes it: a timer that is late does not delay a running program")
        return
    if not isinstance(first, Detours) and not (int(first.counts.sum()) or first.overflow):
        print("no noise source takes it: it has no detour, whose duration could be drawn")
        return
    file = f'file = "{out.name}"'
    option = _noise_option(measured, out, inferred)
    print(f"on the command line: --noise {shlex.quote(option)}")
    if which is not None:
        events = "of all parts" if which == "all" else "of part 0 alone"
        print(f"this takes the events {events}; each part, 0 to {count - 1}, has a gap of its own")
    print("in a study in the same directory:")
    print("  [[case.noise]]")
    if isinstance(first, Detours):
        print(f'  kind = "trace"\n  {file}')
        if count > 1:
            print(f"  part = 'each'  # one for each rank; or a number from 0 to {count - 1}")
        if (together := _recorded_together(measured)) > 1:
            print(f"  shared = {together}  # recorded together: these ranks begin at one instant")
        return
    part = "" if which is None else f", part = {which!r}"
    more = ""
    if first.overflow:
        part += f', longest = "{_twice_the_last_bin(first)}"'
        more = f"  # for example: {first.overflow} of them are above the last bin"
    print(f'  kind = "renewal"\n  start = "{_start_of(inferred)}"')
    print(f'  duration = {{ kind = "empirical", {file}{part} }}{more}')
    print(f"  gap = {_gap_in_toml(first, inferred)}")


def _recorded_together(measured: Measured) -> int:
    """Count the consecutive parts that are the CPUs of a node, recorded at once; 1 if not known."""
    parts: Any = measured.parts
    nodes = [part.cpu.rpartition(":")[0] for part in parts]  # merged ones are NODE:CPU
    groups = [list(group) for _, group in groupby(zip(nodes, parts, strict=True), itemgetter(0))]
    files = measured.source["files"].split(", ") if "nodes" in measured.source else [""]
    count = len(parts) // len(files)
    if len(groups) != len(files) or not all(part.cpu for part in parts):
        return 1
    for group in groups:
        lengths = [part.length for _, part in group]
        if len(group) != count or max(lengths) - min(lengths) > _SAME_LENGTH * max(lengths):
            return 1
    return count


def _each_part(measured: Measured) -> str:
    """The options of `--noise` with which every rank replays a part, or nothing for one part."""
    together = _recorded_together(measured)
    shared = f",shared={together}" if together > 1 else ""
    return f",part=each{shared}" if len(measured.parts) > 1 else ""


def _noise_option(measured: Measured, out: Path, inferred: Any = None) -> str:
    """Return what `--noise` takes: the file, or a renewal with the durations of a histogram."""
    from ..measured import Detours

    first, which = _pooled(measured)
    if isinstance(first, Detours):
        return f"{out}{_each_part(measured)}"
    part = "" if which is None else f",part={which}"
    if first.overflow:
        part += f",longest={_twice_the_last_bin(first).replace(' ', '').replace('µ', 'u')}"
    gap = _gap_in_toml(first, inferred).partition(" ")[0].strip('"')
    gap = f"{gap}s" if gap[-1].isdecimal() else gap
    start = _start_of(inferred)
    return f"kind=renewal,gap={gap},start={start},duration=empirical(file={out}{part})"


def _start_of(inferred: Any) -> str:
    return "stationary" if inferred is None else str(inferred.start)


def _pooled(measured: Measured) -> tuple[Any, int | str | None]:
    """The histogram of a file with its `part`: of all parts together, where bins do not overlap.

    Otherwise the first part.
    """
    from ..measured.measurements import Histogram, pooled

    parts: Any = measured.parts
    if not isinstance(parts[0], Histogram) or len(parts) == 1:
        return parts[0], None
    whole = pooled(parts)
    return (parts[0], 0) if whole is None else (whole, "all")


def _twice_the_last_bin(histogram: Any) -> str:
    return show_seconds(2e-12 * int(histogram.high[-1]), 3)


def _gap_in_toml(histogram: Any, inferred: Any = None) -> str:
    """Mean time between detours, in the syntax of TOML, where it is known."""
    from ..measured.description import describe_part

    if inferred is not None:  # with all digits, so that it is the noise that was found
        return f'"{exact_text(inferred.gap.mean)}"'
    found = describe_part(histogram)
    if not found.get("rate"):
        return '"1ms"  # for example: the file does not say how often they come'
    if "share" not in found:
        return f"{1 / found['rate']:.4g}  # from start to start, as the durations are unknown"
    return f"{(1 - found['share']) / found['rate']:.4g}"


def _add_record(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "record",
        help="measure the noise of this machine",
        description=_RECORD_HELP,
    )
    parser.add_argument("--seconds", metavar="TIME", default="10", help="how long (10)")
    parser.add_argument(
        "--cpu", metavar="CPUS", help="such as 3, or 0,2 or 0-3, or all (default: the last)"
    )
    _add_out(parser, "HOST_cpuCPUS_DATE.noise")
    parser.add_argument(
        "--threshold",
        metavar="TIME",
        help="shortest detour that is kept (default: 8 times the smallest iteration or step of the "
        "counter, some 60 ns; more, if those fill the buffer early)",
    )
    parser.add_argument(
        "--quantum",
        metavar="TIME",
        default="0",
        help="work in each iteration, as in the fixed-work-quantum benchmark (default: 0, the "
        "finest)",
    )
    parser.add_argument("--most", metavar="N", help="the most detours to keep on each CPU")
    add_json(parser)
    parser.set_defaults(run=_run_record)


def _run_record(args: argparse.Namespace) -> int:
    from ..measured import noisefile
    from ..measured.host import allowed_cpus, show_cpus
    from ..measured.record import MAX_DETOURS, record
    from ..resources import task

    seconds = parse_seconds(args.seconds, "--seconds", positive=True)
    allowed = allowed_cpus()
    cpus = [allowed[-1]] if args.cpu is None else _read_cpus(args.cpu, allowed)
    most = integer(args.most, "most", 1, MAX_DETOURS)
    started = time.strftime("%Y-%m-%dT%H-%M-%S")
    out = args.out or Path(f"{platform.node()}_cpu{show_cpus(cpus)}_{started}.noise")
    one_of = task()
    if one_of is not None:  # of all processes it is the one with this name
        rank, count = one_of
        out = out.with_stem(f"{out.stem}_rank{rank:0{len(str(count - 1))}}")
    first = one_of is None or one_of[0] == 0
    check_new(out, args.force, _OTHER_NAME)  # before the recording, not after it
    with ProgressLine(progress_stream()) as line:

        def show(done: float, detours: int) -> None:
            """Show how much has been recorded; of many processes the first one shows it."""
            if first and line.due():
                left = show_seconds(max(seconds - done, 0.0), 2)
                line.show(f"{left} left, {detours:,} detours", done / seconds)

        measured = record(
            seconds,
            cpus,
            threshold=args.threshold,
            quantum=args.quantum,
            most=most,
            progress=show,
        )
    command = shlex.join(["jitterfly", *sys.argv[1:]])
    measured = replace(measured, source={**measured.source, "command": command})
    noisefile.write(measured, out)
    if args.json:  # of every process, each about its own file
        _print_json("noise record", measured, [out])
    else:
        _warn_of_distrust(measured)
        print(f"written: {out}", flush=True)  # before what takes a moment more
        if first:
            _print_source(measured, _RECORD_FACTS)
            _print_description(measured)
    if "stopped" in measured.source:
        raise KeyboardInterrupt(f"{measured.source['stopped']}; what there is, is in {out}")
    if "untrusted" in measured.source:
        return 1
    if args.json:
        return 0
    if one_of is None:
        print(f"next: jitterfly noise show {shlex.quote(str(out))}")
    elif first:
        # Names that are not given begin with the hosts'.
        every = args.out.with_stem(f"{args.out.stem}_rank*") if args.out else "*_rank*.noise"
        print(f"next, when all have written: jitterfly noise merge ALL.noise {every}")
    return 0


def _read_cpus(text: str, allowed: list[int]) -> list[int]:
    """The CPUs that `--cpu` names."""
    if text.strip() == "all":
        return allowed
    chosen: set[int] = set()
    for part in text.split(","):
        span = re.fullmatch(r"\s*([0-9]{1,5})\s*(?:-\s*([0-9]{1,5})\s*)?", part)
        if span is None or int(span[2] or span[1]) < int(span[1]):
            raise ValueError(f"--cpu must be such as 3, or 0,2 or 0-3, or all; got {shorten(text)}")
        chosen |= set(range(int(span[1]), int(span[2] or span[1]) + 1))
    return sorted(chosen)


def _add_infer(commands: Any) -> None:
    """Add the command to argparse's."""
    from ..predict import InferNoiseQuestion

    parser = commands.add_parser(
        "infer",
        help="the noise behind a collective's own times, iteration by iteration",
        description="How often each rank must have detours of which duration, so that a collective "
        "takes as long as it was measured: TIMES has the time of every iteration, on the last "
        "rank, one in each line. The result is a noise file.",
    )
    parser.add_argument("measured", type=Path, metavar="TIMES")
    add_parameters(parser, InferNoiseQuestion)
    _add_out(parser, "TIMES' name, in this directory")
    add_picture(parser)
    add_json(parser)
    parser.set_defaults(run=_run_infer)


def _run_infer(args: argparse.Namespace) -> None:
    from ..measured import noisefile
    from ..predict import InferNoiseQuestion, answer_inference

    started = time.monotonic()
    check_files(args, PICTURE)
    out = args.out or Path(f"{_stem(args.measured)}.noise")
    check_new(out, args.force, _OTHER_NAME)
    if out.exists() and args.measured.exists() and out.samefile(args.measured):
        raise ValueError(f"--out must not be the file that is read, {out}")
    with show_phases(begun=started) as phases:
        show = partial(phases, "simulating")
        asked = read_question(args, InferNoiseQuestion, measured=args.measured, progress=show)
        tell_machine(args, asked)
        with long_times_refused():
            found = answer_inference(asked)
    measured = found.measured_noise()
    noisefile.write(measured, out)
    if args.json:
        written = [out, *write_files(args, found, PICTURE)]
        option = _noise_option(measured, out, found.noise)
        print_json("noise infer", **asked.to_dict(), **found.to_dict(), noise_option=option,
                   sha256=digests(asked.files()), written=written)  # fmt: skip
        return
    give_answer(found, args, PICTURE, started)
    print(f"\nwritten: {out}")
    _print_next_steps(measured, out, found.noise)


def _add_merge(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "merge",
        help="join the recordings of many nodes in one file",
        description="Joins noise files, such as those that `srun jitterfly noise record` wrote, "
        "into one with a part for each CPU of each node. In a study, a trace gives rank i the part "
        "i // ranks_per_part, modulo the number of parts (part = 'each'), or all ranks the same "
        "(part = N), and a distribution takes the "
        "durations of all (part = 'all').",
    )
    parser.add_argument("out", type=Path, metavar="OUT.noise")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--force", action="store_true", help="replace OUT.noise if it exists")
    add_json(parser)
    parser.set_defaults(run=_run_merge)


def _run_merge(args: argparse.Namespace) -> None:
    from ..measured import noisefile
    from ..measured.load import load, merge

    out = args.out
    check_new(out, args.force)
    if any(out.exists() and file.exists() and out.samefile(file) for file in args.files):
        raise ValueError(f"{out} is one of the files that are to be merged; give another name")
    merged = merge([(str(file), load(file)) for file in args.files])
    noisefile.write(merged, out)
    if args.json:
        _print_json("noise merge", merged, [out])
        return
    _warn_of_distrust(merged)
    count, nodes = len(merged.parts), len(merged.source["nodes"].split(", "))
    print(f"written: {out}: {count} parts of {nodes} node{'s' * (nodes != 1)}")
    _print_description(merged)
    option = shlex.quote(f"{out}{_each_part(merged)}")
    print(f"next: jitterfly slowdown --noise {option} --ranks 64..8192")


def _add_show(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "show",
        help="draw a noise file, or what another tool measured",
        description="Draw a noise file, or a file that `jitterfly noise import` reads: timeline, "
        "durations and periods of detours; histograms; tables of collectives. Of several files, "
        "such as from before and after a change of the system: a table of their rates, shares of "
        "the CPU and durations.",
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument(
        "--out",
        "--picture",
        type=Path,
        metavar="X.png",
        help="picture: .png, .pdf or .svg (default: FILE's name and .png, in this directory)",
    )
    _add_reading_options(parser)
    add_json(parser)
    parser.set_defaults(run=_run_show)


def _run_show(args: argparse.Namespace) -> None:
    from ..measured.description import describe
    from ..plots.draw import check_path

    if len(args.files) > 1:
        _show_several(args)
        return
    (file,) = args.files
    out = args.out or Path(f"{_stem(file)}.png")
    check_path(out)
    measured = _load(args, file)
    facts = describe(measured)

    from ..plots.noise import draw_measured

    draw_measured(measured, out, facts)
    if args.json:
        _print_json("noise show", measured, [out], facts, file=file)
        return
    _warn_of_distrust(measured)
    print(f"{file}: {measured.format}")
    _print_description(measured, facts)
    print(f"written: {out}")


def _show_several(args: argparse.Namespace) -> None:
    """Compare files: a line for each of their parts."""
    from ..measured import Detours, Histogram
    from ..measured.description import LEVEL, comparison_table, describe
    from ..results.tables import aligned_table

    if args.out is not None:
        raise ValueError(f"--out: of {len(args.files)} files there is a table and no picture")
    recordings = {file: _load(args, file) for file in args.files}
    for file, measured in recordings.items():
        if not isinstance(measured.parts[0], (Detours, Histogram)):
            words = measured.parts[0].words
            raise ValueError(f"{file} holds {words}; detours or histograms are compared")
        if "untrusted" in measured.source:
            reason = measured.source["untrusted"]
            print(f"{file}: not to be trusted: {reason}", file=sys.stderr if args.json else None)
    facts = {file: describe(measured, periods=False) for file, measured in recordings.items()}
    if args.json:
        print_json(
            "noise show", files=[{"file": file, **facts[file]} for file in facts], written=[]
        )
        return
    parts = [(file, number, part)
             for file in facts for number, part in enumerate(facts[file]["parts"])]  # fmt: skip
    head, *cells = comparison_table([part for *_, part in parts])
    header = ["file", "CPU or part", *head]
    rows = [[str(file), part.get("cpu") or str(number), *row]
            for (file, number, part), row in zip(parts, cells, strict=True)]  # fmt: skip
    print(aligned_table(header, rows))
    print(
        f"[]: {LEVEL:.0%} intervals; `jitterfly noise show FILE` gives those of all numbers, and "
        "`jitterfly slowdown --noise FILE` what the noise of a file does"
    )


def add_parser(commands: Any) -> None:
    """Add the group to argparse's."""
    noise = commands.add_parser(
        "noise",
        help="measured noise: import, infer, record, merge, show",
        description="Measured noise: read what other tools measured, measure machines, draw.",
    )
    group = noise.add_subparsers(dest="noise_command", metavar="COMMAND", required=True)
    for add in (_add_import, _add_infer, _add_merge, _add_record, _add_show):
        add(group)
