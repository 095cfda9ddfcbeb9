"""The section of contention, from made-up measurements, and the simulation that checks its growth."""
import dataclasses
import subprocess
import sys
import unittest

from report import coherence, launch, model, parse, sensitivity
from report.coherence import Access, Costs, Operation
from report.sections import contention
from report_test import HAS_PAGE

COUNTER = (Access("load", 0, 83), Access("atomic", 1, 22), Access("end", 2, 52))
LOCKED = (Access("atomic", 0, 400), Access("load", 1, 100), Access("store", 1, 4), Access("store", 0, 55),
          Access("end", 2, 160))
SETTING = sensitivity.Setting(Costs(72, 10, 20), Operation(COUNTER, 9), Operation(COUNTER, 9, 64),
                              Operation(LOCKED, 60, 1, True), 20, 240)
# (operation, places, ranks): nanoseconds; the model finds about the same on two cores
MEASURED = {("transfer", 1, 2): 72, ("bare", 1, 1): 6, ("bare", 1, 2): 23, ("bare", 8, 1): 6, ("bare", 64, 1): 6,
            ("bare", 64, 2): 9,
            **{("counters", places, 1): 9 for places in (1, 8, 64)}, ("counters", 1, 2): 40, ("counters", 8, 2): 19,
            ("counters", 64, 2): 13, **{("accumulate", places, 1): 60 for places in (1, 8, 64)},
            ("accumulate", 1, 2): 225, ("accumulate", 8, 2): 94, ("accumulate", 64, 2): 82, ("fence", 1, 2): 246}
SIMULATED = "".join(f"hot_spot,simgrid,{operation},{network},1,{cores},{cores}.5\n"
                    for operation in ("counter", "barrier") for network in ("crossbar", "torus")
                    for cores in contention.CORES)


def records(measured=None, simulated=SIMULATED):
    accesses = [["accesses", name, access.kind, number, access.line, access.instructions]
                for name, found in (("counters", COUNTER), ("accumulate", LOCKED), ("fence", COUNTER))
                for number, access in enumerate(found)]
    rows = [["many_cores", operation, str(places), ranks, 8, time / 1000]
            for (operation, places, ranks), time in (MEASURED if measured is None else measured).items()]
    found = ((contention.MEASURED, rows), (contention.RECORDED, accesses),
             (contention.SIMULATED, parse.lines(simulated)))
    return [{"run": run.name, "status": 0, "round": 0, "began": 0.0, "rows": rows} for run, rows in found if rows]


def blocks(*given, **named):
    return contention.blocks(model.Results(records(*given, **named)))


def kinds(found):
    return [block.title.split(":")[0] for block in found]


@unittest.skipUnless(HAS_PAGE, "matplotlib is missing")
class Section(unittest.TestCase):
    def test_has_check_prediction_plot_sensitivity_and_simulation(self):
        found = blocks()
        self.assertEqual(kinds(found), ["Two cores", "Model", "Model", "Model", "SimGrid"])
        for block in found:
            self.assertTrue(block.command and block.limits)
            self.assertTrue(block.svg or block.rows)
            self.assertTrue(all(len(row) == len(block.columns) for row in block.rows), block.title)
        self.assertEqual(found[1].columns[2:5], ("16 cores, ns", "64 cores, ns", "128 cores, ns"))
        self.assertEqual([row[1].text for row in found[1].rows], ["1", "8", "64"] * 2 + ["1"])
        self.assertEqual([row[0].text for row in found[3].rows], list(sensitivity.VARIATIONS))
        cells = [cell.text for cell in found[4].rows[1]]
        self.assertEqual((cells[0], cells[2:4], cells[5:7]), ("16", ["16.50"] * 2, ["16.50"] * 2))

    def test_says_when_two_cores_contradict_the_model(self):
        self.assertIn("% away", blocks()[0].text)
        loaded = MEASURED | {("transfer", 1, 2): 700, ("accumulate", 1, 2): 60}
        self.assertIn("not to be trusted", blocks(loaded)[0].text)

    def test_without_simgrid_or_without_measurements_has_the_rest(self):
        self.assertEqual(kinds(blocks(simulated="")), ["Two cores", "Model", "Model", "Model"])
        self.assertEqual(kinds(blocks(measured={})), ["SimGrid"])
        partial = {key: value for key, value in MEASURED.items() if key[0] != "fence"}
        self.assertEqual(kinds(blocks(partial, simulated="")), ["Two cores", "Model"])


class Sensitivity(unittest.TestCase):
    BASE = "as measured on two cores"

    def figures(self, *titles):
        return [sensitivity.figures(sensitivity.VARIATIONS[title](SETTING)) for title in titles]

    def test_half_and_double_transfers_enter_in_proportion_where_a_line_is_hot(self):
        base, half, double = self.figures(self.BASE, "a transfer takes half", "a transfer takes double")
        self.assertLess(half["counter"], 0.75 * base["counter"])
        self.assertGreater(double["counter"], 1.5 * base["counter"])
        self.assertAlmostEqual(double["fence"] - 20, 2 * (base["fence"] - 20))
        self.assertEqual(sensitivity.broken(base), [])

    def test_cores_that_leave_the_line_of_a_lock_alone_make_the_lock_faster_and_nothing_else(self):
        base, calm = self.figures(self.BASE, "waiting cores leave the line of a lock alone")
        self.assertLess(calm["lock"], 0.9 * base["lock"])
        self.assertEqual((calm["counter"], calm["fence"]), (base["counter"], base["fence"]))

    def test_a_conclusion_that_does_not_hold_is_named(self):
        base, = self.figures(self.BASE)
        for letter, change in (("A", {"counter growth": 1.2}), ("B", {"gain": 1.9}), ("C", {"lock over counter": 2.9}),
                               ("D", {"lock growth": 1.2}), ("E", {"fence growth": 2.1})):
            self.assertEqual(sensitivity.broken(base | change), [letter])

    def test_lines_of_another_socket_take_longer(self):
        near, far = (coherence.contended(Operation((Access("atomic", 0, 1),), 1), 2, costs)[0]
                     for costs in (Costs(100, 0), Costs(100, 0, sockets=2, far=3)))
        self.assertAlmostEqual(far / near, 3, delta=0.1)
        one_socket = dataclasses.replace(SETTING.costs, far=3)
        self.assertEqual(one_socket.between(0, 1), SETTING.costs.transfer)


class Simulation(unittest.TestCase):
    PROGRAM = str(launch.ROOT / "bench" / "hot-spot")

    def test_is_skipped_by_name_without_simgrid(self):
        done = subprocess.run([sys.executable, "-S", self.PROGRAM], capture_output=True, text=True)
        self.assertEqual(done.returncode, launch.SKIPPED)
        self.assertRegex(done.stderr, "^skipped: .*python3-simgrid")

    def test_finds_the_times_that_follow_from_the_distances(self):
        done = subprocess.run([sys.executable, self.PROGRAM, "--cores", "16", "--rounds", "8"], capture_output=True,
                              text=True)
        if done.returncode == launch.SKIPPED:
            self.skipTest("no SimGrid")
        found = {(row[1], row[2]): row[5] for row in parse.lines(done.stdout)}
        self.assertAlmostEqual(found["counter", "crossbar"], 1, places=2)
        self.assertAlmostEqual(found["barrier", "crossbar"], 4, places=2)
        # On 4 x 4 places, two different places are 2.1 hops apart on average.
        self.assertTrue(1.5 < found["counter", "torus"] < 3, found)
        self.assertGreater(found["barrier", "torus"], 4)


if __name__ == "__main__":
    unittest.main()
