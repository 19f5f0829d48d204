"""pytest configuration: option `--scale`, time limits, order of files, skips, processes."""

import gc
import itertools
import os
import signal
from collections import Counter

import pytest
from support import scale

# Started in the background of a script, a process ignores Ctrl-C, and so would all tests of it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The references make and drop small objects by the million, and few cycles of them. To search for
# such garbage in what is young is quick. Searches of what is older, which Python by its habit makes
# after each ten of those, take an eighth of the references' time.
gc.set_threshold(10_000, 50, 3)

# Seconds for a test with its fixtures: the longest, on a slow machine that is busy, take half.
LIMIT = 2400


OF_FEW_FILES = ("gpu", "timing")  # marks that files have by these names


def pytest_addoption(parser):
    parser.addoption(
        "--scale",
        choices=("small", "full"),
        default="small",
        help="how much the tests do: a tenth of the cases, or all, also builds under sanitizers, "
        "PTX, a browser and mypy (default: small)",
    )


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at its options
def pytest_cmdline_main(config):
    """A plain `pytest` takes all processors; one that names tests runs them in its own process."""
    if hasattr(config, "workerinput"):  # is one of the processes
        return
    option = config.option
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    chosen = option.markexpr or option.keyword or option.collectonly or option.usepdb
    if everything and not chosen and getattr(option, "numprocesses", 0) is None:
        option.numprocesses = "auto"
        if option.dist == "no":
            option.dist = "loadfile"


@pytest.hookimpl(tryfirst=True)  # before the plugins look at their options
def pytest_configure(config):
    """The scale, and defaults of plugins that need not be there."""
    option = config.option
    scale.FULL = option.scale == "full"
    if hasattr(option, "loadscopereorder"):  # pytest-xdist shall take files as they come
        option.loadscopereorder = False
    # Its replacement for a process that crashed may wait for ever: the run ends, and says where.
    if getattr(option, "maxworkerrestart", "") is None:
        option.maxworkerrestart = "0"
    # pytest-timeout
    if getattr(option, "timeout", 0) is None and "PYTEST_TIMEOUT" not in os.environ:
        option.timeout = LIMIT


def pytest_ignore_collect(collection_path, config):
    """Files without the one mark that is asked for: to import them takes longer than such runs."""
    mark = config.option.markexpr
    if mark in OF_FEW_FILES and collection_path.suffix == ".py":
        return f"mark.{mark}" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_collection_finish():
    """What is there now stays: no search for garbage need look at thousands of tests again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def blank_pictures(monkeypatch):
    """Pictures of runs and answers are a number each: for tests of what is around them."""
    numbers = itertools.count()

    def write(_, path, *__, **___):
        path.write_text(f"{next(numbers)}")

    monkeypatch.setattr("jitterfly.plots.draw.draw", write)
    monkeypatch.setattr("jitterfly.plots.draw.save", write)


@pytest.fixture
def blank_pictures_at_small_scale(request):
    """For tests of what is around pictures, which draw them at full scale."""
    if not scale.FULL:
        request.getfixturevalue("blank_pictures")


def slow_files_first(items):
    """Those of minutes, then those with most cases: at the end no process waits for long."""
    files, slow = Counter(), {}
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        files[item.path] += len(parameters.get("group", [item]))  # parametrize_in_groups
        if marker := item.get_closest_marker("slow"):
            slow[item.path] = max(slow.get(item.path, 0), marker.kwargs.get("minutes", 0))
    items.sort(key=lambda item: (-slow.get(item.path, -1), -files[item.path], item.path))


def skip(items, marker, reason):
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):  # a process of pytest-xdist
        slow_files_first(items)
        skip(items, "timing", "other tests run beside it: pytest -m timing")
    if not scale.FULL:
        skip(items, "full_scale", "needs --scale full")
    if any(item.get_closest_marker("gpu") for item in items):
        from jitterfly import _core

        if not _core.devices():
            skip(items, "gpu", _core.cuda_status() or "no CUDA device")
