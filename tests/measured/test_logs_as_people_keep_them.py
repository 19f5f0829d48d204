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
