"""Samples of files that measured noise lies in, read as they are or changed; and real ones."""

import os
from pathlib import Path

import pytest

from jitterfly.measured import load
from jitterfly.measured.formats import TextFile
from jitterfly.measured.load import load_text
from support.paths import NOISE_SAMPLES

REAL = Path(os.environ.get("JITTERFLY_NOISE_DATA", "/does/not/exist"))

needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="JITTERFLY_NOISE_DATA has no noise data")


def sample(name, **options):
    return load(NOISE_SAMPLES / name, **options)


def load_bytes(content, name="data", **options):
    return load_text(TextFile(name, content), **options)


def changed(name, old, new, **options):
    text = (NOISE_SAMPLES / name).read_bytes()
    assert old in text
    return load_bytes(text.replace(old, new, 1), name, **options)
