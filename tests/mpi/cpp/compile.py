#!/usr/bin/env python3
"""Compiles a source once for each of its cases, `#if CASE == N`: case 0 compiles without a warning, and each other one has
an error in its own lines.

usage: compile.py SOURCE COMPILER [FLAG...]
"""
import pathlib
import re
import subprocess
import sys


def cases_of(text):
    """Number, first line, last line and description of each case."""
    lines = text.splitlines()
    starts = [(number, found) for number, line in enumerate(lines, 1)
              if (found := re.match(r"#(?:el)?if CASE == (\d+) +// (.+)", line))]
    if len(starts) != len(re.findall(r"\bCASE ==", text)):
        sys.exit("a case has no description")
    ends = [number for number, line in enumerate(lines, 1) if re.match(r"#(elif|else)", line)]
    return [(int(found[1]), number, min(end for end in ends if end > number), found[2]) for number, found in starts]


def errors_of(source, command, case):
    done = subprocess.run([*command, f"-DCASE={case}", str(source)], capture_output=True, text=True)
    # The error stands where the call does, or the instantiation that it needs: GCC names both.
    lines = {int(found) for found in re.findall(rf"{re.escape(str(source))}:(\d+)", done.stderr)}
    return done.returncode, lines, done.stderr


def main():
    source = pathlib.Path(sys.argv[1])
    command = [*sys.argv[2:], "-c", "-o", "/dev/null"]
    faults = []
    status, _, text = errors_of(source, command, 0)
    if status != 0 or text:
        faults.append(f"case 0 does not compile without a message:\n{text}")
    cases = cases_of(source.read_text())
    for case, first, last, description in cases:
        status, lines, text = errors_of(source, command, case)
        if status == 0:
            faults.append(f"case {case} compiles: {description}")
        elif not any(first < line < last for line in lines):
            faults.append(f"case {case} has its error elsewhere: {description}\n{text}")
    print(f"{len(cases)} cases by {sys.argv[2]}")
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
