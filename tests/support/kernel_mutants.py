"""Mutants of the GPU kernels: one program, whose case says which error is made, if any.

It takes as long to compile as the kernels as they are. So all errors are in one copy of these.
"""

import functools
import shutil

from support.emulated_kernels import BARRIER, build, change, once
from support.paths import CUDA

KERNELS = ["block.cuh", "lean_kernel.cuh", "message_kernel.cuh"]


def barriers():
    """Every barrier of the kernels: the name of the file, and which one of those in it."""
    return [(name, k) for name in KERNELS
            for k in range((CUDA / "gpu" / name).read_text().count(BARRIER))]  # fmt: skip


# What else a copy of the kernels can be made to do without: a number in place of REMOVED.
OTHERS = {
    "cursors of their own for threads without a tile": (
        "gpu/tile_kernel.cuh",
        "slot <= last ? realization : job.",
        "slot <= last || removed == REMOVED ? realization : job.",
    ),
    "cursors that belong to nobody": (
        "gpu/run.cuh",
        "    device.fill(cursors_",
        "    if (removed != REMOVED) device.fill(cursors_",
    ),
}
WATCHED = {
    '#include "noise/step_delay.h"\n': '#include "watch.h"\n',
    "meets(mine, t, rank, compute, next, source, others);\n": (
        "if (interval_count > 0) jf_emu::watch.touch(mine);\n"
    ),
}


def lean_errors():
    """Names, and what to replace where by what, `REMOVED` being the number of the error."""
    kernel_, host, noise = "gpu/lean_kernel.cuh", "gpu/lean.h", "noise/periodic.h"
    list_, in_turn = "gpu/periodic_list.h", "gpu/lean_intervals.h"
    moves = f"{BARRIER}\n    set_register_window(start);"
    off = "(removed == REMOVED ? 1 : 0)"
    return {
        "the barrier of a window": (kernel_, moves, f"if (removed != REMOVED) {moves}"),
        "work that ends a tick after noise begins": (
            kernel_,
            "((time[e] > next[e]) | ...)",
            f"((time[e] > next[e] + {off}) | ...)",
        ),
        "the swizzle": (
            kernel_,
            "(index ^ (index >> kBits & 31))",
            "(removed == REMOVED ? index | (index >> kBits & 31) : index ^ (index >> kBits & 31))",
        ),
        "intervals that are over": (
            noise,
            "end = later<T>(end, earlier",
            "end = later<T>(removed == REMOVED ? 0 : end, earlier",
        ),
        "work begun inside an interval": (
            noise,
            "earlier<T>(end - work, next) + (duration + work)",
            "(removed == REMOVED ? end - work : earlier<T>(end - work, next)) + (duration + work)",
        ),
        "a second interval": (
            kernel_,
            "(apply_noise_to(work, e), ...);\n",
            "if ((apply_noise_to(work, e), ...), removed == REMOVED) break;\n",
        ),
        "exchanges of different work": (
            host,
            "|| op.work != w)",
            "|| (op.work != w && removed != REMOVED))",
        ),
        "the ranks of each warp": (
            kernel_,
            "if (threadIdx.x % kWarp != 0) return;",
            "if (threadIdx.x % (removed == REMOVED ? kLeanBlock : kWarp) != 0) return;",
        ),
        "a warp of several tiles": (
            host,
            "map_.bits() - window_bits >= kWarpBits;",
            "map_.bits() - window_bits >= kWarpBits || removed == REMOVED;",
        ),
        "what rank 0 alone observes": (
            host,
            "whole_warps && p.one_rank == 0 ?",
            "whole_warps && (p.one_rank == 0 || removed == REMOVED) ?",
        ),
        "times before 0": (
            host,
            "base_ = std::max(base_, s.periodic.duration);",
            "base_ = removed == REMOVED ? 0 : std::max(base_, s.periodic.duration);",
        ),
        "the end of 32 bits": (
            "gpu/jobs.h",
            "Tick kRelativeEnd = Tick{1} << 31;",
            "Tick kRelativeEnd = Tick{1} << 31;\ninline Tick relative_end() { return kRelativeEnd "
            "<< 2 * (removed == REMOVED); }",
        ),
        "a late interval": (
            kernel_,
            "return narrow<T>(source.template scaled<Tick>(u));",
            "return removed == REMOVED ? static_cast<T>(source.template scaled<Tick>(u))"
            " : narrow<T>(source.template scaled<Tick>(u));",
        ),
        "the send after what is observed": (
            "gpu/lean.h",
            "(step.row < 0 || send == 0)",
            "(step.row < 0 || send == 0 || removed == REMOVED)",
        ),
        "the other half of a time between passes": (
            kernel_,
            "<< 32;",
            "<< (removed == REMOVED ? 33 : 32);",
        ),
        "times that go back": (
            host,
            "if ((s.flags & kAfterForward) != 0)",
            "if (removed != REMOVED && (s.flags & kAfterForward) != 0)",
        ),
        "the low half of a draw": (
            "noise/jitter.h",
            "k = events(high << 32 | low_half());",
            "k = events(high << 32 | (removed == REMOVED ? 0 : low_half()));",
        ),
        "a high half that does not decide": (
            kernel_,
            "|| above_edge == 0;",
            "|| (above_edge == 0 && removed != REMOVED);",
        ),
        "several events": (
            kernel_,
            "undecided = least <= job.lean.several_edge ||",
            "undecided = (least <= job.lean.several_edge && removed != REMOVED) ||",
        ),
        "draws of the window before": (
            host,
            "drawn_ = {};",
            "if (removed != REMOVED) drawn_ = {};",
        ),
        "draws of exchanges and of forwards": (
            host,
            "if (drawn_.work != block.work ||",
            "if ((drawn_.work != block.work && removed != REMOVED) ||",
        ),
        "the delays of 32 bits": (
            host,
            "delay_ = jitter.value * jitter.count;",
            "delay_ = removed == REMOVED ? 0 : jitter.value * jitter.count;",
        ),
        "the receiver of a delayed message": (
            kernel_,
            "unsigned rank = high.base + offset(local(e));",
            "unsigned rank = high.base + offset(local(removed == REMOVED ? e ^ 1 : e));",
        ),
        "begins of threads without a tile": (
            kernel_,
            "if (kStates && !location.active)",
            "if (kStates && !location.active && removed != REMOVED)",
        ),
        "noise that overlaps": (
            list_,
            "passed = until;",
            "if (removed != REMOVED) passed = until;",
        ),
        "work begun inside an interval of a list": (
            list_,
            "T passed = end - work;",
            "T passed = removed == REMOVED ? 0 : end - work;",
        ),
        "the longer of two intervals": (
            list_,
            "until = later(until, next +",
            "until = later(removed == REMOVED ? begin : until, next +",
        ),
        "begins after a pass": (
            kernel_,
            "states()[offset].soonest();",
            "(removed == REMOVED ? states()[0].soonest() : states()[offset].soonest());",
        ),
        "draws of each source": (
            kernel_,
            "job.keys, noise.purposes[j],",
            "job.keys, noise.purposes[removed == REMOVED ? 0 : j],",
        ),
        "a list of sources in different phases": (
            list_,
            "s.in_compute == first.in_compute &&",
            "(s.in_compute == first.in_compute || removed == REMOVED) &&",
        ),
        "long periods of a list": (
            list_,
            "list.all_short &= source.period <= kLeanNever;",
            "list.all_short &= source.period <= kLeanNever || removed == REMOVED;",
        ),
        "the longest time under a list": (
            host,
            "if (needed <= time) return time;",
            "if (needed <= time || removed == REMOVED) return time;",
        ),
        "an interval of renewal noise that lasts at time 0": (
            in_turn,
            "(inside ? duration : 0)",
            "(inside && removed != REMOVED ? duration : 0)",
        ),
        "work begun inside one of the intervals in turn": (
            in_turn,
            "static_cast<Tick>(end - work);",
            "static_cast<Tick>(removed == REMOVED ? 0 : end - work);",
        ),
        "the number of a gap": (
            in_turn,
            "++c.index;",
            "if (removed != REMOVED) ++c.index;",
        ),
        "the node of a rank": (
            in_turn,
            "0, static_cast<std::uint32_t>(nodes.of_rank(rank))",
            "0, static_cast<std::uint32_t>(removed == REMOVED ? rank : nodes.of_rank(rank))",
        ),
        "a gap in the tail": (
            in_turn,
            "in_tail(high) ? u :",
            "in_tail(high) && removed != REMOVED ? u :",
        ),
        "what is left of an interval": (
            in_turn,
            "word <= static_cast<std::uint64_t>(duration.value);",
            "removed == REMOVED || word <= static_cast<std::uint64_t>(duration.value);",
        ),
        "a time of more than 32 bits": (
            in_turn,
            "fits = done < kRelativeEnd;",
            "fits = done < kRelativeEnd || removed == REMOVED;",
        ),
        "the node of a rank with a recording": (
            in_turn,
            "node = static_cast<std::uint32_t>(nodes.of_rank(rank))",
            "node = static_cast<std::uint32_t>(removed == REMOVED ? rank : nodes.of_rank(rank))",
        ),
        "given offsets": (
            in_turn,
            "trace.offsets >= 0",
            "trace.offsets >= 0 && removed != REMOVED",
        ),
        "what follows the last interval of a recording": (
            in_turn,
            "index == own.count",
            "removed != REMOVED && index == own.count",
        ),
        "the recording of a rank": (
            in_turn,
            "trace.own(rank(), words)",
            "trace.own(removed == REMOVED ? 0 : rank(), words)",
        ),
        "recordings of other ranks": (
            in_turn,
            "if (seen.insert(",
            "if (removed != REMOVED && seen.insert(",
        ),
        "the longest interval of a recording": (
            in_turn,
            "longest = std::max(longest,",
            "longest = std::max(removed == REMOVED ? Tick{0} : longest,",
        ),
        "threads without a tile": (
            kernel_,
            "if (place < job.end_tile)",
            "if (place < job.end_tile || removed == REMOVED)",
        ),
    }


@functools.cache
def numbers():
    """The number of each error: a barrier, or what `OTHERS` or `lean_errors` call it."""
    return {error: number for number, error in enumerate([*lean_errors(), *barriers(), *OTHERS])}


def mutants_once(tmp_path_factory):
    """The program with all errors, for all files of tests and all processes of pytest-xdist.

    All uses of cursors are watched in it (emulation/watch.h).
    """
    folder = once(tmp_path_factory, "mutants", lambda folder: build(folder, _with_errors(folder)))
    return folder / "kernels"


def _with_errors(folder):
    """A copy of the kernels with all errors, each only made where its number is asked for."""
    copy = folder / "cuda"
    shutil.copytree(CUDA, copy)

    def put(error, name, old, new):
        change(copy, name, old, new.replace("REMOVED", str(numbers()[error])))

    for error, places in (lean_errors() | OTHERS).items():
        put(error, *places)
    include = '#include "noise/node_size.h"\n'
    change(copy, "noise/periodic.h", include, f'{include}#include "mutants.h"\n')
    include = '#include "core/philox.h"\n'
    change(copy, "noise/jitter.h", include, f'{include}#include "mutants.h"\n')
    change(copy, "gpu/lean.h", "latest.ticks() < kRelativeEnd", "latest.ticks() < relative_end()")
    for name in KERNELS:
        path = copy / "gpu" / name
        before, *parts = path.read_text().split(BARRIER)
        assert parts, f"no barrier in {name}"
        for k, part in enumerate(parts):
            before += f"if (removed != {numbers()[name, k]}) {BARRIER}{part}"
        path.write_text(before)
    for old, addition in WATCHED.items():
        change(copy, "noise/sources.h", old, old + addition)
    return copy
