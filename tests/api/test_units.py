"""Parsing and printing of times and their units; rounding of seconds to ticks."""

import math
from fractions import Fraction

import numpy as np
import pytest

import jitterfly as jf
from jitterfly.units import (
    LONGEST_SECONDS,
    column_units,
    common_unit,
    exact,
    from_ticks,
    parse_seconds,
    show_seconds,
    to_ticks,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10us", 1e-5),
        ("10 us", 1e-5),
        ("10µs", 1e-5),  # the micro sign
        ("10μs", 1e-5),  # the Greek letter
        ("1e-5", 1e-5),
        ("0.01 ms", 1e-5),
        (".5s", 0.5),
        ("2.", 2.0),
        ("+3ns", 3e-9),
        (" 1E3 ps ", 1e-9),
        ("5min", 300.0),
        ("1.5 h", 5400.0),
        ("0", 0.0),
    ],
)
def test_text(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("value", [1, 0, 0.25, np.float64(0.25), np.float32(0.25), np.int64(3)])
def test_numbers(value):
    seconds = parse_seconds(value)
    assert type(seconds) is float
    assert seconds == value


def test_minus_zero_is_zero():
    assert math.copysign(1, parse_seconds(-0.0)) == 1


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -math.inf, -1, -1e-30, 1e9, 10**400, True, np.True_, None, [], 1j),
        *(
            "",
            "us",
            "ten us",
            "10 m",
            "10 minutes",
            "2000h",
            "10us us",
            "1,5",
            "nan",
            "inf",
            "-1us",
            "1e9999",
            "٣",
        ),
        *(np.zeros(1000), "x" * 500, "1" * 5000, [[0], [1, 2]]),
        pytest.param(10**5000, id="many digits"),
    ],
)
def test_refused(value):
    with pytest.raises(ValueError, match=r"^delay must be a time from 0 to 4\.61e\+06 s") as caught:
        parse_seconds(value, "delay")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("400Gb/s", 2e-11),
        ("400 Gbit/s", 2e-11),
        ("400Gbps", 2e-11),
        ("50GB/s", 2e-11),
        ("12.5 GB/s", 8e-11),
        ("100MB/s", 1e-8),
        ("1GiB/s", 2.0**-30),
        ("8kb/s", 1e-3),
    ],
)
def test_a_bandwidth_is_the_time_of_a_byte(text, time):
    """Exactly that of the decimal digits, so that results are the same bits."""
    network = jf.LogGOPS(L="1us", o=0, G=text)
    assert network.G == jf.Hockney("1us", text).beta == time
    assert jf.Case(2, network=f"L=1us,o=0,G={text}").network == network


@pytest.mark.parametrize("text", ["400gb/s", "50GB", "50G/s", "0GB/s", "-1GB/s", "1e9B/s"])
def test_what_is_no_bandwidth_says_how_one_is_written(text):
    with pytest.raises(ValueError, match=r"^G must be a time .*; or a bandwidth such as 50GB/s"):
        jf.LogGOPS(L="1us", o=0, G=text)
    with pytest.raises(ValueError, match=r"^L must be a time .*\(in LogGOPS\)$"):
        jf.LogGOPS(L="50GB/s", o=0)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("1kHz", "1 ms"),
        ("250 Hz", "4 ms"),
        ("0.1hz", "10 s"),
        ("2.5MHz", "400 ns"),
        ("1GHz", "1 ns"),
    ],
)
def test_a_frequency_is_no_time(text, period):
    with pytest.raises(ValueError, match=f"got '{text}', which is a period of {period}$"):
        parse_seconds(text, "period")
    with pytest.raises(ValueError, match=r"got '0Hz'$"):
        parse_seconds("0Hz")


def test_positive():
    with pytest.raises(ValueError, match=r"^period must be a time above 0 to"):
        parse_seconds(0, "period", positive=True)


def test_ticks_follow_the_decimal_digits():
    assert to_ticks(1e-6) == 1_000_000
    assert to_ticks(0.00666667) == 6_666_670_000
    assert to_ticks(exact(1e-7) + exact(1e-9) * 8) == 108_000
    # 0.1 + 0.2 in binary is 0.30000000000000004; in decimal digits it is not.
    assert exact(0.1) + exact(0.2) == Fraction(3, 10)


def test_ticks_round_to_nearest():
    assert [to_ticks(x * 1e-12) for x in (0.0, 0.6, 1.4, 1.6)] == [0, 1, 1, 2]


@pytest.mark.parametrize("seconds", [1e-13, 5e-13, 1e-300])
def test_positive_time_of_no_ticks(seconds):
    with pytest.raises(ValueError, match=r"^alpha must be 0 or more than 0\.5 ps"):
        to_ticks(seconds, "alpha")
    with pytest.raises(ValueError, match=r"^period must be more than 0\.5 ps"):
        to_ticks(seconds, "period", positive=True)


def test_ticks_and_back():
    rng = np.random.default_rng(1)
    ticks = np.concatenate([rng.integers(0, 10**9, 1000), rng.integers(0, 2**52, 1000)])
    seconds = from_ticks(ticks)
    assert seconds.dtype == np.float64
    assert [to_ticks(x) for x in seconds] == ticks.tolist()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (1e-5, "10 µs"),
        (1.08e-7, "108 ns"),
        (5e-12, "5 ps"),
        (0.0123456, "12.35 ms"),
        (90.0, "90 s"),
        (math.inf, "inf s"),
        (-2e-6, "-2 µs"),
    ],
)
def test_show(seconds, text):
    assert show_seconds(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "digits", "text"),
    [(160.0, 2, "160 s"), (5.04e-4, 2, "500 µs"), (14400.0, 3, "14400 s"), (2e6, 4, "2e+06 s")],
)
def test_times_have_no_exponent_where_digits_are_few(seconds, digits, text):
    assert show_seconds(seconds, digits) == text


def test_longest():
    assert parse_seconds(LONGEST_SECONDS) == LONGEST_SECONDS


def test_times_of_a_table_have_one_unit_that_all_of_them_read_in():
    assert common_unit([8e-6, 3e-5, 1.2e-3]) == "µs"
    assert common_unit([0.95e-6, 26e-6]) == "µs"  # not 26,000 ns
    assert common_unit([2e-3, 3e-3, 4.5]) == "ms"
    assert common_unit([0.0, math.nan, math.inf], "ms") == "ms"
    # A column of its own order has its own unit: a period among overheads.
    assert column_units([[8e-6, 3e-5], [1.0, 2.0], [3e-4, 5e-4]]) == ["µs", "s", "µs"]
    assert column_units([[1e-6], [2e-9], [40e-9]]) == ["ns", "ns", "ns"]
