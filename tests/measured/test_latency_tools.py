"""Parsers of oslat, jitterdebugger, cyclictest without a histogram, timerlat top, hwlat.

Also of sysjitter's report, and of tracepoints as perf prints them.
"""

import json

import pytest
from support.noise_samples import changed, load_bytes, sample
from support.paths import NOISE_SAMPLES

from jitterfly.measured import CpuNoise, FormatError, Histogram, LatencySummary
from jitterfly.measured.description import description_lines
from jitterfly.measured.formats import formats

US, NS, MS, S = 10**6, 10**3, 10**9, 10**12

OSLAT = (NOISE_SAMPLES / "oslat.txt").read_text()
THREADS = (NOISE_SAMPLES / "cyclictest_threads.txt").read_text()


def said(measured, words):
    return words in " ".join(measured.notes)


def test_oslat():
    measured = load_bytes(OSLAT.encode())
    assert measured.format == "oslat"
    first, quiet, last = measured.parts
    # A bin ends where its name says; the fullest is the loop, the last has all up to the longest.
    # One event there is the longest.
    assert first == Histogram(
        [US, 2 * US, 29 * US], [2 * US, 3 * US, 30 * US], [70, 6, 1], observed=20 * S, cpu="1"
    )
    assert (quiet.total, quiet.cpu, quiet.observed) == (0, "6", 20 * S + 10**9)
    assert last == Histogram([2 * US, 4 * US], [3 * US, 8 * US], [2, 3], observed=20 * S, cpu="9")
    assert said(measured, "less than 1 µs are the loop itself")
    assert said(measured, "CPU 9: its last bin has all that is longer; the longest 8 µs")


def test_oslat_whose_last_bin_has_nothing_longer():
    text = OSLAT.replace("Maximum:\t 30 1 8", "Maximum:\t 5 1 5")
    first, _, last = load_bytes(text.encode()).parts
    assert (first.low.tolist(), first.counts.tolist()) == ([US, 2 * US, 4 * US], [70, 6, 1])
    assert (last.high.tolist(), last.counts.tolist()) == ([3 * US, 5 * US], [2, 3])
    assert first.overflow == last.overflow == 0


def test_oslat_with_a_workload_and_a_bias():
    """The loop takes longer than the first bin, or ends at its edge; bins begin at the bias."""
    slow = OSLAT.replace("41000 42000 40500", "0 0 0").replace("70 0 0", "50000 40000 3000")
    slow = slow.replace("6 0 2", "5 0 2800")
    first, _, last = load_bytes(slow.encode()).parts
    assert first.low.tolist() == [2 * US, 29 * US]
    # Bin 3 is the loop, too.
    assert (last.low.tolist(), last.high.tolist(), last.counts.tolist()) == (
        [4 * US],
        [8 * US],
        [3],
    )
    names = {f"{k:03} (us)": f"{k + 4:03} (us)" for k in range(5, 0, -1)}
    biased = OSLAT.replace("Maximum:\t 30 1 8", "Maximum:\t 40 5 20")
    for old, new in names.items():
        biased = biased.replace(old, new)
    first, *_ = load_bytes(biased.encode()).parts
    assert first.low.tolist() == [5 * US, 6 * US, 39 * US]


def test_oslat_in_nanoseconds():
    """With -W 500 and -z."""
    text = OSLAT.replace(" (us):\t 7", ".500 (us):\t 7").replace("002.500", "001.500")
    for k in (1, 3, 4, 5):
        text = text.replace(f"00{k} (us):", f"00{k}.000 (us):")
    text = text.replace("30 1 8 (us)", "30.250 1.000 8.000 (us)").replace("003.000 (us):\t 6 0 2",
                                                                         "    ...")  # fmt: skip
    first, *_ = load_bytes(text.encode()).parts
    assert first.low.tolist() == [US, 29_750 * NS]
    assert first.high.tolist() == [1500 * NS, 30_250 * NS]


def report(tool, threads, **more):
    about = {"file_version": 1, "cmdline:": f"/usr/bin/{tool} --json=x", "return_code": 0}
    about |= {"sysinfo": {"nodename": "n7", "release": "6.6.1-rt"}, "num_threads": len(threads)}
    return json.dumps(about | more | {"thread": threads}, indent=2) + "\n"


def test_oslat_in_json():
    bins = {"1": 41000, "2": 70, "3": 6, "5": 1}
    about = {"cpu": 1, "freq": 2500, "min": 1, "avg": 1.002, "max": 30, "duration": 20.000}
    measured = load_bytes(report("oslat", {"0": about | {"histogram": bins}}).encode())
    assert measured.parts[0] == load_bytes(OSLAT.encode()).parts[0]
    assert measured.source["machine"] == "n7"
    finer = {"0.500": 900, "1.500": 4, "16.000": 2}
    about |= {"max": 16_000, "histogram": finer}
    (part,) = load_bytes(report("oslat", {"0": about}).encode()).parts
    assert (part.high.tolist(), part.overflow) == ([1500 * NS, 16 * US], 0)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("    Duration:\t 20.000 20.001 20.000 (sec)\n", "", "ends before `Duration:`; it is cut"),
        ("41000 42000 40500", "41000 42000", "line 10: must have a number for each core, 3, got 2"),
        ("70 0 0", "70 x 0", "line 11: a count must be an integer from 0, got 'x'"),
        ("20.001", "0.000", "line 19: Duration must be above 0"),
        ("41000 42000 40500", "0 0 0", "CPU 6 has no iteration"),
        ("\n\n        Core", "\n" + OSLAT + "\n        Core", "a second row 'Core'"),
        ("1 6 9\n", "1 1 9\n", None),
    ],
)  # fmt: skip
def test_oslat_that_is_not_whole(old, new, match):
    assert old in OSLAT
    text = OSLAT.replace(old, new)
    if match is None:
        assert [part.cpu for part in load_bytes(text.encode()).parts] == ["1", "1", "9"]
        return
    with pytest.raises(FormatError, match=match):
        load_bytes(text.encode())


def test_cyclictest_without_a_histogram():
    measured = load_bytes(THREADS.encode())
    assert measured.parts == (
        LatencySummary(5000, 3 * US, 5 * US, 61 * US, cpu="0"),
        LatencySummary(3333, 2 * US, 4 * US, 33 * US, cpu="1"),
    )
    assert said(measured, "no distribution: cyclictest -h 1000 prints a histogram")
    assert load_bytes(THREADS.encode(), unit="ns").parts[0].longest == 61 * NS
    # On a terminal it writes over its lines: the last of each thread counts.
    early = THREADS.replace("C:   5000", "C:    100").replace("61\n", "20\n")
    early = early.replace("C:   3333", "C:     66")
    rows = THREADS[THREADS.index("T: 0") :]
    assert load_bytes((early + "\x1b[2A" + rows).encode()).parts == measured.parts
    # One that is cut off in its last line is as good as the line above it.
    assert load_bytes((early + rows[:-5]).encode()).parts[1].count == 66


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (THREADS + THREADS.replace("5000", "4000"), "line 9: a second run begins"),
        (THREADS.replace("Avg:    5", "Avg:   62"), "line 4: CPU 0: mean must be from shortest"),
        (THREADS.replace("Min:      3", "Min:      ?"), "line 4: is no line of a thread"),
        (THREADS.replace("5000", "0").replace("3333", "0"), "no thread that measured any"),
        (
            THREADS.replace("61\n", "999999999999999\n"),
            "line 4: a latency of CPU 0 is out of range",
        ),
    ],
)
def test_cyclictest_without_a_histogram_that_is_wrong(text, match):
    with pytest.raises(FormatError, match=match):
        load_bytes(text.encode())


def test_cyclictest_in_json():
    first = {"cycles": 5000, "min": 3, "max": 61, "avg": 5.25, "cpu": 4, "node": 0}
    second = first | {"cpu": 5, "cycles": 4990}
    summaries = report("cyclictest", {"0": first, "1": second}, resolution_in_ns=0)
    assert load_bytes(summaries.encode()).parts[0] == LatencySummary(
        5000, 3 * US, 5_250_000, 61 * US, cpu="4"
    )
    bins = {"histogram": {"3": 4900, "7": 90}}
    threads = {"0": first | bins | {"cycles": 4991}, "1": second | bins}
    measured = load_bytes(report("cyclictest", threads, resolution_in_ns=1).encode())
    assert measured.parts == (
        # One latency has no bin: it is the longest.
        Histogram([3 * NS, 7 * NS, 61 * NS], [4 * NS, 8 * NS, 62 * NS], [4900, 90, 1], "latency",
                  cpu="4"),
        Histogram([3 * NS, 7 * NS], [4 * NS, 8 * NS], [4900, 90], "latency", cpu="5"),
    )  # fmt: skip
    threads["0"]["cycles"] = 5000
    measured = load_bytes(report("cyclictest", threads, resolution_in_ns=1).encode())
    assert (measured.parts[0].overflow, measured.parts[0].total) == (10, 5000)
    assert said(measured, "CPU 4: 10 latencies lie above the last bin; the longest 61 ns")


def test_reports_in_json_that_are_wrong():
    about = {"cycles": 50, "min": 3, "max": 61, "avg": 5.25, "cpu": 4}
    text = report("cyclictest", {"0": about}, resolution_in_ns=0)
    for broken, match in (
        (text[:-20], "line 17: is no JSON from here on; is it cut off"),
        (text + text, "line 20: a second report begins below"),
        (text.replace('"max": 61', '"max": -1'), "max of thread '0' must be an integer from 0"),
        (text.replace('"max": 61', '"max": 4'), "avg of thread '0' must be from min to max"),
        (text.replace('"resolution_in_ns": 0,', ""), "resolution_in_ns of thread 'all' must be"),
        (text.replace('"thread": {', '"thread": {}, "other": {'), "must have a 'thread' with"),
    ):
        with pytest.raises(FormatError, match=match):
            load_bytes(broken.encode())


def test_jitterdebugger():
    cpus = {
        "0": {"histogram": {"4": 700, "6": 2}, "count": 703, "min": 4, "max": 1200, "avg": 4.01},
        "1": {"histogram": {"4": 690}, "count": 690, "min": 4, "max": 4, "avg": 4.00},
    }
    old = "affinity: 0,1 = 2 [0x3]\n" + json.dumps({"cpu": cpus}, indent=2)
    measured = load_bytes(old.encode())
    assert measured.format == "jitterdebugger"
    assert measured.parts == (
        Histogram([4 * US, 6 * US, 1200 * US], [5 * US, 7 * US, 1201 * US], [700, 2, 1], "latency",
                  cpu="0"),
        Histogram([4 * US], [5 * US], [690], "latency", cpu="1"),
    )  # fmt: skip
    system = {"nodename": "n7", "resolution_in_ns": 1}
    new = json.dumps({"version": 3, "sysinfo": system, "cpu": cpus}, indent=2)
    assert load_bytes(new.encode()).parts[1].low.tolist() == [4 * NS]
    with pytest.raises(FormatError, match="resolution_in_ns must be 1 or 1000, got 10"):
        load_bytes(new.replace('_ns": 1', '_ns": 10').encode())
    with pytest.raises(FormatError, match="is it cut off"):
        load_bytes(new[:-30].encode())


def test_no_reader_takes_what_is_anothers():
    """The JSON of one tool is not read as that of another."""
    about = {"cycles": 50, "min": 3, "max": 61, "avg": 5.25, "cpu": 4}
    text = report("cyclictest", {"0": about}, resolution_in_ns=0)
    assert [name for name, form in formats().items() if form.recognise(text)] == ["cyclictest"]
    assert [name for name, form in formats().items() if form.recognise(OSLAT)] == ["oslat"]
    assert [name for name, form in formats().items() if form.recognise(THREADS)] == ["cyclictest"]


def test_sysjitter_report():
    measured = sample("sysjitter_report.txt")
    assert measured.format == "sysjitter_report"
    assert measured.parts == (
        CpuNoise(20 * S, 60 * US, 9 * US, 1, cpu="3", events=40),
        CpuNoise(20 * S, 0, 0, 1, cpu="8", events=0),
        CpuNoise(20 * S - US, 6300 * NS, 2100 * NS, 1, cpu="11", events=7),
    )
    shown = description_lines(measured)[0]
    assert shown == (
        "CPU 3: share of the CPU 0.0003 % (60 µs of 20 s); longest 9 µs; 40 detours, rate 2 /s"
    )
    assert said(measured, "below 250 ns were not recorded")
    assert said(measured, "raw files of sysjitter have the single ones")
    aligned = (NOISE_SAMPLES / "sysjitter_report.txt").read_text().replace(" ", "     ")
    assert load_bytes(aligned.encode()).parts == measured.parts


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (b"int_total(ns): 60000 0 6300\nint_total(%): 0.000 0.000 0.000\n", b"",
         "ends before `int_total.ns.:`; it is cut off"),
        (b"int_n: 40 0 7", b"int_n: 40", "line 6: must have a number for each core"),
        (b"int_n: 40 0 7", b"int_n: 40 -1 7", "line 6: int_n must be an integer from 0"),
        (b"int_max(ns): 9000", b"int_max(ns): 99000", "line 14: core 3: noise must be from"),
        (b"int_total(%)", b"core_i: 1 2 3\nx", "line 15: has a second row core_i"),
    ],
)  # fmt: skip
def test_sysjitter_report_that_is_wrong(old, new, match):
    with pytest.raises(FormatError, match=match):
        changed("sysjitter_report.txt", old, new)


def test_timerlat_top():
    measured = sample("rtla_timerlat_top.txt")
    assert measured.format == "rtla_timerlat_top"
    assert measured.parts == (
        LatencySummary(2000, US, 2 * US, 14 * US, cpu="5 irq"),
        LatencySummary(2000, 4 * US, 8 * US, 33 * US, cpu="5 thread"),
        LatencySummary(2001, 2 * US, 3 * US, 7 * US, cpu="6 irq"),
    )
    assert said(measured, "the last of 2 tables")
    assert not any(line.startswith("[]") for line in description_lines(measured))
    text = (NOISE_SAMPLES / "rtla_timerlat_top.txt").read_text()
    nano = load_bytes(text.replace("(us)", "(ns)").encode()).parts[0]
    assert (nano.longest, nano.resolution) == (14 * NS, NS)
    first = text[: text.index("\x1bc")]
    user = first.replace("20\n", "20 |       12         5        10        44\n")
    assert load_bytes(user.encode()).parts[2] == LatencySummary(
        1000, 5 * US, 10 * US, 44 * US, cpu="5 user"
    )
    heads = first[: first.index("  5 #")]
    for broken, match in (
        (heads, "has no row of a CPU; it is cut off"),
        (first[:-12], "line 4: must have four numbers for each context"),
        (first.replace("        11 |", "         1 |"), "line 4: CPU 5 irq: mean must be from"),
        (first + first[first.index("  5 #") :], "line 5: CPU 5 has two rows"),
    ):
        with pytest.raises(FormatError, match=match):
            load_bytes(broken.encode())


def test_hwlat_trace():
    measured = sample("hwlat_trace.txt")
    assert measured.parts == (Histogram([14 * US, 31 * US], [15 * US, 32 * US], [2, 1]),)
    assert said(measured, "does not say for how long the tracer looked: with `length`")
    assert said(measured, "others of the same window are missing (2 of 5)")
    (part,) = sample("hwlat_trace.txt", length=100.0).parts
    assert part.observed == 50 * S
    (part,) = sample("hwlat_trace.txt", length=100.0, runtime=0.1, period=0.4).parts
    assert part.observed == 25 * S
    with pytest.raises(FormatError, match="`runtime` must be at most `period`"):
        sample("hwlat_trace.txt", runtime=2.0)
    with pytest.raises(FormatError, match="line 6: is no line of hwlat"):
        changed("hwlat_trace.txt", b"14/12", b"14")
    with pytest.raises(FormatError, match="has no gap of the hwlat tracer"):
        load_bytes(b"# tracer: hwlat\n#\n")


def test_tracepoints_as_perf_prints_them():
    """The same events: other beginnings of the lines, and nothing else."""
    text = (NOISE_SAMPLES / "osnoise_tracepoints.txt").read_text()
    lines = []
    for line in text.splitlines():
        if line.startswith(("#", "CPU:")):
            continue
        task, _, rest = line.partition("[")
        cpu, _, rest = rest.partition("]")
        time, _, what = rest.split(None, 1)[1].partition(": ")
        name, _, pid = task.strip().rpartition("-")
        lines.append(f"{name:>16} {pid:>6} [{cpu}] {time}: osnoise:{what.strip()}")
    for script in ("\n".join(lines), "\n".join(lines).replace(" [", "/77 [")):
        measured = load_bytes((script + "\n").encode())
        assert measured.format == "osnoise_trace"
        assert measured.parts == sample("osnoise_tracepoints.txt").parts
        sources = load_bytes((script + "\n").encode(), events="sources").parts
        assert sources == sample("osnoise_tracepoints.txt", events="sources").parts
    other = "  bash  4711 [001]  12.345678:  sched:sched_switch: prev_comm=bash\n"
    with pytest.raises(FormatError, match=r"is a trace \(ftrace\) of other events"):
        load_bytes(other.encode())


COMMENTS = (
    "# /dev/cpu_dma_latency set to 0us\n# Histogram\n# Total: 000000990 000001000\n"
    "# Min Latencies: 00002 00003\n# Avg Latencies: 00004 00005\n# Max Latencies: 00480 00031\n"
    "# Histogram Overflows: 00010 00000\n"
)


def test_cyclictest_of_which_the_comments_alone_are_there():
    """As grep '#' leaves them: extremes and a mean are known, no distribution."""
    measured = load_bytes(COMMENTS.encode())
    assert measured.parts == (
        LatencySummary(1000, 2 * US, 4 * US, 480 * US, cpu="0"),
        LatencySummary(1000, 3 * US, 5 * US, 31 * US, cpu="1"),
    )
    assert said(measured, "the histogram's own rows are missing")
    idle = COMMENTS.replace("990", "0").replace("1000", "0").replace("00010", "0")
    with pytest.raises(FormatError, match="it measured no latency"):
        load_bytes(idle.encode())
