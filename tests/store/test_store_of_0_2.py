"""A store that version 0.2.0 wrote: it is read, and the same study goes on from its records."""

import csv
import io
import shutil

import numpy as np
import pytest
from support.paths import DATA

import jitterfly as jf
from jitterfly.studies.grid import digest

STORE = DATA / "store-0.2"


@pytest.mark.filterwarnings("ignore:case")
def test_a_store_of_0_2_is_read_and_goes_on(tmp_path):
    out = tmp_path / "old"
    shutil.copytree(STORE, out)
    stored = jf.Store.open(out)
    study = jf.load_study(STORE / "study.toml")
    fresh = jf.run_study(study, tmp_path / "new", stream=io.StringIO())
    assert len(stored.cells) == 4
    for mine, its in zip(fresh.cells, stored.cells, strict=True):
        mine, its = fresh.ticks(mine, 6), stored.ticks(its, 6)
        assert mine.columns == its.columns
        np.testing.assert_array_equal(mine.values, its.values)
    records = {path.name: path.read_bytes() for path in (out / "records").iterdir()}
    jf.run_study(study, out, stream=io.StringIO())
    assert {path.name: path.read_bytes() for path in (out / "records").iterdir()} == records


@pytest.mark.filterwarnings("ignore:case")
def test_its_summary_has_the_same_means(tmp_path):
    """Intervals may have become wider since, means and quantiles have not moved."""
    out = tmp_path / "old"
    shutil.copytree(STORE, out)
    jf.Store.open(out).to_csv(tmp_path / "now.csv")
    before, now = (
        {
            tuple(row[key] for key in ("W", "S", "D", "observable", "statistic")): row["value"]
            for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())
        }
        for file in (STORE / "summary.csv", tmp_path / "now.csv")
    )
    assert before.keys() <= now.keys()
    assert {key: now[key] for key in before} == before


def test_the_identity_of_a_case_is_as_it_was():
    """Fields and kinds are hashed under the names of the first version."""
    case = jf.Case(
        8,
        network="L=1us,o=200ns",
        algorithm=jf.Butterfly(exchanges_after=1, copy_levels=[1]),
        noise=[
            jf.PeriodicNoise("1ms", "10us", shared=2),
            jf.RenewalNoise("1ms", jf.Constant("1us"), shared=4),
            jf.StepNoise(jf.Mixture([0.9, 0.1], [jf.Constant("1us"), jf.Exponential("2us")])),
        ],
        compute_time="1us",
    )
    identity = case.identity()
    assert identity["work"] == 1e-6
    assert {"after", "within"} <= identity["algorithm"].keys()
    assert digest(identity) == "b2ed9c5e34e51d9d"
