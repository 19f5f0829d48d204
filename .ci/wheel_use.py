#!/usr/bin/env python3
"""Test of a wheel: install it where there is no compiler, and use it as a newcomer does.

    .ci/wheel_use.py WHEEL [--cuda]         in a fresh environment; --cuda: it must hold CUDA code
    .ci/wheel_use.py --here [--cuda]        in the environment of this Python, which has it already

Versions, what the installation knows of itself, a study of the README to its picture, and tests.
The commands run in an empty folder, and PATH holds the environment's programs alone: neither a
compiler nor a CUDA toolkit can be found, and the sources are not in reach.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# What a build or a packaging can break, in tests that need no compiler, and no package beyond those
# of PACKAGES: the core gives the results that were pinned, to the bit; its random numbers; cases
# computed by hand; numbers as text; files of noise; every command by the example of its help, and
# the studies in the wheel.
TESTS = [
    "engine/test_pinned.py",
    "engine/test_philox.py",
    "engine/test_by_hand.py",
    "api/test_units.py",
    "cli/test_syntax.py",
    "measured/test_noisefile.py",
    "cli/test_slowdown.py",
    "cli/test_examples.py",
    "studies/test_shipped_studies.py",
]
PACKAGES = ["hypothesis", "matplotlib", "pytest>=8", "pytest-timeout", "tqdm"]


def run(*command: str | Path, folder: Path, path: Path) -> str:
    """Run a command in a folder with one folder of programs; print and return what it prints."""
    print(f"+ {' '.join(map(str, command))}", flush=True)
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        command, cwd=folder, env=kept | {"PATH": str(path)}, stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}")
    return done.stdout


def use(programs: Path, folder: Path, cuda: bool) -> None:
    """Use the jitterfly that is installed beside these programs; SystemExit where it fails."""
    python, jitterfly = programs / "python", programs / "jitterfly"
    run(jitterfly, "--version", folder=folder, path=programs)
    run(jitterfly, "info", folder=folder, path=programs)
    info = json.loads(run(jitterfly, "info", "--json", folder=folder, path=programs))
    if bool(info["build"]["cuda"]) != cuda:
        raise SystemExit(f"CUDA code: {info['build']['cuda'] or 'none'}, wanted: {cuda}")
    study = ("run", "ms12_fig12", "--realizations", "200", "--out", "study", "-q")
    run(jitterfly, *study, folder=folder, path=programs)
    if not (folder / "study" / "ms12_fig12.png").is_file():
        raise SystemExit("the study has no picture")
    tests = [ROOT / "tests" / name for name in TESTS]
    chosen = "not slow and not timing and not gpu"
    options = ("-q", "-p", "no:cacheprovider", "-m", chosen)
    run(python, "-m", "pytest", *options, *tests, folder=folder, path=programs)


def main() -> None:
    """Read the options; use the wheel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, nargs="?")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--cuda", action="store_true")
    chosen = parser.parse_args()
    if (chosen.wheel is None) != chosen.here:
        parser.error("either WHEEL or --here")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "empty")
        folder.mkdir()
        if chosen.here:
            programs = Path(sys.executable).parent
        else:
            venv.create(Path(name, "venv"), with_pip=True)
            programs = Path(name, "venv", "bin")
            pip = (programs / "python", "-m", "pip", "install", "-q")
            subprocess.run([*pip, chosen.wheel.resolve(), *PACKAGES], check=True)
        use(programs, folder, chosen.cuda)


if __name__ == "__main__":
    main()
