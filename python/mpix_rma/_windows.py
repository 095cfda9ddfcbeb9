"""Windows whose memory is at a memory server."""
from __future__ import annotations

from mpi4py import MPI

from . import _core
from ._info import hints
from ._memory import Info, aint_of


def win_allocate_nam(size: int, comm: MPI.Comm, disp_unit: int = 1, info: Info = None) -> MPI.Win:
    """Creates a window whose memory is at a memory server. Collective; `size` in bytes. Keys: MPIX_Win_allocate_nam."""
    with hints(info) as native:
        return _core.win_allocate_nam(aint_of(size), disp_unit, native, comm)


def win_connect(port_name: str, comm: MPI.Comm, root: int = 0, info: Info = None) -> MPI.Win:
    """Creates a window on the memory of a persistent window, by its port name. Collective; the port name counts at
    `root` only."""
    with hints(info) as native:
        return _core.win_connect(port_name, native, root, comm)
