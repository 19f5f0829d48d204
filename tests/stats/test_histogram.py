"""Mergeable histogram: resolution of the spread, relative error, merging, order statistics."""

from collections import Counter

import numpy as np
import pytest
from support.instruction_sets import AVAILABLE

from jitterfly import _core as core
from jitterfly.stats import CrossMoments, Histogram, ThirdMoments

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
    starts = Histogram.of(values).starts
    assert (np.diff(starts) > 0).all()
    assert np.isin(values[[0, -1]], starts[[0, -1]]).all()


def test_ends_are_exact():
    histogram = Histogram.of(array(123_456_789, 987_654_321, 555_555_555))
    assert histogram.order_statistic(1) == (123_456_789,) * 3
    assert histogram.order_statistic(3) == (987_654_321,) * 3
    assert (histogram.min, histogram.max, histogram.count) == (123_456_789, 987_654_321, 3)


FAR = 4 * 10**12  # 4 s in ticks, of which a bucket of 0.1 was 2 ms wide


def shapes(count=40_000):
    """Samples far from 0, close together; by name."""
    rng = np.random.default_rng(2)
    drawn = {
        "normal": FAR + rng.normal(0, 10**8, count),
        "at an edge": 2**42 + rng.normal(0, 10**6, count),
        "tiny": FAR + rng.normal(0, 1000.0, count),
        "long tail": FAR + rng.exponential(10**8, count) ** 1.3,
        "rare": FAR + rng.normal(0, 10**6, count) + (rng.random(count) < 1e-3) * 10**10,
        "two points": FAR + (rng.random(count) < 0.02) * 10**9,
        "below 0": -FAR + rng.normal(0, 10**8, count),
    }
    return {name: np.rint(values).astype(np.int64) for name, values in drawn.items()}


@pytest.mark.parametrize("name", shapes(1))
def test_the_spread_is_resolved(name):
    values = shapes()[name]
    histogram = Histogram.of(values)
    ordered = np.sort(values)
    fine = values.std() / 200
    for rank in np.linspace(1, len(values), 401).astype(int).tolist():
        low, middle, high = histogram.order_statistic(rank)
        assert low <= ordered[rank - 1] <= high
        assert abs(middle - ordered[rank - 1]) <= fine
        assert high - low <= 2 * fine


def test_few_different_values_are_exact():
    values = np.random.default_rng(3).choice(spread(8000), 100_000)
    histogram = Histogram.of(values)
    assert np.array_equal(histogram.middles(), np.unique(values).astype(float))
    assert histogram.order_statistic(70_000).middle == np.sort(values)[69_999]


@pytest.mark.parametrize("name", ["of every size", *shapes(1)])
def test_merged_in_any_order(name):
    values = shapes().get(name, spread(30_000))
    cuts = [0, 1, 100, 2000, 2001, 25_000]
    parts = [Histogram.of(part) for part in np.split(values, cuts)]
    rng = np.random.default_rng(1)
    for _ in range(5):
        rng.shuffle(parts)
        assert sum(parts[1:], parts[0]) == Histogram.of(values)


def test_bytes():
    for values in (array(), array(7), array(-(2**63), 2**63 - 1), spread(1000), *shapes().values()):
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


def counted_one_by_one(values):
    """Level, starts and counts, by the rule alone."""
    for level in range(54):
        starts = Counter()
        for value in values.tolist():
            shift = min(max(abs(value).bit_length() - 11, 0), level)
            size = abs(value) >> shift << shift
            starts[size if value >= 0 else -size] += 1
        if len(starts) <= 2**13:
            break
    return level, sorted(starts), [starts[start] for start in sorted(starts)]


@pytest.mark.parametrize("count", [1, 2**13, 2**13 + 1, 60_000])
@pytest.mark.parametrize("shape", ["every size", "one size", "few", "tail"])
def test_buckets_are_those_of_the_rule(shape, count):
    rng = np.random.default_rng(count)
    values = {
        "every size": lambda: spread(count),
        "one size": lambda: 10**9 + np.arange(count) * 3,
        "few": lambda: rng.integers(-5, 5, count) * 10**15,
        "tail": lambda: np.rint(rng.lognormal(20, 3, count)).astype(np.int64),
    }[shape]().astype(np.int64)
    whole = Histogram.of(values)
    expected = counted_one_by_one(values)
    assert (whole.level, whole.starts.tolist(), whole.counts.tolist()) == expected
    parts = [Histogram.of(part) for part in np.split(values, [count // 7, count // 2])]
    assert parts[2] + (parts[0] + parts[1]) == whole


def test_more_samples_than_one_table_takes():
    values = shapes(60_000)["long tail"]
    one, many = Histogram.of(values), Histogram.of(np.tile(values, 71))
    assert (many.level, many.starts.tolist()) == (one.level, one.starts.tolist())
    assert many.counts.tolist() == (71 * one.counts).tolist()


@pytest.mark.parametrize("shares", [(0.9,), (0.3, 0.25, 0.2), (0.2,) * 5, (0.5, 0.5)])
@pytest.mark.parametrize("count", [300, 600, 30_000])
def test_many_alike(shares, count):
    values = shapes(count)["long tail"]
    rng = np.random.default_rng(len(shares))
    atoms = np.array([values.min() - 3, values.max() + 5, *(FAR + 10**7 * np.arange(1, 4))])
    drawn = rng.choice(len(shares) + 1, count, p=[*shares, max(1 - sum(shares), 0.0)])
    values = np.where(drawn < len(shares), atoms[np.minimum(drawn, len(shares) - 1)], values)
    expected = counted_one_by_one(values)
    for order in (values, np.sort(values), np.sort(values)[::-1].copy()):
        found = Histogram.of(order)
        assert (found.level, found.starts.tolist(), found.counts.tolist()) == expected
        assert (found.min, found.max) == (values.min(), values.max())


@pytest.mark.parametrize("isa", AVAILABLE)
def test_the_same_buckets_on_every_instruction_set(isa, monkeypatch):
    edges = np.array([sign * edge for sign in (1, -1) for edge in EDGES])
    edges = np.concatenate([edges, [-(2**63)], np.arange(9000)])
    for values in (edges, spread(20_000), *shapes().values()):
        found = []
        for name in ("plain", isa):
            monkeypatch.setenv("JITTERFLY_ISA", name)
            found.append(Histogram.of(values))
        assert found[0] == found[1]


@pytest.mark.parametrize("isa", AVAILABLE)
def test_the_same_sums_on_every_instruction_set(isa, monkeypatch):
    rng = np.random.default_rng(1)
    values = (rng.integers(0, 2**62, (1000, 3)) >> np.array([33, 34, 20])).astype(np.int64)
    narrow = values >> np.array([5, 4, 18])
    found = []
    for name in ("plain", isa):
        monkeypatch.setenv("JITTERFLY_ISA", name)
        found.append([CrossMoments.of(values), CrossMoments.of(narrow, [2, 0]),
                      ThirdMoments.of(values[:, 0].copy(), narrow[:, 2].copy()),
                      ThirdMoments.of(*(narrow[:, [0, 2]] >> 1).T.copy())])  # fmt: skip
    assert found[0] == found[1]


@pytest.mark.parametrize("isa", AVAILABLE)
def test_quotients_on_every_instruction_set(isa, monkeypatch):
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    rng = np.random.default_rng(2)
    x, y = rng.integers(-(2**40), 2**40, (2, 1000))
    x[:6], y[:6] = [0, 5, -5, 0, 2**62, 1], [0, 0, 0, 7, 1, 2**62]
    most = 2.0**63 - 1024
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.rint(x / y * 2.0**30).clip(-most, most)
    expected[0] = 2.0**30  # 0 / 0 is 1
    assert np.array_equal(core.quotients(x, y, 2.0**30), expected.astype(np.int64))


@pytest.mark.parametrize("isa", AVAILABLE)
def test_wins_on_every_instruction_set(isa, monkeypatch):
    monkeypatch.setenv("JITTERFLY_ISA", isa)
    x, y = np.random.default_rng(3).integers(-2, 3, (2, 1001)) << 61
    expected = tuple(int(np.count_nonzero(one)) for one in (x < y, x == y, x > y))
    assert core.count_wins(x, y) == expected
    with pytest.raises(ValueError, match="same size"):
        core.count_wins(x, y[1:])


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8"])
def test_packed_by_columns(kind):
    values = np.random.default_rng(4).integers(0, 200, (1000, 3)) - 2**40
    packed = np.empty((1000, 3), kind, order="F")
    base = values.min(axis=0)
    core.pack_offsets(values, base, packed)
    assert np.array_equal(packed + base if kind != "u8" else packed.astype(np.int64) + base, values)


def test_what_is_written_into_is_not_converted():
    values, out = np.arange(6).reshape(3, 2), np.zeros(3, np.int32)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        core.linear_form(values, [0], [1], 0, out)
    shifted = np.zeros(3 * 16 + 1, np.uint8)[1:].view(np.int64).reshape(3, 2)
    with pytest.raises(ValueError, match="aligned"):
        core.column_ends(shifted)
    for other in (np.float64, np.int32, np.uint64):
        with pytest.raises(ValueError, match="int64, or offsets"):
            core.linear_form(values.astype(other), [0], [1], 0, np.zeros(3, np.int64))
