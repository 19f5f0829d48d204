"""Find a CUDA compiler (nvcc) that works here, and the GPU architectures (SM) to compile for.

Used twice, so that both take the same decision: by the build backend (jitterfly_build.py), which
asks PyPI for a compiler when the machine has none, and by CMakeLists.txt, which runs this file as
a script.

Standard output of the script, one item per line: the nvcc to use, the extra compiler flags it
needs, the architectures in CMake's notation. Exit code 1: no compiler, the reasons are on standard
error. Exit code 2: a setting is wrong.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST_CUDA = (12, 0)  # C++20 in device code; also what many clusters have

# The CUDA that pip fetches. PyPI has no older one with nvcc: nvidia-cuda-nvcc-cu12 holds ptxas and
# libnvvm, but neither nvcc nor cudafe++.
FETCHED_CUDA = 13

# Machine code for these and PTX of the newest, as far as the compiler knows them. A driver runs the
# machine code of any compiler of its major version, but takes PTX only of compilers that are no
# newer than itself. So machine code is what makes a build run elsewhere, and PTX is for GPUs that
# come later.
RELEASE = (75, 80, 86, 89, 90, 100, 120)

# Without a GPU to look at, as on a login node. Machine code for 8.0 runs on 8.6 and 8.9, too. Each
# architecture more, RELEASE has them, would lengthen the build by about 50 s of one core. What
# there is PTX for, 7.5 and what comes after 9.0, the driver compiles when it is first used.
DEFAULT = "75-virtual", "80-real", "90-real", "90-virtual"

PREFIX = Path("/usr/local")  # where the toolkits of NVIDIA's packages are

PROBE = """
#if !__has_include(<curand_kernel.h>) || !__has_include(<thrust/sort.h>)
#error "the cuRAND or Thrust headers are missing"
#endif
#include <vector>
__global__ void probe(int* x) { *x = 1; }
int main() { probe<<<1, 1>>>(nullptr); return cudaDeviceSynchronize(); }
"""


class ConfigurationError(ValueError):
    """A setting has a value that is not allowed."""


def driver_version() -> tuple[int, int] | None:
    """The newest CUDA that the installed driver supports, (12, 2) for 12.2; None: no driver.

    As jitterfly.backends.driver_version, which is not there before the build.
    """
    version = ctypes.c_int()
    try:
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)):
            return None
    except (OSError, AttributeError):
        return None
    return version.value // 1000, version.value % 1000 // 10


def too_new(major: int, driver: tuple[int, int] | None) -> str:
    """Say why programs of CUDA `major` do not run with the installed driver; "" if they do."""
    if driver is None or major <= driver[0]:
        return ""
    return f"CUDA {major} is too new for this machine's driver (CUDA {driver[0]}.{driver[1]})"


def fetches(driver: tuple[int, int] | None) -> str:
    """Say why pip shall not fetch a compiler, where the machine has none; "" if it shall."""
    why = too_new(FETCHED_CUDA, driver)
    if not why or driver is None:
        return ""
    nvcc = f"put nvcc of CUDA {driver[0]} in PATH, or " if driver >= OLDEST_CUDA else ""
    return f"{why}, and PyPI has no older compiler: {nvcc}update the driver"


def machine_compilers() -> list[Path]:
    """The compilers of this machine, best first."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    candidates = [str(Path(home, "bin", "nvcc")) for home in homes if home]
    candidates += ["nvcc", str(PREFIX / "cuda/bin/nvcc")]
    versions = [p for p in PREFIX.glob("cuda-[0-9]*") if re.fullmatch(r"cuda-\d+(\.\d+)?", p.name)]
    versions.sort(key=lambda p: [int(n) for n in p.name[5:].split(".")], reverse=True)
    candidates += [str(p / "bin/nvcc") for p in versions]
    return list(dict.fromkeys(Path(p) for p in map(shutil.which, candidates) if p))


def environment_compilers() -> list[Path]:
    """The compilers from PyPI in this Python environment (nvidia/cu13/bin), newest first."""
    found = [p for entry in sys.path for p in Path(entry or ".").glob("nvidia/cu[0-9]*/bin/nvcc")]
    return sorted(found, key=lambda p: p.parents[1].name, reverse=True)


def extra_flags(nvcc: Path) -> list[str]:
    """The packages from PyPI have lib/ where nvcc looks in lib64/ only."""
    root = nvcc.resolve().parents[1]
    libraries = root / "lib"
    if (libraries / "libcudart_static.a").exists() and not (root / "lib64").exists():
        return [f"-L{libraries}"]
    return []


def defect(nvcc: Path, host: str | None, driver: tuple[int, int] | None = None) -> str:
    """Say why `nvcc` can not be used; else "": check its version, and compile and link a program.

    What it makes must run with the installed `driver`, if there is one.
    """
    try:
        text = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    except OSError as error:
        return f"{nvcc}: {error.strerror}"
    version = re.search(r"release (\d+)\.(\d+)", text)
    if not version:
        return f"{nvcc}: not a CUDA compiler"
    if tuple(map(int, version.groups())) < OLDEST_CUDA:
        oldest = ".".join(map(str, OLDEST_CUDA))
        return f"{nvcc}: CUDA {oldest} or newer is needed, this is {'.'.join(version.groups())}"
    if why := too_new(int(version[1]), driver):
        return f"{nvcc}: {why}"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.cu")
        source.write_text(PROBE)
        command = [nvcc, "-std=c++20", *extra_flags(nvcc), "-o", Path(folder, "probe"), source]
        if host:
            command += ["-ccbin", host]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
    return f"{nvcc}: {lines[0].strip() if lines else 'can not compile a small program'}"


def find(
    host: str | None, environment: bool, driver: tuple[int, int] | None
) -> tuple[Path | None, list[str]]:
    """The first compiler that works, or None, and what is wrong with those before it.

    An installed `driver` decides the major version. $CUDACXX is a demand: nothing else is tried, if
    it does not work that is an error, and it may be newer than the driver.
    """
    demanded = os.environ.get("CUDACXX")
    if demanded:
        nvcc = shutil.which(demanded)
        reason = defect(Path(nvcc), host) if nvcc else f"{demanded}: not found"
        if reason:
            raise ConfigurationError(f"CUDACXX must name a usable CUDA compiler, got {reason}")
        return Path(nvcc), []
    defects = []
    for nvcc in machine_compilers() + (environment_compilers() if environment else []):
        reason = defect(nvcc, host, driver)
        if not reason:
            return nvcc, defects
        defects.append(reason)
    return None, defects or ["no CUDA compiler found"]


def known_architectures(nvcc: Path) -> list[int]:
    """Compute capabilities (90 for 9.0) that `nvcc` compiles for."""
    listed = subprocess.run([nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=True)
    return sorted(map(int, re.findall(r"compute_(\d+)\b", listed.stdout)))


def present_architectures() -> list[int]:
    """Compute capabilities of the GPUs in this machine, from the driver's own tool."""
    command = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:
        return []
    return sorted({10 * int(a) + int(b) for a, b in re.findall(r"(\d+)\.(\d+)", done.stdout)})


def architectures(wanted: str, known: list[int], present: list[int]) -> str:
    """CMake's list for JITTERFLY_CUDA_ARCHITECTURES = `wanted` ("" for the default).

    `known` is what the compiler offers, `present` what the machine has. Entries may be written
    90, 90-real, 90-virtual, sm_90 (real code) or compute_90 (PTX).
    """
    entries = re.split(r"[;,\s]+", wanted.strip())
    if entries == ["native"] and not present:
        raise ConfigurationError("JITTERFLY_CUDA_ARCHITECTURES=native needs a GPU and nvidia-smi")
    if entries == ["release"]:
        real = [a for a in RELEASE if a in known]
        return ";".join([f"{a}-real" for a in real] + [f"{real[-1]}-virtual"])
    if entries in ([""], ["native"]):
        if not present or not set(present) <= set(known):
            return ";".join(a for a in DEFAULT if int(a.split("-")[0]) in known)
        # PTX of the oldest one comes almost free and serves any newer GPU of the same cluster.
        return ";".join([str(present[0])] + [f"{a}-real" for a in present[1:]])
    result = []
    for entry in entries:
        match = re.fullmatch(r"(sm_|compute_)?(\d+)(-real|-virtual)?", entry)
        if not match or int(match[2]) not in known or (match[1] and match[3]):
            raise ConfigurationError(
                "JITTERFLY_CUDA_ARCHITECTURES must be 'release', 'native' or a list of compute "
                f"capabilities from {', '.join(map(str, known))} (e.g. '80;90'), got {entry!r}"
            )
        suffix = {"sm_": "-real", "compute_": "-virtual", None: match[3] or ""}[match[1]]
        result.append(match[2] + suffix)
    return ";".join(result)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", help="C++ compiler for the host code")
    parser.add_argument("--architectures", default="")
    options = parser.parse_args()
    try:
        driver = driver_version()
        nvcc, defects = find(options.host, environment=True, driver=driver)
        if nvcc is None:
            why = fetches(driver)
            print("; ".join(defects + ([why] if why else [])), file=sys.stderr)
            return 1
        chosen = architectures(
            options.architectures, known_architectures(nvcc), present_architectures()
        )
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 2
    print(nvcc, " ".join(extra_flags(nvcc)), chosen, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
