#!/usr/bin/env python3
"""Runs a program with a preloaded interposer, the table of MPIX_RMA_STATISTICS and a trace, and compares their counts.

trace_test.py [--killed | --threads] --tool MPIX_RMA --interposer LIBRARY --program PROGRAM LAUNCHER...
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import otf2
from otf2 import events

ROUNDS = 20
CALLS = ROUNDS * 9  # of a thread to each target, see traced_program.c
PROTOCOL_OF_LINE = re.compile(r"^\[(\d+)\] +(\d+)  (\w+) +(\d+) +(\d+)$")


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: {found} instead of {expected}")


def counted_calls(directory):
    """{(rank, target): (calls, bytes)} of the interposer."""
    found = {}
    for file in directory.glob("calls.*"):
        for line in file.read_text().splitlines():
            target, calls, data = map(int, line.split())
            found[int(file.suffix[1:]), target] = (calls, data)
    return found


def printed_table(directory):
    """{(rank, target, protocol): (operations, bytes)} of MPIX_RMA_STATISTICS."""
    found = {}
    for file in directory.glob("table.*"):
        for line in file.read_text().splitlines():
            if match := PROTOCOL_OF_LINE.match(line):
                rank, target, protocol, operations, data = match.groups()
                found[int(rank), int(target), protocol] = (int(operations), int(data))
    return found


def number_of(name):
    return int(name.removeprefix("rank "))


class Trace:
    """The contents of a trace: operations by rank, target and protocol; executed bytes by rank; records by kind."""

    def __init__(self, path):
        self.operations = collections.defaultdict(lambda: (0, 0))
        self.executed = collections.Counter()
        self.kinds = collections.Counter()
        self.depth = collections.Counter()
        self.issuing = set()  # locations
        self.waits = collections.defaultdict(list)  # ranks that a location waits for
        with otf2.reader.open(str(path)) as trace:
            last = collections.defaultdict(int)
            for location, event in trace.events:
                if event.time < last[location]:
                    sys.exit(f"time goes back at {location.name} of {location.group.name}")
                last[location] = event.time
                self.add(location, event)
        expect(set(self.depth.values()) - {0}, set(), "calls without an end")

    def threads_of(self, rank):
        return sum(number_of(location.group.name) == rank for location in self.issuing)

    def add(self, location, event):
        kind = type(event).__name__
        self.kinds[kind] += 1
        given = {attribute.name: value for attribute, value in (event.attributes or {}).items()}
        rank = number_of(location.group.name)
        self.depth[location] += {"Enter": 1, "Leave": -1}.get(kind, 0)
        if kind == "Enter" and event.region.name == "wait":
            expect(given["rank"] in self.waits[location], False, "a wait inside a wait for the same rank")
            self.waits[location].append(given["rank"])
        if kind == "Leave" and event.region.name == "wait":
            self.waits[location].pop()
        if kind in ("RmaPut", "RmaGet", "RmaAtomic"):
            self.issuing.add(location)
            key = rank, event.remote, given["protocol"]
            count, data = self.operations[key]
            self.operations[key] = count + 1, data + (event.bytes_sent if kind == "RmaAtomic" else event.bytes)
        if kind == "Enter" and event.region.name.startswith("execute "):
            self.executed[rank] += given["bytes"]


def by_target(operations):
    found = collections.defaultdict(lambda: (0, 0))
    for (rank, target, _), (count, data) in operations.items():
        found[rank, target] = found[rank, target][0] + count, found[rank, target][1] + data
    return dict(found)


def check_printed(path, trace):
    """Checks that otf2-print reads the same records."""
    text = subprocess.run(["otf2-print", str(path)], check=True, capture_output=True, text=True).stdout
    words = collections.Counter(line.split(maxsplit=1)[0] for line in text.splitlines() if line.strip())
    for printed, kind in (("RMA_PUT", "RmaPut"), ("RMA_GET", "RmaGet"), ("RMA_ATOMIC", "RmaAtomic"), ("ENTER", "Enter")):
        expect(words[printed], trace.kinds[kind], f"lines {printed} of otf2-print")


def draw(tool, directory, operations):
    page = directory / "page.html"
    subprocess.run([tool, "timeline", directory / "trace", "-o", page], check=True)
    text = page.read_text()
    for protocol in {protocol for _, _, protocol in operations}:
        count = sum(count for (_, _, one), (count, _) in operations.items() if one == protocol)
        if f"{protocol}: {count} operations" not in text:
            sys.exit(f"{page} does not show {count} operations by {protocol}")
    if "http" in text.replace("http://www.w3.org/2000/svg", ""):
        sys.exit(f"{page} refers to other files")
    refused = subprocess.run([tool, "timeline", directory / "trace", "-o", directory / "missing" / "page.html"],
                             capture_output=True, text=True)
    expect((refused.returncode, len(refused.stderr.splitlines())), (1, 1), "status and lines for a missing directory")


def check_complete(directory, trace, threads):
    calls = counted_calls(directory)
    table = printed_table(directory)
    ranks = {rank for rank, _ in calls}
    expect({key: count for key, (count, _) in calls.items()}, {(a, b): threads * CALLS for a in ranks for b in ranks},
           "counted calls")
    expect({(rank, trace.threads_of(rank)) for rank in ranks}, {(rank, threads) for rank in ranks}, "threads with operations")
    expect(dict(trace.operations), table, "operations in the trace, beside the table")
    expect(by_target(table), calls, "operations in the table, beside the counted calls")
    sent = collections.Counter()
    for (_, target, protocol), (_, data) in table.items():
        if protocol in ("message", "ring"):
            sent[target] += data
    expect(trace.executed, sent, "bytes that targets executed")
    completions = trace.kinds["RmaOpCompleteBlocking"] + trace.kinds["RmaOpCompleteNonBlocking"]
    expect(completions, sum(count for count, _ in table.values()), "completions")


def check_killed(trace):
    """Checks that no operation of the processes is lost."""
    counts = by_target(trace.operations)
    ranks = {rank for rank, _ in counts}
    expect({key: count for key, (count, _) in counts.items()}, {(a, b): CALLS for a in ranks for b in ranks}, "operations")
    expect(len(ranks) > 1, True, "several ranks in the trace")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--killed", dest="how", action="store_const", const="killed", default="")
    parser.add_argument("--threads", dest="how", action="store_const", const="threads")
    for name in ("tool", "interposer", "program"):
        parser.add_argument(f"--{name}", required=True)
    options, launcher = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        settings = [f"MPIX_RMA_TRACE={directory}/trace", f"MPIX_RMA_STATISTICS={directory}/table.%r",
                    f"COUNTED_CALLS={directory}/calls", f"LD_PRELOAD={options.interposer}"]
        ended = subprocess.run([*launcher, "env", *settings, options.program, *options.how.split()],
                               env=dict(os.environ, LC_ALL="C"), check=False)
        if ended.returncode == 77:
            sys.exit(77)
        anchor = directory / "trace" / "traces.otf2"
        if options.how == "killed":
            expect(anchor.exists(), False, "a trace before its records are converted")
            subprocess.run([options.tool, "timeline", anchor.parent, "-o", directory / "page.html"], check=True)
        else:
            expect(ended.returncode, 0, "exit status")
        trace = Trace(anchor)
        if options.how == "killed":
            check_killed(trace)
        else:
            check_complete(directory, trace, 2 if options.how == "threads" else 1)
        check_printed(anchor, trace)
        draw(options.tool, directory, trace.operations)
        expect((directory / "trace" / "records").exists(), False, "records beside the trace")


if __name__ == "__main__":
    main()
