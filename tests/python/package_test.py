"""Runs the tests of the Python package: all of this directory, or those of the modules named.

usage: mpirun -np N python3 package_test.py [MODULE...]
"""
import pathlib
import sys
import unittest

import support

HERE = pathlib.Path(__file__).parent
MODULES = sorted(path.stem for path in HERE.glob("test_*.py"))


def main():
    sys.path.insert(0, str(HERE))
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:] or MODULES)
    stream = sys.stderr if support.RANK == 0 else open("/dev/null", "w", encoding="utf-8")
    result = unittest.TextTestRunner(stream=stream, verbosity=2, resultclass=support.AbortingResult).run(suite)
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)


if __name__ == "__main__":
    main()
