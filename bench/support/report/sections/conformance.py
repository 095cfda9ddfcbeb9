"""The clauses of the documents, how many have a test, and the last recorded run of the suite."""
import json
import re

from .. import tables
from ..launch import ROOT
from ..model import Block, Cell

NAME = "conformance"
TITLE = "Conformance"
ORDER = 50
SUITE = ROOT / "spec-conformance"
DOCUMENTS = ("clauses.md", "windows.md", "window_extensions.md", "nam.md")
RECORD = SUITE / "recorded.json"
RECORDING = "MPIX_CONFORMANCE_RECORD=$PWD/spec-conformance/recorded.json ctest --test-dir build/release -L conformance"
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
    found = re.findall(r"^\| (\w+_\d+(?:/\w+)?) \| (.+?) \| (.+?) \| (.*?) ?\|$", path.read_text(), re.MULTILINE) if path.exists() else []
    if found:
        yield Block("Promises broken on purpose", "spec-conformance/mutate --help",
                    "The suite notices these faults; nothing follows about others.",
                    f"{len(found)} promises are broken one at a time. The test of each clause notices.",
                    columns=("clause", "broken promise", "its test", "others that notice"),
                    rows=[[Cell(text) for text in row] for row in found])


def recorded():
    if not RECORD.exists():
        return
    record = json.loads(RECORD.read_text())
    runs = list(dict.fromkeys(run for by_run in record["sections"].values() for run in by_run))
    rows = []
    for title, by_run in record["sections"].items():
        cells = [passed_cell(*by_run.get(run, (0, 0))) for run in runs]
        if any(cell.text for cell in cells):
            rows.append([Cell(title), *cells])
    yield Block("Last recorded run: clauses passed / clauses run", RECORDING,
                "The run is of this date and commit, not of the commit that the report names. np2 is a run with two ranks on one "
                "host, 1x2 one with a rank on each of two hosts.",
                f"{record['date']}, commit {record['commit'][:12]}.", columns=("section", *runs), rows=rows)


def passed_cell(passed, ran):
    return Cell(f"{passed}/{ran}", passed, "" if passed == ran else "lost") if ran else Cell("")


def blocks(results):
    return [*recorded(), *coverage(), *mutations()]
