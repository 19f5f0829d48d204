"""`fit_two_sources`: two noise sources from a scaling curve; published numbers of HM18."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from support.scale import full_scale, scaled

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.noise import Noise
from jitterfly.syntax import read_noise
from jitterfly_papers.inference import Curve, fit_two_sources
from jitterfly_papers.inference.step_noise_models import make_model

STEP, DELAY, RARE = 2.81e-6, 14e-6, 1.75e-3
P, RARE_P = 0.004, 8e-6
TRUTH = {"step": STEP, "delay": DELAY, "probability": P, "rare_delay": RARE,
         "rare_probability": RARE_P, "load": P * DELAY, "rare_load": RARE_P * RARE}  # fmt: skip


def expected(rounds):
    extra = make_model("bernoulli", "last").extra(rounds, np.array([P, RARE_P]))
    return np.asarray(rounds) * STEP + DELAY * extra[0] + RARE * extra[1]


@pytest.mark.parametrize("rounds", [4, 8, 10])
def test_means_add_up_as_in_a_simulation(rounds):
    noise = [jf.StepNoise(DELAY, P), jf.StepNoise(RARE, RARE_P)]
    case = jf.Case(2**rounds, network=jf.Hockney(0.0, 0.0, STEP), message_bytes=1, noise=noise)
    count = min(60_000, int(2e7 / 2**rounds / rounds))
    mean = jf.stats.mean(jf.simulate(case, count, seed=1).samples[:, -1], 0.9999)
    assert mean.low < expected([rounds])[0] < mean.high


@pytest.mark.parametrize("error", [full_scale(0.01), 0.05])
def test_intervals_hold_the_truth(error):
    """Each of seven parameters in at least 15 of 20 curves: of 95 %, fewer once in 3,000."""
    rng = np.random.default_rng(3)
    rounds = np.arange(1, 14)
    y = expected(rounds)
    held = dict.fromkeys(TRUTH, 0)
    curves = scaled(20, least=5)
    for _ in range(curves):
        curve = Curve(2**rounds, y * (1 + error * rng.normal(size=len(y))), error * y)
        found = fit_two_sources(curve)
        for name, true in TRUTH.items():
            held[name] += found.bounds[name].low <= true <= found.bounds[name].high
    assert min(held.values()) >= stats.binom.ppf(4e-4, curves, 0.95), held


def test_one_source_does_not_determine_the_second():
    rounds = np.arange(1, 14)
    extra = make_model("bernoulli", "last").extra(rounds, np.array([P]))[0]
    y = rounds * STEP + DELAY * extra
    found = fit_two_sources(Curve(2**rounds, y, 0.02 * y))
    assert found.verdict == "fit"
    assert "rare_delay" in found.undetermined
    assert "rare_probability" in found.undetermined
    assert found.bounds["rare_load"].low == 0
    text = "\n".join(found.report())
    assert "not determined" in text
    assert "D2" in text.split("not determined")[1].splitlines()[0]


def test_without_a_delay_any_probability_is_as_good():
    """Of one source, simulated, which the rare one alone explains as well as both."""
    latency = np.array([11.38, 21.75, 35.36, 49.78, 62.88])
    error = np.array([0.1917, 0.3241, 0.3073, 0.1954, 0.2927])
    curve = Curve([16, 64, 256, 1024, 4096], 1e-6 * latency, 1e-6 * error)
    found = fit_two_sources(curve, step=2.5e-6)
    assert found.verdict == "fit"
    alone = [name for name in ("delay", "rare_delay") if found.bounds[name].low == 0]
    assert alone
    for name in alone:
        probability = name.replace("delay", "probability")
        assert found.bounds[probability][1:3] == (0, 1)
        assert probability in found.undetermined


def test_the_published_numbers():
    """The mean of HM18's 24 nodes and the 671 µs, with L and both delays given."""
    curve = Curve([24, 4096], [21.158e-6, 671e-6])
    found = fit_two_sources(curve, step=STEP, delay=DELAY, rare_delay=RARE)
    assert (found.verdict, found.freedom) == ("not tested", 0)
    assert found.bounds["rare_probability"].value == pytest.approx(8.4e-6, rel=0.05)
    assert 0.002 < found.bounds["probability"].value < 0.006
    alone = fit_two_sources(curve)
    assert alone.undetermined == tuple(TRUTH)
    assert found.undetermined == ("probability", "rare_probability", "load", "rare_load")
    assert "tests nothing" in "\n".join(alone.report())


def test_what_does_not_fit_says_so():
    y = np.array([50e-6, 40e-6, 20e-6, 10e-6])
    found = fit_two_sources(Curve([2, 4, 8, 16], y, 0.01 * y))
    assert found.verdict == "no fit"
    assert "(the closest)" in "\n".join(found.report())
    with pytest.raises(ValueError, match="rare_delay must be above delay = 14 µs"):
        fit_two_sources(Curve([2, 4], y[:2]), delay="14us", rare_delay="1us")


def test_command(tmp_path, capsys):
    path = tmp_path / "curve.csv"
    rounds = np.arange(1, 13)
    rows = [f"{2**k},{1e6 * y},{1e4 * y}" for k, y in zip(rounds, expected(rounds), strict=True)]
    path.write_text("\n".join(["ranks,latency_us,error_us", *rows]), encoding="utf-8")
    command = ["fit", str(path), "--model", "two-bernoulli", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "delay of the rare source" in text
    assert "determined: L, D1, p1, D2, p2, p1 D1, p2 D2" in text
    lines = (tmp_path / "out" / "fit.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 7
    assert main([*command, "--rare-delay", "1.75ms"]) == 2  # another question
    assert "(its rare_delay is None, here it is 0.00175)" in capsys.readouterr().err
    assert main([*command, "--rare-delay", "1.75ms", "--force", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["fits"]
    assert found["parameters"]["rare_delay"]["given"] is True
    assert math.isclose(found["parameters"]["rare_probability"]["value"], RARE_P, rel_tol=0.02)
    tables = [read_noise(one) for one in found["noise_options"]]
    sources = [Noise.from_dict(one) for one in tables]
    assert sources == [Noise.from_dict(one) for one in found["noise"]]
    frequent, rare = sources
    assert rare.delay.expected() == pytest.approx(1.75e-3, rel=1e-5)
    assert math.isclose(rare.probability, RARE_P, rel_tol=0.02)
    assert frequent.probability > rare.probability
    assert main([*command, "--rare-delay", "1.75ms"]) == 0
    pasted = " ".join(f"--noise '{one}'" for one in found["noise_options"])
    assert f"in `slowdown` and others: {pasted} (L of" in capsys.readouterr().out
    for model, *bad in (
        ["two-bernoulli", "--probability", "0.1"],
        ["bernoulli", "--rare-delay", "1ms"],
    ):
        assert main(["fit", str(path), "--model", model, *bad]) != 0
        assert "two-bernoulli" in capsys.readouterr().err
