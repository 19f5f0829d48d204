"""Standard output and error of a command: a broken pipe (`| head`), a full disk, closed streams."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

from ..fields import visible


class Nowhere(io.TextIOBase):
    """A stream that drops what is written."""

    def write(self, text: str) -> int:
        """Drop it."""
        return len(text)


class _Outlasting:
    """A stream that drops what is written from the first error on, which it keeps.

    Control characters are made visible: a title or a file may have some. `with_controls` is the
    same stream for texts of our own that have them, such as a bar.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.stream: Any = Nowhere() if stream is None else stream  # None: it was closed (>&-)
        self.error: OSError | ValueError | None = None
        self.with_controls = _WithControls(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        self.write_controls(visible(text))
        return len(text)

    def write_controls(self, text: str) -> int:
        try:
            self.stream.write(text)
        except UnicodeError:
            raise
        except (OSError, ValueError) as error:  # ValueError: it was closed
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except (OSError, ValueError) as error:
            self._give_up(error)

    def _give_up(self, error: OSError | ValueError) -> None:
        """Send the rest to nowhere."""
        self.error = self.error or error
        if self.stream in (sys.__stdout__, sys.__stderr__):
            # With what is in the buffer, which Python would write at its end.
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.stream.fileno())
                os.close(nowhere)
        self.stream = Nowhere()


class _WithControls:
    """A stream whose control characters are meant."""

    def __init__(self, stream: _Outlasting) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        return self.stream.write_controls(text)


class StandardStreams:
    """A context in which a command outlasts the readers of what it prints.

    Files that a command was asked for may come after the text. So once the reader has gone, or the
    disk is full, what is printed goes nowhere, and the command goes on to its end.
    """

    def __enter__(self) -> StandardStreams:
        self.before = sys.stdout, sys.stderr
        self.output, self.errors = _Outlasting(sys.stdout), _Outlasting(sys.stderr)
        sys.stdout, sys.stderr = cast(TextIO, self.output), cast(TextIO, self.errors)
        return self

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        self.output.flush()
        self.errors.flush()
        sys.stdout, sys.stderr = self.before
        if isinstance(raised, SystemExit) and (code := self.code(0)):  # of --help
            raise SystemExit(code)

    def code(self, code: int) -> int:
        """The exit code of a command that ended with `code`.

        It is 2 where the output could not be written. A reader that has gone has seen enough.
        """
        error = self.output.error
        if error is None or isinstance(error, BrokenPipeError):
            return code
        what = error.strerror if isinstance(error, OSError) else error
        print(f"jitterfly: error: standard output: {what}", file=sys.stderr)
        return code or 2
