#!/usr/bin/env python3
"""Compiles a source with all of its cases, `#if TRIED(N)`, or once for each: each has an error in its own lines, and
case 0, without any of them, compiles without a warning.

usage: compile.py together|each SOURCE COMPILER [FLAG...]
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
              if (found := re.match(r"#if TRIED\((\d+)\) +// (.+)", line))]
    if len(starts) != len(re.findall(r"(?m)^#if TRIED", text)):
        sys.exit("a case has no description")
    ends = [number for number, line in enumerate(lines, 1) if line.startswith("#endif")]
    return [(int(found[1]), number, min(end for end in ends if end > number), found[2]) for number, found in starts]


def precompile(source, command, directory):
    """Compiles the headers that the source includes before its first case, and returns the flags that use them."""
    header = directory / "headers.hpp"
    before = source.read_text().split("#ifndef CASE", 1)[0]
    header.write_text("\n".join(line for line in before.splitlines() if line.startswith("#include")) + "\n")
    is_clang = "clang" in subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout
    compiled = header.with_suffix(".hpp.pch" if is_clang else ".hpp.gch")
    flags = [flag for flag in command if flag != "-fsyntax-only"]
    subprocess.run([*flags, "-x", "c++-header", str(header), "-o", str(compiled)], check=True)
    return ["-include-pch", str(compiled)] if is_clang else ["-Winvalid-pch", "-include", str(header)]


def errors_of(source, command, case):
    done = subprocess.run([*command, f"-DCASE={case}", str(source)], capture_output=True, text=True)
    # The error is at the call, or at an instantiation that the call needs: GCC names both lines.
    lines = {int(found) for found in re.findall(rf"{re.escape(str(source))}:(\d+)", done.stderr)}
    return done.returncode, lines, done.stderr


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("together", "each"):
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as directory:
        check(sys.argv[1], source, [*sys.argv[3:], *precompile(source, sys.argv[3:], pathlib.Path(directory))])


def check(how, source, command):
    faults = []
    status, _, text = errors_of(source, command, 0)
    if status != 0 or text:
        faults.append(f"case 0 does not compile without a message:\n{text}")
    cases = cases_of(source.read_text())
    together = errors_of(source, command, -1) if how == "together" else None
    for case, first, last, description in cases:
        status, lines, text = together or errors_of(source, command, case)
        if status == 0:
            faults.append(f"case {case} compiles: {description}")
        elif not any(first < line < last for line in lines):
            faults.append(f"case {case} has its error elsewhere: {description}\n{text}")
    print(f"{len(cases)} cases by {command[0]}")
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
