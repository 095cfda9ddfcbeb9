"""Loads the extension so that the library stands in front of MPI."""
import os
import sys


def _mpi_has_started() -> bool:
    module = sys.modules.get("mpi4py.MPI")
    return module is not None and module.Is_initialized()


def load() -> None:
    """Imports the extension. With RTLD_GLOBAL, mpi4py's calls reach the names of MPI that the library defines, for
    example those of windows at a memory server, if mpi4py.MPI is loaded later."""
    late = _mpi_has_started()
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | os.RTLD_GLOBAL)
    try:
        from . import _core
    finally:
        sys.setdlopenflags(flags)
    if late and not _core.component_is_loaded():
        raise ImportError(
            "MPI_Init did not find the component of MPIX_RMA: import mpix_rma before mpi4py.MPI, or set the "
            "environment by share/mpix-rma/env.sh of the installation")
