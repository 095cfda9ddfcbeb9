#!/usr/bin/env python3
"""Compiles a source once for each of its cases, `#if CASE == N`: case 0 compiles without a warning, and each other one has
an error in its own lines.

usage: compile.py SOURCE COMPILER [FLAG...]
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def cases_of(text):
    """Number, first line, last line and description of each case."""
    lines = text.splitlines()
    starts = [(number, found) for number, line in enumerate(lines, 1)
              if (found := re.match(r"#(?:el)?if CASE == (\d+) +// (.+)", line))]
    if len(starts) != len(re.findall(r"\bCASE ==", text)):
        sys.exit("a case has no description")
    ends = [number for number, line in enumerate(lines, 1) if re.match(r"#(elif|else)", line)]
    return [(int(found[1]), number, min(end for end in ends if end > number), found[2]) for number, found in starts]


def precompile(source, command, directory):
    """Compiles the headers that the source includes before its first case, and returns the flags that use them."""
    header = directory / "headers.hpp"
    before = source.read_text().split("#if CASE", 1)[0]
    header.write_text("\n".join(line for line in before.splitlines() if line.startswith("#include")) + "\n")
    is_clang = "clang" in subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout
    compiled = header.with_suffix(".hpp.pch" if is_clang else ".hpp.gch")
    flags = [flag for flag in command if flag != "-fsyntax-only"]
    subprocess.run([*flags, "-x", "c++-header", str(header), "-o", str(compiled)], check=True)
    return ["-include-pch", str(compiled)] if is_clang else ["-Winvalid-pch", "-include", str(header)]


def errors_of(source, command, case):
    done = subprocess.run([*command, f"-DCASE={case}", str(source)], capture_output=True, text=True)
    # The error stands where the call does, or the instantiation that it needs: GCC names both.
    lines = {int(found) for found in re.findall(rf"{re.escape(str(source))}:(\d+)", done.stderr)}
    return done.returncode, lines, done.stderr


def main():
    source = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        check(source, [*sys.argv[2:], *precompile(source, sys.argv[2:], pathlib.Path(directory))])


def check(source, command):
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
