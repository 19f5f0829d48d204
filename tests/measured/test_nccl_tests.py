"""Logs of nccl-tests and rccl-tests: which collective, of how many ranks, which rows count."""

import pytest
from support.commands import error_of
from support.noise_samples import load_bytes, sample
from support.paths import NOISE_SAMPLES

from jitterfly.cli import main
from jitterfly.measured import FormatError

LOG = (NOISE_SAMPLES / "nccl_tests.txt").read_text()
COMMAND, UNNAMED = LOG.split("\n", 1)


def columns(text, *, count=1, redop="sum", root=-1, ratio=1.5):
    """The log of another program: sizes of all ranks, its operation, its bus bandwidth."""
    lines = []
    for line in text.split("\n"):
        words = line.split()
        if words and words[0].isdecimal():
            size, number, kind, _, _, time, alg, _, *rest = words
            bus = f"{float(alg) * ratio:.2f}"
            row = [size, str(int(number) // count), kind, redop, str(root), time, alg, bus, *rest]
            line = "  ".join(row)
        lines.append(line)
    return "\n".join(lines)


def part(text, **options):
    (found,) = load_bytes(text.encode(), "job.log", **options).parts
    return found


def times(found):
    return dict(zip(found.bytes.tolist(), (found.mean * 1e6).round(6).tolist(), strict=True))


TIMES = {8: 30.4, 512: 31.2, 4194304: 220.5}


def test_a_log_with_its_command():
    measured = sample("nccl_tests.txt")
    (found,) = measured.parts
    assert (measured.format, found.operation) == ("nccl", "allreduce")
    assert times(found) == TIMES
    assert set(found.ranks.tolist()) == {4}
    assert set(found.iterations.tolist()) == {40}
    assert "out of place" in measured.notes[0]
    assert not any("does not name" in note for note in measured.notes)


def test_a_log_without_a_name_is_told_by_its_columns():
    measured = load_bytes(UNNAMED.encode())
    assert measured.parts[0].operation == "allreduce"
    assert "does not name the program above line 10: by its columns it is allreduce" in " ".join(
        measured.notes
    )
    # Here the bandwidths are not those of an allreduce.
    with pytest.raises(FormatError, match="line 10: does not name its program"):
        load_bytes(columns(UNNAMED, ratio=1.0).encode())
    scatter = part(columns(UNNAMED[: UNNAMED.index("           8 ")], ratio=0.75) + columns(
        UNNAMED[UNNAMED.index("         512 ") :], count=4, ratio=0.75))  # fmt: skip
    assert (scatter.operation, times(scatter)) == ("reduce_scatter", {512: 31.2, 4194304: 220.5})
    assert part(columns(UNNAMED, root=0, ratio=1)).operation == "reduce"
    assert part(columns(UNNAMED, redop="none", root=0, ratio=1)).operation == "broadcast"
    gathered = columns(UNNAMED.replace("           8             2", "          16             4"),
                       count=4, redop="none", ratio=0.75)  # fmt: skip
    with pytest.raises(FormatError, match="a line with its name above, such as `all_gather_perf`"):
        load_bytes(gathered.encode())


def test_a_size_is_that_of_the_block_of_each_rank():
    gathered = columns(UNNAMED.replace("           8             2", "          16             4"),
                       count=4, redop="none", ratio=0.75)  # fmt: skip
    for program, operation in (("all_gather", "allgather"), ("alltoall", "alltoall")):
        found = part(f"{program}_perf\n{gathered}")
        assert found.operation == operation
        assert list(times(found)) == [4, 128, 1048576]
    started = gathered.replace(
        "# nThread", "# Collective test starting: all_gather_perf\n# nThread"
    )
    assert part(started).operation == "allgather"
    ended = gathered + "# Collective test concluded: all_gather_perf\n"
    assert part(ended).operation == "allgather"


def test_several_runs_in_one_log():
    second = LOG.replace("all_reduce_perf", "broadcast_perf").replace(
        " sum      -1", "none       0"
    )
    measured = load_bytes((LOG + second).encode())
    assert [found.operation for found in measured.parts] == ["allreduce", "broadcast"]
    pairs = LOG.replace("all_reduce_perf", "sendrecv_perf")
    measured = load_bytes((pairs + LOG).encode())
    assert [found.operation for found in measured.parts] == ["allreduce"]
    assert "left out, other tests: line 11: sendrecv" in " ".join(measured.notes)
    with pytest.raises(FormatError, match="no times of a collective: line 11: sendrecv"):
        load_bytes(pairs.encode())
    table = LOG[LOG.index("#       size") :]
    with pytest.raises(FormatError, match="line 19: a second table begins without a line"):
        load_bytes((LOG + table).encode())


@pytest.mark.parametrize(
    ("old", "new", "kept", "note"),
    [
        ("28.53      0 ", "28.53      7 ", [8, 512], "data were wrong (#wrong): line 15"),
        (LOG[LOG.index("    220.5") :], "", [8, 512], "cut off, or no row: line 15"),
        ("         512 ", "gpu-a:7001:7020 [0] NCCL INFO 4 coll channels\n         512 ",
         list(TIMES), ""),
        ("         512           128", "           0             0", [8, 4194304], "moves no data"),
    ],
)  # fmt: skip
def test_rows_that_do_not_count(old, new, kept, note):
    assert old in LOG
    measured = load_bytes(LOG.replace(old, new).encode())
    assert measured.parts[0].bytes.tolist() == kept
    assert note in " ".join(measured.notes)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (LOG[: LOG.index("           8 ")], "has no row of a collective"),
        (LOG.replace("(us)", "(ms)"), "line 11: has no line of units with .us."),
        (LOG.replace("    time   algbw", " cputime   algbw"), "unknown|no column `time`"),
        (LOG.replace("     float ", "     fp4 "), "line 13: has a type that is not known, 'fp4'"),
        (LOG.replace("30.40", "nan"), "line 13: mean .us. must be a number, got 'nan'"),
        (LOG.replace("#  Rank  1", "#").replace("#  Rank  2", "#").replace("#  Rank  3", "#"),
         "of one rank alone .a build without MPI"),
    ],
)  # fmt: skip
def test_logs_that_are_wrong(text, match):
    with pytest.raises(FormatError, match=match):
        load_bytes(text.encode())


def test_ranks_that_are_not_listed():
    short = LOG.replace("#  Rank  2", "#")
    measured = load_bytes(short.encode())
    assert set(measured.parts[0].ranks.tolist()) == {0}
    assert "does not list its ranks, whose number is 0 here" in " ".join(measured.notes)
    assert set(part(short, ranks=8).ranks.tolist()) == {8}


def test_a_comparison(capsys):
    noise = ["--noise=period=1ms,duration=10us", "--realizations=200", "-q"]
    path = str(NOISE_SAMPLES / "nccl_tests.txt")
    ring = ["--ranks=4", "--algorithm=ring_allreduce"]
    assert main(["compare-measured", path, *ring, *noise]) in (0, None)
    shown = capsys.readouterr().out
    assert "30.4 [" in shown
    message = error_of(capsys, "network", "parameters", path)
    assert "is of nccl-tests and rccl-tests, and has no parameters of a network" in message
