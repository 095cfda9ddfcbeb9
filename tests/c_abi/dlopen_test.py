"""The library loaded by Python's ctypes before MPI_Init: puts numbers to the next rank and gets them back.

usage: dlopen_test.py LIBRARY
"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])  # loads MPI, too


def handle(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, name)))


def check(code, call):
    if code != 0:
        sys.exit(f"{call} returned {code}")


world = handle("ompi_mpi_comm_world")
long_type = handle("ompi_mpi_long")
info_null = handle("ompi_mpi_info_null")
put, get = 1, 2

check(library.MPI_Init(None, None), "MPI_Init")
rank, size = ctypes.c_int(), ctypes.c_int()
library.MPI_Comm_rank(world, ctypes.byref(rank))
library.MPI_Comm_size(world, ctypes.byref(size))
following = (rank.value + 1) % size.value

bases = (ctypes.c_void_p * size.value)()
check(library.MPIX_RMA_Allocate(ctypes.c_ssize_t(8), info_null, world, None, bases), "MPIX_RMA_Allocate")
for value in range(100):
    for operation, data in ((put, ctypes.c_long(1000 * rank.value + value)), (get, ctypes.c_long(-1))):
        check(library.MPIX_RMA_xfer(operation, ctypes.byref(data), 1, long_type, following,
                                    ctypes.c_void_p(bases[following]), 1, long_type, None, ctypes.byref(world), None),
              "MPIX_RMA_xfer")
        check(library.MPIX_RMA_Complete(ctypes.byref(world), following), "MPIX_RMA_Complete")
    if data.value != 1000 * rank.value + value:
        sys.exit(f"got {data.value}")
library.MPI_Barrier(world)
found = ctypes.c_long.from_address(bases[rank.value]).value
if found != 1000 * ((rank.value + size.value - 1) % size.value) + 99:
    sys.exit(f"found {found}")
check(library.MPIX_RMA_Free(ctypes.c_void_p(bases[rank.value]), world), "MPIX_RMA_Free")
library.MPI_Finalize()
