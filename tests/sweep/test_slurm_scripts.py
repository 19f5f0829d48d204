"""Slurm batch scripts (array, MPI), run without Slurm."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.paths import SWEEPS

import jitterfly as jf
from jitterfly.store import Store

SCRIPTS = SWEEPS / "slurm"

STUDY = """
name = "tiny"
title = "A tiny study"
seed = 5
realizations = { max = 40 }

[case]
algorithm = { kind = "butterfly", exchanges_after = "all" }
network = { kind = "hockney", alpha = "100ns", beta = 0, gamma = 1e-8 }
noise = [{ kind = "periodic", period = "10us", duration = "5us" }]

[axes.ranks]
log2 = [2, 5]
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY)
    return path


def call(*command, **settings):
    """Run in an environment without any Slurm but `settings`; standard output."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "CUDA_VISIBLE"))}
    environment = {**kept, "PYTHON": sys.executable, **settings}
    done = subprocess.run(
        [*map(str, command)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def samples(out):
    store = Store.open(out)
    return [store.ticks(cell, store.available(cell)) for cell in store.cells]


def fake(folder, name, body):
    """A program in place of one of Slurm's."""
    path = folder / name
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("name", ["array.sbatch", "mpi.sbatch"])
def test_syntax(name):
    call("bash", "-n", SCRIPTS / name)
    # Slurm reads its options only up to the first command.
    lines = (SCRIPTS / name).read_text().splitlines()
    head = next(line for line in lines if line and not line.startswith("#"))
    assert not [line for line in lines[lines.index(head) :] if line.startswith("#SBATCH")]


def test_usage():
    for name in ("array.sbatch", "mpi.sbatch"):
        done = subprocess.run(
            ["bash", SCRIPTS / name, "study.toml"], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert done.stderr.startswith("usage: sbatch")


@pytest.mark.full_scale
def test_array(study, tmp_path):
    out = tmp_path / "with space"
    for task in ("0", "1"):
        said = call(
            "bash",
            SCRIPTS / "array.sbatch",
            study,
            out,
            SLURM_ARRAY_TASK_ID=task,
            SLURM_ARRAY_TASK_COUNT="2",
            SLURM_ARRAY_TASK_MIN="0",
            SLURM_CPUS_PER_TASK="1",
        )
    shards = sorted(path.name for path in out.iterdir() if path.is_dir())
    assert shards == ["shard-1-of-2", "shard-2-of-2"]
    last = said.splitlines()[-1]
    assert last.endswith(f"jitterfly merge {out}")
    jf.merge(out)
    jf.run_study(study, tmp_path / "one")
    for merged, single in zip(samples(out), samples(tmp_path / "one"), strict=True):
        assert merged.columns == single.columns
        assert len(np.unique(single.values)) > 3  # there is noise to differ by
        assert np.array_equal(merged.values, single.values)


def test_ranks_of_mpi(study, tmp_path):
    fake(tmp_path, "scontrol", 'printf "a\\nb\\n"')
    fake(tmp_path, "srun", 'printf "%s " "$@"; echo; cat "$SLURM_HOSTFILE"')
    said = call(
        "bash",
        SCRIPTS / "mpi.sbatch",
        study,
        tmp_path / "out",
        "--full",
        PATH=f"{tmp_path}:{os.environ['PATH']}",
        SLURM_JOB_NODELIST="a,b",
        SLURM_NTASKS_PER_NODE="2",
        SLURM_JOB_GPUS="0,1",
    )
    command, *hosts = said.splitlines()
    assert hosts == ["a", "a", "b", "a", "b"]
    assert "--ntasks=5 " in command
    assert f"-m mpi4py.futures -m jitterfly run {study} --out {tmp_path}/out" in command
    assert command.endswith("--workers mpi --backend cuda --full ")
    assert "--cpus-per-task" not in command  # the job has none


def test_cores_of_mpi(study, tmp_path):
    """`srun` does not take them over from the job by itself, since Slurm 22.05."""
    fake(tmp_path, "scontrol", 'printf "a\\n"')
    fake(tmp_path, "srun", 'printf "%s " "$@"')
    said = call(
        "bash",
        SCRIPTS / "mpi.sbatch",
        study,
        tmp_path / "out",
        PATH=f"{tmp_path}:{os.environ['PATH']}",
        SLURM_JOB_NODELIST="a",
        SLURM_NTASKS_PER_NODE="2",
        SLURM_CPUS_PER_TASK="8",
    )
    before, python, after = said.partition(f" {sys.executable} ")
    assert python
    assert " --cpus-per-task=8" in before
    assert after.endswith("--workers mpi --backend cpu --threads 8 ")


def test_an_empty_list_of_options_is_one_for_every_bash(study, tmp_path):
    """`"${list[@]}"` of an empty list is an error of `set -u` in bash before 4.4."""
    for script in SCRIPTS.glob("*.sbatch"):
        text = script.read_text()
        lists = set(re.findall(r"^ *(\w+)=\(", text, re.MULTILINE))
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        assert lists
        for name in lists:
            guarded = f'${{{name}[@]+"${{{name}[@]}}"}}'
            assert code.count(guarded) == 1, (script.name, name)
            assert f"{name}[@]" not in code.replace(guarded, ""), (script.name, name)
    fake(tmp_path, "python", 'printf "%s " "$@"')
    said = call(
        "bash", SCRIPTS / "array.sbatch", study, tmp_path / "out", PYTHON=tmp_path / "python"
    )
    assert said == f"-m jitterfly run {study} --out {tmp_path}/out "
