#!/usr/bin/env python3
"""Checks what a shared library exports.

symbols.py LIBRARY LIST [PROFILING-HEADER]: fails, with one line for each difference, unless the symbols that LIBRARY
exports are those that LIST names, one a line, and each call MPIX_NAME has a second name PMPIX_NAME, which the header
declares. Names of C++ are written without parameters; a virtual table or a type counts as its class. A
line that ends in * permits every name that begins so. Text behind # is a comment. Symbols of namespace std that every
process has once are the compiler's affair. All others have the library's version.
"""

import pathlib
import re
import subprocess
import sys

VERSION = "@@MPIX_0"
SPECIAL = re.compile(r"^(?:(?:construction )?vtable|VTT|typeinfo(?: name)?|guard variable) for ")
OF_THE_COMPILER = re.compile(r"std::__detail::__waiter_pool_base::")


def exported(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                            check=True, capture_output=True, text=True).stdout
    symbols = [line.split()[0] for line in listed.splitlines() if line.split()[1] != "A"]
    names = "\n".join(symbol.removesuffix(VERSION) for symbol in symbols)
    plain = subprocess.run(["c++filt", "--no-params"], input=names, check=True, capture_output=True, text=True).stdout
    return {SPECIAL.sub("", name) for name in plain.splitlines() if not OF_THE_COMPILER.search(name)}


def documented(text):
    lines = {line.partition("#")[0].strip() for line in text.splitlines()} - {""}
    return {line for line in lines if not line.endswith("*")}, tuple(line[:-1] for line in lines if line.endswith("*"))


def differences(found, names, prefixes):
    for name in sorted(names - found):
        yield f"{name} is documented, and is not exported"
    for name in sorted(found - names):
        if not prefixes or not name.startswith(prefixes):
            yield f"{name} is exported, and is not documented"


def without_second_name(found, header):
    declared = set(re.findall(r"^MPIX_RMA_PROFILED_\((\w+)\)", header, re.MULTILINE))
    for name in sorted(name for name in found if name.startswith("MPIX_")):
        if f"P{name}" not in found:
            yield f"{name} has no second name: MPIX_PROFILED is missing in its source"
        if name not in declared:
            yield f"{name} is not in the header for tools"


def main():
    library, path, *header = sys.argv[1:]
    found = exported(library)
    offences = list(differences(found, *documented(pathlib.Path(path).read_text(encoding="utf-8"))))
    for path_of_header in header:
        offences += without_second_name(found, pathlib.Path(path_of_header).read_text(encoding="utf-8"))
    for offence in offences:
        print(f"{library}: {offence}: see {path}", file=sys.stderr)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
