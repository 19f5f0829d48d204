"""The loop of questions over several cells: turns, time limit, Ctrl-C, progress."""

import time
from types import SimpleNamespace

import pytest

from jitterfly.collect import ALL, SECONDS, STOPPED, collect


@pytest.fixture
def cells():
    return [SimpleNamespace(ranks=ranks, turns=0) for ranks in (2, 4, 8)]


def after(turns):
    """A turn that has the answer once there were so many of them, by ranks; reports half of it."""

    def turn(cell, report):
        order.append(cell.ranks)
        report(0.5)
        cell.turns += 1
        return cell.ranks if cell.turns == turns[cell.ranks] else None

    order = []
    return turn, order


def test_cells_without_an_answer_have_another_turn_after_the_others(cells):
    turn, order = after({2: 1, 4: 3, 8: 2})
    assert collect(cells, turn) == ([2, 8, 4], ALL)
    assert order == [2, 4, 8, 4, 8, 4]


def test_progress_comes_before_each_turn_and_at_each_report(cells):
    turn, _ = after(dict.fromkeys((2, 4, 8), 1))
    told = []
    collect(cells, turn, lambda *now: told.append(now))
    assert told == [(0.0, 3, 2), (0.5, 3, 2), (1.0, 3, 4), (1.5, 3, 4), (2.0, 3, 8), (2.5, 3, 8)]


def test_it_ends_at_a_report_once_the_seconds_are_over(cells):
    turn, order = after(dict.fromkeys((2, 4, 8), 1))
    assert collect(cells, turn, seconds=60) == ([2, 4, 8], ALL)
    assert collect(cells, turn, seconds=60, started=time.monotonic() - 61) == ([], SECONDS)
    assert order == [2, 4, 8]


def test_what_is_answered_before_ctrl_c_is_kept(cells):
    def turn(cell, report):
        if cell.ranks == stop_at:
            raise KeyboardInterrupt("SIGTERM")
        return cell.ranks

    stop_at = 8
    assert collect(cells, turn) == ([2, 4], STOPPED)
    stop_at = 2
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        collect(cells, turn)
    assert collect(cells, turn, partial=True) == ([], STOPPED)
