"""CPython's own tests of memoryview, run with memoryviews of what lend has lent, and with lend's slices."""

import unittest

import pytest

import lend

# some distributions ship Python without its tests
mixins = pytest.importorskip("test.test_memoryview", reason="this Python has no test package")


class OfAView(mixins.BaseMemoryviewTests):
    """`memoryview(lend.view(x))`."""

    def _view(self, obj):
        return memoryview(lend.view(obj))


class OfABuffer(mixins.BaseMemoryviewTests):
    """`memoryview(lend.buffer(x))`."""

    def _view(self, obj):
        return memoryview(lend.buffer(obj))


class OfAViewOfAMemoryview(mixins.BaseMemoryviewTests):
    """Two of CPython's memoryviews with a View in between."""

    def _view(self, obj):
        return memoryview(lend.view(memoryview(obj)))


class OfASlice(mixins.BaseMemorySliceTests):
    """lend slices, memoryview shows."""

    def _view(self, obj):
        return memoryview(lend.view(obj)[1:7])


class OfASliceOfASlice(mixins.BaseMemorySliceSliceTests):
    """lend slices twice, the second time what the first left."""

    def _view(self, obj):
        return memoryview(lend.view(obj)[:7][1:])


class SlicedByMemoryview(mixins.BaseMemorySliceTests):
    """memoryview slices what lend has lent."""

    def _view(self, obj):
        return memoryview(lend.view(obj))[1:7]


class TestBytesOfAView(unittest.TestCase, OfAView, mixins.BaseBytesMemoryTests):
    pass


class TestBytesOfABuffer(unittest.TestCase, OfABuffer, mixins.BaseBytesMemoryTests):
    pass


class TestBytesOfAViewOfAMemoryview(unittest.TestCase, OfAViewOfAMemoryview, mixins.BaseBytesMemoryTests):
    pass


class TestBytesOfASlice(unittest.TestCase, OfASlice, mixins.BaseBytesMemoryTests):
    pass


class TestBytesOfASliceOfASlice(unittest.TestCase, OfASliceOfASlice, mixins.BaseBytesMemoryTests):
    pass


class TestBytesSlicedByMemoryview(unittest.TestCase, SlicedByMemoryview, mixins.BaseBytesMemoryTests):
    pass


class TestArrayOfAView(unittest.TestCase, OfAView, mixins.BaseArrayMemoryTests):
    pass


class TestArrayOfAViewOfAMemoryview(unittest.TestCase, OfAViewOfAMemoryview, mixins.BaseArrayMemoryTests):
    pass


class TestArrayOfASlice(unittest.TestCase, OfASlice, mixins.BaseArrayMemoryTests):
    pass


class TestArrayOfASliceOfASlice(unittest.TestCase, OfASliceOfASlice, mixins.BaseArrayMemoryTests):
    pass


class TestArraySlicedByMemoryview(unittest.TestCase, SlicedByMemoryview, mixins.BaseArrayMemoryTests):
    pass


class TestOther(mixins.OtherTest):
    """The rest, with memoryviews of Views wherever a test makes one."""

    def setUp(self):
        mixins.memoryview = lambda obj: memoryview(lend.view(obj))
        self.addCleanup(delattr, mixins, "memoryview")
