"""Figure 6 of the paper on ARMCI over MPI one-sided communication, on this machine: CCSD(T) by NWChem."""
import statistics

import applications

from .. import plots, stats, tables
from ..model import Block, Cell, Run

NAME = "nwchem"
TITLE = "ARMCI over MPI: figure 6, NWChem"
ORDER = 30
# Rounds by number of hosts: on one the fewest that decide anything; fewer on two, where a run may last a minute.
ROUNDS = {1: 6, 2: 3}
AGREE = 1e-8  # hartree
COMEX = applications.COMEX[0][0]
OURS = {"mpix": "packaged, osc/mpix", "armci": "ARMCI, this library"}
STOCK = {"stock": "packaged, as Open MPI chooses", "pt2pt": "packaged, osc/pt2pt", "ucx": "packaged, osc/ucx"}
LABELS = OURS | STOCK | {"comex": f"Global Arrays on {COMEX}"}
SIDES = {1: ("stock", "mpix", "armci", "comex"), 2: ("pt2pt", "ucx", "mpix", "armci", "comex")}
QUICK = {1: ("stock", "mpix", "armci", "comex"), 2: ("pt2pt", "mpix", "armci", "comex")}
PLACES = ((1, 1), (1, 2), (1, 4), (2, 2))  # hosts and ranks
LIMITS = ("One molecule of water, which is small beside the clusters of water of the paper. With more ranks than cores "
          "they take turns. On two hosts the basis is smaller than on one, except with --quick. Two hosts are network namespaces of "
          "one machine with TCP between them, and open windows there only on some of Open MPI's components. "
          f"{COMEX} keeps another process on each host for progress, which is not among the ranks and needs a core of its own: "
          "where there is none, it takes turns with the ranks. Its Global Arrays may be a later release than Debian's, with which "
          "the other programs are linked.")
PARTS = {"wall": "whole run", "ccsd": "CCSD", "triples": "(T)"}


def place_of(hosts, ranks):
    return f"{ranks} rank{'s' if ranks > 1 else ''}, {tables.hosts_text(hosts)}"


def name(side, hosts, ranks):
    return f"{LABELS[side]}; {place_of(hosts, ranks)}"


def run(side, hosts, ranks, options):
    basis = "cc-pvdz" if options.quick or hosts == 2 else "aug-cc-pvdz"
    arguments = ["--short", "--one", side, "--basis", basis, "--ranks", str(ranks // hosts)]
    arguments += ["--two-hosts"] if hosts == 2 else []
    arguments += ["--build-dir", options.build_dir] if side in OURS and getattr(options, "build_dir", None) else []
    return Run(name(side, hosts, ranks), "nwchem", tuple(arguments), hosts=hosts, ranks=0, rounds=ROUNDS[hosts], parse="nwchem",
               in_checkout=True)


def groups(options):
    """In quick mode only if --only names this section, because it takes longer than quick mode allows."""
    if options.quick and NAME not in (getattr(options, "only", None) or ()):
        return []
    return [[run(side, hosts, ranks, options) for side in (QUICK if options.quick else SIDES)[hosts]] for hosts, ranks in PLACES]


def line(results, found, part):
    """The line of this part of a run, whatever its basis; None if there is none."""
    return next((each for each in results.lines(found) if each.operation == part), None)


def values(results, found, part):
    return results.values(found, line(results, found, part))


def measured(results, hosts, ranks):
    """{side: name of its run}, ours first."""
    return {side: found for side in LABELS if (found := name(side, hosts, ranks)) in results.runs}


def figure(results, part):
    series = {}
    for hosts, ranks in PLACES:
        for side, found in measured(results, hosts, ranks).items() if hosts == 1 else ():
            series.setdefault(LABELS[side], []).append((ranks, stats.summary(values(results, found, part))))
    return series


def ratio_to(results, found, peer):
    """Of whole runs; None without the peer or without a pair."""
    wall = line(results, found, "wall")
    return stats.ratio(results.samples(found, wall), results.samples(peer, wall)) if peer else None


def rows_of_times(results):
    for hosts, ranks in PLACES:
        sides = measured(results, hosts, ranks)
        stock = [found for side, found in sides.items() if side in STOCK]
        best = stats.best_peer(results, line(results, stock[0], "wall"), stock) if stock else None
        for side, found in sides.items():
            to_stock, to_comex = (ratio_to(results, found, peer if side in OURS else None) for peer in (best, sides.get("comex")))
            seconds = [stats.summary(values(results, found, part)) for part in PARTS]
            yield [Cell(place_of(hosts, ranks)), Cell(LABELS[side]), *(Cell(f"{each.median:.2f}", each.median) for each in seconds),
                   Cell(f"{seconds[0].low:.2f} to {seconds[0].high:.2f}"),
                   *tables.ratio_cells(to_stock), tables.ratio_cell(to_comex)]


def rows_of_energies(results):
    """For each run, the energy that is farthest from the median of all energies with the same number of hosts."""
    for hosts in (1, 2):
        energies = {found: values(results, found, "energy") for place in PLACES if place[0] == hosts
                    for found in measured(results, *place).values()}
        yield from rows_of_one_basis(energies)


def rows_of_one_basis(energies):
    middle = statistics.median_low([value for values in energies.values() for value in values] or [0.0])
    for found, values in energies.items():
        energy = max(values, key=lambda value: abs(value - middle))
        away = abs(energy - middle)
        agrees = away <= AGREE
        yield [Cell(found), Cell(f"{energy:.12f}", energy), Cell(f"{away:.1e}", away),
               Cell("yes" if agrees else "NO", style="" if agrees else "lost")]


def all_blocks(results):
    rows = list(rows_of_times(results))
    if not rows:
        return
    first = next(found for place in PLACES for found in measured(results, *place).values())
    command = tables.command(NAME, results, first)
    for part, title in PARTS.items():
        series = figure(results, part)
        if series and max(len(points) for points in series.values()) > 1:
            yield Block(f"Figure 6, one host: {title}", command, LIMITS, svg=plots.lines(series, ("ranks", "seconds")))
    yield Block("CCSD(T) of a molecule of water by NWChem, seconds", command, LIMITS,
                "The whole run is the wall time of mpirun; CCSD and (T) are what NWChem prints. Ratios are of whole runs: the first to the "
                f"faster of the stock windows, the last to Global Arrays on {COMEX}.",
                columns=("where", "program", *PARTS.values(), "interval of whole run", *tables.RATIO_COLUMNS, f"ratio to {COMEX}"),
                rows=rows)
    yield Block("Total CCSD(T) energies", command, "Equal energies say that the results are right, and nothing about time.",
                f"Hartree; those with the same number of hosts have to agree within {AGREE:g}.",
                columns=("run", "energy", "difference", "agrees"), rows=list(rows_of_energies(results)))


def blocks(results):
    return list(all_blocks(results))
