"""Messages of a candidate algorithm's schedule, to compare with those that an MPI library sends."""

import re
from collections import Counter

from jitterfly import Case
from jitterfly.advice import known
from jitterfly.goal_export import goal_schedule

from .advice_cases import MACHINE


def simulated(collective, name, count, ranks):
    """Messages and bytes from each rank to each other one."""
    return messages_of(known(collective)[name].make(ranks, MACHINE, count), count, ranks)


def messages_of(algorithm, count, ranks):
    """The same of an algorithm."""
    case = Case(ranks=ranks, algorithm=algorithm, network=MACHINE, message_bytes=count)
    messages, sizes = Counter(), Counter()
    text = goal_schedule(case).text
    for rank, block in re.findall(r"^rank (\d+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        for size, target in re.findall(r"send (\d+)b to (\d+)", block):
            messages[int(rank), int(target)] += 1
            sizes[int(rank), int(target)] += int(size)
    return {pair: (messages[pair], sizes[pair]) for pair in messages}
