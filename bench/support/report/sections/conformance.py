"""The clauses of the documents, and how many have a test."""
import re

from .. import tables
from ..launch import ROOT
from ..model import Block, Cell

NAME = "conformance"
TITLE = "Conformance"
ORDER = 50
SUITE = ROOT / "spec-conformance"
DOCUMENTS = ("clauses.md", "windows.md", "window_extensions.md", "nam.md")
COMMAND = "ctest --test-dir build/release -L conformance"
CLAUSE = re.compile(r"^\| ((?:X\d+|G|A|P|N|E|W\d+)_\d+) \|(.*)\|\s*$")


def groups(options):
    return []


def clauses(path):
    """{section title: [number of clauses, number with a test]}"""
    found, title = {}, ""
    for line in path.read_text().splitlines():
        if line.startswith("## "):
            title = line[3:].strip()
        row = CLAUSE.match(line)
        if row:
            counts = found.setdefault(title, [0, 0])
            counts[0] += 1
            counts[1] += row.group(2).rsplit("|", 1)[1].strip() == "yes"
    return found


def coverage():
    rows = []
    for document in DOCUMENTS:
        path = SUITE / document
        for title, (count, tested) in (clauses(path) if path.exists() else {}).items():
            rows.append([Cell(document), Cell(title), tables.number_cell(count), tables.number_cell(tested)])
    if rows:
        yield Block("Clauses and tests", COMMAND, "A clause without a test has its reason in the document. A test "
                    "shows that a promise was kept in the runs that were made.",
                    columns=("document", "section", "clauses", "with a test"), rows=rows)


def mutations():
    path = SUITE / "mutations.md"
    found = re.findall(r"^\| (\w+_\d+) \| (.+?) \| (.+?) \| (.*?) ?\|$", path.read_text(), re.MULTILINE) if path.exists() else []
    if found:
        yield Block("Promises broken on purpose", "spec-conformance/mutate --help",
                    "The suite notices these faults; nothing follows about others.",
                    f"{len(found)} promises are broken one at a time. The test of each clause notices.",
                    columns=("clause", "broken promise", "its test", "others that notice"),
                    rows=[[Cell(text) for text in row] for row in found])


def blocks(results):
    return [*coverage(), *mutations()]
