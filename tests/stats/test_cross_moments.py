"""Exact moments: integer sums and cross products, merging, overflow."""

import numpy as np
import pytest

from jitterfly.stats import CrossMoments, mean, mean_of, ratio, ratio_of

LEAST, MOST = -(2**63), 2**63 - 1


def exactly(values):
    x = values.astype(object)
    return len(x), x.sum(axis=0).tolist(), (x.T @ x).tolist()


def samples(count, columns, low, high, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(low, high, (count, columns), dtype=np.int64, endpoint=True)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 0),
        (-3, 5),
        (10**8, 10**8 + 2**20),
        (0, 2**20 - 1),
        (0, 2**20),
        (2**61, 2**62),
        (-(2**62), 2**62),
        (LEAST, MOST),
    ],
)
@pytest.mark.parametrize(("count", "columns"), [(1, 1), (7, 3), (4096, 2), (4097, 2), (9000, 1)])
def test_exact(count, columns, low, high):
    values = samples(count, columns, low, high)
    moments = CrossMoments.of(values)
    assert (moments.count, moments.sums.tolist(), moments.products.tolist()) == exactly(values)


def test_largest_limbs():
    # Every limb at its largest in a full block: the float64 sums reach their 53 bits.
    values = np.full((2 * 4096, 2), 2**40 - 1, dtype=np.int64)
    values[0] = 0
    moments = CrossMoments.of(values)
    assert (moments.count, moments.sums.tolist(), moments.products.tolist()) == exactly(values)


def test_ends_of_int64():
    values = np.array([[LEAST, MOST], [MOST, LEAST], [0, -1]], dtype=np.int64)
    moments = CrossMoments.of(values)
    assert (moments.count, moments.sums.tolist(), moments.products.tolist()) == exactly(values)


def test_columns_in_any_memory_order():
    values = samples(100, 4, 0, 10**9)
    found = CrossMoments.of(np.asfortranarray(values)[:, ::2])
    assert found == CrossMoments.of(values[:, ::2].copy())


def test_merged_in_any_order():
    values = samples(1000, 3, -(10**12), 10**12)
    parts = [CrossMoments.of(part) for part in np.split(values, [0, 1, 10, 500])]
    whole = CrossMoments.of(values)
    rng = np.random.default_rng(1)
    for _ in range(5):
        rng.shuffle(parts)
        assert sum(parts[1:], parts[0]) == whole


def test_some_columns():
    values = samples(50, 5, 0, 10**6)
    assert CrossMoments.of(values).take([3, 1]) == CrossMoments.of(values[:, [3, 1]])


@pytest.mark.parametrize("high", [5, MOST])
def test_bytes(high):
    moments = CrossMoments.of(samples(20, 3, -high, high))
    assert CrossMoments.from_bytes(moments.to_bytes()) == moments
    with pytest.raises(ValueError, match="not the bytes of a CrossMoments"):
        CrossMoments.from_bytes(moments.to_bytes()[:-24])


def test_moments_of_forms():
    values = samples(30, 3, -(10**9), 10**9).astype(object)
    x = 2 * values[:, 0] - values[:, 2] + 7
    y = values[:, 1] - 5
    moments = CrossMoments.of(values.astype(np.int64))
    found = moments.moments((2, 0, -1, 7), (0, 1, 0, -5))
    assert (found.count, found.x, found.y) == (30, x.sum(), y.sum())
    assert moments.total((2, 0, -1, 7)) == x.sum()
    assert (found.xx, found.yy, found.xy) == ((x * x).sum(), (y * y).sum(), (x * y).sum())
    large = CrossMoments.of(np.full((40, 1), 10**17))
    assert large.moments(np.array([3, 0])).x == 12 * 10**18  # of NumPy's integers, too


def test_intervals_are_those_of_the_samples():
    values = samples(200, 2, 10**6, 2 * 10**6)
    found = CrossMoments.of(values).moments((1, 0, 0), (0, 1, 0))
    for exact, plain in (
        (mean_of(found, 0.9, 10**6), mean(values[:, 0] / 1e6, 0.9)),
        (ratio_of(found, 0.99), ratio(values[:, 0], values[:, 1], 0.99)),
    ):
        for name in ("value", "low", "high", "confidence", "realizations"):
            assert getattr(exact, name) == pytest.approx(getattr(plain, name), rel=1e-12)


def test_small_spread_on_a_large_offset():
    # Sums of squares of floats would lose all digits of it.
    values = 2**61 + samples(1000, 1, 0, 2)
    estimate = mean_of(CrossMoments.of(values).moments((1, -(2**61))))
    plain = mean((values[:, 0] - 2**61).astype(float))
    assert (estimate.low, estimate.high) == pytest.approx((plain.low, plain.high), rel=1e-12)


def test_refused():
    with pytest.raises(ValueError, match="values must be int64 of shape"):
        CrossMoments.of(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="values must be int64 of shape"):
        CrossMoments.of(np.zeros(3, np.int64))
