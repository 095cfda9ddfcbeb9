"""Reads the window that nam_producer has left at a memory server. Any number of processes may run this program.

  mpirun -np 2 ./nam_producer field
  mpirun -np 2 --mca osc mpix python3 nam_reader.py "$(mpix-nam lookup field)"

The info key is all that the program needs: it is not linked with the library.
"""
import sys

import numpy
from mpi4py import MPI


def regions(window):
    """Returns the memory of each rank that created the window, as arrays: the memory itself, not copies."""
    memories = []
    while True:
        try:
            memory, _ = window.Shared_query(len(memories))
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_RANK:
                raise
            return memories
        memories.append(numpy.frombuffer(memory, dtype="i4"))


def main():
    comm = MPI.COMM_WORLD
    info = MPI.Info.Create()
    info.Set("deep_win_port_name", sys.argv[1])
    window = MPI.Win.Create_dynamic(info, comm)
    info.Free()

    arrays = regions(window)
    ranks = len(arrays)
    expected = 100 * numpy.arange(ranks)[None, :] + numpy.arange(ranks)[:, None]
    wrong = int((numpy.stack(arrays) != expected).sum())

    # The same by operations, which also serve where the memory is not mapped.
    copies = numpy.full((ranks, ranks), -1, dtype="i4")
    window.Lock_all()
    for rank in range(ranks):
        window.Get(copies[rank], rank)
    window.Unlock_all()
    wrong += int((copies != expected).sum())

    wrong = comm.allreduce(wrong)
    if comm.rank == 0:
        print(f"{ranks} regions, values wrong: {wrong}")
    window.Free()
    sys.exit(wrong != 0)


main()
