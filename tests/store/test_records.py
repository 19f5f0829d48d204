"""Record files: packing, check sums, truncation, bit flips, full disk, concurrent writers."""

import errno
import io
import os
import random
import resource
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import TESTS
from support.record_cases import COLUMNS, fill, fresh, samples
from support.scale import scaled, some

from jitterfly import files
from jitterfly.store.records import (
    RAW,
    SUMMARY,
    Identity,
    RecordSeries,
    contiguous_end,
    cover,
    gaps,
)

LIMITS = np.iinfo(np.int64)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ranks=4_0123456789abcdef.jfr"


def check(file):
    """Whatever the file says it has is right; returns what it has."""
    for first, end in file.spans:
        out = np.zeros((end - first, len(COLUMNS)), np.int64)
        file.samples(out, first, end)
        np.testing.assert_array_equal(out, samples(first, end))
    return file.spans


@pytest.mark.parametrize(
    "values",
    [
        [[LIMITS.min, 0, LIMITS.max], [LIMITS.max, 0, LIMITS.min]],
        [[LIMITS.max, LIMITS.max, LIMITS.min], [LIMITS.max - 255, LIMITS.max - 1, LIMITS.min]],
        [[0, 0, 0]],
        [[7, -(2**40), 2**62], [7 + 2**16, -(2**40), 2**62]],
        [[0, 2**32 - 1, 0], [0, 0, 2**32 - 1]],
        [[0, 2**32, 0], [0, 0, 2**32]],
    ],
)
def test_samples_come_back(path, values):
    values = np.array(values, np.int64)
    fresh(path).append_samples(0, values)
    out = np.empty_like(values)
    fresh(path).samples(out, 0, len(values))
    np.testing.assert_array_equal(out, values)


def test_small_ranges_take_few_bytes(path):
    for bits, size in ((8, 1), (16, 2), (32, 4), (33, 8)):
        values = np.zeros((10_000, 3), np.int64) + 10**15
        values[0] += 2**bits - 1
        fresh(path).append_samples(0, values)
        assert 0 <= path.stat().st_size - values.size * size < 400
        path.unlink()


def test_views_of_wider_arrays_are_packed_right(path):
    wide = np.arange(60, dtype=np.int64).reshape(10, 6)
    fresh(path).append_samples(0, wide[:, 1:4])
    out = np.zeros((10, 8), np.int64)
    fresh(path).samples(out[:, 2:5], 0, 10)
    np.testing.assert_array_equal(out[:, 2:5], wide[:, 1:4])


def test_any_order_overlaps_and_holes(path):
    file = fresh(path)
    for first, end in ((30, 40), (0, 10), (5, 20), (33, 35), (18, 31)):
        file.append_samples(first, samples(first, end))
    assert check(file) == check(fresh(path)) == [(30, 40), (0, 10), (10, 20), (20, 30)]
    assert gaps(file.spans, 0, 50) == [(40, 50)]
    out = np.empty((20, 3), np.int64)
    fresh(path).samples(out, 8, 28)
    np.testing.assert_array_equal(out, samples(8, 28))


def test_cut_at_every_byte(path, capsys):
    """A run that is killed while it writes loses that record only, and goes on."""
    fill(path, (0, 6, 12))
    whole = path.stat().st_size
    fill(path, (0, 6, 12, 15))
    content = path.read_bytes()
    for length in some(range(whole, len(content)), 60):
        path.write_bytes(content[:length])
        file = fresh(path)
        assert check(file) == [(0, 6), (6, 12)]
        told = capsys.readouterr().err
        assert told.count("\n") == (length > whole)
        if told:
            assert told == (
                f"jitterfly: {path}: its end, from byte {whole} on, is no whole record; "
                "it counts as missing\n"
            )
        assert path.read_bytes() == content[:length]  # reading writes nothing
        file.append_samples(12, samples(12, 15))
        assert path.read_bytes() == content
        assert check(file) == [(0, 6), (6, 12), (12, 15)]
    capsys.readouterr()
    for length in range(whole):
        path.write_bytes(content[:length])
        assert set(check(fresh(path))) <= {(0, 6)}


def test_every_flipped_bit_is_seen(path, capsys):
    """Of any record: it counts as missing, the others are read, the next run fills the gap."""
    file = fill(path, (0, 3, 6, 9))
    content = path.read_bytes()
    ends = [entry.offset + entry.size for entry in file.entries]
    for at in some(range(len(content)), 100):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        file = fresh(path)
        hit = sum(at >= end for end in ends)
        spans = [(0, 3), (3, 6), (6, 9)]
        del spans[hit]
        assert check(file) == spans
        assert "it counts as missing" in capsys.readouterr().err
        for first, end in gaps(spans, 0, 9):
            file.append_samples(first, samples(first, end))
        assert sorted(check(file)) == sorted(check(fresh(path))) == [(0, 3), (3, 6), (6, 9)]
        capsys.readouterr()


@pytest.mark.parametrize("closed", [True, False])
def test_what_is_missing_needs_no_standard_error(path, monkeypatch, capsys, closed):
    fill(path, (0, 6))
    path.write_bytes(path.read_bytes()[:-1])
    stream = io.StringIO() if closed else None
    if stream is not None:
        stream.close()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        assert check(fresh(path)) == []
    assert capsys.readouterr() == ("", "")


def test_damage_of_all_kinds(path, capsys):
    content = b"".join((fill(path, tuple(range(0, 44, 4))), path.read_bytes())[1:])
    draw = random.Random(3)
    for _ in range(scaled(300, least=60)):
        damaged = bytearray(content)
        for _ in range(draw.choice([1, 2, 5])):
            at, size = draw.randrange(len(damaged)), draw.randrange(1, 400)
            filling = draw.choice([b"", bytes(size), draw.randbytes(size), content[:size]])
            damaged[at : at + draw.choice([0, size])] = filling
        path.write_bytes(damaged)
        file = fresh(path)
        check(file)
        for first, end in gaps(file.spans, 0, 40):
            file.append_samples(first, samples(first, end))
        assert gaps(check(fresh(path)), 0, 40) == []
    capsys.readouterr()


@pytest.mark.parametrize(
    ("identity", "message"),
    [
        (Identity(RAW, "0123456789abcdef", 6, 1, COLUMNS), "of seed 5, not 6"),
        (Identity(RAW, "0123456789abcdef", 5, 2, COLUMNS), "of stream 1, not 2"),
        (Identity(RAW, "0123456789abcdee", 5, 1, COLUMNS), "of id 0123456789abcdef, not "),
        (Identity(SUMMARY, "0123456789abcdef", 5, 1, ()), "of kind raw, not summary"),
        (Identity(RAW, "0123456789abcdef", 5, 1, ("a", "b", "c")), "of other columns"),
    ],
)
def test_records_of_something_else(path, capsys, identity, message):
    """They are not read, and stay."""
    fill(path, (0, 4))
    content = path.read_bytes()
    file = RecordSeries(path, identity)
    assert file.entries == []
    assert f"the record at byte 0 is {message}" in capsys.readouterr().err
    if identity.kind == RAW:
        file.append_samples(0, samples(0, 4))
        assert check(file) == check(RecordSeries(path, identity)) == [(0, 4)]
    assert path.read_bytes()[: len(content)] == content
    assert check(fresh(path)) == [(0, 4)]


def test_summaries(path):
    identity = Identity(SUMMARY, "0123456789abcdef", 2**64 - 1, 1, ())
    file = RecordSeries(path, identity)
    file.append_summary(0, 2**31, b"abc")
    file.append_summary(0, 2**31, b"abc")
    file.append_summary(2**31, 2**31, b"")
    again = RecordSeries(path, identity)
    assert again.spans == [(0, 2**31), (2**31, 2**32)]
    assert [again.payload(0), again.payload(1)] == [b"abc", b""]


def test_another_writer_where_there_are_no_locks(path):
    one, other = fresh(path), fresh(path)
    one.append_samples(0, samples(0, 4))
    assert other.entries != []
    one.append_samples(4, samples(4, 8))
    other.append_samples(2, samples(2, 12))  # does not cut off what it did not see
    one.append_samples(0, samples(0, 14))
    assert check(one) == check(fresh(path)) == [(0, 4), (4, 8), (8, 12), (12, 14)]
    path.unlink()
    one.append_samples(0, samples(0, 3))
    assert check(one) == check(fresh(path)) == [(0, 3)]


# --- errors of the system


def full_disk(path, monkeypatch, room):
    """Writes go through until `room` bytes are taken."""
    real = os.write

    def write(file, data):
        nonlocal room
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = bytes(data)[:room]
        room -= len(part)
        return real(file, part)

    monkeypatch.setattr(files.os, "write", write)


@pytest.mark.parametrize("room", [0, 1, 20, 100, 200])
def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch, room):
    file = fill(path, (0, 6))
    content = path.read_bytes()
    with monkeypatch.context() as patch:
        full_disk(path, patch, room)
        with pytest.raises(OSError, match="No space left on device") as caught:
            file.append_samples(6, samples(6, 12))
        assert caught.value.filename == str(path)
    assert path.read_bytes() == content
    assert check(file) == [(0, 6)]
    file.append_samples(6, samples(6, 12))  # when there is room again
    assert check(fresh(path)) == check(file) == [(0, 6), (6, 12)]


def test_a_file_that_can_not_be_begun_is_not_left(path, monkeypatch):
    full_disk(path, monkeypatch, 10)
    with pytest.raises(OSError, match="No space left"):
        fill(path, (0, 6))
    assert not path.exists()


def test_short_writes_are_gone_on_with(path, monkeypatch):
    real = os.write
    monkeypatch.setattr(files.os, "write", lambda file, data: real(file, bytes(data)[:7]))
    assert check(fill(path, (0, 6, 12))) == [(0, 6), (6, 12)]


def test_an_interrupted_write_is_taken_back(path, monkeypatch):
    file = fill(path, (0, 6))
    content = path.read_bytes()
    real = os.write

    def write(descriptor, data):
        real(descriptor, bytes(data)[:50])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "write", write)
        with pytest.raises(KeyboardInterrupt):
            file.append_samples(6, samples(6, 12))
    assert path.read_bytes() == content


def test_a_limit_on_file_sizes(path):
    """As a full disk, but by the system itself: half of the record fits."""
    script = """
import resource, sys, pathlib
sys.path[:0] = sys.argv[2:]
from support.record_cases import fill, samples
path = pathlib.Path(sys.argv[1])
file = fill(path, (0, 6))
before = path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 200, resource.RLIM_INFINITY))
try:
    file.append_samples(6, samples(6, 1000))
except OSError as error:
    assert error.filename == str(path), error
    print(error.strerror)
assert path.read_bytes() == before
"""
    command = [sys.executable, "-c", script, str(path), str(TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("File too large\n", "")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert check(fresh(path)) == [(0, 6)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written(path):
    file = fill(path, (0, 6))
    path.chmod(0o444)
    assert check(fresh(path)) == [(0, 6)]
    with pytest.raises(PermissionError) as caught:
        file.append_samples(6, samples(6, 12))
    assert caught.value.filename == str(path)


def test_a_file_that_is_changed_while_it_is_read(path):
    file = fill(path, (0, 6))
    assert file.spans == [(0, 6)]
    with path.open("r+b") as handle:
        handle.seek(-1, os.SEEK_END)
        handle.write(b"\xff")
    with pytest.raises(ValueError, match=f"{path}: it was changed while it was read"):
        check(file)


# --- ways


spans = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 9)).map(lambda s: (s[0], s[0] + s[1])), max_size=8
)


@given(spans, spans, st.integers(0, 10), st.integers(1, 20))
@settings(max_examples=scaled(300), deadline=None, derandomize=True)
def test_a_way_without_a_gap_is_found_where_there_is_one(records, raw, first, size):
    end = first + size
    raw = gaps(gaps(raw, 0, 30), 0, 30)
    steps = cover(records, raw, first, end)
    assert [first, *(s.end for s in steps)] == [*(s.first for s in steps), end]
    there = {x for a, b in raw for x in range(a, b)}
    for step in steps:
        assert step.first < step.end
        if step.record is not None:
            assert records[step.record] == (step.first, step.end)
        elif step.raw:
            assert there >= {*range(step.first, step.end)}

    def reachable(most):
        """Ends of ways from `first` on, one realization or record after the other."""
        reached = {first}
        for here in range(first, most):
            if here in reached:
                reached |= {here + 1} & {x + 1 for x in there}
                reached |= {b for a, b in records if a == here and b <= most}
        return reached

    assert any(s.missing for s in steps) == (end not in reachable(end))
    assert contiguous_end(records, raw, first, end) == max(reachable(end))
    made = [(s.first, s.end) for s in steps if s.missing]
    assert not any(s.missing for s in cover([*records, *made], raw, first, end))
