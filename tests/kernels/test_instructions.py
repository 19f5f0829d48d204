"""Counting of instructions in disassembled kernels (tests/instructions)."""

import importlib.util
import sys

import pytest
from support.paths import TESTS

FILE = TESTS / "instructions" / "sass.py"
TEXT = """
.text.kernel:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/              @!P0 BRA `(.L_x_2) ;
        /*0020*/                   STS [R0], R1 ;
.L_x_1:
        /*0030*/                   IADD3 R0, R0, 0x1, RZ ;
        /*0040*/                   FADD R1, R1, R1 ;
        /*0050*/               @P1 BRA `(.L_x_1) ;
        /*0060*/                   BRA `(.L_x_2) ;
.L_x_2:
        /*0070*/                   EXIT ;
.L_x_3:
        /*0080*/                   BRA `(.L_x_3);
.text.chooses:
        /*0000*/                   BRX R6 -0x10     (*"BRANCH_TARGETS .L_x_5,.L_x_4"*) ;
.L_x_4:
        /*0010*/                   NOP ;
.L_x_5:
        /*0020*/               @P0 EXIT ;
        /*0030*/                   BRA `(.L_x_4) ;
.text.lost:
        /*0000*/                   BRX R6 -0x10 ;
.text.endless:
.L_x_6:
        /*0000*/                   BRA `(.L_x_6) ;
"""


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("sass", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["sass"] = module  # its dataclass asks for it
    spec.loader.exec_module(module)
    yield module.kernels(TEXT)
    del sys.modules["sass"]


def test_ways_through_a_kernel(kernels):
    assert list(kernels) == ["kernel", "chooses", "lost", "endless"]
    kernel = kernels["kernel"]
    assert len(kernel.code) == 9
    assert kernel.shortest() == 3
    assert kernel.shortest_through("STS") == 8
    assert kernel.shortest_cycle("FADD") == 3
    assert kernels["chooses"].shortest() == 2
    assert kernels["chooses"].shortest_cycle("NOP") == 3


def test_where_a_kernel_goes_must_be_known(kernels):
    with pytest.raises(ValueError, match="where does"):
        kernels["lost"].shortest()
    with pytest.raises(ValueError, match="no way"):
        kernels["endless"].shortest()
