"""Fork server for the `jitterfly` commands of documentation pages, so that they start quickly.

    python forked_commands.py serve NAME              until its standard input ends
    python -IS forked_commands.py call NAME ARGUMENT ...

A picture that such a command writes has a digest of what it shows (picture_digest.py).

To start Python and import the modules takes longer than most commands of the pages do. The process
that serves has imported the modules and done nothing else, so that a forked command finds what it
finds in a process of its own. A call hands over its files, folder and environment, and ends with
the exit code of the command.
"""

import os
import socket
import sys

FUNCTION = """
jitterfly() { "$FORKED_PYTHON" -IS "$FORKED_COMMANDS" call "$FORKED_NAME" "$@"; }
"""


def call(name, arguments):
    """In a process without modules; returns the exit code."""
    handed = [os.getcwd(), str(len(arguments)), *arguments]  # noqa: PTH109 (pathlib takes long)
    handed += [f"{key}={value}" for key, value in os.environ.items()]
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(f"\0{name}")
        socket.send_fds(server, [b"."], [0, 1, 2])
        server.sendall("\0".join(handed).encode(errors="surrogateescape"))
        server.shutdown(socket.SHUT_WR)
        answer = server.recv(1)
    return answer[0] if answer else 1


def serve(name):
    """Fork for each call, until the process that wants them is gone."""
    import select
    import signal

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        imported()
        from picture_digest import marked_pictures  # beside this script

        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
        while True:
            ready, _, _ = select.select([server, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            caller, _ = server.accept()
            with caller:
                if os.fork() == 0:
                    server.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    with marked_pictures():
                        command(caller)


def imported():
    """What commands import, with what they draw with.

    None of it is garbage to search for: each forked process would go through it, and so copy it.
    """
    import gc
    import importlib
    import pkgutil

    import matplotlib.pyplot  # noqa: F401

    import jitterfly.cli
    import jitterfly.plots
    import jitterfly_papers.cli
    import jitterfly_papers.plots

    papers = (jitterfly_papers.cli, jitterfly_papers.plots)
    for package in (jitterfly.cli, jitterfly.plots, *papers):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def command(caller):
    """In the forked process: what a call handed over."""
    import atexit
    import io
    import threading
    import traceback

    from jitterfly.cli import main

    code = 1
    try:
        _, files, _, _ = socket.recv_fds(caller, 1, 3)
        text = b""
        while part := caller.recv(2**16):
            text += part
        folder, number, *words = text.decode(errors="surrogateescape").split("\0")
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(word.split("=", 1) for word in words[int(number) :])
        for file, place in zip(files, (0, 1, 2), strict=True):
            os.dup2(file, place)
            os.close(file)
        # Those of the process that serves know what kinds of files it has.
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), "utf-8")
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")), "utf-8")
        error = io.BufferedWriter(io.FileIO(2, "w"))
        sys.stderr = io.TextIOWrapper(error, "utf-8", "backslashreplace", line_buffering=True)
        sys.argv = ["jitterfly", *words[: int(number)]]
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        caller.sendall(bytes([code]))
        os._exit(0)


if __name__ == "__main__":
    what, place, *words = sys.argv[1:]
    if what == "call":
        sys.exit(call(place, words))
    serve(place)
