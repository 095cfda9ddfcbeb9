#!/usr/bin/env python3
"""Every installed file is in exactly one of Debian's packages or in debian/not-installed, and every line of these lists
matches a file.

usage: debian_files.py CMAKE BUILD-DIR DEBIAN-DIR [--without-mpich] [--without-python] [--without-trace]
"""
import pathlib
import subprocess
import sys
import tempfile


def patterns(file):
    lines = (line.split("#")[0].split() for line in file.read_text().splitlines())
    # Debian's directory of libraries is one level deeper.
    return [words[0].replace("usr/lib/*/", "usr/lib/") for words in lines if words]


def files(root, pattern):
    """The files, and links, that dh_install takes for PATTERN."""
    found = set()
    for path in root.glob(pattern):
        inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
        found |= {entry for entry in inside if entry.is_symlink() or not entry.is_dir()}
    return found


def main(cmake, build, debian, *options):
    left_out = [option.removeprefix("--without-") for option in options]
    errors, packages = [], {}
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        subprocess.run([cmake, "--install", build, "--prefix", root / "usr"], check=True, stdout=subprocess.DEVNULL)
        lists = [*pathlib.Path(debian).glob("*.install"), pathlib.Path(debian, "not-installed")]
        for file in lists:
            for pattern in patterns(file):
                found = files(root, pattern)
                if not found and not any(part in file.name + pattern for part in left_out):
                    errors.append(f"{file.name}: nothing is installed as {pattern}")
                for entry in found:
                    packages.setdefault(entry, []).append(file.name)
        for entry in sorted(files(root, "usr")):
            if len(packages.get(entry, [])) != 1:
                errors.append(f"{entry.relative_to(root)} is in {packages.get(entry, 'no package')}")
    print("\n".join(errors) or "all right")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
