"""Parsers of rtla, osnoise, timerlat, cyclictest, OSU, IMB, dissemination, Netgauge latency."""

from __future__ import annotations

import numpy as np
import pytest
from support.noise_samples import REAL, changed, load_bytes, needs_real, sample
from support.paths import NOISE_SAMPLES

from jitterfly.measured import CpuNoise, Detours, FormatError, Histogram, LogGPTable, load

US, NS, MS, S = 10**6, 10**3, 10**9, 10**12


# rtla hist


def test_rtla_osnoise_hist():
    measured = sample("rtla_osnoise_hist.txt")
    assert measured.format == "rtla_hist"
    first, second = measured.parts
    observed = ((24 + 2) * 3600 + 3 * 60 + 4) * S
    # Edges 1000, 1500 and 4000 ns: bins of 500 ns.
    assert first == Histogram(
        [1000 * NS, 1500 * NS, 4000 * NS],
        [1500 * NS, 2000 * NS, 4500 * NS],
        [120, 3, 0],
        observed=observed,
        cpu="0",
        overflow=2,
    )
    assert second.cpu == "3"
    assert (first.total, second.total) == (125, 8)
    notes = " ".join(measured.notes)
    for word in ("threshold", "runtime", "500 ns wide", "above the last bin on CPU 0"):
        assert word in notes


def test_rtla_options():
    measured = sample(
        "rtla_osnoise_hist.txt", runtime=0.9, period=1.0, threshold=1.2e-6, width=250e-9
    )
    seconds = (24 + 2) * 3600 + 3 * 60 + 4
    assert measured.parts[0].observed == seconds * S * 9 // 10
    assert measured.parts[0].low[0] == 1200 * NS
    assert measured.parts[0].high[0] == 1250 * NS
    assert "threshold" not in " ".join(measured.notes)
    with pytest.raises(FormatError, match="line 5: bin 1000 is not a multiple of the width"):
        sample("rtla_osnoise_hist.txt", width=300e-9)
    with pytest.raises(FormatError, match="`runtime` must be at most `period`"):
        sample("rtla_osnoise_hist.txt", runtime=2.0)
    with pytest.raises(FormatError, match="does not take ranks"):
        sample("rtla_osnoise_hist.txt", ranks=4)


def test_some_cpus():
    rows = "".join(f"{cpu},{cpu + 1},1\n" for cpu in range(13))
    table = f"cpu,start_ms,duration_us\n{rows}".encode()
    for chosen, cpus in (("2", [2]), ("1, 9-11,4", [1, 4, 9, 10, 11]), ("0-12", range(13))):
        parts = load_bytes(table, length=1.0, cpu=chosen).parts
        assert sorted(int(part.cpu) for part in parts) == list(cpus)
    for wrong in ("13", "11-13", "3-1", "4,3-1", "1,", "all"):
        with pytest.raises(ValueError, match=r"names \(0-12\), such as 3 or 0,4-7, got"):
            load_bytes(table, length=1.0, cpu=wrong)


def test_one_cpu():
    (part,) = sample("rtla_osnoise_hist.txt", cpu="3").parts
    assert part.cpu == "3"
    with pytest.raises(ValueError, match="0,3"):
        sample("rtla_osnoise_hist.txt", cpu="1")


def test_rtla_timerlat_hist():
    measured = sample("rtla_timerlat_hist.txt")
    assert [part.cpu for part in measured.parts] == [
        f"{cpu} {context}" for cpu in (1, 2) for context in ("irq", "thread", "user")
    ]
    assert {part.what for part in measured.parts} == {"latency"}
    assert {part.observed for part in measured.parts} == {None}
    assert [part.overflow for part in measured.parts] == [0, 0, 0, 0, 1, 1]
    assert {part.total for part in measured.parts} == {10000}
    assert "no rate" in measured.notes[0]
    with pytest.raises(FormatError, match="timerlat histogram does not take `runtime`"):
        sample("rtla_timerlat_hist.txt", runtime=1.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"1500         3", b"900          3", "line 6: bins must rise, got 900 after 1000"),
        (b"120         7", b"120", "line 5: must have 2 counts, got 1"),
        (b"120", b"-1", "line 5: a count must be an integer from 0, got '-1'"),
        (b"1500  ", b"15e2  ", "line 6: the lower edge of a bin must be an integer"),
        (b"4000  ", b"1000000000000000000000 ", "line 7: the lower edge of a bin must be"),
        (b"over: ", b"under:", "line 8: the lower edge"),
        (b"CPU-003", b"CPU-000", "line 4: a CPU has two columns"),
        (b"CPU-003", b"Thr-003", "line 4: 'Thr-003' is no column of rtla osnoise hist"),
        (b"Index   ", b"        ", "line 4: expected the line of columns"),
        (b"\n4000", b"\n# RTLA osnoise histogram\n4000", "line 7: a second histogram begins"),
    ],
)
def test_malformed_rtla_hist(old, new, message):
    with pytest.raises(FormatError, match=message):
        changed("rtla_osnoise_hist.txt", old, new)


def test_cut_off_rtla_hist():
    text = (NOISE_SAMPLES / "rtla_osnoise_hist.txt").read_bytes()
    with pytest.raises(FormatError, match="line 7: ends before `over:`"):
        load_bytes(text[: text.index(b"over:") - 1], "cut")
    quiet = text[: text.index(b"Index")] + b"Index\nover: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n"
    with pytest.raises(FormatError, match="no CPU counted any noise"):
        load_bytes(quiet, "quiet")


def test_counts_that_do_not_add_up_are_told():
    measured = changed("rtla_osnoise_hist.txt", b"count:     125", b"count:     126")
    assert "different numbers of events on CPU 0" in measured.notes[-1]


# rtla top, osnoise tracer


def test_rtla_top():
    measured = sample("rtla_osnoise_top.txt")
    assert measured.parts[0] == CpuNoise(
        runtime=2700 * MS,
        noise=4500 * US,
        longest=44 * US,
        periods=3,
        worst=1600 * US,
        counts={"hardware": 1, "nmi": 0, "irq": 3000, "softirq": 130, "thread": 5},
        cpu="0",
    )
    assert measured.parts[1].share == 0.0005
    assert "last of 2 tables" in measured.notes[1]
    assert (
        measured.parts[1].lines()[0].startswith("CPU 5: share of the CPU 0.05 % (1.35 ms of 2.7 s)")
    )
    assert measured.parts[1].facts()["share"] == 0.0005
    with pytest.raises(FormatError, match="line 10: noise must be from longest to runtime ticks"):
        changed("rtla_osnoise_top.txt", b"2700000         1350", b"2700000      2700001")
    with pytest.raises(FormatError, match="line 4: must be a row of 12 columns"):
        changed("rtla_osnoise_top.txt", b"           90            4", b"           90")


def test_osnoise_tracer():
    measured = sample("osnoise_tracer.txt")
    assert measured.format == "osnoise_trace"
    assert [part.share for part in measured.parts] == [0.00025, 0.003]
    first = measured.parts[0]
    assert (first.periods, first.longest, first.worst) == (2, 14 * US, 300 * US)
    assert first.counts["irq"] == 2003
    with pytest.raises(FormatError, match="do not take `threshold`"):
        sample("osnoise_tracer.txt", threshold=5e-6)


def test_osnoise_samples():
    measured = sample("osnoise_tracepoints.txt")
    (part,) = measured.parts
    # The first event of the trace, of any CPU, is 0; it ends with the last.
    assert part == Detours([98_500 * NS], [28 * US], length=300 * US, cpu="2", threshold=None)
    notes = " ".join(measured.notes)
    for word in (
        "last 12 of 40 events",
        "lost 17 events",
        "left out: 1 event of other kinds",
        "threshold",
    ):
        assert word in notes
    (part,) = sample("osnoise_tracepoints.txt", threshold=5e-6).parts
    assert part.threshold == 5 * US


def test_osnoise_sources_are_net():
    two, three = sample("osnoise_tracepoints.txt", events="sources").parts
    # The thread ran 20 us net from 200 us on; 3 and 2 us of interrupts came into it.
    assert two == Detours([0, 100 * US], [5 * US, 25 * US], length=300 * US, cpu="2")
    assert three == Detours([200 * US], [1 * US], length=300 * US, cpu="3")


def _timeline(rng, line):
    """A tracepoint for each of some nested sources, and the time that each outermost took."""
    now, spans, lines = 0, [], []

    def run(level):
        nonlocal now
        start, net = now, 0
        for _ in range(rng.integers(0, 3) if level < 3 else 0):
            step = int(rng.integers(1, 5000))
            now, net = now + step, net + step
            run(level + 1)
        step = int(rng.integers(1, 5000))
        now, net = now + step, net + step
        kind = ("thread_noise: x:1", "softirq_noise: y:2", "irq_noise: z:3", "nmi_noise:")[level]
        lines.append(
            f"  a-1  [004] d...  {now / 1e9:.6f}: {kind} "
            f"start {start // 10**9}.{start % 10**9:09d} duration {net} ns"
        )
        return start, now

    for _ in range(50):
        spans.append(run(0))
        now += int(rng.integers(1, 50_000))
    return lines, spans


@pytest.mark.parametrize("seed", range(20))
def test_nested_sources_against_a_timeline(seed):
    lines, spans = _timeline(np.random.default_rng(seed), 0)
    (part,) = load_bytes("\n".join(lines).encode(), "trace").parts
    starts = np.array([start for start, _ in spans]) * NS
    ends = np.array([end for _, end in spans]) * NS
    np.testing.assert_array_equal(part.starts, starts - starts[0])
    np.testing.assert_array_equal(part.starts + part.durations, ends - starts[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"duration 5000 ns", b"duration 5000", "line 7: must have `start SECONDS"),
        (b"start 9000000.000100000", b"start 9000000", "line 7: must have `start SECONDS"),
        (b"start 9000000.000202000", b"start 90.000202000", "line 8: lies 2.62 ps .53 days. or"),
    ],
)
def test_malformed_tracepoints(old, new, message):
    with pytest.raises(FormatError, match=message):
        changed("osnoise_tracepoints.txt", old, new)


@pytest.mark.parametrize(
    "event", ["sched_switch: prev_comm=swapper/1", "irq_handler_entry: irq=24"]
)
def test_a_trace_of_other_events(event):
    text = f"# tracer: nop\n#\n          <idle>-0       [001] d..2.  1234.567890: {event}\n"
    with pytest.raises(
        FormatError, match=r"these are read: .*timerlat tracer.*osnoise tracer or tracepoints"
    ):
        load_bytes(text.encode())


def test_timerlat_trace():
    measured = sample("timerlat_trace.txt")
    parts = {part.cpu: part for part in measured.parts}
    assert list(parts) == ["0 irq", "0 thread", "0 user-ret", "1 irq", "1 thread"]
    assert parts["0 irq"] == Histogram([750 * NS], [751 * NS], [2], what="latency", cpu="0 irq")
    np.testing.assert_array_equal(parts["0 thread"].low, [2980 * NS, 12400 * NS])
    assert "left out: 1 osnoise event" in measured.notes[-1]
    with pytest.raises(FormatError, match="line 7: is no line of timerlat"):
        changed("timerlat_trace.txt", b"thread timer_latency      8610", b"thread timer_latency x")


# cyclictest


def test_cyclictest():
    measured = sample("cyclictest.txt")
    first, second = measured.parts
    assert first == Histogram(
        [2 * US, 3 * US, 9 * US],
        [3 * US, 4 * US, 10 * US],
        [300, 690, 7],
        what="latency",
        cpu="0",
        overflow=3,
    )
    assert second.total == 1000
    notes = " ".join(measured.notes)
    assert "no rate" in notes
    assert "3 latencies lie above the last bin" in notes
    assert "different" not in notes
    assert sample("cyclictest.txt", unit="ns").parts[0].low[0] == 2 * NS
    plain, greek = (sample("cyclictest.txt", unit=unit) for unit in ("us", "µs"))
    assert (greek.parts[0].low == plain.parts[0].low).all()
    assert greek.notes == plain.notes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"000700", b"000701", "line 7: the last count must be the sum of the others"),
        (b"000003 000690", b"000001 000690", "line 8: bins must rise"),
        (b"000590", b"5.0e2", "line 8: a count must be an integer"),
        (b"# Min Latencies: 00002 00002", b"# Min: ", "ends before `# Min Latencies:`"),
        (b"# Min Latencies: 00002 00002", b"# Min Latencies: 00002", "rows have 3 counts, but"),
        (b"000009 ", b"oops 9 ", "line 9: is no row of a histogram"),
        (b"Overflows: 00003 00000 00003", b"Overflows: 00003", "must be 2, got 1"),
    ],
)
def test_malformed_cyclictest(old, new, message):
    with pytest.raises(FormatError, match=message):
        changed("cyclictest.txt", old, new)


# Tables of collectives


def test_osu_barrier():
    measured = sample("osu_barrier.txt")
    (table,) = measured.parts
    assert table.operation == "barrier"
    np.testing.assert_array_equal(table.ranks, [256, 512])
    np.testing.assert_array_equal(table.bytes, [0, 0])
    np.testing.assert_allclose(table.mean, [8.75e-6, 11.5e-6], rtol=1e-12)
    assert table.min is None  # the first run has none
    np.testing.assert_array_equal(table.iterations, [100_000, 1000])  # of -i, and printed
    assert "line 8" in measured.notes[0]
    (table,) = sample("osu_barrier.txt", ranks=1024).parts
    np.testing.assert_array_equal(table.ranks, [1024, 1024])


def test_osu_allreduce():
    measured = sample("osu_allreduce.txt")
    (table,) = measured.parts
    np.testing.assert_array_equal(table.bytes, [4, 8, 2**20])
    np.testing.assert_array_equal(table.iterations, [1000, 1000, 100])
    np.testing.assert_allclose(table.p99, [40.25e-6, 60.5e-6, 4100e-6], rtol=1e-12)
    np.testing.assert_allclose(table.max, [13.5e-6, 17.25e-6, 3700e-6], rtol=1e-12)
    assert measured.source["version"] == "7.3"
    assert "give `ranks`" in measured.notes[0]
    (table,) = sample("osu_allreduce.txt", ranks=144).parts
    np.testing.assert_array_equal(table.ranks, [144] * 3)


@pytest.mark.parametrize(
    ("commands", "iterations"),
    [
        (["mpirun -np 2 ./osu_bcast -i 500", "srun osu_bcast --iterations=600 -m 8"], [500, 600]),
        (["mpirun -np 2 ./osu_bcast -i 500", ""], None),  # whose the second is, is not known
        (["mpirun -np 2 ./osu_bcast -i 500", "mpirun -np 4 ./osu_bcast"], None),
        (["mpirun -np 2 -i 7 ./osu_bcast -i x", "./osu_bcast -i 7"], None),
    ],
)
def test_iterations_of_osu_commands(commands, iterations):
    table = "# OSU MPI Broadcast Latency Test v5.9\n# Size  Avg Latency(us)\n1  2.5\n\n"
    text = "".join(f"{command}\n{table}" for command in commands)
    (found,) = load_bytes(text.encode(), "osu.txt").parts
    if iterations is None:
        assert found.iterations is None
    else:
        assert found.iterations.tolist() == iterations


def test_malformed_osu():
    with pytest.raises(FormatError, match="line 6: must have 8 columns, got 7"):
        changed("osu_allreduce.txt", b"             60.50", b"")
    with pytest.raises(FormatError, match=r"line 5: mean \(us\) must be a number, got 'nan'"):
        changed("osu_allreduce.txt", b"11.25", b"  nan")
    with pytest.raises(FormatError, match="line 4: has no column `Avg Latency"):
        changed("osu_allreduce.txt", b"Avg Latency(us)", b"Overall(us)")
    with pytest.raises(FormatError, match="has no row of a collective; it is cut off"):
        load_bytes((NOISE_SAMPLES / "osu_allreduce.txt").read_bytes()[:60], "cut")


def test_imb():
    measured = sample("imb.txt")
    reduced, barrier = measured.parts
    assert (reduced.operation, barrier.operation) == ("allreduce", "barrier")
    np.testing.assert_array_equal(reduced.ranks, [2, 2, 4, 4])
    np.testing.assert_array_equal(reduced.bytes, [0, 8, 0, 8])
    np.testing.assert_allclose(reduced.max[-1], 5.59e-6, rtol=1e-12)
    np.testing.assert_array_equal(barrier.ranks, [4])
    np.testing.assert_array_equal(barrier.iterations, [1000])
    np.testing.assert_allclose(barrier.mean, [3.5e-6], rtol=1e-12)
    assert measured.source["version"] == "2021.3"
    assert measured.source["kernel"] == "6.1.77"
    notes = " ".join(measured.notes)
    assert "rows of 0 bytes" in notes
    assert "left out, as they are not collectives: pingpong" in notes
    with pytest.raises(FormatError, match="line 30: must have 5 columns, got 4"):
        changed("imb.txt", b"2.10         2.30         2.20", b"2.10         2.30")
    with pytest.raises(FormatError, match="line 36: no line `# #processes"):
        changed("imb.txt", b"# #processes = 4\n", b"#\n")


# Samples


def test_dissemination():
    measured = sample("dissemination.csv")
    (part,) = measured.parts
    assert (part.operation, part.bytes, part.ranks, part.times.shape) == (
        "dissemination",
        16,
        4,
        (3, 4),
    )
    np.testing.assert_allclose(part.times[2, 1], 9.536743e-6, rtol=1e-12)
    assert len(measured.notes) == 1  # too few to tell a coarse clock
    with pytest.raises(FormatError, match="line 3: must have 5 columns, got 4"):
        changed("dissemination.csv", b"16 2.384186 3.576279", b"16 2.384186")
    with pytest.raises(FormatError, match=r"line 3: Rank1Time\(us\) must be a number, got '3,5'"):
        changed("dissemination.csv", b"3.576279", b"3,5")
    with pytest.raises(FormatError, match=r"line 1: expected Rank1Time\(us\), got 'Rank2"):
        changed("dissemination.csv", b"Rank1", b"Rank2")


def test_netgauge_latency():
    measured = sample("netgauge_latency.out")
    one, eight = measured.parts
    assert (one.bytes, len(one.samples), eight.bytes, len(eight.samples)) == (1, 4, 8, 4)
    np.testing.assert_allclose(one.samples[0], 1.549721e-6, rtol=1e-12)
    steps = 5 + np.random.default_rng(1).geometric(0.2, 200)
    rows = [f"1\t{step * 2**-23 * 1e6:.6f}" for step in steps]
    measured = load_bytes("\n".join(["#size\trtt", *rows]).encode())
    assert "round trips are multiples of 238.4 ns" in measured.notes[1]
    with pytest.raises(FormatError, match="line 3: rtt must be a number from 0, got -1"):
        changed("netgauge_latency.out", b"1.490116", b"-1")


def test_netgauge_loggp():
    (table,) = sample("netgauge_loggp.out").parts
    assert isinstance(table, LogGPTable)
    np.testing.assert_array_equal(table.bytes, [1, 1025, 2049])
    np.testing.assert_allclose(table.latency, 2e-6, rtol=1e-12)
    assert np.isnan(table.gap[0])
    np.testing.assert_allclose(table.gap_per_byte[1:], [0.35e-9, 0.3e-9], rtol=1e-12)
    assert table == sample("netgauge_loggp.out").parts[0]
    assert table.facts()["gap"][0] is None
    assert "L 2 µs" in table.lines()[1]
    with pytest.raises(FormatError, match="line 5: sizes must rise"):
        changed("netgauge_loggp.out", b"1025 10", b"1 10")


@pytest.mark.parametrize("name", sorted(path.name for path in NOISE_SAMPLES.glob("*.*")))
def test_nothing_large_from_a_small_file(name):
    """A number in any place may be anything: no array may grow with it."""
    text = (NOISE_SAMPLES / name).read_bytes()
    for word in sorted(set(text.split())):
        for huge in (b"1000000000000000", b"4611686018427387903", b"1e400"):
            try:
                measured = load_bytes(text.replace(word, huge), name)
            except FormatError:
                continue
            for part in measured.parts:
                for value in vars(part).values():
                    assert np.size(value) <= len(text)


# Real files


@needs_real
def test_real_rtla_hist():
    measured = load(REAL / "rtla" / "osnoise_hist_f34_12cpu.txt", runtime=0.9)
    assert len(measured.parts) == 12
    assert measured.parts[0].total == 55215
    assert measured.parts[11].total == 54880
    assert {part.observed for part in measured.parts} == {54 * S}
    assert {int(width) for part in measured.parts for width in part.high - part.low} == {10 * US}
    assert "different numbers" not in " ".join(measured.notes)


@needs_real
def test_real_rtla_top():
    measured = load(REAL / "rtla" / "osnoise_top_f34_4cpu.txt")
    available = [1 - part.share for part in measured.parts]
    np.testing.assert_allclose(available, [0.9942580, 0.9936282, 0.9945227, 0.9961405], atol=1e-7)
    assert [part.longest // US for part in measured.parts] == [56, 24, 39, 33]


@needs_real
def test_real_osnoise_traces():
    measured = load(REAL / "rtla" / "osnoise_tracer_f32_8cpu.txt")
    assert [part.noise // US for part in measured.parts] == [
        *(190, 656, 5675, 125, 1721, 263, 109, 7816)
    ]
    path = REAL / "rtla" / "osnoise_tracepoints_sample.txt"
    (part,) = load(path).parts
    assert (part.cpu, part.durations.tolist()) == ("8", [8812 * NS])
    (part,) = load(path, events="sources").parts
    # The migration thread began 1.6 us after its interrupt had.
    assert part.durations.tolist() == [1845 * NS, 2848 * NS, 3068 * NS]


@needs_real
def test_real_cyclictest():
    measured = load(REAL / "cyclictest" / "civcode_cyclictest_h400_4cpu.txt")
    assert [part.total for part in measured.parts] == [11055136, 11055141, 11055141, 11055131]
    assert [int(part.low[part.counts > 0].max()) // US for part in measured.parts] == [
        *(27, 28, 21, 25)
    ]
    assert {part.what for part in measured.parts} == {"latency"}
    assert {int(part.high[-1]) for part in measured.parts} == {400 * US}


@needs_real
@pytest.mark.parametrize("ranks", [4, 8, 16, 32])
@pytest.mark.parametrize("machine", ["alps", "deep-est"])
def test_real_dissemination(machine, ranks):
    name = f"{machine}_2022_05_09_dissem16B_{ranks}ranks.csv"
    measured = load(REAL / "cloud_noise_collectives" / name)
    (part,) = measured.parts
    assert (part.bytes, part.ranks, part.times.shape) == (16, ranks, (1000, ranks))
    assert (len(measured.notes) == 2) == (machine == "deep-est")  # the clock of the one is coarse


@needs_real
def test_real_netgauge():
    latencies = load(REAL / "netgauge" / "daint_2022_03_30_netnoise_lat_first4000lines.out")
    assert len(latencies.parts[0].samples) == 3996
    assert "238.4 ns" in latencies.notes[1]
    (table,) = load(REAL / "netgauge" / "daint_2022_03_30_ng_loggp.out").parts
    assert len(table.bytes) == 128
    np.testing.assert_allclose(table.latency, 1.907e-6, rtol=1e-12)


def test_fwq_of_numbers_with_a_point():
    """Milliseconds of IBM's osnoise (extract_comp): what stands behind the point is not lost."""
    rows = [3.000010] * 40
    rows[7], rows[20] = 3.080010, 3.000013
    measured = load_bytes(
        "".join(f"{x:.6e}\n" for x in rows).encode(), "x", format="fwq", unit="ms"
    )
    (part,) = measured.parts
    assert part.durations.tolist() == [80 * 10**6, 3000]  # ticks: 80 us and 3 ns
    assert measured.source["quantum"] == "3 ms"
