"""NCCL tuning file: CSV lines for NCCL's example tuner plugin.

A line has collective, least and largest bytes (both belong to it), algorithm, protocol, channels,
nodes and ranks; -1 is any. The plugin takes the first line that fits, and leaves NCCL its choice
where none does. Ranks are one number, so that a choice holds for the numbers that were asked for
alone. A line longer than 255 characters is cut by its reader, and what is cut off is taken for a
line of its own: comments are folded.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from ...fields import check_choice, parameter
from .table import TuningFormat, TuningTable

PROTOCOLS = ("ll", "ll128", "simple")
"""NCCL's ways to write a message, each with other latencies and bandwidths."""

_COLLECTIVES = {
    "allgather": "allgather",
    "allreduce": "allreduce",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "reduce_scatter": "reducescatter",
}
_IN_NETWORK = {
    "CollNetDirect": "collnet_direct",
    "CollNetChain": "collnet_chain",
    "NVLS": "nvls",
    "NVLSTree": "nvls_tree",
}
"""What the plugin calls those in which switches combine; they have the protocol simple alone."""
_ANY = "-1"
_WIDTH = 120


class NCCL(TuningFormat):
    """Lines for the tuner plugin; its settings are the protocol."""

    NAME = "nccl.csv"
    TITLE = "NCCL's tuner plugin"
    LIBRARY = "nccl"
    CALLED = "NCCL"
    SUFFIX = ".csv"
    OPTIONS = ("protocol",)

    def settings(self, name: str, *, protocol: str | None = None) -> str:
        if protocol is None:
            raise ValueError(
                f"{parameter('protocol')} must be given for {name}, as each line of it names one: "
                f"of {', '.join(PROTOCOLS)} the one whose costs the network's are"
            )
        check_choice(protocol, "protocol", list(PROTOCOLS))
        return protocol

    def supports(self, collective: str, called: str, protocol: str | None) -> bool:
        if called in _IN_NETWORK and protocol not in (None, "simple"):
            return False
        return collective in _COLLECTIVES  # there is no barrier

    def usage_lines(self, path: Path) -> list[str]:
        return [
            "To use it: build plugins/tuner/example of NCCL's sources, then "
            f"NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE={path.name} ...",
            "The plugin of NCCL 2.30 gives every call one channel unless a line has a number of "
            "them: put yours in place of the first -1 of a line. Calls without a line have one as "
            "well.",
        ]

    def notes(self, protocol: str) -> list[str]:
        said = [
            "A choice holds for the very ranks below, on any number of nodes, up to the next "
            "message size; elsewhere NCCL chooses algorithm and protocol.",
            "The ring was simulated as one ring over all ranks in order, each with one link. NCCL "
            "runs several rings (channels) over all NICs of a node.",
        ]
        if protocol != "simple":
            said.append(
                "The tree was simulated in segments of 512 KiB, which are those of simple, not of "
                f"{protocol}."
            )
        return said

    def write(self, tables: Sequence[TuningTable], comments: Sequence[str], protocol: str) -> str:
        text = [line for comment in comments for line in _comment(comment)]
        text += ["#", "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks"]
        for table in tables:
            for ranks in table.question.ranks:
                for row in table.ranges(ranks):
                    if row.choice.called:
                        what = _COLLECTIVES[table.collective], row.first, row.last
                        called = row.choice.called
                        algorithm = _IN_NETWORK.get(called, called.lower())
                        how = algorithm, protocol, _ANY, _ANY, ranks
                        text.append(",".join(map(str, (*what, *how))))
        return "\n".join(text) + "\n"


def _comment(line: str) -> list[str]:
    """Return a text as lines of comment."""
    folded = textwrap.wrap(line, _WIDTH, break_on_hyphens=False)
    return [f"# {part}" for part in folded] or ["#"]
