"""A table of larger machines predicted from smaller ones: what was measured, and what comes out.

`predict_runs` takes a folder of measured allreduces, each with the time of every iteration, in the
form of PICO (https://github.com/HLC-Lab/pico): `MACHINE_RANKSranks_BYTESB_ALGORITHM_LIBRARY.txt`
or `.txt.gz`, one integer a line, nanoseconds. Of each run, the first iterations that are warm-up
(`Series.warm_up`, which `predict` names) are left out everywhere. Each run predicts the run on the
next larger number of ranks, which the prediction has not seen but for its base time. `choose`
chooses an algorithm for each size there, and says what that costs. `predict_from_recordings`
predicts a run from what one node recorded: files as Netgauge writes them, `MACHINE_noise.out` and
`MACHINE_loggp.out`, and runs `MACHINE_RANKSranks_BYTESB_dissemination_LIBRARY.csv` with the own
time of each rank. The rows go to CSV files, from which the tables of
docs/guides/measured_machines.md are made.

    python -m jitterfly_papers.machines FOLDER [TABLE.csv [PICTURE.png]]
    python -m jitterfly_papers.machines TABLE.csv [PICTURE.png]
"""

from __future__ import annotations

import csv
import functools
import gzip
import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.stats import ks_2samp

import jitterfly as jf
from jitterfly.measured import PerRankSamples, load
from jitterfly.measured.infer import Hits, split_base
from jitterfly.measured.network_parameters import read_parameters
from jitterfly.predict import NEAR
from jitterfly.stats.measured_times import Series
from jitterfly.units import from_ticks, show_size
from jitterfly.unseen_noise import RecordedNoise

_NAME = re.compile(
    r"(?P<machine>[a-z][a-z0-9-]*)_(?P<ranks>\d+)ranks_(?P<bytes>\d+)B_(?P<algorithm>\w+?)"
    r"_(?P<by>[a-z]+)\.(?:txt(?:\.gz)?|csv)"
)
ALGORITHMS = {
    "recursive_doubling": jf.RecursiveDoublingAllreduce(),
    "rabenseifner": jf.RabenseifnerAllreduce(),
    "ring": jf.RingAllreduce(),
}
# Dissemination is timed, and nothing that a library would choose beside them.
_PATTERNS = {**ALGORITHMS, "dissemination": jf.DisseminationBarrier()}
_NOISE, _LOGGP = "_noise.out", "_loggp.out"  # what Netgauge's noise and loggp print of a machine
NUMBERS = ("mean", "p50", "p90", "p99", "p99.9")
_DEFAULT = "default"  # the library's own choice
QUANTILE = "quantile "
_NAMES = {"lumi": "LUMI", "deep-est": "DEEP-EST"}  # of machines not written like Leonardo
RECORDED = "recording"
"""Who "wrote" the algorithm of a row that a recording of one node predicts."""
_SHORT = 1025  # bytes: the ping-pong of short messages, of which g and G count for nothing here
_LONGEST_OWN = -3  # column of own times: the longest, the shortest, the mean
_REALIZATIONS = 20_000
_EACH = 0.95  # confidence of an interval
# The notes of a prediction that question it before anything was measured there.
_IN_WORDS = {
    "bad_algorithm": "the algorithm is a poor one there",
    "base_not_determined": "most iterations are hit",
    "bursts": "bursts",
    "few_hits": "few hits",
    "short_recording": "a short recording",
    "wide_base": "a wide base",
}
_DOUBTS = set(_IN_WORDS)
_LEVELS = tuple(np.round([0.01, 0.05, *np.arange(0.1, 0.91, 0.1), 0.95, 0.99, 0.995, 0.999], 4))


class Measured(NamedTuple):
    """The file of a run, and what its name says: `by` is who wrote the algorithm."""

    file: Path
    machine: str
    ranks: int
    message_bytes: int
    algorithm: str
    by: str

    def times(self) -> npt.NDArray[np.float64]:
        """Read the times of the iterations after the warm-up, seconds; of all ranks the longest.

        Raises
        ------
        ValueError
            The file does not hold two or more numbers, one in each line.
        """
        times, warm_up = _read_run(self)
        return times[warm_up:]

    def warm_up(self) -> int:
        """Read how many iterations `times` leaves out."""
        return _read_run(self)[1]

    def with_warm_up(self) -> npt.NDArray[np.float64]:
        """Read the times of all iterations, as `times`."""
        if self.file.suffix != ".csv":
            return _times(self.file)
        content = load(self.file).parts[0]
        if not isinstance(content, PerRankSamples) or len(content.times) < 2:
            raise ValueError(f"{self.file}: must hold two or more times of each rank")
        if (content.ranks, content.bytes) != (self.ranks, self.message_bytes):
            raise ValueError(
                f"{self.file}: holds {content.bytes} bytes on {content.ranks} ranks, which its "
                "name does not say"
            )
        return np.asarray(content.times.max(axis=1))


@functools.cache
def _read_run(run: Measured) -> tuple[npt.NDArray[np.float64], int]:
    """Read the times of a run, and how many are its warm-up: once, and then they are kept."""
    times = run.with_warm_up()
    return times, Series(times).warm_up


class Row(NamedTuple):
    """A number of a run, measured and predicted from the run on fewer ranks.

    Attributes
    ----------
    machine, algorithm, by : str
        `by` is `RECORDED` where one node's recording predicts, on 1 rank.
    message_bytes, ranks, to : int
    iterations : int
        Measured on `ranks` ranks, of a recording on `to`; with the warm-up.
    warm_up, warm_up_there : int
        First iterations that were left out, on `ranks` and on `to` ranks.
    what : str
        "mean", "p50" to "p99.9"; or "quantile 0.01" and so on, which have no intervals.
    measured, measured_low, measured_high : float
        Seconds, of the run on `to` ranks.
    predicted, predicted_low, predicted_high : float
        Seconds, from the run on `ranks` ranks and the base time of the other.
    verdict : str
        Whether both intervals leave each other out.
    distance : float
        Kolmogorov and Smirnov's distance of the two distributions.
    correlation : float
        Of the hits of neighbouring iterations of the run on `ranks` ranks; of a recording, on `to`.
    base_ratio : float
        The median on `to` ranks as the network alone predicts it, over the measured one; of a
        recording the base time as the ping-pong predicts it.
    warnings : str
        The codes of the notes that question the prediction beforehand.
    """

    machine: str
    algorithm: str
    by: str
    message_bytes: int
    ranks: int
    to: int
    iterations: int
    warm_up: int
    warm_up_there: int
    what: str
    measured: float
    measured_low: float
    measured_high: float
    predicted: float
    predicted_low: float
    predicted_high: float
    verdict: str
    distance: float
    correlation: float
    base_ratio: float
    warnings: str

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        return self.predicted / self.measured

    @property
    def near(self) -> bool:
        """Return whether the number is as near to the measured one as is asked (`NEAR`)."""
        return abs(self.ratio - 1) <= NEAR[self.what]

    @property
    def may_be_near(self) -> bool:
        """Return whether some number within the measured one's interval is as near."""
        most = NEAR[self.what]
        return (
            self.predicted >= (1 - most) * self.measured_low
            and self.predicted <= (1 + most) * self.measured_high
        )

    @property
    def told(self) -> bool:
        """Return whether its own interval is as narrow as that, which is known beforehand."""
        ends = self.predicted - self.predicted_low, self.predicted_high - self.predicted
        return max(ends) <= NEAR.get(self.what, np.inf) * self.predicted


def _times(file: Path) -> npt.NDArray[np.float64]:
    try:
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            times = np.array([float(line) for line in lines if line.strip()])
    except (ValueError, OSError) as error:
        raise ValueError(f"{file}: {error}") from error
    if len(times) < 2 or not np.all(times > 0):
        raise ValueError(f"{file}: must hold two or more times above 0, one in each line")
    return times * 1e-9


def find_runs(folder: Path) -> list[Measured]:
    """Find the runs in a folder, by their names; the library's own choice is among them.

    Raises
    ------
    ValueError
        The folder has none, or the same run twice.
    """
    found: dict[tuple[Any, ...], Measured] = {}
    left_out = []
    for file in sorted(folder.iterdir()):
        name = _NAME.fullmatch(file.name)
        if name and name["algorithm"] in (*_PATTERNS, _DEFAULT):
            ranks, size = int(name["ranks"]), int(name["bytes"])
            run = Measured(file, name["machine"], ranks, size, name["algorithm"], name["by"])
            if run[1:] in found:
                raise ValueError(f"{file} and {found[run[1:]].file.name} are the same run")
            found[run[1:]] = run
        elif not file.name.endswith((_NOISE, _LOGGP)):
            left_out.append(file.name)
    if not any(run.algorithm in _PATTERNS for run in found.values()):
        raise ValueError(
            f"{folder} has no file like MACHINE_16ranks_32B_ring_ompi.txt.gz, of one of the "
            f"algorithms {', '.join(_PATTERNS)}"
        )
    if left_out:
        shown = ", ".join(left_out[:3]) + (", ..." if len(left_out) > 3 else "")
        print(f"{len(left_out)} files are no such runs and left out: {shown}", file=sys.stderr)
    return list(found.values())


def pairs(runs: Iterable[Measured]) -> Iterator[tuple[Measured, Measured]]:
    """Pair each run with the one on the next larger number of ranks, all else being the same."""

    def kind(run: Measured) -> tuple[str, str, str, int]:
        return run.machine, run.algorithm, run.by, run.message_bytes

    runs = [run for run in runs if run.algorithm in _PATTERNS]
    for _, group in itertools.groupby(sorted(runs, key=lambda r: (kind(r), r.ranks)), key=kind):
        yield from itertools.pairwise(group)


def predict_pair(small: Measured, large: Measured, **options: Any) -> list[Row]:
    """Predict the larger run from the smaller one, and from the base time of the larger one.

    What a message costs is not known of these machines: it is chosen so that the algorithm takes
    the median time of the smaller run. `options` are those of `jitterfly.predict`.
    """
    times, there = small.times(), large.times()
    warm_up = small.warm_up(), large.warm_up()
    case: dict[str, Any]
    case = {"algorithm": _PATTERNS[small.algorithm], "message_bytes": small.message_bytes}
    network = _network_for(float(np.median(times)), small.ranks, case)
    found = jf.predict(
        times, small.ranks, to=large.ranks, network=network, measured_there=there,
        base_there=split_base(there).time, **case, **options,
    )  # fmt: skip
    bursts = found.inferred.hits.bursts
    codes = sorted({note.code for note in found.notes()} & _DOUBTS)
    (predicted,) = found.predicted
    shares = np.searchsorted(np.sort(there), predicted.times, side="right") / len(there)
    by_network = float(network_time(large.ranks, network, case) / np.median(there))
    about: tuple[Any, ...]
    about = (small.machine, small.algorithm, small.by, small.message_bytes, small.ranks,
             large.ranks, len(times) + warm_up[0], *warm_up)  # fmt: skip
    rest: tuple[Any, ...]
    rest = (float(np.abs(shares - predicted.shares).max()), float(bursts.correlation), by_network,
            " ".join(codes))  # fmt: skip
    rows = []
    for row in found.rows:
        if row.what in NUMBERS:
            assert row.there is not None
            numbers = (*map(float, row.there), *map(float, row.predicted))
            rows.append(Row._make((*about, row.what, *numbers, row.verdict, *rest)))
    for level in _LEVELS:
        at = min(int(np.searchsorted(predicted.shares, level)), len(predicted.times) - 1)
        rows.append(_quantile_row(about, level, there, float(predicted.times[at]), rest))
    return rows


def _quantile_row(
    about: tuple[Any, ...], level: float, there: Any, predicted: float, rest: tuple[Any, ...]
) -> Row:
    measured = float(np.quantile(there, level, method="inverted_cdf"))
    ends = (measured, measured, measured, predicted, predicted, predicted)
    return Row._make((*about, f"{QUANTILE}{level:g}", *ends, "", *rest))


def predict_from_recording(run: Measured, noise: Path, loggp: Path, **options: Any) -> list[Row]:
    """Predict a run from what was recorded on one node, and from the base time of the run.

    Messages cost what the ping-pong measured of L and o, times a factor with which they take the
    base time: `base_ratio` is what they take without it. Each rank's own time since it left a
    barrier counts, as measured, and the longest of these. `options` are those of `simulate`.
    """
    there = run.times()
    base = split_base(there)
    pattern, short = _PATTERNS[run.algorithm], read_parameters(loggp, most_bytes=_SHORT)
    case = jf.Case(
        run.ranks, algorithm=pattern, message_bytes=run.message_bytes,
        barrier="dissemination_barrier", observe="own", network=jf.LogGOPS(L=short.L, o=short.o),
    )  # fmt: skip
    ratio = _quiet(case) / base.time
    recording = jf.TraceNoise(noise, part="each" if len(load(noise).parts) > 1 else None)
    network = jf.LogGOPS(L=short.L / ratio, o=short.o / ratio)
    case = replace(case, network=network, noise=[recording])
    options = {"realizations": _REALIZATIONS, **options}
    found = np.sort(jf.simulate(case, **options).samples[:, _LONGEST_OWN])
    series = Series(there)
    about: tuple[Any, ...]
    about = (run.machine, run.algorithm, RECORDED, run.message_bytes, 1, run.ranks,
             len(there) + run.warm_up(), 0, run.warm_up())  # fmt: skip
    rest: tuple[Any, ...]
    rest = (float(ks_2samp(there.round(9), found.round(9)).statistic),
            float(Hits(there, base).bursts.correlation), ratio,
            "short_recording" if case.doubts() else "")  # fmt: skip
    rows = []
    for what in NUMBERS:
        share = None if what == "mean" else float(what.removeprefix("p")) / 100
        if share is None:
            measured, drawn = series.mean(_EACH), jf.stats.mean(found, _EACH)
        else:
            measured, drawn = series.quantile(share, _EACH), jf.stats.quantile(found, share, _EACH)
        predicted = RecordedNoise.of_case(case).allow(drawn, _quiet(case), share)
        verdict = "not told apart"
        if predicted.low > measured.high:
            verdict = "too long"
        elif predicted.high < measured.low:
            verdict = "too short"
        ends = [
            float(end) for one in (measured, predicted) for end in (one.value, one.low, one.high)
        ]
        rows.append(Row._make((*about, what, *ends, verdict, *rest)))
    for level in _LEVELS:
        rows.append(_quantile_row(about, level, there, float(np.quantile(found, level)), rest))
    return rows


def _quiet(case: jf.Case) -> float:
    return float(from_ticks(case.noise_free_observations()[_LONGEST_OWN]))


def predict_from_recordings(folder: Path, runs: Iterable[Measured], **options: Any) -> list[Row]:
    """Predict the runs of each machine of which the folder has a recording and a ping-pong."""
    rows = []
    for run in sorted(runs, key=lambda run: (run.machine, run.algorithm, run.ranks)):
        noise, loggp = (folder / f"{run.machine}{end}" for end in (_NOISE, _LOGGP))
        if run.algorithm in _PATTERNS and noise.exists() and loggp.exists():
            rows += predict_from_recording(run, noise, loggp, **options)
            print(f"{noise.name}: predicts {run.ranks:,} ranks", file=sys.stderr)
    return rows


def network_time(ranks: int, network: jf.LogGOPS, case: dict[str, Any]) -> float:
    """Return how long the algorithm takes without noise, seconds."""
    return float(jf.simulate(jf.Case(ranks, network=network, **case), 1).noise_free[-1])


def _network_for(time: float, ranks: int, case: dict[str, Any]) -> jf.LogGOPS:
    """Scale a network so that the algorithm takes so long on it without noise."""
    unit = network_time(ranks, jf.LogGOPS(L=1e-6, o=2e-7, G=4e-11), case)
    scale = time / unit
    return jf.LogGOPS(L=scale * 1e-6, o=scale * 2e-7, G=scale * 4e-11)


def predict_runs(runs: Iterable[Measured], **options: Any) -> list[Row]:
    """Predict each run from the one on fewer ranks, where noise hit iterations of that one.

    Raises
    ------
    ValueError
        No two runs differ in the number of ranks alone, or none was hit.
    """
    found = list(pairs(runs))
    if not found:
        raise ValueError("no two of the runs differ in the number of ranks alone")
    rows = []
    for small, large in found:
        if is_hit(small):
            rows += predict_pair(small, large, **options)
            told = f"predicts {large.ranks:,} ranks"
        else:
            told = "no iteration took longer than the base time: it predicts nothing"
        print(f"{small.file.name}: {told}", file=sys.stderr)
    if not rows:
        raise ValueError("no iteration of any run took longer than the base time")
    return rows


def is_hit(run: Measured) -> bool:
    """Return whether an iteration after the warm-up took longer than the base time."""
    times = run.times()
    return bool(Hits(times, split_base(times)).exceeding)


class Choice(NamedTuple):
    """The algorithm that was the fastest of a size, and the one that a fitted network chooses.

    Attributes
    ----------
    machine : str
    ranks, message_bytes : int
    fastest, chosen : str
        Measured; and of the network that fits the runs on fewer ranks.
    cost : float
        The chosen one's measured median over that of the fastest.
    default_cost : float
        The library's own choice over the fastest; NaN where it was not measured.
    """

    machine: str
    ranks: int
    message_bytes: int
    fastest: str
    chosen: str
    cost: float
    default_cost: float


def choose(runs: Iterable[Measured]) -> list[Choice]:
    """Choose an algorithm for each size on the most ranks of a machine, and see what it costs.

    L and o (in the ratio 5 to 1), G and gamma are fitted to the medians on the fewest ranks, by
    least squares of the relative errors, none of them below zero.
    """
    medians: dict[tuple[str, int, int, str], list[float]] = {}
    for run in runs:
        key = run.machine, run.ranks, run.message_bytes, run.algorithm
        medians.setdefault(key, []).append(float(np.median(run.times())))
    # Where a library and a benchmark both have an algorithm, the faster one stands for it.
    best = {key: min(times) for key, times in medians.items()}
    choices = []
    for machine in dict.fromkeys(key[0] for key in best):
        counts = sorted({key[1] for key in best if key[0] == machine})
        known = {key[2:]: time for key, time in best.items()
                 if key[:2] == (machine, counts[0]) and key[3] in ALGORITHMS}  # fmt: skip
        if len(counts) < 2 or len(known) < len(_UNITS):
            continue
        parts = [_parts(counts[0], *key) / time for key, time in known.items()]
        fitted, _ = nnls(np.array(parts), np.ones(len(parts)))
        for size in sorted({key[2] for key in best if key[:2] == (machine, counts[-1])}):
            there = {key[3]: time for key, time in best.items()
                     if key[:3] == (machine, counts[-1], size)}  # fmt: skip
            default = there.pop(_DEFAULT, float("nan"))
            if len(there) < 2:
                continue
            expected = {name: _parts(counts[-1], size, name) @ fitted for name in there}
            fastest, chosen = (min(times, key=times.__getitem__) for times in (there, expected))
            least = there[fastest]
            choices.append(Choice(machine, counts[-1], size, fastest, chosen,
                                  there[chosen] / least, default / least))  # fmt: skip
    return choices


# What is fitted: the time of an algorithm is a sum of these, each times what a message costs.
_UNITS = (
    jf.LogGOPS(L=1e-6, o=2e-7),
    jf.LogGOPS(L=0, o=0, G=1e-10),
    jf.LogGOPS(L=0, o=0, gamma=1e-10),
)


def _parts(ranks: int, message_bytes: int, algorithm: str) -> npt.NDArray[np.float64]:
    case = {"algorithm": ALGORITHMS[algorithm], "message_bytes": message_bytes}
    return np.array([network_time(ranks, unit, case) for unit in _UNITS])


def table_of_choices(choices: Iterable[Choice]) -> str:
    """Make a table of the choices, a line for each size; choices that cost are bold."""
    lines = [
        "| machine | ranks | size | fastest | chosen | chosen / fastest | library / fastest |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in choices:
        mark = "**" if one.cost > 1 else ""
        names = (name.replace("_", " ") for name in (one.fastest, one.chosen))
        default = "" if np.isnan(one.default_cost) else f"{one.default_cost:.2f}"
        cells = (machine_in_words(one.machine), f"{one.ranks:,}", show_size(one.message_bytes),
                 *names, f"{mark}{one.cost:.2f}{mark}", default)  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write_rows(rows: Sequence[Row] | Sequence[Choice], file: Path) -> None:
    """Write rows to a CSV file, under the names of their fields."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(rows[0]._fields)
        for row in rows:
            writer.writerow(f"{v:.6g}" if isinstance(v, float) else v for v in row)


def read_rows(file: Path) -> list[Row]:
    """Read the rows of a CSV file that `write_rows` wrote.

    Raises
    ------
    ValueError
        The file is no such table, or a run there has not all of its numbers.
    """
    rows = list(_read(Row, file))
    for run in _by_run(rows):
        if missing := set(NUMBERS) - {row.what for row in run}:
            raise ValueError(f"{file} is cut off: a run there is without {', '.join(missing)}")
    if not rows:
        raise ValueError(f"{file} has no rows")
    return rows


def read_choices(file: Path) -> list[Choice]:
    """Read the choices of a CSV file that `write_rows` wrote."""
    return list(_read(Choice, file))


def _read(kind: Any, file: Path) -> Iterator[Any]:
    types = get_type_hints(kind)
    with file.open(newline="", encoding="utf-8") as text:
        lines = csv.DictReader(text)
        if lines.fieldnames is None or list(lines.fieldnames) != list(types):
            raise ValueError(f"{file} is no such table: its columns must be {','.join(types)}")
        for number, line in enumerate(lines, 2):
            try:
                yield kind(*(of(line[name]) for name, of in types.items()))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{file}, line {number}: {error}") from error


def markdown(rows: Sequence[Row]) -> str:
    """Make a table of the ratios, a line for each run.

    Those that intervals tell apart are bold. Those in parentheses have an interval that is wider
    than what is asked.
    """
    lines = [
        f"| run | ranks | {' | '.join(NUMBERS)} | distance | correlation | beforehand |",
        f"|---|---|{'---|' * (len(NUMBERS) + 3)}",
    ]
    for run in _by_run(rows):
        first = run[0]
        name = f"{_pattern_in_words(first)} ({first.by})"
        lines.append(
            f"| {name} | {first.ranks:,} to {first.to:,} | {_ratios(run)} "
            f"| {first.distance:.2f} | {first.correlation:.2f} | {_doubts(first)} |"
        )
    return "\n".join(lines) + "\n"


def table_of_recordings(rows: Sequence[Row]) -> str:
    """Make a table of the runs that a recording predicts, and of the base by the ping-pong."""
    lines = [
        f"| run | ranks | {' | '.join(NUMBERS)} | distance | base by ping-pong | beforehand |",
        f"|---|---|{'---|' * (len(NUMBERS) + 3)}",
    ]
    for run in _by_run(rows):
        first = run[0]
        lines.append(
            f"| {_pattern_in_words(first)} | {first.to:,} | {_ratios(run)} "
            f"| {first.distance:.2f} | {first.base_ratio:.2f} | {_doubts(first)} |"
        )
    near = ", ".join(_near(rows))
    count = len({run_of(row) for row in rows})
    return "\n".join(lines) + f"\n\nOf these {count} runs: {near}.\n"


def _ratios(run: Iterable[Row]) -> str:
    cells = []
    for row in run:
        if row.what in NUMBERS:
            mark = "**" if row.verdict in ("too long", "too short") else ""
            ratio = f"{mark}{row.ratio:.2f}{mark}"
            cells.append(ratio if row.told else f"({ratio})")
    return " | ".join(cells)


def _doubts(row: Row) -> str:
    return ", ".join(_IN_WORDS[code] for code in row.warnings.split())


def _pattern_in_words(row: Row) -> str:
    name = f"{machine_in_words(row.machine)}, {row.algorithm.replace('_', ' ')}, "
    return name + show_size(row.message_bytes)


def _near(rows: Sequence[Row]) -> list[str]:
    return [
        f"{number} within {100 * most:g} % in "
        f"{sum(row.what == number and row.near for row in rows)}"
        for number, most in NEAR.items()
    ]


def summary(rows: Sequence[Row]) -> str:
    """Count the runs that are near to what was measured, of those without a warning.

    Then the same of the numbers that the prediction itself tells so narrowly, and of these, whether
    the measured number, which has an interval, too, may be as near.
    """
    parts = []
    iterations = max(row.iterations for row in rows)
    quiet = [row for row in rows if not row.warnings]
    for least, what in ((0, ""), (iterations, f" and with {iterations:,} iterations")):
        some = [row for row in quiet if row.iterations >= least]
        count = len({run_of(row) for row in some})
        parts.append(f"Of the {count} runs without a warning{what}: {', '.join(_near(some))}.")
    told = [[row for row in quiet if row.what == number and row.told] for number in NEAR]
    for what, is_near in (
        ("Of the numbers without parentheses there, as near", lambda row: row.near),
        ("Near to a number within the measured interval", lambda row: row.may_be_near),
    ):
        near = [
            f"{number} in {sum(map(is_near, some))} of {len(some)}"
            for number, some in zip(NEAR, told, strict=True)
        ]
        parts.append(f"{what}: {', '.join(near)}.")
    return "\n".join(parts) + "\n"


def warm_up_in_words(rows: Iterable[Row]) -> str:
    """Say how many of the runs began with warm-up, and how many iterations were left out."""
    left_out: dict[tuple[Any, ...], int] = {}
    for row in rows:
        case = row.machine, row.algorithm, row.by, row.message_bytes
        left_out |= {(*case, row.ranks): row.warm_up, (*case, row.to): row.warm_up_there}
    some = [count for count in left_out.values() if count]
    return (
        f"{len(some)} of the {len(left_out)} runs begin with warm-up, {some.count(1)} with one "
        f"iteration and {len(some) - some.count(1)} with up to {max(some, default=0)}."
    )


def run_of(row: Row) -> tuple[str, str, str, int, int, int]:
    """Return what tells the row's run from others."""
    return row.machine, row.algorithm, row.by, row.message_bytes, row.ranks, row.to


def _by_run(rows: Iterable[Row]) -> Iterator[list[Row]]:
    for _, group in itertools.groupby(rows, key=run_of):
        yield list(group)


def machine_in_words(machine: str) -> str:
    """Write the name of a machine."""
    return _NAMES.get(machine, machine.capitalize())


def main(arguments: Sequence[str]) -> int:
    """Run the commands above."""
    if not 1 <= len(arguments) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, *rest = map(Path, arguments)
    if len(rest) > 1 + source.is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for file in rest:  # before the predictions, which take long
            if not os.access(file.parent, os.W_OK) or file.is_dir():
                raise ValueError(f"{file} can not be written")
        if source.is_dir():
            runs = find_runs(source)
            rows, choices = predict_runs(runs), choose(runs)
            rows += predict_from_recordings(source, runs)
            if rest:
                table = rest.pop(0)
                write_rows(rows, table)
                if choices:
                    write_rows(choices, beside(table))
        else:
            rows = read_rows(source)
            choices = read_choices(beside(source)) if beside(source).exists() else []
        recorded = [row for row in rows if row.by == RECORDED]
        rows = [row for row in rows if row.by != RECORDED]
        if rest:
            from .plots.machines import draw_quantiles  # matplotlib is optional

            draw_quantiles(rows).savefig(rest[0], dpi=75)
    except (OSError, ValueError) as error:
        print(f"machines: error: {error}", file=sys.stderr)
        return 2
    print(markdown(rows))
    print(summary(rows))
    print(f"{warm_up_in_words(rows)}\n")
    if recorded:
        print(table_of_recordings(recorded))
    print(table_of_choices(choices), end="")
    return 0


def beside(table: Path) -> Path:
    """Return the file of the choices, beside that of the rows."""
    return table.with_name(f"{table.stem}_choices.csv")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
