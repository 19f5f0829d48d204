"""`load`: read a measurement from a file of any known format (format detection)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..fields import shorten
from . import noisefile
from .formats import Options, TextFile, open_text, read
from .host import show_cpus
from .measurements import Measured


def load(
    path: str | Path, *, format: str | None = None, cpu: str | None = None, **options: Any
) -> Measured:
    """Read a noise file, or a file of any format that is recognised.

    Parameters
    ----------
    path : str or Path
        The file; its `source["file"]` and `source["sha256"]` say which it was.
    format : str, optional
        Name of the format, where it is not recognised; see `measured.formats`.
    cpu : str, optional
        Only the parts of these CPUs, such as "3" or "0,4-7", where the file tells them apart.
    **options
        Fields of `formats.Options` that the format takes, such as clock_hz, unit, quantum.

    Raises
    ------
    ValueError
        FormatError where the file is malformed (it names the line); an unknown format, option or
        CPU.
    OSError
        The file cannot be read.
    """
    return load_text(open_text(path), format=format, cpu=cpu, **options)


def load_text(
    text: TextFile, /, *, format: str | None = None, cpu: str | None = None, **options: Any
) -> Measured:
    """`load` of a file whose content is known."""
    if noisefile.recognise(text.head) and format in (None, noisefile.NAME):
        if options:
            raise text.error(None, f"a noise file does not take {next(iter(options))}")
        measured = noisefile.parse(text)
    else:
        measured = read(text, format, Options(**options))
        source = {"file": Path(text.name).name, "sha256": text.sha256}
        measured = replace(measured, source={**measured.source, **source})
    return measured if cpu is None else _select_cpus(measured, cpu, text.name)


def _select_cpus(measured: Measured, cpus: str, name: str) -> Measured:
    named = {getattr(part, "cpu", ""): None for part in measured.parts}
    wanted: list[str] = []
    for word in [cpus] if cpus in named else map(str.strip, cpus.split(",")):
        span = None if word in named else re.fullmatch(r"([0-9]{1,5})-([0-9]{1,5})", word)
        numbers = range(int(span[1]), int(span[2]) + 1) if span else ()
        wanted += map(str, numbers) if numbers else [word]  # 3-1 is no CPU
    if any(not cpu or cpu not in named for cpu in wanted):
        known = [cpu for cpu in named if cpu]
        decimal = all(map(str.isdecimal, known))
        shown = show_cpus(map(int, known)) if decimal else ", ".join(known)
        raise ValueError(
            f"{name}: cpu must be of those that the file names ({shown or 'it names none'}), such "
            f"as 3 or 0,4-7, got {shorten(cpus)}"
        )
    parts = tuple(part for part in measured.parts if getattr(part, "cpu", "") in wanted)
    return replace(measured, parts=parts)
