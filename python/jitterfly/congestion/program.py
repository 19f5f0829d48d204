"""From a case to a program of the engine."""

from __future__ import annotations

import numpy as np

from .. import _core
from .case import PERTURBATIONS, CongestionCase

NO_MESSAGE = 2**32 - 1


def compile_congestion(case: CongestionCase, whole: bool = False) -> _core.CongestionProgram:
    """The engine's program; whole: with a counter for every edge, needed or not."""
    levels = case.levels()
    sizes = [len(level) for level in levels]
    pairs = np.concatenate([*levels, np.zeros((0, 2), np.uint32)])
    # The chain 0 -> 1 -> 3 -> 7 ...: at level l of the tree, the message of its last sender.
    full = [len(level) == 2**number for number, level in enumerate(levels)]
    chain = [
        2**number - 1 if case.pattern == "tree" and full[number] else NO_MESSAGE
        for number in range(len(levels))
    ]
    program = _core.CongestionProgram(
        hosts=case.network.hosts,
        used=int(case.ranks or 0),
        ranks=case.z,
        perturbation=PERTURBATIONS.index(case.perturbation),
        offsets=np.cumsum([0, *sizes]).astype(np.uint32),
        senders=np.ascontiguousarray(pairs[:, 0]),
        receivers=np.ascontiguousarray(pairs[:, 1]),
        chain=np.array(chain, np.uint32),
    )
    case.network.give(program, whole)
    return program
