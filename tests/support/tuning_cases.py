"""Made-up answers of `advise`, to write tuning files of."""

import json
import math

import jitterfly as jf
from jitterfly.advice import Advice, AdviceCell, RankedCandidate
from jitterfly.advice.question import Question
from jitterfly.stats import Estimate

from .advice_cases import MACHINE, NOISE


def estimate(value, low=None, high=None):
    return Estimate(
        value, value if low is None else low, value if high is None else high, 0.95, 1000
    )


def ranked(name, state, ratio=(1.0, 1.0), versus=""):
    """A candidate that takes so many times as long as another one, at least and at most."""
    low, high = ratio
    nothing = estimate(math.nan)
    return RankedCandidate(
        name, state, estimate(2e-6 * low, 1.9e-6, 3e-6), 1e-6, estimate(2.0), versus,
        estimate(math.sqrt(low * high), low, high), estimate(0.0), nothing, 1000, 1, 1000,
    )  # fmt: skip


def two(best, other, ratio=(1.2, 1.5)):
    """A ranking of two candidates, of which the first is the best."""
    return [ranked(best, "best"), ranked(other, "slower", ratio, best)]


def undecided(first, second):
    """A ranking of two candidates that are not told apart."""
    return [ranked(first, "perhaps"), ranked(second, "perhaps", (0.8, 1.5), first)]


def answer(cells, collective="allreduce", **fields):
    """Of rankings by ranks and bytes: (outcome, candidates)."""
    question = Question(
        ranks=sorted({ranks for ranks, _ in cells}),
        message_bytes=sorted({size for _, size in cells}),
        collective=collective,
        network=MACHINE,
        noise=NOISE,
        **fields,
    )
    made = tuple(
        AdviceCell(*place, cells[place][0], tuple(cells[place][1]), {}, 1000)
        for place in question.cells
    )
    return Advice(question, made, "decided", 1000, 1.0)


def won_by(name, ranks, sizes, collective="allreduce", other=None):
    """One candidate wins everywhere, against another one of the library."""
    names = [one for one, candidate in jf.advice.known(collective).items() if candidate.called]
    other = other or next(one for one in names if one != name)
    ranking = two(name, other, (1.5, 2.0))
    cells = {(n, m): ("winner", ranking) for n in ranks for m in sizes}
    there = jf.advice.known(collective)
    named = {} if there[name].usual and there[other].usual else {"candidates": [name, other]}
    return answer(cells, collective, **named)


TREE = {
    "collective=allreduce": {
        "comm_type=intra": {
            "avg_msg_size<=2048": {"algorithm=MPIR_Allreduce_intra_smp": {}},
            "avg_msg_size=any": {
                "comm_size<8": {"algorithm=MPIR_Allreduce_intra_tree": {}},
                "comm_size=any": {"algorithm=MPIR_Allreduce_intra_recexch": {}},
            },
        },
        "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}},
    },
    "collective=allgather": {"algorithm=MPIR_Allgather_allcomm_nb": {}},
    "collective=bcast": {"comm_type=intra": {"algorithm=MPIR_Bcast_intra_smp": {}}},
}
"""Decisions that a library could take, in MPICH's words."""

NAMES = ("Allreduce_intra_recursive_doubling", "Allreduce_intra_ring", "Allgather_intra_ring",
         "Allreduce_intra_reduce_scatter_allgather", "Allgather_intra_recursive_doubling",
         "Allgather_intra_brucks", "Bcast_intra_binomial")  # fmt: skip


def mpich_library(path, tree=TREE, names=NAMES):
    """A file that holds what is read of MPICH's library: its trees, and the names it knows."""
    device = {"collective=bcast": {"composition=MPIDI_Bcast_intra_composition_alpha": {}}}
    parts = [b"\x7fELF", json.dumps(device).encode()]
    parts += [] if tree is None else [json.dumps(tree, separators=(",", ":")).encode()]
    parts += [f"algorithm=MPIR_{name}".encode() for name in names]
    path.write_bytes(b"\0\0".join(parts) + b"\0")
    return path


def holds(key, facts):
    """Whether a condition of MPICH's tree holds: as `MPIR_Csel_search`, traps and all."""
    if key.endswith("=any"):
        return True
    for name in ("comm_size", "avg_msg_size", "total_msg_size"):
        if key == "comm_size=pow2":
            return facts["comm_size"] & (facts["comm_size"] - 1) == 0
        if key.startswith(f"{name}<="):
            return facts[name] <= int(key.partition("<=")[2])
        if key.startswith(f"{name}<"):
            # Below a condition on messages, the reader takes < for <= where it is about ranks.
            off = name == "comm_size" and facts["searching"]
            return facts[name] < int(key.partition("<")[2]) + off
    if key == "count<pow2":
        return facts["count"] < 2 ** (facts["comm_size"].bit_length() - 1)
    assert "=" in key, key
    name, _, value = key.partition("=")
    return facts[name] == value


def taken_from_tree(tree, collective, **facts):
    """The algorithm, or None where no branch fits: MPICH aborts the program there."""
    usual = {"comm_type": "intra", "is_commutative": "yes", "is_op_built_in": "yes", "count": 2**20}
    facts = {**usual, "searching": False, **facts}
    node = tree[f"collective={collective}"]
    while node is not None:
        key = next(iter(node))
        if key.startswith("algorithm="):
            return key.removeprefix("algorithm=MPIR_")
        facts["searching"] |= "msg_size" in key or key.startswith("is_sendbuf")  # of one call
        node = next((value for key, value in node.items() if holds(key, facts)), None)
    return None
