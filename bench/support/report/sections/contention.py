"""Contention for few counters, locks and in fences: measured on two cores, and predicted for more."""
from .. import coherence, stats, tables
from ..model import Block, Cell, Line, Run

NAME = "contention"
TITLE = "Contention on many cores"
ORDER = 45
MEASURED = Run("measured", "bench_many_cores", ranks=2, rounds=5)
RECORDED = Run("recorded", "bench_accesses", ranks=2, rounds=1, packages="libcapstone-dev")
CORES = (2, 16, 64, 128)
PLACES = (1, 8, 64)
PATTERNS = (("counters", "fetch-and-add on a counter"), ("accumulate", "atomic accumulate, under a lock of the library"))
LIMITS = ("A model. Assumptions: each line takes the same time from any core to any other, as between the two that were measured; "
          "requests for a line are served in order; an owner keeps a line as long as two cores with the bare instruction do; each "
          "round of a fence takes as long as that of two cores. On several sockets a transfer takes two to three times as long, "
          "and where a line is hot the times grow in proportion. "
          "bench/many-cores measures the same on a machine that has the cores.")


def groups(options):
    return [[MEASURED], [RECORDED]]


def median(results, operation, places, ranks):
    """In nanoseconds; None if it was not measured."""
    found = results.values(MEASURED.name, Line("many_cores", operation, str(places), ranks, 8))
    return stats.summary(found).median * 1000 if found else None


def recorded(results, operation):
    lines = [line for line in results.lines(RECORDED.name) if (line.family, line.operation) == ("accesses", operation)]
    return tuple(coherence.Access(line.memory, line.size, int(results.values(RECORDED.name, line)[0]))
                 for line in sorted(lines, key=lambda line: line.segments))


def costs_of(results):
    needed = (median(results, "transfer", 1, 2), median(results, "bare", 1, 1), median(results, "bare", 1, 2),
              median(results, "bare", PLACES[-1], 2))
    return None if None in needed else coherence.calibrated(*needed, PLACES[-1])


def predictions(results, costs):
    """(text, places, {cores: (nanoseconds, transfers)}, measured nanoseconds on two cores) of each pattern."""
    for operation, text in PATTERNS:
        accesses = recorded(results, operation)
        for places in PLACES if accesses else ():
            alone = median(results, operation, places, 1)
            if alone is None:
                continue
            model = coherence.Operation(accesses, alone, places, locks=operation == "accumulate")
            yield text, places, {cores: coherence.contended(model, cores, costs) for cores in CORES}, median(results, operation, places, 2)
    accesses, counter = recorded(results, "fence"), recorded(results, "counters")
    alone, both = median(results, "counters", 1, 1), median(results, "fence", 1, 2)
    if accesses and counter and alone and both:
        private = alone * coherence.instructions(accesses) / coherence.instructions(counter)
        yield "MPI_Win_fence, per call", 1, {cores: (coherence.fence_time(private, both, cores), None) for cores in CORES}, None


def cell(nanoseconds):
    return Cell(tables.significant(nanoseconds), nanoseconds)


def blocks(results):
    costs = costs_of(results)
    found = list(predictions(results, costs)) if costs else []
    if not found:
        return []
    command = tables.command(NAME, results, MEASURED.name)
    checked = [[Cell(text), tables.number_cell(places), cell(measured), cell(times[2][0]),
                Cell(f"{times[2][0] / measured:.2f}", times[2][0] / measured)]
               for text, places, times, measured in found if measured]
    predicted = [[Cell(text), tables.number_cell(places), *(cell(times[cores][0]) for cores in CORES[1:]),
                  Cell(f"{times[CORES[-1]][1]:.2f}" if times[CORES[-1]][1] is not None else "")]
                 for text, places, times, _ in found]
    return [Block("Two cores: nanoseconds per operation of the whole job, measured and by the model", command, LIMITS,
                  f"From the bare atomic instruction: a line goes from core to core in {costs.transfer:.0f} ns, an owner keeps it for "
                  f"{costs.hold:.0f} ns, and a core asks {costs.ahead:.0f} ns ahead for the lines of later operations.",
                  columns=("operation", "places", "measured, ns", "model, ns", "model / measured"), rows=checked),
            Block("Model: nanoseconds per operation of the whole job on more cores", command, LIMITS,
                  "The accesses of each operation were recorded from the library, instruction by instruction.",
                  columns=("operation", "places", *(f"{cores} cores, ns" for cores in CORES[1:]), f"transfers, {CORES[-1]} cores"),
                  rows=predicted)]
