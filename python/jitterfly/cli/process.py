"""The command `jitterfly` as a process: entry point `main`, exit codes, streams, signals.

Streams: a broken pipe (`| head`), a full disk, closed streams. Signals: Ctrl-C (SIGINT), SIGTERM
(`kill`, Slurm's time limit) end a long run in order.

The engine stops where it polls: `cpu/thread_pool.cpp` and `noise/walk.h`, on a GPU `Pace` of
`gpu/batch_size.h`, all in cuda. A second signal ends the process wherever it is. Python does not
answer that one, since its handlers wait until code in C has returned. While the command still loads
it is `interrupts_while_loading`. What is kept of a run that was stopped is in `sweep.driver`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, cast

from ..fields import visible
from ..interrupts_while_loading import stop_at_once
from ..progress import Nowhere

if TYPE_CHECKING:
    from .output import GivenOptions

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# A launcher may pass on a signal that this process has had already: that is no second request.
_SAME = 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns its exit code: 0, 2 after an error (one line), 130 after Ctrl-C, 143 after SIGTERM. And
    1 where the command did its work, and what it found is not as it should be: cells of a study
    failed and the others were finished, `merge` or `export` found cells unfinished, a recording is
    not to be trusted.
    """
    if list(sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        return _print_version()
    with Stopping(with_process=arguments is None) as stopping, StandardStreams() as streams:
        return streams.code(stopping.code(_run(arguments)))


def _print_version() -> int:
    """Print the version, without loading what it takes to run a command: that is half a second."""
    from ..version import __version__

    with StandardStreams() as streams:
        print(f"jitterfly {__version__}")
        return streams.code(0)


def _run(arguments: Sequence[str] | None) -> int:
    options: GivenOptions | None = None
    try:
        # Here, so that Ctrl-C while they load is answered as any other.
        from ..fields import naming_options
        from ..progress import progress_to
        from .output import GivenOptions, accept_everything, level, short_warnings, tell
        from .parser import parse

        accept_everything()
        short_warnings()
        chosen = parse(arguments)
        options = GivenOptions(chosen)
        with (
            level(chosen),
            progress_to(lambda line: tell(f"jitterfly: {line}")),
            naming_options(options.option),
        ):
            several = getattr(chosen, "devices", None) is not None  # which divides them itself
            if getattr(chosen, "backend", "cpu") != "cpu" and not several:
                _bind_device()
            code = chosen.run(chosen) or 0
        sys.stdout.flush()  # here, where Ctrl-C is answered: it may wait for a reader
        return code
    except KeyboardInterrupt as stop:
        print(f"jitterfly: stopped{f': {stop}' if str(stop) else ''}", file=sys.stderr)
        return 130
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _fail(what)
    except MemoryError:
        return _fail("not enough memory; fewer realizations or ranks need less")
    except ValueError as error:
        return _fail(str(error) if options is None else options.text_of(error))
    except RuntimeError as error:
        return _fail(str(error), 1 if getattr(error, "failed", None) else 2)


def _bind_device() -> None:
    """Take the GPU of the local rank, where a launcher started several commands on a machine."""
    from ..backends import ask_devices
    from ..resources import bind_device

    bind_device(lambda: ask_devices()[1])


def _fail(message: str, code: int = 2) -> int:
    """Print an error in one line."""
    print(f"jitterfly: error: {' '.join(message.split())}", file=sys.stderr)
    return code


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

    def isatty(self) -> bool:
        """Return whether this is a terminal: no stream that was closed, or that can not say."""
        try:
            return bool(self.stream.isatty())
        except (AttributeError, ValueError):
            return False

    def write(self, text: str) -> int:
        self.write_controls(visible(text))
        return len(text)

    def write_controls(self, text: str) -> int:
        """Write the text with its control characters; drop it where the stream does not take it."""
        try:
            self.stream.write(text)
        except UnicodeError:  # a ValueError, too: the command prints an error, in ASCII
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


class Stopping:
    """A context in which the first signal raises KeyboardInterrupt, and the second one ends.

    What catches KeyboardInterrupt, to keep what there is and to say so, so serves both signals.
    In a thread other than the main one nothing is changed: Python handles no signal there.

    Where the process ends `with_process`, nothing is left for a signal to stop: the first one would
    show a traceback while Python clears up.
    """

    def __init__(self, *, with_process: bool = False) -> None:
        self.with_process = with_process
        self.by: int | None = None
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Stopping:
        from ..backends import core  # not for `--version`, and while `stop_at_once` answers

        # A signal that is ignored (`nohup`, a background job of a script) stays so.
        usual = (signal.SIG_DFL, signal.default_int_handler, stop_at_once)
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if handler in usual:
                try:
                    signal.signal(number, self._stop)
                except ValueError:  # not the main thread
                    break
                self.before[number] = handler
        if self.before:
            core.end_on_second_signal(list(self.before), _SAME)
        return self

    def __exit__(self, *_: object) -> None:
        if self.with_process and self.by is not None:
            return  # the next one ends the process
        for number, handler in self.before.items():
            signal.signal(number, signal.SIG_DFL if self.with_process else handler)

    def _stop(self, number: int, _: FrameType | None) -> None:
        if self.by is None:  # else it is the same once more, or both came at once
            self.by = number
            raise KeyboardInterrupt(*(["SIGTERM"] if number == signal.SIGTERM else []))

    def code(self, code: int) -> int:
        """The exit code of a command that ended with `code`: 143 in place of 130 after SIGTERM."""
        if self.by is not None:
            # Where the last string that was executed (as an import of SciPy does hundreds of times)
            # ended by KeyboardInterrupt, `python -m` kills itself by SIGINT in the end, though the
            # exception was caught. Another string that is executed clears this mark of Python's.
            exec("")
        return 143 if code == 130 and self.by == signal.SIGTERM else code
