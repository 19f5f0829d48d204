"""Which compilations of the CPU engine this build and processor have."""

import re

import pytest

from jitterfly import _core


def available():
    """Instruction sets of this build and processor, "plain" last, as the error of another says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JITTERFLY_ISA", "none")
        with pytest.raises(ValueError, match="JITTERFLY_ISA must be one of") as error:
            _core.build_info()
    names = re.search("one of (.*) here", str(error.value))[1].split(", ")
    assert names[-1] == "plain"
    return tuple(names)


AVAILABLE = available()
ISAS = AVAILABLE[:-1]  # those with registers of several ranks
