"""Errors of the library."""
from mpi4py import MPI


class Error(MPI.Exception):
    """An error that the library returned: `error_code`, `error_class` and `error_string`, as in MPI.Exception. It keeps
    its text, which MPI keeps for the last sixteen errors of a class."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self._text = MPI.Get_error_string(code)

    def __str__(self) -> str:
        return self._text

    def Get_error_string(self) -> str:
        return self._text

    @property
    def error_string(self) -> str:  # type: ignore[override]  # mpi4py's is read-only, too
        return self._text
