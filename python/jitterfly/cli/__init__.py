"""The command `jitterfly` (command line): entry point `main`, exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .process import StandardStreams, Stopping

if TYPE_CHECKING:
    from .output import GivenOptions


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
    from ..launchers import bind_device

    bind_device(lambda: ask_devices()[1])


def _fail(message: str, code: int = 2) -> int:
    """Print an error in one line."""
    print(f"jitterfly: error: {' '.join(message.split())}", file=sys.stderr)
    return code
