"""What all tests share: tests marked `gpu` need a CUDA device."""

import pytest


def pytest_collection_modifyitems(items):
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from jitterfly import _core

    if not _core.devices():
        reason = _core.cuda_status() or "no CUDA device"
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))
