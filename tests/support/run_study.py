"""Run a study as a script of a user does.

python run_study.py STUDY.toml OUT WORKERS SECONDS [MOST_OWN_FILES]
"""

import os
import sys
from multiprocessing import forkserver
from pathlib import Path

from jitterfly.store import record_files
from jitterfly.studies import load_study
from jitterfly.sweep import executors, run


def main(path, out, workers, seconds, most=None):
    if most is not None:
        record_files.MOST_OWN_FILES = int(most)
    run(
        load_study(path),
        out,
        workers=None if workers == "none" else workers,
        batch_seconds=float(seconds),
    )


class ForkedWorkers:
    """Workers of a pool that are forked where those of users are started.

    `folder` gets a file for each, by its number.
    """

    def __init__(self, folder):
        from .forkserver import FORKSERVER

        self.folder, self.context = folder, FORKSERVER
        self.Pipe = FORKSERVER.Pipe

    def Process(self, target, args, daemon):  # as that of multiprocessing
        return self.context.Process(
            target=_note_and_call, args=(self.folder, target, args), daemon=daemon
        )


def _note_and_call(folder, target, arguments):
    Path(folder, str(os.getpid())).touch()
    target(*arguments)


def forked(told, folder, *arguments):
    """The same in a process that was forked, as if it had been started; `told` is its output."""
    # The server of this process serves it, too; by itself it would start another one.
    forkserver._forkserver.ensure_running = lambda: None
    executors._SPAWN = ForkedWorkers(folder)
    os.setsid()
    output = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    main(*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
