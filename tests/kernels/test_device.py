"""cuda/gpu/device.h (launches, memory, errors) on a fake CUDA runtime, without a device.

The runtime is one that only remembers what it was told (tests/emulation/runtime).
"""

import subprocess

import pytest
from support.compiler import FLAGS, compiler
from support.paths import CUDA, EMULATION

pytestmark = pytest.mark.full_scale  # to compile takes nearly all of the time

CHECKS = [
    "what_a_kernel_may_have",
    "what_is_set_aside",
    "threads_of_one_process",
    "a_thread_for_each_device",
    "memory_in_one_piece",
    "memory_that_is_not_there",
]


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    program = tmp_path_factory.mktemp("device") / "device"
    source = [f"-I{EMULATION / 'runtime'}", f"-I{CUDA}", str(EMULATION / "device.cpp"), "-pthread"]
    build = subprocess.run(
        [*compiler(), *FLAGS, *source, "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    return program


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_every_check_is_listed(device):
    assert run(device).stdout.split() == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_device(device, check):
    result = run(device, check)
    assert result.returncode == 0, result.stdout + result.stderr
