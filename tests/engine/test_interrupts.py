"""Ctrl-C during long calls, and fewer threads than asked for.

Each in a process of its own, as a user's program: a signal that comes late hits nobody else.
"""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.timing

PREPARE = """
import json, os, resource, signal, threading, time
import numpy as np
import jitterfly as jf
from jitterfly.simulate import noise_phases
from jitterfly import _core

HOCKNEY = jf.Hockney(alpha=1e-7, beta=1e-9, gamma=1e-10)
LOGGOPS = jf.LogGOPS(L=1e-6, o=1e-9, G=1e-9, gamma=1e-10)
PERIODIC = jf.PeriodicNoise(period=1e-3, duration=1e-5)
JITTER = jf.NetworkJitter(period=1e-3, duration=1e-5)
FULL = jf.Butterfly(copy_levels="all")
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the shell put us behind

def draw_for_ever():  # one call is too short to be stopped for sure
    while True:
        noise_phases(jf.Case(2**24, network=LOGGOPS, noise=[PERIODIC]))

def messages(ranks, kind, *partners):  # of one step, done very often
    step = [5, 0, 0, 0, 0, kind, *partners, 0, 10**8]
    costs = dict.fromkeys(("send", "receive", "transit", "combine", "work", "forward"), 0)
    program = _core.Program(log2_ranks=ranks.bit_length() - 1, ranks=ranks, rows=1, **costs,
                            steps=np.array([step], dtype=np.int32),
                            messages=np.array([[1, 1, 1, 9]], dtype=np.int64))
    program.add_periodic(10**9, 10**7, False)
    _core.simulate(program, 0, 0, 3)
"""

STOP = """
pressed = []

def press():
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

timer = threading.Timer(0.3, press)
timer.start()
try:
    {call}
    stopped = False
except KeyboardInterrupt:
    stopped = True
now = time.monotonic()
timer.cancel()
print(json.dumps([stopped, now - pressed[0] if pressed else None]))
"""

# Undisturbed they take from half a minute to many hours.
CALLS = {
    "many small realizations": "jf.simulate(jf.Case(2**10, "
    "algorithm=jf.Butterfly(exchanges_after=10), network=HOCKNEY, "
    "noise=[PERIODIC, JITTER]), 10**7, backend='cpu')",
    "a team on each realization": "jf.simulate(jf.Case(2**21, algorithm=FULL, network=LOGGOPS, "
    "noise=[PERIODIC], cycles=10), 10**4, backend='cpu')",
    "sparse copies": "jf.simulate(jf.Case(2**18, algorithm=jf.Butterfly(copy_levels=[2, 5]), "
    "network=LOGGOPS, noise=[PERIODIC]), 10**4, backend='cpu')",
    "one wide segment": "jf.simulate(jf.Case(2**20, algorithm=FULL, network=LOGGOPS, "
    "noise=[PERIODIC, JITTER], cycles=10), 1, backend='cpu')",
    "ready times": "jf.ready_times(jf.Case(2**20, algorithm=FULL, network=LOGGOPS, "
    "noise=[PERIODIC, JITTER], cycles=4))",
    "phases": "draw_for_ever()",
    "a ring": "messages(6000, 0, 1, 0, 0)",
    "a long ring": "messages(3_000_000, 0, 1, 0, 0)",
    "a few ranks": "messages(3, 0, 1, 0, 0)",
    "a tree": "messages(2**20, 2, 2**18, 2**20, 1)",
}


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c(call):
    """Within 5 s on a busy machine; a tenth of a second is usual."""
    stopped, seconds = run(STOP.replace("{call}", CALLS[call]))
    assert stopped
    assert seconds < 5


STUDY = """
import multiprocessing
from pathlib import Path
from jitterfly.studies.toml import parse_study
from jitterfly.sweep import run

TEXT = '''
name = "long"
realizations = { min = 10000000, max = 10000000 }
[case]
ranks = 1024
algorithm = { kind = "butterfly", exchanges_after = 10 }
network = { kind = "hockney", alpha = 1e-7, beta = 1e-9, gamma = 1e-10 }
noise = [{ kind = "periodic", period = 1e-3, duration = 1e-5 }]
'''
OUT = Path("{out}")
"""
STOP_STUDY = """
pressed = []

def press():
    while not list(OUT.glob("records/*")):
        time.sleep(0.01)
    time.sleep({later})
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
told = ""
try:
    run(parse_study(TEXT), OUT, backend="cpu", workers={workers})
except KeyboardInterrupt as stop:
    told = str(stop)
print(json.dumps([told, time.monotonic() - pressed[0], len(multiprocessing.active_children())]))
"""


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("later", [0.0, 0.7])
def test_ctrl_c_in_a_study(tmp_path, workers, later):
    """As prompt; it says what is kept, and leaves no worker behind."""
    stop = STOP_STUDY.replace("{workers}", repr(workers)).replace("{later}", str(later))
    told, seconds, left = run(STUDY.replace("{out}", str(tmp_path / "out")) + stop)
    assert told.startswith("0 of 1 cell is finished, and what was run of the others is kept in ")
    assert told.endswith("the same command goes on from there")
    assert seconds < 5
    assert left == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_threads_that_the_system_refuses():
    script = """
case = jf.Case(2**10, network=HOCKNEY, noise=[PERIODIC])
expected = jf.simulate(case, 2000, backend="cpu", threads=1).ticks
most = 0

def progress(done, total):
    global most
    most = max(most, len(os.listdir("/proc/self/task")))

pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 2**30  # each thread takes 8 MiB for its stack
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = jf.simulate(case, 2000, backend="cpu", threads=1024, progress=progress).ticks
long = jf.simulate(case, 10**5, backend="cpu", threads=1024, progress=progress)
print(json.dumps([bool(np.array_equal(found, expected)), most]))
"""
    same, threads = run(script)
    assert same
    assert 1 < threads < 1024


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory by RLIMIT_AS")
def test_memory_that_is_left_after_the_last_thread_does_not_matter():
    """Every remainder of the 8 MiB of a stack: with some, the C library ended the process."""
    script = """
case = jf.Case(2**10, network=HOCKNEY, noise=[PERIODIC])
expected = jf.simulate(case, 500, backend="cpu", threads=1).ticks
same = []
for left in range(0, 2**23, 2**16):
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + 2**27 + left
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    found = jf.simulate(case, 500, backend="cpu", threads=1024).ticks
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    same.append(bool(np.array_equal(found, expected)))
print(json.dumps([all(same), len(same)]))
"""
    same, runs = run(script)
    assert same
    assert runs == 128
