"""Parsers of Netgauge (selfish detour), FWQ, FTQ, sysjitter, hwlatdetect, CSV; `noise import`."""

import json
import pickle
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import commands
from support.commands import error_of
from support.noise_samples import REAL, changed, load_bytes, needs_real, sample
from support.paths import NOISE_SAMPLES
from support.scale import scaled

from jitterfly import Case, LogGOPS, TraceNoise, ready_times, simulate
from jitterfly.cli import main
from jitterfly.measured import Detours, FormatError, Histogram, Measured, load, noisefile
from jitterfly.measured.description import describe
from jitterfly.measured.formats import TextFile, formats, known_for
from jitterfly.studies import load_study

NS, US, MS, S = 10**3, 10**6, 10**9, 10**12


def said(measured, *words):
    notes = " ".join(measured.notes)
    return all(word in notes for word in words)


# Netgauge


def test_netgauge_splits_runs():
    measured = sample("netgauge_selfish.out")
    assert measured.format == "netgauge"
    assert measured.source["machine"] == "node7"
    assert measured.source["kernel"] == "6.1.0"
    assert len(measured.source["sha256"]) == 64
    first, second = measured.parts
    # 900 % of 25 ns, less the 25 ns that are subtracted from every duration.
    assert first == Detours(
        [0, 1_000_019_150, 2_000_021_400, 3_500_000_000, 6_000_000_000],
        [1_200_250, 2_400_500, 1_180_750, 250_000, 9_000_000],
        6_009_000_000,
        threshold=200 * NS,
    )
    assert second.threshold == 160 * NS
    assert second.length == 7_003_200 * NS
    assert said(measured, "2 runs", "shorter than 200 ns", "a fixed number")


def test_netgauge_splits_where_time_goes_back():
    text = (NOISE_SAMPLES / "netgauge_selfish.out").read_text()
    begin = text.index("# CPU overhead")
    end = text.index("0.00\t800.00")
    parts = load_bytes((text[:begin] + text[end:]).encode()).parts
    assert [len(part.starts) for part in parts] == [5, 3]


def test_netgauge_threshold_in_ns():
    measured = changed(
        "netgauge_selfish.out", b"Threshold: [% minimal cycle length]: 900", b"Threshold [ns]: 500"
    )
    assert measured.parts[0].threshold == 475 * NS


def test_netgauge_tells_a_part_that_is_missing():
    measured = changed("netgauge_selfish.out", b"period: 0.01 s", b"period: 3.5 s")
    assert said(measured, "measured for 3.5 s", "part of it is missing")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"2400.50", b"24O0.50", "line 16: must be a start and a duration in ns, got"),
        (b"\t2400.50", b"", "line 16"),
        (b"2400.50", b"2400.50\t1", "line 16"),
        (b"2400.50", b"-2400.50", "line 16"),
        (b"2400.50", b"inf", "line 16"),
        (b"2400.50", b"1e30", "line 16"),
        (b"[ns]: 25.000000", b"[ns]: short", "line 10: Minimal cycle length [ns] must be a number"),
    ],
)
def test_malformed_netgauge(old, new, message):
    with pytest.raises(FormatError) as error:
        changed("netgauge_selfish.out", old, new)
    assert message in str(error.value)


def test_netgauge_without_detours():
    text = (NOISE_SAMPLES / "netgauge_selfish.out").read_text()
    with pytest.raises(FormatError, match="has no detours"):
        load_bytes(text[: text.index("0.00\t")].encode())


def test_netgauge_sorted_by_duration_is_refused():
    rng = np.random.default_rng(5)
    lines = "".join(f"{time}\t500\n" for time in rng.integers(0, 10**9, 5000))
    with pytest.raises(FormatError, match="in the order of time"):
        load_bytes(f"# Selfish Benchmark\n{lines}".encode())


def test_the_list_of_loggopsim():
    """Its reader skips comments and takes two numbers, in ns."""
    measured = load_bytes(b"100\t50\n5000\t70.5\n9000\t10\n")
    assert measured.format == "netgauge"
    assert measured.parts == (
        Detours([100_000, 5_000_000, 9_000_000], [50_000, 70_500, 10_000], 9_010_000),
    )
    assert not said(measured, "a fixed number")


def test_a_coarse_clock_is_found():
    """As with MPI_Wtime: everything is a multiple of 2^-22 s, printed with a rate that is off."""
    rng = np.random.default_rng(11)
    step = 2.0**-22 * 1e9 * 0.9999
    gaps, counts = rng.integers(10, 10_000, 3000), rng.geometric(0.05, 3000) + 8
    starts = (np.cumsum(gaps + counts) - counts) * step
    lines = "".join(
        f"{int(start)}.{k % 10}7\t{count * step + (k % 3 - 1) * 0.5:.2f}\n"
        for k, (start, count) in enumerate(zip(starts, counts, strict=True))
    )
    measured = load_bytes(lines.encode(), format="netgauge")
    assert abs(measured.parts[0].resolution / (step * NS) - 1) < 1e-3
    assert said(measured, "MPI_Wtime")
    fine = "".join(
        f"{10_000 * k}\t{value:.2f}\n" for k, value in enumerate(rng.exponential(900, 3000) + 300)
    )
    assert load_bytes(fine.encode()).parts[0].resolution is None


# FWQ


def test_fwq():
    measured = sample("fwq.dat")
    assert measured.format == "fwq"
    # Sample 0 (the shortest) is dropped; the rest lasts 7,094,042 cycles of 0.5 ns.
    assert measured.parts[0] == Detours(
        [500_000_000, 1_002_000_000, 1_502_001_000, 3_047_001_000],
        [2_000_000, 1_000, 45_000_000, 20_000],
        3_547_021_000,
    )
    assert said(measured, "500 µs, was subtracted", "sample 0 was dropped")


def test_what_becomes_no_noise_file_is_of_use_elsewhere(tmp_path, capsys):
    file = tmp_path / "osu.txt"
    file.write_text("# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n8 10.5\n")
    assert main(["noise", "import", str(file), "--out", str(tmp_path / "x.noise")]) == 2
    told = capsys.readouterr().err
    assert "`jitterfly compare-measured`" in told
    assert "`jitterfly fit FILE@RANKS ...`" in told


def test_fwq_needs_a_clock():
    with pytest.raises(FormatError, match="clock_hz"):
        changed("fwq.dat", b"2.0 GHz", b"unknown")
    slow = changed("fwq.dat", b"2.0 GHz", b"unknown", clock_hz=1e9)
    assert slow.parts[0].length == 7_094_042 * NS
    assert changed("fwq.dat", b"2.0 GHz", b"unknown", unit="ns").parts == slow.parts
    with pytest.raises(FormatError, match="unit must be one of"):
        sample("fwq.dat", unit="week")
    with pytest.raises(FormatError, match="does not take quantum"):
        sample("fwq.dat", quantum=1e-3)


def test_fwq_is_recognised_by_its_tail():
    rng = np.random.default_rng(2)
    cycles = 10**6 + (rng.random(500) < 0.05) * rng.integers(10**3, 10**5, 500)
    data = "".join(f"{cycle}\n" for cycle in cycles).encode()
    with pytest.raises(FormatError, match="are cycles"):
        load_bytes(data)
    measured = load_bytes(data, "fwq_7_times.dat", clock_hz=2e9)
    assert measured.format == "fwq"
    assert measured.parts[0].cpu == "7"
    share = (cycles[1:] - cycles[1:].min()).sum() / cycles[1:].sum()
    assert measured.parts[0].share == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("recorded", [False, True])
def test_the_quantum_of_work_is_no_period_of_the_machine(recorded):
    """It is longer by the detours in it; a tick every 4 ms is of the machine."""

    def frequencies(tick):
        work, end, times = 1_000_000, 0, []
        for lost in (rng.random(quanta) < 0.05) * rng.integers(10_000, 30_000, quanta):
            ticks = (end + work + lost) // tick - end // tick
            times.append(work + lost + 50_000 * ticks)
            end += times[-1]
        data = "".join(f"{ns}\n" for ns in times).encode()
        measured = load_bytes(data, format="fwq", unit="ns")
        assert said(measured, "are not looked for")
        if recorded:
            source = {"quantum": "1 ms of work in each iteration"}
            measured = Measured(measured.parts, "jitterfly", source)
        (part,) = describe(measured)["parts"]
        return [round(period["frequency"], 1) for period in part["periods"]]

    rng = np.random.default_rng(5)
    quanta = scaled(6000, least=2500)
    assert frequencies(tick=10**12) == []
    assert frequencies(tick=4_000_000) == [250.0]


def test_netgauge_fwq():
    text = "# Fixed Work Quantum Benchmark\n# cycle number    duration [us]\n"
    text += "".join(f"{k}             {us}\n" for k, us in enumerate([900, 1000, 1000, 1004, 1000]))
    part = load_bytes(text.encode()).parts[0]
    assert part == Detours([2 * MS], [4 * US], 4004 * US, resolution=US)
    with pytest.raises(FormatError, match="line 4"):
        load_bytes(text.replace("1             1000", "1 x").encode())


# FTQ


def test_ftq():
    measured = sample("ftq.dat")
    assert measured.format == "ftq"
    # 1000 iterations in 100 us; a loss of one is rounding; the last quantum has no end.
    assert measured.parts[0] == Detours(
        [200 * US, 500 * US], [10 * US, 50 * US], 600 * US, threshold=200 * NS, cpu="5"
    )


def test_ftq_counts_need_a_quantum():
    rng = np.random.default_rng(3)
    counts = 1000 - (rng.random(300) < 0.1) * rng.integers(10, 500, 300)
    data = "".join(f"{count}\n" for count in counts).encode()
    with pytest.raises(FormatError, match="`quantum`"):
        load_bytes(data)
    part = load_bytes(data, "ftq_2_counts.dat", quantum=1e-3).parts[0]
    assert part.cpu == "2"
    assert part.length == 300 * MS
    assert part.durations.sum() == (1000 - counts).sum() * US
    with pytest.raises(FormatError, match="has no times"):
        load_bytes(data, quantum=1e-3, unit="ns")


@pytest.mark.parametrize("timed", [False, True])
def test_the_quantum_is_no_period_of_the_machine(timed):
    """All detours begin with one; a tick every 4 ms and a daemon are of the machine."""

    def frequencies(counts):
        begins = np.cumsum(1_000_300 + rng.integers(0, 400, len(counts)))
        rows = zip(begins, counts, strict=True) if timed else counts[:, None]
        text = "# pwelch octave\n" * timed + "".join(f"{' '.join(map(str, row))}\n" for row in rows)
        options = {} if timed else {"quantum": 1e-3}
        (part,) = describe(load_bytes(text.encode(), "ftq.dat", **options))["parts"]
        return [round(period["frequency"], 1) for period in part["periods"]]

    rng = np.random.default_rng(5)
    quanta = scaled(20000, least=5000)
    counts = 10000 - (rng.random(quanta) < 0.05) * rng.integers(10, 500, quanta)
    assert frequencies(counts) == []
    counts[:: quanta // 40] -= 4000
    assert frequencies(counts) == [40_000 / quanta]
    counts[::4] -= 100
    assert frequencies(counts)[0] == (249.9 if timed else 250.0)


def test_ftq_in_cycles():
    text = "".join(f"{10**9 + k * 200_000} {1000 - (k == 4) * 300}\n" for k in range(10))
    with pytest.raises(FormatError, match="unit of its times"):
        load_bytes(text.encode(), format="ftq")
    part = load_bytes(text.encode(), format="ftq", clock_hz=2e9).parts[0]
    assert part == Detours([400 * US], [30 * US], 900 * US, threshold=200 * NS)
    with pytest.raises(FormatError, match="times must rise"):
        load_bytes(text.replace("1000600000", "1000000000").encode(), format="ftq", clock_hz=2e9)


def test_a_detour_of_several_quanta_is_one():
    counts = [1000, 700, 0, 0, 400, 900, 1000, 0, 1000, 0]
    text = "".join(f"{count}\n" for count in counts).encode()
    (part,) = load_bytes(text, format="ftq", quantum=1e-3).parts
    assert part.starts.tolist() == [1700 * US, 5 * MS, 7 * MS, 9 * MS]
    assert part.durations.tolist() == [2900 * US, 100 * US, MS, MS]


def test_times_and_counts_are_asked_for():
    """Two columns of numbers may be FTQ's or a table of detours; a wrong guess is wrong noise."""
    text = "".join(f"{k * 1_000_000 + k % 3} {1987 - 900 * (k == 7)}\n" for k in range(100))
    with pytest.raises(FormatError, match="give `format` ftq if these are counts, or csv"):
        load_bytes(text.encode(), unit="ns")
    (lost,) = load_bytes(text.encode(), format="ftq", unit="ns").parts
    assert lost == load_bytes(f"# FTQ\n{text}".encode(), unit="ns").parts[0]
    assert lost.starts.tolist() == [7 * MS + 1 * NS]
    assert len(load_bytes(text.encode(), format="csv", unit="ns").parts[0].starts) == 100
    with pytest.raises(FormatError, match="give `format` ftq in place of `quantum`"):
        load_bytes(text.encode(), quantum=1e-3)
    # Counts with a tail above look like FWQ's durations; only FTQ has a quantum.
    counts = "".join(f"{500 + 500 * (k == 50)}\n" for k in range(100)).encode()
    assert load_bytes(counts, quantum=1e-3).format == "ftq"
    few = counts.split(b"\n")[:50]  # too few to be known for anything
    assert load_bytes(b"\n".join(few), quantum=1e-3).format == "ftq"
    with pytest.raises(FormatError, match="fwq does not take quantum"):
        load_bytes(b"# fwq\n" + counts, quantum=1e-3)


def test_netgauge_ftq():
    text = "# Compute-Cycle Duration: 500 usec\n# Fixed Time Quantum Benchmark\n"
    text += "".join(f" {k}                {count}\n" for k, count in enumerate([50, 50, 40, 50]))
    assert load_bytes(text.encode()).parts[0] == Detours(
        [MS], [100 * US], 2 * MS, threshold=20 * US
    )


def test_empty_quanta_do_not_tell_how_long_an_iteration_takes():
    """After a detour of 450 µs and 15 ns the loop passes 3 quanta with one to three iterations."""
    rows = [(k * 100_000, 5000) for k in range(60)]
    rows[20:25] = [(2_000_000, 1000), *((2_470_000 + 15 * k, k) for k in range(1, 4)),
                   (2_470_060, 1497)]  # fmt: skip
    text = "# octave: pkg load signal\n" + "".join(f"{a} {b}\n" for a, b in rows)
    measured = load_bytes(text.encode())
    assert said(measured, "did an iteration in 20 ns")
    (part,) = measured.parts
    assert part == Detours([2 * MS], [450 * US + 15 * NS], 5900 * US, threshold=40 * NS)
    # Quanta in which nothing was done at all, and a CPU that was away most of the time.
    idle = text.replace(" 1\n", " 0\n").replace(" 2\n", " 0\n").replace(" 3\n", " 0\n")
    assert load_bytes(idle.encode()).parts[0] == part
    coarse = "".join(f"{a // 100 * 100} {b}\n" for a, b in rows)  # several at one time
    (part,) = load_bytes(f"# octave\n{coarse}".encode()).parts
    assert part.starts[0] == 2 * MS
    assert part.durations.sum() == pytest.approx(450 * US, abs=100 * NS)
    busy = "# octave\n" + "".join(
        f"{k * 100_000} {5000 if k % 10 == 3 else 1850}\n" for k in range(400)
    )
    (part,) = load_bytes(busy.encode()).parts
    assert part.share == pytest.approx(0.9 * 0.63, abs=0.002)


def test_times_of_ftq_without_counts():
    """Where it wrote times and counts apart: the hint leads to the other file."""
    times = "".join(f"{k * 1_000_000 + k * k % 97}\n" for k in range(150)).encode()
    for options in ({}, {"quantum": 1e-3}, {"clock_hz": 1e9}, {"unit": "ns"}):
        for name in (None, "ftq", "fwq"):
            if name == "fwq" and "quantum" in options:
                continue
            with pytest.raises(FormatError, match=r"always rise.*of the counts.*`quantum`"):
                load_bytes(times, "ftq_0_times.dat", format=name, **options)
    counts = "".join(f"{5000 - 2000 * (k == 30)}\n" for k in range(150)).encode()
    (part,) = load_bytes(counts, "ftq_0_counts.dat", quantum=1e-3).parts
    assert part.durations.tolist() == [400 * US]


def test_ftq_of_several_cpus_in_one_file():
    def thread(core, lost):
        rows = "".join(f"{k * 100_000} {1000 - 300 * (k in lost)}\n" for k in range(30))
        return f"# octave: pkg load signal\n# thread {core - 2}, core {core}\n{rows}"

    both = load_bytes((thread(2, [5]) + thread(6, [9, 12])).encode()).parts
    assert [part.cpu for part in both] == ["2", "6"]
    assert [part.starts.tolist() for part in both] == [[500 * US], [900 * US, 1200 * US]]
    assert {part.length for part in both} == {2900 * US}
    with pytest.raises(FormatError, match="line 35: the times must rise; sample 30"):
        load_bytes((thread(2, []) + thread(6, [])).replace("core 6", "core x").encode())


def test_fwq_of_several_threads():
    """LLNL's, with the rate of the clock of each thread above."""
    speed = "Speed: thread {0}, cycles {1}, seconds 0.250000, GHz {2}\n"
    head = speed.format(0, 625_000_000, "2.500000") + speed.format(1, 500_000_000, "2.000000")
    work = [50_000 + 5 * (k % 2) for k in range(120)]
    first, second = list(work), list(work)
    first[60] += 25_000
    second[70] += 30_000
    text = head
    for thread, cpu, samples in ((0, 8, first), (1, 12, second)):
        text += f"Thread {thread} running on CPUs {cpu}\n" + "".join(f"{n}\n" for n in samples)
    parts = load_bytes(text.encode(), "fwq.out").parts
    assert [part.cpu for part in parts] == ["8", "12"]
    assert [int(part.durations.max()) for part in parts] == [10 * US, 15 * US]
    # 119 samples each: 59 or 60 of them 5 cycles longer, of 0.4 and of 0.5 ns.
    assert parts[0].length == (119 * 50_000 + 60 * 5 + 25_000) * 400
    assert set(parts[1].durations.tolist()) == {2500, 15 * US}
    without = text.replace(head, "")
    with pytest.raises(FormatError, match="clock_hz"):
        load_bytes(without.encode())
    assert load_bytes(without.encode(), clock_hz=2.5e9).parts[0] == parts[0]
    with pytest.raises(FormatError, match="line 5: must be a duration, got"):
        load_bytes(text.replace("50005", "5000x", 1).encode())


def fwq_of(kind, samples, cpus, *, rate="2.000000"):
    """What fwq-th (kind "thread") or fwq-mpi ("process") writes."""
    lines = [
        f"Speed: {kind} {k}, cycles 300000000, seconds 0.150000, GHz {rate}"
        for k in range(len(samples))
    ]
    for k, (values, cpu) in enumerate(zip(samples, cpus, strict=True)):
        lines += [f"{kind.title()} {k} running on CPUs {cpu}", *map(str, values)]
    return "\n".join(lines) + "\n"


def test_fwq_of_processes():
    samples = [[90_000] + [90_000 + 4000 * (k == at) for k in range(40)] for at in (7, 21, 30)]
    text = fwq_of("process", samples, ["0", "7,55", "3"])
    measured = load_bytes(text.encode())
    assert [part.cpu for part in measured.parts] == ["0", "7,55", "3"]
    assert [part.durations.tolist() for part in measured.parts] == [[2 * US]] * 3
    assert [part.starts.tolist()[0] for part in measured.parts] == [7 * 45 * US, 21 * 45 * US,
                                                                    30 * 45 * US]  # fmt: skip
    assert measured.source["clock"] == "2 GHz"
    assert load_bytes(text.encode(), cpu="7,55").parts == measured.parts[1:2]
    # On a terminal: what it prints while it runs, too.
    for number in (1, 2):
        shown = text.replace(f"Process {number} run", f"Process {number}\nProcess {number} run")
        assert load_bytes(f"Process 0\n{shown}".encode()).parts == measured.parts
    # On two nodes, each with a CPU 0.
    twice = load_bytes(fwq_of("process", samples, ["0", "1", "0"]).encode()).parts
    assert [part.cpu for part in twice] == ["0 of process 0", "1 of process 1", "0 of process 2"]


def test_fwq_of_threads_on_a_terminal():
    samples = [[70_000 + 3000 * (k == at) for k in range(30)] for at in (4, 5)]
    text = fwq_of("thread", samples, ["2", "5"], rate="3.000000")
    before = "Number of threads: 2\nThread 1 running on CPUs 5\nThread 0 running on CPUs 2\n"
    measured = load_bytes((before + text).encode())
    assert measured.parts == load_bytes(text.encode()).parts
    assert [part.durations.tolist() for part in measured.parts] == [[US], [US]]


def test_fwq_that_is_cut_off():
    text = fwq_of("thread", [[60_000 + 2 * (k % 3) for k in range(50)]] * 2, ["1", "2"])
    whole = load_bytes(text.encode()).parts
    cut = load_bytes(text[:-2].encode())  # 6000 is no quantum of ten times less work
    assert cut.parts[0] == whole[0]
    assert cut.parts[1].durations.max() == whole[1].durations.max()
    assert said(cut, "cut off: the last number of the file, 6000")
    assert said(cut, "thread 1 on CPU 2 has fewer samples than the others, 50")
    heads = text[: text.index("Thread")]
    with pytest.raises(FormatError, match="no samples; it is cut off"):
        load_bytes(heads.encode())
    with pytest.raises(FormatError, match="thread 0: must have more than 3 samples, got 0"):
        load_bytes((heads + "Thread 0 running on CPUs 1\n").encode())
    with pytest.raises(FormatError, match="line 107: thread 0 begins twice"):
        load_bytes((text + text).encode())
    with pytest.raises(FormatError, match="line 105: thread 0 begins twice"):
        load_bytes((text + text[text.index("Thread") :]).encode())
    with pytest.raises(FormatError, match="rate must be from 1 kHz"):
        load_bytes(text.replace("GHz 2.000000", "GHz 0.000000").encode())


# sysjitter, hwlatdetect


def test_sysjitter():
    measured = sample("sysjitter.3")
    part = Detours(
        [MS, 5 * MS, 5 * MS + 700 * NS, 9 * MS - 1200 * NS],
        [1500 * NS, 700 * NS, 800 * NS, 1200 * NS],
        10 * MS,
        threshold=200 * NS,
    )
    assert measured.parts == (part,)
    assert measured.source["thread"] == "3"
    text = (NOISE_SAMPLES / "sysjitter.3").read_text()
    head, rows = text[: text.index("#      Time")], text[text.index("         1001500") :]
    lines = [line.split() for line in rows.splitlines()]
    by_duration = "".join(
        f"{time} {cycles} {ns}\n"
        for time, _, cycles, ns in sorted(lines, key=lambda row: int(row[3]))
    )
    again = load_bytes(f"{head}#      Timestamp   <== interruption =>\n{by_duration}".encode())
    assert again.parts == (part,)
    assert said(again, "sorted by duration")


def test_malformed_sysjitter():
    with pytest.raises(FormatError, match="line 14"):
        changed("sysjitter.3", b"       1600        800", b"       1600")
    with pytest.raises(FormatError, match="cpu_mhz"):
        changed("sysjitter.3", b"cpu_mhz: 2000", b"cpu_mhz: 0")
    with pytest.raises(FormatError, match="how long it ran"):
        load_bytes(b"# cpu_mhz: 2000\n# threshold: 200ns\n# n_interruptions: 0\n")
    assert said(changed("sysjitter.3", b"interruptions: 4", b"interruptions: 9"), "is missing")


def test_hwlatdetect():
    measured = sample("hwlatdetect.txt")
    # 60 s, of which it looked for a quarter; the longer of the two gaps counts.
    assert measured.parts[0] == Histogram(
        [12 * US, 17 * US, 23 * US], [13 * US, 18 * US, 24 * US], [1, 2, 1], observed=15 * S
    )
    with pytest.raises(FormatError, match="says that it has 4 samples, but 3"):
        changed("hwlatdetect.txt", b"ts: 1700000007", b"# 1700000007")
    with pytest.raises(FormatError, match="line 18: must look like"):
        changed("hwlatdetect.txt", b"inner:16", b"inner:x")
    with pytest.raises(FormatError, match="sample width"):
        changed("hwlatdetect.txt", b"Sample width", b"Sample waist")


def test_hwlatdetect_of_newer_kernels():
    """Each window says how many gaps it had; what exceeds the threshold is their sum."""
    sample = (NOISE_SAMPLES / "hwlatdetect.txt").read_text()
    counts = iter((3, 1, 2, 5))
    lines = [
        f"{line}, count:{next(counts)}" if line.startswith("ts:") else line
        for line in sample.splitlines()
    ]
    text = "\n".join(lines).replace("exceeding threshold: 4", "exceeding threshold: 11")
    measured = load_bytes(text.encode())
    assert measured.parts == load_bytes(sample.encode()).parts
    assert said(measured, "others of the same window are missing (7 of 11)")
    again = load_bytes(text.replace("threshold: 11", "threshold: 4").encode())
    assert again.parts == measured.parts
    with pytest.raises(FormatError, match="says that it has 10 samples, but 4"):
        load_bytes(text.replace("threshold: 11", "threshold: 10").encode())


# CSV


def test_csv_with_decimal_commas_and_cpus():
    zero, one = sample("detours.csv").parts
    # Those at 1000.5 and 1001.5 us overlap. Both CPUs were observed to the last end of all.
    end = 2_004_050 * NS
    assert zero == Detours([500 * NS, 1_000_500 * NS], [1200 * NS, 4000 * NS], end, cpu="0")
    assert one == Detours([3 * US, 2_003_250 * NS], [800 * NS, 800 * NS], end, cpu="1")
    assert sample("detours.csv", cpu="1").parts == (one,)
    with pytest.raises(ValueError, match=r"names \(0-1\), such as 3 or 0,4-7, got '2'"):
        sample("detours.csv", cpu="2")


@pytest.mark.parametrize("late", [0, 7000])
def test_cpus_of_one_table_were_observed_as_long(late):
    """They have one clock: a CPU with one detour at the end was there from the beginning on."""
    rows = [(k + 0.5, 4, 0) for k in range(30)] + [(2.25, 900, 3), (29.0, 900, 3), (28.0, 900, 5)]
    text = "start_s,duration_us,cpu\n" + "".join(f"{late + t},{d},{cpu}\n" for t, d, cpu in rows)
    measured = load_bytes(text.encode())
    begin = 500 * MS if late else 0
    end = 29_500 * MS + 4 * US - begin
    assert [(part.cpu, part.length) for part in measured.parts] == [
        (cpu, end) for cpu in ("0", "3", "5")
    ]
    assert measured.parts[1].starts.tolist() == [2250 * MS - begin, 29 * S - begin]
    assert measured.parts[2] == Detours([28 * S - begin], [900 * US], end, cpu="5")
    assert said(measured, "began at 7000.5 s") == bool(late)
    if not late:
        longer = load_bytes(text.encode(), length=30.0).parts
        assert {part.length for part in longer} == {30 * S}
        assert [part.starts.tolist() for part in longer] == [
            part.starts.tolist() for part in measured.parts
        ]
    with pytest.raises(FormatError, match="has no detours, and does not state the time"):
        load_bytes(b"cpu,start_s,duration_us\n0,5,0\n1,6,0\n")


EXPECTED = (Detours([US, 9 * US], [2 * US, 3 * US], 12 * US),)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("start,duration\n1,2\n9,3\n", {"unit": "us"}),
        ("start_us,duration_us\n1,2\n9,3\n", {}),
        ("Start (us);Duration (ns)\n1,0;2000\n9,0;3000\n", {}),
        ('"time [us]","end [us]"\n1,3\n9,12\n', {}),
        ("duration/us\tstart/us\tcomment\n2\t1\tx\n3\t9\ty z\n", {}),
        ("# made by hand\nstart duration\n\n1000 2000\n9000 3000\n", {"unit": "ns"}),
        ("1,2\n9,3\n", {"unit": "us"}),
        ("1e0,2.0\n9,3\n", {"unit": "us"}),
        ("start_cycles,duration_cycles\n2000,4000\n18000,6000\n", {"clock_hz": 2e9}),
        ("2000 4000\n18000 6000\n", {"clock_hz": 2e9, "unit": "cycles"}),
        ("start_us,duration_us\r\n1,2\r\n9,3\r\n", {}),
        ("start_us,duration_us\n9,3\n1,2\n", {}),
    ],
)
def test_csv(text, options):
    assert load_bytes(text.encode(), **options).parts == EXPECTED


def test_times_since_1970_stay_exact():
    text = "timestamp_ns,duration_ns\n1700000000123456789,100\n1700000000123457900,7\n"
    measured = load_bytes(text.encode())
    assert measured.parts == (Detours([0, 1_111 * NS], [100 * NS, 7 * NS], 1_118 * NS),)
    text = "time_s,duration_us\n1700000000.123456789,0.1\n1700000000.123457900,0.007\n"
    assert load_bytes(text.encode()).parts == measured.parts
    assert said(measured, "1970")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("start,duration\n1,2\n", {}, "does not state the unit of its start"),
        ("start_us,duration_us\n1,2\n1,2,3\n", {}, "line 3: must have 2 columns, got 3"),
        ("start_us,duration_us\n1000\n", {}, "line 2: must have 2 columns, got 1"),
        ("start_us,duration_us\n" + "1,2\n" * 60 + "1,2,3\n", {}, "line 62: must have 2 columns"),
        ("start_us,duration_us\n1,2\nx,3\n", {}, "line 3: start must be a time"),
        ("start_us,duration_us\n1,2\n3,-3\n", {}, "line 3: duration must be a time"),
        ("start_us,duration_us\n1,2\n\u0663,3\n", {}, "line 3: start must be a time"),
        ("start_us,duration_us\n1,nan\n", {}, "line 2"),
        ("start_us,duration_us\n1,2\n", {"unit": "ns"}, "in us, but `unit` is ns"),
        ("start_us,end_us\n5,2\n", {}, "end is before start"),
        ("start_us,duration_us\n", {}, "no detours"),
        ("1,2\n3,4\n", {"unit": "cycles"}, "clock_hz"),
        ("start_s,duration_s\n5,0.002\n", {}, "no time without noise: give `length`"),
        ("start_s,duration_s\n5,2\n", {"length": 6.5}, "is 6.5 s, and a detour ends at 7 s"),
        ("start_s,duration_s\n5,2\n", {"cpus": 2, "length": 9.0}, "no column cpu"),
        ("cpu,start_s,duration_s\n0,5,2\n", {"cpus": 2}, "`cpus` needs `length`"),
        ("cpu,start_s,duration_s\n2,5,2\n", {"cpus": 2, "length": 9.0}, "rows of CPU '2'"),
        ("start_s,duration_s\n5,2\n", {"length": 5e6}, "must be 2^62 ps (53 days) at most"),
    ],
)
def test_malformed_csv(text, options, message):
    with pytest.raises(FormatError) as error:
        load_bytes(text.encode(), **options)
    assert message in str(error.value)


def test_csv_of_a_length_and_of_cpus_without_noise():
    measured = load_bytes(b"cpu,start_ms,duration_ms\n2,1,2\n", length=0.01, cpus=11)
    busy = Detours([MS], [2 * MS], 10 * MS, cpu="2")
    assert measured.parts == tuple(
        busy if cpu == 2 else Detours([], [], 10 * MS, cpu=str(cpu)) for cpu in range(11)
    )
    assert not said(measured, "the length observed is not in the file")
    for header in (b"start_ms,duration_ms\n", b"cpu,start_ms,duration_ms\n"):
        (quiet,) = load_bytes(header, length=0.01).parts
        assert quiet == Detours([], [], 10 * MS)
    measured = load_bytes(b"cpu,start_ms,duration_ms\n", length=0.01, cpus=2)
    assert [part.cpu for part in measured.parts] == ["0", "1"]


def test_a_daemon_on_one_core_of_each_node(tmp_path, monkeypatch, capsys):
    """Every 48th rank meets it, once in the ten seconds that each computes; no other rank does."""
    monkeypatch.chdir(tmp_path)
    Path("daemon.csv").write_text("cpu,start_ms,duration_ms\n0,0,2\n")
    main(["noise", "import", "daemon.csv", "--length", "10s", "--cpus", "48"])
    assert "47 CPUs without a detour: 1-47; 10 s each" in capsys.readouterr().out
    case = Case(96, network=LogGOPS(L="1us", o="200ns"), compute_time="10s",
                noise=["daemon.noise,part=each"])  # fmt: skip
    begun = ready_times(case, seed=3, realization=5)[0]
    assert [rank for rank in range(96) if begun[rank] > 10] == [0, 48]


# Recognition


def test_every_sample_has_one_importer():
    for path in sorted(NOISE_SAMPLES.glob("*.*")):
        text = TextFile(path.name, path.read_bytes())
        names = [name for name, module in formats().items() if module.recognise(text.head)]
        assert bool(names) == (path.suffix != ".md"), path.name


def test_recognition_takes_anything():
    rng = np.random.default_rng(1)
    heads = [bytes(rng.integers(0, 256, 3000, dtype=np.uint8)).decode("utf-8", "replace")]
    heads += ["", "\n", "#", "1", "1\t", " " * 65536, "1\n" * 30000, "1," * 30000, "\t" * 65536]
    heads += ["#\n" * 30000, "# algbw " * 8000, "@" * 65536, "|" * 65536, " " * 100 + "1:" * 30000]
    heads += ["# " + "x" * 65000, "9" * 65536, "1 2\n" * 16000, "ts: " * 16000]
    for head in heads:
        for module in formats().values():
            assert module.recognise(head) in (True, False)
        assert known_for(head, "x") == ("", "")


# The real files: figures of their README


@needs_real
def test_real_alps():
    measured = load(REAL / "netgauge" / "alps_2022_07_14_selfish.out")
    (part,) = measured.parts
    durations = np.sort(part.durations)
    assert len(durations) == 49_999
    assert part.length / S == pytest.approx(197.52, abs=0.005)
    assert part.share == pytest.approx(0.083e-2, abs=0.0005e-2)
    assert part.threshold == round(8 * 28.997304 * NS)
    assert durations.mean() / US == pytest.approx(3.27, abs=0.005)
    quantiles = np.quantile(durations, [0.5, 0.99, 0.999]) / US
    np.testing.assert_allclose(quantiles, [2.47, 5.89, 224.4], rtol=2e-3)
    assert durations[-1] == 1_688_229_060
    assert np.count_nonzero(durations > MS) == 3
    assert measured.source["kernel"].endswith("cray_shasta_c")


@needs_real
def test_real_daint_has_a_coarse_clock():
    measured = load(REAL / "netgauge" / "daint_2022_03_30_selfish.out")
    (part,) = measured.parts
    assert len(part.starts) == 49_999
    assert part.length / S == pytest.approx(94.83, abs=0.005)
    assert part.share == pytest.approx(0.69e-2, abs=0.005e-2)
    assert np.median(part.durations) / US == pytest.approx(16, abs=0.05)
    assert part.durations.max() == 105_607_440
    assert part.resolution / NS == pytest.approx(238.4, abs=0.05)
    assert said(measured, "MPI_Wtime", "238.4 ns")


@needs_real
def test_real_azure_is_two_runs():
    measured = load(REAL / "netgauge" / "azure_hc44rs_2022_03_18_selfish_2segments.out")
    assert [len(part.starts) for part in measured.parts] == [49_999, 49_999]
    assert [round(part.length / S, 2) for part in measured.parts] == [44.32, 44.03]
    assert all(part.share == pytest.approx(0.36e-2, abs=0.005e-2) for part in measured.parts)
    assert said(measured, "2 runs")


@needs_real
def test_real_virtual_machine():
    (part,) = load(REAL / "virtual-machine" / "vm_selfish.out").parts
    assert len(part.starts) == 26_308
    assert part.share == pytest.approx(1.081e-2, abs=0.0005e-2)
    assert part.length / S == pytest.approx(30, abs=0.005)
    assert part.threshold == 480 * NS
    assert part.resolution is None


# The command


def names():
    return sorted(path.name for path in Path().iterdir())


def run(*words):
    return main(["noise", "import", *map(str, words)])


def test_import_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(NOISE_SAMPLES / "netgauge_selfish.out") == 0
    printed = capsys.readouterr().out
    for words in (
        "[netgauge]",
        "machine: node7",
        "5 detours in 6.009 ms; none recorded below 200 ns",
        "note: the file has 2 runs",
        "written: netgauge_selfish.noise",
        "next: jitterfly noise show netgauge_selfish.noise",
        'file = "netgauge_selfish.noise"',
    ):
        assert words in printed
    assert noisefile.read("netgauge_selfish.noise") == sample("netgauge_selfish.out")
    # Again: nothing to do. Another one: not without --force.
    assert run(NOISE_SAMPLES / "netgauge_selfish.out") == 0
    assert "is there already, and the same" in capsys.readouterr().out
    before = Path("netgauge_selfish.noise").read_bytes()
    assert run(NOISE_SAMPLES / "sysjitter.3", "--out", "netgauge_selfish.noise") == 2
    assert capsys.readouterr().err == (
        "jitterfly: error: netgauge_selfish.noise exists; --force replaces it, --out gives "
        "another name\n"
    )
    assert Path("netgauge_selfish.noise").read_bytes() == before
    assert run(NOISE_SAMPLES / "sysjitter.3", "--out", "netgauge_selfish.noise", "--force") == 0
    assert noisefile.read("netgauge_selfish.noise").format == "sysjitter"
    assert names() == ["netgauge_selfish.noise"]


def test_ranks_that_a_log_does_not_state(tmp_path, capsys):
    (tmp_path / "osu.txt").write_text(
        "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n8  27.31\n"
    )
    assert run(tmp_path / "osu.txt") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[3].split() == ["?", "8", "27.31"]
    assert printed[4].endswith("the number of ranks; as a number it is 0 (give --ranks)")


def test_import_of_what_is_no_noise(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(NOISE_SAMPLES / "osu_barrier.txt") == 0
    printed = capsys.readouterr()
    assert "not written as a noise file" in printed.out
    assert run(NOISE_SAMPLES / "osu_barrier.txt", "--out", "x.noise") == 2
    assert capsys.readouterr().err.startswith("jitterfly: error: --out: a noise file holds")
    assert run(NOISE_SAMPLES / "cyclictest.txt") == 0
    printed = capsys.readouterr().out
    assert "no noise source takes it" in printed
    assert "rate" not in printed.replace("no rate", "").replace("operat", "")
    assert names() == ["cyclictest.noise"]


def test_options_of_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("2000 4000\n18000 6000\n")
    assert run("a.csv", "--unit", "cycles", "--clock-hz", "2GHz") == 0
    assert noisefile.read("a.noise").parts == EXPECTED
    Path("b.dat").write_text("".join(f"{900 + k % 3}\n" for k in range(50)))
    assert run("b.dat", "--format", "ftq", "--quantum", "1ms") == 0
    assert noisefile.read("b.noise").parts[0].length == 50 * MS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "nothing: No such file or directory"),
        (["."], ".: Is a directory"),
        (["x.txt"], "x.txt: its format is unknown"),
        (["x.txt", "--format", "fvq"], "format must be one of 'rtla_hist'"),
        (["x.txt", "--format", "fwq"], "x.txt: its numbers are cycles"),
        (["x.txt", "--clock-hz", "fast"], "--clock-hz must be a rate above 0"),
        (["x.txt", "--quantum", "0"], "--quantum must be a time above 0"),
        (["x.txt", "--colour"], "unrecognized arguments: --colour"),
        ([], "the following arguments are required: FILE"),
        (
            ["x.noise", "--cpu", "7"],
            "cpu must be of those that the file names (it names none), such",
        ),
        (["x.noise", "--unit", "ns"], "x.noise: a noise file does not take unit"),
        (["y.csv", "--out", "y.csv", "--force"], "--out must not be the file that is read"),
    ],
)
def test_errors_of_the_command(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_text("3 blind mice\n")
    Path("y.csv").write_text("start_us,duration_us\n1,2\n9,3\n")
    noisefile.write(load("y.csv"), "x.noise")
    before = {name: Path(name).read_bytes() for name in names()}
    assert commands.run("noise", "import", *words) == 2
    error = capsys.readouterr().err  # what was read may be on standard output
    assert error.startswith(commands.PREFIX)
    assert error.count("\n") == 1
    assert message in error
    assert {name: Path(name).read_bytes() for name in names()} == before


def test_a_noise_file_can_be_imported_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(NOISE_SAMPLES / "detours.csv") == 0
    assert run("detours.noise", "--cpu", "1", "--out", "one.noise") == 0
    assert noisefile.read("one.noise").parts == sample("detours.csv", cpu="1").parts


@pytest.mark.parametrize(
    ("lengths", "told"), [([7, 9], "part=each"), ([9, 9], "part=each,shared=2")]
)
def test_cpus_that_were_observed_as_long_were_recorded_together(
    tmp_path, monkeypatch, capsys, lengths, told
):
    monkeypatch.chdir(tmp_path)
    parts = [Detours([MS], [US], n * S, cpu=str(cpu)) for cpu, n in enumerate(lengths)]
    noisefile.write(Measured(parts, "test"), "both.noise")
    assert run("both.noise", "--out", "detours.noise") == 0
    printed = capsys.readouterr().out
    assert f"--noise detours.noise,{told}\n" in printed
    assert ("\n  shared = 2  # recorded together" in printed) == ("shared" in told)


@pytest.mark.parametrize("name", ["netgauge_selfish.out", "rtla_osnoise_hist.txt", "sysjitter.3"])
def test_the_study_that_is_told_runs(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    assert run(NOISE_SAMPLES / name) == 0
    told = capsys.readouterr().out.partition("in a study in the same directory:\n")[2]
    Path("one.toml").write_text(
        'name = "one"\nrealizations = { max = 9 }\n[case]\nranks = 4\n'
        'network = { kind = "hockney", alpha = "1us", beta = 0, gamma = "1us" }\n' + told
    )
    (cell,) = load_study("one.toml").cells()
    (variant,) = cell.variants
    assert len(variant.case.noise) == 1
    assert simulate(variant.case, 3).samples.shape == (3, 1)


@pytest.mark.parametrize("name", ["netgauge_selfish.out", "rtla_osnoise_hist.txt", "sysjitter.3"])
def test_the_option_that_is_told_is_taken(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    assert run(NOISE_SAMPLES / name) == 0
    told = capsys.readouterr().out.partition("on the command line: ")[2].partition("\n")[0]
    words = ["explain", "--ranks=4", "--realizations=9", *shlex.split(told)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as of noise that is too rare to be met
        assert main(words) == 0


def test_the_option_of_a_histogram_has_all_of_the_noise(tmp_path, monkeypatch, capsys):
    """On a machine that has been running, and of all CPUs at the rate that they have together."""

    def told(*parts):
        noisefile.write(Measured(parts, "test"), tmp_path / "h.noise")
        assert run("h.noise", "--force") == 0
        return capsys.readouterr().out.partition("on the command line: ")[2].splitlines()

    def part(low, counts, cpu):
        low = np.array(low) * US
        return Histogram(low, low + US, counts, observed=S, cpu=cpu)

    monkeypatch.chdir(tmp_path)
    # Together 60 detours, of 3.5 µs 20 times and of 9.5 µs 40 times, in 2 s.
    option, parts, *study = told(part([3, 9], [10, 40], "0"), part([3], [10], "1"))
    gap = (2 - 20 * 3.5e-6 - 40 * 9.5e-6) / 60
    file = "duration=empirical(file=h.noise,part=all)"
    assert option == f"--noise 'kind=renewal,gap={gap:.4g}s,start=stationary,{file}'"
    assert parts == "this takes the events of all parts; each part, 0 to 1, has a gap of its own"
    assert '  start = "stationary"' in study
    assert "part = 'all'" in study[-2]
    # Bins that overlap are no distribution together.
    option, parts, *study = told(part([3], [10], "0"), Histogram([0], [9 * US], [10], cpu="1"))
    assert "h.noise,part=0)" in option
    assert "the events of part 0 alone; " in parts
    assert "part = 0 }" in study[-2]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("detours.csv", "--length sets it"),
        ("rtla_osnoise_hist.txt", "give --runtime and --period\n"),
        ("rtla_osnoise_hist.txt", "; --threshold states it"),
        ("rtla_osnoise_hist.txt", "; --width sets it"),
        ("cyclictest.txt", "give --unit ns"),
    ],
)
def test_the_command_and_python_write_the_same_file(tmp_path, monkeypatch, capsys, name, told):
    """A case is identified by the file's content: a note in it names parameters, not options."""
    monkeypatch.chdir(tmp_path)
    measured = load(NOISE_SAMPLES / name)
    noisefile.write(measured, tmp_path / "python.noise")
    assert run(NOISE_SAMPLES / name, "--out", "command.noise") == 0
    assert told in capsys.readouterr().out
    assert Path("command.noise").read_bytes() == Path("python.noise").read_bytes()
    assert pickle.loads(pickle.dumps(measured)).notes == measured.notes
    assert run(NOISE_SAMPLES / name, "--out", "command.noise", "--json") == 0
    assert json.loads(capsys.readouterr().out)["notes"] == list(measured.notes)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("hello\nworld 3\n", "its format is unknown; give `format`, one of "),
        ("0,5\n10,30\n", "give `unit`"),
    ],
)
def test_a_study_names_the_command_that_reads_a_file(content, told, tmp_path, monkeypatch):
    """A study has no options that say how a file is read, `noise import` has."""
    monkeypatch.chdir(tmp_path)
    Path("selfish.out").write_text(content)
    with pytest.raises(ValueError, match=r"selfish\.out") as caught:
        TraceNoise("selfish.out")
    file = tmp_path / "selfish.out"
    assert told.format(file=file) in str(caught.value)
    assert f"jitterfly noise import {file}" in str(caught.value)


def test_a_command_names_its_options(tmp_path, capsys):
    """Those of `noise import` also where another command reads the file."""
    file = tmp_path / "selfish.out"
    file.write_text("0,5\n10,30\n")
    for words in (["noise", "import", file], ["slowdown", "--ranks", "4", "--noise", file]):
        assert "give --unit" in error_of(capsys, *words)


def test_detours_are_left_out_by_their_duration(tmp_path, monkeypatch, capsys):
    """Which part of the noise matters: a file without the long ones, and one without the short."""
    monkeypatch.chdir(tmp_path)
    part = Detours([0, 10**9, 2 * 10**9], [10**6, 10**7, 10**8], 10**10)
    noisefile.write(Measured((part,), "test"), tmp_path / "node.noise")
    assert main(["noise", "import", "node.noise", "--longest", "10us", "--out", "a.noise"]) == 0
    assert "note: left out: detours longer than 10 µs, 1 of 3" in capsys.readouterr().out
    found = noisefile.read(tmp_path / "a.noise")
    assert found.parts[0].durations.tolist() == [10**6, 10**7]
    assert found.parts[0].length == part.length
    assert main(["noise", "import", "node.noise", "--shortest", "2us", "--out", "b.noise"]) == 0
    assert noisefile.read(tmp_path / "b.noise").parts[0].durations.tolist() == [10**7, 10**8]
    capsys.readouterr()
    for options, words in (
        (["--longest", "1ns"], "all 3 detours are longer than 1 ns: none is left"),
        (["--longest", "x"], "--longest must be a time"),
    ):
        command = ("noise", "import", "node.noise", "--out", "c.noise", *options)
        assert words in error_of(capsys, *command)
    command = ("noise", "import", NOISE_SAMPLES / "osu_barrier.txt", "--out", "c.noise")
    error = error_of(capsys, *command, "--shortest", "1us")
    assert "--shortest and --longest are for detours" in error
