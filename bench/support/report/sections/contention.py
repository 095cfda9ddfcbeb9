"""Contention for few counters, locks and in fences: measured on two cores, and predicted for more."""
from .. import coherence, plots, sensitivity, stats, tables
from ..model import Block, Cell, Line, Run

NAME = "contention"
TITLE = "Contention on many cores"
ORDER = 45
MEASURED = Run("measured", "bench_many_cores", ranks=2, rounds=5)
RECORDED = Run("recorded", "bench_accesses", ranks=2, rounds=1, packages="libcapstone-dev")
SIMULATED = Run("SimGrid", "hot-spot", ranks=0, rounds=1, in_checkout=True)
CORES = (2, 16, 64, 128)
PLACES = (1, 8, 64)
LOCKED = "accumulate"
PATTERNS = (("counters", "fetch-and-add on a counter"), (LOCKED, "atomic accumulate, under a lock of the library"))
FENCE = "MPI_Win_fence, per call"
HALF_AND_DOUBLE = (0.5, 2)
TRUSTED = 1.5  # the largest factor by which a trusted model differs from two measured cores
LIMITS = ("A model. Assumptions: each line takes the same time from any core to any other, as between the two that "
          "were measured; requests for a line are served in order; an owner keeps a line as long as two cores with the "
          "bare instruction do; each round of a fence takes as long as that of two cores. On several sockets a "
          "transfer takes two to three times as long, and where a line is hot the times grow in proportion. "
          "bench/many-cores measures the same on a machine that has the cores.")
SENSITIVITY_LIMITS = ("What assumptions do that are wrong together, and what the model does not have: caches that are "
                      "too small, memory channels, a directory that is itself contended for, clocks that fall when all "
                      "cores work. " + LIMITS)
SIMULATED_LIMITS = ("Times of the library: it knows nothing of instructions, holds and locks, and shows only how the "
                    "distance between cores enters. Real interconnects are neither of the two; much of their latency "
                    "does not depend on the hops, and the torus overstates those.")


def groups(options):
    return [[MEASURED], [RECORDED], [SIMULATED]]


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


def operation_of(results, pattern, places):
    """None if it was not recorded and measured."""
    accesses, alone = recorded(results, pattern), median(results, pattern, places, 1)
    if not accesses or alone is None:
        return None
    return coherence.Operation(accesses, alone, places, locks=pattern == LOCKED)


def fence_of(results):
    """(nanoseconds that a fence on two cores spends without the other core, those of the whole fence), or None."""
    accesses, counter = recorded(results, "fence"), recorded(results, "counters")
    alone, both = median(results, "counters", 1, 1), median(results, "fence", 1, 2)
    if not (accesses and counter and alone and both):
        return None
    return alone * coherence.instructions(accesses) / coherence.instructions(counter), both


def predictions(results, costs):
    """(text, places, {cores: (nanoseconds, transfers)}, measured nanoseconds on two cores) of each pattern."""
    for operation, text in PATTERNS:
        for places in PLACES:
            model = operation_of(results, operation, places)
            if model is not None:
                times = {cores: coherence.contended(model, cores, costs) for cores in CORES}
                yield text, places, times, median(results, operation, places, 2)
    fence = fence_of(results)
    if fence:
        yield FENCE, 1, {cores: (coherence.fence_time(*fence, cores), None) for cores in CORES}, None


def cell(nanoseconds):
    return Cell(tables.significant(nanoseconds), nanoseconds)


def ratio_cell(value):
    return Cell(f"{value:.2f}", value)


def setting_of(results, costs):
    """The input of the sensitivity analysis, or None if a part of it was not measured."""
    operations = [operation_of(results, *which) for which in (("counters", 1), ("counters", PLACES[-1]), (LOCKED, 1))]
    fence = fence_of(results)
    return None if None in operations or fence is None else sensitivity.Setting(costs, *operations, *fence)


def series_of(setting, results):
    """{title: points}: the prediction of each pattern, from half of the time of a transfer to its double."""
    varied = [setting, *(setting.with_transfers(factor) for factor in HALF_AND_DOUBLE)]

    def points(time):
        """`time` of a setting and a number of cores."""
        found = {cores: [time(each, cores) for each in varied] for cores in CORES}
        return [(cores, stats.Summary(times[0], min(times), max(times), len(times), ()))
                for cores, times in found.items()]

    models = {f"{places} counter{'s' if places > 1 else ''}": operation_of(results, "counters", places)
              for places in PLACES} | {"a hot lock": setting.lock}
    series = {title: points(lambda each, cores, model=model: coherence.contended(model, cores, each.costs)[0])
              for title, model in models.items() if model is not None}
    series["MPI_Win_fence"] = points(lambda each, cores: coherence.fence_time(each.private, each.both, cores))
    return series


def check_text(checked):
    """How far the model is from two cores. `checked`: (measured, modelled) pairs."""
    worst = max(max(model / measured, measured / model) for measured, model in checked)
    if worst <= TRUSTED:
        return (f"The farthest is {100 * (worst - 1):.0f} % away. The fence is no check: the model takes its round "
                "from these two cores. ")
    return (f"The farthest is {worst:.1f} times away: other programs ran, or the model does not hold on this machine. "
            "What it predicts below is not to be trusted. ")


def blocks_of_the_model(results, costs, command):
    found = list(predictions(results, costs))
    if not found:
        return
    checked = [[Cell(text), tables.number_cell(places), cell(measured), cell(times[2][0]),
                ratio_cell(times[2][0] / measured)] for text, places, times, measured in found if measured]
    predicted = [[Cell(text), tables.number_cell(places), *(cell(times[cores][0]) for cores in CORES[1:]),
                  Cell(f"{times[CORES[-1]][1]:.2f}" if times[CORES[-1]][1] is not None else "")]
                 for text, places, times, _ in found]
    if checked:
        text = check_text([(measured, times[2][0]) for _, _, times, measured in found if measured])
        yield Block("Two cores: nanoseconds per operation of the whole job, measured and by the model", command, LIMITS,
                    text + f"From the bare atomic instruction: a line goes from core to core in {costs.transfer:.0f} "
                    f"ns, an owner keeps it for {costs.hold:.0f} ns, and a core asks {costs.ahead:.0f} ns ahead for "
                    "the lines of later operations.",
                    columns=("operation", "places", "measured, ns", "model, ns", "model / measured"), rows=checked)
    yield Block("Model: nanoseconds per operation of the whole job on more cores", command, LIMITS,
                "The accesses of each operation were recorded from the library, instruction by instruction. The "
                "accumulate on one place is a hot lock, the fence a barrier.",
                columns=("operation", "places", *(f"{cores} cores, ns" for cores in CORES[1:]),
                         f"transfers, {CORES[-1]} cores"), rows=predicted)


def sensitivity_block(setting, results, command):
    measured, rows = median(results, "counters", 1, 2), []
    for title, change in sensitivity.VARIATIONS.items():
        found = sensitivity.figures(change(setting))
        letters = sensitivity.broken(found)
        two = ratio_cell(found["two cores"] / measured) if measured else Cell("")
        rows.append([Cell(title), Cell(", ".join(letters) or "none", style="lost" if letters else "same"), two,
                     cell(found["counter"]), ratio_cell(found["counter growth"]), ratio_cell(found["gain"]),
                     cell(found["lock"]), ratio_cell(found["lock over counter"]), ratio_cell(found["lock growth"]),
                     cell(found["fence"]), ratio_cell(found["fence growth"])])
    some, growth = f"{sensitivity.SOME} cores", f"{sensitivity.MANY} / {sensitivity.FEW} cores"
    conclusions = "; ".join(f"{letter}: {text}" for letter, (text, _) in sensitivity.CONCLUSIONS.items())
    return Block("Model: what each assumption changes", command, SENSITIVITY_LIMITS,
                 f"One assumption changed at a time. Conclusions: {conclusions}. A variation that is far from two "
                 "cores contradicts what was measured here; another machine may have it.",
                 columns=("assumption", "does not hold", "counter, 2 cores: model / measured", f"counter, {some}, ns",
                          f"counter, {growth}", f"gain by {sensitivity.COUNTERS} counters, {some}", f"lock, {some}, ns",
                          "lock / counter", f"lock, {growth}", f"fence, {some}, ns", f"fence, {growth}"), rows=rows)


def simulated(results, operation, network, cores):
    values = results.values(SIMULATED.name, Line("hot_spot", operation, network, 1, cores))
    return values[0] if values else None


def simulated_block(results):
    """SimGrid beside the model with transfers alone. The unit is a message, which is half of a transfer."""
    one_line = coherence.Operation((coherence.Access("atomic", 0, 1),), 1e-3)
    rows = []
    for cores in CORES:
        values = [simulated(results, operation, network, cores)
                  for operation in ("counter", "barrier") for network in ("crossbar", "torus")]
        if None not in values:
            own = coherence.contended(one_line, cores, coherence.Costs(2.0, 0))[0], coherence.fence_time(0, 1, cores)
            rows.append([tables.number_cell(cores), *map(ratio_cell, (own[0], *values[:2], own[1], *values[2:]))])
    if not rows:
        return []
    return [Block("SimGrid: how a hot counter and a barrier grow, in messages between neighbours",
                  tables.command(NAME, results, SIMULATED.name), SIMULATED_LIMITS,
                  "An independent simulator, with a home that puts the requests for the line in order, on a network "
                  "where all cores are equally far from each other (crossbar), and on a torus whose cores have their "
                  "turn in random order. Where all are equally far, it should agree with the model.",
                  columns=("cores", "counter, model", "counter, crossbar", "counter, torus", "barrier, model",
                           "barrier, crossbar", "barrier, torus"), rows=rows)]


def blocks(results):
    costs, command = costs_of(results), tables.command(NAME, results, MEASURED.name)
    found = list(blocks_of_the_model(results, costs, command)) if costs else []
    setting = setting_of(results, costs) if costs else None
    if setting is not None:
        found += [Block("Model: time of an operation of the whole job by the number of cores", command, LIMITS,
                        "Bars: from half of the measured time of a transfer to its double.",
                        svg=plots.lines(series_of(setting, results), ("cores", "ns"))),
                  sensitivity_block(setting, results, command)]
    return found + simulated_block(results)
