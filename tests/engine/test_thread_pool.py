"""Thread pool of the CPU engines: which error is raised, when threads end.

A program of its own compiles `cuda/cpu/thread_pool.cpp`, so that it polls often enough to hit a
moment that in a user's run is rare. `tests/sanitizers` runs it, too.
"""

import subprocess

import pytest
from support.compiler import FLAGS, compiler
from support.paths import CUDA, TESTS


@pytest.mark.full_scale
def test_threads_end_with_the_first_error(tmp_path):
    program = tmp_path / "thread_pool"
    # All as one: most of what is compiled is the headers of the standard library.
    sources = ["-include", CUDA / "cpu" / "thread_pool.cpp",
               "-include", CUDA / "cpu" / "hardware_threads.cpp",
               TESTS / "sanitizers" / "thread_pool.cpp"]  # fmt: skip
    subprocess.run([*compiler(), *FLAGS, "-pthread", f"-I{CUDA}", *sources, "-o", program],
                   check=True)  # fmt: skip
    ran = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")
