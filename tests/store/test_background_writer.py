"""Background writer of a store: order, errors, full disk, fsync; memory of samples."""

import dis
import errno
import functools
import itertools
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from support.small_store import study, ticks

from jitterfly.observables import Column, LinearForm, Piece, Ticks
from jitterfly.store import Store, records
from jitterfly.store.records import BackgroundWriter
from jitterfly.store.store import RecentSamples


def test_jobs_run_in_order_and_behind_the_caller():
    behind, go, done = BackgroundWriter(), threading.Event(), []
    with behind.on():
        behind(lambda: done.append(go.wait(10)))
        assert done == []
        go.set()
        behind(lambda: done.append(threading.current_thread() is threading.main_thread()))
    assert done == [True, False]
    behind(lambda: done.append(threading.current_thread() is threading.main_thread()))
    assert done[-1] is True


def fail():
    raise OSError(errno.ENOSPC, "No space left on device", "somewhere")


@pytest.mark.parametrize("what", ["call", "wait", "end"])
def test_an_error_is_raised_by_what_comes_next_and_once(what):
    behind, done = BackgroundWriter(), []
    following = {
        "call": lambda: behind(lambda: done.append("never")),
        "wait": behind.wait,
        "end": lambda: None,
    }

    def run():
        with behind.on():
            behind(fail)
            following[what]()
            assert what == "end"  # else it was raised

    with pytest.raises(OSError, match="No space left on device: 'somewhere'"):
        run()
    assert done == []
    behind.wait()


@functools.cache
def places(code):
    """Where Python looks for signals: after calls, at the start of a function, in a loop."""
    pairs = itertools.pairwise(dis.get_instructions(code))
    looks = ("CALL", "RESUME", "JUMP_BACK")
    return {after.offset for before, after in pairs if before.opname.startswith(looks)}


class CtrlC:
    """Raises KeyboardInterrupt at the `number`-th of such places that a thread passes."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, _):
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_lasti in places(frame.f_code):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def test_ctrl_c_at_any_time_does_not_hang():
    """A future would stay locked, and the thread that has its result would wait for the lock."""
    done = []

    def write():
        behind = BackgroundWriter()
        sys.settrace(ctrl_c)
        try:
            with behind.on():
                for number in range(3):
                    behind(lambda number=number, to=written: to.append(number))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
            done.append(written)

    number = 0
    while True:
        number += 1
        ctrl_c, written = CtrlC(number), []
        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        thread.join(10)
        assert len(done) == number, f"hangs at place {number}"
        assert written == [0, 1, 2][: len(written)]
        if ctrl_c.left > 0:
            break
    assert written == [0, 1, 2]
    assert number > 20


@pytest.mark.parametrize("at", ["next", "end"])
def test_a_full_disk_behind_leaves_the_store_as_it_was(tmp_path, monkeypatch, at):
    with Store.create(tmp_path, study()) as store:
        cell = store.cells[0]
        store.append(cell, 0, ticks(cell, 0, 20), None, 20)
        (file,) = (tmp_path / "records").iterdir()
        before = file.read_bytes()

        real = os.write

        def half(handle, content):
            if len(content) > 1:
                return real(handle, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        def run():
            with store.writer.on():
                store.append(cell, 20, ticks(cell, 20, 20), None, 20)
                if at == "next":
                    store.append(cell, 40, ticks(cell, 40, 10), None, 10)

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(OSError, match=f"No space left on device: '{file}'"):
            run()
        monkeypatch.undo()
        assert file.read_bytes() == before
        assert store.available(cell) == 20
        store.append(cell, 20, ticks(cell, 20, 20), None, 20)
    read = Store.open(tmp_path)
    assert np.array_equal(read.ticks(cell, 40).values, ticks(cell, 0, 40).values)


def test_what_was_just_added_is_not_read_again(tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("read")

    with Store.create(tmp_path, study()) as store:
        cell = store.cells[0]
        store.append(cell, 0, ticks(cell, 0, 20), None, 20)
    with Store.create(tmp_path, study()) as store, store.writer.on():
        for first in (30, 20):  # workers may be late
            store.append(cell, first, ticks(cell, first, 10), None, 10)
        looked = store.data(cell, 40)
        assert np.array_equal(looked.ticks.values, ticks(cell, 0, 40).values)
        store.append(cell, 40, ticks(cell, 40, 10), None, 10)
        monkeypatch.setattr(records, "read_payload", refuse)
        assert np.array_equal(store.data(cell, 50).ticks.values, ticks(cell, 0, 50).values)
        with pytest.raises(AssertionError, match="read"):
            store.ticks(cell, 50)  # is with who asked for it


def test_pieces_in_order_without_overlap():
    recent, values = RecentSamples(), np.arange(40).reshape(20, 2)
    recent.add(0, 5, Piece(values[5:9]))
    recent.add(0, 12, Piece(values[12:15]))
    recent.add(0, 8, Piece(values[8:11]))
    recent.add(1, 0, Piece(values))
    found = list(recent.pieces(0, 3, 14))
    assert [(a, b, part is None) for a, b, part in found] == [
        (3, 5, True), (5, 9, False), (9, 11, False), (11, 12, True), (12, 14, False),
    ]  # fmt: skip
    for first, end, part in found:
        assert part is None or np.array_equal(part.values, values[first:end])
    recent.forget(0, 11)
    assert [part is None for _, _, part in recent.pieces(0, 0, 15)] == [True, False]


def test_too_much_is_left_to_the_files(monkeypatch):
    monkeypatch.setattr("jitterfly.store.store._MAX_RECENT_BYTES", 1000)
    recent, values = RecentSamples(), np.zeros((25, 2), np.int64)  # 400 bytes
    for cell in range(3):
        recent.add(cell, 0, Piece(values))
    assert [next(recent.pieces(cell, 0, 25))[2] is None for cell in range(3)] == [
        True, False, False,
    ]  # fmt: skip
    recent.add(2, 0, Piece(values))  # in place of the other
    assert next(recent.pieces(1, 0, 25))[2] is not None


@pytest.mark.parametrize("limit", [10**9, 20 * 400])
def test_a_piece_more_is_not_compared_with_all_others(limit, monkeypatch):
    """Studies of many small cells add a piece of each before anybody looks at one."""
    asked = []

    class Counted(Piece):
        @property
        def nbytes(self):
            asked.append(self)
            return super().nbytes

    monkeypatch.setattr("jitterfly.store.store._MAX_RECENT_BYTES", limit)
    recent = RecentSamples()
    for cell in range(300):
        recent.add(cell, 0, Counted(np.zeros((25, 2), np.int64)))
    kept = [next(recent.pieces(cell, 0, 25))[2] is not None for cell in range(300)]
    assert sum(kept) == 300 if limit == 10**9 else 17 <= sum(kept) <= 20
    assert kept == sorted(kept)
    assert len(asked) < 9 * 300


@pytest.mark.parametrize(("bits", "size"), [(8, 1), (9, 2), (17, 4), (32, 4), (33, 8), (63, 8)])
@pytest.mark.parametrize("width", [1, 3])
def test_what_is_made_early_is_what_is_made_when_asked_for(width, bits, size):
    columns = (Column("", "a"), Column("", "b"), Column("", "c"))[:width]
    values = np.random.default_rng(3).integers(0, 2**bits, (1000, width)) - 2 ** (bits - 1)
    values[0], values[-1] = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1  # the whole range
    values += 2**62 >> bits
    plain, piece = Ticks(columns, values[:400].copy(), values[400:].copy()), Piece(values)
    prepared = Ticks(columns, piece)
    behind = BackgroundWriter()
    with behind.on():
        piece.prepare(behind.later)
        assert piece.between(0, 1000) is piece
        for column in columns:
            form = LinearForm(((-3, column), (1, columns[0])), 5)
            found = prepared.linear_form(form)
            assert np.array_equal(found, plain.linear_form(form))
            found += 1  # an array of its own, to work in
            assert np.array_equal(prepared.linear_form(form), plain.linear_form(form))
        assert prepared.cross_moments() == plain.cross_moments()
        assert prepared.cross_moments(columns[-1:]) == plain.cross_moments(columns[-1:])
        assert np.array_equal(prepared.values, values)
        assert prepared.nbytes == values.size * size  # in as few bytes as hold them
        part = prepared.first(300)
        assert np.array_equal(part.values, values[:300])
        assert part.cross_moments() == plain.first(300).cross_moments()


def test_new_files_are_synchronized_behind_and_replaced_ones_before(tmp_path, monkeypatch):
    synchronized, real = [], os.fsync

    def fsync(handle):
        name = Path(f"/proc/self/fd/{handle}").readlink().name
        behind = threading.current_thread() is not threading.main_thread()
        synchronized.append((name.removeprefix(".").split(".")[0], behind))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    for behind in (True, False):
        synchronized.clear()
        with Store.create(tmp_path, study()) as store, store.writing():
            store.writer.wait()
            assert sorted(synchronized) == [("store", behind), ("study", behind)]
