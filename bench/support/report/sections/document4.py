"""Figures 3 to 5 of the paper on ARMCI over MPI one-sided communication, on this machine."""
import armci_methods

from .. import plots, stats, tables
from ..model import Block, Cell, Line, Run

NAME = "document4"
TITLE = "ARMCI over MPI: figures 3 to 5"
ORDER = 30
TWO_HOSTS = ("ours", "ARMCI-MPI osc/ucx")
QUICK = ("ours", "ARMCI-MPI osc/sm")
# Lines of the programs, as BENCH_ONLY names them.
PARTS = {"contiguous": "^armci (put|get|acc) allocated", "strided": "^armci (puts|gets|accs) ", "buffers": " from_heap ",
         "small": "^armci (putv|getv|accv|rmw|put_fence|put_allfence|lock_unlock|barrier) "}
ALL = tuple(label for label, *_ in armci_methods.RUNS)
SIDES = {"contiguous": armci_methods.LIBRARIES, "strided": ALL, "buffers": armci_methods.LIBRARIES,
         "small": armci_methods.LIBRARIES}
LIMITS = {1: "Two processes of one machine. The paper's systems had networks whose hardware moves the data.",
          2: "Two network namespaces of one machine with TCP between them, on the cores of the ranks. The variant on RDMA "
             "hardware is the same command there; it has not been run."}
FIGURES_4 = [(operation, segment) for operation in ("gets", "puts", "accs") for segment in (16, 1024)]


def run(found, hosts, part, options):
    label, program, mca, extra = found
    environment = ((f"OMPI_MCA_{mca[0]}", mca[1]),) if mca else ()
    only = ("BENCH_ONLY", PARTS[part])
    return Run(name(label, hosts), program, ("--quick",) if options.quick else (),
               (only, *environment, *sorted(extra.items())), hosts, part=part)


def name(label, hosts):
    return f"{label}; {tables.hosts_text(hosts)}"


def groups(options):
    """A group has the lines of one figure: all sides of a comparison have their turn within a minute."""
    found = []
    for part, sides in SIDES.items():
        one = [each for each in armci_methods.RUNS if each[0] in (QUICK if options.quick else sides)]
        found.append([run(each, 1, part, options) for each in one])
        if not options.quick:
            found.append([run(each, 2, part, options) for each in armci_methods.RUNS if each[0] in TWO_HOSTS])
    return found


def line(operation, memory="allocated", segments=1, size=8):
    return Line("armci", operation, memory, segments, size)


def bandwidths(results, hosts, lines_of, labels=ALL):
    """{label: [(x, bandwidth)]}; `lines_of` gives the x and the line of each point."""
    series = {}
    for label in labels:
        points = [(x, at.segments * at.size, results.values(name(label, hosts), at)) for x, at in lines_of(label, hosts)]
        found = [(x, bandwidth(values, total)) for x, total, values in points if values]
        if found:
            series[label] = found
    return series


def bandwidth(values, total):
    return stats.summary([total / value for value in values])


def lines_where(results, wanted):
    return lambda label, hosts: [at for at in results.lines(name(label, hosts)) if at.family == "armci" and wanted(at)]


def figure3(results, hosts, operation, labels=armci_methods.LIBRARIES):
    found = lines_where(results, lambda at: at.operation == operation and at.memory == "allocated")
    return bandwidths(results, hosts, lambda label, where: [(at.size, at) for at in found(label, where)], labels)


def figure4(results, hosts, operation, segment, labels=ALL):
    found = lines_where(results, lambda at: at.operation == operation and at.size == segment and at.memory == "allocated")
    return bandwidths(results, hosts, lambda label, where: [(at.segments, at) for at in found(label, where)], labels)


def plotted(title, series, xlabel, command, limits):
    """The block of a figure that has more than one point, as a list."""
    if not series or max(len(points) for points in series.values()) < 2:
        return []
    return [Block(title, command, limits, svg=plots.lines(series, (xlabel, "MB/s")))]


def figure5(results, hosts):
    series = {}
    for memory, title in (("allocated", "allocated by ARMCI"), ("from_heap", "malloc")):
        found = lines_where(results, lambda at, memory=memory: at.operation == "get" and at.memory == memory)
        for label, points in bandwidths(results, hosts, lambda which, where: [
                (at.size, at) for at in found(which, where) if which in ("ours", "ARMCI-MPI osc/sm", "ARMCI-MPI osc/ucx")]).items():
            series[f"{label}, {title}"] = points
    return series


def ratio_row(results, ours, peer, found):
    at = stats.ratio(results.samples(ours, found), results.samples(peer, found))
    return [Cell(found.operation), Cell(found.memory), Cell(found.shape(), found.segments * found.size),
            Cell(peer.split(";")[0]), *tables.ratio_cells(at), *tables.times(results.values(ours, found))[:2],
            *tables.times(results.values(peer, found))[:2]]


def ratio_rows(results, hosts):
    """Ours beside the best method of ARMCI-MPI on each line."""
    ours = name("ours", hosts)
    peers = [name(label, hosts) for label, *_ in armci_methods.RUNS if label.startswith("ARMCI-MPI")]
    for found in sorted(results.lines(ours)):
        best = stats.best_peer(results, found, peers)
        if best is not None and found.operation != "memcpy":
            yield ratio_row(results, ours, best, found)


def blocks_of(results, hosts):
    where = tables.hosts_text(hosts)
    command = tables.command(NAME, results, name("ours", hosts))
    limits = tables.limits(results, hosts, LIMITS[hosts])
    figures = [*((f"Figure 3, {where}: contiguous {operation}", figure3(results, hosts, operation), "bytes")
                 for operation in ("get", "put", "acc")),
               *((f"Figure 4, {where}: strided {operation[:-1]}, segments of {segment} bytes",
                  figure4(results, hosts, operation, segment), "segments") for operation, segment in FIGURES_4),
               (f"Figure 5, {where}: contiguous get into local buffers of two kinds", figure5(results, hosts), "bytes")]
    for title, series, xlabel in figures:
        yield from plotted(title, series, xlabel, command, limits)
    rows = list(ratio_rows(results, hosts))
    if rows:
        yield Block(f"Ours beside the best of ARMCI-MPI, {where}", command, limits,
                    "Every line of the programs; the best peer is chosen line by line.",
                    columns=("operation", "memory", "bytes", "best of ARMCI-MPI", *tables.RATIO_COLUMNS, *tables.BOTH_TIMES),
                    rows=rows)


def blocks(results):
    return [block for hosts in (1, 2) for block in blocks_of(results, hosts)]
