"""CPU engine under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer.

The engine's sources are compiled with the sanitizer into a program of their own, which runs cases
of every kind of pass on every instruction set that this processor has; what it tells of the
results must be what the installed extension gives. Congestion, schedules and the threads that
all of them use have programs beside it. That faults in the engine would be found is tested by
processes that misuse it: see sanitizers/planted_faults.h.
"""

import functools
import itertools
import os
import platform
import random
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from reference.schedules import as_text as as_goal
from reference.schedules import random_schedule
from support.compiler import compiler
from support.congestion_cases import random_case, random_graph, random_tree
from support.emulated_congestion import CongestionRecorder
from support.emulated_kernels import PROCESSES, Run, as_text
from support.instruction_sets import ISAS as VECTORS
from support.kernel_cases import make
from support.message_cases import MESSAGE_PROGRAMS, make_messages
from support.paths import CUDA, EMULATION, TESTS
from support.schedule_files import SAMPLE, SAMPLE_RANKS, loggopsim_binary, mutated

import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly import _core
from jitterfly.congestion.simulate import compile_congestion

pytestmark = [pytest.mark.full_scale, pytest.mark.slow]

SOURCE = TESTS / "sanitizers"
SANITIZERS = ("address,undefined", "thread")
# The best of this processor, and the portable one: what a gather of AVX2 or AVX-512 reads is not
# checked, that of the portable one is. AVX2 has the source of AVX-512, with other widths.
ISAS = {
    "address,undefined": ("portable", *(isa for isa in VECTORS[:1] if isa != "portable")),
    "thread": VECTORS[:1],  # which memory threads share does not depend on the registers
}
FLAGS = ["-std=c++20", "-Og", "-ffp-contract=off", "-fno-omit-frame-pointer", "-pthread"]
# Reports name functions. With lines of the source in them, compiling takes an eighth longer.
FLAGS += ["-g1"] if os.environ.get("JITTERFLY_SANITIZER_LINES") else ["-g0"]
# g++ takes half the time with checks of memory by calls, and less care for registers; with the last
# three, of which the thread sanitizer's objects gain nothing, a tenth less.
QUICKER_GXX = ["-fira-region=one", "-fira-algorithm=priority"]
QUICKER_ASAN = ["--param", "asan-instrumentation-with-call-threshold=0", "--param",
                "ira-max-conflict-table-size=0", "--param", "ggc-min-expand=150", "--param",
                "ggc-min-heapsize=600000"]  # fmt: skip
FOUND = 66  # the exit status of a program in which a sanitizer found something
OPTIONS = {
    "ASAN_OPTIONS": f"exitcode={FOUND}",
    "UBSAN_OPTIONS": f"exitcode={FOUND}:print_stacktrace=1",
    "TSAN_OPTIONS": f"exitcode={FOUND}:halt_on_error=1",
}
PLANTS = {
    "address,undefined": {
        "OUT_OF_BOUNDS": "heap-buffer-overflow",
        "OVERFLOW": "signed integer overflow",
    },
    "thread": {"RACE": "data race"},
}


def units(sanitizer):
    """Sources, by objects, each with flags of its own and its name: those of CMakeLists.txt.

    Those for every instruction set make few objects: alone, a third of their time goes to headers.
    """
    text = (CUDA.parent / "CMakeLists.txt").read_text()
    flags = dict(re.findall(r"set\(flags_(\w+) ([^)]*)\)", text))
    have = [f"-DJF_HAVE_{isa.upper()}" for isa in ISAS[sanitizer]]
    host = [*sorted((CUDA / "core").glob("*.cpp")), *sorted((CUDA / "noise").glob("*.cpp"))]
    loops = sorted((CUDA / "cpu").glob("*_isa.cpp"))
    host += [path for path in sorted((CUDA / "cpu").glob("*.cpp")) if path not in loops]
    vectors = [
        CUDA / "congestion" / "simd_loops_isa.cpp",
        CUDA / "statistics" / "loops_isa.cpp",
    ]
    loops += vectors
    assert all(path.exists() for path in loops)
    host += [path for path in sorted((CUDA / "statistics").glob("*.cpp")) if path not in vectors]
    others = [CUDA / "congestion" / f"{name}.cpp" for name in ("program", "loads", "cpu_engine")]
    others += sorted((CUDA / "schedule").glob("*.cpp"))
    alone = CUDA / "schedule" / "loggopsim_binary.cpp"  # has a `Reader`, as others have
    others.remove(alone)
    # In the order of linking: those for newer processors last.
    found = [(host, have, "host"), (others, have, "others"), ([alone], have, alone.stem)]
    pairs = [(isa, path) for isa in ISAS[sanitizer] for path in loops]
    if "portable" not in ISAS[sanitizer]:
        pairs[:0] = [("portable", path) for path in vectors]  # they have that always
    found += [
        ([path], [*have, f"-DJF_ISA={isa}", *flags.get(isa, "").split()], f"{path.stem}_{isa}")
        for isa, path in pairs
    ]
    return found


@functools.cache
def is_gxx():
    version = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=True)
    return "Free Software Foundation" in version.stdout


def command(sanitizer):
    flags = [*FLAGS, f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    if is_gxx():
        flags += [*QUICKER_GXX, *(QUICKER_ASAN if "address" in sanitizer else [])]
    # These more than double the time to compile. AddressSanitizer finds most of what the first two
    # would; alignment, vptr and pointer-overflow are not looked for.
    if "undefined" in sanitizer:
        flags.append("-fno-sanitize=null,object-size,alignment,vptr,pointer-overflow")
    return [*compiler(), *flags]


def compiled(sanitizer, folder, unit):
    sources, flags, name = unit
    built = subprocess.run(
        [*command(sanitizer), *flags, f"-I{CUDA}", f"-I{EMULATION}", "-x", "c++", "-c", "-", "-o",
         f"{name}.o"],
        input="".join(f'#include "{source}"\n' for source in sources),
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr


def linked(sanitizer, folder, name="engine"):
    """The program of the engine's objects and of `name`.cpp."""
    program = f"{name}_program"
    compiled(sanitizer, folder, ([SOURCE / f"{name}.cpp"], ["-DJF_WITH_ENGINE"], program))
    objects = [f"{name}.o" for name in (program, *(unit[2] for unit in units(sanitizer)))]
    built = subprocess.run([*command(sanitizer), *objects, "-o", program], cwd=folder,
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert built.returncode == 0, built.stderr
    return folder / program


def check_available(sanitizer, folder):
    """Skip where the compiler has no such sanitizer; under CI it must."""
    (folder / "empty.cpp").write_text("int main() {}")
    built = subprocess.run([*command(sanitizer), "empty.cpp", "-o", "empty"], cwd=folder,
                           capture_output=True, text=True, check=False)  # fmt: skip
    if built.returncode:
        report = pytest.fail if os.environ.get("CI") else pytest.skip
        report(f"the compiler has no -fsanitize={sanitizer}: {built.stderr[-500:]}")


@pytest.fixture(scope="module", params=SANITIZERS)
def built(request, tmp_path_factory):
    """A sanitizer, the folder of its objects, and the program."""
    folder = tmp_path_factory.mktemp("sanitized")
    check_available(request.param, folder)
    with ThreadPoolExecutor(PROCESSES) as pool:
        # The long ones first.
        compile_one = functools.partial(compiled, request.param, folder)
        list(pool.map(compile_one, reversed(units(request.param))))
    return request.param, folder, linked(request.param, folder)


def execute(program, text, isa, plant="NOTHING"):
    """The program's process on these lines, with one of `PLANTS` in it."""
    environment = os.environ | OPTIONS | {"JITTERFLY_ISA": isa, "JF_PLANT": plant}

    def run(*prefix):
        return subprocess.run([*prefix, program], input=text, capture_output=True, text=True,
                              env=environment, timeout=300, check=False)  # fmt: skip

    result = run()
    if "unexpected memory mapping" in result.stderr and shutil.which("setarch"):
        return run("setarch", platform.machine(), "-R")  # GCC's TSan wants fewer random addresses
    return result


def clean(program, lines, isa):
    """What it tells of each line, on this instruction set, without anything being found."""
    result = execute(program, "\n".join(lines), isa)
    assert result.returncode == 0, result.stderr[-4000:]
    used, *found = result.stdout.splitlines()
    assert used == isa
    assert len(found) == len(lines)
    return found


# Of no exchange, below a vector register, of one tile.
SIZES = (0, 1, 2, 3, 6, 9)
BEYOND_A_TILE = 15  # several passes over memory
MESSAGE_SIZES = (1, 2, 6, 17, 45, 700)  # below and above a register, and more than a part of ranks
# Where levels are skipped, segments; else tiles; costly forwards and cycles for what goes from pass
# to pass.
CASES = [
    ("butterfly", "none"),
    ("after", "fresh"),
    ("after", "fresh, jitter"),
    ("forward cost", "everything"),
    ("full set", "stationary"),
    ("sparse set", "fresh, jitter"),
    ("both", "messages"),
    ("both", "receive"),
    ("everything", "everything"),
    ("cycles", "renewal, stationary"),
    ("butterfly", "trace, offsets"),
    ("butterfly", "drawn"),
]

# Segments of so many ranks under general noise: too slow here.
TOO_SLOW = [("both", "messages"), ("everything", "everything")]


def runs():
    """(mode, threads, run): one realization for each thread, a team for one, every ready time."""
    for name in CASES:
        for log2_ranks in SIZES:
            case = make(*name, log2_ranks)
            yield "simulate", 3, Run(case, count=4)
            yield "ready_times", 0, Run(case)
        if name not in TOO_SLOW:
            yield "simulate", 4, Run(make(*name, BEYOND_A_TILE), statistics="max")
    for program in MESSAGE_PROGRAMS:
        for noise in ("fresh", "everything", "fresh, jitter", "phases"):
            for ranks in MESSAGE_SIZES:
                case = make_messages(program, noise, ranks)
                yield "simulate", 3, Run(case, count=4)
                yield "ready_times", 0, Run(case)
    yield "simulate", 4, Run(make_messages("fold", "fresh", 20_001), statistics="max")
    yield "ready_times", 0, Run(make("after", "fresh", BEYOND_A_TILE))
    yield "simulate", 2, Run(make("after", "fresh", 9), count=3, statistics="max", one_rank=True)


def cancelled():
    """Runs that somebody stops: alone and in a team."""
    return [
        ("cancel", 2, Run(make("after", "fresh", 9), count=100_000)),
        ("cancel", 4, Run(make("sparse set", "jitter", 16), count=3)),
        ("cancel", 1, Run(make_messages("ring", "fresh", 200_000), count=3)),
    ]


def line(mode, threads, run):
    return as_text([mode, threads, *run.words()])


def told(mode, run):
    """What engine.cpp tells of the results of the installed engine."""
    case = run.case
    if mode == "cancel":
        return "cancelled"
    if mode == "ready_times":
        ticks = _core.ready_times(case.program(_core), case.seed, case.realization)
    else:
        ticks = run.expected()
    words = np.asarray(ticks).ravel().view(np.uint64)
    return f"{words.sum()} {np.bitwise_xor.reduce(words)}"


def test_clean(built):
    sanitizer, _, program = built
    todo = [*runs(), *cancelled()]
    for isa in ISAS[sanitizer]:
        found = clean(program, [line(*one) for one in todo], isa)
        for (mode, threads, run), text in zip(todo, found, strict=True):
            assert text == told(mode, run), (isa, mode, threads, run)


def test_faults_are_found(built):
    """Without this, a build that checks nothing would be clean too."""
    sanitizer, _, program = built
    for plant, message in PLANTS[sanitizer].items():
        run = Run(make("both", "fresh", 3), count=4)
        result = execute(program, line("simulate", 1, run), ISAS[sanitizer][0], plant)
        assert result.returncode != 0
        assert message in result.stderr, plant


def test_threads_are_clean(built):
    sanitizer, folder, _ = built
    result = execute(linked(sanitizer, folder, name="thread_pool"), "", ISAS[sanitizer][0])
    assert (result.returncode, result.stdout) == (0, ""), result.stderr[-4000:]


def test_statistics_are_clean(built):
    sanitizer, folder, _ = built
    program = linked(sanitizer, folder, name="statistics")
    for isa in ISAS[sanitizer]:
        result = execute(program, "", isa)
        assert (result.returncode, result.stdout) == (0, f"{isa}\n"), result.stderr[-4000:]


# --- congestion


def congestion_runs(folder):
    """(mode, threads, case, seed, first, count, all)."""
    chance = random.Random(1)
    for number in range(24):
        if number % 3:
            network = random_tree(chance)[1]
        else:
            random_graph(chance, folder / "map.dot")
            network = jc.NetworkMap.read(folder / "map.dot")
        case = random_case(chance, network)
        yield "simulate", 1 + number % 3, case, number, chance.randrange(2**31), 5, number % 2
        yield "capture", 0, case, number, 2, 1, 1
    perturbations = itertools.cycle(jc.PERTURBATIONS)
    for pattern, routing in itertools.product(("bruck", "gather", "ring"), jc.ROUTINGS):
        tree = jc.FatTree.of(144, routing=routing)
        case = jc.CongestionCase(tree, pattern=pattern, perturbation=next(perturbations))
        yield "simulate", 3, case, 5, 0, 7, 0
    wide = jc.FatTree((2**9, 2**8), (1, 2))  # counters of 32 bits
    case = jc.CongestionCase(wide, pattern="gather", ratio=0.25, ranks=3 * 2**15)
    yield "simulate", 2, case, 1, 0, 2, 0
    yield "cancel", 2, jc.CongestionCase(jc.FatTree.of(1152)), 1, 0, 100_000, 0


def congestion_line(run, monkeypatch):
    mode, threads, case, *request = run
    with monkeypatch.context() as patch:
        patch.setattr(_core, "CongestionProgram", CongestionRecorder)
        words = compile_congestion(case).words
    return as_text([mode, threads, *words, *request])


def congestion_told(mode, _, case, seed, first, count, everything):
    """What congestion.cpp tells of the results of the installed engine."""
    program = compile_congestion(case)
    if mode == "cancel":
        return "cancelled"
    if mode == "capture":
        found = _core.congestion_capture(program, seed, first)
        parts = [found[name] for name in ("host_of_rank", "senders", "receivers", "w")]
    else:
        every = bool(everything)
        parts = _core.congestion(program, seed, first, count, every, histogram=every)
        parts = parts if every else parts[:1]
    words = np.concatenate([np.asarray(part).ravel().astype(np.uint64) for part in parts])
    return f"{words.sum()} {np.bitwise_xor.reduce(words)}"


@pytest.fixture(scope="module")
def congestion(built):
    sanitizer, folder, _ = built
    return linked(sanitizer, folder, name="congestion")


def test_congestion_is_clean(built, congestion, tmp_path, monkeypatch):
    todo = list(congestion_runs(tmp_path))
    lines = [congestion_line(run, monkeypatch) for run in todo]
    for isa in ISAS[built[0]]:
        for run, text in zip(todo, clean(congestion, lines, isa), strict=True):
            assert text == congestion_told(*run), (isa, run)


def test_faults_of_congestion_are_found(built, congestion, monkeypatch):
    sanitizer = built[0]
    run = "simulate", 1, jc.CongestionCase(jc.FatTree.of(144)), 1, 0, 4, 0
    for plant in set(PLANTS[sanitizer]) - {"OVERFLOW"}:
        text = congestion_line(run, monkeypatch)
        result = execute(congestion, text, ISAS[sanitizer][0], plant)
        assert result.returncode != 0
        assert PLANTS[sanitizer][plant] in result.stderr, plant


# --- schedules


def schedule_files(folder):
    """Schedules of one and several CPUs, and damaged files of each of the three kinds."""
    rng = random.Random(1)
    for number in range(60):
        size = rng.choice([1, 2, 5, 8]), rng.randint(1, 80)
        ranks = random_schedule(rng, *size, rng.choice([1, 3]), rng.choice([1, 2]))
        path = folder / f"random{number}"
        path.write_text(as_goal(ranks))
        yield path
    (folder / "text").write_bytes(SAMPLE)
    jf.Schedule.read(folder / "text").write(folder / "own")
    samples = [SAMPLE, loggopsim_binary(SAMPLE_RANKS), (folder / "own").read_bytes()]
    for number in range(900):
        path = folder / f"damaged{number}"
        path.write_bytes(mutated(rng, samples[number % 3]))
        yield path


def test_schedules_are_clean(built, tmp_path):
    """Any file is read, and run, or refused; times are those of the other instruction sets."""
    sanitizer, folder, _ = built
    program = linked(sanitizer, folder, name="schedule")
    files = [str(path) for path in schedule_files(tmp_path)]
    plain = clean(program, files, "plain")
    assert sum(text.replace(" ", "").isdigit() for text in plain) > 30
    assert sum("damaged" in text for text in plain) > 100
    for isa in ISAS[sanitizer]:
        assert clean(program, files, isa) == plain, isa
