"""Checks that figures of documents are those of the evaluation report. A figure is a link to a section of the page. The
title of the link names what was measured, with both sides of a ratio:

    [0.62](docs/evaluation/index.html#osu "MPIX_RMA, one host: put_latency allocated 8 / windows, osc/sm, one host: put_latency
    allocated 8")

The title is RUN: OPERATION MEMORY SIZE, once or twice; an operation may have several words. A size of several segments is
SEGMENTSxBYTES. A ratio is the median of the ratios of pairs, as on the page. The text may round the figure. An interval,
rounded likewise, and a verdict may follow the figure: "(0.60 to 0.64)", "(0.5 to 1.2, unclear)".
Figures, tables and page have to be of the commit that docs/evaluation/summary.md names, and this text has to name the
time of the measurement and the processor of the report.

usage: claims.py DIRECTORY [--write]

--write   put the report's figures into the documents, and its commit and time into docs/evaluation/summary.md
"""
import csv
import json
import pathlib
import re
import sys

DOCUMENTS = ("README.md", "docs/performance.md", "docs/evaluation/summary.md")
EVALUATION = "docs/evaluation"
INTERVAL = r'(?:\s\(([\d.,]+) to ([\d.,]+)(?:, ([a-z ]+))?\))?'
LINK = re.compile(r'\[([\d.,]+)\]\((\S*?index\.html)#([\w-]+)\s+"([^"]*)"\)' + INTERVAL)
UNNAMED = re.compile(r'\[([\d.,]+)\]\((\S*?index\.html)#[\w-]+\)')
SECTION = re.compile(r"\]\(\S*?index\.html#([\w-]+)")
SIDE = re.compile(r"(.+): (.+) (\S+) (?:(\d+)x)?(\d+)")
COMMIT = re.compile(r"commit `([0-9a-f]{12,40})`")
MEASURED = re.compile(r"Measured (\S+ \S+ UTC to \S+ \S+ UTC)")


def samples_of(figures, side):
    """{round: Sample} of the line that a side of a title names; raises ValueError if the report has no such line."""
    from report import model
    found = SIDE.fullmatch(side.strip())
    if not found:
        raise ValueError(f"\"{side.strip()}\" is not RUN: OPERATION MEMORY SIZE")
    run, operation, memory, segments, size = found.groups()
    for line in figures:
        if (line["run"], line["operation"], line["memory"], line["segments"], line["bytes"]) == \
                (run, operation, memory, int(segments or 1), int(size)):
            return {int(number): model.Sample(*sample) for number, sample in line["samples"].items()}
    raise ValueError(f"the report has no line \"{side.strip()}\"")


def figure_of(figures, title):
    """The Summary or the Ratio that a title names."""
    from report import stats
    sides = [samples_of(figures, side) for side in title.split(" / ")]
    if len(sides) == 1:
        return stats.summary([sample.value for sample in sides[0].values()])
    ratio = stats.ratio(*sides)
    if ratio is None:
        raise ValueError(f"the report has no pairs for \"{title}\"")
    return ratio


def rounded(value, text):
    decimals = len(text.partition(".")[2])
    return f"{value:,.{decimals}f}" if "," in text else f"{value:.{decimals}f}"


def faults_of(document, report, sections):
    text = document.read_text()
    for found in UNNAMED.finditer(text):
        yield f"{document.name}: the figure {found[1]} does not say what was measured"
    for section in set(SECTION.findall(text)) - sections:
        yield f"{document.name}: the page has no section {section}"
    for shown, _, section, title, least, most, verdict in LINK.findall(text):
        title = re.sub(r"\s+", " ", title)
        try:
            found = figure_of(report["figures"].get(section, []), title)
        except ValueError as error:
            yield f"{document.name}: {shown}: {error}"
            continue
        wanted = [(shown, found.median), *([(least, found.low), (most, found.high)] if least else [])]
        for text_value, value in wanted:
            if rounded(value, text_value) != text_value:
                yield f"{document.name}: {text_value} is {value:.4g} in the report: {title}"
        if verdict and verdict != getattr(found, "verdict", None):
            yield f"{document.name}: \"{verdict}\" is not the report's verdict: {title}"


def figures_written(text, report):
    """The text with the report's figures, in as many decimals as before. A figure that the report lacks stays."""
    def current(link):
        shown, path, section, title, least, most, _ = link.groups()
        try:
            found = figure_of(report["figures"].get(section, []), re.sub(r"\s+", " ", title))
        except ValueError:
            return link[0]
        written = f'[{rounded(found.median, shown)}]({path}#{section} "{title}")'
        if not least:
            return written
        verdict = getattr(found, "verdict", None)
        shown_verdict = "" if verdict in (None, "faster", "slower") else f", {verdict}"
        return f"{written} ({rounded(found.low, least)} to {rounded(found.high, most)}{shown_verdict})"
    return LINK.sub(current, text)


def write(root):
    directory = root / EVALUATION
    report = json.loads((directory / "data" / "report.json").read_text())
    for document in (root / name for name in DOCUMENTS):
        if document.exists():
            document.write_text(figures_written(document.read_text(), report))
    summary = directory / "summary.md"
    text = COMMIT.sub(f"commit `{report['commit']}`", summary.read_text())
    summary.write_text(MEASURED.sub(f"Measured {report['measured']}", text))


def faults_of_commit(directory, report):
    """Tables, page and text of another commit than the figures."""
    commit = report["commit"]
    named = COMMIT.findall((directory / "summary.md").read_text())
    if not named or any(not commit.startswith(found) for found in named):
        yield f"summary.md names the commit {', '.join(named) or 'none'}, the report is of {commit}"
    for path in sorted((directory / "data").glob("*.csv")):
        with open(path, newline="") as table:
            found = {row["commit"] for row in csv.DictReader(table)}
        if found != {commit}:
            yield f"{path.name} is of commit {', '.join(sorted(found))}, the report of {commit}"
    if commit not in (directory / "index.html").read_text():
        yield f"index.html is not of commit {commit}"


def faults_of_origin(directory, report):
    """A time or a processor in the text that are not the report's."""
    text = (directory / "summary.md").read_text()
    for found in MEASURED.findall(text) or ["at no time"]:
        if found != report["measured"]:
            yield f"summary.md was measured {found}, the report {report['measured']}"
    processor = " ".join(report["machine"]["Processor"].replace("(R)", "").split()[:2])
    if f"- {processor}" not in text:
        yield f"summary.md has no paragraph that begins with {processor}, the report's processor"


def check(root):
    """The faults, and the number of figures."""
    directory = root / EVALUATION
    report = json.loads((directory / "data" / "report.json").read_text())
    sections = set(re.findall(r'<section id="([\w-]+)"', (directory / "index.html").read_text()))
    documents = [root / name for name in DOCUMENTS if (root / name).exists()]
    faults = [fault for document in documents for fault in faults_of(document, report, sections)]
    figures = sum(len(LINK.findall(document.read_text())) for document in documents)
    return [*faults, *faults_of_commit(directory, report), *faults_of_origin(directory, report)], figures


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(root / "bench" / "support"))
    if "--write" in sys.argv[2:]:
        write(root)
    faults, figures = check(root)
    if not figures:
        faults.append("no document has a figure of the report")
    print("\n".join(faults) if faults else f"{figures} figures are those of the report")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
