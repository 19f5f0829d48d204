"""LogGP parameters from ping-pong and Netgauge output: known ones in, the same out."""

import numpy as np
import pytest
from support.commands import error_of
from support.noise_samples import REAL, load_bytes, needs_real
from support.paths import NOISE_SAMPLES

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.measured import FormatError
from jitterfly.measured.formats import OtherTool
from jitterfly.measured.network_parameters import read_parameters
from jitterfly.syntax import read_pairs

SIZES = 2 ** np.arange(0, 21, 2)

OSU = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0                 1.10\n"
OSU_7 = (
    "# OSU MPI Latency Test v7.3\n# Datatype: MPI_CHAR.\n"
    "# Size       Avg Latency(us)\n"
)  # fmt: skip
IMB = (
    "# Benchmarking PingPong\n# #processes = 2\n#----------\n"
    "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
    "            0         1000         1.03         0.00\n"
)


def pingpong(head, between="    "):
    """1.4 µs, and 0.25 ns for each further byte."""
    times = [f"{1.4 + 0.25e-3 * (n - 1):.6f}" for n in SIZES]
    middle = f"{between}1000" if head is IMB else ""
    end = f"{between}9.99" if head is IMB else ""
    rows = [f"{n}{middle}{between}{t}{end}" for n, t in zip(SIZES, times, strict=True)]
    return head + "\n".join(rows) + "\n\n# what follows\n"


def loggp(o_s=0.2, o_r=0.4, half=1.8):
    """g = 0.7 µs, G = 0.1 ns."""
    rows = ["# size n PRTT(1,0,s) PRTT(n,0,s) PRTT(n,PRTT(1,0,s),s) L o_s o_r g G lsqu(g,G)"]
    for i, n in enumerate([1, 1025, 2049]):
        fit = "0.700000 0.000100 0.01" if i else "-nan -nan -nan"
        rows.append(f"{n} 10 {2 * half} 16 49 {half} {o_s} {o_r} {fit}")
    return "\n".join(rows) + "\n"


def written(tmp_path, text):
    path = tmp_path / "x.out"
    path.write_text(text)
    return path


@pytest.mark.parametrize("head", [OSU, OSU_7, IMB], ids=["osu 5", "osu 7", "imb"])
def test_a_pingpong(head, tmp_path):
    found = read_parameters(written(tmp_path, pingpong(head)))
    assert found.L + 2 * found.o == pytest.approx(1.4e-6)
    assert pytest.approx(0.25e-9, rel=1e-3) == found.G
    assert (found.o, found.g) == (0, 0)
    notes = "\n".join(found.notes)
    for unknown in ("o is not determined", "g is not determined"):
        assert unknown in notes
    with_o = read_parameters(written(tmp_path, pingpong(head)), overhead="300ns")
    assert (with_o.L, with_o.o) == (pytest.approx(0.8e-6), pytest.approx(0.3e-6))
    assert "o is not determined" not in "\n".join(with_o.notes)


def test_latencies_of_gpu_memory_are_those_of_a_pingpong(tmp_path):
    found = read_parameters(written(tmp_path, pingpong(OSU.replace("MPI", "MPI-CUDA"))))
    assert pytest.approx(1.4e-6) == found.L


@pytest.mark.parametrize("test", ["MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Bcast"])
def test_latencies_of_other_tests_are_not_those_of_a_pingpong(test, tmp_path):
    """One-sided ones hold a flush, and those of collectives many messages."""
    with pytest.raises(ValueError, match=r"x\.out"):
        read_parameters(written(tmp_path, pingpong(OSU.replace("MPI", test))))


def test_netgauge(tmp_path):
    found = read_parameters(written(tmp_path, loggp()))
    assert (found.L, found.o) == (pytest.approx(1.2e-6), pytest.approx(0.3e-6))
    assert (found.g, found.G) == (pytest.approx(0.7e-6), pytest.approx(0.1e-9))


def test_netgauge_where_overheads_overlap_with_the_way():
    """As on every fast network: o_s + o_r = 2.5 µs, half a round trip is 2 µs."""
    found = read_parameters(NOISE_SAMPLES / "netgauge_loggp.out")
    assert found.L + 2 * found.o == pytest.approx(2e-6)
    assert "not determined one by one" in found.notes[0]


def test_the_time_of_a_message_is_what_was_measured(tmp_path):
    """The line, pasted: one message of 4 KiB takes as long as in the file."""
    found = read_parameters(written(tmp_path, pingpong(OSU)), overhead="200ns")
    network = jf.LogGOPS(**read_pairs(found.line, "--network"))
    costs = network.costs(4096)
    measured = 1.4e-6 + 0.25e-9 * 4095
    assert (costs.send + costs.transit + costs.receive) * 1e-12 == pytest.approx(measured, 1e-3)


def times_of(found, sizes):
    network = jf.LogGOPS(**read_pairs(found.line.replace("?", "0s"), "--network"))
    costs = [network.costs(int(n)) for n in sizes]
    return [(one.send + one.transit + one.receive) * 1e-12 for one in costs]


@pytest.mark.parametrize("head", [OSU, IMB], ids=["osu", "imb"])
def test_a_file_that_begins_with_long_messages(head, tmp_path):
    """`osu_latency -m 65536:...`, `-msglen`: the network takes as long as was measured."""
    least, between = 2**16, "   1000   " if head is IMB else "   "
    sizes = [2**k for k in range(16, 20)]
    times = [3.45 + 1e-4 * (n - 1) for n in sizes]
    rows = [f"{n}{between}{t:.6f}" for n, t in zip(sizes, times, strict=True)]
    found = read_parameters(written(tmp_path, head + "\n".join(rows) + "\n"))
    assert pytest.approx(3.45e-6, rel=1e-3) == found.L
    assert times_of(found, sizes) == pytest.approx([t * 1e-6 for t in times], rel=1e-3)
    assert not any("protocols change" in note for note in found.notes)
    # Longer than in a line with one byte: no latency is left, which is said.
    steep = f"{least}{between}10\n{2 * least}{between}30\n"
    found = read_parameters(written(tmp_path, head + steep))
    assert found.L == 0
    notes = "\n".join(found.notes)
    assert "G alone takes longer than the 10 µs of a message of 65,536 bytes" in notes
    assert "off at" in notes


def test_netgauge_that_begins_with_long_messages(tmp_path):
    """Half a round trip of 1.8 µs at 1025 bytes holds 1024 G, 0.1024 µs."""
    text = loggp()
    text = text.replace("\n2049", "\n4097").replace("\n1025", "\n2049").replace("\n1 ", "\n1025 ")
    found = read_parameters(written(tmp_path, text))
    assert times_of(found, [1025]) == pytest.approx([1.8e-6])
    assert (found.o, found.L) == (pytest.approx(0.3e-6), pytest.approx(1.0976e-6))


def test_the_largest_message_decides(tmp_path):
    """Above 1 KiB another protocol: 2 µs more, and no more time a byte."""
    text = OSU + "".join(f"{n} {1 + n * 1e-3 if n <= 1024 else 4:.4f}\n" for n in SIZES)
    small = read_parameters(written(tmp_path, text), most_bytes=1024)
    assert pytest.approx(1e-9, rel=0.01) == small.G
    assert not any("protocols change" in note for note in small.notes)
    whole = read_parameters(written(tmp_path, text))
    assert any("protocols change" in note for note in whole.notes)
    one = read_parameters(written(tmp_path, text), most_bytes=1)
    assert any("G is not determined" in note for note in one.notes)


def test_the_smallest_message_decides(tmp_path):
    """From 16 KiB on another protocol, 3 µs more: of a line over all sizes G is too large."""
    rows = [f"{n} {1.4 + 129e-6 * n + 3 * (n >= 2**14):.4f}" for n in 2 ** np.arange(23)]
    path = written(tmp_path, OSU_7 + "\n".join(rows) + "\n")
    whole = read_parameters(path)
    assert whole.G > 140e-12
    assert any("% off at 16,384 bytes" in note for note in whole.notes)
    assert any("last two sizes differ by 129 ps a byte" in note for note in whole.notes)
    long = read_parameters(path, least_bytes=2**14)
    assert pytest.approx(129e-12, rel=1e-3) == long.G
    assert pytest.approx(4.4e-6, rel=1e-3) == long.L
    assert not any("protocols change" in note for note in long.notes)
    with pytest.raises(ValueError, match="must be left out"):
        read_parameters(written(tmp_path, loggp()), least_bytes=8)


def test_fits_that_differ_are_said(tmp_path):
    text = loggp() + "4097 10 4 16 49 1.8 0.2 0.4 1.400000 0.000300 0.01\n"
    found = read_parameters(written(tmp_path, text))
    assert found.g == pytest.approx(1.4e-6)
    assert any("g is 700 ns up to 1,025 bytes and 1.4 µs up to 4,097" in n for n in found.notes)
    assert read_parameters(written(tmp_path, text), most_bytes=2049).g == pytest.approx(0.7e-6)
    assert read_parameters(written(tmp_path, text), most_bytes=1).g == 0


def test_the_command(tmp_path, capsys):
    path = written(tmp_path, pingpong(OSU))
    assert main(["network", "parameters", str(path), "--overhead=200ns", "--bytes=64KiB"]) == 0
    out, notes = capsys.readouterr()
    option, line = out.split()  # all of standard output, for $(...)
    assert option == "--network"
    assert notes.startswith("note: a ping-pong determines L + 2 o")
    assert main(["trace", "--ranks=4", "--network", line, "--out", str(tmp_path / "x.svg")]) == 0


OSU_TAILS = (
    "# OSU MPI Latency Test v7.3\n# Datatype: MPI_CHAR.\n"
    "# Size       Avg Latency(us)     P50 Tail Lat(us)     P90 Tail Lat(us)\n"
)


def test_a_quantile_in_place_of_the_mean(tmp_path, capsys):
    """Which noise of the machine has made longer: here one message in ten, by 90 us."""
    rows = [(n, 1.4 + 0.25e-3 * (n - 1)) for n in SIZES.tolist()]
    osu = [f"{n} {t + 9:.6f} {t:.6f} {t + 90:.6f}" for n, t in rows]
    single = ["#size rtt", *(f"{n} {t + late:.9f}" for n, t in rows for late in [0] * 9 + [90])]
    for name, text in (("osu", OSU_TAILS + "\n".join(osu)), ("one", "\n".join(single))):
        path = tmp_path / f"{name}.out"
        path.write_text(text + "\n")
        for quantile, late in ((None, 9e-6), (0.5, 0), (0.9, 90e-6 if name == "osu" else 0)):
            found = read_parameters(path, quantile=quantile)
            assert pytest.approx(1.4e-6 + late, rel=1e-6) == found.L + 2 * found.o
            assert pytest.approx(0.25e-9, rel=1e-2) == found.G
            notes = " ".join(found.notes)
            assert ("it counts twice. `quantile` = 0.5 takes" in notes) == (quantile is None)
            told = f"those that {quantile} of the messages do not exceed"
            assert (told in notes) == (quantile is not None)
    assert pytest.approx(91.4e-6, rel=1e-6) == read_parameters(path, quantile=0.95).L
    with pytest.raises(ValueError, match=r"quantile must be one of 0.5, 0.9 in .*, got 0.95"):
        read_parameters(tmp_path / "osu.out", quantile=0.95)
    assert main(["network", "parameters", str(path), "--quantile=0.5", "--overhead=200ns"]) == 0
    assert capsys.readouterr().out.split()[1].startswith("L=1us,o=200ns,")
    assert main(["network", "parameters", str(path)]) == 0
    assert "--quantile 0.5 takes what noise seldom reaches" in capsys.readouterr().err


def test_measured_messages_beside_a_recording_are_said_to_count_noise_twice():
    recording = jf.TraceNoise(starts=[0.001], durations=[1e-4], length="1s")
    late = jf.MessageNoise(jf.Empirical(samples=["1us", "90us"]))
    case = jf.Case(8, network=jf.LogGOPS(L="1us", o="1us"), noise=[recording, late])
    told = "noise.1 (message) has measured times, and a recording is simulated as well"
    assert any(text.startswith(told) for text in case.doubts())
    for noise in ([recording], [late], [recording, jf.MessageNoise(jf.Exponential("1us"))]):
        doubts = jf.Case(8, network=case.network, noise=noise).doubts()
        assert not any("counts twice" in text for text in doubts)


def test_an_overhead_that_nobody_measured_is_left_open(tmp_path, capsys):
    """With o = 0 noise of the CPU would hit nothing."""
    path = written(tmp_path, pingpong(OSU))
    assert main(["network", "parameters", str(path)]) == 0
    out, notes = capsys.readouterr()
    assert ",o=?," in out
    assert "--overhead" in notes
    line = out.split()[1]
    noise = "--noise=period=1ms,duration=10us"
    assert "o must be a time" in error_of(capsys, "advise", "--ranks=8", noise, "--network", line)


BAD = {
    "nothing of the kind": ("1 2\n3 4\n", [], "has no known parameters of a network"),
    "no row": (OSU_7, [], "has no row of a size and its latency"),
    "no size": (OSU, [], "no time of a message of 1 byte or more"),
    "a word": (OSU_7 + "8 fast\n", [], "line 4: time in us must be a number"),
    "a column less": (OSU_7 + "8\n", [], "line 4: time in us must be a number"),
    "below 0": (OSU_7 + "8 -1\n", [], "line 4: time in us must be a number from 0"),
    "a size twice": (
        OSU_7 + "8 1.1\n64 1.2\n64 1.3\n",
        [],
        "line 6: a second time of a message of 64",
    ),
    "no time": (OSU_7 + "8 0.0\n", [], "a message that took no time"),
    "imb": ("# Benchmarking PingPong\n", [], "has no row of PingPong"),
    "none as large": (pingpong(OSU), ["--from-bytes=1GiB"], "of 1,073,741,824 bytes or more"),
    "no sizes": (pingpong(OSU), ["--from-bytes=9", "--bytes=8"], "--from-bytes must be at most"),
    "too small": (pingpong(OSU), ["--bytes=0"], "--bytes must be from 1"),
    "too much": (pingpong(OSU), ["--overhead=1us"], "at most half of the 1.4 µs"),
    "known": (loggp(), ["--overhead=1us"], "has the overhead o"),
    "no quantile": (pingpong(OSU), ["--quantile=0.5"], "--quantile must be left out for"),
    "no single times": (loggp(), ["--quantile=0.5"], "--quantile must be left out for"),
    "no share": (pingpong(OSU), ["--quantile=50"], "--quantile must be above 0 and below 1"),
    "none as small": (loggp().replace("\n1 10", "\n9 10"), ["--bytes=8"], "at most 8 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(name, tmp_path, capsys):
    text, options, message = BAD[name]
    path = written(tmp_path, text)
    assert message in error_of(capsys, "network", "parameters", path, *options)


@needs_real
def test_piz_daint():
    found = read_parameters(REAL / "netgauge/daint_2022_03_30_ng_loggp.out", most_bytes=8192)
    assert found.L + 2 * found.o == pytest.approx(1.907e-6)
    assert found.g == pytest.approx(1.454495e-6)
    assert pytest.approx(0.282e-9) == found.G


PERFTEST = """
---------------------------------------------------------------------------------------
                    RDMA_Write Latency Test
 Dual-port       : OFF		Device         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          0.98           9.90         1.000             1.10             0.05            1.60                    9.90
 1002    1000          1.08           9.00         1.100             1.20             0.05            1.70                    9.00
 2002    1000          1.18           8.00         1.200             1.30             0.05            1.80                    8.00
---------------------------------------------------------------------------------------
"""  # noqa: E501
FI = """bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      10      =10      1.2k        0.00s     30.00       2.00       0.50
1k      10      =10      20k         0.00s    300.00       2.96       0.33
1.5k    10      =10      30k         0.00s    400.00       3.472      0.28
"""
UCX_HEAD = """+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |       latency (usec)         |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
"""  # noqa: E501


def ucx(size, overall, test="tag_lat", command=True):
    final = f"Final:                100000      1.000     9.000 {overall:9.3f}       10.00"
    final += "      10.00      500000      500000\n"
    line = f"ucx_perftest n2 -t {test}{'' if size == 8 else f' -s {size}'} -n 100000\n"
    middle = final.replace("Final:    ", "[thread 0]").replace("100000 ", " 50000 ")
    return (line if command else "") + UCX_HEAD + middle.replace("9.000", "8.000") + final


def parameters(tmp_path, text, **options):
    path = tmp_path / "log.txt"
    path.write_text(text)
    return read_parameters(path, **options)


def test_perftest(tmp_path):
    found = parameters(tmp_path, PERFTEST, overhead="200ns")
    # 1 us at 2 bytes, and 0.1 ns a byte more.
    assert found.line == "L=599.9ns,o=200ns,g=0s,G=100ps"
    assert "times are the median that perftest prints (t_typical)" in found.notes
    columns = "t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
    timed = PERFTEST.replace(columns, "t_avg[usec]    tps average")
    mean = parameters(tmp_path, timed)
    assert abs(mean.L - 979.9e-9) < 1e-10
    twice = parameters(tmp_path, PERFTEST.replace("1.000", "7.000") + PERFTEST, overhead="200ns")
    assert twice.line == found.line
    assert "the last of 2 tables, in line 16" in twice.notes
    labelled = "".join(f"0: {line}\n" for line in PERFTEST.splitlines())
    assert parameters(tmp_path, labelled, overhead="200ns").line == found.line


def test_fi_pingpong(tmp_path):
    found = parameters(tmp_path, FI, overhead="500ns")
    assert found.line == "L=937ns,o=500ns,g=0s,G=1ns"  # 2 us at 64 bytes
    both = "Server Log:\n" + FI.replace("2.00 ", "9.00 ") + "Client Log:\n" + FI
    assert parameters(tmp_path, both, overhead="500ns").line == found.line


def test_ucx_perftest(tmp_path):
    log = ucx(8, 1.008) + ucx(1008, 2.008) + ucx(4096, 99.0, "tag_bw")
    found = parameters(tmp_path, log, overhead="100ns")
    assert found.line == "L=801ns,o=100ns,g=0s,G=1ns"
    assert "left out, other tests: tag_bw (line 24)" in found.notes
    # What the server prints, of one size.
    server = "| Test:         tag match latency                          |\n"
    server += "| Message size: 8                                          |\n"
    found = parameters(tmp_path, server + ucx(8, 1.008, command=False))
    assert "G is not determined by messages of one size" in found.notes


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (PERFTEST.replace("RDMA_Write", "RDMA_Read"), "line 6: has latencies of RDMA_Read, which"),
        (PERFTEST[: PERFTEST.index("             1.30")], "line 9: must have 5 columns or more"),
        (PERFTEST[: PERFTEST.index(" 2   ")], "has no row of a size and its latency"),
        (PERFTEST.replace("1.000 ", "0.000 "), "a message that took no time"),
        (FI.replace("=10", "8", 1), "line 2: sent 10 messages and got 8 back"),
        (FI[:-20], "line 4: must have 8 columns, got 6"),
        (FI.replace("1.5k", "1k  "), "line 4: a second time of a message of 1,024 bytes"),
        (ucx(8, 1.0, command=False), "line 7: does not state the test: put the command above"),
        (ucx(8, 1.0, "tag_bw"), "has no latency test, only tag_bw"),
        (ucx(8, 1.0).replace("-t tag_lat", ""), "line 8: does not state the test"),
        (ucx("16,48", 1.0), "size must be a number, got '16,48'"),
        ("ucx_perftest n2 -t tag_lat\n" + UCX_HEAD, "has no row of a size and its latency"),
        (" #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]\n 2  1000  1.0  1.0\n",
         "is the output of perftest"),
    ],
)  # fmt: skip
def test_pingpongs_that_are_wrong(text, match, tmp_path):
    with pytest.raises(FormatError, match=match):
        parameters(tmp_path, text)


@pytest.mark.parametrize("text", [PERFTEST, FI, ucx(8, 1.0)])
def test_pingpongs_are_no_noise(text):
    with pytest.raises(OtherTool, match=r"`jitterfly network parameters .*` makes a network of"):
        load_bytes(text.encode())
