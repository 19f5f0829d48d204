"""The compilers that tests build programs with: of C++ (g++), and of CUDA (nvcc)."""

import hashlib
import importlib.util
import os
import shutil

import pytest

from support.paths import CUDA, ROOT

BACKEND = ROOT / "python" / "build_backend"

FLAGS = ["-std=c++20", "-O1", "-U_FORTIFY_SOURCE", "-Wall", "-Wextra", "-Werror"]


def find_compiler():
    """The command of the C++ compiler: $CXX if set, else the first one found; or None."""
    if os.environ.get("CXX"):
        return os.environ["CXX"].split()
    return next(([name] for name in ["g++", "c++", "clang++"] if shutil.which(name)), None)


def compiler():
    """That command; without one the test is skipped, and under CI it fails."""
    if found := find_compiler():
        return found
    if os.environ.get("CI"):
        pytest.fail("no C++ compiler, and under CI the emulation must be tested")
    pytest.skip("no C++ compiler (CXX, g++, c++, clang++)")


def cuda_search():
    """The module by which the build finds its CUDA compiler."""
    spec = importlib.util.spec_from_file_location("jitterfly_cuda", BACKEND / "jitterfly_cuda.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def digest_of_kernels():
    """The digest of the sources of all kernels in the tree, as CMakeLists.txt makes it."""
    paths = (path for path in CUDA.rglob("*") if path.suffix in (".cu", ".cuh", ".h"))
    sources = sorted((path.relative_to(ROOT).as_posix(), path) for path in paths)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()} {name}\n" for name, path in sources]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


OLDER = "the installed module is of other kernels than this tree: install it again"


def cuda_compiler():
    """nvcc of this machine, or of the packages that come with the requirements of tests.

    Without one the test is skipped, and under CI it fails.
    """
    found, defects = cuda_search().find(compiler()[0], environment=True, driver=None)
    if found is None:
        reason = "; ".join(["no CUDA compiler", *defects])
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
