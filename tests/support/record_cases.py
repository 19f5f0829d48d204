"""Record files whose samples follow from the number of a realization."""

from itertools import pairwise

import numpy as np

from jitterfly.store.records import RAW, Identity, RecordSeries

COLUMNS = ("T=0", "T=1", "T=2")

IDENTITY = Identity(RAW, "0123456789abcdef", 5, 1, COLUMNS)


def samples(first, end):
    """What realizations `first` ... `end` - 1 are, whoever makes them."""
    rows = np.arange(first, end, dtype=np.int64)[:, None]
    return rows * 1_000_003 % 7919 + np.array([10**9, 10**12, -5])


def fresh(path):
    return RecordSeries(path, IDENTITY)


def fill(path, cuts):
    file = fresh(path)
    for first, end in pairwise(cuts):
        file.append_samples(first, samples(first, end))
    return file
