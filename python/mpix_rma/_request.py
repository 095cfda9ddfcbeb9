"""Requests, which are mpi4py's."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, Literal, Optional, Type, TypeVar

from mpi4py import MPI

from . import _attributes, _core
from ._errors import Error, require_mpi

_Result = TypeVar("_Result")


def _raising(call: Callable[..., _Result], *arguments: Any) -> _Result:
    """The library's error in place of mpi4py's, with its text."""
    require_mpi()
    try:
        return call(*arguments)
    except MPI.Exception as error:
        raise Error(error.Get_error_code()) from None


class Request(_core.RequestBase):
    """A request of an operation. All calls of mpi4py take it: Request.Waitall, Waitany, Testall and the others.

    It keeps the operation's buffers alive until mpi4py has seen that the request is complete. A request that is dropped
    earlier leaves its buffers to the package, which releases them later.
    """

    __slots__ = ()

    def Wait(self, status: Optional[MPI.Status] = None) -> Literal[True]:
        return _raising(super().Wait, status)

    def Test(self, status: Optional[MPI.Status] = None) -> bool:
        return _raising(super().Test, status)

    def wait(self, status: Optional[MPI.Status] = None) -> None:
        self.Wait(status)

    def __enter__(self) -> Request:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.Wait()


class RequestObject(Request):
    """A request object with attributes, for the keyword `request` of put, get, accumulate, xfer, rmw and rmw2, which
    return it. The forms rput, rget and so on create a Request instead, and refuse the keyword. After Wait the next
    operation may use the object."""

    __slots__ = ()

    def __init__(self, **attributes: Any) -> None:
        if not attributes:
            raise TypeError("a request object has attributes")
        _attributes.set_each(_core.set_request_attribute, _core.get_request_attribute, self, attributes)

    def get_attributes(self) -> dict[str, Any]:
        """The attributes that the object has, by keyword."""
        return _attributes.get_each(_core.get_request_attribute, self)

    def Wait(self, status: Optional[MPI.Status] = None) -> Literal[True]:
        complete = super().Wait(status)
        _core.release_buffers(self)  # mpi4py does it for requests that are null afterwards
        return complete

    def Test(self, status: Optional[MPI.Status] = None) -> bool:
        complete = super().Test(status)
        if complete:
            _core.release_buffers(self)
        return complete


_core.set_request_types(Request, RequestObject)
