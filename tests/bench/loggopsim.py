"""Benchmark against LogGOPSim (Hoefler, Schneider & Lumsdaine 2010), where its binary is installed.

It reads a schedule (GOAL) and prints when the last rank is done; its converter `txt2bin` must lie
beside it. Its noise is a trace replayed from an offset that it draws from the clock, so no run of
it under noise can be repeated: here ranks start at different times instead, after a compute phase
under our noise, and the collective itself is quiet. Messages are one byte: it charges the gap of
further bytes to the receiver's CPU, we to the transit.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jitterfly.case import Case
from jitterfly.network import LogGOPS
from jitterfly.noise import PeriodicNoise
from jitterfly.simulate import ready_times, simulate

from .measure import CPU, SEED, Contestant, DisagreementError, calibrate, engine, measure, spread

NAME, NOISE = "LogGOPSim", "at start"
LATENCY, OVERHEAD, COMBINE = 1000, 100, 1  # ns, as are all its times
MAX_RANKS = 2**16
"""The schedule is a text of about 100 bytes per rank and round."""


def tools(path: str) -> tuple[Path, Path]:
    """The simulator and its converter, if both are there."""
    simulator = Path(path)
    converter = simulator.with_name("txt2bin")
    for tool in (simulator, converter):
        if not tool.is_file():
            raise ValueError(f"loggopsim must name LogGOPSim, with txt2bin beside it: no {tool}")
    return simulator, converter


def case_of(ranks: int, overhead: int, skewed: bool) -> Case:
    """Conventional butterfly of one-byte messages; `skewed`: ranks start at different times.

    Then noise of whole ns hits a compute phase that comes first, at phases that are known.
    """
    generator = np.random.Generator(np.random.Philox(SEED))
    noise = [
        PeriodicNoise(period, duration, during="compute",
                      phases=1e-9 * generator.integers(0, round(1e9 * period), ranks))
        for period, duration in ((1e-4, 1e-5), (1.3e-4, 3e-6))
    ]  # fmt: skip
    return Case(ranks, network=LogGOPS(L=1e-9 * LATENCY, o=1e-9 * overhead, G=1e-9,
                                       gamma=1e-9 * COMBINE),
                noise=noise if skewed else [], compute_time="150us" if skewed else 0.0,
                message_bytes=1)  # fmt: skip


def starts_of(case: Case) -> list[int]:
    """When each rank starts the collective, in ns."""
    if not case.noise:
        return [0] * case.ranks
    return [int(t) for t in np.rint(1e9 * ready_times(case, SEED, 0)[0])]


def goal_schedule(starts: Sequence[int], combine: int) -> str:
    """The butterfly as GOAL text: each rank computes until its start, then exchanges.

    A round's send and receive both need the whole round before, so every delay is passed on.
    """
    rounds = len(starts).bit_length() - 1
    lines = [f"num_ranks {len(starts)}"]
    for rank, start in enumerate(starts):
        lines += ["", f"rank {rank} {{", f"c0: calc {start}"]
        for number in range(rounds):
            partner, this, following = rank ^ (1 << number), f"{number}", number + 1
            lines += [
                f"s{this}: send 1b to {partner} tag {number}",
                f"s{this} requires c{number}",
                f"r{this}: recv 1b from {partner} tag {number}",
                f"r{this} requires c{number}",
                f"c{following}: calc {combine}",
                f"c{following} requires s{this}",
                f"c{following} requires r{this}",
            ]
        lines.append("}")
    return "\n".join(lines) + "\n"


class Simulator:
    """The binary with one schedule, in a directory of its own."""

    def __init__(self, path: str, folder: Path, case: Case, overhead: int) -> None:
        self.program, converter = tools(path)
        text, self.file = folder / "schedule.goal", folder / "schedule.bin"
        text.write_text(goal_schedule(starts_of(case), COMBINE), encoding="ascii")
        _call([str(converter), "-i", str(text), "-o", str(self.file)])
        self.options = ["-L", str(LATENCY), "-o", str(overhead), "-g", "0", "-G", "1", "-O", "0",
                        "-S", "65535", "-b"]  # fmt: skip

    def finish(self) -> int:
        """When the last rank is done, in ns."""
        printed = _call([str(self.program), "-f", str(self.file), *self.options])
        found = re.search(r"Maximum finishing time at host \d+: (\d+)", printed)
        if not found:
            raise ValueError(f"loggopsim: no finishing time in the output of {self.program}")
        return int(found[1])


def _call(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ValueError(f"loggopsim: {words[0]} can not be run: {error.strerror}") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it says nothing"]
        raise ValueError(f"loggopsim: {words[0]} failed ({done.returncode}): {last[0]}")
    return done.stdout


def compare(
    path: str, ranks: int, repeats: int, seconds: float, tell: Callable[[str], object]
) -> dict[str, Any]:
    """Its end times beside ours, and its speed.

    Raises
    ------
    ValueError
        It can not be run.
    DisagreementError
        It ends at another time than we do where both models are the same: if all start together,
        or if the CPU takes no time for a message. Otherwise it charges receives in the order of
        arrival and we in that of rounds, and the difference is only told.
    """
    tell(f"{NAME}: {ranks} ranks")
    checks = []
    with tempfile.TemporaryDirectory() as name:
        for overhead, skewed in ((OVERHEAD, False), (0, True), (OVERHEAD, True)):
            case = case_of(ranks, overhead, skewed)
            peer = Simulator(path, Path(name), case, overhead)
            ours = int(simulate(case, 1, seed=SEED, backend="cpu").ticks[0, 0]) // 1000
            theirs, equal = peer.finish(), not (overhead and skewed)
            if equal and theirs != ours:
                raise DisagreementError(
                    f"{NAME} ends at {theirs} ns and the engine at {ours} ns where they must agree "
                    f"({ranks} ranks, o = {overhead} ns, skewed starts: {skewed})"
                )
            checks.append({"overhead_ns": overhead, "skewed": skewed, "must_be_equal": equal,
                           "ours_ns": ours, "theirs_ns": theirs})  # fmt: skip

        def run(realizations: int) -> None:
            for _ in range(realizations):
                peer.finish()

        contest = [engine(CPU, "butterfly", NOISE, case, "cpu", 1),
                   Contestant(NAME, "butterfly", NOISE, case.rank_rounds(), run)]  # fmt: skip
        calibrate(contest, seconds, NAME, tell)
        measure(contest, repeats, NAME, tell)
    rates = [c.rates() for c in contest]
    return {
        "ranks": ranks,
        "checks": checks,
        "rank_rounds_per_second": {c.name: spread(c.rates()) for c in contest},
        "times_as_fast": spread([a / b for a, b in zip(*rates, strict=True)]),
    }


def lines(found: dict[str, Any] | None) -> list[str]:
    """What `compare` found, as text."""
    if not found:
        return []
    ratio, last = found["times_as_fast"], found["checks"][-1]
    theirs = found["rank_rounds_per_second"][NAME]["median"]
    return [
        f"{NAME}, {found['ranks']} ranks that start at different times: {theirs:.3g} "
        f"rank-rounds/s, one thread of jitterfly is {ratio['median']:.3g} times as fast "
        f"({ratio['min']:.3g} to {ratio['max']:.3g})",
        f"  ends as ours do, to the ns, with a common start or without CPU time for messages; else "
        f"at {last['theirs_ns']} ns, ours at {last['ours_ns']} ns",
    ]
