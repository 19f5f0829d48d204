"""Simulated against measured samples: two-sample KS test (Kolmogorov-Smirnov), quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from . import notebook, stats
from .case import Case, check_case
from .fields import MOST_REALIZATIONS, check_choice, check_numbers, shorten
from .files import read_text
from .measured import CollectiveTable, FormatError, PerRankSamples, load
from .noise_free import noise_free_ticks, noise_only_delays
from .result_table import ResultTable, aligned, csv_text, ends, show_time
from .simulate import simulate
from .stats import Estimate
from .syntax import read_count
from .units import from_ticks, show_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Quantiles that are compared, where there are samples."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
USUAL_REALIZATIONS = 2000
HIGH, LOW, ALIKE = "too long", "too short", "not told apart"
_MOST_SAMPLES = 10_000_000
_COLUMNS = ("ranks", "bytes", "what", "measured_s", "measured_low_s", "measured_high_s",
            "simulated_s", "simulated_low_s", "simulated_high_s", "ratio", "verdict")  # fmt: skip

Floats = npt.NDArray[np.float64]


class KsDistance(NamedTuple):
    """The largest distance of two distribution functions, with its interval.

    `low` and `high` hold the distance of the true distributions with the confidence that was asked
    for, whatever they are (Dvoretzky, Kiefer, Wolfowitz; Massart 1990, once for each sample).
    `chance`: how probable a distance as large is where both are the same (the p-value of SciPy's
    `ks_2samp`).
    """

    value: float
    low: float
    high: float
    chance: float


class AgreementRow(NamedTuple):
    """One number, measured and simulated, in seconds.

    Attributes
    ----------
    ranks, bytes : int
    what : str
        "mean", or a quantile such as "p50".
    measured, simulated : Estimate
        What was measured has an interval where there are samples.
    ratio : float
        Simulated over measured.
    verdict : "too long", "too short" or "not told apart"
        Of the simulated one: whether the two intervals leave each other out. All rows together are
        wrong with a probability of ``1 - confidence`` at most (Bonferroni).
    """

    ranks: int
    bytes: int
    what: str
    measured: Estimate
    simulated: Estimate
    ratio: float
    verdict: str


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(ResultTable):
    """What `compare_measured` found.

    Attributes
    ----------
    case : Case
    rows : tuple of AgreementRow
    distance : KsDistance or None
        None where only a table was measured.
    measured, simulated : float array, shape (n,), or None
        Ascending, seconds.
    confidence : float
    seed : int
    """

    case: Case
    rows: tuple[AgreementRow, ...]
    distance: KsDistance | None
    measured: Floats | None
    simulated: Floats | None
    confidence: float
    seed: int

    def __repr__(self) -> str:
        apart = sum(row.verdict != ALIKE for row in self.rows)
        return f"Agreement({apart} of {len(self.rows)} numbers are told apart)"

    @property
    def worst(self) -> AgreementRow:
        """The row that is off by the largest factor; of those that are told apart, if any are."""
        apart = [row for row in self.rows if row.verdict != ALIKE] or self.rows
        return max(apart, key=lambda row: abs(math.log(row.ratio)) if row.ratio > 0 else math.inf)

    def title(self) -> str:
        """What is compared."""
        return f"{self.case.algorithm.kind}, simulated beside measured"

    def lines(self) -> list[str]:
        """The table as text."""
        rows = [("ranks", "bytes", "", "measured", "simulated", "ratio", "simulated is")]
        for row in self.rows:
            rows.append((f"{row.ranks:,}", f"{row.bytes:,}", row.what, _show(row.measured),
                         _show(row.simulated), f"{row.ratio:.3g}", row.verdict))  # fmt: skip
        return aligned(rows)

    def notes(self) -> list[str]:
        """The distance, what is off the most, and what the intervals are."""
        told = []
        if self.distance is not None:
            d = self.distance
            told.append(
                f"Kolmogorov-Smirnov distance {d.value:.3f} [{d.low:.3f}, {d.high:.3f}]; as large "
                f"by chance with probability {d.chance:.2g} if both were the same"
            )
        worst = self.worst
        off = f"{worst.what} is off by a factor of {worst.ratio:.3g}"
        told.append(f"{off}, more than all else" if worst.verdict != ALIKE
                    else "nothing is told apart")  # fmt: skip
        told.append(
            f"{100 * self.confidence:g} % intervals, of all rows together; seed {self.seed}"
        )
        return told

    def to_csv(self) -> str:
        """A line for each row."""
        rows = [
            (row.ranks, row.bytes, row.what, *ends(row.measured, row.simulated), row.ratio,
             row.verdict)
            for row in self.rows
        ]  # fmt: skip
        return csv_text([_COLUMNS, *rows])

    def plot(self, path: str | Path | None = None) -> Figure:
        """Quantiles against quantiles, or the rows of a table; written to `path`, too.

        Raises
        ------
        ValueError
            matplotlib is not installed, or `path` does not end in .png, .pdf or .svg.
        """
        return notebook.picture("agreement", self, path=path)


def compare_measured(
    measured: str | Path | Sequence[float] | npt.NDArray[np.float64],
    case: Case,
    *,
    unit: str = "s",
    realizations: int | str = USUAL_REALIZATIONS,
    confidence: float = 0.95,
    seed: int = 0,
    backend: str = "auto",
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Agreement:
    """How a simulated collective agrees with a measured one.

    Parameters
    ----------
    measured : array of float, shape (n,), or str or Path
        How long the collective took each time, on its last rank: numbers, or a text file of them,
        separated by blanks, commas or lines (# begins a comment). Or a file of a benchmark: every
        iteration on every rank (Netgauge), of which the latest rank counts; a table of means and
        percentiles (OSU, IMB), each of whose rows is simulated with its ranks and bytes.
    case : Case
        What is simulated: its last completion. With a table, ranks and bytes are the rows', as far
        as the table has them.
    unit : "s", "ms", "us" or "ns"
        Of the numbers; benchmarks' files have their own.
    realizations, seed, backend, threads, progress
        As in `simulate`.
    confidence : float
        Of all intervals together, between 0 and 1.

    Returns
    -------
    Agreement

    Raises
    ------
    ValueError
        An argument out of range; a file that holds no numbers, or ranks that the case has not.
    OSError
        The file can not be read.

    Examples
    --------
    >>> import jitterfly as jf
    >>> case = jf.Case(64, network=jf.LogGOPS(L="1us", o="200ns"),
    ...                noise=[jf.StepNoise(jf.Exponential("1us"))])
    >>> measured = jf.simulate(case, 500, seed=1).samples[:, 0]
    >>> found = compare_measured(measured, case, realizations=500)
    >>> found.distance.chance > 0.01, {row.verdict for row in found.rows}
    (True, {'not told apart'})
    """
    check_case(case)
    realizations = read_count(realizations, "realizations", 2, MOST_REALIZATIONS)
    stats.mean([0.0], confidence)  # what it must be, before anything runs
    content = _read(measured, check_choice(unit, "unit", tuple(UNITS)), case)

    def samples(one: Case) -> Floats:
        result = simulate(one, realizations, seed, backend=backend, threads=threads,
                          progress=progress)  # fmt: skip
        return result.samples[:, -1]

    if isinstance(content, CollectiveTable):
        rows = _rows_of_table(content, case, samples, confidence)
        return Agreement(case, rows, None, None, None, confidence, seed)
    found, simulated = np.sort(content), np.sort(samples(case))
    each = 1 - (1 - confidence) / (2 * (1 + len(LEVELS)))  # an interval of each side of each row
    pairs = [("mean", stats.mean(found, each, lower_bound=0.0), _mean(case, simulated, each))]
    for q in LEVELS:
        sides = (stats.quantile(found, q, each), stats.quantile(simulated, q, each))
        pairs.append((f"p{100 * q:g}", *sides))
    rows = tuple(_row(case, *pair) for pair in pairs)
    distance = _distance(found, simulated, confidence)
    return Agreement(case, rows, distance, found, simulated, confidence, seed)


def _rows_of_table(
    table: CollectiveTable, case: Case, samples: Callable[[Case], Floats], confidence: float
) -> tuple[AgreementRow, ...]:
    columns = [name for name in ("mean", "p50", "p90", "p99") if getattr(table, name) is not None]
    each = 1 - (1 - confidence) / (len(columns) * len(table.mean))
    rows = []
    for i, (ranks, size) in enumerate(zip(table.ranks.tolist(), table.bytes.tolist(), strict=True)):
        least = case.network.smallest_message
        # OSU does not print the number of ranks: then it is the case's.
        one = replace(case, ranks=ranks or case.ranks, message_bytes=max(size, least))
        simulated = samples(one)
        for name in columns:
            value = float(getattr(table, name)[i])
            estimate = (
                _mean(one, simulated, each)
                if name == "mean"
                else stats.quantile(simulated, int(name[1:]) / 100, each)
            )
            known = Estimate(value, value, value, confidence, 1)
            rows.append(_row(one, name, known, estimate))
    return tuple(rows)


def _mean(case: Case, simulated: Floats, confidence: float) -> Estimate:
    quiet = float(from_ticks(noise_free_ticks(case)[-1]))
    bound = quiet if noise_only_delays(case) else 0.0
    return stats.mean(simulated, confidence, lower_bound=bound)


def _row(case: Case, what: str, measured: Estimate, simulated: Estimate) -> AgreementRow:
    verdict = ALIKE
    if simulated.low > measured.high:
        verdict = HIGH
    elif simulated.high < measured.low:
        verdict = LOW
    ratio = float(simulated.value) / float(measured.value) if measured.value else math.inf
    return AgreementRow(case.ranks, case.message_bytes, what, measured, simulated, ratio, verdict)


def _distance(measured: Floats, simulated: Floats, confidence: float) -> KsDistance:
    from scipy.stats import ks_2samp  # which takes longer to load than all of this package

    found = ks_2samp(measured, simulated)
    value = float(found.statistic)
    off = sum(
        math.sqrt(math.log(4 / (1 - confidence)) / (2 * len(side)))
        for side in (measured, simulated)
    )
    return KsDistance(value, max(value - off, 0.0), min(value + off, 1.0), float(found.pvalue))


def _read(
    measured: str | Path | Sequence[float] | Floats, unit: str, case: Case
) -> Floats | CollectiveTable:
    """Samples in seconds, or the table of a benchmark."""
    if not isinstance(measured, (str, Path)):
        return _check_samples(measured, unit, "measured")
    path = Path(measured)
    try:
        parts = load(path).parts
    except FormatError:
        words = [line.partition("#")[0].replace(",", " ") for line in read_text(path).splitlines()]
        try:
            numbers = [float(word) for word in " ".join(words).split()]
        except ValueError:
            raise ValueError(
                f"{path} must hold numbers, or what a benchmark of collectives printed"
            ) from None
        return _check_samples(numbers, unit, str(path))
    tables = [part for part in parts if isinstance(part, CollectiveTable)]
    if len(tables) == 1:
        return tables[0]
    samples = [part for part in parts if isinstance(part, PerRankSamples)]
    if len(samples) != 1:
        raise ValueError(f"{path} must hold one collective, got {len(tables) + len(samples)}")
    if samples[0].ranks != case.ranks:
        raise ValueError(f"ranks must be {samples[0].ranks}, as in {path}, got {case.ranks}")
    return np.asarray(samples[0].times.max(axis=1), dtype=np.float64)


def _check_samples(values: Sequence[float] | Floats, unit: str, name: str) -> Floats:
    rule = f"{name} must be 2 or more times from 0, in {unit}"
    raw = check_numbers(values, rule).astype(np.float64) * UNITS[unit]
    good = raw.ndim == 1 and 2 <= raw.size <= _MOST_SAMPLES
    if not good or not np.isfinite(raw).all() or (raw < 0).any():
        raise ValueError(f"{rule}, got {shorten(values)}")
    return raw


def _show(estimate: Estimate) -> str:
    if estimate.low == estimate.high == estimate.value and estimate.realizations == 1:
        return show_seconds(float(estimate.value))
    return show_time(estimate)
