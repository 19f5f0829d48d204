"""Command `bench`: its table and JSON, and the stored rates of an H200 beside them."""

import json
import re
from types import SimpleNamespace

import pytest
from support.commands import error_of
from support.paths import TESTS

from jitterfly.cli import bench, main


def test_a_row_for_each_way_noise_and_size(capsys, monkeypatch):
    monkeypatch.setattr(bench, "core", SimpleNamespace(hardware_threads=lambda: 3))
    monkeypatch.setattr(bench, "takes_gpu", lambda *_: False)
    words = ["bench", "--ranks", "16,2^8", "--seconds", "0.001"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = [(row["threads"], row["noise"], row["ranks"]) for row in found["rows"]]
    noises = ("periodic", "+ jitter")
    assert rows == [(t, n, r) for t in (1, 3) for n in noises for r in (16, 256)]
    for row in found["rows"]:
        rate, ranks = row["rank_rounds_per_second"], row["ranks"]
        assert 0 < rate["low"] <= rate["value"] <= rate["high"]
        per_allreduce = ranks * (ranks.bit_length() - 1)
        assert row["allreduces_per_second"] * per_allreduce == pytest.approx(rate["value"])
        assert row["stored_rank_rounds_per_second"] == bench.H200.get((row["noise"], ranks))
    assert main([*words, "-q"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    table = printed.out.splitlines()[3:11]
    assert [line.split()[-1] for line in table] == ["-", "3.9e+11", "-", "8.89e+10"] * 2


def test_stored_rates_are_those_of_the_results_file():
    text = (TESTS / "gpu" / "h200-2026-11-27.md").read_text(encoding="utf-8")
    row = r"^jitterfly, cuda +butterfly +(periodic|\+ jitter) +2\^(\d+) +- +\S+ +(\S+) "
    measured = {
        (noise, 2 ** int(power)): float(median)
        for noise, power, median in re.findall(row, text, re.MULTILINE)
    }
    assert measured == bench.H200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "0"], "--ranks must be an integer from 1 to 2^30, got 0"),
        (["--ranks", "many"], "--ranks must be an integer from 1 to 2^30, got 'many'"),
        (["--seconds", "0"], "--seconds must be above 0 and at most 60, got 0"),
        (["--seconds", "100"], "--seconds must be above 0 and at most 60, got 100"),
    ],
)
def test_bad_options(capsys, words, message):
    assert message in error_of(capsys, "bench", *words)
