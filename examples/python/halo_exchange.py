"""Halo exchange: Jacobi iteration on a two-dimensional grid, as halo_exchange.c.

Each process holds a part of the grid with a border of one cell. In every step it puts its edge cells into the borders
of its neighbours, with a notification behind each: a process computes when all its neighbours' edges are there. Rows
and columns are slices of an array, here and at the neighbour.

  mpirun -np 4 python3 halo_exchange.py
"""
import sys
from typing import Any

import mpix_rma as rma
import numpy
from mpi4py import MPI

N = 32  # interior cells per process and direction
STEPS = 30
Grid = numpy.ndarray[Any, numpy.dtype[numpy.float64]]


def initial(rows: Any, columns: Any) -> Grid:
    return numpy.asarray((rows[:, None] * 37 + columns[None, :] * 11) % 101, "d")


def average(grid: Grid) -> Grid:
    """Returns the average of the four neighbours of each interior cell."""
    return 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])


def reference(rows: int, columns: int) -> Grid:
    """The same iteration on the whole grid, by one process."""
    grid = numpy.pad(initial(numpy.arange(rows), numpy.arange(columns)), 1)
    for _ in range(STEPS):
        grid[1:-1, 1:-1] = average(grid)
    return grid[1:-1, 1:-1]


def iterate(memory: rma.Memory, comm: MPI.Cartcomm) -> Grid:
    shape = (2, N + 2, N + 2)  # two grids, for the steps with even and odd numbers
    grids = memory.array("d", shape)
    grids[:] = 0
    row, column = (N * coordinate for coordinate in comm.Get_coords(comm.rank))
    grids[0, 1:-1, 1:-1] = initial(numpy.arange(row, row + N), numpy.arange(column, column + N))
    up, down = comm.Shift(0, 1)
    left, right = comm.Shift(1, 1)
    inside = slice(1, -1)
    # For each neighbour the own edge and the border there. Beyond the grid is MPI.PROC_NULL, and a put does nothing.
    edges: list[tuple[int, Any, Any]] = [(up, (1, inside), (-1, inside)), (down, (-2, inside), (0, inside)),
                                         (left, (inside, 1), (inside, -1)), (right, (inside, -2), (inside, 0))]
    borders = [[memory.at(neighbour, "d", shape)[(grid, *there)] for neighbour, _, there in edges] for grid in (0, 1)]
    neighbours = sum(neighbour != MPI.PROC_NULL for neighbour, _, _ in edges)
    rma.set_num_notify(comm, 2)
    comm.Barrier()
    for step in range(STEPS):
        now = step % 2
        for (_, here, _), border in zip(edges, borders[now]):
            rma.put(grids[(now, *here)], border, comm, notify=now)
        rma.wait_notify_value(comm, now, neighbours * (step // 2 + 1)).Wait()
        rma.complete_local(comm)  # the edges may be overwritten
        grids[1 - now, 1:-1, 1:-1] = average(grids[now])
    return numpy.array(grids[STEPS % 2, 1:-1, 1:-1])


def main() -> int:
    dims = MPI.Compute_dims(MPI.COMM_WORLD.size, 2)
    comm = MPI.COMM_WORLD.Create_cart(dims)
    with rma.allocate(2 * 8 * (N + 2) ** 2, comm) as memory:
        result = iterate(memory, comm)
    row, column = (N * coordinate for coordinate in comm.Get_coords(comm.rank))
    expected = reference(dims[0] * N, dims[1] * N)[row:row + N, column:column + N]
    wrong = comm.allreduce(int((result != expected).sum()))
    if comm.rank == 0:
        print(f"{dims[0] * N} x {dims[1] * N} grid on {dims[0]} x {dims[1]} processes, {STEPS} steps: "
              f"{'result correct' if wrong == 0 else 'RESULT WRONG'}")
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
