"""Windows on NumPy arrays, by mpi4py."""
import sys

import numpy
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
NEXT, PREVIOUS = (RANK + 1) % SIZE, (RANK - 1) % SIZE


def check(right, what):
    if not right:
        print(f"rank {RANK}: {what} is wrong", file=sys.stderr)
        COMM.Abort(1)


def use(window, memory, name):
    """Uses epochs of each kind on a window over `memory`, 1000 doubles, and frees the window."""
    data = numpy.arange(1000.0) + 1000 * RANK
    window.Fence()
    window.Put(data, NEXT)
    window.Fence()
    check((memory == numpy.arange(1000.0) + 1000 * PREVIOUS).all(), f"{name}: Put")
    back = numpy.empty(100)
    window.Lock(NEXT, MPI.LOCK_SHARED)
    window.Get(back, NEXT, target=[8 * 50, 100, MPI.DOUBLE])
    window.Unlock(NEXT)
    check((back == data[50:150]).all(), f"{name}: Get")
    COMM.Barrier()
    window.Lock_all()
    for _ in range(10):
        window.Accumulate(numpy.ones(1000), NEXT, op=MPI.SUM)
    window.Flush(NEXT)
    result = numpy.empty(1)
    window.Fetch_and_op(numpy.array([0.5]), result, NEXT, 8 * 7, MPI.SUM)
    window.Flush_all()
    check(result[0] == data[7] + 10, f"{name}: Fetch_and_op")
    request = window.Rget(back, NEXT)
    request.Wait()
    check(back[0] == data[0] + 10 and back[7] == data[7] + 10.5, f"{name}: Rget")
    window.Unlock_all()
    group = window.Get_group()
    window.Post(group.Incl([PREVIOUS]))
    window.Start(group.Incl([NEXT]))
    window.Put(numpy.full(3, float(RANK)), NEXT, target=[0, 3, MPI.DOUBLE])
    window.Complete()
    window.Wait()
    check((memory[:3] == PREVIOUS).all(), f"{name}: Post, Start")
    window.Free()


def main():
    memory = numpy.zeros(1000)
    use(MPI.Win.Create(memory, 1, comm=COMM), memory, "create")
    window = MPI.Win.Allocate(8000, 1, comm=COMM)
    use(window, numpy.frombuffer(window.tomemory(), dtype="d"), "allocate")
    host = COMM.Split_type(MPI.COMM_TYPE_SHARED)
    if host.size == SIZE:
        window = MPI.Win.Allocate_shared(8000, 1, comm=COMM)
        shared, _ = window.Shared_query(RANK)
        use(window, numpy.frombuffer(shared, dtype="d"), "allocate_shared")


main()
