"""Order, notification, attributes, plans, statistics, errors, version."""
import pathlib
import re

import mpix_rma as rma
import numpy
from mpi4py import MPI
from support import NEXT, PREVIOUS, RANK, SIZE, WORLD, MemoryCase


class Order(MemoryCase):
    def test_fence(self):
        for scope in ((WORLD,), (WORLD, NEXT), (WORLD, rma.ALL_RANKS), (WORLD, MPI.PROC_NULL)):
            rma.put(numpy.full(100, 1.0), self.next, WORLD)
            rma.fence(*scope)
            rma.put(numpy.full(100, 2.0), self.next, WORLD)
        self.finish()
        self.assert_same(self.own, numpy.full(100, 2.0))

    def test_wrong_scopes(self):
        for call in (rma.complete, rma.complete_local, rma.fence, rma.icomplete, rma.icomplete_local):
            with self.assertRaises(rma.Error) as raised:
                call(WORLD, SIZE)
            self.assertEqual(raised.exception.error_class, MPI.ERR_RANK)
            self.assertEqual(repr(raised.exception), f"Error({str(raised.exception)!r})")
            with self.assertRaises(TypeError):
                call()
            with self.assertRaises(TypeError):
                call(WORLD, 0, 0)


class Notification(MemoryCase):
    def test_data_is_there(self):
        rma.set_num_notify(WORLD, 3 + RANK)
        self.assertEqual(rma.get_num_notify(WORLD), 3 + RANK)
        WORLD.Barrier()
        for _ in range(5):
            rma.put(numpy.full(100, 1.0 + RANK), self.next, WORLD, notify=2, ordering=True)
        with rma.wait_notify_value(WORLD, 2, 5):
            pass
        self.assert_same(self.own, numpy.full(100, 1.0 + PREVIOUS))
        self.assertEqual([rma.get_notify_value(WORLD, i) for i in range(3)], [0, 0, 5])
        self.assertEqual(rma.reset_notify_value(WORLD, 2), 5)
        self.assertEqual(rma.get_notify_value(WORLD, 2), 0)

    def test_no_such_counter(self):
        rma.set_num_notify(WORLD, 1)
        for call in (lambda: rma.get_notify_value(WORLD, 1), lambda: rma.wait_notify_value(WORLD, 1, 1),
                     lambda: rma.put(numpy.ones(1), self.next[0], WORLD, notify=1)):
            with self.assertRaises(rma.Error) as raised:
                call()
            self.assertEqual(raised.exception.error_class, MPI.ERR_ARG)


class Attributes(MemoryCase):
    def test_of_a_communicator(self):
        comm = WORLD.Dup()
        self.assertEqual(rma.get_attributes(comm), {})
        rma.set_attributes(comm, ordering=True, blocking=True, atomicity=False, notify=1, target_communicatable=True)
        expected = {"ordering": True, "blocking": True, "atomicity": False, "notify": 1, "origin_communicatable": False,
                    "target_communicatable": True}
        self.assertEqual(rma.get_attributes(comm), expected)
        duplicate = comm.Dup()
        # A duplicate has no counters.
        self.assertEqual(rma.get_attributes(duplicate), {key: value for key, value in expected.items() if key != "notify"})
        duplicate.Free()
        rma.set_num_notify(comm, 2)
        rma.put(numpy.full(100, 4.0), self.next, comm)
        rma.wait_notify_value(comm, 1, 1).Wait()
        self.assert_same(self.own, numpy.full(100, 4.0))
        rma.delete_attributes(comm, *expected)
        self.assertEqual(rma.get_attributes(comm), {})
        rma.delete_attributes(comm)
        rma.set_attributes(comm, ordering=True, notify=0, op=MPI.MAX)
        rma.delete_attributes(comm, "notify", "blocking", "origin_communicatable")
        rma.delete_attributes(comm, "notify", "op")
        rma.delete_attributes(comm, "op")
        self.assertEqual(rma.get_attributes(comm), {"ordering": True})
        rma.delete_attributes(comm)
        self.assertEqual(rma.get_attributes(comm), {})
        comm.Free()

    def test_sides_of_communicatable_memory(self):
        comm = WORLD.Dup()
        rma.set_attributes(comm, origin_communicatable=True)
        rma.set_attributes(comm, target_communicatable=True)
        both = {"origin_communicatable": True, "target_communicatable": True}
        self.assertEqual(rma.get_attributes(comm), both)
        rma.set_attributes(comm, origin_communicatable=False)
        self.assertEqual(rma.get_attributes(comm), both | {"origin_communicatable": False})
        comm.Free()

    def test_operation_of_a_communicator(self):
        comm = WORLD.Dup()
        self.own[:] = 10
        WORLD.Barrier()
        rma.set_attributes(comm, op=MPI.MIN)
        rma.accumulate(numpy.arange(100.0), self.next, comm)
        rma.complete(comm)
        WORLD.Barrier()
        self.assert_same(self.own, numpy.minimum(numpy.arange(100.0), 10))
        comm.Free()

    def test_wrong_values(self):
        with self.assertRaises(rma.Error) as raised:
            rma.set_attributes(WORLD, notify=-1)
        self.assertEqual(raised.exception.error_class, MPI.ERR_ARG)
        with self.assertRaisesRegex(TypeError, "'order' is none of the attributes"):
            rma.set_attributes(WORLD, order=True)
        self.assertEqual(rma.get_attributes(WORLD), {})

    def test_keys(self):
        self.assertNotEqual(rma.keyval("MPIX_RMA_KEY_ORDERING"), MPI.KEYVAL_INVALID)
        with self.assertRaisesRegex(ValueError, "KEY_ORDER is no attribute key"):
            rma.keyval("KEY_ORDER")


class Plans(MemoryCase):
    def test_series(self):
        plan = rma.Plan(rma.Op.PUT, "d", NEXT, MPI.DOUBLE, WORLD, remote_completion=True)
        for i in range(10):
            plan.issue(numpy.full(10, float(i)), self.memory.bases[NEXT] + 80 * i)
        rma.complete(WORLD)
        plan.rissue(numpy.full(5, -1.0), self.memory.bases[NEXT]).Wait()
        plan.free()
        WORLD.Barrier()
        expected = numpy.repeat(numpy.arange(10.0), 10)
        expected[:5] = -1
        self.assert_same(self.own, expected)
        with self.assertRaises(rma.Error) as raised:
            plan.issue(numpy.zeros(1), self.memory.bases[NEXT])
        self.assertEqual(raised.exception.error_class, MPI.ERR_ARG)

    def test_get_and_accumulate(self):
        add = rma.Plan(rma.Op.ACCUMULATE, "d", 0, "d", WORLD, scale=3, atomicity=True)
        add.issue(numpy.arange(100.0), self.memory.bases[0])
        self.finish()
        read = rma.Plan(rma.Op.GET, "d", 0, "d", WORLD, blocking=True)
        result = numpy.zeros(100)
        read.issue(result, self.memory.bases[0])
        self.assert_same(result, 3 * SIZE * numpy.arange(100.0))
        with self.assertRaisesRegex(ValueError, "read-only"):
            read.issue(b"12345678", self.memory.bases[0])

    def test_operation_of_an_accumulate(self):
        self.own[:] = 50
        WORLD.Barrier()
        largest = rma.Plan(rma.Op.ACCUMULATE, "d", NEXT, "d", WORLD, op=MPI.MAX)
        largest.issue(numpy.arange(100.0), self.memory.bases[NEXT])
        self.finish()
        self.assert_same(self.own, numpy.maximum(numpy.arange(100.0), 50))
        with self.assertRaises(TypeError):
            rma.Plan(operation=rma.Op.PUT, origin_datatype="d", target_rank=NEXT, target_datatype="d", comm=WORLD)

    def test_wrong_arguments(self):
        with self.assertRaises(rma.Error) as raised:
            rma.Plan(rma.Op.PUT, "d", SIZE, "d", WORLD)
        self.assertEqual(raised.exception.error_class, MPI.ERR_RANK)
        with self.assertRaises(TypeError):
            rma.Plan(rma.Op.PUT, "d", NEXT, "d", WORLD, blokking=True)

    def test_origins_of_other_types_are_refused(self):
        doubles = rma.Plan(rma.Op.PUT, MPI.DOUBLE, NEXT, MPI.DOUBLE, WORLD)
        with self.assertRaisesRegex(TypeError, "another type than the plan"):
            doubles.issue(numpy.zeros(3, "i4"), self.memory.bases[NEXT])
        with self.assertRaisesRegex(ValueError, "whole elements"):
            doubles.issue(bytes(12), self.memory.bases[NEXT])
        with self.assertRaisesRegex(TypeError, "another type than the plan"):
            rma.Plan(rma.Op.PUT, MPI.INT, NEXT, MPI.INT, WORLD).issue(numpy.zeros(3), self.memory.bases[NEXT])
        every_second = MPI.DOUBLE.Create_vector(1, 1, 2).Commit()
        for origin in (numpy.zeros(3, "i8"), numpy.zeros(3, "F"), numpy.zeros(3, "u8"), [numpy.zeros(3), MPI.LONG],
                       [numpy.zeros(3), 1, every_second]):
            with self.assertRaisesRegex(TypeError, "another type than the plan"):
                doubles.issue(origin, self.memory.bases[NEXT])
        every_second.Free()
        for kinds in (("q", "d"), (MPI.LONG, "Q"), ("F", MPI.DOUBLE)):
            with self.assertRaisesRegex(TypeError, "different types"):
                rma.Plan(rma.Op.PUT, kinds[0], NEXT, kinds[1], WORLD)

    def test_names_of_one_type(self):
        one = numpy.ones(1, "i8")
        for i, (kind, origin) in enumerate((("q", one), ("l", one), (MPI.LONG, one), (MPI.LONG_LONG, one),
                                            (MPI.INT64_T, [one, MPI.LONG]), (MPI.AINT, [one, 8, MPI.BYTE]),
                                            (MPI.BYTE, one.tobytes()), ("q", one.tobytes()), (MPI.BYTE, one))):
            rma.Plan(rma.Op.PUT, kind, NEXT, "q", WORLD).issue(origin, self.memory.bases[NEXT] + 8 * i)
        rma.Plan(rma.Op.PUT, "d", NEXT, MPI.BYTE, WORLD).issue(numpy.ones(1), self.memory.bases[NEXT] + 72)
        self.finish()
        self.assert_same(self.memory.array("q", 9), numpy.ones(9))
        self.assertEqual(self.own[9], 1)

    def test_extents_that_are_not_positive_are_refused(self):
        for extent in (0, -8):
            resized = MPI.DOUBLE.Create_resized(0, extent).Commit()
            with self.assertRaisesRegex(ValueError, "extent"):
                rma.Plan(rma.Op.PUT, resized, NEXT, MPI.DOUBLE, WORLD)
            resized.Free()

    def test_elements_beyond_the_origin_are_refused(self):
        overlapping = MPI.DOUBLE.Create_vector(3, 1, 2).Create_resized(0, 8).Commit()
        plan = rma.Plan(rma.Op.PUT, overlapping, NEXT, MPI.DOUBLE, WORLD)
        with self.assertRaisesRegex(ValueError, "beyond the origin"):
            plan.issue(numpy.zeros(8), self.memory.bases[NEXT])
        overlapping.Free()

    def test_elements_before_the_origin_are_refused(self):
        before = MPI.DOUBLE.Create_hindexed([1], [-8]).Create_resized(0, 8).Commit()
        plan = rma.Plan(rma.Op.PUT, before, NEXT, MPI.DOUBLE, WORLD)
        with self.assertRaisesRegex(ValueError, "before the origin"):
            plan.issue(numpy.zeros(8), self.memory.bases[NEXT])
        before.Free()

    def test_bottom(self):
        data = numpy.arange(3.0)
        absolute = MPI.DOUBLE.Create_hindexed([3], [MPI.Get_address(data)]).Commit()
        rma.Plan(rma.Op.PUT, absolute, NEXT, "d", WORLD).issue([None, 1, absolute], self.memory.bases[NEXT])
        self.finish()
        self.assert_same(self.own[:3], data)
        absolute.Free()


class Others(MemoryCase):
    def test_statistics(self):
        counted = rma.statistics(WORLD, NEXT, rma.Statistic.COUNTED)
        before = rma.statistics(WORLD, NEXT, rma.Statistic.BYTES, rma.Protocol.ALL)
        rma.put(numpy.zeros(100), self.next, WORLD, blocking=True, remote_completion=True)
        after = rma.statistics(WORLD, NEXT, rma.Statistic.BYTES)
        if counted:
            self.assertEqual(after - before, 800)
        self.assertGreaterEqual(after, before)
        self.assertEqual(rma.statistics(WORLD, MPI.PROC_NULL, rma.Statistic.OPERATIONS), 0)

    def test_error(self):
        with self.assertRaises(MPI.Exception) as raised:
            rma.put(numpy.zeros(3), self.next, WORLD)
        error = raised.exception
        self.assertIsInstance(error, rma.Error)
        self.assertEqual((error.error_class, error.Get_error_class()), (MPI.ERR_TYPE, MPI.ERR_TYPE))
        text = str(error)
        self.assertRegex(text, "^MPIX_RMA_xfer_c: ")
        for _ in range(20):  # more than the library keeps
            with self.assertRaises(rma.Error):
                rma.put(numpy.zeros(4), self.next, WORLD)
        self.assertEqual((str(error), error.error_string, error.Get_error_string()), (text, text, text))

    def test_version_is_that_of_the_headers(self):
        header = pathlib.Path(__file__).parents[2] / "include" / "mpix_rma.h"
        numbers = dict(re.findall(r"#define MPIX_RMA_(\w*VERSION) (\d+)", header.read_text(encoding="utf-8")))
        self.assertEqual(rma.get_version(), (int(numbers["VERSION"]), int(numbers["SUBVERSION"])))

    def test_names(self):
        for name in rma.__all__:
            self.assertTrue(hasattr(rma, name), name)
