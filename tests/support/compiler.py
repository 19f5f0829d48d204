"""The C++ compiler (g++) that tests build programs with."""

import os
import shutil

import pytest

FLAGS = ["-std=c++20", "-O1", "-U_FORTIFY_SOURCE", "-Wall", "-Wextra", "-Werror"]


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
