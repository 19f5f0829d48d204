"""Scale of the tests: a tenth in a plain ``pytest``, all of it with ``--scale full``."""

import pytest

FULL = False  # tests/conftest.py sets it, before any test is imported


def scaled(count, least=1):
    """How many of `count` random cases, draws or repetitions to take."""
    return count if FULL else max(least, -(-count // 10))


def at_most(count, small):
    """The first how many of `count` random cases to take: all at full scale, else `small`."""
    return count if FULL else min(count, small)


def some(values, count):
    """All `values` at full scale; else at least `count` of them, evenly spread, with both ends."""
    values = list(values)
    if FULL or len(values) <= count:
        return values
    steps = max(count - 1, 1)
    return [values[i * (len(values) - 1) // steps] for i in range(count)]


def crossed(first, second):
    """All pairs at full scale; else as many as it takes for each of both to be in one."""
    first, second = list(first), list(second)
    if FULL:
        return [(a, b) for a in first for b in second]
    count = max(len(first), len(second)) if first and second else 0
    return [(first[i % len(first)], second[i % len(second)]) for i in range(count)]


def of_each_kind(count):
    """Numbers of random cases of each kind of collective, for a test of what acts on all of them.

    Eight tests execute every kind on the event-driven reference: flat, on several levels, behind
    barriers, with slow links, uneven ranks, weather, bursts and spells; one has the causes of such
    times add up to them. A fault of a kind shows in each of these, so a kind has the cases of all;
    what one test adds is the same code for every kind, and has `count` cases of each. Messages of a
    kind alone are compared one by one for all numbers of ranks (test_steps_are_the_textbook_s).
    """
    return range(at_most(count, 1))


def full_scale(*values):
    """A case of a parametrized test that is skipped without ``--scale full``."""
    return pytest.param(*values, marks=pytest.mark.full_scale)
