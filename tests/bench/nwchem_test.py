"""The programs that bench/nwchem links, and those that its arguments name. Nothing is compiled, and no calculation runs."""
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


def link(work, folder):
    """An empty program where --build-only would have linked one."""
    program = work / "nwchem-7.0.2" / "bin" / folder / "nwchem"
    program.parent.mkdir(parents=True)
    program.touch()
    return program


class Programs(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)

    def global_arrays(self, **answers):
        """The directory of an installation whose ga-config gives these answers."""
        config = self.work / "ga-mpi-pr" / "bin" / "ga-config"
        config.parent.mkdir(parents=True, exist_ok=True)
        cases = "".join(f"--{option}) echo '{answer}' ;;\n" for option, answer in answers.items())
        config.write_text(f"#!/bin/sh\nfor option; do case $option in\n{cases}esac; done\n")
        config.chmod(0o755)
        return config.parents[1]

    def words_of_comex(self, place):
        with contextlib.redirect_stderr(io.StringIO()) as text:
            found = nwchem.words_of_comex(nwchem.parse(["--global-arrays", str(place)]))
        return found, text.getvalue()

    def test_with_comex_needs_the_libraries_and_the_integers_of_debian(self):
        right = {"fflags": " -fdefault-integer-8", "blas_size": "4", "use_scalapack": "1"}
        place = self.global_arrays(**right)
        self.assertEqual(self.words_of_comex(place), ([f"EXTERNAL_GA_PATH={place.resolve()}"], ""))
        for wrong in {"fflags": ""}, {"blas_size": "8"}, {"use_scalapack": "0"}:
            found, text = self.words_of_comex(self.global_arrays(**(right | wrong)))
            self.assertEqual(found, [], wrong)
            self.assertIn("no ScaLAPACK, or other integers", text)
        self.assertEqual(self.words_of_comex(self.work / "absent"), ([], ""))

    def test_that_lack_are_linked_each_in_its_folder(self):
        source = self.work / "nwchem-7.0.2" / "src"
        for file in source / "GNUmakefile", source.parent / "lib" / "LINUX64" / "complete":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        (source.parent / "bin").mkdir()
        made = []

        def run(command, log, **_):
            made.append(command)
            (pathlib.Path(command[2].partition("=")[2]) / "nwchem").touch()

        def build():
            made.clear()
            nwchem.build(options, self.work)
            return [command[2:] for command in made]

        options = nwchem.parse([])
        with unittest.mock.patch.multiple(nwchem, run_quietly=run, environment=lambda source: {}, words_of_armci=lambda options: ["a"],
                                          words_of_comex=lambda options: words):
            words = []
            self.assertEqual(build(), [[f"BINDIR={source.parent}/bin/LINUX64", "a"]])
            words = ["b"]
            self.assertEqual(build(), [[f"BINDIR={source.parent}/bin/comex", "b"]])
            self.assertEqual(build(), [])
            options.relink = True
            self.assertEqual(len(build()), 2)

    def test_with_comex_has_another_process(self):
        program = link(self.work, "comex")
        options = nwchem.parse(["--one", "comex"])
        with unittest.mock.patch.object(nwchem, "calculate", return_value=(1.5, "output")) as calculated, \
                contextlib.redirect_stdout(io.StringIO()):
            nwchem.calculate_one(options, self.work)
        basis = {"NWCHEM_BASIS_LIBRARY": f"{self.work}/nwchem-7.0.2/src/basis/libraries/"}
        calculated.assert_called_once_with(options, program, None, basis, 1)

    def test_that_are_not_linked_are_skipped_with_the_command(self):
        for side, command in ("armci", "bench/nwchem --build-only"), ("comex", "scripts/peers --runtimes mpi-pr"):
            with contextlib.redirect_stderr(io.StringIO()) as text, self.assertRaises(SystemExit) as ended:
                nwchem.calculate_one(nwchem.parse(["--one", side]), self.work)
            self.assertEqual(ended.exception.code, 77)
            self.assertTrue(text.getvalue().startswith(f"skipped: {command}"), text.getvalue())


class Binaries(unittest.TestCase):
    def refused(self, *arguments):
        """What the program says about arguments that it refuses."""
        with contextlib.redirect_stderr(io.StringIO()) as text, self.assertRaises(SystemExit) as ended:
            nwchem.parse(arguments)
        self.assertEqual(ended.exception.code, 2)
        return text.getvalue()

    def test_are_measured_beside_the_others(self):
        with tempfile.TemporaryDirectory() as work:
            options = nwchem.parse(["--binary", "MPI-PT=/bin/sh", "--binary", "other=/bin/ls", "--spare", "MPI-PT=1",
                                    "--peers", "none", "--work", work])
            self.assertEqual(options.ranks, 2)
            named = [("MPI-PT", "/bin/sh", None, {}, 1), ("other", "/bin/ls", None, {}, 0)]
            self.assertEqual(list(nwchem.contenders(options)), named)
            linked = [link(pathlib.Path(work), folder) for folder in ("LINUX64", "comex")]
            found = list(nwchem.contenders(options))
            self.assertEqual([each[:2] for each in found], [*zip(("this ARMCI", "ComEx MPI-PR"), linked),
                                                            *(each[:2] for each in named)])
            self.assertEqual([each[4] for each in found], [0, 1, 1, 0])

    def test_have_their_further_processes(self):
        started = []

        def run(command, **_):
            started.append(command)
            return nwchem.subprocess.CompletedProcess(command, 0, " Total CCSD(T) energy: -76.25\n", "")

        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(nwchem.subprocess, "run", run):
            options = nwchem.parse(["--binary", "pr=/bin/sh", "--spare", "pr=1", "--peers", "none", "--work", work])
            for options.two_hosts in (False, True):
                for _, *what in nwchem.contenders(options):
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
        for name in ("stock", "armci", "comex", "mpix", "this ARMCI", "ComEx MPI-PR"):
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
