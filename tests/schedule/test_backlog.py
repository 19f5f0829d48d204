"""Run time and memory of a schedule's ordering are linear, whatever messages wait."""

import subprocess
import sys
from pathlib import Path

import pytest

import jitterfly as jf
from jitterfly import _core
from jitterfly.network import check_network
from jitterfly.schedule.compile import compile_schedule

COUNT = 20_000


def rank_of(number, lines):
    return f"rank {number} {{\n" + "\n".join(lines) + "\n}\n"


def independent(count):
    """Calculations of one rank that are all free at once."""
    return "num_ranks 1\n" + rank_of(0, [f"l{i}: calc {1 + i % 7}" for i in range(count)])


def after_each_other(count):
    lines = [f"l{i}: calc {1 + i % 7}" for i in range(count)]
    lines += [f"l{i} requires l{i - 1}" for i in range(1, count)]
    return "num_ranks 1\n" + rank_of(0, lines)


def sends(count, way="to"):
    """Sends that are free at once, and their receives; calculations compete with both."""
    half = count // 2
    calc = [f"calc {5 + i % 100}" for i in range(half)]
    return "num_ranks 2\n" + "".join(
        rank_of(rank, [f"{kind} 8b {way} {1 - rank}" for _ in range(half)] + calc)
        for rank, (kind, way) in enumerate([("send", "to"), ("recv", "from")])
    )


def incast(count):
    """Each rank sends to rank 0, all at once."""
    text = rank_of(0, [f"recv 8b from {rank}" for rank in range(1, count)])
    text += "".join(rank_of(rank, ["send 8b to 0"]) for rank in range(1, count))
    return f"num_ranks {count}\n" + text


def planned(text, network, folder):
    path = folder / "backlog.goal"
    path.write_text(text)
    schedule = jf.Schedule.read(path)
    return schedule, compile_schedule(schedule, check_network(network), ())


NETWORKS = {
    "CPU": "L=1us,o=200ns",
    "ways": "L=1us,o=200ns,g=900ns",
    "bytes": "L=1us,o=10ns,G=100ns,O=1ns",
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("text", [independent, sends, incast])
def test_events_are_linear_in_what_waits(text, network, tmp_path):
    """At most 6 for each operation; those after each other take one each."""
    _, (plan, _) = planned(after_each_other(COUNT), NETWORKS[network], tmp_path)
    assert plan.events == COUNT
    count = COUNT if text is not incast else COUNT // 2
    schedule, (plan, program) = planned(text(count), NETWORKS[network], tmp_path)
    assert schedule.operations >= count - 1
    assert plan.events <= 6 * schedule.operations
    # The order of arrival runs the same way.
    ran = _core.simulate_schedule(plan, program, 0, 0, 1, arrival_order=True)
    assert ran[0, 0] == plan.completion


PLANNING = """
import re, sys, jitterfly as jf
from jitterfly.schedule.compile import compile_schedule

def memory(name):
    return 1024 * int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

schedule = jf.Schedule.read(sys.argv[1])
open("/proc/self/clear_refs", "w").write("5")  # the peak is that of now
before = memory("VmRSS")
compiled = compile_schedule(schedule, jf.LogGOPS("1us", "200ns"), ())
print(memory("VmHWM") - before)
"""


@pytest.mark.full_scale
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is told by Linux")
def test_memory_of_a_channel_that_is_never_empty(tmp_path):
    """Eight receives are always posted ahead: those that have their message are not kept.

    It takes 59 bytes a message, as where the channel is empty at times; it was 148.
    """

    def planning(count):
        sends = [f"s{i}: send 8b to 1" for i in range(count)]
        sends += [f"s{i} requires s{i - 1}" for i in range(1, count)]
        receives = [f"r{i}: recv 8b from 0" for i in range(count)]
        receives += [f"r{i} requires r{i - 8}" for i in range(8, count)]
        path = tmp_path / "ahead.goal"
        path.write_text("num_ranks 2\n" + rank_of(0, sends) + rank_of(1, receives))
        words = [sys.executable, "-c", PLANNING, path]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    assert (planning(220_000) - planning(20_000)) / 200_000 < 90
