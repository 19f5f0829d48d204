"""The command `jitterfly noise merge`: the recordings of many nodes in one noise file."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from ...files import check_replaceable
from . import reading


def add_parser(commands: Any) -> None:
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
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> None:
    from ...measured import load, noisefile
    from ...measured.description import description_lines
    from ...measured.merge import merge

    out = chosen.out
    check_replaceable(out)
    if out.exists() and not chosen.force:
        raise ValueError(f"{out} exists; --force replaces it")
    if any(out.exists() and file.exists() and out.samefile(file) for file in chosen.files):
        raise ValueError(f"{out} is one of the files that are to be merged; give another name")
    merged = merge([(str(file), load(file)) for file in chosen.files])
    noisefile.write(merged, out)
    reading.warn(merged)
    count, nodes = len(merged.parts), len(merged.source["nodes"].split(", "))
    print(f"written: {out}: {count} parts of {nodes} node{'s' * (nodes != 1)}")
    print("\n".join(description_lines(merged)))
    for note in merged.notes:
        print(f"note: {note}")
    print(f"next: jitterfly slowdown --noise {shlex.quote(str(out))},part=each --ranks 64..8192")
