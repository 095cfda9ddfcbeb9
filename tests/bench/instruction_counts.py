#!/usr/bin/env python3
"""Compares the instructions that the most used calls execute with the recorded ones of this compiler and MPI library.

usage: instruction_counts.py [--write] TOOLS COUNTS COMMAND...

TOOLS names compiler and MPI library. The processor's x86-64 level is added, because the library has code for each level.
COUNTS is a CSV file; COMMAND runs bench_instructions. A call fails that takes more instructions than recorded, beyond an
allowance. --write records the present counts. Exit status 77: there is
nothing to compare with. A call of the C++ interface that takes more than the same in C fails with any compiler."""
import csv
import pathlib
import subprocess
import sys

SKIPPED = 77
ALLOWANCE = 0.02  # of the recorded count
AT_LEAST = 2  # instructions


def level():
    """The x86-64 level of the processor, of those that the library distinguishes."""
    information = pathlib.Path("/proc/cpuinfo")
    words = set(information.read_text().split()) if information.exists() else set()
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= words:
        return "x86-64-v4"
    return "x86-64-v3" if {"avx2", "bmi2", "fma"} <= words else "x86-64"


def counts_of(output):
    """The counts by (interface, call) that the program prints."""
    rows = csv.reader(output.splitlines())
    return {(row[3], row[2]): round(float(row[6])) for row in rows if len(row) == 7 and row[0] == "instructions"}


def read(path):
    """The recorded counts by tools, each by (interface, call)."""
    recorded = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            recorded.setdefault(row["tools"], {})[row["interface"], row["call"]] = int(row["instructions"])
    return recorded


def write(path, recorded):
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["tools", "interface", "call", "instructions"])
        for tools, counts in sorted(recorded.items()):
            for (interface, call), count in counts.items():
                out.writerow([tools, interface, call, count])


def compare(found, expected):
    """A line for each call that takes more than recorded, or that is missing."""
    lines = []
    for key, most in expected.items():
        name = " ".join(key)
        if key not in found:
            lines.append(f"{name}: not measured")
        elif found[key] > most + max(most * ALLOWANCE, AT_LEAST):
            lines.append(f"{name}: {found[key]} instructions, {most} recorded")
    return lines


def compare_languages(found):
    """A line for each call that takes more instructions in C++ than in C, both counted from the caller on."""
    return [f"{call}: {count} instructions in C++, {found['c', call]} in C" for (interface, call), count in found.items()
            if interface == "c++" and count > found["c", call] + AT_LEAST]


def main(arguments):
    if not arguments or "--help" in arguments[:1]:
        print(__doc__)
        return 0 if arguments else 2
    writes = arguments[:1] == ["--write"]
    tools, path, *command = arguments[1:] if writes else arguments
    tools, path = f"{tools}, {level()}", pathlib.Path(path)
    recorded = read(path) if path.exists() else {}
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    found = counts_of(done.stdout)
    if not found:
        print(f"no counts: {done.stderr.strip()}")
        return SKIPPED
    if lines := compare_languages(found):
        print("\n".join(lines))
        return 1
    if writes:
        write(path, recorded | {tools: found})
        return 0
    if tools not in recorded:
        print(f"no counts are recorded for {tools}; those of this build:")
        print("\n".join(f"  {' '.join(key)}: {count}" for key, count in found.items()))
        return SKIPPED
    lines = compare(found, recorded[tools])
    for line in lines:
        print(line)
    if lines:
        print(f"more instructions than recorded for {tools}: if that is intended, repeat with --write and say why")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
