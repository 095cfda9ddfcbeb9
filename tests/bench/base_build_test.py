"""The sources that bench/run --compare REVISION builds, in a small repository with a commit and later changes."""
import contextlib
import io
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import base_build

CMAKE = """cmake_minimum_required(VERSION 3.22)
project(small NONE)
add_custom_target(bench_rma ALL COMMAND grep -q "%s" ${CMAKE_SOURCE_DIR}/bench/program
                  COMMAND cp ${CMAKE_SOURCE_DIR}/library ${CMAKE_SOURCE_DIR}/bench/program ${CMAKE_BINARY_DIR})
add_custom_target(mca_osc_mpix)
"""


@unittest.skipUnless(shutil.which("git"), "git is missing")
class BaseBuild(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.addCleanup(setattr, base_build, "ROOT", base_build.ROOT)
        base_build.ROOT = self.root
        self.git("init", "--quiet")

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments],
                       check=True)

    def write(self, library, program, needs):
        (self.root / "bench").mkdir(exist_ok=True)
        (self.root / "library").write_text(library)
        (self.root / "bench" / "program").write_text(program)
        (self.root / "CMakeLists.txt").write_text(CMAKE % needs)

    def build_first(self, needs):
        """Commits a library that builds only with programs that contain `needs`, changes all, and builds the commit."""
        self.write("first library", "first program", needs)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "first")
        self.write("second library", "second program", "second")
        this = self.root / "this"
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.root, "-B", this], check=True, capture_output=True)
        with contextlib.redirect_stderr(io.StringIO()):
            return base_build.build_revision("HEAD", this, ["bench_rma"])

    def test_takes_the_programs_of_this_tree(self):
        build = self.build_first("program")
        self.assertEqual((build / "library").read_text(), "first library")
        self.assertEqual((build / "program").read_text(), "second program")

    def test_takes_its_own_programs_where_those_cannot_be_built(self):
        build = self.build_first("first")
        self.assertEqual((build / "library").read_text(), "first library")
        self.assertEqual((build / "program").read_text(), "first program")

    def test_refuses_what_is_no_revision(self):
        with self.assertRaisesRegex(SystemExit, "neither a directory with a build nor a revision"):
            base_build.build_revision("nothing", self.root / "this", ["bench_rma"])


if __name__ == "__main__":
    unittest.main()
