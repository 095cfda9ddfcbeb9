#!/usr/bin/env python3
"""Compares the instructions of calls while a trace is written with those of the same calls without one.

usage: trace_instructions.py MOST DIRECTORY COMMAND...

COMMAND runs bench_instructions. A call that takes over MOST more instructions while it is traced fails, and a trace that
costs nothing, too, because then none was written. The trace is written below DIRECTORY. Exit status 77: nothing can be
compared."""
import os
import subprocess
import sys
import tempfile

from instruction_counts import SKIPPED, counts_of


def counts(command, trace=None):
    environment = {name: value for name, value in os.environ.items() if name != "MPIX_RMA_TRACE"}
    if trace is not None:
        environment["MPIX_RMA_TRACE"] = trace
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    if "no trace is written" in done.stderr or not counts_of(done.stdout):
        print(done.stderr.strip())
        sys.exit(SKIPPED)
    return counts_of(done.stdout)


def main(most, directory, *command):
    plain = counts(command)
    with tempfile.TemporaryDirectory(dir=directory) as place:
        traced = counts(command, os.path.join(place, "trace"))
    added = {key: traced[key] - count for key, count in plain.items()}
    for (interface, call), count in added.items():
        print(f"{interface} {call}: {count} more")
    too_many = [key for key, count in added.items() if count > int(most)]
    for key in too_many:
        print(f"{' '.join(key)} takes over {most} more")
    if added["rma", "put"] == 0:
        print("no put was traced")
    return 1 if too_many or added["rma", "put"] == 0 else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        print(__doc__)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
