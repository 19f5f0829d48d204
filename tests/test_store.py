"""What is on disk is what it says: one seed, one run, whole records, whatever happened to them."""

import fcntl
import io
import os
import pty
import random
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from small_study import STUDY

from jitterfly.cli import main
from jitterfly.cli.study import run_study
from jitterfly.studies.store import Store
from jitterfly.studies.study import parse_study


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def out(tmp_path, capsys):
    """A finished run."""
    run_study(parse_study(STUDY), tmp_path / "out")
    capsys.readouterr()
    return tmp_path / "out"


def start(*arguments, **options):
    command = [sys.executable, "-m", "jitterfly", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def rewrite(record, **arrays):
    with np.load(record.path) as data:
        arrays = {**data, **arrays}
    np.savez_compressed(record.path, **arrays)


def test_one_writer(study, tmp_path, capsys, out):
    with (out / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for more in ([], ["--seed", "99", "--force"]):
            assert main(["run", str(study), "--out", str(out), *more]) == 2
            assert f"another run is writing into {out}" in capsys.readouterr().err
    assert main(["run", str(study), "--out", str(out)]) == 0


def test_three_at_once(study, tmp_path):
    study.write_text(STUDY.replace("max = 40", "min = 60000, max = 60000"))
    runs = [start("run", study, "--out", tmp_path / "out", text=True) for _ in range(3)]
    ends = [(process.communicate(timeout=120)[1], process.returncode) for process in runs]
    assert 0 in [code for _, code in ends]
    for errors, code in ends:
        assert code == 0 or "another run is writing into" in errors.splitlines()[-1]
    assert all(record.whole() for record in Store.open(tmp_path / "out").records)
    assert not list((tmp_path / "out").rglob("*.tmp"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": np.array("99")}, "it holds seed 99, not 5"),
        ({"cell": np.array("0123456789abcdef")}, "it holds another case"),
        ({"ticks": np.zeros((3, 4), np.int64)}, "ticks must be int64 of shape"),
        ({"ticks": np.zeros((40, 2), np.int64)}, "ticks must be int64 of shape"),
        ({"ticks": np.zeros((40, 4))}, "ticks must be int64 of shape"),
        ({"observations": np.array(["a"])}, "other observations"),
    ],
)
def test_a_record_of_something_else_is_made_anew(study, capsys, out, change, message):
    record = Store.open(out).records[1]
    samples = record.samples
    rewrite(record, **change)
    assert main(["plot", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert main(["run", str(study), "--out", str(out)]) == 0
    np.testing.assert_array_equal(Store.open(out).records[1].samples, samples)


def test_flipped_bits_are_damage(out):
    record = Store.open(out).records[2]
    whole = record.path.read_bytes()
    samples = record.samples
    draw = random.Random(3)
    for _ in range(400):
        flipped = bytearray(whole)
        for _ in range(draw.choice([1, 1, 1, 20])):
            flipped[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        record.path.write_bytes(flipped)
        fresh = Store.open(out).records[2]
        if fresh.whole():  # a bit that carries nothing, such as a date
            np.testing.assert_array_equal(fresh.samples, samples)


def test_objects_are_not_unpickled(out):
    record = Store.open(out).records[0]
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(record.path, "w") as archive:
        for name in ("ticks", "noise_free", "observations", "seed", "cell"):
            archive.writestr(f"{name}.npy", buffer.getvalue())
    assert not Store.open(out).records[0].whole()


@pytest.mark.parametrize("content", ["{", "[]", "\xff", '{"seed": "x"}', "[" * 100_000])
def test_damaged_meta_can_be_replaced(study, capsys, out, content):
    (out / "meta.json").write_text(content, encoding="latin-1")
    assert main(["run", str(study), "--out", str(out)]) == 2
    assert "meta.json is damaged; run again with --force" in capsys.readouterr().err
    assert main(["plot", str(out)]) == 2
    assert main(["run", str(study), "--out", str(out), "--force"]) == 0
    assert Store.open(out).meta["finished"] is True


def test_what_a_killed_run_left_is_cleared(study, out):
    (out / "samples" / "ranks=4.npz.123.tmp").write_text("half")
    assert main(["run", str(study), "--out", str(out)]) == 0
    assert not list(out.rglob("*.tmp"))


def test_terminal_without_unicode(study, tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    process = start("run", study, "--out", tmp_path / "out", env=environment, text=True)
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "+-" in printed


@pytest.mark.parametrize("columns", [0, 40, 100])
def test_progress_on_terminals(study, tmp_path, columns):
    """A bar, also on a terminal that reports size 0."""
    pytest.importorskip("tqdm")
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", columns and 24, columns, 0, 0))
    study.write_text(STUDY.replace("max = 40", "min = 200000, max = 200000"))
    command = [sys.executable, "-m", "jitterfly", "run", str(study), "--out", str(tmp_path / "o")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0
    assert b"100%|" in shown
    assert b"3/3 cells, " in shown
