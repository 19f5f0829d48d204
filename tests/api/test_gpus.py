"""Detection of GPU and driver, and the warning where a GPU is there and not used (no GPU needed).

No GPU is needed.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
import warnings

import pytest
from support import sweep_cases
from support.forkserver import run_program

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import _core, backends
from jitterfly.backends import info_lines
from jitterfly.cli import main
from jitterfly.sweep import run

OLD = "no usable GPU: CUDA driver version is insufficient (cudaErrorInsufficientDriver)"
PTX = "no usable GPU: the provided PTX was compiled ... (cudaErrorUnsupportedPtxVersion)"
IMAGE = "no usable GPU: no kernel image is available (cudaErrorNoKernelImageForDevice)"
CASE = jf.Case(ranks=16, network=jf.Hockney("1us", "1ns"))


def build(cuda="13.0.88", architectures="80-real 90-real 90-virtual", note=""):
    return {"cuda": cuda, "cuda_architectures": architectures, "cuda_note": note}


WITHOUT = build("", "", "no CUDA compiler found")


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with a GPU, a driver of CUDA 12.2, and a build that can not use them."""

    class Machine:
        status, driver, build = OLD, (12, 2), build()

    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(backends, "_DEVICES", tmp_path)
    monkeypatch.delenv(backends.VISIBLE_DEVICES, raising=False)
    monkeypatch.setattr(backends, "driver_version", lambda: Machine.driver)
    monkeypatch.setattr(_core, "cuda_status", lambda: Machine.status)
    monkeypatch.setattr(_core, "devices", list)
    monkeypatch.setattr(_core, "build_info", lambda: _core_info | Machine.build)
    for name, value in {"asked": False, "started": False, "forked": False, "warned": set()}.items():
        monkeypatch.setattr(backends._Process, name, value)
    return Machine


_core_info = dict(_core.build_info())


@pytest.mark.parametrize(
    ("status", "driver", "made", "told"),
    [
        (OLD, (12, 2), build(), "the driver supports CUDA 12.2, and this build was made with CUDA "
         "13.0.88: update the driver to 580 or newer, or reinstall jitterfly on this machine with "
         "nvcc of CUDA 12 in PATH"),
        (OLD, (11, 8), build("12.9.86"), "the driver supports CUDA 11.8 only: update the driver to "
         "525 or newer"),
        (PTX, (12, 2), build("12.9.86"), "this build has code for 80-real 90-real 90-virtual, "
         "where 'virtual' is PTX of CUDA 12.9.86, which this driver (CUDA 12.2) is too old to "
         "compile: "
         "reinstall jitterfly with JITTERFLY_CUDA_ARCHITECTURES=release, or update the driver"),
        (f"{PTX} on T4, compute capability 7.5", (13, 1), build("13.2.10"), "which this driver "
         "(CUDA 13.1) is too old to compile: reinstall jitterfly with "
         "JITTERFLY_CUDA_ARCHITECTURES=75, or update the driver"),
        (f"{IMAGE} on T4, compute capability 7.5", (13, 0), build(), "this build has code for "
         "80-real 90-real 90-virtual: reinstall jitterfly with JITTERFLY_CUDA_ARCHITECTURES=75"),
        ("no CUDA in this build: no CUDA compiler found", (12, 2), WITHOUT, "reinstall jitterfly "
         "on this machine with nvcc of CUDA 12 in PATH"),
        ("no CUDA in this build: no CUDA compiler found", (13, 1), WITHOUT, "reinstall jitterfly "
         "on this machine"),
        ("no CUDA in this build: built with JITTERFLY_CUDA=OFF", (13, 0),
         build("", "", "built with JITTERFLY_CUDA=OFF"), "reinstall jitterfly on this machine "
         "without JITTERFLY_CUDA=OFF"),
        ("no usable GPU: no NVIDIA driver found", None, build(), "libcuda.so.1 can not be loaded"),
        ("no usable GPU: x (cudaErrorNoDevice)", (13, 0), build(), "what nvidia-smi says"),
        ("no usable GPU: x (cudaErrorInitializationError)", (13, 0), build(), "'spawn'"),
    ],
)  # fmt: skip
def test_what_mends_it(status, driver, made, told):
    assert told in backends.gpu_remedy(status, made, driver)


def test_an_error_that_nobody_knows():
    assert (
        backends.gpu_remedy("no usable GPU: x (cudaErrorECCUncorrectable)", build(), (13, 0)) == ""
    )


def test_is_there_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "driver_version", lambda: None)
    (tmp_path / "nvidiactl").touch()
    (tmp_path / "dxg").touch()
    assert not backends.gpu_present(tmp_path, {})
    monkeypatch.setattr(backends, "driver_version", lambda: (12, 2))
    assert backends.gpu_present(tmp_path, {})  # Windows' Linux, with NVIDIA's driver
    (tmp_path / "dxg").unlink()
    (tmp_path / "nvidia1").touch()
    assert backends.gpu_present(tmp_path, {})
    for hidden in ("", "-1", " -1,0", "NoDevFiles"):
        assert not backends.gpu_present(tmp_path, {backends.VISIBLE_DEVICES: hidden})
    assert backends.gpu_present(tmp_path, {backends.VISIBLE_DEVICES: "0,-1"})
    monkeypatch.setattr(os, "access", lambda *_: False)  # a job that did not ask for it
    assert not backends.gpu_present(tmp_path, {})


def test_auto_warns_once(machine):
    told = (
        r"^backend 'auto' takes the CPU: CUDA driver version is insufficient "
        r"\(cudaErrorInsufficientDriver\); the driver supports CUDA 12\.2, and this build was made "
        r"with CUDA 13\.0\.88: update the driver"
    )
    with pytest.warns(jf.UnusedGPUWarning, match=told) as warned:
        assert jf.simulate(CASE, 1).backend == "cpu"
    assert [w.filename for w in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jf.simulate(CASE, 1)
        jc.simulate_congestion(jc.CongestionCase(jc.FatTree.of(144)), 1)


def test_a_build_without_cuda_warns(machine):
    machine.status, machine.build = "no CUDA in this build: no CUDA compiler found", WITHOUT
    told = "takes the CPU: no CUDA in this build: no CUDA compiler found; reinstall jitterfly on"
    with pytest.warns(jf.UnusedGPUWarning, match=told):
        jf.simulate(CASE, 1)


def test_congestion_warns(machine):
    with pytest.warns(jf.UnusedGPUWarning, match="takes the CPU: CUDA driver version") as warned:
        jc.simulate_congestion(jc.CongestionCase(jc.FatTree.of(144)), 1)
    assert [w.filename for w in warned] == [__file__]


def test_a_study_warns(machine, tmp_path, monkeypatch):
    from jitterfly import executors

    executors.engine_of_process.cache_clear()
    with pytest.warns(jf.UnusedGPUWarning, match="takes the CPU: CUDA driver version") as warned:
        run(sweep_cases.study(), tmp_path / "out")
    executors.engine_of_process.cache_clear()
    assert [w.filename for w in warned] == [__file__]


@pytest.mark.parametrize("way", [{"threads": 1}, {"backend": "cpu"}])
def test_who_asks_for_the_cpu_is_not_warned(machine, way):
    jf.simulate(CASE, 1, **way)


def test_who_hides_the_gpu_is_not_warned(machine, monkeypatch):
    monkeypatch.setenv(backends.VISIBLE_DEVICES, "")
    assert jf.simulate(CASE, 1).backend == "cpu"


def test_cuda_says_what_mends_it(machine):
    with pytest.raises(jf.BackendError, match=r"can not be used here: .*update the driver to 580"):
        jf.simulate(CASE, 1, backend="cuda")


def test_info_says_what_mends_it(machine, capsys):
    assert "update the driver to 580 or newer" in jf.info()["cuda"]
    assert any(line.startswith("cuda: ") and "to 580 or newer" in line for line in info_lines())
    assert main(["info"]) == 0
    assert "update the driver to 580 or newer" in capsys.readouterr().out


def test_commands_warn(machine):
    with pytest.warns(jf.UnusedGPUWarning, match="takes the CPU: CUDA driver version") as warned:
        assert main(["slowdown", "--noise", "period=1ms,duration=10us", "--ranks", "16"]) == 0
    assert len(warned) == 1


def test_ctrl_c_is_heard_while_the_driver_compiles(machine, monkeypatch):
    compiled = threading.Event()

    def compiling():
        compiled.wait(60)
        return ""

    monkeypatch.setattr(_core, "cuda_status", compiling)
    begun = time.monotonic()
    threading.Timer(0.2, lambda: os.kill(os.getpid(), 2)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            backends.gpu_problem()
        assert time.monotonic() - begun < 30
    finally:
        compiled.set()
    assert backends.gpu_problem() == ""


FORK = """
import os
import sys
import warnings

import jitterfly as jf
from jitterfly import _core, backends

device, case = sys.argv[1], jf.Case(ranks=16, network=jf.Hockney("1us", "1ns"))
backends._DEVICES = backends.Path(device)
asked = []
_core.cuda_status = lambda: asked.append(os.getpid()) or ""
assert backends.gpu_problem() == ""
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert jf.simulate(case, 1).backend == jf.simulate(case, 1).backend == "cpu"
assert [w.category for w in told] == [jf.UnusedGPUWarning], told
assert "takes the CPU: CUDA was started before this process was forked" in str(told[0].message)
try:
    jf.simulate(case, 1, backend="cuda")
except jf.BackendError as error:
    assert "start processes with 'spawn'" in str(error)
else:
    raise AssertionError("no error")
assert "forked" in jf.info()["cuda"]
assert os.getpid() not in asked
"""


def in_a_process(program, folder):
    program = f"import os\nos.environ.pop({backends.VISIBLE_DEVICES!r}, None)\n{program}"
    code, _, errors = run_program(folder, program, str(folder), module=False)
    assert code == 0, errors


def test_after_a_fork(tmp_path):
    """CUDA does not survive a fork: nothing of it is called, an error and a warning say so."""
    (tmp_path / "nvidia0").touch()
    in_a_process(FORK, tmp_path)


def test_a_fork_before_cuda_does_no_harm(tmp_path):
    program = FORK.split("assert backends.gpu_problem()")[0] + (
        "child = os.fork()\n"
        "if child:\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "assert backends.gpu_problem() == ''\n"
        "assert asked == [os.getpid()]\n"
    )
    in_a_process(program, tmp_path)


DRIVER = """
int cuDriverGetVersion(int* version) { *version = 12020; return 0; }
int cuInit(unsigned flags) { return 100; }
"""
UNDER_IT = """
import sys
import warnings

import jitterfly as jf
from jitterfly import backends

backends._DEVICES = backends.Path(sys.argv[1])
assert backends.driver_version() == (12, 2)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    jf.simulate(jf.Case(ranks=16, network=jf.Hockney("1us", "1ns")), 1)
assert [w.category for w in told] == [jf.UnusedGPUWarning], told
cuda = jf.info()["build"]["cuda"]
if not cuda:
    assert "no CUDA in this build" in str(told[0].message)
elif int(cuda.split(".")[0]) > 12:
    assert "(cudaErrorInsufficientDriver); the driver supports CUDA 12.2" in str(told[0].message)
"""


@pytest.mark.full_scale
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the driver is Linux's")
def test_an_old_driver(tmp_path, monkeypatch):
    """A library that says it is the driver of CUDA 12.2: what CUDA itself says of it."""
    (tmp_path / "nvidia0").touch()
    (tmp_path / "driver.c").write_text(DRIVER)
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "driver.c"], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.delenv(backends.VISIBLE_DEVICES, raising=False)
    done = subprocess.run(
        [sys.executable, "-c", UNDER_IT, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
