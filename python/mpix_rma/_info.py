"""Info objects of mappings."""
from __future__ import annotations

import contextlib
from typing import Iterator, Mapping, Optional, Union

from mpi4py import MPI

from ._errors import require_mpi


@contextlib.contextmanager
def hints(info: Union[MPI.Info, Mapping[str, str], None]) -> Iterator[Optional[MPI.Info]]:
    """Yields mpi4py's Info object as it is, an Info with the mapping's keys that is freed at the end, or None."""
    if info is None or isinstance(info, MPI.Info):
        yield info
        return
    require_mpi()
    created = MPI.Info.Create()
    try:
        for key, value in info.items():
            created.Set(key, value)
        yield created
    finally:
        created.Free()
