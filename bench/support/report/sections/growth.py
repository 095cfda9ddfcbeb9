"""Memory and time of a process as the job grows, measured with simulated peers, and a model of larger jobs."""
from .. import plots, stats, tables
from ..model import Block, Cell, Run, Line

NAME = "growth"
TITLE = "Growth with the number of ranks"
ORDER = 40
ENGINE = Run("engine", "bench_scale", ranks=0, rounds=3, parse="scale")
WINDOWS = Run("windows", "bench_window_scale", ranks=0, rounds=3, parse="scale")
MODEL_RANKS = (100, 1_000, 10_000, 100_000, 1_000_000)
LIMITS = ("One process whose peers are simulated: no network, no MPI, and none of UCX's memory, which over TCP is some 10 KiB "
          "for each connection. Nothing here says how long a large job takes to start or how a network behaves under its load.")
# (title, family, column, label in the program's second column)
MEMORY = [("known peer", "peers", "known_bytes", "all"), ("peer in use, connection open", "peers", "used_bytes", "all"),
          ("peer in use, at most 1,024 connections", "peers", "used_bytes", "limited"),
          ("origin that has sent", "origins", "bytes", ""), ("segment", "segments", "bytes", "")]
TIMES = [("put to a random peer", "peers", "operation_us", "all"),
         ("the same, at most 1,024 connections", "peers", "operation_us", "limited"),
         ("look-up of a peer", "peers", "look_up_us", "all"), ("request of a random origin", "origins", "request_us", ""),
         ("look-up of a segment", "segments", "find_us", "")]


def groups(options):
    most = ("10000",) if options.quick else ()
    return [[Run(run.name, run.program, most, ranks=0, rounds=2 if options.quick else run.rounds, parse=run.parse)] for run in (ENGINE, WINDOWS)]


def points(results, run, wanted):
    _, family, column, label = wanted
    return [(line.size, stats.summary(results.values(run, line))) for line in results.lines(run)
            if (line.family, line.operation) == (family, column) and line.memory == label]


def plot(results, wanted, title, ylabel):
    series = {each[0]: found for each in wanted if (found := points(results, ENGINE.name, each))}
    if series:
        yield Block(title, tables.command(NAME, results, ENGINE.name), LIMITS, svg=plots.lines(series, ("peers, origins or segments", ylabel)))


def per_item(results, run, wanted):
    """The median at the largest measured number; None if there is none."""
    found = sorted(points(results, run, wanted))
    return found[-1][1].median if found else None


def model(results):
    peer = per_item(results, ENGINE.name, MEMORY[2])
    origin = per_item(results, ENGINE.name, MEMORY[3])
    control = sorted(points(results, WINDOWS.name, ("", "windows", "control_bytes", "alike")))
    if None in (peer, origin) or len(control) < 2:
        return
    (first, low), (last, high) = control[0], control[-1]
    slope = (high.median - low.median) / (last - first)
    rows = []
    for ranks in MODEL_RANKS:
        window = low.median + slope * (ranks - first)
        all_peers, few = ranks * (peer + origin), min(ranks, 100) * (peer + origin)
        rows.append([tables.number_cell(ranks), *(Cell(f"{value / 2**20:,.3f}", value) for value in (few, all_peers, window))])
    yield Block("Model: memory of one process in MiB", tables.command(NAME, results, WINDOWS.name),
                "An extrapolation. Assumptions: memory is linear in the peers in use, as the measured range shows; all windows are "
                "uniform; a process keeps at most 1,024 connections open, whose memory in UCX is not included. The second column "
                "assumes 100 neighbours, the third that every process talks to every other one.",
                f"From the figures above: {peer:,.0f} bytes for a peer, {origin:,.0f} for an origin, {slope:.2f} bytes of a window "
                "for each rank.",
                columns=("ranks", "100 neighbours", "all are neighbours", "each uniform window"), rows=rows)


def window_table(results):
    names = ("heap_bytes", "control_bytes", "host_table_bytes", "create_us", "used_rank_bytes", "free_us")
    rows = []
    lines = results.lines(WINDOWS.name)
    for alike, number in sorted({(line.memory, line.size) for line in lines}):
        found = [results.values(WINDOWS.name, Line("windows", column, alike, 1, number)) for column in names]
        rows.append([Cell(alike), tables.number_cell(number),
                     *(Cell(tables.significant(value), value) if values and (value := stats.summary(values).median) is not None
                       else Cell("") for values in found)])
    if rows:
        yield Block("Windows of many ranks: bytes of a process or of a host, microseconds", tables.command(NAME, results, WINDOWS.name),
                    LIMITS + " Times of creation are without the network.", columns=("ranks are", "ranks", *names), rows=rows)


def blocks(results):
    return [*plot(results, MEMORY, "Memory of each item", "bytes"), *plot(results, TIMES, "Time", "us"),
            *window_table(results), *model(results)]
