"""Recording of noise on this machine (`noise record`): invariants, options, Ctrl-C.

What is asserted holds on a busy machine, too: invariants, not figures. Only the pause that is made
here is looked for, and it can only be longer.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.commands import error_of

from jitterfly.measured import load, noisefile
from jitterfly.measured.host import allowed_cpus, show_cpus, snapshot
from jitterfly.measured.record import MAX_DETOURS, rate, record
from jitterfly.units import TICKS_PER_SECOND, from_ticks

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="recording needs Linux"),
    pytest.mark.timing,
]

CPU = allowed_cpus()[-1] if sys.platform == "linux" else 0


def jitterfly(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "jitterfly", "noise", *arguments],
        capture_output=True, text=True, timeout=120, **options,
    )  # fmt: skip


def test_a_third_of_a_second():
    before = os.sched_getaffinity(0)
    seen = []
    found = record(0.3, progress=lambda seconds, detours: seen.append((seconds, detours)))
    assert os.sched_getaffinity(0) == before
    (part,) = found.parts
    assert part.cpu == str(CPU)
    # Somebody may hold the CPU where it should end, but it never ends sooner.
    assert 0.2999 * TICKS_PER_SECOND < part.length < 30 * TICKS_PER_SECOND
    assert (part.durations >= part.threshold).all()
    assert (part.starts[1:] >= part.starts[:-1] + part.durations[:-1]).all()
    assert 1e-9 < part.threshold / TICKS_PER_SECOND < 1e-5
    assert [s for s, _ in seen] == sorted(s for s, _ in seen)
    assert all(0 <= s <= 0.3 for s, _ in seen)
    source = found.source
    assert set(source) >= {"machine", "kernel", "date", "counter", "iteration", "overhead"}
    assert "stopped" not in source
    assert all(isinstance(text, str) and text for text in (*source.values(), *found.notes))


@pytest.mark.parametrize("quantum", [0, "1us"])
def test_steps_of_the_counter_do_not_fill_the_buffer(quantum):
    """They are a hundred times as many as what there is room for."""
    found = record(0.5, quantum=quantum)
    assert found.parts[0].length > 0.4999 * TICKS_PER_SECOND
    assert "buffer" not in found.source.get("untrusted", "")
    assert not any("the buffer was full" in note for note in found.notes)


def test_the_file_holds_it_all(tmp_path):
    found = record(0.1)
    noisefile.write(found, tmp_path / "x.noise")
    assert load(tmp_path / "x.noise") == found


def test_every_cpu_at_once():
    cpus = allowed_cpus()
    found = record(0.1, cpus)
    assert [part.cpu for part in found.parts] == [str(cpu) for cpu in cpus]
    assert any("every CPU was recorded" in note for note in found.notes)


def test_a_threshold_keeps_what_is_longer():
    (part,) = record(0.2, threshold="10us").parts
    assert part.threshold == pytest.approx(10_000_000, rel=1e-3)
    assert (part.durations >= part.threshold).all()


def test_work_in_each_iteration():
    """A fixed work quantum: few iterations, each as long as the work."""
    found = record(0.3, quantum="1ms")
    (part,) = found.parts
    assert found.source["quantum"].startswith("1 ms of work")
    assert any("periods below two quanta are not looked for" in note for note in found.notes)
    smallest = found.source["iteration"].removeprefix("smallest ")
    value, unit = smallest.split(",")[0].split()
    assert unit == "ms" or (unit == "µs" and float(value) > 500)
    assert int(found.source["iteration"].split(",")[-1].split()[0]) < 2000
    assert len(part.starts) < 600


def test_a_full_buffer_ends_it():
    """The work is so long that its iterations differ: every second or so is a detour."""
    found = record(3600, quantum="1us", most=3, threshold="100ns")
    assert len(found.parts[0].starts) == 3
    assert found.parts[0].length < 3600 * TICKS_PER_SECOND
    assert any("buffer was full after 3 detours" in note for note in found.notes)


PAUSED = """
import json, sys
from jitterfly.measured.record import record
print("ready", flush=True)
sys.stdin.readline()
part, = record(1.5, progress=lambda seconds, detours: print(f"{seconds}", flush=True)).parts
print(json.dumps([part.starts.tolist(), part.durations.tolist(), part.length]), flush=True)
"""


def test_a_pause_is_a_detour():
    """The whole process is stopped from outside for 60 ms, in the middle of the recording."""
    with subprocess.Popen(
        [sys.executable, "-c", PAUSED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.stdin.write("\n")
            process.stdin.flush()
            while float(process.stdout.readline()) < 0.3:
                pass
            process.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            time.sleep(0.06)
            process.send_signal(signal.SIGCONT)
            paused = time.monotonic() - stopped
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    starts, durations, length = json.loads(out.splitlines()[-1])
    starts, durations = from_ticks(starts), from_ticks(durations)
    longest = int(np.argmax(durations))
    assert durations[longest] > 0.055
    # On a busy machine others may run at its end, or it may be stopped a little later.
    assert durations[longest] < paused + 1
    assert 0.25 < starts[longest] < length / TICKS_PER_SECOND


def test_ctrl_c_keeps_what_there_is(tmp_path):
    script = (
        "import _thread, threading\n"
        "from jitterfly.measured import noisefile\n"
        "from jitterfly.measured.record import record\n"
        "def press(seconds, detours):\n"
        "    if seconds > 0.2: _thread.interrupt_main()\n"
        "noisefile.write(record(600, progress=press), 'x.noise')\n"
    )
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, timeout=120)
    assert time.monotonic() - start < 60
    found = load(tmp_path / "x.noise")
    assert found.source["stopped"].startswith("by Ctrl-C, after 0.")
    assert found.parts[0].length < 60 * TICKS_PER_SECOND


def test_ctrl_c_at_the_command(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "jitterfly", "noise", "record", "--seconds=600", "--out=x.noise"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while _used(process.pid) < 0.7:  # it calibrates for 0.2 s, and then records
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "jitterfly: stopped: by Ctrl-C, after" in err
    assert "written: x.noise" in out
    assert load(tmp_path / "x.noise").parts[0].length < 60 * TICKS_PER_SECOND


def _used(pid):
    """Seconds of CPU that the busiest thread but the first has used."""
    used = [0.0]
    for task in Path(f"/proc/{pid}/task").iterdir():
        if task.name != str(pid):
            words = (task / "stat").read_text().rpartition(")")[2].split()
            used.append((int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"))
    return max(used)


def is_done(process):
    """Whether it has recorded, be it on a machine where others work."""
    return process.returncode == ("load rather than noise" in process.stdout)


def test_record_and_show(tmp_path):
    pytest.importorskip("matplotlib")
    done = jitterfly("record", "--seconds", "0.3", "--cpu", str(CPU), "--out", "x.noise",
                     cwd=tmp_path)  # fmt: skip
    assert done.stderr == ""
    assert is_done(done)
    if not done.returncode:
        assert "next: jitterfly noise show x.noise" in done.stdout
    assert load(tmp_path / "x.noise").source["command"].startswith("jitterfly noise record")
    shown = jitterfly("show", "x.noise", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "written: x.png" in shown.stdout
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
    again = jitterfly("record", "--seconds", "0.1", "--out", "x.noise", cwd=tmp_path)
    assert again.returncode == 2
    assert "x.noise exists; --force replaces it" in again.stderr
    forced = jitterfly("record", "--seconds", "0.1", "--out", "x.noise", "--force", cwd=tmp_path)
    assert is_done(forced)


def test_a_name_of_its_own(tmp_path):
    done = jitterfly("record", "--seconds", "50ms", cwd=tmp_path)
    assert is_done(done)
    (file,) = tmp_path.glob(f"*_cpu{CPU}_*.noise")
    assert f"written: {file.name}" in done.stdout


BAD = {
    ("--seconds", "0"): "--seconds must be a time above 0",
    ("--seconds", "soon"): "--seconds must be a time above 0",
    ("--seconds", "30 days"): "--seconds must be a time above 0",
    ("--seconds", "1us"): "seconds must be at least 100 µs, got 1 µs",
    ("--seconds", "1e6"): "seconds must be at most a week",
    ("--cpu", "99999"): f"cpu must be one that this process may use, {show_cpus(allowed_cpus())}",
    ("--cpu", "last"): "--cpu must be such as 3, or 0,2 or 0-3, or all",
    ("--cpu", "3-1"): "--cpu must be such as",
    ("--cpu", "1,"): "--cpu must be such as",
    ("--cpu", "-1"): "--cpu must be such as",
    ("--threshold", "-1us"): "--threshold must be a time from 0",
    ("--threshold", "1ps"): "twice the smallest iteration here",
    ("--quantum", "10ns"): "quantum must be 0, or from 100 ns to a tenth",
    ("--quantum", "2s"): "quantum must be 0, or from 100 ns to a tenth",
    ("--most", "0"): "--most must be an integer from 1 to",
    ("--most", str(MAX_DETOURS + 1)): "--most must be an integer from 1 to 2^24",
    ("--out", "nowhere/x.noise"): "the directory nowhere does not exist",
    ("--out", "."): "is a directory",
    ("--sec", "1"): "unrecognized arguments",
}


@pytest.mark.parametrize("option", BAD, ids=" ".join)
def test_bad_options(option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = os.sched_getaffinity(0)
    seconds = [] if "--seconds" in option else ["--seconds", "0.05"]
    assert BAD[option] in error_of(capsys, "noise", "record", *seconds, *option)
    assert list(tmp_path.iterdir()) == []
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("cpus", [[], [CPU, CPU]])
def test_bad_cpus(cpus):
    with pytest.raises(ValueError, match="one or more, each once"):
        record(0.05, cpus)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="is no root anyway")
def test_any_user_can(tmp_path):
    """As nobody, who has no rights at all."""
    tmp_path.chmod(0o777)
    script = (
        "import os, sys\n"
        "from jitterfly.measured.record import record\n"
        "from jitterfly.measured import noisefile\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "print(len(record(0.1).parts[0].starts), os.geteuid())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    if "PermissionError" in done.stderr:
        pytest.skip("a root that may not become somebody else")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1] == "65534"


def test_rates():
    steady = rate([(0, 0, 10), (2_600_000, 10**6, 10), (26 * 10**9, 10**10, 10),
                   (26 * 10**9 + 2_600_000, 10**10 + 10**6, 10)])  # fmt: skip
    assert steady.hz == pytest.approx(2.6e9, rel=1e-9)
    assert steady.steady
    assert abs(steady.drift) <= steady.drift_error < 2e-5
    changed = rate([(0, 0, 10), (2_600_000, 10**6, 10), (26 * 10**9, 10**10, 10),
                    (26 * 10**9 + 2_700_000, 10**10 + 10**6, 10)])  # fmt: skip
    assert changed.drift == pytest.approx(1 / 26, rel=1e-4)
    assert not changed.steady
    with pytest.raises(ValueError, match="stood still"):
        rate([(0, 0, 1), (0, 10, 1), (5, 20, 1), (9, 30, 1)])


def test_what_linux_tells():
    found = snapshot([CPU])
    assert set(found.stolen) <= {CPU}
    assert all(seconds >= 0 for seconds in found.stolen.values())
    assert show_cpus([5, 0, 1, 2]) == "0-2,5"
