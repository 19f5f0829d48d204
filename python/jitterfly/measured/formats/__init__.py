"""Readers (parsers) of the output of noise benchmarks and other tools: where to add a new format.

A module has the formats of a tool in its `FORMATS`, each a `Format`: its name, the options that it
takes, how a file of it begins, and the function that reads it.
"""

from __future__ import annotations

import shlex
from functools import cache

from ...fields import check_choice, parameter
from ..measurements import Measured
from . import (
    collectives,
    csv_events,
    fixed_quanta,
    ftrace,
    imb,
    netgauge,
    osu,
    reprompi,
    rt_tests,
    rtla,
    sysjitter,
)
from .columns import check_not_times, single_column
from .other_tools import known_for
from .text import (
    HEAD_BYTES,
    Format,
    FormatError,
    Options,
    OtherTool,
    TextFile,
    UnknownFormat,
    open_text,
)

#: In the order in which they are asked; the plain ones, which take much, at the end.
_MODULES = (rtla, ftrace, rt_tests, osu, imb, collectives, reprompi, netgauge, sysjitter,
            fixed_quanta, csv_events)  # fmt: skip
#: Known by numbers alone: a file of another tool could be taken for one of them.
PLAIN = ("fwq", "ftq", "csv")

__all__ = ["HEAD_BYTES", "PLAIN", "Format", "FormatError", "Measured", "Options", "OtherTool",
           "TextFile", "find", "formats", "known_for", "open_text", "read",
           "without_labels"]  # fmt: skip


@cache
def formats() -> dict[str, Format]:
    """All formats, by name, in the order in which they are asked."""
    return {form.name: form for module in _MODULES for form in module.FORMATS}


def without_labels(text: TextFile) -> TextFile:
    """A file without what a launcher or a log put in front of each line, where it is known then.

    Raises
    ------
    FormatError
        Several processes have written what is known.
    """
    return text.without_labels(_is_of_a_tool)


def _is_of_a_tool(head: str) -> bool:
    """Return whether a file's beginning is that of a known tool, not just plain numbers."""
    named = fixed_quanta.is_of_threads(head) or known_for(head, "")[0]
    known = (form for form in formats().values() if form.name not in PLAIN)
    return bool(named) or any(form.recognise(head) for form in known)


def find(text: TextFile, options: Options | None = None) -> str:
    """The name of the format of a file; numbers for which `quantum` is given are FTQ's.

    The file is without labels in front of its lines (`without_labels`).

    Raises
    ------
    FormatError
        It is none of them, or may be both FTQ's and a table of detours; OtherTool where it is known
        for what it is, and not read.
    """
    if not text.data.strip():
        raise text.error(None, "is empty")
    if text.data.lstrip()[:1].isdigit() and options and options.quantum is not None:
        return "ftq"
    known = formats()
    for name, form in known.items():
        if name == PLAIN[0]:
            text.check_not_of_another_tool()
            check_not_times(text, single_column(text.head))
        if form.recognise(text.head):
            if name == "csv" and csv_events.may_be_ftq(text.head):
                raise text.error(
                    None,
                    f"has equidistant times with numbers beside them: give {parameter('format')} "
                    "ftq if these are counts, or csv if they are durations of detours",
                )
            return name
    if ftrace.is_trace(text.head):
        traces = ", ".join(one.title for name, one in known.items() if name.endswith("_trace"))
        raise text.error(None, f"is a trace (ftrace) of other events; these are read: {traces}")
    raise UnknownFormat(
        text.name,
        f"its format is unknown{text.broken_lines()}; give {parameter('format', here=False)}, one "
        f"of {', '.join(known)}, to "
        f"`jitterfly noise import {shlex.quote(text.name)}`, which makes a noise file of it",
    )


def read(text: TextFile, name: str | None = None, options: Options | None = None) -> Measured:
    """Read a measurement.

    Parameters
    ----------
    text : TextFile
        From `open_text`.
    name : str, optional
        The format; without it, the one that is recognised.
    options : Options, optional
        What the file does not say.

    Raises
    ------
    FormatError
        Names the line.
    ValueError
        An unknown format, or an option that it does not take.
    """
    known = formats()
    options = options or Options()
    text = without_labels(text)
    name = find(text, options) if name is None else check_choice(name, "format", list(known))
    chosen = known[name]
    if name in PLAIN:
        text.check_not_of_another_tool()
    for option in options.given():
        if option not in chosen.options:
            takes = ", ".join(chosen.options) or "none"
            raise text.error(
                None, f"the format {chosen.name} does not take {option} (its options: {takes})"
            )
    try:
        return chosen.read(text, options)
    except FormatError as error:
        broken = text.broken_lines() if type(error) is FormatError else ""
        if broken:
            raise text.error(error.line, f"{error.what}{broken}") from None
        raise
