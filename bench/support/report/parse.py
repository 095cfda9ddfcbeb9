"""The output of the benchmark programs as rows: family, operation, memory, segments, bytes, value."""
import csv


def lines(output):
    """What bench/support/harness.hpp prints. A line that stands there twice counts once, with its last value."""
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


PARSERS = {"lines": lines, "scale": scale}
