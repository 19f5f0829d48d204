"""Packaging: content of wheel and sdist, versions, workflows, CITATION, CONTRIBUTING."""

import importlib.util
import re
import subprocess
from itertools import chain

import pytest
from packaging.requirements import Requirement
from support.paths import ROOT

try:
    import tomllib
except ImportError:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def content():
    """The script `.ci/wheel_content.py` as a module."""
    spec = importlib.util.spec_from_file_location("content", ROOT / ".ci" / "wheel_content.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def good_wheel(content):
    info = "jitterfly-1.0.dist-info"
    parts = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    return (
        content.package_files()
        | content.shipped_studies()
        | {f"{info}/{part}" for part in parts}
        | {"jitterfly/_core.cpython-312-x86_64-linux-gnu.so"}
    )


def good_sdist(content):
    folders = (
        "bindings",
        "cuda",
        "python/build_backend",
        "python/jitterfly",
        "python/jitterfly_papers",
        "sweeps",
    )
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()]
    names = {file.relative_to(ROOT).as_posix() for file in files if content.is_source(file)}
    return names | {"LICENSE", "README.md", "pyproject.toml", "CMakeLists.txt", "PKG-INFO"}


def test_what_a_wheel_must_hold(content):
    wheel = good_wheel(content)
    assert content.wheel_faults(wheel) == []
    assert "jitterfly/py.typed" in wheel
    assert "jitterfly/report.css" in wheel
    for name in (
        "jitterfly-1.0.dist-info/licenses/LICENSE",
        "jitterfly/sweeps/ms12_fig12.toml",
        "jitterfly/sweeps/examples/vm.noise",
        "jitterfly/_core.pyi",
        "jitterfly/cli/run.py",
    ):
        assert content.wheel_faults(wheel - {name}) == [f"missing: {name}"]
    (core,) = (name for name in wheel if name.endswith(".so"))
    assert "one compiled" in content.wheel_faults(wheel - {core})[0]


@pytest.mark.parametrize(
    "name",
    [
        "jitterfly/core/steps.h",
        "jitterfly/gpu/kernels.cu",
        "jitterfly/sweeps/README.md",
        "jitterfly/sweeps/pictures/ms12_fig12.png",
        "jitterfly/tests/test_cli.py",
        "jitterfly/__pycache__/case.cpython-312.pyc",
        "tests/test_cli.py",
        "jitterfly_build.py",
        "lib/libcudart_static.a",
    ],
)
def test_what_a_wheel_must_not_hold(content, name):
    (fault,) = content.wheel_faults(good_wheel(content) | {name})
    assert fault.endswith(f": {name}")


def test_what_an_sdist_must_and_must_not_hold(content):
    sdist = good_sdist(content)
    assert content.sdist_faults(sdist) == []
    name = "python/build_backend/jitterfly_cuda.py"
    assert content.sdist_faults(sdist - {name}) == [f"missing: {name}"]
    for name in (".mypy_cache/x.json", "build/x", "python/jitterfly/_core.so", ".venv/bin/python"):
        assert content.sdist_faults(sdist | {name}) == [f"does not belong there: {name}"]


def test_versions_agree():
    version = PROJECT["project"]["version"]
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert f"project(jitterfly VERSION {version} " in cmake
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == version
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_wheels_are_for_every_python_that_is_supported():
    wheels = PROJECT["tool"]["cibuildwheel"]
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=").replace(".", "")
    assert wheels["build"].startswith(f"cp3{{{oldest[1:]},")
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    built = re.search(r"\{(.*?)\}", wheels["build"])[1].split(",")
    assert re.findall(r'"cp3(\d+)"', text.split("||")[1].splitlines()[0]) == built


def test_actions_are_pinned_by_commit():
    # A tag can be moved to other code; a commit can not. The tag beside it is for the reader.
    uses = [
        line.strip()
        for workflow in WORKFLOWS
        for line in workflow.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert uses
    pinned = re.compile(r"(- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")
    assert [line for line in uses if not pinned.fullmatch(line)] == []


def test_scripts_that_workflows_name_are_there():
    texts = [path.read_text(encoding="utf-8") for path in WORKFLOWS]
    wheels = PROJECT["tool"]["cibuildwheel"]
    texts += [wheels["repair-wheel-command"], wheels["test-command"]]
    texts.append((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    names = {name for text in texts for name in re.findall(r"\.ci/[a-z_]+(?:\.py)?\b(?!\*)", text)}
    assert {".ci/run", ".ci/wheel_use.py", ".ci/wheel_content.py", ".ci/gpu"} <= names
    for name in names:
        path = ROOT / name
        assert path.stat().st_mode & 0o111, name


def test_tests_of_a_wheel_are_there():
    text = (ROOT / ".ci" / "wheel_use.py").read_text(encoding="utf-8")
    packages = re.search(r"^PACKAGES = \[(.*)\]$", text, re.MULTILINE)[1]
    assert re.findall('"(.*?)"', packages) == PROJECT["tool"]["cibuildwheel"]["test-requires"]
    names = re.findall(r'"(\w+/test_\w+\.py)"', text)
    assert len(names) > 5
    for name in names:
        assert (ROOT / "tests" / name).is_file(), name


def test_what_github_reads_is_yaml():
    yaml = pytest.importorskip("yaml")
    for path in (*WORKFLOWS, *(ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")):
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path in WORKFLOWS:
            assert set(found["permissions"]) == {"contents"}
            assert all("timeout-minutes" in job for job in found["jobs"].values())
        elif path.name != "config.yml":
            assert {"name", "description", "body"} <= set(found)
            ids = [part["id"] for part in found["body"]]
            assert len(ids) == len(set(ids))
    bug = (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text(encoding="utf-8")
    assert "jitterfly info" in bug


def test_citation():
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert found["cff-version"] == "1.2.0"
    assert found["license"] == PROJECT["project"]["license"]
    notes = " ".join(one["notes"] for one in found["references"])
    for paper in ("MS12", "CS14", "HM18", "AGV05", "HSL09", "HSL10"):
        assert paper in notes
    assert all(one["authors"] and one["title"] for one in found["references"])


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link
    paths = re.findall(r"`((?:cuda|python|tests|bindings|sweeps|docs)/[\w./]+)`", text)
    assert len(paths) > 8
    for path in paths:
        if "NAME" in path:
            assert (ROOT / path).parent.is_dir(), path
        else:
            assert (ROOT / path).exists(), path
    for path in re.findall(r"`((?:algorithms|observables|formats|cli)/\w+\.py)`", text):
        assert list((ROOT / "python" / "jitterfly").rglob(path)), path
    registered = re.findall(r"pip install.*?\"\.\[(\w+)\]\"", text)
    assert set(registered) <= set(PROJECT["project"]["optional-dependencies"])


# The last version with a fault that everybody who installs it would have.
FAULTY = {
    "pyarrow": "14.0.0",  # CVE-2023-47248: a file of Parquet runs code
    "tqdm": "4.66.2",  # CVE-2024-34062
    "selenium": "4.13.0",  # CVE-2023-5590
}


def test_no_package_of_a_known_fault_is_enough():
    extras = PROJECT["project"]["optional-dependencies"].values()
    needed = [Requirement(text) for text in chain(PROJECT["project"]["dependencies"], *extras)]
    for name, version in FAULTY.items():
        (one,) = {str(one.specifier): one for one in needed if one.name == name}.values()
        assert version not in one.specifier


def recipe(name: str) -> str:
    return (ROOT / "packaging" / name).read_text(encoding="utf-8")


def required(extra: str | None = None) -> dict[str, str]:
    """The packages of pyproject.toml, or of an extra there, and the oldest version of each."""
    project = PROJECT["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return {
        (requirement := Requirement(line)).name.lower(): str(requirement.specifier)[2:]
        for line in lines
    }


def test_the_recipe_for_spack_asks_for_what_pyproject_asks_for():
    text = recipe("spack_repo/jitterfly/packages/py_jitterfly/package.py")
    asked = dict(re.findall(r'"py-([\w-]+)@([\d.]+):', text))
    build = {Requirement(line).name for line in PROJECT["build-system"]["requires"]}
    extras = ("plot", "data", "mpi", "dask")
    wanted = required() | {k: v for extra in extras for k, v in required(extra).items()}
    wanted |= {
        requirement.name: str(requirement.specifier)[2:]
        for requirement in map(Requirement, PROJECT["build-system"]["requires"])
    }
    # Spack writes 1 where 1.0 is meant: both are the oldest of that version.
    assert {k: v.removesuffix(".0") for k, v in asked.items()} == {
        k: v.removesuffix(".0") for k, v in wanted.items()
    }
    assert build <= set(asked)
    for extra in extras:
        assert f'variant("{extra}"' in text
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f'"python@{oldest}:"' in text
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert (
        f'"cmake@{re.search(r"cmake_minimum_required.VERSION ([0-9.]+?)[.]{3}", cmake)[1]}:"'
        in text
    )


def test_the_recipe_for_conda_asks_for_what_pyproject_asks_for():
    text = recipe("conda/recipe.yaml")
    assert f'version: "{PROJECT["project"]["version"]}"' in text
    run = text.partition("  run:")[2].partition("  run_constraints:")
    asked = dict(re.findall(r"([\w-]+) >=([\d.]+)", run[0]))
    python = asked.pop("python")
    assert python == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert asked == required()
    optional = dict(re.findall(r"([\w-]+) >=([\d.]+)", run[2]))
    optional["matplotlib"] = optional.pop("matplotlib-base")
    assert optional == required("plot") | required("mpi")


@pytest.mark.parametrize("suffix", ["", "-CUDA-12.9.1"])
def test_the_easyconfigs_hold_what_pyproject_asks_for(suffix):
    version = PROJECT["project"]["version"]
    values: dict = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz", "SYSTEM": "system"}
    exec(recipe(f"easybuild/jitterfly-{version}-foss-2025b{suffix}.eb"), values)
    assert (values["name"], values["version"]) == ("jitterfly", version)
    modules = {item[0] for item in values["dependencies"]}
    builds = {item[0] for item in values["builddependencies"]}
    # What these modules hold: numpy and scipy; tomli-w and all that PyPI's bundle has.
    assert {"SciPy-bundle", "Python-bundle-PyPI", "matplotlib", "tqdm", "mpi4py"} <= modules
    assert {Requirement(line).name for line in PROJECT["build-system"]["requires"]} <= builds
    assert ("CUDA" in modules) == bool(suffix)
    assert f"JITTERFLY_CUDA={'ON' if suffix else 'OFF'} " in values["preinstallopts"]


def test_the_recipes_ask_for_a_number_that_jitterfly_gives(capsys):
    """Each recipe's own test asks for the same slowdown: the one of this build."""
    from jitterfly.cli import main

    folder = ROOT / "packaging"
    files = [*folder.rglob("*.eb"), *folder.rglob("recipe.yaml"), *folder.rglob("*.def")]
    files += folder.rglob("package.py")
    assert len(files) == 5
    noise = "period=1ms,duration=25us"
    assert main(["slowdown", "--ranks", "64", "--noise", noise, "--backend", "cpu"]) == 0
    printed = capsys.readouterr().out
    for file in files:
        text = file.read_text(encoding="utf-8")
        (number,) = re.findall(r"\d\.\d+ \[\d\.\d+, \d\.\d+\]", text)
        assert number in printed, file
        assert noise in text, file


def test_git_tracks_nothing_else():
    """Neither a virtual environment nor a build that stood in the checkout as all was added."""
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("not a checkout of git")
    assert {name.partition("/")[0] for name in done.stdout.splitlines()} == {
        ".ci", ".clang-format", ".github", ".gitignore", ".readthedocs.yaml", "CHANGELOG.md",
        "CITATION.cff", "CMakeLists.txt", "CONTRIBUTING.md", "LICENSE", "README.md", "bindings",
        "cuda", "docs", "packaging", "pyproject.toml", "python", "sweeps", "tests",
    }  # fmt: skip
