"""The report's directory: raw results of each run as JSON lines, written at once, so that an interrupted report goes on
where it stopped; settings; and the figures as CSV and JSON."""
import csv
import json
import os
import pathlib

from . import model, stats

LINE_COLUMNS = ["family", "operation", "memory", "segments", "bytes"]


class Store:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.raw = self.directory / "raw"
        self.data = self.directory / "data"
        self.settings_path = self.directory / "settings.json"

    def open(self, identity, description):
        """Returns the settings in force: those of the results that are there, or else `identity` with what `description`
        returns, which is called in this case alone. Results with another `identity`, such as a commit, are no samples of the
        same thing: ends with an error."""
        self.raw.mkdir(parents=True, exist_ok=True)
        if not self.settings_path.exists():
            settings = dict(identity, **description())
            self.settings_path.write_text(json.dumps(settings, indent=1) + "\n")
            return settings
        found = self.settings()
        other = [name for name in identity if found.get(name) != identity[name]]
        if other:
            raise SystemExit(f"bench/report: {self.directory} has results with another {', '.join(other)}: remove it, or name "
                             "another directory by --output")
        return found

    def settings(self):
        if not self.settings_path.exists():
            raise SystemExit(f"bench/report: {self.directory} has no results")
        return json.loads(self.settings_path.read_text())

    def records(self, section):
        path = self.raw / f"{section}.jsonl"
        if not path.exists():
            return []
        found = []
        for line in path.read_text().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # an interruption cut this line off
        return found

    def append(self, section, record):
        path = self.raw / f"{section}.jsonl"
        torn = path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n")
        with open(path, "a") as out:
            out.write(("\n" if torn else "") + json.dumps(record) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def results(self, section):
        launched = self.settings_path.exists() and self.settings().get("launcher", "") != ""
        return model.Results(self.records(section), launched)

    def done(self, section):
        """The pairs (key of a run, round) that have a result."""
        return {(record["key"], record["round"]) for record in self.records(section) if record["status"] == 0}

    def write_figures(self, sections, description):
        """data/SECTION.csv has each sample, data/report.json the machine, the parameters and the medians."""
        self.data.mkdir(parents=True, exist_ok=True)
        figures = {}
        for section in sections:
            results = self.results(section.NAME)
            write_samples(self.data / f"{section.NAME}.csv", results, description["commit"])
            figures[section.NAME] = [figure(run, line, samples) for (run, line), samples in results.all()]
        content = dict(description, figures={name: found for name, found in figures.items() if found})
        (self.data / "report.json").write_text(json.dumps(content, indent=None, separators=(",", ":")) + "\n")
        return content


def figure(run, line, samples):
    values = [sample.value for sample in samples.values()]
    found = stats.summary(values)
    return dict(zip(["run", *LINE_COLUMNS], [run, *line]), median=found.median, least=found.low, most=found.high,
                outliers=list(found.outliers), samples={number: list(sample) for number, sample in samples.items()})


def write_samples(path, results, commit):
    rows = [[run, *line, number, f"{sample.began:.0f}", sample.value, commit]
            for (run, line), samples in results.all() for number, sample in samples.items()]
    if not rows:
        return
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["run", *LINE_COLUMNS, "round", "began", "value", "commit"])
        writer.writerows(rows)


def results_of(figures):
    """The Results of a section of report.json."""
    records = [{"run": found["run"], "round": int(number), "began": began, "status": 0,
                "rows": [[*(found[name] for name in LINE_COLUMNS), value]]}
               for found in figures for number, (began, value) in found["samples"].items()]
    return model.Results(records)
