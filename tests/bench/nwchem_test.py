"""The arguments of bench/nwchem that name further programs. No calculation runs."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest
import unittest.mock

from report import launch

loader = importlib.machinery.SourceFileLoader("nwchem", str(launch.ROOT / "bench" / "nwchem"))
nwchem = importlib.util.module_from_spec(importlib.util.spec_from_loader("nwchem", loader))
loader.exec_module(nwchem)


class Binaries(unittest.TestCase):
    def refused(self, *arguments):
        """What the program says about arguments that it refuses."""
        with contextlib.redirect_stderr(io.StringIO()) as text, self.assertRaises(SystemExit) as ended:
            nwchem.parse(arguments)
        self.assertEqual(ended.exception.code, 2)
        return text.getvalue()

    def test_are_measured_beside_the_others(self):
        options = nwchem.parse(["--binary", "ComEx MPI-PR=/bin/sh", "--binary", "other=/bin/ls",
                                "--spare", "ComEx MPI-PR=1", "--peers", "none"])
        self.assertEqual(options.ranks, 2)
        self.assertEqual(list(nwchem.contenders(options, None, None)),
                         [("ComEx MPI-PR", "/bin/sh", None, {}, 1), ("other", "/bin/ls", None, {}, 0)])
        labels = [label for label, *_ in nwchem.contenders(options, "/bin/true", pathlib.Path("/source"))]
        self.assertEqual(labels, ["this ARMCI", "ComEx MPI-PR", "other"])

    def test_have_their_further_processes(self):
        started = []

        def run(command, **_):
            started.append(command)
            return nwchem.subprocess.CompletedProcess(command, 0, " Total CCSD(T) energy: -76.25\n", "")

        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(nwchem.subprocess, "run", run):
            options = nwchem.parse(["--binary", "pr=/bin/sh", "--spare", "pr=1", "--peers", "none", "--work", work])
            for options.two_hosts in (False, True):
                for _, *what in nwchem.contenders(options, None, None):
                    nwchem.calculate(options, *what)
        one, two = started
        self.assertEqual(one[one.index("-np") + 1], "3")
        self.assertEqual(two[two.index("--ranks-per-host") + 1], "3")

    def test_one_of_them_is_calculated_by_its_name(self):
        options = nwchem.parse(["--binary", "pr=/bin/sh", "--spare", "pr=1", "--one", "pr"])
        with unittest.mock.patch.object(nwchem, "calculate", return_value=(1.5, "output")) as calculated, \
                contextlib.redirect_stdout(io.StringIO()) as text:
            nwchem.calculate_one(options, pathlib.Path("/nowhere"))
        calculated.assert_called_once_with(options, "/bin/sh", None, {}, 1)
        self.assertIn("wall seconds: 1.500", text.getvalue())

    def test_names_and_paths_have_to_be_right(self):
        self.assertIn("not of the form", self.refused("--binary", "/bin/sh"))
        self.assertIn("is no program", self.refused("--binary", "a=/nowhere"))
        self.assertIn("is no program", self.refused("--binary", "a=/"))
        for name in ("stock", "armci", "mpix", "this ARMCI"):
            self.assertIn("is taken", self.refused("--binary", f"{name}=/bin/sh"))
        self.assertIn("is taken", self.refused("--binary", "a=/bin/sh", "--binary", "a=/bin/ls"))
        self.assertIn("no --binary b", self.refused("--binary", "a=/bin/sh", "--spare", "b=1"))
        self.assertIn("not a number", self.refused("--binary", "a=/bin/sh", "--spare", "a=x"))

    def test_without_anything_to_run_it_ends_with_a_message(self):
        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(
                nwchem.sys, "argv", ["nwchem", "--no-build", "--peers", "none", "--work", work]):
            with self.assertRaisesRegex(SystemExit, "nothing to run"):
                nwchem.main()


if __name__ == "__main__":
    unittest.main()
