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


def raises(text, call):
    try:
        call()
    except rma.Error as error:
        assert text in str(error) and error.error_class == error.error_code == MPI.ERR_OTHER, error
        assert text in error.error_string and error.Get_error_class() == MPI.ERR_OTHER
    else:
        raise AssertionError(f"no error {text}")


def every_call_raises(text, array):
    comm, info = MPI.COMM_WORLD, {"mpix_access": "read"}
    target = rma.RemoteArray(0, array.ctypes.data, "d", 4)
    for call in (lambda: rma.put(array, target, comm), lambda: rma.put((array, MPI.DOUBLE), target, comm),
                 lambda: rma.put(array[::2], target, comm), lambda: target[::2],
                 lambda: rma.fetch_and_op(target[0], 1, comm), lambda: rma.complete(comm),
                 lambda: rma.complete_local(comm), lambda: rma.fence(comm),
                 lambda: rma.allocate(8, comm), lambda: rma.allocate(8, comm, info), lambda: rma.allocate_local(8),
                 lambda: rma.register(array), lambda: rma.register(array, info), lambda: rma.query(comm, 0, 0),
                 lambda: rma.segments(comm, 0), lambda: rma.Plan(rma.Op.PUT, "d", 0, "d", comm),
                 lambda: rma.set_num_notify(comm, 1), lambda: rma.statistics(comm, 0, rma.Statistic.BYTES),
                 lambda: rma.set_attributes(comm, ordering=True), lambda: rma.get_attributes(comm),
                 lambda: rma.RequestObject(ordering=True), lambda: rma.keyval("MPIX_RMA_KEY_ORDERING"),
                 lambda: rma.error_class(rma.ErrorClass.ADDRESS), lambda: rma.win_allocate_nam(8, comm)):
        raises(text, call)


if order == "uninitialised":
    assert not MPI.Is_initialized()
    every_call_raises("before MPI_Init", numpy.zeros(4))
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
if order in ("second", "window"):
    for call in (lambda: rma.set_attributes(world, ordering=True), lambda: rma.get_attributes(world),
                 lambda: rma.RequestObject(ordering=True), lambda: rma.keyval("MPIX_RMA_KEY_ORDERING")):
        try:
            call()
            raise AssertionError("no error")
        except rma.Error as error:
            assert error.error_class == rma.error_class(rma.ErrorClass.TRANSPORT)
            assert "mpix_rma.allocate opens it" in str(error), error
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
    rma.delete_attributes(world)
    buffer = numpy.zeros(4)
    registration = rma.register(buffer)
    request = rma.rput(numpy.zeros(4), rma.RemoteArray(world.rank, registration.address, "d", 4), world)
    plan = rma.Plan(rma.Op.PUT, "d", MPI.PROC_NULL, "d", world)
    rma.set_num_notify(world, 1)
    rma.wait_notify_value(world, 0, 1)  # a dropped request that never completes
    MPI.Finalize()
    every_call_raises("after MPI_Finalize", buffer)
    for call in (registration.deregister, request.Wait, request.Test, lambda: plan.issue(buffer, 0), plan.free):
        raises("after MPI_Finalize", call)
