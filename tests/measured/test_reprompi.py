"""ReproMPI: the time of each repetition, of each process, and summaries."""

import pytest
from support.commands import error_of
from support.noise_samples import changed, load_bytes, sample
from support.paths import NOISE_SAMPLES

from jitterfly.cli import main
from jitterfly.measured import FormatError

TEXT = (NOISE_SAMPLES / "reprompi.txt").read_text()
ABOUT = TEXT[: TEXT.index("       ")]
SUMMARY = (
    ABOUT
    + """  test  count total_nrep valid_nrep   mean_sec median_sec    max_sec
  MPI_Allreduce      8   100    98   0.0000121000   0.0000120000   0.0000900000
  MPI_Allreduce     64   100   100   0.0000131000   0.0000130000   0.0000910000
  MPI_Barrier        0   100   100   0.0000051000   0.0000050000   0.0000510000
"""
)


def verbose(skip=(), ranks=2):
    lines = [ABOUT.replace("nprocs=4", f"nprocs={ranks}")]
    lines.append("process test nrep count loc_tstart_sec loc_tend_sec gl_tstart_sec gl_tend_sec\n")
    for rank in range(ranks):
        for k in range(3):
            start = 100 + k + rank
            end = start + (10 + rank + k) * 1e-6
            if (rank, k) not in skip:
                lines.append(f"{rank} MPI_Bcast {k} 16 {start:.10f} {end:.10f} 0.1 0.2\n")
    return "".join(lines)


def test_repetitions():
    measured = sample("reprompi.txt")
    small, large = measured.parts
    assert (measured.format, small.operation, small.ranks) == ("reprompi", "allreduce", 4)
    assert (small.bytes, large.bytes) == (8, 64)
    assert small.times.shape == large.times.shape == (6, 1)
    assert small.times[:2, 0].tolist() == [11.16e-6, 11.345e-6]
    assert "the slowest process, by the clock of each" in " ".join(measured.notes)
    assert measured.source["clock"] == "local"
    ints = changed("reprompi.txt", b"size_bytes=1", b"size_bytes=4")
    assert [part.bytes for part in ints.parts] == [32, 256]
    in_bytes = TEXT.replace("      count", "msize_bytes").replace("size_bytes=1", "size_bytes=4")
    assert [part.bytes for part in load_bytes(in_bytes.encode()).parts] == [8, 64]


def test_processes():
    (part,) = load_bytes(verbose().encode()).parts
    assert (part.operation, part.bytes, part.ranks) == ("bcast", 16, 2)
    assert (part.times * 1e6).round(3).tolist() == [[10, 11], [11, 12], [12, 13]]
    measured = load_bytes(verbose(skip=[(1, 1)]).encode())
    assert measured.parts[0].times.shape == (2, 2)
    assert "left out, as they lack processes: 1 repetition" in measured.notes


def test_a_summary():
    measured = load_bytes(SUMMARY.encode())
    table, barrier = measured.parts
    assert (table.mean * 1e6).round(4).tolist() == [12.1, 13.1]
    assert (table.p50 * 1e6).round(4).tolist() == [12.0, 13.0]
    assert (table.iterations.tolist(), set(table.ranks.tolist())) == ([98, 100], {4})
    assert (table.min, table.max) == (None, None)  # of repetitions, not of ranks
    assert barrier.operation == "barrier"
    assert "of the time of the slowest process" in measured.notes[0]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (TEXT[: TEXT.index("MPI_Allreduce  ")], "has no row of a collective: it is cut off"),
        (TEXT.replace("#@nprocs=4\n", ""), "does not state the number of processes"),
        (TEXT + TEXT.replace("nprocs=4", "nprocs=8"), "line 27: a second run begins"),
        (TEXT + SUMMARY, "line 36: a second table begins"),
        (
            TEXT.replace("0.0000111600", "-0.000011160"),
            "line 12: runtime_sec must be a time from 0",
        ),
        (TEXT.replace("runtime_sec", "whatever_sec"), "has no column runtime_sec"),
        (SUMMARY.replace("mean_sec", "var_sec"), "has no column mean_sec"),
        (SUMMARY.replace("valid_nrep", "good_nrep"), "has no column valid_nrep"),
        (
            verbose().replace("loc_", "gl_"),
            "has no column loc_tstart_sec, loc_tend_sec",
        ),
        (verbose().replace("1 MPI_Bcast", "0 MPI_Bcast"), "line 15: a second time of process 0"),
        (verbose().replace("1 MPI_Bcast", "2 MPI_Bcast"), "line 15: process must be an integer"),
        (verbose(skip=[(1, 0), (1, 1), (1, 2)]), "has no repetition with all of 2 processes"),
    ],
)
def test_files_that_are_wrong(text, match):
    with pytest.raises(FormatError, match=match):
        load_bytes(text.encode())


def test_rows_that_do_not_count():
    cut = load_bytes(TEXT[: TEXT.rindex("0") - 40].encode())
    assert cut.parts[0].times.shape[0] == 6
    short = TEXT[: TEXT.index("0.0000124", TEXT.index("          64")) + 9]
    measured = load_bytes(short.encode())
    assert "left out, as it is cut off, or no row: line 19" in " ".join(measured.notes)
    window = TEXT.replace("  count    runtime_sec", "  count errorcode    runtime_sec")
    window = window.replace("           8  ", "           8   0 ").replace(
        "          64  ", "          64   1 "
    )
    measured = load_bytes(window.encode())
    assert [part.bytes for part in measured.parts] == [8]
    assert "its error code is not 0" in measured.notes[1]
    assert "left out for similar reasons: 3 more lines" in measured.notes


def test_a_comparison(tmp_path, capsys):
    case = ["--ranks=4", "--noise=period=1ms,duration=10us", "--realizations=200", "-q"]
    path = tmp_path / "run.txt"
    path.write_text(TEXT)
    assert main(["compare-measured", str(path), "--bytes=8", *case]) in (0, None)
    assert "clock: each rank's own" in capsys.readouterr().out
    path.write_text(TEXT.replace("runtime_type=local", "runtime_type=global"))
    assert main(["compare-measured", str(path), "--bytes=8", *case]) in (0, None)
    assert "clock: all ranks begin at once" in capsys.readouterr().out
    path.write_text(SUMMARY)
    message = error_of(capsys, "compare-measured", path, *case)
    assert "has means of the slowest rank, which cannot be compared" in message
