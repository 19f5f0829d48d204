"""Ctrl-C (SIGINT) and SIGTERM while the command loads: a line and its exit code, no traceback.

NumPy and this package take most of a second to import, in which nothing has been begun that must be
ended in order. A program that imports the package is left alone.
"""

from __future__ import annotations

import os
import sys


def is_command() -> bool:
    """Return whether this process is the command: `jitterfly`, or `python -m jitterfly`."""
    processes = sys.modules.get("multiprocessing.process")
    if not sys.argv or (processes is not None and processes.parent_process() is not None):
        return False  # a worker has the words of the command as well
    started = sys.argv[0]
    if started == "-m":  # Python has not found the module yet
        # Of `-m mpi4py.futures -m jitterfly` the first is started, and its workers import us.
        first = sys.orig_argv.index("-m") if "-m" in sys.orig_argv else 0
        return sys.orig_argv[first + 1 : first + 2] == ["jitterfly"]
    return os.path.basename(started) == "jitterfly"  # noqa: PTH119 (pathlib takes 10 ms to load)


def leave_current_directory() -> None:
    """Take the current directory out of `sys.path`, where `python -m` puts it, unlike the command.

    What is there by chance (`signal.py`, say) is none of ours. In a checkout the package is there.
    """
    try:
        here = os.getcwd()  # noqa: PTH109 (as above)
    except OSError:  # it was removed
        return
    if sys.argv[0] == "-m" and sys.path[:1] == [here] and not __file__.startswith(here + os.sep):
        del sys.path[0]


def stop_at_once(number: int, _: object = None) -> None:
    """End the process, and say so: with 130 after Ctrl-C, with 143 after SIGTERM."""
    import signal

    try:
        os.write(2, b"jitterfly: stopped%s\n" % (b": SIGTERM" * (number == signal.SIGTERM)))
    finally:
        os._exit(128 + number)


def stop_while_loading() -> None:
    """End at Ctrl-C or SIGTERM, unless it is ignored, until `cli.process.Stopping` takes over."""
    if not is_command():
        return
    leave_current_directory()
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            try:
                signal.signal(number, stop_at_once)
            except ValueError:  # not the main thread
                return


stop_while_loading()
