"""Mergeable histogram: relative error, merging, order statistics."""

import numpy as np
import pytest

from jitterfly.stats import Histogram

EDGES = [0, 1, 1023, 1024, 2047, 2048, 2049, 4095, 4096, 2**53 - 1, 2**53, 2**53 + 1]
EDGES += [2**54 - 1, 2**62 - 1, 2**62, 2**63 - 1]


def array(*values):
    return np.array(values, dtype=np.int64)


def spread(count, seed=0):
    """Of every size, with both signs."""
    rng = np.random.default_rng(seed)
    size = rng.integers(0, 2**62, count) >> rng.integers(0, 62, count)
    return np.where(rng.random(count) < 0.5, -size, size).astype(np.int64)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("value", EDGES)
def test_bucket_of_one(value, sign):
    value *= sign
    # Two other samples, so that neither min nor max tell it.
    found = Histogram.of(array(-(2**63), value, 2**63 - 1)).order_statistic(2)
    assert found.low <= value <= found.high
    assert abs(found.middle - value) <= Histogram.RELATIVE_ERROR * abs(value)
    if abs(value) < 2**11:
        assert found == (value, value, value)


def test_relative_error():
    values = spread(20_000)
    histogram = Histogram.of(values)
    ordered = np.sort(values)
    for rank in range(1, len(values) + 1, 97):
        low, middle, high = histogram.order_statistic(rank)
        true = int(ordered[rank - 1])
        assert low <= true <= high
        assert abs(middle - true) <= Histogram.RELATIVE_ERROR * abs(true)
    assert Histogram.RELATIVE_ERROR < 0.001


def test_buckets_ascend():
    values = np.sort(spread(5000))
    one_each = [int(Histogram.of(array(value)).buckets[0]) for value in values]
    assert one_each == sorted(one_each)


def test_ends_are_exact():
    histogram = Histogram.of(array(123_456_789, 987_654_321, 555_555_555))
    assert histogram.order_statistic(1) == (123_456_789,) * 3
    assert histogram.order_statistic(3) == (987_654_321,) * 3
    assert (histogram.min, histogram.max, histogram.count) == (123_456_789, 987_654_321, 3)


def test_merged_in_any_order():
    values = spread(3000)
    parts = [Histogram.of(part) for part in np.split(values, [0, 1, 100, 2000])]
    rng = np.random.default_rng(1)
    for _ in range(5):
        rng.shuffle(parts)
        assert sum(parts[1:], parts[0]) == Histogram.of(values)


def test_bytes():
    for values in (array(), array(7), spread(1000)):
        histogram = Histogram.of(values)
        assert Histogram.from_bytes(histogram.to_bytes()) == histogram
    with pytest.raises(ValueError, match="not the bytes of a Histogram"):
        Histogram.from_bytes(histogram.to_bytes()[:-1])


def test_middles():
    values = spread(1000)
    histogram = Histogram.of(values)
    about = np.repeat(histogram.middles(), histogram.counts)
    assert np.all(abs(about - np.sort(values)) <= Histogram.RELATIVE_ERROR * abs(np.sort(values)))


def test_refused():
    with pytest.raises(ValueError, match="rank must be an integer from 1 to 2, got 3"):
        Histogram.of(array(1, 2)).order_statistic(3)
    with pytest.raises(ValueError, match="values must be int64"):
        Histogram.of(np.zeros(3))
