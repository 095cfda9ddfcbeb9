"""Arrays with gaps, at both sides."""
import mpix_rma as rma
import numpy
from mpi4py import MPI
from mpix_rma import _core
from support import NEXT, RANK, WORLD, MemoryCase, seeded


def random_slices(random, shape):
    """A slice for each dimension, forwards or backwards, of at least one element."""
    slices = []
    for extent in shape:
        first, last = sorted(random.choices(range(extent), k=2))
        step = random.randint(1, 3)
        forward = slice(first, last + 1, step)
        slices.append(forward if random.random() < 0.7 else slice(last, first - 1 if first > 0 else None, -step))
    return tuple(slices)


class Layout(MemoryCase):
    count = 2400

    def test_columns(self):
        grid = numpy.arange(100.0).reshape(10, 10)
        rma.put(grid[:, 3], self.memory.at(NEXT, "d", (10, 10))[:, 7], WORLD)
        self.finish()
        expected = numpy.zeros((10, 10))
        expected[:, 7] = grid[:, 3]
        self.assert_same(self.own[:100].reshape(10, 10), expected)

    def test_order_of_elements_is_that_of_c(self):
        turned = numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3))
        rma.put(turned, self.next[:6], WORLD)
        rma.put(turned, rma.RemoteArray(NEXT, self.memory.bases[NEXT] + 80, "d", (2, 3), (8, 16)), WORLD)
        self.finish()
        self.assert_same(self.own[:6], range(6))
        self.assert_same(self.own[10:16], [0, 3, 1, 4, 2, 5])

    def test_random_parts(self):
        """Random parts of both sides, compared with NumPy's assignment."""
        random = seeded()
        for _ in range(60):
            dimensions = random.randint(1, 4)
            shape = tuple(random.randint(1, 7) for _ in range(dimensions))
            kind = random.choice(["u1", "i4", "f8", "D", "S3"])
            part = random_slices(random, shape)
            data = numpy.frombuffer(numpy.random.default_rng(random.randrange(2**32) + RANK).bytes(
                int(numpy.prod(shape)) * numpy.dtype(kind).itemsize), kind).reshape(shape)
            origin = data[part]
            # The target's part has the same shape, by other strides.
            whole = tuple(extent * 2 + 1 for extent in origin.shape)
            places = tuple(slice(1, 2 * extent + 1, 2) for extent in origin.shape)
            model = numpy.zeros(whole, kind)
            model[places] = origin
            with self.subTest(shape=shape, kind=kind, part=part):
                if model.nbytes > self.memory.size:
                    continue
                remote = self.memory.at(NEXT, kind, whole)
                rma.put(numpy.zeros(whole, kind), remote, WORLD, blocking=True, remote_completion=True)
                rma.put(origin, remote[places], WORLD, blocking=True, remote_completion=True)
                found = numpy.empty(whole, kind)
                rma.get(found, remote, WORLD, blocking=True)
                self.assertEqual(found.tobytes(), model.tobytes())
                result = numpy.zeros_like(data)
                rma.get(result[part], remote[places], WORLD, blocking=True)
                self.assertEqual(result[part].tobytes(), origin.tobytes())
                outside = numpy.ones(shape, bool)
                outside[part] = False
                self.assertEqual(result[outside].tobytes(), bytes(int(outside.sum()) * result.itemsize))
                self.assertEqual(remote[places].shape, origin.shape)

    def test_accumulate_with_gaps(self):
        data = numpy.arange(20.0)
        rma.accumulate(data[::2], self.memory.at(0, "d", 30)[::3], WORLD, atomicity=True)
        self.finish()
        if RANK == 0:
            self.assert_same(self.own[:30:3], WORLD.size * data[::2])
            self.assertEqual(self.own[1], 0)

    def test_layouts_are_cached(self):
        grid = numpy.zeros((10, 10))
        rma.put(grid[:, 1], self.next[:10], WORLD)
        before = _core._cached_layouts()
        for column in range(10):
            rma.put(grid[:, column], self.next[:10], WORLD)
        self.assertEqual(_core._cached_layouts(), before)
        for extent in range(2, 1500):
            rma.put(numpy.broadcast_to(numpy.ones(1), extent), self.next[:extent], WORLD)
        self.assertLessEqual(_core._cached_layouts(), 512)
        self.finish()
        self.assert_same(self.own[:1499], numpy.ones(1499))

    def test_a_target_keeps_its_layout(self):
        """Even after the cache has dropped the layout."""
        column = self.memory.at(NEXT, "d", (40, 50))[:, 7]
        for extent in range(2, 700):
            rma.put(numpy.broadcast_to(numpy.ones(1), extent), self.next[:extent], WORLD)
        self.finish()
        rma.put(numpy.full(40, 3.0), column, WORLD)
        self.finish()
        self.assert_same(self.own[:2000].reshape(40, 50)[:, 7], numpy.full(40, 3.0))


class RemoteArrays(MemoryCase):
    def test_indexing_is_that_of_numpy(self):
        shape = (3, 4, 5)
        remote = rma.RemoteArray(NEXT, 1000, "i4", shape)
        local = numpy.zeros(shape, "i4")
        base = local.__array_interface__["data"][0]
        for index in (0, -1, (1, 2), (1, 2, 3), ..., (..., 2), (0, ..., slice(None, None, -2)),
                      (slice(1, None), slice(None), 1), slice(3, 1), (slice(None, 100), -4)):
            part, expected = remote[index], numpy.asarray(local[index])
            if isinstance(index, tuple) and len(index) == 3 and ... not in index and slice not in map(type, index):
                expected = local[index + (...,)]
            self.assertEqual(part.shape, expected.shape, index)
            if isinstance(expected, numpy.ndarray) and expected.size and expected.base is not None:
                self.assertEqual(part.address - 1000, expected.__array_interface__["data"][0] - base, index)
                self.assertEqual(part.strides, expected.strides, index)
        self.assertEqual((remote.size, remote.nbytes, len(remote), remote.rank), (60, 240, 3, NEXT))
        self.assertEqual([part.address for part in remote], [1000, 1080, 1160])

    def test_wrong_shapes(self):
        for shape in ((2**62 + 1, 4), (2**62, 2**62), (0, 2**62, 2**62), 2**61):
            for kind in ("i4", MPI.INT):
                if shape == 2**61 and kind != "i4":
                    continue
                with self.assertRaisesRegex(ValueError, "more elements than memory holds"):
                    rma.RemoteArray(NEXT, self.memory.bases[NEXT], kind, shape)
        for shape in (-1, (2, -3)):
            with self.assertRaisesRegex(ValueError, "negative extent"):
                rma.RemoteArray(NEXT, self.memory.bases[NEXT], "i4", shape)
        for part in (self.memory.at, lambda rank, *arguments: self.memory.array(*arguments)):
            with self.assertRaisesRegex(ValueError, "non-negative"):
                part(NEXT, "d", 1, -8)

    def test_text(self):
        for address, text in ((0, "0x0"), (2**63 + 10, "0x800000000000000a")):
            self.assertEqual(repr(rma.RemoteArray(1, address, "i4", 3)),
                             f"RemoteArray(rank=1, address={text}, dtype=dtype('int32'), shape=(3,))")

    def test_wrong_indices(self):
        remote = rma.RemoteArray(NEXT, 1000, "i4", (3, 4))
        for index in (3, -4, (0, 0, 0), (..., ...)):
            with self.assertRaises(IndexError):
                remote[index]
        for index in ([0, 1], "a", 1.5, numpy.array([0, 1])):
            with self.assertRaises(TypeError):
                remote[index]
        with self.assertRaises(ValueError):
            rma.RemoteArray(NEXT, 1000, "i4", (3, 4), (4,))
