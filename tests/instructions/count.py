"""Counts SASS instructions, accesses, registers and occupancy of the GPU kernels (no GPU needed).

The tables are those of docs/developers/gpu_kernels.md. In tests/:

    python -m instructions.count [--source CUDA | --module FILE] [--limits]

Needs nvcc, nvdisasm and cuobjdump, which the requirements of tests bring. What is counted is code,
not time: the shortest way through what one more round, move, draw or message adds (parts.cu), which
is the way that threads go where nothing rare happens. Of whole kernels, what their loops contain.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bench import measure
from scipy.stats import binom

from instructions import sass
from jitterfly.case import Case
from jitterfly.noise import NetworkJitter, PeriodicNoise, RenewalNoise, TraceNoise
from jitterfly.simulate import simulate
from jitterfly.units import to_ticks

HERE = Path(__file__).resolve().parent
CUDA = HERE.parents[1] / "cuda"
LIMITS = HERE / "limits.json"
ARCHITECTURE = "sm_90"
# As CMakeLists.txt compiles device code.
FLAGS = ["-std=c++20", "-O3", "-fmad=false", "-DJF_HAVE_CUDA", "-cubin", f"-arch={ARCHITECTURE}"]
# Of a multiprocessor of compute capability 9.0 (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability"); registers are given to warps in units of 256.
REGISTERS, WARPS, BLOCKS, SHARED, RESERVED = 65536, 64, 32, 233472, 1024
# Threads of a block, and its shared memory: `tile_shape` of gpu/jobs.h, and gpu/message_pass.h.
SHAPES = {"lean_kernel": (512, 65536), "tile_kernel<8": (512, 32768), "tile_kernel<4": (512, 16384),
          "tile_kernel<1": (256, 2048), "segment_kernel": (256, 0),
          "message_kernel": (256, 0), "schedule_kernel": (128, 0)}  # fmt: skip
LEAN = {"32": ("j", 16), "64": ("l", 8)}
LEAN_RANKS = 2**13  # of a block
RANK_ROUND = "butterfly of 2^13 ranks, {}: a rank and round, all told"
OURS = "_ZN2jf"  # the namespace of all kernels but those of libraries
# Mangled, as parts.cu names them.
NOISES = {"no noise": "NS_7NoNoiseENS_8NoJitter", "periodic": "NS_8PeriodicENS_8NoJitter",
          "periodic + jitter": "NS_8PeriodicENS_6Jitter",
          "periodic + delays": "NS_8PeriodicENS_8Messages",
          "list": "NS_9SourcesOfIjEENS_8NoJitter"}  # fmt: skip
LISTS = {"list": "NS0_12PeriodicListE", "renewal": "NS0_11LeanRenewalE",
         "recording": "NS0_13LeanRecordingILb0EEE"}  # fmt: skip
LEAN_NOISES = NOISES | {noise: f"{name}NS_8NoJitter" for noise, name in LISTS.items()}
# Gaps of a recording, seconds: a second of them, with a detour of 10 us after each.
GAPS = np.random.default_rng(1).exponential(1e-3 - 1e-5, 1000)
STARTS = np.cumsum(GAPS) + 1e-5 * np.arange(len(GAPS))
RECORDING = TraceNoise(starts=STARTS, durations=np.full(len(GAPS), 1e-5), length=STARTS[-1] + 1e-3)
# The noise of the benchmark; and four sources that together take as much of the time.
BENCHMARK = {"periodic": measure.NOISES["periodic"],
             "periodic + jitter": measure.NOISES["+ jitter"],
             "list": [PeriodicNoise(period=1e-3, duration=2.5e-6)] * 4,
             "renewal": [RenewalNoise(gap=1e-3, duration=1e-5)],
             "recording": [RECORDING]}  # fmt: skip
TOTALS = {"periodic": "periodic noise of the benchmark",
          "periodic + jitter": "periodic + jitter noise of the benchmark",
          "list": "four periodic sources, 1 ms and 2.5 us",
          "renewal": "renewal noise, 1 ms and 10 us",
          "recording": "a recording, 1 ms and 10 us"}  # fmt: skip
DRAWS = r"^IMAD\.WIDE\.U32 .*, -0x2daee0ad"  # of Philox
PROCESSES = 2

Counts = dict[str, int]
"""Of a kernel: registers; bytes of stack and of code; generic and local accesses in its loops."""


def tool(name: str, nvcc: Path | str) -> str:
    """A program of CUDA's: beside the compiler, else in PATH."""
    beside = shutil.which(name, path=str(Path(nvcc).parent))
    return beside or shutil.which(name) or name


def run(command: list[Any], folder: Path | None = None) -> str:
    """The output of a command, which must succeed."""
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if result.returncode != 0:
        shown = " ".join(map(str, command))
        raise RuntimeError(f"{shown}\n{result.stdout}{result.stderr}")
    return result.stdout


class Cuda:
    """A compiler of CUDA, and what reads its code."""

    def __init__(self, nvcc: Path | str) -> None:
        self.nvcc = nvcc
        self.version = re.findall(r"release [\d.]+, V([\d.]+)", run([nvcc, "--version"]))[0]

    def compile(self, sources: list[Path], cuda: Path, folder: Path) -> list[Path]:
        """The kernels of these files, a few files at a time."""

        def compiled(source: Path) -> Path:
            cubin = folder / f"{source.parent.name}_{source.stem}.cubin"
            run([self.nvcc, *FLAGS, f"-I{cuda}", source, "-o", cubin])
            return cubin

        with ThreadPoolExecutor(PROCESSES) as pool:
            return list(pool.map(compiled, sources))

    def of_source(self, cuda: Path, folder: Path) -> list[Path]:
        """All kernels of the engine, compiled."""
        return self.compile(sorted(cuda.glob("*/*.cu")), cuda, folder)

    def of_module(self, module: Path, folder: Path, kind: str = "cubin") -> list[Path]:
        """All kernels of the engine, as a build has put them into the extension module.

        `kind`: machine code (cubin) or ptx, if the build was asked for that, too.
        """
        what = "-xelf" if kind == "cubin" else "-xptx"
        run([tool("cuobjdump", self.nvcc), "-arch", ARCHITECTURE, what, "all", module], folder)
        return sorted(folder.glob(f"*.{kind}"))

    def kernels(self, cubins: list[Path]) -> dict[str, sass.Kernel]:
        """The code of our kernels, by mangled name."""
        disassembler = tool("nvdisasm", self.nvcc)
        with ThreadPoolExecutor(PROCESSES) as pool:
            texts = pool.map(lambda cubin: run([disassembler, "-c", cubin]), cubins)
        return {name: kernel for text in texts for name, kernel in sass.kernels(text).items()
                if name.startswith(OURS)}  # fmt: skip

    def counts(self, found: dict[str, sass.Kernel], cubins: list[Path]) -> dict[str, Counts]:
        """Of each kernel in these files, by its name in the source."""
        usage = {}
        for cubin in cubins:
            text = run([tool("cuobjdump", self.nvcc), "-res-usage", cubin])
            for name, *numbers in re.findall(r"Function (\w+):\s+REG:(\d+) STACK:(\d+)", text):
                usage[name] = map(int, numbers)
        names = dict(zip(found, demangled("\n".join(found)).splitlines(), strict=True))
        rows = {}
        for name, kernel in found.items():
            registers, stack = usage[name]
            loops = kernel.in_loops
            rows[short_name(names[name])] = {
                "registers": registers,
                "stack": stack,
                "generic": kernel.count(sass.GENERIC, loops),
                "local": kernel.count(sass.LOCAL, loops),
                "bytes": 16 * len(kernel.code),
            }
        return dict(sorted(rows.items()))


def parts(kernels: dict[str, sass.Kernel]) -> dict[str, float]:
    """What each part costs, in instructions of a thread, on its quiet path."""

    def one(pattern: str) -> sass.Kernel:
        [found] = [kernel for name, kernel in kernels.items() if re.search(pattern, name)]
        return found

    def more(pattern: str, less: int, many: int) -> int:
        a, b = (one(pattern.replace("#", str(n))).shortest() for n in (less, many))
        return b - a

    rows: dict[str, float] = {}
    for bits, (letter, ranks) in LEAN.items():
        window = ranks.bit_length() - 1
        name = f"lean_roundsI{letter}Lb%dELi#E"
        quiet, noisy = (more(name % on, 2 * window, 3 * window) / window for on in (0, 1))
        move = more(f"lean_movesI{letter}Li#E", 2, 3) - quiet
        draw = more(f"lean_drawsI{letter}Li#E", 1, 2)
        several = one((name % 1).replace("#", str(2 * window)))
        rows |= {
            f"lean, {bits} bits: a round without noise, per rank": quiet / ranks,
            f"lean, {bits} bits: a round under noise that meets none, per rank": noisy / ranks,
            # The only loop there is what goes from interval to interval.
            f"lean, {bits} bits: more for an interval that any of four ranks meets, per warp":
             several.shortest_through(several.in_loops) - several.shortest(),
            f"lean, {bits} bits: a move of the window, per rank": move / ranks,
            f"lean, {bits} bits: drawing a phase, per rank": draw / ranks,
        }  # fmt: skip
    for (noise, mangled), (bits, (letter, ranks)) in product(LISTS.items(), LEAN.items()):
        name = f"lean, {bits} bits, {noise}"
        once, twice = (one(f"list_roundsI{letter}{mangled}Li{n}E") for n in (1, 2))
        # The one loop is over the ranks that meet an interval. The way through it has one of each.
        meets = min(once.shortest_cycles(r"^STG"))
        rows |= {
            f"{name}: a round that meets no interval, per rank":
             (twice.shortest() - once.shortest()) / ranks,
            f"{name}: more for a thread of {ranks} ranks, some of which meet one":
             once.shortest_through(once.in_loops) - once.shortest() - meets,
            f"{name}: more for each that does": meets,
        }  # fmt: skip
        if noise == "list":
            drawing = max(one(f"list_drawsI{letter}E").shortest_cycles(DRAWS)) / 2
            rows[f"{name}: drawing four phases, per rank"] = drawing
        else:
            draws = one(f"first_drawsI{letter}{mangled}")
            drawing: float = min(draws.shortest_cycles(DRAWS))
            if noise == "recording":  # two ranks share a block of Philox
                drawing = (drawing + min(draws.shortest_cycles(r"^STG"))) / 2
                drawing += searched() * min(draws.shortest_cycles(r"^LDG"))
            rows[f"{name}: drawing the first interval, per rank"] = drawing
    for noise in ("no noise", "periodic", "periodic + jitter", *LISTS):
        kernel = one(f"lean_kernelIj{LEAN_NOISES[noise]}")
        name = f"lean, 32 bits, {noise}"
        # A round without noise takes two instructions a rank, the first of them this one.
        ranks, first = LEAN["32"][1], r"^VIADDMNMX\.U32 .*!PT"
        loops, round_ = kernel.shortest_cycles(first), 2 * ranks
        if "jitter" in noise:
            # The four rounds of an operation are a loop in the loop over operations. In the longer
            # ones among these loops, messages are delayed by one event each.
            single = kernel.shortest_cycle_over(first, r"^LDG\.E\.64")
            several = single + 3 * min(loops)
            rows |= {
                f"{name}: more for a thread of 16 ranks to which messages are delayed":
                 min(loop for loop in loops if loop > min(loops) + ranks) - min(loops),
                f"{name}: drawing the delays of four messages, per rank":
                 max(kernel.shortest_cycles(DRAWS)) / ranks,
            }  # fmt: skip
        else:
            # The longest of these loops has a round over each bit of the window.
            single, several = min(loops), max(loops)
        rows |= {
            f"{name}: around a round, per thread of 16 ranks": single - round_,
            f"{name}: around four rounds, per thread of 16 ranks": several - 4 * round_,
            f"{name}: an observed row, per thread": min(kernel.shortest_cycles("REDUX")),
            f"{name}: an observed row, with its merging by a warp":
             min(kernel.shortest_cycles("REDG")),
        }  # fmt: skip
    for noise, where, bit in (("periodic", "registers", 10), ("periodic", "shuffle", 3),
                              ("periodic", "shared memory", 7),
                              ("periodic + jitter", "registers", 10),
                              ("list", "registers", 10)):  # fmt: skip
        # A thread has fewer ranks under a list: `kPerThread` of gpu/jobs.h.
        ranks = 4 if noise == "list" else 8
        added = more(f"step_roundsI{NOISES[noise]}ELi{bit}ELi#E", 1, 2) / ranks
        rows[f"step kernel, {noise}: a round that meets no noise, by {where}, per rank"] = added
    rows["step kernel: drawing a phase, per rank"] = more("step_drawsILi#E", 1, 2)
    for noise, links in (("no noise", 0), ("no noise", 1), ("periodic", 0),
                         ("periodic + delays", 0), ("list", 0)):  # fmt: skip
        also = ", links kept" if links else ""
        rows[f"message kernel, {noise}{also}: a message that meets none"] = more(
            f"message_turnsI{NOISES[noise]}ELb{links}ELi#E", 1, 2)  # fmt: skip
    totals = {RANK_ROUND.format(shown): rank_round(rows, noise) for noise, shown in TOTALS.items()}
    return totals | rows


def benchmark(ranks: int, noise: str) -> Case:
    """The butterfly of the benchmark under the noise of this name."""
    return measure.programs(ranks, BENCHMARK[noise])["butterfly"]


def intervals_met(case: Case) -> float:
    """How many a rank meets in a round of a butterfly under noise of the benchmark.

    As many as begin while the round lasts, wherever the rank is in it.
    """
    periods = [to_ticks(noise.period) for noise in case.noise if isinstance(noise, PeriodicNoise)]
    periods += [noise.gap.mean_ticks() + noise.duration.mean_ticks() for noise in case.noise
                if isinstance(noise, RenewalNoise)]  # fmt: skip
    periods += [to_ticks(RECORDING.length) / len(STARTS) for noise in case.noise
                if isinstance(noise, TraceNoise)]  # fmt: skip
    times = simulate(case, realizations=20, seed=measure.SEED, backend="cpu").ticks
    return sum(float(times.mean()) / period for period in periods) / (case.ranks.bit_length() - 1)


def messages_delayed(case: Case) -> float:
    """The share of messages to which jitter happens."""
    jitter = case.noise[1]
    assert isinstance(jitter, NetworkJitter)
    return float(jitter.survival(case.compiled_steps.costs.transit)[0]) / 2**64


def searched() -> float:
    """How often a warp goes through the search for the first detour of the recording.

    As often as the rank whose search is the longest: a binary one in a cell of the guide, which has
    two to four of the detours, on average (`Program::append_trace`).
    """
    cells = 2 ** int(np.ceil(np.log2(len(STARTS) / 4)))
    met = np.bincount((STARTS / RECORDING.length * cells).astype(int), minlength=cells)
    drawn = np.random.default_rng(2).integers(cells, size=(10_000, 32))
    return float(np.ceil(np.log2(met[drawn].max(axis=1) + 1)).mean())


def rank_round(rows: dict[str, float], noise: str) -> float:
    """Instructions of a thread for a rank and a round of that butterfly: one tile, all told.

    A warp executes what follows an interval for each four ranks of its threads of which one, in any
    of its 32 threads, has met one; and what follows a delay for all its ranks, if one is delayed.
    Where ranks have states, it goes as often through a rank that has met one as the thread with
    most of them.
    """
    case = benchmark(LEAN_RANKS, noise)
    rounds, ranks = LEAN_RANKS.bit_length() - 1, LEAN["32"][1]
    window = ranks.bit_length() - 1
    several, single = divmod(rounds, window)
    moves = several + (single > 0) - 1
    met = intervals_met(case)
    around = f"lean, 32 bits, {noise}: around {{}}, per thread of 16 ranks"
    first = {"list": ", list: drawing four phases"}
    first |= {name: f", {name}: drawing the first interval" for name in ("renewal", "recording")}
    drawing = rows[f"lean, 32 bits{first.get(noise, ': drawing a phase')}, per rank"]
    once = (moves * rows["lean, 32 bits: a move of the window, per rank"]
            + drawing
            + several * rows[around.format("four rounds")] / ranks
            + single * rows[around.format("a round")] / ranks)  # fmt: skip
    if noise in LISTS:
        quiet = rows[f"lean, 32 bits, {noise}: a round that meets no interval, per rank"]
        most = sum(1 - binom.cdf(k, ranks, met) ** 32 for k in range(ranks))
        after = (1 - (1 - met) ** (32 * ranks)) * rows[
            f"lean, 32 bits, {noise}: more for a thread of 16 ranks, some of which meet one"
        ] + most * rows[f"lean, 32 bits, {noise}: more for each that does"]
        return quiet + (once + rounds * after / ranks) / rounds
    after = rows["lean, 32 bits: more for an interval that any of four ranks meets, per warp"] / 4
    quiet = rows["lean, 32 bits: a round under noise that meets none, per rank"]
    counted = quiet + once / rounds + (1 - (1 - met) ** (4 * 32)) * after
    if "jitter" in noise:
        delays = rows[f"lean, 32 bits, {noise}: drawing the delays of four messages, per rank"]
        delay = (
            f"lean, 32 bits, {noise}: more for a thread of 16 ranks to which messages are delayed"
        )
        delayed = 1 - (1 - messages_delayed(case)) ** (32 * ranks)
        counted += (several + (single > 0)) * delays / rounds + delayed * rows[delay] / ranks
    return counted


def occupancy(registers: int, threads: int, shared: int) -> tuple[int, float]:
    """Blocks of a multiprocessor, and the share of its warps that they are."""
    warps = threads // 32
    of_warp = -(-registers * 32 // 256) * 256
    most = [REGISTERS // of_warp // warps, WARPS // warps, BLOCKS, SHARED // (shared + RESERVED)]
    return min(most), min(most) * warps / WARPS


def demangled(text: str) -> str:
    """With the names of the source."""
    return subprocess.run(["c++filt"], input=text, capture_output=True, text=True,
                          check=True).stdout  # fmt: skip


def short_name(name: str) -> str:
    """A kernel's, without where it is declared and what it takes."""
    name = re.sub(r"void |jf::((schedule|congestion)::)?(gpu::)?", "", name.split("(")[0])
    return name.replace("unsigned int", "uint32").replace("unsigned short", "uint16")


def measured(cuda: Cuda, module: Path | None, source: Path = CUDA) -> dict[str, Any]:
    """All that limits.json holds: of a module's kernels, or else of the source's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        [of_parts] = cuda.compile([HERE / "parts.cu"], source, folder)
        (folder / "whole").mkdir()
        of = cuda.of_source if module is None else cuda.of_module
        whole = of(source if module is None else module, folder / "whole")
        kernels = cuda.kernels(whole)
        quiet = parts(kernels | cuda.kernels([of_parts]))
        return {"nvcc": cuda.version, "architecture": ARCHITECTURE,
                "parts": {part: round(count, 2) for part, count in quiet.items()},
                "kernels": cuda.counts(kernels, whole)}  # fmt: skip


def moved(now: dict[str, Any], limits: dict[str, Any]) -> list[tuple[str, float, float]]:
    """What is not as the limits have it: its name, the limit and the count; NaN: there is none."""

    def flat(counts: dict[str, Any]) -> dict[str, float]:
        kernels = counts["kernels"].items()
        return counts["parts"] | {f"{name}, {what}": count for name, row in kernels
                                  for what, count in row.items()}  # fmt: skip

    old, new = flat(limits), flat(now)
    missing = float("nan")
    return [(name, old.get(name, missing), new.get(name, missing)) for name in old | new
            if old.get(name) != new.get(name)]  # fmt: skip


def table(now: dict[str, Any]) -> str:
    """The counts as the documentation has them."""
    lines = ["| part | instructions |", "|---|---|"]
    lines += [f"| {name} | {count:.2f} |" for name, count in now["parts"].items()]
    lines += ["", "| kernel | registers | stack, bytes | generic | local | code, KiB | blocks | "
              "occupancy |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, row in now["kernels"].items():
        shape = next((shape for key, shape in SHAPES.items() if name.startswith(key)), None)
        resident = ["", ""]
        if shape is not None:
            blocks, share = occupancy(row["registers"], *shape)
            resident = [str(blocks), f"{share:.0%}"]
        numbers = [*list(row.values())[:-1], f"{row['bytes'] / 1024:.0f}", *resident]
        lines.append(f"| `{name}` | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nvcc", default="nvcc", help="default: that in PATH")
    parser.add_argument("--source", type=Path, default=CUDA)
    parser.add_argument("--module", type=Path, help="read the kernels of this extension module")
    parser.add_argument("--limits", action="store_true", help="make the counts the new limits")
    options = parser.parse_args()
    now = measured(Cuda(options.nvcc), options.module, options.source)
    print(f"nvcc {now['nvcc']}, {ARCHITECTURE}\n\n{table(now)}")
    if LIMITS.exists():
        for name, limit, count in moved(now, json.loads(LIMITS.read_text())):
            print(f"{name}: {limit:g} -> {count:g}")
    if options.limits:
        LIMITS.write_text(json.dumps(now, indent=1) + "\n")


if __name__ == "__main__":
    main()
