"""bench/report with programs that print made-up times."""
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

from report.sections import conformance
from report import building, launch, machine, model, page, runner, sections, store, versus

REPORT = launch.ROOT / "bench" / "report"
# Prints the lines of a file and records each start.
PROGRAM = """#!/bin/sh
echo "$*" >> '{directory}/starts'
cat '{directory}/lines'
"""
try:
    import jinja2  # noqa: F401
    import matplotlib  # noqa: F401
    HAS_PAGE = True
except ImportError:
    HAS_PAGE = False


class Directory(unittest.TestCase):
    """A build of made-up programs, and a directory for the report."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name)
        self.report = self.path / "report"
        self.build = self.path / "build"
        (self.build / "bench").mkdir(parents=True)

    def add_program(self, name, lines):
        directory = self.path / name
        directory.mkdir(exist_ok=True)
        (directory / "lines").write_text("".join(f"{line}\n" for line in lines))
        program = self.build / "bench" / name
        program.write_text(PROGRAM.format(directory=directory))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def starts(self, name):
        path = self.path / name / "starts"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def start(self, *arguments, directory=None):
        command = [sys.executable, str(REPORT), "--output", str(directory or self.report), "--build-dir", str(self.build),
                   "--launcher", "env HOSTS={hosts} RANKS={ranks}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def add_attributes(self, ordering=2.0):
        times = {"none": 0.010, "ordering": 0.010 * ordering, "notify": 0.010, "atomicity": 0.005}
        self.add_program("bench_attributes", [f"attributes,mpix,{name},{memory},1,{size},{time}" for name, time in times.items()
                                              for memory in ("allocated", "heap") for size in (8, 4096)])


class Runs(Directory):
    def runner(self):
        return runner.Runner(store.Store(self.report), launch.Launcher(self.build, "env {ranks}=x"), 7, lambda text: None)

    def plan(self):
        self.add_program("one", ["f,i,put,allocated,1,8,1.5"])
        self.add_program("two", ["f,i,put,allocated,1,8,2.5"])
        return {"s": [[model.Run("one", "one"), model.Run("two", "two"), model.Run("once", "two", rounds=1)]]}

    def test_goes_on_after_an_interruption_and_repeats_nothing(self):
        plan = self.plan()
        kept = store.Store(self.report)
        kept.open({"commit": "c"}, dict)
        self.assertFalse(self.runner().run(plan, 4, time.monotonic() - 1))
        self.assertEqual(self.starts("one"), 0)
        self.assertTrue(self.runner().run(plan, 2, time.monotonic() + 600))
        self.assertEqual((self.starts("one"), self.starts("two")), (2, 3))
        # As if the interruption had come while the last line was written.
        path = self.report / "raw" / "s.jsonl"
        lines = path.read_text().splitlines()
        lost = json.loads(lines[-1])
        path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])
        self.assertTrue(self.runner().run(plan, 4, time.monotonic() + 600))
        found = kept.results("s")
        self.assertEqual(sorted(found.samples("one", model.Line("f", "put"))), [0, 1, 2, 3])
        self.assertEqual(sorted(found.samples("two", model.Line("f", "put"))), [0, 1, 2, 3])
        self.assertEqual(found.values("once", model.Line("f", "put")), [2.5])
        self.assertEqual(self.starts("one") + self.starts("two"), 4 + 4 + 1 + 1, lost["run"])

    def test_leaves_the_most_expensive_section_out_if_too_few_rounds_would_fit(self):
        told = []
        started = runner.Runner(store.Store(self.report), launch.Launcher(self.build, "env {ranks}=x"), 7, told.append)
        plan = {name: [[model.Run("one", "one")]] for name in ("cheap", "dear", "fair")}
        done = {name: set() for name in plan}
        started.total = 10
        started.seconds = {("cheap", "one"): 1, ("dear", "one"): 100, ("fair", "one"): 10}
        # After the first of at least six rounds, five are missing.
        self.assertEqual(list(started.affordable(plan, 1, done, time.monotonic() + 5 * 111 + 9)), ["cheap", "dear", "fair"])
        self.assertEqual(told, [])
        self.assertEqual(list(started.affordable(plan, 1, done, time.monotonic() + 5 * 111 - 9)), ["cheap", "fair"])
        self.assertEqual(len(told), 1)
        self.assertIn("dear: left out from here on", told[0])
        self.assertEqual(list(started.affordable(plan, 1, done, time.monotonic())), ["cheap"])
        # A run that has failed once is given up after the next failure.
        started.failures[("dear", "one")] = 1
        self.assertEqual(list(started.affordable(plan, 1, done, time.monotonic() + 100 + 5 * 11 + 9)), ["cheap", "dear", "fair"])

    def test_records_failures_and_gives_a_run_up_after_two(self):
        (self.build / "bench" / "fails").write_text("#!/bin/sh\necho broken >&2\necho >> '%s/count'\nexit 3\n" % self.path)
        (self.build / "bench" / "fails").chmod(0o755)
        kept = store.Store(self.report)
        kept.open({}, dict)
        self.runner().run({"s": [[model.Run("fails", "fails")]]}, 5, time.monotonic() + 600)
        self.assertEqual((self.path / "count").read_text(), "\n\n")
        self.assertEqual(kept.results("s").failures, {"fails": "exit status 3: broken"})

    def test_parts_of_a_run_are_started_each_and_read_together(self):
        self.add_program("first", ["f,i,put,allocated,1,8,1.5"])
        self.add_program("second", ["f,i,get,allocated,1,8,2.5"])
        plan = {"s": [[model.Run("both", program, part=program)] for program in ("first", "second")]}
        kept = store.Store(self.report)
        kept.open({}, dict)
        self.runner().run(plan, 2, time.monotonic() + 600)
        self.runner().run(plan, 2, time.monotonic() + 600)
        self.assertEqual((self.starts("first"), self.starts("second")), (2, 2))
        self.assertEqual([kept.results("s").values("both", model.Line("f", which)) for which in ("put", "get")],
                         [[1.5, 1.5], [2.5, 2.5]])

    def test_the_end_of_the_report_ends_the_program_that_it_has_started(self):
        program = self.build / "bench" / "bench_attributes"
        program.write_text(f"#!/bin/sh\necho $$ > '{self.path}/started'\nexec sleep 300\n")
        program.chmod(0o755)
        report = subprocess.Popen([sys.executable, str(REPORT), "--output", str(self.report), "--build-dir", str(self.build),
                                   "--launcher", "env {ranks}=", "--only", "attributes"], stderr=subprocess.PIPE, text=True)
        started = self.path / "started"
        while not (started.exists() and started.read_text().endswith("\n")):
            self.assertIsNone(report.poll())
            time.sleep(0.02)
        report.terminate()
        self.assertIn("goes on with the results", report.communicate()[1])
        self.await_end(int(started.read_text()))

    def test_an_interrupt_while_a_program_is_started_ends_the_program(self):
        pids = []

        class Interrupted(subprocess.Popen):
            def __init__(self, *arguments, **settings):
                super().__init__(*arguments, **settings)
                pids.append(self.pid)
                os.kill(os.getpid(), signal.SIGINT)

        (self.build / "bench" / "program").write_text("#!/bin/sh\nexec sleep 300\n")
        (self.build / "bench" / "program").chmod(0o755)
        with unittest.mock.patch.object(launch.subprocess, "Popen", Interrupted), self.assertRaises(KeyboardInterrupt):
            launch.Launcher(self.build, "env {ranks}=").start(model.Run("r", "program"), 1, 600)
        self.await_end(pids[0])

    def await_end(self, pid):
        """Waits until the killed process is a zombie, for which the kernel has to schedule it, or has been reaped."""
        stat = pathlib.Path(f"/proc/{pid}/stat")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                    return
            except (FileNotFoundError, ProcessLookupError):
                return
            time.sleep(0.02)
        self.fail(f"process {pid} goes on")

    def test_order_of_the_sides_changes(self):
        plan = self.plan()
        store.Store(self.report).open({}, dict)
        self.runner().run(plan, 12, time.monotonic() + 600)
        records = store.Store(self.report).records("s")
        first = [found[0] for number in range(12)
                 if (found := [record["run"] for record in records if record["round"] == number and record["run"] != "once"])]
        self.assertEqual(set(first), {"one", "two"})

    def test_results_of_another_commit_are_refused(self):
        kept = store.Store(self.report)
        kept.open({"commit": "a"}, lambda: {"seed": 1})
        self.assertEqual(kept.open({"commit": "a"}, lambda: self.fail("described again"))["seed"], 1)
        with self.assertRaisesRegex(SystemExit, "another commit"):
            kept.open({"commit": "b"}, lambda: {"seed": 2})

    def test_results_of_another_build_are_refused(self):
        self.add_program("bench_attributes", ["attributes,i,none,allocated,1,8,1.5"])
        self.start("--only", "attributes", "--rounds", "1")
        other = self.path / "other"
        shutil.copytree(self.build, other)
        self.build = other
        with self.assertRaisesRegex(AssertionError, "results with another build_dir"):
            self.start("--only", "attributes", "--rounds", "2")
        self.assertNotIn(str(self.path), (self.report / "settings.json").read_text())

    def test_a_run_with_results_of_other_rounds_is_said_to_have_them(self):
        records = [{"run": run, "round": number, "began": 0, "status": status, "error": "broken", "rows": [["f", "put", "a", 1, 8, 1.0]]}
                   for run, statuses in (("both", (0, 3)), ("never", (3,))) for number, status in enumerate(statuses)]
        self.assertEqual(page.failure_rows({"s": model.Results(records)}),
                         [("s: both", "exit status 3: broken (it has other results)"), ("s: never", "exit status 3: broken")])

    def test_launcher_of_a_batch_system_gets_hosts_and_ranks(self):
        run = model.Run("r", "p", ("x",), (("OMPI_MCA_osc", "sm"),), hosts=2, ranks=4)
        started = ["env", "OMPI_MCA_osc=sm", "/b/bench/p", "x"]
        self.assertEqual(launch.Launcher("/b", "srun --exclusive").command(run),
                         ["srun", "--exclusive", "-N", "2", "-n", "4", "--ntasks-per-node", "2", *started])
        self.assertEqual(launch.Launcher("/b", "prun -h{hosts} -r {ranks}").command(run), ["prun", "-h2", "-r", "4", *started])
        self.assertEqual(launch.Launcher("/b", "aprun -N {ranks_per_host}").command(run), ["aprun", "-N", "2", *started])

    def test_programs_of_mpich_need_a_launcher_of_their_own(self):
        self.add_program("p", [])
        run = model.Run("r", "p", hosts=2, mpi="mpich", packages="mpich")
        launcher = launch.Launcher(self.build, "srun --mpi=pmix")
        self.assertFalse(launcher.has(run))
        lines, kept = [], store.Store(self.report)
        kept.open({}, dict)
        runner.Runner(kept, launcher, 7, lines.append).skip("s", run)
        self.assertIn("--mpich-launcher is not given", lines[0])
        launcher = launch.Launcher(self.build, "srun --mpi=pmix", mpich_template="srun --mpi=pmi2")
        self.assertTrue(launcher.has(run))
        self.assertEqual(launcher.command(run)[:2], ["srun", "--mpi=pmi2"])

    def test_a_launcher_of_mpich_alone_is_refused(self):
        done = subprocess.run([sys.executable, str(REPORT), "--output", str(self.report), "--mpich-launcher", "srun"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--mpich-launcher needs --launcher", done.stderr)

    def test_hosts_of_a_launcher_are_described(self):
        alike = machine.describe_hosts(self.build, launch.Launcher(self.build, "sh -c '\"$@\"; \"$@\"' {hosts}"))
        self.assertEqual(alike["Described"], "2 hosts of the launcher's")
        self.assertEqual(alike["Kernel"], platform.release())
        unlike = "import sys; print('{\"Kernel\": \"1\"}'); print('{\"Kernel\": \"2\", \"UCX\": \"3\"}')"
        different = machine.describe_hosts(self.build, launch.Launcher(self.build, shlex.join(["python3", "-c", unlike, "{hosts}"])))
        self.assertEqual((different["Kernel"], different["UCX"]), ("1; 2", "unknown; 3"))
        failed = machine.describe_hosts(self.build, launch.Launcher(self.build, "sh -c 'echo no allocation >&2' {hosts}"))
        self.assertIn("no allocation", failed["Described"])
        self.assertEqual(failed["Kernel"], platform.release())
        self.assertNotIn("Described", machine.describe_hosts(self.build, launch.Launcher(self.build)))


class Building(Directory):
    def test_brings_the_programs_up_to_date_before_it_measures(self):
        (self.build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.path}\n")
        cmake = self.path / "bin" / "cmake"
        cmake.parent.mkdir()
        cmake.write_text(f"#!/bin/sh\necho \"$*\" >> '{self.path}/built'\n[ \"$4\" != help ] || echo 'bench_calls: phony'\n")
        cmake.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, PATH=f"{self.path}/bin:{os.environ['PATH']}"):
            building.bring_up_to_date(self.build, {"bench_calls", "bench_call", "bench_absent"}, lambda text: None)
        self.assertEqual((self.path / "built").read_text().splitlines()[1:], [f"--build {self.build} --target bench_calls"])


@unittest.skipUnless(HAS_PAGE, "jinja2 or matplotlib is missing")
class Page(Directory):
    def check(self, path):
        """Returns the page as a tree and as text, and checks that every reference stays inside the page."""
        text = path.read_text()
        tree = ElementTree.fromstring(text)
        references = [value for element in tree.iter() for name, value in element.attrib.items()
                      if re.sub(r"^\{.*\}", "", name) in ("src", "href", "srcset", "data", "action")]
        self.assertTrue(references)
        ids = [element.get("id") for element in tree.iter() if element.get("id")]
        self.assertEqual(len(ids), len(set(ids)), "an id stands there twice")
        for reference in [*references, *re.findall(r"url\(([^)]*)\)", text)]:
            self.assertRegex(reference, "^#")
            self.assertIn(reference[1:], ids)
        self.assertNotRegex(text, r"@import|https?://")
        return tree, text

    def test_is_well_formed_and_refers_to_nothing_outside(self):
        self.add_attributes()
        self.start("--only", "attributes", "--rounds", "6")
        tree, text = self.check(self.report / "index.html")
        self.assertEqual(self.starts("bench_attributes"), 12)
        self.assertIn("Rounds: attributes 6. ", text)
        self.assertIn("The launcher chose the host. Other costs", text)
        self.assertNotIn("joined by TCP without a wire", text)
        shown = [section.get("id") for section in tree.iter("section")]
        # Sections without measurements are left out, but for the clauses, which need none.
        self.assertEqual(shown, ["attributes", "conformance", "method"])
        self.assertGreater(len(list(tree.iter("svg"))), 3)
        for article in tree.iter("article"):
            self.assertTrue(article.findall("pre"), "a figure without its command")
            self.assertIn("cannot tell", "".join(article.itertext()))

    def test_shows_lost_lines_like_won_ones_and_says_no_difference(self):
        self.add_attributes()
        self.start("--only", "attributes", "--rounds", "6")
        tree, text = self.check(self.report / "index.html")
        rows = {row[0]: row for table in tree.iter("table")
                for row in [["".join(cell.itertext()) for cell in line.iter("td")] for line in table.iter("tr")]
                if len(row) == 11 and row[1:4] == ["one host", "heap", "4,096"]}
        self.assertEqual([rows[name][4] for name in ("ordering", "notify", "atomicity")], ["2.00", "1.00", "0.50"])
        self.assertEqual([rows[name][6] for name in ("ordering", "notify", "atomicity")], ["slower", "no difference", "faster"])
        top = {cells[0].text: cells for cells in (line.findall("td") for line in next(tree.iter("table")).iter("tr")) if cells}
        self.assertEqual([(top[name][1].get("class"), *top[name][1].itertext()) for name in ("ordering", "notify", "atomicity")],
                         [("lost", "2.00", "2.00 to 2.00"), ("same", "1.00", "1.00 to 1.00"), ("won", "0.50", "0.50 to 0.50")])

    def test_writes_figures_with_their_origin(self):
        self.add_attributes()
        self.start("--only", "attributes", "--rounds", "6")
        content = json.loads((self.report / "data" / "report.json").read_text())
        self.assertIn("Processor", content["machine"])
        self.assertRegex(content["commit"], r"^[0-9a-f]{40}\+?$|unknown")
        ordering = [found for found in content["figures"]["attributes"] if found["operation"] == "ordering"]
        self.assertEqual({found["median"] for found in ordering}, {0.02})
        self.assertEqual(len(ordering), 8)
        table = (self.report / "data" / "attributes.csv").read_text().splitlines()
        self.assertEqual(len(table), 1 + 12 * 16)
        self.assertTrue(table[1].endswith(content["commit"]))

    def test_compares_two_reports(self):
        other = self.path / "other"
        self.add_attributes(ordering=2.0)
        self.start("--only", "attributes", "--rounds", "6")
        self.add_attributes(ordering=4.0)
        self.start("--only", "attributes", "--rounds", "6", directory=other)
        self.start("--compare", str(self.report), str(other), directory=self.path / "both")
        tree, _ = self.check(self.path / "both" / "compare.html")
        rows = [["".join(cell.itertext()) for cell in line.iter("td")] for line in tree.iter("tr")]
        found = {(row[1], row[2]): row for row in rows if len(row) == 12 and row[0] == "two hosts" and row[3] == "8"}
        self.assertEqual(found[("ordering", "heap")][4:7], ["0.50", "0.50 to 0.50", "faster"])
        self.assertEqual(found[("none", "heap")][4:7], ["1.00", "1.00 to 1.00", "no difference"])
        # One machine: no table of differences.
        self.assertEqual([heading.text for heading in tree.iter("h3")][-2:], [f"A: {self.report}", f"B: {other}"])
        with self.assertRaisesRegex(SystemExit, "no line in common"):
            versus.build([self.report, other], ["osu"], {})

    def test_bundle_has_results_page_and_survey(self):
        self.add_attributes()
        self.start("--only", "attributes", "--rounds", "2")
        self.start("--bundle")
        with tarfile.open(self.path / "report.tar.gz") as archive:
            names = set(archive.getnames())
            self.assertEqual({entry.uname for entry in archive.getmembers()}, {""})
        self.assertLessEqual({"report/index.html", "report/raw/attributes.jsonl", "report/data/report.json", "report/survey.md"},
                             names)


class Sections(unittest.TestCase):
    def test_have_distinct_names_and_runs(self):
        for quick in (False, True):
            options = type("Options", (), {"quick": quick})
            found = sections.load_all()
            self.assertEqual(len({section.NAME for section in found}), len(found))
            self.assertEqual(found[0].NAME, "attributes")
            for section in found:
                runs = [run.key() for group in section.groups(options) for run in group]
                self.assertEqual(len(runs), len(set(runs)), section.NAME)

    def test_of_which_nothing_was_measured_are_empty(self):
        for section in sections.load_all():
            if section.NAME != "conformance":
                self.assertEqual(section.blocks(model.Results([])), [])

    def test_of_which_something_was_measured_have_lists_of_blocks(self):
        def record(run, *rows):
            return {"run": run, "status": 0, "round": 0, "began": 0.0, "rows": [[*row, 1.0] for row in rows]}

        measured = {
            "progress": [record("MPIX_RMA, one host", ("progress", "accumulate", "heap", 1, 8), ("idle", "cpu_per_second", "none", 1, 0))],
            "threads": [record("MPIX_RMA", *(("threads", "put_other_target", "heap", count, 8) for count in (1, 2, 4)))],
            "touch": [record(run, ("gups", "update first", "allocated", 1, 1 << 26), ("gups", "update page faults", "allocated", 1, 1 << 26))
                      for run in ("MPIX_RMA", "windows, osc/sm")]}
        for section in sections.load_all():
            if section.NAME in measured:
                found = section.blocks(model.Results(measured[section.NAME]))
                self.assertIsInstance(found, list)
                self.assertEqual(len(found), 1 if section.NAME == "threads" else 2)
                self.assertTrue(all(block.rows and len(row) == len(block.columns) for block in found for row in block.rows))


class Conformance(unittest.TestCase):
    def test_recorded_run_has_counts_of_each_section_and_run(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory)
            (path / "results").mkdir()
            (path / "clauses.md").write_text("## One\n| X1_01 | s | r | yes |\n| X1_02 | s | r | yes |\n## Two\n| G_01 | s | r | yes |\n")
            for run, failed in (("np1", None), ("np2", "X1_02")):
                tests = [{"name": f"{name}_x", "result": "COMPLETED", **({"failures": [1]} if name == failed else {})}
                         for name in ("X1_01", "X1_02", "G_01")]
                content = {"testsuites": [{"testsuite": tests if run == "np2" else tests[:2]}]}
                (path / "results" / f"conformance.{run}.json").write_text(json.dumps(content))
            done = subprocess.run([sys.executable, str(launch.ROOT / "spec-conformance" / "report"), "table",
                                   str(path / "clauses.md"), str(path / "results")], capture_output=True, text=True,
                                  env=dict(os.environ, MPIX_CONFORMANCE_RECORD=str(path / "recorded.json")))
            self.assertEqual(done.returncode, 0, done.stderr)
            with unittest.mock.patch.object(conformance, "RECORD", path / "recorded.json"):
                block = conformance.blocks(model.Results([]))[0]
        self.assertRegex(block.text, r"^20\d\d-\d\d-\d\d, commit (\w{12}|unknown)\.$")
        self.assertEqual(block.columns, ("section", "np1", "np2"))
        self.assertEqual([[cell.text for cell in row] for row in block.rows], [["One", "2/2", "1/2"], ["Two", "", "1/1"]])
        self.assertEqual([[cell.style for cell in row] for row in block.rows], [["", "", "lost"], ["", "", ""]])
