"""Commands that end as at a kill before one of their writes, for tests of what that leaves.

A write is whatever changes a folder: a file that is opened for writing, a new name, one that goes.
"""

import os
import sys
from pathlib import Path

from .forkserver import FORKSERVER

KILLED = 99
_CHANGES = {"os.rename": 0, "os.remove": 0, "os.mkdir": 0, "os.rmdir": 0, "os.truncate": 0}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def exit_code(folder, arguments, before=None):
    """The exit code of a command in `folder`; it is killed before write number `before`."""
    process = FORKSERVER.Process(target=_run, args=(folder, arguments, before))
    process.start()
    process.join()
    return process.exitcode


def _run(folder, arguments, before):
    from matplotlib.figure import Figure

    from jitterfly import optional_packages
    from jitterfly.cli import main
    from jitterfly.files import write_whole
    from jitterfly.plots import draw

    def blank(*_, path=None, **__):
        write_whole(Path(path), b"picture")

    optional_packages.picture = blank
    draw.save = draw.draw = lambda _, path, **__: blank(path=path)
    Figure.tight_layout = lambda *_, **__: None
    os.chdir(folder)
    with Path("../told").open("w") as told:
        os.dup2(told.fileno(), 1)
        os.dup2(told.fileno(), 2)
    if before is not None:
        sys.addaudithook(_killer(before))
    os._exit(main([str(one) for one in arguments]))


def _killer(before):
    here, count = Path.cwd(), 0

    def hook(event, arguments):
        nonlocal count
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(path, (str, os.PathLike)) and flags & _WRITES
        else:
            writes = event in _CHANGES
            path = arguments[0] if writes else None
        # In the folder alone: not packages' caches, nor unnamed files that only try whether it can
        # be written.
        if writes and not isinstance(path, int) and here in Path(here, path).parents:
            if count == before:
                os._exit(KILLED)
            count += 1

    return hook
