"""Runs collectives with MPICH through ctypes: LIBMPI OUT COLLECTIVE:BYTES ...; counts messages.

What each rank sends and receives in the i-th of them goes to the file OUT.i.RANK, by the program
that is preloaded (`count_ucx.cpp`). `allreduce_of_doubles` adds numbers of 8 bytes, and
`allreduce_in_order` uses an operation that does not commute; all others use bytes.
"""

import ctypes
import sys

# Handles of MPICH's ABI (mpi.h).
WORLD, BYTE, DOUBLE, BIT_OR, SUM = 0x44000000, 0x4C00010D, 0x4C00080B, 0x58000008, 0x58000003


def main(libmpi, out, *asked):
    mpi = ctypes.CDLL(libmpi, mode=ctypes.RTLD_GLOBAL)
    preloaded = ctypes.CDLL(None)
    mpi.MPI_Init(None, None)
    ranks, rank, in_order = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Comm_size(WORLD, ctypes.byref(ranks))
    mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(lambda *_: None)
    mpi.MPI_Op_create(function, 0, ctypes.byref(in_order))
    for number, text in enumerate(asked):
        name, _, size = text.partition(":")
        count = int(size)
        given, result = (ctypes.create_string_buffer(count * ranks.value + 8) for _ in range(2))
        function_name, arguments = {
            "allreduce": ("MPI_Allreduce", (given, result, count, BYTE, BIT_OR, WORLD)),
            "allreduce_of_doubles": (
                "MPI_Allreduce",
                (given, result, count // 8, DOUBLE, SUM, WORLD),
            ),
            "allreduce_in_order": ("MPI_Allreduce", (given, result, count, BYTE, in_order, WORLD)),
            "barrier": ("MPI_Barrier", (WORLD,)),
            "broadcast": ("MPI_Bcast", (given, count, BYTE, 0, WORLD)),
            "reduce": ("MPI_Reduce", (given, result, count, BYTE, BIT_OR, 0, WORLD)),
            "alltoall": ("MPI_Alltoall", (given, count, BYTE, result, count, BYTE, WORLD)),
            "allgather": ("MPI_Allgather", (given, count, BYTE, result, count, BYTE, WORLD)),
        }[name]
        mpi.MPI_Barrier(WORLD)
        preloaded.count_start(f"{out}.{number}.{rank.value}".encode())
        getattr(mpi, function_name)(*arguments)
        preloaded.count_stop()
    mpi.MPI_Finalize()


if __name__ == "__main__":
    main(*sys.argv[1:])
