"""Available memory, with cgroup limits: error before an allocation that the machine cannot hold."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

_ROOT = Path("/")
_NO_LIMIT = 2**60  # version 1 of control groups has no word for it: its largest number of pages


def available_bytes(root: Path = _ROOT) -> int | None:
    """The memory this process may still take, in bytes; None where the system does not say.

    The least of what the machine has to spare and what is left of the control groups (version 1
    or 2) that the process belongs to.
    """
    found = [_left_of_machine(root), *_left_of_control_groups(root)]
    known = [value for value in found if value is not None]
    return min(known) if known else None


def peak_memory() -> int:
    """Return the most memory this process has had so far, in bytes.

    Linux counts a parent's peak for `ru_maxrss` of a program that the parent started, so the
    process's own status is read where there is one.
    """
    for line in (_read_file("/proc/self/status") or "").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "VmHWM:" and words[1].isdigit():
            return int(words[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def check_memory(needed: int, what: str, available: int | None, place: str = "memory") -> None:
    """Raise ValueError when more is needed than available; the message has both numbers."""
    if available is not None and needed > available:
        raise ValueError(
            f"not enough {place} for {what}: needs {show_bytes(needed)}, "
            f"available {show_bytes(available)}"
        )


@contextmanager
def check_allocation(what: str) -> Iterator[None]:
    """Raise ValueError if an allocation of `what` fails within it."""
    try:
        yield
    except MemoryError:
        raise ValueError(f"not enough memory for {what}") from None


def show_bytes(count: int) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> show_bytes(24 * 2**30), show_bytes(100)
    ('24.0 GiB', '100 B')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f} {unit}" if unit != "B" else f"{count} B"
        size /= 1024
    return f"{size:.1f} TiB"


def _read_file(path: str) -> str | None:
    try:
        with FileIO(path) as file:
            return file.readall().decode("ascii", errors="replace")
    except OSError:
        return None


def _left_of_machine(root: Path) -> int | None:
    """Return the bytes that Linux calls available; of other systems all there are, or None."""
    for line in (_read_file(f"{root}/proc/meminfo") or "").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "MemAvailable:" and words[1].isdigit():
            return int(words[1]) * 1024
    try:  # not Linux: what is free is not known, what is there is
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_of_control_groups(root: Path) -> list[int | None]:
    """Return the bytes left under the limit of each control group of this process."""
    limits: list[int | None] = []
    for line in (_read_file(f"{root}/proc/self/cgroup") or "").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            base, files = "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base = "sys/fs/cgroup/memory"
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        # A parent's limit holds as well; inside a container the own path may not be visible.
        # Text, since every simulation asks: with objects for the paths it takes twice as long.
        names = [name for name in path.split("/") if name]
        for depth in range(len(names), -1, -1):
            limits.append(_left_of_group("/".join([f"{root}/{base}", *names[:depth]]), *files))
    return limits


def _left_of_group(folder: str, limit_file: str, usage_file: str) -> int | None:
    """Return the bytes left in one control group; None without a limit."""
    limit = (_read_file(f"{folder}/{limit_file}") or "").strip()
    if not limit.isdigit() or int(limit) >= _NO_LIMIT:
        return None  # "max" in version 2; what is used need not be read then, which takes longest
    usage = (_read_file(f"{folder}/{usage_file}") or "").strip()
    if not usage.isdigit():
        return None
    # Cache can be given up for us.
    stat = dict(
        line.split()
        for line in (_read_file(f"{folder}/memory.stat") or "").splitlines()
        if " " in line
    )
    cache = int(stat.get("inactive_file", stat.get("total_inactive_file", "0")))
    return max(int(limit) - int(usage) + cache, 0)
