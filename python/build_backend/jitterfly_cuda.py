"""Find a CUDA compiler that works here, and the GPU architectures to compile for.

Used twice, so that both take the same decision: by the build backend, which asks PyPI for a
compiler when the machine has none, and by CMakeLists.txt, which runs this file as a script.

Standard output of the script, one item per line: the nvcc to use, the extra compiler flags it
needs, the architectures in CMake's notation. Exit code 1: no compiler, the reasons are on standard
error. Exit code 2: a setting is wrong.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST_CUDA = (12, 0)  # C++20 in device code; also what many clusters have

# Real code for these and PTX of the newest for what comes after, as far as the compiler knows them.
RELEASE = (75, 80, 86, 89, 90, 100, 120)

# Without a GPU to look at: PTX alone, which the driver of any supported GPU compiles, once, when it
# is first used. It is the shortest build: cuda/gpu takes 22 s on one core, 38 s with real code for
# 9.0 beside it and 166 s for RELEASE.
DEFAULT = "75-virtual"

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


def machine_compilers() -> list[Path]:
    """The compilers of this machine, best first."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    candidates = [str(Path(home, "bin", "nvcc")) for home in homes if home]
    candidates += ["nvcc", "/usr/local/cuda/bin/nvcc"]
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


def defect(nvcc: Path, host: str | None) -> str:
    """Why `nvcc` can not be used, or "": its version, then a program compiled and linked by it."""
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


def find(host: str | None, environment: bool) -> tuple[Path | None, list[str]]:
    """The first compiler that works, or None, and what is wrong with those before it.

    $CUDACXX is a demand: nothing else is tried, and if it does not work that is an error.
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
        reason = defect(nvcc, host)
        if not reason:
            return nvcc, defects
        defects.append(reason)
    return None, defects


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
            return DEFAULT
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
        nvcc, defects = find(options.host, environment=True)
        if nvcc is None:
            print("; ".join(defects) or "no CUDA compiler found", file=sys.stderr)
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
