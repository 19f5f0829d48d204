"""Pictures without a layout at small scale, for tests of what is around them."""

import functools

import pytest

from . import scale


def quick_pictures(test):
    """Decorate a test: at small scale no layout is looked for, which takes half of the time."""
    if scale.FULL:
        return test

    @functools.wraps(test)
    def without_layout(*arguments, **options):
        figure = pytest.importorskip("matplotlib.figure").Figure
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(figure, "tight_layout", lambda *_, **__: None)
            return test(*arguments, **options)

    return without_layout
