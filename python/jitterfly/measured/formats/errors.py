"""What is wrong with a file, and where."""

from __future__ import annotations


class FormatError(ValueError):
    """A file that cannot be read: ``FILE, line 17: what``, or ``FILE: what`` for all of it."""

    def __init__(self, file: str, line: int | None, what: str) -> None:
        super().__init__(f"{file}{'' if line is None else f', line {line}'}: {what}")
        self.file = file
        self.line = line
        self.what = what
