"""Global Arrays' own runtimes: ComEx over MPI as `scripts/peers` builds it, beside ours and ARMCI-MPI."""
import pathlib

import applications
import armci_methods

from .. import tables
from ..model import Block, Cell, Run
from . import document4
from .document4 import name

NAME = "comex"
TITLE = "ComEx, the runtimes of Global Arrays"
ORDER = 32
LIMIT = 40  # seconds; a runtime may not end, and the others of its group are to be measured within a minute
BUILD = "scripts/peers"
RUNTIMES = {label: runtime for label, runtime, _ in applications.COMEX}
ONE_HOST_ONLY = ("ComEx MPI-TS",)  # between hosts its programs do not end
ARMCI_MPI = {1: "ARMCI-MPI osc/sm", 2: "ARMCI-MPI osc/ucx"}
ROUNDS = {1: None, 2: 6}
# Lines of bench_armci, as BENCH_ONLY names them.
PARTS = {"contiguous": document4.PARTS["contiguous"], "strided": document4.PARTS["strided"],
         "listed": "^armci (putv|getv|accv)(_irregular)? ",
         "small": "^armci (rmw|put_fence|put_allfence|lock_unlock|barrier) "}
GLOBAL_ARRAYS = "Global Arrays"
LIMITS = {
    1: "MPI-PR keeps a third process for progress, and MPI-PT a thread, which share the cores with the ranks: these are "
       "not bound to cores. On one host both copy in shared memory. MPI-TS serves an operation only while the target is "
       "in a call of ComEx, as it always is here.",
    2: "MPI-PR keeps another process on each host for progress, and MPI-PT a thread. MPI-TS is not measured between "
       "hosts, where its programs do not end."}
SEGMENTS = (16, 1024)
TABLES = (("Global Arrays on each runtime, {}", "ga", GLOBAL_ARRAYS,
           "Application: tasks from a shared counter, each with two gets, a product and an accumulate; time of a task. "
           "Operations: patches of doubles, read_inc and sync."),
          ("ARMCI operations, {}: ours beside each peer", "armci", "contiguous",
           "Every line that both have, also those that ours loses. ARMCI_Put and ARMCI_Acc are complete at the origin "
           "when they return; what the target still has to do then shows in put_fence only."))


def runtimes(hosts):
    return [label for label in RUNTIMES if hosts == 1 or label not in ONE_HOST_ONLY]


def labels(hosts):
    return ("ours", ARMCI_MPI[hosts], *runtimes(hosts))


def comex_runs(hosts, part, program, arguments=(), environment=()):
    return [Run(name(label, hosts), applications.comex_program(runtime, program), arguments, environment, hosts,
                ranks=applications.RANKS + hosts * spare, rounds=ROUNDS[hosts], part=part, in_peers=True, limit=LIMIT,
                bound=runtime not in applications.UNBOUND,
                packages=f"{BUILD} --runtimes {runtime}")
            for label, runtime, spare in applications.COMEX if label in runtimes(hosts)]


def other_runs(hosts, part, programs, arguments=(), environment=()):
    """The runs of ours and of ARMCI-MPI."""
    found = []
    for label, program, mca, extra in armci_methods.RUNS:
        if label in labels(hosts):
            component = ((f"OMPI_MCA_{mca[0]}", mca[1]),) if mca else ()
            variables = (*environment, *component, *sorted(extra.items()))
            found.append(Run(name(label, hosts), programs[program], arguments, variables, hosts,
                             rounds=ROUNDS[hosts], part=part, limit=LIMIT))
    return found


def group_of_armci(hosts, part, options):
    given = ("--quick",) if options.quick else (), (("BENCH_ONLY", PARTS[part]),)
    same = {program: program for _, program, *_ in armci_methods.RUNS}
    return [*other_runs(hosts, part, same, *given), *comex_runs(hosts, part, "bench_armci", *given)]


def group_of_global_arrays(hosts):
    programs = {"bench_armci_mpix": "bench_ga_mpix", "bench_armci_mpi": "bench_ga_armci_mpi"}
    return [*other_runs(hosts, GLOBAL_ARRAYS, programs), *comex_runs(hosts, GLOBAL_ARRAYS, "bench_ga")]


def groups(options):
    """If no runtime is built, only the runs of the runtimes, to be named as skipped: other sections have the rest."""
    hosts_of = (1,) if options.quick else (1, 2)
    found = [group for hosts in hosts_of
             for group in (*(group_of_armci(hosts, part, options) for part in PARTS), group_of_global_arrays(hosts))]
    peers = pathlib.Path(getattr(options, "peers", applications.PEERS))
    if any((peers / run.program).exists() for group in found for run in group if run.in_peers):
        return found
    return [[run for run in group if run.in_peers] for group in found]


def skipped(results):
    """The runtimes without a program."""
    return [label for label in RUNTIMES
            if any(run.startswith(f"{label}; ") and text.startswith("skipped: ") and BUILD in text
                   for run, text in results.failures.items())]


def figures(results, hosts):
    """(part, title, series, label of the x axis)"""
    where = tables.hosts_text(hosts)
    for operation in ("get", "put", "acc"):
        series = document4.figure3(results, hosts, operation, labels(hosts))
        yield "contiguous", f"Contiguous {operation}, {where}", series, "bytes"
    for part, kind, operations in (("strided", "Strided", ("gets", "puts", "accs")),
                                   ("listed", "Listed (IOV)", ("getv", "putv", "accv"))):
        for operation in operations:
            for segment in SEGMENTS:
                series = document4.figure4(results, hosts, operation, segment, labels(hosts))
                yield part, f"{kind} {operation[:-1]}, {where}, segments of {segment} bytes", series, "segments"


def command_of(results, hosts, part):
    """The section, and the first of the runtimes that has been measured."""
    measured = (f"{name(label, hosts)} [{part}]" for label in (*RUNTIMES, "ours"))
    return tables.command(NAME, results, next((run for run in measured if run in results.commands), ""))


def ratio_rows(results, hosts, family):
    """Ours beside each of the others, on each line that both have."""
    ours = name("ours", hosts)
    for found in sorted(line for line in results.lines(ours) if line.family == family and line.operation != "memcpy"):
        for label in labels(hosts)[1:]:
            peer = name(label, hosts)
            if results.values(peer, found):
                row = document4.ratio_row(results, ours, peer, found)
                yield row if found.size else [*row[:2], Cell(f"{found.segments} ranks", 0), *row[3:]]


def counted(rows):
    """How many of the lines are won and lost, runtime by runtime."""
    texts = []
    for label in dict.fromkeys(row[3].text for row in rows):
        verdicts = [row[6].text for row in rows if row[3].text == label]
        won, lost = verdicts.count("faster"), verdicts.count("slower")
        texts.append(f"{label}: {len(verdicts)} lines, {won} faster, {lost} slower, {len(verdicts) - won - lost} "
                     "without a difference, unclear or of too few pairs.")
    return " ".join(texts)


def blocks_of(results, hosts):
    where = tables.hosts_text(hosts)
    limits = tables.limits(results, hosts, document4.LIMITS[hosts], LIMITS[hosts])
    for title, family, part, text in TABLES:
        rows = list(ratio_rows(results, hosts, family))
        if rows:
            yield Block(title.format(where), command_of(results, hosts, part), limits, f"{text} {counted(rows)}",
                        columns=("operation", "memory", "bytes", "peer", *tables.RATIO_COLUMNS, *tables.BOTH_TIMES),
                        rows=rows)
    for part, title, series, xlabel in figures(results, hosts):
        yield from document4.plotted(title, series, xlabel, command_of(results, hosts, part), limits)


def blocks(results):
    found = [block for hosts in (1, 2) for block in blocks_of(results, hosts)]
    absent = skipped(results)
    if absent:
        command = f"{BUILD} --runtimes {','.join(RUNTIMES[label] for label in absent)}"
        found.insert(0, Block("Runtimes that are missing", f"{command}\nbench/report --only {NAME}",
                              "Anything about these runtimes.",
                              f"Skipped, because not built: {', '.join(absent)}. To build: {command}."))
    return found
