"""Latency, bandwidth and message rate in the form and with the names of the OSU benchmarks."""
from .. import plots, stats, tables
from ..model import Block, Cell, Line, Run

NAME = "osu"
TITLE = "Latency, bandwidth and message rate"
ORDER = 20
OURS = ("MPIX_RMA", "MPIX_RMA on MPICH", "windows, osc/mpix", "ARMCI, this library")
IN_WINDOWS = ("put", "get", "acc")
OPERATIONS = (*IN_WINDOWS, "fop")  # the last: fetch-and-add of 8 bytes, latency only
VERDICT = 6  # column of the verdict in the comparison
TUNED = (("ARMCI_RMA_ATOMICITY", "0"),)
LIMITS = {1: "Two processes of one machine with two cores: the copies run at the speed of its caches. A virtual machine's clock "
             "changes between modes by itself, which the turns of the sides meet alike.",
          2: "The two hosts are network namespaces of one machine: no wire, no adapter, and the kernel's TCP on the cores "
             "of the ranks. No figure says anything about RDMA hardware."}


def runs(hosts, operation, options):
    """The runs of one operation: all sides of a comparison have their turn within a minute."""
    quick = ("--quick",) if options.quick else ()
    where = tables.hosts_text(hosts)
    only = ("BENCH_ONLY", f"^osu {operation}_")
    components = ("mpix", "sm", "rdma", "ucx") if hosts == 1 else ("mpix", "pt2pt") if options.quick else ("mpix", "ucx", "pt2pt")
    armci_osc = "sm,rdma" if hosts == 1 else "pt2pt"
    sides = [("MPIX_RMA", "bench_osu", ("mpix",), ()),
             *((f"windows, osc/{osc}", "bench_osu", ("window",), (("OMPI_MCA_osc", osc),)) for osc in components),
             ("ARMCI, this library", "bench_osu_armci_mpix", (), ()),
             (f"ARMCI-MPI on osc/{armci_osc.split(',')[0]}", "bench_osu_armci_mpi", (), (("OMPI_MCA_osc", armci_osc), *TUNED))]
    found = [Run(f"{name}, {where}", program, (*arguments, *quick), (only, *environment), hosts, part=operation)
             for name, program, arguments, environment in sides]
    return found + others(hosts, operation, quick, only)


def others(hosts, operation, quick, only):
    """The library on MPICH, MPICH's windows and OpenSHMEM."""
    where = tables.hosts_text(hosts)
    found = [Run(f"{name}, {where}", "bench_osu_mpich", (kind, *quick), (only,), hosts, part=operation, mpi="mpich",
                 packages="mpich and libmpich-dev") for name, kind in (("MPIX_RMA on MPICH", "mpix"), ("windows, MPICH", "window"))]
    if operation != "acc":  # which OpenSHMEM does not have
        found.append(Run(f"OpenSHMEM, {where}", "bench_osu_shmem", quick, (only,), hosts, part=operation,
                         packages="libopenmpi-dev with OpenSHMEM"))
    return found


def groups(options):
    return [runs(hosts, operation, options) for hosts in (1, 2) for operation in OPERATIONS]


def line(operation, kind, size):
    return Line("osu", f"{operation}_{kind}", "allocated", 1, size)


def names_of(results, hosts):
    """Ours first."""
    found = [run for run in results.runs if run.endswith(tables.hosts_text(hosts))]
    return sorted(found, key=lambda run: (short(run) not in OURS, run))


def short(run):
    return run.rsplit(", ", 1)[0]


def is_ours(run):
    return short(run) in OURS


def sizes_of(results, names):
    return sorted({found.size for run in names for found in results.lines(run)})


def scaled(summary, size):
    """Converts microseconds to megabytes per second; the ends of the interval change places."""
    return stats.Summary(size / summary.median, size / summary.high, size / summary.low, summary.count,
                         tuple(size / value for value in summary.outliers))


def plot(results, hosts, operation, kind):
    names = names_of(results, hosts)
    series = {}
    for run in names:
        found = [(size, stats.summary(values)) for size in sizes_of(results, names)
                 if (values := results.values(run, line(operation, kind, size)))]
        if found:
            series[short(run)] = found if kind == "latency" else [(size, scaled(at, size)) for size, at in found]
    return series


def comparison_rows(results, hosts):
    """Each of ours beside the best of the others for each line, as the ratio of times."""
    names = names_of(results, hosts)
    for ours in (run for run in names if is_ours(run)):
        is_armci = short(ours).startswith("ARMCI")
        peers = [run for run in names if not is_ours(run) and short(run).startswith("ARMCI") == is_armci]
        for found in sorted(results.lines(ours), key=lambda at: (at.operation, at.size)):
            best = stats.best_peer(results, found, peers)
            if best is None:
                continue
            at = stats.ratio(results.samples(ours, found), results.samples(best, found))
            yield [Cell(f"osu_{found.operation}"), tables.number_cell(found.size), Cell(short(ours)), Cell(short(best)),
                   *tables.ratio_cells(at), *tables.times(results.values(ours, found))[:2],
                   *tables.times(results.values(best, found))[:2]]


def message_rates(results, hosts):
    rows = []
    for run in names_of(results, hosts):
        cells = []
        for operation in IN_WINDOWS:
            values = results.values(run, line(operation, "bw", 8))
            rate = 1 / stats.summary(values).median if values else None
            cells.append(Cell(f"{rate:.2f}", rate) if rate else Cell(""))
        if any(cell.text for cell in cells):
            rows.append([Cell(short(run)), *cells])
    return rows


def blocks_of(results, hosts):
    names = names_of(results, hosts)
    if not names:
        return
    where = tables.hosts_text(hosts)
    command = tables.command(NAME, results, names[0])
    rows = sorted(comparison_rows(results, hosts), key=lambda row: row[VERDICT].text != "slower")
    if rows:
        lost = sum(1 for row in rows if row[VERDICT].text == "slower")
        won = sum(1 for row in rows if row[VERDICT].text == "faster")
        yield Block(f"Ours beside the best of the others, {where}", command,
                    tables.limits(results, hosts, LIMITS[hosts],
                                  "The best peer is chosen by its median on the line, which favours the peer."),
                    f"{len(rows)} lines: {won} faster, {lost} slower, {len(rows) - won - lost} without a difference, unclear or of too few pairs. "
                    "Lost lines stand first.",
                    columns=("benchmark", "bytes", "ours", "best of the others", *tables.RATIO_COLUMNS, *tables.BOTH_TIMES),
                    rows=rows)
    for operation in OPERATIONS:
        for kind, label in (("latency", "us"), ("bw", "MB/s")):
            series = plot(results, hosts, operation, kind)
            if series and max(len(points) for points in series.values()) > 1:
                yield Block(f"osu_{operation}_{kind}, {where}", command, tables.limits(results, hosts, LIMITS[hosts]),
                            svg=plots.lines(series, ("bytes", label)))
    rates = message_rates(results, hosts)
    if rates:
        yield Block(f"Message rate, 8 bytes, {where}: millions of operations each second", command,
                    "One origin and one target: the rate of a whole host with many processes is another figure.",
                    "A window of 64 operations is completed together.", columns=("library", *IN_WINDOWS), rows=rates)


def blocks(results):
    return [block for hosts in (1, 2) for block in blocks_of(results, hosts)]
