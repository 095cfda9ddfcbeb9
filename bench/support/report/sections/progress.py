"""Operations on a process that computes outside of MPI."""
from .. import stats, tables
from ..model import Block, Cell, Line, Run

NAME = "progress"
TITLE = "Progress while the target computes"
ORDER = 25
ROUNDS = 5  # few, because each run of the program computes for three seconds
SECOND = 1e6  # us
ACCUMULATE = Line("progress", "accumulate", "heap", 1, 8)
IDLE = Line("idle", "cpu_per_second", "none", 1, 0)
OSC = {1: ("mpix", "rdma", "ucx", "pt2pt"), 2: ("mpix", "ucx", "pt2pt")}


def groups(options):
    return [[Run(f"MPIX_RMA, {tables.hosts_text(hosts)}", "bench_progress", ("mpix",), hosts=hosts, rounds=ROUNDS),
             *(Run(f"windows, osc/{osc}, {tables.hosts_text(hosts)}", "bench_progress", ("window",), (("OMPI_MCA_osc", osc),), hosts,
                   rounds=ROUNDS) for osc in OSC[hosts])] for hosts in (1, 2)]


def all_blocks(results):
    rows = [[Cell(run), *tables.times(values), Cell(f"{stats.summary(values).median / SECOND:.4f}", stats.summary(values).median)]
            for run in results.runs if (values := results.values(run, ACCUMULATE))]
    if rows:
        yield Block("One addition to an integer of 8 bytes in memory of the target's program, until it is complete there",
                    tables.command(NAME, results, results.runs[0]),
                    "The target computes for a second, and the origin adds after a tenth of it: with a library that needs the "
                    "target's calls, 0.9 seconds pass. On two cores the target's helper thread, if there is one, shares a core.",
                    "The memory is a variable of the program, not allocated for communication.",
                    columns=("library", *tables.TIME_COLUMNS, "seconds"), rows=rows)
    idle = [[Cell(run), *tables.times(values)] for run in results.runs if (values := results.values(run, IDLE))]
    if idle:
        yield Block("CPU time that a process takes in a second without communication", tables.command(NAME, results, results.runs[0]),
                    "Of one process with nothing to do; its helper thread sleeps.", columns=("library", *tables.TIME_COLUMNS), rows=idle)


def blocks(results):
    return list(all_blocks(results))
