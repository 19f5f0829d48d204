"""Fork server: a process with jitterfly imported, which forks for each of a test's processes.

To start Python and import the modules takes longer than most of what tests do in a process. All
tests share this one: it is started once, with what was asked for before. At full scale it has the
packages of exports, too, and SciPy's of fits: commands are killed at each of their writes there.
"""

import multiprocessing
import os
import runpy
import sys
from multiprocessing import forkserver

import pytest

from support import scale
from support.paths import TESTS

MODULES = [
    "jitterfly.advice", "jitterfly.cli.advise", "jitterfly.cli.parser", "jitterfly.cli.run",
    "jitterfly.cli.slowdown", "jitterfly.plots.draw", "jitterfly.store.store", "jitterfly.sweep",
    "jitterfly_papers.cli.fit_and_budget", "matplotlib.backends.backend_agg", "matplotlib.figure",
    "pytest", "scipy.special",
]  # fmt: skip
OF_FULL_SCALE = [
    "dask.array", "distributed", "jitterfly_papers.claims.judge_studies",
    "jitterfly_papers.plots.inference", "matplotlib.style", "netCDF4", "pyarrow.pandas_compat",
    "scipy.fftpack", "scipy.optimize", "scipy.stats", "xarray", "zarr",
]  # fmt: skip
# What is called in the forked processes; then nothing is imported any more.
OF_TESTS = [
    "support.killed_commands", "support.run_study", "support.sweep_cases", "support.frozen_modules",
]  # fmt: skip
FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload([*MODULES, *(OF_FULL_SCALE if scale.FULL else []), *OF_TESTS])
_ensure_running = forkserver._forkserver.ensure_running


def _ensure_running_with_tests_in_path():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
        _ensure_running()


forkserver._forkserver.ensure_running = _ensure_running_with_tests_in_path


def run_program(folder, program, *words, module=True):
    """Exit code, output and errors of a module, or of a text of Python, run as `__main__`.

    As in a process that was started, but that jitterfly is imported; modules are looked for in the
    folder first.
    """
    files = [folder / "stdout", folder / "stderr"]
    process = FORKSERVER.Process(target=_program, args=(folder, files, program, words, module))
    process.start()
    process.join()
    return process.exitcode, *(file.read_text(encoding="utf-8") for file in files)


def _program(folder, files, program, words, module):
    for number, file in enumerate(files, 1):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.argv = ["-c", *words]
    if module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(program, {"__name__": "__main__"})
