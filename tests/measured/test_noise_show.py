"""Figures of measured noise (`noise show`)."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.commands import error_of
from support.measured_parts import histogram, trace
from support.noise_samples import REAL, needs_real
from support.paths import NOISE_SAMPLES
from support.scale import full_scale, some

pytest.importorskip("matplotlib")

from jitterfly.cli import main
from jitterfly.measured import (
    CollectiveTable,
    CpuNoise,
    Detours,
    Histogram,
    Latencies,
    LatencySummary,
    LogGPTable,
    Measured,
    PerRankSamples,
    load,
    noisefile,
)
from jitterfly.measured.description import describe
from jitterfly.plots.noise import draw_measured, figure_of_measured

PNG = b"\x89PNG"


def table(ranks, size):
    mean = 1e-6 * np.log2(2 + np.array(ranks)) * (1 + np.array(size) / 1000)
    return CollectiveTable("allreduce", np.array(ranks), np.array(size), mean, 0.9 * mean, 3 * mean)


def loggp(rows=4):
    ones = np.full(rows, 1e-6)
    return LogGPTable(2 ** np.arange(rows), ones, ones, ones, ones * np.nan, ones * np.nan)


PARTS = {
    "detours": [trace(3000)],
    "no detour": [Detours([], [], 10**12)],
    "one detour": [Detours([5], [7], 10**12)],
    "detours of one length": [Detours(np.arange(100) * 10**9, np.full(100, 10**6), 10**12)],
    "parts of different size": [trace(3000, cpu="0"), Detours([], [], 10**12), trace(40, 1.0)],
    "more parts than columns": [trace(100, 1.0, str(cpu)) for cpu in range(9)],
    "histogram": [histogram()],
    "histogram of nothing": [histogram(counts=(0, 0))],
    "histogram beyond its end": [histogram(overflow=7), histogram(counts=(0,), overflow=3)],
    "histogram far from 0": [histogram(low=1000, what="latency")],
    "many histograms": [histogram(str(cpu)) for cpu in range(40)],
    "single values": [Histogram([10**6, 5 * 10**7], [10**6 + 1, 5 * 10**7 + 1], [1, 2])],
    "by ranks": [table([2, 4, 8, 16, 2, 4], [8, 8, 8, 8, 16, 16])],
    "by bytes": [table([16] * 5, [0, 1, 2, 1024, 2**20])],
    "one row": [table([16], [8])],
    "several tables": [table([2, 4], [8, 8]), table([16, 16], [1, 8])],
    "samples per rank": [PerRankSamples("dissemination", 16, 3, np.full((50, 3), 1e-6))],
    "latencies": [Latencies(np.random.default_rng(2).exponential(1e-6, 500), 1)],
    "no latencies": [Latencies(np.array([]), 1)],
    "shares": [CpuNoise(10**12, 10**9, 10**6, 1, cpu=str(cpu)) for cpu in range(3)],
    "longest latencies": [LatencySummary(9, 10**6, 10**6, 10**8, cpu=str(cpu)) for cpu in "34"],
    "loggp": [loggp()],
    "loggp of one size": [loggp(1)],
}


@pytest.mark.parametrize(
    "name", [name if name in ("one detour", "loggp") else full_scale(name) for name in PARTS]
)
def test_everything_can_be_drawn(name, tmp_path):
    measured = Measured(tuple(PARTS[name]), "test", {"tool": "a tool", "machine": "$m_1$ 日本"})
    draw_measured(measured, tmp_path / "x.png", describe(measured))
    assert (tmp_path / "x.png").read_bytes()[:4] == PNG


UNTRUSTED = {"untrusted": "CPU 0: its buffer was full"}


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("histogram", {}),
        *(full_scale(name, {}) for name in ("detours", "latencies", "by ranks")),
        *((name, UNTRUSTED) for name in ("detours", "histogram", "latencies", "by ranks")),
    ],
)
def test_what_is_not_to_be_trusted_says_so_below_its_title(name, source):
    measured = Measured(tuple(PARTS[name]), "test", source)
    facts = describe(measured, periods=False)
    told = " ".join(figure_of_measured(measured, facts).texts[1].get_text().split())
    assert ("not to be trusted: CPU 0: its buffer was full; test" in told) == bool(source)


@pytest.mark.full_scale
@pytest.mark.parametrize(
    "sample", some(sorted(p.name for p in NOISE_SAMPLES.glob("*") if p.suffix != ".md"), 5)
)
def test_every_format(sample, tmp_path, capsys):
    out = tmp_path / "x.png"
    assert main(["noise", "show", str(NOISE_SAMPLES / sample), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert out.read_bytes()[:4] == PNG
    assert f"written: {out}" in text


def labels(axes):
    return [text.get_text() for text in axes.texts]


def drawn(parts, periods=False):
    measured = Measured(tuple(parts), "test")
    return figure_of_measured(measured, describe(measured, periods=periods))


@pytest.mark.full_scale
def test_tail_rests_on_so_many_events():
    part = trace(50_000, 100.0)
    figure = drawn([part], periods=True)
    timeline, lengths, powers = figure.axes
    counts = describe(Measured((part,), "test"))["parts"][0]["quantiles"]
    told = " ".join(labels(lengths))
    for quantile in counts:
        if quantile["q"] in (0.5, 0.99, 0.999):
            assert f": {quantile['events']:,} events" in told
    # The line: all of the tail, so that every single event is a step.
    x, y = lengths.lines[0].get_data()
    values = np.sort(part.durations / 1e12)
    np.testing.assert_allclose(x[-200:], values[-200:])
    np.testing.assert_array_equal(y[-200:], np.arange(200, 0, -1))
    assert y[0] == 50_000
    assert labels(powers) == ["500.5 Hz (2 ms): 100.0%"]
    assert timeline.get_xlim() == (-1, 101)  # a hundredth more, so that no mark is cut in half


def test_equally_long_detours_are_no_cluster():
    """Of many: those that are longer than all others are points, and no choice of the others."""
    starts = np.arange(20_000) * 4 * 10**9
    lengths = np.full(20_000, 3 * 10**6)
    lengths[::1000] = 2 * 10**8
    part = Detours(starts, lengths, 20_000 * 4 * 10**9)
    (points,) = drawn([part]).axes[0].lines
    assert points.get_xdata().tolist() == [4.0 * k for k in range(20)]


def test_counts_of_a_histogram():
    """The line is the number of events at least as long, at each edge."""
    figure = drawn([histogram(counts=(5, 100, 30, 0, 1), overflow=2)])
    (axes,) = figure.axes
    x, y = axes.lines[0].get_data()
    at = {round(edge * 1e6): level for edge, level in zip(x[1:], y[1:], strict=True)}
    assert at == {0: 138, 1: 133, 2: 33, 3: 3, 4: 3, 5: 2}
    assert "2 beyond" in labels(axes)


def test_points_are_within_common_limits():
    figure = drawn([trace(300, seed=1), trace(3000, seed=2)])
    for axes, column in zip(figure.axes[:2], (1, 2), strict=True):
        part = trace((0, 300, 3000)[column], seed=column)
        low, high = axes.get_ylim()
        assert low < part.durations.min() / 1e12
        assert high > part.durations.max() / 1e12


def test_labels_of_a_common_axis_are_of_its_range():
    """A quiet CPU as the last panel: ticks of 2 to 8 us would be 25 from 2 us to 9 ms."""
    starts = np.arange(200) * 10**10
    lengths = np.linspace(2e6, 8e6, 200).astype(np.int64)
    long = np.where(starts == 10**12, 9 * 10**9, lengths)
    figure = drawn([Detours(starts, one, 2 * 10**12) for one in (long, lengths)])
    for axes in figure.axes[:2]:
        low, high = axes.get_ylim()
        assert 3 <= sum(low <= tick <= high for tick in axes.get_yticks()) <= 6


@pytest.mark.slow
@pytest.mark.full_scale
def test_a_million_is_drawn_as_fast(tmp_path):
    """Cells and the longest, not a million points: the picture stays small."""
    part = trace(1_000_000, 1000.0)
    measured = Measured((part,), "test")
    facts = {"parts": [{"quantiles": [], "periods": []}]}
    draw_measured(measured, tmp_path / "x.svg", facts)
    assert (tmp_path / "x.svg").stat().st_size < 2_000_000
    figure = figure_of_measured(measured, facts)
    assert max(len(line.get_xdata()) for axes in figure.axes for line in axes.lines) < 5000


@pytest.mark.full_scale
def test_the_same_picture_is_the_same_file(tmp_path):
    measured = Measured((trace(500),), "test")
    for name in ("a.svg", "b.svg"):
        draw_measured(measured, tmp_path / name, describe(measured))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noisefile.write(Measured((trace(300, cpu="0"), trace(50, cpu="3")), "test"), "x.noise")


def test_command(file, capsys):
    assert main(["noise", "show", "x.noise"]) == 0
    text = capsys.readouterr().out
    assert "CPU 0: 300 detours" in text
    assert "CPU 3: 50 detours" in text
    assert "written: x.png" in text
    assert Path("x.png").read_bytes()[:4] == PNG


def test_several_files_are_a_table(file, capsys):
    noisefile.write(Measured((Detours([], [], 10**12),), "test"), "quiet.noise")
    noisefile.write(Measured((histogram(counts=(5, 100, 30), overflow=2),), "test"), "h.noise")
    assert main(["noise", "show", "x.noise", "quiet.noise", "h.noise"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    first, other, quiet, binned = (row for row in rows if row and row[0].endswith(".noise"))
    assert (first[:3], other[:3]) == (["x.noise", "0", "300"], ["x.noise", "3", "50"])
    assert quiet == ["quiet.noise", "0", "0", "0", "0", "?", "?", "?", "?"]
    assert binned[2] == "137"
    assert not Path("x.png").exists()
    assert main(["noise", "show", "x.noise", "quiet.noise", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert [one["file"] for one in files] == ["x.noise", "quiet.noise"]
    assert [part["count"] for one in files for part in one["parts"]] == [300, 50, 0]
    words = error_of(capsys, "noise", "show", "x.noise", "quiet.noise", "--out", "x.png")
    assert "--out: of 2 files there is a table and no picture" in words


def test_a_file_that_needs_a_clock(file, capsys):
    Path("b.dat").write_text("".join(f"{900 + k % 3}\n" for k in range(50)))
    assert "give --clock-hz" in error_of(capsys, "noise", "show", "b.dat", "--format", "fwq")
    assert main(["noise", "show", "b.dat", "--format", "fwq", "--clock-hz", "2GHz"]) == 0
    assert Path("b.png").read_bytes().startswith(PNG)


@pytest.mark.full_scale
def test_one_cpu_as_pdf(file, capsys):
    assert main(["noise", "show", "x.noise", "--cpu", "3", "--out", "y.pdf"]) == 0
    assert "CPU 0:" not in capsys.readouterr().out
    assert Path("y.pdf").read_bytes()[:4] == b"%PDF"


BAD = {
    ("none.noise",): "none.noise: No such file",
    ("x.noise", "--out", "x.doc"): "a picture's name must end in .png, .pdf or .svg",
    ("x.noise", "--out", "no/x.png"): "the directory no does not exist",
    ("x.noise", "--cpu", "7"): "cpu must be of those that the file names (0,3), such",
    ("x.noise", "--format", "selfish"): "format must be one of",
    (): "required: FILE",
}


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_errors(arguments, file, capsys):
    assert BAD[arguments] in error_of(capsys, "noise", "show", *arguments)
    assert sorted(path.name for path in Path().iterdir()) == ["x.noise"]


@pytest.mark.slow
@needs_real
def test_real_files(tmp_path):
    """Periods that are known of these systems: ticks of 250 and 1000 Hz, and 100 Hz of a VM."""
    known = {
        # Its long detours, a quarter of the time, come at multiples of 32 ms, once in 20 of these.
        "netgauge/alps_2022_07_14_selfish.out": [[250, 31]],
        "netgauge/azure_hc44rs_2022_03_18_selfish_2segments.out": [[1000, 100, 10]] * 2,
        "netgauge/daint_2022_03_30_selfish.out": [[125]],  # every other tick is longer
        "virtual-machine/vm_selfish.out": [[250, 100]],
    }
    for name, frequencies in known.items():
        measured = load(REAL / name)
        facts = describe(measured)
        found = [[round(p["frequency"]) for p in part["periods"]] for part in facts["parts"]]
        assert found == frequencies, name
        draw_measured(measured, tmp_path / "x.png", facts)
    for path in sorted(REAL.glob("*/*")):
        measured = load(path)
        draw_measured(measured, tmp_path / "x.png", describe(measured, periods=False))


def test_few_events_are_seen_and_empty_panels_have_no_numbers():
    """An event at the start of the recording is within the axes, not on their edge."""
    part = Detours([0, 10**12], [10**8, 10**8], 10**13)
    measured = Measured((part,), "test")
    figure = figure_of_measured(measured, describe(measured))
    timeline, _, power = figure.axes
    left, right = timeline.get_xlim()
    assert left < 0
    assert right > 10
    assert not any(tick.label1.get_visible() for tick in power.xaxis.get_major_ticks())
    assert not any(tick.label1.get_visible() for tick in power.yaxis.get_major_ticks())
