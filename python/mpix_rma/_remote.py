"""Arrays in the memory of other ranks."""
from __future__ import annotations

import operator
from typing import Any, Optional, Tuple

import numpy
from mpi4py import MPI

from . import _core


class RemoteArray(_core.Target):
    """An array in the memory of a rank: `RemoteArray(rank, address, dtype, shape, strides=None)`.

    Indexing by integers, slices and `...` gives the part, as of a NumPy array; no data is moved. put, get and the other
    operations take it as target.
    """

    __slots__ = ()

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without gaps."""
        return self.size * int(self.dtype.itemsize)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("the remote array has no dimensions")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> RemoteArray:
        offset, shape, strides = _select(self.shape, self.strides, index if isinstance(index, tuple) else (index,))
        return RemoteArray(self.rank, self.address + offset, self.dtype, shape, strides)


def _completed(index: Tuple[Any, ...], dimensions: int) -> Tuple[Any, ...]:
    """The index with `...` written out."""
    places = [place for place, item in enumerate(index) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index has at most one '...'")
    missing = dimensions - (len(index) - len(places))
    if missing < 0:
        raise IndexError(f"the remote array has {dimensions} dimensions, and the index {len(index)}")
    place = places[0] if places else len(index)
    return index[:place] + (slice(None),) * missing + index[place + len(places):]


def _select(shape: Tuple[int, ...], strides: Tuple[int, ...],
            index: Tuple[Any, ...]) -> Tuple[int, Tuple[int, ...], Tuple[int, ...]]:
    offset = 0
    extents = []
    steps = []
    for item, extent, stride in zip(_completed(index, len(shape)), shape, strides):
        if isinstance(item, slice):
            start, stop, step = item.indices(extent)
            extents.append(len(range(start, stop, step)))
            steps.append(stride * step)
            offset += stride * start
        else:
            place = operator.index(item)
            if not -extent <= place < extent:
                raise IndexError(f"index {place} is outside of an extent of {extent}")
            offset += stride * (place % extent)
    return offset, tuple(extents), tuple(steps)


def fetch_and_op(target: RemoteArray, operand: Any, comm: MPI.Comm, op: int = _core.Rmw.SUM) -> Any:
    """Updates one element atomically, waits, and returns its previous value. `op` is one of Rmw."""
    result = numpy.zeros(target.shape, target.dtype)  # stays so if the target is MPI_PROC_NULL
    _core.rmw(op, operand, target, comm, result=result, blocking=True)
    return result[()]


def compare_and_swap(target: RemoteArray, expected: Any, desired: Any, comm: MPI.Comm) -> Any:
    """Replaces an element that has the expected value, atomically, waits, and returns its previous value."""
    result = numpy.zeros(target.shape, target.dtype)  # stays so if the target is MPI_PROC_NULL
    _core.rmw2(_core.Rmw2.COMP_SWAP_E, expected, desired, target, comm, result=result, blocking=True)
    return result[()]


def shape_of(dtype: numpy.dtype[Any], size: int, shape: Optional[Any]) -> Any:
    """The shape that was given, or that of `size` bytes."""
    if shape is not None:
        return shape
    if dtype.itemsize == 0:
        raise ValueError(f"the items of {dtype!r} have no bytes: name their size, such as S8, or pass a shape")
    return (size // dtype.itemsize,)
