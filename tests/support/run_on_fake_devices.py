"""Script that MPI ranks run on GPUs that are not there.

CUDA_VISIBLE_DEVICES=4,5 JITTERFLY_TEST_MARKS=FOLDER python -m mpi4py.futures THIS STUDY.toml

Each rank writes into FOLDER/ran which device it used, as it is listed.
"""

import os
import sys
from pathlib import Path

import pytest

from jitterfly.resources import listed_devices
from jitterfly.sweep import run
from support.fake_devices import FakeDevices

FOLDER = Path(os.environ["JITTERFLY_TEST_MARKS"])


class NotedDevices(FakeDevices):
    """They see what is listed, and note what they run."""

    def simulate(self, *arguments):
        if "cuda" in arguments:
            rank, device = os.environ["PMI_RANK"], listed_devices()[self.device()]
            with (FOLDER / "ran").open("a") as file:
                file.write(f"{rank}:{device}\n")
        return super().simulate(*arguments)


# In all ranks: those that work for rank 0 load this, too. CUDA shows a process one slice (MIG).
(FOLDER / "dev").mkdir(exist_ok=True)
seen = [name for name in listed_devices() if not name.startswith("MIG")]
NotedDevices(len(seen) or 1).install(pytest.MonkeyPatch(), FOLDER / "dev")

if __name__ == "__main__":
    run(sys.argv[1], FOLDER / "out", workers="mpi", batch_seconds=0.01)
