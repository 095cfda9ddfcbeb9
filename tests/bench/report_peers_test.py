"""Programs that bench/report starts beside Open MPI's: those of MPICH and of OpenSHMEM, and NWChem."""
import unittest
import unittest.mock

from report.sections import nwchem
from report import launch, model, parse, runner, store, versus
from report_test import HAS_PAGE, Directory


class Peers(Directory):
    def test_programs_of_mpich_are_started_by_its_mpirun(self):
        def which(name):
            return f"/bin/{name}"

        one, two = (model.Run("r", "p", ("x",), (("A", "b"),), hosts=hosts, mpi="mpich") for hosts in (1, 2))
        started = launch.Launcher("/b")
        with unittest.mock.patch.object(launch.shutil, "which", which):
            command = started.command(one)
            self.assertEqual((command[0], command[-6:]), ("/bin/mpirun.mpich", ["-np", "2", "env", "A=b", "/b/bench/p", "x"]))
            self.assertEqual(started.command(two)[1:5], ["--mpich", "--ranks-per-host", "1", "--"])
            self.assertTrue(started.shown(one).startswith("mpirun.mpich "))

    def test_run_without_its_packages_is_skipped_by_name(self):
        run = model.Run("MPICH, one host", "absent", mpi="mpich", packages="mpich")
        program = self.build / "bench" / "present"
        program.touch()
        self.assertFalse(launch.Launcher(self.build).has(run))
        with unittest.mock.patch.object(launch.shutil, "which", lambda name: None):
            self.assertFalse(launch.Launcher(self.build).has(model.Run("r", "present", mpi="mpich")))
            self.assertTrue(launch.Launcher(self.build).has(model.Run("r", "present")))
        kept = store.Store(self.report)
        kept.open({}, dict)
        runner.Runner(kept, launch.Launcher(self.build), 7, lambda text: None).skip("s", run)
        self.assertEqual(kept.results("s").failures, {"MPICH, one host": "skipped: absent is missing, which needs mpich"})

    def test_report_names_peers_that_are_missing(self):
        self.add_program("bench_osu", ["osu,i,put_latency,allocated,1,8,1.5"])
        self.start("--only", "osu", "--rounds", "1")
        text = (self.report / "index.html").read_text() if HAS_PAGE else (self.report / "raw" / "osu.jsonl").read_text()
        for name in ("MPIX_RMA on MPICH", "windows, MPICH", "OpenSHMEM"):
            for hosts in ("one host", "two hosts"):
                self.assertRegex(text, rf"{name}, {hosts}[^|]{{0,400}}skipped: bench_osu_\w+ is missing")


class NWChem(unittest.TestCase):
    OUTPUT = """
   1     -0.2075246701 -2.075D-01  1.103D-02     0.08     0.00     0.05
  16     -0.2120232380 -1.344D-11  3.002D-11     0.20     0.01     0.00
                  *************converged*************
 Total CCSD energy:            -76.238084670197097
 Time for integral evaluation pass     1        0.06
 Time for triples evaluation pass      1        0.02
 Total CCSD+T(CCSD) energy:            -76.241263033271210
 Total CCSD(T) energy:                 -76.241174855573718
 Task  times  cpu:        0.9s     wall:        2.3s
basis: cc-pvdz
wall seconds: 2.875
"""

    def test_output_has_times_and_energy(self):
        found = {row[1]: row[5] for row in parse.nwchem(self.OUTPUT)}
        self.assertEqual(found, {"wall": 2.875, "ccsd": found["ccsd"], "triples": found["triples"], "energy": -76.241174855573718})
        self.assertAlmostEqual(found["ccsd"], 0.34)
        self.assertAlmostEqual(found["triples"], 0.08)

    def test_calculations_with_different_bases_are_not_compared(self):
        found = [model.Results([{"run": "r", "status": 0, "round": 0, "began": 0.0,
                                 "rows": parse.nwchem(self.OUTPUT.replace("cc-pvdz", basis))}])
                 for basis in ("cc-pvdz", "aug-cc-pvdz")]
        self.assertEqual(len(list(versus.rows(found[0], found[0]))), 3)
        self.assertEqual(list(versus.rows(*found)), [])

    def test_output_without_energy_or_times_has_no_rows(self):
        for missing in ("Total CCSD(T)", "wall seconds", "basis", "triples evaluation", "integral evaluation"):
            lines = [line for line in self.OUTPUT.splitlines() if missing not in line]
            self.assertEqual(len(parse.nwchem("\n".join(lines))), 4 if "evaluation" in missing else 0, missing)
        self.assertEqual(parse.nwchem(""), [])

    def test_is_measured_in_quick_mode_only_where_it_is_named(self):
        def options(**given):
            return type("Options", (), {"quick": False, "only": None} | given)

        self.assertEqual(nwchem.groups(options(quick=True)), [])
        for given in (options(), options(quick=True, only=["nwchem"])):
            runs = [run for group in nwchem.groups(given) for run in group]
            for side in "packaged, osc/mpix", "ARMCI, this library", "Global Arrays on ComEx MPI-PR":
                for place in "4 ranks, one host", "2 ranks, two hosts":
                    self.assertIn(f"{side}; {place}", [run.name for run in runs])
            self.assertEqual(launch.Launcher("/b").command(runs[0])[0], str(launch.ROOT / "bench" / "nwchem"))

    def test_ours_have_a_ratio_to_stock_and_one_to_comex(self):
        rows = parse.nwchem(self.OUTPUT)
        seconds = {"stock": 4.0, "mpix": 2.0, "armci": 3.0, "comex": 1.0}
        records = [{"run": nwchem.name(side, 1, 2), "status": 0, "round": number, "began": 0.0,
                    "rows": [[*row[:5], seconds[side] if row[1] == "wall" else row[5]] for row in rows]}
                   for side in seconds for number in range(6)]
        for without, expected in (None, "2.00"), ("comex", ""):
            kept = [record for record in records if without is None or record["run"] != nwchem.name(without, 1, 2)]
            table = next(block for block in nwchem.blocks(model.Results(kept)) if "program" in block.columns)
            cells = {row[1].text: dict(zip(table.columns, (cell.text for cell in row))) for row in table.rows}
            of_mpix, of_armci = (cells[nwchem.LABELS[side]] for side in ("mpix", "armci"))
            self.assertEqual((of_mpix["ratio"], of_armci["ratio"]), ("0.50", "0.75"))
            self.assertEqual(of_mpix["ratio to ComEx MPI-PR"], expected)
            for side in {"stock", "comex"} - {without}:
                self.assertEqual({cells[nwchem.LABELS[side]][column] for column in ("ratio", "ratio to ComEx MPI-PR")}, {""})

    def test_energies_that_differ_are_marked(self):
        def blocks(other, hosts=1):
            rows = parse.nwchem(self.OUTPUT)
            records = [{"run": nwchem.name(side, hosts if side == "mpix" else 1, 2), "status": 0, "round": number, "began": 0.0,
                        "rows": [[*row[:5], row[5] + (other if row[1] == "energy" and side == "mpix" else 0)] for row in rows]}
                       for side in ("stock", "mpix") for number in (0, 1)]
            return nwchem.blocks(model.Results(records))

        stock, ours = (nwchem.name(side, 1, 2) for side in ("stock", "mpix"))
        # The lower energy counts as the right one of two.
        for other, wrong in ((5e-9, set()), (2e-8, {ours}), (-2e-8, {stock})):
            found = blocks(other)
            self.assertEqual({row[0].text: row[3].text for row in found[-1].rows},
                             {name: "NO" if name in wrong else "yes" for name in (stock, ours)}, other)
            self.assertTrue(all(len(row) == len(block.columns) for block in found for row in block.rows))
        # On two hosts the basis is another, and so is the energy.
        self.assertEqual([row[3].text for row in blocks(1e-3, hosts=2)[-1].rows], ["yes", "yes"])
