"""Names of earlier versions: errors that say the new ones; stores of version 0.1 are read."""

import io
import json
import shutil
from dataclasses import fields

import numpy as np
import pytest
from support.paths import DATA

import jitterfly as jf
import jitterfly_papers as jp
from jitterfly import studies
from jitterfly.cli import main
from jitterfly.cli.output import check_out
from jitterfly.old_names import from_stored, to_stored
from jitterfly.studies import parse_study
from jitterfly_papers.report import hsl09

NETWORK = jf.LogGOPS(L="1us", o="200ns")
CASE = jf.Case(4, network=NETWORK)
FIT = jp.fit(jp.Curve([2, 4, 8], [5e-6, 11e-6, 18e-6]), rank="mean")
STORE = DATA / "store-0.1"


@pytest.mark.parametrize(
    ("call", "old", "new"),
    [
        (lambda: jf.Case(4, network=NETWORK, work="1us"), "work", "compute_time"),
        (lambda: jf.advise(4, network=NETWORK, work="1us"), "work", "compute_time"),
        (lambda: jf.slowdown([], 4, network=NETWORK, work="1us"), "work", "compute_time"),
        (lambda: jf.Butterfly(after=1), "after", "exchanges_after"),
        (lambda: jf.RingAllreduce(after=1), "after", "exchanges_after"),
        (lambda: jf.Butterfly(within="all"), "within", "copy_levels"),
        (lambda: jf.PeriodicNoise("1ms", "1us", synchronized=2), "synchronized", "shared"),
        (lambda: jf.simulate(CASE, 1, first=3), "first", "first_realization"),
        (lambda: jf.stats.confidence_set(gram=None, forms=[]), "gram", "cross_moments"),
    ],
)
def test_an_old_argument(call, old, new):
    with pytest.raises(TypeError, match=rf"\(\) has no argument '{old}': renamed to '{new}' in 0"):
        call()


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        (CASE, "work", "compute_time"),
        (jf.Butterfly(), "after", "exchanges_after"),
        (jf.Butterfly(), "within", "copy_levels"),
        (jf.PeriodicNoise("1ms", "1us"), "synchronized", "shared"),
        (jf.simulate(CASE, 1), "first", "first_realization"),
        (jf, "Fixed", "Constant"),
        (jf, "Budget", "RealizationBudget"),
        (jf.noise, "Fixed", "Constant"),
        (jf.distributions, "Fixed", "Constant"),
        (jf.Axis("ranks", [2]), "points", "values"),
        (jf.Study("x", case=CASE, budget=jf.RealizationBudget(max=1)), "places", "cells"),
        (studies, "Place", "Cell"),
        (jf.congestion, "slowdown", "slowdown_percent"),
        (FIT, "scale", "delay"),
        (jf.stats, "smallest_t", "fewest_exchanges"),
        (jf.stats, "SmallestT", "FewestExchanges"),
        (jf.stats, "Gram", "CrossMoments"),
    ],
)
def test_an_old_attribute(value, old, new):
    with pytest.raises(AttributeError, match=rf"no attribute '{old}': renamed to '{new}' in 0.2$"):
        getattr(value, old)
    assert not hasattr(value, "nothing")


@pytest.mark.parametrize("name", ["noise_phases", "row_labels", "show_seconds"])
def test_what_left_the_top_is_where_it_lives(name):
    with pytest.raises(
        AttributeError, match=rf"moved in 0.2, (from jitterfly\.\w+ import {name})$"
    ) as e:
        getattr(jf, name)
    exec(str(e.value).partition(", ")[2], {})


STUDY = """
name = "x"
realizations.max = 3
[case]
ranks = 4
network = "L=1us,o=200ns"
noise = [{ kind = "renewal", gap = "1ms", duration = { kind = "constant", value = "1us" } },
         { kind = "periodic", period = "1ms", duration = "1us", shared = 2 }]
algorithm = { kind = "butterfly", exchanges_after = 1, copy_levels = "all" }
compute_time = "1us"
"""


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("compute_time = ", "`work` is called `compute_time` since 0.2"),
        ("exchanges_after = ", "`after` is called `exchanges_after` since 0.2"),
        ("copy_levels = ", "`within` is called `copy_levels` since 0.2"),
        ("shared = ", "`synchronized` is called `shared` since 0.2"),
        ('"constant"', "kind `fixed` is called `constant` since 0.2"),
    ],
)
def test_an_old_key_of_toml(new, old):
    parse_study(STUDY)
    word = old.split("`")[1]
    text = STUDY.replace(new, f'"{word}"' if '"' in new else f"{word} = ")
    with pytest.raises(ValueError, match=old):
        parse_study(text)
    assert parse_study(text, stored=True) == parse_study(STUDY)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("work", "`work` is called `compute_time`"),
        ("algorithm.within", "`within` is called `copy_levels`"),
        ("noise.1.synchronized", "`synchronized` is called `shared`"),
    ],
)
def test_an_old_path_of_an_axis(path, told):
    text = STUDY + f'[axes.x]\npath = "{path}"\nvalues = [1, 2]\n'
    with pytest.raises(ValueError, match=told):
        parse_study(text)


def test_an_old_option(capsys):
    for option, new in (("--work", "compute-time"), ("--after", "exchanges-after")):
        with pytest.raises(SystemExit, match="2"):
            main(["trace", option, "1"])
        assert f"{option} is called --{new} since 0.2" in capsys.readouterr().err


def samples(store):
    return [store.ticks(cell, 6) for cell in store.cells]


@pytest.mark.filterwarnings("ignore:case")
def test_a_store_of_version_0_1_is_read(tmp_path):
    """It holds all old names; samples of the same study in new names are the same bits."""
    out = tmp_path / "old"
    shutil.copytree(STORE, out)
    stored = jf.Store.open(out)
    text = stored.study.to_toml()
    for old in ('"work"', "within", "after = ", "synchronized", "fixed"):
        assert old in (STORE / "study.toml").read_text()
        assert old not in text.replace("exchanges_after = ", "")
    before = samples(stored)
    assert len(before) == 4
    renamed = parse_study(text)
    fresh = jf.run_study(renamed, tmp_path / "new", stream=io.StringIO())
    for mine, its in zip(samples(fresh), before, strict=True):
        assert mine.columns == its.columns
        np.testing.assert_array_equal(mine.values, its.values)
    # The same study in new names goes on from the stored records.
    records = {path.name: path.read_bytes() for path in (out / "records").iterdir()}
    jf.run_study(renamed, out, stream=io.StringIO())
    assert {path.name: path.read_bytes() for path in (out / "records").iterdir()} == records


def test_an_answer_of_version_0_1_is_compared(tmp_path):
    asked = {"compute_time": 1.0, "algorithm": {"kind": "butterfly", "exchanges_after": 1}}
    old = {"work": 1.0, "algorithm": {"kind": "butterfly", "after": 1}}
    (tmp_path / "x.json").write_text(json.dumps(old))
    assert check_out(tmp_path, "x", asked, force=False) == asked
    with pytest.raises(ValueError, match=r"another question \(its compute_time is"):
        check_out(tmp_path, "x", asked | {"compute_time": 2.0}, force=False)


def test_results_of_hsl09_of_version_0_1_are_read():
    mine = json.loads(hsl09._key([], 100))
    assert hsl09._is_key(json.dumps(["0.1.0", *mine]), [], 100)
    assert hsl09._is_key(json.dumps(mine), [], 100)
    assert not hsl09._is_key(json.dumps(["0.1.0", *mine]), [], 101)


def test_there_and_back():
    noise = [
        jf.RenewalNoise("1ms", "1us", shared=2),
        jf.PeriodicNoise("1ms", "1us", shared=2),
        jf.StepNoise("1us"),
    ]
    algorithm = jf.Butterfly(exchanges_after=1, copy_levels=[1])
    case = jf.Case(8, network=NETWORK, noise=noise, algorithm=algorithm, compute_time="1us")
    stored = to_stored(case.to_dict())
    assert [set(one) & {"shared", "synchronized"} for one in stored["noise"]] == [
        {"shared"}, {"synchronized"}, {"shared"},
    ]  # fmt: skip
    assert stored["noise"][2]["delay"]["kind"] == "fixed"
    assert from_stored(stored) == case.to_dict()


@pytest.mark.parametrize(
    ("family", "place"),
    [(jf.Algorithm, "algorithm"), (jf.Noise, "noise"), (jf.Network, "network")],
)
def test_no_name_of_today_is_an_old_one(family, place):
    """It would be taken for a new one where a store is read, which then could not be opened."""
    for kind in family.kinds():
        made = {"kind": kind, **{field.name: 1 for field in fields(family._kinds[kind])}}
        case = {place: [made] if place == "noise" else made}
        assert from_stored(case) == case
