"""Producers with a mask of which the protocol that serves them does not tell, of every kind: each makes [1, 2, 3]."""

import pytest

from .counting import CountingBuffer, CountingDLPack, CountingExchange
from .producers import ArrayInterface, ArrayStruct, Span

DATA, MASK = b"\1\2\3", bytearray(b"\1\0\1")  # in an interface 0 is missing
BYTES = {"dtype": (1, 8, 1)}

ARGUMENTS = {
    "buffer": (CountingBuffer, (DATA,), {}),
    "DLPack": (CountingDLPack, (DATA, (3,)), BYTES),
    "exchange table": (CountingExchange, (DATA, (3,)), BYTES),
    "array struct": (ArrayStruct, (DATA, (3,)), {"kind": "u", "itemsize": 1}),
    "array interface": (ArrayInterface, (DATA, (3,), "|u1"), {}),
    "ptr and size": (Span, (DATA,), {}),
}


def producer(kind, **members):
    """A producer by one protocol, of a class of its own with these members as well."""
    cls, arguments, keywords = ARGUMENTS[kind]
    if cls is CountingExchange:
        members["__dlpack_c_exchange_api__"] = cls.__dlpack_c_exchange_api__  # it is not inherited
    return type("Masked", (cls,), members)(*arguments, **keywords)


def interface(mask):
    """A property as which an interface with this mask is shown."""

    def told(self):
        if mask is not getattr(self, "masked_by", self):  # an address is of something that stays
            self.shown, self.masked_by = ArrayInterface(DATA, (3,), "|u1", mask=mask), mask
        return self.shown.facts

    return property(told)


def by_attribute(kind):
    return lambda mask=MASK: producer(kind, mask=property(lambda self: mask))


def on_instance(kind):
    def make(mask=MASK):
        made = producer(kind)
        made.mask = mask
        return made

    return make


def by_interface(kind):
    return lambda mask=MASK: producer(kind, __array_interface__=interface(mask))


def numpy_subclass(**members):
    """An ndarray of a class of its own."""
    np = pytest.importorskip("numpy")
    return np.array([1, 2, 3], "u1").view(type("Masked", (np.ndarray,), members))


def numpy_interface(mask=MASK):
    def told(self):
        np = pytest.importorskip("numpy")
        return np.asarray(self.view(np.ndarray)).__array_interface__ | {"mask": mask}

    return numpy_subclass(__array_interface__=property(told))


class Proxy:
    """Shows all that another object has."""

    def __init__(self, obj):
        self._obj = obj

    def __getattr__(self, name):
        return getattr(self._obj, name)


class Gives:
    """Nothing but `__array__`, which gives the same array each time."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def torch_subclass(mask=MASK):
    torch = pytest.importorskip("torch")
    made = torch.tensor([1, 2, 3], dtype=torch.uint8)
    return made.as_subclass(type("Masked", (torch.Tensor,), {"mask": mask}))


def masked_array():
    return pytest.importorskip("numpy").ma.array([1, 2, 3], "u1", mask=[0, 1, 0])


# what is said to be masked by an attribute
BY_ATTRIBUTE = {
    **{f"mask, {kind}": by_attribute(kind) for kind in ARGUMENTS},
    **{f"mask of the object, {kind}": on_instance(kind) for kind in ("DLPack", "array interface")},
    "mask, ndarray": lambda mask=MASK: numpy_subclass(mask=mask),
    "mask, torch.Tensor": torch_subclass,
    "mask behind __getattr__": lambda mask=MASK: Proxy(by_attribute("DLPack")(mask)),
}
# what is said to be masked by an interface, and served by another protocol
BY_INTERFACE = {
    **{f"interface, {kind}": by_interface(kind) for kind in ("buffer", "DLPack", "exchange table", "array struct")},
    "interface, ndarray": numpy_interface,
    "interface behind __getattr__": lambda mask=MASK: Proxy(by_interface("DLPack")(mask)),
}
