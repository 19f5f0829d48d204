#!/usr/bin/env python3
"""Check of a wheel's or sdist's content: everything that belongs there is, and nothing else.

    .ci/wheel_content.py FILE...

Needs no package. Raises SystemExit with what is wrong.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("jitterfly", "jitterfly_papers")
MAX_MIB = 100  # PyPI takes no larger file without asking
SOURCES = {".c", ".cpp", ".cu", ".cuh", ".h", ".o", ".a", ".ptx", ".cubin"}


def shipped_studies() -> set[str]:
    """The studies of the papers, and the examples with their data, as paths in the wheel."""
    files = [*ROOT.glob("sweeps/*.toml"), *ROOT.glob("sweeps/examples/*")]
    return {f"jitterfly/{file.relative_to(ROOT).as_posix()}" for file in files}


def package_files() -> set[str]:
    """The packages' files as they were written: Python, types, tables, the style of the report."""
    python = ROOT / "python"
    packages = [python / name for name in PACKAGES]
    files = [file for one in packages for file in one.rglob("*") if file.is_file()]
    names = {file.relative_to(python).as_posix() for file in files if is_source(file)}
    return {name for name in names if not name.startswith("jitterfly/sweeps")}


def wheel_faults(names: set[str]) -> list[str]:
    """What is wrong with the names of a wheel's files."""
    info = {name.split("/")[0] for name in names if ".dist-info/" in name}
    if len(info) != 1:
        return [f"one .dist-info folder is needed, got {sorted(info)}"]
    (dist_info,) = info
    parts = {f"{dist_info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    wanted = parts | {f"{dist_info}/licenses/LICENSE"} | package_files() | shipped_studies()
    faults = [f"missing: {name}" for name in sorted(wanted - names)]
    cores = [name for name in names if PurePosixPath(name).match("jitterfly/_core*.so")]
    if len(cores) != 1:
        faults.append(f"one compiled jitterfly/_core*.so is needed, got {cores}")
    for name in sorted(names - wanted - set(cores)):
        path = PurePosixPath(name)
        if path.parts[0] not in (*PACKAGES, dist_info):
            faults.append(f"outside of the package: {name}")
        elif (
            path.suffix in SOURCES
            or path.parts[1] in ("sweeps", "tests", "build_backend")
            or "__pycache__" in path.parts
        ):
            faults.append(f"does not belong there: {name}")
    return faults


def sdist_faults(names: set[str]) -> list[str]:
    """What is wrong with the names of an sdist's files, without the folder that holds them."""
    wanted = {"LICENSE", "README.md", "pyproject.toml", "CMakeLists.txt", "PKG-INFO"}
    wanted |= {f"python/{name}" for name in package_files()}
    wanted |= {name.removeprefix("jitterfly/") for name in shipped_studies()}
    for folder in ("bindings", "cuda", "python/build_backend"):
        files = [file for file in (ROOT / folder).rglob("*") if file.is_file()]
        wanted |= {file.relative_to(ROOT).as_posix() for file in files if is_source(file)}
    faults = [f"missing: {name}" for name in sorted(wanted - names)]
    return faults + [f"does not belong there: {name}" for name in sorted(names) if is_left(name)]


def is_left(name: str) -> bool:
    """Whether a build or a tool left the file."""
    path = PurePosixPath(name)
    folders = {".venv", "build", "dist", "results"}
    caches = [part for part in path.parts if part.startswith(".") and part.endswith("_cache")]
    top = {path.parts[0]} if len(path.parts) > 1 else set()
    unwanted = path.suffix in {".so", ".o", ".whl", ".pyc"} or "__pycache__" in path.parts
    return bool(unwanted or caches or top & folders)


def is_source(file: Path) -> bool:
    """Whether a file of the checkout is one that was written."""
    return not is_left(file.relative_to(ROOT).as_posix()) and not file.name.startswith(".")


def check(file: Path) -> None:
    """Print what a wheel or an sdist holds; SystemExit where that is wrong."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        faults = wheel_faults({name for name in sizes if not name.endswith("/")})
    else:
        with tarfile.open(file) as archive:
            members = [entry for entry in archive.getmembers() if not entry.isdir()]
        sizes = {entry.name.partition("/")[2]: entry.size for entry in members}
        faults = sdist_faults(set(sizes))
    mib = file.stat().st_size / 2**20
    if mib > MAX_MIB:
        faults.append(f"{mib:.1f} MiB are more than the {MAX_MIB} MiB that PyPI takes")
    if faults:
        raise SystemExit(f"{file.name}:\n" + "\n".join(f"  {fault}" for fault in faults))
    largest = max(sizes, key=lambda name: sizes[name])
    print(
        f"{file.name}: {mib:.1f} MiB, {len(sizes)} files; the largest is {largest}, "
        f"{sizes[largest] / 2**20:.1f} MiB unpacked"
    )


if __name__ == "__main__":
    if len(sys.argv) == 1:
        raise SystemExit(__doc__)
    for argument in sys.argv[1:]:
        check(Path(argument))
