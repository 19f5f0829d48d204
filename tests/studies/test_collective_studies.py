"""Studies over algorithms and numbers of ranks: from TOML to table and figure."""

from dataclasses import replace

import numpy as np
import pytest
from support.scale import full_scale

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.studies import parse_study

STUDY = """
name = "collectives"
title = "Algorithms"
seed = 3
realizations = { max = 50 }

[case]
message_bytes = 4096
network = { kind = "loggops", L = "1us", o = "100ns", g = "200ns", G = "1ns", gamma = "0.1ns" }
noise = [
    { kind = "periodic", period = "1ms", duration = "100us", shared = "machine" },
    { kind = "jitter", period = "1ms", duration = "10us" },
]

[axes.ranks]
values = [5, 64, 100]

[variants.doubling]
algorithm = { kind = "recursive_doubling_allreduce" }
[variants.ring]
algorithm = { kind = "ring_allreduce" }
[variants.rabenseifner]
algorithm = { kind = "rabenseifner_allreduce" }

[observables]
slowdown = { kind = "slowdown", variant = "ring" }
gain = { kind = "gain", of = "rabenseifner", over = "doubling" }
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.mark.parametrize("figure", ["", full_scale('figure = "curves"\n')])
def test_run_status_and_plot(study, figure, tmp_path, capsys):
    study.write_text(STUDY.replace("seed = 3\n", f"seed = 3\n{figure}"))
    out = tmp_path / "out"
    assert main(["run", str(study), "--out", str(out)]) == 0
    assert main(["status", str(out)]) == 0
    assert main(["plot", str(out), "--kind", "tail"]) == 0
    assert "100" in capsys.readouterr().out


def test_samples_are_those_of_simulate(study, tmp_path):
    store = jf.run_study(jf.load_study(study), tmp_path / "out")
    kinds = {"doubling": jf.RecursiveDoublingAllreduce(), "ring": jf.RingAllreduce(),
             "rabenseifner": jf.RabenseifnerAllreduce()}  # fmt: skip
    for cell in store.cells:
        for variant, case in cell.cases.items():
            assert case.algorithm == kinds[variant]
            assert case.ranks in (5, 64, 100)
            assert jf.Case.from_dict(case.to_dict()) == case
    assert store.estimate(store.cells[-1], "slowdown", "mean").value > 1


def test_axis_over_algorithms_and_the_mean_rank(tmp_path):
    """Ranks of a tree differ without noise, too: the mean's slowdown is over the mean."""
    text = STUDY.split("[variants.doubling]")[0].replace("[case]", '[case]\nobserve = "spread"')
    text = text.replace('shared = "machine" ', 'start = "stationary"')
    text += """
[axes.algorithm]
path = "algorithm.kind"
values = ["binomial_broadcast", "tree_barrier", "bruck_allgather"]
[observables]
slowdown = { kind = "slowdown" }
mean = { kind = "slowdown", rank = "mean" }
"""
    path = tmp_path / "study.toml"
    path.write_text(text)
    study = jf.load_study(path)
    store = jf.run_study(study, tmp_path / "out")
    assert len(store.cells) == 9
    for cell in store.cells:
        case = cell.variants[0].case
        quiet = jf.simulate(replace(case, noise=()), 1).samples[0]
        assert quiet[0] >= quiet[2] >= quiet[1]
        mean = store.estimate(cell, "mean", "mean").value
        result = jf.simulate(case, 50, seed=3)
        expected = result.samples[:, 2].mean() / quiet[2]
        assert mean == pytest.approx(expected, rel=1e-9)


BUDGET = jf.RealizationBudget(max=10)


def test_kinds_on_an_axis_over_a_case():
    """What the case's algorithm has by default does not stand in the way of another kind."""
    case = jf.Case(16, network="L=1us,o=200ns", noise="period=1ms,duration=10us")
    kinds = ["ring_allreduce", "butterfly", "knomial_broadcast"]
    for base in (case, {**case.to_dict(), "algorithm": jf.Butterfly()}):
        study = jf.Study(name="kinds", case=base, budget=BUDGET,
                         axes=[jf.Axis("algorithm", kinds, path="algorithm.kind")])  # fmt: skip
        found = [cell.variants[0].case.algorithm for cell in study.cells()]
        assert found == [jf.RingAllreduce(), jf.Butterfly(), jf.KnomialBroadcast()]
        assert parse_study(study.to_toml()).cells() == study.cells()
    four = replace(case, algorithm=jf.KnomialReduce(radix=4))
    variants = {"given": {}, "other": {"algorithm.kind": "knomial_broadcast"},
                "noise": {"noise.0.kind": "jitter"}}  # fmt: skip
    cases = jf.Study(name="kinds", case=four, variants=variants, budget=BUDGET).cells()[0].cases
    assert cases["given"] == four
    assert cases["other"] == replace(four, algorithm=jf.KnomialBroadcast(radix=4))
    assert cases["noise"] == replace(four, noise=[jf.NetworkJitter("1ms", "10us")])
    # A default that the other kind has, too, is kept.
    reduce = replace(four, algorithm=jf.KnomialReduce())
    cases = jf.Study(name="kinds", case=reduce, variants=variants, budget=BUDGET).cells()[0].cases
    assert cases["other"].algorithm.radix == reduce.algorithm.radix
    with pytest.raises(ValueError, match="algorithm: unknown key 'exchanges_after'"):
        jf.Study(name="kinds", case=replace(case, algorithm=jf.Butterfly(exchanges_after=2)),
                 variants=variants, budget=BUDGET)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "field", "values", "read"),
    [
        ("chain_broadcast", "segment_bytes", '"1KiB..4KiB"', [1024, 2048, 4096]),
        ("segmented_ring_allreduce", "segment_bytes", '["10 B", "1kB"]', [10, 1000]),
        ("knomial_broadcast", "radix", '"2..8, 3"', [2, 4, 8, 3]),
    ],
)
def test_axes_over_parameters_of_algorithms(kind, field, values, read, tmp_path):
    text = STUDY.split("[axes.ranks]")[0] + "[axes.tuned]\n"
    text += f'path = "algorithm.{field}"\nvalues = {values}\n'
    text += '[observables]\ntime = { kind = "completion" }\n'
    text = text.replace("[case]", f'[case]\nranks = 9\nalgorithm = {{ kind = "{kind}" }}')
    path = tmp_path / "study.toml"
    path.write_text(text)
    store = jf.run_study(jf.load_study(path), tmp_path / "out")
    found = [cell.variants[0].case.algorithm for cell in store.cells]
    assert [getattr(algorithm, field) for algorithm in found] == read
    assert len({store.estimate(cell, "time", "mean").value for cell in store.cells}) == len(read)


def test_traces_are_of_butterflies(tmp_path, capsys):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    assert main(["trace", str(path), "--out", str(tmp_path / "x.png")]) == 2
    error = capsys.readouterr().err
    assert "a trace shows a Butterfly on a power of two of ranks, got" in error
    assert "jitterfly.ready_times tells in Python" in error


def test_spread_of_few_ranks_is_exact():
    """Sums of ticks over a number of ranks that is no power of two: the mean, rounded."""
    network = jf.LogGOPS(L="1us", o="100ns", gamma="1ns")
    case = jf.Case(7, algorithm=jf.BinomialBroadcast(), network=network, observe="spread")
    times = jf.ready_times(case)[-1]
    found = jf.simulate(case, 1).ticks[0]
    ticks = np.rint(times * 1e12).astype(int).tolist()
    assert found.tolist() == [max(ticks), min(ticks), round(sum(ticks) / 7)]
    np.testing.assert_array_equal(jf.simulate(case, 1).noise_free * 1e12, found)
