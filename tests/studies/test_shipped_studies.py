"""Studies and examples that are shipped with the package, found by name."""

import re
from pathlib import Path

import pytest
from support.paths import ROOT
from support.scale import some

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.studies import toml
from jitterfly.studies.toml import find_study

SWEEPS = ROOT / "sweeps"
NAMES = {path.stem for path in SWEEPS.glob("*.toml")} | {
    "arrivals", "congestion", "measured_noise", "nodes", "redundancy"
}  # fmt: skip


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_list_has_a_line_for_each(elsewhere, capsys):
    assert main(["run", "list"]) == 0
    lines = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert {line.split()[0] for line in lines} == NAMES
    for line in some(lines, 4):
        name, title = line.split(maxsplit=1)
        assert title == jf.load_study(find_study(name)).title
    assert not list(elsewhere.iterdir())


def test_an_example_runs_by_name_with_its_data(elsewhere, capsys):
    assert main(["run", "measured_noise", "--realizations", "2", "--threads", "1"]) == 0
    printed = capsys.readouterr()
    assert "Allreduce under the noise measured on a virtual machine" in printed.out
    assert f"study: {toml.shipped_folder() / 'examples' / 'measured_noise.toml'}" in printed.err
    store = jf.Store.open(elsewhere / "results" / "measured_noise")
    assert [store.available(cell) for cell in store.cells] == [2] * len(store.cells)
    assert find_study("ms12_fig12.toml") == find_study("ms12_fig12")


@pytest.mark.parametrize("local", ["ms12_fig12", "ms12_fig12.toml"])
def test_a_local_file_of_that_name_wins(elsewhere, local):
    (elsewhere / "ms12_fig12").mkdir() if local.endswith(".toml") else None
    (elsewhere / local).write_text('name = "mine"')
    assert find_study("ms12_fig12") == Path(local)


def test_a_name_that_there_is_not(elsewhere, capsys):
    assert main(["run", "ms12_fig1"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "ms12_fig1: No such file, and no study of that name comes with jitterfly" in error
    assert "did you mean 'ms12_fig" in error
    assert all(name in error for name in NAMES)
    assert main(["run", "folder/ms12_fig12"]) == 2
    assert "folder/ms12_fig12: No such file or directory" in capsys.readouterr().err


def test_the_wheel_has_all_files_of_the_examples():
    """What CMake installs is every file of both folders, and all that an example reads."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    globs = dict(re.findall(r"file\(GLOB (\w+) CONFIGURE_DEPENDS (sweeps/\S+)\)", text))
    installs = dict(re.findall(r"install\(FILES \$\{(\w+)\} DESTINATION (jitterfly/\S+)\)", text))
    installed = {
        Path(installs[name]) / path.name for name, glob in globs.items() for path in ROOT.glob(glob)
    }
    wanted = [*SWEEPS.glob("*.toml"), *(SWEEPS / "examples").iterdir()]
    assert installed == {Path("jitterfly") / path.relative_to(ROOT) for path in wanted}
    assert sum(path.stat().st_size for path in wanted) < 150_000
