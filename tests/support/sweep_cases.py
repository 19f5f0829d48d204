"""Studies and misbehaving workers (which die or refuse) for tests of sweeps."""

import gc
import io
import os
import signal
import struct
import sys
import threading
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from jitterfly import files
from jitterfly.executors import Pool
from jitterfly.store import Store, export, records
from jitterfly.studies import parse_study
from jitterfly.sweep import run
from jitterfly.sweep.driver import run_batch

from . import scale

# Two variants on the same noise; some cells meet the target early, some never; few realizations
# fit into raw_bytes, so that the others are kept as summaries.
PRECISE = """
name = "sweep"
title = "A study of sweeps"
seed = 7
targets = ["mean of gain ± 2 % at 95 %", "p95 of redundant ± 3 %"]
realizations = { min = 64, max = 2500, raw_bytes = 16384 }

[case]
algorithm = { kind = "butterfly" }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = 1e-9 }
noise = [{ kind = "periodic", period = "10us", start = "stationary" }]

[axes.ranks]
values = [2, 64]

[axes.duration]
path = "noise.0.duration"
values = ["100ns", "2us"]

[variants.conventional]

[variants.redundant]
"algorithm.exchanges_after" = 1

[observables.redundant]
kind = "completion"
variant = "redundant"
T = 1

[observables.gain]
kind = "gain"
of = { variant = "redundant", T = "best" }
over = { variant = "conventional" }
"""


def changed(text, *changes):
    """A study with each old part of its text replaced by a new one."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


LESS = ("± 2 %", "± 4 %"), ("± 3 %", "± 6 %")
# Beyond what is kept raw there are many short records, which take most of the time.
STUDY = PRECISE if scale.FULL else changed(PRECISE, *LESS, ("max = 2500", "max = 1000"))

PLAIN = """
name = "plain"
title = "A study without targets"
seed = 3
realizations = { max = 3000 }

[case]
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = 1e-9 }
noise = [{ kind = "periodic", period = "100us", duration = "10us" }]

[axes.ranks]
values = [2, 8, 32, 64]
"""


def contents(path):
    """All that a store says: samples, sums, histograms, decisions, and the table of statistics."""
    store = Store.open(path)
    found = {}
    for cell in store.cells:
        decision = store.decision(cell)
        assert decision.next is None, f"{cell.name} is not finished"
        count = decision.realizations
        data = store.data(cell, count)
        raw = store.ticks(cell, min(count, cell.raw_limit)).values
        sums = data.cross_moments().to_bytes()
        measures = store.study.measures(cell)
        shapes = [data.histogram(m).to_bytes() for m in measures if m.distribution]
        found[cell.name] = (raw.tobytes(), sums, shapes, repr(decision))
    export(store, path / "summary.csv")
    found["table"] = (path / "summary.csv").read_text()
    return found


def samples(path):
    """Samples of a finished store by name of the cell, as far as they are kept raw."""
    store = Store.open(path)
    return {
        cell.name: store.ticks(cell, min(store.available(cell), cell.raw_limit)).values
        for cell in store.cells
    }


def check_prefix(path, whole):
    """Raise where a store that was stopped holds something else than the finished one."""
    store = Store.open(path)
    for cell in store.cells:
        count = min(store.available(cell), len(whole[cell.name]))
        if count:
            ours = store.ticks(cell, count).values
            np.testing.assert_array_equal(ours, whole[cell.name][:count])


def study(text=STUDY):
    return parse_study(text)


def run_up_to_line(number, text, out, most):
    """Run a study, and kill this process before it takes so many new lines of jitterfly.files.

    A line is new twice: a file is made, and extended.
    """
    records.MAX_OWN_FILES = most
    taken = Counter()

    def trace(frame, event, _):
        if frame.f_code.co_filename != files.__file__:
            return None
        line = frame.f_code, frame.f_lineno
        if event == "line":
            taken[line] += 1
            if sum(min(times, 2) for times in taken.values()) > number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    run(parse_study(text), out, stream=io.StringIO(), batch_seconds=1e-3)


def die_at_eight(batch):
    """A worker that never survives the cell with 8 ranks."""
    batch = batch.unpack()
    if "ranks=8" in batch.cell.name:
        os.kill(os.getpid(), signal.SIGKILL)
    return run_batch(batch)


def die_once(batch):
    """A worker that is killed once in each cell, soon after its beginning."""
    batch = batch.unpack()
    mark = Path(os.environ["JITTERFLY_TEST_MARKS"]) / str(batch.cell.index)
    if batch.first > 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return run_batch(batch)


def refuse_eight(batch):
    """A worker that fails in the cell with 8 ranks."""
    batch = batch.unpack()
    if "ranks=8" in batch.cell.name:
        raise ValueError("no luck")
    return run_batch(batch)


def die_while_answering():
    """A worker that is killed when a part of its answer is on its way."""
    pipe = next(o for o in gc.get_objects() if isinstance(o, Connection) and not o.closed)
    os.write(pipe.fileno(), struct.pack("!i", 1000) + b"some of it")
    os.kill(os.getpid(), signal.SIGKILL)


def nothing(_):
    """The preparation of workers that need none."""


class Other(Pool):
    """A pool that calls something else in place of `run_batch`."""

    def __init__(self, number, function):
        super().__init__(nothing, range(number))
        self.function = function

    def submit(self, fn, /, *args, **kwargs):
        return super().submit(self.function, *args, **kwargs)
