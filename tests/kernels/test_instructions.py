"""Limits of the GPU kernels: instructions counted in their machine code (SASS), and the counting.

The code is that of the installed module if it was built for the architecture of the limits, as in
CI; else it is compiled here.
"""

import copy
import json
from pathlib import Path

import pytest
from instructions import count, sass
from support.compiler import OLDER, cuda_compiler, digest_of_kernels
from support.paths import ROOT

from jitterfly import _core

TEXT = """
	.section	.text.kernel
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
.text.calls:
        /*0000*/                   LD.E R0, desc[UR4][R2.64] ;
.L_x_7:
        /*0010*/                   LDG.E R0, desc[UR4][R2.64] ;
        /*0020*/              @!P0 CALL.REL.NOINC `($calls$deep) ;
        /*0030*/                   STL [R1], R0 ;
        /*0040*/               @P1 BRA `(.L_x_7) ;
        /*0050*/                   LDL R0, [R1] ;
        /*0060*/                   EXIT ;
$calls$deep:
        /*0070*/               @P0 CALL.REL.NOINC `($deeper$) ;
        /*0080*/                   RET.REL.NODEC R20 `(calls) ;
$deeper$:
        /*0090*/               @P0 ST.E desc[UR4][R2.64], R0 ;
        /*00a0*/                   RET.REL.NODEC R20 `(calls) ;
$unused$:
        /*00b0*/                   ATOM.E.ADD R0, desc[UR4][R2.64], R0 ;
        /*00c0*/                   RET.REL.NODEC R20 `(calls) ;
	.section	.nv.constant
        /*0000*/                   NOP ;
.text.elsewhere:
        /*0000*/                   CALL.REL.NOINC `($nowhere$) ;
        /*0010*/                   EXIT ;
"""


@pytest.fixture(scope="module")
def kernels():
    return sass.kernels(TEXT)


def test_ways_through_a_kernel(kernels):
    assert list(kernels) == ["kernel", "chooses", "lost", "endless", "calls", "elsewhere"]
    kernel = kernels["kernel"]
    assert len(kernel.code) == 9
    assert kernel.shortest() == 3
    assert kernel.shortest_through({2}) == 8
    assert kernel.shortest_through(kernel.in_loops) == 8
    assert kernel.shortest_cycles("FADD|STS") == [3]
    assert kernels["chooses"].shortest() == 2
    assert kernels["chooses"].shortest_cycles("NOP|BRA") == [3, 3]


def test_a_call_counts_with_the_shortest_way_through_the_function(kernels):
    kernel = kernels["calls"]
    assert len(kernel.code) == 13
    assert kernel.costs[2] == 1 + (1 + 2) + 1
    assert kernel.shortest() == 7 + 4
    assert kernel.shortest_through({3, 10}) == 7 + 4
    assert kernel.shortest_cycles("LDG") == [4 + 4]


def test_what_a_kernel_does_again_and_again(kernels):
    assert kernels["kernel"].in_loops == {3, 4, 5, 8}
    assert kernels["chooses"].in_loops == {1, 2, 3}
    kernel = kernels["calls"]
    assert kernel.in_loops == {1, 2, 3, 4, 7, 8, 9, 10}
    assert [kernel.count(sass.GENERIC), kernel.count(sass.GENERIC, kernel.in_loops)] == [3, 1]
    assert [kernel.count(sass.LOCAL), kernel.count(sass.LOCAL, kernel.in_loops)] == [2, 1]


def test_where_a_kernel_goes_must_be_known(kernels):
    with pytest.raises(ValueError, match="where does"):
        kernels["lost"].shortest()
    with pytest.raises(ValueError, match="no way"):
        kernels["endless"].shortest()
    with pytest.raises(ValueError, match="what does"):
        kernels["elsewhere"].shortest()


@pytest.fixture(scope="module")
def limits():
    return json.loads(count.LIMITS.read_text())


def mistakes(now, limits):
    """What is above its limit, what has none, and what is so far below that the limit is stale.

    Code may become longer by a hundredth without anyone's doing. Nothing else may.
    """
    found = []
    for name, limit, counted in count.moved(now, limits):
        above = limit * 1.01 if name.endswith(", bytes") else limit
        if not 0.95 * limit <= counted <= above:
            found.append(f"{name}: {limit:g} -> {counted:g}")
    return found


def test_what_moves_a_count_is_said(limits):
    kernel, part = (
        "lean_kernel<uint32, Periodic, NoJitter>",
        "step kernel: drawing a phase, per rank",
    )
    assert mistakes(limits, limits) == []
    now = copy.deepcopy(limits)
    now["kernels"][kernel] |= {"generic": 1, "bytes": limits["kernels"][kernel]["bytes"] + 16}
    now["parts"][part] += 0.5
    now["parts"]["new"] = 1
    del now["kernels"]["lean_kernel<long, NoNoise, NoJitter>"]
    text = "\n".join(mistakes(now, limits))
    assert f"{part}: {limits['parts'][part]:g} -> {now['parts'][part]:g}" in text
    assert f"{kernel}, generic: 0 -> 1" in text
    assert "new: nan -> 1" in text
    gone = limits["kernels"]["lean_kernel<long, NoNoise, NoJitter>"]["registers"]
    assert f"lean_kernel<long, NoNoise, NoJitter>, registers: {gone} -> nan" in text
    assert f"{kernel}, bytes" not in text
    now["parts"][part] = 0.9 * limits["parts"][part]
    assert f"{part}: " in "\n".join(mistakes(now, limits))


@pytest.mark.full_scale
@pytest.mark.slow
def test_no_kernel_costs_more_than_its_limit(limits):
    """Changes that move a count move limits.json with it: see `python -m instructions.count`."""
    build = _core.build_info()
    cuda = count.Cuda(cuda_compiler())
    if cuda.version != limits["nvcc"]:
        pytest.skip(f"the limits are of nvcc {limits['nvcc']}, this is {cuda.version}")
    built = "90" in build["cuda_architectures"].replace("-", " ").split()
    module = Path(_core.__file__) if built and build["cuda"] == limits["nvcc"] else None
    assert module is None or _core.kernel_digest == digest_of_kernels(), OLDER
    now = count.measured(cuda, module)
    assert now["architecture"] == limits["architecture"]
    found = mistakes(now, limits)
    told = "\n".join(found)
    assert not found, f"make meant ones the limit (python -m instructions.count --limits):\n{told}"


def test_the_installed_module_is_of_this_tree():
    """Whose kernels are counted and executed instead of those that the tree would make."""
    assert _core.kernel_digest == digest_of_kernels(), OLDER


def test_the_page_on_kernels_has_the_limits(limits):
    page = (ROOT / "docs" / "developers" / "gpu_kernels.md").read_text(encoding="utf-8")
    for table in count.table(limits).split("\n\n"):
        assert f"\n\n{table}\n\n" in page


def test_no_access_of_the_lean_kernel_is_generic_or_local(limits):
    """The kernels that are near the limit of the card: the others' limits go down to this."""
    lean = {name: row for name, row in limits["kernels"].items() if name.startswith("lean_kernel")}
    assert len(lean) == 16
    assert all(row["generic"] == row["local"] == 0 for row in lean.values())
