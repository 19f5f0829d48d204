"""Which ranks share the draws of a source, and when it acts."""

from __future__ import annotations

from typing import Any, Literal

from ..fields import check_choice, check_power_of_two, shorten
from ..units import to_ticks
from .source import Exposed

Shared = int | Literal["machine"] | bool
"""False: each rank has its own draws; "machine"; or so many consecutive ranks share them."""

EVER = {"begin": -(2**63), "end": 2**63 - 1}


def check_shared(value: Any, name: str = "shared") -> Shared:
    """False, "machine" or a power of two."""
    if value is False or (isinstance(value, str) and value == "machine"):
        return value  # type: ignore[return-value]
    rule = f"{name} must be False, 'machine' or the ranks per node, a power of two"
    try:
        return check_power_of_two(value, name, 2**30)
    except ValueError:
        raise ValueError(f"{rule}, got {shorten(value)}") from None


def node_ranks(shared: Shared, ranks: int) -> int:
    """How many consecutive ranks share the draws, of so many: a power of two."""
    return 1 << (ranks - 1).bit_length() if shared == "machine" else int(shared or 1)


def check_nodes(shared: Shared, ranks: int, name: str = "shared") -> None:
    """Raise ValueError if a node is larger than the machine."""
    if shared != "machine" and node_ranks(shared, ranks) > ranks:
        raise ValueError(
            f"{name} must be False, 'machine' or ranks per node from 1 to {ranks} "
            f"(ranks), got {shared}"
        )


def check_window(begin: float, end: float | None) -> None:
    """Raise ValueError if a source would begin after its end."""
    to_ticks(begin, "begin")
    if end is not None and to_ticks(end) <= to_ticks(begin):
        raise ValueError(f"end must be above begin = {begin} s, got {end}")


def window(begin: float, end: float | None) -> dict[str, int]:
    """The window in ticks, as the engine takes it: without limits where none were given."""
    given = {"begin": to_ticks(begin)} if begin else {}
    return EVER | given | ({} if end is None else {"end": to_ticks(end)})


def phases(during: str) -> dict[str, bool]:
    """The phases of the cycle in which a source acts, as the engine takes them."""
    return {
        "in_compute": during != "communication",
        "in_communication": during != "compute",
    }


def check_message_phase(during: Any, owner: str) -> None:
    """Raise ValueError unless noise of messages may act in that phase."""
    if isinstance(during, str) and during == "compute":
        raise ValueError(
            f"during must be 'all' or 'communication' for {owner}, got 'compute': "
            "no messages are sent in the compute phase"
        )
    check_choice(during, "during", ("all", "communication"))


def no_work(during: str, exposed: Exposed) -> str:
    """Why intervals find no CPU work to interrupt; "" where they do."""
    if during == "compute":
        return "" if exposed.compute else "during = 'compute', and there is no work; give work"
    if exposed.communication or (exposed.compute and during == "all"):
        return ""
    if during == "all":
        return f"the CPU does no work; give {exposed.remedy} or work"
    return f"the CPU does no work in the communication phase; give {exposed.remedy}"
