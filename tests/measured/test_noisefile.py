"""The noise file: exact round trip, errors with their line, atomic write."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.grouped import parametrize_in_groups
from support.noise_samples import load_bytes
from support.scale import scaled

from jitterfly.measured import (
    CollectiveTable,
    Detours,
    FormatError,
    Histogram,
    Measured,
    load,
    noisefile,
)

DETOURS = Detours([0, 500, 10**18], [10, 500, 2**60], 2**62, 5, 238_400, cpu="3")
QUIET = Detours([], [], 7)
HISTOGRAM = Histogram([0, 10], [10, 30], [4, 0], "latency", 10**12, "11", overflow=2)

FILE = """\
# jitterfly noise 1
# format = "netgauge"
# source.tool = "selfish"
# notes = ["one"]
#
# [[part]]
# kind = "detours"
# length = 1000
# rows = 2
start_ps,duration_ps
0,10
500,20
"""


def round_trip(measured, folder):
    noisefile.write(measured, folder / "a.noise")
    return noisefile.read(folder / "a.noise")


@pytest.mark.parametrize("parts", [(DETOURS,), (DETOURS, QUIET, DETOURS), (HISTOGRAM, HISTOGRAM)])
def test_round_trip(tmp_path, parts):
    source = {
        "tool": "x",
        "odd key.=": 'a "quoted" \\ line\nand\tanother \x7f \x01 µ \u2028 \U0001f600',
    }
    measured = Measured(parts, "netgauge", source, ("first, [note]", "# second"))
    assert round_trip(measured, tmp_path) == measured
    assert load(tmp_path / "a.noise") == measured
    assert list(tmp_path.iterdir()) == [tmp_path / "a.noise"]


intervals = st.lists(st.tuples(st.integers(0, 10**15), st.integers(1, 10**15)), max_size=20)


@settings(deadline=None, max_examples=scaled(200))
@given(intervals, st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_round_trip_of_anything(gaps, key, word):
    starts, now = [], 0
    for gap, duration in gaps:
        starts.append(now + gap)
        now = starts[-1] + duration
    part = Detours(starts, [duration for _, duration in gaps], now + 1, cpu=word)
    measured = Measured((part,), word, {key: word}, (word, key))
    text = "".join(noisefile.pieces(measured)).encode()
    assert load_bytes(text) == measured


def test_what_is_documented_can_be_read():
    measured = load_bytes(FILE.encode())
    assert measured.parts == (Detours([0, 500], [10, 20], 1000),)
    assert measured.format == "netgauge"
    assert measured.notes == ("one",)
    assert load_bytes(FILE.replace("\n", "\r\n").encode()).parts == measured.parts
    assert load_bytes(b"\xef\xbb\xbf" + FILE.encode()).parts == measured.parts


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("noise 1", "noise 2", "line 1: noise files of version 1 can be read, this is 2"),
        ("noise 1", "noise one", "line 1: must be '# jitterfly noise 1'"),
        ('"netgauge"', "netgauge", "line 2: must be '# key = value'"),
        ('# format = "netgauge"', "# format", "line 2"),
        ('# source.tool = "selfish"', '# format = "x"', "line 3: key 'format' is there twice"),
        ('"detours"', '"detour"', "line 10: kind of the part must be one of"),
        ("length = 1000", "length = 519", "line 10: length must be 520 ticks or more"),
        ("length = 1000", "length = 1e3", "length must be an integer"),
        ("# length = 1000\n", "", "length"),
        ("# length = 1000", "# lenght = 1000", "unknown key 'lenght'"),
        ("rows = 2", "rows = 3", "must have 3 rows, as its key says, but has 2"),
        ("start_ps,", "start_ns,", "line 10: the columns must be start_ps,duration_ps"),
        ("500,20", "500,-20", "line 12: must be start_ps,duration_ps, got '500,-20'"),
        ("500,20", "500 20", "line 12"),
        ("500,20", "500,20,1", "line 12"),
        ("500,20", ",20", "line 12"),
        ("0,10", "0,nan", "line 11"),
        ("0,10", "0,0x10", "line 11"),
        ("0,10", "0,99999999999999999999", "line 11"),
        ("500,20", "5,20", "starts must be sorted, and detours disjoint, got 5 at index 1"),
        ("0,10", "0,0", "durations must be 1 tick or more"),
        ("# [[part]]\n", "", "line 9: a table must follow a"),
        ("start_ps,duration_ps\n0,10\n500,20\n", "", "is cut off"),
        ("# kind", "# [[part]]\n# kind", "line 7: this part begins before the table"),
        ('notes = ["one"]', "notes = [1]", "must be text"),
        (
            'source.tool = "selfish"',
            "source = 1",
            "line 3: must be '# key = value' or '# source.key",
        ),
    ],
)
def test_a_wrong_line_is_named(old, new, message):
    assert old in FILE
    with pytest.raises(FormatError) as error:
        load_bytes(FILE.replace(old, new, 1).encode(), "a.noise")
    assert str(error.value).startswith("a.noise")
    assert message in str(error.value)


@parametrize_in_groups("length", range(1, len(FILE) - 7))
def test_a_file_that_was_cut_off_is_refused(length):
    with pytest.raises(FormatError):
        load_bytes(FILE[:length].encode())


def test_what_is_no_text_is_refused(tmp_path):
    for content, word in [
        (b"\x1f\x8b\x08", "gzip"),
        (b"ab\0c", "byte 2 is 0"),
        ("ab".encode("utf-16"), "UTF-16"),
        (b"", "is empty"),
    ]:
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(FormatError, match=word):
            load(tmp_path / "x")


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.noise"
    noisefile.write(Measured((QUIET,), "x"), path)
    table = CollectiveTable("barrier", [2], [0], [1e-6])
    with pytest.raises(ValueError, match="detours or histograms, got times of a collective"):
        noisefile.write(Measured((table,), "x"), path)
    assert noisefile.read(path).parts == (QUIET,)
    assert list(tmp_path.iterdir()) == [tmp_path / "a.noise"]


@pytest.mark.full_scale
def test_large_files_keep_their_lines(tmp_path):
    """Several pieces are read, one after the other; times beyond 2^53 ticks stay exact."""
    count = scaled(400_000, 200_000)  # more than a piece of each part
    starts = np.arange(count) * (4 * 10**15 // count + 19) + 1
    part = Detours(starts, np.full(count, 9_999_999_999), int(starts[-1]) + 10**10)
    measured = Measured((part, part), "x")
    assert round_trip(measured, tmp_path) == measured
    lines = (tmp_path / "a.noise").read_text().split("\n")
    assert len(lines) > 2 * count
    broken = 7 * count // 4
    lines[broken] += "x"
    with pytest.raises(FormatError, match=f"line {broken + 1}:"):
        load_bytes("\n".join(lines).encode())


@pytest.mark.parametrize("line", [1, 999, 1000, 1001, 1999, 2000, 2001])
def test_the_line_that_is_wrong_is_found_where_many_are_right(line):
    """They are looked at together; the last row of all may lack its end of line."""
    rows = [f"{i},1" for i in range(0, 4002, 2)]
    rows[line - 1] += "x"
    head = FILE.replace("length = 1000", "length = 9000").replace("rows = 2", f"rows = {len(rows)}")
    head = head.partition("0,10")[0]
    wrong = head.count("\n") + line
    for end in ("", "\n"):
        with pytest.raises(FormatError, match=f"line {wrong}:"):
            load_bytes((head + "\n".join(rows) + end).encode())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"starts": [5, 1], "durations": [1, 1]}, "sorted"),
        ({"starts": [1, 5], "durations": [1, 0]}, "durations must be 1 tick"),
        ({"starts": [1, 5], "durations": [1, 9]}, "length must be 14"),
        ({"starts": [1], "durations": [1, 2]}, "as many"),
        ({"starts": [1.5], "durations": [1]}, "integers"),
        ({"starts": [-1], "durations": [1]}, "from 0"),
        ({"starts": [], "durations": [], "length": 0}, "length must be an integer from 1"),
    ],
)
def test_detours_check_themselves(fields, message):
    with pytest.raises(ValueError, match=message):
        Detours(**{"length": 10, **fields})


def test_histograms_check_themselves():
    with pytest.raises(ValueError, match="sorted and disjoint"):
        Histogram([0, 5], [6, 9], [1, 1])
    with pytest.raises(ValueError, match="low must be below high"):
        Histogram([5], [5], [1])
    with pytest.raises(ValueError, match="what must be one of"):
        Histogram([0], [5], [1], "noise")
    with pytest.raises(ValueError, match="one class"):
        Measured((DETOURS, HISTOGRAM), "x")
