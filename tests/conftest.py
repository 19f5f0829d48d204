"""What all tests share: tests marked `gpu` need a CUDA device, and none may stand still."""

import os
import signal
from collections import Counter

import pytest

# Started in the background of a script, a process ignores Ctrl-C, and so would all tests of it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LIMIT = 1200  # seconds for a test with its fixtures; the slowest takes a third on two cores


@pytest.hookimpl(tryfirst=True)  # before the plugins look at their options
def pytest_configure(config):
    """Defaults of plugins that need not be there."""
    option = config.option
    if hasattr(option, "loadscopereorder"):  # pytest-xdist shall take files as they come
        option.loadscopereorder = False
    # Its replacement for a process that crashed may wait for ever: the run ends, and says where.
    if getattr(option, "maxworkerrestart", "") is None:
        option.maxworkerrestart = "0"
    # pytest-timeout
    if getattr(option, "timeout", 0) is None and "PYTEST_TIMEOUT" not in os.environ:
        option.timeout = LIMIT


def slow_files_first(items):
    """Then those with most tests: at the end no process waits long for the others."""
    files = Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, -files[item.path], item.path))


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):  # a process of pytest-xdist
        slow_files_first(items)
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from jitterfly import _core

    if not _core.devices():
        reason = _core.cuda_status() or "no CUDA device"
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))
