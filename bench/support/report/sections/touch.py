"""First and later accesses to the pages of large memory of a neighbour."""
from .. import stats, tables
from ..model import Block, Cell, Line, Run

NAME = "touch"
TITLE = "Random access to large memory of a neighbour"
ORDER = 35
OURS = ("windows, osc/mpix", "MPIX_RMA")
PEERS = ("windows, osc/sm", "windows, osc/rdma")
OPERATIONS = ("update", "get")
PASSES = ("first", "later")


def sizes(options):
    return (64,) if options.quick else (64, 1024)


def groups(options):
    found = []
    for mebibytes in sizes(options):
        for operation in OPERATIONS:
            arguments, part = (operation, str(mebibytes)), f"{operation} {mebibytes}"
            sides = [Run("MPIX_RMA", "bench_gups", ("mpix", *arguments), rounds=6, part=part)]
            sides += [Run(f"windows, osc/{osc}", "bench_gups", ("window", *arguments), (("OMPI_MCA_osc", osc),), rounds=6, part=part)
                      for osc in ("mpix", "sm", "rdma")]
            found.append(sides)
    return found


def line(operation, what, size):
    return Line("gups", f"{operation} {what}", "allocated", 1, size)


def rows_of(results):
    for size in sorted({found.size for run in results.runs for found in results.lines(run)}):
        for operation in OPERATIONS:
            for each in PASSES:
                wanted = line(operation, each, size)
                best = stats.best_peer(results, wanted, PEERS)
                for ours in OURS:
                    values = results.values(ours, wanted)
                    if not values or best is None:
                        continue
                    at = stats.ratio(results.samples(ours, wanted), results.samples(best, wanted))
                    yield [Cell(f"{operation}, {each} pass"), tables.number_cell(size >> 20), Cell(ours), Cell(best), *tables.ratio_cells(at),
                           *tables.times(values)[:2], *tables.times(results.values(best, wanted))[:2]]


def fault_rows(results):
    for run in results.runs:
        for found in sorted(results.lines(run), key=lambda at: (at.size, at.operation)):
            if found.operation.endswith(("page faults", "page tables KiB")):
                yield [Cell(run), Cell(found.operation), tables.number_cell(found.size >> 20),
                       tables.number_cell(stats.summary(results.values(run, found)).median)]


def all_blocks(results):
    if not results.runs:
        return
    command = tables.command(NAME, results, results.runs[0])
    rows = list(rows_of(results))
    if rows:
        yield Block("Random updates and gets of 8 bytes, ours beside the best of the others", command,
                    "The first pass has two accesses for each page; what a page fault costs differs between machines and kernels. The "
                    "helper thread that fills page tables shares two cores with the two processes.",
                    "The owner has written all pages before. Later passes are the best of three.",
                    columns=("operation", "MiB", "ours", "best of the others", *tables.RATIO_COLUMNS, *tables.BOTH_TIMES), rows=rows)
    faults = list(fault_rows(results))
    if faults:
        yield Block("Page faults of the first pass, and the size of the origin's page tables", command,
                    "Huge pages of shared memory, where the system permits them, make both a fraction of this.",
                    columns=("library", "figure", "MiB", "count or KiB"), rows=faults)


def blocks(results):
    return list(all_blocks(results))
