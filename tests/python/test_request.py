"""Requests, and the life of buffers."""
import gc
import sys
import threading
import unittest
import weakref

import mpix_rma as rma
import numpy
from mpi4py import MPI
from mpix_rma import _core
from support import NEXT, PREVIOUS, RANK, SIZE, WORLD, MemoryCase


class Watched(numpy.ndarray):
    """An array that can be referred to weakly."""


def watched(value):
    array = numpy.full(4, value).view(Watched)
    return array, weakref.ref(array)


class Requests(MemoryCase):
    def test_with(self):
        with rma.rput(numpy.full(100, 1.0 + RANK), self.next, WORLD, remote_completion=True) as request:
            self.assertIsInstance(request, MPI.Request)
        self.assertEqual(request, MPI.REQUEST_NULL)
        WORLD.Barrier()
        self.assert_same(self.own, numpy.full(100, 1.0 + PREVIOUS))

    def test_calls_of_mpi4py(self):
        data = numpy.arange(100.0)
        for finish in (MPI.Request.Waitall, MPI.Request.waitall, self.wait_some, self.wait_any,
                       self.finish_by_testall):
            requests = [rma.rput(data[i::4], self.next[i::4], WORLD, remote_completion=True) for i in range(4)]
            requests.append(WORLD.Irecv(numpy.zeros(1), PREVIOUS))
            WORLD.Send(numpy.zeros(1), NEXT)
            finish(requests)
            self.assertTrue(all(request == MPI.REQUEST_NULL for request in requests))
            WORLD.Barrier()
            self.assert_same(self.own, data)
            WORLD.Barrier()
            data = data + 1

    def wait_some(self, requests):
        while MPI.Request.Waitsome(requests) is not None:
            pass

    def wait_any(self, requests):
        while MPI.Request.Waitany(requests) != MPI.UNDEFINED:
            pass

    def finish_by_testall(self, requests):
        while not MPI.Request.Testall(list(requests)):
            pass

    def test_wait_and_test(self):
        rma.rput(numpy.ones(1), self.next[0], WORLD).wait()
        request = rma.rput(numpy.ones(1), self.next[0], WORLD)
        while not request.Test():
            pass
        self.assertEqual(request, MPI.REQUEST_NULL)
        self.assertTrue(request.Test())

    def test_icomplete(self):
        rma.put(numpy.full(100, 3.0), self.next, WORLD)
        MPI.Request.Waitall([rma.icomplete_local(WORLD), rma.icomplete(WORLD, NEXT)])
        WORLD.Barrier()
        self.assert_same(self.own, numpy.full(100, 3.0))

    def test_request_object(self):
        request = rma.RequestObject(ordering=True, remote_completion=True)
        for value in (1.0, 2.0):
            self.assertIs(rma.put(numpy.full(100, value), self.next, WORLD, request=request), request)
            request.Wait()
            WORLD.Barrier()
            self.assert_same(self.own, numpy.full(100, value))
            WORLD.Barrier()
        result = numpy.zeros(())
        rma.rmw(rma.Rmw.SUM, 1, self.next[0], WORLD, result=result, request=request)
        request.Wait()
        self.assertEqual(result, 2)
        self.assertEqual(request.get_attributes(), {"ordering": True, "remote_completion": True})

    def test_wrong_requests(self):
        data = numpy.zeros(100)
        with self.assertRaisesRegex(TypeError, "must be an mpix_rma.RequestObject"):
            rma.put(data, self.next, WORLD, request=MPI.Request())
        with self.assertRaisesRegex(TypeError, "the attributes are those of the request object"):
            rma.put(data, self.next, WORLD, request=rma.RequestObject(ordering=True), ordering=True)
        with self.assertRaisesRegex(TypeError, "the attributes are those of the request object"):
            rma.rput(data, self.next, WORLD, request=rma.RequestObject(ordering=True))
        with self.assertRaises(TypeError):
            rma.RequestObject()
        with self.assertRaisesRegex(TypeError, "'order' is none of the attributes"):
            rma.RequestObject(order=True)
        freed = rma.RequestObject(ordering=True)
        freed.Free()
        with self.assertRaisesRegex(ValueError, "has been freed, by Free or"):
            rma.put(data, self.next, WORLD, request=freed)
        with self.assertRaisesRegex(TypeError, "target of a read-modify-write must be contiguous"):
            rma.rmw(rma.Rmw.INC, None, self.next[::2], WORLD)

    def test_failed_operation(self):
        with self.assertRaises(rma.Error) as raised:
            rma.rput(numpy.zeros(100), (NEXT, 8), WORLD, remote_completion=True).Wait()
        self.assertEqual(raised.exception.error_class, rma.error_class(rma.ErrorClass.ADDRESS))
        self.assertIn("0x8", str(raised.exception))
        with self.assertRaises(rma.Error):
            with rma.rput(numpy.zeros(100), (NEXT, 8), WORLD, remote_completion=True):
                pass


class Buffers(MemoryCase):
    def test_a_request_keeps_its_buffer(self):
        for finish in (lambda request: request.Wait(), lambda request: MPI.Request.Waitall([request])):
            array, reference = watched(5.0)
            request = rma.rput(array, self.next[:4], WORLD)
            del array
            gc.collect()
            self.assertIsNotNone(reference())
            finish(request)
            gc.collect()
            self.assertIsNone(reference())

    def test_a_buffer_with_an_export_cannot_shrink(self):
        buffer = bytearray(8)
        request = rma.rget(buffer, self.memory.at(NEXT, "u1", 8), WORLD)
        with self.assertRaises(BufferError):
            buffer.clear()
        request.Wait()
        buffer.clear()

    def test_complete_releases_buffers(self):
        for finish in (rma.complete, rma.complete_local, lambda *scope: rma.icomplete(*scope).Wait()):
            for scope in ((WORLD,), (WORLD, NEXT)):
                array, reference = watched(6.0)
                rma.put(array, self.next[:4], WORLD)
                del array
                gc.collect()
                self.assertIsNotNone(reference())
                finish(*scope)
                gc.collect()
                self.assertIsNone(reference())
        self.assertEqual(_core._kept_buffers(), 0)

    def test_complete_for_a_rank_keeps_others(self):
        array, reference = watched(6.0)
        rma.put(array, self.memory.at(RANK, "d")[:4], WORLD)
        del array
        if SIZE > 1:
            rma.complete(WORLD, NEXT)
            self.assertIsNotNone(reference())
        rma.complete(WORLD, RANK)
        self.assertIsNone(reference())

    def test_a_freed_communicator_releases_buffers(self):
        for _ in range(3):  # the handles may be the same
            comm = WORLD.Dup()
            array, reference = watched(6.0)
            rma.put(array, self.next[:4], comm)
            del array
            self.assertIsNotNone(reference())
            comm.Free()
            self.assertIsNone(reference())

    def test_blocking_keeps_nothing(self):
        array, reference = watched(7.0)
        rma.put(array, self.next[:4], WORLD, blocking=True)
        del array
        self.assertIsNone(reference())

    def test_many_buffers(self):
        """Without any completion by the program."""
        for i in range(10000):
            rma.put(numpy.full(1, float(i)), self.next[i % 100], WORLD)
        self.assertLess(_core._kept_buffers(), 5000)
        self.finish()
        self.assertEqual(_core._kept_buffers(), 0)
        self.assert_same(self.own, numpy.arange(9900.0, 10000))

    def test_a_dropped_request_keeps_its_buffer(self):
        array, reference = watched(0.0)
        rma.rget(array, self.next[:4], WORLD)
        del array
        while _core._dropped_requests() > 0:
            self.assertIsNotNone(reference())
            rma.complete(WORLD)
        gc.collect()
        self.assertIsNone(reference())

    def test_failure_of_a_dropped_request_is_raised_by_complete(self):
        """Other operations keep their requests and buffers, and are complete when the error is raised."""
        try:
            rma.rput(numpy.ones(4), (NEXT, 16), WORLD)  # no memory
        except rma.Error:
            self.skipTest("the failure is known at once")
        with self.assertRaises(rma.Error):
            for _ in range(1000):
                array, reference = watched(0.0)
                request = rma.rget(array, self.next[:4], WORLD)
                del array
                self.assertIsNotNone(reference())
                request.Wait()
                rma.complete(WORLD)
        rma.complete(WORLD)

    def test_a_dropped_request_that_cannot_complete(self):
        rma.set_num_notify(WORLD, 1)
        rma.wait_notify_value(WORLD, 0, 1)
        rma.complete(WORLD)
        self.assertEqual(_core._dropped_requests(), 1)
        WORLD.Barrier()
        rma.put(b"", (NEXT, self.memory.bases[NEXT]), WORLD, notify=0)
        self.finish()
        while _core._dropped_requests() > 0:
            rma.complete(WORLD)

    def test_no_references_are_lost(self):
        array = numpy.zeros(100)
        operand = numpy.zeros(100)
        target = self.next

        def work():
            rma.put(array, target, WORLD, ordering=True)
            rma.rget(array, target, WORLD).Wait()
            rma.put([array, 100, MPI.DOUBLE], target, WORLD)
            rma.accumulate(array[::2], target[::2], WORLD, op=MPI.SUM, scale=2.0)
            rma.rmw(rma.Rmw.SUM, operand, target, WORLD, result=array)
            rma.fetch_and_op(target[0], 1, WORLD)
            for wrong in ({"blokking": True}, {"request": 17}):
                with self.assertRaises(TypeError):
                    rma.put(array, target, WORLD, **wrong)
            with self.assertRaises(rma.Error):
                rma.put(array, (SIZE, 8), WORLD)
            rma.complete(WORLD)

        for _ in range(20):
            work()
        gc.collect()
        counts = [sys.getrefcount(item) for item in (array, operand, target, WORLD, None)]
        blocks = sys.getallocatedblocks()
        rounds = 1500
        for _ in range(rounds):
            work()
        gc.collect()
        after = [sys.getrefcount(item) for item in (array, operand, target, WORLD, None)]
        self.assertEqual(after[:4], counts[:4])
        self.assertLess(abs(after[4] - counts[4]), rounds // 3)  # None is referred to from everywhere
        # The interpreter's own caches vary by some hundreds of blocks, however many rounds there are.
        self.assertLess(sys.getallocatedblocks() - blocks, rounds * 2 // 3)


@unittest.skipUnless(MPI.Query_thread() == MPI.THREAD_MULTIPLE, "MPI runs at a lower level of threads")
class Threads(MemoryCase):
    def test_waiting_lets_others_run(self):
        """The put that ends the wait comes from another thread of the same process."""
        rma.set_num_notify(WORLD, 1)
        request = rma.wait_notify_value(WORLD, 0, 1)
        waiter = threading.Thread(target=request.Wait)
        waiter.start()
        rma.put(b"", (RANK, self.memory.base), WORLD, notify=0, blocking=True)
        waiter.join()
        self.assertEqual(request, MPI.REQUEST_NULL)

    def test_plans_that_may_wait_let_others_run(self):
        plan = rma.Plan(rma.Op.PUT, "d", RANK, "d", WORLD, ordering=True)
        value = numpy.zeros(1)
        ran = []
        start = threading.Lock()
        start.acquire()
        thread = threading.Thread(target=lambda: (start.acquire(), ran.append(True)))
        thread.start()
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # the other thread runs only where this one lets it
        try:
            start.release()
            for _ in range(100000):
                plan.issue(value, self.memory.base)
                if ran:
                    break
            self.assertTrue(ran)
        finally:
            sys.setswitchinterval(interval)
            thread.join()

    def test_threads_put_side_by_side(self):
        def work(number):
            for i in range(200):
                rma.put(numpy.full(25, float(i)), self.next[25 * number:25 * (number + 1)], WORLD)
                if i % 50 == 49:
                    rma.complete(WORLD)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.finish()
        self.assert_same(self.own, numpy.full(100, 199.0))
