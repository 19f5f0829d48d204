"""What all tests share: tests marked `gpu` need a CUDA device."""

import signal

import pytest

# Started in the background of a script, a process ignores Ctrl-C, and so would all tests of it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from jitterfly import _core

    if not _core.devices():
        reason = _core.cuda_status() or "no CUDA device"
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))
