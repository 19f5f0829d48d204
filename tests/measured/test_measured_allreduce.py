"""An allreduce measured with a real MPI against its prediction; the script of the tutorial."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.mpi_libraries import mpichs, open_mpi
from support.paths import EXAMPLES, ROOT, SWEEPS
from support.scale import some

import jitterfly as jf

SCRIPT = EXAMPLES / "measured_allreduce.sh"


def programs():
    """mpiexec and the compiler of the same MPI."""
    known = [(one.mpiexec, "mpich") for one in mpichs()] + [(open_mpi(), "openmpi")]
    for mpiexec, kind in known:
        for name in (f"mpicc.{kind}", "mpicc"):
            mpicc = Path(mpiexec).parent / name
            if not mpiexec or not mpicc.is_file():
                continue
            done = subprocess.run([mpicc, "-show"], capture_output=True, text=True, check=False)
            if done.returncode == 0 and ("openmpi" in done.stdout) == (kind == "openmpi"):
                return mpiexec, str(mpicc)
    pytest.skip("no MPI with a compiler (mpicc)")


@pytest.mark.full_scale
@pytest.mark.skipif(sys.platform != "linux", reason="the program pins its ranks as Linux has it")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two ranks need two CPUs")
@pytest.mark.slow
def test_the_script_from_recording_to_comparison(tmp_path):
    mpiexec, mpicc = programs()
    environment = os.environ | {
        "MPIEXEC": mpiexec,
        "MPICC": mpicc,
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(["bash", SCRIPT, "30", "20", "1"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("recursive_doubling_allreduce, simulated beside measured") == 2
    assert "--network L=" in done.stdout
    text = (tmp_path / "measured_times.txt").read_text()
    times = np.array([float(line) for line in text.splitlines() if line[0] != "#"])
    left_out = int(text.rpartition(":")[2].split()[0])
    assert len(times) + left_out == 30
    assert (times > 0).all()
    for name in ("measured_before.png", "measured_after.png", "measured_load.txt"):
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.skipif(sys.platform != "linux", reason="the program pins its ranks as Linux has it")
def test_the_program_wants_two_ranks(tmp_path):
    mpiexec, mpicc = programs()
    program = tmp_path / "program"
    subprocess.run([mpicc, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program,
                    EXAMPLES / "measured_allreduce.c"], check=True, timeout=120)  # fmt: skip
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for arguments in some((["10"], [], ["10", "-1"], ["1"]), 2):
        done = subprocess.run([mpiexec, "-n", "1", program, *arguments], cwd=tmp_path,
                              env=os.environ | allowed, capture_output=True, text=True,
                              timeout=60, check=False)  # fmt: skip
        assert done.returncode != 0
        assert "usage: mpiexec -n 2" in done.stderr
    assert list(tmp_path.glob("measured_*")) == []


DATA = SWEEPS / "data"


def compared(recording):
    network = jf.LogGOPS(L="1.016us", o="231ns", G="325.825ps")
    noise = jf.TraceNoise(str(DATA / recording), part="each")
    case = jf.Case(2, algorithm=jf.RecursiveDoublingAllreduce(), network=network, noise=[noise])
    return jf.compare_measured(DATA / "measured_times.txt", case, unit="us")


@pytest.mark.filterwarnings("ignore:.*is not to be trusted")
def test_what_the_tutorial_says_of_its_data():
    page = (ROOT / "docs" / "tutorials" / "held_to_measurement.md").read_text()
    before, after = compared("measured_before.noise"), compared("measured_after.noise")
    rows = {row.what: row for row in before.rows}
    middle = [rows[what] for what in ("mean", "p25", "p50", "p75")]
    assert {row.verdict for row in middle} == {"not told apart"}
    off = sorted(100 * abs(row.ratio - 1) for row in middle)
    assert f"by {off[0]:.0f} to {off[-1]:.0f} %" in page.replace("\n", " ")
    assert (rows["p95"].verdict, rows["p99"].verdict) == ("not told apart", "not told apart")
    p95, p99 = (100 * (1 - rows[what].ratio) for what in ("p95", "p99"))
    assert f"by {p95:.0f} % at p95 and {p99:.0f} % at p99" in page
    fast = before.measured[before.measured < 30e-6]
    assert f"{1e6 * fast.min():.0f} to {1e6 * fast.max():.0f} µs" in page
    assert f"fast end is off by a factor of {fast.mean() / before.simulated[0]:.0f}" in page
    assert (
        f"One in {['thirteen', 'fourteen'][round(len(before.measured) / len(fast)) - 13]}" in page
    )
    assert f"by a factor of {after.rows[0].ratio:.1f} in the mean" in page
    assert after.rows[0].verdict == "too long"
