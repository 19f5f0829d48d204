"""Reuse of the CPU engine's memory from one large run to the next."""

from __future__ import annotations

import mmap
import subprocess
import sys

import pytest

RUNS = """
import ctypes, resource
import jitterfly as jf
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: else a large page counts as one
case = jf.Case(2**21, network=jf.Hockney(1e-6, 1e-9, 1e-10), noise=[jf.PeriodicNoise(1e-3, 1e-5)])
results = []
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    results.append(jf.simulate(case, 1, seed=1, backend="cpu", threads=1).samples.tolist())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
assert results[0] == results[1]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_THP_DISABLE is Linux's")
def test_a_second_run_touches_no_new_memory():
    """A time for each rank between passes: 16 MiB, which the first run gets from the system."""
    pages = 8 * 2**21 // mmap.PAGESIZE
    found = subprocess.run([sys.executable, "-c", RUNS], capture_output=True, text=True, check=True)
    first, second = map(int, found.stdout.split())
    assert first >= pages
    assert second < pages / 8
