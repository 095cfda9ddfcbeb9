"""The cost of each attribute and of each pair: the proposal's claim is that a guarantee costs nothing unless it is set."""
from .. import stats, tables, plots
from ..model import Block, Cell, Line, Run

NAME = "attributes"
TITLE = "What attributes cost"
ORDER = 0
SINGLE = ("atomicity", "ordering", "blocking", "remote", "communicatable", "notify")
PLACES = [(hosts, memory) for hosts in (1, 2) for memory in ("allocated", "heap")]
TIMES = {hosts: Run(f"{tables.hosts_text(hosts)}", "bench_attributes", hosts=hosts) for hosts in (1, 2)}
COUNTS = Run("instructions", "bench_calls", ("mpix",), (("BENCH_ONLY", "attribute_calls"),), rounds=3)


def groups(options):
    sizes = ("8", "4096", "262144") if options.quick else ("8", "64", "512", "4096", "32768", "262144", "4194304")
    return [[with_sizes(TIMES[hosts], sizes)] for hosts in (1, 2)] + [[COUNTS]]


def with_sizes(run, sizes):
    return Run(run.name, run.program, sizes, hosts=run.hosts)


def command(results, hosts):
    return tables.command(NAME, results, TIMES[hosts].name)


def line(operation, memory, size):
    return Line("attributes", operation, memory, 1, size)


def ratio(results, hosts, found):
    """The ratio of a line's time to that of the bare call in the same run of the program."""
    run = TIMES[hosts].name
    return stats.ratio(results.samples(run, found), results.samples(run, line("none", found.memory, found.size)))


def sizes_of(results, hosts, memory):
    return sorted({found.size for found in results.lines(TIMES[hosts].name) if found.memory == memory})


def matrix(results, hosts, memory, size):
    """A row and a column for each attribute, the pair where they cross, once."""
    names = [name for name in SINGLE if results.values(TIMES[hosts].name, line(name, memory, size))]
    rows = []
    for row in names:
        cells = [Cell(row)]
        for column in names[:names.index(row) + 1]:
            pair = [row] if row == column else [f"{row}+{column}", f"{column}+{row}"]
            found = [ratio(results, hosts, line(name, memory, size)) for name in pair]
            cells.append(tables.ratio_cell(next((at for at in found if at), None)))
        rows.append(cells + [Cell("")] * (len(names) + 1 - len(cells)))
    return (" ", *names), rows


def matrix_blocks(results):
    here = "Times of one machine: the two hosts are network namespaces, joined by TCP without a wire."
    more = "Other costs of an attribute, such as operations of the program that cannot overlap, are not in the figures."
    for hosts, memory in PLACES:
        for size in sizes_of(results, hosts, memory):
            columns, rows = matrix(results, hosts, memory, size)
            if rows and size in (8, 4096):
                yield Block(f"Put of {size} bytes, {memory} memory, {tables.hosts_text(hosts)}: time over the bare call",
                            command(results, hosts), tables.limits(results, hosts, here, more), "The diagonal has an attribute alone, the other cells have pairs.",
                            columns=columns, rows=rows)


def size_blocks(results):
    for hosts, memory in PLACES:
        series = {}
        for name in SINGLE:
            points = [(size, ratio(results, hosts, line(name, memory, size))) for size in sizes_of(results, hosts, memory)]
            points = [(size, at) for size, at in points if at]
            if points:
                series[name] = points
        if series:
            yield Block(f"Put by size, {memory} memory, {tables.hosts_text(hosts)}: time over the bare call",
                        command(results, hosts),
                        "A ratio of large transfers says little about an attribute: the copy dominates. The dotted line is no "
                        "difference.",
                        svg=plots.lines(series, ("bytes", "time with the attribute / without"), reference=1))


def full_table(results):
    rows = []
    for hosts, memory in PLACES:
        run = TIMES[hosts].name
        for found in sorted(results.lines(run), key=lambda each: (each.size, each.operation)):
            at = ratio(results, hosts, found) if found.memory == memory and found.operation != "none" else None
            if at:
                rows.append([Cell(found.operation), Cell(tables.hosts_text(hosts)), Cell(memory),
                             tables.number_cell(found.size), *tables.ratio_cells(at),
                             *tables.times(results.values(run, found))])
    if rows:
        yield Block("Each attribute and each pair", command(results, 1), "A plan is no attribute: it is the bare call with its arguments "
                    "checked in advance.", columns=("attributes", "hosts", "memory", "bytes", *tables.RATIO_COLUMNS,
                                                    *tables.TIME_COLUMNS), rows=rows)


def instructions(results):
    bare = results.values(COUNTS.name, Line("attribute_calls", "none"))
    rows = []
    for found in results.lines(COUNTS.name) if bare else ():
        count = min(results.values(COUNTS.name, found))
        rows.append([Cell(found.operation), tables.number_cell(count), tables.number_cell(count - min(bare))])
    if rows:
        yield Block("Instructions of a put of 8 bytes with attributes, without its completion", tables.command(NAME, results, COUNTS.name),
                    "Instructions are no time: a locked instruction takes as long as some twenty others. On one host, "
                    "allocated memory; between hosts the count depends on when the network answers.",
                    "All instructions in user space, without those of an empty call; the smallest of the repetitions.",
                    columns=("attributes", "instructions", "more than the bare call"), rows=rows)


def bare_time(results, hosts, memory):
    values = results.values(TIMES[hosts].name, line("none", memory, 8))
    return tables.times(values)[0] if values else Cell("")


def summary(results):
    """The table at the top of the page."""
    places = [(hosts, memory) for hosts, memory in PLACES if results.values(TIMES[hosts].name, line("none", memory, 8))]
    if not places:
        return
    rows = [[Cell("none: the bare call, us"), *(bare_time(results, hosts, memory) for hosts, memory in places)]]
    rows += [[Cell(name), *(tables.ratio_cell(ratio(results, hosts, line(name, memory, 8))) for hosts, memory in places)]
             for name in SINGLE]
    yield Block("Put of 8 bytes with an attribute: time over the bare call", command(results, 1),
                "An operation that the attribute keeps from overlapping with others costs a program more. Large transfers "
                "cost the same with and without (see the plots).",
                "Median and, under it, the interval that holds it with 95 %. Red: the attribute costs time. Grey: no difference, "
                "or too wide an interval to tell.",
                columns=("attribute", *(f"{tables.hosts_text(hosts)}, {memory} memory" for hosts, memory in places)), rows=rows)


def blocks(results):
    return [*matrix_blocks(results), *size_blocks(results), *instructions(results), *full_table(results)]
