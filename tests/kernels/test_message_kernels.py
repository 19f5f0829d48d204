"""GPU message kernel, emulated on the CPU, against the CPU backend."""

from dataclasses import replace
from itertools import groupby
from random import Random

import pytest
from reference.cases import COMPUTE
from reference.messages import MESSAGE, RANGE, MessageCase, Steps, pairs
from support.emulated_kernels import (
    BLOCKS,
    CHOSEN,
    LAUNCHES,
    ORDERS,
    Run,
    build_once,
    check,
    choices,
    execute,
    varied_messages,
)
from support.kernel_cases import ALL_NOISES, COSTS
from support.message_cases import (
    COST_ENTRIES,
    COUNTED,
    MESSAGE_PROGRAMS,
    as_lists,
    make_messages,
    message_case,
    noisy_case,
    of_algorithm,
    of_nccl,
    with_clocks,
    with_counts,
    with_uneven_ranks,
    with_windows,
)
from support.scale import scaled, some

import jitterfly as jf


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return build_once(tmp_path_factory)


@pytest.mark.parametrize("program", MESSAGE_PROGRAMS)
def test_programs(kernels, program):
    sizes = [6, 37, 1, 16, 40, 2, 3, 9]
    check(kernels, [varied_messages(make_messages(program, noise, sizes[number % 8]), number)
                    for number, noise in some(enumerate(ALL_NOISES), 4)])  # fmt: skip


@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_random_programs(kernels, family):
    check(kernels, [varied_messages(family(number), number) for number in range(scaled(60))])


def test_collectives_with_counts(kernels):
    """Messages of a step differ in size, half steps too; some are not sent."""
    pairs = [(kind, noise) for kind in COUNTED for noise in some(ALL_NOISES, 4)]
    check(kernels, [varied_messages(with_counts(kind, noise, 3 + number % 9), number)
                    for number, (kind, noise) in enumerate(pairs)])  # fmt: skip


def test_every_algorithm(kernels):
    """All that are registered; the butterfly and switches that combine have their own tests."""
    kinds = [
        kind
        for kind in sorted(jf.Algorithm.kinds())
        if kind != "butterfly" and not kind.startswith("in_network")
    ]
    noises = list(ALL_NOISES)
    pairs = [(number, kind, noises[number % len(noises)]) for number, kind in enumerate(kinds)]
    cases = [of_algorithm(*pair) for pair in some(pairs, 6)]
    check(kernels, [varied_messages(case, number) for number, case in enumerate(cases)])


def test_nccls_trees_and_switches_that_combine(kernels):
    """In halves of steps; some messages cost nothing, or CPU time of one of their ranks."""
    cases = [of_nccl(number, noise) for number, noise in some(enumerate(ALL_NOISES), 5)]
    check(kernels, [varied_messages(case, number) for number, case in enumerate(cases)])


@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_steps_that_list_their_messages(kernels, family):
    cases = [as_lists(family(n), Random(n), own_costs=True) for n in range(scaled(40))]
    check(kernels, [varied_messages(case, number) for number, case in enumerate(cases)])


@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_steps_in_two_halves(kernels, family):
    """Ranks send several messages before they receive them."""
    cases = [with_windows(family(number), Random(number)) for number in range(scaled(40))]
    listed = [as_lists(case, Random(7), own_costs=True) for case in cases[::4]]
    check(kernels, [varied_messages(case, n) for n, case in enumerate([*cases, *listed])])


@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_clocks_of_ranks(kernels, family):
    cases = [with_clocks(family(number), Random(number)) for number in range(scaled(40))]
    windows = [with_windows(case, Random(number)) for number, case in enumerate(cases[::4])]
    check(kernels, [varied_messages(case, n) for n, case in enumerate([*cases, *windows])])


@pytest.mark.parametrize(("ranks", "count"), [(31, 17), (63, 9), (255, 4)])
def test_many_messages_under_way(kernels, ranks, count):
    """As of a linear alltoall: a block holds fewer realizations than its threads could take."""
    case = make_messages("dissemination", "fresh", ranks)
    begin, message = case.program_steps[:2]
    assert message[0] == MESSAGE
    case = replace(case, program_steps=(begin, (*message[:4], 0, *message[5:])))  # observed
    case = with_windows(case, Random(ranks), width=32)
    check(kernels, [Run(case, count=count, way=way) for way in (BLOCKS, CHOSEN)])


@pytest.mark.parametrize("family", [message_case, noisy_case], ids=["periodic", "every noise"])
def test_ranks_that_are_not_alike(kernels, family):
    """Compute phases of their own, arrivals and speeds that are given and that are drawn."""
    cases = [with_uneven_ranks(family(number), number) for number in range(scaled(40))]
    check(kernels, [varied_messages(case, number) for number, case in enumerate(cases)])


@pytest.mark.parametrize("by", [60, 2**17 - 4, 2**30])
def test_late_rounds(kernels, by):
    """Their draws are counted with more than 32 bits."""
    cases = []
    for number in range(scaled(24)):
        case = noisy_case(number)
        steps = [(step[0], step[1] + by, *step[2:]) if step[0] == MESSAGE else step
                 for step in case.program_steps]  # fmt: skip
        cases.append(replace(case, program_steps=tuple(steps)))
    check(kernels, [varied_messages(case, number) for number, case in enumerate(cases)])


def test_compute_phases_in_which_nobody_works(kernels):
    """They are left out, but what is observed after one is not."""
    cases = []
    for number, noise in enumerate(ALL_NOISES):
        case = make_messages(("ring", "trees", "fold")[number % 3], noise, 6 + number % 7)
        begin = (COMPUTE, 0, 0, 0, -1, *case.program_steps[0][5:])
        steps = (begin, (*begin[:4], 0, *begin[5:]), *case.program_steps)
        cases.append(replace(case, costs=replace(COSTS, work=0), program_steps=steps))
    check(kernels, [varied_messages(case, number) for number, case in enumerate(cases)])
    few = [Run(case, way=BLOCKS, rounds=1) for case in cases[:1]]
    [idle] = execute(kernels, [run.text() for run in few])
    [busy] = execute(kernels, [Run(replace(cases[0], costs=COSTS), way=BLOCKS, rounds=1).text()])
    assert counted(idle)[0] < counted(busy)[0]


@pytest.mark.parametrize("ranks", some([512, 700, 1500], 1))
def test_several_ranks_in_a_thread(kernels, ranks):
    check(kernels, [Run(make_messages(program, noise, ranks), order=number % ORDERS, way=way)
                    for way in (LAUNCHES, BLOCKS)
                    for number, (program, noise) in enumerate([
                        ("ring", "fresh"), ("dissemination", "fresh, jitter"),
                        ("trees", "stationary"), ("fold", "none")])])  # fmt: skip


def test_one_rank(kernels):
    cases = [replace(make_messages(program, "fresh", 11), one_rank=True)
             for program in MESSAGE_PROGRAMS]  # fmt: skip
    check(kernels, [Run(case, statistics="max", one_rank=True, count=2, way=way)
                    for case in cases for way in (LAUNCHES, BLOCKS)])  # fmt: skip


@pytest.mark.parametrize("way", [LAUNCHES, BLOCKS], ids=["launches", "blocks"])
def test_many_realizations(kernels, way):
    """More than a warp and than a block has threads; last ones that fill part of a block."""
    for noise in ("fresh", "everything"):
        check(
            kernels,
            [
                Run(
                    make_messages(program, noise, ranks),
                    count=count,
                    batch=batch,
                    way=way,
                    order=count % ORDERS,
                    statistics=statistics,
                )
                for program, ranks, count, batch, statistics in [
                    ("trees", 5, 33, 33, "all"),
                    ("ring", 3, 300, 270, "max"),
                    ("fold", 6, 20, 17, "all"),
                    ("dissemination", 13, 70, 64, "max"),
                ]
            ],
        )


def test_orders_of_threads(kernels):
    """Any order in which a GPU may run threads gives the same bits."""
    cases = [make_messages("ring", "fresh, jitter", 37), make_messages("trees", "everything", 70),
             make_messages("fold", "two periodic", 45)]  # fmt: skip
    check(kernels, [Run(case, count=3, way=way, order=order, rounds=rounds)
                    for case in cases for order in range(ORDERS)
                    for way, rounds in [(LAUNCHES, 0), (BLOCKS, 0), (BLOCKS, 3)]])  # fmt: skip


def counted(found):
    """Launches, and threads of all of them."""
    _kernel, launches, _largest, threads, *_ticks = map(int, found.split())
    return launches, threads


OBSERVED = -1


def actions_of(case):
    """Ranks, or messages, of each action of a pass in order; or OBSERVED."""
    actions = [case.ranks]  # they begin
    for kind, _round, _flags, _draw, row, *partners, _cost, repeat in case.program_steps:
        if kind == COMPUTE:
            actions.append(case.ranks)
        if kind == MESSAGE:
            joined = pairs(partners, case.ranks)
            both = {sender for sender, _ in joined} & {receiver for _, receiver in joined}
            actions += (2 if both else 1) * repeat * [len(joined)]
        actions += [OBSERVED] * (row >= 0)
    return actions


@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_launch_is_for_senders_alone(kernels, count):
    """Those that send, or that receive; they are in one launch where no rank does both.

    Of actions of few ranks one launch executes all that follow one another.
    """
    block, warp, ranks_of_observer, few = 256, 32, 32, 32

    def threads_of(actions):
        if actions == [OBSERVED]:
            wide = -(-count // warp) * warp if count > warp else 1 << (count - 1).bit_length()
            return wide * -(-case.ranks // ranks_of_observer)
        if len(actions) == 1:
            return actions[0] * count
        together = block >> (max(actions) - 1).bit_length()  # realizations of a block
        return -(-count // together) * block

    for program in some(("trees", "ring", "dissemination", "recursive doubling"), 2):
        case = make_messages(program, "fresh", 300)
        launches = []
        for is_few, group in groupby(actions_of(case), lambda items: 0 <= items <= few):
            actions = list(group)
            launches += [actions] if is_few else [[action] for action in actions]
        assert any(len(actions) > 4 for actions in launches) == (program == "trees")
        threads = sum(-(-threads_of(actions) // block) * block for actions in launches)
        run = Run(case, count=count, way=LAUNCHES)
        [found] = execute(kernels, [run.text()])
        assert counted(found) == (len(launches), threads)


def test_a_block_goes_through_a_program_by_itself(kernels):
    """In one launch, or in parts. Of few ranks, a block holds several realizations."""
    case = make_messages("ring", "fresh", 6)
    turns = len(actions_of(case))
    # 100 realizations lie 128 wide: 768 ranks, of which 512 threads take two turns each.
    for rounds, launches in [(0, 1), (1, turns), (3, -(-turns // 2))]:
        run = Run(case, count=100, way=BLOCKS, rounds=rounds)
        [found] = execute(kernels, [run.text()])
        assert counted(found) == (launches, 512 * launches)


@pytest.mark.parametrize("count", [1, 40])
def test_actions_that_are_combined_count_as_what_they_take(kernels, count):
    """Each has a barrier, however few ranks it has; a launch has no more of them than it may."""
    case, action = chain(300), 2**13
    for launch, rounds, most in [(0, 0, 299), (50 * action, 0, 50), (0, 100, 100)]:
        run = Run(case, count=count, way=LAUNCHES, launch=launch, rounds=rounds)
        check(kernels, [run])
        [found] = execute(kernels, [run.text()])
        assert counted(found)[0] == 1 + -(-299 // most)  # ranks begin in the first


@pytest.mark.parametrize("way", [LAUNCHES, BLOCKS], ids=["launches", "blocks"])
def test_no_launch_is_long(kernels, way):
    """A launch does no more than it may; the bits stay the same."""
    for program in some(("trees", "ring", "fold"), 2):
        case = make_messages(program, "fresh, jitter", 300)
        whole = Run(case, count=2, way=way, limits=(5, 2))
        # A realization alone is more; both together are cut into several launches.
        cut = replace(whole, launch=60, rounds=20)
        check(kernels, [whole, cut])
        few, many = (found.split() for found in execute(kernels, [whole.text(), cut.text()]))
        assert int(many[1]) > 2 * int(few[1])
        if way == LAUNCHES and program != "fold":
            assert int(many[2]) <= cut.launch


def test_the_way_is_chosen(kernels):
    """Blocks where a realization fits into one."""

    def launches(ranks, count, program="trees"):
        run = Run(make_messages(program, "none", ranks), count=count, way=CHOSEN)
        [found] = execute(kernels, [run.text()])
        return counted(found)[0]

    assert launches(100, 1) == launches(6, 128) == launches(4000, 16, "dissemination") == 1
    assert launches(14_000, 1) > 10


def chain(ranks, cycles=1):
    steps = Steps(ranks)
    for steps.cycle in range(cycles):
        for rank in range(ranks - 1):
            steps.message((RANGE, rank, rank + 1, 1), 1)
    return MessageCase(ranks, tuple(steps.made), COST_ENTRIES, COSTS)


def test_blocks_or_launches(kernels):
    """Blocks wait for each rank of a chain; on a small card sooner for too long."""

    def blocks(case, *counts, **device):
        runs = [Run(case, count=count) for count in counts]
        return [found.blocks for found in choices(kernels, *runs, **device)]

    many = [4**k for k in range(1, 9)]
    assert blocks(chain(1000), *many) == [1, 1, 1, 1, 0, 0, 0, 0]
    assert blocks(chain(1000), *many, multiprocessors=20) == [1, 1, 0, 0, 0, 0, 0, 0]
    assert blocks(make_messages("trees", "fresh", 4096), 16, 1000, 2**16) == [1, 1, 1]
    # A multiprocessor that is idle makes no other one slower: H200, 0.053 s for 1 to 128.
    assert blocks(make_messages("ring", "fresh", 4096), 1, 12, 128, 1000) == [1, 1, 1, 1]


def test_batches(kernels):
    """What takes no longer is run together, however slow; and no more memory than is of use."""

    def chosen(case, count, **device):
        [found] = choices(kernels, Run(case, count=count), **device)
        return found

    ring = chosen(make_messages("ring", "fresh", 4096), 10**5, least=10**9)
    assert ring.blocks
    assert min(ring.batches[:-1]) == ring.side_by_side == 132
    assert chosen(make_messages("ring", "fresh", 100), 10**6).side_by_side == 132 * 8
    # Launches: each action takes its time, however few realizations it has.
    slow = chosen(chain(1000, cycles=3), 10**6, least=10**9)
    assert not slow.blocks
    assert min(slow.batches[:-1]) == slow.side_by_side > 20_000
    assert slow.batch <= 4 * slow.side_by_side
    # As many as there is memory for; with few, blocks are quicker.
    fewer, few = (chosen(chain(1000), 10**5, room=room) for room in (2**24, 2**22))
    assert not fewer.blocks
    assert fewer.batch > 2 * 132
    assert few.blocks
    assert few.batch > few.side_by_side // 2


def test_what_does_not_fit_shared_memory(kernels):
    """Then the ranks are in global memory, as they are where there are several passes."""
    check(kernels, [Run(make_messages("trees", "fresh", 14_000), count=1),
                    Run(make_messages("recursive doubling", "none", 15_001), count=1)])  # fmt: skip
