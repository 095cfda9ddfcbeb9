#!/usr/bin/env python3
"""Checks that the layers call downwards only, and that tests reach some calls through one header.

layers.py --picture: prints the layers, and the folders inside of them, as docs/internals.md shows them.
layers.py [DIRECTORY]: reads every source below DIRECTORY (default: this project) and fails, with one line for each
offence, on an include that goes up or sideways, on a foreign header outside of the layers that own it, on files of the
layers in ACYCLIC that include each other in a cycle, and on a docs/internals.md without the current picture. Tests in
C++ except DIRECT_TESTS call allocation, query and notification through TEST_HEADER only.
"""

import pathlib
import re
import sys

# The other layers that each layer may include.
LAYERS = {
    "engine": set(),
    "hosts/common": {"engine"},
    "datatype": {"engine"},
    "mpix": {"engine", "hosts/common", "datatype", "include"},
    "mpi-windows": {"engine", "hosts/common", "datatype", "nam"},
    "armci": {"engine", "hosts/common", "mpix", "include"},
    "fortran": {"include"},
    "python": {"include"},
    "ompi-component": {"engine", "hosts/common", "mpi-windows"},
    "hosts/public-mpi": {"engine", "hosts/common", "datatype", "include"},
    "nam": {"engine"},
    "tool": {"engine"},
    "include": set(),
}
# Foreign headers, and the only layers in which they appear.
FOREIGN = {
    re.compile(r"mpi\.h$"): {"datatype", "mpix", "mpi-windows", "armci", "fortran", "python", "ompi-component", "hosts/public-mpi", "include"},
    re.compile(r"ISO_Fortran_binding\.h$"): {"fortran"},
    re.compile(r"uc[pst]/"): {"engine"},
    re.compile(r"(ompi|opal)/|.*mca/"): {"ompi-component"},
    re.compile(r"otf2/"): {"engine"},
}
# The subfolders of folders, in levels from the lowest up: a file includes files of its own subfolder and of levels below.
# Files directly in the folder are above all levels.
LEVELS = {
    "engine": [["base"], ["bootstrap", "op/layout"], ["op/kernel"], ["op", "tuning"], ["trace"], ["trace/otf2"], ["sync"], ["net"], ["memory"], ["origin"], ["proto"],
               ["target"], ["runtime"]],
    "mpix": [["runtime"], ["error"], ["attrs"], ["comm"], ["request"], ["xfer"],
             ["completion", "memory", "notify", "rmw", "statistics"], ["window_calls"], ["nam"], ["setup"]],
    "mpi-windows": [["nam"], ["state"], ["epochs"], ["creation", "operations"]],
    "nam": [["protocol"], ["client", "process"], ["data"], ["server"], ["tool"]],
}
# Layers without include cycles between files; a header and the source beside it count as one file.
ACYCLIC = {"datatype", "armci"}
# The header through which tests make calls whose signatures may change, and the tests that call them as users do, or
# define them.
TEST_HEADER = pathlib.Path("tests/support/communicatable.hpp")
DIRECT_TESTS = {pathlib.Path("tests/c_abi"), pathlib.Path("tests/docs"), pathlib.Path("spec-conformance/mutations")}
TEST_CALLS = re.compile(
    r'^(?!\s*//).*(?<!")\bMPIX_RMA_((Allocate|Free)(_local)?|Register|Deregister|Query|\w+_notify(_value)?)\(')
SOURCES = {".h", ".c", ".hpp", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match.group(1)


def resolve(root, path, name):
    """The file of the project that `name` means, relative to `root`; None for a foreign header."""
    for base in (path.parent, root, root / "include", root / "include" / "armci"):
        if (base / name).is_file():
            return (base / name).resolve().relative_to(root)
    return None


def circles(graph):
    """Groups of nodes that reach each other, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def layer_of(path):
    """The layer that `path`, relative to the root, belongs to: the longest that contains it."""
    return max((layer for layer in LAYERS if path.is_relative_to(layer)), key=len, default=path.parts[0])


def level_of(path):
    """The folder with levels that contains `path`, and the level of `path` there; None without such a folder."""
    for folder, levels in LEVELS.items():
        if path.is_relative_to(folder):
            inside = path.parent.relative_to(folder)
            numbers = {subfolder: number for number, level in enumerate(levels) for subfolder in level}
            if own := max((subfolder for subfolder in numbers if inside.is_relative_to(subfolder)), key=len, default=None):
                return folder, numbers[own]
            return folder, len(levels)
    return None


def check_levels(own, target):
    """Whether an include goes down in its folder, or stays in its subfolder."""
    here, there = level_of(own), level_of(target)
    if here is None or there is None or here[0] != there[0] or own.parent == target.parent:
        return True
    return here[1] > there[1]


def direct_calls(root):
    for folder in ("tests", "spec-conformance"):
        for path in sorted((root / folder).rglob("*.?pp")):
            own = path.relative_to(root)
            if own == TEST_HEADER or DIRECT_TESTS & set(own.parents):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if TEST_CALLS.match(line):
                    yield f"{own}:{number}: use {TEST_HEADER}"


def check(root):
    offences, graph = list(direct_calls(root)), {}
    for layer, allowed in LAYERS.items():
        for path in sorted((root / layer).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            own = path.relative_to(root)
            if layer_of(own) != layer:
                continue
            for number, name in includes(path):
                target = resolve(root, path, name)
                if target is None:
                    for pattern, owners in FOREIGN.items():
                        if pattern.match(name) and layer not in owners:
                            offences.append(f"{own}:{number}: {layer}/ does not know {name}")
                    continue
                other = layer_of(target)
                if not check_levels(own, target):
                    offences.append(f"{own}:{number}: {own.parent}/ does not stand on {target.parent}/: {name}")
                if other != layer and other not in allowed:
                    offences.append(f"{own}:{number}: {layer}/ does not stand on {other}/: {name}")
                if other == layer and layer in ACYCLIC and own.with_suffix("") != target.with_suffix(""):
                    graph.setdefault(str(own.with_suffix("")), set()).add(str(target.with_suffix("")))
    offences += ["these need each other: " + ", ".join(group) for group in circles(graph)]
    return offences


def layer_lines(root):
    """The layers, a layer above those that it includes, and the layers that each includes."""
    below = {layer: set() for layer in LAYERS}
    for layer in LAYERS:
        for path in (root / layer).rglob("*"):
            if path.suffix in SOURCES:
                targets = (resolve(root, path, name) for _, name in includes(path))
                below[layer] |= {layer_of(target) for target in targets if target is not None} - {layer, None}

    def height(layer):
        return 1 + max(map(height, below[layer]), default=0)

    for layer in sorted(LAYERS, key=lambda layer: (-height(layer), layer)):
        names = sorted(below[layer], key=lambda other: (-height(other), other))
        yield f"{layer:<18} {'-> ' + ', '.join(names) if names else ''}".rstrip()


def picture(root):
    """The layers, and the folders of each layer with levels, from the top down, with what each includes."""
    lines = [*layer_lines(root), ""]
    for layer, levels in LEVELS.items():
        edges = {}
        for path in sorted((root / layer).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            own = path.relative_to(root)
            subfolder = str(own.parent.relative_to(layer))
            edges.setdefault(subfolder, set())
            for _, name in includes(path):
                target = resolve(root, path, name)
                if target is not None and target.is_relative_to(layer) and target.parent != own.parent:
                    edges[subfolder].add(str(target.parent.relative_to(layer)))
        order = [subfolder for level in levels for subfolder in level]
        rank = {subfolder: number for number, subfolder in enumerate(order)}
        lines.append(f"{layer}/")
        for level in [["."]] * ("." in edges) + levels[::-1]:
            for subfolder in level:
                below = sorted(edges.get(subfolder, ()), key=lambda other: -rank.get(other, 0))
                lines.append(f"  {'(top)' if subfolder == '.' else subfolder:<12} {'-> ' + ', '.join(below) if below else ''}".rstrip())
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def check_picture(root):
    document = root / "docs" / "internals.md"
    if not document.exists() or picture(root) in document.read_text(encoding="utf-8"):
        return []
    return ["docs/internals.md does not show the folders as they are; layers.py --picture prints them"]


def main():
    if sys.argv[1:] == ["--picture"]:
        print(picture(pathlib.Path(__file__).parents[2].resolve()), end="")
        return 0
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    offences = check(root) + check_picture(root)
    for offence in offences:
        print(offence, file=sys.stderr)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
