#!/usr/bin/env python3
"""Counts SASS instructions, registers and occupancy of the GPU kernels (no GPU needed).

The tables are those of docs/developers/gpu_kernels.md:

    tests/instructions/count.py [--source CUDA] [--arch sm_90]

Needs nvcc and nvdisasm (in PATH or $CUDA_HOME/bin), no GPU. What is counted is code, not time: the
shortest way through what one more round, move or draw adds (parts.cu), which is the way that
threads go where nothing rare happens.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import sass

HERE = Path(__file__).resolve().parent
FLAGS = ["-std=c++20", "-O3", "-fmad=false", "-DJF_HAVE_CUDA", "-Xptxas=-v", "-cubin"]
# Of a multiprocessor of compute capability 9.0 (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability"); registers are given to warps in units of 256.
REGISTERS, WARPS, BLOCKS, SHARED, RESERVED = 65536, 64, 32, 233472, 1024
# Threads of a block, and its shared memory: `tile_shape` of gpu/jobs.h, and gpu/message_pass.h.
SHAPES = {"lean_kernel": (512, 65536), "tile_kernel<8": (512, 32768), "tile_kernel<4": (512, 16384),
          "tile_kernel<1": (256, 2048), "segment_kernel": (256, 0),
          "message_kernel": (256, 0), "schedule_kernel": (128, 0)}  # fmt: skip
LEAN = {"32": ("j", 16), "64": ("l", 8)}


def run(command: list[str]) -> str:
    """Both outputs of a command; it must succeed."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def compiled(source: Path, cuda: Path, arch: str) -> tuple[dict[str, sass.Kernel], str]:
    """The kernels that a file makes, and what ptxas says of them."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernels.cubin"
        command = ["nvcc", *FLAGS, f"-arch={arch}", f"-I{cuda}", str(source), "-o", str(cubin)]
        said = run(command)
        return sass.kernels(run(["nvdisasm", "-c", str(cubin)])), said


def parts(kernels: dict[str, sass.Kernel]) -> list[tuple[str, float]]:
    """What each part costs, in instructions of a thread."""

    def one(pattern: str) -> sass.Kernel:
        [found] = [kernel for name, kernel in kernels.items() if re.search(pattern, name)]
        return found

    def more(pattern: str, less: int, many: int) -> int:
        a, b = (one(pattern.replace("#", str(n))).shortest() for n in (less, many))
        return b - a

    rows = []
    for bits, (letter, ranks) in LEAN.items():
        window = ranks.bit_length() - 1
        name = f"lean_roundsI{letter}Lb%dELi#E"
        quiet, noisy = (more(name % on, 2 * window, 3 * window) / window for on in (0, 1))
        move = more(f"lean_movesI{letter}Li#E", 2, 3) - quiet
        draw = more(f"lean_drawsI{letter}Li#E", 1, 2)
        several = one((name % 1).replace("#", str(2 * window)))
        rows += [
            (f"lean, {bits} bits: a round without noise, per rank", quiet / ranks),
            (f"lean, {bits} bits: a round under noise that meets none, per rank", noisy / ranks),
            (f"lean, {bits} bits: more for an interval that is met, per warp",
             several.shortest_through("STS") - several.shortest()),
            (f"lean, {bits} bits: a move of the window, per rank", move / ranks),
            (f"lean, {bits} bits: drawing a phase, per rank", draw / ranks),
        ]  # fmt: skip
    for where, bit in (("registers", 10), ("shuffle", 3), ("shared memory", 7)):
        added = more(f"step_roundsILi{bit}ELi#E", 1, 2)
        rows.append((f"step kernel: a round that meets no noise, by {where}, per rank", added / 8))
    rows.append(("step kernel: drawing a phase, per rank", more("step_drawsILi#E", 1, 2)))
    return rows


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
    name = re.sub(r"void |jf::(schedule::)?(gpu::)?", "", name.split("(")[0])
    return name.replace("unsigned int", "uint32")


def resources(
    said: str, kernels: dict[str, sass.Kernel]
) -> list[tuple[str, int, int, int, float, int, float]]:
    """Kernel, registers, bytes of stack and of spills, KiB of code, blocks, occupancy."""
    rows = []
    text = demangled(said)
    names = demangled("\n".join(kernels)).splitlines()
    # An instruction is 16 bytes.
    code = {short_name(name): len(kernel.code) / 64
            for name, kernel in zip(names, kernels.values(), strict=True)}  # fmt: skip
    entries = re.findall(
        r"entry function '(.*?)\(.*?\n.*?\n?.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads.*?Used (\d+) registers",
        text, re.DOTALL)  # fmt: skip
    for name, stack, stores, loads, registers in entries:
        short = short_name(name)
        shape = next((shape for key, shape in SHAPES.items() if short.startswith(key)), None)
        if shape is not None:
            blocks, share = occupancy(int(registers), *shape)
            spills = int(stores) + int(loads)
            rows.append((short, int(registers), int(stack), spills, code[short], blocks, share))
    return sorted(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--source", type=Path, default=HERE.parent.parent / "cuda")
    parser.add_argument("--arch", default="sm_90")
    options = parser.parse_args()
    if "CUDA_HOME" in os.environ:
        os.environ["PATH"] = f"{os.environ['CUDA_HOME']}/bin:{os.environ['PATH']}"
    kernels, _ = compiled(HERE / "parts.cu", options.source, options.arch)
    release = re.search(r"release [\d.]+, V([\d.]+)", run(["nvcc", "--version"]))
    print(f"nvcc {release.group(1) if release else '?'}, {options.arch}\n")
    print("| part | instructions |\n|---|---|")
    for name, count in parts(kernels):
        print(f"| {name} | {count:.2f} |")
    whole, said = {}, ""
    folders = options.source / "gpu", options.source / "schedule"
    for unit in sorted(path for folder in folders for path in folder.glob("*.cu")):
        more, report = compiled(unit, options.source, options.arch)
        whole |= more
        said += report
    for noise, label in (("7NoNoise", "no noise"), ("8Periodic", "periodic noise")):
        [kernel] = [k for name, k in whole.items() if f"lean_kernelIjNS_{noise}" in name]
        # A round without noise takes two instructions a rank, the first of them this one.
        loop = kernel.shortest_cycle(r"VIADDMNMX\.U32 .*!PT") - 2 * LEAN["32"][1]
        print(f"| lean, 32 bits, {label}: around a round, per thread of 16 ranks | {loop:.2f} |")
    print(
        "\n| kernel | registers | stack, bytes | spills, bytes | code, KiB | blocks | occupancy |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, *numbers, code, blocks, share in resources(said, whole):
        row = [f"`{name}`", *numbers, f"{code:.0f}", blocks, f"{share:.0%}"]
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
