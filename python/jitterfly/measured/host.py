"""Facts of the recording host: CPU affinity, CPU model, virtual machine, clocksource."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def allowed_cpus() -> list[int]:
    """The CPUs that this thread may run on, sorted.

    Raises
    ------
    ValueError
        A system that does not pin threads.
    """
    if not hasattr(os, "sched_getaffinity"):
        raise ValueError(f"recording needs Linux, got {platform.system()}")
    return sorted(os.sched_getaffinity(0))


@contextmanager
def elsewhere(cpus: Collection[int]) -> Iterator[None]:
    """Keep this thread, which waits and draws, off some CPUs, if it has others."""
    allowed = os.sched_getaffinity(0)
    others = allowed - set(cpus)
    if others:
        os.sched_setaffinity(0, others)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def show_cpus(cpus: Iterable[int]) -> str:
    """Write numbers of CPUs as Linux does.

    Examples
    --------
    >>> show_cpus([0, 1, 2, 5])
    '0-2,5'
    """
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def model() -> str:
    """The processor's name."""
    for key in ("model name", "Processor", "cpu model"):
        found = re.search(rf"^{key}\s*:\s*(.+)$", _read(Path("/proc/cpuinfo")), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def flags() -> set[str]:
    """Return the names of what the processor can do; none where Linux does not say."""
    found = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", _read(Path("/proc/cpuinfo")), re.M)
    return set(found[1].split()) if found else set()


def is_virtual() -> bool:
    """Return whether a hypervisor is known to run this system."""
    return "hypervisor" in flags() or bool(_read(Path("/sys/hypervisor/type")).strip())


def clocksource() -> str:
    """Return what the system's clock is made of, such as tsc or kvm-clock."""
    return _read(_CLOCK).strip() or "unknown"


def counter_flaw(counter: str) -> str:
    """Say why the counter may change its rate or stop; "" if it does not, or nobody says."""
    known = flags()
    if counter != "tsc" or not known:
        return ""
    missing = [flag for flag in ("constant_tsc", "nonstop_tsc") if flag not in known]
    return f"/proc/cpuinfo lacks {' and '.join(missing)}" if missing else ""


@dataclass(frozen=True)
class Snapshot:
    """The state of some CPUs at one moment, by CPU; what is not known is left out.

    `stolen` in seconds (what a hypervisor gave to others), `frequency` in Hz.
    """

    online: str
    stolen: dict[int, float]
    frequency: dict[int, float]
    governor: dict[int, str]


def snapshot(cpus: Collection[int]) -> Snapshot:
    """Read which CPUs are online, and of some the stolen time, the frequency and its governor."""
    stolen = {}
    for line in _read(Path("/proc/stat")).splitlines():
        words = line.split()
        # cpuN user nice system idle iowait irq softirq steal ...
        if len(words) > 8 and re.fullmatch(r"cpu\d+", words[0]) and int(words[0][3:]) in cpus:
            stolen[int(words[0][3:])] = int(words[8]) / os.sysconf("SC_CLK_TCK")
    frequency, governor = {}, {}
    for cpu in cpus:
        folder = _CPUS / f"cpu{cpu}" / "cpufreq"
        text = _read(folder / "scaling_cur_freq").strip()
        if text.isdigit():
            frequency[cpu] = 1e3 * int(text)
        text = _read(folder / "scaling_governor").strip()
        if text:
            governor[cpu] = text
    return Snapshot(_read(_CPUS / "online").strip(), stolen, frequency, governor)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
