"""What a terminal can show."""

from __future__ import annotations

import codecs
import shutil
import sys
import warnings
from typing import Any

_PLAIN = {"±": "+-", "–": "-", "…": "...", "µ": "u", "μ": "u", "×": "x"}
_NARROWEST = 60  # letters that a table needs in any case
_NAME = "jitterfly.plain"


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in lost), error.end


def _line(message: Warning | str, *_: Any) -> str:
    return f"jitterfly: warning: {' '.join(str(message).split())}\n"


def short_warnings() -> None:
    """Show a warning as a line of what it says, without the place in this program."""
    warnings.formatwarning = _line


def width() -> int:
    """Letters of a line: of the terminal, or 120 where the output goes elsewhere."""
    return max(shutil.get_terminal_size((120, 40)).columns, _NARROWEST)


def accept_everything() -> None:
    """Print what the terminal's encoding lacks in plain letters, rather than fail after a run."""
    codecs.register_error(_NAME, _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_NAME)
