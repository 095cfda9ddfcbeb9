"""claims.py finds figures that are not those of the report."""
import csv
import json
import pathlib
import tempfile
import unittest

import claims

COMMIT = "a" * 40
MEASURED = "2030-01-02 03:04 UTC to 2030-01-02 05:06 UTC"
SUMMARY = f"- Measured {MEASURED}, commit `{COMMIT[:12]}`\n- Acme Fast, 2 cores"
TITLE = "ours, one host: put heap 8 / theirs: put heap 8"


class Claims(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        self.evaluation = self.root / "docs" / "evaluation"
        (self.evaluation / "data").mkdir(parents=True)
        lines = [self.line("ours, one host", [1, 2, 4]), self.line("theirs", [2, 8, 4]), self.line("theirs", [5], segments=16)]
        report = {"commit": COMMIT, "measured": MEASURED, "machine": {"Processor": "Acme(R) Fast(R) Processor"},
                  "figures": {"osu": lines}}
        (self.evaluation / "data" / "report.json").write_text(json.dumps(report))
        (self.evaluation / "index.html").write_text(f'<section id="osu"></section> {COMMIT}')
        self.write_table(COMMIT)
        self.write("docs/evaluation/summary.md", SUMMARY)

    @staticmethod
    def line(run, values, segments=1):
        return {"run": run, "family": "osu", "operation": "put", "memory": "heap", "segments": segments, "bytes": 8,
                "samples": {str(number): [100.0 * number, value] for number, value in enumerate(values)}}

    def write(self, name, text):
        (self.root / name).write_text(text)

    def write_table(self, commit):
        with open(self.evaluation / "data" / "osu.csv", "w", newline="") as out:
            csv.writer(out).writerows([["run", "commit"], ["ours, one host", commit]])

    def faults(self, text=""):
        self.write("README.md", text)
        return claims.check(self.root)[0]

    def link(self, shown, title=TITLE, section="osu"):
        return f'a put takes [{shown}](docs/evaluation/index.html#{section} "{title}") of theirs'

    def test_the_median_of_pairs_passes_as_it_is_rounded(self):
        for shown in ("0.50", "0.5"):
            self.assertEqual(self.faults(self.link(shown)), [])
        self.assertEqual(self.faults(self.link("5.00", "theirs: put heap 16x8")), [])
        self.assertEqual(claims.check(self.root)[1], 1)

    def test_another_figure_does_not(self):
        self.assertIn("0.51 is 0.5 in the report", self.faults(self.link("0.51"))[0])

    def test_interval_and_verdict_behind_a_figure(self):
        self.assertEqual(self.faults(self.link("0.50") + " of theirs (0.7 to 0.8)"), [])  # not of the figure
        link = self.link("0.50").removesuffix(" of theirs")
        self.assertEqual(self.faults(link + " (0.25 to 1.00, too few pairs)"), [])
        self.assertIn("0.26 is 0.25", self.faults(link + " (0.26 to 1.00)")[0])
        self.assertIn("1.01 is 1 in", self.faults(link + " (0.25 to 1.01)")[0])
        self.assertIn("not the report's verdict", self.faults(link + " (0.25 to 1.00, no difference)")[0])

    def test_a_line_that_breaks_is_one_title(self):
        self.assertEqual(self.faults(self.link("0.50", TITLE.replace(" heap 8 / ", "\nheap 8 / "))), [])

    def test_what_the_report_does_not_have(self):
        self.assertIn("the report has no line", self.faults(self.link("0.50", "ours, one host: get heap 8"))[0])
        self.assertIn("has no section other", self.faults(self.link("0.50", section="other"))[0])
        self.assertIn("has no section other", self.faults("[latency](docs/evaluation/index.html#other)")[0])
        self.assertEqual(self.faults("[latency](docs/evaluation/index.html#osu)"), [])
        self.assertIn("is not RUN", self.faults(self.link("0.50", "fast"))[0])
        self.assertIn("does not say what", self.faults("[0.50](docs/evaluation/index.html#osu)")[0])

    def test_tables_page_and_text_of_another_commit(self):
        self.write_table("b" * 40)
        self.assertIn("osu.csv is of commit " + "b" * 40, self.faults()[0])
        self.write_table(COMMIT)
        self.write("docs/evaluation/summary.md", SUMMARY.replace(COMMIT[:12], "bbbbbbbbbbbb"))
        self.assertIn("names the commit bbbbbbbbbbbb", self.faults()[0])
        self.write("docs/evaluation/summary.md", SUMMARY)
        self.assertEqual(self.faults(), [])
        (self.evaluation / "index.html").write_text('<section id="osu"></section>')
        self.assertIn("index.html is not of", self.faults()[0])

    def test_a_text_of_another_time_or_machine(self):
        self.write("docs/evaluation/summary.md", SUMMARY.replace("2030", "2029", 1))
        self.assertIn("was measured 2029", self.faults()[0])
        self.write("docs/evaluation/summary.md", SUMMARY.replace("Measured", ""))
        self.assertIn("at no time", self.faults()[0])
        self.write("docs/evaluation/summary.md", SUMMARY.replace("- Acme Fast", "- Other Fast, beside an Acme Fast"))
        self.assertIn("begins with Acme Fast", self.faults()[0])

    def test_written_figures_are_those_of_the_report(self):
        link = self.link("0.51").removesuffix(" of theirs")
        self.write("README.md", f"{link} (0.1 to 2.00) for {self.link('9.0', 'theirs: put heap 16x8')}")
        self.write("docs/evaluation/summary.md",
                   SUMMARY.replace(COMMIT[:12], "bbbbbbbbbbbb").replace("03:04", "03:05"))
        claims.write(self.root)
        self.assertEqual(claims.check(self.root), ([], 2))
        self.assertEqual((self.root / "README.md").read_text(),
                         f"{self.link('0.50').removesuffix(' of theirs')} (0.2 to 1.00, too few pairs) for "
                         f"{self.link('5.0', 'theirs: put heap 16x8')}")


if __name__ == "__main__":
    unittest.main()
