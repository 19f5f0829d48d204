"""Made-up measurements: traces and histograms."""

import numpy as np

from jitterfly.measured import Detours, Histogram


def trace(count, seconds=10.0, cpu="", seed=1):
    """Ticks, and rare long ones."""
    random = np.random.default_rng(seed)
    starts = np.unique((np.linspace(0, seconds * 0.999, count) * 1e12).astype(np.int64))
    gaps = np.diff(np.append(starts, int(seconds * 1e12)))
    durations = (random.pareto(1.5, len(starts)) * 1e6).astype(np.int64) + 10**5
    return Detours(starts, np.minimum(durations, gaps), int(seconds * 1e12), 10**5, cpu=cpu)


def histogram(cpu="", low=0, counts=(5, 100, 30, 0, 1), overflow=0, what="detour"):
    edges = np.arange(low, low + len(counts) + 1) * 10**6
    return Histogram(edges[:-1], edges[1:], np.array(counts), what, None, cpu, overflow)
