"""Input and output files that are pipes, devices, directories or too long: one error, no hanging.

Every entry that opens a file answers each of them in a moment, with one line that names it.
"""

import gzip
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.commands import run
from support.scale import some

from jitterfly import files
from jitterfly.cli import main
from jitterfly.studies import load_case, load_study

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")

NETWORK = "L=1us,o=0.2us"
ADVISE = ("advise", "--ranks=4", f"--network={NETWORK}", "--noise")
STUDY = """
name = "x"
[case]
ranks = 4
network = {{ kind = "loggops", L = "1us", o = "0.2us" }}
{more}
[observables]
completion = {{ kind = "completion" }}
[realizations]
max = 10
"""

# What reads: `{}` is the file. Each is a command line.
READS = {
    "run": ("run", "{}"),
    "trace": ("trace", "{}"),
    "export-goal": ("export-goal", "{}"),
    "status": ("status", "{}"),
    "plot": ("plot", "{}"),
    "export": ("export", "{}", "x.csv"),
    "compare": ("compare", "{}", "{}"),
    "merge": ("merge", "out", "{}"),
    "noise import": ("noise", "import", "{}"),
    "noise import --format": ("noise", "import", "{}", "--format=ftq"),
    "noise show": ("noise", "show", "{}"),
    "network info": ("network", "info", "{}"),
    "network info --tables": ("network", "info", "net.txt", "--tables={}"),
    "network run": ("network", "run", "{}"),
    "network study": ("network", "study", "{}", "--quick"),
    "fit": ("fit", "{}"),
    "budget": ("budget", "--ranks=64", "--latency=30us", "--step=3us", "--noise={}"),
    "advise": ("advise", "{}"),
    "advise --candidates list": ("advise", "{}", "--candidates=list"),
    "advise --noise": (*ADVISE, "{}"),
    "slowdown --noise": ("slowdown", "--ranks=4", "--noise", "{}"),
    "init --noise": ("init", "new.toml", "--algorithm=butterfly", "--ranks=4", "--bytes=8",
                     f"--network={NETWORK}", "--noise={}"),
    "noise merge": ("noise", "merge", "all.noise", "some.noise", "{}"),
    "network parameters": ("network", "parameters", "{}"),
}  # fmt: skip
# What writes: a regular file is put there, or nothing.
WRITES = {
    "trace --out": ("trace", "--out={}.png"),
    "export-goal --out": ("export-goal", "case.toml", "--out={}"),
    "noise import --out": ("noise", "import", "some.noise", "--out={}", "--force"),
    "noise show --out": ("noise", "show", "some.noise", "--out={}.png"),
    "noise record --out": ("noise", "record", "--seconds=0.05", "--out={}", "--force"),
    "run --out": ("run", "study.toml", "--out={}"),
    "advise --out": ("advise", "--ranks=4", f"--network={NETWORK}", "--out={}"),
    "slowdown --out": ("slowdown", "--ranks=4", "--noise=some.noise", "--out={}"),
    "slowdown --picture": ("slowdown", "--ranks=4", "--noise=some.noise", "--picture={}.png"),
    "noise merge OUT": ("noise", "merge", "{}", "some.noise", "some.noise", "--force"),
}
# Files that other files name, as TOML of a study's noise or network.
NAMED = {
    "trace": 'noise = [{{kind = "trace", file = "{}"}}]',
    "empirical": 'noise = [{{kind = "renewal", gap = "1ms", '
    'duration = {{kind = "empirical", file = "{}"}}}}]',
    "map": 'noise = [{{kind = "congestion", network = {{kind = "map", file = "{}"}}}}]',
}
NOT_FILES = {
    "pipe": "must be a file, it is a pipe",
    "directory": "Is a directory",
    "/dev/zero": "must be a file, it is a device",
}


@contextmanager
def in_seconds(seconds):
    """Raise TimeoutError in what takes longer; opening a pipe would wait for ever."""

    def stop(*_):
        raise TimeoutError("it does not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("directory").mkdir()
    Path("study.toml").write_text(STUDY.format(more=""))
    Path("case.toml").write_text("ranks = 4\n")
    Path("net.txt").write_text("switchguid=0x1\n")
    Path("some.noise").write_text("start_ns,duration_ns\n0,10\n100,20\n")
    return tmp_path


def answer(arguments, capsys):
    capsys.readouterr()
    with in_seconds(5):
        code = run(*arguments)
    error = capsys.readouterr().err
    assert code == 2, error
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize("what", some(NOT_FILES, 2))
@pytest.mark.parametrize("entry", READS)
def test_reading(entry, what, capsys):
    error = answer([word.format(what) for word in READS[entry]], capsys)
    assert what in error
    if entry in ("status", "plot", "export", "compare", "merge"):
        assert "holds no run" in error
    else:
        assert NOT_FILES[what] in error


@pytest.mark.parametrize("what", NOT_FILES)
@pytest.mark.parametrize("named", NAMED)
def test_named_in_a_study(named, what, capsys):
    Path("study.toml").write_text(STUDY.format(more=NAMED[named].format(what)))
    error = answer(("run", "study.toml"), capsys)
    assert what in error
    assert NOT_FILES[what] in error


@pytest.mark.parametrize("what", ["pipe", "directory"])
@pytest.mark.parametrize("entry", WRITES)
def test_writing(entry, what, capsys):
    if ".png" in "".join(WRITES[entry]):
        pytest.importorskip("matplotlib")
    if (entry, what) in (
        ("run --out", "directory"), ("advise --out", "directory"), ("slowdown --out", "directory")
    ):  # fmt: skip
        return  # they want one
    os.mkfifo("pipe.png")
    Path("directory.png").mkdir()
    before = Path(what).stat().st_ino
    error = answer([word.format(what) for word in WRITES[entry]], capsys)
    assert what in error
    assert Path(what).stat().st_ino == before


def test_a_bound(tmp_path, monkeypatch):
    """Also of what grows while it is read, or says that it is empty, as files in /proc do."""
    file = tmp_path / "x"
    file.write_bytes(b"abc")
    assert files.read_whole(file, 3) == b"abc"
    file.write_bytes(bytes(2**20 + 1))
    with pytest.raises(ValueError, match="x must be at most 1 MiB long, and is longer"):
        files.read_whole(file, 2**20)
    with file.open("wb") as sparse:
        sparse.truncate(files.MAX_BYTES + 1)
    with in_seconds(1), pytest.raises(ValueError, match="at most 1 GiB long"):
        files.read_whole(file)
    with pytest.raises(ValueError, match="at most 16 MiB long"):
        files.read_text(file)


@pytest.mark.parametrize("entry", ["run", "trace", "advise", "network info"])
def test_too_long(entry, capsys):
    with Path("long").open("wb") as sparse:
        sparse.truncate(2**31)
    assert "long must be at most" in answer([word.format("long") for word in READS[entry]], capsys)


def piped(*arguments, text):
    return subprocess.run(
        [sys.executable, "-m", "jitterfly", *arguments],
        input=text, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.full_scale
def test_a_pipe_that_it_was_started_with():
    """Standard input and `<(command)` are read, where one reading is enough."""
    done = piped("noise", "import", "/dev/stdin", "--out=x.noise",
                 text=Path("some.noise").read_text())  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("x.noise").exists()
    done = piped(*ADVISE, "/dev/stdin", text=Path("some.noise").read_text())
    assert done.returncode == 2
    assert "/dev/stdin must be a file, it is a pipe; write what comes out of it" in done.stderr


def test_no_other_way_to_read():
    """No module opens what a user names by itself: these are the ones that may open a file."""
    own = {
        "files.py",  # the one way
        "measured/host.py", "resources.py",  # Linux's
        "executors.py",
        "inference/hit_tables.py", "report.py",  # files of the package
        "report/sections.py", "report/hsl09.py", "report/theory.py",  # its own
        "cli/network.py",
        "store/run_directory.py", "store/records.py", "store/numbers.py",
        "measured/noisefile.py", "measured/formats/text.py", "cli/noise.py",
    }  # fmt: skip
    package = Path(files.__file__).parent
    calls = (".read_text(", ".read_bytes(", '.open("rb"', ".open()", " open(path", "np.load(")
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        if name not in own and not name.startswith("claims/"):
            for call in calls:
                assert call not in path.read_text(encoding="utf-8"), (name, call)


with suppress(ImportError):
    import matplotlib as mpl

    mpl.use("agg")


@pytest.mark.parametrize("load", [load_case, load_study])
def test_errors_name_a_file_once(load, tmp_path):
    (tmp_path / "bad.toml").write_bytes(b"ranks = 4 # \xff\n")
    (tmp_path / "worse.toml").write_text("ranks = ")
    for path in (tmp_path / "bad.toml", tmp_path / "worse.toml", Path("/dev/zero")):
        with pytest.raises(ValueError, match="^" + re.escape(str(path))) as caught:
            load(path)
        assert str(caught.value).count(str(path)) == 1


def test_what_is_compressed_is_said(tmp_path, capsys):
    """Not that it is no text, or that a schedule begins with byte 0x1f."""
    goal = gzip.compress(b"num_ranks 1\nrank 0 {\ncalc 5\n}\n")
    noise = "--noise=period=1ms,duration=5us"
    paths = [tmp_path / name for name in ("x.goal.gz", "x.goal", "x.toml", "x.noise")]
    for path in paths:
        path.write_bytes(goal)
    packed, plain, study, recording = map(str, paths)
    for words, file in (
        (["run", packed, noise], packed),
        (["run", plain, noise], plain),
        (["explain", packed, noise], packed),
        (["run", study], study),
        (["slowdown", "--ranks=4", "--noise", recording], recording),
        (["fit", recording], "x.noise"),
        (["compare-measured", recording, "--ranks=4", noise], recording),
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert f"{file}: is compressed with gzip; unpack it first\n" in error
