"""Commands whose output nobody reads (`| head`), or can not be written: files and exit codes."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from support.commands import run
from support.paths import ROOT
from support.scale import full_scale
from support.small_study import STUDY

from jitterfly.cli.process import StandardStreams
from jitterfly.progress import ProgressLine
from jitterfly.store import Store

NOISE = ROOT / "sweeps" / "examples" / "vm.noise"
PERIODIC = "--noise=period=1ms,duration=25us,start=stationary"
SLOWDOWN = ("slowdown", PERIODIC, "--ranks=64", "--realizations=20")
SLOWDOWN_FILES = ((*SLOWDOWN, "--out=out"), ["out/slowdown.csv", "out/slowdown.json"])
# Without a picture, for which a process first imports matplotlib.
EXPLAIN = ("explain", PERIODIC, "--ranks=16", "--realizations=20", "--ranks-csv=x.csv")
EXPLAIN_FILES = (EXPLAIN, ["x.csv"])


def unread(folder, *arguments, errors=subprocess.PIPE):
    """A command whose standard output is a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-m", "jitterfly", *arguments], stdout=writer,
            stderr=writer if errors is None else errors, cwd=folder, text=True, timeout=120,
        )  # fmt: skip
    finally:
        os.close(writer)


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        full_scale(
            ("noise", "import", str(NOISE), "--longest=100us", "--out=x.noise"), ["x.noise"]
        ),
        full_scale(*SLOWDOWN_FILES),
        full_scale(*EXPLAIN_FILES),
        (("info",), []),
    ],
    ids=lambda value: value[0] if value and isinstance(value, tuple) else "",
)
def test_files_are_written_though_nobody_reads_the_text(tmp_path, arguments, files):
    done = unread(tmp_path, *arguments, "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert all((tmp_path / name).stat().st_size for name in files)


@pytest.mark.full_scale
def test_pictures_too(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "small.toml").write_text(STUDY)
    ranks = "ranks,latency_us\n2,3.9\n4,8.1\n8,12.2\n16,16.0\n32,20.1\n"
    (tmp_path / "curve.csv").write_text(ranks)
    for arguments, name in (
        ((*SLOWDOWN, "--picture=a.png"), "a.png"),
        (("run", "small.toml", "--out=out"), "out/small.png"),
        (("plot", "out", "--out=b.png"), "b.png"),
        (("fit", "curve.csv", "--out=fit"), "fit/fit.csv"),
        (("noise", "show", str(NOISE), "--out=c.png"), "c.png"),
    ):
        done = unread(tmp_path, *arguments, "-q")
        assert (done.returncode, done.stderr) == (0, ""), arguments
        assert (tmp_path / name).stat().st_size


@pytest.mark.parametrize(("arguments", "files"), [full_scale(*SLOWDOWN_FILES), EXPLAIN_FILES])
def test_nobody_reads_progress(tmp_path, arguments, files):
    """As in `2>&1 | head`."""
    done = unread(tmp_path, *arguments, "-v", errors=None)
    assert done.returncode == 0
    assert all((tmp_path / name).exists() for name in files)


def test_nobody_reads_errors(tmp_path):
    """The exit code says what is wrong."""
    assert (
        unread(tmp_path, "slowdown", "--noise=nothere", "--ranks=64", errors=None).returncode == 2
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize(("arguments", "files"), [full_scale(*SLOWDOWN_FILES), EXPLAIN_FILES])
def test_a_full_disk(tmp_path, arguments, files):
    """The error names what could not be written; files that could be are there."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "jitterfly", *arguments, "-q"],
            stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "jitterfly: error: standard output: No space left on device\n"
    assert all((tmp_path / name).exists() for name in files)


@pytest.mark.full_scale
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_where_argparse_prints():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "jitterfly", "--version"],
                              stdout=full, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "jitterfly: error: standard output: No space left on device\n"


def test_a_programs_own_stream(tmp_path, capsys):
    """It is the program's: after the command it is as it was, and so is its file."""
    with Path("/dev/full").open("w") as full, redirect_stdout(full):
        assert run("info") == 2
        assert run("--help") == 2  # which argparse prints
        assert sys.stdout is full
        print("of the program")
        with pytest.raises(OSError, match="No space left"):
            full.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())  # else closing it fails
    closed = (tmp_path / "out").open("w")
    closed.close()
    with redirect_stdout(closed):
        assert run("info") == 2
        assert sys.stdout is closed
    assert "I/O operation on closed file" in capsys.readouterr().err


def test_a_programs_closed_standard_error():
    stream = io.StringIO()
    stream.close()
    with redirect_stderr(stream), StandardStreams(), ProgressLine(sys.stderr) as line:
        line.show("here")


def test_standard_output_that_is_closed(tmp_path):
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m jitterfly info >&-'], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_within_a_program(monkeypatch, capsys):
    """Its streams are as before, and a pipe that breaks elsewhere is an error."""
    before = sys.stdout, sys.stderr
    monkeypatch.setattr("jitterfly.cli.parser.output.print_json", broken)
    assert run("info", "--json") == 2
    assert (sys.stdout, sys.stderr) == before
    assert capsys.readouterr() == ("", "jitterfly: error: [Errno 32] of a worker\n")


def broken(*_, **__):
    raise BrokenPipeError(32, "of a worker")


def test_a_stream_without_a_descriptor():
    """A notebook's stream, say: its errors end nothing either."""

    class Broken:
        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            raise BrokenPipeError

    with redirect_stdout(Broken()), StandardStreams() as streams:
        print("a line", flush=True)
        assert streams.code(0) == 0


ESCAPE = "\x1b]0;mine\x07\x1b[2J\r\x9b1A\u202edrow"


def test_titles_and_names_do_not_command_the_terminal(tmp_path, monkeypatch, capsys):
    """Neither those of a study nor those of files and options; JSON has them as they are."""
    monkeypatch.chdir(tmp_path)
    title = json.dumps(ESCAPE)
    text = STUDY.replace('"A small study"', title).replace("\x9b", "\\u009b")
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    (tmp_path / f"{ESCAPE}.toml").write_text("no study")
    commands = [
        ("run", "small.toml", "--out=out"),
        ("status", "out"),
        ("plot", "out", f"--title={ESCAPE}", f"--observable={ESCAPE}"),
        ("run", f"{ESCAPE}.toml"),
        ("slowdown", f"--{ESCAPE}"),
    ]
    for command in commands:
        run(*command)
        printed = capsys.readouterr()
        for shown in (printed.out, printed.err):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown), command
    run("run", "small.toml", "--out=out", "--json")
    printed = capsys.readouterr().out
    assert json.loads(printed)["title"] == ESCAPE
    assert ESCAPE[0] not in Store.open("out").summary()


def test_bars_and_help_have_their_control_characters(capsys):
    with StandardStreams() as streams:
        with ProgressLine(Terminal(sys.stderr)) as line:
            line.bar = None
            line._begin_bar = lambda: False
            line.show("\x1b[2Jhere")
        streams.output.with_controls.write("\x1b[1mhelp")
    printed = capsys.readouterr()
    assert printed.err == "\r\x1b[K\\u001b[2Jhere\r\x1b[K"
    assert printed.out == "\x1b[1mhelp"


class Terminal:
    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def isatty(self):
        return True
