"""Two reports side by side: two machines, or two versions."""
import json
import pathlib

from . import page, stats, store, tables
from .model import Block, Cell

LIMITS = ("The two were not measured in turn: a ratio compares two machines, or two times of one, with whatever else ran there. "
          "The intervals are of a bootstrap over independent samples.")
# Lines that are no times: their families, and the ends of their operations.
COUNTED = ("attribute_calls", "calls", "accesses")
UNITS = ("bytes", "page faults", "page tables KiB", "open", "energy")
OF_AMOUNTS = {"faster": "less", "slower": "more"}


def load(directory):
    path = pathlib.Path(directory)
    path = path if path.is_file() else path / "data" / "report.json"
    if not path.exists():
        raise SystemExit(f"bench/report: {path} does not exist: name a directory that bench/report has written")
    return json.loads(path.read_text())


def is_time(line):
    return line.family not in COUNTED and not line.operation.endswith(UNITS)


def ratio_cells(line, at):
    ratio, interval, verdict, samples = tables.ratio_cells(at)
    if is_time(line):
        return [ratio, interval, verdict, samples]
    return [Cell(ratio.text, ratio.order), interval, Cell(OF_AMOUNTS.get(at.verdict, at.verdict)), samples]


def rows(first, second):
    """The table rows of the lines that both have."""
    for (run, line), samples in sorted(first.all(), key=lambda each: (each[0][0], *each[0][1])):
        a, b = [sample.value for sample in samples.values()], second.values(run, line)
        at = stats.unpaired_ratio(a, b) if b else None
        if at:
            yield [Cell(run), Cell(line.operation), Cell(line.memory), Cell(line.shape(), line.segments * line.size),
                   *ratio_cells(line, at), *tables.times(a)[:2], *tables.times(b)[:2]]


def block(name, first, second):
    found = list(rows(first, second))
    return Block("Each line that both have: A over B", f"bench/report --compare A B --only {name}", LIMITS, f"{len(found)} lines.",
                 columns=("run", "operation", "memory", "bytes", *tables.RATIO_COLUMNS[:-1], "samples", "A", "interval of A", "B", "interval of B"),
                 rows=found)


def differences(first, second):
    """The properties in which the two differ."""
    found = {}
    for group in ("machine", "packages"):
        for name in dict.fromkeys([*first[group], *second[group]]):
            pair = [side[group].get(name, "none") for side in (first, second)]
            if pair[0] != pair[1]:
                found[name] = " | ".join(pair)
    return list(found.items())


def build(directories, only, titles):
    """The page as text. `titles`: {section: title}."""
    first, second = (load(directory) for directory in directories)
    sections = []
    for name in first["figures"]:
        if name in second["figures"] and (not only or name in only):
            found = block(name, *(store.results_of(side["figures"][name]) for side in (first, second)))
            if found.rows:
                sections.append({"name": name, "title": titles.get(name, name), "blocks": [found]})
    if not sections:
        raise SystemExit("bench/report: the two have no line in common")
    sides = [{"title": f"{letter}: {directory}", "rows": page.describe(side)[0]["rows"]}
             for letter, directory, side in zip("AB", directories, (first, second))]
    properties = [*sides, {"title": "Where A and B differ", "rows": differences(first, second)}]
    method = ["Ratios are A / B of the medians: below 1, A takes less time, or less of what is counted.", LIMITS]
    return page.render({"title": "MPIX-RMA: two evaluations", "subtitle": " | ".join(map(str, directories)), "summary": [],
                        "sections": sections, "method": method,
                        "properties": [table for table in properties if table["rows"]]})
