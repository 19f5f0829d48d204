"""Script that runs a study as a user's script does, for tests of kills and workers.

python run_study.py STUDY.toml OUT WORKERS SECONDS [MAX_OWN_FILES]
"""

import ctypes
import fcntl
import os
import runpy
import shutil
import socket
import subprocess
import sys
import traceback
from multiprocessing import forkserver
from pathlib import Path

from jitterfly import executors
from jitterfly.store import records
from jitterfly.studies import load_study
from jitterfly.sweep import run

OUT_OF_THE_WAY = 100  # files from this number on
MPI_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def main(path, out, workers, seconds, most=None):
    if most is not None:
        records.MAX_OWN_FILES = int(most)
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


def is_mpich():
    """Whether there is an mpiexec that tells its ranks what they are as hand_over.py reads it."""
    program = shutil.which("mpiexec", path=MPI_PATH)
    if not program:
        return False
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return "HYDRA" in done.stdout


def forked_rank(name, rank, *arguments):
    """The same as a rank of MPI: in place of a process that mpiexec started (hand_over.py)."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}-{rank}")
        server.listen()
        accepted, _ = server.accept()
    with accepted:
        environment, given, _, _ = socket.recv_fds(accepted, 2**20, 4)
        while more := accepted.recv(2**20):
            environment += more
        os.environ.clear()
        os.environb.update(pair.split(b"=", 1) for pair in environment.split(b"\0"))
        # Out of the way of the numbers that the files had there.
        started = socket.socket(fileno=fcntl.fcntl(accepted, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY))
        files = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) for file in given]
        for file in given:
            os.close(file)
    with started:
        for file, number in zip(files, (0, 1, 2, int(os.environ["PMI_FD"])), strict=True):
            os.dup2(file, number, inheritable=False)
            os.close(file)
        sys.argv = ["mpi4py.futures", __file__, *arguments]
        code = 0
        try:
            runpy.run_module("mpi4py.futures", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
            code = 1
        from mpi4py import MPI

        MPI.Finalize()
        sys.stdout.flush()
        sys.stderr.flush()
        started.sendall(bytes([code]))
        # A forked process of Python ends without what C does at its end: MPICH takes leave there.
        ctypes.CDLL(None).exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
