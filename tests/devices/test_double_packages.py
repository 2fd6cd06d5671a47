"""Real packages over the double, unmodified: they load it as their driver, and their memory kills who touches it."""

import importlib.metadata

import pytest

from support import fakecuda


def needs(distribution):
    """Skips without it. Asked of its metadata: imported it would stay in the process of all other tests."""
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")
    pytest.importorskip("numpy")


CORE = """
from support.fakecuda import fake
import warnings
warnings.simplefilter("ignore")
import numpy as np
import cuda.core as core
device = core.Device(0)
device.set_current()
s = device.create_stream()
block = device.allocate(64, stream=s)
pinned = core.LegacyPinnedMemoryResource().allocate(64, stream=s)
"""
NUMBA = """
from support.fakecuda import fake
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numba import cuda
a = np.arange(12, dtype="f4").reshape(3, 4)
d = cuda.to_device(a)
address = d.__cuda_array_interface__["data"][0]
"""
USED = """
print((d.copy_to_host() == a).all(), fake.copies())
v = d[1:, ::2].__cuda_array_interface__
print(v["data"][0] - address, v["strides"])
managed, pinned = cuda.managed_array(4, dtype="u1"), cuda.pinned_array(4, dtype="u1")
managed[:] = pinned[:] = 7
print(managed.sum(), pinned.sum(), flush=True)
fake.touch(address)
"""


def outcome(distribution, snippet):
    needs(distribution)
    return fakecuda.outcome(snippet)


def test_cuda_core_finds_the_double():
    assert outcome("cuda-core", CORE + "print(device.name)") == "FakeCUDA discrete #0"


def test_cuda_core_tells_its_devices():
    snippet = CORE + "print(*(int(n) for made in (block, pinned) for n in made.__dlpack_device__()))"
    assert outcome("cuda-core", snippet) == "2 0 3 0"


def test_pinned_memory_of_cuda_core_is_read_by_the_host():
    assert outcome("cuda-core", CORE + "print(np.from_dlpack(pinned).nbytes)") == "64"


def test_device_memory_of_cuda_core_is_not():
    assert outcome("cuda-core", CORE + "fake.touch(int(block.handle))") == "device memory"


@pytest.fixture(scope="module")
def numba():
    """What one child saw of numba before it touched device memory: it takes seconds to start."""
    needs("numba-cuda")
    return fakecuda.run(NUMBA + USED)


def test_numba_copies_there_and_back(numba):
    assert numba.out.splitlines()[0] == "True 2", numba.err


def test_a_slice_of_numba_is_inside_its_block(numba):
    assert numba.out.splitlines()[1] == "16 (16, 8)"


def test_managed_and_pinned_arrays_of_numba_are_read_by_the_host(numba):
    assert numba.out.splitlines()[2] == "28 28"


def test_device_memory_of_numba_is_not(numba):
    assert numba.rc == -11 and "the host touched device memory" in numba.err
