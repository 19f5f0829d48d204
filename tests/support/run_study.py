"""Run a study as a script of a user does.

python run_study.py STUDY.toml OUT WORKERS SECONDS [MOST_OWN_FILES]
"""

import os
import sys

from jitterfly.store import record_files
from jitterfly.studies import load_study
from jitterfly.sweep import run


def main(path, out, workers, seconds, most=None):
    if most is not None:
        record_files.MOST_OWN_FILES = int(most)
    run(
        load_study(path),
        out,
        workers=None if workers == "none" else workers,
        batch_seconds=float(seconds),
    )


def forked(environment, told, *arguments):
    """The same in a process that was forked, as if it had been started; `told` is its output."""
    os.setsid()
    os.environ.update(environment)
    output = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    main(*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
