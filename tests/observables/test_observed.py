"""Statistics of observables, from raw samples and from summaries, against NumPy; targets."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from jitterfly import _core as core
from jitterfly import stats
from jitterfly.observables import (
    MAX_COLUMNS,
    STATISTICS,
    CellData,
    Column,
    LinearForm,
    Measure,
    MeasureFamily,
    Observed,
    Summary,
    Target,
    Ticks,
    decide,
)
from jitterfly.observables.summary import SampleStatistics
from jitterfly.stats import CrossMoments

COLUMNS = tuple(Column("", f"T={T}") for T in range(4))
SECOND = 10**12


def completion(T):
    return Measure(f"completion, T={T}", LinearForm.of(COLUMNS[T]), SECOND, "s")


def gain(T):
    return Measure(f"gain, T={T}", LinearForm.of(COLUMNS[0]), LinearForm.of(COLUMNS[T]))


COMPLETION = MeasureFamily("completion", "s", (completion(0),))
SLOWDOWN = MeasureFamily("slowdown", "", (Measure("slowdown", LinearForm.of(COLUMNS[0]), 10**7),))
BEST = MeasureFamily(
    "best", "s", tuple(completion(T) for T in (1, 2, 3)), (1, 2, 3), "smallest numerator"
)
GAIN = MeasureFamily(
    "gain", "", tuple(gain(T) for T in (1, 2, 3)), (1, 2, 3), "smallest denominator"
)
OPTIMAL = MeasureFamily("optimal T", "", BEST.members, (1, 2, 3), "set")
RECOVERY = MeasureFamily(
    "recovery",
    "",
    (
        Measure(
            "recovery",
            LinearForm.of(COLUMNS[0]) - LinearForm.of(COLUMNS[2]),
            LinearForm.of(COLUMNS[0]) - 10**7,
            distribution=False,
        ),
    ),
)
FAMILIES = (COMPLETION, SLOWDOWN, BEST, GAIN, OPTIMAL, RECOVERY)
MEASURES = [measure for family in FAMILIES for measure in family.members]


def ticks(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.exponential(3e6, count)[:, None] * [1.0, 0.6, 0.4, 0.4]
    return Ticks(COLUMNS, 10**7 + np.rint(base + rng.exponential(1e5, (count, 4))).astype(np.int64))


RAW = ticks()


def raw(family, count=None):
    return Observed(family, CellData(RAW.first(count or len(RAW))))


def test_mean_and_quantiles_of_raw_samples():
    seconds = RAW.values[:, 0] / SECOND
    observed = raw(COMPLETION)
    assert observed.exact
    assert observed.T is None
    assert np.array_equal(observed.samples, seconds)
    for found, expected in (
        (observed.mean(0.9), stats.mean(seconds, 0.9)),
        (observed.quantile(0.95, 0.99), stats.quantile(seconds, 0.95, 0.99)),
    ):
        ends = [found.value, found.low, found.high]
        assert ends == pytest.approx([expected.value, expected.low, expected.high], rel=1e-12)
    assert observed.standard_error() == pytest.approx(stats.standard_error(seconds))
    assert (observed.minimum(), observed.maximum()) == (seconds.min(), seconds.max())


def test_gain_of_the_best():
    observed = raw(GAIN)
    best = int(RAW.values[:, 1:].mean(axis=0).argmin()) + 1
    assert best == observed.T
    top, bottom = RAW.values[:, 0], RAW.values[:, best]
    expected = stats.ratio(top, bottom)
    found = observed.mean()
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), rel=1e-12
    )
    # To first order, as Fieller's interval for a large sample.
    assert observed.standard_error() == pytest.approx((found.high - found.low) / 3.92, rel=0.01)
    assert observed.quantile(0.5).value == np.quantile(top / bottom, 0.5, method="inverted_cdf")
    wins = observed.win_probability()
    assert wins.value == pytest.approx(np.mean((top > bottom) + (top == bottom) / 2))


def test_optimal_t():
    observed = raw(OPTIMAL)
    # T = 2 and 3 have the same mean: neither is told from the other.
    assert observed.confidence_set() == (2, 3)
    estimate = observed.mean()
    assert (estimate.value, estimate.low, estimate.high) == (2, 2, 3)
    assert stats.fewest_exchanges(RAW.values).T == 2
    for name in STATISTICS[1:]:
        assert math.isnan(observed.statistic(name).value)
    assert observed.samples is None


def test_recovery_has_a_mean_only():
    observed = raw(RECOVERY)
    conventional, redundant = RAW.values[:, 0], RAW.values[:, 2]
    expected = stats.recovery(conventional, redundant, 1e7)
    found = observed.mean()
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), rel=1e-12
    )
    for name in ("p50", "min", "max", "win probability"):
        assert math.isnan(observed.statistic(name).value)


@pytest.mark.parametrize("prefix", [0, 1, 1000, 2999])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_summaries_say_the_same(family, prefix):
    parts = [
        Summary.of(Ticks(COLUMNS, part), MEASURES)
        for part in np.split(RAW.values[prefix:], [500]) if len(part)
    ]  # fmt: skip
    rest = parts[-1]
    for part in parts[:-1]:
        rest = rest + Summary.from_bytes(part.to_bytes())
    whole, mixed = raw(family), Observed(family, CellData(RAW.first(prefix), rest))
    assert not mixed.exact
    assert (mixed.realizations, mixed.T) == (whole.realizations, whole.T)
    for name in ("mean", "standard error"):  # the integers are the same, so are the floats
        ends = [(e.value, e.low, e.high) for e in (whole.statistic(name), mixed.statistic(name))]
        np.testing.assert_array_equal(*ends)
    for name in ("min", "p5", "p50", "p99", "p99.9", "max"):
        exact, about = whole.statistic(name), mixed.statistic(name)
        np.testing.assert_allclose(about.value, exact.value, rtol=0.0005)
        if math.isfinite(exact.low):  # outer edges: never narrower
            assert about.low <= exact.low
            assert about.low == pytest.approx(exact.low, rel=0.001)
        if math.isfinite(exact.high):
            assert about.high >= exact.high
            assert about.high == pytest.approx(exact.high, rel=0.001)
    assert str(whole.win_probability()) == str(mixed.win_probability())


FAR = 4 * 10**12  # 200 cycles of 20 ms, in ticks: all samples of a cell are nearly the same


def far_from_0(shape, count, seed=0):
    """Two correlated columns of samples, far from 0 and close together, and two without noise."""
    rng = np.random.default_rng([seed, *shape.encode()])
    edge = 2**42 - FAR

    def drawn():
        match shape:
            case "normal":
                return rng.normal(0, 10**8, count)
            case "at an edge":
                return edge + rng.normal(0, 10**6, count)
            case "long tail":
                return 10**8 * rng.exponential(1.0, count) ** 2
            case "two points":
                return 10**9 * (rng.random(count) < 0.002)
            case "rare":
                return rng.normal(0, 10**6, count) + 10**9 * (rng.random(count) < 0.001)
            case "rare at an edge":
                return edge + rng.normal(0, 10**6, count) + 10**9 * (rng.random(count) < 0.01)
            case _:  # tiny
                return rng.normal(0, 1000, count)

    both = drawn()
    noise = [both, both / 2 + drawn() / 2, np.zeros(count), np.zeros(count)]
    return FAR + np.rint(np.stack(noise, axis=1)).astype(np.int64)


FAR_SHAPES = ["normal", "at an edge", "long tail", "two points", "rare", "rare at an edge", "tiny"]


def kept_of(values, kept):
    """Data of a cell, of which so many realizations are kept as samples, and cut at 5000."""
    parts = [Summary.of(Ticks(COLUMNS, part), MEASURES) for part in np.split(values[kept:], [5000])]
    return CellData(Ticks(COLUMNS, values[:kept]) if kept else None, parts[0] + parts[1])


@pytest.mark.parametrize("kept", [0, 2000])
@pytest.mark.parametrize("shape", FAR_SHAPES)
def test_intervals_beyond_what_is_kept_are_those_of_the_samples(shape, kept):
    values = far_from_0(shape, 12_000)
    whole, about = CellData(Ticks(COLUMNS, values)), kept_of(values, kept)
    for family in (COMPLETION, SLOWDOWN, GAIN, RECOVERY):
        exact, found = Observed(family, whole), Observed(family, about)
        assert found.events == pytest.approx(exact.events, rel=0.02)
        ours, theirs = found.mean(), exact.mean()
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
        assert ours.high - ours.low == pytest.approx(theirs.high - theirs.low, rel=0.05)
    seconds = values[:, 0] / SECOND
    exact, found = Observed(COMPLETION, whole), Observed(COMPLETION, about)
    for name in ("min", "p5", "p50", "p99", "p99.9", "p99.99", "max"):
        ours, theirs = found.statistic(name), exact.statistic(name)
        assert abs(ours.value - theirs.value) <= seconds.std() / 200
        if math.isfinite(theirs.low):
            assert 0 <= theirs.low - ours.low <= seconds.std() / 100
        if math.isfinite(theirs.high):
            assert 0 <= ours.high - theirs.high <= seconds.std() / 100


@pytest.mark.parametrize("shape", FAR_SHAPES)
def test_a_cell_stops_where_it_does_with_all_samples(shape):
    """However few realizations are kept as samples: a target is met at the same look."""
    values = far_from_0(shape, 100_000)
    target = Target.parse(f"mean of completion ± {values[:, 0].std() / 120:.0f}ps")

    def stop(kept):
        def data_at(count):
            if count <= kept:
                return CellData(Ticks(COLUMNS, values[:count]))
            return kept_of(values[:count], kept)

        found = decide([target], {"completion": COMPLETION}, data_at, 100_000, 1000, 100_000)
        (state,) = found.states
        return found.met, found.realizations, state.error

    met, realizations, error = stop(100_000)
    assert met
    assert realizations > 12_000
    assert stop(2000) == (True, realizations, pytest.approx(error, rel=1e-6))
    assert stop(0) == stop(2000)


@pytest.mark.parametrize("kept", [0, 200])
def test_few_rare_events_beyond_what_is_kept_are_covered(kept):
    """A bulk of small spread at the edge of a bucket of 0.1, and about four rare events beside it.

    A correct program fails for one seed in a thousand; Student's interval covers 91 %.
    """
    studies, count, chance = 800, 500, 0.008
    truth = (2**42 + chance * 10**9) / SECOND
    measure = COMPLETION.members[0]
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(studies):
        column = 2**42 + rng.normal(0, 10**6, count) + 10**9 * (rng.random(count) < chance)
        values = np.rint(column).astype(np.int64)[:, None]
        rest = Summary.of(Ticks(COLUMNS[:1], values[kept:]), [measure])
        raw_part = Ticks(COLUMNS[:1], values[:kept]) if kept else None
        found = Observed(COMPLETION, CellData(raw_part, rest)).mean()
        hits += found.low <= truth <= found.high
    assert hits >= scipy.stats.binom(studies, 0.95).ppf(1e-3)


def test_summaries_merge_in_any_order():
    parts = [
        Summary.of(Ticks(COLUMNS, part), MEASURES) for part in np.split(RAW.values, [10, 1000])
    ]
    one = (parts[0] + parts[1]) + parts[2]
    assert one == parts[2] + (parts[1] + parts[0])
    assert one == Summary.of(RAW, MEASURES)
    with pytest.raises(ValueError, match="other columns or measures"):
        one + Summary.of(RAW, MEASURES[:1])


@pytest.mark.parametrize("differs", [None, 0, 299, 2999])
def test_what_is_made_once_of_columns_that_are_alike(differs):
    values = np.repeat(np.random.default_rng(5).integers(10**9, 2 * 10**9, (3000, 1)), 4, axis=1)
    values[:, 3] += 1
    if differs is not None:
        values[differs, 1] += 1
    ticks = Ticks(COLUMNS, values)
    alike = ticks.by_columns().first_alike()
    first = [0, 0, 0, 3] if differs is None else [0, 1, 2, 3]
    assert [COLUMNS.index(alike[column]) for column in COLUMNS] == first
    found, each = Summary.of(ticks, MEASURES), SampleStatistics(ticks.linear_form)
    assert found.cross_moments == CrossMoments.of(values)
    for measure in MEASURES:
        assert found.third_moments[measure.key] == each.third_moments(measure)
        if measure.distribution:
            assert found.histograms[measure.key] == each.histogram(measure)
        if measure.distribution and measure.is_ratio:
            assert found.win_counts[measure.key] == each.win_counts(measure)
    read = Summary.from_bytes(found.to_bytes())
    assert read == found
    twice = (read + read).histograms
    assert all(twice[key] == one + one for key, one in found.histograms.items())
    if differs is None:
        contents = {one.to_bytes() for one in twice.values()}
        assert len({id(one) for one in twice.values()}) == len(contents) < len(twice)


def test_of_many_columns_those_are_summed_that_are_read():
    """Moments take time by the square. What an earlier version wrote, of all of them, is added."""
    columns = tuple(Column("", f"cycle {i}") for i in range(MAX_COLUMNS + 1))
    read = columns[7], columns[-1]
    measure = Measure("time", LinearForm.of(read[1]) - LinearForm.of(read[0]), 5 * 10**12)
    values = np.random.default_rng(1).integers(0, 10**9, (50, len(columns))).cumsum(axis=1)
    parts = [Ticks(columns, part) for part in np.split(values, [20])]
    new = Summary.of(parts[0], [measure])
    assert new.columns == read
    earlier = replace(new, columns=columns, cross_moments=parts[0].cross_moments())
    other = Summary.of(parts[1], [measure])
    whole = new + other
    assert whole == other + new == earlier + other == other + earlier
    assert whole == Summary.of(Ticks(columns, values), [measure])
    mean = Observed(MeasureFamily("time", "s", (measure,)), CellData(None, whole)).mean()
    assert float(mean.value) == pytest.approx((values[:, -1] - values[:, 7]).mean() / 5e12)
    few = Summary.of(Ticks(columns[1:], values[:, 1:]), [measure])
    assert few.columns == columns[1:]
    with pytest.raises(ValueError, match="other columns or measures"):
        few + replace(few, columns=columns[:-1])


@pytest.mark.parametrize("span", [1, 2**32, 2**32 + 1, 2**62], ids=lambda span: f"{span:g}")
@pytest.mark.parametrize("least", [0, -(2**60), 10**15])
@pytest.mark.parametrize(
    "denominator", [1, SECOND, LinearForm.of(COLUMNS[1])], ids=["1", "s", "ratio"]
)
@pytest.mark.parametrize("count", [1, 2, 256, 257, 3000])
def test_order_statistics_are_those_of_the_values_sorted(span, least, denominator, count):
    values = least + np.random.default_rng(count).integers(0, span, (count, 4))
    values[0, 0], values[-1, 0] = least + span - 1, least  # the whole range
    measure = Measure("any", LinearForm.of(COLUMNS[0]), denominator)
    samples = Ticks(COLUMNS, values)
    expected = np.sort(values[:, 0])  # in ticks, whatever the unit
    if isinstance(denominator, LinearForm):
        expected = np.sort(measure(samples))
    data = CellData(samples)
    for step in (1, 7, 250):
        ranks = range(1, count + 1, step)
        found = np.array(data.order_statistics(measure, ranks), expected.dtype)
        assert np.array_equal(found, expected[::step], equal_nan=True)
    assert samples.values.tobytes() == values.tobytes()  # nobody writes into samples


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_order_statistics_of_few_values_and_far_ones(kind):
    rng = np.random.default_rng(4)
    few = np.where(rng.random(5000) < 0.9, 7, rng.integers(-(2**40), 2**60, 5000)).astype(kind)
    special = few.copy()
    if kind is np.float64:
        special[::7], special[1::7], special[2::7] = np.nan, np.inf, -np.inf
    for values in (few, special, np.full(5000, -3, kind)):
        ranks = [1, 2, 300, 2500, 2501, 4990, 5000]
        found = np.array(core.order_statistics(values, ranks), kind)
        assert np.array_equal(found, np.sort(values)[np.array(ranks) - 1], equal_nan=True)
    for wrong in ([0], [2, 1], [5001]):
        with pytest.raises(ValueError, match="ranks must ascend, from 1"):
            core.order_statistics(few, wrong)


def test_too_small():
    observed = raw(COMPLETION, 30)
    assert observed.quantile(0.99).high == math.inf
    assert observed.quantile(0.99).low > 0
    assert raw(COMPLETION, 1).mean().too_small
    assert raw(GAIN, 1).mean().too_small
    assert math.isnan(raw(COMPLETION, 1).standard_error())


def test_events():
    values = np.full((1000, 4), 10**7, dtype=np.int64)
    cell = CellData(Ticks(COLUMNS, values))
    assert Observed(COMPLETION, cell).events == 0
    values = values.copy()
    values[:12, 0] += 5 * 10**6
    for data in (
        CellData(Ticks(COLUMNS, values)),
        CellData(None, Summary.of(Ticks(COLUMNS, values), MEASURES)),
    ):
        assert Observed(COMPLETION, data).events == pytest.approx(12, rel=0.05)
        assert Observed(GAIN, data).events == pytest.approx(12, rel=0.05)


def test_events_of_two_sides_that_never_differ():
    values = RAW.values.copy()
    values[:, 1:] = values[:, :1]
    data = CellData(Ticks(COLUMNS, values))
    completion = Observed(COMPLETION, data).events
    assert Observed(GAIN, data).events == pytest.approx(completion)
    assert completion > 100
    found = Observed(GAIN, data).mean()
    assert found.low < found.value == 1 < found.high
    certain = Observed(MeasureFamily("gain", "", (gain(0),)), data).mean()  # the same side twice
    assert (certain.low, certain.high) == (1, 1)
    values[:3, 1:] -= 1000
    assert Observed(GAIN, CellData(Ticks(COLUMNS, values))).events == pytest.approx(3, rel=0.1)


def test_a_target_on_recovery_where_nothing_was_hit():
    """It is not met, and takes more realizations."""
    quiet = CellData(Ticks(COLUMNS, np.full((100, 4), 10**7)))
    target = Target.parse("mean of recovery ± 5 %")
    decision = decide([target], {"recovery": RECOVERY}, lambda count: quiet, 100, 100, 1000)
    assert decision.next > 100
    (state,) = decision.states
    assert (state.met, state.estimate.too_small) == (False, True)


def test_zero_over_zero():
    both = Ticks(COLUMNS, np.array([[0, 0, 1, 2], [4, 2, 0, 1]], dtype=np.int64))
    assert gain(1)(both).tolist() == [1.0, 2.0]
    assert gain(2)(both).tolist() == [0.0, math.inf]


def test_keys_do_not_depend_on_how_a_form_is_written():
    a, b = COLUMNS[:2]
    one = Measure("one", LinearForm(((1, a), (-1, b))), 7)
    other = Measure("other", LinearForm(((-2, b), (1, a), (1, b), (0, COLUMNS[2]))), 7)
    assert one.key == other.key
    assert len({one.key, Measure("", one.numerator, 8).key, gain(1).key, gain(2).key}) == 4


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("mean of gain ± 1 % at 95 %", "mean of gain ± 1 % at 95 %"),
        ("p99 of completion +- 2%", "p99 of completion ± 2 % at 95 %"),
        ("mean of completion ± 1us at 99 %", "mean of completion ± 1e-06 s at 99 %"),
        ("win probability of gain +/- .01 at 99.9%", "win probability of gain ± 0.01 at 99.9 %"),
        ("p99.99 of gain, T=3 ± 0.3 %", "p99.99 of gain, T=3 ± 0.3 % at 95 %"),
    ],
)
def test_targets(text, canonical):
    target = Target.parse(text)
    assert str(target) == canonical
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize("share", [0.01, 0.07, 1e-4, 1 / 3, 0.125, 2.5])
def test_targets_read_back(share):
    target = Target("mean", "gain", relative=share, confidence=0.999)
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("mean of gain", "target must be such as 'mean of gain ± 1 % at 95 %'"),
        (3, "target must be such as"),
        ("median of gain ± 1 %", "target: statistic must be one of mean, "),
        ("max of gain ± 1 %", "target: statistic must have an interval, got 'max'"),
        ("mean of gain ± one %", "target 'mean of gain ± one %': width must be a number"),
        ("mean of gain ± 1 d", "target 'mean of gain ± 1 d': width must be a time"),
        ("mean of gain ± 0 %", "target 'mean of gain ± 0 %': width must be above 0, got 0 %"),
        ("mean of gain ± -2 %", "target 'mean of gain ± -2 %': width must be above 0, got -2 %"),
        ("mean of gain ± -2", "target 'mean of gain ± -2': width must be above 0, got -2"),
        ("mean of x ± -2us", "target 'mean of x ± -2us': width must be a time above 0"),
        ("mean of gain ± 1 % at x %", "target 'mean of gain ± 1 % at x %': confidence must be"),
        *(
            (
                f"mean of gain ± 1 % at {level} %",
                f"target 'mean of gain ± 1 % at {level} %': confidence must be above 0 % and "
                f"below 100 %, got {level} %",
            )
            for level in (0, 100, 101, -5)
        ),
    ],
)
def test_bad_targets(text, error):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Target.parse(text)
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: raw(COMPLETION).statistic("median"), "statistic must be one of mean"),
        (lambda: raw(COMPLETION).statistic("p0"), "statistic must be one of mean"),
        (lambda: raw(COMPLETION).quantile(1.5), "q must be between 0 and 1, got 1.5"),
        (lambda: raw(COMPLETION).mean(95), "confidence must be above 0 and below 1, got 95"),
        (lambda: Target("mean", "x", relative="1%"), "target: relative must be above 0"),
        (lambda: Target("mean", "x", 0.1, confidence="1"), "target: confidence must be above 0"),
        (lambda: CellData(None), "a cell without any realizations"),
        (
            lambda: Measure("m", LinearForm.of(COLUMNS[0]), 0),
            "denominator must be at least 1, got 0",
        ),
        (lambda: Ticks(COLUMNS, np.zeros((3, 2), np.int64)), "values must have shape"),
        (lambda: Ticks(COLUMNS, np.zeros((3, 4))), "values must be int64"),
        (lambda: MeasureFamily("f", "", (), ()), "f: as many labels as members"),
        (
            lambda: MeasureFamily("f", "", BEST.members, (1, 2, 3)),
            "f: pick 'only' needs one member",
        ),
    ],
)
def test_refused(call, error):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert str(caught.value).startswith(error)
