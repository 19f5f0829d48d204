"""`Advice`, the answer of `advise`: tables as text, CSV and JSON; and `search`, which finds it.

The text has a ranking for each cell, or a table over ranks and message sizes. The search goes
through all cells, ranks by message sizes, within a budget of time and realizations.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

from ..algorithms.algorithm import checked_steps
from ..algorithms.own import check_collective
from ..answer import (
    FIRST,
    PICTURE,
    SECONDS,
    Answer,
    Column,
    Note,
    ShownTable,
    aligned,
    notes_of,
    plain,
    show,
    show_time,
    units_of,
)
from ..case import begins_after, check_effective, warn_of_late_noise
from ..collect import ALL, STOPPED, Report, collect
from ..collect import SECONDS as OUT_OF_TIME
from ..fields import FieldError, IntOrText, counted, field_error, first_few, is_of_a_user, parameter
from ..hierarchy import Hierarchy
from ..network import MAX_BYTES
from ..program import message_count
from ..question import call_of
from ..slowdown import no_hosts_notes, start_notes, steady_notes
from ..stats import Estimate
from ..syntax import read_count, read_size
from ..units import common_unit, show_seconds, show_size
from .question import Progress, Question, setting_in_words
from .race import Race, fitting_candidates
from .ranking import (
    ALONE,
    BEST,
    CLOSE,
    EQUAL,
    NEAR,
    NOBODY,
    NOT_RUN,
    OPEN,
    PERHAPS,
    WINNER,
    AdviceCell,
    RankedCandidate,
    cell_of_race,
)
from .tuning import write_tuning

DECIDED, REALIZATIONS = "decided", "realizations"
"""Why it ended: everything is known; the budget in realizations, or in seconds; Ctrl-C."""

_DETAILED_CELLS = 3  # cells up to which each has its ranking
_NAMES_IN_A_LINE = 3  # candidates in a line
_CHECKED_MESSAGES = 500_000  # of an algorithm of the user's own: checked within a second
_LEFT_OUT_FIRST = (
    "faster",
    "longer by",
    "without noise",
    "slowdown",
    "runner-up",
    "times",
    "times it",
)


class AdviceRow(NamedTuple):
    """A line of the CSV: a candidate of a cell; `ranked` is None unless the cell has a ranking."""

    cell: AdviceCell
    candidate: str
    state: str
    place: int | None = None
    ranked: RankedCandidate | None = None
    noise_free: float | None = None
    reason: str | None = None


def _number(name: str, unit: str = "", otherwise: Any = None) -> Column:
    """Return a column of what a ranking says of a candidate."""

    def value(_: Any, row: AdviceRow) -> Any:
        return otherwise if row.ranked is None else getattr(row.ranked, name)

    return Column(name, unit, value=value)


def _estimate(name: str, unit: str = "", csv: Any = True) -> Column:
    """Return the columns of an estimate in a ranking; what is not known is empty."""

    def value(_: Any, row: AdviceRow) -> Any:
        ends = (math.nan,) * 3 if row.ranked is None else getattr(row.ranked, name)
        return [end if math.isfinite(end) else None for end in ends]

    return Column(name, unit, True, value=value, csv=csv)


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Answer):
    """The answer of `advise`.

    Attributes
    ----------
    question : Question
    cells : tuple of Cell
        Along the ranks first, then along the message sizes.
    ended : str
        "decided", "realizations", "seconds" or "stopped" (Ctrl-C).
    simulated : int
        Realizations of all candidates in all cells.
    elapsed : float
        Seconds that it took.
    """

    question: Question
    cells: tuple[AdviceCell, ...]
    ended: str
    simulated: int
    elapsed: float

    columns = (
        Column("collective", value=lambda answer, _: answer.question.collective),
        Column("ranks", value=lambda _, row: row.cell.ranks),
        Column("message_bytes", value=lambda _, row: row.cell.message_bytes),
        Column("outcome", value=lambda _, row: row.cell.outcome),
        Column("candidate"),
        Column("place"),
        Column("state"),
        _number("known_from"),
        Column("statistic", value=lambda answer, _: answer.question.statistic),
        _estimate("value", csv=("value_s", "low_s", "high_s")),
        Column("noise_free", SECONDS),
        _estimate("slowdown"),
        _number("versus"),
        _estimate("ratio"),
        _estimate("difference", SECONDS),
        Column("faster", value=lambda _, row: row.ranked and plain(row.ranked.faster.value)),
        _number("realizations", otherwise=0),
        _number("look", otherwise=0),
        _number("told_at", otherwise=0),
        _number("lacks", SECONDS),
        Column("confidence", value=lambda answer, _: answer.question.confidence),
        Column("seed", value=lambda answer, _: answer.question.seed),
        Column("reason"),
    )
    picture = "advice.draw"
    rows_in_json = ""

    def __repr__(self) -> str:
        return f"Advice({self.summary()!r}, cells={len(self.cells)}, ended={self.ended!r})"

    @cached_property
    def _by_size(self) -> dict[tuple[int, int], AdviceCell]:
        return {(cell.ranks, cell.message_bytes): cell for cell in self.cells}

    def cell(self, ranks: IntOrText, message_bytes: IntOrText) -> AdviceCell:
        """The cell of these ranks and bytes, also as text; `ValueError` if it was not asked for."""
        ranks = read_count(ranks, "ranks")
        message_bytes = read_size(message_bytes, "message_bytes", 0, MAX_BYTES)
        known = self._by_size.get((ranks, message_bytes))
        if known is None:
            question = self.question
            raise ValueError(
                f"ranks must be one of {', '.join(map(str, question.ranks))} and message_bytes one "
                f"of {', '.join(map(str, question.message_bytes))}, got {ranks} and {message_bytes}"
            )
        return known

    def summary(self) -> str:
        """One line: what was decided, for which share of the cells."""
        count = len(self.cells)
        outcomes = Counter(cell.outcome for cell in self.cells)
        names = Counter(cell.best for cell in self.cells if cell.best and cell.outcome != ALONE)
        descriptions = {
            WINNER: "a winner",
            ALONE: "one candidate alone",
            EQUAL: f"several equal {_tolerance_in_words(self.question.within)}",
            NEAR: f"one at most {100 * self.question.within:.10g} % slower than any",
            OPEN: "no winner",
            NOT_RUN: "nothing known yet",
            NOBODY: "no candidate fits",
        }
        parts = [
            f"{description} in {_share_of_cells(outcomes[outcome], count)}"
            for outcome, description in descriptions.items()
            if outcomes[outcome]
        ]
        best = ", ".join(f"{name} in {number}" for name, number in names.most_common())
        best = next(iter(names), "") if count == 1 else best
        return "; ".join(parts) + (f" (best: {best})" if best else "")

    def facts(self) -> dict[str, Any]:
        """Return what the JSON has beside notes; times in seconds."""
        return {
            **self.question.to_dict(),
            "looks": self.question.looks(),
            "ended": self.ended,
            "simulated": self.simulated,
            "elapsed_s": self.elapsed,
            "summary": self.summary(),
            "cells": [_plain_cell(cell) for cell in self.cells],
        }

    def rows(self) -> list[AdviceRow]:
        """Return a row for each candidate of each cell; of those left out with the reason."""
        rows = []
        for cell in self.cells:
            rows += [
                AdviceRow(cell, one.name, one.state, place, one, one.noise_free)
                for place, one in enumerate(cell.ranking, 1)
            ]
            if not cell.ranking:
                rows += [
                    AdviceRow(cell, name, cell.outcome, noise_free=noise_free)
                    for name, noise_free in cell.noise_free.items()
                ]
            rows += [
                AdviceRow(cell, name, "left out", reason=why) for name, why in cell.left_out.items()
            ]
        return rows

    def write_tuning(
        self,
        path: str | Path,
        library: str | None = None,
        *,
        libmpi: str | Path | None = None,
        protocol: str | None = None,
    ) -> tuple[Path, ...]:
        """Write the answer as a file that a library takes its algorithms from.

        Cells in which nothing is decided among the library's algorithms are left to it.
        `jitterfly.advice.write_tuning` writes the answers of several collectives into one file.

        Parameters
        ----------
        path : str or Path
            A name that ends in `.rules` is Open MPI's text, in `.json` what Open MPI 6 or MPICH
            reads, to which a second file with comments is written, `.txt`; in `.csv` lines of
            NCCL's tuner plugin. A file that is there is replaced.
        library : str, optional
            "openmpi", "mpich" or "nccl"; without it the file's name says it: `.rules`,
            `openmpi*.json`, `mpich*.json`, `.csv`.
        libmpi : str or Path
            For MPICH's file alone, which needs it: MPICH's shared library, such as libmpi.so.12.
            What is not decided is copied from its own decision tree, and only what it has is
            written.
        protocol : "ll", "ll128" or "simple"
            For NCCL's file alone, which needs it: the one whose costs the network's are.

        Returns
        -------
        tuple of Path
            The files.

        Raises
        ------
        ValueError
            An unknown library or ending, or a name that does not say the library; an option that
            is missing, or of another format; fewer than two candidates are algorithms of the
            library; sizes that the format can not hold; nothing is decided among the library's
            algorithms in any cell.
        OSError
            A file can not be read or written.
        """
        return write_tuning(path, [self], library, libmpi=libmpi, protocol=protocol)

    def title(self) -> str:
        """Return the question that was asked."""
        question = self.question
        ranks = f"{question.ranks[0]:,}"
        if len(question.ranks) > 1:
            ranks += f" to {question.ranks[-1]:,}"
        sizes = show_size(question.message_bytes[0])
        if len(question.message_bytes) > 1:
            sizes += f" to {show_size(question.message_bytes[-1])}"
        what = question.collective.replace("_", "-")
        return f"{what} on {ranks} ranks, {sizes}: which algorithm has the smallest " + (
            question.statistic
        )

    def lines(self, width: int | None = None) -> list[str]:
        """A ranking for each of up to three cells, else a table of all; what is left out, and why.

        Columns are left out that have no room in lines of `width` letters.
        """
        left_out = left_out_lines(self.cells)
        more = ["", "left out:", *left_out] if left_out else []
        if len(self.cells) > _DETAILED_CELLS:
            return [*cells_lines(self, width), *more]
        rankings = ([*ranking_lines(self, cell, width), ""] for cell in self.cells)
        return [*list(chain.from_iterable(rankings))[:-1], *more]

    def shown_tables(self) -> list[ShownTable]:
        """Return a ranking for each of up to three cells, else a table of all."""
        if len(self.cells) > _DETAILED_CELLS:
            tables = [cells_table(self)]
        else:
            tables = [ranking_table(self, cell) for cell in self.cells]
        if left_out := left_out_lines(self.cells):
            lines = tuple((line.strip(),) for line in left_out)
            tables.append(ShownTable("left out", (), lines))
        return tables

    def _end_in_words(self) -> str:
        question = self.question
        if self.ended == DECIDED:
            return f"all cells are decided to within {100 * question.within:.4g} %"
        if self.ended == STOPPED:
            return "stopped: this is what was known by then"
        if self.ended == OUT_OF_TIME:
            budget, way = f"{question.seconds:g} s", f"raise {parameter('seconds')}"
        else:
            budget = f"{question.realizations:,} realizations"
            way = (f"raise {parameter('realizations')}, or let {parameter('within')} count larger "
                   "differences as equal")  # fmt: skip
        return f"the budget of {budget} is spent before all is decided: {way}"

    def _own_notes(self) -> list[Note]:
        """Say what was decided, and how sure that is."""
        question = self.question
        ended = self._end_in_words()
        if not question.noise:
            exact = "without noise: exact" + (f"; {ended}" if self.ended != DECIDED else "")
            sure = notes_of("exact", [exact])
        else:
            parts = [
                counted(len(self.cells), "cell"),
                counted(len(question.chosen()), "candidate"),
                f"at most {counted(len(question.looks()), 'look')}",
            ]
            share = f"{100 * question.confidence:.10g} %"
            together = f"for all of it together (paired on the same noise; {', '.join(parts)})"
            count = f"{self.simulated:,} realizations in {self.elapsed:.3g} s"
            sure = [
                Note("confidence", f"{share} {together}"),
                Note("ended", f"{count}; {ended}"),
                *notes_of("rare_noise", _rare_noise_in_words(self)),
                *notes_of("recording", self.cells[-1].recordings if self.cells else ()),
            ]
        shown = [
            *steady_notes(
                question.noise,
                question.cycles,
                question.compute_time,
                min((one.ranking[0].noise_free for one in self.cells if one.ranking), default=0.0),
            ),
            *notes_of("given", setting_in_words(question)),
            Note("summary", self.summary()),
            *sure,
            *notes_of("shared_card", _cards_in_words(question)),
            *notes_of("free_exchanges", _free_exchanges_in_words(self)),
            *start_notes(question.noise, question.cycles, question.compute_time),
            *no_hosts_notes(question.noise, sorted({cell.ranks for cell in self.cells})),
        ]
        unseen = next(filter(None, (cell.unseen_changes for cell in reversed(self.cells))), ())
        return [
            *(
                Note(one.code, f"{one}; another candidate may be faster", one.place)
                for one in unseen
            ),
            *self._faults_of_own,
            *(Note(note.code, note, PICTURE) for note in shown),
            *notes_of("within", _tolerance_in_all(self)),
        ]

    @cached_property
    def _faults_of_own(self) -> list[Note]:
        """Say which algorithms of the user's own are none of the collective, and which may be none.

        They are simulated nevertheless: one that leaves ranks out may be meant so.
        """
        question, found = self.question, list[Note]()
        for candidate in question.chosen():
            if candidate.name not in question.own:
                continue
            unchecked = []
            for cell in self.cells:
                if candidate.name in cell.left_out:
                    continue
                size = cell.message_bytes
                algorithm = candidate.make(cell.ranks, question.network, size)
                if not is_of_a_user(algorithm):
                    break
                steps = checked_steps(algorithm, cell.ranks, size)
                if sum(message_count(step, cell.ranks) for step in steps) > _CHECKED_MESSAGES:
                    unchecked.append(f"{cell.ranks:,}")
                    continue
                try:
                    check_collective(algorithm, cell.ranks, question.collective, size)
                except ValueError as error:
                    text = f"caution: {candidate.name}: {error}. It is ranked by its messages alone"
                    found.append(Note("own_algorithm", text, FIRST))
                    break
            else:
                if unchecked:
                    where = first_few(list(dict.fromkeys(unchecked)), _NAMES_IN_A_LINE)
                    text = (
                        f"{candidate.name} sends too many messages on {where} ranks to follow here "
                        "whether all data arrive: `check_collective` does"
                    )
                    found.append(Note("own_algorithm", text))
        return found

    def report(self, width: int | None = None) -> list[str]:
        """Title, tables and notes as lines of text, of `width` letters where it is given."""
        return self._report(self.lines(width))


def _share_of_cells(part: int, count: int) -> str:
    return f"{part} of {count} cells ({100 * part / count:.3g} %)" if count > 1 else "this cell"


def _plain_cell(cell: AdviceCell) -> dict[str, Any]:
    """Return what the JSON has of a cell."""
    return {
        "ranks": cell.ranks,
        "message_bytes": cell.message_bytes,
        "outcome": cell.outcome,
        "best": cell.best or None,
        "at_most_times_the_best": cell.at_most,
        "among": list(cell.among),
        "realizations": cell.realizations,
        "noise_free_s": cell.noise_free,
        "ranking": [_plain_candidate(candidate) for candidate in cell.ranking],
        "left_out": cell.left_out,
        "rare_noise": cell.rare_noise or None,
    }


def _plain_candidate(candidate: RankedCandidate) -> dict[str, Any]:
    """Return what the JSON has of a candidate in a ranking."""
    return {
        "name": candidate.name,
        "state": candidate.state,
        "known_from": candidate.known_from,
        "statistic_s": candidate.value,
        "noise_free_s": candidate.noise_free,
        "slowdown": candidate.slowdown,
        "versus": candidate.versus or None,
        "ratio": candidate.ratio,
        "difference_s": candidate.difference,
        "faster": candidate.faster,
        "realizations": candidate.realizations,
        "look": candidate.look,
        "told_at": candidate.told_at,
        "lacks_s": candidate.lacks,
    }


def _free_exchanges_in_words(advice: Advice) -> list[str]:
    """Say where exchanges after the butterfly win since nothing follows that they could delay."""
    if advice.question.cycles > 1:
        return []
    makers = {one.name: one.make for one in advice.question.chosen()}
    cells = [cell for cell in advice.cells if cell.best in makers]
    best = [
        cell.best
        for cell in cells
        for made in (makers[cell.best](cell.ranks, advice.question.network, cell.message_bytes),)
        if getattr(made, "exchanges_after", 0)
    ]
    if not best:
        return []
    return [
        f"{first_few(sorted(set(best)), _NAMES_IN_A_LINE)}: the exchanges after the butterfly cost "
        "CPU time after the result, which delays what follows, and nothing follows one cycle: take "
        f"more {parameter('cycles')}"
    ]


def _cards_in_words(question: Question) -> list[str]:
    """Say, where messages are long enough, that ranks of a node do not share its network card."""
    network = question.network
    if not isinstance(network, Hierarchy) or network.shared_card:
        return []
    count = next(iter(network.spans), 1)
    if count == 1 or max(question.ranks) <= count:
        return []
    short, long = network.smallest_message, max(question.message_bytes)
    if network.costs(long).transit < 2 * network.costs(short).transit:
        return []
    return [
        f"each of the {count} ranks of a node sends to other nodes as if it were alone: where they "
        f"share a network card, algorithms in which many ranks of a node send long messages at "
        f"once take up to {count} times as long, and another candidate may be the best; "
        "a network with shared_card=true counts that"
    ]


def _rare_noise_in_words(advice: Advice) -> list[str]:
    """Say what means may lack of noise that so few realizations hardly meet, at the worst cell."""
    found = [cell for cell in advice.cells if cell.rare_noise]
    if not found:
        return []
    worst = max(found, key=lambda cell: max(one.lacks for one in cell.ranking))
    where = f" at {worst.ranks:,} ranks, {show_size(worst.message_bytes)}"
    more = f", and so in {len(found)} of {len(advice.cells)} cells" * (len(found) > 1)
    at = where * (len(advice.cells) > 1)
    undecided = "; take more realizations" * any(cell.outcome == OPEN for cell in found)
    return [f"{worst.rare_noise}{at}{more}, which all intervals allow for{undecided}"]


def _tolerance_in_all(advice: Advice) -> list[str]:
    """Say that `within` counts compute time, too, and what it is of the collective alone."""
    question = advice.question
    computing = question.cycles * float(question.compute_time)
    noise_free = [cell.ranking[0].noise_free for cell in advice.cells if cell.ranking]
    shares = sorted((1 - computing / time, time) for time in noise_free if time > computing)
    if not computing or not question.within or not shares:
        return []
    within = 100 * question.within
    share, time = shares[0]  # of the cell in which the collective counts least
    what = "" if len(noise_free) == 1 else " in the cell where it is shortest"
    return [
        f"{parameter('within')} counts compute time, too: {within:.4g} % of {show_seconds(time)} "
        f"is {show_seconds(question.within * time)}. The collective alone takes "
        f"{show_seconds(share * time)}{what}: for {within:.4g} % of that set "
        f"{parameter('within')} to {within * share:.2g}%"
    ]


def ranking_lines(advice: Advice, cell: AdviceCell, width: int | None) -> list[str]:
    """The candidates of one cell, the best first."""
    found = ranking_table(advice, cell)
    if not found.header:
        return [found.title, *(_aligned(found.rows) if found.rows else [])]
    text = _aligned((found.header, *found.rows), width, _LEFT_OUT_FIRST)
    notes = _ranking_notes(advice, cell, text[0])
    return [found.title, *text, *(f"  {note}" for note in notes)]


def ranking_table(advice: Advice, cell: AdviceCell) -> ShownTable:
    """The candidates of one cell, the best first; without a ranking, their times without noise."""
    where = f"{cell.ranks:,} ranks, {show_size(cell.message_bytes)}"
    if cell.outcome in (NOBODY, NOT_RUN):
        known = sorted(cell.noise_free.items(), key=lambda item: item[1])
        unit = common_unit(noise_free for _, noise_free in known)
        listed = [("", name, f"{show_time(noise_free, unit)} {unit}", "without noise")
                  for name, noise_free in known]  # fmt: skip
        return ShownTable(f"{where}: {cell.outcome}", (), tuple(listed), left=2)
    within = advice.question.within
    places = {candidate.name: place for place, candidate in enumerate(cell.ranking, 1)}
    times, differences = units_of([
        [time for one in cell.ranking for time in (one.value, one.noise_free)],
        [one.difference for one in cell.ranking if one.versus or one.is_bound],
    ])  # fmt: skip
    header = ("", "candidate", f"{advice.question.statistic}, {times}", f"without noise, {times}",
              "slowdown", "times", f"longer by{differences and f', {differences}'}", "faster",
              "state (realizations)")  # fmt: skip
    rows = []
    for candidate in cell.ranking:
        noise_free = show_time(candidate.noise_free, times)
        if candidate.is_bound:
            longer = f"> {show_time(float(candidate.difference.low), differences, 3)}"
            ratio = f"> {_above_one(float(candidate.ratio.low))}"
            numbers = f"> {noise_free}", noise_free, "", ratio, longer
        else:
            longer = _shown(candidate.difference, differences) if candidate.versus else ""
            value = _shown(candidate.value, times)
            numbers = value, noise_free, _shown(candidate.slowdown), _shown_ratio(candidate), longer
        state = _state_in_words(candidate, places, within)
        if cell.outcome == ALONE:
            state = state.replace("the best", ALONE)
        elif cell.outcome == NEAR and candidate.state == CLOSE:  # others may be slower by more
            bound = f"{NEAR}, {_tolerance_in_words(within)}"
            state = state.replace(f"equal {_tolerance_in_words(within)}", bound)
        place = str(places[candidate.name])
        rows.append((place, candidate.name, *numbers, _how_often(candidate), state))
    notes = _ranking_notes(advice, cell, " ".join(header))
    return ShownTable(f"{where}: {verdict(cell)}", header, tuple(rows), tuple(notes), left=2)


def _ranking_notes(advice: Advice, cell: AdviceCell, header: str) -> list[str]:
    """Say what the columns that are in the header compare."""
    statistic = advice.question.statistic
    places = {candidate.name: place for place, candidate in enumerate(cell.ranking, 1)}
    others = {places[candidate.versus] for candidate in cell.ranking if candidate.versus}
    named = ", ".join(name for name in ("times", "longer by", "faster") if name in header)
    notes = []
    if others and named:
        more = "" if others == {1} else ", or with the one that the state names"
        notes.append(f"{named}: compared with 1, {cell.ranking[0].name}{more}")
    simulated = [one for one in cell.ranking if not one.is_bound]
    if any(
        one.value.value > other.value.value and one.realizations != other.realizations
        for one, other in combinations(simulated, 2)
    ):
        times = "; times does, over the same ones" if "times" in header else ""
        notes.append(
            f"{statistic}: over different realizations, so that two of them do not compare{times}"
        )
    if any(candidate.is_bound for candidate in cell.ranking):
        notes.append("bound: it takes longer without noise than the other one with it at most, so "
                     "that it was not simulated")  # fmt: skip
    return notes


def _state_in_words(candidate: RankedCandidate, places: Mapping[str, int], within: float) -> str:
    """Say how a candidate stands, against which other one, and after how many realizations."""
    count = f" ({candidate.told_at:,})" if candidate.told_at else ""
    if candidate.state == BEST:
        return f"the best{count}"
    if candidate.state == CLOSE:
        return f"equal {_tolerance_in_words(within)}{count}"
    if candidate.state == PERHAPS:
        return f"may be the best{count}"
    other = f"slower than {places[candidate.versus]}{count}"
    return f"bound: {other}" if candidate.is_bound else other


def _tolerance_in_words(within: float) -> str:
    """The tolerance in words."""
    return f"within {100 * within:.10g} %" if within else "to the tick"


def verdict(cell: AdviceCell) -> str:
    """The candidate to take, in words."""
    if cell.outcome == WINNER:
        return cell.best
    if cell.outcome == ALONE:
        return f"only {cell.best}"
    if cell.outcome in (EQUAL, NEAR):
        alternatives = (
            f"{word}: {_listed_names(names)}" for word, names in _not_slower(cell).items()
        )
        return f"{cell.best} ({'; '.join(alternatives)})"
    if cell.outcome == OPEN:
        least = "" if not math.isfinite(cell.at_most) else (
            f" ({cell.ranking[0].name} takes at most {_above_one(cell.at_most)} times the best)"
        )  # fmt: skip
        return f"no winner among {_listed_names(cell.among)}{least}"
    return cell.outcome


def _not_slower(cell: AdviceCell) -> dict[str, list[str]]:
    """The candidates that are not shown to be slower than the best one, by verdict."""
    descriptions = {CLOSE: "equal", PERHAPS: "not told from it"}
    named = {
        word: [candidate.name for candidate in cell.ranking[1:] if candidate.state == state]
        for state, word in descriptions.items()
    }
    return {word: names for word, names in named.items() if names}


def _listed_names(names: Sequence[str]) -> str:
    fit = len(names) <= _NAMES_IN_A_LINE
    return first_few(names, _NAMES_IN_A_LINE if fit else _NAMES_IN_A_LINE - 1)


def cells_lines(advice: Advice, width: int | None = None) -> list[str]:
    """A line for each cell."""
    found = cells_table(advice)
    text = _aligned((found.header, *found.rows), width, _LEFT_OUT_FIRST)
    return [*text, *(f"  {note}" for note in found.notes)]


def cells_table(advice: Advice) -> ShownTable:
    """Return a table of all cells, one line for each."""
    firsts = [cell.ranking[0] for cell in advice.cells if cell.ranking]
    unit = units_of([[time for one in firsts for time in (one.value, one.noise_free)]])[0]
    header = ("ranks", "bytes", "best", f"{advice.question.statistic}{unit and f', {unit}'}",
              f"without noise{unit and f', {unit}'}", "slowdown", "next slower",
              "times it")  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for cell in advice.cells:
        place = f"{cell.ranks:,}", show_size(cell.message_bytes), _short_verdict(cell)
        if not cell.ranking:
            rows.append((*place, *[""] * 5))
            continue
        first, second = cell.ranking[0], cell.runner_up
        rows.append((
            *place,
            _best_value(first, unit),
            show_time(first.noise_free, unit),
            _first_slowdown(first),
            second.name if second else "",
            _runner_up(cell, second) if second else "",
        ))  # fmt: skip
    notes = []
    if any(cell.ranking and _has_no_end(cell.ranking[0].value) for cell in advice.cells):
        why = "too few realizations met noise"
        if advice.cells[-1].recordings:
            why += ", or too few detours were recorded"
        notes.append(f"?]: no upper end is known: {why}")
    if any(cell.outcome == OPEN for cell in advice.cells):
        notes.append("?: no winner; the first of these has the smallest "
                     f"{advice.question.statistic} so far")  # fmt: skip
    return ShownTable("", header, tuple(rows), tuple(notes), left=3)


def _best_value(first: RankedCandidate, unit: str) -> str:
    """The best candidate's statistic as text; with its interval where that has no upper end."""
    value = first.value
    return _shown(value, unit) if _has_no_end(value) else show_time(float(value.value), unit)


def _first_slowdown(first: RankedCandidate) -> str:
    value = first.slowdown
    return _shown(value) if _has_no_end(value) else f"{float(value.value):.3g}"


def _has_no_end(estimate: Estimate) -> bool:
    return not math.isfinite(float(estimate.high))


def _runner_up(cell: AdviceCell, second: RankedCandidate) -> str:
    """Say how many times as long as the first, or as its `versus`, the second takes."""
    times = (
        f"> {_above_one(float(second.ratio.low))} (bound)"
        if second.is_bound
        else _shown_ratio(second)
    )
    return times if second.versus == cell.ranking[0].name else f"{times} (to {second.versus})"


def _short_verdict(cell: AdviceCell) -> str:
    if cell.outcome == OPEN:
        return f"? {_listed_names(cell.among)}"
    if cell.outcome in (EQUAL, NEAR):
        counts = (f"{len(names)} {word}" for word, names in _not_slower(cell).items())
        return f"{cell.best} ({', '.join(counts)})"
    return verdict(cell)


def left_out_lines(cells: Sequence[AdviceCell]) -> list[str]:
    """Candidates left out and why: once for each reason, with the number of cells."""
    counts = Counter(reason for cell in cells for reason in cell.left_out.items())
    names: dict[tuple[str, int], list[str]] = {}
    for (name, why), times in counts.items():
        names.setdefault((why, times), []).append(name)
    text = []
    for (why, times), alike in names.items():
        where = "" if times == len(cells) else f" ({times} of {len(cells)} cells)"
        text.append(f"  {', '.join(alike)}{where}: {why}")
    return text


def _shown(estimate: Estimate, unit: str = "", neutral: float | None = None) -> str:
    """A number with its interval; an exact one alone, "" if there is no number.

    `unit` is that of a time, which the heading says.
    """
    value, low, high = map(float, estimate)
    if math.isnan(value):
        return ""
    if low == high:
        return show_time(value, unit) if unit else f"{value:.4g}"
    return show_time(estimate, unit) if unit else show(estimate, neutral=neutral)


def _shown_ratio(candidate: RankedCandidate) -> str:
    """Return how many times as long as its rival a candidate takes; "" without a rival."""
    ratio = candidate.ratio
    if not candidate.versus:
        return ""
    if ratio.low <= 0:  # no ratio of times is: the interval has no lower end
        ratio = replace(ratio, low=-math.inf)
    return _shown(ratio, neutral=1)


def _above_one(value: float) -> str:
    """A number above 1 with as many digits as show that it is."""
    return next((f"{value:.{d}g}" for d in range(4, 12) if float(f"{value:.{d}g}") > 1), "1")


def _how_often(candidate: RankedCandidate) -> str:
    value = float(candidate.faster.value)
    return "" if math.isnan(value) else f"{100 * value:.3g} %"


def _aligned(
    rows: Sequence[tuple[str, ...]], width: int | None = None, spare: Sequence[str] = ()
) -> list[str]:
    """Columns; those named in `spare` are left out where there is no room, the first one first."""
    header, left_out = rows[0], list[str]()
    names = [text.partition(",")[0] for text in header]  # without units
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    kept = list(range(len(header)))
    for name in spare:
        if width is None or sum(widths[i] + 2 for i in kept) <= width:
            break
        if name in names:
            kept.remove(names.index(name))
            left_out.append(name)
    shown = [[row[i] for i in kept] for row in rows]
    text = [f"  {line}" for line in aligned(shown, left=len(kept))]
    if left_out:
        text.append(f"  no room here for {', '.join(left_out)}: CSV and JSON have all")
    return text


def search(question: Question, *, started: float | None = None) -> Advice:
    """Find which algorithm of a collective to use on a machine with noise.

    All candidates see the same noise, and are compared by paired differences with ever more
    realizations; those that the data tell to be slower than the best one are dropped. With
    `confidence`, all that is said of all cells and candidates holds together, although the data
    decide when to stop. A cell without a winner is said to have none.

    Returns
    -------
    Advice
        Also after Ctrl-C, or when `seconds` are over: what is known by then.

    Raises
    ------
    ValueError
        Names the field and its range; or no candidate fits anywhere; or a source of noise can hit
        nothing in any candidate.
    BackendError
        "cuda" can not be used, or failed; it says why. Also a `ValueError`.

    Examples
    --------
    >>> import jitterfly as jf
    >>> machine = jf.LogGOPS(L="1us", o="0.1us", G="1ns", gamma="0.1ns")
    >>> noise = [jf.PeriodicNoise(period="1ms", duration="10us", start="stationary")]
    >>> found = jf.advise([64, 256], network=machine, noise=noise,
    ...                   candidates=["butterfly", "butterfly_after_1"])
    >>> [(cell.outcome, cell.best) for cell in found.cells]
    [('near best', 'butterfly_after_1'), ('winner', 'butterfly_after_1')]
    >>> print(f"{found.cell(256, 8).ranking[1].ratio:.2f}")
    1.33 [1.21, 1.46]
    """
    # `started` is the time.monotonic() that `seconds` count from.
    begun = time.monotonic() if started is None else started
    # One rank alone does nothing, under noise or not.
    several = (one.case for cell in question.cells
               for one in fitting_candidates(question, *cell)[0] if one.case.ranks > 1)  # fmt: skip
    # Candidates are compared on the same noise: it must hit more than forwards of some of them.
    check_effective(several, len(question.noise), trailing=False)
    may_be_late = all(begins_after(noise, 0.0) for noise in question.noise)
    races = [Race(question, ranks, size) for ranks, size in question.cells]
    sizes = question.looks()
    state = Progress(len(races), looks=len(sizes), started=begun)

    def tell(*_: Any) -> None:
        state.elapsed = time.monotonic() - begun
        if question.progress is not None:
            question.progress(state)

    def turn(race: Race, report: Report) -> bool | None:
        def tick(more: int) -> None:
            state.simulated += more
            report(0.0)

        nonlocal may_be_late
        number = race.look + 1
        state.look, state.realizations = number + 1, sizes[number]
        if not race.ready:
            race.prepare(report)
            state.prepared += 1
            if may_be_late:  # whose times without noise are known now
                may_be_late = not warn_of_late_noise(one.case.loops[-1] for one in race.candidates)
        race.look_at(number, sizes[number], tick, question.engine)
        state.decided += (decided := race.decided)
        tick(0)
        return True if decided or number + 1 == len(sizes) else None

    _, ended = collect(races, turn, tell, seconds=question.seconds, started=begun, partial=True)
    if all(race.ready and not race.candidates for race in races):  # nothing to choose from anywhere
        name, why = next(iter(races[0].left_out.items()))
        # What all cases have is no candidate's fault.
        given = field_error(ValueError(why), ("noise", "network"))
        raise given or FieldError("candidates", f": none fits in any cell; {name}: {why}")
    if ended == ALL or state.decided == len(races):
        ended = DECIDED if state.decided == len(races) else REALIZATIONS
    cells = tuple(cell_of_race(race, question.confidence) for race in races)
    elapsed = time.monotonic() - state.started
    return Advice(question, cells, ended, state.simulated, elapsed)


advise = call_of(Question, search, "advise")
