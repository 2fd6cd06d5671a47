"""Arrays of devices in: told like arrays of the host, and looked at by the driver when the host wants to read them.

The classes differ in the device that they tell alone. `support` is the tests', `fake` the double of the driver.
"""

from harness.case import Row, Table, Target, ours, peer

INTERFACE = """
class Host:
    __slots__ = ("__array_interface__",)
class Device:
    __slots__ = ("__cuda_array_interface__",)
facts = {"shape": (100, 10), "typestr": "<f4", "data": (0x7f0000000000, False), "strides": None, "version": 3}
host, device = Host(), Device()
host.__array_interface__ = facts
device.__cuda_array_interface__ = facts | {"stream": None}
"""
DLPACK = """
from support import counting
host = counting.CountingDLPack(b"x" * 4000, (100, 10), dtype=(2, 32, 1))
device = counting.CountingDLPack(b"x" * 4000, (100, 10), dtype=(2, 32, 1), device=(2, 0))
"""
EXCHANGE = """
from support import counting
class Host(counting.CountingExchange): pass
class Device(counting.CountingExchange): pass
Host.__dlpack_c_exchange_api__ = counting.exchange_table()
Device.__dlpack_c_exchange_api__ = counting.exchange_table()
host = Host(b"x" * 4000, (100, 10), dtype=(2, 32, 1))
device = Device(b"x" * 4000, (100, 10), dtype=(2, 32, 1), device=(2, 0))
"""


def taken(name, setup):
    return Row(
        name,
        (ours("of a device", "view(device)", pointer=""), ours("of the host", "view(host)", pointer="")),
        (Target("of a device", "of the host", 1.1),),
        setup=setup,
    )


IN = Table(
    "in",
    "Taken, by the protocol that tells them",
    (taken("array interface", INTERFACE), taken("DLPack", DLPACK), taken("exchange table", EXCHANGE)),
)

MANAGED = """
from support.fakecuda import fake
from support.fakecuda.described import CudaArray, Memory
import lend
m = Memory(bytes(4000), "managed")
x = CudaArray(m, (100, 10), stream=None)
class Plain:
    __slots__ = ("__cuda_array_interface__",)
x, whole = Plain(), x
x.__cuda_array_interface__ = whole.facts
y = lend.View.from_pointer(m.address, (100, 10), "float32", owner=m)
"""

ACCESS = Table(
    "access",
    "Read by the host: managed memory of which nothing is pending",
    (
        Row(
            "memoryview",
            (
                ours("of a View that is new", "memoryview(view(x))", pointer=""),
                ours("of a View that was read", "memoryview(v)", "v = lend.view(x); memoryview(v)", pointer=""),
                ours("the View alone", "view(x)", pointer=""),
                peer("of a View of the host", "memoryview(y)"),
            ),
            setup=MANAGED,
        ),
    ),
)
