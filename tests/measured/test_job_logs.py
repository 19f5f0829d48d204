"""Logs of jobs with tables of OSU and IMB: where a table begins and ends, which rows count."""

import re

import numpy as np
import pytest
from support.commands import error_of
from support.grouped import parametrize_in_groups
from support.noise_samples import load_bytes, sample
from support.paths import NOISE_SAMPLES
from support.scale import some

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.measured import FormatError
from jitterfly.measured.formats import OtherTool
from jitterfly.measured.network_parameters import read_parameters

TIMES = {4: 2.51, 8: 2.62, 16: 2.75, 32: 3.5}
IMB_ROWS = """\
            8         1000         2.10         2.30         2.20
           16         1000         2.20         2.40         2.30
           32         1000         2.50         2.70         2.60
"""


def rows(times=TIMES, end=""):
    return "".join(f"{size:<10}{time:>19.2f}{end}\n" for size, time in times.items())


def osu(name="Allreduce Latency", times=TIMES, head="Avg Latency(us)", kind="MPI", more=""):
    title = f"\n# OSU {kind} {name} Test v7.4\n# Datatype: MPI_CHAR.\n"
    return f"{title}{more}# Size       {head}\n{rows(times)}"


def imb(name="Allreduce", ranks=4, rows=IMB_ROWS, head=""):
    line = "#" + "-" * 64
    return (
        f"{line}\n# Benchmarking {name} \n# #processes = {ranks} \n{line}\n"
        f"       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]{head}\n{rows}\n"
    )


BANDWIDTH = osu("Bandwidth", {1: 3.1, 64: 190.2, 4096: 7100.5}, "Bandwidth (MB/s)")


def table(log, **options):
    (found,) = load_bytes(log.encode(), "job.out", **options).parts
    return found


def times(part):
    return dict(zip(part.bytes.tolist(), (part.mean * 1e6).round(6).tolist(), strict=True))


def note_on(log, word):
    (note,) = [one for one in load_bytes(log.encode()).notes if word in one]
    return note


WARNING = "[node7:rank_2][reg_cache] the cache of registrations is full: 3 dropped"


@pytest.mark.parametrize(
    "line",
    [
        WARNING,
        "12 of 64 processes wait",
        "2026-03-01 12:00:07 step 0 goes on",
        "0: slow",
        "--",
        "*",
    ],
)
@pytest.mark.parametrize("above", [4, 16])
def test_a_line_of_the_log_ends_no_table(line, above):
    log = osu().replace(f"\n{above:<10}", f"\n{line}\n\n{above:<10}")
    assert times(table(log)) == TIMES
    assert line in note_on(log, "left out, as they are not rows")


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        (f"16      {WARNING}", "line 7, '16 [node7:rank_2]"),
        (f"16            2.75{WARNING}", "line 7, '16 2.75[node7:rank_2]"),
    ],
)
def test_a_row_that_a_line_of_the_log_broke_is_named(instead, said):
    log = osu().replace(f"{16:<10}{2.75:>19.2f}", instead)
    assert list(TIMES) != list(times(table(log))) == [4, 8, 32]
    assert said in note_on(log, "left out")


def test_a_table_ends_where_the_next_program_begins():
    for log in (osu() + BANDWIDTH, BANDWIDTH + osu(), osu() + BANDWIDTH.replace("# OSU", "#  OSU")):
        assert times(table(log)) == TIMES
    assert note_on(osu() + BANDWIDTH, "other tests") == (
        "left out, other tests: MPI Bandwidth (line 12)"
    )
    # Without a title, by the comment, or as the sizes begin again.
    foreign = "# Size      Rate (Gb/s)\n1    7.5\n2    8.5\n"
    assert times(table(osu() + foreign)) == TIMES
    numbers = "a program of ours:\n1    7.5\n2    8.5\n"
    assert times(table(osu() + numbers)) == TIMES
    assert "'1 7.5'" in note_on(osu() + numbers, "left out")


def test_tables_of_two_benchmarks():
    log = osu() + imb()
    assert times(table(log)) == TIMES
    assert "'8 1000 2.10 2.30 2.20'" in note_on(log, "left out")
    (part,) = load_bytes(log.encode(), format="imb").parts
    assert times(part) == {8: 2.2, 16: 2.3, 32: 2.6}


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("All-to-All Personalized Exchange Latency", "alltoall"),
        ("All-to-Allv Personalized Exchange Latency", "alltoallv"),
        ("All-to-All Personalized Exchange Persistent Latency", "alltoall (persistent)"),
        ("Broadcast Persistent Latency", "broadcast (persistent)"),
        ("Reduce_scatter_block Latency", "reduce_scatter_block"),
        ("Neighborhood Allgather Latency", "neighborhood allgather"),
        ("Broadcast Latency", "broadcast"),
    ],
)
@pytest.mark.parametrize("kind", ["MPI", "MPI-CUDA", "NCCL"])
def test_titles_of_collectives(title, name, kind):
    part = table(osu(title, kind=kind))
    assert part.operation == name
    assert times(part) == TIMES


def test_a_title_of_several_words_is_compared_without_a_remark(tmp_path):
    network = jf.LogGOPS(L="1us", o="200ns")
    noise = [jf.StepNoise("1us")]
    case = jf.Case(8, algorithm=jf.PairwiseAlltoall(), network=network, noise=noise)
    for title in ("Latency", "Persistent Latency"):
        path = tmp_path / "osu.txt"
        path.write_text(osu(f"All-to-All Personalized Exchange {title}"))
        found = jf.compare_measured(path, case, realizations=20, collective="alltoall")
        assert [row.bytes for row in found.rows] == list(TIMES)
        assert not any("which pairwise_alltoall is not" in note for note in found.notes())


@pytest.mark.parametrize(
    "title",
    ["MPI Bandwidth", "MPI Bi-Directional Bandwidth", "MPI_Put Latency", "MPI_Get latency",
     "MPI Multiple Bandwidth / Message Rate", "MPI Multi Latency", "MPI Multi-threaded Latency",
     "MPI Latency Persistent", "MPI Non-blocking Allreduce Latency", "OpenSHMEM Put"],
)  # fmt: skip
def test_other_tests_of_osu_are_named(title, tmp_path, capsys):
    kind, name = title.split(" ", 1)
    log = osu(name, {1: 0.9, 2: 0.95, 4: 0.96}, "Latency (us)", kind)
    for options in ({}, {"unit": "us"}, {"unit": "us", "format": "csv"}):
        with pytest.raises(OtherTool, match=f"OSU's test '{title}'.*osu_allreduce"):
            load_bytes(log.encode(), **options)
    assert times(table(log + osu())) == TIMES
    assert title in note_on(log + osu(), "other tests")
    path = tmp_path / "osu.txt"
    path.write_text(log)
    assert f"OSU's test '{title}'" in error_of(capsys, "network", "parameters", path)


@pytest.mark.parametrize("kind", ["MPI", "MPI-CUDA", "MPI-ROCM", "MPI-SYCL"])
def test_a_pingpong_is_for_network_parameters(kind, tmp_path, capsys):
    """Also one of a GPU, whose title has a word more; the hint leads to a network."""
    path = tmp_path / "osu.txt"
    path.write_text(osu("Latency", {1: 2.5, 64: 2.55, 4096: 5.0}, kind=kind))
    noise = "--noise=period=1ms,duration=10us"
    for command in (["noise", "import"], ["compare-measured", "-q", "--ranks=2", noise], ["run"]):
        message = error_of(capsys, *command, path)
        assert "osu_latency" in message
        assert "`jitterfly network parameters " in message
    assert main(["network", "parameters", str(path)]) == 0
    assert capsys.readouterr().out.startswith("--network L=2.5us,o=?,g=0s,G=")


def test_rows_that_failed_validation_are_left_out(tmp_path):
    checked = osu(head="Avg Latency(us)        Validation", times={})
    log = f"{checked}{rows({4: 2.5, 8: 2.6}, ' Pass')}{rows({16: 2.7}, ' Fail')}"
    log += "DATA VALIDATION ERROR: osu_allreduce exited with status 1 on message size 16.\n"
    assert times(table(log)) == {4: 2.5, 8: 2.6}
    assert "line 7, '16 2.70 Fail'" in note_on(log, "its validation failed")
    path = tmp_path / "osu.txt"
    path.write_text(log)
    case = jf.Case(4, network=jf.LogGOPS(L="1us", o="200ns"), noise=[jf.StepNoise("1us")])
    found = jf.compare_measured(path, case, realizations=20)
    assert [row.bytes for row in found.rows] == [4, 8]
    assert any("its validation failed" in note for note in found.notes())
    path.write_text(log.replace("Allreduce Latency", "Latency"))
    fit = read_parameters(path)
    assert any("over 2 sizes up to 8 bytes" in note for note in fit.notes)
    assert any("its validation failed" in note for note in fit.notes)
    with pytest.raises(FormatError, match=r"has no row of a collective: .* its validation failed"):
        load_bytes(log.replace("Pass", "Fail").encode())


def test_what_differs_tells_tables_apart(tmp_path):
    slow = {size: 2 * time for size, time in TIMES.items()}
    second = osu(times=slow)
    for log, names in (
        (osu() + second.replace("MPI_CHAR", "MPI_FLOAT"), ("MPI_CHAR", "MPI_FLOAT")),
        (osu() + second[second.index("# Datatype") :].replace("CHAR", "INT"),
         ("MPI_CHAR", "MPI_INT")),
        (osu() + second.replace("OSU MPI", "OSU MPI-CUDA"), ("MPI", "MPI-CUDA")),
    ):  # fmt: skip
        first, other = load_bytes(log.encode()).parts
        assert (times(first), times(other)) == (TIMES, slow)
        found = (first.operation, other.operation)
        assert found == tuple(f"allreduce ({name})" for name in names)
        path = tmp_path / "osu.txt"
        path.write_text(log)
        case = jf.Case(8, network=jf.LogGOPS(L="1us", o="200ns"), noise=[jf.StepNoise("1us")])
        for chosen in (None, "allreduce"):
            with pytest.raises(ValueError, match=r"allreduce \(.*, allreduce \(.*`collective`"):
                jf.compare_measured(path, case, collective=chosen, realizations=20)
        agreement = jf.compare_measured(path, case, collective=found[1], realizations=20)
        assert float(agreement.rows[0].measured.value) == pytest.approx(2 * 2.51e-6)
    # Runs of one thing, as on more ranks, are one table.
    assert len(table(osu() + second).mean) == 8


def test_the_command_takes_the_name_that_tells_tables_apart(tmp_path, capsys):
    path = tmp_path / "osu.txt"
    path.write_text(osu() + osu().replace("MPI_CHAR", "MPI_FLOAT"))
    words = ["compare-measured", str(path), "--ranks=8", "--realizations=20",
             "--noise=period=1ms,duration=10us", "--collective=allreduce (MPI_FLOAT)"]  # fmt: skip
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "measured, µs" in printed
    assert re.search(r"mean +2\.51 ", printed)


LABELS = [
    "[1,0]<stdout>:",
    "[1,0]<stdout>: ",
    "[prterun-n7-123@1,0]<stdout>: ",
    "Sun Mar  1 12:00:07 2026[1,0]<stdout>:",
    "Sun Mar  1 12:00:07 2026<stdout>:",
    "[0] ",
    "0: ",
    "  12: ",
    "2026-03-01T12:00:07.1234567Z ",
    "2026-03-01T12:00:07.123456Z 01O ",
    "[2026-03-01 12:00:07,250] ",
    "[12:00:07] ",
    "Mar  1 12:00:07 n7 slurmstepd[4711]: ",
    "2026-03-01T12:00:07.1234567Z 0: ",
]
OF_A_TOOL = sorted(
    path.name
    for path in NOISE_SAMPLES.iterdir()
    if path.suffix not in (".md", ".csv", ".dat") or path.name == "dissemination.csv"
)


@parametrize_in_groups(
    "name, label", [(name, label) for name in some(OF_A_TOOL, 6) for label in LABELS]
)
def test_labels_in_front_of_the_lines_of_any_format(name, label):
    lines = (NOISE_SAMPLES / name).read_text().splitlines()
    log = "".join(f"{label}{line}\n" for line in lines)
    assert load_bytes(log.encode()).parts == sample(name).parts
    warned = f"{label}a library warns\n{log}"
    if not name.startswith(("netgauge", "dissemination", "sysjitter.3")):  # rows of numbers alone
        assert load_bytes(warned.encode()).parts == sample(name).parts


@pytest.mark.parametrize(
    "label", ["[1,{}]<stdout>: ", "[{}] ", "{}: ", "Mar  1 12:00:07 n{} job: "]
)
def test_labels_of_several_processes(label):
    """One of them has measured, or each: then it must be said which."""
    lines = (NOISE_SAMPLES / "oslat.txt").read_text().splitlines()
    alone = "".join(
        f"{label.format(3)}{line}\n" + f"{label.format(k % 3)}warns\n" * (k % 4 == 0)
        for k, line in enumerate(lines)
    )
    assert load_bytes(alone.encode()).parts == sample("oslat.txt").parts
    both = "".join(f"{label.format(k)}{line}\n" for line in lines for k in (1, 2))
    with pytest.raises(FormatError, match=r"has the output of several processes \(.*1.*, .*2.*\)"):
        load_bytes(both.encode())
    wrong = alone.replace("Minimum", "Maximum")
    with pytest.raises(FormatError, match="line 21: has a second row 'Maximum'"):
        load_bytes(wrong.encode())


def test_what_only_looks_like_a_label_stays():
    table = "start_us,duration_us\n" + "".join(f"{3 * k},1\n" for k in range(20))
    assert load_bytes(table.encode()).format == "csv"
    numbers = "".join(f"{k}: {50 + k % 2}\n" for k in range(200))
    with pytest.raises(FormatError):  # the labels may be numbers of samples
        load_bytes(numbers.encode())
    with pytest.raises(FormatError, match="unknown"):
        load_bytes(b"[1] [2] [3] [4] " * 5000)


@pytest.mark.parametrize(
    "label",
    ["[1,0]<stdout>: ", "[1,0]<stdout>:", "[prterun-node7-123@1,0]<stdout>: ", "0: ", "  0: ",
     "[0] ", "Sun Mar  1 10:00:00 2026<stdout>: "],
)  # fmt: skip
def test_what_a_launcher_puts_in_front_of_lines(label, tmp_path):
    def labelled(log):
        return "".join(f"{label}{line}\n" for line in log.splitlines())

    assert times(table(labelled(osu()))) == TIMES
    assert times(table(labelled(imb()))) == {8: 2.2, 16: 2.3, 32: 2.6}
    path = tmp_path / "osu.txt"
    path.write_text(labelled(osu("Latency")))
    assert pytest.approx(2.5e-6, rel=0.1) == read_parameters(path).L


@pytest.mark.parametrize("change", [
    lambda log: log.replace("\n", "\r\n"),
    lambda log: "\ufeff" + log,
    lambda log: log.replace("          ", "\t"),
    lambda log: log.replace("Avg Latency(us)", "Latency (us)").replace("7.4", "3.1.1"),
])  # fmt: skip
def test_other_ways_to_write_a_table(change):
    assert times(table(change(osu()))) == TIMES


@pytest.mark.parametrize("cut", [1, 3, 4, 6, 20])
def test_a_file_that_ends_within_a_row(cut):
    """Of the number 3.50 a part may be left, which looks like a number."""
    log = osu()[: -cut - 1]
    assert times(table(log)) == {size: time for size, time in TIMES.items() if size < 32}
    assert "line 8, '32" in note_on(log, "it is cut off")
    log = imb()[: -cut - 2]
    assert times(table(log)) == {8: 2.2, 16: 2.3}
    assert "line 8, '32" in note_on(log, "it is cut off")
    assert times(table(osu()[:-1])) == TIMES  # whole, only the end of the line is not there


def test_a_row_with_a_column_too_few_is_an_error():
    with pytest.raises(FormatError, match="line 6: must have 2 columns, got 1"):
        load_bytes(osu().replace(f"{2.62:>19.2f}", "").encode())
    with pytest.raises(FormatError, match="line 6: must have 5 columns, got 4"):
        load_bytes(imb().replace("         2.20\n", "\n").encode())
    with pytest.raises(FormatError, match=r"line 6: mean \(us\) must be a number, got '2,62'"):
        load_bytes(osu().replace("2.62", "2,62").encode())


def test_ranks_are_those_of_the_command_above():
    """A command that does not say them does not run on the ranks of the one before it."""
    for launched, ranks in (("-np 16", 16), ("-n 16", 16), ("-n16", 16), ("-N 4", 0), ("", 0)):
        log = f"mpirun -np 8 osu_bcast\n{osu('Broadcast Latency')}srun {launched} osu_allreduce\n"
        first, second = load_bytes((log + osu()).encode()).parts
        assert set(first.ranks) == {8}
        assert set(second.ranks) == {ranks}, launched
    # The version may have letters.
    assert times(table(BANDWIDTH + osu().replace("v7.4", "v7.5-rc1+dev"))) == TIMES


# Point to point


def test_bandwidths_are_no_latencies(tmp_path):
    sizes = {1: 1.5, 64: 1.6, 4096: 3.2}
    path = tmp_path / "osu.txt"
    path.write_text(osu("Latency", sizes))
    alone = read_parameters(path, overhead="200ns")
    path.write_text(osu("Latency", sizes) + BANDWIDTH)
    with np.errstate(all="raise"):
        both = read_parameters(path, overhead="200ns")
    assert both.line == alone.line
    assert both.notes[:-1] == alone.notes
    assert both.notes[-1] == "left out, other tests: MPI Bandwidth (line 11)"
    log = osu("Latency", sizes).replace("\n4096", f"\n{WARNING}\n4096")
    path.write_text(log)
    assert read_parameters(path, overhead="200ns").line == alone.line
    path.write_text(osu("Latency", {1: 9, 64: 9.5}) + osu("Latency", sizes))
    assert read_parameters(path, overhead="200ns").notes[-1] == "the last of 2 tables, in line 10"


def test_other_files_are_refused_by_name(tmp_path, capsys):
    path = tmp_path / "log.txt"
    for log, name in (
        (osu(), "is of OSU micro-benchmarks of collectives, and has no parameters"),
        (imb(), "is of Intel MPI Benchmarks of collectives, and has no parameters"),
        ("oslat V 2.60\nTotal runtime: 10 seconds\n", "is of the report of oslat, and has no"),
    ):
        path.write_text(log)
        assert name in error_of(capsys, "network", "parameters", path)


# IMB


@pytest.mark.parametrize(
    ("failed", "word"),
    [
        ("64 out-of-mem.; needed X=   2.250 GB; use flag \"-mem X\"", "out-of-mem"),
        ("64 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over", "time-out"),
        ("64 int-overflow.; The production rank*size caused int overflow", "int-overflow"),
    ],
)  # fmt: skip
def test_sizes_that_did_not_run(failed, word, tmp_path):
    more = "          128          640         3.10         3.30         3.20\n"
    log = imb(rows=f"{IMB_ROWS}           {failed}\n{more}") + imb("Reduce")
    first, second = load_bytes(log.encode()).parts
    assert times(first) == {8: 2.2, 16: 2.3, 32: 2.6, 128: 3.2}
    assert times(second) == {8: 2.2, 16: 2.3, 32: 2.6}
    assert "line 9, '64" in note_on(log, f"that size did not run ({word})")
    with pytest.raises(FormatError, match=r"has no row of a collective: .* that size did not run"):
        load_bytes(imb(rows=f"           {failed}\n").encode())
    path = tmp_path / "imb.txt"
    head = "# Benchmarking PingPong\n# #processes = 2\n #bytes #repetitions t[usec] Mbytes/sec\n"
    path.write_text(f"{head} 1 1000 1.03 0.97\n 32 1000 1.10 29.0\n {failed}\n")
    fit = read_parameters(path)
    assert any("over 2 sizes up to 32 bytes" in note for note in fit.notes)
    assert any(f"did not run ({word})" in note for note in fit.notes)


def test_a_line_of_the_log_in_a_table_of_imb():
    log = imb().replace("           16", f"{WARNING}\n7 processes wait\n           16")
    assert times(table(log)) == {8: 2.2, 16: 2.3, 32: 2.6}
    assert "7 processes wait" in note_on(log, "left out")


def test_wrong_data_of_imb_are_left_out():
    checked = [f"{line}         0.00\n" for line in IMB_ROWS.splitlines()]
    checked[1] = checked[1].replace("0.00\n", "1.00\n")
    log = imb(rows="".join(checked), head="      defects")
    assert times(table(log)) == {8: 2.2, 32: 2.6}
    assert "line 7, '16" in note_on(log, "its data were wrong (defects)")


@pytest.mark.parametrize("in_groups", [False, True])
def test_groups_that_run_at_once_are_no_rows_of_the_benchmark_above(in_groups):
    multi = imb("Multi-Allreduce", rows=IMB_ROWS.replace("2.", "9."))
    groups = "# ( 2 groups of 2 processes each running simultaneous ) "
    multi = multi.replace("# #processes = 4 ", groups)
    if in_groups:
        multi = multi.replace("       #bytes", "        Group       #bytes")
        multi = multi.replace("\n            ", "\n            0            ")
    log = imb() + multi
    assert times(table(log)) == {8: 2.2, 16: 2.3, 32: 2.6}
    assert "multi-allreduce (groups at once)" in note_on(log, "left out")
    with pytest.raises(FormatError, match=r"only multi-allreduce \(groups at once\)"):
        load_bytes(multi.encode())


def test_a_pingpong_of_imb_is_for_network_parameters(tmp_path, capsys):
    path = tmp_path / "imb.txt"
    head = "# Benchmarking PingPong\n# #processes = 2\n #bytes #repetitions t[usec] Mbytes/sec\n"
    path.write_text(f"{head} 1 1000 1.03 0.97\n 32 1000 1.10 29.0\n")
    assert "`jitterfly network parameters " in error_of(capsys, "noise", "import", path)
    assert main(["network", "parameters", str(path)]) == 0


def test_a_size_that_is_not_there_is_told_from_those_that_are(tmp_path, capsys):
    path = tmp_path / "osu.txt"
    path.write_text(f"mpirun -np 3072 ./osu_allreduce\n{osu()}")
    words = ["-q", "--noise=period=1ms,duration=10us", "--ranks=48000", "--network=L=1us,o=1us"]
    told = error_of(capsys, "compare-measured", path, *words)
    assert told.endswith(
        "osu.txt has nothing of 48,000 ranks, but of 3,072 ranks "
        f"{', '.join(f'{size:,}' for size in TIMES)} bytes"
    )
