"""The emulation of CUDA in tests/emulation tested on kernels of its own.

That every barrier taken away shows is checked here on small kernels, so that the tests which run
the real kernels on the emulation can rely on it.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "emulation"
FLAGS = ["-std=c++20", "-O1", "-U_FORTIFY_SOURCE", "-Wall", "-Wextra", "-Werror"]
CHECKS = [
    "block_reduction",
    "warp_shuffle_butterfly",
    "shared_memory_butterfly",
    "warp_synchronized_butterfly",
    "divergent_barrier",
    "exit_before_barrier",
    "divergent_warp",
    "shuffles",
    "atomics",
    "shared_memory_is_garbage",
    "shared_memory_overrun",
    "orders",
    "failures",
    "speed",
]


def compiler():
    """The command of the C++ compiler: $CXX if set, else the first one found."""
    if os.environ.get("CXX"):
        return os.environ["CXX"].split()
    for command in ["g++", "c++", "clang++"]:
        if shutil.which(command):
            return [command]
    if os.environ.get("CI"):
        pytest.fail("no C++ compiler, and under CI the emulation must be tested")
    pytest.skip("no C++ compiler (CXX, g++, c++, clang++)")


@pytest.fixture(scope="module")
def selftest(tmp_path_factory):
    program = tmp_path_factory.mktemp("emulation") / "selftest"
    source = [f"-I{SOURCE}", str(SOURCE / "selftest.cpp"), "-o", str(program)]
    build = subprocess.run(
        [*compiler(), *FLAGS, *source], capture_output=True, text=True, check=False
    )
    assert build.returncode == 0, build.stderr
    return program


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_every_check_is_listed(selftest):
    assert run(selftest).stdout.split() == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_emulation(selftest, check):
    result = run(selftest, check)
    assert result.returncode == 0, result.stdout + result.stderr
