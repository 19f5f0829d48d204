"""Files of tools whose output is not read: refused by name, with what to do instead."""

import json

import pytest
from support.commands import error_of
from support.noise_samples import load_bytes
from support.paths import NOISE_SAMPLES

from jitterfly import TraceNoise
from jitterfly.measured import FormatError, noisefile
from jitterfly.measured.formats import OtherTool, formats
from jitterfly.measured.formats.other_tools import known_for

RECORD = "noise record"
BEGINNINGS = {
    "forwarding tables": (
        "Unicast lids [0x0-0x4] of switch Lid 2 guid 0x0002c90200000001 (leaf):\n"
        "  Lid  Out   Destination\n0x0001 001 : (Channel Adapter portguid 0x1: 'n1')\n",
        "as the tables of the map that ibnetdiscover prints",
    ),
    "rtla": ("rtla timerlat hit stop tracing\n## CPU 3 hit stop tracing, analyzing ##\n", "hist"),
    "a table of a benchmark": (
        "# Size      Bandwidth (MB/s)\n1  2.5\n64  151.5\n",
        "osu_allreduce",
    ),
    "GPCNeT": ("NetworkLoad Tests v1.3\n  Test with 64 MPI ranks (64 nodes)\n", "OSU"),
    "schedstat": ("version 15\ntimestamp 4300000000\ncpu0 0 0 0 0 0 0 91 17 4\n", RECORD),
    "perf": ("\n Performance counter stats for 'sleep 2':\n\n  0.7 msec task-clock\n", RECORD),
    "perf ": ("PERFILE2\0\0\0\1", RECORD),
    "cyclictest": ("# /dev/cpu_dma_latency set to 0us\npolicy: fifo\n", "-h 1000"),
    "cyclictest ": ("       0:       0:       7\n       1:       0:       8\n" * 3, "-h 1000"),
    "IBM's osnoise": (
        "checking program args ...\nusing neighbor exchange : compute_interval_msec = 3.00, target "
        "measurement time = 30.0 sec, bins_per_decade = 31, msgsize = 100\n",
        "extract_comp",
    ),
    "IBM's osnoise ": (
        "histogram of step times in msec for all ranks\n [     min -        max ):      count\n"
        "     3.001 -      3.233  :        997 \n",
        "format fwq with the unit ms",
    ),
    "rt-tests in JSON": ('{\n  "cmdline:": "pmqtest -D 5",\n  "thread": {}\n}\n', "oslat"),
    "runqlat": (
        "Tracing run queue latency... Hit Ctrl-C to end.\n\n"
        "     usecs               : count     distribution\n"
        "         0 -> 1          : 7        |****                                    |\n",
        RECORD,
    ),
    "bpftrace": ("@usecs:\n[2, 4)            9 |@@@@   |\n[4, 8)     2 |@ |\n", RECORD),
    "jHiccup": ("#[Logged with jHiccup version 2.0.10]\n0.1,1.0,0.5,x\n", RECORD),
    "Chakra": (json.dumps({"workload_graph": [{"Id": 7, "data_deps": []}]}), "ScheduleBuilder"),
    "PyTorch": (json.dumps({"schemaVersion": 1, "traceEvents": []}), "ScheduleBuilder"),
    "liballprof": ("# trace\nMPI_Init:170:9:9:171\nMPI_Comm_size:172:1:9:173\n", "Schedgen"),
    "SMPI": ("0 init\n0 compute 3e6\n0 allreduce 8 0 6 6\n", "ScheduleBuilder"),
    "GOAL": ("num_ranks 2\n\nrank 0 {\nl1: calc 10\n}\n", "jitterfly run "),
    "map of a network": ('vendid=0x1\nSwitch\t8 "S-01"\t\t# "a" base port 0\n', "network info "),
}
NOISE = ["--ranks=4", "--noise=period=1ms,duration=10us", "-q"]


@pytest.mark.parametrize("name", BEGINNINGS)
def test_each_command_names_the_tool(name, tmp_path, capsys):
    text, instead = BEGINNINGS[name]
    path = tmp_path / "what"
    path.write_bytes(text.encode())
    for command in (["noise", "import"], ["network", "parameters"], ["compare-measured", *NOISE]):
        message = error_of(capsys, *command, path)
        assert "which is not read here" in message
        assert name.strip() in message
        assert instead in message
    for chosen in ("csv", "fwq", "ftq"):
        with pytest.raises(OtherTool):
            load_bytes(text.encode(), format=chosen)
    if name != "GOAL":  # which `run` takes
        message = error_of(capsys, "run", path)
        assert "no study, case or schedule" in message or "\0" in text
        assert name.strip() in message or "\0" in text


def test_no_command_is_told_that_reads_it_after_all(tmp_path, capsys):
    """A study that names such a file: `noise import` does not take it either."""
    path = tmp_path / "runqlat.txt"
    path.write_text(BEGINNINGS["runqlat"][0])
    with pytest.raises(OtherTool, match="a BPF tool") as caught:
        TraceNoise(path)
    assert "jitterfly noise import" not in str(caught.value)
    message = error_of(capsys, "fit", path)  # which takes tables of a user's own, too
    assert "a BPF tool" in message
    assert "header" not in message


def test_no_file_that_is_read_is_refused():
    for path in sorted(NOISE_SAMPLES.glob("*.*")):
        head = path.read_text()
        known = known_for(head, path.name)[0]
        assert not known or any(module.recognise(head) for module in formats().values()), path.name
    # Plain numbers, names of columns and comments are no signs.
    for text in (
        "1\n2\n3\n",
        "start_us,duration_us\n1,2\n",
        "# OSU\n1 2\n",
        "0 1\n1 2\n",
        "T: 0\n",
        "# bytes 8, latency (us)\n35.1\n36.2\n",
    ):
        assert known_for(text, "x") == ("", "")


def test_json_is_no_study(tmp_path, capsys):
    path = tmp_path / "what.json"
    path.write_text('{"ranks": 4}')
    assert "is JSON, no study or case (TOML)" in error_of(capsys, "run", path)


def test_measured_noise_has_no_times_of_a_collective(tmp_path, capsys):
    """Not a complaint about some number of it."""
    for name, what in (
        ("netgauge_selfish.out", "detours"),
        ("cyclictest.txt", "a histogram"),
        ("netgauge_latency.out", "latencies of messages"),
    ):
        message = error_of(capsys, "compare-measured", NOISE_SAMPLES / name, *NOISE)
        assert f"{name} has {what}, and no times of a collective" in message
    path = tmp_path / "one.noise"
    noisefile.write(load_bytes(b"start_s,duration_us\n1,5\n", length=2.0), path)
    message = error_of(capsys, "compare-measured", path, *NOISE)
    assert "one.noise has detours, and no times of a collective" in message


def test_a_file_of_no_known_tool_is_not_named():
    with pytest.raises(FormatError, match="its format is unknown") as caught:
        load_bytes(b"some words\nand 3 more\n")
    assert not isinstance(caught.value, OtherTool)
