#!/usr/bin/env python3
"""Runs the fenced commands of documents as a reader who pastes them: from an installed tree, in a temporary directory,
one after the other in one shell.

usage: commands.py run SOURCE-DIR INSTALLED-PREFIX [--twice] DOCUMENT
       commands.py check SOURCE-DIR
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import fences
import fixtures
import machine
import references

MOST_MARKS = 10
PROLOGUE = r"""set -euE -o pipefail
trap 'echo "$document:$LINENO: failed: $BASH_COMMAND" >&2' ERR
trap 'kill $(jobs -p) 2> /dev/null || :; wait' EXIT
[ ! -e /usr/share/modules/init/bash ] || { set +u; . /usr/share/modules/init/bash; set -u; }"""


def documents(source):
    docs = source / "docs"
    pages = [*docs.glob("*.md"), *(docs / "tutorials").glob("*.md")]
    return ["README.md", *sorted(str(path.relative_to(source)) for path in pages)]


def blocks_of(source, document):
    if document.endswith(".c"):
        return fences.blocks_of_comment((source / document).read_text())
    return fences.blocks_of((source / document).read_text(), document)


def check(source):
    """Checks that all blocks are executed, but for a few with a reason, and that the named files and functions exist."""
    if faults := references.check(source):
        sys.exit("\n".join(faults))
    marks = []
    for document in documents(source):
        for block in blocks_of(source, document):
            where = f"{document}:{block.line}"
            if block.reason:
                marks.append(f"{where}: {block.reason}")
            elif block.language in fences.PROGRAMS and (document, block.language) not in fixtures.PROGRAMS:
                sys.exit(f"{where}: no program of tests/docs/fixtures.py has this block")
            for need in block.needs:
                if need not in machine.NEEDS:
                    sys.exit(f"{where}: '{need}' is none of {', '.join(machine.NEEDS)}")
        for number, line in enumerate((source / document).read_text().splitlines(), 1):
            if re.search(r"`ctest (?!--test-dir )", line):
                sys.exit(f"{document}:{number}: ctest without --test-dir works in no directory of the checkout")
    print("\n".join(marks))
    if len(marks) > MOST_MARKS:
        sys.exit(f"{len(marks)} blocks are not executed, and {MOST_MARKS} may be")


class Script:
    """The commands of a document, each on its line of the document, so that bash names the line that fails."""

    def __init__(self, source, document, values):
        self.source = source
        self.document = document
        self.values = values
        self.blocks = blocks_of(source, document)
        self.lines = [""] * (len((source / document).read_text().splitlines()) + 1)
        own = [f"cp {shlex.quote(str(source / document))} ."] if document.endswith(".c") else []
        self.lines[0] = "; ".join([*PROLOGUE.splitlines(), *own])
        self.not_run = []

    def write(self):
        for index, block in enumerate(self.blocks):
            if not block.is_executable:
                continue
            why = block.reason or ", ".join(machine.missing(block.needs))
            if why:
                self.not_run.append(f"{self.document}:{block.line}: not run: {why}")
            elif block.language in fences.COMMANDS:
                self.add_commands(block)
            elif not any(later.language == block.language and not later.reason for later in self.blocks[index + 1:]):
                self.add_program(block)
        return "\n".join(self.lines) + "\n"

    def add_commands(self, block):
        key = (self.document, block.section)
        self.lines[block.line - 1] += self.one_line(fixtures.FILES.get(key, []))
        for offset, line in enumerate(block.text):
            self.lines[block.line + offset] = self.substituted(line)
        self.lines[block.line + len(block.text)] += self.one_line(fixtures.CHECKS.get(key, []))

    def add_program(self, block):
        """Adds the programs after the last snippet of a language. Each snippet has exactly one place in the programs."""
        snippets = [found.text for found in self.blocks if found.language == block.language and not found.reason]
        places = [0] * len(snippets)
        all_commands = []
        for file, commands in fixtures.PROGRAMS[self.document, block.language]:
            text = (self.source / "tests" / "docs" / "programs" / file).read_text()
            for number, snippet in enumerate(snippets, 1):
                text, count = re.subn(rf"^( *)(?:/\*|//|!|#) snippet {number}(?: \*/)?$",
                                      lambda indent: "\n".join(indent[1] + line for line in snippet), text, flags=re.MULTILINE)
                places[number - 1] += count
            pathlib.Path(self.values["WORK"], file).write_text(text)
            all_commands += commands
        self.lines[block.line + len(block.text)] += self.one_line(all_commands)
        for number, count in enumerate(places, 1):
            if count != 1:
                sys.exit(f"tests/docs/programs: {count} places for snippet {number} of {self.document}")

    def one_line(self, commands):
        return "; ".join(self.substituted(command) for command in commands)

    def substituted(self, command):
        for name in ("PREFIX", "SOURCE", "EXAMPLES"):
            command = re.sub(rf"\b{name}\b", lambda _: shlex.quote(self.values[name]), command)
        return command


def environment(work, prefix, document):
    """Returns the environment of a user who knows only where the library is installed. Tutorials begin in a shell that
    does not know it."""
    chosen = {name: value for name, value in os.environ.items()
              if not name.startswith(("OMPI_MCA_", "PMIX_MCA_", "MPIX_")) and name not in ("PKG_CONFIG_PATH", "LD_LIBRARY_PATH")}
    if not document.startswith("docs/tutorials/") and document not in fixtures.TUTORIALS:
        chosen.update(PATH=f"{prefix}/bin:{chosen['PATH']}", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")
    return dict(chosen, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", HOME=str(work),
                MPIX_NAMD_DIRECTORY=f"{work}/state", MPIX_NAMD_SOCKET=f"{work}/socket", MPIX_NAMD_LISTEN="none",
                MPIX_NAM_SERVER=f"{work}/socket")


def run(source, prefix, document, times):
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory).resolve()
        (work / "build").mkdir()
        (work / "build" / "install").symlink_to(prefix)
        (work / "bin").mkdir()
        for name in ("mpirun", "mpicc", "mpifort"):  # Debian's Open MPI may not be the machine's default
            if found := shutil.which(f"{name}.openmpi"):
                (work / "bin" / name).symlink_to(found)
        (work / "bin" / "python3").symlink_to("/usr/bin/python3")  # the one that Debian's packages are for
        script = Script(source, document, {"PREFIX": str(prefix), "SOURCE": str(source), "EXAMPLES": str(source / "examples"), "WORK": str(work)})
        text = script.write()
        print("\n".join(script.not_run), flush=True)
        variables = environment(work, prefix, document)
        variables["PATH"] = f"{work}/bin:{variables['PATH']}"
        for _ in range(times):
            done = subprocess.run(["bash", "-c", text, "bash"], cwd=work, env=dict(variables, document=document),
                                  stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                sys.exit(f"{document}: exit status {done.returncode}")


def main():
    arguments = sys.argv[1:]
    source = pathlib.Path(arguments[1]).resolve()
    if arguments[0] == "check":
        return check(source)
    run(source, pathlib.Path(arguments[2]).resolve(), arguments[-1], 2 if "--twice" in arguments else 1)


if __name__ == "__main__":
    main()
