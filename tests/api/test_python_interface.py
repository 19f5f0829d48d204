"""Python interface: names, help, repr, notebooks (HTML), pandas, xarray, pictures."""

import csv
import gc
import inspect
import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support import scale
from support.quick_pictures import quick_pictures
from support.scale import some

import jitterfly as jf
import jitterfly_papers as inference
from jitterfly import congestion, measured, stats

NETWORK = jf.LogGOPS(L="1us", o="0.1us", G="1ns", gamma="0.1ns")
NOISE = [jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")]
CASE = jf.Case(16, network=NETWORK, noise=NOISE, algorithm=jf.Butterfly(exchanges_after=1))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One of each kind of what a call gives back."""
    study = jf.Study(
        "small",
        case=CASE,
        axes=[jf.Axis("ranks", [4, 8, 16])],
        budget=jf.RealizationBudget(20, 20),
        seed=3,
    )
    out = tmp_path_factory.mktemp("out") / "small"
    asked = inference.BudgetQuestion(4096, "105us", "3.45us", "14us", rank="mean")
    curve = inference.Curve([2, 4, 8, 16], [5e-6, 11e-6, 18e-6, 26e-6], name="OSU barrier")
    around = congestion.CongestionCase(congestion.FatTree.of(144))
    return {
        "Result": jf.simulate(CASE, 50, seed=7, first_realization=3),
        "Store": jf.run_study(study, out, stream=io.StringIO()),
        "Advice": jf.advise([4, 8], network=NETWORK, noise=NOISE, realizations=64),
        "Fit": inference.fit(curve, rank="mean"),
        "Budget": inference.budget(asked),
        "CongestionResult": congestion.simulate_congestion(around, 20),
    }


KINDS = ["Result", "Store", "Advice", "Fit", "Budget", "CongestionResult"]


def test_an_import_loads_nothing_else():
    code = "import sys, jitterfly; print('numpy' in sys.modules, len(jitterfly.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", str(len(dir(jf)))]


IN_THREADS = """
import random, sys, threading
import jitterfly as jf
names = ["Case", "slowdown", "Study", "advise", "explain", "compare", "Hockney", "PeriodicNoise",
         "plots", "simulate", "run_study", "export", "stats", "theory", "measured", "noise_limit"]
random.Random(int(sys.argv[1])).shuffle(names)
sys.setswitchinterval(1e-5)
begin, errors = threading.Barrier(len(names)), []

def ask(name):
    begin.wait()
    try:
        getattr(jf, name)
    except Exception as error:
        errors.append(error)

threads = [threading.Thread(target=ask, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(errors)
"""


@pytest.mark.parametrize("seed", range(3))
def test_threads_may_be_the_first_to_ask(seed):
    """Modules import each other in circles: without a lock two of three orders of names failed."""
    command = [sys.executable, "-c", IN_THREADS, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "[]\n"


def test_a_module_and_a_name_that_needs_it_are_loaded_at_once():
    """The thread that imports the module does not wait for the one that has the lock."""
    code = (
        "import threading, jitterfly as jf\n"
        "threads = [threading.Thread(target=exec, args=(one, {'jf': jf})) for one in\n"
        "           ('import jitterfly.compare_measured', 'jf.compare_measured', 'jf.simulate',\n"
        "            'import jitterfly.simulate', 'import jitterfly.explain', 'jf.explain')]\n"
        "for one in threads: one.start()\n"
        "for one in threads: one.join()\n"
        "print(jf.compare_measured.__name__)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "compare_measured\n"


def test_a_function_stays_one_when_its_module_is_loaded():
    code = (
        "import jitterfly as jf, jitterfly.slowdown, jitterfly.simulate, jitterfly.explain\n"
        "from jitterfly import *\n"
        "print(all(map(callable, (jf.slowdown, jf.simulate, jf.explain, slowdown, advise))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_dir_has_what_is_public_only():
    assert dir(jf) == sorted(jf.__all__)
    assert dir(jf.imbalance) == sorted(jf.imbalance.__all__)
    assert not {"fields", "units", "compiled_steps", "_core", "program", "timeline"} & set(dir(jf))


def test_subpackages_are_there_without_an_import_of_their_own():
    names = {
        "measured.load": "load",
        "plots.draw": "jitterfly.plots.draw",
        "plots.maps": "jitterfly.plots.maps",
        "stats.mean": "mean",
        "theory.saturation": "saturation",
    }
    if not scale.FULL:  # to import matplotlib takes longer than all the others
        names = {name: found for name, found in names.items() if not name.startswith("plots")}
    code = (
        "import sys, jitterfly as jf; "
        "lazy = ('jitterfly.plots', 'jitterfly_papers', 'matplotlib', 'scipy', 'pandas'); "
        "print([name for name in lazy if name in sys.modules]); "
        f"print({', '.join(f'jf.{name}.__name__' for name in names)})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", " ".join(names.values())]
    assert jf.measured is measured
    with pytest.raises(AttributeError, match="module 'jitterfly' has no attribute 'plot'"):
        jf.plot  # noqa: B018


def test_help_of_advise_says_all():
    text = inspect.getdoc(jf.advise)
    parameters = text.partition("Parameters\n")[2].partition("Returns\n")[0].splitlines()
    for name in inspect.signature(jf.advise).parameters:
        at = next(i for i, line in enumerate(parameters) if line.startswith(f"{name} : "))
        assert parameters[at + 1].startswith("    ")  # and what it is
    assert "seconds" in text
    assert "bytes" in text
    for part in ("Returns", "Raises", "Examples"):
        assert f"{part}\n{'-' * len(part)}" in text


def test_one_quantile_is_one_estimate():
    x = np.arange(1000.0)
    alone = stats.quantiles(x, 0.99)
    assert isinstance(alone, stats.Estimate)
    (same,) = stats.quantiles(x, [0.99])
    assert (alone.value, alone.low, alone.high) == (same.value, same.low, same.high)
    assert [one.value for one in stats.quantiles(x, np.array([0.5, 0.9]))] == [499, 899]
    assert stats.quantiles(x, np.float64(0.5)).value == 499
    for wrong in (1.5, "0.5", None):
        with pytest.raises(ValueError, match="q must be between 0 and 1"):
            stats.quantiles(x, wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_repr_is_one_short_line(results, kind):
    text = repr(results[kind])
    assert text.startswith(f"{kind}(")
    assert len(text) < 350
    assert "\n" not in text


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_notebooks_show_numbers(results, kind):
    found = results[kind]._repr_html_()
    assert found.startswith(("<p>", "<pre>"))
    part = {
        "Result": "<td>T=1</td>", "Store": "<td>slowdown</td>", "Advice": "times the best",
        "Fit": "latency of a step", "Budget": "at most p = 0.08107",
    }[kind]  # fmt: skip
    assert part in found


def test_a_long_table_in_a_notebook_is_cut():
    case = jf.Case(2**14, network=NETWORK, algorithm=jf.Butterfly(exchanges_after=14), cycles=2)
    text = jf.simulate(case, 2)._repr_html_()
    assert text.count("<tr>") == 21
    assert "and 10 more: observations" in text


def test_a_store_that_nothing_was_run_for_shows_itself(tmp_path):
    axes = [jf.Axis("ranks", [4, 8])]
    study = jf.Study("none", case=CASE, axes=axes, budget=jf.RealizationBudget(max=9))
    with jf.Store.create(tmp_path / "none", study) as store:
        assert "0 cells" not in store._repr_html_()
        assert "<td>" not in store._repr_html_()
        shutil.rmtree(tmp_path / "none")
        assert "<td>" not in store._repr_html_()


def test_a_store_that_is_not_done_shows_so(tmp_path):
    budget = jf.RealizationBudget(max=40, min=20)
    study = jf.Study("half", case=CASE, axes=[jf.Axis("ranks", [4, 8])], budget=budget,
                     targets=["mean of completion ± 0.0001 %"])  # fmt: skip
    text = study.run()._repr_html_()
    assert "0 of 2 cells met the targets" in text
    assert "UNFINISHED" not in text
    with jf.Store.create(tmp_path / "out", study) as store:
        assert "UNFINISHED: 0 of 2 cells done" in store._repr_html_()


def test_compare_says_what_it_takes():
    result = jf.simulate(CASE, 2)
    match = r"compare takes stores or .*, got Result.* jf.stats.ratio"
    with pytest.raises(ValueError, match=match):
        jf.compare(result, result)
    with pytest.raises(ValueError, match="nodir holds no run"):
        jf.compare("nodir", "nodir")


def test_a_comparison_has_axes_as_a_store_has_them():
    variants = {"plain": {}, "forwards": {"algorithm.exchanges_after": 2}}
    axes = [jf.Axis("message_bytes", ["8", "64 KiB"]), jf.Axis("noise.0.duration", ["1us"])]
    study = jf.Study("axes", case=CASE, axes=axes, variants=variants,
                     budget=jf.RealizationBudget(max=9))  # fmt: skip
    store = study.run()
    found = jf.compare((store, "plain"), (store, "forwards"))
    with pytest.raises(ValueError, match="no variant 'x'; choose one as DIR:VARIANT"):
        jf.compare((store, "x"), (store, "plain"))
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [(row["message_bytes"], row["noise.0.duration"]) for row in rows] == [
        ("8", "1e-06"), ("65536", "1e-06"),
    ]  # fmt: skip
    assert "64 KiB" in "\n".join(found.lines())


def test_samples_of_a_part_say_so():
    budget = jf.RealizationBudget(max=300, raw_bytes=1000)
    store = jf.Study("part", case=CASE, budget=budget).run()
    (cell,) = store.cells
    (name, *_) = store.families(cell)
    observed = store.observed(cell, name)
    count = len(observed.samples)
    assert count < observed.realizations == 300
    assert f"samples of the first {count}" in repr(observed)


def test_a_study_that_comes_along_is_loaded_by_its_name():
    assert jf.load_study("ms12_fig12").name == "ms12_fig12"
    with pytest.raises(ValueError, match="no study of that name comes with jitterfly"):
        jf.load_study("ms12_fig99")


def test_a_column_of_a_table_may_be_samples():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([1e-6, 2e-6])
    assert jf.Empirical(samples=column).samples == (1e-6, 2e-6)


def test_all_figures_that_are_named_are_there():
    pytest.importorskip("matplotlib")
    from jitterfly.plots import draw

    assert {*draw.DRAWN_IN.values()} <= {*dir(jf.plots)}
    for name in dir(jf.plots):
        assert getattr(jf.plots, name).__name__ == f"jitterfly.plots.{name}"


def test_html_is_escaped():
    curve = inference.Curve([2, 4, 8], [5e-6, 11e-6, 18e-6], name="<script>")
    assert "<script>" not in inference.fit(curve, rank="mean")._repr_html_()


def test_a_result_as_a_table_of_pandas(results):
    pytest.importorskip("pandas")
    frame = results["Result"].to_pandas()
    rows = [line.split(",") for line in results["Result"].to_csv().splitlines()]
    assert rows[0] == ["realization", *frame.columns]
    assert [list(map(float, row[1:])) for row in rows[1:]] == frame.to_numpy().tolist()
    assert list(frame.columns) == ["T=0", "T=1"]
    assert list(frame.index) == list(range(3, 53))
    np.testing.assert_array_equal(frame.to_numpy(), results["Result"].samples)


@pytest.mark.parametrize("kind", ["Result", "Store", "Advice"])
def test_csv_is_text_and_a_file_where_one_is_named(results, kind, tmp_path):
    text = results[kind].to_csv(tmp_path / "x.csv")
    assert text.count("\n") > 3
    assert text == results[kind].to_csv() == (tmp_path / "x.csv").read_text()


def test_a_store_as_a_table_of_pandas(results):
    pytest.importorskip("pandas")
    frame = results["Store"].to_pandas()
    means = frame[(frame.observable == "slowdown") & (frame.statistic == "mean")]
    assert list(means.ranks) == [4, 8, 16]
    cell = results["Store"].cells[1]
    expected = results["Store"].estimate(cell, "slowdown", "mean")
    assert (means.value.iloc[1], means.low.iloc[1]) == (expected.value, expected.low)


def test_advice_and_a_fit_as_tables_of_pandas(results):
    pytest.importorskip("pandas")
    frame = results["Advice"].to_pandas()
    first = frame[frame.place == 1]
    assert list(first.candidate) == [cell.ranking[0].name for cell in results["Advice"].cells]
    values = [cell.ranking[0].value.value for cell in results["Advice"].cells]
    assert list(first.value_s) == values
    fitted = results["Fit"].to_pandas().set_index("parameter")
    assert fitted.loc["step", "value"] == results["Fit"].step.value
    assert not fitted.given.any()
    assert len(results["CongestionResult"].to_pandas()) == 20


@pytest.mark.parametrize("kind", some(KINDS[:-1], 1))
@quick_pictures
def test_pictures(results, kind, tmp_path):
    pytest.importorskip("matplotlib")
    figure = results[kind].plot(path=tmp_path / "picture.png")
    assert figure.axes
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"must end in \.png, \.pdf or \.svg"):
        results[kind].plot(path=tmp_path / "picture.word")


@quick_pictures
def test_a_store_draws_other_figures(results):
    pytest.importorskip("matplotlib")
    assert results["Store"].plot(kind="tail", observable="completion").axes
    with pytest.raises(ValueError, match=r"^kind must be one of"):
        results["Store"].plot(kind="nothing")


@quick_pictures
def test_the_path_of_a_picture_comes_first_everywhere(results, tmp_path):
    pytest.importorskip("matplotlib")
    for kind in some(("Result", "Store"), 1):
        assert results[kind].plot(tmp_path / f"{kind}.png").axes
        assert (tmp_path / f"{kind}.png").is_file()


@pytest.mark.parametrize(("name", "call"), [("pandas", "to_pandas"), ("matplotlib", "plot")])
@pytest.mark.parametrize("kind", ["Result", "Store", "Advice", "Fit"])
def test_a_missing_package_is_named(results, monkeypatch, kind, name, call):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=f"this needs {name} .*: pip install {name}$"):
        getattr(results[kind], call)()


@pytest.mark.parametrize("observe", ["completion", "rank 0", "spread", "rounds"])
@pytest.mark.parametrize("cycles", [1, 3])
@pytest.mark.parametrize("after", [0, 2])
def test_a_result_as_a_dataset_of_xarray(observe, cycles, after):
    """Each sample stands where its name says, with units; nothing is left over."""
    pytest.importorskip("xarray")
    butterfly = jf.Butterfly(exchanges_after=after)
    case = jf.Case(
        8, network=NETWORK, noise=NOISE, algorithm=butterfly, cycles=cycles, observe=observe
    )
    result = jf.simulate(case, 5, seed=3, first_realization=7)
    found = result.to_xarray()
    assert found.realization.values.tolist() == [7, 8, 9, 10, 11]
    assert (found.attrs["seed"], found.attrs["backend"]) == (3, result.backend)
    assert jf.Case.from_dict(json.loads(found.case)) == case
    times = found["ready_time" if observe == "rounds" else "completion"]
    assert (times.attrs["units"], found.noise_free.attrs["units"]) == ("s", "s")
    assert all(found[name].attrs["long_name"] for name in [*found.data_vars, *found.coords])
    inner = {"spread": ["over_ranks"], "rounds": ["step", "over_ranks"]}.get(observe, [])
    T = ["T"] if after and observe != "rounds" else []
    assert list(times.dims) == ["realization", "cycle", *T, *inner]
    for name, samples, quiet in zip(
        result.observations, result.samples.T, result.noise_free, strict=True
    ):
        name, _, over_ranks = name.partition(": ")
        parts = name.split(", ")
        at = {"over_ranks": over_ranks} if over_ranks else {}
        for part in parts:
            if part.startswith("cycle "):
                at["cycle"] = int(part.removeprefix("cycle "))
            elif part.startswith("T="):
                at["T"] = int(part.removeprefix("T="))
            elif observe == "rounds":
                at["step"] = part
        at.setdefault("cycle", 1)
        np.testing.assert_array_equal(times.sel(at), samples)
        assert found.noise_free.sel(at) == quiet
    assert int(np.isfinite(times).sum()) == result.samples.size


def test_a_study_runs_without_a_directory(tmp_path):
    """The samples are in a temporary one, which goes with the result."""
    pytest.importorskip("xarray")
    budget = jf.RealizationBudget(max=20)
    study = jf.Study("small", case=CASE, axes=[jf.Axis("ranks", [4, 8])], budget=budget, seed=3)
    found = study.run(stream=io.StringIO())
    kept = study.run(tmp_path / "out", stream=io.StringIO())
    assert found.to_xarray().equals(kept.to_xarray())
    assert found.to_xarray().sel(ranks=8).ranks.attrs["long_name"] == "ranks"
    assert found.to_pandas().equals(kept.to_pandas())
    for one in (found, kept):
        rows = one.to_csv().splitlines()
        assert rows[0].startswith("ranks,observable,unit")
        assert len(rows) == 1 + len(one.to_pandas())
    assert found.summary() == kept.summary()
    assert "Every mean has its 95 % interval" in found.summary(width=200)
    folder = found.path
    assert folder.is_dir()
    del found, one
    gc.collect()
    assert not folder.exists()


def test_what_is_public():
    """The common names are at the top; each kind of thing is whole in its namespace."""
    top = set(dir(jf))
    assert set(dir(jf.algorithms)) <= top
    assert set(dir(jf.distributions)) <= top
    assert set(dir(jf.noise)) <= top
    for name in ("algorithms", "congestion", "distributions", "noise", "stats"):
        module = getattr(jf, name)
        assert name in top
        assert dir(module) == sorted(module.__all__)
        assert all(getattr(module, each) is not None for each in module.__all__)
    for kind, module in ((jf.Noise, jf.noise), (jf.Algorithm, jf.algorithms),
                         (jf.Distribution, jf.distributions)):  # fmt: skip
        assert {each.__name__ for each in kind._kinds.values()} | {kind.__name__} <= set(
            module.__all__
        )


def test_arrays_without_dimensions_are_numbers():
    case = jf.Case(np.array(8), network=NETWORK, compute_time=np.array(1e-3))
    assert case == jf.Case(8, network=NETWORK, compute_time=1e-3)
    for bad in (np.array([1e-3]), np.array(True), np.array(-1.0), np.array(1, "m8[s]")):
        with pytest.raises(ValueError, match=r"^compute_time must be a time from 0 to .*, got arr"):
            jf.Case(8, network=NETWORK, compute_time=bad)
    x = range(10)
    assert stats.quantiles(x, np.array(0.5)).high == stats.quantiles(x, 0.5).high
    with pytest.raises(ValueError, match=r"^q must be between 0 and 1, got 5"):
        stats.quantiles(x, np.array(5))


def test_axes_have_a_hash():
    def made(*values):
        return [jf.Axis("ranks", values), jf.Axis("algorithm", [jf.Butterfly()]),
                jf.Axis("x", points={"a": {"ranks": 4, "noise.0.phases": [0, 1e-6]}})]  # fmt: skip

    assert {*made(4, 8), *made(4, 8)} == {*made(4, 8)}
    assert hash(made(4, 8)[0]) != hash(made(4, 16)[0])


def test_files_of_noise_may_be_paths(tmp_path):
    path = tmp_path / "a, period=1.noise"  # as text it would be keys and values
    found = measured.Measured((measured.Detours([10**6, 10**8], [10**5, 10**6], 10**9),), "")
    measured.noisefile.write(found, path)
    meant = jf.TraceNoise(file=str(path))
    late, network = tmp_path / "late.txt", CASE.network
    late.write_text("0 1e-6 0 2e-6")
    assert jf.TraceNoise(file=path) == meant
    assert jf.Empirical(file=path) == jf.Empirical(file=str(path))
    assert jf.imbalance.FileArrival(late) == jf.imbalance.FileArrival(str(late))
    for noise in (path, [path]):
        assert jf.Case(4, network=network, noise=noise).noise == (meant,)
        table = {"ranks": 4, "network": network.to_dict(), "noise": noise}
        assert jf.Case.from_dict(table).noise == (meant,)
        found = jf.slowdown(noise, 4, network=network, realizations=64)
        assert found.case.noise == (meant,)
        advice = jf.advise(4, network=network, noise=noise, realizations=64)
        assert advice.question.noise == (meant,)
        (tmp_path / "a.goal").write_text("num_ranks 1\nrank 0 {\na: calc 500000\n}")
        run = jf.simulate_schedule(tmp_path / "a.goal", "L=1us,o=200ns", noise, 4)
        assert run.noise == (meant,)
    for bad in (b"a.noise", [b"a.noise"], 5):
        with pytest.raises(ValueError, match=r"^noise must be a list of sources"):
            jf.Case(4, network=network, noise=bad)


def test_parts_of_a_case_may_be_text():
    given = {"arrival": "kind=one_late,delay=1ms,rank=3", "speed": "slow_ranks(factor=1.2,ranks=5)",
             "L_factor": "kind=slow_nodes,factor=4,node_ranks=2,nodes=1"}  # fmt: skip
    network = jf.LogGOPS(L="1us", o="200ns", gamma="1ns")
    case = jf.Case(8, network=network, **given)
    assert case.arrival == jf.imbalance.OneLate("1ms", rank=3)
    assert case.speed == jf.imbalance.SlowRanks(1.2, ranks=[5])
    assert case.L_factor == jf.imbalance.SlowNodes(4, node_ranks=2, nodes=[1])
    noise = "period=1ms,duration=25us"
    asked = {"network": network, "realizations": 10, "compute_time": "1us"}
    texts = jf.slowdown(noise, 8, **asked, **given)
    objects = {name: getattr(case, name) for name in given}
    assert texts.to_dict() == jf.slowdown(noise, 8, **asked, **objects).to_dict()
    for name, kind in {"arrival": "an Arrival", "speed": "a Speed", "G_factor": "a Speed"}.items():
        with pytest.raises(ValueError, match=rf"^{name} must be {kind} such as .* or text such as"):
            jf.slowdown(noise, 8, network=network, **{name: 5})
        with pytest.raises(ValueError, match=rf"^{name} must be {kind} such as .* or text such as"):
            jf.Case(8, network=network, **{name: 5})


def test_a_question_takes_the_names_that_its_command_takes():
    noise, asked = "period=1ms,duration=25us", {"network": "L=1us,o=200ns", "realizations": 10}
    same = [
        ("ring", jf.RingAllreduce()),
        ("ring_allgather", jf.RingAllgather()),
        ("double_binary_tree_allreduce", jf.DoubleBinaryTreeAllreduce(segment_bytes="512KiB")),
    ]
    for name, algorithm in same:
        found, meant = (
            jf.slowdown(noise, 8, algorithm=one, message_bytes="1MiB", **asked)
            for one in (name, algorithm)
        )
        assert found.to_dict() == meant.to_dict()
        found, meant = (
            jf.noise_limit("period=1ms,duration=max", 8, algorithm=one, at_most=1.1, **asked)
            for one in (name, algorithm)
        )
        assert found.to_dict() == meant.to_dict()
    with pytest.raises(ValueError, match=r"^algorithm .* 'rign' \(did you mean 'ring'\?\)$"):
        jf.slowdown(noise, 8, algorithm="rign", **asked)
    with pytest.raises(ValueError, match=r"^algorithm binomial is there for broadcast"):
        jf.slowdown(noise, 8, algorithm="binomial", **asked)
    named = jf.advise(8, noise=noise, candidates="ring, rabenseifner", **asked)
    assert {one.name for one in named.cells[0].ranking} == {"ring", "rabenseifner"}
    own = {"ring": jf.RingAllreduce()}
    with pytest.raises(ValueError, match="has a candidate 'ring' already: give yours"):
        jf.advise(8, noise=noise, own=own, **asked)


def test_an_answer_without_a_picture_says_so(monkeypatch):
    run = jf.Study("small", case=CASE, budget=jf.RealizationBudget(20, 20)).run()
    found = jf.compare(run, run)
    monkeypatch.setattr(type(found), "picture", "")  # all of ours have one
    with pytest.raises(ValueError, match="no picture of a Comparison"):
        found.plot()


def test_columns_of_numbers_are_numbers_in_pandas():
    pandas = pytest.importorskip("pandas")
    table = jf.slowdown(NOISE, [4, 8], network=NETWORK, realizations=20).to_pandas()
    assert table["p999_s"].isna().all()  # too few realizations
    numbers = [name for name in table if name.endswith("_s") or name in ("slowdown", "ranks")]
    assert all(pandas.api.types.is_numeric_dtype(table[name]) for name in numbers)


def test_the_first_of_a_cell_near_best_is_not_called_equal():
    noise = "period=1ms,duration=25us,start=stationary"
    asked = {"network": "L=1us,o=200ns,G=0.1ns", "noise": noise, "message_bytes": "64KiB"}
    names = ["recursive_doubling", "rabenseifner"]
    found = jf.advise(512, candidates=names, realizations=2000, **asked)
    cell = found.cell("512", "64KiB")
    assert cell is found.cell(512, 65536)
    assert cell.outcome == "near best"
    text = "\n".join(found.report())
    assert "near best, within 1 % (" in text
    assert "equal" not in text
