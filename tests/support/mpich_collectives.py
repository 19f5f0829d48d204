"""Runs collectives with MPICH through ctypes: LIBMPI OUT COLLECTIVE:BYTES ...; counts messages.

Of those with counts BYTES are the counts: 3,0,5, and of an all-to-all a row for each rank, 0,3/5,0.
What each rank sends and receives in the i-th of them goes to the file OUT.i.RANK, by the program
that is preloaded (`count_ucx.cpp`). `allreduce_of_doubles` adds numbers of 8 bytes, and
`allreduce_in_order` uses an operation that does not commute; all others use bytes.
"""

import ctypes
import sys

# Handles of MPICH's ABI (mpi.h).
WORLD, BYTE, DOUBLE, BIT_OR, SUM = 0x44000000, 0x4C00010D, 0x4C00080B, 0x58000008, 0x58000003

COUNTED = {
    "alltoallv": "MPI_Alltoallv",
    "allgatherv": "MPI_Allgatherv",
    "reduce_scatter": "MPI_Reduce_scatter",
    "gatherv": "MPI_Gatherv",
    "scatterv": "MPI_Scatterv",
}


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
        if name in COUNTED:
            arguments = with_counts(name, size, ranks.value, rank.value)
            run(mpi, preloaded, f"{out}.{number}.{rank.value}", COUNTED[name], arguments)
            continue
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
            "scan": ("MPI_Scan", (given, result, count, BYTE, BIT_OR, WORLD)),
            "exscan": ("MPI_Exscan", (given, result, count, BYTE, BIT_OR, WORLD)),
        }[name]
        run(mpi, preloaded, f"{out}.{number}.{rank.value}", function_name, arguments)
    mpi.MPI_Finalize()


def run(mpi, preloaded, file, function_name, arguments):
    mpi.MPI_Barrier(WORLD)
    preloaded.count_start(file.encode())
    getattr(mpi, function_name)(*arguments)
    preloaded.count_stop()


def with_counts(name, text, ranks, rank):
    """The arguments of a collective with counts of bytes; blocks lie one behind the other."""
    rows = [[int(count) for count in row.split(",")] for row in text.split("/")]

    def integers(values):
        return (ctypes.c_int * ranks)(*values)

    def blocks(counts):
        """Counts and places, as MPI has them."""
        return integers(counts), integers([sum(counts[:i]) for i in range(ranks)])

    total = sum(map(sum, rows)) + 8
    given, result = (ctypes.create_string_buffer(total) for _ in range(2))
    own, counts = rows[0][rank], rows[0]
    if name == "alltoallv":
        sent, received = blocks(rows[rank]), blocks([row[rank] for row in rows])
        return given, *sent, BYTE, result, *received, BYTE, WORLD
    if name == "reduce_scatter":
        return given, result, integers(counts), BYTE, BIT_OR, WORLD
    if name == "scatterv":
        return given, *blocks(counts), BYTE, result, own, BYTE, 0, WORLD
    root = (0,) if name == "gatherv" else ()
    return given, own, BYTE, result, *blocks(counts), BYTE, *root, WORLD


if __name__ == "__main__":
    main(*sys.argv[1:])
