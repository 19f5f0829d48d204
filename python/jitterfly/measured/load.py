"""Measurements from files of any known format: `load` one, select a part of it, `merge` several."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from ..fields import (
    as_integer,
    check_integer,
    first_few,
    naming_other_options,
    option_of,
    parameter,
    shorten,
)
from ..files import UntrustedNoiseWarning, check_content
from ..units import TICKS_PER_SECOND, Time, parse_seconds, show_seconds, to_ticks
from ..version import __version__
from . import noisefile
from .formats import FormatError, Options, OtherTool, TextFile, open_text, read
from .host import show_cpus
from .measurements import Detours, Measured


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
    """Return the parts of the named CPUs, such as "0-3,8"."""
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


@lru_cache(maxsize=16)
def load_named(path: Path, sha256: str) -> Measured:
    """Load a file that a case names, and has found to have this content.

    Raises
    ------
    FormatError
        It is malformed, or needs what a study can not say: how a file is read.
    """
    check_content(path, str(path), sha256)
    try:
        with naming_other_options() as needed:
            measured = load(path)
    except FormatError as error:
        command = "jitterfly noise import"
        known = isinstance(error, OtherTool) or command in error.what
        if error.line is not None or not needed or known:
            raise
        way = f"to `{command} {shlex.quote(str(path))}`, which makes a noise file of it"
        raise FormatError(error.file, None, f"{error.what}; {way}") from None
    if "untrusted" in measured.source and parent_process() is None:  # workers repeat nothing
        text = f"{path.name} is not to be trusted: {measured.source['untrusted']}"
        warnings.warn(text, UntrustedNoiseWarning, stacklevel=2)
    return measured


def choose_parts(
    measured: Measured, part: Any, file: str, *, all_parts: bool = False, each: bool = False
) -> list[Any]:
    """Choose parts of a measurement: one, or all of them where the caller allows it.

    `each` is whether a caller knows "each", for the message alone.

    Raises
    ------
    ValueError
        There are several and `part` is None, or it is none of them.
    """
    parts = list(measured.parts)
    if part is None and len(parts) == 1:
        return parts
    if all_parts and isinstance(part, str) and part == "all":
        return parts
    named = [getattr(recording, "cpu", "") for recording in parts]
    listed = ", ".join(f"{i}: CPU {cpu}" for i, cpu in enumerate(named[:8]) if cpu)
    listed = f" ({listed}{', ...' if len(parts) > 8 else ''})" if listed else ""
    way = " or part = 'all'" if all_parts else ""
    way += " or part = 'each'" if each else ""
    if part is None:
        option = option_of("noise") if each else None
        way += "" if option is None else f" ({option} {file},part=each)"
        raise ValueError(
            f"file: {file} has {len(parts)} parts{listed}; choose one with part = 0 to "
            f"{len(parts) - 1}{way}"
        )
    if len(parts) == 1 and as_integer(part) != 0:
        raise ValueError(f"part must be left out: {file} has one part alone, got {shorten(part)}")
    return [parts[check_integer(part, "part", 0, len(parts) - 1)]]


def select_detours(
    measured: Measured, shortest: Time | None = None, longest: Time | None = None
) -> Measured:
    """A recording with only the detours of a range of durations; the others did not happen.

    Parameters
    ----------
    measured : Measured
        With detours.
    shortest, longest : float or str, optional
        Detours that are shorter, or longer, are left out; seconds.

    Raises
    ------
    ValueError
        There are no detours in it; a time out of range; none is left.

    Examples
    --------
    >>> part = Detours([1000, 5000, 9000], [10, 20, 30], length=10_000)
    >>> found = select_detours(Measured((part,), "test"), longest="20ps")
    >>> found.parts[0].durations.tolist(), found.notes
    ([10, 20], ('left out: detours longer than 20 ps, 1 of 3',))
    """
    low = None if shortest is None else to_ticks(parse_seconds(shortest, "shortest"))
    high = None if longest is None else to_ticks(parse_seconds(longest, "longest"))
    parts, before, after = [], 0, 0
    for part in measured.parts:
        if not isinstance(part, Detours):
            raise ValueError(
                f"{parameter('shortest')} and {parameter('longest')} are for detours, got "
                f"{part.words}"
            )
        kept = (part.durations >= (low or 0)) & (high is None or part.durations <= high)
        before, after = before + len(kept), after + int(kept.sum())
        threshold = part.threshold if low is None else max(low, part.threshold or 0)
        parts.append(replace(part, starts=part.starts[kept], durations=part.durations[kept],
                             threshold=threshold))  # fmt: skip
    criteria = [
        f"{word} than {show_seconds(ticks / TICKS_PER_SECOND)}"
        for word, ticks in (("shorter", low), ("longer", high))
        if ticks is not None
    ]
    if not criteria:
        return measured
    if not after:
        raise ValueError(f"all {before:,} detours are {' or '.join(criteria)}: none is left")
    note = f"left out: detours {' and '.join(criteria)}, {before - after:,} of {before:,}"
    return replace(measured, parts=tuple(parts), notes=(*measured.notes, note))


def merge(recordings: Sequence[tuple[str, Measured]]) -> Measured:
    """Join recordings: a part for each CPU of each, in the order given.

    Parameters
    ----------
    recordings : sequence of (str, Measured)
        Two or more, each with the name of its file; of detours.

    Returns
    -------
    Measured
        The parts' CPUs are named NODE:CPU. `source` says which nodes and files; what each file
        notes has the names of the nodes before it. If one recording is untrusted, so is the merged
        one; "untrusted" says which.

    Raises
    ------
    ValueError
        Fewer than two; another kind of measurement; the same recording twice.
    """
    if len(recordings) < 2:
        raise ValueError(f"recordings must be two or more, got {len(recordings)}")
    parts: list[Detours] = []
    notes: dict[str, list[str]] = {}
    untrusted: list[str] = []
    nodes: list[str] = []
    for i, (file, found) in enumerate(recordings):
        twice = [other for other, before in recordings[:i] if before == found]
        if twice:
            raise ValueError(f"{file} is the same recording as {twice[0]}")
        node = found.source.get("node", file)
        nodes.append(node)
        for part in found.parts:
            if not isinstance(part, Detours):
                raise ValueError(
                    f"{file} holds {part.words}, and only detours can be merged; leave it out, or "
                    "record detours there with `jitterfly noise record`"
                )
            parts.append(replace(part, cpu=f"{node}:{part.cpu}" if part.cpu else node))
        for note in found.notes:
            notes.setdefault(note, []).append(node)
        if "untrusted" in found.source:
            untrusted.append(f"{node}: {found.source['untrusted']}")
    source = {
        "tool": "jitterfly noise merge",
        "version": __version__,
        "nodes": ", ".join(dict.fromkeys(nodes)),
        "files": ", ".join(file for file, _ in recordings),
    }
    for key in ("command", "kernel", "counter", "quantum"):  # where all have the same
        values = {found.source.get(key) for _, found in recordings}
        if len(values) == 1 and None not in values:
            source[key] = str(values.pop())
    dates = sorted(found.source["date"] for _, found in recordings if "date" in found.source)
    if dates:
        source["date"] = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    if untrusted:
        source["untrusted"] = "; ".join(untrusted)
    formats = {found.format for _, found in recordings}
    return Measured(
        tuple(parts),
        formats.pop() if len(formats) == 1 else "jitterfly",
        source,
        (
            "the recordings did not begin together: times of different nodes cannot be compared",
            *(f"{first_few(names, 3)}: {note}" for note, names in notes.items()),
        ),
    )
