"""Stores filled without the engine, with samples that follow from a realization's number."""

from __future__ import annotations

import io
import os

import numpy as np

from jitterfly.observables import Summary, Ticks
from jitterfly.stats.sequential import grid_up
from jitterfly.store import Store
from jitterfly.store.numbers import Numbers
from jitterfly.studies import parse_study

from .scale import at_most

STUDY = """
name = "small"
title = "A small study"
source = "Nobody 2024"
figure = "curves"
seed = 5
realizations = { min = 50, max = 200 }

[case]
algorithm = { kind = "butterfly", exchanges_after = 1 }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = "0.1ns" }
noise = [{ kind = "periodic", period = "100us" }]

[axes.ranks]
values = [4, 8]

[axes.duration]
path = "noise.0.duration"
values = ["1us", "10us"]

[observables.completion]
kind = "completion"
T = 0

[observables.gain]
kind = "gain"
of = { T = 1 }
over = { T = 0 }
"""
VARIANTS = """
[variants.plain]
[variants.slow]
"network.gamma" = "1ns"
"""
TWO = STUDY.replace("T = 0\n", 'T = 0\nvariant = "plain"\n', 1).replace(
    "of = { T = 1 }\nover = { T = 0 }",
    'of = { variant = "plain", T = 1 }\nover = { variant = "slow", T = 1 }',
) + VARIANTS  # fmt: skip

TARGETS = 'targets = ["mean of completion ± 3 %", "p50 of gain ± 5 %"]\n'
PRECISE = TARGETS + STUDY.replace("max = 200", "max = 20000")
FILLED = PRECISE.replace("max = 20000", f"max = {at_most(5000, 1500)}, raw_bytes = 8000")


def study(text=STUDY, old="", new="", **options):
    assert old in text
    return parse_study(text.replace(old, new, 1) if old else text, **options)


def ticks(cell, first, count):
    """Samples of a cell, such as a simulation would give: the same for every way to cut them."""
    rows = np.arange(first, first + count, dtype=np.uint64)[:, None]
    salt = np.array(
        [int(variant.hash, 16) for variant in cell.variants for _ in columns(cell, variant)]
    )
    salt = salt.astype(np.uint64) + np.uint64(2) * np.arange(len(salt), dtype=np.uint64)
    mixed = (rows + np.uint64(1)) * (salt | np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    values = 10**6 + (mixed % np.uint64(10**6)).astype(np.int64) ** 2 // 10**4
    return Ticks(cell.columns, values)


def columns(cell, variant):
    return [column for column in cell.columns if column.variant == variant.label]


def batches(cell, first, count, size):
    """As a driver cuts them: at `raw_limit`, and beyond it at the sizes of looks."""
    end = first + count
    while first < end:
        raw = first < cell.raw_limit
        stop = min(end, first + size, cell.raw_limit if raw else grid_up(first + 1))
        yield first, stop - first, raw
        first = stop


def put(store, cell, first, count, size=64):
    for start, some, raw in batches(cell, first, count, size):
        found = ticks(cell, start, some)
        summary = None if raw else Summary.of(found, store.study.measures(cell))
        store.append(cell, start, found if raw else None, summary, some)


def fill(store, cells=None, size=64):
    """Run every cell to its end."""
    for cell in cells or store.cells:
        while (following := store.decision(cell).next) is not None:
            for first, count in store.missing(cell, following):
                put(store, cell, first, count, size)
    store.note(backend="cpu")
    return store


def make(path, described=None, cells=None, size=64):
    """A finished store of these cells, by index."""
    with Store.create(path, described or study()) as store:
        chosen = [store.cells[i] for i in cells] if cells is not None else None
        return fill(store, chosen, size)


def make_slowly(path, text, told):
    """`make` in many small records, as a process whose errors are written to the file `told`."""
    errors = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(errors, 2)
    make(path, study(text), size=20)


def numbers(store):
    """Everything that can be asked of a store, exactly."""
    found = {}
    for cell in store.cells:
        decision = store.decision(cell)
        found[cell.name] = repr(decision)
        for name in store.families(cell):
            for statistic in ("mean", "p50", "p99", "min", "max"):
                found[cell.name, name, statistic] = repr(store.estimate(cell, name, statistic))
    return found


def content(path):
    """Every file below a directory."""
    return {
        file.relative_to(path): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def to_csv(store):
    """All numbers of a store as `export` writes them."""
    file = io.StringIO()
    Numbers.of(store).write_csv(file)
    return file.getvalue()
