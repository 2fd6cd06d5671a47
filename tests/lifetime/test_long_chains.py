"""A loan of a loan of a loan, many times over, ends without running down the C stack."""

import pytest

from support import children

LINKS = {
    "buffers": "memoryview(lend.view(x))",
    "views of memoryviews": "lend.view(memoryview(x))",
    "owners": "lend.view(memoryview(lend.view(x)[0:]))",
    "tensors": "lend.view(Tensor(x))",
    "pointers": "lend.view(Pointer(x))",
    "array interfaces": "lend.view(Interface(x))",
    "bare capsules": "lend.view(lend.view(x).__dlpack__(max_version=(1, 3)))",
    "unversioned capsules": "lend.view(lend.view(x).__dlpack__(), writable=True)",
    "pointers to memoryviews": "lend.View.from_pointer(64, 4, 'uint8', owner=memoryview(lend.view(x)), readonly=False)",
    "arrays of views": "numpy.asarray(lend.view(x))",
    "arrays by the way that is known": "lend.to(x, 'numpy')",
}

PREPARE = """
import threading, lend
class Tensor:
    def __init__(self, x): self.x = lend.view(x)
    def __dlpack__(self, **asked): return self.x.__dlpack__(**asked)
    def __dlpack_device__(self): return (1, 0)
class Pointer:
    def __init__(self, x): self.x, self.ptr, self.size = x, lend.view(x).ptr, 4
class Interface:
    def __init__(self, x): self.x, self.__array_interface__ = x, lend.view(x).__array_interface__
def chain():
    x = bytearray(4)
    for _ in range(20_000):
        x = {link}
    del x
    print("gone")
threading.stack_size(256 * 1024)
thread = threading.Thread(target=chain)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_long_chain_ends_quietly(link):
    prepare = PREPARE
    if "numpy" in link:
        pytest.importorskip("numpy")
        prepare = "import numpy\n" + PREPARE
    out = children.run_clean(prepare.replace("{link}", link), options=())
    assert out == "gone\n"
