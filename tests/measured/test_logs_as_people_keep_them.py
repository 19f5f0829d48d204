"""Logs as people keep them: indented, quoted, several runs in one file, rows with a remark."""

import pytest
from support.commands import error_of
from support.noise_samples import load_bytes
from support.paths import NOISE_SAMPLES

from jitterfly.cli import main
from jitterfly.measured import FormatError
from jitterfly.measured.description import describe


def sample(name):
    return (NOISE_SAMPLES / name).read_text(encoding="utf-8")


def test_two_runs_of_osnoise_are_not_summed_up_as_one():
    """Tables of one run sum up all since its start, so that periods only rise."""
    whole = sample("rtla_osnoise_top.txt")
    load_bytes(whole.encode(), "top.txt")
    again = whole.replace("#3 ", "#1 ")
    with pytest.raises(
        FormatError, match="CPU 0 has fewer periods than in the table above, 1 for 2"
    ):
        load_bytes(again.encode(), "top.txt")


def test_a_remark_behind_a_row_of_timerlat_and_a_cpu_without_interrupts():
    whole = sample("rtla_timerlat_top.txt")
    row = next(line for line in whole.splitlines() if line.startswith("  5 #2000"))
    plain = load_bytes(whole.encode(), "top.txt")
    marked = load_bytes(whole.replace(row, row + " <--- the spike").encode(), "top.txt")
    assert marked.parts == plain.parts
    silent = "  5 #0 | - - - - | 161 161 161 161"
    found = load_bytes(whole.replace(row, silent).encode(), "top.txt")
    assert found.parts == plain.parts[2:]
    assert "left out, as the timer of the CPU has no interrupt: 5 thread" in found.notes


def test_hwlatdetect_indented_is_read_alike():
    whole = sample("hwlatdetect.txt")
    indented = "".join(f"    {line}\n" for line in whole.splitlines())
    plain, found = (load_bytes(text.encode(), "hw.txt") for text in (whole, indented))
    assert describe(found)["parts"] == describe(plain)["parts"]


def test_hwlatdetect_whose_samples_are_elsewhere_says_where():
    whole = sample("hwlatdetect.txt")
    head = whole[: whole.index("ts:")] + "sample data (4 samples) written to smi.txt\n"
    with pytest.raises(FormatError, match=r"hwlatdetect wrote them to 'smi\.txt'"):
        load_bytes(head.encode(), "hw.txt")


def test_a_file_without_detours_suggests_no_source(tmp_path, capsys):
    whole = sample("hwlatdetect.txt")
    quiet = whole[: whole.index("ts:")].replace(": 4", ": 0").replace("23us", "Below threshold")
    file = tmp_path / "hw.txt"
    file.write_text(quiet, encoding="utf-8")
    main(["noise", "import", str(file), "--out", str(tmp_path / "hw.noise")])
    told = capsys.readouterr().out
    assert "--noise" not in told


def test_quoted_mail_and_labels_of_ranks():
    whole = sample("nccl_tests.txt")
    plain = load_bytes(whole.encode(), "nccl.txt")
    for label in ("> ", ">> ", "[rank 3] "):
        text = "".join(f"{label}{line}\n" for line in whole.splitlines())
        (found, *_), (expected, *_) = load_bytes(text.encode(), "nccl.txt").parts, plain.parts
        assert found.mean.tolist() == expected.mean.tolist()
        assert found.bytes.tolist() == expected.bytes.tolist()
    both = "".join(f"[rank {i}] {line}\n" for line in whole.splitlines() for i in (0, 1))
    with pytest.raises(FormatError, match="several processes"):
        load_bytes(both.encode(), "nccl.txt")


def test_the_jitter_tool_of_pma_is_refused_by_name(tmp_path, capsys):
    file = tmp_path / "jitter.txt"
    file.write_text("  Linux Jitter testing program version 1.9\n  Inst_Min Inst_Max\n 1 2\n")
    assert "pma_tools' jitter" in error_of(capsys, "noise", "import", str(file))


ALLREDUCE = (
    "# OSU MPI Allreduce Latency Test v7.2\n"
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
)
ROWS = [f"{4 * 2**i:<10d}{3.1:18.2f}{2.1:18.2f}{5.1:18.2f}{1000:12d}" for i in range(4)]


def test_lines_that_a_mail_program_broke_are_refused_for_what_they_are(tmp_path, capsys):
    """Of each long line the last words stand on a line of their own."""
    broken = "".join(f"{row.rsplit(maxsplit=2)[0]}\n{' '.join(row.split()[-2:])}\n" for row in ROWS)
    path = tmp_path / "mail.txt"
    path.write_text(ALLREDUCE + broken)
    told = error_of(capsys, "noise", "import", path)
    assert "its lines look broken in pieces, as mail programs do it" in told
    nccl = "#  size count type redop root time algbw busbw\n" + "".join(
        f"  {8 << i}  {2 << i}  float  sum  -1\n  21.5  0.0  0.0\n" for i in range(3)
    )
    with pytest.raises(FormatError, match="its lines look broken in pieces, as mail"):
        load_bytes(nccl.encode())
    # Whole lines with an error in one of them do not look so.
    with pytest.raises(FormatError, match="must be a number") as caught:
        load_bytes((ALLREDUCE + "\n".join(ROWS).replace("3.10", "3,10", 1) + "\n").encode())
    assert "broken" not in str(caught.value)


@pytest.mark.parametrize(
    ("launched", "ranks"),
    [
        ("flux run -N2 --tasks-per-node=48 -o cpu-affinity=per-task", 96),
        ("flux run -n84", 84),
        ("flux mini run -N 2 -n 96", 96),
        ("srun -N 2 --ntasks-per-node=24", 48),
        ("srun --nodes=2 --ntasks-per-node 24", 48),
        ("flux run -N2", 0),
        ("mpirun -N 48 --tasks-per-node=2", 0),  # of Open MPI -N is for each node
    ],
)
def test_ranks_of_a_command_by_nodes(launched, ranks):
    log = f"mpirun -np 8 osu_bcast\n{ALLREDUCE}{ROWS[0]}\n{launched} ./osu_allreduce\n"
    (table,) = load_bytes((log + ALLREDUCE + ROWS[1] + "\n").encode()).parts
    assert table.ranks.tolist() == [8, ranks]
