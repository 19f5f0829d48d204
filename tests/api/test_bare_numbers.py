"""Warnings of times without a unit, which are read as seconds."""

import warnings

import pytest

import jitterfly as jf
from jitterfly.cli import main
from jitterfly_papers.inference import read_curves

LONG = {  # what is made, and which field is told of
    "L of LogGOPS is 120 s": lambda: jf.LogGOPS(L=120, o="1us"),
    "o of LogGOPS is 1 s": lambda: jf.LogGOPS(L="1us", o="1"),
    "g of LogGOPS is 2 s": lambda: jf.LogGOPS(L="1us", o=0, g=2.0),
    "alpha of Hockney is 5 s": lambda: jf.Hockney(5, 0),
    "duration of PeriodicNoise is 10 s": lambda: jf.PeriodicNoise(1000, 10),
    "duration of NetworkJitter is 10 s": lambda: jf.NetworkJitter(1000, "10"),
    "duration of RenewalNoise is 1 s": lambda: jf.RenewalNoise(100, 1),
    "delay of StepNoise is 14 s": lambda: jf.StepNoise(14, probability=0.1),
    "delay of MessageNoise is 14 s": lambda: jf.MessageNoise("14"),
    "mean of Exponential is 2 s": lambda: jf.StepNoise(jf.Exponential(mean=2)),
    "median of Lognormal is 20 s": lambda: jf.RenewalNoise(
        "1ms", {"kind": "lognormal", "median": 20, "sigma": 1}
    ),
    "one of samples of Empirical is 30 s": lambda: jf.MessageNoise(
        jf.Empirical(samples=[10, "20", 30])
    ),
    "one of high of Empirical is 2 s": lambda: jf.RenewalNoise(
        "1ms", jf.Empirical(low=[0, "1us"], high=["1us", 2], count=[1, 1])
    ),
    "value of Constant is 3 s": lambda: jf.StepNoise(jf.Constant(3)),
    "patience of Butterfly is 3 s": lambda: jf.Butterfly(on_demand="all", patience=3),
    "forward_cost of RingAllreduce is 4 s": lambda: jf.RingAllreduce(
        exchanges_after=1, forward_cost=4
    ),
}
NOT_LONG = [
    lambda: jf.LogGOPS(L="120s", o="1 s", g="1000ms"),  # the unit is there
    lambda: jf.LogGOPS(L=0.999, o=0.5),
    lambda: jf.LogGOPS(L=0, o=0, G="20ms", O=9e-5, gamma="1kB/s"),
    lambda: jf.PeriodicNoise(1000, "10us"),  # daemons
    lambda: jf.RenewalNoise(60, "1ms", begin=5, end=100),
    lambda: jf.NetworkJitter(100, "1us"),
    lambda: jf.Case(2, network=jf.Hockney("1us", 0), compute_time=10),
    lambda: jf.PeriodicNoise(10, "1us", phases=[3.0, 5.0]),
    lambda: jf.RenewalNoise(jf.Exponential(mean=2), "1ms"),  # gaps are long
    lambda: jf.StepNoise(jf.Exponential("2s")),
    lambda: jf.StepNoise(jf.Empirical(samples=["10s", 0.5])),
    lambda: jf.SpeedNoise(jf.Lognormal(median=1, sigma=0.05)),  # a factor, no time
    lambda: jf.SpeedNoise(jf.Bernoulli(0.1, "1500ms")),
    lambda: jf.SpeedNoise(0.9),
]
FASTER = {
    "SpeedNoise": lambda factor: jf.SpeedNoise(factor, probability=0.5),
    "SlowRanks": lambda factor: jf.imbalance.SlowRanks(factor, ranks=[1]),
    "SlowNodes": lambda factor: jf.imbalance.SlowNodes(factor),
}


@pytest.mark.parametrize("told", LONG)
def test_a_forgotten_unit_is_told(told):
    """Once, at the line that wrote it, with the way out."""
    with pytest.warns(jf.LongTimeWarning, match=f"^{told}, as a number without a unit") as w:
        LONG[told]()
    assert len(w) == 1
    assert w[0].filename == __file__
    number = told.split(" is ")[1].split(" ")[0]
    assert f"such as '{number}us', or '{number}s' if that is meant" in str(w[0].message)


def test_a_curve_without_a_unit_is_told(tmp_path):
    """Once, with its line; a unit in the header, with --unit or with the number is silent."""
    path = tmp_path / "curve.csv"

    def read(head, rows, unit=""):
        path.write_text(f"{head}\n{rows}\n")
        read_curves([path], unit=unit)

    text = "^curve.csv, line 2: latency is 14.2 s, .*: name the column latency_us, or give the unit"
    with pytest.warns(jf.LongTimeWarning, match=text) as w:
        read("ranks,latency", "16,14.2\n8192,62")
    assert len(w) == 1
    read("ranks,latency_us", "16,14.2")
    read("ranks,latency_s", "16,14.2")
    read("ranks,latency", "16,14.2us")
    read("ranks,latency", "16,14.2", unit="us")
    read("ranks,latency", "16,1.42e-5")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: jf.LogGOPS("1us", 0, G=0.02), "G of LogGOPS is 20 ms for each byte"),
        (lambda: jf.LogGOPS("1us", 0, G="0.02"), "G of LogGOPS is 20 ms for each byte"),
        (lambda: jf.Hockney("1us", 1e-4), "beta of Hockney is 100 µs for each byte"),
        (lambda: jf.Hockney("1us", 0, gamma=3), "gamma of Hockney is 3 s for each byte"),
    ],
)
def test_a_byte_that_takes_long_is_told(make, told):
    """A millisecond is no long time, but for a byte."""
    with pytest.warns(jf.LongTimeWarning, match=f"^{told}, as a number without a unit") as w:
        make()
    assert len(w) == 1
    assert w[0].filename == __file__
    assert "a bandwidth, such as '50GB/s'" in str(w[0].message)


@pytest.mark.parametrize("owner", FASTER)
def test_a_share_for_a_factor_is_told(owner):
    """5 % slower is 1.05."""
    words = f"^factor of {owner} is 0.05, .* 20 times faster: 5 % slower is 1.05$"
    with pytest.warns(jf.SmallFactorWarning, match=words) as w:
        FASTER[owner](0.05)
    assert len(w) == 1
    assert w[0].filename == __file__
    FASTER[owner](0.8)


def test_drawn_factors_that_are_shares_are_told():
    with pytest.warns(jf.SmallFactorWarning, match="^factor of SpeedNoise is 0.05,"):
        jf.SpeedNoise(jf.Lognormal(median=0.05, sigma=0.1))


@pytest.mark.parametrize("make", NOT_LONG)
def test_what_is_meant_is_not(make):
    make()  # a warning is an error here


def test_it_can_be_filtered():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jf.LongTimeWarning)
        assert jf.LogGOPS(L=120, o=0).L == 120


def test_a_case_from_a_table():
    table = {"ranks": 2, "network": {"kind": "loggops", "L": 1, "o": "200ms"}}
    with pytest.warns(jf.LongTimeWarning, match="^L of LogGOPS is 1 s"):
        jf.Case.from_dict(table)


def test_advise_says_what_it_read(capsys):
    line = ["advise", "--ranks", "4", "--realizations", "100", "--candidates", "butterfly,ring"]
    line += ["--noise", "period=1ms,duration=10us"]
    with pytest.warns(jf.LongTimeWarning, match="^L of LogGOPS is 1 s"):
        assert main([*line, "--network", "L=1,o=0.2"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [
        "network: loggops, L = 1 s, o = 200 ms",
        "noise: periodic, period = 1 ms, duration = 10 µs, start = fresh",
    ]
    noise = "kind=step,delay=14us,probability=0.01"
    assert main([*line[:-1], noise, "--network", "kind=hockney,alpha=1us,beta=1e-9"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [
        "network: hockney, alpha = 1 µs, beta = 1 ns",
        "noise: step, delay = 14 µs, probability = 0.01",
    ]


def test_candidates_times_are_their_own(capsys):
    """Of a message of 2 s patience is 2 s: nobody wrote that number."""
    line = ["advise", "--ranks", "4", "--bytes", "2GB", "--network", "L=1us,o=1us,G=1ns"]
    assert main([*line, "--candidates", "butterfly,butterfly_after_1,butterfly_on_demand"]) == 0
    assert "butterfly_after_1" in capsys.readouterr().out


def test_budget(capsys):
    """Says what it read in its answer."""
    line = ["budget", "--ranks", "16", "--step", "3.45us", "--delay", "14us", "--latency"]
    with pytest.warns(jf.LongTimeWarning, match="^--latency is 120 s, as a number without a unit"):
        assert main([*line, "120"]) == 0
    assert "at or below 120 s" in capsys.readouterr().out
    assert main([*line, "50us"]) == 0


def test_trace_says_what_it_read(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    line = ["trace", "--ranks", "4", "--out", str(tmp_path / "trace.png"), "--realization", "0"]
    assert main([*line, "--noise", "period=1ms,duration=0.0001"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "network: loggops, L = 1 µs, o = 20 ns, gamma = 100 ps (none was given with --network)",
        "noise: periodic, period = 1 ms, duration = 100 µs, start = fresh",
    ]
