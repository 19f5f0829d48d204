"""Recording on an emulated time-stamp counter that advances in steps; distrust of recordings.

The recorder is emulated: a loop of a known length reads a counter of known steps, so that every
iteration and every detour is known. AMD's counters have steps of 26 counts on some machines, and a
second reading within a step is the last one + 1.
"""

import numpy as np
import pytest

from jitterfly import _core
from jitterfly.cli import main
from jitterfly.measured import load
from jitterfly.measured.host import allowed_cpus
from jitterfly.measured.record import iteration, record

HISTOGRAM = {1: 107753, 25: 107654, 26: 1784173, 51: 85, 52: 192}  # as an AMD EPYC showed it
GHZ = 2.6


def readings(times, step):
    """What a counter of such steps shows at these times, in counts."""
    shown = np.floor(np.asarray(times) / step) * step
    for i in range(1, len(shown)):
        shown[i] = max(shown[i], shown[i - 1] + 1)
    return shown.astype(np.int64)


def loop(length, step, iterations=20_000, seed=0, detours=()):
    """Readings of a loop whose iterations take `length` counts, +- 5 %, and some so much more."""
    takes = length * np.random.default_rng(seed).uniform(0.95, 1.05, iterations)
    for at, more in detours:
        takes[at] += more
    return readings(np.cumsum(takes), step)


def test_the_histogram_of_an_amd():
    found = iteration(list(HISTOGRAM), list(HISTOGRAM.values()))
    assert (found.smallest, found.regular, found.step) == (1, 26, 26)
    assert found.is_shorter_than_step
    kept = sum(times for taken, times in HISTOGRAM.items() if taken > 9 * found.regular)
    assert kept == 0


@pytest.mark.parametrize("length", [3, 7, 12, 20, 25, 26, 27, 40, 60, 130])
def test_no_step_is_a_detour(length):
    """However long the loop is: 9 regular iterations are longer than what the steps can show."""
    taken = np.diff(loop(length, 26))
    found = iteration(taken)
    assert 0.5 * max(length, 26) < found.regular <= 2 * max(length, 26)
    assert taken.max() < 9 * found.regular


@pytest.mark.parametrize("length", [9, 20, 33])
def test_a_counter_of_no_steps(length):
    taken = np.diff(loop(length, 1))
    found = iteration(taken)
    assert found.regular == found.smallest == taken.min()
    assert found.step == 1
    assert not found.is_shorter_than_step


def test_multiples_without_a_reading_between():
    """Steps shorter than the loop leave the smallest as it is; the clock is that coarse, though."""
    found = iteration([44, 66, 88, 5000], [9000, 900, 100, 1])
    assert (found.smallest, found.regular, found.step) == (44, 44, 22)


def test_a_loop_that_is_faster_than_its_clock():
    """As on some arm64: most readings are the same as the last."""
    found = iteration([0, 1], [9000, 1000])
    assert (found.smallest, found.regular, found.step) == (0, 1, 1)


@pytest.mark.parametrize(
    ("taken", "step"),
    [
        ([24] * 65536, 1),  # one length says nothing
        ([24] * 65500 + [26] * 30 + [5000] * 6, 2),  # a rare one says something
        ([24] * 65500 + [25] + [27] * 30, 1),
        ([52] * 60000 + [78] * 20 + [104], 26),
        ([24] * 65536 + [5000] * 6, 1),  # a detour does not
    ],
)
def test_a_loop_of_constant_length_is_no_coarse_counter(taken, step):
    assert iteration(taken).step == step
    assert iteration(taken).smallest == iteration(taken).regular == min(taken)


def test_detours_do_not_pass_for_steps():
    """A CPU that is shared has most of its time in detours; hardly two of them are equal."""
    rng = np.random.default_rng(1)
    taken = np.concatenate([np.full(50_000, 20), rng.integers(10**6, 10**8, 300)])
    assert iteration(taken).regular == 20


class Emulated:
    """A recorder whose counter has steps: of a loop of 10 counts, with detours and a buffer."""

    step, length, detours, iterations, limits = 26, 10, (), 40_000, ()
    slower = 1.0  # so many times longer the work took when it was calibrated

    def __init__(self, *, cpu, capacity, quantum_ns=0):
        self.cpu, self.capacity, self.quantum_ns = cpu, capacity, quantum_ns
        self.loop = self.length + round(quantum_ns * GHZ)

    def quiet(self):
        work = np.diff(loop(self.slower * self.loop, self.step, 3000, seed=3))
        return {
            "bare": np.diff(loop(self.length, self.step, seed=2)),
            "with_work": work if self.quantum_ns else np.array([], np.uint64),
            "work": 0,
            "ns_per_count": 1 / GHZ,
        }

    def go(self, *, limit, begin, length):
        type(self).limits += (limit,)
        seen = loop(self.loop, self.step, self.iterations, detours=self.detours)
        taken = np.diff(seen)
        long = np.flatnonzero(taken > limit)
        full = len(long) >= self.capacity
        last = long[self.capacity - 1] if full else len(taken) - 1
        long = long[long <= last]
        moments = [(i * 10**9, round(i * 10**9 / GHZ), 10) for i in range(4)]
        self.result = {
            "detours": np.stack([seen[long], taken[long]], axis=1).astype(np.uint64),
            "begin": int(seen[0]), "end": int(seen[last + 1]), "iterations": int(last + 1),
            "smallest": int(taken[: last + 1].min()), "write_time": 0, "full": full,
            "moved_to": -1, "moments": moments, "faults": 0, "preemptions": 0,
        }  # fmt: skip

    def wait(self, seconds):
        return True

    def stop(self):
        pass

    count = 0

    def recording(self):
        return self.result


@pytest.fixture
def emulated(monkeypatch):
    class Recorder(Emulated):
        pass

    monkeypatch.setattr(_core, "Recorder", Recorder)
    return Recorder


SECONDS = 40_000 * 10 / GHZ * 1e-9  # what the emulated loop takes


def test_detours_alone_are_recorded(emulated):
    emulated.detours = ((1000, 3000), (20_000, 900))
    found = record(SECONDS)
    (part,) = found.parts
    ns = part.durations / 1000
    assert len(ns) == 2
    assert ns == pytest.approx([3000 / GHZ, 900 / GHZ], abs=2 * 26 / GHZ)
    assert part.threshold / 1000 >= 26 / GHZ
    assert part.resolution / 1000 == pytest.approx(26 / GHZ, rel=0.3)
    assert "untrusted" not in found.source
    assert "steps of" in found.source["counter"]


def test_a_quantum_on_steps(emulated):
    emulated.detours = ((1000, 300_000),)
    emulated.iterations = 5000
    found = record(1e-4 * 20, quantum="1us")
    (part,) = found.parts
    # Iterations of 1 us +- 5 % differ by 100 ns, which is noise of the work, not of the counter.
    assert part.durations.max() / 1000 == pytest.approx(300_000 / GHZ, rel=0.01)
    assert part.threshold / 1000 > 26 / GHZ


def test_a_quantum_that_became_faster(emulated):
    """What a detour's duration leaves out is no more than what the loop took itself."""
    emulated.slower, emulated.iterations = 1.2, 5000
    emulated.detours = ((1000, 300_000),)
    found = record(2e-3, quantum="1us")
    longest = found.parts[0].durations.max() / 1000
    smallest = 0.95 * (10 + 2600)
    assert longest == pytest.approx((300_000 + 10 + 2600 - smallest) / GHZ, abs=0.06 * 2600)
    told = found.source["iteration"].split(",")
    assert told[0].startswith("smallest 9")
    assert told[0].endswith(" ns")


def test_it_records_again_with_a_higher_threshold(emulated):
    """300 detours of 1 us fill a buffer of 50 early, and 3 of 10 us do not."""
    short = tuple((100 * i, 2600) for i in range(1, 300))
    emulated.detours = (*short, (5050, 26_000), (15_050, 26_000), (25_050, 26_000))
    found = record(SECONDS, most=50)
    assert len(emulated.limits) == 2
    assert emulated.limits[1] >= 2600 > emulated.limits[0]
    (part,) = found.parts
    assert len(part.starts) < 50
    assert (part.durations > 9e6).sum() == 3
    assert (part.durations >= part.threshold).all()
    assert "filled the buffer of 50" in found.notes[0]
    assert "recorded again" in found.notes[0]
    assert "untrusted" not in found.source


def test_a_threshold_that_was_asked_for_stays(emulated):
    emulated.detours = tuple((100 * i, 2600) for i in range(1, 300))
    found = record(SECONDS, most=50, threshold="500ns")
    assert len(emulated.limits) == 1
    assert "its buffer was full after" in found.source["untrusted"]
    assert "far too short" in found.source["untrusted"]


def test_it_gives_up(emulated):
    """Each is longer than the one before, so that any threshold has the buffer full at once."""
    emulated.detours = tuple((200 * i, 2600 * 4**i) for i in range(1, 20))
    found = record(1.0, most=2)
    assert len(emulated.limits) == 4
    assert "its buffer was full" in found.source["untrusted"]
    assert len(found.notes) > 3


def test_iterations_below_the_smallest(emulated, monkeypatch):
    """What is taken for detours is more than the time: as 3 ns of threshold made it on steps."""
    result = Emulated.go

    def go(self, **options):
        result(self, **options)
        self.result["write_time"] = int(0.999 * (self.result["end"] - self.result["begin"]))
        self.result["smallest"] = 9

    emulated.detours = ((1000, 3000),)
    monkeypatch.setattr(emulated, "go", go)
    text = record(SECONDS).source["untrusted"]
    assert "is below the smallest" in text
    assert "spent 100% of the time on writing" in text


def test_a_busy_machine(emulated, monkeypatch):
    """Half of the time others ran, in slices that are longer than all that is noise."""
    result = Emulated.go

    def go(self, **options):
        result(self, **options)
        self.result["preemptions"] = 2

    total = round(SECONDS * 1e9 * GHZ)
    emulated.detours = ((1000, total // 4), (2000, total // 4), (3000, 300))
    monkeypatch.setattr(emulated, "go", go)
    text = record(SECONDS).source["untrusted"]
    assert "other threads ran there for about 33% of the time (2 times)" in text
    # Less is no reason to distrust it, and is told from a hundredth on.
    for part, share in ((100, ""), (25, ", for about 4% of the time")):
        emulated.detours = ((1000, total // part),)
        found = record(SECONDS)
        assert "untrusted" not in found.source
        assert any(f"in place of the recorder{share}; on an idle" in one for one in found.notes)


def test_the_command_says_it_first(emulated, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    emulated.detours = tuple((100 * i, 2600) for i in range(1, 300))
    options = ["--most=50", "--threshold=500ns", "--out=x.noise", f"--cpu={allowed_cpus()[-1]}"]
    assert main(["noise", "record", f"--seconds={SECONDS:.9f}", *options]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"not to be trusted: CPU {allowed_cpus()[-1]}: its buffer was full")
    assert "written: x.noise" in out
    assert "untrusted" in load(tmp_path / "x.noise").source
    assert main(["noise", "import", "x.noise", "--out=y.noise"]) == 0
    assert capsys.readouterr().out.startswith("not to be trusted: CPU")
