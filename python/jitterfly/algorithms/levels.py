"""The messages of an algorithm, level by level: as patterns of congestion have them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..steps import ASK, COPY, EXCHANGE, FORWARD, MESSAGE, Step
from .schedule import power_below

Level = npt.NDArray[np.uint32]


def message_levels(steps: Sequence[Step], ranks: int, mirrors: Sequence[int]) -> list[Level]:
    """Sender and receiver of each message, for each level that has any.

    Steps with the same draws are one level, and copies go with the messages of the next round, as
    under `Congestion`.
    """
    levels: dict[tuple[int, int], list[Level]] = {}
    for before, step in pairwise([Step(MESSAGE), *steps]):
        if step.flags & ASK:
            raise ValueError("copies on demand have no levels: who asks depends on the noise")
        if step.kind == MESSAGE and step.partners is not None:
            pairs = np.array(step.partners.pairs(ranks), np.uint32).reshape(-1, 2)
            for turn in range(step.repeat):
                levels.setdefault((MESSAGE, step.round + turn), []).append(pairs)
        elif step.kind in (EXCHANGE, FORWARD):
            level = levels.setdefault((step.kind, step.round), [])
            # The hypercube's are among as many ranks as the largest power of two.
            among = power_below(ranks) if step.kind == EXCHANGE else ranks
            level.append(_exchange(1 << step.round, among))
            if step.kind == EXCHANGE and before.flags & COPY:
                # Of the data that these messages carry.
                level += [_exchange(m, among) for m in mirrors if m >> step.round == 0]
    whole = [np.concatenate(level) for level in levels.values()]
    return [level for level in whole if len(level)]


def _exchange(mask: int, ranks: int) -> Level:
    senders = np.arange(ranks, dtype=np.uint32)
    pairs = np.stack([senders, senders ^ np.uint32(mask)], axis=1)
    return pairs[pairs[:, 1] < ranks]
