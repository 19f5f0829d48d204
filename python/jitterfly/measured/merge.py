"""Merging of recordings from many nodes into one measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..fields import first_few
from ..version import __version__
from .measurements import Detours, Measured

_SHOWN = 3  # names of nodes in a note that several have


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
            "the recordings began one by one: times of different nodes do not belong together",
            *(f"{first_few(names, _SHOWN)}: {note}" for note, names in notes.items()),
        ),
    )
