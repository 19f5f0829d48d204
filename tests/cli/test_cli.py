"""Command line: `run`, resume, `status`, `merge`, `export`, `compare`, full disk, Ctrl-C."""

import csv
import errno
import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from support.commands import error_of, last_error, run
from support.paths import EXAMPLES
from support.quick_pictures import quick_pictures
from support.scale import some
from support.small_study import STUDY

import jitterfly as jf
from jitterfly import extensions
from jitterfly.cli import main
from jitterfly.cli.parser import _COMMANDS, _parser, leaves
from jitterfly.fields import parameter


@pytest.fixture
def drawn_study(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def study(drawn_study, blank_pictures):
    """The same; what its picture shows does not matter."""
    return drawn_study


@quick_pictures
def test_run_writes_what_the_api_gives(drawn_study, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("run", drawn_study, "--out", out) == 0
    printed = capsys.readouterr()
    assert "A small study" in printed.out
    assert "M4 (MS12 Fig. 12)" in printed.out
    assert f"written to {out}" in printed.out
    assert "3/3 cells" in printed.err
    store = jf.Store.open(out)
    assert [cell.variants[0].case.ranks for cell in store.cells] == [4, 8, 16]
    for cell in store.cells:
        result = jf.simulate(cell.variants[0].case, realizations=40, seed=5)
        ticks = store.ticks(cell, 40)
        np.testing.assert_array_equal(ticks.values, result.ticks)
        assert [column.name for column in ticks.columns] == result.observations
    meta = json.loads((out / "store.json").read_text())
    assert meta["seed"] == 5
    assert meta["backend"] in (["cpu"], ["cuda"])
    assert meta["versions"]["jitterfly"] == jf.__version__
    assert (out / "study.toml").read_text() == STUDY
    assert (out / "small.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((out / "summary.csv").read_text().splitlines()))
    wanted = {"ranks": "16", "observable": "slowdown", "statistic": "mean"}
    (row,) = [row for row in rows if wanted.items() <= row.items()]
    mean = store.observed(store.cells[-1], "slowdown").mean()
    assert (float(row["value"]), float(row["low"])) == pytest.approx((mean.value, mean.low))
    assert row["realizations"] == "40"
    assert not list(out.rglob("*tmp"))


def test_the_study_that_is_kept_is_the_one_that_was_run(tmp_path, blank_pictures):
    full = "[full]\nrealizations = { max = 60 }\n"
    path = tmp_path / "small.toml"
    path.write_text(STUDY + full)
    runs = {
        "seed": (["--seed", "1003"], "seed 1003 in place of 5"),
        "target": (["--target", "mean of slowdown ± 50 %"], "other targets"),
        "count": (["--realizations", "20"], "other numbers of realizations"),
        "full": (["--full"], "the sizes of the table [full]"),
    }
    for name, (options, said) in runs.items():
        out = tmp_path / name
        assert main(["run", str(path), "--out", str(out), "-q", *options]) == 0
        assert (out / "study.toml").read_text().startswith("# The study as it was run: " + said)
        kept, store = jf.load_study(out / "study.toml"), jf.Store.open(out)
        again = jf.run_study(kept, tmp_path / f"{name} again")
        for mine, other in zip(store.cells, again.cells, strict=True):
            assert store.available(mine) == again.available(other)
            ticks = store.ticks(mine, 20).values
            np.testing.assert_array_equal(ticks, again.ticks(other, 20).values)
        # It goes on as before.
        assert main(["run", str(path), "--out", str(out), "-q", *options]) == 0
        assert (out / "study.toml").read_text() == store.study.text


@quick_pictures
def test_again_simulates_nothing(drawn_study, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    assert run("run", drawn_study, "--out", out) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr("jitterfly.Case.realize", None)
    assert run("run", drawn_study, "--out", out) == 0
    assert capsys.readouterr().out == first
    assert run("plot", out, "--out", tmp_path / "again.svg") == 0
    table = capsys.readouterr().out.rpartition("written")[0]
    assert run("plot", out, "--out", tmp_path / "nowhere" / "again.svg") == 2
    assert capsys.readouterr().out == table
    assert "<svg" in (tmp_path / "again.svg").read_text()


def test_another_run_is_refused_unless_forced(study, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("run", study, "--out", out) == 0
    capsys.readouterr()
    assert "seed 5, not 6" in error_of(capsys, "run", study, "--out", out, "--seed", "6")
    assert jf.Store.open(out).study.seed == 5
    assert run("run", study, "--out", out, "--seed", "6", "--force") == 0
    store = jf.Store.open(out)
    assert store.study.seed == 6
    cell = store.cells[0]
    np.testing.assert_array_equal(
        store.ticks(cell, 40).values, jf.simulate(cell.variants[0].case, 40, seed=6).ticks
    )


def test_more_realizations_extend(study, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert run("run", study, "--out", out) == 0
    counts, realize = [], jf.Case.realize
    monkeypatch.setattr(
        "jitterfly.Case.realize",
        lambda case, count, *others: counts.append(count) or realize(case, count, *others),
    )
    assert run("run", study, "--out", out, "--realizations", "100") == 0
    assert sum(counts) == 3 * 60
    store = jf.Store.open(out)
    cell = store.cells[1]
    result = jf.simulate(cell.variants[0].case, 100, seed=5)
    np.testing.assert_array_equal(store.ticks(cell, 100).values, result.ticks)


def test_target_and_status(study, tmp_path, capsys):
    out = tmp_path / "out"
    target = "mean of gain +- 500 %"
    assert run("run", study, "--out", out, "--realizations", "400", "--target", target) == 0
    capsys.readouterr()
    assert run("status", out) == 0
    printed = capsys.readouterr().out
    assert "3 of 3 cells finished" in printed
    assert "mean of gain: met" in printed or "mean of gain: not met" in printed
    assert run("status", out, "--open") == 0
    assert "3 of 3 cells finished" in capsys.readouterr().out


def test_a_merge_without_all_shards_says_so(study, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("run", study, "--out", out, "--shard", "2/3") == 0
    capsys.readouterr()
    assert run("merge", out) == 1
    told = capsys.readouterr()
    assert "1 of 3 cells finished" in told.out
    assert told.err == (
        "jitterfly: 2 of 3 cells are not finished: shard-1-of-3, shard-3-of-3 are missing\n"
    )
    assert run("run", study, "--out", out, "--shard", "1/3") == 0
    assert run("merge", out, out / "shard-1-of-3", out / "shard-2-of-3") == 1
    assert "shard-3-of-3 is missing" in capsys.readouterr().err
    assert run("run", study, "--out", out, "--shard", "3/3") == 0
    assert run("merge", out) == 0


def test_shards_merge_and_export(study, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("run", study, "--out", tmp_path / "whole") == 0
    for shard in ("1/2", "2/2"):
        assert run("run", study, "--out", out, "--shard", shard) == 0
    assert "jitterfly merge" in capsys.readouterr().out
    assert run("merge", out) == 0
    assert "3 of 3 cells finished" in capsys.readouterr().out
    assert (out / "summary.csv").read_bytes() == (tmp_path / "whole/summary.csv").read_bytes()
    for name in some(("x.csv", "x.nc", "x.zarr", "x.parquet"), 2):
        assert run("export", out, tmp_path / name) == 0
        assert (tmp_path / name).exists()
    capsys.readouterr()
    assert ".parquet; got 'x.docx'" in error_of(capsys, "export", out, tmp_path / "x.docx")
    assert "holds no shards" in error_of(capsys, "merge", tmp_path / "nothing")


def test_compare(study, tmp_path, capsys):
    a, b = tmp_path / "a", tmp_path / "b"
    assert run("run", study, "--out", a) == 0
    study.write_text(STUDY.replace("100ns", "10us"))
    assert run("run", study, "--out", b) == 0
    capsys.readouterr()
    assert run("compare", a, a) == 0
    printed = capsys.readouterr().out
    assert printed.count("no winner") == 3
    assert run("compare", a, b) == 0
    printed = capsys.readouterr().out
    # On 4 ranks noise met none of A's realizations: its mean has no interval, nor has the ratio.
    assert [line.split()[-1] for line in printed.splitlines()[5:8]] == ["winner", "A", "A"]
    assert "[?, ?]" in printed
    compared = jf.compare(a, jf.Store.open(b))
    assert printed.split() == " ".join(compared.report()).split()
    assert repr(compared) == "Comparison(3 rows: A wins 2, B wins 0)"
    table = compared.to_pandas()
    assert (table.mean_a < table.mean_b).all()
    assert table.winner.fillna("").tolist() == ["", "A", "A"]
    with pytest.raises(ValueError, match="no variant 'x'"):
        jf.compare((jf.Store.open(a), "x"), b)
    assert "no variant 'x'" in error_of(capsys, "compare", f"{a}:x", b)
    assert "no observable 'x'" in error_of(capsys, "compare", a, b, "--observable", "x")
    assert "must be a time" in error_of(capsys, "compare", a, b, "--observable", "gain")
    assert "holds no run" in error_of(capsys, "compare", a, tmp_path)
    recording = EXAMPLES / "vm.noise"
    told = error_of(capsys, "compare", recording, recording)
    assert "vm.noise is a file, and compare takes directories of runs" in told
    assert "by `jitterfly slowdown --noise FILE` of each" in told
    assert run("run", study, "--out", tmp_path / "c", "--seed", "6") == 0
    capsys.readouterr()
    assert "seed 5 and B has seed 6" in error_of(capsys, "compare", a, tmp_path / "c")


def test_foreign_directory_is_left_alone(study, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    assert "not empty" in error_of(capsys, "run", study, "--out", tmp_path / "mine")
    assert "is a file" in error_of(capsys, "run", study, "--out", study)
    assert sorted(p.name for p in (tmp_path / "mine").iterdir()) == ["notes.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "STUDY", "--realizations", "0"], "--realizations must be an integer from 1"),
        (["run", "STUDY", "--realizations", "many"], "--realizations must be an integer from 1"),
        (["run", "STUDY", "--seed", "-1"], "seed"),
        (["run", "STUDY", "--threads", "0"], "--threads must be an integer from 1"),
        (
            ["run", "STUDY", "--backend", "gup"],
            "invalid choice: 'gup'; choose from auto, cpu",
        ),
        (["run", "STUDY", "--full"], "no [full] table"),
        (["run", "STUDY", "--ou", "x"], "unrecognized arguments: --ou"),
        (
            ["run", "STUDY", "--out", "/proc/nowhere/x"],
            "/proc/nowhere/x: the directory of the run can not be made (No such file or directory)",
        ),
        (["run"], "required: STUDY.toml"),
        (["run", "STUDY", "--shard", "3/2"], "shard must be i/n with 1 <= i <= n"),
        (["run", "STUDY", "--workers", "0"], "workers must be an integer from 1"),
        (["run", "STUDY", "--workers", "mpi"], "mpiexec -n N python -m mpi4py.futures"),
        (["run", "STUDY", "--target", "mean of nothing ± 1 %"], "nothing"),
        (["status", "nowhere"], "nowhere holds no run"),
        (["export", "nowhere", "x.csv"], "nowhere holds no run"),
        (["compare", "nowhere", "nowhere"], "nowhere holds no run"),
        (["merge", "nowhere", "x"], "x"),
        (["reproduce", "--quick", "--only", "fig99"], "fig99"),
        ([], "required: COMMAND"),
        (["plot", "nowhere"], "nowhere holds no run"),
        (["run", "STUDY", "--threads", "1025"], "--threads must be an integer from 1 to 1024"),
        (["run", "STUDY", "--threads", "2", "--backend", "cuda"], "--threads is for the CPU"),
        (["plot", ".", "--out", "x.docx"], "holds no run"),
        (["trace", "--ranks", "12"], "--ranks must be a power of two from 1 to 128, got 12"),
        (["trace", "--ranks", "1024"], "--ranks must be a power of two from 1 to 128, got 1024"),
        (["trace", "--ranks", ""], "--ranks must be a power of two"),
        (["trace", "--copy-levels", ""], "--copy-levels must be all, none, or levels"),
        (["trace", "--network", ""], "--network must look like key=value"),
        (["trace", "--network", "8: L=0,o=0; L=1us,o=0"], "--network must be of one level"),
        (["trace", "--noise", "period=1us,period=2us"], "has the key 'period' twice"),
        (["trace", "--noise", "period=2ps,duration=1ps"], "at most 20000 noise intervals"),
        (["trace", "--noise", "period=2ns,duration=1.999ns"], "at most 20000 noise intervals"),
        (["trace", "--cycles", "100000"], "at most 20000 messages"),
        (["trace", "STUDY", "--at", "ranks=4", "--at", "ranks=8"], "gives ranks twice"),
        (["trace", "--ranks", "4", "--ranks", "8"], "--ranks is given twice: give it once"),
        (["run", "STUDY", "--seed=1", "--out", "x", "--seed", "2"], "--seed is given twice"),
        (
            ["trace", "--ranks", "4", "--copy-levels", "2"],
            "--copy-levels levels must be from 1 to 1",
        ),
        (["trace", "--noise", "period=1ms,len=1"], "unknown key 'len'"),
        (["trace", "--noise", "1ms"], "--noise must look like key=value"),
        *(
            (
                ["slowdown", "--ranks=8", "--noise", noise],
                "kind=congestion must have a network from a file",
            )
            for noise in ("kind=congestion", "kind=congestion,network=144")
        ),
        (["trace", "--realization", "last"], "--realization must be an integer"),
        (["trace", "--at", "ranks=4"], "give STUDY.toml"),
        (
            ["trace", "--bytes", "1kb"],
            "--bytes must be an integer from 0 to 2^62, such as 8, 8K or 1KiB",
        ),
        *(
            (
                ["slowdown", "--ranks", "4", "--noise", "period=1ms,duration=1us", "--bytes", size],
                "--bytes must be an integer from 1 to 2^62",
            )
            for size in ("0", "1e30", "1kb")
        ),
        *(
            (
                [*command, "--noise", "period=1ms,duration=1us", option, several],
                f"{option} must be one {what}, got '{several}': for several {what}s ask once for",
            )
            for command, option, what, several in (
                (["slowdown", "--ranks=4"], "--bytes", "size", "8,1MiB"),
                (["slowdown", "--ranks=4"], "--bytes", "size", "8..1MiB"),
                (["explain"], "--ranks", "number", "4,8"),
                (["slowdown", "--ranks=4"], "--cycles", "number", "1..4"),
            )
        ),
        (["trace", "STUDY", "--ranks", "4"], "--ranks and FILE.toml both"),
        (["trace", "STUDY", "--at", "rank=4"], "AXIS one of ranks"),
        (["trace", "STUDY", "--at", "ranks=64"], "--at ranks must be one of 4, 8, 16"),
    ],
)
def test_errors_are_one_line(study, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    arguments = [study if argument == "STUDY" else argument for argument in arguments]
    assert message in error_of(capsys, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.skipif(not jf._core.cuda_status(), reason="there is a CUDA device")
def test_no_device_stops_before_anything_is_made(study, tmp_path, capsys):
    error = error_of(capsys, "run", study, "--backend", "cuda", "--out", tmp_path / "out")
    assert "backend 'cuda' can not be used here" in error
    assert not (tmp_path / "out").exists()


def test_bad_cell_stops_before_anything_runs(study, tmp_path, capsys, monkeypatch):
    study.write_text(STUDY.replace("log2 = [2, 4]", "values = [4, 0]"))
    error = error_of(capsys, "run", study, "--out", tmp_path / "out")
    assert f"{study}: ranks must be an integer from 1 to 2^30, got 0 [at ranks=0]" in error
    assert not (tmp_path / "out").exists()


def test_cells_that_fail_at_the_end(study, tmp_path, capsys, monkeypatch):
    realize = jf.Case.realize

    def fail(case, *others):
        if case.ranks == 8:
            raise ValueError("no memory for this")
        return realize(case, *others)

    monkeypatch.setattr("jitterfly.Case.realize", fail)
    out = tmp_path / "out"
    assert run("run", study, "--out", out, "--on-error", "finish") == 1
    errors = capsys.readouterr().err
    assert "1 of 3 cells failed" in errors
    assert "ranks=8: no memory for this" in errors
    assert "Traceback" not in errors
    store = jf.Store.open(out)
    assert [store.available(cell) for cell in store.cells] == [40, 0, 40]
    assert "no memory" in last_error(capsys, "run", study, "--out", tmp_path / "other")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG])
def test_full_disk_of_a_run_says_what_is_kept(number, study, tmp_path, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(number, os.strerror(number), "some.jfr")

    monkeypatch.setattr("jitterfly.sweep.driver.CellRun.put", full)
    error = last_error(capsys, "run", study, "--out", tmp_path / "full")
    assert f"some.jfr: {os.strerror(number)}; 0 of " in error
    assert error.endswith("the same command goes on from there")


def test_full_disk(study, tmp_path, capsys, monkeypatch):
    write = os.write

    def no_space(file, data):
        if len(data) > 200:
            write(file, data[:100])
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr("os.write", no_space)
    error = last_error(capsys, "run", study, "--out", tmp_path / "out")
    assert "No space left on device" in error
    assert f"{tmp_path / 'out' / 'records'}/" in error
    monkeypatch.undo()
    assert run("run", study, "--out", tmp_path / "out") == 0


def test_info_and_version(capsys):
    assert run("info") == 0
    printed = capsys.readouterr().out
    assert f"jitterfly: {jf.__version__}" in printed
    assert "cuda: " in printed
    assert run("--version") == 0
    assert capsys.readouterr().out == f"jitterfly {jf.__version__}\n"


@pytest.mark.parametrize("module", ["parser", "run", "output"])
def test_interrupted_while_loading(monkeypatch, capsys, module):
    class Interrupt:
        def find_spec(self, name, *_):
            if name == f"jitterfly.cli.{module}":
                raise KeyboardInterrupt

    for name in ("parser", "run", "output"):
        monkeypatch.delitem(sys.modules, f"jitterfly.cli.{name}", raising=False)
        monkeypatch.delattr(f"jitterfly.cli.{name}", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupt(), *sys.meta_path])
    assert run("info") == 130
    assert capsys.readouterr().err == "jitterfly: stopped\n"


def test_a_broken_package_breaks_its_own_command_alone(monkeypatch, capsys):
    groups = {
        group: extensions._found(group) for group in (extensions.COMMANDS, extensions.FIGURES)
    }
    for name in ("mine", "network.mine"):
        broken = EntryPoint(name, "not_there.commands:add", extensions.COMMANDS)
        groups[extensions.COMMANDS] = groups[extensions.COMMANDS] | {name: broken}
    monkeypatch.setattr(extensions, "_found", groups.__getitem__)
    why = "which adds {}, can not be loaded (ModuleNotFoundError: No module named 'not_there')"
    for words, names in (["info"], {"mine", "network.mine"}), (["network", "-h"], {"network.mine"}):
        with pytest.warns(UserWarning, match="can not be loaded") as seen:
            assert run(*words) == 0
        assert {name for name in ("mine", "network.mine")
                for one in seen if why.format(name) in str(one.message)} == names  # fmt: skip
    capsys.readouterr()
    assert why.format("mine") in error_of(capsys, "mine")


def test_an_extension_may_have_an_option_of_one_letter(monkeypatch, capsys):
    def add(commands):
        parser = commands.add_parser("mine", help="of another package")
        parser.add_argument("-x", dest="extent", type=int)
        parser.set_defaults(run=lambda chosen: print(chosen.extent, parameter("extent", 3)))

    class Entry:
        load = staticmethod(lambda: add)

    groups = {extensions.COMMANDS: {"mine": Entry}, extensions.FIGURES: {}}
    monkeypatch.setattr(extensions, "_found", groups.__getitem__)
    assert run("mine", "-x", "2") == 0
    assert capsys.readouterr().out == "2 -x 3\n"
    assert run("--help") == 0
    assert "of another package" in capsys.readouterr().out


def test_of_one_command_there_is_no_other_parser():
    """The options of all commands take longer than what is done with them."""
    every = {words.split()[0] for words, _ in leaves(_parser())}
    for names, _ in _COMMANDS:
        for name in names:
            assert {words.split()[0] for words, _ in leaves(_parser(name))} == set(names) <= every
    assert {words.split()[0] for words, _ in leaves(_parser("info"))} == every


@pytest.mark.full_scale
def test_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "jitterfly", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"jitterfly {jf.__version__}\n"
