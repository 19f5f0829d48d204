"""What a benchmark ran on."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from ..info import info


def machine() -> dict[str, Any]:
    """Processor, versions, build and devices, as plain values (tests/bench/README.md)."""
    found = info()
    return {
        "cpu": _processor(),
        "cores": found["processors"],
        "system": found["platform"],
        "python": found["python"],
        "numpy": found["numpy"],
        "build": found["build"],
        "devices": found["devices"],
        "cuda": found["cuda"] or "usable",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
