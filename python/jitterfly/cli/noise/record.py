"""The command `jitterfly noise record`: the noise of this machine, as a noise file."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...fields import shorten
from ...files import check_replaceable
from ...units import parse_seconds, show_seconds
from ..options import integer
from ..output import progress_stream, tell
from . import reading

if TYPE_CHECKING:
    from ...measured import Measured

_EVERY = 10.0  # seconds between lines where there is no terminal
_TOLD = ("machine", "kernel", "counter", "calibration", "iteration", "quantum", "overhead")
_HELP = """\
Nothing else should run meanwhile. A CPU is kept busy by a loop that reads its time-stamp counter;
an iteration that takes far longer than the smallest is a detour: a timer tick, an interrupt, a
daemon, a hypervisor. No root is needed. Ctrl-C ends it early and keeps what there is. Where the
recording is not to be trusted, the first line says why, the file too, and the exit code is 1.

With one CPU (the default) whatever can run elsewhere does. A program that fills the machine has the
noise of --cpu all.

Many nodes: srun --ntasks-per-node=1 jitterfly noise record --cpu all --out node.noise
Each process of srun, mpirun or mpiexec writes a file of its own, such as node_rank07.noise;
`jitterfly noise merge` joins them.
"""


def add_parser(commands: Any) -> None:
    """Add the command to argparse's."""
    parser = commands.add_parser(
        "record",
        help="measure the noise of this machine",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", metavar="TIME", default="10", help="how long (10)")
    parser.add_argument(
        "--cpu", metavar="CPUS", help="such as 3, or 0,2 or 0-3, or all (default: the last)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="X.noise", help="default: HOST_cpuCPUS_DATE.noise"
    )
    parser.add_argument("--force", action="store_true", help="replace X.noise if it exists")
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
    parser.add_argument("--most", metavar="N", help="detours to have room for, on each CPU")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from ...launchers import task
    from ...measured import noisefile
    from ...measured.host import allowed_cpus, show_cpus
    from ...measured.record import MOST_DETOURS, record

    seconds = parse_seconds(chosen.seconds, "--seconds", positive=True)
    allowed = allowed_cpus()
    cpus = [allowed[-1]] if chosen.cpu is None else _cpus(chosen.cpu, allowed)
    most = integer(chosen.most, "most", 1, MOST_DETOURS)
    started = time.strftime("%Y-%m-%dT%H-%M-%S")
    out = chosen.out or Path(f"{platform.node()}_cpu{show_cpus(cpus)}_{started}.noise")
    one_of = task()
    if one_of is not None:
        out = _of_task(out, *one_of)
    first = one_of is None or one_of[0] == 0
    _check_out(out, chosen.force)
    with _Progress(seconds if first else None) as progress:
        measured = record(
            seconds,
            cpus,
            threshold=chosen.threshold,
            quantum=chosen.quantum,
            most=most,
            progress=progress.show,
        )
    command = shlex.join(["jitterfly", *sys.argv[1:]])
    measured = replace(measured, source={**measured.source, "command": command})
    noisefile.write(measured, out)
    reading.warn(measured)
    print(f"written: {out}", flush=True)  # before what takes a moment more
    if first:
        _show(measured)
    if "stopped" in measured.source:
        raise KeyboardInterrupt(f"{measured.source['stopped']}; what there is, is in {out}")
    if "untrusted" in measured.source:
        return 1
    if one_of is None:
        print(f"next: jitterfly noise show {out}")
    elif first:
        # Names that are not given begin with the hosts'.
        every = chosen.out.with_stem(f"{chosen.out.stem}_rank*") if chosen.out else "*_rank*.noise"
        print(f"next, when all have written: jitterfly noise merge ALL.noise {every}")
    return 0


def _show(measured: Measured) -> None:
    from ...measured.description import description_lines

    for key in _TOLD:
        if key in measured.source:
            print(f"{key}: {measured.source[key]}")
    print("\n".join(description_lines(measured)))
    for note in measured.notes:
        print(f"note: {note}")


def _of_task(out: Path, rank: int, count: int) -> Path:
    """The file of one process of many: of all of them it is the one with this name."""
    return out.with_stem(f"{out.stem}_rank{rank:0{len(str(count - 1))}}")


def _cpus(text: str, allowed: list[int]) -> list[int]:
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


def _check_out(out: Path, force: bool) -> None:
    """Before the recording, not after it."""
    check_replaceable(out)
    if out.exists() and not force:
        raise ValueError(f"{out} exists; --force replaces it, --out gives another name")
    if not out.parent.is_dir():
        raise ValueError(f"{out}: the directory {out.parent} does not exist")
    if not os.access(out.parent, os.W_OK):
        raise ValueError(f"{out}: the directory {out.parent} can not be written to")


class _Progress:
    """A line on a terminal, else one now and then; nothing where the time is None."""

    def __init__(self, seconds: float | None):
        self.seconds, self.bar, self.last = seconds, None, 0.0  # None: another process shows it

    def __enter__(self) -> _Progress:
        if self.seconds is not None and progress_stream().isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return self
            self.bar = tqdm(total=self.seconds, file=progress_stream(), leave=False,
                            bar_format="{percentage:3.0f}%|{bar}| {desc}")  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def show(self, seconds: float, detours: int) -> None:
        """So much has been recorded."""
        if self.seconds is None:
            return
        left = show_seconds(max(self.seconds - seconds, 0.0), 2)
        if self.bar is not None:
            self.bar.n = seconds
            self.bar.set_description_str(f"{left} left, {detours:,} detours")
        elif seconds - self.last >= _EVERY:
            self.last = seconds
            tell(f"{left} left, {detours:,} detours")
