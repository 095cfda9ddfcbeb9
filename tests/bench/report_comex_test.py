"""The section of ComEx, with made-up programs: where the runtimes are built, and where they are not."""
import pathlib
import re
import unittest
import unittest.mock

import applications
from report import launch, model
from report.sections import comex
from report_test import HAS_PAGE, Directory


def options(**given):
    return type("Options", (), {"quick": False} | given)


class Comex(Directory):
    def setUp(self):
        super().setUp()
        self.peers = self.path / "peers"

    def add_ours(self, time=1.0):
        self.add_program("bench_armci_mpix", self.lines(time))
        self.add_program("bench_ga_mpix", self.lines_of_global_arrays(time))

    def add_runtime(self, runtime, time):
        """A build of the runtime whose programs print `time`."""
        for name, lines in (("bench_armci", self.lines(time)), ("bench_ga", self.lines_of_global_arrays(time))):
            program = self.peers / applications.comex_program(runtime, name)
            program.parent.mkdir(parents=True, exist_ok=True)
            text = "\n".join(f"echo '{line}'" for line in lines)
            program.write_text(f"#!/bin/sh\necho $RANKS >> '{self.path}/{runtime}'\n{text}\n")
            program.chmod(0o755)

    @staticmethod
    def lines_of_global_arrays(time):
        return [f"ga,i,application,allocated,2,0,{time}", f"ga,i,get,allocated,24,192,{time}"]

    @staticmethod
    def lines(time):
        found = [f"armci,i,{operation},allocated,1,{size},{time}"
                 for operation in ("get", "put", "acc") for size in (8, 4096)]
        found += [f"armci,i,{operation},allocated,{count},{segment},{time}" for segment in (16, 1024)
                  for count in (1, 16) for operation in ("gets", "puts", "accs", "getv", "putv", "accv")]
        return [*found, f"armci,i,rmw,allocated,1,8,{time}"]

    def measure(self, *arguments):
        self.start("--only", "comex", "--rounds", "6", "--quick", "--peers", str(self.peers), *arguments)
        return (self.report / "index.html").read_text()

    @unittest.skipUnless(HAS_PAGE, "jinja2 or matplotlib is missing")
    def test_runtimes_that_are_built_are_shown_with_what_they_win_and_lose(self):
        self.add_ours(1.0)
        self.add_runtime("mpi-pr", 4.0)
        self.add_runtime("mpi-ts", 0.5)
        text = self.measure()
        section = re.search(r'<section id="comex">.*?</section>', text, re.DOTALL).group(0)
        articles = re.findall(r"<article>.*?</article>", section, re.DOTALL)
        # Missing runtimes; the tables of Global Arrays and of ARMCI; three figures, and six with segments of each kind.
        self.assertEqual(len(articles), 1 + 2 + 3 + 2 * 6)
        for article in articles:
            self.assertIn("<pre>", article)
            self.assertIn("cannot tell", article)
        self.assertIn("Skipped, because not built: ComEx MPI-PT. To build: scripts/peers --runtimes mpi-pt.",
                      articles[0])
        self.assertIn("ComEx MPI-PR: 2 lines, 2 faster, 0 slower", articles[1])
        self.assertIn("ComEx MPI-TS: 2 lines, 0 faster, 2 slower", articles[1])
        self.assertIn("ComEx MPI-TS: 31 lines, 0 faster, 31 slower", articles[2])
        # MPI-PR has one process more.
        self.assertEqual([(self.path / runtime).read_text().split()[0] for runtime in ("mpi-pr", "mpi-ts")], ["3", "2"])

    @unittest.skipUnless(HAS_PAGE, "jinja2 or matplotlib is missing")
    def test_without_a_runtime_one_line_names_them_and_nothing_is_measured(self):
        self.add_ours()
        text = self.measure()
        section = re.search(r'<section id="comex">.*?</section>', text, re.DOTALL).group(0)
        self.assertEqual(section.count("<article>"), 1)
        self.assertIn("Skipped, because not built: ComEx MPI-PR, ComEx MPI-PT, ComEx MPI-TS. "
                      "To build: scripts/peers --runtimes mpi-pr,mpi-pt,mpi-ts.", section)
        self.assertEqual(self.starts("bench_armci_mpix") + self.starts("bench_ga_mpix"), 0)

    @unittest.skipUnless(HAS_PAGE, "jinja2 or matplotlib is missing")
    def test_runtimes_that_were_built_since_are_no_longer_skipped(self):
        self.add_ours()
        self.measure()
        for runtime in comex.RUNTIMES.values():
            self.add_runtime(runtime, 2.0)
        self.assertNotIn("Skipped, because not built", self.measure())

    def test_sides_of_a_group_differ_in_the_library_only(self):
        self.add_runtime("mpi-pr", 1.0)
        for group in comex.groups(options(peers=str(self.peers))):
            hosts = {run.hosts for run in group}
            self.assertEqual(len(hosts), 1)
            computing = [run.ranks - (run.hosts if "MPI-PR" in run.name else 0) for run in group]
            self.assertEqual(computing, [2] * len(group))
            self.assertEqual(len({dict(run.environment).get("BENCH_ONLY") for run in group}), 1)
            self.assertEqual([run.name.split(";")[0] for run in group], list(comex.labels(*hosts)))

    def test_programs_are_those_of_the_directory_of_the_peers(self):
        run = next(run for group in comex.groups(options()) for run in group if run.in_peers)
        started = launch.Launcher("/b", peers="/p")
        self.assertEqual(started.program(run), pathlib.Path("/p/ga-mpi-pr/bench_armci"))
        self.assertFalse(started.has(run))

    def test_a_rank_does_not_share_a_core_with_its_runtime_by_binding(self):
        self.add_runtime("mpi-pr", 1.0)
        started, bound = launch.Launcher("/b"), set()
        with unittest.mock.patch.object(launch.os, "sched_getaffinity", lambda _: set(range(8))):
            for group in comex.groups(options(peers=str(self.peers))):
                bound |= {run.name for run in group if run.hosts == 1 and "none" not in started.command(run)}
        self.assertEqual(bound, {comex.name(label, 1) for label in ("ours", "ARMCI-MPI osc/sm", "ComEx MPI-TS")})

    def test_a_line_of_one_side_only_is_left_out(self):
        def record(run, *lines):
            return {"run": comex.name(run, 1), "status": 0, "round": 0, "began": 0.0,
                    "rows": [[*line, 1.0] for line in lines]}

        both, one = ("armci", "rmw", "allocated", 1, 8), ("armci", "barrier", "allocated", 1, 8)
        results = model.Results([record("ours", both, one), record("ComEx MPI-PT", both)])
        rows = list(comex.ratio_rows(results, 1, "armci"))
        self.assertEqual([[cell.text for cell in row[:4]] for row in rows], [["rmw", "allocated", "8", "ComEx MPI-PT"]])


if __name__ == "__main__":
    unittest.main()
