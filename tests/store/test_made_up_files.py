"""Files of a run that somebody made up, with right check sums: errors, or they count for nothing.

No header is believed before it is compared with the file's size: none takes memory or time.
"""

import functools
import io
import json
import random
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from support.scale import at_most
from support.small_store import PRECISE, STUDY, make, study, to_csv

from jitterfly.files import read_npz
from jitterfly.store import Store, run_directory
from jitterfly.store.cell_progress import RunProgress, run_progress
from jitterfly.store.numbers import Numbers
from jitterfly.store.records import _PREFIX, _frame, _seal, read_head
from jitterfly.store.run_directory import (
    NUMBERS,
    PROGRESS,
    check_orphans,
    fingerprint_of,
    write_cached,
)
from jitterfly.store.store import keep_numbers, read_numbers

WORDS = [
    None, True, -1, 0, 1.5, 2**80, 10**400, float("inf"), "x", "", "O", "V1000000000", "<f8", [],
    [1], [None], ["x"], ["x"] * 10**5, [2**70] * 3, {}, {"a": 1}, [[[]]],
]  # fmt: skip


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def parts(file):
    """The header and the payload of the first record of a file."""
    with file.open("rb") as opened:
        header, at, size, _ = read_head(opened, 0, file.stat().st_size)
        opened.seek(at)
        return header, opened.read(size)


def sealed(header, payload, text=None):
    """A record of any header, whose check sums are right."""
    record, body = _frame(header, len(payload))
    if text is not None:
        record = bytearray(_PREFIX.size) + text + payload
    else:
        body[:] = payload
    return bytes(_seal(record, len(payload)))


def read_all(path):
    """All that a run tells; the only errors are those that a command prints in a line."""
    told = []
    for call in (
        lambda: check_orphans(path, Store.open(path).study),
        lambda: run_progress(path),
        lambda: list(read_numbers(path).rows()),
    ):
        try:
            told.append(call())
        except ValueError as error:
            told.append(str(error))
    return told


# One cell: each file is read by itself, and all of them after each change.
ALONE = STUDY.replace("[4, 8]", "[4]").replace('"1us", "10us"', '"1us"')
SUMMED = ALONE.replace("max = 200", "max = 150, raw_bytes = 1024")


@pytest.fixture
def known_study(monkeypatch):
    """Read the study once: it is not what somebody made up here."""
    read = run_directory.read_study
    known = functools.cache(lambda path: read(path, run_directory.read_meta(path)))
    monkeypatch.setattr(run_directory, "read_study", lambda path, meta: known(path))


@pytest.mark.usefixtures("known_study")
@pytest.mark.parametrize("text", [ALONE, SUMMED])
def test_headers(out, text, capsys):
    make(out, study(text), size=150)
    draw = random.Random(14)
    for file in sorted(out.glob("records/*.jfr"))[:2]:
        whole = file.read_bytes()
        header, payload = parts(file)
        changed = [{key: x for key, x in header.items() if key != gone} for gone in header]
        changed += [header | {key: word} for key in header for word in WORDS]
        changed += [header | {"count": 2**31}, header | {"first": 2**63}, *WORDS]
        for one in draw.sample(changed, at_most(len(changed), 8)):
            file.write_bytes(sealed(one, payload) + whole)
            read_all(out)
        for raw in (b"[" * 10**5, b"\xff" * 8, b"{", b"1e999", b"[" + b"9" * 10**5 + b"]"):
            file.write_bytes(sealed({}, payload, raw) + whole)
            read_all(out)
            assert "it counts as missing" in capsys.readouterr().err
        file.write_bytes(whole)


def test_a_summary_that_says_how_samples_are_packed(out):
    make(out, study(SUMMED), size=150)
    before = to_csv(Store.open(out))
    (file,) = list(out.glob("records/*summary*.jfr"))[:1]
    header, payload = parts(file)
    whole = file.read_bytes()
    for base in (5, "x", [1.5]):
        file.write_bytes(sealed(header | {"base": base}, payload) + whole)
        assert to_csv(Store.open(out)) == before


@pytest.mark.usefixtures("known_study")
def test_summaries(out):
    make(out, study(SUMMED), size=150)
    before = to_csv(Store.open(out))
    (file,) = list(out.glob("records/*summary*.jfr"))[:1]
    header, payload = parts(file)
    rest = file.read_bytes()[len(sealed(header, payload)) :]
    draw = random.Random(14)
    lines = [b"", b"\n", b"{}\n", b"[" * 10**5 + b"\n", b"null\n", payload[:-1], payload + b"x"]
    head, _, body = payload.partition(b"\n")
    table = json.loads(head)
    lines += [json.dumps(table | {key: word}).encode() + b"\n" + body
              for key in table for word in WORDS[:6] + WORDS[8:]]  # fmt: skip
    for _ in range(at_most(400, 40)):
        flipped = bytearray(payload)
        for _ in range(draw.randint(1, 4)):
            flipped[draw.randrange(len(flipped))] = draw.randrange(256)
        lines.append(bytes(flipped))
    for one in draw.sample(lines, at_most(len(lines), 25)):
        file.write_bytes(sealed(header, one) + rest)
        read_all(out)
    more = header | {"count": header["count"] + 1}  # it would be of realizations that it has not
    file.write_bytes(sealed(more, payload) + rest)
    assert any(isinstance(told, str) for told in read_all(out))
    file.write_bytes(sealed(header, payload) + rest)
    assert to_csv(Store.open(out)) == before


def npz(packed=zipfile.ZIP_STORED, **members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packed) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def npy(shape, kind, data=b""):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": kind, "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + data


def lying(size):
    """An archive whose one member unpacks to far more than it says."""
    data = npz(zipfile.ZIP_DEFLATED, a=npy((0,), "<f8") + bytes(size))
    said, real = struct.pack("<I", 136), struct.pack("<I", size + 128)
    assert data.count(real) == 2
    return data.replace(real, said)


# Made when asked for: to pack 2^27 bytes takes a second, which every collection of tests would pay.
BOMBS = {
    "unpacks": lambda: npz(zipfile.ZIP_DEFLATED, a=npy((2**27,), "<i1", bytes(2**27))),
    "says less": lambda: lying(2**27),
    "another packing": lambda: npz(zipfile.ZIP_BZIP2, a=npy((2**27,), "<i1", bytes(2**27))),
    "shape": lambda: npz(a=npy((10**13,), "<f8", b"12345678")),
    "shape of nothing": lambda: npz(a=npy((10**13, 0, 10**13), "<f8", b"12345678")),
    "no width": lambda: npz(a=npy((10**13,), "<U0")),
    "objects": lambda: npz(a=npy((1,), "|O", b"\x80\x04N.")),
    "no header": lambda: npz(a=b"\x93NUMPY\x01\x00\xff\xff{"),
    "nested": lambda: npz(a=b"\x93NUMPY\x01\x00\x10\x27" + b"[" * 10_000),
    "a version": lambda: npz(a=b"\x93NUMPY\x09\x00\x10\x27"),
    "no archive": lambda: b"PK\x03\x04" + bytes(100),
}


@functools.cache
def bomb(name):
    return BOMBS[name]()


@pytest.mark.parametrize("name", BOMBS)
def test_arrays_that_say_more_than_there_is(name):
    data = bomb(name)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"no \.npz file"):
            read_npz(data, len(data))
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_arrays_that_are_right():
    arrays = {"a": np.arange(6).reshape(2, 3).T, "b": np.array(["x", "yz"]), "c": np.zeros((0, 4))}
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, **arrays)
        found = read_npz(file.getvalue(), 10**4)
        assert {key: value.tolist() for key, value in found.items()} == {
            key: value.tolist() for key, value in arrays.items()
        }
        assert found["c"].shape == (0, 4)
    with pytest.raises(ValueError, match="it must hold at most"):
        read_npz(file.getvalue(), 100)


@pytest.mark.usefixtures("known_study")
@pytest.mark.parametrize("text", [STUDY, PRECISE])
def test_numbers_and_progress_that_were_kept(out, text):
    store = make(out, study(text))
    right = keep_numbers(store)
    assert Numbers.read_cached(out) is not None
    wanted = repr(list(read_numbers(out).rows()))
    progress = RunProgress.of(Store.open(out))
    draw = random.Random(14)
    fingerprint = fingerprint_of(out)
    made = [*map(bomb, BOMBS)]
    for key in right.about:
        made.append(archive({k: v for k, v in right.about.items() if k != key}, right.arrays))
        made += [archive(right.about | {key: word}, right.arrays) for word in (1, None, [1], "x")]
    for key, array in right.arrays.items():
        made.append(archive(right.about, {k: v for k, v in right.arrays.items() if k != key}))
        for other in (array[:1], array.astype("U4"), array.T, np.zeros(0)):
            if other.shape != array.shape or other.dtype.kind != array.dtype.kind:
                made.append(archive(right.about, right.arrays | {key: other}))
    made.append(archive(right.about, right.arrays | {"at": right.arrays["at"] + 7}))
    for one in draw.sample(made, at_most(len(made), 40)):
        write_cached(out / NUMBERS, one, fingerprint)
        assert repr(list(read_numbers(out).rows())) == wanted
    (out / NUMBERS).unlink()
    table = json.loads(progress.to_json())
    tables = [{k: v for k, v in table.items() if k != key} for key in table]
    tables += [table | {key: word} for key in table for word in (1, None, [1], [[1]], "x")]
    for one in [*tables, *WORDS[:4]]:
        write_cached(out / PROGRESS, json.dumps(one).encode(), fingerprint)
        assert len(run_progress(out).cells) == len(store.cells)


def archive(about, arrays):
    file = io.BytesIO()
    np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
    return file.getvalue()
