"""Random cases in the public API, each with its meaning in ticks."""

from .cases import EngineCase
from .event_driven import Costs
from .public_delays import seconds
from .public_noise import random_sources


def random_pair(rng, jf):
    """A `jf.Case` and the `EngineCase` it must mean; times are whole ticks, so nothing rounds."""
    log2_ranks = rng.choice([0, 1, 2, 3, 4, 5, 6, 7])
    ranks = 1 << log2_ranks
    message_bytes = rng.choice([1, 8, 1000])
    network, message, question = _random_network(rng, jf, message_bytes)
    algorithm, forward, meaning = _random_algorithm(rng, jf, log2_ranks)
    cycles = rng.randint(1, 3)
    work = rng.choice([0, 1, 10**6, 7_000_123])
    noise, sources = random_sources(rng, jf, ranks, message[2])
    case = jf.Case(ranks, algorithm=algorithm, network=network, noise=noise,
                   message_bytes=message_bytes, cycles=cycles, compute_time=seconds(work),
                   observe=rng.choice(["completion", "rounds"]))  # fmt: skip
    patience = meaning.pop("patience")
    ask, request = question if meaning["asked"] else (0, 0)
    costs = Costs(*message, work, forward, patience, ask, request)
    exact = EngineCase(log2_ranks, costs, cycles=cycles, seed=rng.getrandbits(64),
                       realization=rng.getrandbits(32), others=sources, **meaning)  # fmt: skip
    return case, exact


def _random_network(rng, jf, n):
    """A network, (send, receive, transit, combine) in ticks for messages of n bytes, and (CPU time
    of asking for a copy, way of the question): a message of 0 bytes, with LogGOPS of 1.
    """
    gamma = rng.choice([0, 1, 100])
    latency, per_byte = rng.choice([(0, 0), (100_000, 1_000), (1_000_000, 1_000), (7, 3), (1, 0)])
    if rng.random() < 0.5:
        network = jf.Hockney(seconds(latency), seconds(per_byte), gamma=seconds(gamma))
        return network, (0, 0, latency + per_byte * n, gamma * n), (0, latency)
    overhead, overhead_per_byte = rng.choice([(0, 0), (1_000, 0), (50_000, 7)])
    network = jf.LogGOPS(L=seconds(latency), o=seconds(overhead), G=seconds(per_byte),
                         O=seconds(overhead_per_byte), gamma=seconds(gamma))  # fmt: skip
    cpu = overhead + overhead_per_byte * n
    question = overhead + overhead_per_byte, latency
    return network, (cpu, cpu, latency + per_byte * (n - 1), gamma * n), question


def _random_algorithm(rng, jf, log2_ranks):
    within = rng.choice([None, "all", "some"])
    levels = () if within is None else tuple(range(1, log2_ranks))
    if within == "some":
        levels = tuple(level for level in levels if rng.random() < 0.5)
        within = list(levels)
    after = rng.choice([0, rng.randint(0, log2_ranks)])
    forward = rng.choice([0, 1_000, 12_345]) if after else 0
    options, patience, mirrors, asked = {"copy_levels": within}, 0, (1,), ()
    most = 1 << max(levels, default=0)  # mirrors beyond it hold no data of these levels
    if levels and rng.random() < 0.3:
        options["mirrors"] = mirrors = tuple(
            rng.sample(range(1, most), min(rng.randint(1, 3), most - 1))
        )
    elif not levels and rng.random() < 0.5:
        asked = tuple(level for level in range(1, log2_ranks + 1) if rng.random() < 0.5)
        patience = rng.choice([0, 50_000, 1_500_000]) if asked else 0
        options = {"on_demand": asked or None, "patience": seconds(patience)}
    algorithm = jf.Butterfly(exchanges_after=after, forward_cost=seconds(forward), **options)
    meaning = {"within": levels, "after": after, "mirrors": mirrors, "asked": asked,
               "patience": patience}  # fmt: skip
    return algorithm, forward, meaning
