"""A distributed work queue, as work_queue.c.

Rank 0 holds a counter of items handed out, and an array for the results; every process draws items with fetch_and_op
and puts each result into the array. There is no server: rank 0 works like the others.

  mpirun -np 4 python3 work_queue.py
"""
import sys

import mpix_rma as rma
import numpy
from mpi4py import MPI

ITEMS = 1000


def solve(item: int) -> int:
    return item * item + 7


def main() -> int:
    world = MPI.COMM_WORLD
    size = 8 * (1 + 2 * ITEMS) if world.rank == 0 else 0
    wrong = 0
    with rma.allocate(size, world) as memory:
        queue = memory.array("i8")
        queue[:] = 0
        world.Barrier()
        # The counter, the results, and how often each was done: must be once.
        counter = memory.at(0, "i8", ())
        results = memory.at(0, "i8", ITEMS, offset=8)
        done = memory.at(0, "i8", ITEMS, offset=8 + 8 * ITEMS)
        mine = 0
        while (item := int(rma.fetch_and_op(counter, 1, world))) < ITEMS:
            # The array may go out of scope: the package keeps it until the put has read it.
            rma.put(numpy.array(solve(item)), results[item], world)
            rma.rmw(rma.Rmw.INC, None, done[item], world)
            mine += 1
        rma.complete(world, 0)
        total = world.reduce(mine)
        if world.rank == 0:
            expected = numpy.arange(ITEMS) ** 2 + 7
            wrong = int((queue[1:1 + ITEMS] != expected).sum() + (queue[1 + ITEMS:] != 1).sum()) + (total != ITEMS)
            print(f"{total} items by {world.size} processes: {'result correct' if wrong == 0 else 'RESULT WRONG'}")
        del queue
    return int(world.bcast(wrong) != 0)


if __name__ == "__main__":
    sys.exit(main())
