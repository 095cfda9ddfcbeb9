"""Shared by the tests of the Python package, which run under mpirun at any number of ranks."""
import os
import random
import sys
import unittest

import mpix_rma as rma
import numpy
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
NEXT, PREVIOUS = (RANK + 1) % SIZE, (RANK - 1) % SIZE


def seeded():
    """The same random numbers at all ranks. MPIX_TEST_SEED repeats a run."""
    seed = int(os.environ.get("MPIX_TEST_SEED", random.SystemRandom().randrange(2**32)))
    seed = WORLD.bcast(seed)
    if RANK == 0:
        print(f"MPIX_TEST_SEED={seed}", file=sys.stderr)
    return random.Random(seed)


class MemoryCase(unittest.TestCase):
    """A test with `count` doubles of allocated memory at every rank, zeroed."""

    count = 100

    def setUp(self):
        self.memory = rma.allocate(8 * self.count, WORLD)
        self.own = self.memory.array("d")
        self.own[:] = 0
        self.next = self.memory.at(NEXT, "d")
        WORLD.Barrier()

    def tearDown(self):
        rma.complete(WORLD)
        del self.own
        self.memory.free()

    def finish(self):
        """Completes the operations of all ranks."""
        rma.complete(WORLD)
        WORLD.Barrier()

    def assert_same(self, found, expected):
        numpy.testing.assert_array_equal(found, expected)


class AbortingResult(unittest.TextTestResult):
    """Aborts the job at the first failure: the other ranks may be waiting for this one."""

    def _abort(self):
        for test, trace in self.failures + self.errors:
            print(f"rank {RANK}: {test}\n{trace}", file=sys.stderr, flush=True)  # only rank 0 has a stream
        WORLD.Abort(1)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._abort()

    def addError(self, test, err):
        super().addError(test, err)
        self._abort()

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._abort()
