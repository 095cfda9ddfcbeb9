"""A closed formula for the time of each call, from which other sites can predict their times."""
from .. import formulas, plots, stats, tables
from ..model import Block, Cell, Line, Run

NAME = "formulas"
TITLE = "A formula for each call"
ORDER = 42
OPERATIONS = {"put": "put", "get": "get", "acc": "accumulate"}
SIDES = (("MPIX_RMA", "bench_osu", ("mpix",), ()), ("windows", "bench_osu", ("window",), (("OMPI_MCA_osc", "mpix"),)),
         ("ARMCI", "bench_osu_armci_mpix", (), ()))
VECTORS = {"puts": "strided put", "gets": "strided get", "accs": "strided accumulate", "putv": "vector put", "getv": "vector get",
           "accv": "vector accumulate"}
WINDOWS = Run("windows of many ranks", "bench_window_scale", ranks=0, rounds=3, parse="scale")
CALLS = {"create_us": "creation of a window", "free_us": "its release"}
HERE = "Two processes on two cores; two hosts are network namespaces with TCP."
LIMITS = ("Every other measured point has determined the constants; the points between judge them. Memory is allocated by the library "
          "and was used before. Constants belong to the machine; what a change of the protocols has to keep is their ratio to those "
          "of the peers.")


def name(side, hosts):
    return f"{side}, {tables.hosts_text(hosts)}"


def contiguous(side, hosts, options):
    label, program, arguments, environment = side
    sizes = "--quick" if options.quick else "--dense"
    only = ("BENCH_ONLY", "^osu (put|get|acc)_latency")
    return Run(name(label, hosts), program, (*arguments, sizes), (only, *environment), hosts)


def vectors(hosts, options):
    only = ("BENCH_ONLY", f"^armci ({'|'.join(VECTORS)}) ")
    return Run(name("ARMCI segments", hosts), "bench_armci_mpix", ("--quick",) if options.quick else (), (only,), hosts)


def groups(options):
    windows = Run(WINDOWS.name, WINDOWS.program, ("10000",) if options.quick else (), ranks=0, rounds=3, parse=WINDOWS.parse)
    return [[contiguous(side, hosts, options)] for hosts in (1, 2) for side in SIDES] + \
        [[vectors(hosts, options)] for hosts in (1, 2)] + [[windows]]


def medians(results, run, wanted, point):
    """[(point, median)] of the lines of a run that `wanted` accepts."""
    return [(point(line), stats.summary(results.values(run, line)).median) for line in results.lines(run) if wanted(line)]


def found_formulas(results):
    """(run, call, points, formulas.Judged) of everything that was measured."""
    for hosts in (1, 2):
        for side, *_ in SIDES:
            for operation, call in OPERATIONS.items():
                points = medians(results, name(side, hosts), lambda line, at=operation: line.operation == f"{at}_latency",
                                 lambda line: line.size)
                yield name(side, hosts), call, points, formulas.judge(formulas.of_bytes, points)
        for operation, call in VECTORS.items():
            run = name("ARMCI segments", hosts)
            points = medians(results, run, lambda line, at=operation: (line.operation, line.memory) == (at, "allocated"),
                             lambda line: (line.size, line.segments))
            yield run, call, points, formulas.judge(formulas.of_segments, points)
    for column, call in CALLS.items():
        points = medians(results, WINDOWS.name, lambda line, at=column: (line.operation, line.memory) == (at, "alike"),
                         lambda line: line.size)
        yield WINDOWS.name, call, points, formulas.judge(formulas.of_count, points)


def rate(constant):
    """Bytes each microsecond are megabytes each second."""
    return f"1 / ({1 / constant:,.0f} MB/s)" if constant > 0 else "0"


def of_bytes_text(constants):
    latency, first, second, knee = constants
    return f"{tables.significant(latency)} us + {rate(first)} min(n, N) + {rate(second)} max(n - N, 0), N = {knee:,} bytes"


def of_segments_text(constants):
    latency, segment, byte = constants
    return f"{tables.significant(latency)} us + {tables.significant(segment)} us s + {rate(byte)} s n"


def of_count_text(constants):
    latency, rank = constants
    return f"{tables.significant(latency)} us + {1000 * rank:.3g} ns r"


TEXTS = {4: of_bytes_text, 3: of_segments_text, 2: of_count_text}


def rows_of(found):
    for run, call, _, judged in found:
        good = judged.within == judged.judged
        yield [Cell(run), Cell(call), Cell(TEXTS[len(judged.formula.constants)](judged.formula.constants)),
               Cell(f"{judged.within} of {judged.judged}", judged.within / judged.judged, "won" if good else "lost"),
               Cell(f"{judged.farthest:.2f}", judged.farthest)]


def plot(found, hosts):
    """Measured points, and beside them those that the formula gives."""
    series = {}
    for run, call, points, judged in found:
        if call != "put" or run not in {name(side, hosts) for side, *_ in SIDES}:
            continue
        exact = [(size, stats.Summary(time, time, time, 1, ())) for size, time in points]
        computed = [(size, stats.Summary(time, time, time, 1, ()))
                    for size, time in ((size, judged.formula.time(size)) for size, _ in points)]
        series[f"{run.split(',')[0]}, measured"] = exact
        series[f"{run.split(',')[0]}, formula"] = computed
    return series


def blocks(results):
    found = [each for each in found_formulas(results) if each[3] is not None]
    if not found:
        return []
    command = tables.command(NAME, results, results.runs[0])
    points = sum(judged.judged for *_, judged in found)
    within = sum(judged.within for *_, judged in found)
    limits = tables.limits(results, 2, HERE, LIMITS)
    table = Block("Time of a call and its completion", command, limits,
                  f"n: bytes, of a segment where there are segments; s: segments; r: ranks. {within} of {points} points that did not "
                  f"determine a formula are within {formulas.TOLERANCE:.0%} of it.",
                  columns=("measured", "call", "formula", "within 20 %", "farthest, computed / measured"), rows=list(rows_of(found)))
    drawn = [(hosts, series) for hosts in (1, 2) if (series := plot(found, hosts))]
    return [table, *(Block(f"Put, {tables.hosts_text(hosts)}: measured and by the formula", command, limits,
                           svg=plots.lines(series, ("bytes", "us"))) for hosts, series in drawn)]
