"""Communicatable memory."""
from __future__ import annotations

import operator
import sys
from types import TracebackType
from typing import Any, List, Mapping, NamedTuple, Optional, Type, Union, cast

import numpy
from mpi4py import MPI

from . import _core
from ._info import hints
from ._remote import RemoteArray, shape_of

Info = Union[MPI.Info, Mapping[str, str], None]


def aint_of(size: int) -> int:
    """The size as MPI_Aint. A size out of range becomes one that the library refuses at all ranks together: an
    exception at one rank would leave the others waiting."""
    return max(-1, min(operator.index(size), sys.maxsize))


class Segment(NamedTuple):
    """A contiguous range of a rank's communicatable memory."""

    base: int
    size: int


class _Array(_core.Block):
    """Memory that NumPy's arrays can use."""

    __slots__ = ()

    def array(self, dtype: Any = "u1", shape: Any = None, offset: int = 0) -> numpy.ndarray[Any, Any]:
        """An array of the memory from byte `offset` on; by default of all the rest. The array keeps the memory from
        being freed."""
        kind = numpy.dtype(dtype)
        offset = operator.index(offset)
        extents = shape_of(kind, self.size - offset, shape)
        # Unlike numpy.ndarray(), frombuffer() does not release the buffer at once.
        array = numpy.frombuffer(cast(Any, self), kind, int(numpy.prod(extents)), offset)
        return array.reshape(extents)


class Memory(_Array):
    """Memory from allocate(). `with` frees it at the end, unless an exception leaves the block: other ranks may then
    not come to the collective call."""

    __slots__ = ("bases", "comm")
    bases: tuple[int, ...]
    comm: MPI.Comm

    def at(self, rank: int, dtype: Any = "u1", shape: Any = None, offset: int = 0) -> RemoteArray:
        """The memory of a rank as a target, from byte `offset` on. The default shape is that of the own memory.
        With MPI.PROC_NULL as rank, operations on the target do nothing. After free() the address is the former one."""
        kind = numpy.dtype(dtype)
        rank = operator.index(rank)
        offset = operator.index(offset)
        if offset < 0:
            raise ValueError("offset must be non-negative")
        if rank != MPI.PROC_NULL and not 0 <= rank < len(self.bases):
            raise IndexError(f"rank {rank} is not in the communicator, which has {len(self.bases)} processes")
        address = 0 if rank == MPI.PROC_NULL else self.bases[rank] + offset
        return RemoteArray(rank, address, kind, shape_of(kind, self.size - offset, shape))

    def free(self) -> None:
        """Frees the memory at all ranks. Collective. BufferError while an array or view of this process uses it."""
        _core.free_collective(self, self.comm)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is None:
            self.free()


def allocate(size: int, comm: MPI.Comm, info: Info = None) -> Memory:
    """Allocates communicatable memory at every rank of an intracommunicator. Collective.

    `size` is in bytes and may differ between ranks. `info` is a mapping or mpi4py's Info, with the keys of
    MPIX_RMA_Allocate.
    """
    with hints(info) as native:
        base, bases = _core.allocate(aint_of(size), comm, native)
    memory = Memory(base, size)
    memory.bases = bases
    memory.comm = comm
    return memory


class LocalMemory(_Array):
    """Memory from allocate_local(). It is freed with the last array that uses it; operations on it must be complete."""

    __slots__ = ()

    def free(self) -> None:
        """Frees the memory. BufferError while an array or view of this process uses it."""
        _core.free_local(self)

    def __del__(self) -> None:
        if self.base != 0 and MPI.Is_initialized() and not MPI.Is_finalized():
            self.free()


def allocate_local(size: int, info: Info = None) -> LocalMemory:
    """Allocates communicatable memory at this process alone. `size` is in bytes."""
    with hints(info) as native:
        base = _core.allocate_local(aint_of(size), native)
    return LocalMemory(base, size)


class Registration:
    """A registration from register(). It ends with deregister(), at the end of a `with` block, or with the object."""

    __slots__ = ("address", "size", "_owner")

    def __init__(self, address: int, size: int, owner: Any) -> None:
        self.address = address
        self.size = size
        self._owner = owner  # keeps the memory; None after the end

    def deregister(self) -> None:
        """Ends the registration. Nothing happens if it has ended."""
        if self._owner is not None:
            _core.deregister(self.address, self.size)
            self._owner = None  # the memory may be freed now

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.deregister()

    def __del__(self) -> None:
        if MPI.Is_initialized() and not MPI.Is_finalized():
            self.deregister()


def register(buffer: Any, info: Info = None) -> Registration:
    """Makes memory of this process communicatable: an array, or another object with a contiguous buffer."""
    is_array = isinstance(buffer, numpy.ndarray)
    owner = buffer if is_array else memoryview(buffer)  # some arrays, such as those of dates, export no buffer
    if not (owner.flags.forc if is_array else owner.contiguous):
        raise ValueError("registered memory must be contiguous")
    address = 0
    if owner.nbytes > 0:
        address = owner.__array_interface__["data"][0] if is_array else _core.address_of_view(owner)
    with hints(info) as native:
        _core.register_memory(address, owner.nbytes, native)
    return Registration(address, owner.nbytes, owner)


def query(comm: MPI.Comm, rank: int, address: int) -> Optional[Segment]:
    """The segment of a rank's memory in which an address lies, or None if it is not communicatable."""
    found = _core.query(comm, rank, address)
    return None if found is None else Segment(*found)


def segments(comm: MPI.Comm, rank: int) -> List[Segment]:
    """The communicatable memory of a rank, in the order of addresses."""
    return [Segment(*found) for found in _core.segments(comm, rank)]
