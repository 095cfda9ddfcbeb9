"""put, get, accumulate, xfer, and the buffers they take."""
import array
import ctypes
import unittest

import mpix_rma as rma
import numpy
from mpi4py import MPI
from support import NEXT, PREVIOUS, RANK, SIZE, WORLD, MemoryCase

KINDS = ["?", "b", "h", "i", "l", "q", "B", "H", "I", "L", "Q", "e", "f", "d", "g", "F", "D", "G", "M8[s]", "S5",
         "i4,f8"]


class Transfer(MemoryCase):
    def test_put_and_get(self):
        data = numpy.arange(100.0) + 1000 * RANK
        rma.put(data, self.next, WORLD)
        self.finish()
        self.assert_same(self.own, numpy.arange(100.0) + 1000 * PREVIOUS)
        back = numpy.empty(100)
        rma.get(back, self.next, WORLD)
        rma.complete(WORLD, NEXT)
        self.assert_same(back, data)

    def test_every_dtype(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                data = numpy.frombuffer(bytes(range(1, 161))[: 8 * numpy.dtype(kind).itemsize], kind).copy()
                target = self.memory.at(NEXT, kind, len(data))
                rma.put(data, target, WORLD, blocking=True, remote_completion=True)
                back = numpy.zeros_like(data)
                rma.get(back, target, WORLD, blocking=True)
                self.assertEqual(back.tobytes(), data.tobytes())
                WORLD.Barrier()
                self.assertEqual(self.memory.array(kind, len(data)).tobytes(), data.tobytes())
                WORLD.Barrier()

    def test_accumulate(self):
        for _ in range(10):
            rma.accumulate(numpy.arange(100.0), self.memory.at(0, "d"), WORLD, atomicity=True)
        self.finish()
        if RANK == 0:
            self.assert_same(self.own, 10 * SIZE * numpy.arange(100.0))

    def test_accumulate_op_and_scale(self):
        self.own[:] = 5
        WORLD.Barrier()
        data = numpy.arange(10.0)
        rma.accumulate(data, self.next[:10], WORLD, op=MPI.MAX)
        rma.accumulate(data, self.next[10:20], WORLD, scale=-2)
        rma.accumulate(data, self.next[20:30], WORLD, op=MPI.REPLACE)
        self.finish()
        self.assert_same(self.own[:10], numpy.maximum(data, 5))
        self.assert_same(self.own[10:20], 5 - 2 * data)
        self.assert_same(self.own[20:30], data)

    def test_xfer(self):
        data = numpy.full(3, 7.0)
        rma.xfer(rma.Op.PUT, data, self.next[:3], WORLD)
        rma.complete(WORLD)
        rma.xfer(rma.Op.ACCUMULATE, data, self.next[:3], WORLD, op=MPI.SUM, blocking=True)
        back = numpy.zeros(3)
        rma.rxfer(rma.Op.GET, back, self.next[:3], WORLD).Wait()
        self.assert_same(back, [14, 14, 14])
        with self.assertRaises(rma.Error) as raised:
            rma.xfer(99, data, self.next[:3], WORLD)
        self.assertEqual(raised.exception.error_class, MPI.ERR_OP)
        for beyond in (2**32 + rma.Op.PUT, 2**70):
            with self.assertRaisesRegex(ValueError, "none of an operation"):
                rma.xfer(beyond, data, self.next[:3], WORLD)
            with self.assertRaisesRegex(ValueError, "none of an operation"):
                rma.rmw(beyond, data, self.next[:3], WORLD)

    def test_address_as_target(self):
        rma.put(numpy.array([1.5]), (NEXT, self.memory.bases[NEXT] + 24), WORLD)
        self.finish()
        self.assertEqual(self.own[3], 1.5)

    def test_integers_of_numpy(self):
        address = numpy.uint64(self.memory.bases[NEXT])
        rma.put(numpy.array([1.5]), (numpy.int32(NEXT), address), WORLD)
        rma.put(numpy.array([2.5, 3.5]), self.memory.at(NEXT, "d", numpy.int64(2), numpy.int32(8)), WORLD)
        rma.Plan(rma.Op.PUT, "d", NEXT, "d", WORLD).issue(numpy.array([4.5]), address + numpy.uint64(24))
        self.finish()
        self.assert_same(self.own[:4], [1.5, 2.5, 3.5, 4.5])
        self.assertEqual(rma.query(WORLD, NEXT, address).base, address)
        for shape in (numpy.array(6), numpy.array([2, 3]), (numpy.int8(6),)):
            target = self.memory.at(NEXT, "d", shape)
            self.assertEqual(target.size, 6)
            self.assertEqual({type(extent) for extent in target.shape + target.strides}, {int})
        for wrong in (1.0, "1", None):
            with self.assertRaises(TypeError):
                self.memory.at(NEXT, "d", 1, wrong)
            with self.assertRaises(TypeError):
                rma.put(numpy.array([1.5]), (NEXT, wrong), WORLD)

    def test_null_process(self):
        rma.put(numpy.ones(100), self.memory.at(MPI.PROC_NULL, "d"), WORLD)
        request = rma.rput(numpy.ones(1), (MPI.PROC_NULL, 0), WORLD)
        request.Wait()
        nowhere = self.memory.at(MPI.PROC_NULL, "d")[0]
        self.assertEqual(rma.fetch_and_op(nowhere, 1.0, WORLD), 0)
        self.assertEqual(rma.compare_and_swap(nowhere, 1.0, 2.0, WORLD), 0)

    def test_no_elements(self):
        rma.put(numpy.ones(0), self.next[:0], WORLD)
        rma.put(numpy.ones((0, 3))[:, ::2], self.next[:0], WORLD)
        self.finish()
        self.assert_same(self.own, numpy.zeros(100))

    def test_notification_of_an_empty_put(self):
        rma.set_num_notify(WORLD, 1)
        rma.put(b"", (NEXT, self.memory.bases[NEXT]), WORLD, notify=0)
        rma.wait_notify_value(WORLD, 0, 1).Wait()
        self.assertEqual(rma.get_notify_value(WORLD, 0), 1)


class Buffers(MemoryCase):
    def read(self, count):
        self.finish()
        return bytes(self.memory.array("u1", count))

    def test_bytes(self):
        rma.put(b"abc", self.memory.at(NEXT, "u1", 3), WORLD)
        self.assertEqual(self.read(3), b"abc")

    def test_array_of_the_standard_library(self):
        rma.put(array.array("d", [1, 2]), self.next[:2], WORLD)
        self.finish()
        self.assert_same(self.own[:2], [1, 2])

    def test_memoryview_with_gaps(self):
        rma.put(memoryview(b"abcdef")[::2], self.memory.at(NEXT, "u1", 3), WORLD)
        self.assertEqual(self.read(3), b"ace")

    def test_formats_that_are_no_names_of_dtypes(self):
        class Record(ctypes.Structure):
            _fields_ = [("number", ctypes.c_int), ("value", ctypes.c_double)]

        complexes = numpy.array([1 + 2j, 3])
        records = numpy.array([(1, 2.5), (3, 4.5)], "i4,f8")
        for origin, expected in ((memoryview(complexes), complexes), (memoryview(records), records),
                                 (memoryview(numpy.array(["abc", "de"], "S3")), b"abcde\0"),
                                 (memoryview(numpy.array(["ab"])), numpy.array(["ab"])),
                                 ((Record * 2)((1, 2.5), (3, 4.5)), records.astype(numpy.dtype("i4,f8", align=True))),
                                 ((ctypes.c_longdouble * 1)(1.5), numpy.array([1.5], "g"))):
            with self.subTest(format=memoryview(origin).format):
                rma.put(origin, (NEXT, self.memory.bases[NEXT]), WORLD)
                self.finish()
                if isinstance(expected, numpy.ndarray):
                    self.assert_same(self.memory.array(expected.dtype, expected.shape), expected)
                else:
                    self.assertEqual(self.read(len(expected)), expected)
                WORLD.Barrier()
        rma.put(memoryview(complexes), self.memory.at(NEXT, "D", 2), WORLD)
        with self.assertRaisesRegex(TypeError, "different types"):
            rma.put(memoryview(complexes), self.next[:4], WORLD)
        with self.assertRaisesRegex(TypeError, "items of the format '<u' have no datatype"):
            rma.put((ctypes.c_wchar * 2)("a", "b"), (NEXT, self.memory.bases[NEXT]), WORLD)

    def test_records_of_the_other_byte_order_are_refused(self):
        address = (NEXT, self.memory.bases[NEXT])
        swapped = numpy.dtype("i8").newbyteorder()
        for kind in ([("a", swapped)], [("a", "i4"), ("b", [("c", swapped)])], [("a", swapped, 3)]):
            with self.assertRaisesRegex(TypeError, "byte order"):
                rma.put(numpy.zeros(1, kind), address, WORLD)
            with self.assertRaisesRegex(TypeError, "byte order"):
                self.memory.at(NEXT, kind, 1)
            with self.assertRaisesRegex(TypeError, "byte order"):
                rma.put(memoryview(numpy.zeros(1, kind)), address, WORLD)
        rma.put(numpy.zeros(1, [("a", "i8", 3), ("b", "U2")]), address, WORLD)

    def test_scalar_of_numpy(self):
        rma.put(numpy.float64(2.5), self.next[0], WORLD)
        self.finish()
        self.assertEqual(self.own[0], 2.5)

    def test_own_datatype(self):
        every_second = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
        data = numpy.arange(6.0)
        rma.put([data, 1, every_second], rma.Target(NEXT, self.memory.bases[NEXT], MPI.DOUBLE, 3), WORLD)
        rma.complete(WORLD)
        rma.put((data, MPI.DOUBLE), rma.Target(NEXT, self.memory.bases[NEXT] + 80, MPI.DOUBLE, 6), WORLD)
        rma.put([data[:3], 3, MPI.DOUBLE], rma.Target(NEXT, self.memory.bases[NEXT] + 160, every_second), WORLD)
        self.finish()
        self.assert_same(self.own[:3], [0, 2, 4])
        self.assert_same(self.own[10:16], data)
        self.assert_same(self.own[20:25], [0, 0, 1, 0, 2])
        every_second.Free()

    def test_elements_of_a_derived_datatype_have_no_gaps_at_an_address(self):
        address = (NEXT, self.memory.bases[NEXT])
        pair = MPI.DOUBLE.Create_contiguous(2)
        every_second = pair.Create_vector(3, 1, 2).Commit()
        mixed = MPI.Datatype.Create_struct([1, 1], [0, 16], [MPI.INT64_T, MPI.DOUBLE]).Commit()
        data = numpy.arange(12.0)
        expected = numpy.zeros(100)
        expected[:6] = [0, 1, 4, 5, 8, 9]
        rma.put((data, 1, every_second), address, WORLD)
        self.finish()
        self.assert_same(self.own, expected)
        back = numpy.zeros(12)
        rma.get((back, 1, every_second), address, WORLD, blocking=True)
        self.assert_same(back[[0, 1, 4, 5, 8, 9]], expected[:6])
        self.assertEqual(back.sum(), expected.sum())
        WORLD.Barrier()
        rma.accumulate((data, 1, every_second), address, WORLD)
        self.finish()
        self.assert_same(self.own, 2 * expected)
        WORLD.Barrier()
        rma.put((numpy.array([3.0, -1.0, 4.0]), 1, mixed), address, WORLD)
        self.finish()
        self.assert_same(self.own[:3], [3, 4, 8])
        for datatype in (pair, every_second, mixed):
            datatype.Free()

    def test_a_struct_of_one_type_by_several_names_is_accumulated(self):
        values = numpy.arange(1, 4, dtype="i4")
        address = (NEXT, self.memory.bases[NEXT])
        none = MPI.DOUBLE.Create_contiguous(0)
        for lengths, types in (([1, 2], [MPI.INT, MPI.INT32_T]), ([2, 0, 1], [MPI.INT, MPI.DOUBLE, MPI.INT]),
                               ([3, 1], [MPI.INT, none])):
            self.own[:] = 0
            WORLD.Barrier()
            starts = [4 * sum(lengths[:i]) for i in range(len(lengths))]
            struct = MPI.Datatype.Create_struct(lengths, starts, types).Commit()
            for _ in range(2):
                rma.accumulate((values, 1, struct), address, WORLD)
            self.finish()
            self.assert_same(self.memory.array("i4", 3), 2 * values)
            WORLD.Barrier()
            struct.Free()
        none.Free()

    def test_elements_of_other_types_are_refused_with_datatypes(self):
        numbers, integers = numpy.ones(3, "f4"), numpy.ones(3, "i4")
        address = self.memory.bases[NEXT]
        target = rma.Target(NEXT, address, MPI.INT, 3)
        for origin, other in ((numbers, target), ((numbers, MPI.FLOAT), self.memory.at(NEXT, "i4", 3)),
                              ((numbers, MPI.FLOAT), target), ((integers, MPI.UNSIGNED), target)):
            for call in (rma.put, rma.get, rma.accumulate):
                with self.assertRaisesRegex(TypeError, "different types"):
                    call(origin, other, WORLD)
        two = MPI.INT.Create_contiguous(2).Commit()
        for origin, other in (((integers, MPI.INT32_T), target), (integers, target), ((integers, MPI.BYTE), target),
                              ((integers, 1, two), rma.Target(NEXT, address, MPI.INT, 2)),
                              ((integers, MPI.INTEGER), self.memory.at(NEXT, "i4", 3)),
                              (integers, rma.Target(NEXT, address, MPI.BYTE, 12))):
            rma.put(origin, other, WORLD, blocking=True)
        two.Free()
        for origin, other in (((integers, MPI.INT), target), ((integers, MPI.INT), (NEXT, address))):
            rma.accumulate(origin, other, WORLD, blocking=True)

    def test_bottom(self):
        data = numpy.arange(3.0)
        absolute = MPI.DOUBLE.Create_hindexed([3], [MPI.Get_address(data)]).Commit()
        rma.put([None, 1, absolute], rma.Target(NEXT, self.memory.bases[NEXT], MPI.DOUBLE, 3), WORLD)
        self.finish()
        self.assert_same(self.own[:3], data)
        absolute.Free()

    def test_short_buffer_is_refused(self):
        with self.assertRaisesRegex(ValueError, "24 bytes, and the datatype reaches to 32"):
            rma.put([numpy.zeros(3), 4, MPI.DOUBLE], (NEXT, self.memory.bases[NEXT]), WORLD)

    def test_datatypes_that_begin_before_the_buffer_are_refused(self):
        whole = numpy.zeros(10)
        backwards = MPI.DOUBLE.Create_vector(2, 1, -2)
        # The second element of the others begins 8 bytes before the first one.
        falling = MPI.DOUBLE.Create_resized(0, -8)
        shifted = MPI.DOUBLE.Create_hindexed([1], [8]).Create_resized(0, -8)
        for datatype, count in ((backwards, 1), (falling, 2), (shifted, 3)):
            datatype.Commit()
            with self.assertRaisesRegex(ValueError, "before the buffer"):
                rma.get((whole[5:7], count, datatype), self.next[:2], WORLD)
        with self.assertRaisesRegex(ValueError, "8 bytes, and the datatype reaches to 16"):
            rma.put((whole[5:6], 3, shifted), self.next[:3], WORLD)
        rma.put((numpy.array([1.0, 2.0]), 2, shifted), self.next[:2], WORLD)
        self.finish()
        self.assert_same(self.own[:2], [2, 1])
        for datatype in (backwards, falling, shifted):
            datatype.Free()

    def test_wrong_counts_are_refused(self):
        address = (NEXT, self.memory.bases[NEXT])
        with self.assertRaisesRegex(TypeError, "float"):
            rma.put([numpy.zeros(5), 2.5, MPI.DOUBLE], address, WORLD)
        with self.assertRaisesRegex(ValueError, "the count is too large"):
            rma.put([numpy.zeros(5), 2**64, MPI.DOUBLE], address, WORLD)
        with self.assertRaisesRegex(ValueError, "40 bytes, and the datatype reaches to 9223372036854775807"):
            rma.put([numpy.zeros(5), 2**61 + 1, MPI.DOUBLE], address, WORLD)
        rma.put([numpy.zeros(5), numpy.int64(5), MPI.DOUBLE], address, WORLD)

    def test_items_without_bytes_need_a_shape(self):
        for call in (lambda: self.memory.at(NEXT, "S"), lambda: self.memory.array("S")):
            with self.assertRaisesRegex(ValueError, "have no bytes"):
                call()

    def test_read_only_result_is_refused(self):
        data = numpy.zeros(3)
        data.flags.writeable = False
        for result in (data, b"abc", numpy.broadcast_to(numpy.zeros(1), 3)):
            with self.assertRaisesRegex(ValueError, "read-only"):
                rma.get(result, (NEXT, self.memory.bases[NEXT]), WORLD)
        rma.put(data, self.next[:3], WORLD)

    def test_other_objects_are_refused(self):
        address = (NEXT, self.memory.bases[NEXT])
        for origin, text in ((3.5, "float is no buffer"), ([1, 2], "a buffer with a datatype"),
                             (numpy.array([{}]), "Python objects"), (numpy.zeros(1, ">f8"), "byte order")):
            with self.assertRaisesRegex(TypeError, text):
                rma.put(origin, address, WORLD)
        with self.assertRaisesRegex(TypeError, "different types"):
            rma.put(numpy.zeros(3, "q"), self.next[:3], WORLD)
        with self.assertRaisesRegex(TypeError, "the target must be"):
            rma.put(numpy.zeros(3), 17, WORLD)
        with self.assertRaisesRegex(TypeError, "Comm"):
            rma.put(numpy.zeros(3), address, 17)

    def test_arguments(self):
        with self.assertRaisesRegex(TypeError, r"put\(\) takes 3 positional arguments but 2 were given"):
            rma.put(numpy.zeros(3), self.next)
        for keywords in ({"blokking": True}, {"result": numpy.zeros(1)}, {"op": MPI.SUM}):
            with self.assertRaisesRegex(TypeError, "unexpected keyword argument"):
                rma.put(numpy.zeros(100), self.next, WORLD, **keywords)
        name = "".join(["atom", "icity"])  # not the interned string
        rma.put(numpy.zeros(100), self.next, WORLD, **{name: True, "notify": None})


class OfADevice:
    """An array in the memory of a device, as far as its attributes say so."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Dlpack:
    def __init__(self, kind, data):
        self.kind, self.data = kind, data

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **keywords):
        return self.data.__dlpack__()


class Devices(MemoryCase):
    def test_device_memory_is_refused(self):
        for origin in (OfADevice(__cuda_array_interface__={}), Dlpack(2, None), Dlpack(10, None)):
            with self.assertRaisesRegex(TypeError, "is in the memory of a device.*copy it to the host"):
                rma.put(origin, self.next, WORLD)
            with self.assertRaisesRegex(TypeError, "is in the memory of a device"):
                rma.get(origin, self.next, WORLD)

    def test_host_memory_of_another_library(self):
        rma.put(Dlpack(1, numpy.arange(3.0)), self.next[:3], WORLD)
        self.finish()
        self.assert_same(self.own[:3], [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
