"""What producers answer in place of a tensor or a device, and what their functions do instead of answering."""

import datetime

import lend
from lend.errors import LeaseLost, MalformedDescriptor, NotLendable
from lend.protocols.classes import full_name
from support import counting
from support.counting import CountingDLPack, CountingExchange
from support.device_producers import CudaInterface, SyclInterface, announcing
from support.producers import Gives

from . import Odd, Table, Wrong


def consumed(versioned):
    """A capsule that somebody has taken, and the producer, whose memory it must not give again."""
    capsule = CountingDLPack(64, (2, 3)).capsule(versioned)
    lend.view(capsule)
    return capsule


# name -> (a capsule or something else, what must be said of it)
ANSWERS = {
    "a used capsule": (lambda: consumed(True), ("already consumed", "'used_dltensor_versioned'")),
    "a used unversioned capsule": (lambda: consumed(False), ("already consumed", "'used_dltensor'")),
    "a capsule of another kind": (lambda: datetime.datetime_CAPI, ("not a DLPack capsule", "'datetime.datetime_CAPI'")),
    "a capsule without a name": (
        lambda: counting.array_struct(bytes(8), (1,)),
        ("not a DLPack capsule", "name is None"),
    ),
    "a table of functions": (counting.exchange_table, ("not a DLPack capsule", "'dlpack_exchange_api'")),
    "a name that goes on": (lambda: counting.exchange_table(name="dltensor_versioned2"), ("not a DLPack capsule",)),
    "a name that is short": (lambda: counting.exchange_table(name="dltenso"), ("not a DLPack capsule", "'dltenso'")),
    "a name of nothing": (lambda: counting.exchange_table(name=""), ("not a DLPack capsule", "''")),
    "a name in capitals": (lambda: counting.exchange_table(name="DLTensor"), ("not a DLPack capsule", "'DLTensor'")),
    "a name that is no ASCII": (lambda: counting.exchange_table(name="dltensoré"), ("not a DLPack capsule",)),
    "an Arrow capsule": (
        lambda: counting.exchange_table(name="arrow_array"),
        ("not a DLPack capsule", "'arrow_array'"),
    ),
}
OTHERS = {"None": None, "a number": 5, "bytes": b"ab", "a class": object, "a pair": (1, 2), "itself": Gives(None)}
DEVICES = [
    None,
    1,
    "cpu",
    (),
    (1,),
    (1, 0, 0),
    ("cpu", 0),
    (None, 0),
    (0, 0),
    (-1, 0),
    (2**31, 0),
    (2**70, 0),
    (1.5, 0),
    {1: 0},
]


def lends(make):
    """A maker of fields `answer` (made when it is lent)."""

    def of_fields(fields, by_buffer):
        obj = make(**fields)
        return lambda: (lend.buffer if by_buffer else lend.view)(obj), getattr(obj, "audit", lambda: None)

    return of_fields


def bad_answer(name, method, told, **changes):
    return Wrong(f"{method} gives {name}", changes, MalformedDescriptor, (f"{method}() of ", f"answered {told}, not a"))


def said(device):
    return f"tuple {device}" if type(device) is tuple else full_name(type(device))


def tensor():
    return CountingDLPack(64, (2, 3)).capsule()


def given(answer, device):
    return Gives(answer() if type(answer) is type(tensor) or answer is counting.exchange_table else answer, device)


def make_bare(fields, by_buffer):
    box = [fields["answer"]()]
    return lambda: (lend.buffer if by_buffer else lend.view)(box[0]), box.clear


GIVEN = Table(
    "answers of __dlpack__", {"answer": tensor, "device": (1, 0)}, lends(given),
    [*(Wrong(name, {"answer": make}, MalformedDescriptor, says) for name, (make, says) in ANSWERS.items()),
     *(bad_answer(name, "__dlpack__", said(value), answer=value) for name, value in OTHERS.items()),
     *(Wrong(f"device {device!r}", {"device": device}, MalformedDescriptor, ("__dlpack_device__() of",))
       for device in DEVICES)],
    [Odd("a device in a list", {"device": [1, 0]}, {"shape": (2, 3)}, True)],
    "support.producers.Gives",
)  # fmt: skip
BARE = Table(
    "bare capsules of other names", {"answer": tensor}, make_bare,
    [Wrong(name, {"answer": make}, MalformedDescriptor, says) for name, (make, says) in ANSWERS.items()], [],
)  # fmt: skip


def announced(device):
    producer = CountingDLPack(64, (2, 3))
    producer.announced = device
    return producer


ANNOUNCED = Table(
    "announced devices", {"device": (1, 0)}, lends(announced),
    [*(bad_answer(repr(device), "__dlpack_device__", said(device), device=device) for device in DEVICES),
     *(Wrong(f"on {told}", {"device": device}, MalformedDescriptor,
             ("contradicts itself", f"__dlpack_device__() says {told}, the capsule says cpu"))
       for device, told in [((2, 0), "cuda:0"), ((14, 3), "oneapi:0"), ((200, 0), "device type 200:0")])],
    [Odd("a list", {"device": [1, 0]}, {"shape": (2, 3)}), Odd("another number", {"device": (1, -7)}, {})],
        "CountingDLPack",
)  # fmt: skip


def interface_announced(kind, name, right, wrong):
    return Table(
        f"announced devices beside {name}", {"device": right}, lends(lambda device: announcing(kind, device)()),
        [*(bad_answer(repr(device), "__dlpack_device__", said(device), device=device)
           for device in [*DEVICES, (right[0], -2), (right[0], 2**31), (256, 0), list(right)]),
         *(Wrong(f"on {told}", {"device": device}, MalformedDescriptor, (f"__dlpack_device__() says {told}",))
           for device, told in wrong)],
        [Odd("a number", {"device": (right[0], 3)}, {"device": lend.Device((right[0], 3))})], kind.__name__,
    )  # fmt: skip


BESIDE_CUDA = interface_announced(CudaInterface, "a CUDA interface", (2, 0), [((1, 0), "cpu"), ((14, 0), "oneapi")])
BESIDE_SYCL = interface_announced(SyclInterface, "a SYCL interface", (14, 0), [((1, 0), "cpu"), ((2, 0), "cuda")])


# -- the functions of an exchange table, and the table itself --


def with_table(table, failure):
    class OnlyTable(counting._Counting, counting.TensorSource):
        __dlpack_c_exchange_api__ = table

    return OnlyTable(64, (2, 3), strides=(3, 1), failure=failure)


def no_table(name, table):
    return Wrong(f"a table that is {name}", {"table": table}, NotLendable, ("cannot lend a", "OnlyTable"))


def failing(name, failure, *says):
    return Wrong(
        f"a function that {name}", {"failure": failure}, NotLendable, ("refused the DLPack C exchange API", *says)
    )


EXCHANGED = Table(
    "exchange tables", {"table": CountingExchange.__dlpack_c_exchange_api__, "failure": None}, lends(with_table),
    [no_table("None", None), no_table("a number", 5), no_table("another capsule", datetime.datetime_CAPI),
     no_table("of another name", counting.exchange_table(name="dlpack_exchange")),
     no_table("of no name", counting.exchange_table(name="")),
     no_table("of a major version to come", counting.exchange_table((2, 0))),
     no_table("of a major version long gone", counting.exchange_table((0, 9))),
     failing("raises", RuntimeError("not today"), "RuntimeError: not today"),
     failing("raises a BufferError", BufferError("not today"), "BufferError: not today"),
     failing("says no and no reason", "silent", "without setting an exception"),
     failing("says yes and gives nothing", "null", "without setting an exception"),
     Wrong("no memory", {"failure": MemoryError("none")}, MemoryError, ("none",))],
    [Odd("a newer one before a right one", {"table": counting.exchange_table((2, 0), counting.exchange_table())}, {}),
     Odd("a minor version to come", {"table": counting.exchange_table((1, 99))}, {})],
)  # fmt: skip

# -- lend.Producer --


class Shop(lend.Producer):
    def __init__(self, stock):
        self.stock = stock

    def lend(self):
        if isinstance(self.stock, Exception):
            raise self.stock
        return self.stock


def released():
    view = lend.view(bytes(24))
    view.release()
    return view


SHOPS = Table(
    "lend.Producer", {"stock": lend.view(bytes(24))}, lends(Shop),
    [*(Wrong(f"lend() gives {stock!r:.40}", {"stock": stock}, MalformedDescriptor, ("lend() of ", "Shop returned",
        "not a lend.View"))
       for stock in (None, 5, b"abc", lend.buffer(b"abc"), memoryview(b"abc"), lend.View)),
     Wrong("lend() gives what was released", {"stock": released()}, LeaseLost, ("this View was released",)),
     Wrong("lend() raises", {"stock": ValueError("sold out")}, NotLendable, ("ValueError: sold out",)),
     Wrong("lend() raises a refusal", {"stock": MalformedDescriptor("sold out")}, MalformedDescriptor, ("sold out",))],
    [],
)  # fmt: skip
TABLES = [GIVEN, BARE, ANNOUNCED, BESIDE_CUDA, BESIDE_SYCL, EXCHANGED, SHOPS]
