"""MPI libraries (Open MPI, MPICH) on this machine, and how each starts a program.

Several may be installed: the tests' own MPICH comes with `pip install ".[test]"`, and its mpiexec
stands before another one's in PATH.
"""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

OPEN_MPI, MPICH = "open-mpi.org", "HYDRA"  # what `mpiexec --version` says


class MpiLibrary(NamedTuple):
    """Paths of its mpiexec and of its library."""

    mpiexec: str
    libmpi: str


def starters(names, told):
    """Programs of these names that say at `--version` whose they are, each once."""
    folders = [str(Path(sys.executable).parent), *os.get_exec_path()]
    found: dict[str, None] = {}
    for name in names:
        for folder in folders:
            path = shutil.which(name, path=folder)
            if path and told in version(path):
                # The program itself: it looks for others beside the name that it is called by.
                found.setdefault(str(Path(path).resolve()))
    return list(found)


@functools.cache
def version(path):
    done = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr


def open_mpi():
    """Its mpiexec, or ""."""
    return next(iter(starters(["mpiexec.openmpi", "mpiexec"], OPEN_MPI)), "")


def mpichs():
    """All MPICHs: that of this environment, and that of the system."""
    found = []
    for mpiexec in starters(["mpiexec", "mpiexec.hydra"], MPICH):
        beside = Path(mpiexec).parent.parent / "lib" / "libmpi.so.12"
        path = str(beside) if beside.is_file() else linked("libmpich.so.12")
        if path:
            found.append(MpiLibrary(mpiexec, path))
    return found


def linked(name):
    """The path of a library that the linker finds by its name, or ""."""
    program = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    if program is None:
        return ""
    listed = subprocess.run([program, "-p"], capture_output=True, text=True, check=False).stdout
    lines = [line.split() for line in listed.splitlines()]
    return next((words[-1] for words in lines if words and words[0] == name), "")
