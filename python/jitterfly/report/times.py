"""How long each study of a reproduction took, over all calls that ran something of it."""

from __future__ import annotations

import json
from pathlib import Path

from ..files import write_whole

_FILE = "times.json"


def recorded(path: Path) -> int:
    """Bytes of records in a store: whether a run added anything."""
    return sum(file.stat().st_size for file in path.glob("records/*"))


def add(out: Path, name: str, seconds: float, *, anew: bool) -> float:
    """Add to what earlier calls took for a study (`anew`: there were none), and keep the sum."""
    file = out / _FILE
    try:
        times = {str(k): float(v) for k, v in json.loads(file.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):  # not there, or damaged: only times
        times = {}
    times[name] = seconds + (0.0 if anew else times.get(name, 0.0))
    write_whole(file, (json.dumps(times, indent=1) + "\n").encode())
    return times[name]
