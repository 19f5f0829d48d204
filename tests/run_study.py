"""Run a study as a script of a user does: python run_study.py STUDY.toml OUT WORKERS SECONDS."""

import sys

from jitterfly.studies.reading import load_study
from jitterfly.sweep import run


def main():
    path, out, workers, seconds = sys.argv[1:]
    run(
        load_study(path),
        out,
        workers=None if workers == "none" else workers,
        batch_seconds=float(seconds),
    )


if __name__ == "__main__":
    main()
