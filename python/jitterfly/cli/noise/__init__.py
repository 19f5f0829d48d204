"""The commands `jitterfly noise ...`: measured noise."""

from __future__ import annotations

from typing import Any

from . import import_, merge, record, show


def add_parser(commands: Any) -> None:
    """Add the group to argparse's; each of its commands is a module here."""
    noise = commands.add_parser(
        "noise",
        help="measured noise: import, record, merge, show",
        description="Measured noise: read what other tools measured, measure machines, draw.",
    )
    group = noise.add_subparsers(dest="noise_command", metavar="COMMAND", required=True)
    for command in (import_, merge, record, show):
        command.add_parser(group)
