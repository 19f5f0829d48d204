"""Algorithms of a user's own: their kinds, mistakes in their steps, and the check of data flow."""

import time
from dataclasses import dataclass

import numpy as np
import pytest
from reference.collectives import GOALS
from support.scale import some

import jitterfly as jf
from jitterfly.algorithms.algorithm import checked_steps
from jitterfly.algorithms.own import (
    Listed,
    Shift,
    all_sent_first,
    check_collective,
    collective,
    message,
)

NETWORK = "L=1us,o=200ns"


@dataclass(frozen=True)
class Sends(jf.Algorithm, kind="test_own_sends"):
    """Gives what it was made with."""

    given: object

    def steps(self, ranks, message_bytes):
        return self.given


del jf.Algorithm._kinds["test_own_sends"]  # other tests look at all kinds


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    """Kinds that a test registers are gone after it."""
    monkeypatch.setattr(jf.Algorithm, "_kinds", dict(jf.Algorithm._kinds))


def run(algorithm):
    return jf.simulate(jf.Case(4, algorithm=algorithm, network=NETWORK), realizations=1)


def around(draw=0, **options):
    return message(Shift(1), draw, 8, "around", **options)


def listed(*pairs, draw=0):
    return message(Listed(np.array(pairs)), draw, 8, "listed")


def test_a_study_takes_no_object_of_an_earlier_class():
    """It would run the later class of that kind in its place."""

    def of(size):
        @dataclass(frozen=True)
        class Ring(jf.Algorithm, kind="test_own_ring"):
            def steps(self, ranks, message_bytes):
                return collective([message(Shift(1), 0, size, "around")])

        return Ring()

    first, second = of(8), of(80_000)
    told = "algorithm: kind 'test_own_ring' names another class now, defined after this Ring was"
    budget = jf.RealizationBudget(max=2)
    with pytest.raises(ValueError, match=f"case.{told}"):
        jf.Study("one", case=jf.Case(4, algorithm=first, network=NETWORK), budget=budget)
    with pytest.raises(ValueError, match=f"case.{told}"):
        jf.Study("one", case={"ranks": 4, "algorithm": first, "network": NETWORK}, budget=budget)
    with pytest.raises(ValueError, match=told):
        jf.Study("one", case={"ranks": 4, "network": NETWORK}, budget=budget,
                 variants={"a": {"algorithm": first}, "b": {"algorithm": second}})  # fmt: skip
    jf.Study("one", case=jf.Case(4, algorithm=second, network=NETWORK), budget=budget)


@dataclass(frozen=True)
class Levels(jf.Algorithm, kind="test_own_levels"):
    """Passes on by several distances."""

    masks: tuple[int, ...] = (1, 2)

    def steps(self, ranks, message_bytes):
        return collective([message(Shift(mask), i, 8, f"by {mask}")
                           for i, mask in enumerate((1, 2))])  # fmt: skip


del jf.Algorithm._kinds["test_own_levels"]


def test_a_field_may_be_a_tuple():
    jf.Algorithm._kinds["test_own_levels"] = Levels
    assert jf.Algorithm.from_dict(Levels((1, 3)).to_dict()) == Levels((1, 3))
    ragged = jf.Case(4, algorithm=Levels(((1, 2), (3,))), network=NETWORK)
    jf.Study("ragged", case=ragged, budget=jf.RealizationBudget(max=2))
    case, budget = (
        jf.Case(4, algorithm=Levels((1, 3)), network=NETWORK),
        jf.RealizationBudget(max=2),
    )
    store = jf.Study("tuple", case=case, budget=budget).run()
    (cell,) = store.cells
    assert cell.variants[0].case.algorithm == Levels((1, 3))


@pytest.mark.parametrize("masks", [[1, 2], np.array([1, 2])])
def test_a_field_without_a_hash_is_named(masks):
    with pytest.raises(ValueError, match=r"Levels.masks must be a number, text or a tuple of such"):
        jf.Case(4, algorithm=Levels(masks), network=NETWORK)


def test_a_field_that_does_not_come_back_from_a_table_is_named():
    jf.Algorithm._kinds["test_own_levels"] = Levels
    case = jf.Case(4, algorithm=Levels(jf.RingAllgather()), network=NETWORK)
    with pytest.raises(ValueError, match=r"case.algorithm: Levels.masks = .* does not come back"):
        jf.Study("set", case=case, budget=jf.RealizationBudget(max=2))


def test_a_kind_that_another_class_has_is_refused():
    for _ in range(2):  # a notebook's cell is run twice

        @dataclass(frozen=True)
        class Mine(jf.Algorithm, kind="test_own_mine"):
            def steps(self, ranks, message_bytes):
                return collective([around()])

    assert jf.Algorithm.from_dict({"kind": "test_own_mine"}) == Mine()
    with pytest.raises(ValueError, match=r"taken: jitterfly\.algorithms\.allreduce\.Ring"):

        class Ring(jf.Algorithm, kind="ring_allreduce"):
            pass

    assert jf.Algorithm.from_dict({"kind": "ring_allreduce"}) == jf.RingAllreduce()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ([around()], r"none of these 1 is labelled 'start'"),
        ([], "none of these 0"),
        (None, "got None"),
        (collective([around()])[:1], "completes"),
        ([around().partners], "got .Shift"),
    ],
)
def test_steps_that_are_none_say_what_is_wrong(given, what):
    with pytest.raises(ValueError, match=rf"^Sends.steps must give .* `collective\(.*{what}"):
        run(Sends(None if given is None else tuple(given)))


def test_a_class_without_kind_or_that_is_no_dataclass_says_so():
    class Nameless(jf.Algorithm):
        def steps(self, ranks, message_bytes):
            return collective([around()])

    class Plain(Nameless, kind="test_own_plain"):
        pass

    @dataclass(frozen=True)
    class Named(Nameless):
        pass

    for one in (Nameless, Named, Plain):
        with pytest.raises(ValueError, match=f"the class {one.__name__} must have a kind"):
            run(one())


@pytest.mark.parametrize("kind", some(sorted(GOALS), 5))
def test_every_algorithm_moves_the_data_of_its_collective(kind):
    options = {"node_ranks": 4, "leaders": 1} if kind == "hierarchical_allreduce" else {}
    algorithm = jf.Algorithm.from_dict({"kind": kind} | options)
    check_collective(algorithm, collective=GOALS[kind])


def test_what_is_missing_is_named():
    once = Sends(collective([around()]))
    with pytest.raises(
        ValueError, match=r"no allreduce on 4 ranks: rank 0 ends without that of rank 1, 2$"
    ):
        check_collective(once, 4)
    check_collective(once, [1, 2])
    three = Sends(collective([around(draw) for draw in range(3)]))
    check_collective(three, 4)
    check_collective(Sends(collective([around(repeat=3)])), 4)
    # Sent before anything is received: only what the neighbours themselves had.
    together = all_sent_first([around(draw) for draw in range(3)])
    with pytest.raises(ValueError, match="rank 0 ends without that of rank 1, 2"):
        check_collective(Sends(collective(together)), 4)
    with pytest.raises(
        ValueError, match=r"rank 1 ends without that of rank 0, 2, 3, 4, 5 and 3 more"
    ):
        check_collective(jf.BinomialReduce(), 9)
    chain = collective([listed((0, 1)), listed((1, 2), draw=1)])
    with pytest.raises(
        ValueError, match="no broadcast on 4 ranks: rank 3 ends without that of rank 0"
    ):
        check_collective(Sends(chain), 4, "broadcast")
    with pytest.raises(ValueError, match="collective must be one of"):
        check_collective(once, 4, "shuffle")


def dissemination(ranks):
    """Rounds in which everybody sends all that it has: a sum only on powers of two ranks."""
    rounds = range((ranks - 1).bit_length())
    return collective([message(Shift(1 << k), k, 4096, "sum", combine=True) for k in rounds])


def test_what_a_sum_has_twice_is_named():
    check_collective(Sends(dissemination(8)), 8)
    with pytest.raises(
        ValueError,
        match=r"no allreduce on 6 ranks: rank 0 has added more than once that of rank 0, 5$",
    ):
        check_collective(Sends(dissemination(6)), 6)
    for fits in ("barrier", "allgather"):  # to have it twice does no harm there
        check_collective(Sends(dissemination(6)), 6, fits)
    # A part of a vector can come twice: which part it is, nobody says.
    check_collective(Sends(dissemination(6)), 6, message_bytes=8192)


def test_a_sum_that_is_sent_down_takes_the_place_of_parts():
    up = [message(Listed(np.array([(rank, 0)])), rank, 64, "up", combine=True) for rank in (1, 2)]
    down = [message(Listed(np.array([(0, rank)])), 2 + rank, 64, "down") for rank in (1, 2)]
    check_collective(Sends(collective(up + down)), 3, message_bytes=64)
    again = [step._replace(combine=True) for step in down]
    with pytest.raises(ValueError, match=r"rank 1 has added more than once that of rank 1$"):
        check_collective(Sends(collective(up + again)), 3, message_bytes=64)
    # The same message a second time.
    twice = [up[0], up[1], up[1]._replace(round=3)]
    with pytest.raises(ValueError, match=r"rank 0 has added more than once that of rank 2$"):
        check_collective(Sends(collective(twice)), 3, "reduce", message_bytes=64)


@pytest.mark.parametrize(
    ("pairs", "what"),
    [
        (((0, 1), (0, 2)), "rank 0 sends 2 messages"),
        (((0, 2), (1, 2)), "rank 2 receives 2 messages"),
        (((0, 4),), "there is no rank 4"),
        (((-1, 0),), "there is no rank -1"),
        (((0, 1), (2, 2)), "rank 2 sends to itself"),
        (((2, 1), (0, 3)), "the messages must be in the order of their senders"),
    ],
)
def test_a_step_that_no_rank_can_do_is_named(pairs, what):
    plain, halves = [listed(*pairs)], all_sent_first([listed(*pairs), around(1)])
    for steps in (plain, halves):
        algorithm = Sends(tuple(collective(steps)))
        for ask in (run, lambda one: check_collective(one, 4)):
            with pytest.raises(
                ValueError, match=rf"^Sends on 4 ranks, in the step with draw 0.*: {what}"
            ):
                ask(algorithm)


@pytest.mark.parametrize(
    ("messages", "does"),
    [
        ([around(), around()], r"rank 0 sends in two steps with draw 0 \('around' and 'around'\)"),
        ([around(2, repeat=3), around(4)], "rank 0 sends in two steps with draw 4 "),
        ([around(4), around(0, repeat=9), around(12)], "rank 0 sends in two steps with draw 4 "),
        ([listed((0, 1), (2, 3)), listed((2, 0))], r"rank 2 sends .* draw 0 \('listed' and"),
        ([listed((0, 1), (2, 3)), listed((1, 3))], r"rank 3 receives .* draw 0 "),
        (all_sent_first([around(), around()]), "rank 0 sends in two steps with draw 0, "),
    ],
)
def test_ranks_have_random_numbers_of_their_own_in_each_step(messages, does):
    algorithm = Sends(tuple(collective(messages)))
    for use in (run, lambda one: check_collective(one, 4)):
        with pytest.raises(ValueError, match=rf"^Sends.steps on 4 ranks: {does}"):
            use(algorithm)


def test_steps_without_a_rank_in_common_may_share_draws():
    together = all_sent_first([around(4), around(5)])
    for messages in (
        [listed((0, 1)), listed((2, 3)), listed((1, 2))],
        [around(0, repeat=3), around(3), *together],
    ):
        steps = collective(messages)
        assert checked_steps(Sends(tuple(steps)), 4, 8) == steps
    for kind in GOALS:
        options = {"node_ranks": 4, "leaders": 1} if kind == "hierarchical_allreduce" else {}
        for ranks in (2, 6, 7, 8, 13, 16, 37):
            algorithm = jf.Algorithm.from_dict({"kind": kind} | options)
            checked_steps(algorithm, ranks, 100)


def test_many_steps_that_share_draws_are_looked_at_once():
    """Each of 3000 beside all others took two minutes."""
    alone = [listed((2 * i, 2 * i + 1)) for i in range(3000)]
    began = time.process_time()
    checked_steps(Sends(tuple(collective(alone))), 6000, 8)
    assert time.process_time() - began < 5
    with pytest.raises(ValueError, match="rank 17 receives in two steps with draw 0"):
        checked_steps(Sends(tuple(collective([*alone, listed((6000, 17))]))), 6001, 8)


def test_what_a_step_is_made_of_is_checked():
    assert Listed([[0, 1], (2, 3)]).pairs(4) == [(0, 1), (2, 3)]
    assert Listed([]).pairs(4) == []
    for pairs in ([0, 1], [[0, 1, 2]], [[0.0, 1.0]], "01", None, np.ones((2, 2), bool)):
        with pytest.raises(ValueError, match=r"^messages must be pairs of integers, .*, got "):
            Listed(pairs)
    step = message(Shift(1), np.int64(2), np.array(8), "numpy's", repeat=np.uint8(2))
    assert step == message(Shift(1), 2, 8, "numpy's", repeat=2)
    for name, value in (("size", 8 / 3), ("draw", 0.5), ("draw", -1), ("size", True),
                        ("repeat", 1.0)):  # fmt: skip
        options = {"draw": 0, "size": 8, "label": ""} | {name: value}
        with pytest.raises(ValueError, match=f"^{name} must be an integer of at least 0, got "):
            message(Shift(1), **options)
    with pytest.raises(ValueError, match=r"^partners must be Shift, .*, got \[\[0, 1\]\]"):
        message([[0, 1]], 0, 8, "")


def test_messages_of_a_step_may_differ_in_size():
    step = message(Shift(1), 0, np.array([3, 0, 8]), "uneven")
    assert step.sizes(3).tolist() == [3, 0, 8]
    assert step.bytes == 8
    assert message(Shift(1), 0, np.array([8, 8, 8]), "even") == message(Shift(1), 0, 8, "even")
    checked_steps(Sends((*collective([step]),)), 3, 8)
    with pytest.raises(ValueError, match="sizes of messages are not as many as the messages"):
        checked_steps(Sends((*collective([step]),)), 4, 8)
    for sizes in ([-1, 2], [0.5, 2.0], [[1, 2]]):
        with pytest.raises(ValueError, match=r"^size must be an integer of at least 0, or "):
            message(Shift(1), 0, np.array(sizes), "")


def test_ranks_may_be_numpys():
    algorithm = jf.RingAllreduce()
    for ranks in (np.int64(5), np.arange(1, 6), [np.int32(3)], range(1, 3)):
        check_collective(algorithm, ranks)
    for ranks in (np.float64(5), "5", [True], 0):
        with pytest.raises(ValueError, match=r"^ranks must be an integer from 1 to 4096, got "):
            check_collective(algorithm, ranks)
