"""The command `jitterfly noise import`: what a file of measurements is, and a noise file of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...files import check_replaceable
from ...units import show_seconds
from . import reading

if TYPE_CHECKING:
    from ...measured import Measured

_SUFFIXES = (".out", ".txt", ".csv", ".tsv", ".dat", ".log", ".noise")


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "import",
        help="read a measurement of another tool",
        description="Recognise a measurement (Netgauge, FWQ, FTQ, rtla, cyclictest, sysjitter, "
        "hwlatdetect, OSU, IMB, CSV), print what it holds, and write it as a noise file, which "
        "studies and `jitterfly noise show` read.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="/dev/stdin for what a pipe brings")
    parser.add_argument(
        "--out", type=Path, metavar="X.noise", help="default: FILE's name, in this directory"
    )
    parser.add_argument("--force", action="store_true", help="replace X.noise if it exists")
    reading.add_options(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    from ...measured.description import description_lines

    measured = reading.load(chosen)
    reading.warn(measured)
    print(f"{chosen.file}: {_title(measured)}")
    for key in ("machine", "kernel", "date", "command"):
        if key in measured.source:
            print(f"{key}: {measured.source[key]}")
    print("\n".join(description_lines(measured)))
    for note in measured.notes:
        print(f"note: {note}")
    _write(chosen, measured)


def _title(measured: Measured) -> str:
    from ...measured.formats import formats

    known = formats()
    if measured.format in known:
        return f"{known[measured.format].TITLE} [{measured.format}]"
    return f"noise file [{measured.format}]"


def _write(chosen: argparse.Namespace, measured: Measured) -> None:
    from ...measured import Detours, Histogram, noisefile

    first = measured.parts[0]
    if not isinstance(first, (Detours, Histogram)):
        if chosen.out is not None:
            raise ValueError(
                f"--out: a noise file holds detours or histograms, and {chosen.file} holds neither"
            )
        print("not written as a noise file: it holds neither detours nor a histogram")
        return
    out = chosen.out or Path(_name(chosen.file))
    check_replaceable(out)
    if out.exists() and not chosen.force:
        if _same(out, measured):
            print(f"{out} is there already, and the same")
            _next(measured, out)
            return
        raise ValueError(f"{out} exists; --force replaces it, --out gives another name")
    if out.exists() and out.samefile(chosen.file) and not _is_noise(out):
        raise ValueError(f"--out must not be the file that is read, {out}")
    noisefile.write(measured, out)
    print(f"written: {out}")
    _next(measured, out)


def _name(path: Path) -> str:
    return f"{path.stem if path.suffix in _SUFFIXES else path.name}.noise"


def _is_noise(path: Path) -> bool:
    from ...measured import noisefile

    with path.open("rb") as file:
        return noisefile.recognise(file.read(100).decode("utf-8", "replace"))


def _same(path: Path, measured: Measured) -> bool:
    from ...measured import FormatError, noisefile

    try:
        return path.is_file() and noisefile.read(path) == measured
    except FormatError:
        return False


def _next(measured: Measured, out: Path) -> None:
    """What to do with it."""
    from ...measured import Detours

    first = measured.parts[0]
    print(f"next: jitterfly noise show {out}")
    if not isinstance(first, Detours) and first.what == "latency":
        print("no noise source takes it: lateness of a timer does not hold up a running program")
        return
    several = len(measured.parts) > 1
    file = f'file = "{out.name}"'
    print("in a study in the same directory:")
    print("  [[case.noise]]")
    if isinstance(first, Detours):
        print(f'  kind = "trace"\n  {file}')
        if several:
            print(f"  part = 'each'  # rank by rank; or one of 0 to {len(measured.parts) - 1}")
        return
    part = ", part = 0" if several else ""
    more = ""
    if first.overflow:
        longest = show_seconds(2e-12 * int(first.high[-1]), 3)
        part += f', longest = "{longest}"'
        more = f"  # for example: {first.overflow} of them are above the last bin"
    print(f'  kind = "renewal"\n  duration = {{ kind = "empirical", {file}{part} }}{more}')
    print(f"  gap = {_gap(first)}")


def _gap(histogram: Any) -> str:
    """Mean time between detours, in the syntax of TOML, where it is known."""
    from ...measured.description import describe_part

    found = describe_part(histogram)
    if not found.get("rate"):
        return '"1ms"  # for example: the file does not say how often they come'
    if "share" not in found:
        return f"{1 / found['rate']:.4g}  # from start to start: how long they are is not known"
    return f"{(1 - found['share']) / found['rate']:.4g}"
