"""A table of tools whose output is not read: how it begins, what it is, what to do instead.

All commands that read what a user measured ask it before they guess at numbers, so that a bandwidth
is never taken for a time.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple


class _Tool(NamedTuple):
    """The output of a tool: `sign` is searched for at the beginning, lines with ^ and $.

    Groups of `sign` stand for {} in `what`, and the file's name for {file} in `instead`.
    """

    what: str
    sign: str
    instead: str


_COLLECTIVES = (
    "tables of OSU's and IMB's blocking collectives are read (osu_allreduce, IMB-MPI1 Allreduce), "
    "and latencies of single messages by `jitterfly network parameters` (osu_latency, PingPong)"
)
_DETOURS = (
    "`jitterfly noise record` measures single detours, and `rtla osnoise hist` prints a histogram "
    "of them that is read"
)
_PINGPONGS = (
    "`jitterfly network parameters {file}` makes a network of latencies of single messages (of "
    "OSU's osu_latency, IMB's PingPong, ib_write_lat, fi_pingpong and ucx_perftest -t tag_lat)"
)
_SCHEDULE = (
    "`jitterfly run` takes a schedule of an application as GOAL text; jitterfly.ScheduleBuilder "
    "makes one in Python"
)

_TOOLS = (
    _Tool(
        "the output of OSU's osu_latency",
        r"^[ \t]{0,40}# OSU MPI(?:-\S{0,20})? Latency Test\b",
        "latencies of single messages by their size are not times of a collective; "
        "`jitterfly network parameters {file}` makes a network of them",
    ),
    _Tool(
        "the output of OSU's test '{}'",
        r"^[ \t]{0,40}# OSU (\S{1,20} .{0,80}?) [Tt]est\b",
        _COLLECTIVES,
    ),
    _Tool(
        "the output of perftest (ib_write_lat, ib_send_bw)",
        r"^[ \t]{0,40}#bytes[ \t]+#iterations[ \t]",
        _PINGPONGS,
    ),
    _Tool(
        "the output of ucx_perftest",
        r"\|[ \t]+(?:overhead|latency) \(usec\)[ \t]+\|[ \t]+bandwidth",
        _PINGPONGS,
    ),
    _Tool("the output of libfabric's fi_pingpong", r"^bytes[ \t]+#sent[ \t]+#ack[ \t]", _PINGPONGS),
    _Tool(
        "a report of GPCNeT",
        r"^[ \t]{0,40}Network(?:Load)? Tests v\d",
        "it has no times of single iterations; OSU's collectives are read",
    ),
    _Tool(
        "the analysis of a stopped trace by rtla",
        r"^## CPU \d+ hit stop tracing",
        "`rtla osnoise hist` and `rtla timerlat hist` print histograms, which are read",
    ),
    _Tool(
        "the kernel's counters in schedstat",
        r"\Aversion \d{1,3}\ntimestamp \d{1,20}\ncpu0 \d|\A\d{1,20} \d{1,20} \d{1,20}\n?\Z",
        "run_delay is the sum of what tasks waited for a CPU since boot (or since the task began), "
        "of no single detour; " + _DETOURS,
    ),
    _Tool(
        "the output of cyclictest without a sum of each thread",
        r"^# /dev/cpu_dma_latency set to|"
        r"\A(?:[ \t]{0,9}\d{1,5}:[ \t]{0,9}\d{1,12}:[ \t]{0,9}-?\d{1,12}\n){3}",
        "`cyclictest -q -h 1000` prints a histogram, which is read; a late timer is not a detour, "
        "and `jitterfly noise record` measures those",
    ),
    _Tool(
        "a report of rt-tests in JSON",
        r'"cmdline:?": ?"[^"\n]{0,200}\b(?:hwlatdetect|signaltest|pmqtest|ssdd)\b',
        "the reports of cyclictest and oslat in JSON are read, and that of hwlatdetect as text",
    ),
    _Tool(
        "the report of IBM's osnoise",
        r"^using (?:neighbor exchange|alltoall on columns|global collectives) : "
        r"compute_interval_msec = |^histogram of (?:max communication times per step, in units of "
        r"|step times in )msec",
        "times of steps hold what ranks wait for each other; `osnoise -d` and its extract_comp "
        "write the compute times of each rank, which `jitterfly noise import` reads as format fwq "
        "with the unit ms",
    ),
    _Tool(
        "the output of pma_tools' jitter",
        r"^[ \t]{0,40}Linux Jitter testing program version|^Inst_Min,Inst_Max,Inst_jitter,",
        "extremes of an interval are no single detours; " + _DETOURS,
    ),
    _Tool(
        "data or a report of perf",
        r"\APERFILE2|^# To display the perf\.data header info|^# captured on[ \t]*:|"
        r"^[ \t]{0,9}Performance counter stats for|^[ \t]{0,9}Task[ \t]+\|[ \t]+Runtime ms",
        _DETOURS,
    ),
    _Tool(
        "a histogram of a BPF tool (runqlat, bcc, bpftrace)",
        r"^Tracing run queue latency|^[ \t]{0,40}[um]?n?secs[ \t]+: count[ \t]+distribution|"
        r"^@\w{0,40}(?:\[[^\]\n]{0,80}\])?:[ \t]{0,9}\n[\[(]\d",
        "times in a run queue are not detours; " + _DETOURS,
    ),
    _Tool(
        "a log of jHiccup or HdrHistogram",
        r"^#\[(?:StartTime|BaseTime|Histogram log format|Logged with jHiccup)|"
        r"^[ \t]{0,40}Value[ \t]+Percentile[ \t]+TotalCount",
        "pauses of a sleeping thread are not detours; " + _DETOURS,
    ),
    _Tool(
        "an execution trace of Chakra (ASTRA-sim)",
        r'"(?:ctrlDeps|ctrl_deps|data_deps|workload_graph)"|'
        r'"schema"[ \t]*:[ \t]*"[^"\n]{0,20}chakra',
        _SCHEDULE,
    ),
    _Tool(
        "a trace of events in JSON (PyTorch's profiler, Chrome, Perfetto)",
        r'"traceEvents"[ \t\n]*:',
        _SCHEDULE,
    ),
    _Tool(
        "a trace of liballprof",
        r"\A(?:#.*\n|[ \t]*\n){0,50}P?MPI_[A-Z][a-z_]{2,30}:-?\d",
        "LogGOPSim's Schedgen makes a GOAL schedule of it (-p trace), which `jitterfly run` takes",
    ),
    _Tool(
        "a time-independent trace of SMPI (SimGrid)",
        r"(?i)\A(?:#.*\n|[ \t]*\n){0,50}p?\d{1,7} (?:init|compute|comm_size|barrier|bcast|reduce|"
        r"allreduce|alltoall|i?send|i?recv|wait|waitall)\b",
        _SCHEDULE,
    ),
    _Tool(
        "a schedule of an application (GOAL)",
        r"\A(?:\s|//[^\n]*\n)*num_ranks[ \t]+\d",
        "`jitterfly run {file}` runs it",
    ),
    _Tool(
        "the map of a network",
        r'^(?:Switch|Ca|Hca|Rt)\s+\d+\s+"|\A\s*(?:strict\s+)?digraph\b',
        "`jitterfly network info {file}` reads it",
    ),
    _Tool(
        "the forwarding tables of a network (dump_lfts.sh, ibroute)",
        r"^#?[ \t]{0,9}Unicast lids \[",
        "`jitterfly network info` reads {file} as the tables of the map that ibnetdiscover prints",
    ),
    _Tool(
        "a table of a benchmark by message size",
        r"^[ \t]{0,40}#[ \t]{0,20}(?:[Mm]essage[ _-]?)?(?:[Ss]ize|[Bb]ytes)\b.{0,80}"
        r"(?:[\[(](?:us|usec|[KMG]i?B/s(?:ec)?|[MG]b(?:it)?/s|[MG]bps)[\])]|[Ll]atency|[Bb]andwidth)"
        r".{0,80}\n(?:#.*\n){0,9}[ \t]{0,40}\d{1,20}[ \t]{1,60}\d",
        _COLLECTIVES,
    ),
)


def known_for(head: str, name: str) -> tuple[str, str]:
    """Say which known tool wrote a file, by its beginning, and what to do instead; else ""."""
    for tool in _TOOLS:
        if match := re.search(tool.sign, head, re.MULTILINE):
            return tool.what.format(*match.groups()), tool.instead.format(file=shlex.quote(name))
    return "", ""


def why_not_read(head: str, name: str) -> str:
    """The end of an error about such a file; "" where it is of none of these tools."""
    what, instead = known_for(head, name)
    return f"is {what}, which is not read here: {instead}" if what else ""
