"""MPICH tuning file: JSON decision tree of collective selection (csel), MPICH 4.0 and later.

The tree that a file holds takes the place of all that the library would choose, in every
collective, and a path through it that ends without an algorithm aborts the program. So the file is
the library's own tree, read from the library, with the choices as further branches. Its reader has
five more traps:

- It compares nothing with what an algorithm needs, such as a power of two of ranks or an operation
  that commutes. Branches before the algorithm do.
- ``comm_size<N`` below a condition on messages is read as ``<=``. Here it is ``<= N - 1``.
- Sizes are 32-bit integers.
- An algorithm that it does not know aborts the program. Only names that the library holds are
  written.
- It reads on behind a file that ends where a page of memory does. Such a file gets a byte more.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...fields import parameter
from ...files import read_whole
from ..question import Question
from .table import SizeRange, TuningFormat, TuningTable

_MAX_BYTES = 2**31 - 1  # of a size: the reader uses atoi
_PAGE = 4096  # bytes: the smallest page; larger ones are multiples of it

# Name of the collective in the tree and in names of algorithms, and what counts a message's bytes.
_COLLECTIVES = {
    "allgather": ("allgather", "Allgather", "total_msg_size"),
    "allreduce": ("allreduce", "Allreduce", "avg_msg_size"),
    "barrier": ("barrier", "Barrier", ""),
    "broadcast": ("bcast", "Bcast", "avg_msg_size"),
    "reduce": ("reduce", "Reduce", "avg_msg_size"),
    "reduce_scatter": ("reduce_scatter", "Reduce_scatter", "total_msg_size"),
}
# Conditions under which an algorithm is right (`restrictions` in coll_algorithms.txt), the outer
# one first: the branch that leads to the algorithm, and the one that leads to the default.
_COMMUTES = ("is_commutative=yes", "is_commutative=no")
_BUILT_IN = ("is_op_built_in=yes", "is_op_built_in=no")
_POWER_OF_TWO = ("comm_size=pow2", "comm_size=any")
_ENOUGH_ELEMENTS = ("count=any", "count<pow2")
_CONDITIONS = {
    ("allgather", "recursive_doubling"): (_POWER_OF_TWO,),
    ("allreduce", "reduce_scatter_allgather"): (_BUILT_IN, _ENOUGH_ELEMENTS),
    ("allreduce", "ring"): (_COMMUTES,),
    ("broadcast", "scatter_recursive_doubling_allgather"): (_POWER_OF_TWO,),
    ("reduce", "reduce_scatter_gather"): (_BUILT_IN, _ENOUGH_ELEMENTS),
    ("reduce_scatter", "pairwise"): (_COMMUTES,),
    ("reduce_scatter", "recursive_halving"): (_COMMUTES,),
}
_TREE = re.compile(rb'\{"collective=[^\0]{2,1000000}\}(?=\0)')


@dataclass(frozen=True)
class MpichLibrary:
    """The answers of MPICH's library about itself.

    Attributes
    ----------
    name, sha256 : str
        Of the file.
    tree : dict
        The decisions that it takes without a file.
    algorithms : frozenset of str
        Those that its reader knows, such as "MPIR_Allreduce_intra_ring".
    """

    name: str
    sha256: str
    tree: dict[str, Any]
    algorithms: frozenset[str]


class MPICH(TuningFormat):
    """A decision tree in JSON; its settings are the library."""

    NAME = "mpich.json"
    TITLE = "MPICH 4.0 and later"
    LIBRARY = "mpich"
    CALLED = "MPICH"
    SUFFIX = ".json"
    COMMENTS_INSIDE = False
    OPTIONS = ("libmpi",)

    def settings(self, name: str, *, libmpi: str | Path | None = None) -> MpichLibrary:
        if libmpi is None:
            raise ValueError(
                f"{parameter('libmpi')} must be given for {name}: MPICH's shared library, such as "
                "libmpi.so.12 (ldd PROGRAM tells its path). What is not decided is copied from "
                "the library's own tree"
            )
        path = Path(libmpi)
        data = read_whole(path)
        # A device's trees (MPIDI_...) stand beside it: they choose how levels are composed.
        trees = [text for text in _TREE.findall(data) if b'"algorithm=MPIR_' in text]
        try:
            tree = json.loads(trees[0]) if len(trees) == 1 else None
        except ValueError:
            tree = None
        if not isinstance(tree, dict):
            raise ValueError(
                f"{parameter('libmpi')} must be MPICH's shared library (4.0 or later) with its "
                f"decision tree, such as libmpi.so.12, got {path}"
            )
        known = re.findall(rb"\0algorithm=(MPIR_[A-Za-z0-9_]{1,100})(?=\0)", data)
        algorithms = frozenset(one.decode() for one in known)
        return MpichLibrary(path.name, hashlib.sha256(data).hexdigest(), tree, algorithms)

    def supports(self, collective: str, called: str, library: MpichLibrary | None) -> bool:
        if collective not in _COLLECTIVES:
            return False
        return library is None or _algorithm(collective, called) in library.algorithms

    def check_sizes(self, question: Question, library: MpichLibrary) -> None:
        times = max(question.ranks) if question.collective == "allgather" else 1
        most = max(question.message_bytes) * times
        if most > _MAX_BYTES:
            of_all = f" on {times:,} ranks together" if times > 1 else ""
            raise ValueError(
                f"message_bytes must be at most 2^31 - 1 bytes{of_all} for MPICH's tree, got "
                f"{most:,}"
            )

    def usage_lines(self, path: Path) -> list[str]:
        return [
            f"To use it: MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={path.name} "
            "MPIR_CVAR_DEVICE_COLLECTIVES=none mpiexec ...",
            "Without the latter, MPICH's device composes collectives of those within nodes and "
            "between",
            "them, and the file decides for these parts.",
        ]

    def notes(self, library: MpichLibrary) -> list[str]:
        return [
            "A choice holds up to the next ranks and the next message size below; elsewhere is the",
            f"tree of {library.name}, sha256 {library.sha256[:16]}.",
        ]

    def write(
        self, tables: Sequence[TuningTable], comments: Sequence[str], library: MpichLibrary
    ) -> str:
        tree = dict(library.tree)
        for table in tables:
            key = f"collective={_COLLECTIVES[table.collective][0]}"
            own = tree[key]
            if "comm_type=intra" in own:
                tree[key] = own | {"comm_type=intra": _branches(table, own["comm_type=intra"])}
            else:
                tree[key] = {"comm_type=intra": _branches(table, own), "comm_type=inter": own}
        text = json.dumps(tree, indent=1) + "\n"
        return text if len(text) % _PAGE else text + "\n"


def _algorithm(collective: str, called: str) -> str:
    return f"MPIR_{_COLLECTIVES[collective][1]}_intra_{called}"


def _branches(table: TuningTable, own: dict[str, Any]) -> dict[str, Any]:
    """The choices for a collective among the ranks of one communicator; `own` elsewhere."""
    own = _plain(own)
    found: dict[str, Any] = {}
    ranks = table.question.ranks
    if ranks[0] > 1:
        found[f"comm_size<={ranks[0] - 1}"] = own
    for count in ranks:
        found[f"comm_size<={table.last_ranks(count)}"] = _branches_by_size(table, count, own)
    return found | {"comm_size=any": own}


def _branches_by_size(table: TuningTable, ranks: int, own: dict[str, Any]) -> dict[str, Any]:
    """Return the choices by message size on `ranks` ranks; `own` is MPICH's own choice."""
    rows = table.ranges(ranks)
    if rows[0].last is None:
        return _branch_of_choice(table.collective, rows[0], own)
    size = _COLLECTIVES[table.collective][2]
    found: dict[str, Any] = {}
    if rows[0].first > 0:
        found[f"{size}<={rows[0].first - 1}"] = own
    for row in rows:
        found[f"{size}<={row.last}"] = _branch_of_choice(table.collective, row, own)
    return found | {f"{size}=any": own}


def _branch_of_choice(collective: str, row: SizeRange, own: dict[str, Any]) -> dict[str, Any]:
    """Return a choice below the conditions of its algorithm; `own` where these do not hold."""
    called = row.choice.called
    if not called:
        return own
    found: dict[str, Any] = {f"algorithm={_algorithm(collective, called)}": {}}
    for taken, otherwise in reversed(_CONDITIONS.get((collective, called), ())):
        branches = {taken: found, otherwise: own}
        # One that always holds stands last.
        found = dict(sorted(branches.items(), key=lambda item: item[0].endswith("=any")))
    return found


def _plain(tree: dict[str, Any]) -> dict[str, Any]:
    """A tree without ``comm_size<N``, for below a condition on messages."""
    return {
        re.sub(r"^comm_size<(\d+)$", lambda match: f"comm_size<={int(match[1]) - 1}", key): (
            _plain(value)
        )
        for key, value in tree.items()
    }
