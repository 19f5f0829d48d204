"""Fuzzing of all parsers of measured noise (more: ``python -m support.fuzz_noise``)."""

from __future__ import annotations

import signal
import threading

import pytest
from support import fuzz_noise
from support.scale import at_most

from jitterfly.measured.formats import formats


@pytest.mark.slow
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)
def test_no_broken_file_breaks_an_importer():
    count = at_most(20_000, 1200)
    before = signal.getsignal(signal.SIGALRM)
    fuzz_noise.catch_hangs()
    try:
        read, findings = fuzz_noise.run(range(count), seed=4)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not findings
    # Mutations leave enough of every format to be read, and break enough of them.
    assert set(read) >= {"", *formats()}
    assert read[""] > count // 10
