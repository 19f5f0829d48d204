"""Export of a store: xarray, NetCDF, Zarr, CSV, Parquet; full disk."""

import builtins
import csv
import io
import json
import math
import sys

import numpy as np
import pytest
from support.scale import crossed, full_scale
from support.small_store import STUDY, make, put, study, to_csv

import jitterfly as jf
from jitterfly import optional_packages
from jitterfly.answer import csv_text
from jitterfly.observables import STATISTICS
from jitterfly.results import Results
from jitterfly.results.figures import figure_kind
from jitterfly.store import Store, export, to_xarray
from jitterfly.studies import shown_labels

xr = pytest.importorskip("xarray")
pytest.importorskip("netCDF4")
pytest.importorskip("zarr")
pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

TARGETS = 'targets = ["mean of completion ± 3 %", "p99.5 of gain ± 40 % at 90 %"]\n'
PRECISE = TARGETS + STUDY.replace("max = 200", "max = 9000, raw_bytes = 32000")
BEST = STUDY.replace("after = 1", 'after = "all"').replace("T = 1", 'T = "best"')
POINTS = STUDY.replace(
    'path = "noise.0.duration"\nvalues = ["1us", "10us"]',
    'points.short = { "noise.0.duration" = "1us" }\npoints.long = { "noise.0.duration" = "2us" }',
)
DERIVED = STUDY.replace(
    '[axes.duration]\npath = "noise.0.duration"\nvalues = ["1us", "10us"]',
    '[axes."T_comm / D"]\nderived = "T_comm / D"\nby = "noise.0.duration"\nvalues = [0.1, 0.25]',
)
DURATION = '[axes.duration]\npath = "noise.0.duration"\nvalues = ["1us", "10us"]'
FIXED = STUDY.replace('"100us"', '"100us", duration = "1us"')
BEGIN = FIXED.replace(DURATION, '[axes.begin]\npath = "noise.0.begin"\nvalues = ["1ms", "2ms"]')
GAMMA = FIXED.replace(', gamma = "0.1ns"', "").replace(
    DURATION, '[axes.gamma]\npath = "network.gamma"\nvalues = ["1ns", "2ns"]'
)
BYTES = FIXED.replace(DURATION, '[axes.message_bytes]\nvalues = ["1K", 7]')


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def test_a_number_for_a_distribution_is_a_number():
    base = {
        "network": {"kind": "loggops", "L": "1us", "o": "200ns"},
        "compute_time": "1ms",
        "noise": [
            jf.SpeedNoise(factor=1.5),
            jf.StepNoise(delay="1us"),
            jf.RenewalNoise(gap="1ms", duration="2us"),
        ],
    }
    for path, values, numbers, unit in (
        ("noise.0.factor", [1.02, 1.05], [1.02, 1.05], "1"),
        ("noise.1.delay", ["1us", "3us"], [1e-6, 3e-6], "s"),
        ("noise.2.gap", ["1ms", 0.002], [1e-3, 2e-3], "s"),
        ("noise.1.delay", [jf.Exponential("1us"), jf.Exponential("3us")], None, None),
    ):
        parts = {"noise": [noise.to_dict() for noise in base["noise"]]}
        del parts["noise"][int(path[6])][path[8:]]
        study = jf.Study(
            "numbers",
            case=base | parts,
            axes=[jf.Axis("ranks", [4, 8]), jf.Axis(path, values)],
            budget=jf.RealizationBudget(max=10),
        )
        found = study.run(stream=io.StringIO()).to_xarray()
        if numbers is None:
            assert found[path].dtype.kind == "U"
            continue
        assert found[path].values.tolist() == numbers
        assert found[path].attrs["units"] == unit
        assert found.estimate.sel({path: numbers[1]}).sizes["ranks"] == 2
        assert figure_kind(study) == "maps"


def test_labels_and_units(out):
    store = make(out)
    found = to_xarray(store)
    assert dict(found.sizes) == {"ranks": 2, "duration": 2, "observable": 2, "statistic": 11}
    assert found.estimate.dims == ("ranks", "duration", "observable", "statistic")
    assert found.ranks.values.tolist() == [4, 8]
    assert found.duration.values.tolist() == [1e-6, 1e-5]
    assert found.duration.attrs["units"] == "s"
    assert found.ranks.attrs["units"] == "1"
    assert found.unit.sel(observable=["completion", "gain"]).values.tolist() == ["s", ""]
    assert found.statistic.values.tolist() == [*STATISTICS, "win probability"]
    assert found.attrs["title"] == "A small study"
    assert found.attrs["source"] == "Nobody 2024"
    assert (found.attrs["seed"], found.attrs["stream"], found.attrs["confidence"]) == (5, 3, 0.95)
    assert "numpy" in found.attrs["versions"]
    for bound in (found.estimate, found.low, found.high):  # of a time and of a ratio
        assert "units" not in bound.attrs
        assert "`unit`" in bound.attrs["comment"]
    assert found.attrs["comment"] == "times are in seconds"
    assert "units" not in found.attrs
    assert (found.realizations == 200).all()
    text = repr(found)
    assert "estimate" in text
    assert len(text.splitlines()) < 45
    assert max(map(len, text.splitlines())) < 120


def test_values_are_those_of_the_store(out):
    store = make(out, study(PRECISE))
    found = to_xarray(store)
    for cell in store.cells:
        here = found.sel(cell.coordinates)
        assert int(here.realizations) == store.decision(cell).realizations
        for name in ("completion", "gain"):
            for statistic in ("mean", "p50", "p99.5", "min"):
                numbers = here.sel(observable=name, statistic=statistic)
                estimate = store.estimate(cell, name, statistic)
                np.testing.assert_array_equal(
                    [numbers.estimate, numbers.low, numbers.high],
                    [estimate.value, estimate.low, estimate.high],
                )
        for state in store.decision(cell).states:
            target = here.sel(target=str(state.target))
            assert (bool(target.met), float(target.target_error)) == (state.met, state.error)
    mean = found.sel(statistic="mean")
    assert (mean.low < mean.estimate).all()
    assert (mean.relative_error < 1).all()
    assert found.isel(ranks=0, duration=0).sel(
        observable="completion", statistic="p99.99"
    ).high == np.inf  # too few realizations, and it says so  # fmt: skip


def test_one_unit_is_said_at_the_variables(out):
    text = STUDY.partition("[observables.gain]")[0]
    found = to_xarray(make(out, study(text)))
    assert found.estimate.attrs["units"] == found.high.attrs["units"] == "s"
    assert "comment" not in found.estimate.attrs
    assert "win probability" not in found.statistic


def test_cycles_are_a_coordinate(out):
    """So that nobody has to take the names of observables apart."""
    text = STUDY.replace("[case]\n", "[case]\ncycles = 4\n").partition("[observables.gain]")[0]
    text += '[observables.each]\nkind = "cycle_time"\ncycle = "each"\n'
    found = to_xarray(make(out, study(text)))
    assert np.isnan(found.cycle.sel(observable="completion"))
    each = found.where(found.cycle > 0, drop=True).swap_dims(observable="cycle")
    assert each.cycle.values.tolist() == [1, 2, 3, 4]
    one = found.sel(observable="each, cycle 3")
    np.testing.assert_array_equal(each.estimate.sel(cycle=3), one.estimate)


@pytest.mark.parametrize(
    ("text", "name", "values", "units"),
    [
        (POINTS, "duration", ["short", "long"], None),
        (DERIVED, "T_comm / D", [0.1, 0.25], "1"),
        full_scale(BEGIN, "begin", [0.001, 0.002], "s"),
        full_scale(GAMMA, "gamma", [1e-9, 2e-9], "s/B"),
        (BYTES, "message_bytes", [1024, 7], "B"),
    ],
)
def test_axes(out, text, name, values, units):
    store = make(out, study(text))
    found = to_xarray(store)
    assert found[name].values.tolist() == values
    assert found[name].attrs.get("units") == units
    for suffix in (".nc", ".zarr", ".csv", ".parquet"):
        export(store, out.with_suffix(suffix))
    renamed = name.replace(" / ", " per ")
    with xr.open_dataset(out.with_suffix(".nc")) as read:
        assert read[renamed].values.tolist() == values
    table = pandas.read_parquet(out.with_suffix(".parquet"))
    assert list(dict.fromkeys(table[name])) == values


def test_a_derived_axis_with_the_name_of_a_field_is_told_by_its_ratio(out):
    store = make(out, study(DERIVED.replace('axes."T_comm / D"', "axes.duration")))
    assert to_xarray(store).duration.attrs["long_name"] == "T_comm / D"
    assert shown_labels(store.study, store.cells[0]) == ("4", "0.1 (T_comm / D)")
    assert Results(store).cells[0].name == "ranks=4, duration=0.1 (T_comm / D)"


def test_without_axes(out):
    """One cell: each variable has the dimensions that are left."""
    head, axes = STUDY.split("[axes.ranks]")
    text = head.replace("[case]", "[case]\nranks = 4").replace(
        '"100us"', '"100us", duration = "1us"'
    )
    store = make(out, study(f"{text}[observables{axes.partition('[observables')[2]}"))
    found = to_xarray(store)
    assert found.estimate.dims == ("observable", "statistic")
    assert found.realizations.dims == ()
    assert int(found.realizations) == 200
    mean = store.estimate(store.cells[0], "gain", "mean")
    assert float(found.estimate.sel(observable="gain", statistic="mean")) == mean.value
    for suffix in (".nc", ".zarr", ".csv", ".parquet"):
        export(store, out.with_suffix(suffix))
    with xr.open_dataset(out.with_suffix(".nc")) as read:
        xr.testing.assert_identical(read.load(), found)
    assert len(pandas.read_parquet(out.with_suffix(".parquet"))) == 10 + 11


def test_what_is_missing_is_nan(out):
    """A cell that was not run, and an observable that only some cells have."""
    described = study(text=STUDY.replace("after = 1", 'after = "all"').replace("T = 1", "T = 3"))
    store = make(out, described, (0, 1, 2))
    found = to_xarray(store)
    assert found.realizations.values.tolist() == [[200, 200], [200, 0]]
    gain = found.estimate.sel(observable="gain", statistic="mean")
    assert np.isnan(gain.values).tolist() == [[True, True], [False, True]]
    assert found.estimate.sel(observable="completion", statistic="mean").notnull().sum() == 3
    assert found.exact.sel(observable="gain").values.tolist() == [[False, False], [True, False]]
    assert found.exact.sel(observable="completion").sum() == 3
    assert found.chosen_T.isnull().all()
    assert len(list(csv.reader(io.StringIO(to_csv(store))))) == 1 + 3 * 10 + 11


def test_a_run_that_is_under_way(out):
    with Store.create(out, study(PRECISE)) as store:
        put(store, store.cells[0], 0, 70)
        found = to_xarray(store)
        assert found.realizations.values.tolist() == [
            [store.decision(store.cells[0]).realizations, 0], [0, 0],
        ]  # fmt: skip
        assert not found.met.any()
        assert not found.complete.any()
        assert found.target_error.isel(ranks=1).isnull().all()
        export(store, out / "part.nc")


def test_nothing_yet(out):
    with Store.create(out, study()) as store:
        found = to_xarray(store)
        assert found.estimate.isnull().all()
        assert to_csv(store).count("\n") == 1
        for suffix in ("nc", "zarr", "csv", "parquet"):
            export(store, out / f"nothing.{suffix}")


@pytest.mark.parametrize("seed", [full_scale(7), 2**64 - 1])
@pytest.mark.parametrize(("suffix", "text"), crossed([".nc", ".zarr"], [PRECISE, BEST]))
def test_datasets_read_back(out, suffix, text, seed):
    store = make(out, study(text, "seed = 5", f"seed = {seed}"))
    path = out.with_suffix(suffix)
    for _ in range(2):  # the second time it replaces the first
        export(store, path)
    opened = xr.open_dataset(path) if suffix == ".nc" else xr.open_zarr(path)
    with opened as read:
        wanted = to_xarray(store)
        xr.testing.assert_identical(read.load(), wanted)
        assert {key: value.dtype.kind for key, value in read.data_vars.items()} == {
            key: value.dtype.kind for key, value in wanted.data_vars.items()
        }
    assert not list(out.parent.glob("*tmp"))


def test_tables_read_back(out):
    store = make(out, study(PRECISE))
    export(store, out.with_suffix(".csv"))
    export(store, out.with_suffix(".parquet"))
    with out.with_suffix(".csv").open() as file:
        by_csv = list(csv.DictReader(file))
    by_parquet = pandas.read_parquet(out.with_suffix(".parquet"))
    assert list(by_csv[0]) == list(by_parquet.columns) == [
        "ranks", "duration", "observable", "unit", "chosen_T", "statistic", "value", "low", "high",
        "confidence", "realizations", "exact", "met", "complete", "seed", "version",
    ]  # fmt: skip
    assert len(by_csv) == len(by_parquet) == 4 * (11 + 12 + 1)  # p99.5 of gain at 90 %, too
    for name in by_csv[0]:
        column = by_parquet[name]
        words = [row[name] for row in by_csv]
        if column.dtype.kind == "f":
            np.testing.assert_array_equal([float(word or "nan") for word in words], column)
        else:
            assert words == ["" if missing else str(value) for value, missing in
                             zip(column, column.isna(), strict=True)]  # fmt: skip
    found = to_xarray(store)
    for row in by_parquet[by_parquet.confidence == 0.95].to_dict("records"):
        cell = found.sel(
            {key: row[key] for key in ("ranks", "duration", "observable", "statistic")}
        )
        np.testing.assert_array_equal(
            [cell.estimate, cell.low, cell.high], [row["value"], row["low"], row["high"]]
        )
        assert row["realizations"] == cell.realizations
        assert row["exact"] == cell.exact
        assert row["met"] == cell.met.all()
    assert set(by_parquet.confidence) == {0.95, 0.9}
    assert not by_parquet.exact.any()
    assert math.inf in by_parquet.high.tolist()


def test_no_text_in_csv_is_a_formula(out):
    """Of an axis and its values; numbers below 0 stay numbers."""
    names = ["=1+1", "+cmd|x", "-x", "@SUM(A1)", "'=1", "it's", "\tx", "plain"]
    points = "".join(
        f'points.{json.dumps(name)} = {{ "noise.0.duration" = "{i + 1}us" }}\n'
        for i, name in enumerate(names)
    )
    text = STUDY.replace(DURATION, f'[axes."+axis"]\n{points}')
    store = make(out, study(text))
    rows = list(csv.reader(io.StringIO(to_csv(store))))
    for row in rows:
        for field in row:
            assert field[:1] not in ("=", "+", "@", "\t", "\r"), field
            assert field[:1] != "-" or float(field) < 0
    table = optional_packages.from_csv(to_csv(store))
    assert list(table) == [*store.to_pandas(), "seed", "version"]
    for name in ("+axis", "observable"):
        assert table[name].tolist() == store.to_pandas()[name].tolist()
    assert set(table["+axis"]) == set(names)
    answer = csv_text([["name", "value"], *([name, -1.5] for name in names)])
    assert optional_packages.from_csv(answer)["name"].tolist() == names
    assert optional_packages.from_csv(answer)["value"].tolist() == [-1.5] * len(names)


def test_the_chosen_T_is_told(out):
    store = make(out, study(BEST + '[observables.optimal]\nkind = "optimal_T"\n'))
    found = to_xarray(store).chosen_T
    assert found.dims == ("ranks", "duration", "observable")
    assert found.sel(observable="completion").isnull().all()
    for cell in store.cells:
        T = store.observed(cell, "gain").T
        assert found.sel(cell.coordinates).sel(observable="gain") == T
    rows = list(csv.DictReader(io.StringIO(to_csv(store))))
    told = {row["chosen_T"] for row in rows if row["observable"] == "gain" and row["ranks"] == "8"}
    assert told <= {"1", "2", "3"}
    assert len(told) <= 2  # one for each duration
    assert "the T with the smallest mean (chosen_T in CSV)" in " ".join(store.summary().split())
    # An optimal T is the value of its rows, which may be another one.
    others = [row for row in rows if row["observable"] in ("completion", "optimal")]
    assert {row["chosen_T"] for row in others} == {""}


@pytest.mark.parametrize("name", ["out.txt", "out", "out.nc.gz"])
def test_other_endings(out, name):
    with pytest.raises(ValueError, match=r"export must be to .nc, .zarr, .csv, .parquet; got"):
        export(make(out), out.with_name(name))


def test_nothing_else_is_replaced(out):
    store = make(out)
    folder = out.with_name("thesis.zarr")
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match="is there and is no zarr group; choose another name"):
        export(store, folder)
    folder.rename(out.with_name("thesis.csv"))
    with pytest.raises(ValueError, match=r"export must be to a file, and .* is a directory"):
        export(store, out.with_name("thesis.csv"))


@pytest.mark.parametrize("suffix", [".nc", ".zarr", ".csv", ".parquet"])
def test_what_can_not_be_written_names_the_file(out, suffix):
    path = out.with_name("no") / f"a{suffix}"
    with pytest.raises(OSError, match="No such file") as caught:
        export(make(out), path)
    assert caught.value.filename == str(path)


def test_a_full_disk_is_named_with_what_is_free(out, monkeypatch):
    """The library of NetCDF has no words for it."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")

    def full(*_, **__):
        raise RuntimeError("NetCDF: HDF error")

    monkeypatch.setattr(xarray.Dataset, "to_netcdf", full)
    path = out.with_name("a.nc")
    with pytest.raises(OSError, match=r"NetCDF: HDF error; .* are free there") as caught:
        export(make(out), path)
    assert caught.value.filename == str(path)


@pytest.mark.parametrize(
    ("suffix", "package"),
    [(".nc", "xarray"), (".nc", "netCDF4"), (".zarr", "zarr"), (".parquet", "pandas"),
     (".parquet", "pyarrow")],
)  # fmt: skip
def test_missing_packages(out, monkeypatch, suffix, package):
    def missing(name, *rest):
        if name == package:
            raise ImportError(f"No module named '{name}'")
        return real(name, *rest)

    real = optional_packages.import_module
    store = make(out)
    with monkeypatch.context() as patch:
        patch.setattr(optional_packages, "import_module", missing)
        with pytest.raises(ValueError, match=rf"needs {package} .*: pip install {package}$"):
            export(store, out.with_suffix(suffix))
    assert not out.with_suffix(suffix).exists()


def test_csv_needs_no_package(out, monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.partition(".")[0] in ("pandas", "xarray", "pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    for name in [n for n in sys.modules if n.partition(".")[0] in ("pandas", "xarray", "pyarrow")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", missing)
    export(make(out), out.with_suffix(".csv"))


@pytest.mark.parametrize("path", ["algorithm", "algorithm.kind"])
def test_the_base_case_has_no_algorithm_that_an_axis_sets(path):
    case = jf.Case(8, network="L=1us,o=200ns", algorithm=jf.RingAllreduce())
    kinds = ["ring_allreduce", "recursive_doubling_allreduce"]
    budget = jf.RealizationBudget(max=1)
    store = jf.Study("kinds", case=case, axes=[jf.Axis(path, kinds)], budget=budget).run()
    assert "kind" not in json.loads(store.to_xarray().attrs["case"]).get("algorithm", {})


def test_files_say_how_to_get_their_numbers_again(out, tmp_path):
    """Seed and version in each row of tables; the base case in the attributes of a dataset."""
    store = make(out)
    for name in ("x.csv", "x.parquet", "x.nc"):
        export(out, tmp_path / name)  # a directory, in place of a store
    store.to_csv(tmp_path / "y.csv")
    for rows in (pandas.read_csv(tmp_path / "x.csv"), pandas.read_csv(tmp_path / "y.csv"),
                 pandas.read_parquet(tmp_path / "x.parquet")):  # fmt: skip
        assert set(rows.seed) == {5}
        assert set(rows.version) == {jf.__version__}
        assert list(rows.columns[-2:]) == ["seed", "version"]
    with xr.open_dataset(tmp_path / "x.nc") as found:
        case = json.loads(found.attrs["case"])
        assert set(json.loads(found.attrs["variants"])) == {p.label for p in store.study.variants}
    assert case["network"]["kind"] == "hockney"
    assert case["noise"][0]["kind"] == "periodic"
    assert case["algorithm"]["kind"] == "butterfly"
    for what, said in ((3, "store must be a Store or its directory"), ("none", "holds no run")):
        with pytest.raises(ValueError, match=said):
            export(what, tmp_path / "x.csv")


def test_no_axis_may_have_the_name_of_a_column(out):
    text = TARGETS + STUDY
    store = make(out, study(text))
    header = to_csv(store).splitlines()[0].split(",")
    taken = {*header, *map(str, to_xarray(store).variables)} - {"ranks", "duration"}
    assert {"seed", "version", "target_error", "unit"} < taken
    for name in taken:
        with pytest.raises(ValueError, match=f"axes.{name}: tables of results have a column of"):
            study(text, "[axes.ranks]", f'[axes.{name}]\npath = "ranks"')


def test_long_lists_in_attributes_are_told_by_a_digest():
    delay = jf.Empirical(samples=np.arange(1000) * 1e-9)
    case = jf.Case(4, network=jf.LogGOPS(L="1us", o="1us"), noise=[jf.StepNoise(delay)])
    study = jf.Study("long", case=case, budget=jf.RealizationBudget(max=10))
    attributes = study.run(stream=io.StringIO()).to_xarray().attrs
    told = json.loads(attributes["case"])["noise"][0]["delay"]["samples"]
    assert (told["values"], len(told["sha256"])) == (1000, 64)
