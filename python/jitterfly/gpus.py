"""Whether this process can use a GPU; and where there is one that it can not use, what mends it."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _core

VISIBLE = "CUDA_VISIBLE_DEVICES"
_NO_GPU = ("", "-1", "NoDevFiles")  # what hides all GPUs, where it comes first in VISIBLE
_DEVICES = Path("/dev")
_PACKAGE = str(Path(__file__).parent) + os.sep
# The oldest driver for each major version of CUDA; it serves all its minor versions.
_OLDEST_DRIVER = {12: 525, 13: 580}
_FETCHED = 13  # what pip fetches: CUDA_FROM_PYPI in python/build_backend/jitterfly_build.py
_FORKED = (
    "CUDA was started before this process was forked, and can not be used after a fork: start "
    "processes with 'spawn' or 'forkserver', or use the GPU only in the children"
)


class UnusedGPUWarning(RuntimeWarning):
    """There is a GPU, and backend "auto" takes the CPU; the message says why, and what mends it.

    The results are the same; the time that they take is not. Where the GPU can not be used at all,
    a process says so once. `CUDA_VISIBLE_DEVICES=""` and `backend="cpu"` ask for the CPU: then
    nothing is said.
    """


class _State:
    """What this process knows about CUDA in it."""

    asked = False  # the driver was asked once, so that it answers at once
    started = False  # CUDA runs in this process
    forked = False  # CUDA ran in the parent when this process was forked
    warned: set[str] = set()  # noqa: RUF012 # the only instance is the class


def _after_fork() -> None:
    _State.forked = _State.forked or _State.started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def present(devices: Path | None = None, environment: Mapping[str, str] | None = None) -> bool:
    """Whether the NVIDIA driver offers this process a GPU. CUDA is not started to find out.

    No GPU is offered where `CUDA_VISIBLE_DEVICES` hides all, or where the device files may not be
    opened, as in a job of a batch system that has not asked for a GPU.
    """
    devices = _DEVICES if devices is None else devices
    visible = (os.environ if environment is None else environment).get(VISIBLE)
    if visible is not None and visible.split(",")[0].strip() in _NO_GPU:
        return False
    if any(os.access(file, os.R_OK | os.W_OK) for file in devices.glob("nvidia[0-9]*")):
        return True
    # Windows' Linux has this file for every GPU, of whatever make.
    return (devices / "dxg").exists() and driver_version() is not None


@functools.cache
def driver_version() -> tuple[int, int] | None:
    """The newest CUDA that the installed driver supports, (12, 2) for 12.2; None: no driver."""
    version = ctypes.c_int()
    try:
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)):
            return None
    except (OSError, AttributeError):
        return None
    return version.value // 1000, version.value % 1000 // 10


def problem() -> str:
    """Why this process can not use a GPU, and what mends it where there is one; "" if it can.

    The first call starts CUDA. Where this build has no machine code for the GPU, the driver
    compiles it then, for some seconds; Ctrl-C is heard.
    """
    if _State.forked:
        return _FORKED
    status = _status()
    if not status:
        _State.started = True
        return ""
    mend = remedy(status, _core.build_info(), driver_version()) if present() else ""
    return f"{status}; {mend}" if mend else status


def devices() -> list[dict[str, Any]]:
    """What is known of each GPU that this process can use."""
    return [] if problem() else [dict(device) for device in _core.devices()]


def _status() -> str:
    """`_core.cuda_status`, in another thread where it may take long, so that Ctrl-C is heard."""
    in_main = threading.current_thread() is threading.main_thread()
    if _State.asked or not in_main or not present():
        _State.asked = True
        return _core.cuda_status()
    told: list[str] = []
    asking = threading.Thread(target=lambda: told.append(_core.cuda_status()), daemon=True)
    asking.start()
    asking.join()
    _State.asked = True
    return told[0]


def remedy(status: str, build: Mapping[str, str], driver: tuple[int, int] | None) -> str:
    """What would let this process use the GPU that is there; "" where that is not known.

    Parameters
    ----------
    status : str
        Why it can not: `_core.cuda_status()`.
    build : mapping
        What this build has: `_core.build_info()`.
    driver : tuple, optional
        As `driver_version` gives it.
    """
    if driver is None:
        return (
            "the driver's library libcuda.so.1 can not be loaded: install the NVIDIA driver, or "
            "start the container with it (--gpus all, --nv)"
        )
    oldest = min(_OLDEST_DRIVER)
    if driver[0] < oldest:
        return f"the driver supports CUDA {_show(driver)} only: {_update(oldest)}"
    if not build["cuda"]:
        return _reinstall(driver, "=OFF" in build["cuda_note"])
    code = re.search(r"cudaError\w+", status)
    built = int(build["cuda"].split(".")[0])
    code_for = f"this build has code for {build['cuda_architectures']}"
    capability = re.search(r"compute capability (\d+)\.(\d+)", status)
    wanted = "".join(capability.groups()) if capability else "release"
    architectures = f"reinstall jitterfly with JITTERFLY_CUDA_ARCHITECTURES={wanted}"
    return {
        "cudaErrorInsufficientDriver": f"the driver supports CUDA {_show(driver)}, and this build "
        f"was made with CUDA {build['cuda']}: {_update(built)}, or {_reinstall(driver)}",
        "cudaErrorUnsupportedPtxVersion": f"{code_for}, where 'virtual' is PTX of CUDA "
        f"{build['cuda']}, which this driver (CUDA {_show(driver)}) is too old to compile: "
        f"{architectures}, or update the driver",
        "cudaErrorNoKernelImageForDevice": f"{code_for}: {architectures}",
        "cudaErrorNoDevice": f"see what nvidia-smi says, and {VISIBLE}",
        "cudaErrorInitializationError": "if CUDA was started before this process was forked, start "
        "processes with 'spawn'; else see what nvidia-smi says",
        "cudaErrorDevicesUnavailable": "another process may have it for itself: see nvidia-smi",
        "cudaErrorSystemDriverMismatch": "the driver was updated while it ran: restart the machine",
    }.get(code[0] if code else "", "")


def _show(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _update(major: int) -> str:
    oldest = _OLDEST_DRIVER.get(major)
    return "update the driver" + (f" to {oldest} or newer" if oldest else "")


def _reinstall(driver: tuple[int, int], without_off: bool = False) -> str:
    """How to install for this machine: pip fetches a compiler for new drivers only."""
    told = "reinstall jitterfly on this machine"
    if without_off:
        told += " without JITTERFLY_CUDA=OFF"
    if driver[0] < _FETCHED:
        told += f" with nvcc of CUDA {driver[0]} in PATH"
    return told


def warn_of_unused(why: str) -> None:
    """Warn that "auto" takes the CPU, if there is a GPU: once a process; `why` is `problem()`."""
    if why not in _State.warned and present():
        warn_of_cpu(why)
        _State.warned.add(why)


def warn_of_cpu(why: str) -> None:
    """Warn that "auto" takes the CPU although there is a GPU; shown at the user's line."""
    told = f"backend 'auto' takes the CPU: {why.removeprefix('no usable GPU: ')}"
    warnings.warn(told, UnusedGPUWarning, stacklevel=_users_level())


def _users_level() -> int:
    """The `stacklevel`, for who calls this, of the nearest caller outside of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
