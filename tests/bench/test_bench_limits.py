"""Roofline limits: counted instructions, measured rates, memory passes, share of the limit."""

import json
from types import MappingProxyType, SimpleNamespace

import pytest
from support.quick_pictures import quick_pictures
from support.scale import at_most, some

import jitterfly as jf
from bench import limits
from bench import measure as bm
from bench.__main__ import main
from jitterfly import _core
from jitterfly.program import compile_case

COUNTED = pytest.mark.skipif(
    bool(_core.cannot_count() or _core.build_info()["sanitize"]), reason="nothing is counted here"
)


def count(case, realizations=1, **options):
    try:
        return _core.count_instructions(compile_case(case), 7, realizations, **options)
    except RuntimeError as error:
        if "refuses" in str(error):
            pytest.skip(str(error))
        raise


@COUNTED
def test_instructions_are_counted():
    """All of a realization's, exactly; a thread that starts waits a little longer or shorter."""
    ranks = at_most(64, 16)
    case = jf.Case(ranks, network=jf.Hockney("1us", "1ns", 1e-10))
    one, again, two, three = (count(case, n) for n in (1, 1, 2, 3))
    assert one[1] == again[1]
    assert one[0] == pytest.approx(again[0], abs=1000)
    vectors = two[1] - one[1]
    assert three[1] - two[1] == vectors  # without noise every realization is the same
    assert 0 < vectors < two[0] - one[0]
    noisy = jf.Case(ranks, network=case.network, noise=bm.NOISES["periodic"])
    assert count(noisy, 2)[0] - count(noisy)[0] > two[0] - one[0]


@COUNTED
def test_counting_has_an_end():
    case = jf.Case(64, network=jf.Hockney("1us", "1ns", 1e-10))
    count(case)  # or skip
    with pytest.raises(RuntimeError, match="too many instructions"):
        count(case, most=1000)
    with pytest.raises(ValueError, match="realizations must be"):
        _core.count_instructions(compile_case(case), 7, 0)


@pytest.mark.parametrize(
    ("code", "vector"),
    [
        ("62 f1 7d 48 fe c1", True),  # vpaddd zmm0, zmm0, zmm1
        ("c5 fd fe c1", True),  # vpaddd ymm0, ymm0, ymm1
        ("c4 e2 7d 58 c1", True),  # vpbroadcastd ymm0, xmm1
        ("66 0f fe c1", True),  # paddd xmm0, xmm1
        ("66 44 0f fe c1", True),  # paddd xmm8, xmm1
        ("f3 0f 6f 07", True),  # movdqu xmm0, [rdi]
        ("66 0f 38 39 c1", True),  # pminsd xmm0, xmm1
        ("c4 e2 fb f6 c1", False),  # mulx
        ("c4 e3 fb f0 c1 07", False),  # rorx
        ("01 c8", False),  # add eax, ecx
        ("48 89 c8", False),  # mov rax, rcx
        ("0f af c1", False),  # imul eax, ecx
        ("0f 84 00 00 00 00", False),  # je
        ("f3 0f 1e fa", False),  # endbr64
        ("0f b6 c0", False),  # movzx
        ("f3 48 0f b8 c1", False),  # popcnt
        ("66 0f 1f 44 00 00", False),  # nop
    ],
)
def test_vector_instructions_are_told_from_others(code, vector):
    assert _core.is_vector(bytes.fromhex(code).ljust(8, b"\0")) is vector


def test_capacity_is_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "LARGEST", 2**22)
    for number, (kind, level, size) in enumerate(
        [("Data", 1, "32K"), ("Instruction", 1, "64K"), ("Unified", 2, "1M"), ("Unified", 3, "2M")]
    ):
        (tmp_path / f"index{number}").mkdir()
        for name, value in (("type", kind), ("level", level), ("size", size)):
            (tmp_path / f"index{number}" / name).write_text(f"{value}\n")
    assert limits.cache_sizes(tmp_path) == [2**15, 2**20, 2**21]
    found = limits.core_capacity(0.004, tmp_path)
    assert [(v["name"], v["size"], v["holds"], v["array"]) for v in found["levels"]] == [
        ("L2", 2**20, 2**15, 2**19),
        ("L3", 2**21, 2**20, 2**21),
        ("memory", None, 2**21, 2**22),
    ]
    assert all(v["read"] > 1e7 and v["copy"] > 1e7 for v in found["levels"])
    issue = found["instructions"]
    assert not issue or all(rate > 1e7 for rate in issue.values())
    assert limits.core_capacity(0.004, tmp_path / "nothing")["levels"] == []
    with pytest.raises(ValueError, match="isa must be"):
        _core.issue_rates("mmx", 0.1)


CASE = bm.programs(2**12, bm.NOISES["periodic"])["butterfly"]
LEVELS = [{"name": "L2", "holds": 2**15, "read": 1e10, "copy": 8e9},
          {"name": "memory", "holds": 2**20, "read": 1e9, "copy": 2e9}]  # fmt: skip


def test_passes_and_bytes():
    assert limits.passes(2**12, 12, 8, 2**15) == 1  # it fits
    assert limits.passes(2**12, 12, 16, 2**15) == 2  # 2^11 ranks at a time: 11 rounds and 1
    assert limits.passes(2**23, 23, 8, 2**15) == 2
    assert limits.passes(2**24, 48, 8, 2**11) == 6
    ((name, moved, rate),) = limits.bytes_limits(CASE, 16, LEVELS)
    assert (name, moved) == ("L2", pytest.approx(2 * 16 / 12))
    assert rate == pytest.approx(1e10 * 12 / 32)


def test_the_limit_is_the_smallest_rate():
    machine = {"instructions": {"vector": 6e9, "scalar": 2e10, "nop": 1e10}, "levels": LEVELS}
    counted = {"all": 4.0, "vector": 1.5, "ranks": 4096}
    found = limits.core_limit(CASE, 16, counted, machine)
    assert found["rank_rounds_per_second"] == pytest.approx(3.75e9)
    assert found["by"] == "bytes, L2"
    assert found["instructions"]["rank_rounds_per_second"] == pytest.approx(4e9)
    found = limits.core_limit(CASE, 8, counted, machine)
    assert (found["by"], found["bytes"]) == ("vector instructions", [])
    found = limits.core_limit(CASE, 8, counted | {"all": 10.0}, machine)
    assert found["by"] == "instructions"
    assert found["rank_rounds_per_second"] == pytest.approx(2e9)
    for count, of in ((None, machine), (counted, None), (counted, machine | {"instructions": {}})):
        assert limits.core_limit(CASE, 8, count, of)["rank_rounds_per_second"] is None


@COUNTED
def test_a_case_with_too_many_instructions_has_no_count(monkeypatch):
    """And those after it are counted all the same."""
    count(jf.Case(4, network=jf.Hockney("1us", "1ns", 1e-10)))  # or skip
    counter = limits.Counter(lambda line: None)
    monkeypatch.setattr(limits, "MAX_STEPS", 1000)
    assert counter.count("butterfly", "periodic", 16) is None
    monkeypatch.setattr(limits, "MAX_STEPS", 10**6)
    assert counter.count("butterfly", "periodic", 16) is None  # not tried again
    found = counter.count("butterfly", "no noise", 16)
    assert found["ranks"] == 16
    assert 0 < found["vector"] < found["all"]
    assert counter.problem == ""


@COUNTED
def test_where_nothing_can_be_counted(monkeypatch, tmp_path, capsys):
    """No limit, and the reason in its place; no failure."""
    monkeypatch.setattr(limits, "LARGEST", 2**22)

    def refused(*_):
        raise RuntimeError("the system refuses to trace a child process (ptrace)")

    monkeypatch.setattr(_core, "count_instructions", refused)
    monkeypatch.setattr(_core, "cannot_count", lambda: "")
    file = tmp_path / "b.json"
    words = ["--ranks", "4", "--repeats", "1", "--seconds", "0.001", "--no-peers",
             "--programs", "butterfly", "--noise", "none,periodic",
             "--json", str(file)]  # fmt: skip
    assert main(words) == 0
    result = json.loads(file.read_text())
    assert all(row["limit"]["rank_rounds_per_second"] is None for row in result["rows"])
    assert "no limit: the system refuses" in capsys.readouterr().out
    monkeypatch.setattr(_core, "cannot_count", lambda: "on another planet")
    assert main(words) == 0
    assert "no limit: on another planet" in capsys.readouterr().out


@COUNTED
@quick_pictures
def test_share_and_picture(monkeypatch, tmp_path, capsys):
    count(jf.Case(4, network=jf.Hockney("1us", "1ns", 1e-10)))  # or skip
    monkeypatch.setattr(limits, "LARGEST", 2**22)
    file, picture = tmp_path / "b.json", tmp_path / "b.png"
    ranks = ",".join(some(["2^3", "2^4"], 1))
    words = ["--ranks", ranks, "--repeats", "2", "--seconds", "0.001", "--no-peers",
             "--programs", "butterfly", "--noise", "periodic",
             "--json", str(file), "--picture", str(picture)]  # fmt: skip
    assert main(words) == 0
    result = json.loads(file.read_text())
    for row in result["rows"]:
        if row["name"] == "jitterfly, cpu":
            limit = row["limit"]
            assert limit["instructions"]["ranks"] == row["ranks"]
            assert (
                limit["rank_rounds_per_second"] <= limit["instructions"]["rank_rounds_per_second"]
            )
            share = row["rank_rounds_per_second"]["median"] / limit["rank_rounds_per_second"]
            assert row["share"] == pytest.approx(share)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "a core's instructions" in capsys.readouterr().out


def test_ranks_that_are_counted():
    """Large cases are counted at fewer ranks, the goal's at its own."""
    assert limits.counted_ranks("butterfly", "periodic", 2**23) == 2**12
    assert limits.counted_ranks("butterfly", "no noise", 2**23) == 2**8
    assert limits.counted_ranks("CS14, 10 cycles", "periodic", 2**12) == 2**6
    assert limits.counted_ranks("MS12, all T", "periodic", 16) == 16


class Driver:
    """A CUDA driver that knows a card."""

    values = MappingProxyType({36: 3_201_000, 37: 6144, 38: 50 * 2**20})
    cuInit = staticmethod(lambda flags: 0)
    cuDeviceGet = staticmethod(lambda device, index: 0)

    def cuDeviceGetAttribute(self, value, attribute, device):
        value._obj.value = self.values[attribute]
        return 0


DEVICE = {"index": 0, "name": "card", "multiprocessors": 100, "clock_khz": 2_000_000}


def test_limit_of_a_card():
    found = limits.gpu_capacity(DEVICE, Driver())
    assert found["instructions"] == pytest.approx(100 * 128 * 2e9)
    assert found["levels"][0]["read"] == pytest.approx(2 * 3.201e9 * 6144 / 8)
    case = bm.programs(2**23, bm.NOISES["periodic"])["butterfly"]
    limit = limits.gpu_limit(case, 9, 64.0, found)
    assert limit["instructions"]["rank_rounds_per_second"] == pytest.approx(100 * 128 * 2e9 / 64)
    assert limit["by"] == "instructions"
    assert limit["bytes"][0]["level"] == "memory"
    assert limits.gpu_limit(case, 9, None, found)["rank_rounds_per_second"] is None
    assert limits.gpu_limit(case, 9, 64.0, None)["rank_rounds_per_second"] is None
    silent = SimpleNamespace(cuInit=lambda flags: 100)
    assert limits.gpu_capacity(DEVICE, silent)["levels"] == []
