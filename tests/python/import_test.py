"""The order of the imports of mpix_rma and of mpi4py.MPI. The import of mpi4py.MPI calls MPI_Init.

usage: import_test.py first|second|window|without|uninitialised
  first          mpix_rma is imported first, and makes MPI find the component
  second         MPI has found the component by the environment: the engines open in allocate()
  window         as second, but the engines open in win_allocate_nam()
  without        MPI knows of no component: the import fails, and the error says what to do
  uninitialised  mpix_rma is imported first, and the program calls MPI.Init() itself
"""
import sys

import mpi4py

order = sys.argv[1]
if order == "uninitialised":
    mpi4py.rc.initialize = False
if order in ("second", "window", "without"):
    from mpi4py import MPI
try:
    import mpix_rma as rma
except ImportError as error:
    assert order == "without", error
    assert "import mpix_rma before mpi4py.MPI" in str(error) and "env.sh" in str(error), error
    assert "\n" not in str(error), error
    sys.exit(0)
assert order != "without"
import numpy
from mpi4py import MPI

if order == "uninitialised":
    assert not MPI.Is_initialized()
    MPI.Init()
world = MPI.COMM_WORLD
next_rank = (world.rank + 1) % world.size

local = numpy.full(1, float(world.rank))
addresses = world.allgather(MPI.Get_address(local))
value = numpy.full(1, 10.0 + world.rank)
try:
    rma.put(value, (next_rank, addresses[next_rank]), world)
    assert order not in ("second", "window")
except rma.Error as error:
    assert order in ("second", "window"), error
    assert error.error_class == rma.error_class(rma.ErrorClass.TRANSPORT)
    assert "MPIX_RMA_Allocate" in str(error), error
if order == "window":
    window = rma.win_allocate_nam(8, world)
    rma.put(value, (next_rank, addresses[next_rank]), world)
    rma.complete(world)
    window.Free()
with rma.allocate(8, world):
    rma.put(value, (next_rank, addresses[next_rank]), world)
    rma.complete(world)
    world.Barrier()
    assert local[0] == 10.0 + (world.rank - 1) % world.size, local
rma.set_attributes(world, notify=3)
try:
    rma.set_attributes(world, notify=-1)
    raise AssertionError("the library's MPI_Comm_set_attr was not reached")
except rma.Error as error:
    assert error.error_class == MPI.ERR_ARG
if order == "uninitialised":
    MPI.Finalize()
