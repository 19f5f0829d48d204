"""Small studies for each kind of figure, and what runs and draws them."""

import importlib

from jitterfly.plots import draw
from jitterfly.results import Results
from jitterfly.store import Store
from jitterfly.studies import parse_study
from jitterfly.sweep import run
from support.small_study import OBSERVABLES


def make(text, path, **options):
    """The results of a study in TOML, which is run into a directory."""
    run(parse_study(text), path, **options)
    return Results(Store.open(path))


def drawn(results, kind, observable=None):
    """Its figure of a kind, of matplotlib."""
    with draw.drawing():
        module = importlib.import_module(draw.module_of(kind))
        figure = getattr(module, f"draw_{kind}")(results, observable)
        figure.draw_without_rendering()
    return figure


READINGS = """[axes.reading.points.one]
[axes.reading.points.two]
"noise.0.duration" = "10us"
"""
MS12 = (
    """
name = "ms12"
title = "after"
figure = "slowdown"
realizations = { max = 60 }
[case]
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", alpha = "1us", beta = 0, gamma = "1ns" }
noise = [{ kind = "periodic", period = "100us", duration = "30us" }]
"""
    + READINGS
    + """[axes.ranks]
log2 = [1, 8]
"""
    + OBSERVABLES
)
ONE_PANEL = MS12.replace(READINGS, "")

MAPS = (
    """
name = "maps"
targets = ["mean of gain ± 30 %"]
realizations = { min = 20, max = 60 }
[case]
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", alpha = "1us", beta = "1ns", gamma = "1ns" }
noise = [{ kind = "periodic", period = "100us" }]
[axes.duration]
derived = "D / P"
by = "noise.0.duration"
values = [0.01, 0.1, 0.3]
[axes.ranks]
log2 = [1, 6]
"""
    + OBSERVABLES
)

CS14 = """
name = "cs14"
title = "within"
figure = "overhead"
realizations = { max = 60 }
[case]
cycles = 4
network = { kind = "loggops", L = "1us", o = "10ns" }
algorithm = { kind = "butterfly" }
noise = [{ kind = "periodic", period = "100us", duration = "30us", start = "stationary" }]
[axes.ranks]
log2 = [1, 6]
[variants.noiseless]
"noise.0.during" = "compute"
[variants.conventional]
[variants.redundant]
"algorithm.copy_levels" = "all"
[observables]
overhead = { kind = "overhead", variant = "conventional", over = "noiseless" }
overhead_redundant = { kind = "overhead", variant = "redundant", over = "noiseless" }
recovery = { kind = "recovery" }
"""

CYCLES = CS14.replace('"overhead"\nrea', '"cycles"\nrea').replace(
    'over = "noiseless" }', 'over = "noiseless", cycle = "each" }'
).replace('{ kind = "recovery" }', '{ kind = "recovery", cycle = "each" }')  # fmt: skip
