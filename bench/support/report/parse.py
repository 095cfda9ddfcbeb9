"""The output of the benchmark programs as rows: family, operation, memory, segments, bytes, value."""
import csv
import re

ENERGY = re.compile(r"^ *Total CCSD\(T\) energy: +(-?[0-9.]+)", re.MULTILINE)
# Number, correlation, delta, error, and the seconds of the amplitudes: T2, the others, and the main block.
ITERATION = re.compile(r"^ +\d+ +-?\d+\.\d+ +[-+.\dDE]+ +[-+.\dDE]+ +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+) *$", re.MULTILINE)
TRIPLES = re.compile(r"^ *Time for (?:integral|triples) evaluation pass +\d+ +(\d+\.\d+)", re.MULTILINE)
WALL = re.compile(r"^wall seconds: ([0-9.]+)$", re.MULTILINE)
BASIS = re.compile(r"^basis: (\S+)$", re.MULTILINE)


def lines(output):
    """The lines that bench/support/harness.hpp prints. A line printed twice counts once, with its last value."""
    rows = {}
    for row in csv.reader(output.splitlines()):
        if len(row) == 7:
            family, _, operation, memory, segments, size, value = row
            rows[(family, operation, memory, int(segments), int(size))] = float(value)
    return [[*key, value] for key, value in rows.items()]


def scale(output):
    """bench_scale's and bench_window_scale's tables, each after the line with its columns. The number of items stands in
    place of the bytes."""
    rows, columns = [], []
    for row in csv.reader(output.splitlines()):
        if len(row) > 3 and "number" in row:
            columns = row
        elif columns and len(row) == len(columns) and row[0] == columns[0]:
            at = columns.index("number")
            label = row[1] if at == 2 else ""
            rows += [[row[0], column, label, 1, int(row[at]), float(value)]
                     for column, value in zip(columns[at + 1:], row[at + 1:]) if value]
    return rows


def nwchem(output):
    """The values that bench/nwchem --one prints: seconds, and the energy in hartree; the basis stands in place of the
    memory. Empty if the energy, a time or the basis is missing."""
    energy, wall, basis = ENERGY.search(output), WALL.search(output), BASIS.search(output)
    iterations, triples = ITERATION.findall(output), TRIPLES.findall(output)
    if not (energy and wall and basis and iterations and triples):
        return []
    found = {"wall": float(wall.group(1)), "ccsd": sum(float(part) for parts in iterations for part in parts),
             "triples": sum(map(float, triples)), "energy": float(energy.group(1))}
    return [["nwchem", part, basis.group(1), 1, 0, value] for part, value in found.items()]


PARSERS = {"lines": lines, "scale": scale, "nwchem": nwchem}
