"""Standard output and error of a command: a closed pipe (`| head`), a full disk, a broken pipe."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast


class Nowhere(io.TextIOBase):
    """A stream that drops what is written."""

    def write(self, text: str) -> int:
        """Drop it."""
        return len(text)


class _Outlasting:
    """A stream that drops what is written from the first error on, which it keeps."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream: Any = Nowhere() if stream is None else stream  # None: it was closed (>&-)
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        try:
            self.stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Send the rest to nowhere, with what is in the buffer, which Python writes at its end."""
        self.error = self.error or error
        with suppress(OSError, AttributeError):  # a program's own stream may have no descriptor
            descriptor = self.stream.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


class StandardStreams:
    """While it is entered, a command outlasts the readers of what it prints.

    Files that a command was asked for may come after the text. So once the reader has gone, or the
    disk is full, what is printed goes nowhere, and the command goes on to its end.
    """

    def __enter__(self) -> StandardStreams:
        self.before = sys.stdout, sys.stderr
        self.output, self.errors = _Outlasting(sys.stdout), _Outlasting(sys.stderr)
        sys.stdout, sys.stderr = cast(TextIO, self.output), cast(TextIO, self.errors)
        return self

    def __exit__(self, *_: object) -> None:
        self.output.flush()
        self.errors.flush()
        sys.stdout, sys.stderr = self.before

    def code(self, code: int) -> int:
        """The exit code of a command that ended with `code`.

        It is 2 where the output could not be written. A reader that has gone has seen enough.
        """
        error = self.output.error
        if error is None or isinstance(error, BrokenPipeError):
            return code
        print(f"jitterfly: error: standard output: {error.strerror}", file=sys.stderr)
        return code or 2
