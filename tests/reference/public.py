"""Random cases as a user writes them, each with its meaning in ticks worked out by hand."""

from .cases import EngineCase
from .event_driven import Costs
from .public_delays import seconds
from .public_noise import random_sources


def random_pair(rng, jf):
    """A `jf.Case` and the `EngineCase` it must mean; times are whole ticks, so nothing rounds."""
    log2_ranks = rng.choice([0, 1, 2, 3, 4, 5, 6, 7])
    ranks = 1 << log2_ranks
    message_bytes = rng.choice([1, 8, 1000])
    network, message = _random_network(rng, jf, message_bytes)
    algorithm, within, after, forward = _random_algorithm(rng, jf, log2_ranks)
    cycles = rng.randint(1, 3)
    work = rng.choice([0, 1, 10**6, 7_000_123])
    noise, sources = random_sources(rng, jf, ranks, message[2])
    case = jf.Case(ranks, algorithm=algorithm, network=network, noise=noise,
                   message_bytes=message_bytes, cycles=cycles, work=seconds(work),
                   observe=rng.choice(["completion", "rounds"]))  # fmt: skip
    costs = Costs(*message, work=work, forward=forward)
    exact = EngineCase(log2_ranks, costs, within, after, cycles, seed=rng.getrandbits(64),
                       realization=rng.getrandbits(32), others=sources)  # fmt: skip
    return case, exact


def _random_network(rng, jf, n):
    """A network and (send, receive, transit, combine) in ticks for messages of n bytes."""
    gamma = rng.choice([0, 1, 100])
    latency, per_byte = rng.choice([(0, 0), (100_000, 1_000), (1_000_000, 1_000), (7, 3), (1, 0)])
    if rng.random() < 0.5:
        network = jf.Hockney(seconds(latency), seconds(per_byte), gamma=seconds(gamma))
        return network, (0, 0, latency + per_byte * n, gamma * n)
    overhead, overhead_per_byte = rng.choice([(0, 0), (1_000, 0), (50_000, 7)])
    network = jf.LogGOPS(L=seconds(latency), o=seconds(overhead), G=seconds(per_byte),
                         O=seconds(overhead_per_byte), gamma=seconds(gamma))  # fmt: skip
    cpu = overhead + overhead_per_byte * n
    return network, (cpu, cpu, latency + per_byte * (n - 1), gamma * n)


def _random_algorithm(rng, jf, log2_ranks):
    within = rng.choice([None, "all", "some"])
    levels = () if within is None else tuple(range(1, log2_ranks))
    if within == "some":
        levels = tuple(level for level in levels if rng.random() < 0.5)
        within = list(levels)
    after = rng.choice([0, rng.randint(0, log2_ranks)])
    forward = rng.choice([0, 1_000, 12_345]) if after else 0
    algorithm = jf.Butterfly(after=after, within=within, forward_cost=seconds(forward))
    return algorithm, levels, after, forward
