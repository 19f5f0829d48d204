"""Build backend (PEP 517): scikit-build-core, and nvcc from PyPI if there is none (JITTERFLY_CUDA).

The requirements of a build can depend on the machine only through such a wrapper. Everything else
is scikit-build-core's.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys

import jitterfly_cuda
from scikit_build_core import build as _core
from scikit_build_core.build import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

# CUDA 13 (jitterfly_cuda.FETCHED_CUDA), as PyPI has no nvcc of CUDA 12. Its first version: what it
# makes runs with every driver of CUDA 13, PTX included. nvvm and crt are pinned beside the toolkit,
# which leaves them open: newer ones do not match nvcc. pyproject.toml has the same for the tests.
CUDA_FROM_PYPI = [
    "cuda-toolkit[nvcc,cudart,cccl,curand]==13.0.2",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
]

# make builds one file at a time unless told otherwise; ninja uses all cores anyway.
if hasattr(os, "sched_getaffinity"):
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(len(os.sched_getaffinity(0))))


def get_requires_for_build_wheel(config_settings=None):
    return _core.get_requires_for_build_wheel(config_settings) + _extra(config_settings)


def get_requires_for_build_editable(config_settings=None):
    return _core.get_requires_for_build_editable(config_settings) + _extra(config_settings)


def _extra(config_settings) -> list[str]:
    # scikit-build-core is content with make; without network that is right, here ninja is better.
    extra = [] if shutil.which("ninja") else ["ninja"]
    setting = (config_settings or {}).get("cmake.define.JITTERFLY_CUDA")
    cuda = (setting or os.environ.get("JITTERFLY_CUDA") or "AUTO").upper()
    if cuda not in ("AUTO", "ON", "OFF"):
        raise ValueError(f"JITTERFLY_CUDA must be AUTO, ON or OFF, got {cuda!r}")
    if cuda == "OFF" or not _pypi_has_cuda():
        return extra
    host = shutil.which(os.environ.get("CXX", ""))  # None: nvcc's own choice
    driver = jitterfly_cuda.driver_version()
    nvcc, _ = jitterfly_cuda.find(host, environment=False, driver=driver)
    return extra if nvcc or jitterfly_cuda.fetches(driver) else extra + CUDA_FROM_PYPI


def _pypi_has_cuda() -> bool:
    machine = platform.machine().lower() in ("x86_64", "amd64", "aarch64", "arm64")
    glibc = platform.libc_ver()[0] == "glibc"  # there are no wheels for musl
    return sys.platform == "linux" and machine and glibc and sys.maxsize > 2**32
