"""Errors of the library."""
from __future__ import annotations

from typing import Optional

from mpi4py import MPI


def _outside_mpi() -> Optional[str]:
    """A text for the time before MPI_Init and after MPI_Finalize, when MPI's functions about errors end the process."""
    if not MPI.Is_initialized():
        return "MPIX_RMA is called before MPI_Init"
    if MPI.Is_finalized():
        return "MPIX_RMA is called after MPI_Finalize"
    return None


def require_mpi() -> None:
    """Raises Error before MPI_Init and after MPI_Finalize."""
    if _outside_mpi() is not None:
        raise Error(MPI.ERR_OTHER)


class Error(MPI.Exception):
    """An error that the library returned: `error_code`, `error_class` and `error_string`, as in MPI.Exception. It keeps
    its class, and its text, which MPI keeps for the last sixteen errors of a class."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        outside = _outside_mpi()
        self._text = MPI.Get_error_string(code) if outside is None else outside
        self._class = MPI.Get_error_class(code) if outside is None else code  # the library's code is then a class

    @classmethod
    def of_class(cls, error_class: int, text: str) -> Error:
        """An error with a text of its own. Open MPI does not know the class of a class that was added."""
        error = cls(error_class)
        error._class, error._text = error_class, text
        return error

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._text!r})"

    def Get_error_string(self) -> str:
        return self._text

    def Get_error_class(self) -> int:
        return self._class

    @property
    def error_string(self) -> str:  # type: ignore[override]  # mpi4py's is read-only, too
        return self._text

    @property
    def error_class(self) -> int:  # type: ignore[override]
        return self._class
