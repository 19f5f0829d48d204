"""Larger machines predicted from smaller ones: files of runs, the table, and the page's figures."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT

import jitterfly as jf
from jitterfly_papers import machines

STORED: Path = ROOT / "docs" / "data" / "measured_machines.csv"
NAME = "toy_00{ranks}ranks_32B_ring_ompi.txt.gz"
OWN_TIMES = "toy_0016ranks_16B_dissemination_mpi.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of a made-up machine on 16 and 32 ranks, and files that are none."""
    folder = tmp_path_factory.mktemp("runs")
    noise = jf.RenewalNoise(gap="20ms", duration=jf.Exponential("25us"))
    rng = np.random.default_rng(3)
    for ranks in (16, 32):
        case = jf.Case(ranks, algorithm=jf.RingAllreduce(), message_bytes=32, noise=[noise],
                       network=jf.LogGOPS(L="1us", o="200ns", G="0.04ns"))  # fmt: skip
        times = jf.simulate(case, 4000, seed=ranks).samples[:, 0] + rng.normal(0, 1e-7, 4000)
        with gzip.open(folder / NAME.format(ranks=ranks), "wt") as out:
            out.write("".join(f"{round(1e9 * time)}\n" for time in times))
    (folder / "toy_0016ranks_32B_default_ompi.txt").write_text("1\n2\n")  # no algorithm is said
    (folder / "README.md").write_text("none\n")
    return folder


def test_a_larger_machine_is_predicted_by_the_smaller_one(folder, tmp_path):
    rows = machines.predict_runs(machines.find_runs(folder), realizations=5000)
    assert [row.what for row in rows[:5]] == list(machines.NUMBERS)
    for row in rows:
        assert (row.machine, row.ranks, row.to, row.message_bytes) == ("toy", 16, 32, 32)
        assert row.iterations == 4000
        assert not row.warnings
        if row.what in machines.NUMBERS[:4]:
            assert row.verdict == "not told apart"
            assert row.ratio == pytest.approx(1, abs=0.1)
    assert rows[0].distance < 0.05
    # The made-up network is the one that is assumed: it takes as long there as was measured.
    assert rows[0].base_ratio == pytest.approx(1, abs=0.02)
    file = tmp_path / "rows.csv"
    machines.write_rows(rows, file)
    again = machines.read_rows(file)
    assert machines.markdown(again) == machines.markdown(rows)
    assert len(again) == len(rows)
    assert machines.summary(rows).splitlines()[0] == (
        "Of the 1 runs without a warning: mean within 5 % in 1, p90 within 10 % in 1, "
        "p99 within 25 % in 1."
    )
    line = machines.markdown(rows).splitlines()[2]
    assert line.startswith("| Toy, ring, 32 B (ompi) | 16 to 32 | 1.0")


def test_what_the_prediction_does_not_tell_stands_in_parentheses():
    """The ends of its own interval decide, whatever was measured."""
    stored = machines.read_rows(STORED)
    run = [
        row._replace(
            predicted=1.0,
            predicted_low=0.96,
            predicted_high=1.06,
            measured=1.0,
            verdict="not told apart",
        )
        for row in stored[:5]
    ]
    [line] = machines.markdown(run).splitlines()[2:]
    assert "| (1.00) | 1.00 | 1.00 | 1.00 | 1.00 |" in line  # 6 % are too wide for a mean alone
    run = [row._replace(predicted_low=0.7, predicted_high=np.inf, warnings="") for row in run]
    [line] = machines.markdown(run).splitlines()[2:]
    assert "| (1.00) | 1.00 | (1.00) | (1.00) | 1.00 |" in line
    assert machines.summary(run).splitlines()[-2] == (
        "Of the numbers without parentheses there, as near: mean in 0 of 0, p90 in 0 of 0, "
        "p99 in 0 of 0."
    )


def test_a_number_may_be_near_to_what_was_measured_badly():
    """A p99 of 2,000 iterations is twenty of them: its own interval says how far it may be off."""
    stored = machines.read_rows(STORED)[:5]
    narrow = {"predicted": 1.0, "predicted_low": 0.99, "predicted_high": 1.01, "warnings": ""}
    for low, high, near in ((0.7, 2.0, 1), (1.4, 2.0, 0), (0.7, 0.79, 0), (0.7, 0.81, 1)):
        run = [
            row._replace(**narrow, measured=0.7, measured_low=low, measured_high=high)
            for row in stored
        ]
        told, may_be = machines.summary(run).splitlines()[-2:]
        assert told.endswith("p99 in 0 of 1.")
        assert may_be.startswith("Near to a number within the measured interval: ")
        assert may_be.endswith(f"p99 in {near} of 1.")


def test_the_command_writes_table_and_picture(folder, tmp_path, capsys, monkeypatch):
    rows = machines.predict_runs(machines.find_runs(folder), realizations=1000)
    monkeypatch.setattr(machines, "predict_runs", lambda runs: rows)
    table, picture = tmp_path / "t.csv", tmp_path / "p.png"
    capsys.readouterr()
    assert machines.main([str(folder), str(table), str(picture)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(machines.markdown(rows))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert machines.main([str(table)]) == 0
    assert capsys.readouterr().out == printed


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Runs of a made-up machine on 4 and 16 ranks, and what Netgauge recorded on a node of it.

    A tick of 8 us comes each ms. The ping-pong takes twice as long as messages of the pattern.
    """
    folder = tmp_path_factory.mktemp("recorded")
    detours = "".join(f"{1e6 * i:.2f}\t8000.00\n" for i in range(3000))
    (folder / "toy_noise.out").write_text(
        "# Benchmark Method: selfish\n# Minimal cycle length [ns]: 28.0\n"
        f"# Threshold: [% minimal cycle length]: 900\n# Time [ns]\tselfish duration [ns]\n{detours}"
    )
    (folder / "toy_loggp.out").write_text(
        "# size n PRTT(1,0,s) PRTT(n,0,s) PRTT(n,PRTT(1,0,s),s) L o_s o_r g G lsqu(g,G)\n"
        "1 10 8.0 12.0 90.0 4.0 1.0 1.0 -nan -nan -nan\n"
        "1025 10 9.0 14.0 99.0 4.0 1.0 1.0 0.5 0.0003 -nan\n"
    )
    tick = jf.PeriodicNoise("1ms", "8us", start="stationary")
    for ranks in (4, 16):
        case = jf.Case(ranks, algorithm="dissemination_barrier", message_bytes=16, noise=[tick],
                       network=jf.LogGOPS(L="1us", o="500ns"), barrier="dissemination_barrier",
                       observe="own")  # fmt: skip
        longest = jf.simulate(case, 2000, seed=ranks).samples[:, -3] * 1e6
        lines = (f"16 {' '.join([f'{time:.6f}'] + (ranks - 1) * ['3.000000'])}\n"
                 for time in longest)  # fmt: skip
        names = " ".join(f"Rank{rank}Time(us)" for rank in range(ranks))
        (folder / f"toy_{ranks:04}ranks_16B_dissemination_mpi.csv").write_text(
            f"#MessageSize {names}\n" + "".join(lines)
        )
    return folder


def test_runs_are_predicted_by_the_recording_of_one_node(recorded, tmp_path, capsys):
    runs = machines.find_runs(recorded)
    assert not capsys.readouterr().err  # nothing is left out
    rows = machines.predict_from_recordings(recorded, runs, realizations=4000)
    assert [(row.ranks, row.to) for row in rows if row.what == "mean"] == [(1, 4), (1, 16)]
    assert len(rows) == 2 * len({row.what for row in rows})
    for row in rows:
        assert (row.machine, row.by, row.iterations) == ("toy", machines.RECORDED, 2000)
        assert row.base_ratio == pytest.approx(2, rel=1e-3)
        assert row.distance < 0.05
        if row.what in machines.NUMBERS[:3]:
            assert row.verdict == "not told apart"
        assert row.ratio == pytest.approx(1, abs=0.05 if row.what == "mean" else 0.2)
    # Without the factor of the base time, or without noise, it would be another time.
    mean, median = (next(r.predicted for r in rows if (r.to, r.what) == (16, what))
                    for what in ("mean", "p50"))  # fmt: skip
    assert median == pytest.approx(4 * 2e-6, rel=1e-3)
    assert mean > 1.1 * median
    lines = machines.table_of_recordings(rows).splitlines()
    assert lines[2].startswith("| Toy, dissemination, 16 B | 4 | ")
    assert lines[-1].startswith("Of these 2 runs: mean within 5 % in 2, ")
    table = tmp_path / "t.csv"
    stored = machines.read_rows(STORED)
    machines.write_rows([row for row in stored if row.by != machines.RECORDED] + rows, table)
    assert machines.main([str(table)]) == 0
    assert machines.table_of_recordings(rows) in capsys.readouterr().out


@pytest.fixture(scope="module")
def warmed_up(folder, recorded, tmp_path_factory):
    """The runs of both folders, with long iterations before the others."""
    both = tmp_path_factory.mktemp("warmed_up")
    for ranks, first in ((16, "9000000\n7000000\n"), (32, "8000000\n")):
        with gzip.open(folder / NAME.format(ranks=ranks), "rt") as run:
            text = first + run.read()
        with gzip.open(both / NAME.format(ranks=ranks), "wt") as out:
            out.write(text)
    names, *lines = (recorded / OWN_TIMES).read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join([names, f"16{16 * ' 5000'}\n", *lines])
    (both / OWN_TIMES).write_text(text, encoding="utf-8")
    return both


def test_warm_up_is_left_out_of_both_runs(folder, warmed_up):
    runs = machines.find_runs(warmed_up)
    long_ones = [run for run in runs if run.algorithm == "ring"]
    assert [run.warm_up() for run in long_ones] == [2, 1]
    assert [len(run.times()) for run in long_ones] == [4000, 4000]
    without = machines.predict_runs(machines.find_runs(folder), realizations=2000)
    rows = machines.predict_runs(runs, realizations=2000)
    counts = {"iterations": 4002, "warm_up": 2, "warm_up_there": 1}
    assert rows == [row._replace(**counts) for row in without]
    told = "2 of the 2 runs begin with warm-up, 1 with one iteration and 1 with up to 2."
    assert machines.warm_up_in_words(rows) == told
    assert machines.warm_up_in_words(without).startswith("0 of the 2 runs begin with warm-up, ")


def test_warm_up_is_left_out_of_a_run_that_a_recording_predicts(recorded, warmed_up):
    tools = recorded / "toy_noise.out", recorded / "toy_loggp.out"
    without, rows = (
        machines.predict_from_recording(run, *tools, realizations=2000)
        for where in (recorded, warmed_up)
        for run in machines.find_runs(where)
        if run.file.name == OWN_TIMES
    )
    assert rows == [row._replace(iterations=2001, warm_up_there=1) for row in without]


def test_warm_up_is_left_out_of_the_medians_that_choose(tmp_path):
    """It is half of the iterations of the fastest algorithm, which would be the slowest."""
    medians = {"ring": 20, "recursive_doubling": 40, "rabenseifner": 15, "default": 30}
    for ranks in (8, 32):
        for name, median in medians.items():
            first = 15 * ["90000"] if name == "rabenseifner" else []
            times = [f"{1000 * median + step}" for step in 5 * (0, 1, -1)]
            (tmp_path / f"toy_{ranks}ranks_1024B_{name}_ompi.txt").write_text(
                "\n".join(first + times)
            )
    [choice] = machines.choose(machines.find_runs(tmp_path))
    assert choice.fastest == "rabenseifner"
    assert choice.default_cost == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("toy_0008ranks_16B_dissemination_mpi.csv", "holds 16 bytes on 4 ranks, which its name"),
        ("toy_0004ranks_8B_dissemination_mpi.csv", "holds 16 bytes on 4 ranks, which its name"),
        ("toy_0004ranks_16B_ring_mpi.csv", "must hold two or more times of each rank"),
    ],
)
def test_a_file_of_other_ranks_than_its_name_says_is_an_error(recorded, tmp_path, name, told):
    text = (recorded / "toy_0004ranks_16B_dissemination_mpi.csv").read_text(encoding="utf-8")
    if "ring" in name:
        text = "".join(text.splitlines(keepends=True)[:2])
    (tmp_path / name).write_text(text, encoding="utf-8")
    [run] = machines.find_runs(tmp_path)
    with pytest.raises(ValueError, match=told) as caught:
        run.times()
    assert name in str(caught.value)


def test_the_fitted_network_chooses_the_fastest_algorithm(tmp_path):
    network = jf.LogGOPS(L="2us", o="400ns", G="0.1ns", gamma="0.05ns")
    sizes = 64, 2**13, 2**16, 2**20
    fastest = {}
    for ranks in (8, 32):
        for size in sizes:
            for name in ("recursive_doubling", "rabenseifner", "ring"):
                case = {"algorithm": machines.ALGORITHMS[name], "message_bytes": size}
                time = machines.network_time(ranks, network, case)
                file = tmp_path / f"toy_{ranks}ranks_{size}B_{name}_ompi.txt"
                file.write_text(2 * f"{round(1e9 * time)}\n")
                fastest.setdefault((ranks, size), []).append((time, name))
    (tmp_path / "toy_32ranks_64B_default_ompi.txt").write_text(
        2 * f"{round(2e9 * min(fastest[32, 64])[0])}\n"
    )
    choices = machines.choose(machines.find_runs(tmp_path))
    assert [one.message_bytes for one in choices] == list(sizes)
    for one in choices:
        assert one.chosen == one.fastest == min(fastest[32, one.message_bytes])[1]
        assert one.cost == 1
    assert len({one.fastest for one in choices}) > 1
    assert choices[0].default_cost == pytest.approx(2, rel=1e-3)
    assert np.isnan(choices[1].default_cost)
    assert "| Toy | 32 | 64 B | recursive doubling | recursive doubling | 1.00 | 2.00 |" in (
        machines.table_of_choices(choices)
    )


def test_each_file_is_read_once(folder, monkeypatch):
    read, files = machines._times, []
    monkeypatch.setattr(machines, "_times", lambda file: files.append(file) or read(file))
    machines._read_run.cache_clear()
    runs = [run for run in machines.find_runs(folder) if run.algorithm == "ring"]
    machines.predict_runs(runs, realizations=500)
    machines.choose(runs)
    assert sorted(files) == sorted(run.file for run in runs)


def test_a_run_without_hits_but_its_warm_up_predicts_nothing(tmp_path, capsys, monkeypatch):
    """Warm-up is no noise: what is left is a base time and its spread."""
    first, rest = 7 * ["90000"], 20 * ["1000", "1001", "999"]
    for ranks in (8, 16, 32):
        times = first + rest + (["2000"] if ranks == 16 else [])
        file = tmp_path / f"toy_{ranks}ranks_1024B_ring_ompi.txt"
        file.write_text("\n".join(times))
    monkeypatch.setattr(machines, "predict_pair", lambda small, large: [(small.ranks, large.ranks)])
    runs = machines.find_runs(tmp_path)
    assert machines.predict_runs(runs) == [(16, 32)]
    told = "toy_8ranks_1024B_ring_ompi.txt: no iteration took longer than the base time: it predict"
    assert told in capsys.readouterr().err
    with pytest.raises(ValueError, match="no iteration of any run took longer than the base time"):
        machines.predict_runs([run for run in runs if run.ranks != 16])


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([], "has no file like MACHINE_16ranks_32B_ring_ompi.txt.gz"),
        (["a_16ranks_32B_ring_ompi.txt"], "no two of the runs differ in the number of ranks"),
        (
            ["a_16ranks_32B_ring_ompi.txt", "a_32ranks_64B_ring_ompi.txt"],
            "no two of the runs differ in the number of ranks",
        ),
    ],
)
def test_folders_without_a_pair_are_errors(tmp_path, capsys, names, told):
    for name in names:
        (tmp_path / name).write_text("1000\n2000\n")
    assert machines.main([str(tmp_path)]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a_16ranks_32B_ring_ompi.txt", "1000\nhello\n", "could not convert string to float: 'h"),
        ("a_16ranks_32B_ring_ompi.txt", "1000\n", "must hold two or more times above 0"),
        ("a_16ranks_32B_ring_ompi.txt", "", "must hold two or more times above 0"),
        ("a_16ranks_32B_ring_ompi.txt", "1000\n-5\n", "must hold two or more times above 0"),
        ("a_16ranks_32B_ring_ompi.txt.gz", "1000\n2000\n", "Not a gzipped file"),
        ("a_32ranks_32B_ring_ompi.txt.gz", "1000\n2000\n", "are the same run"),
    ],
)
def test_a_bad_file_is_named(tmp_path, capsys, name, text, told):
    (tmp_path / "a_32ranks_32B_ring_ompi.txt").write_text("1000\n2000\n")
    (tmp_path / name).write_text(text)
    assert machines.main([str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert name in error


def test_files_left_out_and_bad_arguments_are_told(folder, tmp_path, capsys):
    machines.find_runs(folder)
    assert "1 files are no such runs and left out: README.md" in capsys.readouterr().err
    assert machines.main([str(folder), str(tmp_path / "no" / "t.csv")]) == 2
    assert "t.csv can not be written" in capsys.readouterr().err
    assert machines.main(["t.csv", "a.png", "b.png"]) == 2
    assert machines.main([]) == 2


@pytest.mark.parametrize(
    ("keep", "told"),
    [
        (0, "is no such table: its columns must be machine,algorithm"),
        (1, "has no rows"),
        (3, "is cut off: a run there is without"),
    ],
)
def test_a_cut_table_is_an_error(tmp_path, capsys, keep, told):
    whole = STORED.read_text(encoding="utf-8")
    file = tmp_path / "t.csv"
    file.write_text("".join(whole.splitlines(keepends=True)[:keep]), encoding="utf-8")
    assert machines.main([str(file)]) == 2
    assert told in capsys.readouterr().err
    file.write_text(whole.splitlines(keepends=True)[0] + "a,b\n", encoding="utf-8")
    assert machines.main([str(file)]) == 2
    assert "t.csv, line 2" in capsys.readouterr().err


def test_the_page_shows_the_stored_figures():
    rows = machines.read_rows(STORED)
    page = (ROOT / "docs" / "guides" / "measured_machines.md").read_text(encoding="utf-8")
    recorded = [row for row in rows if row.by == machines.RECORDED]
    assert machines.table_of_recordings(recorded) in page
    rows = rows[: len(rows) - len(recorded)]
    assert machines.markdown(rows) in page
    choices = machines.read_choices(machines.beside(STORED))
    assert machines.table_of_choices(choices) in page
    assert machines.warm_up_in_words(rows) in " ".join(page.split())
    for line in machines.summary(rows).splitlines():
        assert line in page


def test_the_page_shows_what_the_study_of_hm18_found():
    page = (ROOT / "docs" / "guides" / "measured_machines.md").read_text(encoding="utf-8")
    stored = json.loads((ROOT / "docs" / "data" / "parts.json").read_text(encoding="utf-8"))
    [claim] = stored["sections"]["hm18_fig3"]["claims"]
    two = [part for part in claim["parts"] if part["where"].startswith("two")]
    assert len(two) == 4
    table = page[page.index("\n| nodes | |") :].strip().split("\n\n")[0].splitlines()[2:]
    for line, part in zip(table, two, strict=True):
        measured, predicted, ratio = (cell.strip() for cell in line.split("|")[3:6])
        assert measured in part["limit"]
        assert part["found"].startswith(predicted.replace(", ", " µs, ").replace("]", " µs]"))
        value, end = (float(cell.split()[0]) for cell in (predicted, measured))
        assert float(ratio) == pytest.approx(value / end, abs=0.005)
