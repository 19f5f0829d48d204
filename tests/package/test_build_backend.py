"""Build backend: which CUDA compiler (nvcc) and GPU architectures a build takes.

No compiler is needed.
"""

import sys

import pytest
from support.paths import ROOT

BACKEND = ROOT / "python" / "build_backend"
NVCC = """#!/bin/sh
case "$*" in
--version) echo "Cuda compilation tools, release {version}, V{version}.99" ;;
--list-gpu-arch) printf 'compute_75\\ncompute_80\\ncompute_86\\ncompute_89\\ncompute_90\\n' ;;
esac
"""
DEFAULT = "75-virtual;80-real;90-real;90-virtual"
KNOWN = [75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121]  # to CUDA 13.0


@pytest.fixture
def cuda(monkeypatch, tmp_path):
    """The module, on a machine without any compiler."""
    monkeypatch.syspath_prepend(str(BACKEND))
    monkeypatch.delitem(sys.modules, "jitterfly_cuda", raising=False)
    import jitterfly_cuda

    for name in ("CUDA_HOME", "CUDA_PATH", "CUDACXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(jitterfly_cuda, "PREFIX", tmp_path)
    monkeypatch.setattr(jitterfly_cuda, "environment_compilers", list)
    yield jitterfly_cuda
    sys.modules.pop("jitterfly_cuda", None)


@pytest.fixture
def toolkit(tmp_path):
    def install(name, version):
        nvcc = tmp_path / name / "bin" / "nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text(NVCC.format(version=version))
        nvcc.chmod(0o755)
        return nvcc

    return install


def test_the_driver_decides_the_major_version(cuda, toolkit):
    new = toolkit("cuda", "13.1")
    toolkit("cuda-12.4", "12.4")
    old = toolkit("cuda-12.10", "12.10")
    for driver in (None, (13, 0), (13, 2), (14, 0)):
        assert cuda.find(None, False, driver) == (new, [])
    found, defects = cuda.find(None, False, (12, 2))
    assert found == old
    assert defects == [f"{new}: CUDA 13 is too new for this machine's driver (CUDA 12.2)"]
    assert cuda.find(None, False, (11, 8))[0] is None


def test_who_names_a_compiler_gets_it(cuda, toolkit, monkeypatch):
    monkeypatch.setenv("CUDACXX", str(toolkit("cuda-13.0", "13.0")))
    assert cuda.find(None, False, (12, 2))[1] == []
    monkeypatch.setenv("CUDACXX", str(toolkit("cuda-11.8", "11.8")))
    with pytest.raises(cuda.ConfigurationError, match=r"CUDA 12\.0 or newer is needed"):
        cuda.find(None, False, None)


def test_no_compiler(cuda):
    assert cuda.find(None, False, None) == (None, ["no CUDA compiler found"])


@pytest.mark.parametrize(
    ("driver", "told"),
    [
        (None, ""),
        ((13, 0), ""),
        ((14, 1), ""),
        ((12, 2), "CUDA 13 is too new for this machine's driver (CUDA 12.2), and PyPI has no older "
         "compiler: put nvcc of CUDA 12 in PATH, or update the driver"),
        ((11, 8), "CUDA 13 is too new for this machine's driver (CUDA 11.8), and PyPI has no older "
         "compiler: update the driver"),
    ],
)  # fmt: skip
def test_what_pip_fetches(cuda, driver, told):
    """The compiler of PyPI is fetched where what it makes can run, or nobody can tell."""
    assert cuda.fetches(driver) == told
    text = (BACKEND / "jitterfly_build.py").read_text(encoding="utf-8")
    assert f"[nvcc,cudart,cccl,curand]=={cuda.FETCHED_CUDA}.0" in text


def test_what_the_build_asks_for(cuda, toolkit, monkeypatch):
    pytest.importorskip("scikit_build_core")
    monkeypatch.delitem(sys.modules, "jitterfly_build", raising=False)
    import jitterfly_build

    monkeypatch.delenv("JITTERFLY_CUDA", raising=False)
    monkeypatch.setattr(jitterfly_build, "_pypi_has_cuda", lambda: True)
    fetched = set(jitterfly_build.CUDA_FROM_PYPI)

    def asks(driver, **settings):
        monkeypatch.setattr(cuda, "driver_version", lambda: driver)
        return fetched <= set(jitterfly_build.get_requires_for_build_wheel(settings))

    assert asks(None)
    assert asks((13, 0))
    assert not asks((12, 8))
    assert not asks(None, **{"cmake.define.JITTERFLY_CUDA": "OFF"})
    toolkit("cuda-12.4", "12.4")
    assert not asks(None)
    assert not asks((12, 8))
    assert not asks((13, 0))


@pytest.mark.parametrize(
    ("wanted", "present", "made"),
    [
        ("", [], DEFAULT),
        ("", [90], "90"),
        ("", [80, 90], "80;90-real"),
        ("", [130], DEFAULT),  # newer than the compiler: PTX
        ("native", [86], "86"),
        ("release", [86], "75-real;80-real;86-real;89-real;90-real;100-real;120-real;120-virtual"),
        ("80, sm_90 compute_90", [], "80;90-real;90-virtual"),
    ],
)
def test_architectures(cuda, wanted, present, made):
    assert cuda.architectures(wanted, KNOWN, present) == made


def test_architectures_of_an_old_compiler(cuda):
    assert cuda.architectures("", [70, 75, 80, 86], []) == "75-virtual;80-real"
    assert cuda.architectures("release", [70, 75, 80], []) == "75-real;80-real;80-virtual"
    # All GPUs have machine code of their own or their family's, or PTX: 12.0 is the oldest nvcc.
    assert cuda.architectures("", [75, 80, 86, 87, 89, 90], []) == DEFAULT


def test_architectures_that_can_not_be_had(cuda):
    for wanted in ("native", "70", "sm_90-real", "hopper"):
        with pytest.raises(cuda.ConfigurationError, match="JITTERFLY_CUDA_ARCHITECTURES"):
            cuda.architectures(wanted, KNOWN, [])


def test_as_a_script(cuda, toolkit, monkeypatch, capsys):
    """What CMakeLists.txt reads: compiler, flags, architectures; or why there is none."""
    monkeypatch.setattr(sys, "argv", ["jitterfly_cuda.py"])
    monkeypatch.setattr(cuda, "present_architectures", list)
    monkeypatch.setattr(cuda, "driver_version", lambda: (12, 2))
    assert cuda.main() == 1
    told = capsys.readouterr().err
    assert "no CUDA compiler found; CUDA 13 is too new for this machine's driver" in told
    nvcc = toolkit("cuda", "12.4")
    assert cuda.main() == 0
    assert capsys.readouterr().out == f"{nvcc}\n\n{DEFAULT}\n"
