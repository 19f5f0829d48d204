"""Runs one collective with Open MPI through ctypes: NAME BYTES, started by mpiexec.

Of MPI it uses the library alone: a handle of Open MPI is the address of an object in it.
"""

import ctypes
import sys

LIBRARY = "libmpi.so.40"  # of Open MPI 4 and 5


def main(name, count):
    mpi = ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
    world, byte, either = (
        ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, handle)))
        for handle in ("ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_op_bor")
    )
    mpi.MPI_Init(None, None)
    ranks = ctypes.c_int()
    mpi.MPI_Comm_size(world, ctypes.byref(ranks))
    given, result = (ctypes.create_string_buffer(count * ranks.value + 1) for _ in range(2))
    if name == "allreduce":
        mpi.MPI_Allreduce(given, result, count, byte, either, world)
    elif name == "barrier":
        mpi.MPI_Barrier(world)
    elif name == "broadcast":
        mpi.MPI_Bcast(given, count, byte, 0, world)
    elif name == "reduce":
        mpi.MPI_Reduce(given, result, count, byte, either, 0, world)
    elif name == "allgather":
        mpi.MPI_Allgather(given, count, byte, result, count, byte, world)
    elif name == "alltoall":
        mpi.MPI_Alltoall(given, count, byte, result, count, byte, world)
    elif name == "reduce_scatter":
        counts = (ctypes.c_int * ranks.value)(*[count // ranks.value] * ranks.value)
        mpi.MPI_Reduce_scatter(given, result, counts, byte, either, world)
    elif name == "gather":
        mpi.MPI_Gather(given, count, byte, result, count, byte, 0, world)
    elif name == "scatter":
        mpi.MPI_Scatter(given, count, byte, result, count, byte, 0, world)
    elif name == "scan":
        mpi.MPI_Scan(given, result, count, byte, either, world)
    elif name == "exscan":
        mpi.MPI_Exscan(given, result, count, byte, either, world)
    else:
        raise ValueError(name)
    mpi.MPI_Finalize()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
