"""Merging of recordings of many nodes (`noise merge`), and recording in an MPI or Slurm job."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.commands import error_of

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.measured import CpuNoise, Detours, Histogram, Measured, load, noisefile
from jitterfly.measured.host import allowed_cpus
from jitterfly.measured.load import merge
from jitterfly.resources import task


def recording(node, cpus=("0",), first=10, **source):
    parts = [
        Detours([first * 1000, 10**6], [100, 200 + i], length=10**9, threshold=80, cpu=cpu)
        for i, cpu in enumerate(cpus)
    ]
    told = {"tool": "jitterfly noise record", "node": node, "kernel": "Linux 6", **source}
    return Measured(tuple(parts), "jitterfly", told, ("a virtual machine",))


def test_a_part_for_each_cpu_of_each_node():
    both = [recording("n1", ("0", "1")), recording("n2", ("0", "1"), first=20)]
    found = merge([("a.noise", both[0]), ("b.noise", both[1])])
    assert [part.cpu for part in found.parts] == ["n1:0", "n1:1", "n2:0", "n2:1"]
    for part, before in zip(found.parts, (*both[0].parts, *both[1].parts), strict=True):
        assert np.array_equal(part.starts, before.starts)
        assert np.array_equal(part.durations, before.durations)
        assert (part.length, part.threshold) == (before.length, before.threshold)
    assert found.source["nodes"] == "n1, n2"
    assert found.source["files"] == "a.noise, b.noise"
    assert found.source["kernel"] == "Linux 6"
    assert found.notes[1] == "n1, n2: a virtual machine"


def test_what_is_not_to_be_trusted_stays_so():
    bad = recording("n2", first=20, untrusted="CPU 0: its buffer was full")
    found = merge([("a", recording("n1")), ("b", bad)])
    assert found.source["untrusted"] == "n2: CPU 0: its buffer was full"


def test_what_can_not_be_merged():
    one = recording("n1")
    with pytest.raises(ValueError, match="two or more, got 1"):
        merge([("a", one)])
    with pytest.raises(ValueError, match="b is the same recording as a"):
        merge([("a", one), ("b", recording("n1"))])
    histogram = Measured((Histogram([1], [2], [3]),), "csv")
    with pytest.raises(ValueError, match="b holds a histogram, and only detours can be merged"):
        merge([("a", one), ("b", histogram)])
    sums = Measured((CpuNoise(runtime=10**12, noise=10**9, longest=10**7, periods=1),), "csv")
    told = (
        "c holds sums of noise, without single detours, and only detours.* leave it out, or record"
    )
    with pytest.raises(ValueError, match=told):
        merge([("a", one), ("c", sums)])


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for i in range(3):
        noisefile.write(recording(f"n{i}", first=10 + i), f"x_rank{i}.noise")
    files = [f"x_rank{i}.noise" for i in range(3)]
    assert main(["noise", "merge", "all.noise", *files]) == 0
    assert "written: all.noise: 3 parts of 3 nodes" in capsys.readouterr().out
    assert [part.cpu for part in load("all.noise").parts] == ["n0:0", "n1:0", "n2:0"]
    noise = jf.TraceNoise("all.noise", part=1)
    assert noise.share() == pytest.approx(3e-7)
    every = jf.Empirical(file="all.noise", part="all")
    assert every.quantile(0.99) == pytest.approx(200e-12)
    for words, message in (
        (["all.noise", *files], "all.noise exists; --force replaces it"),
        (["all.noise", "all.noise", *files, "--force"], "is one of the files"),
        (["y.noise", files[0]], "two or more"),
        (["y.noise", files[0], "nothing"], "No such file"),
    ):
        assert message in error_of(capsys, "noise", "merge", *words)
    assert not Path("y.noise").exists()


@pytest.mark.parametrize(
    ("cpus", "shared"),
    [((1, 1), ""), ((2, 2), ",shared=2"), ((1, 3), "")],
)
def test_a_merged_file_is_used_as_is_said(tmp_path, monkeypatch, capsys, cpus, shared):
    """The CPUs of a node were recorded together, and its ranks begin at the same instant."""
    monkeypatch.chdir(tmp_path)
    for i, count in enumerate(cpus):
        names = tuple(map(str, range(count)))
        noisefile.write(recording(f"n{i}", names, first=10 + i), f"x_rank{i}.noise")
    assert main(["noise", "merge", "all.noise", "x_rank0.noise", "x_rank1.noise"]) == 0
    words = capsys.readouterr().out.splitlines()[-1].split()
    assert words[:5] == [
        "next:",
        "jitterfly",
        "slowdown",
        "--noise",
        f"all.noise,part=each{shared}",
    ]
    few = ["--ranks", "4", "--realizations", "10"]
    assert main([*words[2:5], *few]) == 0
    capsys.readouterr()
    error = error_of(capsys, "slowdown", "--noise", "all.noise", *few)
    assert "(--noise all.noise,part=each)" in error


def test_who_uses_what_is_not_to_be_trusted_is_told(tmp_path):
    path = str(tmp_path / "bad.noise")
    noisefile.write(recording("n2", first=20, untrusted="CPU 0: its buffer was full"), path)
    with pytest.warns(jf.UntrustedNoiseWarning, match="^bad.noise is not to be trusted: CPU 0"):
        jf.TraceNoise(path)
    jf.TraceNoise(path, part=0)  # once


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "8"}, (2, 8)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None),  # the batch script, no step
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, None),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2)),
        ({"PMI_RANK": "3", "PMI_SIZE": "4"}, (3, 4)),
        ({"PMI_RANK": "4", "PMI_SIZE": "4"}, None),
        ({"PMI_RANK": "x", "PMI_SIZE": "4"}, None),
        ({"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "4"}, (1, 4)),
        # mpirun in a step of Slurm that starts it on two nodes
        (
            {
                "OMPI_COMM_WORLD_RANK": "5",
                "OMPI_COMM_WORLD_SIZE": "6",
                "SLURM_PROCID": "1",
                "SLURM_STEP_NUM_TASKS": "2",
            },
            (5, 6),
        ),
    ],
)
def test_which_process_of_how_many(environment, found):
    assert task(environment) == found


@pytest.mark.timing
@pytest.mark.skipif(sys.platform != "linux", reason="recording needs Linux")
def test_processes_of_one_job_write_files_of_their_own(tmp_path):
    """As srun starts them: the same command line, another number."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "jitterfly", "noise", "record", "--seconds=0.05",
             f"--cpu={allowed_cpus()[-1]}", "--out=node.noise"],
            cwd=tmp_path, text=True, stdout=subprocess.PIPE,
            env={**os.environ, "SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "12"},
        )
        for rank in (0, 11)
    ]  # fmt: skip
    told = [process.communicate(timeout=60)[0] for process in processes]
    assert {path.name for path in tmp_path.iterdir()} == {"node_rank00.noise", "node_rank11.noise"}
    assert load(tmp_path / "node_rank11.noise").source["rank"] == "11 of 12"
    next_ = "jitterfly noise merge ALL.noise node_rank*.noise" in told[0]
    assert next_ == (processes[0].returncode == 0)  # not after what is not to be trusted
    assert "machine:" in told[0]
    assert told[1].splitlines()[-1] == "written: node_rank11.noise"
