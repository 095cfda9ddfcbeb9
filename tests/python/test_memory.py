"""Allocation, registration, queries."""
import gc

import mpix_rma as rma
import numpy
from mpi4py import MPI
from support import NEXT, PREVIOUS, RANK, SIZE, WORLD, MemoryCase
import unittest


class Allocation(unittest.TestCase):
    def test_different_sizes(self):
        with rma.allocate(80 * RANK, WORLD) as memory:
            self.assertEqual((len(memory.bases), memory.size), (SIZE, 80 * RANK))
            self.assertEqual(memory.bases[RANK], memory.base)
            self.assertEqual(memory.array("d").shape, (10 * RANK,))
            self.assertEqual(memory.bases[0], 0)
            last = memory.at(SIZE - 1, "d", 10 * (SIZE - 1))
            if RANK == 0 and SIZE > 1:
                rma.put(numpy.arange(10.0 * (SIZE - 1)), last, WORLD)
                rma.complete(WORLD)
            WORLD.Barrier()
            if RANK == SIZE - 1:
                numpy.testing.assert_array_equal(memory.array("d"), numpy.arange(10.0 * RANK))
            WORLD.Barrier()

    def test_same_address(self):
        with rma.allocate(4096, WORLD, {"mpix_same_address": "true"}) as memory:
            self.assertEqual(set(memory.bases), {memory.base})
        info = MPI.Info.Create()
        info.Set("mpi_minimum_memory_alignment", "4096")
        with rma.allocate(10, WORLD, info) as memory:
            self.assertEqual(memory.base % 4096, 0)
        info.Free()

    def test_size_beyond_the_addresses(self):
        """Only rank 0 asks for such a size: the other ranks fail, too, instead of waiting for rank 0."""
        for size, error_class in ((2**70, MPI.ERR_NO_MEM), (-(2**70), MPI.ERR_ARG)):
            with self.assertRaises(rma.Error) as raised:
                rma.allocate(size if RANK == 0 else 8, WORLD)
            self.assertEqual(raised.exception.error_class, error_class)
            with self.assertRaises(rma.Error) as raised:
                rma.allocate_local(size)
            self.assertEqual(raised.exception.error_class, error_class)

    def test_ranks_of_targets(self):
        with rma.allocate(8, WORLD) as memory:
            none = memory.at(MPI.PROC_NULL, "d")
            rma.put(numpy.ones(1), none, WORLD)
            rma.rput(numpy.ones(1), none, WORLD).Wait()
            for rank in (SIZE, MPI.PROC_NULL - 1, 2**40):
                with self.assertRaisesRegex(IndexError, f"rank {rank} is not in the communicator, which has {SIZE} "):
                    memory.at(rank, "d")
            if MPI.PROC_NULL != -1:
                with self.assertRaisesRegex(IndexError, "rank -1 is not in the communicator"):
                    memory.at(-1, "d")
            with self.assertRaises(TypeError):
                memory.at(0.0, "d")

    def test_wrong_info(self):
        with self.assertRaises(rma.Error) as raised:
            rma.allocate(8, WORLD, {"mpi_minimum_memory_alignment": "3"})
        self.assertEqual(raised.exception.error_class, MPI.ERR_INFO_VALUE)

    def test_arrays_keep_the_memory(self):
        memory = rma.allocate(80, WORLD)
        part = memory.array("d")[2:4]
        for user in (part, memoryview(memory)):
            with self.assertRaisesRegex(BufferError, "arrays or views still use the memory"):
                memory.free()
        del part, user
        memory.free()
        for use in (memory.array, memory.free):
            with self.assertRaisesRegex(ValueError, "has been freed"):
                use()

    def test_an_exception_frees_nothing(self):
        """Freeing is collective, and after an exception other ranks may not come to that call."""
        with self.assertRaises(KeyError):
            with rma.allocate(80, WORLD) as memory:
                raise KeyError
        memory.free()

    def test_local_memory(self):
        memory = rma.allocate_local(800)
        base = memory.base
        array = memory.array("d")
        array[:] = RANK
        bases = WORLD.allgather(base)
        copy = numpy.zeros(100)
        rma.get(copy, (NEXT, bases[NEXT]), WORLD, blocking=True)
        numpy.testing.assert_array_equal(copy, numpy.full(100, float(NEXT)))
        WORLD.Barrier()
        self.assertEqual(rma.query(WORLD, RANK, base), (base, 800))
        with self.assertRaises(BufferError):
            memory.free()
        del memory
        gc.collect()
        self.assertIsNotNone(rma.query(WORLD, RANK, base))
        del array
        gc.collect()
        self.assertIsNone(rma.query(WORLD, RANK, base))


class Registration(MemoryCase):
    def test_memory_of_arrays(self):
        array = numpy.zeros(100)
        with rma.register(array) as registration:
            segment = rma.query(WORLD, RANK, registration.address + 8)
            self.assertLessEqual(segment.base, registration.address)
            self.assertGreaterEqual(segment.base + segment.size, registration.address + 800)
            self.assertIn(segment, rma.segments(WORLD, RANK))
            addresses = WORLD.allgather(registration.address)
            rma.put(numpy.full(100, float(RANK)), (NEXT, addresses[NEXT]), WORLD, target_communicatable=True)
            self.finish()
        self.assert_same(array, numpy.full(100, float(PREVIOUS)))
        self.assertIsNone(rma.query(WORLD, RANK, registration.address))
        registration.deregister()

    def test_every_contiguous_buffer(self):
        grid = numpy.zeros((3, 4))
        dates = numpy.zeros(5, "M8[s]")
        for buffer, array in ((grid, grid), (grid.T, grid), (memoryview(grid.T), grid), (dates, dates),
                              (numpy.asfortranarray(dates.reshape(1, 5)), dates)):
            with rma.register(buffer) as registration:
                self.assertEqual((registration.address, registration.size), (array.ctypes.data, array.nbytes))
                self.assertIsNotNone(rma.query(WORLD, RANK, array.ctypes.data))
        with self.assertRaises(TypeError):
            rma.register(17)

    def test_a_registration_keeps_the_memory(self):
        buffer = bytearray(100)
        registration = rma.register(buffer, {"mpix_access": "read"})
        with self.assertRaises(BufferError):
            buffer.clear()
        address = registration.address
        del registration
        gc.collect()
        buffer.clear()
        self.assertIsNone(rma.query(WORLD, RANK, address))

    def test_the_memory_is_freed_after_the_registration_ends(self):
        registered = []

        class Watched(numpy.ndarray):
            def __del__(self):
                registered.append(rma.query(WORLD, RANK, address) is not None)

        registration = rma.register(numpy.zeros(100).view(Watched))
        address = registration.address
        registered.clear()  # of views that have been dropped meanwhile
        registration.deregister()
        self.assertEqual(registered, [False])

    def test_wrong_memory(self):
        with self.assertRaises(rma.Error) as raised:
            rma.register(numpy.zeros(0))
        self.assertEqual(raised.exception.error_class, MPI.ERR_ARG)
        with self.assertRaisesRegex(ValueError, "must be contiguous"):
            rma.register(numpy.zeros(10)[::2])

    def test_segments_of_others(self):
        self.assertIn((self.memory.bases[NEXT], 800), rma.segments(WORLD, NEXT))
        self.assertEqual(rma.query(WORLD, NEXT, self.memory.bases[NEXT] + 799), (self.memory.bases[NEXT], 800))
