"""Instruction sets (portable, AVX2, AVX-512) of this build and processor."""

import re

import numpy as np
import pytest

from jitterfly import _core


def vectors():
    """Those with registers of several ranks, best first, as the error of an unknown one says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JITTERFLY_ISA", "none")
        with pytest.raises(ValueError, match="JITTERFLY_ISA must be one of") as error:
            _core.build_info()
    names = re.search("one of (.*) here", str(error.value))[1].split(", ")
    assert names[-1] == "plain"
    return tuple(names[:-1])


ISAS = vectors()
AVAILABLE = ("plain", *ISAS)  # the plain one first, which the others are compared with


def check_instruction_sets(results, case, monkeypatch, which=""):
    """results(case) of every instruction set are those of the plain engine."""
    monkeypatch.setenv("JITTERFLY_ISA", "plain")
    expected = results(case)
    for isa in ISAS:
        monkeypatch.setenv("JITTERFLY_ISA", isa)
        for found, plain in zip(results(case), expected, strict=True):
            np.testing.assert_array_equal(found, plain, err_msg=f"{isa}{which}")
