"""`jitterfly info`: versions, build, instruction set, GPUs and optional packages."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from . import backends
from .backends import core
from .memory import available_bytes, show_bytes
from .version import __version__


def info() -> dict[str, Any]:
    """Versions, build, processors, memory and devices, as plain values.

    Returns
    -------
    dict
        "jitterfly", "python", "numpy", "platform": text. "processors": int. "memory": bytes
        available, or None. "build": of the engine. "cuda": "" when usable, else why not, and what
        mends it where there is a GPU.
        "devices": one dict for each GPU.

    Notes
    -----
    In "build", "instruction_sets" are those that the CPU engine was built for, "instruction_set"
    is the one in use here: the best that the processor has, or what JITTERFLY_ISA names.
    """
    return {
        "jitterfly": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "processors": core.hardware_threads(),
        "memory": available_bytes(),
        "build": dict(core.build_info()),
        "cuda": backends.gpu_problem(),
        "devices": backends.gpu_devices(),
    }


def info_lines() -> list[str]:
    """The same for people, one line each."""
    found = info()
    memory = found["memory"]
    lines = [f"{key}: {found[key]}" for key in ("jitterfly", "python", "numpy", "platform")]
    lines.append(f"processors: {found['processors']}")
    lines.append(f"memory available: {'unknown' if memory is None else show_bytes(memory)}")
    build = found["build"]
    lines.append(f"instruction set in use: {build.pop('instruction_set')}")
    threads = build.pop("threads")
    lines.append(f"threads by default: {threads}")
    lines += [f"build {key}: {value or 'none'}" for key, value in build.items()]
    lines.append(f"cuda: {found['cuda'] or 'usable'}")
    for number, device in enumerate(found["devices"]):
        words = [show_bytes(v) if k == "memory" else f"{k} {v}" for k, v in device.items()
                 if k != "name"]  # fmt: skip
        lines.append(f"device {number}: {device.get('name', '?')}, {', '.join(words)}")
    return lines
