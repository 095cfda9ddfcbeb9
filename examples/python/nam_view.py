"""Reads the window that nam_producer has left at a memory server, by the calls of mpix_rma, without its producers.

  mpirun -np 1 python3 nam_view.py "$(mpix-nam lookup field)"
"""
import sys

import mpix_rma as rma
import numpy
from mpi4py import MPI


def main() -> int:
    window = rma.win_connect(sys.argv[1], MPI.COMM_WORLD)
    sizes: list[int] = []
    try:
        while True:
            sizes.append(rma.win_query(window, len(sizes))[0])
    except rma.Error as error:
        if error.error_class != MPI.ERR_RANK:  # behind the last of those that created the window
            raise
    wrong = 0
    window.Lock_all()
    for rank, size in enumerate(sizes):
        values = numpy.empty(size // 4, "i4")
        window.Get(values, rank)
        window.Flush(rank)
        wrong += int((values != 100 * numpy.arange(len(values)) + rank).sum())
    window.Unlock_all()
    window.Free()
    print(f"{len(sizes)} regions, {sum(sizes)} bytes, values wrong: {wrong}")
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
