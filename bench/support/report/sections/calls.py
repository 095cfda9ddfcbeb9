"""Instructions of one small call beside the calls that a program would write otherwise."""
from .. import stats, tables
from ..model import Block, Cell, Line, Run

NAME = "calls"
TITLE = "Instructions per call"
ORDER = 10
ONCE = 3  # rounds: the count varies little
OURS = Run("MPIX_RMA", "bench_calls", ("mpix",), (("BENCH_ONLY", "^calls"),), rounds=ONCE)
WINDOWS = tuple(Run(f"windows, osc/{osc}", "bench_calls", ("window",), (("OMPI_MCA_osc", osc),), rounds=ONCE)
                for osc in ("mpix", "sm", "rdma", "ucx"))
ARMCI = (Run("ARMCI, this library", "bench_osu_armci_mpix", ("--instructions",), rounds=ONCE),
         Run("ARMCI-MPI on osc/sm, tuned", "bench_osu_armci_mpi", ("--instructions",),
             (("OMPI_MCA_osc", "sm,rdma"), ("ARMCI_RMA_ATOMICITY", "0")), rounds=ONCE))
ROWS = [(OURS, "mpix", "MPIX_RMA_xfer and Complete"), *((run, "window", f"{run.name}: MPI_Put and flush") for run in WINDOWS),
        *((run, "armci", f"{run.name}: ARMCI_Put and Fence") for run in ARMCI), (OURS, "store", "a store")]
OPERATIONS = ("put", "get", "accumulate", "fetch_add")


def groups(options):
    return [[OURS, *WINDOWS, *ARMCI]]


def blocks(results):
    rows = []
    for run, interface, title in ROWS:
        counts = [results.values(run.name, Line("calls", operation, interface)) for operation in OPERATIONS]
        if any(counts):
            rows.append([Cell(title), *(tables.number_cell(min(found)) if found else Cell("") for found in counts)])
    if not rows:
        return []
    spread = max(max(found) - min(found) for run, interface, _ in ROWS for operation in OPERATIONS
                 if (found := results.values(run.name, Line("calls", operation, interface))))
    return [Block("8 bytes of allocated memory on one host, complete at the target", tables.command(NAME, results, OURS.name),
                  "Instructions are no time. The kernel's are not counted, so a call that enters it seems cheap. A call that "
                  "waits for the target repeats its loop as often as the target makes it wait: with the single-stepped origin, "
                  "rarely.",
                  "All instructions in user space, of the MPI library and of the transport too, without those of an empty call; "
                  f"the smallest of {ONCE} repetitions, which differ by at most {spread:,.0f}. The rows name the calls of the put; "
                  "get, accumulate and fetch-and-add are those of the same interface.",
                  columns=("interface", *OPERATIONS), rows=rows)]
