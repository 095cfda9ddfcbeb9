"""Throughput of several threads of one process."""
from .. import stats, tables
from ..model import Block, Cell, Line, Run

NAME = "threads"
TITLE = "Threads"
ORDER = 30
RUN = Run("MPIX_RMA", "bench_threads", ranks=5, rounds=5)
THREADS = (1, 2, 4)
TARGETS = (("put_other_target", "each thread its own target"), ("put_same_target", "all threads one target"))
MEMORY = (("allocated", "loads and stores"), ("heap", "cross-memory, ring and messages"))


def groups(options):
    return [[RUN]]


def all_blocks(results):
    rows = []
    for operation, targets in TARGETS:
        for memory, paths in MEMORY:
            samples = {count: results.samples(RUN.name, Line("threads", operation, memory, count, 8)) for count in THREADS}
            if not samples[1]:
                continue
            # Throughput of several over that of one: the inverse of the ratio of the times per operation.
            gains = [stats.ratio(samples[1], samples[count]) for count in THREADS[1:]]
            rows.append([Cell(targets), Cell(f"{memory} ({paths})"), *tables.times([s.value for s in samples[1].values()])[:2],
                         *(Cell(f"{at.median:.2f} ({at.low:.2f} to {at.high:.2f})", at.median) if at else Cell("") for at in gains)])
    if rows:
        yield Block("Puts of 8 bytes with completion by threads of one process, to four processes that sleep",
                    tables.command(NAME, results, RUN.name),
                    "Two cores: four threads cannot be faster than two, and the targets' helper threads share the cores with the "
                    "origin's threads. Nothing here says how many cores scale.",
                    "Throughput of two and four threads together over that of one thread, with its interval.",
                    columns=("targets", "memory", "one thread, us", "interval, us", "two threads", "four threads"), rows=rows)


def blocks(results):
    return list(all_blocks(results))
