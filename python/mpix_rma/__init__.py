"""MPIX_RMA for Python: one-sided communication by rank and address, beside mpi4py and NumPy.

Import this package before mpi4py.MPI, which calls MPI_Init: the library then makes MPI find its component. Otherwise
the environment has to name the component (env.sh of the installation), and the engine opens in the first allocate().
docs/python.md of the library describes the interface.
"""
from ._load import load as _load

_load()

from ._core import (  # noqa: E402
    ALL_RANKS,
    ErrorClass,
    Op,
    Plan,
    Protocol,
    Rmw,
    Rmw2,
    Statistic,
    Target,
    accumulate,
    complete,
    complete_local,
    error_class,
    fence,
    get,
    get_notify_value,
    get_num_notify,
    get_version,
    icomplete,
    icomplete_local,
    keyval,
    put,
    raccumulate,
    reset_notify_value,
    rget,
    rmw,
    rmw2,
    rput,
    rrmw,
    rrmw2,
    rxfer,
    set_num_notify,
    statistics,
    wait_notify_value,
    win_persist,
    win_query,
    xfer,
)
from ._attributes import delete_attributes, get_attributes, set_attributes  # noqa: E402
from ._errors import Error  # noqa: E402
from ._memory import (  # noqa: E402
    LocalMemory,
    Memory,
    Registration,
    Segment,
    allocate,
    allocate_local,
    query,
    register,
    segments,
)
from ._remote import RemoteArray, compare_and_swap, fetch_and_op  # noqa: E402
from ._request import Request, RequestObject  # noqa: E402
from ._windows import win_allocate_nam, win_connect  # noqa: E402

__all__ = [
    "ALL_RANKS", "Error", "ErrorClass", "LocalMemory", "Memory", "Op", "Plan", "Protocol", "Registration",
    "RemoteArray", "Request", "RequestObject", "Rmw", "Rmw2", "Segment", "Statistic", "Target", "accumulate", "allocate",
    "allocate_local", "compare_and_swap", "complete", "complete_local", "delete_attributes", "error_class", "fence",
    "fetch_and_op", "get", "get_attributes", "get_notify_value", "get_num_notify", "get_version", "icomplete",
    "icomplete_local", "keyval", "put", "query", "raccumulate", "register", "reset_notify_value", "rget", "rmw", "rmw2",
    "rput", "rrmw", "rrmw2", "rxfer", "segments", "set_attributes", "set_num_notify", "statistics", "wait_notify_value",
    "win_allocate_nam", "win_connect", "win_persist", "win_query", "xfer",
]
