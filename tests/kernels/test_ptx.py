"""GPU kernels as compiled to PTX by nvcc, run on the CPU, against the CPU backend; PTX mutants.

The kernels are compiled to PTX as for the build, or are what the build has. PTX is run on the
emulation of CUDA's threads (tests/ptx) in place of what the C++ compiler makes of the same source
(test_kernels.py). So what is for devices only (`__CUDA_ARCH__`), what the optimizer did, and where
it left barriers, is executed, too. Every kernel in the PTX has to be run by a case. That errors in
the PTX would show is tested on copies with an error each.
"""

import copy
import itertools
import random
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from instructions import count
from ptx.assembler import Module, UnknownPtx, assemble
from support.compiler import (
    BACKEND,
    OLDER,
    compiler,
    cuda_compiler,
    cuda_search,
    digest_of_kernels,
)
from support.congestion_cases import random_graph, random_tree
from support.emulated_congestion import (
    CONGESTED_NOISES,
    CongestionRun,
    can_be_congested,
    congest,
    random_runs,
    same_congestion,
    varied_congested,
)
from support.emulated_kernels import (
    LEAN32,
    LEAN64,
    ORDERS,
    PROCESSES,
    Run,
    build_once,
    compiled,
    execute,
    lean_runs,
    parts_once,
    same,
    sensitive_runs,
    varied,
    varied_messages,
)
from support.emulated_schedules import random_schedule_runs, same_schedule
from support.kernel_cases import ALL_NOISES, PROGRAMS, make
from support.lean_cases import (
    on_the_edge,
    random_lean_case,
    random_list_case,
    random_recording_case,
    random_renewal_case,
)
from support.message_cases import (
    COUNTED,
    MESSAGE_PROGRAMS,
    make_messages,
    with_counts,
    with_rank_speeds,
)
from support.paths import CUDA, PTX, ROOT

import jitterfly.congestion as jc
from jitterfly import _core

pytestmark = [pytest.mark.full_scale, pytest.mark.slow(minutes=4)]

PYPROJECT = ROOT / "pyproject.toml"
# As CMakeLists.txt compiles device code.
FLAGS = ["-ptx", "-std=c++20", "-O3", "-fmad=false", "-DJF_HAVE_CUDA", f"-I{CUDA}"]
OURS = "_ZN2jf"  # the namespace of all kernels but Thrust's


# The oldest device that release builds have code for, and that for which the kernels are tuned.
ARCHITECTURES = [min(cuda_search().RELEASE), TUNED := 90]


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """By architecture and file of kernels: what the compiler made of it."""
    folder, nvcc = tmp_path_factory.mktemp("ptx"), cuda_compiler()

    def ptx(job):
        arch, file = job
        out = folder / f"{file.replace('/', '_')}_{arch}.ptx"
        command = [nvcc, *FLAGS, f"-arch=compute_{arch}", "-ccbin", compiler()[0]]
        result = subprocess.run([*command, CUDA / file, "-o", out], capture_output=True, text=True,
                                check=False)  # fmt: skip
        assert result.returncode == 0, result.stderr
        return Module(out.read_text())

    files = [source.relative_to(CUDA).as_posix() for source in sorted(CUDA.glob("*/*.cu"))]
    built = of_the_build(nvcc, folder)
    jobs = [job for job in itertools.product(ARCHITECTURES, files) if job[0] != TUNED or not built]
    with ThreadPoolExecutor(PROCESSES) as pool:
        made = dict(zip(jobs, pool.map(ptx, jobs), strict=True))
    if built:  # a file has the same kernels for every device
        by_kernels = {frozenset(module.kernels(OURS)): module for module in built}
        of_files = {file: frozenset(made[ARCHITECTURES[0], file].kernels(OURS)) for file in files}
        assert by_kernels.keys() == set(of_files.values())
        assert len(built) == len(by_kernels) == len(files)
        made |= {(TUNED, file): by_kernels[kernels] for file, kernels in of_files.items()}
    return {arch: {file: made[arch, file] for file in files} for arch in ARCHITECTURES}


def of_the_build(nvcc, folder):
    """The PTX for the tuned device in the installed module, if this compiler made it; else none."""
    build, cuda = _core.build_info(), count.Cuda(nvcc)
    with_ptx = {str(TUNED), f"{TUNED}-virtual"} & set(build["cuda_architectures"].split())
    if not with_ptx or build["cuda"] != cuda.version:
        return []
    assert _core.kernel_digest == digest_of_kernels(), OLDER
    return [Module(file.read_text()) for file in
            cuda.of_module(Path(_core.__file__), folder, "ptx")]  # fmt: skip


# What nvcc adds to the names of a unit's own functions: a digest of its command, which the build
# and this test give with other paths, and the number of the process in which it ran.
NAME_OF_UNIT = re.compile(r"_ZN\d+(_INTERNAL_\w+?_)[0-9a-f]{8}_\d+(?=2jf)")


def other_kernels(module, tuned):
    """Kernels whose text is another one than for the tuned device, but for what is the compiler's
    process; all, where what they may call or read is another.
    """

    def texts(module):
        # PTX in a module of the build has no tabs.
        parts = {name: replace(function, line=0, body=" ".join(function.body.split()))
                 for name, function in module.functions.items()}  # fmt: skip
        pairs = (parts | module.variables).items()
        return {NAME_OF_UNIT.sub(r"\1", name): NAME_OF_UNIT.sub(r"\1", repr(part))
                for name, part in pairs}  # fmt: skip

    mine, others, kernels = texts(module), texts(tuned), set(module.kernels(OURS))
    changed = {name for name in mine.keys() | others.keys() if mine.get(name) != others.get(name)}
    return kernels & changed if changed <= kernels else kernels


class Programs:
    """Kernels as machine.cpp runs them, and how often each line of their PTX was executed."""

    def __init__(self, folder, text):
        self.file, self.numbers = folder / "programs", folder / "numbers"
        self.file.write_text(text)
        self.numbers.mkdir()

    def execute(self, executable, lines, timeout=600):
        command = [executable, self.file, self.numbers]
        read = subprocess.run(command, input="", capture_output=True, text=True, check=False)
        assert read.returncode == 0, read.stderr
        return execute(executable, lines, timeout, command[1:])

    def executed(self):
        """Numbers of times, by name of a function and line of the file."""
        found = Counter()
        for file in self.numbers.iterdir():
            for text in file.read_text().splitlines():
                name, line, number = text.split()
                found[name, int(line)] += int(number)
        return found


def engine_runs():
    """Every program under every noise, in every order of threads, on as few ranks as will do."""
    runs = []
    pairs = [(program, noise) for program in PROGRAMS for noise in ALL_NOISES]
    for number, (program, noise) in enumerate(pairs):
        case = make(program, noise, (3, 6, 5, 4, 2, 7)[number % 6])
        runs.append(varied(case, number, count=1 + number % 2))
    pairs = [(program, noise) for program in MESSAGE_PROGRAMS for noise in ALL_NOISES]
    for number, (program, noise) in enumerate(pairs):
        case = make_messages(program, noise, (6, 37, 16, 40, 3)[number % 5])
        runs.append(varied_messages(case, number))
        if number % 3 == 0:
            runs.append(varied_messages(with_rank_speeds(case, random.Random(number)), number))
    for number, noise in enumerate(ALL_NOISES):
        case = with_counts(COUNTED[number % len(COUNTED)], noise, 3 + number % 4)
        runs.append(varied_messages(case, number))
    # Several ranks in a thread. Observing is what takes time.
    quiet = {"hidden": frozenset(range(1, 8))}
    for number, noise in enumerate(ALL_NOISES):
        for program in ("butterfly", "both"):
            case = make(program, noise, 9, **quiet)
            runs.append(Run(case, order=number % ORDERS, statistics="max", most=number % 3))
    for number, noise in enumerate(CONGESTED_NOISES):
        for program in filter(can_be_congested, PROGRAMS):
            case = make(program, noise, 1 + number % 6)
            runs.append(varied_congested(case, number))
        for program in sorted(set(MESSAGE_PROGRAMS) - {"trees"}):
            case = make_messages(program, noise, (6, 37, 16)[number % 3])
            runs.append(varied_congested(case, number))
        for program in ("butterfly", "both"):
            case = make(program, noise, 9, **quiet)
            runs.append(Run(congest(case, number), statistics="max"))
    runs = with_few_realizations(runs) + sensitive_runs()
    # Ranks that do not fit shared memory.
    runs.append(Run(make_messages("trees", "fresh", 14_000)))
    return runs + runs_of_the_lean_kernel()


def with_few_realizations(runs):
    """As many realizations as fill eight warps, where a run has more, or two in each fourth run.

    Many take long, and execute no other lines. Tests of the same source run all of them.
    """
    return [replace(run, count=min(run.count, max(256 // run.case.ranks, 1 + (number % 4 == 0))))
            for number, run in enumerate(runs)]  # fmt: skip


def runs_of_the_lean_kernel(limits=(LEAN32, LEAN64)):
    cases = [random_lean_case(random.Random(f"ptx {number}")) for number in range(60)]
    cases += [random_list_case(random.Random(f"ptx {number}")) for number in range(30)]
    cases += [random_renewal_case(random.Random(f"ptx {number}")) for number in range(30)]
    cases += [random_recording_case(random.Random(f"ptx {number}")) for number in range(30)]
    runs = [run for most in limits for run in with_few_realizations(lean_runs(cases, most))]
    # Draws whose low half decides.
    rng = random.Random("ptx edge")
    cases = [on_the_edge(rng, bits, events) for bits in (4, 5) for events in range(3)]
    runs += [Run(case, most=most) for most in limits for case in cases]
    # The barriers of a window that moves, and ranks that do not fit shared memory.
    runs += [Run(make("butterfly", "stationary", 14, hidden=frozenset(range(1, 13))), most=most)
             for most in limits]  # fmt: skip
    return runs


def congestion_runs(folder):
    """Random ones; and on a tree and a graph a level of more messages than 16 bits count."""
    runs = random_runs(folder, 24, 2)
    chance = random.Random("many messages")
    random_graph(chance, folder / "many.dot")
    for network in (random_tree(chance)[1], jc.NetworkMap.read(folder / "many.dot")):
        alone = jc.CongestionCase(network, perturbation="none", ratio=0)
        pairs = list(itertools.permutations(range(alone.z), 2))
        level = list(itertools.islice(itertools.cycle(pairs), 2**16 + 1))
        case = replace(alone, pattern=[level], rule="orcs")
        runs.append(CongestionRun(case, count=1, all=False))
    return runs


def kernels_of(modules):
    """(module, name) of each of our kernels."""
    return [(module, name) for module in modules for name in module.kernels(OURS)]


@pytest.fixture(scope="module")
def all_programs(modules):
    """By architecture: all of its kernels, for `Programs`."""
    return {arch: assemble(kernels_of(files.values())) for arch, files in modules.items()}


def wrong(runs, found, same):
    return [f"{text} for {run}" for run, text in zip(runs, found, strict=True)
            if not same(run, text)]  # fmt: skip


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kernel(modules, all_programs, arch, tmp_path, tmp_path_factory, monkeypatch):
    """The bits of the CPU backend, and no kernel is left out, if it is another for this device."""
    asked = {file: set(module.kernels(OURS)) if arch == TUNED
             else other_kernels(module, modules[TUNED][file])
             for file, module in modules[arch].items()}  # fmt: skip
    files = {file for file, kernels in asked.items() if kernels}
    programs = Programs(tmp_path, all_programs[arch])

    def check(program, runs, texts, same):
        found = programs.execute(build_once(tmp_path_factory, program), texts)
        assert wrong(runs, found, same) == []

    if "congestion/gpu.cu" in files:
        runs = congestion_runs(tmp_path)
        check("congestion", runs, [run.text(monkeypatch) for run in runs], same_congestion)
    if "schedule/gpu.cu" in files:
        runs = random_schedule_runs(tmp_path / "schedules", 60, 5)
        check("schedules", runs, [run.text(monkeypatch) for run in runs], same_schedule)
    if others := files - {"congestion/gpu.cu", "schedule/gpu.cu"}:
        if others == {"gpu/lean.cu"}:
            narrow = all("lean_kernelIj" in name for name in asked["gpu/lean.cu"])
            # With numbers of 64 bits in any case, they are not those that others run.
            runs = runs_of_the_lean_kernel([LEAN32] if narrow else [LEAN32, LEAN64])
        else:
            runs = engine_runs()
        check("kernels", runs, [run.text() for run in runs], same)
    executed = {name for name, _ in programs.executed()}
    assert files or arch != TUNED
    assert set().union(*asked.values()) - executed == set()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_no_kernel_copies_its_job(modules, arch):
    """A parameter whose address is needed is copied to the local memory of every thread, unless it
    is `__grid_constant__`. A job has more than a kilobyte.
    """
    local = re.compile(r"\.local\s+\.align\s+\d+\s+\.b8\s+\S+\[(\d+)\]")
    used = {name: sum(map(int, local.findall(module.functions[name].body)))
            for module, name in kernels_of(modules[arch].values())}  # fmt: skip
    assert max(used.values()) > 0
    assert {name: size for name, size in used.items() if size >= 1024} == {}


# What a copy of a kernel has in place of an instruction; and the lines in which this is tried, one
# at a time: those executed most often, or first. One of them has to change a result. (Many shifts
# are of numbers that are 0 in these runs.)
ERRORS = {
    "no barrier": (r"\bbar(rier(\.cta)?)?\.sync\b.*;", lambda _: ";", "most", 1),
    "the earlier of two times": (r"\bmax\.(?=[su](32|64)\b)", lambda _: "min.", "most", 1),
    "a shift by one bit more": (
        r"(\bsh[lr]\.\w+\s.*,\s*)(\d+);",
        lambda match: f"{match[1]}{int(match[2]) + 1};",
        "first",
        4,
    ),
}
SENSITIVE = {
    "butterfly": make("butterfly", "fresh", 10),
    "jitter": make("after", "fresh, jitter", 8),
    "copies": make("both", "fresh", 6),
    "renewal": make("butterfly", "renewal", 9),
    "messages": make_messages("ring", "fresh", 100),
}


@dataclass
class Sensitive:
    """Runs of a case, in two orders of threads, the kernel that runs it, and its lines executed."""

    runs: list[Run]
    module: Module
    kernel: str
    others: list[str]  # kernels that run it, too
    lines: dict[int, int]


@pytest.fixture(scope="module", params=SENSITIVE)
def sensitive(request, modules, all_programs, tmp_path_factory):
    kernels = kernels_of(modules[TUNED].values())
    programs = Programs(tmp_path_factory.mktemp("sensitive"), all_programs[TUNED])
    runs = [Run(SENSITIVE[request.param], order=order, count=2) for order in (1, 2)]
    found = programs.execute(build_once(tmp_path_factory), [run.text() for run in runs])
    assert wrong(runs, found, same) == []
    executed = programs.executed()
    # The one with most to do, where a case takes several.
    work = Counter()
    for (name, _), number in executed.items():
        work[name] += number
    module, kernel = max(kernels, key=lambda pair: work[pair[1]])
    lines = {line: number for (name, line), number in executed.items() if name == kernel}
    others = [name for name in module.kernels(OURS) if work[name] and name != kernel]
    return Sensitive(runs, module, kernel, others, lines)


@pytest.mark.parametrize("what", ERRORS)
def test_an_error_in_the_ptx_is_caught(sensitive, what, tmp_path, tmp_path_factory):
    pattern, put, which, number = ERRORS[what]
    function = sensitive.module.functions[sensitive.kernel]
    text = function.body.split("\n")
    lines = [n for n in sorted(sensitive.lines) if re.search(pattern, text[n - function.line])]
    if which == "most":
        lines.sort(key=lambda line: -sensitive.lines[line])
    assert lines
    others = [(sensitive.module, name) for name in sensitive.others]
    for line in lines[:number]:
        changed = list(text)
        changed[line - function.line] = re.sub(pattern, put, changed[line - function.line], count=1)
        module = copy.copy(sensitive.module)
        body = replace(function, body="\n".join(changed))
        module.functions = module.functions | {function.name: body}
        folder = tmp_path / str(line)
        folder.mkdir()
        programs = Programs(folder, assemble([(module, function.name), *others]))
        found = programs.execute(build_once(tmp_path_factory),
                                 [run.text() for run in sensitive.runs], timeout=10)  # fmt: skip
        if wrong(sensitive.runs, found, same):
            return
    pytest.fail(f"lines {lines[:number]} of {function.name} do not matter")


# What only tests need: cuRAND's host generator, and what reads machine code.
OF_TESTS = "curand==", "cuobjdump==", "nvdisasm=="


def test_tests_require_the_compiler_of_the_build():
    """The packages that pyproject.toml pins for tests are those that the build fetches."""
    pinned = re.findall(r'"((?:cuda-toolkit|nvidia-)[^";]*==[^";]*)', PYPROJECT.read_text())
    backend = (BACKEND / "jitterfly_build.py").read_text()
    pinned = [requirement.strip() for requirement in pinned
              if not any(tool in requirement for tool in OF_TESTS)]  # fmt: skip
    assert len(pinned) >= 2
    assert [requirement for requirement in pinned if f'"{requirement}"' not in backend] == []


HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def test_an_unknown_instruction_is_an_error(tmp_path, tmp_path_factory):
    """Also one that is never executed, and a number of operands that an instruction has not."""
    for text in ("fma.rn.f32 %r1, %r1, %r1, %r1", "add.sat.s32 %r1, %r1, %r1", "add.s32 %r1, %r1"):
        body = f".reg .b32 %r<2>;\nret;\n{text};\n"
        module = Module(f"{HEAD}.visible .entry kernel()\n{{\n{body}}}\n")
        folder = tmp_path / text.split()[0].replace(".", "_") / str(len(text))
        folder.mkdir(parents=True)
        programs = Programs(folder, assemble([(module, "kernel")]))
        with pytest.raises(AssertionError, match="line 8: unknown instruction"):
            programs.execute(build_once(tmp_path_factory), [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mov.u32 %r1, %r2, nonsense;", "what is nonsense"),
        ("ld.u32 %r1, [%r2+%r1];", "the address"),
        ("call other, ();", "not in the file"),
        (".tex .u32 image;", "not a declaration"),
        (".global .u32 x;", "in global memory"),
    ],
)
def test_ptx_that_is_not_understood_is_an_error(text, why):
    body = f".reg .b32 %r<3>;\n{text}\nret;\n"
    module = Module(f"{HEAD}.visible .entry kernel()\n{{\n{body}}}\n")
    with pytest.raises(UnknownPtx, match=why):
        assemble([(module, "kernel")])


# Instructions, and what they give: by the PTX ISA, chapter "Instruction Set". %r0 is the lane, %p0
# whether it is even; results are %rd9, %r9 or %p9.
M32, M64 = 2**32 - 1, 2**64 - 1
INSTRUCTIONS = {
    "add.s32 %r9, -1, 1": 0,
    "sub.u16 %rs9, 1, 2": 0xFFFF,
    "sub.s64 %rd9, 1, 2": M64,
    "mul.hi.u32 %r9, 0x80000001, 6": 3,
    "mul.hi.s32 %r9, 0x80000001, 6": M32 - 2,
    "mul.hi.u64 %rd9, 0x8000000000000001, 6": 3,
    "mul.wide.s32 %rd9, -3, 5": M64 - 14,
    "mul.wide.u32 %rd9, -3, 5": 0x4FFFFFFF1,
    "mad.lo.s32 %r9, 3, -5, 1": M32 - 13,
    "mad.hi.u32 %r9, 0x80000000, 6, 9": 12,
    "mad.wide.s32 %rd9, -3, 5, 14": M64,
    "div.s32 %r9, -7, 2": M32 - 2,
    "div.s32 %r9, -2147483648, -1": 2**31,
    "rem.s64 %rd9, -7, 2": M64,
    "rem.u32 %r9, -7, 4": 1,
    "min.s32 %r9, -1, 1": M32,
    "min.u32 %r9, -1, 1": 1,
    "max.s64 %rd9, -1, 1": 1,
    "abs.s32 %r9, -5": 5,
    "neg.s64 %rd9, 5": M64 - 4,
    "not.b32 %r9, 5": M32 - 5,
    "shl.b32 %r9, 3, 31": 2**31,
    "shl.b32 %r9, 3, 32": 0,
    "shr.u32 %r9, -1, 31": 1,
    "shr.s32 %r9, -4, 1": M32 - 1,
    "shr.s64 %rd9, -4, 70": M64,
    "shr.u64 %rd9, -4, 70": 0,
    "shf.l.wrap.b32 %r9, 0x12345678, 0x9abcdef0, 36": 0xABCDEF01,
    "shf.l.clamp.b32 %r9, 0x12345678, 0x9abcdef0, 36": 0x12345678,
    "shf.r.wrap.b32 %r9, 0x12345678, 0x9abcdef0, 36": 0x01234567,
    "shf.r.clamp.b32 %r9, 0x12345678, 0x9abcdef0, 36": 0x9ABCDEF0,
    "bfe.u32 %r9, 0x12345678, 8, 12": 0x456,
    "bfe.s32 %r9, 0x12345f78, 4, 8": M32 - 8,
    "bfe.s64 %rd9, 0x8000000000000000, 60, 20": M64 - 7,
    "bfi.b32 %r9, 0xab, 0x12345678, 8, 12": 0x1230AB78,
    "bfi.b64 %rd9, -1, 0, 60, 20": 0xF << 60,
    "clz.b64 %r9, 0x10000": 47,
    "popc.b32 %r9, 0x10101": 3,
    "brev.b32 %r9, 1": 2**31,
    "bfind.u32 %r9, 0x10000": 16,
    "bfind.u32 %r9, 0": M32,
    "prmt.b32 %r9, 0x33221180, 0x77665544, 0x7408": 0x774480FF,
    "lop3.b32 %r9, 0xf0, 0xcc, 0xaa, 0x96": 0xF0 ^ 0xCC ^ 0xAA,
    "setp.lt.s32 %p9, -1, 1": 1,
    "setp.lo.u32 %p9, -1, 1": 0,
    "setp.ge.xor.s64 %p9, 1, 1, %p0": [0, 1] * 16,
    "setp.eq.and.s32 %p9, 1, 1, !%p0": [0, 1] * 16,
    "selp.b32 %r9, 5, 6, %p0": [5, 6] * 16,
    "@!%p0 mov.u32 %r9, 7": [0, 7] * 16,
    "cvt.s64.s8 %rd9, 0x1ff": M64,
    "cvt.u16.u32 %rs9, 0x12345": 0x2345,
    "mov.b64 %rd9, {%r0, %r0}": [lane << 32 | lane for lane in range(32)],
    "mov.b64 {_, %r9}, 0x500000000": 5,
    "mov.b32 %r9, {%rs0, %rs0}": [lane << 16 | lane for lane in range(32)],
    "mov.u32 %r9, %laneid": list(range(32)),
    "mov.u32 %r9, %ntid.x": 32,
    "{ .reg .b32 %r0, t; mov.b32 %r0, 4; mov.b32 t, %r0; add.s32 %r9, %r0, t; }": 8,
    "shfl.sync.bfly.b32 %r9, %r0, 3, 31, -1": [lane ^ 3 for lane in range(32)],
    "shfl.sync.up.b32 %r9|%p1, %r0, 2, 0, -1": [0, 1, *range(30)],
    "shfl.sync.up.b32 %r8|%p9, %r0, 2, 0, -1": [0, 0] + [1] * 30,
    "shfl.sync.down.b32 %r9, %r0, 1, 0x181f, -1": [
        lane + (lane % 8 < 7) for lane in range(32)],
    "shfl.sync.idx.b32 %r9|%p1, %r0, 9, 0x181f, -1": [lane // 8 * 8 + 1 for lane in range(32)],
    "redux.sync.max.u32 %r9, %r0, -1": [31] * 32,
    "vote.sync.ballot.b32 %r9, %p0, -1": 0x55555555,
    "vote.sync.any.pred %p9, %p0, -1": 1,
    "vote.sync.all.pred %p9, %p0, -1": 0,
    "bar.red.popc.u32 %r9, 0, %p0": 16,
    "bar.red.or.pred %p9, 0, %p0": 1,
    "bar.red.and.pred %p9, 0, !%p0": 0,
    "{ atom.global.exch.b32 %r8, SPARE, 5; red.global.add.u32 SPARE, 2; "
    "atom.global.cas.b64 %rd9, SPARE, 7, 9; ld.relaxed.gpu.global.u64 %rd9, SPARE; }": 9,
    "{ st.shared.v2.u32 [dynamic+8], {5, 6}; ld.shared.u64 %rd9, [dynamic+8]; }": 6 << 32 | 5,
    "{ atom.shared.max.u32 %r8, [fixed], %r0; bar.sync 0; ld.shared.u32 %r9, [fixed]; }": 31,
    "{ st.local.u8 [memory+3], 255; ld.local.s8 %rd9, [memory+3]; }": M64,
    "{ .param .b64 given; .param .b32 result; st.param.b64 [given], %rd0; "
    "call (result), twice, (given); ld.param.b32 %r9, [result]; }": [
        2 * lane for lane in range(32)],
}  # fmt: skip


def test_instructions(tmp_path, tmp_path_factory):
    """Each for the 32 threads of a warp, which write what it gives to their places."""
    lines = []
    for number, text in enumerate(INSTRUCTIONS):
        wide, offset = "%rd9" in text, 256 * number
        lines.append("mov.u64 %rd9, 0; mov.u32 %r9, 0; mov.pred %p9, 0; mov.u16 %rs9, 0;")
        text = text.replace("SPARE", f"[%rd1+{256 * len(INSTRUCTIONS)}]")
        lines.append(text if text.startswith("{") else f"{text};")
        for name, change in (("%rs9", "cvt.u64.u16 %rd9, %rs9;"), ("%r9", "cvt.u64.u32 %rd9, %r9;"),
                             ("%p9", "selp.u64 %rd9, 1, 0, %p9;")):  # fmt: skip
            if not wide and name in text:
                lines.append(change)
                break
        lines.append(f"st.global.u64 [%rd1+{offset}], %rd9;")
    body = "\n".join(lines)
    module = Module(f"""{HEAD}
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 value) twice(.param .b64 number) {{
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [number]; // "}}"
  cvt.u32.u64 %r1, %rd1; add.s32 %r1, %r1, %r1;
  st.param.b32 [value], %r1; ret.uni;
}}
.visible .entry selftest(.param .u32 count, .param .u64 .ptr .global .align 8 places)
.maxntid 32, 1, 1
{{
  .reg .b64 %rd<10>; .reg .b32 %r<10>; .reg .b16 %rs<10>; .reg .pred %p<10>;
  .local .align 8 .b8 memory[16];
  .shared .align 4 .u32 fixed;
  ld.param.u64 %rd1, [places]; cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r0, %tid.x; cvt.u64.u32 %rd0, %r0; cvt.u16.u32 %rs0, %r0;
  mov.u32 %r8, 0; setp.eq.s32 %p9, %r0, 0; @%p9 st.shared.u32 [fixed], %r8; bar.sync 0;
  shl.b64 %rd2, %rd0, 3; add.s64 %rd1, %rd1, %rd2;
  and.b32 %r7, %r0, 1; setp.eq.s32 %p0, %r7, 0;
{body}
  setp.eq.s32 %p1, %r0, 99; @%p1 bra $gone; bra.uni $end;
$gone: trap;
$end: ret;
}}
""")
    programs = Programs(tmp_path, assemble([(module, "selftest")]))
    # The object of machine.cpp that runs the kernels, too.
    _, machine = parts_once(tmp_path_factory)
    executable = tmp_path / "selftest"
    compiled(CUDA, ["-rdynamic", PTX / "selftest.cpp", machine, "-o", executable])
    command = [executable, programs.file, programs.numbers]
    result = subprocess.run(command, input=str(len(INSTRUCTIONS)), capture_output=True, text=True,
                            check=False)  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = [int(word) for word in result.stdout.split()]
    for number, (text, value) in enumerate(INSTRUCTIONS.items()):
        values = value if isinstance(value, list) else [value] * 32
        assert found[32 * number : 32 * number + 32] == values, text
