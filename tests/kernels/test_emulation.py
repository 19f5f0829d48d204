"""Self-test of the CUDA emulation (tests/emulation), on small kernels.

That every barrier taken away shows is checked here on small kernels, so that the tests which run
the real kernels on the emulation can rely on it.
"""

import subprocess

import pytest
from support.compiler import FLAGS, compiler
from support.paths import EMULATION

pytestmark = pytest.mark.full_scale  # what runs on the emulation is tested at both scales

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


@pytest.fixture(scope="module")
def selftest(tmp_path_factory):
    program = tmp_path_factory.mktemp("emulation") / "selftest"
    source = [f"-I{EMULATION}", str(EMULATION / "selftest.cpp"), "-o", str(program)]
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
