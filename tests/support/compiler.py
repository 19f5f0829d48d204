"""The C++ compiler (g++) that tests build programs with."""

import os
import shutil

import pytest

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
