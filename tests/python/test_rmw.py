"""Read-modify-writes."""
import warnings

import mpix_rma as rma
import numpy
from mpi4py import MPI
from support import NEXT, RANK, SIZE, WORLD, MemoryCase


class Rmw(MemoryCase):
    def test_operations(self):
        operations = {"INC": (None, 13), "PROD": (3, 36), "SUM": (3, 15), "LAND": (0, 0), "LOR": (0, 1), "LXOR": (1, 0),
                      "BAND": (6, 4), "BOR": (3, 15), "BXOR": (6, 10), "SWAP": (3, 3), "NO_OP": (None, 12),
                      "MIN": (3, 3), "MAX": (30, 30)}
        self.assertEqual(set(operations), set(rma.Rmw.__members__))
        target = self.memory.at(NEXT, "i8", ())
        for name, (operand, expected) in operations.items():
            with self.subTest(name=name):
                rma.rmw(rma.Rmw.SWAP, 12, target, WORLD, blocking=True, remote_completion=True)
                before = numpy.zeros((), "i8")
                rma.rmw(rma.Rmw[name], operand, target, WORLD, result=before, blocking=True)
                self.assertEqual(before, 12)
                self.assertEqual(rma.fetch_and_op(target, None, WORLD, rma.Rmw.NO_OP), expected)

    def test_operations_with_two_operands(self):
        target = self.memory.at(NEXT, "i8", ())
        expected = {"MASK_SWAP": 8, "COMP_SWAP_LT": 9, "COMP_SWAP_LE": 9, "COMP_SWAP_E": 12, "COMP_SWAP_GE": 12,
                    "COMP_SWAP_GT": 12, "COMP_SWAP_NE": 9}
        self.assertEqual(set(expected), set(rma.Rmw2.__members__))
        for name, value in expected.items():
            with self.subTest(name=name):
                rma.rmw(rma.Rmw.SWAP, 12, target, WORLD, blocking=True, remote_completion=True)
                before = numpy.zeros((), "i8")
                request = rma.rrmw2(rma.Rmw2[name], 4, 9, target, WORLD, result=before)
                request.Wait()
                self.assertEqual(before, 12)
                self.assertEqual(rma.fetch_and_op(target, None, WORLD, rma.Rmw.NO_OP), value)

    def test_concurrent_sums(self):
        """The list of drawn values shows a lost update as well as a value drawn twice."""
        counter = self.memory.at(0, "i8", ())
        drawn = [int(rma.fetch_and_op(counter, 1, WORLD)) for _ in range(300)]
        everything = sorted(sum(WORLD.allgather(drawn), []))
        self.assertEqual(everything, list(range(300 * SIZE)))

    def test_compare_and_swap(self):
        """A lock around an update that is not atomic."""
        lock, value = self.memory.at(0, "i8", 2)
        for _ in range(50):
            while rma.compare_and_swap(lock, 0, RANK + 1, WORLD) != 0:
                pass
            copy = numpy.zeros((), "i8")
            rma.get(copy, value, WORLD, blocking=True)
            copy += 1
            rma.put(copy, value, WORLD)
            rma.complete(WORLD, 0)
            self.assertEqual(rma.compare_and_swap(lock, RANK + 1, 0, WORLD), RANK + 1)
        WORLD.Barrier()
        if RANK == 0:
            self.assert_same(self.memory.array("i8", 2), [0, 50 * SIZE])

    def test_arrays(self):
        result = numpy.empty(5)
        rma.rmw(rma.Rmw.SUM, numpy.arange(5.0), self.memory.at(0, "d", 5), WORLD, result=result, atomicity=True)
        self.finish()
        self.assertIn(list(result), [[n * i for i in range(5)] for n in range(SIZE)])
        if RANK == 0:
            self.assert_same(self.own[:5], SIZE * numpy.arange(5.0))

    def test_address_as_target(self):
        rma.rmw(rma.Rmw.SUM, numpy.array([2.5]), (0, self.memory.bases[0]), WORLD)
        self.finish()
        if RANK == 0:
            self.assertEqual(self.own[0], 2.5 * SIZE)

    def test_names_of_one_type(self):
        address = self.memory.bases[NEXT]
        for name in (MPI.LONG, MPI.INT64_T, MPI.LONG_LONG, MPI.AINT):
            self.own[:] = 0
            WORLD.Barrier()
            before = numpy.zeros(3, "i8")
            for target in (self.memory.at(NEXT, "i8", 3), rma.Target(NEXT, address, name, 3), (NEXT, address)):
                for operand in ((numpy.ones(3, "i8"), name), numpy.ones(3, "i8")):
                    rma.rmw(rma.Rmw.SUM, operand, target, WORLD, result=(before, name), blocking=True)
            self.finish()
            self.assert_same(before, [5, 5, 5])
            self.assert_same(self.memory.array("i8", 3), [6, 6, 6])
            WORLD.Barrier()
        two = MPI.INT64_T.Create_contiguous(2).Commit()
        for operand in ((numpy.ones(3, "f8"), MPI.DOUBLE), (numpy.ones(6, "i8"), two), (numpy.ones(3, "u8"), MPI.BYTE)):
            with self.assertRaisesRegex(ValueError, "operand has elements of another type"):
                rma.rmw(rma.Rmw.SUM, operand, self.memory.at(NEXT, "i8", 3), WORLD)
        two.Free()

    def test_wrong_buffers_are_refused(self):
        """The library cannot know the sizes of operand and result."""
        two = self.memory.at(NEXT, "i8", 2)
        with self.assertRaisesRegex(ValueError, "result has 1 elements, and the operation 2"):
            rma.rmw(rma.Rmw.INC, None, two, WORLD, result=numpy.zeros(1, "i8"))
        with self.assertRaisesRegex(ValueError, "operand has elements of another type than the operation"):
            rma.rmw(rma.Rmw.SUM, numpy.zeros(2, "i4"), two, WORLD)
        with self.assertRaisesRegex(ValueError, "operand2 has 3 elements, and the operation 2"):
            rma.rmw2(rma.Rmw2.COMP_SWAP_E, numpy.zeros(2, "i8"), numpy.zeros(3, "i8"), two, WORLD)
        with self.assertRaisesRegex(TypeError, "must be contiguous"):
            rma.rmw(rma.Rmw.INC, None, self.memory.at(NEXT, "i8", 4)[::2], WORLD)
        with self.assertRaisesRegex(TypeError, "gaps"):
            rma.rmw(rma.Rmw.SUM, numpy.zeros(4, "i8")[::2], two, WORLD)
        with self.assertRaisesRegex(TypeError, "says what the elements are"):
            rma.rmw(rma.Rmw.INC, None, (NEXT, self.memory.bases[NEXT]), WORLD)
        with self.assertRaisesRegex(TypeError, "needs a target with a dtype"):
            rma.rmw(rma.Rmw.SUM, 1, (NEXT, self.memory.bases[NEXT]), WORLD)

    def test_numbers_that_the_type_cannot_hold_are_refused(self):
        with self.assertRaisesRegex(ValueError, "1.9 is no value of int64"):
            rma.rmw(rma.Rmw.SUM, 1.9, self.memory.at(NEXT, "i8", 1), WORLD)
        for value, kind, name in ((300, "u1", "uint8"), (2**63, "i8", "int64"), (-1, "u8", "uint64"),
                                  (float("inf"), "i8", "int64"), (1e300, "f4", "float32"),
                                  (10**400, "f8", "float64"), (1e300j, "F", "complex64"), (1j, "f8", "float64"),
                                  (numpy.complex128(1 + 2j), "f8", "float64"), (numpy.complex128(2j), "i8", "int64")):
            with self.subTest(value=value), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy, about 300 and -1
                with self.assertRaisesRegex(ValueError, f"is no value of {name}"):
                    rma.rmw(rma.Rmw.SUM, value, self.memory.at(NEXT, kind, 1), WORLD)
        with self.assertRaisesRegex(ValueError, "is no value of float64"):
            rma.compare_and_swap(self.next[0], 0.0, numpy.complex128(1j), WORLD)
        with self.assertRaisesRegex(ValueError, "is no value of float64"):
            rma.accumulate(numpy.ones(1), self.next[:1], WORLD, scale=numpy.complex64(1j))
        for scale in ("2", b"2", numpy.array("2"), numpy.array("2", object), numpy.array([b"2"], object)):
            with self.assertRaisesRegex(TypeError, "is no number"):
                rma.accumulate(numpy.ones(1), self.next[:1], WORLD, scale=scale)
        for scale in (numpy.array([]), numpy.array([2.0, 3.0])):
            with self.assertRaisesRegex(ValueError, "is not one number"):
                rma.accumulate(numpy.ones(2), self.memory.at(NEXT, "d", 2), WORLD, scale=scale)
            with self.assertRaisesRegex(ValueError, "is not one number"):
                rma.Plan(rma.Op.ACCUMULATE, "d", NEXT, "d", WORLD, scale=scale)
        with self.assertRaisesRegex(ValueError, "2.7 is no value of int64"):
            rma.accumulate(numpy.ones(1, "i8"), self.memory.at(NEXT, "i8", 1), WORLD, scale=2.7)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rma.rmw(rma.Rmw.SUM, numpy.complex128(2 + 0j), self.memory.at(NEXT, "f8", 1), WORLD)
        for value in (0.1, float("inf"), float("nan"), 2**53 + 1):
            rma.rmw(rma.Rmw.SUM, value, self.memory.at(NEXT, "f4", 1), WORLD)
        with self.assertRaises(rma.Error) as raised:
            rma.rmw(rma.Op.PUT, 1, self.memory.at(NEXT, "i8", ()), WORLD)
        self.assertEqual(raised.exception.error_class, MPI.ERR_OP)
