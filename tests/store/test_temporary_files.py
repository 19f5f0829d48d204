"""Temporary files: names of their own, never through a link, and those of killed processes go."""

import os
import subprocess
import sys
import time

import pytest

from jitterfly import Schedule, files

RANDOM = "0" * 16


@pytest.fixture(autouse=True)
def another_process(monkeypatch):
    """Which has not looked for what killed ones left in any folder."""
    monkeypatch.setattr(files, "_cleaned", set())


def dead():
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def name(of="a.csv", host=files._HOST, pid=None):
    return f".{of}.{host}.{dead() if pid is None else pid}.{RANDOM}.jf-tmp"


def test_what_killed_processes_left_goes_and_nothing_else(tmp_path):
    left = [name(), name("b.json"), name("line\nbreak"), name(pid=os.getpid())]
    old = name(host="elsewhere", pid=1)
    stays = [name(pid=1), name(host="elsewhere"), "mine.tmp", "a.csv.12.tmp", ".jf-tmp"]
    for one in (*left, old, *stays):
        (tmp_path / one).write_text("half")
    os.utime(tmp_path / old, (time.time() - 3 * 86400,) * 2)
    folder = tmp_path / name("a.zarr")
    folder.mkdir()
    (folder / "0").write_text("half")
    mine = tmp_path / "folder"
    mine.mkdir()
    (mine / "x").touch()
    (tmp_path / name("link")).symlink_to(mine, target_is_directory=True)
    files.write_whole(tmp_path / "new.csv", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {*stays, "new.csv", "folder"}
    assert (mine / "x").exists()


def test_one_that_is_written_stays(tmp_path, monkeypatch):
    """Also where another part of the same process looks for what was left."""
    with files.replacing(tmp_path / "a.csv") as temporary:
        monkeypatch.setattr(files, "_cleaned", set())
        files.write_whole(tmp_path / "b.csv", b"whole")
        temporary.write_bytes(b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "b.csv"}


@pytest.mark.parametrize("write", [
    lambda path: files.write_whole(path, b"new"),
    lambda path: files.write_together({path: b"new"}),
    lambda path: Schedule.read(path.with_name("x.goal")).write(path),
])  # fmt: skip
def test_no_link_is_followed(tmp_path, monkeypatch, write):
    """Nor is a file taken that is there, whoever made it."""
    (tmp_path / "x.goal").write_text("num_ranks 1\nrank 0 {\ncalc 1\n}")
    (tmp_path / "mine").write_text("mine")
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: RANDOM)
    for of in (name(pid=os.getpid()), "a.csv.tmp", f"a.csv.{os.getpid()}.tmp"):
        (tmp_path / of).symlink_to(tmp_path / "mine")
    monkeypatch.setattr(files, "_cleaned", {tmp_path})
    with pytest.raises((OSError, ValueError), match="exists"):
        write(tmp_path / "a.csv")
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "a.csv").exists()


def test_names_of_any_length(tmp_path):
    for of in ("x" * 250, "é" * 120, "\N{SNOWMAN}" * 80):
        files.write_whole(tmp_path / of, b"whole")
        assert (tmp_path / of).read_bytes() == b"whole"


def test_several_files_are_of_one_content(tmp_path, monkeypatch):
    """What can not be written is said before anything changes, with its name."""
    a, b, c = (tmp_path / letter for letter in "abc")
    for one in (a, b, c):
        one.write_text("old")
    monkeypatch.setattr(files, "_fill", lambda path, *_: 1 / ("b" not in path.name[:2]))
    with pytest.raises(ZeroDivisionError):
        files.write_together({a: b"new", b: b"new"}, [c])
    assert [one.read_text() for one in (a, b, c)] == ["old"] * 3
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.undo()
    files.write_together({a: b"new", b: b"new"}, [c])
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {"a": "new", "b": "new"}
    b.unlink()
    b.mkdir()
    with pytest.raises(ValueError, match=f"{b} must be a file, it is a directory"):
        files.write_together({a: b"newer", b: b"newer"})
    assert a.read_text() == "new"
