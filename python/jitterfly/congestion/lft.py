"""Linear forwarding tables of InfiniBand switches, as text.

As ``ibroute`` prints them, hence ``dump_lfts.sh`` and ``dump_fts``::

    Unicast lids [0x0-0x9b] of switch Lid 128 guid 0xf4521403001165a0 (MF0;ib5:SX6036/U1):
      Lid  Out   Destination
           Port     Info
    0x0002 021 : (Channel Adapter portguid 0x24be05ffff984da1: 'stage66 mlx4_0')
    1 valid lids dumped

and as OpenSM dumps them (``opensm-lfts.dump``), with ``#`` in place of the colon.
"""

from __future__ import annotations

import re

from ..fields import shorten

Tables = dict[int, dict[int, tuple[int, int]]]
"""By the switch's GUID and the LID: the port, and the line that says so."""

_SWITCH = re.compile(r"Unicast lids \[.*?\] of switch .*?\bguid (0x[0-9a-fA-F]{1,16})\b.*")
_ENTRY = re.compile(r"0x([0-9a-fA-F]{1,4})\s+(\d{1,3})(?:\s*[:#].*)?")
_SKIPPED = re.compile(r"#|Lid\s+Out\s+Destination|Port\s+Info|\d+ (?:valid )?lids dumped")
_NO_PATH = 255


def parse_tables(text: str, name: str) -> Tables:
    """The tables of all switches in a text.

    Raises
    ------
    ValueError
        What is malformed, with its line; or there is no table at all.
    """
    tables: Tables = {}
    here: dict[int, tuple[int, int]] | None = None
    for line, words in enumerate(text.split("\n"), 1):
        words = words.strip()
        if found := _SWITCH.fullmatch(words):
            guid = int(found[1], 16)
            if guid in tables:
                raise ValueError(f"{name}, line {line}: a second table of switch {found[1]}")
            here = tables[guid] = {}
        elif found := _ENTRY.fullmatch(words):
            lid, port = int(found[1], 16), int(found[2])
            if here is None:
                raise ValueError(f"{name}, line {line}: an entry before any 'Unicast lids'")
            if lid in here:
                raise ValueError(f"{name}, line {line}: a second entry of lid {lid}")
            if port > _NO_PATH:
                raise ValueError(f"{name}, line {line}: port must be 0 to 255, got {port}")
            if port != _NO_PATH:
                here[lid] = port, line
        elif words and not _SKIPPED.match(words):
            raise ValueError(f"{name}, line {line}: unexpected {shorten(words)}")
    if not tables:
        raise ValueError(f"{name} has no forwarding table: no line 'Unicast lids ...'")
    return tables
