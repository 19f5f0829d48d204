"""Threads that are taken where none are asked for: affinity masks and control groups."""

import json
import os
import subprocess
import sys

import pytest

from jitterfly import _core
from jitterfly.backends import info

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="affinity and control groups")

# proc/self/cgroup, files below sys/fs/cgroup, and the threads that they leave; 0: no limit.
GROUPS = {
    "no group": ("", {}, 0),
    "version 2": ("0::/job\n", {"job/cpu.max": "150000 100000"}, 2),
    "version 2, one CPU": ("0::/job\n", {"job/cpu.max": "100000 100000"}, 1),
    "no limit": ("0::/job\n", {"job/cpu.max": "max 100000"}, 0),
    "a group above": (
        "0::/pod/app\n", {"pod/cpu.max": "300000 100000", "pod/app/cpu.max": "max 100000"}, 3),
    "the smallest": (
        "0::/pod/app\n", {"pod/cpu.max": "300000 100000", "pod/app/cpu.max": "50000 100000"}, 1),
    "the container's own": ("0::/\n", {"cpu.max": "400000 100000"}, 4),
    "a path of the host": ("0::/host/docker/abc\n", {"cpu.max": "200000 100000"}, 2),
    "version 1": (
        "5:memory:/x\n4:cpu,cpuacct:/job\n",
        {"cpu/job/cpu.cfs_quota_us": "250000", "cpu/job/cpu.cfs_period_us": "100000"}, 3),
    "version 1, no limit": (
        "4:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 0),
    "cpuset is not cpu": ("3:cpuset:/job\n", {"cpu/job/cpu.cfs_quota_us": "100000",
                                             "cpu/job/cpu.cfs_period_us": "100000"}, 0),
    "not a number": ("0::/job\n", {"job/cpu.max": "many few"}, 0),
    "no path": ("0\n0:\n", {}, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPS)
def test_control_groups(tmp_path, name):
    groups, files, threads = GROUPS[name]
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(groups)
    for path, text in files.items():
        file = tmp_path / "sys" / "fs" / "cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    assert _core.control_group_threads(str(tmp_path)) == threads


def test_no_such_files(tmp_path):
    assert _core.control_group_threads(str(tmp_path)) == 0


def test_the_affinity_mask_is_followed():
    """As taskset, Slurm and cpusets set it; it may change while the process runs."""
    before = os.sched_getaffinity(0)
    limit = _core.control_group_threads() or len(before)
    assert _core.hardware_threads() == min(len(before), limit)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert _core.hardware_threads() == 1
        assert info()["processors"] == 1
    finally:
        os.sched_setaffinity(0, before)


THREADS = """
import json, os
import jitterfly as jf
most = 0
def progress(done, total):
    global most
    most = max(most, len(os.listdir("/proc/self/task")))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
before = len(os.listdir("/proc/self/task"))
case = jf.Case(2**12, network=jf.LogGOPS(L=1e-6, o=1e-7), noise=[jf.PeriodicNoise("1ms", "10us")])
jf.simulate(case, 20000, backend="cpu", progress=progress)
print(json.dumps(most - before))
"""


def test_one_thread_under_a_mask_of_one_processor():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == 1
