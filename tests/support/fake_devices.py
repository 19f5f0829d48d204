"""GPUs that are not there: the thread of each runs the CPU's engine, and notes what ran on which.

As with CUDA, each thread has a current device. What the device itself does is in tests/emulation.
"""

import threading
from collections import Counter
from contextlib import suppress

from jitterfly import _core, backends


class FakeDevices:
    """GPUs of this process: how many, what is wrong with each, what ran on it.

    Attributes
    ----------
    problems : dict
        Why a device can not be used, by its number.
    failing : set
        The devices that fail as soon as something runs on them.
    full : set
        The devices whose memory another program has.
    waits : Event or None
        What the driver waits for when it is asked for the state of a device.
    ran : Counter
        Runs by device.
    memory : int
        Bytes that each device has; half of it is free.
    together : Barrier or None
        Where runs meet, so that each device has one.
    started : set
        The devices that hold a context of this process.
    """

    def __init__(self, count):
        self.count = count
        self.problems, self.failing, self.full, self.started = {}, set(), set(), set()
        self.waits, self.together, self.memory = None, None, 2**35
        self.ran = Counter()
        self.current = threading.local()
        self._simulate = _core.simulate

    def device(self):
        return getattr(self.current, "device", 0)

    def use(self, number):
        if not 0 <= number < self.count:
            raise RuntimeError("cudaSetDevice(number): invalid device ordinal")
        self.current.device = number

    def status(self):
        self.started.add(self.device())
        if self.waits:
            self.waits.wait(60)
        return self.problems.get(self.device(), "")

    def simulate(self, *arguments):
        *first, backend, _, progress = arguments
        if backend == "cpu":
            return self._simulate(*arguments)
        self.ran[self.device()] += 1
        if self.together:
            with suppress(threading.BrokenBarrierError):
                self.together.wait(1)
        if self.device() in self.failing:
            raise RuntimeError("an illegal memory access was encountered. See nvidia-smi")
        return self._simulate(*first, "cpu", 1, progress)

    def install(self, monkeypatch, folder):
        (folder / "nvidia0").touch()
        monkeypatch.setattr(backends, "_DEVICES", folder)
        for name in ("started", "asked", "forked"):
            monkeypatch.setattr(backends._Process, name, False)
        memory = _core.memory
        for name, fake in {
            "device_count": lambda: self.count,
            "use_device": self.use,
            "cuda_status": self.status,
            "devices": lambda: [{"index": i, "memory": self.memory} for i in range(self.count)],
            "gpu_memory_available": lambda: 0 if self.device() in self.full else self.memory // 2,
            "memory": lambda program, _, threads=0, count=1: memory(program, "cpu", 1, count),
            "simulate": self.simulate,
        }.items():
            monkeypatch.setattr(_core, name, fake)
        return self
