"""bench/run --compare with programs that print made-up times."""
import argparse
import contextlib
import csv
import io
import math
import os
import pathlib
import random
import tempfile
import unittest

import compare

# Prints the lines of its build that BENCH_ONLY matches, as bench/support/harness.hpp does. After its first twelve runs it
# prints those of the file `later`, if there is one.
PROGRAM = """#!/bin/sh
case "${LD_DEBUG:-}" in
  files) echo "1: calling init: %(build)s/lib/mpix-rma/openmpi/mca_osc_mpix.so" > "$LD_DEBUG_OUTPUT.1"; exit ;;
esac
echo >> '%(build)s/runs'
lines='%(build)s/lines'
[ "$(wc -l < '%(build)s/runs')" -le 12 ] || [ ! -e '%(build)s/later' ] || lines='%(build)s/later'
while IFS=, read -r family operation value; do
  echo "$family $operation allocated 8" | grep -Eq "${BENCH_ONLY:-.}" && echo "$family,mpix,$operation,allocated,1,8,$value"
done < "$lines"
exit 0
"""


class Interval(unittest.TestCase):
    def test_is_the_innermost_of_its_confidence(self):
        # Order statistics of the binomial distribution with 1/2, from tables of the sign test.
        for count, left_out in ((6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (15, 3)):
            ratios = list(range(count))
            random.shuffle(ratios)
            self.assertEqual(compare.interval(ratios), (left_out, count - 1 - left_out), count)

    def test_of_few_is_their_range(self):
        self.assertEqual(compare.interval([2.0]), (2.0, 2.0))
        self.assertEqual(compare.interval([3.0, 1.0, 2.0]), (1.0, 3.0))

    def test_holds_the_median_as_often_as_it_says(self):
        seed = int(os.environ.get("MPIX_TEST_SEED", random.randrange(2**32)))
        print(f"MPIX_TEST_SEED={seed}")
        source = random.Random(seed)
        rounds = 20000
        for count in (6, 9, 12):
            held = 0
            for _ in range(rounds):
                least, most = compare.interval([source.lognormvariate(0, 1) for _ in range(count)])
                held += least <= 1 <= most
            # Six standard deviations: fails once in hundreds of millions of runs.
            self.assertGreater(held / rounds, 0.95 - 6 * math.sqrt(0.05 * 0.95 / rounds), count)


class Comparison(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name).resolve()

    def build(self, name, lines, later=None):
        """A build whose bench_rma prints `lines`, (family, operation, value), and whose other programs are missing."""
        build = self.root / name
        (build / "bench").mkdir(parents=True)
        for file, content in (("lines", lines), ("later", later)):
            if content:
                (build / file).write_text("".join(f"{family},{operation},{value}\n" for family, operation, value in content))
        program = build / "bench" / "bench_rma"
        program.write_text(PROGRAM % {"build": build})
        program.chmod(0o755)
        return build

    def compare(self, this, base, suites=None, **changed):
        """The exit status, and the verdict of each operation on one host."""
        options = argparse.Namespace(**{**dict(compare=str(base), build_dir=str(this), two_hosts=False, quick=True, repeat=None,
                                               only=None, minutes=5, csv=str(self.root / "csv")), **changed})
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = compare.compare(options, lambda build, suite, arguments: arguments, suites)
        with open(self.root / "csv") as table:
            return status, {row["operation"]: row["verdict"] for row in csv.DictReader(table) if row["hosts"] == "1"}

    def test_names_the_slower_and_the_faster_line(self):
        base = self.build("base", [("rma", "put", 1.0), ("rma", "get", 1.0), ("rma", "swap", 1.0), ("rma", "add", 1.0)])
        this = self.build("this", [("rma", "put", 1.04), ("rma", "get", 1.02), ("rma", "swap", 0.5), ("rma", "new", 1.0)])
        self.assertEqual(self.compare(this, base), (1, {"put": "slower", "get": "", "swap": "faster"}))

    def test_measures_again_what_seems_slower(self):
        base = self.build("base", [("rma", "put", 1.0), ("rma", "get", 1.0)])
        this = self.build("this", [("rma", "put", 1.1), ("rma", "get", 1.1)], later=[("rma", "put", 1.1), ("rma", "get", 1.0)])
        # A pair runs bench_rma twice in each build, for one host and for two: six pairs are twelve runs.
        self.assertEqual(self.compare(this, base, repeat=6), (1, {"put": "slower", "get": ""}))

    def test_finds_nothing_in_a_build_beside_itself(self):
        build = self.build("same", [("rma", "put", 1.0)])
        self.assertEqual(self.compare(build, build), (0, {"put": ""}))

    def test_counts_instructions_exactly(self):
        base = self.build("base", [("instructions", "put", 100), ("instructions", "get", 100)])
        this = self.build("this", [("instructions", "put", 104), ("instructions", "get", 103)])
        self.assertEqual(self.compare(this, base), (1, {"put": "slower", "get": ""}))

    def test_measures_only_what_is_asked_for(self):
        base = self.build("base", [("rma", "put", 1.0), ("rma", "get", 1.0)])
        this = self.build("this", [("rma", "put", 2.0), ("rma", "get", 1.0)])
        self.assertEqual(self.compare(this, base, only="rma get"), (0, {"get": ""}))
        with self.assertRaises(SystemExit):
            self.compare(this, base, only="rma nothing")

    def test_leaves_open_what_there_is_no_time_for(self):
        base = self.build("base", [("rma", "put", 1.0)])
        this = self.build("this", [("rma", "put", 2.0)])
        self.assertEqual(self.compare(this, base, minutes=0), (2, {"put": "undecided"}))

    def test_distinguishes_the_storage_of_a_memory_server(self):
        suites = [compare.Suite("bench_rma", storage=storage) for storage in ("memory", "file")]
        self.assertEqual([suite.memory_in_lines("nam") for suite in suites], ["nam memory", "nam file"])
        self.assertIsNone(suites[0].memory_in_lines("allocated"))
        self.assertEqual(compare.Suite("bench_rma").memory_in_lines("allocated"), "allocated")
        self.assertEqual(suites[1].pattern((1, "window", "put", "nam file", 1, 8)), "window put nam 8")

    def test_refuses_libraries_of_another_build(self):
        base = self.build("base", [("rma", "put", 1.0)])
        this = self.build("this", [("rma", "put", 1.0)])
        (this / "bench" / "bench_rma").write_text((base / "bench" / "bench_rma").read_text())
        with self.assertRaisesRegex(SystemExit, "loads .*base/lib"):
            self.compare(this, base)


if __name__ == "__main__":
    unittest.main()
