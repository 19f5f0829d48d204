"""Every kind of noise on every program, cuda against cpu, bit by bit: `python -m gpu.compare 16`.

The number is log2 of the most ranks. With `few` there is one noise for each path through the
kernels, on programs small enough for the sanitizer, which slows a kernel down a hundred times and
more. Sizes that take different kernels come first, as the time on a device may end.

A case that differs does not end the comparison, and what it found so far is printed as it goes on.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from bench import measure, sources
from bench.collectives import SHAPES

from jitterfly import (
    Case,
    Exponential,
    LogGOPS,
    MessageNoise,
    PeriodicNoise,
    RenewalNoise,
    StepNoise,
    simulate,
    simulate_schedule,
)
from jitterfly.noise import Noise

from .schedules import SCHEDULE_NETWORK, write_schedule

# A block holds many machines (up to 2^9 ranks), one (2^12), or there are tiles of a machine.
SIZES = (2, 11, 14, 5, 13, 9, 16, 4)
PATHS = (
    "no noise", "periodic", "long periodic", "+ jitter", "renewal, Pareto", "trace",
    "send, Bernoulli", "step, exponential", "step, 1000 samples", "step, 99 bins",
    "message, Bernoulli", "a list",
)  # fmt: skip
# Ranks, realizations, and how many with `few`: several in a block, or one.
COLLECTIVES = ((5, 1000, 205), (63, 300, 17), (500, 40, 3))
ALLTOALLS = [f"{name}_alltoall" for name in ("linear", "pairwise", "bruck")]
NETWORK = LogGOPS(L="1us", o="100ns", g="200ns", G="1ns", gamma="0.1ns")
MAX_FAILURES = 20  # after an illegal access every call fails

Ticks = Callable[[str], np.ndarray]  # of a backend


def all_noises() -> dict[str, list[Noise]]:
    """By name: those of the benchmarks, times of more than 32 bits, and nearly all in a list."""
    found = {**measure.NOISES, **sources.SOURCES}
    found["long periodic"] = [PeriodicNoise("50ms", "1ms")]
    found["a list"] = [
        *(one for noise in sources.SOURCES.values() for one in noise if one.kind != "speed"),
        RenewalNoise("1ms", Exponential("5us"), start="stationary", shared=2, during="compute"),
        StepNoise("3us", probability=0.1, shared="machine", begin="2us", end="20us"),
        MessageNoise("2us", probability=0.1, shared=2, end="5us"),
    ]
    return found


def is_long(case: Case, log2_ranks: int, few: bool) -> bool:
    """Copies that overtake other messages: one block sweeps nearly the whole machine."""
    late = any(source.kind in ("jitter", "message") for source in case.noise)
    return bool(case.algorithm.copy_levels) and late and log2_ranks > (5 if few else 11)


def runs(
    noises: dict[str, list[Noise]], largest: int, few: bool
) -> Iterator[tuple[str, str, Ticks]]:
    """What is compared, with the names of its part and of its program, in order."""

    def simulated(case: Case, realizations: int = 3) -> Ticks:
        return lambda backend: simulate(case, realizations, seed=7, backend=backend).ticks

    def scheduled(noise: list[Noise]) -> Ticks:
        return lambda backend: (
            simulate_schedule(
                "app.goal", SCHEDULE_NETWORK, noise, 37, seed=7, backend=backend, order_checks=0
            ).ticks
        )

    write_schedule("app.goal", 16, 3)
    for label, noise in noises.items():
        yield "schedules", label, scheduled(noise)
    for ranks, many, some in COLLECTIVES:
        for name, algorithm in {**SHAPES, **{kind: kind for kind in ALLTOALLS}}.items():
            case = Case(ranks, network=NETWORK, algorithm=algorithm, noise=noises["periodic"])
            yield f"{ranks} ranks, collectives", name, simulated(case, some if few else many)
    for log2_ranks in SIZES:
        if log2_ranks > largest or (few and log2_ranks in (4, 9)):
            continue
        for label, noise in noises.items():
            cases = sources.programs(2**log2_ranks, noise)
            if label != "speed":  # which redundant exchanges refuse
                cases |= measure.programs(2**log2_ranks, noise)
            for name, case in cases.items():
                if is_long(case, log2_ranks, few) or (few and case.cycles > 1 and log2_ranks > 2):
                    continue
                yield f"2^{log2_ranks} ranks, {label}", name, simulated(case)


def difference(ticks: Ticks) -> str:
    """What differs between the backends, or an error; nothing where all bits are the same."""
    try:
        found, expected = ticks("cuda"), ticks("cpu")
    except RuntimeError as error:  # such as BackendError; the next cases may be well
        return f"{type(error).__name__}: {error}"
    if np.array_equal(found, expected):
        return ""
    if found.shape != expected.shape:
        return f"shape {found.shape}, {expected.shape} on the CPU"
    places = np.argwhere(found != expected)
    first = tuple(places[0])
    return (
        f"{len(places)} of {found.size} values differ, the first at {[*map(int, first)]}: "
        f"{found[first]}, {expected[first]} on the CPU"
    )


def main() -> int:
    largest, few = int(sys.argv[1]), "few" in sys.argv[2:]
    noises = all_noises()
    if few:
        noises = {name: noises[name] for name in PATHS}
    compared = failures = 0
    last = ""
    for part, name, ticks in runs(noises, largest, few):
        if part != last:
            print(f"{compared} cases so far, {failures} differ; now {part}", flush=True)
        last = part
        compared += 1
        if wrong := difference(ticks):
            failures += 1
            print(f"DIFFERS: {part}, {name}: {wrong}", flush=True)
        if failures == MAX_FAILURES:
            break
    if failures:
        print(f"{compared} cases: {failures} differ")
        return 1
    print(f"{compared} cases: cuda equals cpu bit for bit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
