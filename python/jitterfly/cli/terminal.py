"""What a terminal can show."""

from __future__ import annotations

import codecs
import sys

_PLAIN = {"±": "+-", "–": "-", "…": "...", "µ": "u", "μ": "u", "×": "x"}
_NAME = "jitterfly.plain"


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in lost), error.end


def accept_everything() -> None:
    """Print what the terminal's encoding lacks in plain letters, rather than fail after a run."""
    codecs.register_error(_NAME, _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_NAME)
