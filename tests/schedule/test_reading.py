"""Parsers of schedules: GOAL text, LogGOPSim's binary, our own file; damaged files."""

import copy
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from reference.schedules import as_text, random_schedule
from support.forkserver import FORKSERVER
from support.grouped import parametrize_in_groups
from support.scale import scaled
from support.schedule_files import SAMPLE, SAMPLE_RANKS, loggopsim_binary, mutated

import jitterfly as jf

KINDS = {1: "send", 2: "recv", 3: "calc"}


def read(text, folder, name="some.goal"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return jf.Schedule.read(path)


def operations(schedule, rank):
    """(kind, size, peer, tag, cpu, nic) of each operation of a rank, and what it waits for."""
    rows = schedule._mapped.operations_of(rank).tolist()
    waits = [set() for _ in rows]
    for later, sooner, on_start in schedule._mapped.requirements_of(rank).tolist():
        waits[later].add((sooner, bool(on_start)))
    return [(KINDS[kind], *row) for kind, *row, _ in rows], waits


def meant(ops):
    rows = [(op.kind, op.size, op.peer, op.tag, op.cpu, op.nic) for op in ops]
    return rows, [{(i, False) for i in op.needs} | {(i, True) for i in op.starts} for op in ops]


def test_text(tmp_path):
    """Everything that the language has; labels of all forms, in any rank order."""
    schedule = read(
        """// of two ranks
num_ranks 2

rank 1 {
  l1: recv 8b from 0 tag 3 nic 1 /* a comment
     over lines */
  calc 7 // unnamed
  l2: calc 100 cpu 2\r
  l2 requires l1
  A_07: calc 1
  A_7: calc 2
  l4000000000: calc 3
  l3: calc 4
  A_07 irequires l2
  A_7 requires l4000000000
  l3 requires A_7
}
rank 0 { calc 5
l1: send 8b to 1 tag 3 cpu 1
}
""",
        tmp_path,
    )
    assert repr(schedule) == "Schedule('some.goal': 2 ranks, 9 operations, 1 message)"
    assert (schedule.cpus, schedule.nics) == (3, 2)
    assert schedule.message_sizes.tolist() == [8]
    assert operations(schedule, 0) == (
        [("calc", 5, 0, 0, 0, 0), ("send", 8, 1, 3, 1, 0)],
        [set(), set()],
    )
    rows, waits = operations(schedule, 1)
    assert rows[0] == ("recv", 8, 0, 3, 0, 1)
    assert [row[1] for row in rows[1:]] == [7, 100, 1, 2, 3, 4]
    assert rows[2][4] == 2
    assert waits == [set(), set(), {(0, False)}, {(2, True)}, {(5, False)}, set(), {(4, False)}]
    lines = schedule._mapped.operations_of(1)[:, 6].tolist()
    assert lines == [5, 7, 8, 10, 11, 12, 13]


ONE, TWO = "num_ranks 1\nrank 0 {\n", "num_ranks 2\nrank 0 {\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the schedule is empty"),
        ("ranks 3", "line 1: expected num_ranks N, got 'ranks'"),
        ("num_ranks 0", "line 1: the number of ranks must be an integer from 1 to 16777216, got"),
        (TWO + "}\n", "line 4: the schedule ends without rank 1 of 2"),
        (ONE + "}\nrank 0 {\n}", "line 4: rank 0 is there twice"),
        ("num_ranks 1\nrank 1 {\n}", "line 2: the rank must be an integer from 0 to 0, got '1'"),
        (ONE + "calc 5\n", "line 2: rank 0 is not closed with }"),
        (ONE + "/* \n\n}", "line 3: a comment /\\* is not closed"),
        (ONE + "calc 5 7\n}", "line 3: expected the end of the line, got '7'"),
        (ONE + "l1: call 5\n}", "line 3: expected calc, send or recv, got 'call'"),
        (ONE + "calc 5s\n}", "line 3: the time of calc, in ns, must be followed"),
        (ONE + "calc -1\n}", "line 3: the time of calc, in ns, must be an integer"),
        (ONE + "\x01\n}", "line 3: expected a label, .* got 'byte 0x01'"),
        (ONE + "a: calc 1\na: calc 2\n}", "line 4: label a is there twice"),
        (ONE + "a: calc 1\na requires b\n}", "line 4: label b does not stand above"),
        (ONE + "a: calc 1\na requires a\n}", "line 4: an operation can not wait"),
        (ONE + "send 8b to 0\n}", "line 3: a rank can not send to itself"),
        (TWO + "send 8 to 1\n}", "line 3: expected b after the bytes"),
        (TWO + "send 8b from 1\n}", "line 3: expected to, got 'from'"),
        (TWO + "recv 8b from -1\n}", "line 3: the other rank is -1, which means any"),
        (TWO + "recv 8b from 1 tag -1\n}", "line 3: tag is -1, which means any"),
        (TWO + "send 8b to 1 cpu 256\n}", "line 3: cpu must be an integer from 0"),
        (TWO + "send 8b to 1 tag 1 tag 2\n}", "line 3: expected the end of the line"),
        (ONE + f"calc {10**30}\n}}", "line 3: .* got '1000000000000000000000000"),
    ],
)
def test_malformed_text(text, message, tmp_path):
    path = re.escape(str(tmp_path / "some.goal"))
    with pytest.raises(ValueError, match=f"^{path}, {message}"):
        read(text, tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [("nothing.goal", "can not be read (No such file"), (".", "can not be read (Is a directory")],
)
def test_files_that_can_not_be_read(name, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / name} {message}")):
        jf.Schedule.read(tmp_path / name)


@parametrize_in_groups("number", range(scaled(200)))
def test_random_schedules_are_read_as_they_are_meant(number, tmp_path):
    rng = random.Random(f"reading {number}")
    ranks = random_schedule(rng, rng.randint(1, 6), rng.randint(0, 60), rng.randint(1, 3), 2)
    schedule = read(as_text(ranks), tmp_path)
    assert [operations(schedule, rank) for rank in range(len(ranks))] == [
        meant(ops) for ops in ranks
    ]
    assert schedule.operations == sum(map(len, ranks))
    # What it writes is read as it is, and its binary is the same again.
    schedule.write(tmp_path / "copy")
    again = jf.Schedule.read(tmp_path / "copy")
    for rank in range(len(ranks)):
        assert operations(again, rank) == operations(schedule, rank)
    again.write(tmp_path / "twice")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "twice").read_bytes()
    binary = read(loggopsim_binary(ranks), tmp_path, "some.bin")
    assert [operations(binary, rank) for rank in range(len(ranks))] == [meant(ops) for ops in ranks]


def test_loggopsim_s_binary_is_checked(tmp_path):
    def one(operation, **changed):
        values = {"ranks": 2, "count": 1, "dependents": 0} | changed
        head = struct.pack("<QIBB", 4223, values["ranks"], 0, 0)
        ranks = [
            struct.pack("<II", values["count"], 0)
            + struct.pack("<I", 0)
            + operation
            + struct.pack("<IIII", dependents, 0, 0, 0)
            for dependents in (0, values["dependents"])
        ]
        size = len(ranks[0])
        head += struct.pack("<QQQQ", 38, 38 + size, 38 + size, 38 + 2 * size)
        return head + b"".join(ranks)

    calc = struct.pack("<BIQIBB", 3, 0, 7, 0, 0, 0)
    assert read(one(calc), tmp_path, "a.bin").operations == 2
    for operation, changed, message in (
        (calc, {"ranks": 0}, "its number of ranks is 0"),
        (calc, {"count": 9}, "it is too short"),
        (calc, {"dependents": 1}, "it is too short"),
        (struct.pack("<BIQIBB", 4, 0, 7, 0, 0, 0), {}, "rank 0, operation 0: its type is unknown"),
        (
            struct.pack("<BIQIBB", 1, 2, 7, 0, 0, 0),
            {},
            "rank 0, operation 0: there is no such peer",
        ),
        (struct.pack("<BIQIBB", 2, 2**32 - 1, 7, 0, 0, 0), {}, "receives from any source"),
    ):
        with pytest.raises(ValueError, match=message):
            read(one(operation, **changed), tmp_path, "a.bin")
    with pytest.raises(ValueError, match="LogGOPSim has used up this binary schedule"):
        read(struct.pack("<QQ", 2342, 0), tmp_path, "a.bin")


def test_loggopsim_s_ranks_lie_in_their_places(tmp_path):
    """Each offset of the table as it is, and moved by some: refused, or what is meant is read."""
    content = loggopsim_binary(SAMPLE_RANKS)
    sample = [meant(ops) for ops in SAMPLE_RANKS]
    refused = 0
    for entry in range(2 * len(SAMPLE_RANKS)):
        place = 14 + 8 * entry
        (offset,) = struct.unpack_from("<Q", content, place)
        for moved in (0, 1, offset - 4, offset - 1, offset + 1, offset + 4, len(content), 2**63,
                      2**64 - 1):  # fmt: skip
            changed = bytearray(content)
            struct.pack_into("<Q", changed, place, moved)
            try:
                schedule = read(bytes(changed), tmp_path, "a.bin")
            except ValueError as error:
                assert "\n" not in str(error)  # noqa: PT017
                refused += 1
            else:  # an end behind that of the rank
                assert entry % 2 == 1
                assert moved > offset
                assert [operations(schedule, rank) for rank in range(len(sample))] == sample
    assert refused >= 9 * len(SAMPLE_RANKS)
    for values, message in (
        ((100, 50), "is damaged: rank 0 ends before it begins"),
        ((50, 200), "is damaged: rank 0 begins in the table of ranks"),
        ((6 + 16 * len(SAMPLE_RANKS), 100), "is damaged: rank 0 is longer than its place"),
        ((6 + 16 * len(SAMPLE_RANKS), len(content)), "is damaged: it is too short"),
    ):
        changed = bytearray(content)
        struct.pack_into("<QQ", changed, 14, *values)
        with pytest.raises(ValueError, match=message):
            read(bytes(changed), tmp_path, "a.bin")


def test_loggopsim_s_binary_that_was_cut_short(tmp_path):
    content = loggopsim_binary(SAMPLE_RANKS)
    for size in range(8, len(content), 7):
        with pytest.raises(ValueError, match="is damaged: it is too short"):
            read(content[:size], tmp_path, "a.bin")


def calculations(dependents):
    """A rank of LogGOPSim's binary: 300, of which the first 100 share a list of dependents."""
    calc = struct.pack("<IBIQIBB", 0, 3, 0, 7, 0, 0, 0)
    body = struct.pack("<II", 300, 0)
    for i in range(300):
        body += calc + struct.pack("<IIII", len(dependents) if i < 100 else 0, 0, 0, 0)
    return body + struct.pack(f"<{len(dependents)}I", *dependents)


@pytest.mark.parametrize("ranks", [200, 1])
def test_small_files_do_not_become_large(ranks, tmp_path):
    """Ranks in one place, or lists of dependents, that overlap."""
    body = calculations([] if ranks > 1 else range(100, 300))
    place = 6 + 16 * ranks
    head = struct.pack("<QIBB", 4223, ranks, 0, 0)
    head += struct.pack("<QQ", place, place + len(body)) * ranks
    with pytest.raises(ValueError, match="is damaged: it is too short for what its ranks hold"):
        read(head + body, tmp_path, "a.bin")


def test_the_number_of_ranks_is_checked_before_memory_is_taken(tmp_path):
    """2^24 ranks in 30 bytes."""
    path = tmp_path / "a.bin"
    path.write_bytes(struct.pack("<QIBB", 4223, 2**24, 0, 0) + bytes(16))
    code = (
        "import sys, jitterfly as jf\n"
        "from jitterfly.resources import peak_memory\n"
        "before = peak_memory()\n"
        "try: jf.Schedule.read(sys.argv[1])\n"
        "except ValueError as error: print(peak_memory() - before, error)"
    )
    words = [sys.executable, "-c", code, path]
    grown, told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split(
        maxsplit=1
    )
    assert "it is too short" in told
    assert int(grown) < 50e6  # a table of the ranks would take 268e6


def test_blocks_of_a_file_of_ours_do_not_overlap(tmp_path):
    read("num_ranks 1\nrank 0 {\n" + 50 * "calc 5\n" + "}\n", tmp_path).write(tmp_path / "own")
    content = (tmp_path / "own").read_bytes()
    magic, ranks, *numbers, operations, dependents, table, size = struct.unpack_from(
        "<8sIIIIQQQQ", content
    )
    assert (ranks, operations, size) == (1, 50, len(content))
    many = 200
    head = struct.pack("<8sIIIIQQQQ", magic, many, *numbers, many * operations, dependents, table,
                       table + 16 * many)  # fmt: skip
    path = tmp_path / "many"
    path.write_bytes(head + content[len(head) : table] + content[table:] * many)
    with pytest.raises(ValueError, match="the file of the schedule is damaged"):
        jf.Schedule.read(path)


@pytest.mark.parametrize("kind", ["text", "loggopsim", "own"])
def test_mutated_files(kind, tmp_path):
    """Each is read, and then can be run or is refused; or it is refused in one line."""
    sample = SAMPLE
    if kind == "loggopsim":
        sample = loggopsim_binary(SAMPLE_RANKS)
    elif kind == "own":
        read(SAMPLE, tmp_path).write(tmp_path / "own")
        sample = (tmp_path / "own").read_bytes()
    rng = random.Random(f"fuzz {kind}")
    path, told = tmp_path / "mutated", []
    trials = scaled(3000)
    for _ in range(trials):
        path.write_bytes(mutated(rng, sample))
        try:
            schedule = jf.Schedule.read(path)
            for rank in range(min(schedule.ranks, 100)):
                operations(schedule, rank)
            if schedule.ranks < 1000:
                jf.simulate_schedule(schedule, "L=1us,o=1us,S=100", realizations=1)
        except ValueError as error:
            told.append(str(error))
    assert len(told) > trials / 4
    beginnings = (str(path), path.name, "the schedule must take", "the simulated time")
    assert [text for text in told if "\n" in text or not text.startswith(beginnings)] == []


def test_a_damaged_file_of_ours(tmp_path):
    read(SAMPLE, tmp_path).write(tmp_path / "own")
    content = (tmp_path / "own").read_bytes()
    (tmp_path / "own").write_bytes(content[:-1])
    with pytest.raises(ValueError, match="the file of the schedule is damaged"):
        jf.Schedule.read(tmp_path / "own")


def test_no_room_for_the_translation(tmp_path):
    """One line that names the folder; no file may be longer than a limit, as on a full disk."""
    path = tmp_path / "large.goal"
    path.write_text("num_ranks 1\nrank 0 {\n" + 10_000 * "calc 5\n" + "}\n")
    code = (
        "import resource, sys, jitterfly as jf\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: jf.Schedule.read(sys.argv[1])\n"
        "except ValueError as error: print(error)"
    )
    words = [sys.executable, "-c", code, path]
    folder = tmp_path / "temporary"
    folder.mkdir()
    told = subprocess.run(words, capture_output=True, text=True, check=True,
                          env=os.environ | {"TMPDIR": str(folder)}).stdout  # fmt: skip
    assert told == (
        f"{path}: the schedule is translated into a temporary file, which can not be written in "
        f"{folder} (File too large): set TMPDIR to a folder with room for about 32 bytes for each "
        "operation\n"
    )


def test_no_folder_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    message = rf"in {re.escape(str(tmp_path / 'gone'))} \(No such file or directory\): set TMPDIR"
    with pytest.raises(ValueError, match=message):
        read(SAMPLE, tmp_path)


def test_writing_where_it_can_not_be(tmp_path):
    schedule = read(SAMPLE, tmp_path)
    with pytest.raises(ValueError, match="No such file or directory"):
        schedule.write(tmp_path / "nowhere" / "x")
    with pytest.raises(ValueError, match="must be a file"):
        schedule.write(tmp_path)
    assert np.array_equal(sorted(p.name for p in tmp_path.iterdir()), ["some.goal"])


def test_schedules_and_answers_can_be_copied_and_sent(tmp_path):
    text = (
        "num_ranks 2\nrank 0 {\na: calc 500000\nb: send 8b to 1 cpu 1\nb requires a\n}\n"
        "rank 1 {\nc: recv 8b from 0\nd: calc 400000\nd requires c\n}"
    )
    schedule = read(text, tmp_path, "app.goal")
    run = schedule, "L=1us,o=200ns", "period=100us,duration=10us", 20
    result, explained = jf.simulate_schedule(*run), jf.explain_schedule(*run)
    (tmp_path / "app.goal").unlink()
    for send in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        sent = send(schedule)
        assert repr(sent) == repr(schedule)
        for rank in range(schedule.ranks):
            assert operations(sent, rank) == operations(schedule, rank)
        again = jf.simulate_schedule(sent, *run[1:])
        for answer in (again, send(result)):
            np.testing.assert_array_equal(answer.ticks, result.ticks)
            assert answer.report() == result.report()
        answer = send(explained)
        assert answer.report() == explained.report()
        path = answer.critical_path()
        assert path.to_csv() == send(path).to_csv() == explained.critical_path().to_csv()
    with ProcessPoolExecutor(1, mp_context=FORKSERVER) as pool:
        found = pool.submit(jf.simulate_schedule, *run).result()
    np.testing.assert_array_equal(found.ticks, result.ticks)
