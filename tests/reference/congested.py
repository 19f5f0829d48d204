"""Reference of congestion within a collective: which messages share links.

Rounds are taken from the rules alone: a round's original messages and the copies that leave right
after them are one level, in the order of their senders; forwards are levels behind all of these.
How they are routed and counted is congestion.py's.
"""

from dataclasses import dataclass

from . import congestion, philox
from .noise import MAX, MIN, Source
from .philox import MIRROR_STEPS

COPY = 1
EXCHANGE, FORWARD, MESSAGE = 2, 3, 5


@dataclass(frozen=True, eq=False)
class Congested(Source):
    """Delays of messages in ticks, by (message, cycle, number, receiver).

    `network`: the engine's; `used`: how many hosts of it are.
    """

    delays: dict
    network: object
    used: int
    perturbation: str
    node_ranks = 1
    begin, end = MIN, MAX
    role = "congestion"

    def late(self, message, receiver, cycle, number):
        return self.delays[message, cycle, number, receiver]

    def apply(self, core, program, whole=False):
        kinds = ("none", "rand", "bisect", "bisect_fb")
        given = core.CongestionProgram(
            hosts=self.network.hosts, used=self.used, ranks=program.ranks,
            perturbation=kinds.index(self.perturbation), offsets=[0], senders=[], receivers=[],
            chain=[])  # fmt: skip
        self.network.give(given, whole=whole or program.has_copies)
        program.add_congestion(given)


def butterfly(log2_ranks, within, mirrors, after, cycles):
    """Levels of (message, cycle, number, sender, receiver)."""
    everyone = range(1 << log2_ranks)
    levels = []
    for cycle in range(cycles):
        for r in range(log2_ranks):
            level = [("original", cycle, r, i, i ^ 1 << r) for i in everyone]
            if r in within:
                level += [("copy", cycle, r - 1 + MIRROR_STEPS * k, i, i ^ mask)
                          for k, mask in enumerate(mirrors) if mask < 1 << r
                          for i in everyone]  # fmt: skip
            levels.append(level)
    for cycle in range(cycles):
        for m in range(after):
            levels.append([("forward", cycle, m, i, i ^ 1 << m) for i in everyone])
    return levels


def collective(steps, ranks, cycles):
    """The same of a cycle's steps as a user has them; and bytes by message, number, receiver."""
    levels, forwards, rounds, sizes = [], [], {}, {}
    power = 1 << ranks.bit_length() - 1
    for cycle in range(cycles):
        before = None
        for step in steps:
            if step.kind == MESSAGE:
                pairs = sorted(step.partners.pairs(ranks))
                for number in range(step.round, step.round + step.repeat):
                    if (cycle, number) not in rounds:  # else of other ranks in the same round
                        rounds[cycle, number] = []
                        levels.append(rounds[cycle, number])
                    rounds[cycle, number] += [("original", cycle, number, a, b) for a, b in pairs]
                    sizes |= {("original", number, b): step.bytes for _, b in pairs}
            elif step.kind == EXCHANGE:
                r = step.round
                level = [("original", cycle, r, i, i ^ 1 << r) for i in range(power)]
                if before.flags & COPY:
                    level += [("copy", cycle, r - 1, i, i ^ 1) for i in range(power)]
                levels.append(level)
            elif step.kind == FORWARD:
                joined = [i for i in range(ranks) if i ^ 1 << step.round < ranks]
                forwards.append([("forward", cycle, step.round, i, i ^ 1 << step.round)
                                 for i in joined])  # fmt: skip
            before = step
    return levels + forwards, sizes


def congested(levels, ranks, load, trees, hosts, perturbation, seed, realization):
    """The source; `load`: ticks on a link by (message, number, receiver).

    `trees`: the plain one and the engine's. `hosts`: of the ranks and of those that perturb them.
    """
    plain, network = trees
    pairs = [[(sender, receiver) for *_, sender, receiver in level] for level in levels]
    numbers = []
    for (message, cycle, number, *_), *_ in levels:
        kind = 1 << 46 if message == "forward" else 0
        numbers.append(kind | philox.draw_of_step(cycle, number))
    _, found = congestion.realization(
        plain, hosts, ranks, pairs, perturbation, seed, realization, numbers
    )
    delays = {}
    for level, (_, own, w) in zip(levels, found, strict=True):
        assert own == len(level)
        for (message, cycle, number, _, receiver), loads in zip(level, w, strict=False):
            key = message, cycle, number, receiver
            assert key not in delays, "a rank has several messages under way at once"
            delays[key] = (max(loads, 1) - 1) * load(message, number, receiver)
    return Congested(delays, network, hosts, perturbation)
